//! Ways to F(n), where F(0) = 0 and F(1) = 1.
//!
//! [`doubling`] is the one to use; [`iterative`] is what it is compared with.

use crate::ladder::Ladder;
use crate::natural::Natural;
use crate::span::{self, Limb};

/// How many Fibonacci numbers fit into a limb: F(0) to F(93).
const TABLE: usize = 94;

/// F(n) for all n whose number fits into a limb.
static SMALL: [Limb; TABLE] = {
    let mut table = [0; TABLE];
    table[1] = 1;
    let mut n = 2;
    while n < TABLE {
        table[n] = table[n - 1] + table[n - 2];
        n += 1;
    }
    table
};

/// F(n) by n additions.
#[must_use]
pub fn iterative(n: u64) -> Natural {
    let mut current = Vec::new();
    let mut next = vec![1];
    for _ in 0..n {
        // `current` is the smaller one: it becomes the sum, and then the two change places.
        current.resize(next.len(), 0);
        if span::add(&mut current, &next) {
            current.push(1);
        }
        std::mem::swap(&mut current, &mut next);
    }
    Natural::from_limbs(current)
}

/// F(n) by doubling the index once for every bit of n. The answer has about 0.694 n bits; the room to work
/// in, a few times as much, is allocated once.
///
/// Each step squares F(k) and F(k - 1): with these, F(2k + 1) = 4 F(k)^2 - F(k - 1)^2 + 2 (-1)^k and
/// F(2k - 1) = F(k)^2 + F(k - 1)^2, whose difference is F(2k). The last step is one product, because its
/// second number is not wanted: F(2k) = F(k) (F(k) + 2 F(k - 1)) and
/// F(2k + 1) = (2 F(k) + F(k - 1)) (2 F(k) - F(k - 1)) + 2 (-1)^k. The first steps are looked up. The
/// identities follow from d'Ocagne's and Cassini's; the GNU MP manual describes the same choice in
/// its chapter on algorithms.
#[must_use]
pub fn doubling(n: u64) -> Natural {
    doubling_on(n, &Ladder::MEASURED)
}

/// [`doubling`] by a ladder of the caller's. The answer does not depend on it.
#[must_use]
pub fn doubling_on(n: u64, ladder: &Ladder) -> Natural {
    if let Some(&small) = usize::try_from(n).ok().and_then(|n| SMALL.get(n)) {
        return Natural::from(small);
    }
    // The longest beginning of n that the table has. It is at least 47, so F(k - 1) is there too.
    let below = (1..).find(|&below| n >> below < TABLE as u64).unwrap_or_default();
    let start = (n >> below) as usize;
    let room = Neighbours::room(n / 2);
    let mut limbs = vec![0; 4 * room + ladder.scratch(room)];
    let (numbers, scratch) = limbs.split_at_mut(4 * room);
    let mut pair = Neighbours::new(numbers, SMALL[start], SMALL[start - 1]);
    for bit in (1..below).rev() {
        let odd = n >> (bit + 1) & 1 == 1;
        if n >> bit & 1 == 1 {
            pair.double::<true>(ladder, scratch, odd);
        } else {
            pair.double::<false>(ladder, scratch, odd);
        }
    }
    let odd = n >> 1 & 1 == 1;
    if n & 1 == 1 { pair.last_up(ladder, scratch, odd) } else { pair.last(ladder, scratch) }
}

/// F(k) and F(k - 1), and room for the next step.
struct Neighbours<'a> {
    /// F(k), in its lowest `length` limbs.
    current: &'a mut [Limb],
    /// F(k - 1), in as many limbs, the highest of which may be 0.
    previous: &'a mut [Limb],
    /// Room for the square of each.
    squares: [&'a mut [Limb]; 2],
    length: usize,
}

impl<'a> Neighbours<'a> {
    /// How many limbs each of the four numbers needs until the last step but one, which leads to `n`.
    ///
    /// F(n) < 2^(0.6943 n), and 0.6943 / 64 < 1 / 92. A step writes up to two zeros above its number.
    fn room(n: u64) -> usize {
        usize::try_from(n / 92).unwrap_or(usize::MAX).saturating_add(4)
    }

