//! Images made here, with each kind of hash table, at addresses of all kinds; and what is damaged in them.

use proptest::prelude::*;

use numbers::{DT_GNU_HASH, DT_HASH, DT_STRTAB, DT_SYMTAB, DT_VERDEF, DT_VERSYM, PT_DYNAMIC, PT_LOAD};

use super::*;

/// How the object made here says how many symbols it has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hash {
    SystemV,
    Gnu,
    Neither,
}

/// Bytes of the file header, of a program header and of a symbol.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const SYMBOL: usize = 24;

const DYNAMIC: usize = 0x100;
const SYMBOLS: usize = 0x200;
const STRINGS: usize = 0x300;
const HASH: usize = 0x400;
const VERSION_OF_SYMBOL: usize = 0x500;
const VERSIONS: usize = 0x600;
const LENGTH: usize = 0x1000;

fn put(image: &mut [u8], at: usize, bytes: &[u8]) {
    image[at..at + bytes.len()].copy_from_slice(bytes);
}

/// An object whose tables speak of `base` as its first address: a function `now` with a version, another one
/// `later` with another, a piece of data, a function that is defined elsewhere, and one that is local.
fn object(hash: Hash, base: u64, versions: bool) -> Vec<u8> {
    let mut image = vec![0_u8; LENGTH];
    let address = |offset: usize| base.wrapping_add(offset as u64);
    put(&mut image, 0, b"\x7fELF\x02\x01\x01");
    put(&mut image, 32, &(HEADER as u64).to_le_bytes());
    put(&mut image, 54, &(PROGRAM_HEADER as u16).to_le_bytes());
    put(&mut image, 56, &2_u16.to_le_bytes());
    for (index, (kind, flags, start, length)) in
        [(PT_LOAD, 5_u32, 0, LENGTH), (PT_DYNAMIC, 4, DYNAMIC, 0x100)].into_iter().enumerate()
    {
        let at = HEADER + index * PROGRAM_HEADER;
        put(&mut image, at, &kind.0.to_le_bytes());
        put(&mut image, at + 4, &flags.to_le_bytes());
        put(&mut image, at + 8, &(start as u64).to_le_bytes());
        put(&mut image, at + 16, &address(start).to_le_bytes());
        put(&mut image, at + 32, &(length as u64).to_le_bytes());
    }
    let mut entries = vec![(DT_STRTAB, STRINGS), (DT_SYMTAB, SYMBOLS)];
    match hash {
        Hash::SystemV => entries.push((DT_HASH, HASH)),
        Hash::Gnu => entries.push((DT_GNU_HASH, HASH)),
        Hash::Neither => {}
    }
    if versions {
        entries.extend([(DT_VERSYM, VERSION_OF_SYMBOL), (DT_VERDEF, VERSIONS)]);
    }
    for (index, (tag, offset)) in entries.into_iter().enumerate() {
        put(&mut image, DYNAMIC + index * 16, &tag.0.to_le_bytes());
        put(&mut image, DYNAMIC + index * 16 + 8, &address(offset).to_le_bytes());
    }
    put(&mut image, STRINGS, b"\0now\0later\0data\0elsewhere\0local\0LINUX_2\0LINUX_3\0self\0");
    // Name, kind and binding, section, where.
    let symbols = [
        (1_u32, 0x12, 7_u16, 0x800),
        (5, 0x22, 7, 0x900),
        (11, 0x11, 7, 0xa00),
        (16, 0x12, 0, 0),
        (26, 0x02, 7, 0xb00),
    ];
    for (index, (name, kind, section, offset)) in (1..).zip(symbols) {
        let at = SYMBOLS + index * SYMBOL;
        put(&mut image, at, &name.to_le_bytes());
        put(&mut image, at + 4, &[kind]);
        put(&mut image, at + 6, &section.to_le_bytes());
        put(&mut image, at + 8, &address(offset).to_le_bytes());
    }
    match hash {
        Hash::SystemV => put(&mut image, HASH + 4, &6_u32.to_le_bytes()),
        // Two buckets, symbols from 1 on, one word of a filter; chains of 1, 2, 3 and of 4, 5.
        _ => {
            let words = [2_u32, 1, 1, 0, 0, 0, 1, 4, 2, 4, 7, 8, 9];
            for (index, word) in words.into_iter().enumerate() {
                put(&mut image, HASH + index * 4, &word.to_le_bytes());
            }
        }
    }
    for (index, version) in [0_u16, 2, 3, 2, 0, 1].into_iter().enumerate() {
        put(&mut image, VERSION_OF_SYMBOL + index * 2, &version.to_le_bytes());
    }
    // Each definition of 20 bytes with its one name of 8 behind it; the first names the object itself.
    for (index, (flags, number, name)) in
        [(1_u16, 1_u16, 48_u32), (0, 2, 32), (0, 3, 40)].into_iter().enumerate()
    {
        let (at, last) = (VERSIONS + index * 28, index == 2);
        put(&mut image, at + 2, &flags.to_le_bytes());
        put(&mut image, at + 4, &number.to_le_bytes());
        put(&mut image, at + 6, &1_u16.to_le_bytes());
        put(&mut image, at + 12, &20_u32.to_le_bytes());
        put(&mut image, at + 16, &if last { 0 } else { 28_u32 }.to_le_bytes());
        put(&mut image, at + 20, &name.to_le_bytes());
    }
    image
}

