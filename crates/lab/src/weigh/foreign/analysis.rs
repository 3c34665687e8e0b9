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
use tenbin_model::words::counted;
use tenbin_model::{
    AnalysisName, Answer, Cell, Comparison, Descriptor, Evidence, Machine, Picoseconds, Refusal, Trial,
    VariantIndex, Verdict,
};
use tenbin_stats::multiple::bonferroni;
use tenbin_stats::order::Ordered;
use tenbin_stats::paired::as_ratios;
use tenbin_stats::{detectable, runs, sides, sign};

/// Samples of which nobody knows in which order they were taken.
pub const UNORDERED: &dyn Analysis = &Unordered;

#[derive(Debug)]
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
        let name = cell.arrangement.variants.first().map_or("", |&variant| &descriptor[variant].name);
        let refusal = Refusal {
            reached: format!("`{name}` is the only benchmark with samples"),
            needs: "another one to weigh it against".into(),
            remedy: "give a second file (--from FILE --from FILE)".into(),
        };
        return vec![refused(empty(descriptor, &cell.arrangement.label, true), refusal)];
    }
    let judged = cell.arrangement.comparisons.iter().enumerate().map(|(place, comparison)| {
        let headline = cell.arrangement.headline && place == 0;
        let answer = empty(descriptor, &cell.arrangement.label, headline);
        match evidence(trial, cell, comparison) {
            Err(refusal) => refused(answer, refusal),
            Ok(evidence) => {
                let verdict = of_interval(evidence.interval, evidence.margin);
                if verdict == Verdict::Refused {
                    let refusal = undecided(descriptor, &evidence);
                    return Answer { evidence: Some(evidence), ..refused(answer, refusal) };
                }
                let claim = sentence::alone(descriptor.quantity, &evidence, verdict);
                let sentence = format!("{claim}, {CONDITION}.");
                Answer { verdict, sentence, evidence: Some(evidence), ..answer }
            }
        }
    });
    judged.collect()
}

/// Under which every claim stands.
const CONDITION: &str = "as far as nothing changed between the runs of the one and of the other: they were not \
                         interleaved, and their order is not known";

fn evidence(trial: &Trial, cell: &Cell, comparison: &Comparison) -> Result<Evidence, Refusal> {
    let Trial { descriptor, .. } = trial;
    let family = trial.family();
    let name = |variant: VariantIndex| descriptor[variant].name.clone();
    let (left, right) = (name(comparison.left), name(comparison.right));
    let times = [comparison.left, comparison.right].map(|variant| of_variant(cell, variant));
    for (name, times) in [&left, &right].into_iter().zip(&times) {
        let zeros = times.iter().filter(|&&time| time == 0.0).count();
        if zeros > 0 {
            return Err(Refusal {
                reached: format!("{zeros} of {} of `{name}` took no time", counted(times.len(), "sample")),
                needs: "times above 0, for a ratio".into(),
                remedy: "measure longer runs".into(),
            });
        }
    }
    let [one, other] = times.map(|times| times.iter().map(|time| time.ln()).collect::<Vec<f64>>());
    let level = bonferroni(descriptor.level, family);
    let Some((level, shift)) = level.and_then(|level| Some((level, sides::shift(&one, &other, level)?)))
    else {
        let least = level.and_then(runs::least_each);
        let least = least.map_or_else(|| "more".into(), |least| format!("about {least}"));
        return Err(Refusal {
            reached: format!(
                "`{left}` has {} and `{right}` {}",
                counted(one.len(), "sample"),
                counted(other.len(), "sample")
            ),
            needs: format!(
                "{least} of each, with {family} to be judged at a level of {}",
                percent(descriptor.level)
            ),
            remedy: "take more of both".into(),
        });
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
        needs: format!("an interval that does not hold 1, or lies within {} of it", percent(evidence.margin)),
        remedy: "measure both again in turns: tenbin weigh runs commands so, until it knows".into(),
    }
}

/// The times of one operation.
fn of_variant(cell: &Cell, variant: VariantIndex) -> Vec<f64> {
    let samples = cell.samples.iter().filter(|sample| sample.variant == variant && sample.iterations > 0);
    samples.map(|sample| sample.elapsed.0 as f64 / sample.iterations as f64).collect()
}

fn view(trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for answer in answers {
        document.paragraph(0, with_caveat(answer));
    }
    if let Some(picture) = ratios(trial, answers) {
        document.space().push(picture);
    }
    for cell in &trial.cells {
        let rows: Vec<Vec<String>> =
            cell.arrangement.variants.iter().filter_map(|&variant| row(trial, cell, variant)).collect();
        if !rows.is_empty() {
            let header = ["benchmark", "median", "within (99 %)", "least..most", "samples"];
            document.space().table(Table::new(header, rows));
        }
    }
    if let Some(tool) = trial.descriptor.parameter("tool").filter(|_| !trial.cells.is_empty()) {
        document.space().paragraph(2, format!("Samples: {tool} took them, and tenbin measured nothing."));
    }
    document
}

fn row(trial: &Trial, cell: &Cell, variant: VariantIndex) -> Option<Vec<String>> {
    let times = Ordered::new(of_variant(cell, variant))?;
    let estimate = sign::Estimate::of(&times, tenbin_stats::LEVEL);
    let time = |picoseconds: f64| Picoseconds(picoseconds.round() as u64).to_string();
    let within = estimate.interval.map_or_else(
        || "–".into(),
        |quantile| format!("{} to {}", time(quantile.interval.low), time(quantile.interval.high)),
    );
    let values = times.values();
    Some(vec![
        trial.descriptor[variant].name.clone(),
        time(estimate.median),
        within,
        format!("{}..{}", time(values[0]), time(values[values.len() - 1])),
        times.count().to_string(),
    ])
}

#[cfg(test)]
mod tests;
