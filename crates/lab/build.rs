//! A build script: writes the lists of questions, of workloads and of contracts, and makes the sources of
//! programs in C small, which are compiled where they are asked for.

use std::error::Error;
use std::fs;
use std::path::Path;

mod lists;

const SOURCES: [&str; 6] = [
    "src/blame/call.c",
    "src/blame/watch.c",
    "src/trace/probe.c",
    "src/workers/runner.c",
    "src/workers/adopted/lockhammer.c",
    "src/workers/adopted/will_it_scale.c",
];

fn main() -> Result<(), Box<dyn Error>> {
    lists::write(&[
        ["src/experiments/mod.rs", "EXPERIMENTS", "&[Experiment<'static>]", "*::EXPERIMENT"],
        ["src/ladder/works.rs", "WORKS", "&[Work]", "*::WORK"],
        ["src/blame/contracts.rs", "CONTRACTS", "&[&dyn Examined]", "&&*::CONTRACT"],
    ])?;
    let folder = std::env::var("OUT_DIR")?;
    for source in SOURCES {
        println!("cargo::rerun-if-changed={source}");
        let name = Path::new(source).file_name().ok_or(source)?;
        let packed = miniz_oxide::deflate::compress_to_vec(&fs::read(source)?, 10);
        fs::write(Path::new(&folder).join(name).with_extension("c.deflate"), packed)?;
    }
    Ok(())
}
