//! How epochs of workers become answers: comparisons as any other, and beside them what one layout or one
//! process alone would have said.

pub(super) mod cycles;

use tenbin_analysis::report::{checked, ratios, table, with_caveat};
use tenbin_analysis::verdict::calls::{self, Seldom};
use tenbin_analysis::verdict::{Time, comparisons, refused_in_words};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::Document;
use tenbin_document::interval::outward;
use tenbin_document::words::percent;
use tenbin_model::unit::three_digits;
use tenbin_model::words::counted;
use tenbin_model::{Answer, Cell, Comparison, Finding, Interval, Machine, Purpose, Refusal, Trial, Verdict};
use tenbin_stats::order::Ordered;

/// Functions, each block in a layout of its own.
pub const FUNCTIONS: &dyn Analysis = &Workers {
    name: "functions",
    block: Some("layout"),
    calibrated_by: Purpose::Function,
    scope: "Each block is a link of its own, with code, data and stack at other places, in new processes: intervals cover where \
            things lie. Another input, compiler or machine is not in them.",
};

/// Functions in the one layout that they have.
pub const FUNCTIONS_IN_PLACE: &dyn Analysis = &Workers {
    name: "functions in place",
    block: Some("process"),
    calibrated_by: Purpose::Ladder,
    scope: "Each block is in new processes, with stack and environment at other places. The code lies as it was linked, and \
            the answers hold for that: the same code in another place may cost more or less.",
};

/// Workers of a user's, each block in processes of its own.
pub const WORKERS: &dyn Analysis = &Workers {
    name: "workers",
    block: Some("process"),
    calibrated_by: Purpose::Ladder,
    scope: "Each block is in new processes: intervals cover what a process has by chance and keeps. Another input or machine is not \
            in them.",
};

/// Workers that were started once.
pub const WORKERS_KEPT: &dyn Analysis = &Workers {
    name: "workers that are kept",
    block: None,
    calibrated_by: Purpose::Ladder,
    scope: "Intervals cover what varied while these processes ran. What a process has for as long as it lives (where its memory lies, \
            how its code was compiled) is not in them: other processes of the same workers may find another ratio.",
};

struct Workers {
    name: &'static str,
    /// What is another one in each block, if anything is.
    block: Option<&'static str>,
    calibrated_by: Purpose,
    scope: &'static str,
}

impl Analysis for Workers {
    fn name(&self) -> &'static str {
        self.name
    }

    fn scope(&self) -> &'static str {
        self.scope
    }

    fn calibrated_by(&self) -> Purpose {
        self.calibrated_by
    }

    fn time(&self, cell: &Cell) -> Time {
        calls::time(cell)
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let mut answers = comparisons::answers(|cell| self.time(cell), machine, trial);
        let mut view = Document::new();
        for cell in &trial.cells {
            for (answer, comparison) in answers.iter_mut().zip(&cell.arrangement.comparisons) {
                beside_middle_calls(answer, cell, comparison);
                if let Some(block) = self.block {
                    over_blocks(answer, cell, comparison, block);
                }
                view.paragraph(0, with_caveat(answer));
            }
            if let Some(picture) = ratios(trial, &answers) {
                view.space().push(picture);
            }
            if let Some(table) = table::variants(self.time(cell), &trial.descriptor, cell) {
                view.space().table(table);
            }
            view.space().append(checked(trial, std::slice::from_ref(cell)));
        }
        let cells = trial.cells.iter();
        let findings = cells.flat_map(|cell| cell.arrangement.comparisons.iter().map(move |it| (cell, it)));
        let findings = findings.filter_map(|(cell, comparison)| seldom(trial, cell, comparison)).collect();
        Judged { answers, findings, view }
    }
}

