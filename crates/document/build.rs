//! A build script: makes the program that draws samples small.

use std::error::Error;
use std::fs;
use std::path::Path;

/// uPlot 1.6.32, as it is published, and what draws with it.
const PARTS: [&str; 2] = ["src/html/uplot/uPlot.iife.min.js", "src/html/samples.js"];

fn main() -> Result<(), Box<dyn Error>> {
    PARTS.iter().for_each(|part| println!("cargo::rerun-if-changed={part}"));
    let texts = PARTS.iter().map(fs::read_to_string).collect::<Result<Vec<_>, _>>()?;
    let packed = miniz_oxide::deflate::compress_to_vec(texts.join("\n").as_bytes(), 10);
    Ok(fs::write(Path::new(&std::env::var("OUT_DIR")?).join("program.deflate"), packed)?)
}
