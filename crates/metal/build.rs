//! A build script: makes the programs for the kernel small.

use std::error::Error;
use std::fs;
use std::path::Path;

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=bpf/profile.bpf.o");
    let packed = miniz_oxide::deflate::compress_to_vec(&fs::read("bpf/profile.bpf.o")?, 10);
    Ok(fs::write(Path::new(&std::env::var("OUT_DIR")?).join("profile.bpf.deflate"), packed)?)
}
