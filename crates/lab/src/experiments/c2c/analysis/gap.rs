//! How much farther the farthest class is than the nearest, each CPU's own speed aside.
//!
//! log T(i, j) = a(i) + a(j) + class + noise: a CPU that is slow is slow in all its pairs, so what the CPUs
//! cost is fitted and leaves; what is left of the classes is distance. The fit is Huber's (P. J. Huber,
//! "Robust Statistics", 1981, chapter 7, by modified residuals), so that a disturbed pair counts as one that
//! is a little off. Where the CPUs of one class have no partner in another, slow and far look the same, and
//! nothing is said.
//!
//! Different needs an interval at [`LEVEL`] above nothing, and a second leg. Where CPUs can be dealt to
//! classes in 2 / [`LEVEL`] ways or more, at most [`LEVEL`] of the relabelings show as large a gap
//! (`relabelings`). Where there are fewer ways (35 for 4 and 4), hardly any gap is rare enough, however
//! clear; there it must be [`DEVIATIONS`] deviations within classes, and no single pair carry half of the
//! answer. So two groups of 2 are seldom told apart, two groups of 3 are. Alike is an interval within the
//! margin.
//!
//! Counted by the simulation beside this, with 2 and 3 % of noise, CPUs up to twice as slow as others on half
//! of the machines, and on half a twentieth of the pairs disturbed by a factor up to e:
//!
//! - Of 1 000 flat machines each of 4, 6, 8 and 16 CPUs, grouped in 14 ways, 1, 2, 1 and 1 were called
//!   different; with two other seeds, after the rule was settled, 10 of 8 000. The interval held the truth in
//!   3 214 of 3 269: 98.3 %, a little less often than the 99 % that it is made for.
//! - Groups that the firmware does not know of, twice as far from each other, made classes that were dealt at
//!   random different in 0 of 500 machines of 4 and 4 CPUs, and in 8 of 500 of 8 and 8 (1 and 7 with other
//!   seeds): one deal in a hundred has 7 of 8 in their places.
//! - A gap of 10 % was found in 471 of 480 (8 CPUs) and 320 of 320 (16 CPUs) without disturbed pairs, in 400
//!   of 480 and 319 of 320 with them (320 machines each of 5 groupings). The smallest gap that would have
//!   shown was found in 747 of 800 without, and 676 of 800 with them: then the promise of nine times of ten
//!   is not quite kept.

use statrs::distribution::{ContinuousCDF, StudentsT};
use tenbin_model::Interval;

use super::relabelings::{Relabelings, Timed};
use tenbin_stats::LEVEL;
use tenbin_stats::detectable::{POWER, normal_quantile};
use tenbin_stats::order::Ordered;

/// A gap must be this many times the median absolute deviation within classes where relabeling cannot speak.
pub(super) const DEVIATIONS: f64 = 3.0;

/// Residuals beyond this many standard deviations are drawn in to it.
const TAIL: f64 = 2.0;

/// The median absolute deviation of normal noise, in standard deviations.
const MAD: f64 = 0.674_489_75;

/// The least deviation that is believed, in logarithms: made-up data that repeat exactly must not look like a
/// gap.
const FINEST: f64 = 1e-6;

/// Below this a sum of squares is what rounding leaves of nothing.
const NOTHING: f64 = 1e-6;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Gap {
    pub(super) outcome: Outcome,
    /// In logarithms. None where a slow CPU and a far one look the same, or nothing is left to see the noise
    /// by.
    pub(super) size: Option<GapSize>,
    /// The part of the relabelings that show as large a gap. None where there are too few to tell, or nothing
    /// hangs on it.
    pub(super) relabeled: Option<f64>,
}

