//! Runs of two sides, one or several a side, next to each other.
//!
//! Epochs of two runs were never interleaved, so their times cannot be weighed against each other. Their
//! *ratios* can: each was measured within its own run. But a run's interval covers what varied while that run
//! lasted, and runs of the same thing differ by more: that two such intervals do not meet says nothing about
//! a change. So the run is the unit here ([`tenbin_stats::runs`]): several runs a side have an exact interval
//! for how far the sides lie apart; one run a side is held against how far such runs are known to lie apart,
//! and refused where too few are known.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenbin_model::{Answer, Evidence, Interval, Order, Quantity, Refusal, Run, Trial, Verdict};

use crate::analysis::{Analyses, Basis};
use crate::comparable::{Comparability, Outcome, compare};
use crate::verdict::decide::of_interval;
use crate::verdict::refused_in_words;
use tenbin_document::interval::{outward, show};
use tenbin_document::words::{comma, counted, percent};
use tenbin_stats::LEVEL;
use tenbin_stats::multiple::bonferroni;
use tenbin_stats::order::Ordered;
use tenbin_stats::paired::as_ratios;
use tenbin_stats::runs::{least_each, least_known, reach, shift};

/// How many other runs are asked at most how far runs lie apart. Each takes a moment to read and to judge.
pub const MOST_OTHERS: usize = 128;

/// A run and its name in the store.
#[derive(Clone, Copy, Debug)]
pub struct Kept<'a> {
    /// Its name.
    pub id: &'a str,
    /// The run.
    pub run: &'a Run,
}

/// What the runs of two sides have to say to each other; what `tenbin compare --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Across {
    /// Name and version of this shape.
    pub schema: String,
    /// The answer in one sentence: how many comparisons are different, equivalent and refused.
    pub sentence: String,
    /// The runs of each side, by their names in the store.
    pub sides: [Vec<String>; 2],
    /// Whether their machines are comparable at all, with every difference by name: of the first run and the
    /// one that is least like it.
    pub machines: Comparability,
    /// What would change the refusals, if anything was refused for want of runs.
    pub remedy: Option<String>,
    /// What the order in which the runs were made leaves open, if it does.
    pub remark: Option<String>,
    /// The probability of any false "different" among the comparisons of one experiment.
    pub level: f64,
    /// The comparisons that runs of both sides made.
    pub comparisons: Vec<Compared>,
    /// How many comparisons the runs of only one side made.
    pub unshared: usize,
    /// Experiments of either side whose own answer is no ratio, such as a law or a size: it is made of times,
    /// which two runs have no common measure for, or of what was seen.
    pub uncompared: Vec<String>,
}

impl Across {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-compare-1";
}

/// One comparison that runs of both sides made.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Compared {
    /// Name of the experiment.
    pub experiment: String,
    /// Label of the cell.
    pub cell: String,
    /// What is measured, and so what a ratio says.
    pub quantity: Quantity,
    /// The first variant of each ratio.
    pub left: String,
    /// The second one.
    pub right: String,
    /// What each side measured.
    pub sides: [Side; 2],
    /// The ratio on the second side over that on the first. None where no run of either side answered.
    pub ratio: Option<f64>,
    /// Where that lies. None where there are too few runs for the level.
    pub interval: Option<Interval>,
    /// The probability of a false "different" that was left for this comparison.
    pub level: f64,
    /// One run a side: how far such runs are known to lie apart.
    pub known: Option<Spread>,
    /// Different, equivalent or refused, by the same rule as a run's own verdicts.
    pub verdict: Verdict,
    /// The outcome in words.
    pub sentence: String,
    /// Why not, where it was refused.
    pub refusal: Option<Refusal>,
}

/// What the runs of one side measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Side {
    /// How many runs made this comparison.
    pub runs: usize,
    /// Their ratio: cost of the second variant over cost of the first; of several runs the median.
    pub ratio: f64,
    /// Of one run its own interval; of several the least and the largest of their ratios.
    pub range: Interval,
    /// What each of them answered.
    pub counts: Counts,
}

/// How many runs answered what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counts {
    /// Those that answered "different".
    pub different: usize,
    /// Those that answered "equivalent".
    pub equivalent: usize,
    /// Those that refused.
    pub refused: usize,
}

impl Counts {
    pub(crate) fn of(verdicts: impl Iterator<Item = Verdict>) -> Self {
        verdicts.fold(Self::default(), |mut counts, verdict| {
            match verdict {
                Verdict::Different => counts.different += 1,
                Verdict::Equivalent => counts.equivalent += 1,
                Verdict::Refused => counts.refused += 1,
            }
            counts
        })
    }
}

