//! `cargo xtask`: the chores of the house.

use std::process::ExitCode;

fn main() -> ExitCode {
    xtask::run()
}
