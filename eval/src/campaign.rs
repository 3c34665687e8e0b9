//! Thousands of random litmus tests: both models of `crates/boot` against a second reading of the manual,
//! and against herd.
//!
//! The work is done by a test of that crate (`crates/boot/tests/campaign`), which `cargo xtask test` runs
//! with few of them.

use std::path::PathBuf;

use xtask::failure::Failure;
use xtask::workspace::Workspace;

/// Which tests are drawn, and who else is asked.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// How many tests under each of the three models.
    #[arg(long, default_value_t = 5000, value_parser = clap::value_parser!(u64).range(1..))]
    tests: u64,
    /// What they are drawn from: the same seed means the same tests.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// A herd7 of your own, which is asked about others of them: `HERDLIB` in the environment says where its
    /// models are.
    #[arg(long, value_name = "PROGRAM")]
    herd: Option<PathBuf>,
    /// How many tests herd is asked about under each model.
    #[arg(long, default_value_t = 500)]
    herd_tests: u64,
}

/// Draw them, and compare. Fails where two sets of outcomes differ, and shows the tests.
pub(crate) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    let mut command = workspace
        .cargo()
        .arguments(["test", "--package", "tenbin-boot", "--test", "campaign"])
        .arguments(["--", "--nocapture", "second_reading"])
        .variable("TENBIN_CAMPAIGN_TESTS", arguments.tests.to_string())
        .variable("TENBIN_CAMPAIGN_SEED", arguments.seed.to_string());
    if let Some(herd) = &arguments.herd {
        command = command
            .variable("TENBIN_CAMPAIGN_HERD", herd)
            .variable("TENBIN_CAMPAIGN_HERD_TESTS", arguments.herd_tests.to_string());
    }
    command.run()
}