/// "6 different, 1 refused"; of a single run "different".
impl fmt::Display for Counts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts =
            [(self.different, "different"), (self.equivalent, "equivalent"), (self.refused, "refused")];
        let single = self.different + self.equivalent + self.refused == 1;
        let words = counts.iter().filter(|(count, _)| *count > 0);
        let words =
            words.map(|(count, word)| if single { (*word).into() } else { format!("{count} {word}") });
        f.write_str(&comma(words))
    }
}

/// Runs of one question on one machine, the two that are compared among them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Spread {
    /// How many.
    pub runs: usize,
    /// The least and the largest of their ratios.
    pub range: Interval,
    /// The factor that at most the level's part of their pairs is farther apart than. None with too few runs.
    pub reach: Option<f64>,
}

/// Compares the runs of two sides: first their machines, then every comparison that both made.
///
/// `others` are runs that may tell how far runs lie apart that ask the same; those of another machine,
/// version or effort are not looked at. None of them is on a side.
pub fn across(analyses: &Analyses, first: &[Kept<'_>], second: &[Kept<'_>], others: &[&Run]) -> Across {
    let runs = |side: &[Kept<'_>]| side.iter().map(|kept| judged(analyses, kept.run)).collect::<Vec<_>>();
    let sides = [runs(first), runs(second)];
    let machines = machines(first, second);
    // Runs of two machines are in no order that is as likely as any other.
    let one_machine = machines.outcome <= Outcome::Comparable;
    let alike = |other: &&&Run| {
        one_machine
            && compare(&first[0].run.machine, &other.machine).outcome <= Outcome::Comparable
            && first.iter().chain(second).any(|kept| {
                let (ours, theirs) = (&kept.run.provenance, &other.provenance);
                (&ours.version, ours.effort) == (&theirs.version, theirs.effort)
            })
    };
    let single = first.len() == 1 && second.len() == 1;
    let known: Vec<Vec<Measured>> =
        others.iter().filter(|_| single).filter(alike).map(|run| judged(analyses, run)).collect();

    let asked =
        |side: &[Vec<Measured>]| in_order(side.iter().flatten().map(|measured| measured.question.clone()));
    let (ours, theirs) = (asked(&sides[0]), asked(&sides[1]));
    let shared: Vec<&Question> = ours.iter().filter(|question| theirs.contains(question)).collect();
    let comparisons: Vec<Compared> = shared
        .iter()
        .map(|question| {
            let family = shared.iter().filter(|other| other.experiment == question.experiment).count();
            let of = |runs: &[Vec<Measured>]| -> Vec<Measured> {
                let here = |run: &Vec<Measured>| run.iter().find(|it| it.question == **question).cloned();
                runs.iter().filter_map(here).collect()
            };
            compared(&of(&sides[0]), &of(&sides[1]), &of(&known), family)
        })
        .collect();
    let names = |side: &[Kept<'_>]| side.iter().map(|kept| kept.id.to_owned()).collect::<Vec<_>>();
    Across {
        schema: Across::SCHEMA.into(),
        sentence: summary(&comparisons, [&ours, &theirs], [first.len(), second.len()]),
        sides: [names(first), names(second)],
        machines,
        remedy: remedy(&comparisons, [first.len(), second.len()]),
        remark: order(first, second),
        level: LEVEL,
        unshared: ours.len() + theirs.len() - 2 * shared.len(),
        uncompared: uncompared(analyses, first.iter().chain(second).map(|kept| kept.run)),
        comparisons,
    }
}

/// The first run's machine beside the one that is least like it.
fn machines(first: &[Kept<'_>], second: &[Kept<'_>]) -> Comparability {
    let ours = &first[0].run.machine;
    let others = second.iter().chain(&first[1..]).map(|other| compare(ours, &other.run.machine));
    // Of equals the first.
    let least = others.reduce(|one, other| if other.outcome > one.outcome { other } else { one });
    least.unwrap_or_else(|| compare(ours, ours))
}

/// Sides that were not taken in turns have in their difference what changed meanwhile.
fn order(first: &[Kept<'_>], second: &[Kept<'_>]) -> Option<String> {
    if first.len() < 2 || second.len() < 2 {
        return None;
    }
    let times = |side: &[Kept<'_>]| {
        let mut times: Vec<String> = side.iter().map(|kept| kept.run.provenance.started.clone()).collect();
        times.order();
        times
    };
    let (ours, theirs) = (times(first), times(second));
    let before = |one: &[String], other: &[String]| one.last() < other.first();
    (before(&ours, &theirs) || before(&theirs, &ours)).then(|| {
        "All runs of one side were made before the first of the other: whatever changed meanwhile is in the \
         difference too. Where both can still be measured, take them in turns."
            .into()
    })
}

/// The first line: the answer.
fn summary(comparisons: &[Compared], asked: [&[Question]; 2], runs: [usize; 2]) -> String {
    if comparisons.is_empty() {
        let named = |questions: &[Question]| {
            let names = in_order(questions.iter().map(|question| question.experiment.as_str()));
            if names.is_empty() { "no ratio".into() } else { comma(&names) }
        };
        let [first, second] = asked.map(named);
        return refused_in_words(&Refusal {
            reached: format!(
                "these runs have no comparison in common: the first side measured {first}, the second {second}"
            ),
            needs: "the same experiments, cells and settings on both sides".into(),
            remedy: "name other runs (`tenbin runs` lists them)".into(),
        });
    }
    let count = |verdict| comparisons.iter().filter(|compared| compared.verdict == verdict).count();
    let runs = match runs {
        [1, 1] => "one run a side".into(),
        [ours, theirs] => format!("{} against {theirs}", counted(ours, "run")),
    };
    format!(
        "Of {}, {} different, {} equivalent, {} refused: {runs}, and at a level of {} for each experiment.",
        counted(comparisons.len(), "comparison"),
        count(Verdict::Different),
        count(Verdict::Equivalent),
        count(Verdict::Refused),
        percent(LEVEL)
    )
}

/// The experiments of these runs that are judged by more than ratios, each once, in their order.
fn uncompared<'a>(analyses: &Analyses, runs: impl Iterator<Item = &'a Run>) -> Vec<String> {
    let descriptors = runs.flat_map(|run| &run.trials).map(|trial| &trial.descriptor);
    let others = descriptors.filter(|descriptor| analyses.basis(descriptor) != Some(Basis::Ratios));
    in_order(others.map(|descriptor| descriptor.name.clone()))
}

/// Each of these once, in their order.
pub(crate) fn in_order<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    all.fold(Vec::new(), |mut seen, one| {
        if !seen.contains(&one) {
            seen.push(one);
        }
        seen
    })
}

