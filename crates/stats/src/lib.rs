//! Statistics: pure functions of values. No clock, no file, no hardware; where chance is needed, its seed is
//! an argument.
//!
//! One method carries every comparison. The log ratio of each block is one number ([`paired`]). Their
//! median gets an exact interval from the sign test ([`sign`], [`order`]), which assumes nothing about
//! the noise except that blocks are independent and that, if nothing differs, each sign is a fair coin.
//! Looking early is paid for by alpha spending ([`sequential`]), many comparisons by Bonferroni
//! ([`multiple`]). Means, t tests and pooled samples are absent on purpose: on shared machines they gave
//! false alarms and wrong signs where this method gave almost none.
//!
//! Conventions that hold for every function here:
//!
//! - A *level* is a probability of error: an interval at level 0.05 misses with probability at most
//!   0.05. It lies strictly between 0 and 1; any other level is answered with `None`.
//! - A *log ratio* is a natural logarithm of cost of `right` over cost of `left`.
//! - `None` means that the data cannot answer, or that the question has no meaning.
//! - Ranks count from 1, as in the literature.
//!
//! `fixtures/statistics/reference.py` holds the same questions answered by SciPy and NumPy.
//!
//! What an interval of a median cannot see is that the sequence was two: [`changes`] looks for that,
//! and [`regimes`] says which of its parts are alike.
//!
//! Reading order: [`binomial`], [`order`], [`quantile`], [`sign`], [`paired`], [`sequential`], [`runs`], the
//! rest.

pub mod binomial;
pub mod changes;
pub mod detectable;
pub mod fairness;
pub mod law;
pub mod multiple;
pub mod order;
pub mod overhead;
pub mod paired;
pub mod proportion;
pub mod quantile;
pub mod regimes;
pub mod runs;
pub mod sequential;
pub mod sides;
pub mod sign;

#[cfg(test)]
mod properties;
#[cfg(test)]
mod simulation;

/// The probability of any false "different" among all comparisons of one experiment.
pub const LEVEL: f64 = 0.01;

/// Whether `level` is a probability of error that an interval can have.
fn is_level(level: f64) -> bool {
    level > 0.0 && level < 1.0
}
