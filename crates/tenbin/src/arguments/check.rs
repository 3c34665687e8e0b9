//! What `boot check` is asked.

use std::path::PathBuf;

use clap::Args;
use tenbin_boot::request::{Request, Size};

use super::Form;

/// Which firmware, on which machines, and what its places mean.
#[derive(Args, Clone, Debug)]
pub struct Check {
    /// Executables for RV64, as they are loaded; each is examined on every machine
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    #[command(flatten)]
    pub request: Request,
    /// How much memory all of it may take; a machine that its share is too small for is tried again alone
    #[arg(long, value_name = "BYTES", default_value = "4GiB")]
    pub limit: Size,
    /// How long one machine may take
    #[arg(long, value_name = "N", default_value_t = 600, value_parser = clap::value_parser!(u64).range(1..=604_800))]
    pub seconds: u64,
    /// Draw the first run that goes wrong, as SVG
    #[arg(long, value_name = "FILE")]
    pub picture: Option<PathBuf>,
    #[command(flatten)]
    pub form: Form,
}
