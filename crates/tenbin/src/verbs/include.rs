//! `tenbin include`: what files and programs of a user's need to be weighed.

use clap::Args;
use tenbin_lab::workers::{CRATE, HEADER, PROTOCOL};

use super::{Verb, Work};
use crate::output::{Answer, Trouble};

/// Print the C header of functions that `tenbin weigh` weighs
///
/// `tenbin include >tenbin.h`; while tenbin compiles, the header and the crate are there in any case.
#[derive(Args)]
pub struct Include {
    /// Print what a worker answers instead: a program in any language that `tenbin weigh --worker` asks
    #[arg(long)]
    protocol: bool,
    /// Print the crate of functions in Rust, a file without dependencies
    #[arg(long, conflicts_with = "protocol")]
    rust: bool,
}

pub const VERB: Verb = Verb::of::<Include>("include");

impl Work for Include {
    fn run(self) -> Result<Answer, Trouble> {
        let page = match self {
            Self { protocol: true, .. } => PROTOCOL,
            Self { rust: true, .. } => CRATE,
            _ => HEADER,
        };
        Ok(Answer::text(page.to_owned()))
    }
}