/// What makes a comparison the same one elsewhere.
#[derive(Clone, PartialEq)]
pub(crate) struct Question {
    pub(crate) experiment: String,
    pub(crate) cell: String,
    pub(crate) left: String,
    pub(crate) right: String,
    /// The cell's parameters: runs that were set differently asked different questions.
    parameters: Vec<(String, String)>,
}

#[derive(Clone)]
pub(crate) struct Measured {
    pub(crate) question: Question,
    pub(crate) verdict: Verdict,
    pub(crate) evidence: Evidence,
    quantity: Quantity,
}

/// Every ratio of a run.
fn judged(analyses: &Analyses, run: &Run) -> Vec<Measured> {
    let judge = |trial: &Trial| analyses.judge(&run.machine, trial).answers;
    measured(run, &run.trials.iter().flat_map(judge).collect::<Vec<_>>())
}

/// Every ratio among the answers of a run.
pub(crate) fn measured(run: &Run, answers: &[Answer]) -> Vec<Measured> {
    let of_answer = |answer: &Answer| {
        let evidence = answer.evidence.clone()?;
        let trial = run.trials.iter().find(|trial| trial.descriptor.name == answer.experiment)?;
        let cell = trial.cells.iter().find(|cell| cell.arrangement.label == answer.cell);
        Some(Measured {
            verdict: answer.verdict,
            quantity: trial.descriptor.quantity,
            question: Question {
                parameters: cell.map_or_else(Vec::new, |cell| cell.arrangement.parameters.clone()),
                experiment: answer.experiment.clone(),
                cell: answer.cell.clone(),
                left: evidence.left.clone(),
                right: evidence.right.clone(),
            },
            evidence,
        })
    };
    answers.iter().filter_map(of_answer).collect()
}

fn logs(runs: &[Measured]) -> Vec<f64> {
    runs.iter().map(|run| run.evidence.ratio.ln()).collect()
}

