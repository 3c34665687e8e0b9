//! The file of pprof, not compressed: samples, and time on a CPU, blocked and queued, by stack and thread.
//!
//! Format: `profile.proto` of <https://github.com/google/pprof>.

use std::collections::BTreeMap;

use tenbin_model::Stacks;
use tenbin_model::stacks::State;

use super::protobuf::Message;
use super::recording::{Interned, UNKNOWN, nanoseconds, thread};

pub(super) fn written(stacks: &Stacks) -> Vec<u8> {
    // Each once; the first is empty.
    let mut strings = Interned::default();
    strings.place(String::new());
    let mut place = |text: &str| strings.place(text.to_owned()) as u64;
    let mut profile = Message::new();
    let kinds =
        [("samples", "count"), ("cpu", "nanoseconds"), ("blocked", "nanoseconds"), ("queued", "nanoseconds")];
    for (kind, unit) in kinds {
        profile.add(1, &Message::new().number(1, place(kind)).number(2, place(unit)));
    }
    let mut sums: BTreeMap<(u32, Option<u32>), [u64; 4]> = BTreeMap::new();
    for sample in &stacks.samples {
        let sum = sums.entry((sample.thread, sample.stack)).or_default();
        let (count, place) = match sample.state {
            State::OnCpu => (sample.count, 1),
            State::Blocked => (0, 2),
            State::Queued => (0, 3),
        };
        sum[0] += count;
        sum[place] += nanoseconds(sample.time);
    }
    // What has no stack is in a location behind those of the frames.
    let unknown = stacks.frames.len() as u64 + 1;
    for ((number, stack), values) in sums {
        let name = place(&thread(stacks, number as usize));
        let label = Message::new().number(1, place("thread")).number(2, name);
        let mut locations: Vec<u64> = stacks.frames_of(stack).map(|place| u64::from(place) + 1).collect();
        if stack.is_none() {
            locations.push(unknown);
        }
        profile.add(2, &Message::new().numbers(1, locations).numbers(2, values).message(3, &label));
    }
    let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
    for frame in stacks.frames.iter().filter(|frame| !frame.module.is_empty()) {
        let next = modules.len() as u64 + 1;
        modules.entry(&frame.module).or_insert(next);
    }
    for (module, &number) in &modules {
        // That there are functions and need not be looked for.
        profile.add(3, &Message::new().number(1, number).number(5, place(module)).number(7, 1_u64));
    }
    let mut functions: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    let empty = tenbin_model::stacks::Frame { function: UNKNOWN.into(), ..Default::default() };
    for (frame, number) in stacks.frames.iter().chain([&empty]).zip(1_u64..) {
        let name = place(&frame.function);
        let file = place(frame.source.as_deref().unwrap_or_default());
        let module = modules.get(frame.module.as_str()).copied().unwrap_or(0);
        let next = functions.len() as u64 + 1;
        let function = *functions.entry((name, file, module)).or_insert(next);
        let line = Message::new().number(1, function).number(2, frame.line.unwrap_or(0));
        profile.add(4, &Message::new().number(1, number).number(2, module).message(4, &line));
    }
    for ((name, file, _), number) in functions {
        profile.add(5, &Message::new().number(1, number).number(2, name).number(3, name).number(4, file));
    }
    let period = Message::new().number(1, place("cpu")).number(2, place("nanoseconds"));
    let profile = profile.number(10, nanoseconds(stacks.wall)).message(11, &period);
    let profile = profile.number(12, nanoseconds(stacks.period)).number(14, place("cpu"));
    strings.list.iter().fold(profile, |profile, text| profile.bytes(6, text)).bytes
}
