//! Answers as documents for people. Pure: values in, a document out; the terminal only prints it.

mod blame;
mod calibration;
mod claims;
mod machine;
mod row;
pub mod table;
mod text;

pub use blame::{blame, contracts};
pub use calibration::calibration;
pub use claims::{claims, claims_as_junit, claims_as_markdown, claims_listed};
pub use machine::machine;
pub use text::{
    cell_by_cell, checked, compared, described, faults, instrument, listed, over_processes, page, survey,
    with_caveat,
};

#[cfg(test)]
mod tests;
