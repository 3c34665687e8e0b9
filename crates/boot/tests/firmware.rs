//! Every instruction of the firmware is one that the checker knows. `cargo xtask test firmware` builds the
//! files.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::path::PathBuf;

use tenbin_boot::image::{Image, SymbolKind};

/// What the checker looks for, in every file.
const NAMED: &str = "_start primary secondary clear cleared all_arrived started arrived harts stacks";

/// The files that were built for the checker: those that are not for QEMU.
fn files() -> Vec<PathBuf> {
    let folder =
        std::env::var_os("TENBIN_FIRMWARE").expect("TENBIN_FIRMWARE names the folder of the built firmware");
    let mut files = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "elf"))
        .filter(|path| !path.file_stem().unwrap().to_string_lossy().ends_with("-qemu"))
        .collect::<Vec<_>>();
    files.sort();
    files
}

#[test]
#[ignore = "needs the files that `cargo xtask test firmware` builds"]
fn firmware_has_only_instructions_that_decode() {
    let files = files();
    assert_eq!(files.len(), 9, "{files:?}");
    for file in files {
        let image = Image::read(&std::fs::read(&file).unwrap()).unwrap();
        let code = image.segments.iter().find(|segment| segment.executable).unwrap();
        // The parameters end the segment of the code, and are no code.
        let end = image.symbol("harts").unwrap().address;
        let (mut address, mut count) = (code.address, 0);
        while address < end {
            let decoded = image.fetch(address);
            // Between functions there may be padding, which is zero.
            if image.byte(address) == Some(0) && image.byte(address + 1) == Some(0) {
                address += 2;
                continue;
            }
            let decoded = decoded.unwrap_or_else(|error| panic!("{}: {error}", file.display()));
            address += decoded.length;
            count += 1;
        }
        assert!(count > 40, "{}: {count} instructions", file.display());
    }
}

#[test]
#[ignore = "needs the files that `cargo xtask test firmware` builds"]
fn firmware_names_what_is_looked_for_and_sets_no_garbage() {
    for file in files() {
        let image = Image::read(&std::fs::read(&file).unwrap()).unwrap();
        assert_eq!(image.entry, image.symbol("_start").unwrap().address);
        for name in NAMED.split(' ') {
            assert!(image.symbol(name).is_some(), "{}: {name}", file.display());
        }
        // Whom a lottery does not appoint, no word of it names.
        let lottery = file.file_stem().unwrap().to_string_lossy().starts_with("lottery");
        assert_eq!(image.symbol("boot_hart").is_none(), lottery, "{}: boot_hart", file.display());
        let parameter = image.symbol("harts").unwrap();
        assert_eq!((parameter.kind, parameter.size), (SymbolKind::Object, 8));
        assert_eq!(image.byte(parameter.address), Some(2), "as many harts as the Makefile says");
        // Of .bss and .noinit the file has the place and no bytes.
        for name in ["stacks", "bss_start", "start_argument", "wake_flag", "order", "echo"] {
            let Some(symbol) = image.symbol(name) else { continue };
            assert_eq!(image.byte(symbol.address), None, "{}: {name}", file.display());
            assert!(image.segment(symbol.address).is_some_and(|segment| segment.writable), "{name}");
        }
    }
}
