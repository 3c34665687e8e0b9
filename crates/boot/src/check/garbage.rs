//! What undetermined memory may hold: numbers that matter, and what they look like through loads of several
//! widths.
//!
//! A word that is only ever looked at whole may be any of the numbers. Where loads of several widths look at
//! the same bytes, what one of them may see must not depend on which of them comes first. So the bytes are
//! cut where a look begins or ends, and each piece holds, for itself, what it would in any number seen
//! through any of the looks that it is a part of.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexSet;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::isa::Width;
use crate::operational::program::{Inverse, Word};

/// A number that no program compares anything with, another one for each address. No byte of it is a small
/// number or −1, and the lowest, which is what a look at one byte sees of it, is none of those that are
/// `spoken` of, if there is such a byte.
fn fresh(address: u64, spoken: &[bool; 256]) -> u64 {
    // Spreads neighbours: G. Steele and others, Fast Splittable Pseudorandom Number Generators, OOPSLA 2014,
    // "mix64".
    let mut mixed = address.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    let number = mixed & 0x3f3f_3f3f_3f3f_3f3f | 0x4040_4040_4040_4040;
    let unspoken = (0..=255_u8).map(|step| (number as u8) ^ step).find(|&byte| !spoken[usize::from(byte)]);
    number & !0xff | u64::from(unspoken.unwrap_or(number as u8))
}

/// Values that one load may be tried with.
const MOST_VALUES: usize = 1024;

/// Operations that are undone, one after the other.
const LONGEST_WAY: usize = 6;

/// Ways by which one number may have been computed.
const MOST_WAYS: usize = 32;

/// Loads of undetermined memory: of each 8 bytes, the first byte that is read, and how many.
pub(super) type Looks = BTreeMap<u64, BTreeSet<(u64, Width)>>;

#[derive(Debug)]
pub(super) struct Garbage {
    numbers: Vec<u64>,
    /// How many of them are there whatever it is compared with.
    always: usize,
    /// Bytes that the code names.
    spoken: [bool; 256],
    /// What was read of undetermined memory and is none of the numbers: who compares that wants to know what
    /// it holds.
    telling: RefCell<FxHashSet<u64>>,
    /// What was computed of that.
    results: RefCell<FxHashMap<u64, Vec<Way>>>,
    /// Numbers of which some bits do not matter to what they were made for.
    open: BTreeSet<u64>,
    /// Parts of that, which a narrower load has seen where it was copied to.
    parts: RefCell<FxHashSet<u64>>,
    /// Whether there were more values than are tried.
    pub(super) partly: Cell<bool>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Way {
    of: u64,
    /// How it is undone: the last operation first.
    undone: Vec<Inverse>,
}

/// What a comparison says of undetermined memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    Known,
    /// That this number matters; and whether others would have done as well.
    New(u64, bool),
    /// That more matters than is tried: undetermined memory is compared with what was made of it, or only
    /// parts are.
    Garbage,
}

impl Garbage {
    /// The numbers of harts, −1, and what garbage is compared with; for each address there will be one more
    /// that nothing is compared with. The code names these bytes.
    pub(super) fn new(
        harts: u32,
        compared: &BTreeSet<u64>,
        open: &BTreeSet<u64>,
        named: &BTreeSet<u8>,
    ) -> Self {
        let mut spoken = [false; 256];
        for byte in (0..harts as u8).chain([u8::MAX]).chain(named.iter().copied()) {
            spoken[usize::from(byte)] = true;
        }
        let harts = u64::from(harts);
        let mut numbers: Vec<u64> = (0..harts).chain([u64::MAX]).collect();
        let always = numbers.len();
        numbers.extend(compared.iter().filter(|&&value| value != u64::MAX && value >= harts));
        Self {
            numbers,
            always,
            spoken,
            telling: RefCell::default(),
            results: RefCell::default(),
            open: open.clone(),
            parts: RefCell::default(),
            partly: Cell::new(false),
        }
    }

    /// Whether this is what nothing but undetermined memory holds.
    pub(super) fn is_telling(&self, value: u64) -> bool {
        self.telling.borrow().contains(&value)
    }

    /// Whether this was computed of what nothing but undetermined memory holds.
    pub(super) fn is_result(&self, value: u64) -> bool {
        self.results.borrow().contains_key(&value)
    }

    /// What follows from a comparison of this value with another one.
    pub(super) fn compares(&self, value: u64, other: u64) -> Compared {
        if self.is_telling(value) {
            // Another word may hold the same.
            return if value == other { Compared::Known } else { self.matters(other, value, false) };
        }
        if self.parts.borrow().contains(&value) {
            return Compared::Garbage;
        }
        match self.results.borrow().get(&value) {
            None => Compared::Known,
            Some(_) if self.is_telling(other) => Compared::Garbage,
            Some(ways) => {
                let wanted = ways.iter().filter_map(|way| {
                    let number = way.undone.iter().try_fold(other, |result, inverse| inverse.of(result))?;
                    Some(self.matters(number, value, way.undone.iter().any(|inverse| inverse.is_lossy())))
                });
                wanted.into_iter().find(|wanted| *wanted != Compared::Known).unwrap_or(Compared::Known)
            }
        }
    }

