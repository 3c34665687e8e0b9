//! The plateaus of a curve and the rises between them.

use tenbin_model::Bytes;

use super::isotonic::{median, rising};
use super::{Curve, LEAST_SAMPLES, LEAST_SIZES};

/// A step is part of a rise if it grows faster than this in an octave of size; what climbs more slowly is
/// part of a plateau. Page walks and memory rows make loads slower by a few percent an octave all along,
/// while a cache that is left behind doubles the time within one.
pub(crate) const STEEP: f64 = 1.15;

/// A rise grows by at least this in all. Noise of 5 % makes single steps steep, but does not get that far,
/// and a cache that gains less over the next is none that a size could be chosen by.
pub(crate) const LEAST_RISE: f64 = 1.3;

/// At the end of a curve a rise has shown its knee once it grows more slowly than this in an octave, and four
/// times as slowly as at its steepest, although it is no plateau yet: a cache that replaces at random still
/// answers one load of eight when the buffer is eight times as large.
pub(crate) const SLOWING: f64 = 1.25;

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Rise {
    /// The largest size that is still on the lower plateau.
    pub low: Bytes,
    /// The largest size whose loads take no longer than [`Rise::half`]: the knee.
    pub knee: Bytes,
    /// The size measured after [`Rise::knee`], whose loads take more than half way.
    pub past: Bytes,
    /// The smallest size on the upper plateau.
    pub high: Bytes,
    /// Time of a step on the lower plateau, in picoseconds.
    pub lower: f64,
    /// Time of a step on the upper plateau, in picoseconds.
    pub upper: f64,
    /// Half way from the end of the lower plateau to the beginning of the upper one, in picoseconds: their
    /// geometric mean.
    ///
    /// Noise is a factor, so distances are ratios. And it meets the capacity more closely than the arithmetic
    /// mean: of a cache of capacity C that replaces at random, a walk of S > C hits C/S. The arithmetic mean
    /// is passed at 2 C whatever the times; the geometric one at C (1 + 1/√r) where the upper time is r times
    /// the lower one, so at 1.3 C to 1.8 C. A cache that forgets the oldest first misses everything from C
    /// on, and passes both at once.
    pub half: f64,
}

impl Rise {
    /// How many times as long a step takes on the upper plateau as on the lower one: above 1.
    pub(crate) fn ratio(&self) -> f64 {
        self.upper / self.lower
    }
}

/// A curve with its noise taken out, cut into plateaus and rises.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    pub page: Bytes,
    /// Each size with the time of a step in picoseconds: ascending sizes, times that never fall.
    pub steps: Vec<(Bytes, f64)>,
    /// From one plateau to the next, ascending.
    pub rises: Vec<Rise>,
    /// A rise that had not ended at the largest size, if there is one: what it says of its upper plateau, and
    /// so of its knee, is only how far it came.
    pub unfinished: Option<Rise>,
}

impl Shape {
    /// The shape of `curve`. Sizes with fewer than [`LEAST_SAMPLES`] positive finite times are left out, as
    /// are sizes out of order. None if fewer than [`LEAST_SIZES`] remain.
    pub(crate) fn of(curve: &Curve) -> Option<Self> {
        let mut sizes: Vec<(Bytes, Vec<f64>)> = Vec::new();
        for point in &curve.points {
            let times: Vec<f64> =
                point.times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
            let follows = sizes.last().is_none_or(|(before, _)| *before < point.bytes);
            if times.len() >= LEAST_SAMPLES && follows && point.bytes.0 > 0 {
                sizes.push((point.bytes, times));
            }
        }
        if sizes.len() < LEAST_SIZES {
            return None;
        }
        let times = rising(&sizes.iter().map(|(_, times)| times.as_slice()).collect::<Vec<_>>())?;
        let steps: Vec<(Bytes, f64)> = sizes.iter().map(|(size, _)| *size).zip(times).collect();
        let (rises, unfinished) = rises(&steps);
        Some(Self { page: curve.page, steps, rises, unfinished })
    }

    pub(crate) fn smallest(&self) -> Bytes {
        self.steps[0].0
    }

    pub(crate) fn largest(&self) -> Bytes {
        self.steps[self.steps.len() - 1].0
    }

