//! How samples that were not interleaved become answers: each pair by the rank sums of two independent
//! samples.
//!
//! Blocks do not exist here, so nothing that drifts is cancelled: whatever changed between the runs of the
//! one and of the other is in the difference, and every sentence says so.

use tenbin_analysis::report::{ratios, with_caveat};
use tenbin_analysis::verdict::comparisons::empty;
use tenbin_analysis::verdict::{of_interval, refused_in_words, sentence};
use tenbin_analysis::{Analysis, Basis, Judged};
use tenbin_document::words::percent;
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::words::{capitalised, counted};
use tenbin_model::{
    AnalysisName, Answer, Cell, Comparison, Descriptor, Evidence, Figure, Machine, Picoseconds, Refusal,
    Trial, VariantIndex, Verdict,
};
use tenbin_stats::multiple::bonferroni;
use tenbin_stats::order::Ordered;
use tenbin_stats::paired::as_ratios;
use tenbin_stats::{detectable, runs, sides, sign};

/// Samples of which nobody knows in which order they were taken.
pub const UNORDERED: &dyn Analysis = &Unordered;

struct Unordered;

impl Analysis for Unordered {
    fn name(&self) -> &'static str {
        AnalysisName::UNORDERED
    }

    fn scope(&self) -> &'static str {
        "Intervals cover what varied from sample to sample, if samples are independent and both sides vary alike. \
         Whatever changed between the runs of the one and of the other is not in them."
    }

    fn basis(&self) -> Basis {
        Basis::Cells
    }

    /// All of them stand in the view, those that are open together.
    fn is_summary(&self, _: &Answer, _: bool) -> bool {
        false
    }

    fn decided(&self, _: &Descriptor, _: usize, _: &Cell) -> bool {
        // It was taken before anybody asked.
        true
    }

    fn depends(&self, _: &Descriptor, _: usize, _: &Cell) -> bool {
        false
    }

    fn judge(&self, _machine: &Machine, trial: &Trial) -> Judged {
        let answers: Vec<Answer> = trial.cells.iter().flat_map(|cell| answers(trial, cell)).collect();
        let view = view(trial, &answers);
        Judged { answers, findings: Vec::new(), view }
    }
}

fn answers(trial: &Trial, cell: &Cell) -> Vec<Answer> {
    let Trial { descriptor, .. } = trial;
    let refused = |answer: Answer, refusal: Refusal| Answer {
        sentence: refused_in_words(&refusal),
        refusal: Some(refusal),
        ..answer
    };
    if cell.arrangement.comparisons.is_empty() {
        // Of several cells, others have the answer.
        if !cell.arrangement.headline {
            return Vec::new();
        }
        let name = cell.arrangement.variants.first().map_or("", |&variant| &descriptor[variant].name);
        let refusal = Refusal {
            reached: format!("`{name}` is the only benchmark with samples"),
            needs: "another one to weigh it against".into(),
            remedy: "give a second file (--from FILE --from FILE)".into(),
        };
        return vec![refused(empty(descriptor, &cell.arrangement.label, true), refusal)];
    }
    // Of one cell nobody has to be told where.
    let place = match &cell.arrangement.label {
        label if trial.cells.len() > 1 => format!("{label}: "),
        _ => String::new(),
    };
    let judged = cell.arrangement.comparisons.iter().enumerate().map(|(number, comparison)| {
        let headline = cell.arrangement.headline && number == 0;
        let answer = empty(descriptor, &cell.arrangement.label, headline);
        let refused = |answer: Answer, refusal: Refusal| {
            refused(answer, Refusal { reached: format!("{place}{}", refusal.reached), ..refusal })
        };
        match evidence(trial, cell, comparison) {
            Err(Unknown { refusal, standing: None }) => refused(answer, refusal),
            Err(Unknown { refusal, standing: Some((ratio, claim)) }) => Answer {
                brief: format!("not known: {claim} as it stands"),
                figures: vec![Figure::new(AS_IT_STANDS, ratio, "1")],
                ..refused(answer, refusal)
            },
            Ok(evidence) => {
                let verdict = of_interval(evidence.interval, evidence.margin);
                if verdict == Verdict::Refused {
                    let refusal = undecided(descriptor, &evidence);
                    return Answer { evidence: Some(evidence), ..refused(answer, refusal) };
                }
                let claim = sentence::alone(descriptor.quantity, &evidence, verdict);
                let sentence = format!("{}, {CONDITION}.", capitalised(&format!("{place}{claim}")));
                Answer { verdict, sentence, evidence: Some(evidence), ..answer }
            }
        }
    });
    judged.collect()
}

