//! One question, asked in several processes: the interval is over the processes.
//!
//! What a process has by chance and keeps (where its memory lies, which clock rate and which neighbours it
//! met) is the same in all of its blocks, so no interval over blocks covers it. Here a process is one number,
//! the log ratio that it measured, and the interval is the exact sign-test interval of their median, by the
//! same module as everywhere.

use schemars::JsonSchema;
use serde::Serialize;
use tenbin_model::{Answer, Descriptor, Evidence, Interval, Refusal, Report, Verdict};

use crate::across::{Counts, in_order};
use crate::analysis::{Analyses, Basis};
use crate::verdict::decide::of_interval;
use crate::verdict::sentence::{self, ComparisonOutcome};
use tenbin_document::interval::outward;
use tenbin_document::words::percent;
use tenbin_stats::LEVEL;
use tenbin_stats::detectable;
use tenbin_stats::multiple::bonferroni;
use tenbin_stats::order::Ordered;
use tenbin_stats::paired::as_ratios;
use tenbin_stats::sign::{Estimate, least_pairs};

/// What several processes answered together; what `tenbin run --processes N --json` prints.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Processes {
    /// Name and version of this shape.
    pub schema: String,
    /// How many processes measured.
    pub processes: usize,
    /// Their runs, by their names in the store, if they were kept.
    pub runs: Vec<String>,
    /// The probability of any false "different" among the comparisons of one experiment.
    pub level: f64,
    /// The comparisons, in the order of the first process.
    pub answers: Vec<OverProcesses>,
    /// What was refused in every process, in words, each once.
    pub refused: Vec<String>,
    /// Experiments whose own answer is no ratio, and has no interval over processes.
    pub not_ratios: Vec<String>,
}

impl Processes {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-processes-1";
}

/// One comparison, over processes.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct OverProcesses {
    /// Name of the experiment.
    pub experiment: String,
    /// Label of the cell.
    pub cell: String,
    /// Whether this answer stands for the experiment.
    pub headline: bool,
    /// The first variant.
    pub left: String,
    /// The second one.
    pub right: String,
    /// Cost of the right one over cost of the left: the median of what the processes measured.
    pub ratio: f64,
    /// Where the median over processes lies. None with too few for the level.
    pub interval: Option<Interval>,
    /// The probability of a false "different" that was left for this interval.
    pub level: f64,
    /// What the single processes said.
    pub counts: Counts,
    /// The least and the largest ratio that a process measured.
    pub spread: Interval,
    /// By which factor the upper end of a process's own interval lies above the lower: the median over
    /// processes. What the spread has beyond it is what a single process does not show.
    pub within: f64,
    /// Different, equivalent or refused, by the same rule as a run's own verdicts.
    pub verdict: Verdict,
    /// The outcome in words.
    pub sentence: String,
    /// Why not, where it was refused.
    pub refusal: Option<Refusal>,
}

/// Answers over processes, from the report of each. `descriptors` are those of the experiments that were
/// asked.
pub fn processes(analyses: &Analyses, reports: &[Report], descriptors: &[Descriptor]) -> Processes {
    let described = |name: &str| descriptors.iter().find(|descriptor| descriptor.name == name);
    let is_ratio =
        |name: &str| described(name).and_then(|descriptor| analyses.basis(descriptor)) == Some(Basis::Ratios);
    let all = || reports.iter().flat_map(|report| &report.answers);
    let mut questions: Vec<(&Answer, &Evidence)> = Vec::new();
    for answer in all().filter(|answer| is_ratio(&answer.experiment)) {
        let Some(evidence) = &answer.evidence else { continue };
        if !questions.iter().any(|known| same(*known, (answer, evidence))) {
            questions.push((answer, evidence));
        }
    }
    let answers = questions.iter().filter_map(|&question| {
        let descriptor = described(&question.0.experiment)?;
        let here: Vec<(&Answer, &Evidence)> = all()
            .filter_map(|answer| Some((answer, answer.evidence.as_ref()?)))
            .filter(|other| same(question, *other))
            .collect();
        over(descriptor, &here)
    });
    // A cell that was refused as a whole gives an answer without evidence.
    let refused = all().filter(|answer| is_ratio(&answer.experiment) && answer.evidence.is_none());
    let place = |answer: &Answer| (answer.experiment.clone(), answer.cell.clone());
    let refused = refused.filter(|answer| !questions.iter().any(|(known, _)| place(known) == place(answer)));
    Processes {
        schema: Processes::SCHEMA.into(),
        processes: reports.len(),
        runs: reports.iter().filter_map(|report| report.run.clone()).collect(),
        level: LEVEL,
        answers: answers.collect(),
        refused: in_order(refused.map(|answer| format!("{}: {}", answer.experiment, answer.sentence))),
        not_ratios: in_order(all().map(|answer| answer.experiment.clone()).filter(|name| !is_ratio(name))),
    }
}

fn same(one: (&Answer, &Evidence), other: (&Answer, &Evidence)) -> bool {
    (&one.0.experiment, &one.0.cell, &one.1.left, &one.1.right)
        == (&other.0.experiment, &other.0.cell, &other.1.left, &other.1.right)
}

