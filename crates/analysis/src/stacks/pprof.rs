//! The file of pprof, not compressed: samples, and time on a CPU, blocked and queued, by stack and thread.
//!
//! Format: `profile.proto` of <https://github.com/google/pprof>.

use std::collections::BTreeMap;

use tenbin_model::Stacks;
use tenbin_model::stacks::State;

use super::protobuf::{Message, message};
use super::recording::{UNKNOWN, nanoseconds, thread};

/// The strings of a profile, each once; the first is empty.
struct Strings {
    places: BTreeMap<String, u64>,
    list: Vec<String>,
}

impl Strings {
    fn place(&mut self, text: &str) -> u64 {
        if let Some(&place) = self.places.get(text) {
            return place;
        }
        let place = self.list.len() as u64;
        self.places.insert(text.to_owned(), place);
        self.list.push(text.to_owned());
        place
    }
}

pub(super) fn written(stacks: &Stacks) -> Vec<u8> {
    let mut strings = Strings { places: BTreeMap::new(), list: Vec::new() };
    strings.place("");
    let mut profile = Message::default();
    let kinds =
        [("samples", "count"), ("cpu", "nanoseconds"), ("blocked", "nanoseconds"), ("queued", "nanoseconds")];
    for (kind, unit) in kinds {
        let kind = value_type(&mut strings, kind, unit);
        profile.message(1, &kind);
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
        let label = message(|label| {
            let name = strings.place(&thread(stacks, number as usize));
            label.number(1, strings.place("thread")).number(2, name);
        });
        let mut locations: Vec<u64> = stacks.frames_of(stack).map(|place| u64::from(place) + 1).collect();
        if stack.is_none() {
            locations.push(unknown);
        }
        let sample = message(|sample| {
            sample.numbers(1, locations).numbers(2, values).message(3, &label);
        });
        profile.message(2, &sample);
    }
    let mut modules: BTreeMap<&str, u64> = BTreeMap::new();
    for frame in stacks.frames.iter().filter(|frame| !frame.module.is_empty()) {
        let next = modules.len() as u64 + 1;
        modules.entry(&frame.module).or_insert(next);
    }
    for (module, &number) in &modules {
        // That there are functions and need not be looked for.
        let mapping = message(|mapping| {
            mapping.number(1, number).number(5, strings.place(module)).number(7, 1);
        });
        profile.message(3, &mapping);
    }
    let mut functions: BTreeMap<(u64, u64, u64), u64> = BTreeMap::new();
    let empty = tenbin_model::stacks::Frame { function: UNKNOWN.into(), ..Default::default() };
    for (frame, number) in stacks.frames.iter().chain([&empty]).zip(1_u64..) {
        let name = strings.place(&frame.function);
        let file = strings.place(frame.source.as_deref().unwrap_or_default());
        let module = modules.get(frame.module.as_str()).copied().unwrap_or(0);
        let next = functions.len() as u64 + 1;
        let function = *functions.entry((name, file, module)).or_insert(next);
        let line = message(|line| {
            line.number(1, function).number(2, frame.line.unwrap_or(0).into());
        });
        let location = message(|location| {
            location.number(1, number).number(2, module).message(4, &line);
        });
        profile.message(4, &location);
    }
    for ((name, file, _), number) in functions {
        let function = message(|function| {
            function.number(1, number).number(2, name).number(3, name).number(4, file);
        });
        profile.message(5, &function);
    }
    let period = value_type(&mut strings, "cpu", "nanoseconds");
    profile.number(10, nanoseconds(stacks.wall)).message(11, &period).number(12, nanoseconds(stacks.period));
    profile.number(14, strings.place("cpu"));
    for text in &strings.list {
        profile.bytes(6, text.as_bytes());
    }
    profile.bytes
}

fn value_type(strings: &mut Strings, kind: &str, unit: &str) -> Message {
    message(|value| {
        value.number(1, strings.place(kind)).number(2, strings.place(unit));
    })
}