    /// Whether this is one of the numbers, as this width has it.
    fn is_number(&self, value: u64, width: Width) -> bool {
        has(&self.numbers, value, width)
    }

    /// Whether a number matters that is none of those that are tried, as wide as what it was compared with.
    fn matters(&self, number: u64, with: u64, is_open: bool) -> Compared {
        let fits =
            |number| [true, false].into_iter().any(|signed| Width::Word.extend(number, signed) == number);
        let is_word = fits(with) && (!is_open || fits(number));
        let width = if is_word { Width::Word } else { Width::Double };
        if self.is_number(number, width) { Compared::Known } else { Compared::New(number, is_open) }
    }

    /// Notes what was computed. Whether what is compared with it cannot be undone.
    pub(super) fn computes(&self, from: u64, result: u64, inverse: Option<Inverse>) -> bool {
        if self.parts.borrow().contains(&from) {
            return true;
        }
        let mut results = self.results.borrow_mut();
        let before = match results.get(&from) {
            _ if self.is_telling(from) => vec![Way { of: from, undone: Vec::new() }],
            None => return false,
            // A copy, or what leaves a number as it is.
            Some(_) if from == result => return false,
            Some(ways) => ways.clone(),
        };
        let Some(inverse) = inverse else { return true };
        if from == result {
            return false;
        }
        let mut is_lost = false;
        let ways = results.entry(result).or_default();
        for mut way in before {
            way.undone.insert(0, inverse);
            if way.undone.len() > LONGEST_WAY || ways.len() >= MOST_WAYS {
                is_lost = true;
            } else if !ways.contains(&way) {
                ways.push(way);
            }
        }
        is_lost
    }

    /// Whether both were computed of one number: then neither can be held fast while the other is changed.
    pub(super) fn are_related(&self, left: u64, right: u64) -> bool {
        let results = self.results.borrow();
        let of = |value: u64| {
            let ways = results.get(&value).into_iter().flatten().map(|way| way.of);
            ways.chain(self.is_telling(value).then_some(value)).collect::<Vec<_>>()
        };
        let left = of(left);
        !left.is_empty() && of(right).iter().any(|of| left.contains(of))
    }

    /// Notes that a load sees a part of what these 8 bytes hold.
    pub(super) fn sees(&self, word: u64, (first, width): (u64, Width), held: Word) {
        let widths = [Width::Half, Width::Word, Width::Double].into_iter().filter(|&wide| wide > width);
        for wide in widths {
            let from = first & !(wide.bytes() - 1);
            if bits((from, wide)) & !held.known != 0 {
                continue;
            }
            let whole = [true, false].map(|signed| wide.extend(held.value >> (8 * from), signed));
            let is_made = |whole: u64| self.is_telling(whole) || self.is_result(whole);
            if !whole.into_iter().any(is_made) {
                continue;
            }
            // What a word held at first was decided piece by piece. What was copied there was not.
            let own = wide.truncate(fresh(word + from, &self.spoken)) == wide.truncate(whole[0]);
            let seen = [true, false].map(|signed| width.extend(held.value >> (8 * first), signed));
            let seen = seen.into_iter().filter(|&seen| !has(&self.numbers[..self.always], seen, width));
            if own {
                self.telling.borrow_mut().extend(seen);
            } else {
                // What is followed already needs no more.
                let seen: Vec<u64> = seen.filter(|&seen| !is_made(seen)).collect();
                self.parts.borrow_mut().extend(seen);
            }
        }
    }

    /// The numbers that a look may see where the bytes are its own.
    fn tried(&self, word: u64, (first, _): (u64, Width)) -> impl Iterator<Item = u64> {
        self.numbers.iter().copied().chain([fresh(word + first, &self.spoken)])
    }

    /// All that the 8 bytes at an address may hold as soon as a load looks at some of them, given all loads
    /// that ever look at them.
    pub(super) fn values(
        &self,
        word: u64,
        looks: &BTreeSet<(u64, Width)>,
        look: (u64, Width),
        held: Word,
    ) -> Vec<u64> {
        let missing = bits(look) & !held.known;
        let whole = self.tried(word, look).map(|number| held.value | (number << (8 * look.0) & missing));
        let mut contents: IndexSet<u64> = whole.collect();
        if looks.iter().any(|&other| other != look && bits(other) & missing != 0) {
            let mut values = vec![held.value];
            for piece in pieces(looks, look) {
                let mut parts = IndexSet::new();
                for &around in looks.iter().chain([&look]).filter(|&&around| bits(around) & piece == piece) {
                    let numbers = self.tried(word, around);
                    parts.extend(numbers.map(|number| number << (8 * around.0) & piece & missing));
                }
                if values.len() * parts.len() > MOST_VALUES {
                    self.partly.set(true);
                    values.clear();
                    break;
                }
                values = parts.iter().flat_map(|part| values.iter().map(move |value| value | part)).collect();
            }
            contents.extend(values);
        }
        // Its own number stays what nothing else holds, even if another word is compared with it and may hold
        // it too.
        let own = fresh(word + look.0, &self.spoken) << (8 * look.0) & missing;
        let mut telling = self.telling.borrow_mut();
        for value in &contents {
            let is_own = value & missing == own;
            let seen = [true, false].map(|signed| look.1.extend(value >> (8 * look.0), signed));
            telling
                .extend(seen.into_iter().filter(|&seen| {
                    is_own || has(&self.open, seen, look.1) || !self.is_number(seen, look.1)
                }));
        }
        contents.into_iter().collect()
    }
}