/// One comparison of two sides, neither of them empty.
fn compared(first: &[Measured], second: &[Measured], others: &[Measured], family: usize) -> Compared {
    let one = &first[0];
    let level = bonferroni(LEVEL, family).unwrap_or(LEVEL);
    let margin = one.evidence.margin.max(second[0].evidence.margin);
    let sides = [side(first), side(second)];
    let answered = first.iter().chain(second).any(|run| run.verdict != Verdict::Refused);
    let both = Both { first, second, others, level };
    let judged = if answered { both.judge() } else { JudgedShift::default() };
    let apart = judged.interval.map(as_ratios);
    let verdict = apart.map_or(Verdict::Refused, |apart| of_interval(apart, margin));
    let refusal = (verdict == Verdict::Refused)
        .then(|| if answered { both.refusal(&judged, margin) } else { unanswered(&one.question) });
    let Question { left, right, cell, .. } = &one.question;
    let of = match one.quantity {
        Quantity::NanosecondsPerOperation => format!("cost of {right} over cost of {left}"),
        Quantity::BytesPerSecond => format!("rate of {left} over rate of {right}"),
        Quantity::Lateness => format!("lateness of {right} over lateness of {left}"),
        other => {
            let noun = other.of_command().unwrap_or_default();
            format!("{noun} of `{right}` over {noun} of `{left}`")
        }
    };
    let cell = if cell.is_empty() { String::new() } else { format!(" {cell}") };
    let figures = format!("{of}{cell}: {} and {}", in_words(&sides[0]), in_words(&sides[1]));
    let sentence = match (verdict, apart, judged.ratio) {
        (Verdict::Different, Some(apart), Some(ratio)) => format!(
            "Different: {figures}; the second is {} times the first ({}).",
            show(ratio, apart),
            outward(apart)
        ),
        (Verdict::Equivalent, Some(apart), _) => format!(
            "Equivalent within {}: {figures}; the second is {} times the first.",
            percent(margin),
            outward(apart)
        ),
        (_, _, None) => {
            format!("Refused: {figures}; no run of either side answered, so nothing is compared.")
        }
        _ => format!("Refused: {figures}; {}.", both.reached(&judged)),
    };
    Compared {
        experiment: one.question.experiment.clone(),
        cell: one.question.cell.clone(),
        quantity: one.quantity,
        left: left.clone(),
        right: right.clone(),
        sides,
        ratio: judged.ratio,
        interval: apart,
        level,
        known: judged.known,
        verdict,
        sentence,
        refusal,
    }
}

fn side(runs: &[Measured]) -> Side {
    let ratios = Ordered::new(logs(runs));
    let (median, ends) = ratios.as_ref().map_or((f64::NAN, (f64::NAN, f64::NAN)), |ratios| {
        let values = ratios.values();
        (ratios.median(), (values[0], values[values.len() - 1]))
    });
    let range = match runs {
        [only] => only.evidence.interval,
        _ => as_ratios(Interval { low: ends.0, high: ends.1 }),
    };
    let counts = Counts::of(runs.iter().map(|run| run.verdict));
    Side { runs: runs.len(), ratio: median.exp(), range, counts }
}

/// "12.2x (12.0 to 12.4; different)", "12.2x in 7 runs (11.2 to 15.0; 6 different, 1 refused)".
fn in_words(side: &Side) -> String {
    let (ratio, range, counts) = (show(side.ratio, side.range), outward(side.range), side.counts);
    match side.runs {
        1 => format!("{ratio}x ({range}; {counts})"),
        runs => format!("{ratio}x in {runs} runs ({range}; {counts})"),
    }
}

fn unanswered(Question { left, right, .. }: &Question) -> Refusal {
    Refusal {
        reached: format!(
            "no run of either side could answer {left} against {right}, so there is nothing to compare"
        ),
        needs: "a run that answers".into(),
        remedy: "give the runs more time (--thorough) or a quieter machine".into(),
    }
}

/// Both sides of one comparison, and what is known besides.
struct Both<'a> {
    first: &'a [Measured],
    second: &'a [Measured],
    others: &'a [Measured],
    level: f64,
}

/// What can be said of the ratio on the second side over that on the first.
#[derive(Default)]
struct JudgedShift {
    ratio: Option<f64>,
    /// Of its logarithm.
    interval: Option<Interval>,
    known: Option<Spread>,
}

