//! Intervals in digits: as many as say something, rounded so that nothing is promised that was not found.

use tenbin_model::Interval;

/// An interval as `low to high`, rounded outward: what is printed never promises more than was found.
///
/// An end that is small beside the other keeps three digits of its own, so that no ratio is said to be 0.
pub fn outward(interval: Interval) -> String {
    let decimals = decimals(interval);
    let [low, high] = [interval.low, interval.high].map(|end| own_decimals(end, interval, decimals));
    let (floor, ceiling) = (rounded(interval, low).0, rounded(interval, high).1);
    format!("{floor:.low$} to {ceiling:.high$}")
}

/// `value` with as many digits as its interval has, or three where it is small beside that.
pub fn show(value: f64, interval: Interval) -> String {
    format!("{value:.*}", own_decimals(value, interval, decimals(interval)))
}

const MOST_DECIMALS: usize = 6;

/// Beyond these a value is 0 to whoever reads it.
const MOST_DECIMALS_OF_A_SMALL_END: i32 = 12;

/// Decimals of a value in an interval that has `decimals`: more where the other end is so much larger that
/// they say nothing of this one. Of a ratio less than two digits would be left then, of a difference none.
fn own_decimals(value: f64, interval: Interval, decimals: usize) -> usize {
    let largest = interval.low.abs().max(interval.high.abs());
    let (size, least) = (value.abs(), if interval.low > 0.0 { 10.0 } else { 1.0 });
    if size == 0.0
        || size * 10_f64.powi(decimals as i32) >= least
        || size * 10.0 >= largest
        || !largest.is_finite()
    {
        return decimals;
    }
    (2 - size.log10().floor() as i32).clamp(decimals as i32, MOST_DECIMALS_OF_A_SMALL_END) as usize
}

/// Decimals that show the first digit that the interval leaves open, two digits at least, and that
/// 1 lies outside if it does: rounding must not hide what a verdict rests on.
fn decimals(interval: Interval) -> usize {
    let Interval { low, high } = interval;
    let (largest, width) = (low.abs().max(high.abs()), high - low);
    if !largest.is_finite() {
        return 0;
    }
    let first_digit = |of: f64| -(of.log10().floor() as i32);
    let by_width = if width > 0.0 { first_digit(width) } else { MOST_DECIMALS as i32 };
    let by_value = if largest > 0.0 { 1 + first_digit(largest) } else { 0 };
    let least = by_width.max(by_value).clamp(0, MOST_DECIMALS as i32) as usize;
    let shows = |decimals: &usize| {
        let (floor, ceiling) = rounded(interval, *decimals);
        (low <= 1.0 || floor > 1.0) && (high >= 1.0 || ceiling < 1.0)
    };
    (least..=MOST_DECIMALS).find(shows).unwrap_or(MOST_DECIMALS)
}

fn rounded(interval: Interval, decimals: usize) -> (f64, f64) {
    let scale = 10_f64.powi(decimals as i32);
    // A value that lies on the grid up to its last bits is not pushed to the next one.
    ((interval.low * scale + 1e-9).floor() / scale, (interval.high * scale - 1e-9).ceil() / scale)
}
