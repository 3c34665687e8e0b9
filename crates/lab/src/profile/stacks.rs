//! Stacks of a command, with names.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::Duration;

use tenbin_metal::child::End;
use tenbin_metal::profiler::length;
use tenbin_metal::stacks::{Event, Recorder, Recording, period};
use tenbin_model::schema::Schema;
use tenbin_model::stacks::{Frame, Instruction, Sample, Stack, State, Thread};
use tenbin_model::{Machine, Picoseconds, Stacks};

use super::kernel::Unprofiled;
use super::symbols::Names;
use super::{exit_status, killed};

/// Frames that come before the scheduler's own where a thread leaves its CPU: those of what takes the stack.
const OF_OURS: usize = 8;

/// Runs `command`, of these words, and says where its threads were: on a CPU by `frequency` samples a second,
/// off it by each switch. `started` is the date.
///
/// # Errors
/// What is lacking to observe it, or a fault where it cannot be started.
pub fn sample(
    command: Command,
    words: Vec<String>,
    deadline: Duration,
    frequency: u32,
    machine: Option<Machine>,
    started: String,
) -> Result<Stacks, Unprofiled> {
    let recorder = Recorder::attach(frequency).map_err(Unprofiled::Unattached)?;
    let (end, recording) = recorder.run(command, deadline).map_err(Unprofiled::Fault)?;
    let mut stacks = named(&recording, period(frequency));
    if end == End::OutOfTime {
        stacks.unseen.push(killed(deadline));
    }
    Ok(Stacks { command: words, started, machine, exit_status: exit_status(end), ..stacks })
}

/// What was recorded, with names in place of addresses.
fn named(recording: &Recording, period: u64) -> Stacks {
    let mut tree = Tree::new(recording);
    let threads: Vec<_> = recording.threads.keys().copied().collect();
    let mut samples = Vec::new();
    let mut instructions: BTreeMap<(u32, u64), u64> = BTreeMap::new();
    for event in &recording.events {
        let Ok(thread) = threads.binary_search(&event.thread) else { continue };
        let process = recording.threads[&event.thread].0;
        let Walked { stack, instruction } = tree.stack(process, event);
        if let (Some(instruction), 1..) = (instruction, event.ticks) {
            *instructions.entry(instruction).or_default() += event.ticks;
        }
        let waker = event.waker.and_then(|place| recording.wakers.get(place as usize));
        let waker = waker.map(|(number, name)| match number {
            0 => "an interrupt".to_owned(),
            _ => name.clone(),
        });
        let blocked = (State::Blocked, event.blocked, event.times);
        let queued = (State::Queued, event.queued, event.times);
        for (state, time, count) in [(State::OnCpu, event.ticks * period, event.ticks), blocked, queued] {
            if time == 0 {
                continue;
            }
            // A wait comes before the queue.
            let behind = if state == State::Blocked { event.queued } else { 0 };
            samples.push(Sample {
                at: length(event.at.saturating_sub(behind).saturating_sub(recording.began)),
                thread: u32::try_from(thread).unwrap_or(u32::MAX),
                stack,
                state,
                time: length(time),
                count,
                waker: waker.clone().filter(|_| state == State::Blocked),
            });
        }
    }
    let unseen = unseen(recording, tree.names.no_kernel.as_deref());
    let thread = |(thread, (process, name)): (&u32, &(u32, String))| Thread {
        process: *process,
        thread: *thread,
        name: name.clone(),
    };
    Stacks {
        schema: Schema::new(),
        wall: length(recording.ended.saturating_sub(recording.began)),
        period: Picoseconds(period.saturating_mul(1000)),
        frames: tree.frames,
        stacks: tree.stacks,
        threads: recording.threads.iter().map(thread).collect(),
        samples,
        instructions: instructions
            .into_iter()
            .map(|((frame, offset), count)| Instruction { frame, offset, count })
            .collect(),
        unseen,
        ..Stacks::default()
    }
}

