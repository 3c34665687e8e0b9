//! From values to places along a line, and the values that are worth a mark there.

use tenbin_model::unit::three_digits;
use tenbin_model::words::percent;
use tenbin_model::{Bytes, Picoseconds};

use crate::{Axis, Unit};

/// A line from one place to another that stands for values.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Scale {
    low: f64,
    high: f64,
    from: f64,
    to: f64,
    is_logarithmic: bool,
}

/// Room at either end, as a part of the whole, so that nothing stands on the edge.
const ROOM: f64 = 0.03;

impl Scale {
    /// The scale from place `from` to place `to` on which all of `values` find room. None where there is
    /// none, or one is no number, or is not above 0 on a logarithmic scale.
    pub(crate) fn over(
        values: impl IntoIterator<Item = f64>,
        is_logarithmic: bool,
        (from, to): (f64, f64),
    ) -> Option<Self> {
        let inner = |value: f64| if is_logarithmic { value.ln() } else { value };
        let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
        for value in values.into_iter().map(inner) {
            if !value.is_finite() {
                return None;
            }
            (low, high) = (low.min(value), high.max(value));
        }
        if low > high {
            return None;
        }
        // A single value stands in the middle.
        let room = match (high - low) * ROOM {
            room if room > 0.0 => room,
            _ if is_logarithmic => 0.01,
            _ => low.abs().max(1.0) * 0.01,
        };
        Some(Self { low: low - room, high: high + room, from, to, is_logarithmic })
    }

    /// Where `value` stands; not beyond either end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let inner = if self.is_logarithmic { value.ln() } else { value };
        let part = ((inner - self.low) / (self.high - self.low)).clamp(0.0, 1.0);
        self.from + part * (self.to - self.from)
    }

    /// The values at both ends.
    fn ends(&self) -> (f64, f64) {
        if self.is_logarithmic { (self.low.exp(), self.high.exp()) } else { (self.low, self.high) }
    }

    /// Round values between the ends, in ascending order: about as many as `wanted`.
    pub(crate) fn ticks(&self, wanted: usize) -> Vec<f64> {
        let (low, high) = self.ends();
        let within = |value: &f64| *value >= low && *value <= high;
        if self.is_logarithmic {
            let decades = low.log10().floor() as i32..=high.log10().ceil() as i32;
            let of = |steps: &'static [f64]| {
                let values = decades
                    .clone()
                    .flat_map(|power| steps.iter().map(move |step| step * 10_f64.powi(power)).filter(within));
                values.collect::<Vec<f64>>()
            };
            let all = [&[1.0, 2.0, 5.0][..], &[1.0, 3.0], &[1.0]].map(of);
            if let Some(fits) = all.iter().find(|ticks| ticks.len() <= wanted && ticks.len() > 1) {
                return fits.clone();
            }
            // Very many decades: every so many of them.
            let tens = &all[2];
            if tens.len() > wanted {
                return tens.iter().copied().step_by(tens.len().div_ceil(wanted.max(1))).collect();
            }
        }
        let step = step((high - low) / wanted.max(1) as f64);
        let first = (low / step).ceil();
        // A tick is a whole number of steps: sums of them would wander off.
        (0..).map(|count| (first + f64::from(count)) * step).take_while(within).collect()
    }
}

/// The smallest round number, 1, 2 or 5 times a power of ten, that is not below `least`.
fn step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    [1.0, 2.0, 5.0, 10.0].map(|step| step * power).into_iter().find(|step| *step >= least).unwrap_or(power)
}

impl Axis {
    /// A value of this axis, in digits.
    pub(crate) fn digits(&self, value: f64) -> String {
        match self.unit {
            Unit::Time => Picoseconds(value.max(0.0).round() as u64).to_string(),
            Unit::Bytes => Bytes(value.max(0.0).round() as u64).to_string(),
            Unit::Ratio => format!("{}x", plain(value)),
            Unit::Share => percent(value),
            Unit::Number => plain(value),
        }
    }
}

/// As few digits as are needed of a round number.
fn plain(value: f64) -> String {
    let text = format!("{value:.6}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    if short.len() > 8 { three_digits(value) } else { short.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_find_their_places_and_ends_have_room() {
        let scale = Scale::over([1.0, 100.0], true, (0.0, 100.0)).unwrap();
        assert!((scale.place(10.0) - 50.0).abs() < 1e-9);
        assert!(scale.place(1.0) > 0.0 && scale.place(100.0) < 100.0);
        assert_eq!(scale.place(1e9), 100.0);
        // The other way round, as places on a screen go downwards.
        let upwards = Scale::over([0.0, 1.0], false, (200.0, 0.0)).unwrap();
        assert!((upwards.place(0.5) - 100.0).abs() < 1e-9);
        assert!(upwards.place(0.25) > upwards.place(0.75));
    }

    #[test]
    fn what_has_no_place_has_no_scale() {
        assert_eq!(Scale::over([], false, (0.0, 1.0)), None);
        assert_eq!(Scale::over([1.0, f64::NAN], false, (0.0, 1.0)), None);
        assert_eq!(Scale::over([0.0, 1.0], true, (0.0, 1.0)), None);
        assert_eq!(Scale::over([7.0], false, (0.0, 10.0)).unwrap().place(7.0), 5.0);
        assert_eq!(Scale::over([0.0], false, (0.0, 10.0)).unwrap().place(0.0), 5.0);
    }

    #[test]
    fn marks_are_round_and_few() {
        for (low, high, is_logarithmic, expected) in [
            (0.0, 1.0, false, vec![0.0, 0.2, 0.4, 0.6000000000000001, 0.8, 1.0]),
            (0.98, 1.03, false, vec![0.98, 0.99, 1.0, 1.01, 1.02, 1.03]),
            (1.0, 10.0, true, vec![1.0, 2.0, 5.0, 10.0]),
            (1.0, 1e4, true, vec![1.0, 10.0, 100.0, 1000.0, 10000.0]),
            (1.0, 1e12, true, vec![1.0, 1e3, 1e6, 1e9, 1e12]),
            // Less than a factor between the ends: as on a scale of differences.
            (0.98, 1.03, true, vec![0.98, 0.99, 1.0, 1.01, 1.02, 1.03]),
        ] {
            let scale = Scale::over([low, high], is_logarithmic, (0.0, 1.0)).unwrap();
            assert_eq!(scale.ticks(6), expected, "{low} to {high}");
        }
    }

    #[test]
    fn digits_have_the_unit_of_their_axis() {
        let axis = |unit| Axis { name: String::new(), unit, is_logarithmic: false };
        for (unit, value, expected) in [
            (Unit::Time, 1_500_000.0, "1.50 µs"),
            (Unit::Bytes, 4096.0, "4 KiB"),
            (Unit::Ratio, 1.05, "1.05x"),
            (Unit::Ratio, 15.0, "15x"),
            (Unit::Share, 0.5, "50 %"),
            (Unit::Number, 0.6000000000000001, "0.6"),
            (Unit::Number, 100_000.0, "100000"),
        ] {
            assert_eq!(axis(unit).digits(value), expected);
        }
    }
}
