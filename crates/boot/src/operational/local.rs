//! What one hart holds: its registers at its oldest instruction that is not performed, and what it has
//! performed ahead of that one.

use std::collections::BTreeMap;

use super::program::{Tells, Word};
use crate::isa::Width;

/// The state of one hart.
///
/// Everything older than [`Local::at`] is performed and forgotten, but for the stores in [`Local::left`].
/// What is younger and not yet performed is not kept either: it follows from the registers and the program.
/// So only what was performed ahead of its turn stands in [`Local::ahead`].
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Local {
    pub(crate) hart: u8,
    pub(crate) at: Position,
    /// Those that no instruction may read before it is written are 0.
    pub(crate) registers: [u64; 32],
    pub(crate) csrs: BTreeMap<u16, Word>,
    /// What it stored where no other hart looks, 8 bytes each.
    pub(crate) own: BTreeMap<u64, u64>,
    /// What the last `lr` reserved, if it is not lost.
    pub(crate) reservation: Option<(u64, Width)>,
    /// The place in [`Local::left`], from [`LEFT`] on, of the store that this `lr` returned, while that is
    /// not performed: what others store until then comes before it, and takes no reservation away.
    pub(crate) reserved_from: Option<u16>,
    pub(crate) telling: Option<Notice>,
    /// Whether it has been at the place where a hart starts.
    pub(crate) started: bool,
    pub(crate) boots: bool,
    /// Stores that the hart has left behind and memory has not seen, and what keeps them in order; oldest
    /// first.
    pub(crate) left: Vec<Left>,
    /// What is performed already, by its distance in instructions from [`Local::at`], and the branches that
    /// it lies behind.
    pub(crate) ahead: Vec<(u16, Early)>,
}

/// A store that is left behind, or what comes between two of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Left {
    Store {
        pc: u64,
        address: u64,
        width: Width,
        value: u64,
        acquire: bool,
        release: bool,
        tells: Option<Notice>,
    },
    Fence(Sides),
    /// The hart has passed the place where memory is clear.
    Cleared,
}

/// Which accesses a fence orders. Devices have bits of their own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Sides {
    /// Those of the first set before those of the second, as `iorw` bits, input the highest.
    Sets(u8, u8),
    /// Reads before all, writes before writes.
    Tso,
}

/// Distances from here on are places in [`Local::left`].
pub(crate) const LEFT: u16 = 0x8000;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Position {
    Running(u64),
    /// It has come to its goal, here.
    Arrived(u64),
    /// It goes round here, for ever, without looking at memory.
    Loops(u64),
    /// It reads this again and again, for ever, which no other hart accesses.
    Polls(Poll),
    /// It went where no code is, or asked this instruction of memory that is none.
    Astray(u64),
}

/// A load of what no other hart accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Poll {
    pub(crate) pc: u64,
    pub(crate) address: u64,
    pub(crate) width: Width,
    pub(crate) value: u64,
}

impl Position {
    pub(crate) const fn pc(self) -> u64 {
        match self {
            Self::Running(pc) | Self::Arrived(pc) | Self::Loops(pc) | Self::Astray(pc) => pc,
            Self::Polls(poll) => poll.pc,
        }
    }
}

/// What happened to an instruction before its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Early {
    /// A branch whose condition is not known goes there. What contradicts this later is no run.
    Went(u64),
    Read {
        /// As memory holds it.
        value: u64,
        /// The distance of the store that it was forwarded from, or its place in [`Local::left`] from
        /// [`LEFT`] on, while that is not performed.
        forwarded: Option<u16>,
        /// Whether the address has been written since, by another hart.
        stale: bool,
    },
    Wrote,
    Succeeded,
    Failed,
    /// An atomic operation is performed, and read this.
    Swapped(u64),
    Woke,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) enum Notice {
    One(u64),
    All,
}

impl Notice {
    pub(super) const fn new(tells: Tells, a0: u64) -> Self {
        match tells {
            Tells::One => Self::One(a0),
            Tells::All => Self::All,
        }
    }
}

impl Local {
    pub(super) fn new(hart: u8, at: Position) -> Self {
        Self {
            hart,
            at,
            registers: [0; 32],
            csrs: BTreeMap::new(),
            own: BTreeMap::new(),
            reservation: None,
            reserved_from: None,
            telling: None,
            started: false,
            boots: false,
            left: Vec::new(),
            ahead: Vec::new(),
        }
    }

    pub(super) fn stores_left(&self) -> usize {
        self.left.iter().filter(|left| matches!(left, Left::Store { .. })).count()
    }

    /// Of what is performed early, and of what is reserved: the store that it returned, while that is not
    /// performed.
    fn sources(&mut self) -> impl Iterator<Item = &mut Option<u16>> {
        let forwarded = self.ahead.iter_mut().filter_map(|(_, early)| match early {
            Early::Read { forwarded, .. } => Some(forwarded),
            _ => None,
        });
        forwarded.chain([&mut self.reserved_from])
    }

    /// Forgets a store that was left behind, at this place from [`LEFT`] on, as memory has it now.
    pub(super) fn perform(&mut self, place: u16) {
        self.left.remove(usize::from(place - LEFT));
        for from in self.sources() {
            *from = match *from {
                Some(each) if each == place => None,
                Some(each) if each > place => Some(each - 1),
                each => each,
            };
        }
    }

    /// Drops what orders nothing any more from what is left behind. Whether it has come out that memory is
    /// clear.
    pub(super) fn trim(&mut self) -> bool {
        let mut stored = false;
        let mut cleared = false;
        // Places of what stays, so that loads still know where their values came from.
        let mut moved = vec![None; self.left.len()];
        let mut kept = Vec::new();
        for (place, &left) in self.left.iter().enumerate() {
            let stays = match left {
                Left::Store { .. } => {
                    stored = true;
                    true
                }
                Left::Fence(_) => stored && kept.last() != Some(&left),
                Left::Cleared => {
                    cleared |= !stored;
                    stored
                }
            };
            if stays {
                moved[place] = Some(LEFT + kept.len() as u16);
                kept.push(left);
            }
        }
        self.left = kept;
        for from in self.sources().flatten() {
            if *from >= LEFT
                && let Some(&Some(to)) = moved.get(usize::from(*from - LEFT))
            {
                *from = to;
            }
        }
        cleared
    }

    pub(super) fn early(&self, distance: u16) -> Option<Early> {
        let index = self.ahead.binary_search_by_key(&distance, |&(each, _)| each).ok()?;
        Some(self.ahead[index].1)
    }

    pub(super) fn note(&mut self, distance: u16, early: Early) {
        match self.ahead.binary_search_by_key(&distance, |&(each, _)| each) {
            Ok(index) => self.ahead[index].1 = early,
            Err(place) => self.ahead.insert(place, (distance, early)),
        }
    }
}
