//! What came of it, as Markdown that can be read on a terminal and put into a document.

use tenbin_model::Report;
use tenbin_model::machine::Observed;

use super::Run;
use super::comparison::{Contradiction, Quiet, Row};
use crate::tally::word;

/// Everything that the text tells of.
pub(super) struct Table<'a> {
    pub(super) quiet: &'a [Run],
    pub(super) loaded: &'a [Run],
    /// Busy processes beside every run under load.
    pub(super) busy: usize,
    /// Whether those start, stop and move.
    pub(super) moving: bool,
    /// Runs under load that had no answer, and why.
    pub(super) failures: &'a [String],
    pub(super) rows: &'a [Row],
}

/// The head of both kinds of table, but for the first column.
const COLUMNS: &str = "| same | refused | contradicted | only under load | absent |";
const RULE: &str = "|---:|---:|---:|---:|---:|";

/// What the columns count.
const LEGEND: &str = "\
The last five columns count verdicts under load. Same: as the quiet runs have it. Refused: the
quiet runs decided, and load prevented it; that is allowed. Contradicted: the opposite of the reference. Only under
load: said where the quiet runs refused, or disagree. Absent: there was no such answer.";

impl Table<'_> {
    pub(super) fn markdown(&self) -> String {
        let mut text = self.head();
        text.push_str(&overview(self.rows));
        text += &format!("\n{LEGEND}\n");
        for experiment in experiments(self.rows) {
            text.push_str(&detail(experiment, self.rows));
        }
        text
    }

    /// Which machine, which runs, under which load.
    fn head(&self) -> String {
        let mut text = String::from("# Do verdicts hold under load?\n\n");
        if let Some(run) = self.quiet.first() {
            let Report { provenance, machine, .. } = &run.report;
            let known = |word: &Observed<String>| word.known().map_or("unknown", String::as_str).to_owned();
            let kernel = known(&machine.kernel);
            let kernel = kernel.split(" (").next().unwrap_or_default();
            text += &format!("- tenbin {}, begun {}\n", provenance.version, provenance.started);
            text += &format!("- {}; {kernel}\n", known(&machine.cpu_model));
        }
        let (quiet, loaded, busy) = (self.quiet, self.loaded, self.busy);
        text += &format!("- quiet runs: {}; load average before them {}\n", quiet.len(), loads(quiet));
        let moving = if self.moving { " that start, stop and move" } else { "" };
        text += &format!(
            "- runs under load: {}, beside {busy} busy processes{moving}; load average before them {}\n",
            loaded.len(),
            loads(loaded)
        );
        let depending = |run: &Run| run.answers.iter().filter(|answer| answer.depends()).count();
        let refusals = |runs: &[Run]| runs.iter().map(depending).sum::<usize>();
        text += &format!(
            "- refusals because regimes disagree (it depends): {} in the quiet runs, {} under load\n",
            refusals(quiet),
            refusals(loaded)
        );
        for failure in self.failures {
            let failure = failure.split_whitespace().collect::<Vec<_>>().join(" ");
            text += &format!("- under load without an answer: {failure}\n");
        }
        text.push('\n');
        text
    }
}

/// A line an experiment.
fn overview(rows: &[Row]) -> String {
    let mut text = format!("| experiment | answers | quiet runs disagree {COLUMNS}\n|---|---:|---:{RULE}\n");
    for experiment in experiments(rows) {
        let of = rows.iter().filter(|row| row.key.experiment == experiment).collect::<Vec<_>>();
        let disagree = of.iter().filter(|row| row.quiet == Quiet::Contradictory).count();
        let sums = (0..5).map(|column| of.iter().map(|row| counts(row)[column]).sum::<usize>().to_string());
        let cells = sums.collect::<Vec<_>>().join(" | ");
        text += &format!("| `{experiment}` | {} | {disagree} | {cells} |\n", of.len());
    }
    text
}

/// A line an answer, and then every contradiction in full.
fn detail(experiment: &str, rows: &[Row]) -> String {
    let mut text = format!("\n## {experiment}\n\n| answer | quiet {COLUMNS}\n|---|---{RULE}\n");
    let of = || rows.iter().filter(|row| row.key.experiment == experiment);
    for row in of() {
        let cells = counts(row).map(|count| count.to_string()).join(" | ");
        text += &format!("| {} | {} | {cells} |\n", row.key, quiet(row.quiet));
    }
    for row in of() {
        for Contradiction { reference, against } in &row.contradictions {
            text += &format!("\nContradiction: {}\n\n", row.key);
            for (run, answer) in [reference, against] {
                text += &format!("- {run}: {}. {}\n", word(answer.verdict), answer.sentence);
            }
        }
    }
    text
}

fn quiet(quiet: Quiet) -> String {
    match quiet {
        Quiet::Agreed(verdict) => word(verdict).into(),
        Quiet::Sometimes(verdict, times) => format!("{}, in {times} only", word(verdict)),
        Quiet::Contradictory => "they disagree".into(),
        Quiet::Absent => "not asked".into(),
    }
}

