//! What is read of an ELF file. `fixtures/isa/image/README.md` says how the file was made.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use tenbin_boot::image::{Error, FetchError, Image, NotHeld, SymbolKind};
use tenbin_boot::isa::decode::Kind;

const FILE: &[u8] = include_bytes!("../../../fixtures/isa/image/two_harts.elf");

/// Where the program headers begin, and how long each is.
const PROGRAM_HEADERS: usize = 64;
const PROGRAM_HEADER: usize = 56;

fn image() -> Image {
    Image::read(FILE).unwrap()
}

fn changed(place: usize, bytes: &[u8]) -> Vec<u8> {
    let mut file = FILE.to_vec();
    file[place..place + bytes.len()].copy_from_slice(bytes);
    file
}

#[test]
fn the_file_is_read() {
    let image = image();
    assert_eq!(image.entry, 0x8000_0000);
    let segments = image
        .segments
        .iter()
        .map(|each| (each.address, each.bytes.len(), each.size, each.writable, each.executable))
        .collect::<Vec<_>>();
    assert_eq!(segments, [(0x8000_0000, 0x28, 0x28, false, true), (0x8000_1000, 8, 0x18, true, false)]);
    let symbols = image
        .symbols
        .iter()
        .map(|each| (each.name.as_str(), each.address, each.size, each.kind))
        .collect::<Vec<_>>();
    let expected = [
        ("stack_size", 0x400, 0, SymbolKind::Absolute),
        ("_start", 0x8000_0000, 38, SymbolKind::Function),
        ("wait", 0x8000_0018, 0, SymbolKind::Label),
        ("done", 0x8000_0020, 0, SymbolKind::Label),
        ("greeting", 0x8000_1000, 8, SymbolKind::Object),
        ("flag", 0x8000_1008, 4, SymbolKind::Object),
        ("after", 0x8000_100c, 0, SymbolKind::Label),
    ];
    assert_eq!(symbols, expected);
    assert_eq!(image.symbol("flag").unwrap().address, 0x8000_1008);
    assert_eq!(image.symbol("Flag"), None);
}

#[test]
fn instructions_are_fetched_in_a_row() {
    let image = image();
    let mut address = image.entry;
    let mut lines = Vec::new();
    while address < 0x8000_0026 {
        let decoded = image.fetch(address).unwrap();
        lines.push(decoded.instruction.at(address).to_string());
        address += decoded.length;
    }
    let expected = [
        "csrr a0,mhartid",
        "auipc a1,0x1",
        "addi a1,a1,4",
        "bnez a0,0x80000018",
        "li a2,1",
        "fence rw,w",
        "sw a2,0(a1)",
        "j 0x80000020",
        "lw a2,0(a1)",
        "beqz a2,0x80000018",
        "fence r,rw",
        "wfi",
        "j 0x80000020",
    ];
    assert_eq!(lines, expected);
}

#[test]
fn memory_that_the_file_does_not_hold_is_undetermined() {
    let image = image();
    assert_eq!(image.byte(0x8000_1000), Some(0x88));
    assert_eq!(image.byte(0x8000_1007), Some(0x11));
    // .bss, and beyond.
    for address in [0x8000_1008, 0x8000_1017, 0x8000_1018, 0x7fff_ffff, 0, u64::MAX] {
        assert_eq!(image.byte(address), None, "{address:x}");
    }
    assert!(image.segment(0x8000_1017).is_some());
    assert!(image.segment(0x8000_1018).is_none());
}

#[test]
fn addresses_have_names() {
    let image = image();
    let cases = [
        (0x8000_0000, Some(("_start", 0))),
        (0x8000_0004, Some(("_start", 4))),
        (0x8000_001a, Some(("wait", 2))),
        (0x8000_0024, Some(("done", 4))),
        (0x8000_1007, Some(("greeting", 7))),
        (0x8000_100b, Some(("flag", 3))),
        (0x8000_1014, Some(("after", 8))),
        (0x8000_1018, None),
        (0x400, None),
    ];
    for (address, expected) in cases {
        let name = image.name_of(address).map(|(symbol, distance)| (symbol.name.as_str(), distance));
        assert_eq!(name, expected, "{address:x}");
    }
}

#[test]
fn what_is_not_fetched_is_named() {
    let image = image();
    let cases = [
        (0x8000_0001, "no instruction begins at the odd address 0x80000001"),
        (0x8000_1008, "nothing in the file determines the instruction at 0x80001008"),
        (0x9000_0000, "nothing in the file determines the instruction at 0x90000000"),
        (u64::MAX - 1, "nothing in the file determines the instruction at 0xfffffffffffffffe"),
        (0x8000_0026, "at 0x80000026: 0x0000 is an illegal instruction by definition"),
    ];
    for (address, message) in cases {
        assert_eq!(image.fetch(address).unwrap_err().to_string(), message);
    }
    let float = Image::read(&changed(0xb0, &0x0005_2507_u32.to_le_bytes())).unwrap();
    let error = float.fetch(0x8000_0000).unwrap_err();
    assert!(matches!(
        error,
        FetchError::Decode { address: 0x8000_0000, error } if error.kind == Kind::FloatingPoint
    ));
    // Four bytes of which the last segment holds only two.
    let mut cut = image;
    cut.segments[1].bytes = vec![0x13, 0x00];
    assert_eq!(cut.fetch(0x8000_1000), Err(FetchError::Undetermined(0x8000_1002)));
    cut.segments[1].bytes = vec![0x01, 0x00];
    assert_eq!(cut.fetch(0x8000_1000).map(|decoded| decoded.length), Ok(2));
}

