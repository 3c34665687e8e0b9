//! Verdicts in words.

use tenbin_model::{Descriptor, Evidence, Interval, Quantity, Refusal, Verdict};

use super::decide::{Outcome, percent};

/// The sentence of one outcome.
pub(super) fn of(descriptor: &Descriptor, label: &str, outcome: &Outcome) -> String {
    let subject = &descriptor.subject;
    match (outcome.verdict, &outcome.evidence, &outcome.refusal) {
        (Verdict::Different, Some(evidence), _) => {
            let difference = difference(descriptor.quantity, evidence);
            format!("{subject}: {difference} {label} ({}).", range(descriptor.quantity, evidence))
        }
        (Verdict::Equivalent, Some(evidence), _) => {
            let equal = match descriptor.quantity {
                Quantity::NanosecondsPerOperation => "cost the same",
                Quantity::BytesPerSecond => "carry the same",
            };
            format!(
                "{subject}: {} and {} {equal} within {} {label} (ratio {}; from {} a difference would show).",
                evidence.left,
                evidence.right,
                percent(evidence.margin),
                between(evidence.interval, |ratio| ratio, ""),
                percent(evidence.detectable)
            )
        }
        (_, _, Some(why)) => refusal(why),
        (_, _, None) => "Refused.".into(),
    }
}

/// A refusal: what was reached, what is needed, what would change it.
pub(super) fn refusal(refusal: &Refusal) -> String {
    format!("Refused: {}. Needs {}. {}.", refusal.reached, refusal.needs, capitalised(&refusal.remedy))
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

/// A ratio below this is said in percent.
const PERCENT_BELOW: f64 = 1.1;

/// Whether the ratio and both its ends are near enough to 1 for percent.
fn near(evidence: &Evidence) -> bool {
    let Interval { low, high } = evidence.interval;
    [low, evidence.ratio, high].iter().all(|&ratio| ratio < PERCENT_BELOW && ratio > 1.0 / PERCENT_BELOW)
}

fn difference(quantity: Quantity, evidence: &Evidence) -> String {
    let Evidence { left, right, ratio, interval, .. } = evidence;
    let better = *ratio > 1.0;
    match quantity {
        Quantity::NanosecondsPerOperation if near(evidence) => {
            let share = show(saving(*ratio).abs() * 100.0, width(*interval, saving) * 100.0);
            format!("{left} is {share} % {} than {right}", if better { "cheaper" } else { "dearer" })
        }
        Quantity::NanosecondsPerOperation if better => {
            format!("{left} is {}x cheaper than {right}", show(*ratio, width(*interval, |ratio| ratio)))
        }
        Quantity::NanosecondsPerOperation => {
            let factor = show(1.0 / ratio, width(*interval, |ratio| 1.0 / ratio));
            format!("{left} is {factor}x dearer than {right}")
        }
        Quantity::BytesPerSecond if near(evidence) => {
            let share = show((ratio - 1.0).abs() * 100.0, width(*interval, |ratio| ratio) * 100.0);
            format!("{left} carries {share} % {} than {right}", if better { "more" } else { "less" })
        }
        Quantity::BytesPerSecond => {
            let factor = show(*ratio, width(*interval, |ratio| ratio));
            format!("{left} carries {factor}x what {right} carries")
        }
    }
}

/// The interval, in the same terms as the difference.
pub(super) fn range(quantity: Quantity, evidence: &Evidence) -> String {
    let better = evidence.ratio > 1.0;
    match quantity {
        Quantity::NanosecondsPerOperation if near(evidence) => {
            between(evidence.interval, |ratio| saving(ratio).abs() * 100.0, " %")
        }
        Quantity::BytesPerSecond if near(evidence) => {
            between(evidence.interval, |ratio| (ratio - 1.0).abs() * 100.0, " %")
        }
        Quantity::NanosecondsPerOperation if !better => between(evidence.interval, |ratio| 1.0 / ratio, ""),
        _ => between(evidence.interval, |ratio| ratio, ""),
    }
}

/// By which part of the dearer one the left is cheaper, or by which part of the right it is dearer.
fn saving(ratio: f64) -> f64 {
    if ratio > 1.0 { 1.0 - 1.0 / ratio } else { 1.0 / ratio - 1.0 }
}

fn width(interval: Interval, terms: impl Fn(f64) -> f64) -> f64 {
    (terms(interval.high) - terms(interval.low)).abs()
}

fn between(interval: Interval, terms: impl Fn(f64) -> f64, unit: &str) -> String {
    let (one, other) = (terms(interval.low), terms(interval.high));
    format!("{}{unit}", outward(Interval { low: one.min(other), high: one.max(other) }))
}

/// An interval as `low to high`, rounded outward: what is printed never promises more than was found.
pub(crate) fn outward(interval: Interval) -> String {
    let Interval { low, high } = interval;
    let decimals = decimals(low.abs().max(high.abs()), high - low);
    let scale = 10_f64.powi(decimals as i32);
    // A value that lies on the grid up to its last bits is not pushed to the next one.
    let (floor, ceiling) = ((low * scale + 1e-9).floor() / scale, (high * scale - 1e-9).ceil() / scale);
    format!("{floor:.decimals$} to {ceiling:.decimals$}")
}

/// `value` to the first digit that its interval leaves open, and with two digits at least.
pub(crate) fn show(value: f64, width: f64) -> String {
    format!("{value:.*}", decimals(value, width))
}

fn decimals(value: f64, width: f64) -> usize {
    if !value.is_finite() || !width.is_finite() {
        return 0;
    }
    let by_width = if width > 0.0 { -(width.log10().floor() as i32) } else { 6 };
    let by_value = if value.abs() > 0.0 { 1 - value.abs().log10().floor() as i32 } else { 0 };
    by_width.max(by_value).clamp(0, 6) as usize
}
