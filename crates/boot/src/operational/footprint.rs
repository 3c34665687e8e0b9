//! Which words of memory steps read and write, so that it can be told whether the order of two steps matters.

use std::rc::Rc;

use crate::isa::Width;

/// Sets of words of memory, by their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(crate) struct WordSet([u64; 4]);

impl WordSet {
    pub(super) fn insert(&mut self, slot: usize) {
        // Beyond what the set holds, words share a number: that makes more of them meet, and never fewer.
        let slot = slot % 256;
        self.0[slot / 64] |= 1 << (slot % 64);
    }

    pub(crate) fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(one, other)| one & other != 0)
    }

    fn extend(&mut self, other: &Self) {
        self.0.iter_mut().zip(&other.0).for_each(|(one, other)| *one |= other);
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Footprint {
    pub(crate) reads: WordSet,
    pub(crate) writes: WordSet,
}

impl Footprint {
    /// Whether the order of two steps could matter.
    pub(crate) fn conflicts(&self, other: &Self) -> bool {
        self.writes.meets(&other.writes) || self.writes.meets(&other.reads) || self.reads.meets(&other.writes)
    }

    pub(crate) fn extend(&mut self, other: &Self) {
        self.reads.extend(&other.reads);
        self.writes.extend(&other.writes);
    }
}

/// A store: where, how wide, what.
pub(super) type Written = (u64, Width, u64);

/// What a hart may do when some others do nothing.
#[derive(Debug, Clone, Default)]
pub(super) struct Walk {
    pub(super) footprint: Footprint,
    pub(super) written: Vec<Written>,
}

/// A walk that stands as long as these words hold what they do. None: too much to tell.
#[derive(Debug, Clone)]
pub(super) struct Standing {
    pub(super) holding: Box<[(usize, u32)]>,
    pub(super) walk: Option<Rc<Walk>>,
}
