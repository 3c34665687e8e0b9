//! Where the time of a command went: readers of what other tools wrote of it.

pub mod log;