/// A gap in logarithms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct GapSize {
    pub(super) gap: f64,
    /// Where it lies, but for [`LEVEL`] of such machines.
    pub(super) interval: Interval,
    /// What it must reach to be different.
    pub(super) needed: f64,
    /// The smallest gap that such pairs show nine times of ten.
    pub(super) detectable: f64,
    /// The median absolute deviation of pairs within their classes.
    pub(super) deviation: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Outcome {
    Different,
    Alike,
    Undecided(Why),
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Why {
    /// A slow CPU and a far one look the same, or there are as many unknowns as pairs.
    SlowOrFar,
    /// One pair carries half of the answer or more.
    LonePair,
    /// Not large enough for what varies.
    TooSmall,
    /// Too many relabelings show as much.
    Chance,
}

/// Weighs the classes of `pairs`; `farthest` is the last of them. Equivalent is a gap within `margin`, in
/// logarithms.
pub(super) fn judge(pairs: &[Timed], farthest: usize, relabelings: &Relabelings, margin: f64) -> Gap {
    let undecided = |why| Gap { outcome: Outcome::Undecided(why), size: None, relabeled: None };
    let Some(contrast) = Contrast::of(pairs, farthest) else { return undecided(Why::SlowOrFar) };
    let Some((size, lone)) = contrast.size(pairs, relabelings.too_few()) else {
        return undecided(Why::SlowOrFar);
    };
    let Interval { low, high } = size.interval;
    let undecided = |why| Gap { outcome: Outcome::Undecided(why), size: Some(size), relabeled: None };
    if lone && relabelings.too_few() {
        return undecided(Why::LonePair);
    }
    // As of every comparison: a difference known to be smaller than anybody asked for comes first.
    if low >= -margin && high <= margin {
        return Gap { outcome: Outcome::Alike, size: Some(size), relabeled: None };
    }
    if size.gap < size.needed {
        return undecided(Why::TooSmall);
    }
    let relabeled = (!relabelings.too_few()).then(|| {
        let free = pairs.len().saturating_sub(by_cpu(pairs));
        let without_classes = fit(&Design::of(pairs, 0..0), pairs, free);
        relabelings.reaching(pairs, &without_classes.drawn_in, farthest)
    });
    let outcome = match relabeled {
        Some(part) if part > LEVEL => Outcome::Undecided(Why::Chance),
        _ => Outcome::Different,
    };
    Gap { outcome, size: Some(size), relabeled }
}

/// The weights by which pairs add up to the gap between the nearest and the farthest class.
struct Contrast {
    design: Design,
    /// What is left of being in the farthest class when CPUs and the other classes are taken out.
    weights: Vec<f64>,
    strength: f64,
    /// Pairs beyond the unknowns.
    free: usize,
}

impl Contrast {
    /// None if it cannot be told from the CPUs, or if there are as many unknowns as pairs.
    fn of(pairs: &[Timed], farthest: usize) -> Option<Self> {
        let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        // What is left of each class beside those before it: nothing where CPUs or other classes say the
        // same.
        let left_of = |class: usize| {
            let of_class: Vec<f64> = pairs.iter().map(|pair| f64::from(pair.class == class)).collect();
            Design::of(pairs, 1..class).residuals(&of_class)
        };
        let told_apart = (1..=farthest).filter(|&class| squares(&left_of(class)) > NOTHING).count();
        let weights = left_of(farthest);
        let strength = squares(&weights);
        let free = pairs.len().checked_sub(by_cpu(pairs) + told_apart)?;
        let design = Design::of(pairs, 1..farthest + 1);
        (strength > NOTHING && free > 0).then_some(Self { design, weights, strength, free })
    }

    /// The gap, and whether one pair carries half of it or more. `directly`: whether it must speak for
    /// itself.
    fn size(&self, pairs: &[Timed], directly: bool) -> Option<(GapSize, bool)> {
        let fit = fit(&self.design, pairs, self.free);
        let modified = fit.fitted.iter().zip(&fit.drawn_in).map(|(fitted, left)| fitted + left);
        let gap = self.weights.iter().zip(modified).map(|(weight, log)| weight * log).sum::<f64>();
        let gap = gap / self.strength;
        let (count, free) = (pairs.len() as f64, self.free as f64);
        let squares = fit.drawn_in.iter().map(|left| left * left).sum::<f64>();
        // Huber's error: raised by the part that was drawn in, and again for few pairs (1981, section 7.6).
        let raised = 1.0 + (count - free) / count * (1.0 - fit.inside) / fit.inside;
        let error = raised / fit.inside * (squares / free).max(FINEST * FINEST).sqrt() / self.strength.sqrt();
        let critical = StudentsT::new(0.0, 1.0, free).ok()?.inverse_cdf(1.0 - LEVEL / 2.0);
        let half = critical * error;
        // What must be reached is an estimate too. Relative errors of a standard deviation and of a median
        // absolute one over so many normal values: 0.707 and, its efficiency being 37 %, 1.163 over the root
        // of their number (P. J. Rousseeuw & C. Croux, 1993). Of few values both are skewed upwards: the tail
        // of one in ten lies where a normal one has one in twenty.
        let of_deviations = if directly { DEVIATIONS * fit.deviation } else { 0.0 };
        let (needed, relative) = if of_deviations > half {
            (of_deviations, 1.163)
        } else {
            (half, std::f64::consts::FRAC_1_SQRT_2)
        };
        let of_needed = normal_quantile(0.95) * needed * relative / free.sqrt();
        // Added and not by their squares: a machine with more disturbed pairs is worse in both.
        let chance = normal_quantile(POWER) * error + of_needed;
        let heaviest = self.weights.iter().map(|weight| weight * weight).fold(0.0, f64::max);
        let size = GapSize {
            gap,
            interval: Interval { low: gap - half, high: gap + half },
            needed,
            detectable: needed + chance,
            deviation: fit.deviation,
        };
        Some((size, heaviest >= 0.5 * self.strength * (1.0 - NOTHING)))
    }
}

struct Fit {
    fitted: Vec<f64>,
    /// What is left of each pair, drawn in to [`TAIL`] standard deviations.
    drawn_in: Vec<f64>,
    /// The part of the pairs that did not need to be drawn in.
    inside: f64,
    /// The median absolute deviation, raised for what the unknowns took of it.
    deviation: f64,
}

/// Fits `design` to the logarithms of `pairs`, of which so many are `free`.
fn fit(design: &Design, pairs: &[Timed], free: usize) -> Fit {
    const ROUNDS: usize = 60;
    const SETTLED: f64 = 1e-5;
    let logs: Vec<f64> = pairs.iter().map(|pair| pair.log).collect();
    let raised = (pairs.len() as f64 / free.max(1) as f64).sqrt();
    let mut modified = logs.clone();
    let mut round = 0;
    loop {
        let left = design.residuals(&modified);
        let fitted: Vec<f64> = modified.iter().zip(&left).map(|(log, left)| log - left).collect();
        let left: Vec<f64> = logs.iter().zip(&fitted).map(|(log, fitted)| log - fitted).collect();
        let middle = Ordered::new(left.iter().map(|left| left.abs()).collect());
        let deviation = (raised * middle.map_or(0.0, |middle| middle.median())).max(FINEST);
        let most = TAIL * deviation / MAD;
        let drawn_in: Vec<f64> = left.iter().map(|left| left.clamp(-most, most)).collect();
        let next: Vec<f64> = fitted.iter().zip(&drawn_in).map(|(fitted, left)| fitted + left).collect();
        let moved = next.iter().zip(&modified).map(|(next, last)| (next - last).abs()).fold(0.0, f64::max);
        round += 1;
        if moved <= SETTLED * deviation || round == ROUNDS {
            let inside =
                left.iter().filter(|left| left.abs() <= most).count() as f64 / left.len().max(1) as f64;
            return Fit { fitted, drawn_in, inside: inside.max(0.5), deviation };
        }
        modified = next;
    }
}

/// The unknowns of each pair: its two CPUs, and its class if that is one of those fitted.
struct Design {
    unknowns: usize,
    rows: Vec<(usize, usize, Option<usize>)>,
}

impl Design {
    fn of(pairs: &[Timed], classes: std::ops::Range<usize>) -> Self {
        let cpus = cpus(pairs);
        let class = |pair: &Timed| classes.contains(&pair.class).then(|| cpus + pair.class - classes.start);
        let rows = pairs.iter().map(|pair| (pair.one, pair.other, class(pair))).collect();
        Self { unknowns: cpus + classes.len(), rows }
    }

    fn times(&self, unknowns: &[f64]) -> Vec<f64> {
        let of = |&(one, other, class): &(usize, usize, Option<usize>)| {
            unknowns[one] + unknowns[other] + class.map_or(0.0, |class| unknowns[class])
        };
        self.rows.iter().map(of).collect()
    }

    fn transposed_times(&self, values: &[f64]) -> Vec<f64> {
        let mut sums = vec![0.0; self.unknowns];
        for (&(one, other, class), value) in self.rows.iter().zip(values) {
            for unknown in [Some(one), Some(other), class].into_iter().flatten() {
                sums[unknown] += value;
            }
        }
        sums
    }

    /// What least squares leave of `values`, by conjugate gradients: they need no unknown to be told from the
    /// others.
    ///
    /// M. R. Hestenes & E. Stiefel, "Methods of Conjugate Gradients for Solving Linear Systems" (1952),
    /// section 10.
    fn residuals(&self, values: &[f64]) -> Vec<f64> {
        const EXACT: f64 = 1e-24;
        let squares = |values: &[f64]| values.iter().map(|value| value * value).sum::<f64>();
        let mut left = values.to_vec();
        let mut direction = self.transposed_times(&left);
        let first = squares(&direction);
        let mut slope = first;
        for _ in 0..4 * self.unknowns {
            let change = self.times(&direction);
            let length = squares(&change);
            if slope <= EXACT * first || length <= EXACT * slope {
                break;
            }
            let step = slope / length;
            for (left, change) in left.iter_mut().zip(&change) {
                *left -= step * change;
            }
            let gradient = self.transposed_times(&left);
            let next = squares(&gradient);
            for (direction, gradient) in direction.iter_mut().zip(&gradient) {
                *direction = gradient + next / slope * *direction;
            }
            slope = next;
        }
        left
    }
}

fn cpus(pairs: &[Timed]) -> usize {
    pairs.iter().map(|pair| pair.one.max(pair.other) + 1).max().unwrap_or(0)
}

/// How many unknowns the CPUs of `pairs` are: one each, less one for each connected part that can be coloured
/// in two colours, since there one colour's cost can be shifted to the other.
fn by_cpu(pairs: &[Timed]) -> usize {
    let cpus = cpus(pairs);
    let mut partners = vec![Vec::new(); cpus];
    for pair in pairs {
        partners[pair.one].push(pair.other);
        partners[pair.other].push(pair.one);
    }
    let mut colours: Vec<Option<bool>> = vec![None; cpus];
    let mut unknowns = 0;
    for start in 0..cpus {
        if colours[start].is_some() {
            continue;
        }
        colours[start] = Some(false);
        let (mut part, mut two_colours, mut next) = (vec![start], true, 0);
        while next < part.len() {
            let cpu = part[next];
            next += 1;
            for &partner in &partners[cpu] {
                if colours[partner].is_none() {
                    colours[partner] = colours[cpu].map(|colour| !colour);
                    part.push(partner);
                } else if colours[partner] == colours[cpu] {
                    two_colours = false;
                }
            }
        }
        unknowns += part.len() - usize::from(two_colours);
    }
    unknowns
}

#[cfg(test)]
mod simulation;