    /// Time of a step on the last plateau, in picoseconds. None if the curve still rises at its end.
    pub(crate) fn last_plateau(&self) -> Option<f64> {
        if self.unfinished.is_some() {
            return None;
        }
        let from = self.rises.last().map_or(Bytes(0), |rise| rise.high);
        let times: Vec<f64> =
            self.steps.iter().filter(|(size, _)| *size >= from).map(|step| step.1).collect();
        median(&times)
    }
}

/// Places in a curve: a rise leaves the plateau at the first and reaches the next one at the second.
#[derive(Clone, Copy)]
struct Span {
    from: usize,
    to: usize,
}

fn rises(steps: &[(Bytes, f64)]) -> (Vec<Rise>, Option<Rise>) {
    let slopes: Vec<f64> = steps.windows(2).map(|pair| slope(pair[0], pair[1])).collect();
    let mut spans: Vec<Span> = Vec::new();
    let mut from = 0;
    while from < slopes.len() {
        let to = (from..slopes.len()).find(|&at| slopes[at] < STEEP.ln()).unwrap_or(slopes.len());
        split(steps, &slopes, Span { from, to }, &mut spans);
        from = to + 1;
    }
    let last = steps.len() - 1;
    if let Some(span) = spans.last_mut().filter(|span| span.to == last) {
        let steepest = slopes[span.from..].iter().copied().fold(0.0, f64::max);
        let slowing = slopes.iter().rev().take_while(|&&slope| slope <= SLOWING.ln().min(steepest / 4.0));
        span.to -= slowing.count();
    }
    let rise = |(index, span): (usize, &Span)| {
        let before = index.checked_sub(1).map_or(0, |before| spans[before].to);
        let after = spans.get(index + 1).map_or(last, |after| after.from);
        rise_of(steps, *span, before, after)
    };
    let mut rises: Vec<Rise> = spans.iter().enumerate().map(rise).collect();
    let unfinished = rises.pop_if(|rise| rise.high == steps[last].0);
    (rises, unfinished)
}

/// Growth of the logarithm of time in an octave of size.
fn slope((small, fast): (Bytes, f64), (large, slow): (Bytes, f64)) -> f64 {
    (slow / fast).ln() / (large.0 as f64 / small.0 as f64).log2()
}

/// Cuts a steep stretch where two caches follow each other so closely that the plateau between them still
/// climbs: at a step at most half as steep as the steepest on either side, if a whole rise remains on both.
fn split(steps: &[(Bytes, f64)], slopes: &[f64], span: Span, into: &mut Vec<Span>) {
    let Span { from, to } = span;
    let grows = |from: usize, to: usize| steps[to].1 / steps[from].1 >= LEAST_RISE;
    if from >= to || !grows(from, to) {
        return;
    }
    let steepest = |from: usize, to: usize| slopes[from..to].iter().copied().fold(0.0, f64::max);
    let valley = (from + 1..to.saturating_sub(1))
        .filter(|&at| slopes[at] <= 0.5 * steepest(from, at).min(steepest(at + 1, to)))
        .filter(|&at| grows(from, at) && grows(at + 1, to))
        .min_by(|&one, &other| slopes[one].total_cmp(&slopes[other]));
    match valley {
        Some(at) => {
            split(steps, slopes, Span { from, to: at }, into);
            split(steps, slopes, Span { from: at + 1, to }, into);
        }
        None => into.push(span),
    }
}

/// The rise over `span`, of which the lower plateau begins at `before` and the upper one ends at `after`.
fn rise_of(steps: &[(Bytes, f64)], span: Span, before: usize, after: usize) -> Rise {
    let plateau = |from: usize, to: usize| {
        let times: Vec<f64> = steps[from..=to].iter().map(|step| step.1).collect();
        median(&times).unwrap_or(steps[from].1)
    };
    // Half way is taken between the ends of the rise itself: a plateau may climb a long way.
    let half = (steps[span.from].1 * steps[span.to].1).sqrt();
    let past = (span.from + 1..=span.to).find(|&at| steps[at].1 > half).unwrap_or(span.to);
    Rise {
        low: steps[span.from].0,
        knee: steps[past - 1].0,
        past: steps[past].0,
        high: steps[span.to].0,
        lower: plateau(before, span.from),
        upper: plateau(span.to, after),
        half,
    }
}