fn named(symbols: &[Symbol]) -> Vec<(&str, Option<&str>, usize)> {
    symbols.iter().map(|symbol| (symbol.name.as_str(), symbol.version.as_deref(), symbol.offset)).collect()
}

#[test]
fn functions_are_found_by_either_table_at_any_address() {
    for hash in [Hash::SystemV, Hash::Gnu] {
        // As linked by most, as linked for an old kernel, and as moved by an emulator.
        for base in [0, 0xffff_ffff_ff70_0000, 0x5500_0000_0000] {
            let offered = functions(&object(hash, base, true)).unwrap();
            let expected = [("now", Some("LINUX_2"), 0x800), ("later", Some("LINUX_3"), 0x900)];
            assert_eq!(named(&offered), expected, "{hash:?} {base:#x}");
        }
        let offered = functions(&object(hash, 0, false)).unwrap();
        assert_eq!(named(&offered), [("now", None, 0x800), ("later", None, 0x900)]);
    }
}

#[test]
fn the_first_page_says_how_long_it_is() {
    assert_eq!(extent(&object(Hash::Gnu, 0, true)[..0x200]), Ok(LENGTH));
}

#[test]
fn what_is_wrong_is_said() {
    let sound = object(Hash::SystemV, 0, true);
    let damaged = |at: usize, bytes: &[u8]| {
        let mut image = sound.clone();
        put(&mut image, at, bytes);
        functions(&image).unwrap_err().to_string()
    };
    let code = SYMBOLS + SYMBOL + 8;
    for (message, part) in [
        (damaged(0, b"#!/b"), "does not begin like"),
        (damaged(4, &[1]), "not a 64-bit ELF file"),
        (damaged(54, &[32]), "program header entry size"),
        (damaged(HEADER, &[9]), "no segment begins"),
        (damaged(HEADER + PROGRAM_HEADER, &[9]), "no dynamic section"),
        (damaged(DYNAMIC, &[0]), "names no symbols"),
        (damaged(HASH + 4, &[0, 0, 1]), "hash chains"),
        (damaged(HEADER + 4, &[4]), "outside the code"),
        (damaged(code, &[0, 0, 0, 0, 1]), "lies outside"),
        (damaged(SYMBOLS + SYMBOL, &[0, 0, 1]), "symbol name"),
        (functions(&object(Hash::Neither, 0, true)).unwrap_err().to_string(), "no hash table"),
        (functions(&sound[..0x210]).unwrap_err().to_string(), "outside the file"),
        (functions(&[]).unwrap_err().to_string(), "does not begin"),
    ] {
        assert!(message.contains(part), "{message} | {part}");
    }
}

proptest! {
    /// Whatever is overwritten: an answer or an error, and always an end.
    #[test]
    fn damage_is_no_reading_elsewhere(
        gnu in any::<bool>(),
        damage in prop::collection::vec((0..LENGTH, any::<u8>()), 1..40),
        length in 0..=LENGTH,
    ) {
        let mut image = object(if gnu { Hash::Gnu } else { Hash::SystemV }, 0, true);
        for (at, byte) in damage {
            image[at] = byte;
        }
        for image in [&image[..], &image[..length]] {
            if let Ok(offered) = functions(image) {
                prop_assert!(offered.len() <= LENGTH / SYMBOL);
            }
        }
    }

    /// The same where it hurts: in the headers and the tables.
    #[test]
    fn damaged_tables_end(
        gnu in any::<bool>(),
        damage in prop::collection::vec(
            (prop::sample::select(vec![32, 54, HEADER, HEADER + 56, DYNAMIC,
                SYMBOLS, HASH, VERSIONS]),
             0..96_usize, any::<u8>()),
            1..12,
        ),
    ) {
        let mut image = object(if gnu { Hash::Gnu } else { Hash::SystemV }, 0, true);
        for (table, at, byte) in damage {
            image[table + at] = byte;
        }
        let _ = (functions(&image), extent(&image));
    }
}
