//! Reads of a driver that computes F(99): their times, and what perf counted of them.

use tenbin_model::{Machine, Row, Rows, WrongCell};

use crate::published::{self, Claim, Figure, Format, Reading, Table, Time};

pub(super) const TABLES: &[Table] = &[
    Table {
        file: "fibdrv.csv",
        csv: include_str!("../../../published/fibdrv.csv"),
        source: "DokiDokiPB, 2022",
        machine: alder_lake,
        claims: |_| Vec::new(),
        unweighed: None,
    },
    Table {
        file: "fibdrv_perf.csv",
        csv: include_str!("../../../published/fibdrv_perf.csv"),
        source: "DokiDokiPB, 2022",
        machine: alder_lake,
        claims,
        unweighed: Some(
            "perf stat printed means of 10 runs and their standard errors, of one program, and no run",
        ),
    },
];

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["stage", "ns"],
    row: "the time of one read of a stage of the driver; `STAGE run N` is a repetition",
    reading: Reading::Times(times),
}];

fn alder_lake() -> Machine {
    Machine { architecture: "x86_64".into(), ..published::machine("Core i7-12700H") }
}

fn times(row: &Row) -> Result<Vec<Time>, WrongCell> {
    let stage = row.text("stage");
    let is_number = |number: &str| !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    let side = match stage.rsplit_once(" run ") {
        Some((side, number)) if is_number(number) => side,
        _ => stage,
    };
    Ok(vec![Time {
        cell: "F(99) by a driver in the kernel".into(),
        side: side.into(),
        seconds: row.positive("ns")? * 1e-9,
    }])
}

fn claims(rows: &Rows) -> Vec<Claim> {
    let of = |figure| Figure::at(rows, "value", &[("figure", figure)]);
    let count = |figure| Figure::count(rows, "value", &[("figure", figure)]);
    let share = |part: Figure, of: Figure| Figure::exact(100.0) * part / of;
    vec![
        Claim::is(
            "product and memset are 59.11 % of the samples",
            "59.11",
            of("share of kdecnum_mult in samples") + of("share of memset_erms in samples"),
        ),
        Claim::is(
            "cache misses make up 59.19 %",
            "59.19",
            share(count("cache_misses"), count("cache_references")),
        ),
        Claim::is("the time is known to 2.54 %", "2.54", share(of("seconds_plus_minus"), of("seconds"))),
        Claim::is(
            "n over digits is 41.304 for the first n of 23",
            "41.304",
            count("first n of 23 digits") / Figure::exact(23.0),
        ),
        Claim::is(
            "43.130 for the last n of 23",
            "43.130",
            count("last n of 23 digits") / Figure::exact(23.0),
        ),
        Claim::is(
            "n over digits is 43.066 for the first n of 810",
            "43.066",
            count("first n of 810 digits") / Figure::exact(810.0),
        )
        .instead("For the last n of 810 it is", count("last n of 810 digits") / Figure::exact(810.0)),
        Claim::is(
            "n over digits is 43.148 for n of 1035",
            "43.148",
            count("n of the last quotient") / count("digits of the last quotient"),
        ),
        Claim::at_most(
            "the listing says why branchless is slower (of optimised code, 0 % of it would use the stack)",
            "0",
            share(count("of these on the stack"), count("instructions of the branchless listing")),
        ),
    ]
}
