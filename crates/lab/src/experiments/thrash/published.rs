//! Grids of sizes and pairs of CPUs that others measured: the published one of a Ryzen 7 1800X, and a user's.

use tenbin_model::machine::{Cache, CoreKind, CpuPlace, Observed, Witness};
use tenbin_model::topology::shared;
use tenbin_model::words::and;
use tenbin_model::{
    Arrangement, Bytes, Cell, Comparison, Cpu, Descriptor, Machine, Picoseconds, Published, Row, Rows,
    Sample, Trial, VariantIndex, WrongCell,
};

use super::{PRIVATE, SHARED, describe};
use crate::published::{self, Claim, Figure, Format, OnMachine, Reading, Table};

/// Lines that each thread writes: the published program goes 2³⁰/lines times over its lines.
const LINES: u64 = 1 << 30;

/// The grid as figures to be shown beside this machine's.
pub(super) fn figures() -> Vec<Published> {
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
    TABLES[0].rows().iter().filter_map(figure).collect()
}

pub(super) const TABLES: &[Table] = &[Table {
    file: "thrash_ryzen1800x.csv",
    csv: include_str!("../../../published/thrash_ryzen1800x.csv"),
    source: "S. Takeuchi, undated (with a note of 2019-02-19)",
    machine: || Machine {
        architecture: "x86_64".into(),
        cpus: (0..16).map(place).collect(),
        ..published::machine("AMD Ryzen 7 1800X")
    },
    claims,
    unweighed: None,
}];

pub(super) const FORMATS: &[Format] = &[Format {
    titles: &["case", "buffer_kib", "fits_in", "cpus", "private_s", "shared_s"],
    row: "seconds of one run with a buffer each and of one with a shared buffer, on two CPUs (\"0,4\")",
    reading: Reading::Trial(grid),
}];

fn claims(rows: &Rows) -> Vec<Claim> {
    let cost = |case: &str, cpus: &str| {
        let of = |column: &str| Figure::at(rows, column, &[("case", case), ("cpus", cpus)]);
        of("shared_s") / of("private_s")
    };
    vec![
        Claim::over("sharing in case A costs tens of times, over 10x (CPUs 0,4)", "10", cost("A", "0,4")),
        Claim::over("and over 10x (CPUs 0,8)", "10", cost("A", "0,8")),
        Claim::over("in case B over 10x (CPUs 0,4)", "10", cost("B", "0,4")),
        Claim::over("and over 10x (CPUs 0,8)", "10", cost("B", "0,8")),
        Claim::is("in case C next to nothing, 1.0x, within one L3 (CPUs 0,4)", "1.0", cost("C", "0,4")),
        Claim::over(
            "what the text calls thrashing costs tens of times, over 10x, and case C on CPUs 0,8 thrashes",
            "10",
            cost("C", "0,8"),
        ),
    ]
}

/// A cell a row, with one run of each variant.
fn grid(rows: &Rows, machine: Machine) -> OnMachine {
    let cells = rows.iter().enumerate().map(|(number, row)| cell(&machine, row, number == 0));
    let cells = cells.collect::<Result<_, _>>()?;
    let descriptor = Descriptor { published: Vec::new(), ..describe() };
    Ok((machine, Trial { descriptor, refusal: None, cells, findings: Vec::new() }))
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

fn cell(machine: &Machine, row: &Row, headline: bool) -> Result<Cell, WrongCell> {
    let cpus: Option<Vec<Cpu>> =
        row.text("cpus").split(',').map(|cpu| cpu.trim().parse().ok().map(Cpu)).collect();
    let Some(cpus @ [one, other]) = cpus.as_deref() else {
        return Err(row.wrong("cpus", format!("`{}` is not two CPUs, as 0,4 is", row.text("cpus"))));
    };
    let bytes = Bytes((row.positive("buffer_kib")? * 1024.0) as u64);
    let case = row.one_of("case", &["A", "B", "C", "D"])?;
    let fits = match row.one_of("fits_in", &["L1d", "L2", "L3", "none"])? {
        "none" => "fits into no cache".to_owned(),
        cache => format!("fits into {cache}"),
    };
    // What a table does not say of the CPUs is not known.
    let place = match machine.cpus.is_empty() {
        false => format!(", which share {}", shared(machine, *one, *other)),
        true => String::new(),
    };
    let sample = |order: u32, variant: VariantIndex, column: &str| {
        Ok(Sample {
            order,
            variant,
            iterations: LINES,
            elapsed: Picoseconds((row.positive(column)? * 1e12) as u64),
            cpu: cpus[0],
            ..Sample::default()
        })
    };
    let arrangement = Arrangement {
        label: format!("in case {case} ({bytes}, which {fits}) on {}{place}", and(cpus)),
        parameters: vec![
            ("case".into(), case.into()),
            ("bytes".into(), bytes.0.to_string()),
            ("spacing".into(), "64".into()),
        ],
        variants: vec![PRIVATE, SHARED],
        comparisons: Comparison::of([(PRIVATE, SHARED)]),
        headline,
        cpus: cpus.to_vec(),
        ..Arrangement::default()
    };
    let samples = vec![sample(0, PRIVATE, "private_s")?, sample(1, SHARED, "shared_s")?];
    Ok(Cell { samples, ..Cell::unmeasured(arrangement) })
}
