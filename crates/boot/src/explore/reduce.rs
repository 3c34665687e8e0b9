//! Which steps from a state are enough.
//!
//! From a state it is enough to take the steps of a *persistent* set: whatever all that is outside the set
//! does without it, it never does what matters to a step in the set. Then every run has another one that
//! takes a step of the set first and comes to the same. What is outside can do is found by walking: each hart
//! by itself, on memory that holds what it does now or anything that one of them writes.
//!
//! A step that changes nothing (a hart that looks again at what it waits for) is no step, and a set needs one
//! that is, and that a hart must take in the end: a run that takes no step of the set goes on as well when
//! that one was taken first. So that nothing is put off for ever, every cycle has a state from which all
//! steps are taken; [`search`](super::search) sees to that.
//!
//! Source: P. Godefroid, Partial-Order Methods for the Verification of Concurrent Systems, LNCS 1032, 1996,
//! chapter 4 (persistent sets) and chapter 7; A. Valmari, A Stubborn Attack on State Explosion, 1992, for
//! what of liveness is kept.

use tenbin_model::Order;

use crate::operational::footprint::Footprint;
use crate::operational::machine::{Machine, Move, State};

/// The moves of each hart: of each operation, whether it is the oldest, and what it can come to.
pub(super) type Moves = Vec<Vec<(bool, Vec<Move>)>>;

/// The operations that are enough, as pairs of a hart and whether only its oldest one.
pub(super) fn enough(machine: &mut Machine<'_>, state: &State, moves: &Moves) -> Option<Vec<(usize, bool)>> {
    let harts = machine.harts;
    let active: Vec<usize> = (0..harts).filter(|&hart| !moves[hart].is_empty()).collect();
    if active.len() < 2 && active.iter().all(|&hart| moves[hart].len() < 2) {
        return None;
    }
    // A hart may sleep for ever, and what it does ahead of a branch may turn out never to have been done:
    // what it must do at last is sure.
    let goes_on = |moves: &[Move]| moves.iter().any(|each| each.forced && each.state != *state);
    // The boot hart first: what waits for it need not be looked at before it comes.
    let mut order = active.clone();
    order.order_by_key(|&hart| !machine.local(state[hart]).boots);
    // The oldest instruction of one hart, before all younger ones and all other harts, where it can go one
    // way only.
    let boots = order.iter().any(|&hart| machine.local(state[hart]).boots);
    for &hart in &order {
        // Finding out what all others may do while a hart waits that only answers costs more than it saves.
        if boots && !machine.local(state[hart]).boots {
            break;
        }
        let oldest: Vec<usize> = (0..moves[hart].len()).filter(|&op| moves[hart][op].0).collect();
        let [op] = oldest[..] else { continue };
        if moves[hart][op].1.len() != 1 || !goes_on(&moves[hart][op].1) {
            continue;
        }
        let print = machine.footprint(state, hart, op);
        let outside: Vec<(usize, bool)> = (0..harts).map(|other| (other, other == hart)).collect();
        let outside = machine.without(state, &outside);
        if outside.is_some_and(|outside| outside.iter().all(|other| !print.conflicts(other))) {
            return Some(vec![(hart, true)]);
        }
    }
    let mut all = Vec::new();
    for (hart, operations) in moves.iter().enumerate() {
        let mut print = Footprint::default();
        for op in 0..operations.len() {
            print.extend(&machine.footprint(state, hart, op));
        }
        all.push(print);
    }
    for &first in &order {
        let Some(set) = grown(machine, state, first, &all) else { continue };
        let is_smaller = active.iter().any(|hart| !set.contains(hart));
        if is_smaller && set.iter().flat_map(|&hart| &moves[hart]).any(|(_, moves)| goes_on(moves)) {
            return Some(set.into_iter().map(|hart| (hart, false)).collect());
        }
    }
    None
}

/// The smallest persistent set of whole harts that has this one, as far as adding harts one by one finds it.
fn grown(machine: &mut Machine<'_>, state: &State, first: usize, all: &[Footprint]) -> Option<Vec<usize>> {
    let mut set = vec![first];
    while set.len() < machine.harts {
        let mut print = Footprint::default();
        set.iter().for_each(|&hart| print.extend(&all[hart]));
        let outside: Vec<(usize, bool)> =
            (0..machine.harts).filter(|hart| !set.contains(hart)).map(|hart| (hart, false)).collect();
        let walks = machine.without(state, &outside)?;
        match walks.iter().position(|walk| print.conflicts(walk)) {
            Some(place) => set.push(outside[place].0),
            None => return Some(set),
        }
    }
    None
}
