//! Stacks of a command on and off the CPU, as programs in the kernel (BPF) take them.
//!
//! The programs are `bpf/sample.bpf.c`, kept and loaded as those of [`crate::profiler`] are. What memory of
//! processes holds which file comes from the kernel's own records of mappings (`PERF_RECORD_MMAP2`,
//! `include/uapi/linux/perf_event.h`), so that it is known of a process that has ended.

use std::collections::BTreeMap;
use std::io;
use std::process::{Command, id};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use aya::maps::{Array, HashMap, MapData, RingBuf};
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{PerfEvent, ProgramError};
use aya::util::online_cpus;
use aya::{Ebpf, Pod};
use perf_event::events::Software;
use perf_event::{Builder, Clock, SampleFlag, Sampler};

use tenbin_model::Order;

use crate::bpf::{Unattached, attach_ring, chain, kernel_types, unattached};
use crate::child::End;
use crate::descendants;
use crate::fault::Fault;
use crate::profiler::{letters, nanoseconds_now};
use crate::sampling::{RECORD_LOST, long};
use crate::starter::{NAME, named, starter};

/// The programs, for machines whose lowest byte comes first.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/sample.bpf.deflate"));

/// Programs of tracepoints, each with its tracepoint and whether every machine has that.
const TRACEPOINTS: [(&str, &str, bool); 11] = [
    ("irq_ends", "irq_handler_exit", true),
    ("softirq_ends", "softirq_exit", true),
    ("irq_ends", "local_timer_exit", false),
    ("irq_begins", "irq_handler_entry", true),
    ("softirq_begins", "softirq_entry", true),
    ("irq_begins", "local_timer_entry", false),
    ("switched", "sched_switch", true),
    ("waking", "sched_waking", true),
    ("executed", "sched_process_exec", true),
    ("exited", "sched_process_exit", true),
    ("forked", "sched_process_fork", true),
];

/// Frames of a stack.
const DEPTH: usize = 127;

/// How often the ring is looked at: at some 100 000 switches a second it fills in two seconds.
const LOOK: Duration = Duration::from_millis(20);

/// Events that are kept one by one; more are added to an earlier one of the same thread and stack.
const KEPT: usize = 1 << 20;

/// Bytes of a CPU's ring for mappings.
const MAPPINGS: usize = 128 << 10;

/// `PERF_RECORD_MMAP2`.
const RECORD_MAPPING: u32 = 10;

/// `struct event`.
const EVENT: usize = 88;
const SAMPLE: u32 = 0;
const FORK: u32 = 2;

/// `struct thread`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RawThread {
    out: u64,
    woken: u64,
    user: u64,
    kernel: u64,
    tgid: u32,
    armed: u32,
    first: u32,
    queued: u32,
    other: u32,
    padding: u32,
    by: [u8; NAME],
}

/// `struct course`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
struct RawCourse {
    began: u64,
    ended: u64,
    dropped: u64,
    unkept: u64,
    lost: u64,
    parent: u32,
    padding: u32,
}

// SAFETY: integers and arrays of them in C's layout, without a gap; any bytes are a value. So for the next.
unsafe impl Pod for RawThread {}
// SAFETY: see above.
unsafe impl Pod for RawCourse {}

/// Where a thread was at a tick of the clock, or while it was on no CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it ended, in ns of the kernel's monotonic clock.
    pub at: u64,
    /// Ticks of the clock on a CPU; 0 where it was on none.
    pub ticks: u64,
    /// Times that it left its CPU.
    pub times: u64,
    /// For how many ns it was blocked.
    pub blocked: u64,
    /// For how many ns it was queued for a CPU.
    pub queued: u64,
    /// The thread.
    pub thread: u32,
    /// Its stack in user code, a place in [`Recording::stacks`]; none where none could be walked.
    pub user: Option<u64>,
    /// Its stack in the kernel.
    pub kernel: Option<u64>,
    /// Who woke it, a place in [`Recording::wakers`].
    pub waker: Option<u32>,
}

/// Memory of a process that may be executed, and what lies there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mapping {
    /// When, in ns of the kernel's monotonic clock.
    pub at: u64,
    /// The process.
    pub process: u32,
    /// The first address.
    pub start: u64,
    /// The first address behind it.
    pub end: u64,
    /// Where in the file it begins.
    pub offset: u64,
    /// The file; `//anon` and `[vdso]` are none.
    pub path: String,
}