/// Under which every claim stands.
const CONDITION: &str = "as far as nothing changed between the runs of the one and of the other: they were not \
                         interleaved, and their order is not known";

/// The figure of an answer that has a ratio and no interval: of medians, right over left.
const AS_IT_STANDS: &str = "ratio as it stands";

/// Why there is no interval, and the ratio all the same, where there is one.
struct Unknown {
    refusal: Refusal,
    /// Right over left, and in words.
    standing: Option<(f64, String)>,
}

fn evidence(trial: &Trial, cell: &Cell, comparison: &Comparison) -> Result<Evidence, Unknown> {
    let Trial { descriptor, .. } = trial;
    let family = trial.family();
    let name = |variant: VariantIndex| descriptor[variant].name.clone();
    let (left, right) = (name(comparison.left), name(comparison.right));
    let times = [comparison.left, comparison.right].map(|variant| of_variant(cell, variant));
    for (name, times) in [&left, &right].into_iter().zip(&times) {
        let zeros = times.iter().filter(|&&time| time == 0.0).count();
        if zeros > 0 {
            let refusal = Refusal {
                reached: format!("{zeros} of {} of `{name}` took no time", counted(times.len(), "sample")),
                needs: "times above 0, for a ratio".into(),
                remedy: "measure longer runs".into(),
            };
            return Err(Unknown { refusal, standing: None });
        }
    }
    let [one, other] = times.map(|times| times.iter().map(|time| time.ln()).collect::<Vec<f64>>());
    let level = bonferroni(descriptor.level, family);
    let Some((level, shift)) = level.and_then(|level| Some((level, sides::shift(&one, &other, level)?)))
    else {
        let least = level.and_then(runs::least_each);
        let least = least.map_or_else(|| "more".into(), |least| format!("about {least}"));
        let medians = [one, other].map(|logs| (logs.len(), Ordered::new(logs).map(|logs| logs.median())));
        let standing = match medians {
            [(_, Some(one)), (_, Some(other))] => {
                let ratio = (other - one).exp();
                let (fast, slow) = if ratio < 1.0 { (&right, &left) } else { (&left, &right) };
                let times = three_digits(ratio.max(ratio.recip()));
                Some((ratio, format!("`{fast}` is {times}x as fast as `{slow}`")))
            }
            _ => None,
        };
        let [lefts, rights] = medians.map(|(count, _)| count);
        let samples = match (lefts, rights) {
            (1, 1) => "one figure a side, which says nothing about spread".to_owned(),
            _ => format!("{lefts} of the one and {rights} of the other, too few for an interval"),
        };
        let reached = match &standing {
            Some((_, claim)) => format!("{claim} by {samples}"),
            None => format!("of `{left}` and `{right}` there are {samples}"),
        };
        let refusal = Refusal {
            reached,
            needs: format!(
                "{least} of each, for {} at a level of {}",
                counted(family, "pair"),
                percent(descriptor.level)
            ),
            remedy: "take more of both".into(),
        };
        return Err(Unknown { refusal, standing });
    };
    // Of ties nothing is left outside: then what was asked for is what is known.
    let achieved = if shift.level > 0.0 { shift.level } else { level };
    let effect = detectable::smallest(shift.estimate, shift.interval, achieved);
    Ok(Evidence {
        left,
        right,
        ratio: shift.estimate.exp(),
        interval: as_ratios(shift.interval),
        family_level: descriptor.level,
        family,
        level: achieved,
        blocks: one.len().min(other.len()),
        detectable: effect.map_or(f64::INFINITY, detectable::as_fraction),
        margin: descriptor.margin,
        regimes: Vec::new(),
    })
}

fn undecided(descriptor: &Descriptor, evidence: &Evidence) -> Refusal {
    let claim = sentence::alone(descriptor.quantity, evidence, Verdict::Different);
    Refusal {
        reached: claim,
        needs: format!("an interval that excludes 1, or lies within {} of it", percent(evidence.margin)),
        remedy: "measure both again in turns: tenbin weigh does so with commands until it knows".into(),
    }
}

