//! Whether a file is a shared library of this machine with a given function, read from the file before
//! anything of it is run.

use std::env::consts::ARCH;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use object::read::elf::{Dyn, FileHeader, ProgramHeader};
use object::{Object, ObjectKind, ObjectSymbol, SymbolKind, elf};
use tenbin_model::Architecture;

/// Whether `path` is a shared library of this machine that exports the function `symbol`.
///
/// # Errors
/// What it is instead, in words that name the path: a usage error.
pub(super) fn check(path: &Path, symbol: &str) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{}: {what}", path.display()));
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == ErrorKind::NotFound => return wrong("there is no such file"),
        Err(error) => return wrong(&error.to_string()),
    };
    if metadata.is_dir() {
        return wrong("it is a folder and no shared library");
    }
    if !metadata.is_file() {
        return wrong("it is a device or a pipe: no file, and no shared library");
    }
    match fs::read(path) {
        Ok(bytes) => inspect(&bytes, symbol).or_else(|what| wrong(&what)),
        Err(error) => wrong(&format!("it cannot be read: {error}")),
    }
}

fn inspect(bytes: &[u8], symbol: &str) -> Result<(), String> {
    if bytes.is_empty() {
        return Err("it is empty".into());
    }
    if bytes.starts_with(b"#!") {
        return Err("it is a script and no shared library".into());
    }
    if !bytes.starts_with(&elf::ELFMAG) {
        return Err("it is no ELF file, so no shared library".into());
    }
    let file = object::File::parse(bytes).map_err(|error| format!("it is a damaged ELF file: {error}"))?;
    if machine(bytes) != Some(Architecture::HERE.names().elf) {
        let theirs = file.architecture();
        return Err(format!("it is for another architecture, {theirs:?}; this machine is {ARCH}"));
    }
    if file.kind() != ObjectKind::Dynamic || is_program(bytes) {
        return Err("it is an ELF file, but no shared library".into());
    }
    let exported = || file.dynamic_symbols().filter(|it| it.is_definition() && !it.is_local());
    if let Some(found) = exported().find(|it| it.name() == Ok(symbol)) {
        return match found.kind() {
            SymbolKind::Data | SymbolKind::Tls => Err(format!("its `{symbol}` is no function")),
            _ => Ok(()),
        };
    }
    let mut names: Vec<&str> = exported().filter_map(|it| it.name().ok()).collect();
    names.sort_unstable();
    names.dedup();
    let shown = names.iter().take(5).copied().collect::<Vec<_>>().join(", ");
    let more = if names.len() > 5 { format!(" and {} more", names.len() - 5) } else { String::new() };
    let instead = if names.is_empty() { "nothing".into() } else { shown + &more };
    Err(format!("it exports no `{symbol}`; it exports {instead}"))
}

/// The number of the machine that a file of 64 bits is for (`e_machine`).
fn machine(bytes: &[u8]) -> Option<u16> {
    let header = elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
    Some(header.e_machine(header.endian().ok()?).0)
}

/// Whether a file of the kind of a shared library says that it is a program (`DF_1_PIE`).
fn is_program(bytes: &[u8]) -> bool {
    let flagged = || {
        let header = elf::FileHeader64::<object::Endianness>::parse(bytes).ok()?;
        let endian = header.endian().ok()?;
        let segments = header.program_headers(endian, bytes).ok()?;
        let mut entries = segments.iter().filter_map(|it| it.dynamic(endian, bytes).ok().flatten()).flatten();
        let flags = entries.find(|entry| entry.tag(endian) == elf::DT_FLAGS_1)?;
        Some(flags.val(endian) & elf::DF_1_PIE.0 != 0)
    };
    flagged().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_named() {
        for (bytes, said) in [
            (&b""[..], "empty"),
            (b"#!/bin/sh\n", "script"),
            (b"hello", "no ELF"),
            (b"\x7fELF", "damaged"),
            (b"!<arch>\n", "no ELF"),
        ] {
            let what = inspect(bytes, "sort").unwrap_err();
            assert!(what.contains(said), "{bytes:?}: {what}");
        }
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(inspect(&own, "main").unwrap_err().contains("no shared library"));
    }
}
