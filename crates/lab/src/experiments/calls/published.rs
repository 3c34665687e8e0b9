//! The same work under a kernel that emulates Linux's calls (WSL 1) and in a virtual machine.

use tenbin_model::{Machine, Row, Rows, WrongCell};

use crate::published::{self, Claim, Figure, Format, Reading, Table, Time};

pub(super) const TABLES: &[Table] = &[Table {
    file: "wsl_vm.csv",
    csv: include_str!("../../../published/wsl_vm.csv"),
    source: "S. Takeuchi, Advent Calendar 2017, day 25",
    machine: || Machine {
        architecture: "x86_64".into(),
        ..published::machine("AMD Ryzen 7 1800X under Windows 10 1709")
    },
    claims,
    unweighed: None,
}];

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["cell", "unit", "wsl", "vm"],
    row: "the time of a piece of work under WSL and in a virtual machine, in `s` or `min`",
    reading: Reading::Times(times),
}];

/// What is no time of an operation (megabytes, and what was reckoned as waiting) names no cell.
fn times(row: &Row) -> Result<Vec<Time>, WrongCell> {
    let cell = row.text("cell");
    if cell.is_empty() {
        return Ok(Vec::new());
    }
    let factor = if row.one_of("unit", &["s", "s total", "min"])? == "min" { 60.0 } else { 1.0 };
    let time =
        |side: &str| Ok(Time { cell: cell.into(), side: side.into(), seconds: row.positive(side)? * factor });
    Ok(vec![time("wsl")?, time("vm")?])
}

fn claims(rows: &Rows) -> Vec<Claim> {
    let of = |section, item, side| Figure::at(rows, side, &[("section", section), ("item", item)]);
    let (checkout, tags, build) = ("linux git checkout", "linux tag file (cscope)", "linux build");
    let alone = |side| of(checkout, "real", side) - of(checkout, "user", side) - of(checkout, "sys", side);
    let each = |work, side| {
        of(work, "real", side) - (of(work, "user", side) + of(work, "sys", side)) / Figure::exact(8.0)
    };
    let times = |work, item| of(work, item, "wsl") / of(work, item, "vm");
    let calls = |side| {
        ["write()", "open()", "unlink()", "lstat()"]
            .into_iter()
            .fold(of(checkout, "close()", side), |sum, call| sum + of(checkout, call, side))
    };
    let calls_of = "calls of a checkout, which does not run in parallel, are at most its";
    vec![
        Claim::is("the checkout waits 154.2 s (WSL)", "154.2", alone("wsl")),
        Claim::is("the checkout waits -0.01 s (VM)", "-0.01", alone("vm")),
        Claim::is("the tag file waits 81.5 s a core (WSL)", "81.5", each(tags, "wsl")),
        Claim::is("the tag file waits 32.3 s a core (VM)", "32.3", each(tags, "vm")),
        Claim::is("the build waits 92.3 s a core (WSL)", "92.3", each(build, "wsl")),
        Claim::is("the build waits 15.5 s a core (VM)", "15.5", each(build, "vm")),
        Claim::over(
            "WSL's kernel takes tens of times, over 10x, in a checkout",
            "10",
            times(checkout, "sys"),
        ),
        Claim::over("the checkout waits for more than half of its time, 0.5 (WSL)", "0.5", {
            of(checkout, "wait", "wsl") / of(checkout, "real", "wsl")
        }),
        Claim::is("WSL's kernel takes about 5x for the tag file", "5", times(tags, "sys")),
        Claim::is("WSL's kernel takes 18x for the build", "18", times(build, "sys")),
        Claim::over("WSL waits a little over 6x as long for the build", "6", times(build, "wait per core")),
        Claim::over("writes of the build take over 100x", "100", times(build, "write()")),
        Claim::at_most(format!("{calls_of} 254 s (WSL)"), "254", calls("wsl")),
        Claim::at_most(format!("{calls_of} 5.35 s (VM)"), "5.35", calls("vm")),
    ]
}
