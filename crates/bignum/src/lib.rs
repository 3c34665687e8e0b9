//! Big naturals: exact numbers of any size, and the Fibonacci numbers that need them.
//!
//! A [`Natural`] is a vector of 64-bit limbs, least first. Products climb a [`ladder`]: one function a
//! rung, and one table that says where each rung begins. [`mod@fibonacci`] has the ways to F(n), and
//! [`fibonacci()`] is the fast one.
//!
//! This crate does no input or output, reads no clock, and uses nothing else of ours: the same arguments
//! give the same answer everywhere.
//!
//! Reading order: [`Natural`], `span` (what is done to limbs in place), [`ladder`], `division`,
//! `decimal`, [`mod@fibonacci`].

mod decimal;
mod division;
pub mod fibonacci;
pub mod ladder;
mod natural;
mod span;

#[cfg(test)]
mod oracle;

pub use natural::Natural;

/// F(n), where F(0) = 0 and F(1) = 1, by fast doubling.
///
/// The answer has about 0.694 n bits; the work needs about eight times that room, allocated once.
#[must_use]
pub fn fibonacci(n: u64) -> Natural {
    fibonacci::doubling(n)
}
