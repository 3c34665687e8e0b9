//! From samples to answers: pure functions of values.

pub mod stats;
