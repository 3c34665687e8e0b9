//! Where the time of a command went: observed here, or as other tools wrote of it.

pub mod kernel;
pub mod log;
