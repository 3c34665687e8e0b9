//! One pair, judged as every comparison is.

use tenbin_model::{Machine, MeasuredRatio, Pair, Picoseconds, Trial, Verdict};

use crate::analysis::Analyses;

/// What is known of a pair beside its samples.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Cost of the right side over cost of the left.
    pub truth: f64,
    /// Operations that the left side did in an epoch.
    pub operations: u64,
    /// Time for the verdict.
    pub took: Picoseconds,
    /// Which of several layouts it was weighed in.
    pub layout: Option<u32>,
}

/// The verdict on the only comparison of `trial`, as a user would have got it from `analyses`, beside what is
/// known of it.
pub fn pair(analyses: &Analyses, machine: &Machine, trial: &Trial, known: Known) -> Pair {
    let answer = analyses.judge(machine, trial).answers.into_iter().next();
    let evidence = answer.as_ref().and_then(|answer| answer.evidence.as_ref());
    Pair {
        truth: known.truth,
        verdict: answer.as_ref().map_or(Verdict::Refused, |answer| answer.verdict),
        measured: evidence
            .map(|evidence| MeasuredRatio { ratio: evidence.ratio, interval: evidence.interval }),
        why: match (&answer, evidence) {
            (Some(answer), None) => answer.refusal.as_ref().map(|refusal| refusal.reached.clone()),
            _ => None,
        },
        blocks: evidence.map_or(0, |evidence| evidence.blocks as u32),
        operations: known.operations,
        took: known.took,
        layout: known.layout,
        process: None,
    }
}

#[cfg(test)]
mod tests {
    use tenbin_model::Ended;

    use super::*;
    use crate::analysis::Comparisons;
    use crate::specimen::{cell, run};

    #[test]
    fn a_pair_gets_the_verdict_that_a_user_would_get() {
        let machine = Machine::unobserved("a test");
        let analyses = Analyses(vec![&Comparisons]);
        let known =
            Known { truth: 2.0, operations: 1_000, took: Picoseconds::from_millis(5), layout: Some(3) };
        let mut trial = run(2.0, machine.clone()).trials.remove(0);
        trial.cells = vec![cell(64, 2.0, 0.01, Ended::Precision, 1)];
        let judged = pair(&analyses, &machine, &trial, known);
        let measured = judged.measured.unwrap();
        assert_eq!((judged.verdict, judged.blocks, judged.layout), (Verdict::Different, 64, Some(3)));
        assert!(measured.interval.low <= 2.0 && measured.interval.high >= 2.0, "{measured:?}");

        trial.cells = vec![cell(2, 2.0, 0.01, Ended::Budget, 1)];
        let judged = pair(&analyses, &machine, &trial, known);
        assert_eq!((judged.verdict, judged.measured), (Verdict::Refused, None));
        assert!(judged.why.is_some_and(|why| why.contains("2 blocks")));
    }
}
