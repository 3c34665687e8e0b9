//! Runs side by side: their ratios, and how far each of them moved.

use tenbin_document::interval::{outward, show};
use tenbin_document::words::comma;
use tenbin_document::{Block, Document, Estimate, Intervals, Mark, Page, Section, Summary, Table};
use tenbin_model::{Order, Report, Run, Verdict};

use super::claims;
use super::page::{folded, short, started};
use super::pictures::estimate;
use crate::across::{Across, Measured, Question, in_order, measured};
use crate::analysis::{Analyses, Reported};
use crate::comparable::compare;

/// So many ratios stand below each other; more of them are folded.
const RATIOS: usize = 12;

/// So many of them, those that moved most, are drawn with the interval of each run.
const DRAWN: usize = 3;

/// From these moves on a cell is darker: a factor of 1 %, 3 %, 10 %, 30 %.
const SHADES: [f64; 4] = [1.01, 1.03, 1.1, 1.3];

/// A run and what it came to.
type Judged = (Run, Reported);

/// Two runs or more next to each other: what is to be said of two of them (`across`), then for each
/// experiment the ratios of every run, those first that moved most from the first run on.
pub fn as_page_of_several(
    analyses: &Analyses,
    runs: &[Judged],
    labels: &[Option<String>],
    across: Option<&Across>,
) -> Page {
    let names = names(runs, labels);
    let ratios: Vec<Vec<Measured>> =
        runs.iter().map(|(run, reported)| measured(run, &reported.report.answers)).collect();
    let experiments =
        in_order(runs.iter().flat_map(|(run, _)| &run.trials).map(|trial| &trial.descriptor.name));
    let mut page = Page {
        title: format!("tenbin: {} runs of {}", runs.len(), comma(&experiments)),
        about: names.iter().cloned().zip(runs.iter().map(of_run)).collect(),
        ..Page::default()
    };
    if let Some(across) = across {
        page.remarks.paragraph(0, &across.sentence);
    }
    page.remarks.append(machines(runs, &names));
    for (place, &experiment) in experiments.iter().enumerate() {
        let mut document = Document::new();
        let moves = moves(&ratios, experiment);
        if moves.is_empty() {
            document.append(headlines(analyses, runs, &names, experiment));
        } else {
            document.append(side_by_side(&moves, &names));
        }
        page.summaries.extend(summaries(place, experiment, across, &moves));
        let about =
            runs.iter().flat_map(|(run, _)| &run.trials).find(|trial| &trial.descriptor.name == experiment);
        let about = about.map(|trial| trial.descriptor.question.clone()).unwrap_or_default();
        page.sections.push(Section { name: experiment.clone(), about, document, samples: Vec::new() });
    }
    page
}

/// What tells the runs apart for a reader: the label of each that has one to itself, of others when they were
/// begun, as exactly as that takes. Where it does not, their ids.
fn names(runs: &[Judged], labels: &[Option<String>]) -> Vec<String> {
    /// Letters of a date: to the day, the minute and the second.
    const DATES: [usize; 3] = [10, 16, 19];
    let has_to_itself = |label: &String| labels.iter().flatten().filter(|other| *other == label).count() == 1;
    let by = |letters: usize| {
        let name = |((run, _), label): (&Judged, &Option<String>)| {
            if let Some(own) = label.as_ref().filter(|label| has_to_itself(label)) {
                return Some(own.clone());
            }
            let date = run.provenance.started.get(..letters)?.replace('T', " ");
            Some(comma(label.iter().chain([&date])))
        };
        let names: Vec<String> = runs.iter().zip(labels).map(name).collect::<Option<_>>()?;
        (in_order(names.iter()).len() == names.len()).then_some(names)
    };
    let ids = || runs.iter().map(|(_, reported)| id(&reported.report).to_owned()).collect();
    DATES.into_iter().find_map(by).unwrap_or_else(ids)
}

fn id(report: &Report) -> &str {
    report.run.as_deref().map_or("not kept", short)
}

/// When a run was made, its id, by what, and on what.
fn of_run((run, reported): &Judged) -> String {
    let (provenance, cpu) = (&run.provenance, run.machine.cpu_model.known());
    let made =
        [started(run), format!("run {}", id(&reported.report)), format!("tenbin {}", provenance.version)];
    comma(made.iter().chain(cpu).filter(|words| !words.is_empty()))
}

/// Whether the machines of the others are that of the first.
fn machines(runs: &[Judged], names: &[String]) -> Document {
    let first = &runs[0].0.machine;
    let sentences: Vec<String> =
        runs[1..].iter().map(|(run, _)| compare(first, &run.machine).sentence).collect();
    let mut document = Document::new();
    for sentence in in_order(sentences.iter()) {
        let own = names[1..].iter().zip(&sentences).filter(|(_, other)| *other == sentence);
        let whole = format!("{} and {}: {sentence}", names[0], comma(own.map(|(name, _)| name)));
        // What is known of them is long where little is.
        match whole.split_once(". ") {
            Some((first, rest)) => {
                let mut more = Document::new();
                more.paragraph(0, rest);
                document.paragraph(0, format!("{first}.")).push(folded("More of these machines", more))
            }
            None => document.paragraph(0, whole),
        };
    }
    document
}

