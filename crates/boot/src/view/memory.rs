//! Which words of memory a run is about.
//!
//! Machine code reads its constants, pushes registers and clears memory. A reader wants to see those words
//! only through which one hart can meet another, or what was there before.

use std::collections::BTreeSet;
use std::ops::Range;

use tenbin_model::Order;

use crate::answer::{Counterexample, StepAccess, Writer};

/// A word, or several that are accessed together.
pub(super) struct AccessedWord {
    pub(super) bytes: Range<u64>,
    pub(super) name: String,
    /// Whether harts meet here, or garbage is read.
    pub(super) matters: bool,
}

/// The words of a run, in the order in which they are first accessed.
pub(super) fn words(example: &Counterexample) -> Vec<AccessedWord> {
    let accesses: Vec<(u32, StepAccess<'_>)> = example
        .steps
        .iter()
        .filter_map(|step| step.action.access().map(|access| (step.hart, access)))
        .collect();
    let mut words: Vec<AccessedWord> = Vec::new();
    let spans = accesses.iter().map(|(_, StepAccess { address, bytes, .. })| {
        *address..address.saturating_add(u64::from((*bytes).max(1)))
    });
    for bytes in joined(spans.collect()) {
        let mut harts = BTreeSet::new();
        let (mut written, mut garbage, mut name) = (false, false, None);
        for (hart, access) in accesses.iter().filter(|(_, access)| bytes.contains(&access.address)) {
            harts.insert(*hart);
            written |= access.written.is_some();
            garbage |= matches!(access.read, Some((_, Writer::Garbage)));
            name.get_or_insert(access.name);
        }
        let name = name.unwrap_or_default().to_owned();
        words.push(AccessedWord { bytes, name, matters: garbage || (written && harts.len() > 1) });
    }
    words.order_by_key(|word| accesses.iter().position(|(_, access)| word.bytes.contains(&access.address)));
    words
}

pub(super) fn word_of(words: &[AccessedWord], access: &StepAccess<'_>) -> Option<usize> {
    words.iter().position(|word| word.bytes.contains(&access.address))
}

/// The steps of a run, each by itself but for those of one hart, two or more, that no other hart can see: one
/// may skip them.
pub(super) fn groups(example: &Counterexample, words: &[AccessedWord]) -> Vec<Range<usize>> {
    let quiet = |index: usize| {
        let step = &example.steps[index];
        let access = step.action.access();
        let unseen =
            access.and_then(|access| word_of(words, &access)).is_some_and(|word| !words[word].matters);
        unseen && step.events.is_empty() && step.overtakes == 0
    };
    let mut groups = Vec::new();
    let mut start = 0;
    while start < example.steps.len() {
        let mut end = start + 1;
        // Where a run begins to repeat is seen, and so is its last step.
        let together = |end: usize| {
            end + 1 < example.steps.len()
                && example.repeats_from != Some(end)
                && example.steps[end].hart == example.steps[start].hart
                && quiet(end)
        };
        while quiet(start) && together(end) {
            end += 1;
        }
        groups.push(start..end);
        start = end;
    }
    groups
}

/// Those that overlap as one.
fn joined(mut spans: Vec<Range<u64>>) -> Vec<Range<u64>> {
    spans.order_by_key(|span| (span.start, span.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for span in spans {
        match joined.last_mut() {
            Some(last) if span.start < last.end => last.end = last.end.max(span.end),
            _ => joined.push(span),
        }
    }
    joined
}
