//! F(n) read from the driver: its algorithms are the variants, and user space is what they are held against.

use std::fs::File;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tenbin_bignum::{Natural, fibonacci};
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::{Arrangement, Comparison, Effort, Finding, Refusal, Variant, VariantIndex};

use super::device::{ALGORITHMS, Algorithm, Driver, NumberSource, room};
use super::oracle::{Base, Table};
use super::user::{EPOCH, HEADLINE, PLANTED_EVERY, places, samples};
use crate::experiment::{Apparatus, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit};
use crate::experiments::lap_with_failures;

/// Places of an ordinary run.
const PLACES: [u64; 4] = [99, 1_000, 10_000, 100_000];

/// F(n) differs from F(n - 1) from here on, and no fault can be planted where no number is as large.
const LEAST_MAX_N: u64 = 3;

/// Every place up to here is checked, and so many larger ones, up to a last one; fewer where a number takes
/// long.
pub(super) const DENSE: u64 = 2_000;
pub(super) const SAMPLES: usize = 200;
const SLOW_SAMPLES: usize = 10;
const SAMPLED_UP_TO: u64 = 100_000;

/// Every place up to here is checked in the other cells, which differ in what is timed.
const DENSE_AGAIN: u64 = 200;

/// What is weighed, by name; the first answers for a cell.
const COMPARISONS: [(&str, &str); 6] = [
    ("doubling", "decimal"),
    ("doubling", "decimal-sized"),
    ("decimal-sized", "decimal"),
    ("doubling", "branchless"),
    ("doubling", "iterative"),
    ("decimal-sized", "iterative"),
];

fn variants() -> Vec<Variant> {
    let mut variants: Vec<Variant> =
        ALGORITHMS.iter().map(|algorithm| Variant::measured(algorithm.name, algorithm.what)).collect();
    variants.push(Variant::sabotage(
        "the number before",
        "the first algorithm here, asked for n - 1 where n ends in 00 (at max_n, where that is below 100)",
    ));
    variants
}

/// The algorithms that can be asked for here: all that the driver lists, or the chosen one alone.
pub(super) fn available(driver: &Driver) -> Result<Vec<Algorithm>, Fault> {
    let (there, chosen) = driver.algorithms()?;
    Ok(if driver.may_choose() { there } else { chosen.into_iter().collect() })
}

fn index(name: &str) -> Option<VariantIndex> {
    ALGORITHMS.iter().position(|algorithm| algorithm.name == name).map(VariantIndex::from)
}

/// The last place of the driver that is there; a refusal where it has too few of them.
pub(super) fn largest(request: &Request<'_>) -> Result<u64, Unfit> {
    let driver = Driver::default();
    // What is wrong in a request is said before what is missing on a machine.
    places(request, usual(request), u64::MAX)?;
    driver.there().map_err(Unfit::Missing)?;
    let largest = driver.largest()?;
    enough(largest)?;
    Ok(largest)
}

pub(super) fn plan(request: &Request<'_>, largest: u64) -> Result<Plan, Unfit> {
    let places = asked(request, largest)?;
    let available = available(&Driver::default())?;
    let headline = places.iter().position(|&place| place == HEADLINE).unwrap_or(0);
    let cells = places.iter().enumerate().map(|(number, &place)| {
        let arrangement = cell(request, place, &available, number == headline);
        PlannedCell::new(arrangement, move |arrangement, request| open(arrangement, request, place))
    });
    Ok(Plan { variants: Some(variants()), cells: cells.collect(), ..Plan::default() })
}