/// What an experiment without ratios answered in each run.
fn headlines(analyses: &Analyses, runs: &[Judged], names: &[String], experiment: &str) -> Document {
    let mut document = Document::new();
    for ((run, reported), name) in runs.iter().zip(names) {
        for trial in run.trials.iter().filter(|trial| trial.descriptor.name == experiment) {
            let claimed = analyses.of(&trial.descriptor).and_then(|analysis| analysis.claims(trial));
            for summary in claimed.iter().flat_map(|question| claims::summaries(0, question)) {
                document.entry(name, format!("{}: {}", summary.name, summary.sentence));
            }
        }
        for answer in reported.report.answers.iter().filter(|it| it.headline && it.experiment == experiment) {
            document.entry(name, &answer.sentence);
        }
    }
    document
}

/// A ratio in each run that has it, and how far it moved at most from the first that has it.
struct Move<'a> {
    question: &'a Question,
    runs: Vec<Option<&'a Measured>>,
    /// By the logarithm.
    farthest: f64,
}

impl Move<'_> {
    /// How far a run's ratio is from the first one's, as a factor.
    fn factor(&self, run: usize) -> Option<f64> {
        let first = self.runs.iter().flatten().next()?;
        Some(self.runs[run]?.evidence.ratio / first.evidence.ratio)
    }

    fn name(&self) -> String {
        let Question { left, right, cell, .. } = self.question;
        let place = if cell.is_empty() { String::new() } else { format!(", {cell}") };
        format!("{left} : {right}{place}")
    }
}

/// Every ratio of an experiment, those first that moved most.
fn moves<'a>(ratios: &'a [Vec<Measured>], experiment: &str) -> Vec<Move<'a>> {
    let own =
        ratios.iter().flatten().map(|it| &it.question).filter(|question| question.experiment == experiment);
    let of = |question: &'a Question| {
        let runs = ratios.iter().map(|run| run.iter().find(|it| it.question == *question)).collect();
        let mut one = Move { question, runs, farthest: 0.0 };
        let factors = (0..one.runs.len()).filter_map(|run| one.factor(run));
        one.farthest = factors.map(|factor| factor.ln().abs()).fold(0.0, f64::max);
        one
    };
    let mut moves: Vec<Move<'_>> = in_order(own).into_iter().map(of).collect();
    moves.order_by(|one, other| other.farthest.total_cmp(&one.farthest));
    moves
}