/// The times of one operation.
fn of_variant(cell: &Cell, variant: VariantIndex) -> Vec<f64> {
    let samples = cell.samples.iter().filter(|sample| sample.variant == variant && sample.iterations > 0);
    samples.map(|sample| sample.elapsed.0 as f64 / sample.iterations as f64).collect()
}

fn view(trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    let open: Vec<&Answer> = answers.iter().filter(|answer| stands(answer)).collect();
    // What is true of several pairs is said once, and their ratios are in the tables.
    let together = open.first().filter(|_| open.len() > 1).and_then(|answer| answer.refusal.as_ref());
    if let Some(Refusal { needs, remedy, .. }) = together {
        document.paragraph(
            0,
            format!(
                "Refused: of {}, none has enough samples for an interval, and one figure a side says nothing about spread; \
                 their ratios are shown as they stand. Needs {needs}. {}.",
                counted(open.len(), "pair"),
                capitalised(remedy)
            ),
        );
    }
    for answer in answers.iter().filter(|answer| together.is_none() || !stands(answer)) {
        document.paragraph(0, with_caveat(answer));
    }
    if let Some(picture) = ratios(trial, answers) {
        document.space().push(picture);
    }
    if let Some(table) = table(trial, !open.is_empty()) {
        document.space().table(table);
    }
    if let Some(tool) = trial.descriptor.parameter("tool").filter(|_| !trial.cells.is_empty()) {
        document.space().paragraph(2, format!("Samples from {tool}; tenbin measured nothing."));
    }
    document
}

/// Whether an answer has a ratio and no interval.
fn stands(answer: &Answer) -> bool {
    answer.figures.iter().any(|figure| figure.name == AS_IT_STANDS)
}

/// What was measured of each side; where a ratio `is_open`, how fast each is beside the first of its cell.
fn table(trial: &Trial, is_open: bool) -> Option<Table> {
    let is_several = trial.cells.len() > 1;
    let mut rows: Vec<Vec<String>> = Vec::new();
    for cell in &trial.cells {
        let mut first = None;
        for &variant in &cell.arrangement.variants {
            let Some(times) = Ordered::new(of_variant(cell, variant)) else { continue };
            let label = if first.is_none() { cell.arrangement.label.as_str() } else { "" };
            // As the answers have it: a quotient of medians of logarithms.
            let logs = Ordered::new(times.values().iter().map(|time| time.ln()).collect());
            let log = logs.map_or(f64::NAN, |logs| logs.median());
            let ratio = format!("{}x", three_digits((*first.get_or_insert(log) - log).exp()));
            let place = is_several.then(|| label.to_owned());
            let row = row(&trial.descriptor[variant].name, &times);
            rows.push(place.into_iter().chain(row).chain(is_open.then_some(ratio)).collect());
        }
    }
    let header = is_several.then_some("where").into_iter();
    let header = header.chain(["benchmark", "median", "within (99 %)", "least..most", "samples"]);
    let mut table = Table::new(header.chain(is_open.then_some("as fast")), rows);
    let within = usize::from(is_several) + 2;
    // Of so few samples that none has an interval, nobody looks for one.
    if table.rows.iter().all(|row| row[within] == NO_INTERVAL) {
        std::iter::once(&mut table.header).chain(&mut table.rows).for_each(|row| drop(row.remove(within)));
    }
    let table = if is_several { table.with_words(1) } else { table };
    (!table.rows.is_empty()).then_some(table)
}

/// In the place of an interval of too few samples.
const NO_INTERVAL: &str = "–";

fn row(name: &str, times: &Ordered) -> [String; 5] {
    let estimate = sign::Estimate::of(times, tenbin_stats::LEVEL);
    let time = |picoseconds: f64| Picoseconds(picoseconds.round() as u64).to_string();
    let within = estimate.interval.map_or_else(
        || NO_INTERVAL.into(),
        |quantile| format!("{} to {}", time(quantile.interval.low), time(quantile.interval.high)),
    );
    let values = times.values();
    let range = match values {
        [only] => time(*only),
        _ => format!("{}..{}", time(values[0]), time(values[values.len() - 1])),
    };
    [name.to_owned(), time(estimate.median), within, range, times.count().to_string()]
}

#[cfg(test)]
mod tests;
