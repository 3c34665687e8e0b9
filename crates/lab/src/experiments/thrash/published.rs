//! The published grid on a Ryzen 7 1800X, as a run that the same judge judges.

use tenbin_model::machine::{Cache, CoreKind, CpuPlace, Observed, Witness};
use tenbin_model::topology::shared;
use tenbin_model::words::and;
use tenbin_model::{
    Arrangement, Bytes, Cell, Comparison, Cpu, Descriptor, Machine, Picoseconds, Published, Run, Sample,
    VariantIndex,
};

use super::{PRIVATE, SHARED, describe};
use crate::engine::unmeasured;
use crate::published::{self, Row, rows};

/// Lines that each thread writes: the published program goes 2³⁰/lines times over its lines.
const LINES: u64 = 1 << 30;

/// The grid as figures to be shown beside this machine's.
pub(super) fn figures() -> Vec<Published> {
    let rows = rows(include_str!("../../../../../fixtures/published/thrash_ryzen1800x.csv"));
    let figure = |row: &Row| {
        let (private, shared) = (row.number("private_s")?, row.number("shared_s")?);
        let place = if row.text("same_ccx") == "yes" { "which share one L3" } else { "which share no cache" };
        let bytes = Bytes::from_kib(row.number("buffer_kib")? as u64);
        Some(Published {
            machine: "AMD Ryzen 7 1800X".into(),
            date: "undated".into(),
            what: format!("a buffer each of {bytes} {private} s, one shared {shared} s"),
            measure: "elapsed time".into(),
            cell: format!(
                "case {} on CPUs {}, {place}",
                row.text("case"),
                row.text("cpus").replace(',', " and ")
            ),
            left: "a buffer each".into(),
            right: "one shared buffer".into(),
            ratio: Some(shared / private),
        })
    };
    rows.iter().filter_map(figure).collect()
}

/// The grid: a cell a row, with one run of each variant.
pub(super) fn run() -> Run {
    let rows = rows(include_str!("../../../../../fixtures/published/thrash_ryzen1800x.csv"));
    let machine = Machine {
        architecture: "x86_64".into(),
        cpu_model: Observed::Known("AMD Ryzen 7 1800X".into()),
        cpus: (0..16).map(place).collect(),
        ..Machine::unobserved("it was not published")
    };
    let cells: Vec<Cell> = rows.iter().map(|row| cell(&machine, row, row == &rows[0])).collect();
    published::run(
        "S. Takeuchi, 2017 and 2019",
        machine,
        Descriptor { published: Vec::new(), ..describe() },
        cells,
    )
}

/// The published table of logical CPUs: two threads a core, four cores a core complex with an L3 of its own.
fn place(cpu: u32) -> CpuPlace {
    let (core, complex) = (cpu / 2, cpu / 8);
    CpuPlace {
        cpu: Cpu(cpu),
        package: Observed::Known(0),
        core: Observed::Known(core),
        siblings: Observed::Known(vec![Cpu(core * 2), Cpu(core * 2 + 1)]),
        node: Observed::NotObservable("it was not published".into()),
        kind: Observed::Known(CoreKind::Uniform),
        caches: Observed::Known(vec![Cache {
            level: 3,
            kind: "Unified".into(),
            size: Observed::Known(Bytes::from_kib(8192)),
            line: Observed::Known(Bytes(64)),
            shared_by: (complex * 8..complex * 8 + 8).map(Cpu).collect(),
            witness: Witness::Sysfs,
        }]),
    }
}

fn cell(machine: &Machine, row: &Row, headline: bool) -> Cell {
    let cpus: Vec<Cpu> = row.text("cpus").split(',').filter_map(|cpu| cpu.parse().ok().map(Cpu)).collect();
    let bytes = Bytes::from_kib(row.number("buffer_kib").unwrap_or_default() as u64);
    let place = match cpus[..] {
        [one, other] => shared(machine, one, other).to_string(),
        _ => String::new(),
    };
    let fits = match row.text("fits_in") {
        "none" => "fits into no cache".to_owned(),
        cache => format!("fits into {cache}"),
    };
    let label = format!(
        "in case {} ({bytes}, which {fits}) on {}, which share {place}",
        row.text("case"),
        and(&cpus)
    );
    let sample = |order: u32, variant: VariantIndex, column: &str| Sample {
        order,
        variant,
        iterations: LINES,
        elapsed: Picoseconds((row.number(column).unwrap_or_default() * 1e12) as u64),
        cpu: cpus[0],
        ..Sample::default()
    };
    let samples = vec![sample(0, PRIVATE, "private_s"), sample(1, SHARED, "shared_s")];
    let arrangement = Arrangement {
        label,
        parameters: vec![
            ("case".into(), row.text("case").into()),
            ("bytes".into(), bytes.0.to_string()),
            ("spacing".into(), "64".into()),
        ],
        variants: vec![PRIVATE, SHARED],
        comparisons: Comparison::of([(PRIVATE, SHARED)]),
        headline,
        cpus,
        ..Arrangement::default()
    };
    Cell { samples, ..unmeasured(arrangement) }
}
