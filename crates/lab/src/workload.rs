//! Work that developers wait for: what the questions about a checkout, tags, a build and an edit have in
//! common.
//!
//! Each does one piece of work in the file system that is asked about and, in the same blocks, in a file
//! system in memory, which every Linux has. So runs of two environments can be compared: the second is what
//! both have in common.

pub(crate) mod command;
pub(crate) mod place;
pub(crate) mod repository;
pub(crate) mod sources;

use tenbin_model::Source;

/// What `--set folder` turns.
pub(crate) const FOLDER: (&str, &str, &str) = (
    "folder",
    "that of temporary files (TMPDIR, or /tmp)",
    "a folder of the file system that is asked about; work is done in a folder in it, which vanishes",
);

pub(crate) fn diary(taken: &str) -> Source {
    Source::new("S. Takeuchi, \"WSL vs VM for development\" (in Japanese), 2017-12-25", taken)
}
