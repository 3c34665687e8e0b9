//! A build script: writes the lists of verbs, and names the compiler.

#[path = "../lab/lists.rs"]
mod lists;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // `rustc 1.95.0 (59807616e 2026-04-14)`
    let version = std::process::Command::new(std::env::var("RUSTC")?).arg("--version").output()?.stdout;
    let version = String::from_utf8(version)?;
    println!("cargo::rustc-env=TENBIN_COMPILER={}", version.split(" (").next().unwrap_or_default().trim());
    lists::write(&[
        ["src/verbs/mod.rs", "VERBS", "&[Verb]", "*::VERB"],
        ["src/verbs/guest/mod.rs", "GUEST", "&[Verb]", "*::VERB"],
        ["src/verbs/boot/mod.rs", "BOOT", "&[Verb]", "*::VERB"],
    ])
}
