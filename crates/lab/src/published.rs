//! Figures that others published, as the files in `fixtures/published` hold them.

use std::collections::BTreeMap;

use tenbin_model::{Cell, Descriptor, Effort, Finding, Machine, Provenance, Run, Trial};

/// A row of a published table: the text of each column by its title. Empty columns are absent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row(BTreeMap<String, String>);

impl Row {
    /// The text in `column`, or nothing where it is empty.
    pub fn text(&self, column: &str) -> &str {
        self.0.get(column).map_or("", String::as_str)
    }

    /// The number in `column`, if there is one.
    pub fn number(&self, column: &str) -> Option<f64> {
        self.text(column).parse().ok()
    }
}

/// The rows of a table in CSV (RFC 4180) with titles in its first line; lines that begin with `#`
/// name the source and are passed over.
///
/// # Panics
/// If the table is malformed. It is part of this program, and a test reads every one.
pub fn rows(table: &str) -> Vec<Row> {
    let mut reader = csv::ReaderBuilder::new().comment(Some(b'#')).from_reader(table.as_bytes());
    reader
        .deserialize::<BTreeMap<String, String>>()
        .map(|row| {
            let mut row = row.expect("a published table is well formed");
            row.retain(|_, text| !text.is_empty());
            Row(row)
        })
        .collect()
}

/// The figures of `descriptor` as a run in which nothing was measured: each is a finding. None where there
/// are none.
///
/// For experiments of which nobody published samples that a judge could judge.
pub fn figures(descriptor: Descriptor) -> Option<Run> {
    if descriptor.published.is_empty() {
        return None;
    }
    let finding = |figure: &tenbin_model::Published| {
        let ratio = figure.ratio.map(|ratio| {
            let (left, right) = (&figure.left, &figure.right);
            format!("; {} : {} is {}x", left, right, tenbin_model::unit::three_digits(ratio))
        });
        Finding {
            experiment: descriptor.name.clone(),
            sentence: format!("{}, {}: {}.", figure.machine, figure.date, figure.what),
            evidence: format!("{}, {}{}", figure.cell, figure.measure, ratio.unwrap_or_default()),
            confidence: "as published".into(),
        }
    };
    let findings = descriptor.published.iter().map(finding).collect();
    let machine = Machine::unobserved("each figure names its own");
    let descriptor = Descriptor { published: Vec::new(), ..descriptor };
    let mut run = run("published", machine, descriptor, Vec::new());
    run.trials[0].findings = findings;
    Some(run)
}

/// What was published of these cells as a run of one experiment, on the machine that it was published of.
pub fn run(version: &str, machine: Machine, descriptor: Descriptor, cells: Vec<Cell>) -> Run {
    let provenance = Provenance {
        version: version.into(),
        build: None,
        started: "undated".into(),
        seed: 0,
        effort: Effort::Normal,
        arguments: Vec::new(),
    };
    let trial = Trial { descriptor, refusal: None, cells, findings: Vec::new() };
    Run { provenance, machine, trials: vec![trial] }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One that nobody shows is a dead file, or listed in docs/figures.md with the reason.
    #[test]
    fn every_published_table_can_be_read_and_is_shown_or_listed() {
        let listed = include_str!("../../../docs/figures.md");
        let shown: String = crate::EXPERIMENTS
            .iter()
            .map(|experiment| (experiment.describe)())
            .filter(|descriptor| !descriptor.published.is_empty())
            .map(|descriptor| format!("`tenbin run {} --from published`", descriptor.name))
            .collect();
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/published");
        let files: Vec<_> = std::fs::read_dir(folder).unwrap().map(Result::unwrap).collect();
        assert_eq!(files.len(), 8);
        for file in files {
            let name = file.file_name().into_string().unwrap();
            let text = std::fs::read_to_string(file.path()).unwrap();
            assert!(text.starts_with("# source: "), "{name}: names no source");
            assert!(rows(&text).len() > 4, "{name}");
            let own = |line: &&str| line.starts_with(&format!("| `{name}` |"));
            let row = listed.lines().find(own).unwrap_or_else(|| panic!("{name}: not listed"));
            let command = row.split(" | ").nth(1).unwrap().trim();
            assert!(shown.contains(command) || command == "nowhere", "{row}");
        }
    }

    #[test]
    fn figures_become_findings_and_without_any_there_is_no_run() {
        let of = |name: &str| {
            let mut all = crate::EXPERIMENTS.iter().map(|experiment| (experiment.describe)());
            figures(all.find(|descriptor| descriptor.name == name).unwrap())
        };
        assert_eq!(of("null"), None);
        let run = of("pipe").unwrap();
        let trial = &run.trials[0];
        assert!(trial.cells.is_empty() && trial.descriptor.published.is_empty());
        assert!(trial.findings[0].evidence.ends_with("write : puts is 46.1x"), "{:?}", trial.findings[0]);
    }

    #[test]
    fn quotes_hold_commas_and_empty_columns_are_absent() {
        let rows = rows("# source\nname,cpus,seconds\nA,\"0,4\",0.5\nB,,\n");
        assert_eq!(rows[0].text("cpus"), "0,4");
        assert_eq!(rows[0].number("seconds"), Some(0.5));
        assert_eq!((rows[1].text("cpus"), rows[1].number("seconds")), ("", None));
    }
}