/// What was recorded of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recording {
    /// When its program was executed, in ns of the kernel's monotonic clock.
    pub began: u64,
    /// When its first process ended.
    pub ended: u64,
    /// In the order in which they ended.
    pub events: Vec<Event>,
    /// Events that were added to an earlier one.
    pub merged: u64,
    /// Addresses, the innermost first.
    pub stacks: BTreeMap<u64, Vec<u64>>,
    /// Threads by number: their process, and their last name.
    pub threads: BTreeMap<u32, (u32, String)>,
    /// Who woke threads: number, 0 for an interrupt, and name.
    pub wakers: Vec<(u32, String)>,
    /// Processes, and those that they began as a copy of.
    pub parents: BTreeMap<u32, u32>,
    /// In the order in which they were made.
    pub mappings: Vec<Mapping>,
    /// Events for which there was no room.
    pub dropped: u64,
    /// Stacks for which there was no room.
    pub unkept: u64,
    /// Threads that were not followed, as too many lived at once.
    pub lost: u64,
    /// Records of mappings for which there was no room.
    pub lost_mappings: u64,
    /// Why no mapping of a process is known, where that is so.
    pub no_mappings: Option<String>,
}

/// Programs that are attached; they are gone when this is dropped, or when its process ends, however it does.
pub struct Recorder {
    loaded: Ebpf,
    ring: RingBuf<MapData>,
    mappings: Result<Vec<Sampler>, io::Error>,
    starter: String,
}

impl Recorder {
    /// Attaches the programs, and a clock of `frequency` ticks a second to each CPU.
    ///
    /// # Errors
    /// What is lacking.
    pub fn attach(frequency: u32) -> Result<Self, Unattached> {
        let (types, mut loader) = kernel_types();
        let types = types?;
        let (starter, padded) = starter();
        loader.override_global("starter", &padded, true);
        let (mut loaded, ring) = attach_ring(loader, PACKED, &TRACEPOINTS, &types)?;
        attach_clock(&mut loaded, frequency)
            .map_err(|error| unattached("attach a BPF program to the clock of perf events", &error))?;
        Ok(Self { loaded, ring, mappings: watch_mappings(), starter })
    }

    /// Runs a command as [`crate::child::through`] does, and what was recorded of it; at the deadline
    /// all its processes are killed.
    ///
    /// # Errors
    /// A fault where it cannot be started, or where what was recorded cannot be read.
    pub fn run(self, command: Command, deadline: Duration) -> Result<(End, Recording), Fault> {
        let Self { loaded, ring, mappings, starter } = self;
        let (mappings, no_mappings) = match mappings {
            Ok(mappings) => (mappings, None),
            Err(error) => (Vec::new(), Some(format!("perf_event_open: {error}"))),
        };
        let (over, ends) = channel::<()>();
        let (ended, mut recording) = std::thread::scope(|scope| {
            let reader = scope.spawn(move || read(ring, mappings, &ends));
            let ended = named(&starter, || descendants::through(command, deadline));
            drop(over);
            // A reader that panicked has said so.
            (ended, reader.join().unwrap_or_default())
        });
        let ended = ended??;
        recording.no_mappings = no_mappings;
        finish(&loaded, &mut recording)
            .map_err(|why| Fault::system("read what BPF programs wrote of stacks", io::Error::other(why)))?;
        Ok((ended, recording))
    }
}

fn attach_clock(loaded: &mut Ebpf, frequency: u32) -> Result<(), ProgramError> {
    let Some(program) = loaded.program_mut("sampled") else { return Ok(()) };
    let program: &mut PerfEvent = program.try_into()?;
    program.load()?;
    for cpu in online_cpus().map_err(|(_, error)| ProgramError::IOError(error))? {
        let config = PerfEventConfig::Software(SoftwareEvent::CpuClock);
        let scope = PerfEventScope::AllProcessesOneCpu { cpu };
        program.attach(config, scope, SamplePolicy::Period(period(frequency)), false)?;
    }
    Ok(())
}

/// Nanoseconds between two ticks of a clock of so many ticks a second.
pub fn period(frequency: u32) -> u64 {
    1_000_000_000 / u64::from(frequency.max(1))
}

/// An event a CPU that never occurs, with the kernel's records of what is mapped there.
fn watch_mappings() -> Result<Vec<Sampler>, io::Error> {
    let mut all = Vec::new();
    for cpu in online_cpus().map_err(|(_, error)| error)? {
        let mut builder = Builder::new(Software::DUMMY);
        builder.any_pid().one_cpu(cpu as usize).mmap(true).mmap2(true).include_kernel();
        builder.sample(SampleFlag::TIME).sample_id_all(true).clockid(Clock::MONOTONIC);
        let mut sampler = builder.build()?.sampled(MAPPINGS)?;
        sampler.enable()?;
        all.push(sampler);
    }
    Ok(all)
}