fn unseen(recording: &Recording, no_kernel: Option<&str>) -> Vec<String> {
    let mut unseen = Vec::new();
    let mut say = |count: u64, what: &str| {
        if count > 0 {
            unseen.push(format!("{count} {what}."));
        }
    };
    say(recording.dropped, "events were dropped, as there was no room for them");
    say(recording.unkept, "stacks were not kept, as there was no room for them; their time has none");
    say(recording.lost, "threads were not followed, as too many lived at once");
    say(recording.lost_mappings, "mappings of files were dropped; what lies there has no names");
    say(recording.merged, "events were added to earlier ones of the same thread and stack");
    if let Some(why) = &recording.no_mappings {
        unseen.push(format!("User code has no names: {why}."));
    }
    if let Some(why) = no_kernel {
        unseen.push(format!("The kernel's code has no names: {why}."));
    }
    unseen
}

/// What makes one stack differ from another: process, user and kernel part, and whether it left its CPU.
type Key = (u32, Option<u64>, Option<u64>, bool);

/// A stack, by its place in the list; and the instruction that it ends in, by frame and bytes of the function
/// before it.
#[derive(Clone, Copy, Default)]
struct Walked {
    stack: Option<u32>,
    instruction: Option<(u32, u64)>,
}

/// Frames and stacks, each once.
struct Tree<'a> {
    recording: &'a Recording,
    names: Names<'a>,
    frames: Vec<Frame>,
    places: BTreeMap<Frame, u32>,
    stacks: Vec<Stack>,
    nodes: BTreeMap<Stack, u32>,
    whole: BTreeMap<Key, Walked>,
}

impl<'a> Tree<'a> {
    fn new(recording: &'a Recording) -> Self {
        Self {
            recording,
            names: Names::of(recording),
            frames: Vec::new(),
            places: BTreeMap::new(),
            stacks: Vec::new(),
            nodes: BTreeMap::new(),
            whole: BTreeMap::new(),
        }
    }

    fn stack(&mut self, process: u32, event: &Event) -> Walked {
        let key = (process, event.user, event.kernel, event.ticks == 0);
        if let Some(known) = self.whole.get(&key) {
            return *known;
        }
        let recording = self.recording;
        let of = |digest: Option<u64>| -> &[u64] {
            digest.and_then(|digest| recording.stacks.get(&digest)).map_or(&[], Vec::as_slice)
        };
        let mut frames = Vec::new();
        for (depth, &address) in of(event.user).iter().enumerate().rev() {
            frames.push(self.names.user(process, event.at, address, depth > 0));
        }
        let mut kernel: Vec<_> = of(event.kernel)
            .iter()
            .enumerate()
            .map(|(depth, &address)| self.names.kernel(address.saturating_sub(u64::from(depth > 0))))
            .collect();
        if event.ticks == 0 {
            let first =
                kernel.iter().take(OF_OURS).position(|(frame, _)| frame.function.contains("schedule"));
            kernel.drain(..first.unwrap_or(0));
        }
        frames.extend(kernel.into_iter().rev());
        let (mut stack, mut instruction) = (None, None);
        for (frame, offset) in frames {
            let frame = self.frame(frame);
            instruction = offset.map(|offset| (frame, offset));
            let node = Stack { parent: stack, frame };
            let stacks = &mut self.stacks;
            stack = Some(*self.nodes.entry(node).or_insert_with(|| {
                stacks.push(node);
                u32::try_from(stacks.len() - 1).unwrap_or(u32::MAX)
            }));
        }
        let walked = Walked { stack, instruction };
        self.whole.insert(key, walked);
        walked
    }

    fn frame(&mut self, frame: Frame) -> u32 {
        if let Some(&place) = self.places.get(&frame) {
            return place;
        }
        let place = u32::try_from(self.frames.len()).unwrap_or(u32::MAX);
        self.frames.push(frame.clone());
        self.places.insert(frame, place);
        place
    }
}
