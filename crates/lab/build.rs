//! A build script: writes the lists of questions, of workloads and of contracts.

mod lists;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    lists::write(&[
        ["src/experiments/mod.rs", "EXPERIMENTS", "&[Experiment<'static>]", "*::EXPERIMENT"],
        ["src/ladder/works.rs", "WORKS", "&[Work]", "*::WORK"],
        ["src/blame/contracts.rs", "CONTRACTS", "&[&dyn Examined]", "&&*::CONTRACT"],
    ])
}
