//! What perf stat counted of usemem on a Sophgo SG2038.

use tenbin_model::{Machine, Rows};

use crate::published::{self, Claim, Figure, Table};

pub(super) const TABLES: &[Table] = &[Table {
    file: "faults_sg2038.csv",
    csv: include_str!("../../../published/faults_sg2038.csv"),
    source: "F. Wu, 2024-02-24",
    machine: || Machine { architecture: "riscv64".into(), ..published::machine("Sophgo SG2038, 64 cores") },
    claims,
    unweighed: Some("one run of one program was published, and none without NUMA balancing and huge pages"),
}];

fn claims(rows: &Rows) -> Vec<Claim> {
    let of = |figure| Figure::at(rows, "value", &[("figure", figure)]);
    let count = |figure| Figure::count(rows, "value", &[("figure", figure)]);
    let seconds = || of("task_clock_ms") / Figure::exact(1000.0);
    vec![
        Claim::is("it maps 1 GB", "1", count("bytes") / Figure::exact(1e9)),
        Claim::is("it takes 256k page faults, 262144", "262144", count("bytes") / Figure::exact(4096.0)),
        Claim::over(
            "there were more faults than pages, over 1 a page",
            "1",
            count("page_faults_counted") / (count("bytes") / Figure::exact(4096.0)),
        ),
        Claim::is("63.226 CPUs are used", "63.226", seconds() / of("elapsed_s")),
        Claim::is("2.046 context switches/s", "2.046", count("context_switches") / seconds()),
        Claim::is("0.146 migrations/s", "0.146", count("cpu_migrations") / seconds()),
        Claim::is("146.042 page faults/s", "146.042", count("page_faults_counted") / seconds()),
        Claim::is("2.000 GHz", "2.000", count("cycles") / seconds() / Figure::exact(1e9)),
        Claim::is("0.00 instructions a cycle", "0.00", count("instructions") / count("cycles")),
        Claim::is("2.318 M branches/s", "2.318", count("branches") / seconds() / Figure::exact(1e6)),
        Claim::is(
            "1.60 % of branches missed",
            "1.60",
            Figure::exact(100.0) * count("branch_misses") / count("branches"),
        ),
    ]
}
