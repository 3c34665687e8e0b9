//! Where caches end: the knees of a pointer chase, and whether the firmware tells the truth about them.
//!
//! A chase over a buffer that fits a cache takes that cache's time for a load; over a larger one, that of the
//! next cache. So the time of a step over the size of the buffer is a stair, and each *rise* between two
//! plateaus is where a cache ends. The samples of each size become one curve that never falls ([`isotonic`]),
//! the curve is cut into plateaus and rises ([`rise`]), the rises are given to the caches that the firmware
//! states ([`judge`]), and each level gets its verdict and its sentence ([`words`]).
//!
//! Method: R. H. Saavedra and A. J. Smith, "Measuring Cache and TLB Performance and Their Effect on Benchmark
//! Runtimes" (IEEE Transactions on Computers, 1995); as a chase: L. McVoy and C. Staelin, "lmbench: Portable
//! Tools for Performance Analysis" (USENIX 1996). What is added here is the isotonic curve, the matching, and
//! refusals in place of guesses.
//!
//! Base pages blur a curve: buffers of the address translation that are full make rises of their own (64
//! entries of 4 KiB are 256 KiB), and a cache that is indexed by physical addresses overflows in some of its
//! sets before it is full. So the curve in the largest pages is judged where there is one.
//!
//! What it promises, counted over seeded made-up machines with six samples a size, 3 % of normal noise or 5 %
//! with one sample in twenty slowed down by a Pareto factor (run `capacity::rates` with `--nocapture`):
//!
//! - In huge pages 67 997 of 68 000 stated caches were found, within a factor of √2 where the oldest line
//!   is replaced and of 2 where any is; the other 3 were undecided. No honest firmware was called wrong.
//! - Of 60 000 sizes that the firmware stated four times too large, 59 988 were called different.
//! - In base pages 67 983 of 68 000 were found within a factor of 2; 13 were undecided, and 4 called wrong.
//!   There the address translation leaves a rise that no level explains in many a curve, and firmware that
//!   states a quarter of the truth may be matched with it: only in huge pages is a difference of an inner
//!   level sure.
//! - A system-level cache that is stated nowhere was found 3 996 times of 4 000 where it leaves a plateau of
//!   an octave or more. One of 8 MiB behind an L2 of 12 MiB leaves none: both end in one rise, told as L2's.
//! - Firmware that states four times the truth is believed where that happens to be the size of another
//!   cache that nobody states.
//!
//! Reading order: [`judge`], [`isotonic`], [`rise`], [`words`].

pub(super) mod isotonic;
mod matching;
pub(super) mod rise;
pub(super) mod words;

use tenbin_model::{Bytes, Order, Refusal, Size, Sizes, Word};

pub(super) use rise::{Rise, Shape};
pub(super) use words::LevelOutcome;

/// A size needs this many samples, or it is left out: fewer have no median that a disturbed one cannot move.
pub(super) const LEAST_SAMPLES: usize = 3;

/// A curve needs this many sizes: two plateaus of two sizes, a rise, and one to spare.
pub(super) const LEAST_SIZES: usize = 6;

/// Stated and measured sizes agree up to this factor, both ends included.
///
/// Sizes are measured in steps of half an octave, a cache that replaces at random shows its knee up to 1.8
/// times too late, and part of a cache holds what is not the buffer. What is farther apart than all this is
/// not the size that a walk gets.
pub(super) const AGREE: f64 = 2.0;

