//! What a value is expected to be, given its kind and the values before it.
//!
//! Epochs of one variant with one iteration count take nearly the same time, and when the machine
//! slows down, it slows down for all of them. So each kind has a centre, and the ratio of the last
//! few values to their centres says how fast the machine is just now.

use super::bytes::{fold, unfold};

/// How a value is expected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Predictor {
    /// The centre of its kind: best where the noise has no memory.
    Centre,
    /// The centre, times the median ratio of the last three values to their own centres. Three
    /// beat 1, 5, 7, 9 and 13 on epochs measured on a shared virtual machine.
    Recent,
}

/// Ratios are integers in units of 2⁻²⁰, so that every machine computes the same.
const RATIO_BITS: u32 = 20;

/// Keeps `centre × ratio` within 128 bits.
const LARGEST_RATIO: u128 = 1 << 60;

/// Kinds renumbered from 0 in order of first appearance, so that a chunk needs no centre of a kind
/// that does not occur in it. Returns the numbers and how many there are.
pub(super) fn renumber(kinds: &[u32]) -> (Vec<u32>, usize) {
    let mut numbers = std::collections::HashMap::new();
    let renumbered = kinds
        .iter()
        .map(|kind| {
            let next = numbers.len() as u32;
            *numbers.entry(*kind).or_insert(next)
        })
        .collect();
    (renumbered, numbers.len())
}

/// The lower median of each kind.
pub(super) fn centres(values: &[u64], kinds: &[u32], count: usize) -> Vec<u64> {
    let mut members = vec![Vec::new(); count];
    for (value, kind) in values.iter().zip(kinds) {
        members[*kind as usize].push(*value);
    }
    members
        .into_iter()
        .map(|mut values| {
            let middle = values.len().saturating_sub(1) / 2;
            if values.is_empty() { 0 } else { *values.select_nth_unstable(middle).1 }
        })
        .collect()
}

/// The last three ratios.
struct Pace {
    ratios: [u128; 3],
    next: usize,
}

impl Pace {
    fn new() -> Self {
        Self { ratios: [1 << RATIO_BITS; 3], next: 0 }
    }

    fn expect(&self, centre: u64) -> u64 {
        let [a, b, c] = self.ratios;
        let median = a.max(b).min(a.min(b).max(c));
        u64::try_from((u128::from(centre) * median) >> RATIO_BITS).unwrap_or(u64::MAX)
    }

    fn observe(&mut self, value: u64, centre: u64) {
        self.ratios[self.next] =
            ((u128::from(value) << RATIO_BITS) / u128::from(centre.max(1))).min(LARGEST_RATIO);
        self.next = (self.next + 1) % self.ratios.len();
    }
}

impl Predictor {
    /// What is left of `values` when the expectation is taken away, folded.
    pub(super) fn residuals(self, values: &[u64], kinds: &[u32], centres: &[u64]) -> Vec<u64> {
        let residual = |value: u64, expected| (value, fold(value.wrapping_sub(expected)));
        self.walk(values, kinds, centres, residual)
    }

    /// The inverse of [`Predictor::residuals`]. Every kind must have its centre.
    pub(super) fn values(self, residuals: &[u64], kinds: &[u32], centres: &[u64]) -> Vec<u64> {
        let value = |residual, expected: u64| {
            let value = expected.wrapping_add(unfold(residual));
            (value, value)
        };
        self.walk(residuals, kinds, centres, value)
    }

    /// Makes of each number and what is expected there the value, and what goes out.
    fn walk(
        self,
        numbers: &[u64],
        kinds: &[u32],
        centres: &[u64],
        step: impl Fn(u64, u64) -> (u64, u64),
    ) -> Vec<u64> {
        let mut pace = Pace::new();
        let step = |(&number, &kind): (&u64, &u32)| {
            let centre = centres[kind as usize];
            match self {
                Self::Centre => step(number, centre).1,
                Self::Recent => {
                    let (value, out) = step(number, pace.expect(centre));
                    pace.observe(value, centre);
                    out
                }
            }
        };
        numbers.iter().zip(kinds).map(step).collect()
    }
}
