//! Verdicts in words.

use tenbin_model::{Descriptor, Evidence, Interval, Quantity, Refusal, Verdict};

use tenbin_document::interval::{outward, show};
use tenbin_document::words::{capitalised, percent};

/// What a comparison came to, before it is put in words.
pub(crate) struct ComparisonOutcome {
    pub(crate) verdict: Verdict,
    pub(crate) evidence: Option<Evidence>,
    pub(crate) refusal: Option<Refusal>,
}

/// The sentence of one outcome.
pub(crate) fn of(descriptor: &Descriptor, label: &str, outcome: &ComparisonOutcome) -> String {
    let subject = if descriptor.is_of_user() { String::new() } else { format!("{}: ", descriptor.subject) };
    let label = if label.is_empty() { String::new() } else { format!(" {label}") };
    match (outcome.verdict, &outcome.evidence, &outcome.refusal) {
        (Verdict::Different, Some(evidence), _) => {
            let difference = difference(descriptor.quantity, evidence);
            format!("{subject}{difference}{label} ({}).", range(descriptor.quantity, evidence))
        }
        (Verdict::Equivalent, Some(evidence), _) => {
            format!("{subject}{}{label} ({}).", same(descriptor.quantity, evidence), equivalence(evidence))
        }
        (_, _, Some(why)) => refusal(why),
        (_, _, None) => "Refused.".into(),
    }
}

/// That two variants are the same: "A and B cost the same within 1 %".
fn same(quantity: Quantity, evidence: &Evidence) -> String {
    let Evidence { left, right, .. } = evidence;
    let margin = percent(evidence.margin);
    match quantity {
        Quantity::NanosecondsPerOperation => format!("{left} and {right} cost the same within {margin}"),
        Quantity::BytesPerSecond => format!("{left} and {right} carry the same within {margin}"),
        Quantity::Lateness => format!("{left} and {right} are equally late within {margin}"),
        Quantity::WallTime => format!("`{left}` and `{right}` take the same time within {margin}"),
        other => {
            let noun = other.of_command().unwrap_or_default();
            format!("`{left}` and `{right}` need the same {noun} within {margin}")
        }
    }
}

/// What this evidence by itself comes to, as a clause with its interval.
pub fn alone(quantity: Quantity, evidence: &Evidence, verdict: Verdict) -> String {
    match verdict {
        Verdict::Equivalent => format!("{} (ratio {})", same(quantity, evidence), outward(evidence.interval)),
        _ => format!("{} ({})", difference(quantity, evidence), range(quantity, evidence)),
    }
}

/// What an equivalence rests on: the ratio, whether it is a difference after all, and what would have shown.
pub fn equivalence(evidence: &Evidence) -> String {
    let Interval { low, high } = evidence.interval;
    let beside = if low > 1.0 || high < 1.0 { ", a difference below that margin" } else { "" };
    let (ratio, effect) = (outward(evidence.interval), percent(evidence.detectable));
    format!("ratio {ratio}{beside}; a difference of {effect} would show")
}

/// A refusal: what was reached, what is needed, what would change it.
pub fn refusal(refusal: &Refusal) -> String {
    format!("Refused: {}. Needs {}. {}.", refusal.reached, refusal.needs, capitalised(&refusal.remedy))
}

/// A ratio below this is said in percent.
const PERCENT_BELOW: f64 = 1.1;

/// Whether the ratio and both its ends are near enough to 1 for percent.
fn near(evidence: &Evidence) -> bool {
    let Interval { low, high } = evidence.interval;
    [low, evidence.ratio, high].iter().all(|&ratio| ratio < PERCENT_BELOW && ratio > 1.0 / PERCENT_BELOW)
}

/// What the ratio says, without its interval: "A is 2.4x cheaper than B".
pub fn difference(quantity: Quantity, evidence: &Evidence) -> String {
    let Evidence { left, right, ratio, interval, .. } = evidence;
    let terms = Terms::of(quantity, evidence);
    let figure = show(terms.of_ratio(*ratio), terms.of_interval(*interval));
    let better = *ratio > 1.0;
    if let Some(noun) = quantity.of_command() {
        let wall = quantity == Quantity::WallTime;
        return match terms {
            Terms::Times if wall => format!("`{left}` is {figure}x faster than `{right}`"),
            Terms::Times => format!("`{right}` needs {figure}x the {noun} of `{left}`"),
            Terms::TimesInverse if wall => format!("`{left}` is {figure}x slower than `{right}`"),
            Terms::TimesInverse => format!("`{left}` needs {figure}x the {noun} of `{right}`"),
            _ => {
                let needs = if wall { "takes" } else { "needs" };
                let less = if better { "less" } else { "more" };
                format!("`{left}` {needs} {figure} % {less} {noun} than `{right}`")
            }
        };
    }
    let (verb, behind) = match (quantity, terms) {
        (Quantity::Lateness, Terms::Times) => ("is", "x less late than"),
        (Quantity::Lateness, Terms::TimesInverse) => ("is", "x as late as"),
        (Quantity::Lateness, _) if better => ("is", " % less late than"),
        (Quantity::Lateness, _) => ("is", " % more late than"),
        (Quantity::BytesPerSecond, Terms::Times) => {
            return format!("{left} carries {figure}x what {right} carries");
        }
        (_, Terms::Times) => ("is", "x cheaper than"),
        (_, Terms::TimesInverse) => ("is", "x dearer than"),
        (_, Terms::PercentCheaper) => ("is", " % cheaper than"),
        (_, Terms::PercentDearer) => ("is", " % dearer than"),
        (_, Terms::PercentMore) => ("carries", " % more than"),
        (_, Terms::PercentLess) => ("carries", " % less than"),
    };
    format!("{left} {verb} {figure}{behind} {right}")
}

