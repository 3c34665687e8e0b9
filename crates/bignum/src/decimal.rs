//! To decimal digits and from them, in halves: a number of d digits is cut at a power of ten of about d/2
//! digits, so that most of the work is division and multiplication of large numbers by each other.

use std::fmt::{self, Write as _};

use crate::division::{self, Divisor};
use crate::natural::Natural;
use crate::span;

/// The largest power of ten that fits into a limb. Its highest bit is set, so nothing need be shifted.
const PIECE: u64 = 10_000_000_000_000_000_000;

/// How many decimal digits are cut off by one division by [`PIECE`].
const PIECE_DIGITS: usize = 19;

/// How many pieces are cut off one after the other before halves pay: a power of two. They hold 63 bits
/// each and more, so any number of one limb less has no more of them.
const PIECES: usize = 16;

/// Base of the digits that [`Natural::from_billions`] takes.
const BILLION: u32 = 1_000_000_000;

/// How many of those are taken in one after the other before halves pay: a power of two.
const BILLIONS: usize = 64;

impl fmt::Display for Natural {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad_integral(true, "", &text(self))
    }
}

impl Natural {
    /// From digits in base 10^9, least first; any number of them, leading zeros too. `None` where a digit is
    /// 10^9 or more.
    #[must_use]
    pub fn from_billions(digits: &[u32]) -> Option<Self> {
        if digits.iter().any(|&digit| digit >= BILLION) {
            return None;
        }
        let mut powers = Vec::new();
        let mut length = BILLIONS;
        while length < digits.len() {
            let power = powers.last().map_or_else(|| power(BILLION.into(), BILLIONS), Self::square);
            powers.push(power);
            length *= 2;
        }
        Some(gather(digits, &powers))
    }
}

/// The decimal digits of a number, without leading zeros; one zero for zero.
fn text(number: &Natural) -> String {
    // Each power is the square of the one before it, and the square of the last is larger than the number.
    // A number that needs no power has fewer bits than a first power would.
    let mut powers = Vec::new();
    if number.limbs().len() >= PIECES {
        powers.push(power(PIECE, PIECES));
    }
    while let Some(last) = powers.last()
        && 2 * last.limbs().len() < number.limbs().len() + 2
    {
        powers.push(last.square());
    }
    // A bit is 0.30103 digits; a third is a little more.
    let digits = usize::try_from(number.bits() / 3).unwrap_or_default() + PIECE_DIGITS;
    let mut text = String::with_capacity(digits);
    append(number, &powers, &mut text);
    if text.is_empty() {
        text.push('0');
    }
    text
}

/// Appends the digits of a number that is less than the square of the last power: as many digits as that
/// square has zeros, or no leading zeros where the text is empty.
fn append(number: &Natural, powers: &[Natural], text: &mut String) {
    if let Some((power, smaller)) = powers.split_last() {
        // No power of ten is 0.
        let Some((high, low)) = number.checked_div_rem(power) else { return };
        append(&high, smaller, text);
        return append(&low, smaller, text);
    }
    // It has at most as many pieces as these.
    let mut limbs = number.limbs().to_vec();
    let divisor = Divisor::new(PIECE);
    let mut pieces = [0; PIECES];
    for piece in &mut pieces {
        *piece = division::divide_in_place(&mut limbs, divisor);
        limbs.truncate(span::significant(&limbs));
    }
    for piece in pieces.iter().rev() {
        // Writing to a string does not fail.
        let _ = if !text.is_empty() {
            write!(text, "{piece:0PIECE_DIGITS$}")
        } else if *piece != 0 {
            write!(text, "{piece}")
        } else {
            Ok(())
        };
    }
}

/// The number with these digits, of which there are at most `BILLIONS * 2^powers.len()`.
fn gather(digits: &[u32], powers: &[Natural]) -> Natural {
    let Some((power, smaller)) = powers.split_last() else {
        let mut limbs = Vec::with_capacity(digits.len() / 2 + 1);
        for &digit in digits.iter().rev() {
            let carry = span::scale(&mut limbs, BILLION.into(), digit.into());
            if carry > 0 {
                limbs.push(carry);
            }
        }
        return Natural::from_limbs(limbs);
    };
    let half = BILLIONS << smaller.len();
    if digits.len() <= half {
        return gather(digits, smaller);
    }
    let (low, high) = digits.split_at(half);
    let mut number = &gather(high, smaller) * power;
    number += &gather(low, smaller);
    number
}

/// `base^exponent`, where the exponent is a power of two.
fn power(base: u64, exponent: usize) -> Natural {
    (0..exponent.ilog2()).fold(Natural::from(base), |power, _| power.square())
}
