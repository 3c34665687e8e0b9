//! Times of programs that put 24 GiB of lines into a pipe.

use tenbin_model::{Machine, Row, Rows, WrongCell};

use crate::published::{self, Claim, Figure, Format, Reading, Table, Time};

pub(super) const TABLES: &[Table] = &[Table {
    file: "yes.csv",
    csv: include_str!("../../../published/yes.csv"),
    source: "Kognosuke, 2023-11-06",
    machine: || Machine {
        architecture: "x86_64".into(),
        ..published::machine("Intel Pentium J4205 and AMD Ryzen 7 5700X")
    },
    claims,
    unweighed: None,
}];

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["machine", "variant", "seconds", "gib"],
    row: "a program that sent so many GiB in so many seconds",
    reading: Reading::Times(times),
}];

/// For 24 GiB: one program was stopped by hand after some more.
fn times(row: &Row) -> Result<Vec<Time>, WrongCell> {
    let machine = row.text("machine").split(" (").next().unwrap_or_default();
    Ok(vec![Time {
        cell: format!("24 GiB on {machine}"),
        side: row.text("variant").into(),
        seconds: row.positive("seconds")? * 24.0 / row.positive("gib")?,
    }])
}

fn claims(rows: &Rows) -> Vec<Claim> {
    const PENTIUM: &str = "Intel Pentium J4205 (Linux 6.1.52 gcc 12.2)";
    const RYZEN: &str = "AMD Ryzen 7 5700X (Linux 6.4.13 gcc 13.2)";
    const GNU: &str = "GNU yes 9.1 (24.2 GiB)";
    const TWO: &str = "vmsplice 256 KiB x2";
    const LARGE: &str = "vmsplice 1 MiB x2";
    let of =
        |column, machine, variant| Figure::at(rows, column, &[("machine", machine), ("variant", variant)]);
    let gib = |machine, variant| of("gib", machine, variant) / of("seconds", machine, variant);
    let mib = |machine, variant| {
        of("gib", machine, variant) * Figure::exact(1024.0) / of("seconds", machine, variant)
    };
    let times = |machine, variant| of("seconds", machine, "printf") / of("seconds", machine, variant);
    vec![
        Claim::is("printf carries 48.1 MiB/s (Pentium)", "48.1", mib(PENTIUM, "printf")),
        Claim::is("writes of 8 KiB carry 2.16 GiB/s (Pentium)", "2.16", gib(PENTIUM, "write 8 KiB")),
        Claim::is("GNU yes carries 2.23 GiB/s (Pentium), as pv last showed it", "2.23", gib(PENTIUM, GNU)),
        Claim::is("vmsplice carries 7.14 GiB/s (Pentium)", "7.14", gib(PENTIUM, TWO)),
        Claim::is("writes of 8 KiB are x44.0 (Pentium)", "44.0", times(PENTIUM, "write 8 KiB"))
            .instead("With the seconds of GNU yes it is", times(PENTIUM, GNU)),
        Claim::is("vmsplice is x151.8 (Pentium)", "151.8", times(PENTIUM, TWO)),
        Claim::is("printf carries 213 MiB/s (Ryzen)", "213", mib(RYZEN, "printf")),
        Claim::is("writes of 8 KiB carry 4.49 GiB/s (Ryzen)", "4.49", gib(RYZEN, "write 8 KiB")),
        Claim::is("vmsplice carries 33.7 GiB/s (Ryzen)", "33.7", gib(RYZEN, TWO)),
        Claim::is("vmsplice of 1 MiB carries 39.4 GiB/s (Ryzen)", "39.4", gib(RYZEN, LARGE)),
        Claim::is("writes of 8 KiB are x21.5 (Ryzen)", "21.5", times(RYZEN, "write 8 KiB")),
        Claim::is("vmsplice is x160.7 (Ryzen)", "160.7", times(RYZEN, TWO)),
        Claim::is("vmsplice of 1 MiB is x187.8 (Ryzen)", "187.8", times(RYZEN, LARGE)),
    ]
}
