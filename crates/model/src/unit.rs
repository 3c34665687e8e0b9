//! Units as types. A number that has a unit never travels without it.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A length of time in whole picoseconds.
///
/// An integer keeps sums exact and files comparable byte for byte; 64 bits hold 213 days.
/// One tick of a 5 GHz counter is 200 of these, so no clock in reach is rounded by it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Picoseconds(pub u64);

impl Picoseconds {
    /// The zero length.
    pub const ZERO: Self = Self(0);

    /// `count` nanoseconds, saturating at the largest length.
    pub const fn from_nanos(count: u64) -> Self {
        Self(count.saturating_mul(1_000))
    }

    /// `count` microseconds, saturating at the largest length.
    pub const fn from_micros(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000))
    }

    /// `count` milliseconds, saturating at the largest length.
    pub const fn from_millis(count: u64) -> Self {
        Self(count.saturating_mul(1_000_000_000))
    }

    /// The length in nanoseconds, for arithmetic on ratios and for display.
    pub fn as_nanos(self) -> f64 {
        self.0 as f64 / 1e3
    }

    /// The length in seconds.
    pub fn as_seconds(self) -> f64 {
        self.0 as f64 / 1e12
    }

    /// `self - earlier`, or zero when `earlier` is longer.
    pub const fn saturating_sub(self, earlier: Self) -> Self {
        Self(self.0.saturating_sub(earlier.0))
    }
}

impl std::ops::Add for Picoseconds {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl std::ops::AddAssign for Picoseconds {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl std::iter::Sum for Picoseconds {
    fn sum<I: Iterator<Item = Self>>(lengths: I) -> Self {
        lengths.fold(Self::ZERO, |total, length| total + length)
    }
}

/// Three significant digits and the unit that fits: `412 ps`, `1.23 µs`, `38.7 s`.
impl fmt::Display for Picoseconds {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        let (scaled, unit) = match value {
            v if v < 1e3 => (v, "ps"),
            v if v < 1e6 => (v / 1e3, "ns"),
            v if v < 1e9 => (v / 1e6, "µs"),
            v if v < 1e12 => (v / 1e9, "ms"),
            v => (v / 1e12, "s"),
        };
        write!(f, "{} {unit}", three_digits(scaled))
    }
}

/// An amount of memory or data in bytes.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Bytes(pub u64);

impl Bytes {
    /// `count` kibibytes.
    pub const fn from_kib(count: u64) -> Self {
        Self(count * 1024)
    }
}

/// Binary prefixes: `4 KiB`, `1.25 MiB`, `22.8 GiB`.
impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PREFIXES: [&str; 5] = ["B", "KiB", "MiB", "GiB", "TiB"];
        let mut scaled = self.0 as f64;
        let mut prefix = 0;
        while scaled >= 1024.0 && prefix + 1 < PREFIXES.len() {
            scaled /= 1024.0;
            prefix += 1;
        }
        if scaled.fract() == 0.0 {
            write!(f, "{scaled} {}", PREFIXES[prefix])
        } else {
            write!(f, "{} {}", three_digits(scaled), PREFIXES[prefix])
        }
    }
}

/// A logical CPU by the number that the kernel gives it.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(transparent)]
pub struct Cpu(pub u32);

impl fmt::Display for Cpu {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "CPU {}", self.0)
    }
}

/// `value` with three significant digits and no exponent: `0.0412`, `1.23`, `38.7`, `1591`.
pub fn three_digits(value: f64) -> String {
    if value == 0.0 || !value.is_finite() {
        return format!("{value}");
    }
    let magnitude = value.abs().log10().floor() as i32;
    let decimals = (2 - magnitude).max(0) as usize;
    let shown = format!("{value:.decimals$}");
    // 9.996 has magnitude 0 and would print as 10.00: one digit too many.
    if shown.bytes().filter(u8::is_ascii_digit).count() > 3 && decimals > 0 && value.abs() >= 1.0 {
        return format!("{value:.*}", decimals - 1);
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_print_with_three_digits_and_the_unit_that_fits() {
        let cases = [
            (0, "0 ps"),
            (412, "412 ps"),
            (1_000, "1.00 ns"),
            (9_996, "10.0 ns"),
            (99_960, "100 ns"),
            (1_234_567, "1.23 µs"),
            (100_000_000, "100 µs"),
            (38_700_000_000_000, "38.7 s"),
            (2_141_000_000_000_000, "2141 s"),
        ];
        for (picoseconds, shown) in cases {
            assert_eq!(Picoseconds(picoseconds).to_string(), shown);
        }
    }

    #[test]
    fn sizes_print_with_binary_prefixes() {
        assert_eq!(Bytes(4096).to_string(), "4 KiB");
        assert_eq!(Bytes(1_310_720).to_string(), "1.25 MiB");
        assert_eq!(Bytes(503_316_480).to_string(), "480 MiB");
        assert_eq!(Bytes(7).to_string(), "7 B");
    }

    #[test]
    fn sums_saturate_instead_of_wrapping() {
        assert_eq!(Picoseconds(u64::MAX) + Picoseconds(1), Picoseconds(u64::MAX));
        assert_eq!(Picoseconds::from_millis(u64::MAX), Picoseconds(u64::MAX));
    }
}
