//! What the auxiliary vector says of caches.
//!
//! riscv64's kernel writes these entries. It fills them from the CPU that runs when a program
//! starts and takes all others to be alike (Linux, `arch/riscv/kernel/cacheinfo.c`). Nothing is said
//! of sharing.

use tenbin_model::machine::{Cache, Witness};

use super::amount;

/// Level, kind, key of the size, key of the geometry
/// (Linux, `arch/riscv/include/uapi/asm/auxvec.h`).
const KEYS: [(u8, &str, u64, u64); 4] =
    [(1, "Data", 42, 43), (1, "Instruction", 40, 41), (2, "Unified", 44, 45), (3, "Unified", 46, 47)];

/// The line is the lower half of a geometry, the ways are the upper half.
const LINE: u64 = 0xffff;

/// The caches of which `entries` give a size or a line.
pub(super) fn caches(entries: &[(u64, u64)]) -> Vec<Cache> {
    let value = |key| entries.iter().find(|&&(known, _)| known == key).map(|&(_, value)| value);
    let described = KEYS.into_iter().map(|(level, kind, size, geometry)| Cache {
        level,
        kind: kind.into(),
        size: amount(value(size), Witness::AuxiliaryVector, "size"),
        line: amount(value(geometry).map(|geometry| geometry & LINE), Witness::AuxiliaryVector, "line"),
        shared_by: Vec::new(),
        witness: Witness::AuxiliaryVector,
    });
    described.filter(|cache| cache.size.known().is_some() || cache.line.known().is_some()).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenbin_model::Bytes;

    use super::*;

    #[test]
    fn sizes_and_lines_are_read_and_absent_levels_left_out() {
        let read = caches(&[(42, 32 << 10), (43, 8 << 16 | 64), (44, 2 << 20), (46, 0), (47, 0)]);
        let words: Vec<_> = read
            .iter()
            .map(|cache| (cache.level, cache.kind.as_str(), cache.size.known(), cache.line.known()))
            .collect();
        let (size, line, outer) = (Bytes(32 << 10), Bytes(64), Bytes(2 << 20));
        assert_eq!(words, [(1, "Data", Some(&size), Some(&line)), (2, "Unified", Some(&outer), None)]);
        assert!(caches(&[]).is_empty());
    }

    proptest! {
        #[test]
        fn odd_entries_never_panic(entries in proptest::collection::vec((0u64..64, any::<u64>()), 0..12)) {
            prop_assert!(caches(&entries).len() <= KEYS.len());
        }
    }
}
