//! Which of a hart's begun accesses may be performed, and with what: preserved program order, asked before
//! each of them.
//!
//! The numbers in comments are those of its rules. Source: The RISC-V Instruction Set Manual, volume I,
//! 20240411, chapter "RVWMO Memory Consistency Model", section "Preserved Program Order".

use super::local::{Early, LEFT, Sides};
use super::path::{BegunAccess, Item, ItemKind, Op, Path, Reserved, Task, What, overlap};
use crate::axiomatic::Model;
use crate::isa::Width;

impl Path<'_> {
    /// Whether nothing younger can be performed before all here is.
    pub(super) fn is_closed(&self) -> bool {
        let Some(Item { kind, .. }) = self.items.last() else { return false };
        match kind {
            ItemKind::Access(access) if access.done.is_none() => match self.program.model() {
                Model::Sc => true,
                Model::Tso => access.reads() || access.acquire,
                Model::Rvwmo => access.acquire,
            },
            ItemKind::Fence(sides) => self.items.iter().any(|item| match &item.kind {
                ItemKind::Access(access) if access.done.is_none() => match *sides {
                    // A fence of memory alone lets devices pass.
                    Sides::Sets(before, after) => access.seen() & before != 0 && after == 15,
                    Sides::Tso => access.reads(),
                },
                _ => false,
            }),
            ItemKind::Sleep => self.program.model() == Model::Sc,
            _ => false,
        }
    }

    /// What the last item can do, if it is an access that is not performed, or a `wfi`.
    pub(super) fn enabled(&self, ops: &mut Vec<Op>) {
        let Some((last, older)) = self.items.split_last() else { return };
        let undone = |item: &&Item| match &item.kind {
            ItemKind::Access(access) => access.done.is_none(),
            ItemKind::Sleep => true,
            _ => false,
        };
        let overtakes = older.iter().filter(undone).count();
        let mut push = |task| {
            let (pc, distance) = (last.pc, last.distance);
            let overtakes = u32::try_from(overtakes).unwrap_or(u32::MAX);
            let oldest = overtakes == 0 && (distance == 0 || distance >= LEFT);
            ops.push(Op { pc, distance, oldest, overtakes, task, choices: self.choices.clone() });
        };
        let access = match &last.kind {
            ItemKind::Access(access) if access.done.is_none() && !access.own => access,
            ItemKind::Sleep if last.distance == 0 => return push(Task::Wake),
            _ => return,
        };
        let may = self.may_perform(access, older);
        if access.what == What::StoreConditional {
            let reserved = self.reserved(access);
            let wanted = access.address.map(|at| (at, access.width));
            let possible = reserved.is_some() && reserved == wanted;
            if let (Some(reserved), Some(wanted)) = (reserved, wanted)
                && !possible
                && last.distance == 0
                && overlap(reserved, wanted)
            {
                // It may succeed ("Zalrsc" asks only that its bytes are reserved). That is not followed. If
                // it is in some run, it is the oldest instruction in one.
                self.program.mixes(wanted.0 & !7, false);
            }
            if let (true, true, Some(address), Some(value)) = (possible, may, access.address, access.data) {
                push(Task::Succeed { address, width: access.width, value, tells: access.tells });
            }
            return push(Task::Fail { forced: !possible && self.may_succeed_never(access) });
        }
        let Some(address) = access.address else { return };
        if !may {
            return;
        }
        let width = access.width;
        match (access.what, access.data) {
            (What::Store, Some(value)) => push(Task::Write { address, width, value, tells: access.tells }),
            (What::Amo(op), Some(operand)) => {
                push(Task::Swap { address, width, op, operand, tells: access.tells });
            }
            (What::Load | What::LoadReserved, _) => {
                if let Some(task) = self.source(access, address, older) {
                    push(task);
                }
            }
            _ => {}
        }
    }

    /// What a store-conditional finds reserved; `None` where it finds nothing, or the `lr` is not performed.
    fn reserved(&self, access: &BegunAccess) -> Option<(u64, Width)> {
        match access.reserved {
            Reserved::Nothing => None,
            Reserved::Held(address, width) => Some((address, width)),
            Reserved::By(item) => match &self.items[item].kind {
                ItemKind::Access(BegunAccess {
                    done: Some(Early::Read { stale: false, .. }),
                    address,
                    width,
                    ..
                }) => address.map(|address| (address, *width)),
                _ => None,
            },
        }
    }

    /// Whether waiting cannot help a store-conditional that finds nothing reserved.
    fn may_succeed_never(&self, access: &BegunAccess) -> bool {
        match access.reserved {
            Reserved::Nothing | Reserved::Held(..) => access.address.is_some(),
            Reserved::By(item) => match &self.items[item].kind {
                ItemKind::Access(reserve) => reserve.done.is_some(),
                _ => true,
            },
        }
    }

    /// Whether all is performed that must be before this access, the newest: preserved program order.
    pub(super) fn may_perform(&self, access: &BegunAccess, older: &[Item]) -> bool {
        !waits(older, access.seen(), |item| match item {
            // 11: a store behind a branch. Nobody knows yet that a hart gets beyond a sleep.
            ItemKind::Branch | ItemKind::Sleep => access.writes(),
            ItemKind::Access(first) => first.done.is_none() && self.ordered(first, access),
            ItemKind::Control(_) | ItemKind::Fence(_) => false,
        })
    }

    /// Whether a fence makes an access to a control and status register wait that counts as this class.
    pub(super) fn is_fenced(&self, class: u8) -> bool {
        waits(&self.items, class, |_| false)
    }

    fn ordered(&self, first: &BegunAccess, second: &BegunAccess) -> bool {
        match self.program.model() {
            Model::Sc => return true,
            Model::Tso if first.reads() || second.writes() => return true,
            Model::Tso | Model::Rvwmo => {}
        }
        // 5, 6, 7; devices are strongly ordered among themselves; 1 and 13, as the address may be the same,
        // or a store must wait until it is known; 8.
        first.acquire
            || second.release
            || (first.is_consistent() && second.is_consistent())
            || (first.device && second.device)
            || (second.writes() && first.overlaps(second) != Some(false))
            || (first.what == What::LoadReserved
                && second.what == What::StoreConditional
                && self.is_paired(first, second))
    }

    fn is_paired(&self, first: &BegunAccess, second: &BegunAccess) -> bool {
        let Reserved::By(item) = second.reserved else { return false };
        matches!(&self.items[item].kind, ItemKind::Access(access) if std::ptr::eq(access, first))
    }

    /// Where a load takes its value from, if it may by now.
    fn source(&self, access: &BegunAccess, address: u64, older: &[Item]) -> Option<Task> {
        let width = access.width;
        for item in older.iter().rev() {
            let ItemKind::Access(first) = &item.kind else { continue };
            if first.overlaps(access) != Some(true) {
                continue;
            }
            if first.writes() {
                if first.done.is_some() {
                    break;
                }
                // 3: nothing is forwarded from an atomic operation, and nothing in parts. 12: the data must
                // be known.
                let at = first.address?;
                let covers = at <= address && address + width.bytes() <= at + first.width.bytes();
                if first.what != What::Store || !covers {
                    // Such a load may take each byte from where the specification says. That is not followed;
                    // whoever can tell is told.
                    if first.what == What::Store {
                        self.program.mixes(address & !7, true);
                    }
                    return None;
                }
                let value = width.truncate(first.data? >> (8 * (address - at)));
                return Some(Task::Forward { address, width, value, from: item.distance });
            }
            // 2: two loads of one address. The older one could be performed in the same moment, so this one
            // waits for it; unless what that one waits for does not hold this one back.
            if first.done.is_none() && !first.release {
                return None;
            }
        }
        Some(Task::Read { address, width })
    }

    /// Whether the window lets something wait here that an older instruction may still contradict, and what
    /// it watches.
    pub(super) fn watched(&self) -> (bool, Vec<(u16, u64, Width)>) {
        let mut pending = self.items.iter().any(|item| {
            matches!(item.kind, ItemKind::Branch)
                && Some(item.distance) < self.local.ahead.last().map(|last| last.0)
        });
        let mut watched = Vec::new();
        for (index, item) in self.items.iter().enumerate() {
            let ItemKind::Access(access) = &item.kind else { continue };
            let (Some(Early::Read { forwarded, .. }), Some(address)) = (access.done, access.address) else {
                continue;
            };
            let is_reserved = access.what == What::LoadReserved;
            let (vulnerable, by_load) = self.vulnerable(index, access);
            pending |= vulnerable;
            if (by_load || is_reserved) && forwarded.is_none() {
                watched.push((item.distance, address, access.width));
            }
        }
        (pending, watched)
    }

    /// Whether a load was performed before it was known that an older store, which it did not see, goes to
    /// the same place. There is no such run.
    pub(super) fn contradicts(&self) -> bool {
        self.items.iter().enumerate().any(|(index, item)| {
            let ItemKind::Access(access) = &item.kind else { return false };
            let Some(Early::Read { forwarded, .. }) = access.done else { return false };
            let stores = self.items[..index].iter().rev().find_map(|older| match &older.kind {
                ItemKind::Access(first) if first.writes() && first.overlaps(access) == Some(true) => {
                    Some((older.distance, first))
                }
                _ => None,
            });
            // A store-conditional may still fail. What is stored to a word of the hart's own is seen at once
            // by all that is younger.
            stores.is_some_and(|(distance, first)| {
                let waits = first.done.is_none() && first.what != What::StoreConditional;
                first.own || (waits && forwarded != Some(distance))
            })
        })
    }

    /// Whether an older access that is not performed may yet show that a load should not have been; and
    /// whether one of them is a load.
    fn vulnerable(&self, index: usize, access: &BegunAccess) -> (bool, bool) {
        let (mut any, mut load) = (false, false);
        for older in self.items[..index].iter().rev() {
            let ItemKind::Access(first) = &older.kind else { continue };
            match first.overlaps(access) {
                Some(true) if first.writes() => break,
                Some(false) => {}
                _ if first.done.is_some() => {}
                _ => {
                    any = true;
                    load |= !first.writes();
                }
            }
        }
        (any, load)
    }

    /// Whether a hart that performs the access at this distance now does what its younger loads, performed
    /// already, took for granted.
    pub(super) fn agrees(&self, distance: u16) -> bool {
        let Some(at) = self.items.iter().position(|item| item.distance == distance) else { return true };
        let ItemKind::Access(first) = &self.items[at].kind else { return true };
        let mut stored_between = false;
        for item in &self.items[at + 1..] {
            let ItemKind::Access(access) = &item.kind else { continue };
            if first.overlaps(access) != Some(true) {
                continue;
            }
            if let Some(Early::Read { forwarded, stale, .. }) = access.done {
                let place = |from| self.items.iter().position(|item| item.distance == from);
                if first.writes() && forwarded.and_then(place).is_none_or(|from| from < at) {
                    return false;
                }
                if first.reads() && !stored_between && stale {
                    return false;
                }
            }
            stored_between |= access.writes();
        }
        true
    }
}

/// Whether what counts as this class waits for one of these items: by a fence, or by what else makes it.
fn waits(items: &[Item], class: u8, or_by: impl Fn(&ItemKind) -> bool) -> bool {
    let mut fences: Vec<Sides> = Vec::new();
    items.iter().rev().any(|item| {
        let first = match &item.kind {
            ItemKind::Fence(sides) => {
                fences.push(*sides);
                return false;
            }
            ItemKind::Control(first) => *first,
            ItemKind::Access(first) if first.done.is_none() => first.seen(),
            ItemKind::Access(_) | ItemKind::Branch | ItemKind::Sleep => 0,
        };
        fences.iter().any(|&sides| orders(sides, first, class)) || or_by(&item.kind)
    })
}

/// Whether a fence orders an access that counts as the first class before one that counts as the second, as
/// `iorw` bits.
fn orders(sides: Sides, first: u8, second: u8) -> bool {
    const READ: u8 = 2;
    const WRITE: u8 = 1;
    match sides {
        Sides::Sets(before, after) => first & before != 0 && second & after != 0,
        Sides::Tso => {
            first & READ != 0 && second & (READ | WRITE) != 0 || first & WRITE != 0 && second & WRITE != 0
        }
    }
}
