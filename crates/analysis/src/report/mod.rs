//! Runs as text for people. Pure: values in, text out; the terminal only prints it.

mod blame;
mod calibration;
mod late;
mod pictured;
mod row;
mod table;
mod text;

pub use blame::{blame, contracts};
pub use calibration::calibration;
pub use text::{compared, described, faults, instrument, listed, over_processes, survey, trial};

#[cfg(test)]
mod tests;
