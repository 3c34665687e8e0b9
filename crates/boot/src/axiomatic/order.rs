//! Preserved program order: which accesses of one hart memory must see in the order of the program.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, 20240411, chapter "RVWMO Memory Consistency Model",
//! section "Preserved Program Order"; chapter "Ztso" for TSO. Rules 2, 3 and 12 depend on what loads return,
//! and are completed by [`Candidate`](super::candidate::Candidate).
//!
//! Rules 1, 2 and 8 say nothing that the other axioms do not say here, where accesses that meet are of the
//! same bytes: coherence has them already. They are kept because the specification has them.

use super::Model;
use super::thread::{FenceKind, HartTrace, MemoryAccess};

impl MemoryAccess {
    pub(super) fn reads(&self) -> bool {
        self.read.is_some()
    }

    pub(super) fn writes(&self) -> bool {
        self.written.is_some()
    }

    /// Whether it is annotated, and sequentially consistent as the annotations of atomics are.
    fn is_consistent(&self) -> bool {
        self.atomic && (self.acquire || self.release)
    }
}

/// A trace, and what its accesses owe to program order whatever they return.
#[derive(Debug)]
pub(super) struct Ordered {
    pub(super) trace: HartTrace,
    /// By access, as bits: those that memory must see after it.
    pub(super) preserved: Vec<u64>,
    /// By access, as bits: the later ones at the same address.
    pub(super) same_address: Vec<u64>,
    /// Loads of one address without a store to it from the first up to the second: rule 2 asks whose values
    /// they return.
    pub(super) load_pairs: Vec<(usize, usize)>,
}

impl Ordered {
    pub(super) fn new(trace: HartTrace, model: Model) -> Self {
        let count = trace.accesses.len();
        let (mut preserved, mut same_address) = (vec![0; count], vec![0; count]);
        let mut load_pairs = Vec::new();
        for (second, b) in trace.accesses.iter().enumerate() {
            for (first, a) in trace.accesses[..second].iter().enumerate() {
                if is_preserved(&trace, model, first, second) {
                    preserved[first] |= 1 << second;
                }
                if a.address == b.address {
                    same_address[first] |= 1 << second;
                    let between = &trace.accesses[first..second];
                    let stored = between.iter().any(|each| each.writes() && each.address == a.address);
                    if a.reads() && b.reads() && !stored {
                        load_pairs.push((first, second));
                    }
                }
            }
        }
        Self { trace, preserved, same_address, load_pairs }
    }
}

fn is_preserved(trace: &HartTrace, model: Model, first: usize, second: usize) -> bool {
    let (a, b) = (&trace.accesses[first], &trace.accesses[second]);
    let bit = 1 << first;
    match model {
        Model::Sc => return true,
        Model::Tso if a.reads() || b.writes() => return true,
        Model::Tso | Model::Rvwmo => {}
    }
    let fenced = || trace.fences.iter().any(|&(at, kind)| first < at && at <= second && orders(kind, a, b));
    let through_address =
        || trace.accesses[first + 1..second].iter().any(|middle| middle.address_from & bit != 0);
    // 1: the same address, and the second is a store.
    (a.address == b.address && b.writes())
        // 4: a fence between them.
        || fenced()
        // 5 and 6: acquire before, release after.
        || a.acquire
        || b.release
        // 7: both annotations are sequentially consistent.
        || (a.is_consistent() && b.is_consistent())
        // 8: a pair of `lr` and `sc`.
        || b.paired == Some(first)
        // 9 to 11: dependencies of the address, of what is stored, of being reached.
        || b.address_from & bit != 0
        || (b.writes() && b.data_from & bit != 0)
        || (b.writes() && b.control_from & bit != 0)
        // 13: a store behind an access whose address depends on the first.
        || (b.writes() && through_address())
}

fn orders(kind: FenceKind, a: &MemoryAccess, b: &MemoryAccess) -> bool {
    match kind {
        FenceKind::Sides(before, after) => {
            (a.reads() && before.read || a.writes() && before.write)
                && (b.reads() && after.read || b.writes() && after.write)
        }
        FenceKind::Tso => a.reads() || (a.writes() && b.writes()),
    }
}
