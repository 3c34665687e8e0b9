//! The ways to F(n) of a published kernel module, as it computes them: held against [`crate::fibonacci()`],
//! and weighed with it.
//!
//! Each is a function of its own in any build, so that what it is called from does not change it.

pub mod decimal;
pub mod words;

pub use decimal::Start;

#[cfg(test)]
mod tests;