/// The interval, in the same terms as the difference: an end below 0 % is a difference the other way round.
pub fn range(quantity: Quantity, evidence: &Evidence) -> String {
    let terms = Terms::of(quantity, evidence);
    let unit = if terms.is_percent() { " %" } else { "" };
    format!("{}{unit}", outward(terms.of_interval(evidence.interval)))
}

/// The same in a table: `2.4x cheaper`, `0.31 % dearer`, and `1.3x dearer?` where the interval says that it
/// may be the other way round. None where a table has the ratio itself.
pub fn briefly(quantity: Quantity, evidence: &Evidence) -> Option<String> {
    let terms = Terms::of(quantity, evidence);
    let figure = show(terms.of_ratio(evidence.ratio), terms.of_interval(evidence.interval));
    let (unit, better, worse) = match (quantity, terms) {
        (Quantity::BytesPerSecond, _) => return None,
        (Quantity::Lateness, terms) if terms.is_percent() => (" %", "less late", "more late"),
        (Quantity::Lateness, _) => ("x", "less late", "as late"),
        (Quantity::NanosecondsPerOperation, terms) if terms.is_percent() => (" %", "cheaper", "dearer"),
        (Quantity::NanosecondsPerOperation, _) => ("x", "cheaper", "dearer"),
        (_, terms) if terms.is_percent() => (" %", "less", "more"),
        (Quantity::WallTime, _) => ("x", "faster", "slower"),
        (_, _) => ("x", "less", "more"),
    };
    if figure.bytes().all(|byte| matches!(byte, b'0' | b'.')) {
        return Some("the same".into());
    }
    let Interval { low, high } = evidence.interval;
    let doubt = if low <= 1.0 && high >= 1.0 { "?" } else { "" };
    Some(format!("{figure}{unit} {}{doubt}", if evidence.ratio > 1.0 { better } else { worse }))
}

/// The terms in which a ratio is said, so that the figure and its interval cannot part.
#[derive(Clone, Copy)]
enum Terms {
    /// Right over left, as it stands.
    Times,
    /// Left over right: the left one is the dearer.
    TimesInverse,
    /// By which part of the right one's cost the left is cheaper; below 0 it is dearer.
    PercentCheaper,
    /// By which part of it the left is dearer; below 0 it is cheaper.
    PercentDearer,
    /// By which part of what the right carries the left carries more; below 0 it carries less.
    PercentMore,
    /// By which part of it the left carries less.
    PercentLess,
}

impl Terms {
    fn of(quantity: Quantity, evidence: &Evidence) -> Self {
        match quantity {
            Quantity::BytesPerSecond if near(evidence) && evidence.ratio > 1.0 => Self::PercentMore,
            Quantity::BytesPerSecond if near(evidence) => Self::PercentLess,
            Quantity::BytesPerSecond => Self::Times,
            _ if near(evidence) && evidence.ratio > 1.0 => Self::PercentCheaper,
            _ if near(evidence) => Self::PercentDearer,
            _ if evidence.ratio > 1.0 => Self::Times,
            _ => Self::TimesInverse,
        }
    }

    fn of_ratio(self, ratio: f64) -> f64 {
        match self {
            Self::Times => ratio,
            Self::TimesInverse => 1.0 / ratio,
            Self::PercentCheaper => (1.0 - 1.0 / ratio) * 100.0,
            Self::PercentDearer => (1.0 / ratio - 1.0) * 100.0,
            Self::PercentMore => (ratio - 1.0) * 100.0,
            Self::PercentLess => (1.0 - ratio) * 100.0,
        }
    }

    /// Whether it is said in percent.
    const fn is_percent(self) -> bool {
        !matches!(self, Self::Times | Self::TimesInverse)
    }

    fn of_interval(self, interval: Interval) -> Interval {
        let (one, other) = (self.of_ratio(interval.low), self.of_ratio(interval.high));
        Interval { low: one.min(other), high: one.max(other) }
    }
}
