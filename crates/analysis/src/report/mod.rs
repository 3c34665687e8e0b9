//! Runs as text for people. Pure: values in, text out; the terminal only prints it.

mod table;
mod text;

pub use text::{compared, described, listed, survey, trial};