fn usual(request: &Request<'_>) -> &'static [u64] {
    if request.effort == Effort::Quick { &[HEADLINE] } else { &PLACES }
}

/// The places that are asked for: those that were given, or the usual ones that a driver answers which ends
/// at `largest`.
pub(super) fn asked(request: &Request<'_>, largest: u64) -> Result<Vec<u64>, Unfit> {
    let usual: Vec<u64> = usual(request).iter().copied().filter(|&place| place <= largest).collect();
    places(request, if usual.is_empty() { std::slice::from_ref(&largest) } else { &usual }, largest)
}

/// Whether there are numbers enough that a check can be shown to see a wrong one.
fn enough(largest: u64) -> Result<(), Unfit> {
    if largest >= LEAST_MAX_N {
        return Ok(());
    }
    Err(Unfit::Refused(Refusal {
        reached: format!("the driver ends at F({largest})"),
        needs: format!(
            "F({LEAST_MAX_N}) at least: the check is tested with a number that is wrong on purpose"
        ),
        remedy: "load fibdrv with a larger max_n, for example `rmmod fibdrv; insmod fibdrv.ko max_n=100000`"
            .into(),
    }))
}

/// Larger places for a check of a driver that ends at `largest`, beside all up to `dense`.
pub(super) fn larger(seed: u64, dense: u64, largest: u64, count: usize) -> Vec<u64> {
    samples(seed, dense + 1..largest.min(SAMPLED_UP_TO) + 1, count)
}

fn cell(request: &Request<'_>, place: u64, available: &[Algorithm], headline: bool) -> Arrangement {
    let variants: Vec<VariantIndex> =
        available.iter().filter_map(|algorithm| index(algorithm.name)).collect();
    let pair = |(left, right)| Some((index(left)?, index(right)?));
    let mut comparisons = Comparison::of(COMPARISONS.into_iter().filter_map(pair));
    comparisons.retain(|pair| variants.contains(&pair.left) && variants.contains(&pair.right));
    Arrangement {
        label: format!("for F({place}) read from the kernel"),
        parameters: vec![("where".into(), "kernel".into()), ("n".into(), place.to_string())],
        cpus: request.cpus[..1].to_vec(),
        epoch: EPOCH,
        variants,
        comparisons,
        headline,
        ..Arrangement::default()
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>, place: u64) -> Opened {
    let driver = Driver::default();
    let algorithms: Vec<Algorithm> =
        arrangement.variants.iter().map(|&variant| ALGORITHMS[variant]).collect();
    let files = driver.files(&algorithms)?;
    let largest = driver.largest()?;
    let (dense, count) = if arrangement.headline { (DENSE, SAMPLES) } else { (DENSE_AGAIN, 0) };
    let dense = dense.min(largest);
    let larger = larger(request.seed, dense, largest, count);
    Ok(Box::new(Reads {
        team: Team::gather(request.clock, &arrangement.cpus)?,
        sources: algorithms.into_iter().zip(files.into_iter().map(Arc::new)).collect(),
        truth: Arc::new(Truth::of(dense, &larger, place)),
        place,
        every: planted_every(largest),
    }))
}

/// What user space says of some places.
pub(super) struct Truth {
    /// All from 0 on, by the sum, in both writings.
    words: Table,
    billions: Table,
    /// Larger ones by the library, by fast doubling: first those that every algorithm is asked for.
    larger: Vec<(u64, Natural)>,
}

impl Truth {
    /// Of every place up to `dense`, of these `larger` ones, and of `place`.
    pub(super) fn of(dense: u64, larger: &[u64], place: u64) -> Self {
        let mut all: Vec<u64> = larger.to_vec();
        if place > dense {
            all.insert(0, place);
        }
        Self {
            words: Table::of(Base::Words, dense, &[]),
            billions: Table::of(Base::Billions, dense, &[]),
            larger: all.into_iter().map(|place| (place, fibonacci(place))).collect(),
        }
    }

    /// Whether these bytes are F(place) in this base; none where it does not know.
    pub(super) fn holds(&self, base: Base, place: u64, bytes: &[u8]) -> Option<bool> {
        let table = if base == Base::Words { &self.words } else { &self.billions };
        if let Some(number) = table.number(place) {
            return Some(number == bytes);
        }
        let (_, number) = self.larger.iter().find(|(known, _)| *known == place)?;
        Some(decoded(base, bytes).as_ref() == Some(number))
    }

    /// Every place that an algorithm is asked for in a check.
    fn places(&self, slow: bool) -> impl Iterator<Item = u64> {
        let larger = if slow { SLOW_SAMPLES.min(self.larger.len()) } else { self.larger.len() };
        self.words.rows().map(|(place, _)| place).chain(self.larger[..larger].iter().map(|(place, _)| *place))
    }

    /// Every place that it knows up to `most`.
    pub(super) fn all(&self) -> Vec<u64> {
        self.places(false).collect()
    }
}

/// The number that these bytes write; none where they are no whole digits, or not in shortest form.
fn decoded(base: Base, bytes: &[u8]) -> Option<Natural> {
    match base {
        Base::Words => {
            let shortest =
                bytes.len().is_multiple_of(8) && bytes.rchunks(8).next().is_none_or(|top| top != [0; 8]);
            shortest.then(|| Natural::from_le_bytes(bytes))
        }
        Base::Billions => {
            let (digits, rest) = bytes.as_chunks::<4>();
            let digits: Vec<u32> = digits.iter().map(|digit| u32::from_le_bytes(*digit)).collect();
            if rest.is_empty() && digits.last() != Some(&0) { Natural::from_billions(&digits) } else { None }
        }
    }
}

pub(super) fn held(
    source: &dyn NumberSource,
    algorithm: Algorithm,
    truth: &Truth,
    asked: impl Fn(u64) -> u64,
) -> Result<Seen, Fault> {
    let mut equal = 0_u64;
    for place in truth.places(algorithm.slow) {
        // Room for more than the number has: digits too many are to be seen and not refused.
        let mut buffer = vec![0_u8; room(place) + 16];
        let length = source.number(asked(place), &mut buffer).map_err(|error| reading(place, error))?;
        match truth.holds(algorithm.base, place, &buffer[..length]) {
            Some(true) => equal += 1,
            _ => return Ok(Seen::Broken(format!("F({place}) is not what user space computes"))),
        }
    }
    Ok(Seen::Met(format!("{equal} numbers equal those computed in user space")))
}

pub(super) fn reading(place: u64, error: io::Error) -> Fault {
    Fault::system(format!("read F({place}) from the driver"), error)
}

pub(super) fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "fib".into(), sentence, evidence, confidence: confidence.into() }
}

