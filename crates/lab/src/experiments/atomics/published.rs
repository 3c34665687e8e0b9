//! Additions to one counter by many threads of a Sophgo SG2038, and by those of other machines.

use tenbin_model::{Machine, Row, Rows, WrongCell};

use super::at_threads;
use crate::published::{self, Claim, Figure, Format, Reading, Table, Time};

pub(super) const TABLES: &[Table] = &[Table {
    file: "atomics_sg2038.csv",
    csv: include_str!("../../../published/atomics_sg2038.csv"),
    source: "F. Wu, 2024-02-24",
    machine: || Machine { architecture: "riscv64".into(), ..published::machine("Sophgo SG2038, 64 cores") },
    claims,
    unweighed: None,
}];

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["variant", "threads", "loops_per_thread", "user_s"],
    row: "so many seconds of user time of all threads, for so many additions by each",
    reading: Reading::Times(times),
}];

/// User time of all threads for one addition; elapsed time, where there is some, in a cell of its own.
fn times(row: &Row) -> Result<Vec<Time>, WrongCell> {
    let threads = row.whole("threads")?;
    let additions = threads as f64 * row.positive("loops_per_thread")?;
    if additions == 0.0 {
        return Err(row.wrong("threads", "0 threads add nothing".into()));
    }
    let mut times = Vec::new();
    for (column, what) in
        [("user_s", "user time of an addition"), ("elapsed_s", "elapsed time of an addition")]
    {
        if column == "user_s" || !row.text(column).is_empty() {
            times.push(Time {
                cell: format!("{what}, {}", at_threads(threads as usize)),
                side: row.text("variant").into(),
                seconds: row.positive(column)? / additions,
            });
        }
    }
    Ok(times)
}

fn claims(rows: &Rows) -> Vec<Claim> {
    const CAS: &str = "cas by lr/sc";
    const ADD: &str = "amoadd";
    let of = |column, variant| Figure::at(rows, column, &[("run", "full"), ("variant", variant)]);
    let count = |column, variant| Figure::count(rows, column, &[("run", "full"), ("variant", variant)]);
    let seconds = |variant| of("task_clock_ms", variant) / Figure::exact(1000.0);
    let per_second = |column, variant| count(column, variant) / seconds(variant);
    let misses =
        |variant| Figure::exact(100.0) * count("branch_misses", variant) / count("branches", variant);
    let lone = || Figure::at(rows, "user_s", &[("run", "low"), ("variant", CAS), ("threads", "1")]);
    let giga = || Figure::exact(1e9);
    vec![
        Claim::is("lr/sc uses 55.357 CPUs", "55.357", seconds(CAS) / of("elapsed_s", CAS)),
        Claim::is("0.649 context switches/s", "0.649", per_second("context_switches", CAS)),
        Claim::is("0.030 migrations/s", "0.030", per_second("cpu_migrations", CAS)),
        Claim::is("0.083 page faults/s", "0.083", per_second("page_faults", CAS)),
        Claim::is("2.000 GHz", "2.000", per_second("cycles", CAS) / giga()),
        Claim::is("0.00 instructions a cycle", "0.00", count("instructions", CAS) / count("cycles", CAS)),
        Claim::is("1.147 M branches/s", "1.147", per_second("branches", CAS) / Figure::exact(1e6)),
        Claim::is("1.45 % of branches missed", "1.45", misses(CAS)),
        Claim::is("amoadd uses 24.749 CPUs", "24.749", seconds(ADD) / of("elapsed_s", ADD)),
        Claim::is("139.291 context switches/s", "139.291", per_second("context_switches", ADD)),
        Claim::is("46.919 migrations/s", "46.919", per_second("cpu_migrations", ADD)),
        Claim::is("129.760 page faults/s", "129.760", per_second("page_faults", ADD)),
        Claim::is("1.996 GHz", "1.996", per_second("cycles", ADD) / giga()),
        Claim::is("0.03 instructions a cycle", "0.03", count("instructions", ADD) / count("cycles", ADD)),
        Claim::is("3.833 M branches/s", "3.833", per_second("branches", ADD) / Figure::exact(1e6)),
        Claim::is("8.38 % of branches missed", "8.38", misses(ADD)),
        Claim::order(
            "the gap is of the order of 1000x in elapsed time",
            "1000",
            of("elapsed_s", CAS) / of("elapsed_s", ADD),
        ),
        Claim::order("and in user time", "1000", of("user_s", CAS) / of("user_s", ADD)),
        Claim::whole(
            "one thread took 0.142973503 s of user time by lr/sc, which perf stat has in whole microseconds",
            "0.142973503",
            lone() * Figure::exact(1e6),
        ),
    ]
}
