//! Which line an instruction comes from. `fixtures/isa/image/README.md` says how the files were made.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use tenbin_model::lines::Lines;

const WITHOUT: &[u8] = include_bytes!("../../../fixtures/isa/image/two_harts.elf");
const VERSION_4: &[u8] = include_bytes!("../../../fixtures/isa/image/two_harts-dwarf4.elf");
const VERSION_5: &[u8] = include_bytes!("../../../fixtures/isa/image/two_harts-dwarf5.elf");

#[test]
fn an_instruction_has_the_line_that_it_was_written_in() {
    let cases = [
        (0x7fff_ffff, None),
        (0x8000_0000, Some(7)),
        // `la` is two instructions of one line.
        (0x8000_0004, Some(8)),
        (0x8000_0008, Some(8)),
        (0x8000_0018, Some(15)),
        (0x8000_0024, Some(20)),
        (0x8000_0025, Some(20)),
        (0x8000_0026, None),
        (0x8000_1000, None),
        (u64::MAX, None),
    ];
    for file in [VERSION_4, VERSION_5] {
        let lines = Lines::read(file);
        for (address, line) in cases {
            assert_eq!(lines.of(address), line.map(|line| ("two_harts.s", line)), "{address:x}");
        }
    }
}

#[test]
fn a_file_without_lines_has_none() {
    for file in [WITHOUT, &WITHOUT[..100], b"", b"\x7fELF", b"#!/bin/sh"] {
        assert_eq!(Lines::read(file), Lines::default());
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 5000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    /// Damage anywhere gives fewer lines or others.
    #[test]
    fn damage_does_not_panic(
        file in prop::sample::select(vec![VERSION_4, VERSION_5]),
        places in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        length in prop::option::weighted(0.2, any::<prop::sample::Index>()),
    ) {
        let mut bytes = file.to_vec();
        for (place, byte) in places {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        let length = length.map_or(bytes.len(), |length| length.index(bytes.len()));
        let lines = Lines::read(&bytes[..length]);
        for address in [0, 0x8000_0000, 0x8000_0024, u64::MAX] {
            let _ = lines.of(address);
        }
    }
}
