//! What the files of all other tools take from a recording: its threads, times in nanoseconds, and words.

use std::collections::BTreeMap;

use tenbin_model::stacks::State;
use tenbin_model::{Order, Picoseconds, Stacks};

/// What stands as the innermost frame of a thread that is on no CPU, in files that know only stacks.
pub(super) fn mark(state: State) -> Option<&'static str> {
    match state {
        State::OnCpu => None,
        State::Queued => Some("[queued]"),
        State::Blocked => Some("[blocked]"),
    }
}

/// What stands in place of a stack that could not be walked.
pub(super) const UNKNOWN: &str = "[unknown]";

/// Whole nanoseconds: those of a recording are.
pub(super) fn nanoseconds(time: Picoseconds) -> u64 {
    time.0 / 1000
}

/// The places of the samples of each thread, in the order of time.
pub(super) fn by_thread(stacks: &Stacks) -> Vec<Vec<usize>> {
    let mut threads = vec![Vec::new(); stacks.threads.len()];
    for (sample, place) in stacks.samples.iter().zip(0..) {
        threads[sample.thread as usize].push(place);
    }
    for places in &mut threads {
        places.order_by_key(|&place| (stacks.samples[place].at, place));
    }
    threads
}

/// A thread as a title.
pub(super) fn thread(stacks: &Stacks, place: usize) -> String {
    let thread = &stacks.threads[place];
    format!("{} {}", thread.name, thread.thread)
}

/// Things that each stand once, by number.
#[derive(Default)]
pub(super) struct Interned<T> {
    places: BTreeMap<T, usize>,
    pub(super) list: Vec<T>,
}

impl<T: Ord + Clone> Interned<T> {
    pub(super) fn place(&mut self, item: T) -> usize {
        let list = &mut self.list;
        *self.places.entry(item).or_insert_with_key(|item| {
            list.push(item.clone());
            list.len() - 1
        })
    }
}
