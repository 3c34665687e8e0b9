//! The published big number: digits of 10⁹, schoolbook multiplication, four buffers, and doubling from the
//! top bit down.
//!
//! Written from what its author says of the second version: the buffers are sized once for all of the work,
//! and a buffer is cleared as a whole before a product is summed up in it.

/// One more than the largest digit.
const BILLION: u32 = 1_000_000_000;

/// Digits that F(n) is sure to fit into: its author found 42.25 places to a digit, and divides by 42 in the
/// kernel.
const PLACES_A_DIGIT: u64 = 42;

/// Where the doubling begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Start {
    /// As published: at bit 63 shifted by the leading zeros of a number of 32 bits, so 32 rounds double zero.
    AsPublished,
    /// At the topmost bit that is set.
    Corrected,
}

impl Start {
    /// The bits of `n` from the first that is looked at, as a mask. None are looked at for 0 where it is
    /// corrected.
    ///
    /// For 0 the published one counts the leading zeros of 0, which C leaves undefined (`__builtin_clz`, the
    /// manual of GCC); here they are 32.
    #[must_use]
    pub fn mask(self, n: u32) -> u64 {
        match self {
            Self::AsPublished => (1 << 63) >> n.leading_zeros(),
            Self::Corrected => u64::from(n.checked_ilog2().map_or(0, |bit| 1_u32 << bit)),
        }
    }
}

/// A number in a buffer of fixed length; what lies beyond its digits is not looked at.
struct Decimal {
    digits: Vec<u32>,
    size: usize,
}

impl Decimal {
    fn new(capacity: usize, value: u32) -> Self {
        let mut digits = vec![0; capacity];
        digits[0] = value;
        Self { digits, size: 1 }
    }

    fn digits(&self) -> &[u32] {
        &self.digits[..self.size]
    }

    /// Drops zeros in front, all but the last digit.
    fn trim(&mut self) {
        while self.size > 1 && self.digits[self.size - 1] == 0 {
            self.size -= 1;
        }
    }

    fn assign(&mut self, other: &Self) {
        self.digits[..other.size].copy_from_slice(other.digits());
        self.size = other.size;
    }

    fn sum(&mut self, left: &Self, right: &Self) {
        self.assign(left);
        self.add(right);
    }

    fn add(&mut self, other: &Self) {
        let longer = self.size.max(other.size);
        self.digits[self.size..longer].fill(0);
        self.size = longer;
        let mut carry = 0;
        for place in 0..longer {
            let sum = self.digits[place] + other.digits().get(place).unwrap_or(&0) + carry;
            self.digits[place] = sum % BILLION;
            carry = sum / BILLION;
        }
        self.extend(carry);
    }

    /// What is left of it after `other`, which is no larger, was taken away.
    fn subtract(&mut self, other: &Self) {
        let mut borrow = 0;
        for place in 0..self.size {
            let taken = other.digits().get(place).unwrap_or(&0) + borrow;
            let short = self.digits[place] < taken;
            self.digits[place] = self.digits[place] + if short { BILLION } else { 0 } - taken;
            borrow = u32::from(short);
        }
        self.trim();
    }

    fn difference(&mut self, left: &Self, right: &Self) {
        self.assign(left);
        self.subtract(right);
    }

    fn double(&mut self) {
        let mut carry = 0;
        for digit in &mut self.digits[..self.size] {
            let sum = (*digit << 1) + carry;
            *digit = sum % BILLION;
            carry = sum / BILLION;
        }
        self.extend(carry);
    }

    fn extend(&mut self, carry: u32) {
        if carry > 0 {
            self.digits[self.size] = carry;
            self.size += 1;
        }
    }

    /// The product of both, each carry taken as far as it goes before the next pair of digits.
    fn product(&mut self, left: &Self, right: &Self) {
        self.digits.fill(0);
        self.size = left.size + right.size;
        for (i, &one) in left.digits().iter().enumerate() {
            for (j, &other) in right.digits().iter().enumerate() {
                let mut carry = u64::from(one) * u64::from(other);
                let mut place = i + j;
                while carry > 0 {
                    let sum = carry + u64::from(self.digits[place]);
                    self.digits[place] = (sum % u64::from(BILLION)) as u32;
                    carry = sum / u64::from(BILLION);
                    place += 1;
                }
            }
        }
        self.trim();
    }
}

/// The digits of F(n) to the base of 10⁹, least first; F(0) has none.
#[must_use]
#[inline(never)]
pub fn fibonacci(n: u32, start: Start) -> Vec<u32> {
    let capacity = (u64::from(n) / PLACES_A_DIGIT) as usize + 2;
    let (mut a, mut b) = (Decimal::new(capacity, 0), Decimal::new(capacity, 1));
    let (mut one, mut other) = (Decimal::new(capacity, 0), Decimal::new(capacity, 0));
    let mut mask = start.mask(n);
    while mask > 0 {
        if mask & u64::from(n) != 0 {
            // F(2k+1) = (a + b)² − 2ab, F(2k+2) = (a + b)² − a².
            one.sum(&a, &b);
            other.product(&one, &one);
            one.product(&a, &b);
            one.double();
            b.product(&a, &a);
            a.difference(&other, &one);
            one.difference(&other, &b);
            b.assign(&one);
        } else {
            // F(2k) = a(2b − a), F(2k+1) = a² + b².
            one.product(&a, &a);
            other.product(&b, &b);
            other.add(&one);
            b.double();
            b.subtract(&a);
            one.product(&b, &a);
            b.assign(&other);
            a.assign(&one);
        }
        mask >>= 1;
    }
    let size = if a.size == 1 && a.digits[0] == 0 { 0 } else { a.size };
    a.digits.truncate(size);
    a.digits
}
