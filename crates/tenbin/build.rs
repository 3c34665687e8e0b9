//! A build script: writes the lists of verbs, makes the schemas small, and names the compiler.

use std::error::Error;
use std::fs;
use std::path::Path;

mod lists;

fn main() -> Result<(), Box<dyn Error>> {
    // `rustc 1.95.0 (59807616e 2026-04-14)`
    let version = std::process::Command::new(std::env::var("RUSTC")?).arg("--version").output()?.stdout;
    let version = String::from_utf8(version)?;
    println!("cargo::rustc-env=TENBIN_COMPILER={}", version.split(" (").next().unwrap_or_default().trim());
    schemas()?;
    lists::write(&[
        ["src/verbs/mod.rs", "VERBS", "&[Verb]", "*::VERB"],
        ["src/verbs/guest/mod.rs", "GUEST", "&[Verb]", "*::VERB"],
        ["src/verbs/boot/mod.rs", "BOOT", "&[Verb]", "*::VERB"],
    ])
}

/// Packs the files of `schemas`, each as its name without extension and its text, with a zero after both.
fn schemas() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=schemas");
    let paths = fs::read_dir("schemas")?.map(|entry| entry.map(|it| it.path()));
    let mut paths = paths.collect::<Result<Vec<_>, _>>()?;
    paths.sort();
    let mut texts = Vec::new();
    for path in paths {
        let name = path.file_stem().ok_or("a schema has a name")?.to_string_lossy().into_owned();
        texts.extend([name.as_bytes(), &[0], &fs::read(&path)?, &[0]].concat());
    }
    let packed = miniz_oxide::deflate::compress_to_vec(&texts, 10);
    Ok(fs::write(Path::new(&std::env::var("OUT_DIR")?).join("schemas.deflate"), packed)?)
}