/// Says of an answer that is of middle calls what may come to it. Where that is more than the margin, two are
/// not the same for all that is known.
fn beside_middle_calls(answer: &mut Answer, cell: &Cell, comparison: &Comparison) {
    let Some(evidence) = answer.evidence.as_ref().filter(|_| answer.verdict != Verdict::Refused) else {
        return;
    };
    let unknown =
        Seldom::of(cell, comparison).filter(|seldom| !seldom.is_there && !seldom.is_known(evidence.margin));
    let Some(Seldom { interval: Interval { low, high }, .. }) = unknown else { return };
    let [low, high] = [low, high].map(|end| 100.0 * end.exp_m1());
    let change = format!("what is done in few of the calls may change it by {low:+.1} to {high:+.1} %");
    if answer.verdict == Verdict::Different {
        let own = format!("That is by one call of the sixteen in each epoch: {change}.");
        answer.caveat =
            Some(answer.caveat.take().map_or_else(|| own.clone(), |before| format!("{before} {own}")));
        return;
    }
    let refusal = Refusal {
        reached: format!(
            "by one call of the sixteen in each epoch {} and {} cost the same within {} (ratio {}), and {change}",
            evidence.left,
            evidence.right,
            percent(evidence.margin),
            outward(evidence.interval)
        ),
        needs: format!("to know that to within {}", percent(evidence.margin)),
        remedy: "give it more time (--within) or a quieter machine".into(),
    };
    answer.verdict = Verdict::Refused;
    answer.caveat = None;
    answer.sentence = refused_in_words(&refusal);
    answer.refusal = Some(refusal);
}

/// That a variant does something in few of its calls, where it does.
fn seldom(trial: &Trial, cell: &Cell, comparison: &Comparison) -> Option<Finding> {
    let factor = Seldom::of(cell, comparison).filter(|seldom| seldom.is_there)?.median.exp();
    let (dearer, other) = match factor > 1.0 {
        true => (comparison.right, comparison.left),
        false => (comparison.left, comparison.right),
    };
    let name = |variant| &trial.descriptor[variant].name;
    Some(Finding {
        experiment: trial.descriptor.name.clone(),
        sentence: format!(
            "{} takes longer in a few of its calls: against {} it is {} dearer by all calls of an epoch than \
             by the one in its middle. The answer is for whole epochs.",
            name(dearer),
            name(other),
            percent(factor.max(1.0 / factor) - 1.0)
        ),
        evidence: format!(
            "all calls of an epoch give {} times the ratio that the one in its middle gives",
            three_digits(factor)
        ),
        confidence: "the exact interval of that at 0.1 % excludes 1".into(),
    })
}

/// Fewer blocks than these say nothing of their spread.
const LEAST_BLOCKS: usize = 8;

/// The share in the spread of what is another one in each block, below which it is not worth a word.
const LEAST_SHARE: f64 = 0.2;

/// Has an answer say over how many layouts or processes it is, and what one of them alone would have said.
fn over_blocks(answer: &mut Answer, cell: &Cell, comparison: &Comparison, block: &str) {
    let (Some(evidence), Verdict::Different | Verdict::Equivalent) = (&answer.evidence, answer.verdict)
    else {
        return;
    };
    let number = match (block, evidence.blocks) {
        ("process", number) => format!("{number} processes of each"),
        (block, number) => counted(number, block),
    };
    let sentence = answer.sentence.trim_end_matches('.');
    answer.sentence = match Spread::of(cell, comparison) {
        // What is the same in every digit is not worth a word either.
        Some(Spread { low, high, share }) if share >= LEAST_SHARE && alone(low) != alone(high) => format!(
            "{sentence}, over {number}; one alone would have said anything from {} to {}.",
            alone(low),
            alone(high)
        ),
        Some(_) => format!("{sentence}, over {number}, which differ by no more than noise."),
        // Too few to say what they do.
        None => format!("{sentence}, over {number}."),
    };
}

/// "3.1 % cheaper": what a block in which the right one costs this many times the left says of the left.
fn alone(ratio: f64) -> String {
    let (word, factor) =
        if ratio >= 1.0 { ("cheaper", 1.0 - 1.0 / ratio) } else { ("dearer", 1.0 / ratio - 1.0) };
    match factor {
        ..0.0005 => "the same".into(),
        0.0005..0.1 => format!("{} {word}", percent(factor)),
        _ => format!("{}x {word}", three_digits(ratio.max(1.0 / ratio))),
    }
}

/// What layouts or processes do to a ratio.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Spread {
    /// The ratio that one of twenty would fall below, had it been measured without any noise.
    low: f64,
    /// The ratio that one of twenty would exceed.
    high: f64,
    /// The part of the variance between blocks that is theirs: the rest is there within one.
    share: f64,
}

