//! F(n) in user mode: ours, the sum, and what was published.

use std::hint::black_box;
use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_bignum::published::{Start, decimal, words};
use tenbin_bignum::{Natural, fibonacci};
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::{Arrangement, Comparison, Effort, Picoseconds, Variant, VariantIndex};

use super::oracle::{Base, Table};
use crate::experiment::{Apparatus, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Method {
    Doubling,
    Sum,
    /// The published digits of 10⁹.
    Billions(Start),
    /// The published 64 bits, with a branch.
    Branch(Start),
    /// The published 64 bits, with masks.
    Masks(Start),
    /// A planted fault: ours, with the lowest bit of one number in a hundred turned.
    OneBit,
}

use Start::{AsPublished, Corrected};

/// Length of an epoch, also of reads from the kernel.
pub(super) const EPOCH: Picoseconds = Picoseconds::from_micros(100);

/// What the variants are, in the order of the descriptor.
pub(super) const METHODS: [(Method, &str, &str); 9] = [
    (
        Method::Doubling,
        "fast doubling",
        "ours: 64-bit limbs, Karatsuba where there are many, memory sized once",
    ),
    (Method::Sum, "the sum", "n additions of 64-bit limbs"),
    (
        Method::Billions(AsPublished),
        "base 10^9 as published",
        "the published method, written here from its description: schoolbook products of digits of 10^9, after 32 idle rounds",
    ),
    (Method::Billions(Corrected), "base 10^9", "the same from the topmost bit that is set"),
    (
        Method::Branch(AsPublished),
        "64 bits with a branch as published",
        "the published method, written here: fast doubling with a branch on each bit of n, after 32 idle rounds",
    ),
    (Method::Branch(Corrected), "64 bits with a branch", "the same from the topmost bit that is set"),
    (
        Method::Masks(AsPublished),
        "64 bits branchless as published",
        "the published method, written here: each bit of n as a mask that chooses, after 32 idle rounds",
    ),
    (Method::Masks(Corrected), "64 bits branchless", "the same from the topmost bit that is set"),
    (Method::OneBit, "one bit turned", "fast doubling whose lowest bit is wrong where n ends in 00"),
];

/// A planted fault is at every place that this divides; so every check meets one, and so does an epoch of
/// most cells.
pub(super) const PLANTED_EVERY: u64 = 100;

pub(super) fn variants() -> Vec<Variant> {
    let variant = |(method, name, what): &(Method, &str, &str)| match method {
        Method::OneBit => Variant::sabotage(name, what),
        _ => Variant::measured(name, what),
    };
    METHODS.iter().map(variant).collect()
}

/// A number as its way left it.
#[derive(Clone, Debug)]
pub(super) enum Number {
    Limbs(Natural),
    Digits(Vec<u32>),
    Word(u64),
}

impl Number {
    /// Its bytes, as [`Table`] has them.
    pub(super) fn bytes(&self) -> Vec<u8> {
        match self {
            Self::Limbs(number) => number.limbs().iter().flat_map(|limb| limb.to_le_bytes()).collect(),
            Self::Digits(digits) => digits.iter().flat_map(|digit| digit.to_le_bytes()).collect(),
            Self::Word(0) => Vec::new(),
            Self::Word(word) => word.to_le_bytes().into(),
        }
    }
}

impl Method {
    fn base(self) -> Base {
        if let Self::Billions(_) = self { Base::Billions } else { Base::Words }
    }

    /// The largest place that it can be asked for, if there is one.
    fn largest(self) -> Option<u64> {
        matches!(self, Self::Branch(_) | Self::Masks(_)).then_some(words::LARGEST.into())
    }

    /// Whether what it does for this place is what its name says.
    fn fits(self, place: u64) -> bool {
        match self.largest() {
            Some(largest) => place <= largest,
            // Ours finds a number of one word in a table.
            None => self != Self::Doubling || place > words::LARGEST.into(),
        }
    }

    /// Computes F(n) so many times, and returns the last one, if there is one. Which way it is was decided
    /// before the first turn.
    pub(super) fn repeat(self, n: u64, times: u64) -> Option<Number> {
        fn again<T>(times: u64, mut once: impl FnMut() -> T) -> Option<T> {
            let mut last = None;
            for _ in 0..times {
                last = Some(black_box(once()));
            }
            last
        }
        let short = n as u32;
        match self {
            Self::Doubling => again(times, || fibonacci(black_box(n))).map(Number::Limbs),
            Self::Sum => again(times, || fibonacci::iterative(black_box(n))).map(Number::Limbs),
            Self::Billions(start) => {
                again(times, || decimal::fibonacci(black_box(short), start)).map(Number::Digits)
            }
            Self::Branch(start) => {
                again(times, || words::with_a_branch(black_box(short), start)).map(Number::Word)
            }
            Self::Masks(start) => {
                again(times, || words::without_a_branch(black_box(short), start)).map(Number::Word)
            }
            Self::OneBit => again(times, || one_bit_turned(n)).map(Number::Limbs),
        }
    }
}

fn one_bit_turned(n: u64) -> Natural {
    let right = fibonacci(n);
    if !n.is_multiple_of(PLANTED_EVERY) {
        return right;
    }
    let mut limbs = right.limbs().to_vec();
    match limbs.first_mut() {
        Some(first) => *first ^= 1,
        None => limbs.push(1),
    }
    Natural::from_limbs(limbs)
}

/// Places of an ordinary run: the last number that the published 64 bits hold with a sign, its own example
/// beyond them, and two where big numbers are big.
const PLACES: [u64; 4] = [92, 99, 1_000, 10_000];
pub(super) const HEADLINE: u64 = 1_000;

/// No place may be larger than this: the published numbers take minutes there.
const LARGEST: u64 = 1_000_000;

pub(super) fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let usual: &[u64] = if request.effort == Effort::Quick { &[HEADLINE] } else { &PLACES };
    let places = places(request, usual, LARGEST)?;
    let headline = places.iter().position(|&place| place == HEADLINE).unwrap_or(0);
    let cells = places.iter().enumerate().map(|(number, &place)| {
        PlannedCell::new(cell(request, place, number == headline), move |arrangement, request| {
            open(arrangement, request, place)
        })
    });
    Ok(Plan { cells: cells.collect(), ..Plan::default() })
}