#[test]
fn files_of_other_kinds_are_named() {
    let overlap = changed(PROGRAM_HEADERS + PROGRAM_HEADER + 24, &0x8000_0010_u64.to_le_bytes());
    let wraps = changed(PROGRAM_HEADERS + 40, &u64::MAX.to_le_bytes());
    let larger_in_file = changed(PROGRAM_HEADERS + 40, &1_u64.to_le_bytes());
    let impossible = || Error::Damaged("the segment at 0x80000000 has an impossible size".to_owned());
    let cases = [
        (Vec::new(), Error::NotElf),
        (b"#!/bin/sh\n".to_vec(), Error::NotElf),
        (changed(4, &[1]), Error::NotSixtyFourBits),
        (changed(5, &[2]), Error::BigEndian),
        (changed(18, &[62, 0]), Error::Machine(62)),
        (changed(16, &[1, 0]), Error::NotExecutable(1)),
        (changed(16, &[3, 0]), Error::NotExecutable(3)),
        (changed(48, &[8]), Error::Embedded),
        (changed(56, &[0, 0]), Error::Empty),
        (overlap, Error::Overlap(0x8000_0010)),
        (wraps, impossible()),
        (larger_in_file, impossible()),
    ];
    for (file, expected) in cases {
        assert_eq!(Image::read(&file), Err(expected));
    }
    assert!(matches!(Image::read(&FILE[..0xc0]), Err(Error::Damaged(_))));
    assert_eq!(Error::Machine(62).to_string(), "an ELF file for machine 62 (x86-64); RISC-V is 243");
}

/// Code that is loaded elsewhere than it runs begins where it is loaded.
#[test]
fn bytes_lie_where_they_are_loaded() {
    let image = Image::read(&changed(PROGRAM_HEADERS + 24, &0x2000_0000_u64.to_le_bytes())).unwrap();
    assert_eq!((image.entry, image.segments[0].address), (0x2000_0000, 0x2000_0000));
    assert_eq!(image.fetch(image.entry).unwrap().instruction.to_string(), "csrr a0,mhartid");
}

#[test]
fn the_bytes_may_lie_anywhere() {
    for shift in 0..8 {
        let moved = [&vec![0; shift], FILE].concat();
        assert_eq!(Image::read(&moved[shift..]), Ok(image()));
    }
}

/// Parameters are set in what the file holds, whole or not at all.
#[test]
fn what_the_file_holds_can_be_set() {
    let mut image = image();
    image.set(0x8000_1002, &[1, 2, 3]).unwrap();
    let bytes = (0x8000_1000..0x8000_1008).map(|at| image.byte(at).unwrap()).collect::<Vec<_>>();
    assert_eq!(bytes, [0x88, 0x77, 1, 2, 3, 0x33, 0x22, 0x11]);
    let before = image.clone();
    let cases = [
        (0x8000_1004_u64, 5, Err(NotHeld(0x8000_1008))),
        (0x8000_1008, 4, Err(NotHeld(0x8000_1008))),
        (0x8000_0fff, 2, Err(NotHeld(0x8000_0fff))),
        (0, 1, Err(NotHeld(0))),
        (u64::MAX, 2, Err(NotHeld(u64::MAX))),
        (0x8000_1008, 0, Ok(())),
    ];
    for (address, count, expected) in cases {
        assert_eq!(image.set(address, &vec![9; count]), expected, "{address:x}");
        assert_eq!(image, before, "{address:x}");
    }
    // Two segments that touch.
    image.segments[0].address = 0x8000_1000 - 0x28;
    image.set(0x8000_0fff, &[4, 5]).unwrap();
    assert_eq!((image.byte(0x8000_0fff), image.byte(0x8000_1000)), (Some(4), Some(5)));
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5000) })]

    /// Damage anywhere gives an image or an error.
    #[test]
    fn damage_does_not_panic(
        places in prop::collection::vec((0..FILE.len(), any::<u8>()), 1..6),
        head in prop::collection::vec((0..200_usize, any::<u8>()), 0..4),
        length in prop_oneof![4 => Just(FILE.len()), 1 => 0..FILE.len()],
        address in any::<u64>(),
    ) {
        let mut file = FILE.to_vec();
        for (place, byte) in places.into_iter().chain(head) {
            file[place] = byte;
        }
        if let Ok(image) = Image::read(&file[..length]) {
            for address in [address, image.entry, image.segments[0].address] {
                let _ = image.fetch(address);
                let _ = image.name_of(address);
            }
        }
    }
}