impl Both<'_> {
    fn judge(&self) -> JudgedShift {
        let (first, second) = (logs(self.first), logs(self.second));
        if let ([one], [other]) = (self.first, self.second) {
            return self.judge_singles(&one.evidence, &other.evidence);
        }
        let median = |values: &[f64]| Ordered::new(values.to_vec()).map(|values| values.median());
        let plain = median(&second).zip(median(&first)).map(|(second, first)| (second - first).exp());
        let shift = shift(&first, &second, self.level);
        let ratio = shift.map(|shift| shift.estimate.exp()).or(plain);
        JudgedShift { ratio, interval: shift.map(|shift| shift.interval), known: None }
    }

    /// One run a side: the two, each as wide as its own run says, and as far again as such runs lie apart.
    fn judge_singles(&self, one: &Evidence, other: &Evidence) -> JudgedShift {
        let mut values = logs(self.others);
        let apart = (other.ratio / one.ratio).ln();
        values.extend([one.ratio.ln(), other.ratio.ln()]);
        let known_reach = reach(&values, self.level);
        let range = Interval {
            low: values.iter().copied().fold(f64::INFINITY, f64::min),
            high: values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
        };
        let interval = known_reach.map(|known_reach| Interval {
            low: (apart - known_reach.distance).min((other.interval.low / one.interval.high).ln()),
            high: (apart + known_reach.distance).max((other.interval.high / one.interval.low).ln()),
        });
        let known = Spread {
            runs: values.len(),
            range: as_ratios(range),
            reach: known_reach.map(|known_reach| known_reach.distance.exp()),
        };
        JudgedShift { ratio: Some(apart.exp()), interval, known: Some(known) }
    }

    fn reached(&self, judged: &JudgedShift) -> String {
        let ratio = judged
            .ratio
            .map_or_else(String::new, |ratio| format!("the second is {ratio:.3} times the first"));
        match (&judged.known, judged.interval.map(as_ratios)) {
            (Some(Spread { runs: ..=2, .. }), _) => format!("{ratio}, and no other such run is known here"),
            (Some(Spread { runs, reach: Some(reach), .. }), _) => format!(
                "{ratio}, and of {runs} such runs known here, all but {} of the pairs are within {reach:.3}x of each other",
                percent(self.level)
            ),
            (Some(Spread { runs, range, .. }), _) => format!(
                "{ratio}, and the {runs} such runs known here are anything {}",
                outward(*range).replace(" to ", "x to ") + "x"
            ),
            (None, Some(interval)) => {
                format!("the second is anything from {} times the first", outward(interval))
            }
            (None, None) => ratio,
        }
    }

    fn refusal(&self, judged: &JudgedShift, margin: f64) -> Refusal {
        let level = percent(self.level);
        let each = least_each(self.level).map_or_else(|| "more".into(), |each| each.to_string());
        let reached = self.reached(judged);
        let runs = format!("{} against {}", counted(self.first.len(), "run"), self.second.len());
        match (&judged.known, judged.interval) {
            (Some(known), _) => Refusal {
                reached: format!("{ONE_A_SIDE}; {reached}"),
                needs: match (known.reach, least_known(self.level)) {
                    (None, Some(runs)) if runs <= MOST_OTHERS + 2 => {
                        format!("{each} runs a side, or {runs} such runs in the store, at a level of {level}")
                    }
                    _ => format!("{each} runs a side at a level of {level}"),
                },
                remedy: "take more runs a side, in turns".into(),
            },
            (None, Some(_)) => Refusal {
                reached,
                needs: format!("an interval that excludes 1 or lies within {} of it", percent(margin)),
                remedy: "take more runs a side, in turns".into(),
            },
            (None, None) => Refusal {
                reached: format!("{runs} are too few for a level of {level}; {reached}"),
                needs: format!("{each} runs a side"),
                remedy: "take more, in turns".into(),
            },
        }
    }
}

const ONE_A_SIDE: &str = "one run a side cannot tell a change from what varies between runs";

/// What would change the refusals, once for all of them. None where nothing was refused for want of runs.
fn remedy(comparisons: &[Compared], runs: [usize; 2]) -> Option<String> {
    let refused = || comparisons.iter().filter(|one| one.verdict == Verdict::Refused && one.ratio.is_some());
    let each = refused().filter_map(|compared| least_each(compared.level)).max()?;
    let take = format!(
        "take {each} runs a side or more, in turns, under a label for each side (`tenbin run QUESTION --label \
                 before`), which then stands for all of them: `tenbin compare before after`"
    );
    Some(if runs == [1, 1] {
        format!("{}{}: {take}.", ONE_A_SIDE[..1].to_uppercase(), &ONE_A_SIDE[1..])
    } else if runs.iter().any(|&runs| runs < each) {
        format!("So few runs cannot tell the sides apart at this level: {take}.")
    } else {
        "Where it was refused, more runs a side would narrow the interval.".into()
    })
}

#[cfg(test)]
mod tests;
