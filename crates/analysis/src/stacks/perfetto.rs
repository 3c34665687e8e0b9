//! A trace of Perfetto: samples on a CPU as those of its own profiler, and on each thread's track when it was
//! off it, and where.
//!
//! Format: `protos/perfetto/trace/` of <https://github.com/google/perfetto>: TracePacket with InternedData,
//! PerfSample, TrackDescriptor and TrackEvent. Numbers of fields are those of there.

use std::collections::{BTreeMap, BTreeSet};

use tenbin_model::Stacks;
use tenbin_model::stacks::{Frame, State};

use super::protobuf::{Message, message};
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
    let mut trace = Message::default();
    let mut packet = |flags: u64, fill: &dyn Fn(&mut Message)| {
        let packet = message(|packet| {
            fill(packet);
            packet.number(10, SEQUENCE).number(13, flags);
        });
        trace.message(1, &packet);
    };
    let interned = interned(stacks);
    let defaults = message(|defaults| {
        let timebase = message(|timebase| {
            timebase.number(1, nanoseconds(stacks.period)).bytes(10, b"cpu-clock");
        });
        defaults.message(
            12,
            &message(|perf| {
                perf.message(1, &timebase);
            }),
        );
    });
    // What came before is nothing; the next ones need this.
    packet(1, &|packet| {
        packet.message(12, &interned).message(59, &defaults).number(87, 1);
    });
    let processes: BTreeSet<u32> = stacks.threads.iter().map(|thread| thread.process).collect();
    for process in processes {
        let name = stacks.threads.iter().find(|it| it.thread == process).map_or("", |it| &it.name);
        let track = message(|track| {
            let descriptor = message(|it| {
                it.number(1, process.into()).bytes(6, name.as_bytes());
            });
            track.number(1, process.into()).message(3, &descriptor);
        });
        packet(0, &|packet| {
            packet.message(60, &track);
        });
    }
    for thread in &stacks.threads {
        let track = message(|track| {
            let descriptor = message(|it| {
                it.number(1, thread.process.into()).number(2, thread.thread.into());
                it.bytes(5, thread.name.as_bytes());
            });
            track.number(1, u64::from(thread.thread) | OF_THREAD);
            track.number(5, thread.process.into()).message(4, &descriptor);
        });
        packet(0, &|packet| {
            packet.message(60, &track);
        });
    }
    for sample in &stacks.samples {
        let thread = &stacks.threads[sample.thread as usize];
        // Stack 0 has number 1, and what has no stack the one behind the last.
        let stack = sample.stack.map_or(stacks.stacks.len() as u64, u64::from) + 1;
        let end = nanoseconds(sample.at);
        if sample.state == State::OnCpu {
            let perf = message(|perf| {
                perf.number(2, thread.process.into()).number(3, thread.thread.into()).number(4, stack);
                let first = stacks.frames_of(sample.stack).next();
                let in_kernel = first.is_some_and(|place| stacks.frames[place as usize].is_kernel());
                // MODE_KERNEL and MODE_USER.
                perf.number(5, if in_kernel { 1 } else { 2 });
            });
            for _ in 0..sample.count.min(REPEATED) {
                packet(2, &|packet| {
                    packet.number(8, end).message(66, &perf);
                });
            }
            continue;
        }
        // Several that were added up are no slice of time.
        if sample.count != 1 {
            continue;
        }
        let name = if sample.state == State::Blocked { "blocked" } else { "queued" };
        let begin = nanoseconds(sample.at.saturating_sub(sample.time));
        let track = u64::from(thread.thread) | OF_THREAD;
        let event = message(|event| {
            if let Some(waker) = &sample.waker {
                let note = message(|note| {
                    note.bytes(10, b"woken by").bytes(6, waker.as_bytes());
                });
                event.message(4, &note);
            }
            event.number(9, SLICE_BEGIN).number(11, track);
            event.bytes(22, name.as_bytes()).bytes(23, name.as_bytes()).number(56, stack);
        });
        packet(2, &|packet| {
            packet.number(8, begin).message(11, &event);
        });
        let event = message(|event| {
            event.number(9, SLICE_END).number(11, track);
        });
        packet(2, &|packet| {
            packet.number(8, end).message(11, &event);
        });
    }
    trace.bytes
}

/// Names, frames and stacks, each once. Numbers begin with 1.
fn interned(stacks: &Stacks) -> Message {
    let unknown = Frame { function: UNKNOWN.into(), ..Frame::default() };
    let frames = || stacks.frames.iter().chain([&unknown]);
    let numbered = |texts: BTreeSet<&str>| -> Vec<(String, u64)> {
        texts.into_iter().map(str::to_owned).zip(1..).collect()
    };
    let functions = numbered(frames().map(|frame| frame.function.as_str()).collect());
    let modules = numbered(frames().map(|frame| frame.module.as_str()).collect());
    let sources = numbered(frames().filter_map(|frame| frame.source.as_deref()).collect());
    let mut all = Message::default();
    for (field, texts) in [(5, &functions), (17, &modules), (18, &sources)] {
        for (text, number) in texts {
            all.message(
                field,
                &message(|it| {
                    it.number(1, *number).bytes(2, text.as_bytes());
                }),
            );
        }
    }
    for (_, number) in &modules {
        // Its path is its one string.
        all.message(
            19,
            &message(|it| {
                it.number(1, *number).number(7, *number);
            }),
        );
    }
    let by_text = |texts: &'_ [(String, u64)]| -> BTreeMap<String, u64> { texts.iter().cloned().collect() };
    let (functions, modules, sources) = (by_text(&functions), by_text(&modules), by_text(&sources));
    for (frame, place) in frames().zip(1..) {
        all.message(
            6,
            &message(|it| {
                it.number(1, place);
                it.number(2, functions.get(&frame.function).copied().unwrap_or(0));
                it.number(3, modules.get(&frame.module).copied().unwrap_or(0));
                if let Some(source) = &frame.source {
                    it.number(5, sources.get(source).copied().unwrap_or(0));
                }
                it.number(6, frame.line.unwrap_or(0).into());
            }),
        );
    }
    // From the outermost on.
    let mut callstack = |number: u64, frames: Vec<u64>| {
        let stack = message(|it| {
            it.number(1, number);
            for frame in frames.iter().rev() {
                it.number(2, *frame);
            }
        });
        all.message(7, &stack);
    };
    let used: BTreeSet<u32> = stacks.samples.iter().filter_map(|sample| sample.stack).collect();
    for stack in used {
        let frames = stacks.frames_of(Some(stack)).map(|place| u64::from(place) + 1);
        callstack(u64::from(stack) + 1, frames.collect());
    }
    callstack(stacks.stacks.len() as u64 + 1, vec![stacks.frames.len() as u64 + 1]);
    all
}
