//! Intervals beside what is claimed of them: what they come to, how they are shown, what would decide them.

use tenbin_model::unit::three_digits;
use tenbin_model::{Bytes, ClaimFigure, ClaimOutcome, Interval, Regime};

use crate::weigh::claims::grammar::Bounds;

/// What an interval comes to.
pub(super) fn of_interval(interval: Interval, Bounds { least, most }: Bounds) -> ClaimOutcome {
    let Interval { low, high } = interval;
    if least.is_none_or(|least| low >= least) && most.is_none_or(|most| high <= most) {
        ClaimOutcome::Holds
    } else if least.is_some_and(|least| high < least) || most.is_some_and(|most| low > most) {
        ClaimOutcome::Refuted
    } else {
        ClaimOutcome::NotDecided
    }
}

/// Whether a claim holds in one state of the machine and is refuted in another.
pub(super) fn contradicted(regimes: &[Regime], allowed: Bounds) -> bool {
    let any = |outcome| regimes.iter().any(|regime| of_interval(regime.interval, allowed) == outcome);
    any(ClaimOutcome::Holds) && any(ClaimOutcome::Refuted)
}

pub(super) fn figure(
    what: String,
    unit: &str,
    interval: Interval,
    Bounds { least, most }: Bounds,
    level: Option<f64>,
    count: usize,
) -> ClaimFigure {
    ClaimFigure { what, unit: unit.into(), interval, least, most, level, count }
}

/// `at most 1.01`, `at least 2`, `0.99 to 1.01`.
pub(super) fn in_words(bounds: Bounds) -> String {
    match (bounds.least, bounds.most) {
        (None, Some(most)) => format!("at most {}", plainly(most)),
        (Some(least), None) => format!("at least {}", plainly(least)),
        (Some(least), Some(most)) => format!("{} to {}", plainly(least), plainly(most)),
        (None, None) => "anything".into(),
    }
}

/// A figure with up to four decimals, more where it is small, and none that says nothing.
pub(super) fn plainly(value: f64) -> String {
    let small = value != 0.0 && value.abs() < 0.1;
    let decimals = if small { 3 - value.abs().log10().floor() as i32 } else { 4 };
    let digits = format!("{value:.*}", decimals.min(12) as usize);
    digits.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An interval with its ends rounded outwards, and as many decimals as show on which side of what is claimed
/// they lie.
pub(super) fn ends(interval: Interval, Bounds { least, most }: Bounds) -> String {
    const MOST_DECIMALS: usize = 12;
    let Interval { low, high } = interval;
    let first_digit = |of: f64| if of > 0.0 { -(of.log10().floor() as i32) } else { 0 };
    let start = first_digit(high - low).max(1 + first_digit(high.abs().max(low.abs())));
    let rounded = |decimals: usize| {
        let scale = 10_f64.powi(decimals as i32);
        ((low * scale + 1e-9).floor() / scale, (high * scale - 1e-9).ceil() / scale)
    };
    let start = start.clamp(0, MOST_DECIMALS as i32) as usize;
    let keeps = |decimals: &usize| {
        let (floor, ceiling) = rounded(*decimals);
        [least, most]
            .into_iter()
            .flatten()
            .all(|bound| (low <= bound || floor > bound) && (high >= bound || ceiling < bound))
    };
    let decimals = (start..=MOST_DECIMALS).find(keeps).unwrap_or(MOST_DECIMALS);
    let (floor, ceiling) = rounded(decimals);
    format!("{floor:.decimals$} to {ceiling:.decimals$}")
}

/// Memory in the unit of `bound`, with as many digits as show that it is more, if it is.
pub(super) fn exactly(bytes: u64, bound: Bytes) -> String {
    let shown = Bytes(bytes).to_string();
    if shown == bound.to_string() && bytes != bound.0 { format!("{bytes} B") } else { shown }
}

/// What would decide a claim whose interval lies on both sides of a bound: an interval shrinks with the root
/// of what it is taken from.
pub(super) fn further(
    interval: Interval,
    Bounds { least, most }: Bounds,
    (count, what): (usize, &str),
) -> String {
    const TOO_MANY: f64 = 1e4;
    let middle = f64::midpoint(interval.low, interval.high);
    let inside = [least, most].into_iter().flatten();
    let distance = inside.map(|bound| (middle - bound).abs()).fold(f64::INFINITY, f64::min);
    let times = ((interval.high - interval.low) / 2.0 / distance).powi(2);
    if !times.is_finite() || times > TOO_MANY {
        return "It lies too close to what is claimed for any number of runs to decide it: claim more or less."
            .into();
    }
    let needed = three_digits((count as f64 * times.max(1.0) * 1.2).ceil());
    format!(
        "It needs an interval on one side of what is claimed: about {needed} {what} if they vary as these {count} \
         did (within, runs), or a quieter machine."
    )
}