impl Spread {
    /// From the two halves of each block, which are a ratio each in one layout: what differs between them is
    /// noise, and what blocks differ by beyond that are layouts. Both are ranges of nine tenths: what is rare
    /// in the one is so in the other.
    fn of(cell: &Cell, comparison: &Comparison) -> Option<Self> {
        let time = calls::time(cell);
        let mut halves: Vec<[f64; 2]> = Vec::new();
        for block in cell.samples.chunk_by(|one, other| one.block == other.block) {
            let of = |variant| {
                let mut times = block.iter().filter(|sample| sample.variant == variant).map(time);
                Some([times.next()?, times.next()?])
            };
            let (Some(left), Some(right)) = (of(comparison.left), of(comparison.right)) else { continue };
            halves.push([0, 1].map(|half: usize| (right[half] / left[half]).ln()));
        }
        if halves.len() < LEAST_BLOCKS {
            return None;
        }
        let ratios = Ordered::new(halves.iter().map(|[one, other]| (one + other) / 2.0).collect())?;
        let differences: Vec<f64> = halves.iter().map(|[one, other]| (one - other) / 2.0).collect();
        let differences = Ordered::new(differences)?;
        let [all, noise] = [&ratios, &differences].map(|values| at(values, 0.95) - at(values, 0.05));
        let share = if all > 0.0 { (1.0 - (noise / all).powi(2)).max(0.0) } else { 0.0 };
        // What noise adds to the spread is taken out of it.
        let without =
            |part: f64| (ratios.median() + (at(&ratios, part) - ratios.median()) * share.sqrt()).exp();
        Some(Self { low: without(0.05), high: without(0.95), share })
    }
}

/// The value below which this part of them lies.
fn at(values: &Ordered, part: f64) -> f64 {
    values.values()[(part * (values.count() - 1) as f64).round() as usize]
}

#[cfg(test)]
mod tests {
    use tenbin_analysis::specimen;
    use tenbin_model::{Ended, Picoseconds, Quantity};

    use super::*;

    /// The answer about two whose middle calls are so many times apart, while whole epochs are disturbed by
    /// up to so much, and the second one does this much seldom.
    fn answer(ratio: f64, noise: f64, seldom: f64) -> Judged {
        let mut cell = specimen::cell(64, ratio, noise, Ended::Budget, 1);
        for sample in &mut cell.samples {
            let is_right = sample.variant == cell.arrangement.comparisons[0].right;
            let (cost, more) = if is_right { (ratio, 1.0 + seldom) } else { (1.0, 1.0) };
            sample.middle_call = Some(Picoseconds((1e8 * cost) as u64 + u64::from(sample.order % 7)));
            sample.elapsed.0 = (sample.elapsed.0 as f64 * more) as u64;
        }
        let trial = specimen::trial(Quantity::NanosecondsPerOperation, vec![cell]);
        FUNCTIONS_IN_PLACE.judge(&Machine::unobserved("a test"), &trial)
    }

    #[test]
    fn two_are_the_same_once_it_is_known_what_they_do_seldom() {
        for (ratio, noise, seldom, verdict, words) in [
            (1.0, 0.005, 0.0, Verdict::Equivalent, "cost the same within 1 %"),
            (1.0, 0.3, 0.0, Verdict::Refused, "what is done in few of the calls may change it by"),
            // A difference stands, with what may come to it.
            (1.011, 0.3, 0.0, Verdict::Different, "That is by one call of the sixteen in each epoch"),
            (1.02, 0.01, 0.0, Verdict::Different, "over 64 processes of each, which differ by no more"),
        ] {
            let judged = answer(ratio, noise, seldom);
            let shown = with_caveat(&judged.answers[0]);
            assert_eq!(judged.answers[0].verdict, verdict, "{shown}");
            assert!(shown.contains(words), "{shown}");
            assert!(judged.findings.is_empty(), "{:?}", judged.findings);
        }
    }

    #[test]
    fn who_does_something_seldom_is_named() {
        let judged = answer(1.0, 0.01, 0.2);
        assert_eq!(judged.answers[0].verdict, Verdict::Different, "{}", judged.answers[0].sentence);
        let sentence = &judged.findings[0].sentence;
        assert!(sentence.starts_with("a lock cmpxchg loop takes longer in a few of its calls"), "{sentence}");
        assert!(sentence.contains("20"), "{sentence}");
    }
}
