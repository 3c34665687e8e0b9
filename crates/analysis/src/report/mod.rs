//! Runs as text for people. Pure: values in, text out; the terminal only prints it.

mod blame;
mod boot;
mod calibration;
mod curve;
mod heat;
mod late;
mod litmus;
mod pictured;
mod replay;
mod row;
mod table;
mod text;

pub use blame::{blame, contracts};
pub use boot::{boot, boot_picture};
pub use calibration::calibration;
pub use litmus::{litmus, unanswered};
pub use replay::replay;
pub use text::{compared, described, faults, instrument, listed, over_processes, survey, trial};

#[cfg(test)]
mod tests;
