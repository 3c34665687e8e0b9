//! A trace of Perfetto: samples on a CPU as those of its own profiler, and on each thread's track when it was
//! off it, and where.
//!
//! Format: `protos/perfetto/trace/` of <https://github.com/google/perfetto>: TracePacket with InternedData,
//! PerfSample, TrackDescriptor and TrackEvent. Numbers of fields are those of there.

use std::collections::{BTreeMap, BTreeSet};

use tenbin_model::Stacks;
use tenbin_model::stacks::{Frame, State, Thread};

use super::protobuf::Message;
use super::recording::{UNKNOWN, nanoseconds};

/// The one sequence of packets.
const SEQUENCE: u64 = 1;

/// Samples that were added up become as many as they were, up to here.
const REPEATED: u64 = 1 << 20;

const SLICE_BEGIN: u64 = 1;
const SLICE_END: u64 = 2;

/// Numbers of tracks: of a process its own number, of a thread that with this bit.
const OF_THREAD: u64 = 1 << 32;

pub(super) fn written(stacks: &Stacks) -> Vec<u8> {
    let mut trace = Message::new();
    let mut packet =
        |flags: u64, fields: Message| trace.add(1, &fields.number(10, SEQUENCE).number(13, flags));
    let timebase = Message::new().number(1, nanoseconds(stacks.period)).bytes(10, "cpu-clock");
    let defaults = Message::new().message(12, &Message::new().message(1, &timebase));
    // What came before is nothing; the next ones need this.
    packet(1, Message::new().message(12, &interned(stacks)).message(59, &defaults).number(87, 1_u64));
    let processes: BTreeSet<u32> = stacks.threads.iter().map(|thread| thread.process).collect();
    for process in processes {
        let name = stacks.threads.iter().find(|it| it.thread == process).map_or("", |it| &it.name);
        let descriptor = Message::new().number(1, process).bytes(6, name);
        let track = Message::new().number(1, process).message(3, &descriptor);
        packet(0, Message::new().message(60, &track));
    }
    let of_thread = |thread: &Thread| u64::from(thread.thread) | OF_THREAD;
    for thread in &stacks.threads {
        let descriptor = Message::new().number(1, thread.process).number(2, thread.thread);
        let descriptor = descriptor.bytes(5, &thread.name);
        let track = Message::new().number(1, of_thread(thread)).number(5, thread.process);
        packet(0, Message::new().message(60, &track.message(4, &descriptor)));
    }
    for sample in &stacks.samples {
        let thread = &stacks.threads[sample.thread as usize];
        // Stack 0 has number 1, and what has no stack the one behind the last.
        let stack = sample.stack.map_or(stacks.stacks.len() as u64, u64::from) + 1;
        let end = nanoseconds(sample.at);
        if sample.state == State::OnCpu {
            let first = stacks.frames_of(sample.stack).next();
            let in_kernel = first.is_some_and(|place| stacks.frames[place as usize].is_kernel());
            let perf = Message::new().number(2, thread.process).number(3, thread.thread).number(4, stack);
            // MODE_KERNEL and MODE_USER.
            let perf = perf.number(5, if in_kernel { 1_u64 } else { 2 });
            for _ in 0..sample.count.min(REPEATED) {
                packet(2, Message::new().number(8, end).message(66, &perf));
            }
            continue;
        }
        // Several that were added up are no slice of time.
        if sample.count != 1 {
            continue;
        }
        let name = if sample.state == State::Blocked { "blocked" } else { "queued" };
        let begin = nanoseconds(sample.at.saturating_sub(sample.time));
        let mut event = Message::new();
        if let Some(waker) = &sample.waker {
            event.add(4, &Message::new().bytes(10, "woken by").bytes(6, waker));
        }
        let event = event.number(9, SLICE_BEGIN).number(11, of_thread(thread));
        let event = event.bytes(22, name).bytes(23, name).number(56, stack);
        packet(2, Message::new().number(8, begin).message(11, &event));
        let event = Message::new().number(9, SLICE_END).number(11, of_thread(thread));
        packet(2, Message::new().number(8, end).message(11, &event));
    }
    trace.bytes
}

/// Names, frames and stacks, each once. Numbers begin with 1.
fn interned(stacks: &Stacks) -> Message {
    let unknown = Frame { function: UNKNOWN.into(), ..Frame::default() };
    let frames = || stacks.frames.iter().chain([&unknown]);
    let functions = numbered(frames().map(|frame| frame.function.as_str()));
    let modules = numbered(frames().map(|frame| frame.module.as_str()));
    let sources = numbered(frames().filter_map(|frame| frame.source.as_deref()));
    let mut all = Message::new();
    for (field, texts) in [(5, &functions), (17, &modules), (18, &sources)] {
        for (text, &number) in texts {
            all.add(field, &Message::new().number(1, number).bytes(2, text));
        }
    }
    for &number in modules.values() {
        // Its path is its one string.
        all.add(19, &Message::new().number(1, number).number(7, number));
    }
    let of = |numbers: &BTreeMap<&str, u64>, text: &str| numbers.get(text).copied().unwrap_or(0);
    for (frame, place) in frames().zip(1_u64..) {
        let it = Message::new().number(1, place).number(2, of(&functions, &frame.function));
        let it = it.number(3, of(&modules, &frame.module));
        let it = it.number(5, frame.source.as_ref().map_or(0, |source| of(&sources, source)));
        all.add(6, &it.number(6, frame.line.unwrap_or(0)));
    }
    // From the outermost on.
    let mut callstack = |number: u64, frames: Vec<u64>| {
        let stack = Message::new().number(1, number);
        all.add(7, &frames.iter().rev().fold(stack, |stack, &frame| stack.number(2, frame)));
    };
    let used: BTreeSet<u32> = stacks.samples.iter().filter_map(|sample| sample.stack).collect();
    for stack in used {
        let frames = stacks.frames_of(Some(stack)).map(|place| u64::from(place) + 1);
        callstack(u64::from(stack) + 1, frames.collect());
    }
    callstack(stacks.stacks.len() as u64 + 1, vec![stacks.frames.len() as u64 + 1]);
    all
}

fn numbered<'a>(texts: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, u64> {
    let texts: BTreeSet<&str> = texts.collect();
    texts.into_iter().zip(1..).collect()
}