    fn new(numbers: &'a mut [Limb], current: Limb, previous: Limb) -> Self {
        let room = numbers.len() / 4;
        let (one, numbers) = numbers.split_at_mut(room);
        let (other, numbers) = numbers.split_at_mut(room);
        let (high, low) = numbers.split_at_mut(room);
        one[0] = current;
        other[0] = previous;
        Self { current: one, previous: other, squares: [high, low], length: 1 }
    }

    /// From k to 2k, or to 2k + 1 where `UP`. `odd` says whether k is.
    ///
    /// One pass makes all three numbers from the two squares, because for small numbers passes cost as much
    /// as squares.
    fn double<const UP: bool>(&mut self, ladder: &Ladder, scratch: &mut [Limb], odd: bool) {
        let length = 2 * self.length;
        let [high, low] = &mut self.squares;
        let (high, low) = (&mut high[..length], &mut low[..length]);
        ladder.square(high, &self.current[..self.length], scratch);
        ladder.square(low, &self.previous[..self.length], scratch);
        let current = &mut self.current[..=length];
        let previous = &mut self.previous[..=length];

        // A square is 0 or 1 modulo 4 and four times one is 0, so adding 2 to either sets a bit and carries
        // nothing. The 2 of an odd k belongs to the difference only.
        let mut three = Three { quadrupled: if odd { 0 } else { 2 }, ..Three::default() };
        let mut twice = if odd { 2 } else { 0 };
        let squares = high.iter().zip(low.iter());
        for ((current, previous), (&high, &low)) in current.iter_mut().zip(previous.iter_mut()).zip(squares) {
            let (sum, up, even) = three.add(high, low, low | twice);
            twice = 0;
            (*current, *previous) = if UP { (up, even) } else { (even, sum) };
        }
        let (sum, up, even) = three.add(0, 0, 0);
        (current[length], previous[length]) = if UP { (up, even) } else { (even, sum) };
        self.length = span::significant(current);
    }

    /// F(2k).
    fn last(self, ladder: &Ladder, scratch: &mut [Limb]) -> Natural {
        let length = self.length;
        let current = &self.current[..length];
        let sum = &mut self.previous[..=length];
        sum[length] = 0;
        span::shift_left(sum, 1);
        span::add(sum, current);
        let sum = span::trimmed(sum);
        let mut product = vec![0; current.len() + sum.len()];
        ladder.multiply(&mut product, current, sum, scratch);
        Natural::from_limbs(product)
    }

    /// F(2k + 1). `odd` says whether k is.
    fn last_up(self, ladder: &Ladder, scratch: &mut [Limb], odd: bool) -> Natural {
        let length = self.length;
        let [sum, difference] = self.squares;
        let (sum, difference) = (&mut sum[..=length], &mut difference[..=length]);
        sum[..length].copy_from_slice(&self.current[..length]);
        sum[length] = 0;
        span::shift_left(sum, 1);
        difference.copy_from_slice(sum);
        span::add(sum, &self.previous[..length]);
        span::subtract(difference, &self.previous[..length]);
        let (sum, difference) = (span::trimmed(sum), span::trimmed(difference));
        let mut product = vec![0; sum.len() + difference.len()];
        ladder.multiply(&mut product, sum, difference, scratch);
        if odd {
            span::subtract(&mut product, &[2]);
        } else {
            span::add(&mut product, &[2]);
        }
        Natural::from_limbs(product)
    }
}

/// What three sums carry from limb to limb while they are made in one pass.
#[derive(Default)]
struct Three {
    /// The two bits that quadrupling shifts out.
    quadrupled: Limb,
    carry: bool,
    borrow: bool,
    borrow_even: bool,
}

impl Three {
    /// The next limbs of high + low, of 4 high - `low_owed`, and of the second without the first.
    #[inline(always)]
    fn add(&mut self, high: Limb, low: Limb, low_owed: Limb) -> (Limb, Limb, Limb) {
        let (sum, up, even);
        (sum, self.carry) = high.carrying_add(low, self.carry);
        let fourfold = high << 2 | self.quadrupled;
        self.quadrupled = high >> (Limb::BITS - 2);
        (up, self.borrow) = fourfold.borrowing_sub(low_owed, self.borrow);
        (even, self.borrow_even) = up.borrowing_sub(sum, self.borrow_even);
        (sum, up, even)
    }
}
