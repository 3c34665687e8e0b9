//! Files of this machine, read through program headers and through section headers; and files that lie.

use std::fs;
use std::path::PathBuf;

use object::read::elf::ElfFile64;
use object::{Object, ObjectSymbol, RelocationTarget};

use super::*;

/// Firmware for RISC-V; `fixtures/isa/image/README.md` says how it was made.
const FIRMWARE: &[u8] = include_bytes!("../../../../fixtures/isa/image/two_harts.elf");

/// The shared libraries and programs of this machine, some of them.
fn files() -> Vec<(PathBuf, Vec<u8>)> {
    let folders = ["/lib/x86_64-linux-gnu", "/lib/aarch64-linux-gnu", "/lib/riscv64-linux-gnu", "/usr/bin"];
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten().flatten();
    let small = entries.filter(|entry| entry.metadata().is_ok_and(|it| it.is_file() && it.len() < 4 << 20));
    let files = small.filter_map(|entry| Some((entry.path(), fs::read(entry.path()).ok()?)));
    files.filter(|(_, bytes)| bytes.starts_with(&numbers::ELFMAG)).take(200).collect()
}

#[test]
fn program_headers_lead_to_what_section_headers_name() {
    let files = files();
    if files.is_empty() {
        eprintln!("skipped: no folder of libraries is known here");
    }
    for (path, bytes) in files {
        let Ok(file) = Elf::parse(&bytes) else { continue };
        let Some(dynamic) = file.dynamic().unwrap_or_else(|why| panic!("{}: {why}", path.display())) else {
            continue;
        };
        let sections = ElfFile64::<Endianness>::parse(&*bytes).unwrap();
        let versions = sections.elf_section_table().versions(sections.endian(), &*bytes).unwrap();
        let mut relocated = Vec::new();
        for (place, relocation) in sections.dynamic_relocations().unwrap() {
            if let RelocationTarget::Symbol(symbol) = relocation.target() {
                relocated.push((place, symbol.0));
            }
        }
        assert_eq!(dynamic.relocations, relocated, "{}", path.display());
        for symbol in sections.dynamic_symbols() {
            let index = symbol.index();
            let Some(read) = dynamic.symbols.get(index.0) else {
                // Nobody can look it up, and nothing takes its address.
                assert!(symbol.is_undefined(), "{}: {:?}", path.display(), symbol.name());
                continue;
            };
            assert_eq!((&*read.name, read.address), (symbol.name().unwrap(), symbol.address()));
            assert_eq!((read.size, read.local), (symbol.size(), symbol.is_local()));
            assert_eq!(read.is_undefined(), symbol.is_undefined());
            assert_eq!(read.is_definition(), symbol.is_definition());
            let version = versions.as_ref().and_then(|versions| {
                let number = versions.version_index(sections.endian(), index);
                Some((versions.version(number.index()).ok()??.name(), number.is_hidden()))
            });
            let version = version.map(|(name, hidden)| (String::from_utf8_lossy(name), hidden));
            assert_eq!(read.version.as_ref().map(|it| (it.name.clone(), it.hidden)), version);
        }
    }
}

#[test]
fn a_file_is_read_through_its_section_headers_too() {
    let file = Elf::parse(FIRMWARE).unwrap();
    let identity = file.identity;
    assert_eq!((identity.machine, identity.kind, identity.entry), (243, numbers::ET_EXEC, 0x8000_0000));
    assert!(!identity.big_endian && !file.is_interpreted());
    assert_eq!(identify(&FIRMWARE[..64]), Ok(identity));
    assert!(Elf::parse(&FIRMWARE[..identity.headers as usize]).is_ok());
    assert!(file.dynamic().unwrap().is_none());
    assert!(file.symbols().unwrap().iter().any(|symbol| symbol.name == "greeting"));
    let text = file.section(".text").unwrap().unwrap();
    assert_eq!((text.address, text.size, text.bytes.len()), (0x8000_0000, 0x28, 0x28));
    assert_eq!(file.section(".nothing"), Ok(None));
    let loaded: Vec<Segment> = file.loaded().collect();
    assert_eq!(file.content(&loaded[0]).unwrap(), text.bytes);
    assert_eq!(file.offset(0x8000_0004), Some(loaded[0].offset + 4));
    assert_eq!(file.offset(loaded[0].address + loaded[0].length), None);
}

/// Every symbol of it is given the longest name that there is.
#[test]
fn names_that_lie_on_one_another_do_not_fill_memory() {
    let file = Elf::parse(FIRMWARE).unwrap();
    let sections = file.header.sections(file.order, FIRMWARE).unwrap();
    let (_, table) = sections.section_by_name(file.order, b".symtab").unwrap();
    let symbols = table.sh_offset(file.order) as usize
        ..(table.sh_offset(file.order) + table.sh_size(file.order)) as usize;
    let mut bytes = FIRMWARE.to_vec();
    // A table of symbols that is its own table of names, which therefore have an end nowhere but in the
    // file's.
    for symbol in bytes[symbols].chunks_mut(24) {
        symbol.fill(b'x');
    }
    let why = Elf::parse(&bytes).unwrap().symbols().unwrap_err();
    assert!(matches!(why, Malformed::Damaged(_)), "{why}");
}

#[test]
fn what_is_no_file_of_64_bits_is_told_apart() {
    let why = |bytes: &[u8]| Elf::parse(bytes).unwrap_err();
    assert_eq!((why(b""), why(b"#!/bin/sh\n")), (Malformed::NotElf, Malformed::NotElf));
    assert_eq!(why(b"\x7fELF\x01\x01\x01"), Malformed::Class(Some(1)));
    assert_eq!(why(b"\x7fELF"), Malformed::Class(None));
    assert!(matches!(why(b"\x7fELF\x02\x01\x01"), Malformed::Damaged(_)));
    assert!(matches!(identify(b"\x7fELF\x02\x01\x01"), Err(Malformed::Damaged(_))));
}
