//! `tenbin include`: what files and programs of a user's need to be weighed.

use clap::Args;
use tenbin_lab::workers::{HEADER, PROTOCOL};

use super::{Verb, Work};
use crate::output::{Answer, Trouble};

/// Print the C header of functions that `tenbin weigh` weighs
///
/// `tenbin include >tenbin.h`; while tenbin compiles, the header is there in any case.
#[derive(Args)]
pub struct Include {
    /// Print what a worker answers instead: a program in any language that `tenbin weigh --worker` asks
    #[arg(long)]
    protocol: bool,
}

pub const VERB: Verb = Verb::of::<Include>("include");

impl Work for Include {
    fn run(self) -> Result<Answer, Trouble> {
        Ok(Answer::text(if self.protocol { PROTOCOL } else { HEADER }.to_owned()))
    }
}
