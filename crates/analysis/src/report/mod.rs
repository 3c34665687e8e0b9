//! Runs as text for people. Pure: values in, text out; the terminal only prints it.

mod blame;
mod calibration;
mod curve;
mod heat;
mod late;
mod litmus;
mod pictured;
mod row;
mod table;
mod text;

pub use blame::{blame, contracts};
pub use calibration::calibration;
pub use litmus::{litmus, unanswered};
pub use text::{compared, described, instrument, listed, survey, trial};

#[cfg(test)]
mod tests;