/// Loads have stopped getting slower once they are within this fraction of the last plateau.
pub(super) const FLAT: f64 = 0.1;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Point {
    pub bytes: Bytes,
    /// Time of a step in picoseconds, one a timed walk.
    pub times: Vec<f64>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Curve {
    pub page: Bytes,
    /// Ascending sizes.
    pub points: Vec<Point>,
}

/// A cache for data as the firmware states it, of the CPU that walked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stated {
    pub level: u8,
    pub size: Option<Bytes>,
    pub shared_by: usize,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Capacities {
    pub page: Bytes,
    /// The stated levels in order, then those beyond them that only a measurement in huge pages knows.
    pub levels: Vec<Level>,
    /// Rises that no level explains: the address translation, most often.
    pub unexplained: Vec<Rise>,
    /// The smallest size within [`FLAT`] of the last plateau: from here on loads do not get slower. None if
    /// that plateau was not reached, or if it may not be memory's.
    pub flat_from: Option<Bytes>,
    /// Time of a load from memory in picoseconds: that of the last plateau. None where `flat_from` is.
    pub memory_time: Option<f64>,
    pub largest: Bytes,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Level {
    /// Level, 1 innermost. One that nobody states gets the number after the last stated one.
    pub level: u8,
    pub stated: Option<Bytes>,
    pub shared_by: Option<usize>,
    /// The rise where it ends, or why there is none.
    pub rise: Result<Rise, Refusal>,
    /// The size by which it has ended, where it has no rise of its own and is stated to be larger than that
    /// by more than [`AGREE`]: loads there take memory's time already.
    pub ended_by: Option<Bytes>,
}

impl Level {
    /// The measured capacity: see [`Rise::knee`].
    pub(super) fn measured(&self) -> Option<Bytes> {
        self.rise.as_ref().ok().map(|rise| rise.knee)
    }

    /// Time of a load that hits it, in picoseconds.
    pub(super) fn time(&self) -> Option<f64> {
        self.rise.as_ref().ok().map(|rise| rise.lower)
    }
}

/// What the caches hold by the curve in the largest pages that has enough sizes, beside what the firmware
/// states of them (data and unified caches, each level once).
///
/// Refused if no curve has enough sizes.
pub(super) fn judge(curves: &[Curve], stated: &[Stated]) -> Result<Capacities, Refusal> {
    let mut shapes: Vec<Shape> = curves.iter().filter_map(Shape::of).collect();
    shapes.order_by_key(|shape| shape.page);
    let Some(shape) = shapes.last() else {
        let most = curves.iter().map(|curve| curve.points.len()).max().unwrap_or(0);
        return Err(Refusal {
            reached: format!("the longest curve has {most} sizes"),
            needs: format!("at least {LEAST_SIZES} sizes with {LEAST_SAMPLES} samples each"),
            remedy: "give it more time (--thorough)".into(),
        });
    };
    Ok(capacities(shape, stated))
}

pub(super) fn capacities(shape: &Shape, stated: &[Stated]) -> Capacities {
    let mut stated = stated.to_vec();
    stated.order_by_key(|cache| cache.level);
    stated.dedup_by_key(|cache| cache.level);
    let rises: Vec<Rise> = shape.rises.iter().copied().chain(shape.unfinished).collect();
    let places = matching::matched(&rises, &stated);
    let mut levels: Vec<Level> = stated
        .iter()
        .zip(&places)
        .map(|(cache, place)| Level {
            level: cache.level,
            stated: cache.size,
            shared_by: Some(cache.shared_by),
            rise: place
                .and_then(|place| shape.rises.get(place).copied())
                .ok_or_else(|| words::unseen(shape, cache, place.is_some())),
            ended_by: None,
        })
        .collect();
    // What lies beyond everything that is stated is a cache that is in no list; what lies between is none. In
    // base pages neither is what lies beyond: there the tables of the address translation outgrow the caches.
    let may_be_cache = stated.is_empty() || words::is_huge(shape.page);
    let sizes = stated.iter().filter_map(|cache| cache.size);
    let end = sizes.chain(levels.iter().filter_map(Level::measured)).max().unwrap_or(Bytes(0));
    let mut unexplained = Vec::new();
    let free = shape.rises.iter().enumerate().filter(|(place, _)| !places.contains(&Some(*place)));
    for (_, rise) in free {
        if rise.knee > end && may_be_cache {
            let level = levels.last().map_or(0, |level| level.level).saturating_add(1);
            levels.push(Level { level, stated: None, shared_by: None, rise: Ok(*rise), ended_by: None });
        } else {
            unexplained.push(*rise);
        }
    }
    let flat_from = flat_from(shape, &levels);
    for level in levels.iter_mut().filter(|level| level.rise.is_err()) {
        let larger =
            |flat: &Bytes| level.stated.is_some_and(|stated| stated > *flat && !agree(stated, *flat));
        level.ended_by = flat_from.filter(larger);
    }
    let memory_time = flat_from.and_then(|_| shape.last_plateau());
    Capacities { page: shape.page, levels, unexplained, flat_from, memory_time, largest: shape.largest() }
}

/// From where on loads do not get slower, if the last plateau is memory's.
fn flat_from(shape: &Shape, levels: &[Level]) -> Option<Bytes> {
    let (last, level) = (shape.rises.last()?, levels.last()?);
    // The last cache may be larger than everything that was measured, and the last plateau be its own.
    let may_follow = level.rise.is_err() && words::reaches_past(shape, level.stated);
    // An octave shows that it is a plateau.
    let is_plateau = last.high.0.saturating_mul(2) <= shape.largest().0;
    let plateau = shape.last_plateau().filter(|_| is_plateau && !may_follow)?;
    shape.steps.iter().find(|(_, time)| *time >= plateau * (1.0 - FLAT)).map(|step| step.0)
}

/// The size of each level that other experiments should build on: the stated one where the knee agrees, else
/// the knee; the stated one also where there is no knee, as the firmware's word alone. A level that has ended
/// before its size without a knee of its own is left out. A level of which nothing is known is left out.
pub(super) fn taken(capacities: &Capacities) -> Vec<Size> {
    let size = |level: &Level| {
        let (bytes, by) = match (level.stated, level.measured()) {
            (Some(stated), Some(knee)) if agree(stated, knee) => (stated, Word::Both),
            (_, Some(knee)) => (knee, Word::Knee),
            // It ends somewhere before, and nobody knows where.
            (Some(_), None) if level.ended_by.is_some() => return None,
            (Some(stated), None) => (stated, Word::Firmware),
            (None, None) => return None,
        };
        Some(Size { level: level.level, bytes, by })
    };
    capacities.levels.iter().filter_map(size).collect()
}

/// A size that no cache helps: at least [`BEYOND`] times what each was seen to hold and what is taken for its
/// size ([`taken`]), and on the last plateau. None if it is not known where the last cache ends.
///
/// The two differ: a cache that is stated to hold no more than twice the size where loads take memory's time
/// has not been seen to end before it, and is taken as stated.
pub(super) fn beyond(capacities: &Capacities) -> Option<Bytes> {
    let flat = capacities.flat_from?;
    // The capacity lies below the size that was measured after the knee, or below where it had ended.
    let end = |level: &Level| level.rise.as_ref().ok().map(|rise| rise.past).or(level.ended_by);
    let ended = capacities.levels.iter().filter_map(end).max()?;
    let held = taken(capacities).into_iter().map(|size| size.bytes).fold(ended, Bytes::max);
    Some(Bytes(held.0.saturating_mul(Sizes::BEYOND)).max(flat))
}

/// Whether two sizes are at most a factor of [`AGREE`] apart.
fn agree(one: Bytes, other: Bytes) -> bool {
    let (one, other) = (one.0 as f64, other.0 as f64);
    one.max(other) <= AGREE * one.min(other)
}

#[cfg(test)]
mod machine;
#[cfg(test)]
mod rates;
#[cfg(test)]
mod tests;
