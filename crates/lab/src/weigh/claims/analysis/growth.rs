//! Whether what a command needs grows with a parameter as a law says.

use tenbin_document::words::counted;
use tenbin_model::{ClaimOutcome, Interval, Quantity, VariantIndex};

use super::bench::{Bench, Part};
use super::figures::{ends, figure, further, in_words, of_interval, plainly};
use crate::weigh::analysis::unseen;
use crate::weigh::claims::grammar::Bounds;

/// How far from its power the exponent of a law may lie: from linear it is told from n·√n.
const EXPONENT: f64 = 0.25;

impl Bench<'_> {
    /// How what a command needs grows with a parameter: by the exponent, which is the slope of the one over
    /// the other where both are logarithms. Each slope lies where those of the two medians' intervals allow.
    ///
    /// With a constant part (the start of a program) no exponent is a whole number: the constant draws the
    /// slope towards 0, and the less, the larger the values. So the slope over all values decides what holds;
    /// that it is too small refutes only where it is so between the two largest values; and that it is too
    /// large anywhere refutes, as no constant makes it so. It says nothing of values beyond those.
    pub(super) fn growth(&self, group: &[(f64, VariantIndex)], quantity: Quantity, law: (&str, f64)) -> Part {
        let (parameter, power) = law;
        let mut points = Vec::new();
        for &(value, variant) in group {
            let Some(median) = self.median(variant, quantity) else { return self.too_few_runs(variant) };
            points.push((value, variant, median));
        }
        let (Some(first), Some(last)) = (points.first(), points.last()) else {
            return Part::undecided("it has no values".into(), "It needs values.".into());
        };
        if quantity == Quantity::PeakMemory
            && let Some(unseen) = unseen(self.descriptor, self.cell, points.iter().map(|point| point.1))
        {
            return Part::undecided(unseen.reached, format!("It needs {}.", unseen.needs));
        }
        let noun = quantity.of_command().unwrap_or_default();
        let name = self.command(last.1);
        if let Some((_, none, _)) = points.iter().find(|(_, _, (interval, _, _))| interval.low <= 0.0) {
            return Part::undecided(
                format!("the {noun} of `{}` was 0 in some runs", self.name(*none)),
                "It needs larger values of the parameter.".into(),
            );
        }
        let allowed = Bounds { least: Some(power - EXPONENT), most: Some(power + EXPONENT) };
        let slope = |from: &Point, to: &Point| {
            let distance = to.0.ln() - from.0.ln();
            let ((from, one, _), (to, other, _)) = (from.2, to.2);
            let interval = Interval {
                low: (to.low.ln() - from.high.ln()) / distance,
                high: (to.high.ln() - from.low.ln()) / distance,
            };
            (interval, one + other)
        };
        let (whole, level) = slope(first, last);
        let steps: Vec<(Interval, f64, f64)> =
            points.windows(2).map(|pair| (slope(&pair[0], &pair[1]).0, pair[0].0, pair[1].0)).collect();
        let above = |interval: Interval| allowed.most.is_some_and(|most| interval.low > most);
        let below = |interval: Interval| allowed.least.is_some_and(|least| interval.high < least);
        let over = |from: f64, to: f64| format!("from {parameter} = {} to {}", plainly(from), plainly(to));
        let (outcome, interval, place) = match (steps.iter().find(|step| above(step.0)), steps.last()) {
            (Some(&(interval, from, to)), _) => (ClaimOutcome::Refuted, interval, over(from, to)),
            (None, Some(&(interval, from, to))) if below(interval) => {
                (ClaimOutcome::Refuted, interval, over(from, to))
            }
            _ if above(whole) => (ClaimOutcome::Refuted, whole, over(first.0, last.0)),
            _ => {
                let outcome = of_interval(whole, allowed);
                let held = outcome == ClaimOutcome::Holds;
                let outcome = if held { outcome } else { ClaimOutcome::NotDecided };
                (outcome, whole, over(first.0, last.0))
            }
        };
        let runs = points.iter().map(|point| point.2.2).min().unwrap_or(0);
        let reached = format!(
            "the {noun} of `{name}` grows with the power {} {place} (claimed: {}; {} each)",
            ends(interval, allowed),
            in_words(allowed),
            counted(runs, "run")
        );
        let needs = (outcome == ClaimOutcome::NotDecided).then(|| {
            if below(whole) {
                "It needs larger values of the parameter: what does not grow, like the start of a program, \
                 weighs too much at these."
                    .into()
            } else {
                further(whole, allowed, (runs, "runs"))
            }
        });
        let what = |from: f64, to: f64| format!("exponent of the {noun}, {}", over(from, to));
        let mut figures = vec![figure(what(first.0, last.0), "1", whole, allowed, Some(level), runs)];
        if steps.len() > 1 {
            figures.extend(points.windows(2).map(|pair| {
                let (interval, level) = slope(&pair[0], &pair[1]);
                figure(what(pair[0].0, pair[1].0), "1", interval, allowed, Some(level), runs)
            }));
        }
        Part { outcome, reached, needs, figures }
    }
}

/// A value of a parameter, what it was measured of, and the median there.
type Point = (f64, VariantIndex, (Interval, f64, usize));
