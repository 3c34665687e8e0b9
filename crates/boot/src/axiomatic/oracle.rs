//! The model a second time, as the chapter on RVWMO words it: for every total order of all accesses, is it a
//! global memory order that explains what the loads return? Far too slow but for a handful of accesses, and
//! independent of the graphs.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::limits::{Limits, Meter};
use super::thread::{FenceKind, HartTrace, MemoryAccess};
use super::{Model, outcomes, paths};
use crate::litmus::{Observable, Outcome, Test, random};

/// An access of a hart, by the hart and its place there.
#[derive(Clone, Copy)]
struct Event<'a> {
    hart: usize,
    place: usize,
    trace: &'a HartTrace,
}

impl<'a> Event<'a> {
    fn access(&self) -> &'a MemoryAccess {
        &self.trace.accesses[self.place]
    }

    fn before(&self, other: &Self) -> bool {
        self.hart == other.hart && self.place < other.place
    }
}

impl PartialEq for Event<'_> {
    fn eq(&self, other: &Self) -> bool {
        (self.hart, self.place) == (other.hart, other.place)
    }
}

/// Where the store stands that the load at `load` returns by the load value axiom: the last in the global
/// memory order among those that come before it there or in the program.
fn returned(order: &[Event<'_>], load: usize) -> Option<usize> {
    let event = order[load];
    order.iter().enumerate().rposition(|(place, other)| {
        let same = other.access().writes() && other.access().address == event.access().address;
        same && place != load && (place < load || other.before(&event))
    })
}

/// Rules 1 to 13 in the words of the specification.
fn preserved(order: &[Event<'_>], a: usize, b: usize) -> bool {
    let (first, second) = (order[a], order[b]);
    let (x, y) = (first.access(), second.access());
    let bit = |event: Event<'_>| 1_u64 << event.place;
    let between = |event: &&Event<'_>| first.before(event) && event.before(&second);
    let same = x.address == y.address;
    let source = |load: usize| returned(order, load).map(|place| order[place]);
    let fence = first.trace.fences.iter().any(|&(at, kind)| {
        let inside = first.place < at && at <= second.place;
        inside
            && match kind {
                FenceKind::Sides(before, after) => {
                    (x.reads() && before.read || x.writes() && before.write)
                        && (y.reads() && after.read || y.writes() && after.write)
                }
                FenceKind::Tso => x.reads() || x.writes() && y.writes(),
            }
    });
    let consistent = |access: &MemoryAccess| access.atomic && (access.acquire || access.release);
    let one = same && y.writes();
    let two = same
        && x.reads()
        && y.reads()
        && !order
            .iter()
            .filter(between)
            .any(|event| event.access().writes() && event.access().address == x.address)
        && source(a) != source(b);
    let three = x.writes() && x.atomic && y.reads() && source(b) == Some(first);
    let seven = consistent(x) && consistent(y);
    let eight = y.paired == Some(first.place);
    let nine = y.address_from & bit(first) != 0;
    let ten = y.writes() && y.data_from & bit(first) != 0;
    let eleven = y.writes() && y.control_from & bit(first) != 0;
    let twelve = y.reads()
        && order.iter().filter(between).any(|&middle| {
            let depends = middle.access().address_from | middle.access().data_from;
            middle.access().writes() && depends & bit(first) != 0 && source(b) == Some(middle)
        });
    let thirteen = y.writes()
        && order.iter().filter(between).any(|middle| middle.access().address_from & bit(first) != 0);
    [one, two, three, fence, x.acquire, y.release, seven, eight, nine, ten, eleven, twelve, thirteen]
        .contains(&true)
}

/// Whether the order is a global memory order in which every load returns what the traces say.
fn explains(test: &Test, order: &[Event<'_>]) -> bool {
    let values =
        order.iter().enumerate().filter(|(_, event)| event.access().reads()).all(|(place, event)| {
            let access = event.access();
            let initial = test.initial(access.address, access.width);
            access.read == returned(order, place).map_or(Some(initial), |store| order[store].access().written)
        });
    // An atomic operation is one place in the order, so nothing comes between its parts.
    let whole = (0..order.len())
        .filter(|&place| order[place].access().reads() && order[place].access().writes())
        .all(|place| returned(order, place).is_none_or(|store| store < place));
    let pairs = (0..order.len()).all(|place| {
        let event = order[place];
        let Some(reserved) = event.access().paired else { return true };
        let reserved = order.iter().position(|other| other.hart == event.hart && other.place == reserved);
        let source = reserved.and_then(|load| returned(order, load));
        let begin = source.map_or(0, |source| source + 1);
        source.is_none_or(|source| source < place)
            && order[begin..place].iter().all(|other| {
                let same = other.access().writes() && other.access().address == event.access().address;
                !same || other.hart == event.hart
            })
    });
    let program = (0..order.len())
        .all(|b| (b + 1..order.len()).all(|a| !(order[a].before(&order[b]) && preserved(order, a, b))));
    values && whole && pairs && program
}

fn arrange<'a>(
    test: &Test,
    order: &mut Vec<Event<'a>>,
    rest: &mut Vec<Event<'a>>,
    visit: &mut dyn FnMut(&[Event<'a>]),
) {
    if rest.is_empty() && explains(test, order) {
        visit(order);
    }
    for index in 0..rest.len() {
        order.push(rest.remove(index));
        arrange(test, order, rest, visit);
        if let Some(event) = order.pop() {
            rest.insert(index, event);
        }
    }
}

fn by_total_orders(test: &Test) -> BTreeSet<Outcome> {
    let mut meter = Meter::new(Limits::default());
    let all = paths(test, 2, &mut meter).expect("small tests take few steps");
    let mut combinations = vec![Vec::new()];
    for paths in &all {
        let longer = combinations.iter().flat_map(|begun: &Vec<&HartTrace>| {
            paths.traces.iter().map(move |trace| [begun.as_slice(), &[trace]].concat())
        });
        combinations = longer.collect();
    }
    let mut states = BTreeSet::new();
    for traces in combinations {
        let mut events = Vec::new();
        for (hart, &trace) in traces.iter().enumerate() {
            events.extend((0..trace.accesses.len()).map(|place| Event { hart, place, trace }));
        }
        arrange(test, &mut Vec::new(), &mut events, &mut |order| {
            let value = |&observable: &Observable| match observable {
                Observable::Register { thread, register } => traces[thread].registers[register.index()],
                Observable::Memory { place } => {
                    let place = &test.places[place];
                    let last = order
                        .iter()
                        .rev()
                        .find(|event| event.access().writes() && event.access().address == place.address);
                    last.and_then(|event| event.access().written).unwrap_or(place.initial)
                }
            };
            states.insert(test.observed.iter().map(value).collect());
        });
    }
    states
}

/// Accesses of a hart: six in all have 720 orders.
const MOST: usize = 3;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn graphs_and_total_orders_agree(one in random::hart(MOST), other in random::hart(MOST)) {
        let (text, test) = random::test(&[one, other], MOST)?;
        let graphs = outcomes(&test, Model::Rvwmo, Limits::default());
        let graphs = graphs.map_err(|error| TestCaseError::fail(error.to_string()))?.states;
        prop_assert_eq!(graphs, by_total_orders(&test), "{}", text);
    }
}
