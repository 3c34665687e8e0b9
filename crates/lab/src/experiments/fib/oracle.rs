//! The oracle: Fibonacci numbers by the sum that defines them, digit by digit, and by nothing else.
//!
//! It shares no code with what it is held against: neither the library of big numbers nor a way of doubling.

use tenbin_model::order;

/// What a number is written in, least digit first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// Digits of 64 bits, 8 bytes each.
    Words,
    /// Digits of 10⁹, 4 bytes each: the published way.
    Billions,
}

/// One more than the largest digit of [`Base::Billions`].
pub(super) const BILLION: u32 = 1_000_000_000;

/// A walk from F(0) upwards by addition.
pub(super) struct Walk {
    base: Base,
    place: u64,
    /// F(place), and F(place + 1).
    number: Vec<u64>,
    next: Vec<u64>,
}

impl Walk {
    /// A walk that stands at F(0), which has no digit.
    pub(super) fn new(base: Base) -> Self {
        Self { base, place: 0, number: Vec::new(), next: vec![1] }
    }

    /// Goes on to F(n) and returns its bytes: whole digits, least first, little endian, no zeros in front.
    ///
    /// A walk does not turn back: `n` is at least what was asked for before.
    pub(super) fn to(&mut self, n: u64) -> Vec<u8> {
        debug_assert!(n >= self.place, "the walk is past F({n})");
        while self.place < n {
            add(&mut self.number, &self.next, self.base);
            std::mem::swap(&mut self.number, &mut self.next);
            self.place += 1;
        }
        let digits = self.number.iter();
        match self.base {
            Base::Words => digits.flat_map(|digit| digit.to_le_bytes()).collect(),
            Base::Billions => digits.flat_map(|&digit| (digit as u32).to_le_bytes()).collect(),
        }
    }
}

/// Adds `other`, which is no shorter, to `number`.
fn add(number: &mut Vec<u64>, other: &[u64], base: Base) {
    number.resize(other.len(), 0);
    let mut carry = 0;
    for (digit, &added) in number.iter_mut().zip(other) {
        let sum = u128::from(*digit) + u128::from(added) + carry;
        let (kept, over) = match base {
            Base::Words => (sum as u64, sum >> 64),
            Base::Billions => ((sum % u128::from(BILLION)) as u64, sum / u128::from(BILLION)),
        };
        (*digit, carry) = (kept, over);
    }
    if carry > 0 {
        number.push(1);
    }
}

/// These numbers of one base, by their places, which ascend.
pub(super) struct Table {
    rows: Vec<(u64, Vec<u8>)>,
}

impl Table {
    /// F of every place up to `dense`, and of the `samples` beyond.
    pub(super) fn of(base: Base, dense: u64, samples: &[u64]) -> Self {
        let beyond = order::distinct(samples.iter().copied().filter(|&place| place > dense));
        let mut walk = Walk::new(base);
        Self { rows: (0..=dense).chain(beyond).map(|place| (place, walk.to(place))).collect() }
    }

    pub(super) fn rows(&self) -> impl Iterator<Item = (u64, &[u8])> {
        self.rows.iter().map(|(place, bytes)| (*place, bytes.as_slice()))
    }

    /// The bytes of F(n), if it is one of them.
    pub(super) fn number(&self, n: u64) -> Option<&[u8]> {
        let row = self.rows.binary_search_by_key(&n, |&(place, _)| place).ok()?;
        Some(&self.rows[row].1)
    }
}
