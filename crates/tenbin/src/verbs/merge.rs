//! `tenbin merge`: the runs of several files.

use std::path::PathBuf;

use clap::Args;

use super::{Verb, Work, import};
use crate::output::{Answer, Trouble};

/// Take the runs of several files into the store, all or none of each
///
/// A file that cannot be taken in is named, with status 2, and keeps no other out.
#[derive(Args)]
pub struct Merge {
    /// Files that `tenbin export` wrote, or other machines' stores
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

pub const VERB: Verb = Verb::of::<Merge>("merge");

impl Work for Merge {
    fn run(self) -> Result<Answer, Trouble> {
        import::import(&self.files)
    }
}
