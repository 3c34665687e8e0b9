//! The number itself: its limbs, its order, and the operators.

use std::cmp::Ordering;
use std::fmt;
use std::ops::{Add, AddAssign, Mul};

use crate::ladder::Ladder;
use crate::span::{self, Limb};

/// A natural number of any size: limbs in base 2^64, least first, without leading zeros. Zero has none.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Natural {
    limbs: Vec<Limb>,
}

impl Natural {
    /// Zero.
    pub const ZERO: Self = Self { limbs: Vec::new() };

    /// From limbs, least first; leading zeros are dropped.
    #[must_use]
    pub fn from_limbs(mut limbs: Vec<u64>) -> Self {
        limbs.truncate(span::significant(&limbs));
        Self { limbs }
    }

    /// From bytes, least first; any number of them, leading zeros too.
    #[must_use]
    pub fn from_le_bytes(bytes: &[u8]) -> Self {
        let limb = |piece: &[u8]| {
            let mut whole = [0; size_of::<Limb>()];
            whole[..piece.len()].copy_from_slice(piece);
            Limb::from_le_bytes(whole)
        };
        Self::from_limbs(bytes.chunks(size_of::<Limb>()).map(limb).collect())
    }

    /// The limbs, least first, without leading zeros.
    #[must_use]
    pub fn limbs(&self) -> &[u64] {
        &self.limbs
    }

    /// How many bits the number has, leading zeros not counted: 0 for zero.
    #[must_use]
    pub fn bits(&self) -> u64 {
        let below = u64::from(Limb::BITS) * self.limbs.len().saturating_sub(1) as u64;
        self.limbs.last().map_or(0, |highest| below + u64::from(Limb::BITS - highest.leading_zeros()))
    }

    /// Whether the number is 0.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.limbs.is_empty()
    }

    /// The number times itself, which costs about two thirds of a product.
    #[must_use]
    pub fn square(&self) -> Self {
        self.square_on(&Ladder::MEASURED)
    }

    /// [`Natural::square`] by a ladder of the caller's. The answer does not depend on it.
    #[must_use]
    pub fn square_on(&self, ladder: &Ladder) -> Self {
        if self.is_zero() {
            return Self::ZERO;
        }
        let mut limbs = vec![0; 2 * self.limbs.len()];
        let mut scratch = vec![0; ladder.scratch(self.limbs.len())];
        ladder.square(&mut limbs, &self.limbs, &mut scratch);
        Self::from_limbs(limbs)
    }

    /// `self * other` by a ladder of the caller's. The answer does not depend on it.
    #[must_use]
    pub fn multiply_on(&self, other: &Self, ladder: &Ladder) -> Self {
        if self.is_zero() || other.is_zero() {
            return Self::ZERO;
        }
        let mut limbs = vec![0; self.limbs.len() + other.limbs.len()];
        let mut scratch = vec![0; ladder.scratch(self.limbs.len().min(other.limbs.len()))];
        ladder.multiply(&mut limbs, &self.limbs, &other.limbs, &mut scratch);
        Self::from_limbs(limbs)
    }
}

impl From<u64> for Natural {
    fn from(value: u64) -> Self {
        Self::from_limbs(vec![value])
    }
}

impl Ord for Natural {
    fn cmp(&self, other: &Self) -> Ordering {
        span::compare(&self.limbs, &other.limbs)
    }
}

impl PartialOrd for Natural {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl AddAssign<&Self> for Natural {
    fn add_assign(&mut self, other: &Self) {
        if self.limbs.len() < other.limbs.len() {
            self.limbs.resize(other.limbs.len(), 0);
        }
        if span::add(&mut self.limbs, &other.limbs) {
            self.limbs.push(1);
        }
    }
}

impl Add for &Natural {
    type Output = Natural;

    fn add(self, other: Self) -> Natural {
        let (long, short) = if self.limbs.len() < other.limbs.len() { (other, self) } else { (self, other) };
        let mut sum = long.clone();
        sum += short;
        sum
    }
}

impl Mul for &Natural {
    type Output = Natural;

    fn mul(self, other: Self) -> Natural {
        self.multiply_on(other, &Ladder::MEASURED)
    }
}

/// Hexadecimal, in small letters; `{:#x}` puts `0x` before it.
impl fmt::LowerHex for Natural {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write as _;

        let mut digits = String::with_capacity(16 * self.limbs.len().max(1));
        let mut limbs = self.limbs.iter().rev();
        write!(digits, "{:x}", limbs.next().unwrap_or(&0))?;
        for limb in limbs {
            write!(digits, "{limb:016x}")?;
        }
        formatter.pad_integral(true, "0x", &digits)
    }
}
