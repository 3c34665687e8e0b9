//! Big naturals: exact numbers of any size, and the Fibonacci numbers that need them.
//!
//! A [`Natural`] is a vector of 64-bit limbs, least first. Products climb a [`ladder`]: one function a
//! rung, and one table that says where each rung begins. [`mod@fibonacci`] has the ways to F(n), and
//! [`fibonacci()`] is the fast one.
//!
//! What F(n) takes in instructions of x86-64 (callgrind 3.19; num-bigint with the same identities; GMP's
//! products are assembler, and its ladder has more rungs):
//!
//! | n | [`fibonacci()`] | num-bigint 0.4.8 | GMP 6.2.1 `mpz_fib_ui` |
//! |---|---|---|---|
//! | 1 000 | 3 389 | 7 069 | 1 395 |
//! | 10 000 | 49 576 | 71 488 | 25 070 |
//! | 100 000 | 1 610 785 | 2 403 434 | 817 171 |
//! | 1 000 000 | 49 677 890 | 74 048 344 | 20 358 727 |
//!
//! And its decimal digits: 6 461, 154 272, 6.49 million and 217 million, where GMP takes 4 422, 89 572, 2.83
//! million and 87 million.
//!
//! This crate does no input or output, reads no clock, and uses nothing else of ours: the same arguments
//! give the same answer everywhere.
//!
//! Reading order: [`Natural`], `span` (what is done to limbs in place), [`ladder`], `division`,
//! `decimal`, [`mod@fibonacci`], and [`published`], which is what others wrote.

mod decimal;
mod division;
pub mod fibonacci;
pub mod ladder;
mod natural;
pub mod published;
mod span;

#[cfg(test)]
mod oracle;

pub use fibonacci::doubling as fibonacci;
pub use natural::Natural;
