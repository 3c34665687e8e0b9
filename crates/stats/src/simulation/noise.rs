//! Machines that are made up: what they do to the time of an epoch.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::paired::Block;

/// Chance with a seed.
pub(super) struct Noise(pub(super) Pcg64Mcg);

impl Noise {
    pub(super) fn new(seed: u64) -> Self {
        Self(Pcg64Mcg::seed_from_u64(seed))
    }

    pub(super) fn uniform(&mut self) -> f64 {
        self.0.random()
    }

    pub(super) fn coin(&mut self) -> bool {
        self.0.random()
    }

    /// By Box and Muller (1958).
    pub(super) fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    pub(super) fn cauchy(&mut self) -> f64 {
        (std::f64::consts::PI * (self.uniform() - 0.5)).tan()
    }

    pub(super) fn laplace(&mut self) -> f64 {
        let size = -(1.0 - self.uniform()).ln();
        if self.coin() { size } else { -size }
    }
}

/// Time of one epoch of a variant that costs `cost`, from chance and from a state of the machine that
/// outlives the epoch and is common to both variants.
pub(super) type Shape = fn(&mut Noise, state: &mut f64, cost: f64) -> f64;

/// The four of the first analysis: symmetric, without a mean, in two modes, and wandering.
pub(super) const SHAPES: [(&str, Shape); 4] = [
    ("normal", |noise, _, cost| cost * (0.02 * noise.normal()).exp()),
    ("Cauchy", |noise, _, cost| cost * (1.0 + 0.02 * noise.cauchy().abs())),
    ("bimodal", |noise, _, cost| {
        let mode = if noise.uniform() < 0.3 { 1.4 } else { 1.0 };
        cost * (mode + 0.01 * noise.uniform())
    }),
    ("drifting", |noise, drift, cost| {
        *drift += 0.03 * noise.normal();
        cost * (*drift + 0.01 * noise.normal()).exp()
    }),
];

/// What shared machines were seen to do.
pub(super) const SHARED: [(&str, Shape); 7] = [
    // A tail index of 1.1: no variance, and barely a mean.
    ("Pareto", |noise, _, cost| cost * (0.95 + 0.05 * (1.0 - noise.uniform()).powf(-1.0 / 1.1))),
    // Two regimes that last for about fifty epochs, as when a neighbour comes and goes.
    ("two regimes", |noise, regime, cost| {
        if noise.uniform() < 0.02 {
            *regime = 1.0 - *regime;
        }
        cost * (1.0 + 0.4 * *regime + 0.02 * noise.uniform())
    }),
    // Autoregressive of order 1, an epoch a step: 0.92 from block to block. Its spread of 15 % is far
    // above that of the epoch itself, as a clock rate that follows temperature and load.
    ("AR(1)", |noise, state, cost| {
        *state = 0.98 * *state + 0.03 * noise.normal();
        cost * (*state + 0.005 * noise.normal()).exp()
    }),
    ("1 % preempted", |noise, _, cost| preempted(noise, 0.01, cost)),
    ("2 % preempted", |noise, _, cost| preempted(noise, 0.02, cost)),
    ("5 % preempted", |noise, _, cost| preempted(noise, 0.05, cost)),
    // Noise of 0.2 % behind the coarsest clock that the product accepts: it steps by 0.05 % of an epoch.
    ("steps of 0.05 %", |noise, _, cost| step(cost * (1.0 + 0.002 * noise.normal()), 0.0005)),
];

/// A neighbour on the other half of a core: it comes and goes every twenty epochs, and while it is there two
/// of three take up to 1.8 times as long.
pub(super) const NEIGHBOUR: (&str, Shape) = ("neighbour", |noise, there, cost| {
    if noise.uniform() < 0.05 {
        *there = 1.0 - *there;
    }
    let held = if noise.uniform() < 0.05 + 0.6 * *there { 1.0 + 0.8 * noise.uniform() } else { 1.0 };
    cost * held * (1.0 + 0.01 * noise.uniform())
});

/// A clock that the product refuses: it steps by 1 % of an epoch, which is more than the noise behind it.
/// Three of ten log ratios of equal variants is 0.
pub(super) const COARSE: (&str, Shape) =
    ("steps of 1 %", |noise, _, cost| step(cost * (1.0 + 0.005 * noise.normal()), 0.01));

/// Now and then an epoch takes thirty times as long.
pub(super) fn preempted(noise: &mut Noise, chance: f64, cost: f64) -> f64 {
    let stretch = if noise.uniform() < chance { 30.0 } else { 1.0 };
    cost * (0.02 * noise.normal()).exp() * stretch
}

/// A time as read from a clock that steps.
fn step(time: f64, step: f64) -> f64 {
    (time / step).round() * step
}

/// A machine with its noise, through one run.
pub(super) struct Host {
    pub(super) noise: Noise,
    shape: Shape,
    pub(super) state: f64,
}

impl Host {
    pub(super) fn new(seed: u64, shape: Shape) -> Self {
        Self { noise: Noise::new(seed), shape, state: 0.0 }
    }

    /// One mirrored block of two variants, the second of which costs `ratio` times the first, and the
    /// time it took. Which comes first is drawn, as the engine draws it.
    pub(super) fn block(&mut self, ratio: f64) -> (Block, f64) {
        let left_first = self.noise.coin();
        let (outer, inner) = if left_first { (1.0, ratio) } else { (ratio, 1.0) };
        let times =
            [outer, inner, inner, outer].map(|cost| (self.shape)(&mut self.noise, &mut self.state, cost));
        let (outer, inner) = ([times[0], times[3]], [times[1], times[2]]);
        let (left, right) = if left_first { (outer, inner) } else { (inner, outer) };
        (Block { left, right }, times.iter().sum())
    }

    /// The log ratio of a block of one epoch of each, in an order that is drawn, and the time it took.
    pub(super) fn single(&mut self, ratio: f64) -> (f64, f64) {
        let left_first = self.noise.coin();
        let (first, second) = if left_first { (1.0, ratio) } else { (ratio, 1.0) };
        let times = [first, second].map(|cost| (self.shape)(&mut self.noise, &mut self.state, cost));
        let log_ratio = (times[1] / times[0]).ln();
        (if left_first { log_ratio } else { -log_ratio }, times.iter().sum())
    }

    /// Time for somewhere between 8 and `most` quiet blocks of four epochs of cost 1.
    pub(super) fn budget(&mut self, most: f64) -> f64 {
        4.0 * 8.0 * (most / 8.0).powf(self.noise.uniform())
    }
}