struct Reads {
    team: Team,
    sources: Vec<(Algorithm, Arc<File>)>,
    truth: Arc<Truth>,
    place: u64,
    /// What divides the places that the planted fault reads wrong.
    every: u64,
}

impl Reads {
    /// The file of a variant, and whether it is the planted fault, which reads by the first algorithm that is
    /// there.
    fn source(&self, variant: VariantIndex) -> Result<(Algorithm, Arc<File>, bool), Fault> {
        let name = ALGORITHMS.get(variant.place()).map(|algorithm| algorithm.name);
        let source = match name {
            Some(name) => self.sources.iter().find(|(algorithm, _)| algorithm.name == name),
            None => self.sources.first(),
        };
        let (algorithm, file) =
            source.ok_or_else(|| Fault::system("read by this algorithm", io::ErrorKind::NotFound))?;
        Ok((*algorithm, Arc::clone(file), name.is_none()))
    }
}

/// What divides the places of the planted fault, where the driver ends at `largest`: there is always one.
pub(super) fn planted_every(largest: u64) -> u64 {
    PLANTED_EVERY.min(largest)
}

/// What the planted fault asks for in place of `n`.
pub(super) fn one_before(n: u64, every: u64) -> u64 {
    if n > 0 && n.is_multiple_of(every) { n - 1 } else { n }
}

impl Apparatus for Reads {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let (algorithm, file, planted) = self.source(variant)?;
        let asked = |place| if planted { one_before(place, self.every) } else { place };
        held(&*file, algorithm, &self.truth, asked)
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let (algorithm, file, planted) = self.source(variant)?;
        let place = self.place;
        let asked = if planted { one_before(place, self.every) } else { place };
        let last = Arc::new(Mutex::new((Ok(0), vec![0_u8; room(place)])));
        let kept = Arc::clone(&last);
        let task: Task = Arc::new(move |_, iterations| {
            let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
            let (read, buffer) = &mut *kept;
            let mut failures = 0;
            for _ in 0..iterations {
                *read = file.number(asked, buffer);
                failures += u64::from(read.is_err());
            }
            failures
        });
        let (lap, failed) = lap_with_failures(&mut self.team, &task, iterations)?;
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        let (read, buffer) = &mut *last;
        let length = std::mem::replace(read, Ok(0)).map_err(|error| reading(place, error))?;
        if failed > 0 {
            return Err(Failure::Wrong(format!("{failed} of {iterations} reads failed")));
        }
        if self.truth.holds(algorithm.base, place, &buffer[..length]) != Some(true) {
            return Err(Failure::Wrong(format!("F({place}) came out wrong while it was timed")));
        }
        Ok(lap)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

#[cfg(test)]
pub(super) mod tests;