fn experiments(rows: &[Row]) -> Vec<&str> {
    let mut names = Vec::new();
    for row in rows {
        // An answer that only load brought stands at the end, apart from its experiment's others.
        if !names.contains(&row.key.experiment.as_str()) {
            names.push(&row.key.experiment);
        }
    }
    names
}

/// "1.2 to 5.9".
fn loads(runs: &[Run]) -> String {
    let loads = || runs.iter().filter_map(|run| run.load);
    match loads().reduce(f64::min).zip(loads().reduce(f64::max)) {
        Some((low, high)) => format!("{low:.1} to {high:.1}"),
        None => "unknown".into(),
    }
}

/// What stands in the last five columns.
fn counts(row: &Row) -> [usize; 5] {
    [row.same, row.refused, row.contradicted, row.unheld, row.absent]
}

#[cfg(test)]
mod tests {
    use tenbin_model::{Machine, Verdict};

    use super::super::answer::tests::answered;
    use super::super::comparison::compare;
    use super::super::{answer, by_run};
    use super::*;
    use crate::tally::provenance;

    fn run(name: &str, load: f64, verdict: Verdict, ratio: f64) -> Run {
        let mut machine = Machine::unobserved("a test");
        machine.cpu_model = Observed::Known("a processor".into());
        machine.kernel = Observed::Known("Linux version 1.2 (gcc)".into());
        let sentence = |answer, sentence: String| tenbin_model::Answer { sentence, ..answer };
        let faults = answered("faults", "at 1 thread", verdict, Some(("a", "b", ratio)));
        let report = Report {
            schema: Report::SCHEMA.into(),
            run: None,
            provenance: provenance(),
            machine,
            instrument: None,
            scope: None,
            answers: vec![
                sentence(answered("caches", "L1", Verdict::Equivalent, None), "Agreed.".into()),
                sentence(faults, format!("By {ratio}.")),
            ],
            findings: Vec::new(),
            checks: Vec::new(),
        };
        let answers = answer::read(&report.answers).expect("a report");
        Run { name: name.into(), answers, load: Some(load), report }
    }

    fn page(quiet: &[Run], loaded: &[Run]) -> String {
        let rows = compare(&by_run(quiet), &by_run(loaded));
        let failures = ["run 3: it was\nplanted".to_owned()];
        Table { quiet, loaded, busy: 4, moving: false, failures: &failures, rows: &rows }.markdown()
    }

    #[test]
    fn the_whole_text() {
        let quiet = [run("quiet run 1", 0.5, Verdict::Different, 1.5)];
        let loaded = [
            run("run 1 under load", 3.0, Verdict::Refused, 1.2),
            run("run 2 under load", 4.06, Verdict::Different, 0.5),
        ];
        let expected = "\
# Do verdicts hold under load?

- tenbin 9.9.9, begun 2000-01-01T00:00:00Z
- a processor; Linux version 1.2
- quiet runs: 1; load average before them 0.5 to 0.5
- runs under load: 2, beside 4 busy processes; load average before them 3.0 to 4.1
- refusals because regimes disagree (it depends): 0 in the quiet runs, 0 under load
- under load without an answer: run 3: it was planted

| experiment | answers | quiet runs disagree | same | refused | contradicted | only under load | absent |
|---|---:|---:|---:|---:|---:|---:|---:|
| `caches` | 1 | 0 | 2 | 0 | 0 | 0 | 0 |
| `faults` | 1 | 0 | 0 | 1 | 1 | 0 | 0 |

The last five columns count verdicts under load. Same: as the quiet runs have it. Refused: the
quiet runs decided, and load prevented it; that is allowed. Contradicted: the opposite of the reference. Only under
load: said where the quiet runs refused, or disagree. Absent: there was no such answer.

## caches

| answer | quiet | same | refused | contradicted | only under load | absent |
|---|---|---:|---:|---:|---:|---:|
| L1 | equivalent | 2 | 0 | 0 | 0 | 0 |

## faults

| answer | quiet | same | refused | contradicted | only under load | absent |
|---|---|---:|---:|---:|---:|---:|
| a / b, at 1 thread | different | 0 | 1 | 1 | 0 | 0 |

Contradiction: a / b, at 1 thread

- quiet run 1: different. By 1.5.
- run 2 under load: different. By 0.5.
";
        assert_eq!(page(&quiet, &loaded), expected);
    }

    #[test]
    fn quiet_runs_that_disagree_are_told() {
        let quiet = [
            run("quiet run 1", 0.1, Verdict::Different, 1.5),
            run("quiet run 2", 0.1, Verdict::Equivalent, 1.0),
        ];
        let text = page(&quiet, &[run("run 1 under load", 4.0, Verdict::Different, 1.5)]);
        assert!(text.contains("| a / b, at 1 thread | they disagree | 0 | 0 | 0 | 1 | 0 |"), "{text}");
        assert!(text.contains("- quiet run 2: equivalent. By 1."), "{text}");
    }
}
