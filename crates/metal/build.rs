//! A build script: makes the programs for the kernel small.

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    let folder = std::env::var("OUT_DIR")?;
    for name in ["profile", "records", "sample", "stall", "watch"] {
        let object = format!("bpf/{name}.bpf.o");
        println!("cargo::rerun-if-changed={object}");
        let packed = miniz_oxide::deflate::compress_to_vec(&fs::read(object)?, 10);
        fs::write(Path::new(&folder).join(format!("{name}.bpf.deflate")), packed)?;
    }
    Ok(())
}
