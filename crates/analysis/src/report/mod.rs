//! Answers as documents for people. Pure: values in, a document out; the terminal only prints it.

mod blame;
mod brief;
mod calibration;
mod claims;
mod page;
mod machine;
mod noise;
mod quiet;
mod pictures;
mod row;
mod stall;
mod several;
pub mod table;
mod text;
mod watch;

pub use blame::{blame, contracts};
pub(crate) use brief::with_brief;
pub use brief::{marks, measured_on, survey};
pub use calibration::calibration;
pub use claims::{claim_counts, claims, claims_as_junit, claims_as_markdown, claims_listed};
pub use machine::{machine, machine_card};
pub use noise::diagnosis;
pub use page::as_page;
pub use pictures::ratios;
pub use quiet::{in_force, remedies};
pub use several::as_page_of_several;
pub use stall::stalls;
pub use tenbin_document::Page;
pub(crate) use text::sheet;
pub use text::{
    Sheet, cell_by_cell, checked, compared, described, faults, instrument, listed, over_processes, tail,
    with_caveat,
};
pub use watch::{gap, gaps};

#[cfg(test)]
mod tests;