/// One comparison as the processes measured it that made it. None where none did.
fn over(descriptor: &Descriptor, here: &[(&Answer, &Evidence)]) -> Option<OverProcesses> {
    let (answer, first) = here.first()?;
    let ratios = Ordered::new(here.iter().map(|(_, evidence)| evidence.ratio.ln()).collect())?;
    let widths = here.iter().map(|(_, evidence)| evidence.interval.high / evidence.interval.low);
    let within = Ordered::new(widths.collect())?.median();
    let level = bonferroni(LEVEL, first.family).unwrap_or(LEVEL);
    let estimate = Estimate::of(&ratios, level);
    let spread = as_ratios(Interval { low: ratios.values()[0], high: ratios.values()[ratios.count() - 1] });
    let counts = Counts::of(here.iter().map(|(answer, _)| answer.verdict));
    let evidence = estimate.interval.and_then(|quantile| {
        let effect = detectable::smallest(estimate.median, quantile.interval, quantile.ranks.level)?;
        Some(Evidence {
            ratio: estimate.median.exp(),
            interval: as_ratios(quantile.interval),
            level: quantile.ranks.level,
            blocks: here.len(),
            detectable: detectable::as_fraction(effect),
            ..(*first).clone()
        })
    });
    let verdict = evidence.as_ref().map_or(Verdict::Refused, |it| of_interval(it.interval, it.margin));
    let refusal = (verdict == Verdict::Refused).then(|| refusal(first, evidence.as_ref(), level, here.len()));
    let interval = evidence.as_ref().map(|evidence| evidence.interval);
    let outcome = ComparisonOutcome { verdict, evidence, refusal: refusal.clone() };
    Some(OverProcesses {
        experiment: answer.experiment.clone(),
        cell: answer.cell.clone(),
        headline: answer.headline,
        left: first.left.clone(),
        right: first.right.clone(),
        ratio: estimate.median.exp(),
        interval,
        level,
        spread,
        within,
        verdict,
        sentence: format!(
            "{} Over {} processes: each measured a ratio between {} ({counts}); within one, intervals are {} wide.",
            sentence::of(descriptor, &answer.cell, &outcome),
            here.len(),
            outward(spread).replace(" to ", " and "),
            percent(within - 1.0),
        ),
        counts,
        refusal,
    })
}

fn refusal(first: &Evidence, evidence: Option<&Evidence>, level: f64, processes: usize) -> Refusal {
    let Evidence { left, right, margin, family, .. } = first;
    let needed = least_pairs(level).map_or_else(|| "more".into(), |needed| needed.to_string());
    match evidence {
        None => Refusal {
            reached: format!("{left} and {right} were compared in {processes} processes"),
            needs: format!("at least {needed}, with {family} to be judged at a level of {}", percent(LEVEL)),
            remedy: format!("use --processes {needed} or more"),
        },
        Some(evidence) => Refusal {
            reached: format!(
                "the ratio of {right} to {left} is anything from {} over {processes} processes",
                outward(evidence.interval)
            ),
            needs: format!("an interval that excludes 1 or lies within {} of it", percent(*margin)),
            remedy: "use more processes".into(),
        },
    }
}

#[cfg(test)]
mod tests {
    use tenbin_model::{Ended, Machine};

    use super::*;
    use crate::specimen::{cell, comparing, reported, run};

    /// Processes that measured these ratios, each precisely.
    fn measured(ratios: &[f64]) -> Processes {
        let report = |(&ratio, seed): (&f64, u64)| {
            let mut run = run(ratio, Machine::unobserved("a test"));
            run.trials[0].cells = vec![cell(64, ratio, 0.002, Ended::Budget, seed)];
            reported(&run, Some("abc")).report
        };
        let reports: Vec<Report> = ratios.iter().zip(0..).map(report).collect();
        let descriptor = crate::specimen::descriptor(tenbin_model::Quantity::NanosecondsPerOperation);
        processes(&comparing(), &reports, &[descriptor])
    }

    #[test]
    fn the_interval_is_over_processes_and_not_over_blocks() {
        let ratios = [1.9, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6];
        let over = measured(&ratios);
        let answer = &over.answers[0];
        let interval = answer.interval.unwrap();
        // Eight values at a level of 1 %: all of them.
        assert!(interval.low < 1.91 && interval.high > 2.59, "{interval:?}");
        assert_eq!((answer.verdict, answer.counts.different), (Verdict::Different, 8));
        insta::assert_snapshot!(answer.sentence);
    }

    #[test]
    fn processes_that_disagree_are_refused_though_each_is_sure() {
        let over = measured(&[0.8, 0.9, 1.1, 1.2, 0.85, 1.15, 0.9, 1.2, 1.1]);
        assert_eq!((over.answers[0].verdict, over.answers[0].counts.different), (Verdict::Refused, 9));
        assert!(over.answers[0].sentence.contains("Use more processes"), "{}", over.answers[0].sentence);
    }

    #[test]
    fn too_few_processes_are_told_how_many_it_takes() {
        let over = measured(&[2.0; 7]);
        assert_eq!((over.answers[0].verdict, over.answers[0].interval), (Verdict::Refused, None));
        assert!(over.answers[0].sentence.contains("--processes 8"), "{}", over.answers[0].sentence);
    }

    #[test]
    fn what_no_interval_covers_is_said_where_one_is_claimed() {
        let claims = reported(&run(2.0, Machine::unobserved("a test")), None).report;
        assert!(claims.scope.is_some_and(|scope| scope.contains("another process")));
        let mut vague = run(1.0, Machine::unobserved("a test"));
        vague.trials[0].cells = vec![cell(64, 1.0, 3.0, Ended::Budget, 1)];
        assert_eq!(reported(&vague, None).report.scope, None);
    }
}