/// Reads until `ends` has nobody at its other side.
fn read(mut ring: RingBuf<MapData>, mut mappings: Vec<Sampler>, ends: &Receiver<()>) -> Recording {
    let mut intake = Intake::default();
    loop {
        let is_over = !matches!(ends.recv_timeout(LOOK), Err(RecvTimeoutError::Timeout));
        for sampler in &mut mappings {
            while let Some(record) = sampler.next_record() {
                intake.record(record.ty(), &record.to_contiguous());
            }
        }
        while let Some(event) = ring.next() {
            intake.event(&event);
        }
        if is_over {
            break;
        }
    }
    intake.recording.mappings.order_by_key(|mapping| mapping.at);
    intake.recording
}

/// What an event has in common with those that it can be added to.
type Key = (u32, Option<u64>, Option<u64>, Option<u32>, bool);

#[derive(Default)]
struct Intake {
    recording: Recording,
    wakers: BTreeMap<(u32, [u8; NAME]), u32>,
    /// Once no more are kept one by one: where there is one of that kind.
    places: BTreeMap<Key, usize>,
}

impl Intake {
    /// A record of a mapping, or of some that were lost.
    fn record(&mut self, kind: u32, body: &[u8]) {
        match kind {
            // An identifier, then how many.
            RECORD_LOST => self.recording.lost_mappings += long(body, 8).unwrap_or(0),
            RECORD_MAPPING => self.recording.mappings.extend(mapping(body)),
            _ => {}
        }
    }

    /// `struct event`.
    fn event(&mut self, bytes: &[u8]) {
        let (Some(bytes), recording) = (bytes.first_chunk::<EVENT>(), &mut self.recording) else { return };
        let word = |place: usize| u32::from_ne_bytes(bytes[place..place + 4].try_into().unwrap_or_default());
        let time = |place: usize| long(bytes, place).unwrap_or(0);
        let letters_at =
            |place: usize| -> [u8; NAME] { bytes[place..place + NAME].try_into().unwrap_or_default() };
        let (kind, thread, process, other) = (word(40), word(44), word(48), word(52));
        if kind == FORK {
            recording.parents.insert(process, other);
            return;
        }
        let name = letters(&letters_at(56));
        recording
            .threads
            .entry(thread)
            .and_modify(|known| {
                if known.1 != name {
                    known.1.clone_from(&name);
                }
            })
            .or_insert((process, name));
        let waker = (kind != SAMPLE && time(8) > 0).then(|| self.waker(other, letters_at(72)));
        self.add(Event {
            at: time(0),
            ticks: u64::from(kind == SAMPLE),
            times: u64::from(kind != SAMPLE),
            blocked: time(8),
            queued: time(16),
            thread,
            user: stack(time(24)),
            kernel: stack(time(32)),
            waker,
        });
    }

    fn waker(&mut self, number: u32, name: [u8; NAME]) -> u32 {
        let wakers = &mut self.recording.wakers;
        *self.wakers.entry((number, name)).or_insert_with(|| {
            wakers.push((number, letters(&name)));
            u32::try_from(wakers.len() - 1).unwrap_or(u32::MAX)
        })
    }

    fn add(&mut self, event: Event) {
        let key = |event: &Event| (event.thread, event.user, event.kernel, event.waker, event.ticks > 0);
        let events = &mut self.recording.events;
        if events.len() >= KEPT {
            if self.places.is_empty() {
                self.places.extend(events.iter().map(key).zip(0..));
            }
            if let Some(known) = self.places.get(&key(&event)).and_then(|&place| events.get_mut(place)) {
                known.ticks += event.ticks;
                known.times += event.times;
                known.blocked += event.blocked;
                known.queued += event.queued;
                self.recording.merged += 1;
                return;
            }
            self.places.insert(key(&event), events.len());
        }
        events.push(event);
    }
}

/// A digest of a stack; 0 is none.
fn stack(digest: u64) -> Option<u64> {
    (digest != 0).then_some(digest)
}

/// The body of a `PERF_RECORD_MMAP2`, with the time behind it.
fn mapping(body: &[u8]) -> Option<Mapping> {
    const PATH: usize = 64;
    let process = u32::from_ne_bytes(body.get(..4)?.try_into().ok()?);
    let (start, length, offset) = (long(body, 8)?, long(body, 16)?, long(body, 24)?);
    let behind = body.len().checked_sub(8)?;
    let path = body.get(PATH..behind)?;
    Some(Mapping {
        at: long(body, behind)?,
        process,
        start,
        end: start.checked_add(length)?,
        offset,
        path: letters(path),
    })
}