/// The places that `--set n=…` gave, or the usual ones.
pub(super) fn places(request: &Request<'_>, usual: &[u64], largest: u64) -> Result<Vec<u64>, Unfit> {
    request.settings.list("n", usual, &format!("a number from 0 to {largest}"), |&place| place <= largest)
}

/// Places within `range` at random; none where it is empty.
pub(super) fn samples(seed: u64, range: Range<u64>, count: usize) -> Vec<u64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let count = if range.is_empty() { 0 } else { count };
    (0..count).map(|_| random.random_range(range.clone())).collect()
}

fn cell(request: &Request<'_>, place: u64, headline: bool) -> Arrangement {
    let index =
        |wanted: Method| METHODS.iter().position(|(method, ..)| *method == wanted).map(VariantIndex::from);
    // Where one word holds the number, the question is the branch; beyond, it is the big number.
    let pairs: &[(Method, Method)] = if Method::Branch(Corrected).fits(place) {
        &[
            (Method::Branch(Corrected), Method::Masks(Corrected)),
            (Method::Branch(AsPublished), Method::Masks(AsPublished)),
            (Method::Branch(Corrected), Method::Branch(AsPublished)),
            (Method::Masks(Corrected), Method::Masks(AsPublished)),
            (Method::Branch(Corrected), Method::Billions(AsPublished)),
        ]
    } else {
        &[
            (Method::Doubling, Method::Billions(AsPublished)),
            (Method::Doubling, Method::Sum),
            (Method::Billions(Corrected), Method::Billions(AsPublished)),
            (Method::Doubling, Method::Billions(Corrected)),
            (Method::Billions(Corrected), Method::Sum),
        ]
    };
    let pairs = pairs.iter().filter_map(|&(left, right)| Some((index(left)?, index(right)?)));
    let is_measured = |method: &Method| method.fits(place) && *method != Method::OneBit;
    Arrangement {
        label: format!("for F({place})"),
        parameters: vec![("where".into(), "user".into()), ("n".into(), place.to_string())],
        cpus: request.cpus[..1].to_vec(),
        epoch: EPOCH,
        variants: VariantIndex::select(&METHODS, |(method, ..)| is_measured(method)),
        comparisons: Comparison::of(pairs),
        headline,
        ..Arrangement::default()
    }
}

/// Places that a check asks for, all from 0 on, by those who answer fast and by the others; and beyond them
/// at random, up to a last one.
const ALL_FAST: u64 = 10_000;
const ALL_SLOW: u64 = 1_000;
const SAMPLES: usize = 20;
const SAMPLED_UP_TO: u64 = 20_000;

fn open(arrangement: &Arrangement, request: &Request<'_>, place: u64) -> Opened {
    let mut sampled = samples(request.seed, ALL_FAST..SAMPLED_UP_TO, SAMPLES);
    sampled.push(place);
    // A survey wants to be quick.
    let dense = if request.effort == Effort::Quick { ALL_SLOW } else { ALL_FAST };
    Ok(Box::new(InUserMode {
        team: Team::gather(request.clock, &arrangement.cpus)?,
        place,
        words: Table::of(Base::Words, dense, &sampled),
        billions: Table::of(Base::Billions, ALL_SLOW, &sampled),
    }))
}

struct InUserMode {
    team: Team,
    /// What is timed.
    place: u64,
    /// What the oracle says, in both writings.
    words: Table,
    billions: Table,
}

impl InUserMode {
    fn table(&self, method: Method) -> &Table {
        match method.base() {
            Base::Words => &self.words,
            Base::Billions => &self.billions,
        }
    }
}

impl Apparatus for InUserMode {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let (method, ..) = METHODS[variant];
        let fast = matches!(method, Method::Doubling);
        let asked = |place: &u64| match method.largest() {
            Some(largest) => *place <= largest,
            None => fast || *place <= ALL_SLOW || *place > ALL_FAST,
        };
        let mut equal = 0_u64;
        for (place, number) in self.table(method).rows().filter(|(place, _)| asked(place)) {
            if method.repeat(place, 1).is_none_or(|repeated| repeated.bytes() != number) {
                return Ok(Seen::Broken(format!("F({place}) is not the sum of the two before it")));
            }
            equal += 1;
        }
        Ok(Seen::Met(format!("{equal} numbers equal the sums of the two before them")))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let ((method, ..), place) = (METHODS[variant], self.place);
        let last = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&last);
        let task: Task = Arc::new(move |_, iterations| {
            *kept.lock().unwrap_or_else(PoisonError::into_inner) = method.repeat(place, iterations);
            0
        });
        let lap = self.team.lap(&task, iterations)?;
        let bytes = last.lock().unwrap_or_else(PoisonError::into_inner).as_ref().map(Number::bytes);
        if self.table(method).number(place).is_none_or(|number| bytes.as_deref() != Some(number)) {
            return Err(Failure::Wrong(format!("F({place}) came out wrong while it was timed")));
        }
        Ok(lap)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}
