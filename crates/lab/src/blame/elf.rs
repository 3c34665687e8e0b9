//! Whether a file is a shared library of this machine with a given function, read from the file before
//! anything of it is run.

use std::env::consts::ARCH;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use tenbin_model::elf::{self, Elf, Malformed, numbers};
use tenbin_model::words::first;
use tenbin_model::{Architecture, Order};

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
        return wrong("it is a folder, not a shared library");
    }
    if !metadata.is_file() {
        return wrong("it is a device or a pipe, not a file or a shared library");
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
        return Err("it is a script, not a shared library".into());
    }
    let damaged = |why: Malformed| format!("it is a damaged ELF file: {why}");
    let file = match Elf::parse(bytes) {
        Err(Malformed::NotElf) => return Err("it is not an ELF file, so no shared library".into()),
        Err(why @ Malformed::Damaged(_)) => return Err(damaged(why)),
        Ok(file) if file.identity.machine == Architecture::HERE.names().elf => file,
        Ok(_) | Err(Malformed::Class(_)) => {
            let theirs = elf::architecture(bytes).map_err(damaged)?;
            return Err(format!("it is for another architecture, {theirs}; this machine is {ARCH}"));
        }
    };
    // A program that may lie at any address is a shared library to the format, and says of itself that it is
    // none.
    let entries = file.entries().map_err(damaged)?.unwrap_or_default();
    let is_program = |&(tag, value): &_| tag == numbers::DT_FLAGS_1 && value & numbers::DF_1_PIE.0 != 0;
    if file.identity.kind != numbers::ET_DYN || entries.iter().any(is_program) {
        return Err("it is an ELF file, but not a shared library".into());
    }
    let symbols = file.dynamic().map_err(damaged)?.map(|dynamic| dynamic.symbols).unwrap_or_default();
    let exported = || symbols.iter().filter(|it| it.is_definition() && !it.local);
    if let Some(exported) = exported().find(|it| it.name == symbol) {
        return match exported.kind {
            numbers::STT_OBJECT => Err(format!("its `{symbol}` is not a function")),
            _ => Ok(()),
        };
    }
    let mut names: Vec<&str> = exported().map(|it| it.name.as_ref()).collect();
    names.order();
    names.dedup();
    let instead = if names.is_empty() { "nothing".into() } else { first(names, 5) };
    Err(format!("it exports no `{symbol}`; it exports {instead}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_library_is_named() {
        for (bytes, reason) in [
            (&b""[..], "empty"),
            (b"#!/bin/sh\n", "script"),
            (b"hello", "not an ELF"),
            (b"\x7fELF", "damaged"),
            (b"!<arch>\n", "not an ELF"),
        ] {
            let what = inspect(bytes, "sort").unwrap_err();
            assert!(what.contains(reason), "{bytes:?}: {what}");
        }
        let own = fs::read(std::env::current_exe().unwrap()).unwrap();
        assert!(inspect(&own, "main").unwrap_err().contains("not a shared library"));
    }
}