/// Adds what the programs kept until the end.
fn finish(loaded: &Ebpf, recording: &mut Recording) -> Result<(), String> {
    let of = |name: &str| loaded.map(name).ok_or_else(|| format!("no map {name}"));
    let text = |error: aya::maps::MapError| chain(&error);
    let course: RawCourse = Array::try_from(of("courses")?).map_err(text)?.get(&0, 0).map_err(text)?;
    let now = nanoseconds_now();
    recording.began = course.began;
    recording.ended = if course.ended == 0 { now } else { course.ended };
    (recording.dropped, recording.unkept, recording.lost) = (course.dropped, course.unkept, course.lost);
    if course.parent != 0 && course.parent != id() {
        recording.no_mappings =
            Some("BPF programs see this process by another PID, as in a container".into());
    }
    // Threads that are away still.
    for entry in HashMap::<_, u32, RawThread>::try_from(of("threads")?).map_err(text)?.iter() {
        let (number, thread) = entry.map_err(text)?;
        if thread.out == 0 || thread.armed != 0 || recording.ended <= thread.out {
            continue;
        }
        let away = recording.ended - thread.out;
        recording.threads.entry(number).or_insert((thread.tgid, String::new()));
        recording.events.push(Event {
            at: recording.ended,
            ticks: 0,
            times: 1,
            blocked: if thread.queued == 0 { away } else { 0 },
            queued: if thread.queued == 0 { 0 } else { away },
            thread: number,
            user: stack(thread.user),
            kernel: stack(thread.kernel),
            waker: None,
        });
    }
    let stacks = HashMap::<_, u64, [u64; DEPTH]>::try_from(of("stacks")?).map_err(text)?;
    for entry in stacks.iter() {
        let (digest, frames) = entry.map_err(text)?;
        recording.stacks.insert(digest, frames.into_iter().take_while(|&frame| frame != 0).collect());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An event: when it ended, 5 ns blocked, 3 ns queued, and its kind; thread 9 of process 7, stack 4 in
    /// user code and none in the kernel, woken by 11.
    fn bytes(at: u64, kind: u32) -> Vec<u8> {
        let mut bytes = Vec::new();
        let (blocked, queued) = if kind == SAMPLE { (0, 0) } else { (5, 3) };
        [at, blocked, queued, 4, 0].iter().for_each(|it: &u64| bytes.extend(it.to_ne_bytes()));
        [kind, 9, 7, 11].iter().for_each(|it| bytes.extend(it.to_ne_bytes()));
        bytes.extend(*b"worker\0\0\0\0\0\0\0\0\0\0");
        bytes.extend(*b"waker\0\0\0\0\0\0\0\0\0\0\0");
        bytes
    }

    #[test]
    fn events_are_read_as_the_programs_write_them() {
        let mut intake = Intake::default();
        intake.event(&bytes(100, SAMPLE));
        intake.event(&bytes(200, 1));
        intake.event(&bytes(300, FORK));
        intake.event(&[0; EVENT - 1]);
        let recording = intake.recording;
        let sample = Event {
            at: 100,
            ticks: 1,
            times: 0,
            blocked: 0,
            queued: 0,
            thread: 9,
            user: Some(4),
            kernel: None,
            waker: None,
        };
        let away = Event { at: 200, ticks: 0, times: 1, blocked: 5, queued: 3, waker: Some(0), ..sample };
        assert_eq!(recording.events, [sample, away]);
        assert_eq!(recording.wakers, [(11, "waker".to_owned())]);
        assert_eq!(recording.threads[&9], (7, "worker".to_owned()));
        assert_eq!(recording.parents[&7], 11);
    }

    #[test]
    fn a_mapping_is_read_with_its_time_and_its_path() {
        let mut body = Vec::new();
        [7_u32, 8].iter().for_each(|it| body.extend(it.to_ne_bytes()));
        [0x1000_u64, 0x2000, 0x3000, 0, 0, 0, 0].iter().for_each(|it| body.extend(it.to_ne_bytes()));
        body.truncate(64);
        body.extend(*b"/bin/sh\0");
        body.extend(77_u64.to_ne_bytes());
        let path = "/bin/sh".to_owned();
        let expected = Mapping { at: 77, process: 7, start: 0x1000, end: 0x3000, offset: 0x3000, path };
        assert_eq!(mapping(&body), Some(expected));
        assert_eq!(mapping(&body[..40]), None);
    }
}