/// Whether this is one of some numbers, as this width has it.
fn has<'a>(numbers: impl IntoIterator<Item = &'a u64>, value: u64, width: Width) -> bool {
    numbers.into_iter().any(|&number| width.truncate(number) == width.truncate(value))
}

/// The bits of 8 bytes that a load looks at.
fn bits((first, width): (u64, Width)) -> u64 {
    width.truncate(u64::MAX) << (8 * first)
}

/// Cuts the bytes of a look where others begin or end.
fn pieces(looks: &BTreeSet<(u64, Width)>, (first, width): (u64, Width)) -> Vec<u64> {
    let end = first + width.bytes();
    let mut cuts: BTreeSet<u64> = [first, end].into();
    for &(from, width) in looks {
        cuts.extend([from, from + width.bytes()].into_iter().filter(|cut| (first..end).contains(cut)));
    }
    let cuts: Vec<u64> = cuts.into_iter().collect();
    let up_to = |byte: u64| if byte == 8 { u64::MAX } else { (1 << (8 * byte)) - 1 };
    cuts.windows(2).map(|cut| up_to(cut[1]) & !up_to(cut[0])).collect()
}

/// Notes a load. Whether that changes what another one may see.
pub(super) fn note(looks: &mut Looks, word: u64, look: (u64, Width)) -> bool {
    let held = looks.entry(word).or_default();
    held.insert(look) && held.iter().any(|&other| other != look && bits(other) & bits(look) != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNKNOWN: Word = Word { value: 0, known: 0 };

    fn values(looks: &[(u64, Width)], look: (u64, Width), held: Word) -> Vec<u64> {
        let garbage = Garbage::new(2, &BTreeSet::new(), &BTreeSet::new(), &BTreeSet::new());
        garbage.values(0x1000, &looks.iter().copied().collect(), look, held)
    }

    #[test]
    fn what_is_looked_at_whole_is_any_number() {
        let whole = (4, Width::Word);
        let contents = values(&[whole, (0, Width::Word)], whole, UNKNOWN);
        let numbers = [0, 1, u64::MAX, fresh(0x1004, &[false; 256])].map(|number: u64| number << 32);
        assert_eq!(contents, numbers);
        // What is known stays.
        let known = Word { value: 0x77, known: 0xff };
        assert_eq!(values(&[whole], whole, known), numbers.map(|number| number | 0x77));
    }

    /// All whole values that come of looking in this order.
    fn in_turn(looks: &[(u64, Width)], order: &[(u64, Width)]) -> BTreeSet<u64> {
        let mut held = vec![UNKNOWN];
        for &look in order {
            held = held
                .into_iter()
                .flat_map(|word| {
                    let known = word.known | bits(look);
                    values(looks, look, word).into_iter().map(move |value| Word { value, known })
                })
                .collect();
        }
        held.into_iter().map(|word| word.value).collect()
    }

    #[test]
    fn the_order_of_looks_does_not_matter() {
        let (byte, second, half, word) =
            ((0, Width::Byte), (1, Width::Byte), (2, Width::Half), (0, Width::Word));
        for looks in [vec![byte, word], vec![half, word], vec![byte, second, word], vec![byte, half, word]] {
            let mut reversed = looks.clone();
            reversed.reverse();
            let pieces_in_turn = in_turn(&looks, &looks);
            assert_eq!(pieces_in_turn, in_turn(&looks, &reversed), "{looks:?}");
            assert!(pieces_in_turn.len() > 4, "{looks:?}");
        }
        // A byte is 0, and the word that it is a part of is not.
        assert!(in_turn(&[byte, word], &[word, byte]).iter().any(|value| value & 0xff == 0 && *value != 0));
    }

    #[test]
    fn too_many_values_are_told() {
        let bytes = (0..8).map(|byte| (byte, Width::Byte));
        let looks: BTreeSet<_> = bytes.chain([(0, Width::Double)]).collect();
        let garbage = Garbage::new(8, &BTreeSet::new(), &BTreeSet::new(), &BTreeSet::new());
        assert_eq!(garbage.values(0x1000, &looks, (0, Width::Double), UNKNOWN).len(), 10);
        assert!(garbage.partly.get());
    }

    #[test]
    fn a_look_is_news_where_it_meets_another() {
        let mut looks = Looks::new();
        assert!(!note(&mut looks, 8, (0, Width::Word)));
        assert!(!note(&mut looks, 8, (4, Width::Word)));
        assert!(!note(&mut looks, 8, (0, Width::Word)));
        assert!(note(&mut looks, 8, (5, Width::Byte)));
        assert!(!note(&mut looks, 16, (5, Width::Byte)));
    }
}