/// A table of a row a ratio and a column a run, then the intervals of those that moved most.
fn side_by_side(moves: &[Move<'_>], names: &[String]) -> Document {
    let mut document = Document::new();
    document.paragraph(
        0,
        "Cost of the right one as a multiple of that of the left one, and how far that lies from the first run's: \
         darker from 1, 3, 10 and 30 % on. Epochs of two runs were never interleaved, so their times are not compared.",
    );
    let (first, rest) = moves.split_at(moves.len().min(RATIOS));
    document.push(Block::Table(table(first, names)));
    for one in first.iter().take(DRAWN) {
        document.push(Block::Intervals(Intervals {
            title: one.name(),
            sides: Default::default(),
            rows: estimates(one, names),
            marked: format!("Within each run {} against {}", one.question.left, one.question.right),
        }));
    }
    if !rest.is_empty() {
        let more = Document { blocks: vec![Block::Table(table(rest, names))] };
        document.push(folded("All other ratios, which moved less", more));
    }
    document
}

fn table(moves: &[Move<'_>], names: &[String]) -> Table {
    let header = std::iter::once("ratio").chain(names.iter().map(String::as_str));
    let cell = |one: &Move<'_>, run: usize| {
        let (Some(measured), Some(factor)) = (one.runs[run], one.factor(run)) else { return "-".to_owned() };
        let evidence = &measured.evidence;
        let ratio = show(evidence.ratio, evidence.interval);
        if run == 0 { ratio } else { format!("{ratio} ({:+.1} %)", (factor - 1.0) * 100.0) }
    };
    let row =
        |one| std::iter::once(Move::name(one)).chain((0..names.len()).map(|run| cell(one, run))).collect();
    let shades = moves.iter().map(|one| {
        let runs = (0..names.len()).map(|run| one.factor(run).map_or(0, shade));
        std::iter::once(0).chain(runs).collect()
    });
    Table { shades: shades.collect(), ..Table::new(header, moves.iter().map(row).collect()) }
}

/// How dark a cell is, and below 0 where the ratio fell.
fn shade(factor: f64) -> i8 {
    let least = SHADES.iter().filter(|least| factor.max(1.0 / factor) >= **least).count() as i8;
    if factor < 1.0 { -least } else { least }
}

fn estimates(one: &Move<'_>, names: &[String]) -> Vec<Estimate> {
    let row = |(measured, name): (&Option<&Measured>, &String)| {
        let Measured { evidence, verdict, .. } = (*measured)?;
        let figure = format!("{} ({})", show(evidence.ratio, evidence.interval), outward(evidence.interval));
        estimate(name.clone(), figure, evidence, *verdict)
    };
    one.runs.iter().zip(names).filter_map(row).collect()
}

/// What is known of two runs; of more, what moved most, which is no verdict.
fn summaries(section: usize, experiment: &str, across: Option<&Across>, moves: &[Move<'_>]) -> Vec<Summary> {
    let summary = |verdict, sentence| Summary {
        section,
        name: experiment.into(),
        mark: Mark::Verdict(verdict),
        sentence,
    };
    if let Some(across) = across {
        let own = across.comparisons.iter().filter(|it| it.experiment == experiment);
        let known = own.filter(|it| it.verdict != Verdict::Refused);
        let known: Vec<Summary> = known.map(|it| summary(it.verdict, it.sentence.clone())).collect();
        if !known.is_empty() {
            return known;
        }
    }
    let Some(first) = moves.first() else { return Vec::new() };
    if first.farthest.exp() < SHADES[0] {
        let sentence = "No ratio lies 1 % or more from that of the first run.".into();
        return vec![summary(Verdict::Refused, sentence)];
    }
    let sentence = format!(
        "{} moved most, by {:.1} %; `tenbin compare` of several runs a side says whether runs of the same \
         differ by less.",
        first.name(),
        (first.farthest.exp() - 1.0) * 100.0
    );
    vec![summary(Verdict::Refused, sentence)]
}

#[cfg(test)]
mod tests {
    use tenbin_model::Machine;

    use super::*;
    use crate::specimen::{comparing, run};

    fn judged(ratio: f64) -> Judged {
        let run = run(ratio, Machine::unobserved("a test"));
        let reported = comparing().report(&run, None);
        (run, reported)
    }

    #[test]
    fn what_moved_most_is_first_and_darkest() {
        let runs = [judged(1.5), judged(1.5), judged(1.5 * 1.05)];
        let ratios: Vec<Vec<Measured>> =
            runs.iter().map(|(run, reported)| measured(run, &reported.report.answers)).collect();
        let moves = moves(&ratios, "made-up");
        assert_eq!(moves.len(), 1);
        assert!((moves[0].farthest.exp() - 1.05).abs() < 0.005, "{}", moves[0].farthest);
        let names = ["a", "b", "c"].map(str::to_owned);
        assert_eq!(table(&moves, &names).shades, [[0, 0, 0, 2]]);
        let page = as_page_of_several(&comparing(), &runs, &[None, None, None], None);
        assert!(page.summaries[0].sentence.contains("moved most, by 5."), "{:?}", page.summaries);
        assert_eq!(page.summaries[0].mark, Mark::Verdict(Verdict::Refused));
    }

    #[test]
    fn runs_are_named_by_label_or_date_and_last_by_id() {
        let begun = |started: &str, id: &str| {
            let (mut run, mut reported) = judged(1.5);
            run.provenance.started = started.into();
            reported.report.run = Some(id.into());
            (run, reported)
        };
        let names = |started: [&str; 2], labels: [Option<&str>; 2]| {
            let runs = [begun(started[0], "aa"), begun(started[1], "bb")];
            names(&runs, &labels.map(|label| label.map(str::to_owned))).join(" | ")
        };
        let (one, next) = ("2026-11-21T09:30:00.5Z", "2026-11-22T09:30:00.5Z");
        let (minute, second) = ("2026-11-21T09:31:00.5Z", "2026-11-21T09:30:01.5Z");
        for (started, labels, expected) in [
            ([one, one], [Some("old"), Some("new")], "old | new"),
            ([one, next], [Some("old"), None], "old | 2026-11-22"),
            ([one, next], [Some("old"), Some("old")], "old, 2026-11-21 | old, 2026-11-22"),
            ([one, next], [None, None], "2026-11-21 | 2026-11-22"),
            ([one, minute], [None, None], "2026-11-21 09:30 | 2026-11-21 09:31"),
            ([one, second], [None, None], "2026-11-21 09:30:00 | 2026-11-21 09:30:01"),
            ([one, one], [None, None], "aa | bb"),
            ([one, ""], [None, None], "aa | bb"),
        ] {
            assert_eq!(names(started, labels), expected);
        }
    }

    #[test]
    fn a_shade_is_as_dark_for_a_fall_as_for_a_rise() {
        for (factor, expected) in
            [(1.0, 0), (1.009, 0), (1.02, 1), (1.0 / 1.02, -1), (2.0, 4), (0.5, -4), (0.9, -3)]
        {
            assert_eq!(shade(factor), expected, "{factor}");
        }
    }
}
