//! Where the time of a command goes, as programs in the kernel (BPF) add it up.
//!
//! The programs are `bpf/profile.h`, loaded as an object that `cargo xtask test bpf` builds anew and
//! compares. They follow the first program that a thread of a name of its own starts, with all processes and
//! threads that this makes.

use std::process::Command;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::ScopedJoinHandle;
use std::time::Duration;
use std::{io, panic, thread};

use aya::maps::{Array, HashMap, MapData, PerCpuArray, Queue, Stack};
use aya::programs::ProgramError;
use aya::util::nr_cpus;
use aya::{Ebpf, EbpfLoader};
use rustix::time::ClockId;
use syscalls::Sysno;
use tenbin_model::{Order, Picoseconds};

use crate::bpf::{self, Lacking, Types, Unattached, chain, kernel_types, load, map, unattached};
use crate::child::End;
use crate::clock::nanoseconds;
use crate::descendants;
use crate::fault::Fault;
use crate::machine::is_translated;
use crate::starter::{NAME, named, starter};
use crate::tracepoints::{Field, check_fields};

mod calls;
mod cost;
mod faults;
mod files;
mod layout;

use calls::Calls;
use cost::Bare;
pub(crate) use cost::call_time;
pub use cost::{Cost, Costs};
use faults::Faults;
pub use files::{FileName, FileUse};
use layout::{LENGTHS, RawCourse, RawCpu, RawPending, RawRow, RawTally, RawThread, RawWake, RawWoken};

/// The programs, for machines whose lowest byte comes first.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/profile.bpf.deflate"));
static PACKED_RECORDS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/records.bpf.deflate"));

/// Rows that are no system call (`enum` in `bpf/profile.h`).
const USER: u32 = 0;
const FAULT: u32 = 1;
const INTERRUPT: u32 = 2;
const CALLS: u32 = 3;
const ROWS: u32 = CALLS + 512;

/// Threads that may live at once.
pub const SLOTS: u32 = 16 << 10;

/// Programs of tracepoints, each with its tracepoint and whether every machine has that.
const TRACEPOINTS: [(&str, &str, bool); 13] = [
    (calls::PROGRAM.0, calls::PROGRAM.1, true),
    ("left", "sys_exit", true),
    ("switched", "sched_switch", true),
    ("waking", "sched_waking", true),
    ("forked", "sched_process_fork", true),
    ("executed", "sched_process_exec", true),
    ("exited", "sched_process_exit", true),
    // An end without a begin is nothing; a begin without an end would never be over. x86 has timers of its
    // own.
    ("irq_ends", "irq_handler_exit", true),
    ("softirq_ends", "softirq_exit", true),
    ("irq_ends", "local_timer_exit", false),
    ("irq_begins", "irq_handler_entry", true),
    ("softirq_begins", "softirq_entry", true),
    ("irq_begins", "local_timer_entry", false),
];

/// Tracepoints whose programs are handed records where the kernel says nothing of its types, with the fields
/// that those read, as `bpf/records.bpf.c` has them.
const RECORDS: [(&str, &str, &[Field]); 3] = [
    ("switched", "sched/sched_switch", &[("prev_state", 32, 8), ("next_pid", 56, 4)]),
    ("waking", "sched/sched_waking", &[("pid", 24, 4)]),
    ("forked", "task/task_newtask", &[("pid", 8, 4)]),
];

/// The time between two looks at how many calls and page faults there were.
const LOOK: Duration = Duration::from_millis(20);

/// Looks for which they are not seen, or not at both ends, after one for which each one was.
const UNSEEN: u32 = 9;

/// How time was spent, in nanoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Nanoseconds {
    /// On a CPU.
    pub on_cpu: u64,
    /// Queued for a CPU.
    pub queued: u64,
    /// Blocked.
    pub blocked: u64,
}

/// What a row is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// The threads' own code.
    User,
    /// A page fault.
    Fault,
    /// An interrupt.
    Interrupt,
    /// A system call, by its name; none where it has none here.
    Call(Option<&'static str>),
}

impl Doing {
    fn of(row: u32) -> Self {
        match row {
            USER => Self::User,
            FAULT => Self::Fault,
            INTERRUPT => Self::Interrupt,
            call => Self::Call(Sysno::new((call - CALLS) as usize).map(|call| call.name())),
        }
    }
}

/// What all threads did in a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// What it is.
    pub doing: Doing,
    /// Times that it was left; of user code 0.
    pub count: u64,
    /// Calls that failed.
    pub errors: u64,
    /// How many of `count` were not timed: others stand for them.
    pub untimed: u64,
    /// For how long.
    pub spent: Nanoseconds,
    /// The longest one, in ns.
    pub longest: u64,
    /// How many took less than 2 ns, then from 2, 4, 8 … ns on.
    pub lengths: Vec<u64>,
    /// Threads that are in it still.
    pub in_flight: u64,
    /// Who ended its waits: a name, none for an interrupt; how many, and for how many ns they blocked.
    pub wakers: Vec<(Option<String>, u64, u64)>,
}

/// What a thread did, in nanoseconds. From `wall` on, all sums to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    /// Its process.
    pub process: u32,
    /// Its own number.
    pub thread: u32,
    /// Its name at the end.
    pub name: String,
    /// From its start to its end, or until now.
    pub wall: u64,
    /// On a CPU in user code.
    pub user: u64,
    /// On a CPU in calls.
    pub kernel: u64,
    /// On a CPU in page faults.
    pub faults: u64,
    /// On a CPU in interrupts.
    pub interrupts: u64,
    /// Queued for a CPU.
    pub queued: u64,
    /// Blocked.
    pub blocked: u64,
}

/// How many threads ran at a time, in nanoseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Course {
    /// For how long 1, 2, 3 … of them ran at once, the last one for all above.
    pub running: Vec<u64>,
    /// None ran, and one was queued.
    pub queued: u64,
    /// All were blocked, by what ended that.
    pub stood: Vec<(Doing, u64)>,
}

/// What a command did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Observation {
    /// From the call that executed it to the end of its first process, in ns.
    pub wall: u64,
    /// How many of its threads ran at a time. None where programs of tracepoints may take no lock.
    pub course: Option<Course>,
    /// By row.
    pub rows: Vec<Row>,
    /// In the order in which they ended, those that did not at the end.
    pub threads: Vec<Thread>,
    /// Threads that began.
    pub began: u64,
    /// Threads that were not followed, because too many lived at once.
    pub lost: u64,
    /// Times that a thread left its CPU.
    pub switches: u64,
    /// Times that a thread was on a CPU to which the kernel had reported no switch. Its time there up to then
    /// is among the time that it was queued.
    pub unseen_switches: u64,
    /// Calls of which only the end was seen. They were not timed.
    pub unseen_calls: u64,
    /// What was done with which file. None where nobody asked.
    pub files: Option<Vec<FileUse>>,
    /// Calls that are in none of these, as there was no room for another file.
    pub unnamed: u64,
}

/// Programs that are attached; they are gone when this is dropped, or when its process ends, however it does.
#[derive(Debug)]
pub struct Profiler {
    loaded: Ebpf,
    /// Whether programs of tracepoints may take a lock.
    locks: bool,
    /// Whether the kernel's count of each thread's page faults is read, so that they need not all be seen.
    counts: bool,
    follows_files: bool,
    starter: String,
    calls: Calls,
    /// What sees page faults, or why nothing does.
    faults: Result<Faults, String>,
    /// Why the kernel's types are not known, so that its programs are handed records.
    pub no_types: Option<String>,
    /// What observing costs.
    pub costs: Costs,
}

impl Profiler {
    /// Attaches the programs, which tell calls apart by their file if `follows_files`.
    ///
    /// # Errors
    /// What is lacking.
    pub fn attach(follows_files: bool) -> Result<Self, Unattached> {
        let (types, loader) = kernel_types();
        let (starter, padded) = starter();
        let faults = Faults::open();
        let with = |loader: EbpfLoader<'static>, locks: bool, rests: bool| {
            let types = types.as_ref().ok();
            let files = follows_files && types.is_some();
            // Linux 5.10 knows the helper neither that says which task is on the CPU.
            let counts = faults.is_ok() && types.is_some() && locks;
            let wanted = Wanted { starter: &padded, types, locks, counts, rests, follows_files: files };
            wanted.load(loader).map(|loaded| (loaded, wanted))
        };
        // To attach a program and to detach it makes the kernel change its own code, and under QEMU's
        // translator some died of that.
        let rests = cfg!(target_arch = "x86_64") && !follows_files && !is_translated();
        let (loaded, no_types) = match &types {
            Ok(_) => {
                // Before 5.15 it has no helper that says with which registers a task came into the kernel.
                let mut loaded = with(loader, true, rests);
                for (locks, rests) in [(true, false), (false, false)] {
                    loaded = loaded.or_else(|unattached| match unattached.lacking {
                        Lacking::Kernel => with(EbpfLoader::new(), locks, rests),
                        _ => Err(unattached),
                    });
                }
                (loaded?, None)
            }
            Err(no_types) => {
                let records = with(loader, false, false).map_err(|unattached| Unattached {
                    why: format!("{}; without it: {}", no_types.why, unattached.why),
                    ..unattached
                });
                (records?, Some(no_types.why.clone()))
            }
        };
        let (mut loaded, Wanted { locks, counts, rests, follows_files, .. }) = loaded;
        // Right before they are attached, and not before they are loaded, which takes a while: what else the
        // machine does then is the same.
        let bare = Bare::measure(follows_files);
        // What sees calls begin is attached when it is known what it costs to see their ends alone.
        let tracepoints = TRACEPOINTS.iter().filter(|(program, ..)| !rests || *program != calls::PROGRAM.0);
        for &(program, tracepoint, is_everywhere) in tracepoints {
            let record = RECORDS.iter().find(|(of, ..)| *of == program && types.is_err());
            let at = record.map_or(tracepoint, |(_, event, _)| event);
            if let (Err(error), true) = (bpf::attach(&mut loaded, program, at), is_everywhere) {
                return Err(unattached(&format!("attach a BPF program to {tracepoint}"), &error));
            }
        }
        let mut faults = faults.map_err(|error| chain(&error));
        if let Some(Err(error)) = faults.as_mut().ok().map(|faults| faults.attach(&mut loaded)) {
            faults = Err(chain(&error));
        }
        let costs = Costs::default();
        let calls = Calls::new(rests);
        let mut profiler =
            Self { loaded, locks, counts, follows_files, starter, calls, faults, no_types, costs };
        profiler.costs = profiler.measure_costs(bare).ok_or_else(|| Unattached {
            lacking: Lacking::Kernel,
            why: "its tracepoints accepted the programs, which then saw none of the calls made to try them"
                .into(),
        })?;
        Ok(profiler)
    }

    /// Why page faults are not seen. None where they are.
    pub fn no_faults(&self) -> Option<&str> {
        self.faults.as_ref().err().map(String::as_str)
    }

    /// Does something while this thread has the name by which the programs know who starts a command.
    fn named<T>(&self, work: impl FnOnce() -> T) -> Result<T, Fault> {
        named(&self.starter, work)
    }

    /// Runs a command as [`crate::child::through`] does, and what it did; at the deadline all its
    /// processes are killed.
    ///
    /// # Errors
    /// A fault where it cannot be started, or where what was added up cannot be read.
    pub fn run(&mut self, mut command: Command, deadline: Duration) -> Result<(End, Observation), Fault> {
        let Self { loaded, counts, calls, faults, starter, .. } = self;
        if let Ok(faults) = faults {
            faults.leave_limits(&mut command);
        }
        let ended = thread::scope(|scope| {
            let (_ended, has_ended) = mpsc::channel::<()>();
            let mut faults = faults.as_mut().ok().filter(|_| *counts);
            if faults.is_some() || calls.rest_at_times() {
                scope.spawn(move || {
                    while has_ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                        calls.look(loaded);
                        if let Some(faults) = &mut faults {
                            faults.look(loaded);
                        }
                    }
                });
            }
            named(starter, || descendants::through(command, deadline))
        })??;
        let observation = self.read(nanoseconds_now());
        let observation = observation
            .map_err(|why| Fault::system("read what BPF programs added up", io::Error::other(why)))?;
        Ok((ended, observation))
    }

    fn read(&mut self, now: u64) -> Result<Observation, String> {
        let text = |error: aya::maps::MapError| chain(&error);
        let mut raw = Vec::new();
        let mut ended = Queue::<_, RawThread>::try_from(self.loaded.map_mut("ended").ok_or("no map ended")?)
            .map_err(text)?;
        while let Ok(thread) = ended.pop(0) {
            // What executed nothing is no part of a command.
            if thread.armed == 0 {
                raw.push(thread);
            }
        }
        let loaded = &self.loaded;
        let of = |name: &str| loaded.map(name).ok_or_else(|| format!("no map {name}"));
        let course: RawCourse = Array::try_from(of("courses")?).map_err(text)?.get(&0, 0).map_err(text)?;
        let tally: RawTally = Array::try_from(of("tallies")?).map_err(text)?.get(&0, 0).map_err(text)?;
        let threads = Array::<_, RawThread>::try_from(of("threads")?).map_err(text)?;
        let slots = HashMap::<_, u32, u32>::try_from(of("slot_of")?).map_err(text)?;
        let mut alive = Vec::new();
        for entry in slots.iter() {
            let (_, slot) = entry.map_err(text)?;
            alive.push(until(threads.get(&slot, 0).map_err(text)?, now));
        }
        let parts = PerCpuArray::try_from(of("rows")?).map_err(text)?;
        let pendings = Array::try_from(of("pendings")?).map_err(text)?;
        let cpus = Array::<_, RawCpu>::try_from(of("cpus")?).map_err(text)?;
        let unseen: Result<Vec<u64>, _> = (0..cpus.len()).map(|cpu| Ok(cpus.get(&cpu, 0)?.unseen)).collect();
        let unseen = unseen.map_err(text)?;
        let mut rows = rows(&parts, &pendings, &unseen, &alive).map_err(text)?;
        for entry in HashMap::<_, RawWake, RawWoken>::try_from(of("wakes")?).map_err(text)?.iter() {
            let (wake, woken) = entry.map_err(text)?;
            let by = letters(&wake.by);
            if let Some((_, row)) = rows.iter_mut().find(|(number, _)| *number == wake.row) {
                let by = Some(by).filter(|by| !by.is_empty());
                row.wakers.push((by, woken.count, woken.blocked));
            }
        }
        let stood = course.stood.iter().zip(0..).filter(|(time, _)| **time > 0);
        let at_once = Course {
            running: course.run[1..].to_vec(),
            queued: course.waited,
            stood: stood.map(|(time, row)| (Doing::of(row), *time)).collect(),
        };
        Ok(Observation {
            wall: course.ended.saturating_sub(course.began),
            course: self.locks.then_some(at_once),
            rows: rows.into_iter().map(|(_, row)| row).collect(),
            threads: raw.iter().chain(&alive).map(thread).collect(),
            began: tally.threads.into(),
            lost: tally.lost.into(),
            switches: tally.switches,
            unseen_switches: tally.unseen,
            unseen_calls: unseen.iter().sum(),
            files: self.follows_files.then(|| files::read(loaded)).transpose()?,
            unnamed: tally.unnamed,
        })
    }
}

/// How programs are to be loaded.
#[derive(Clone, Copy)]
struct Wanted<'a> {
    starter: &'a [u8; NAME],
    /// None where they are to be handed records.
    types: Option<&'a Types>,
    locks: bool,
    counts: bool,
    rests: bool,
    follows_files: bool,
}

impl Wanted<'_> {
    /// The programs, which the kernel took and nothing calls yet.
    fn load(&self, loader: EbpfLoader<'static>) -> Result<Ebpf, Unattached> {
        let (locks, files) = (u32::from(self.locks), u32::from(self.follows_files));
        let mut loader: EbpfLoader<'_> = loader;
        loader.btf(self.types.map(|types| &types.members)).override_global("starter", self.starter, true);
        loader.override_global("locks", &locks, true).override_global("slots", &(SLOTS - 1), true);
        loader.override_global("follows_files", &files, self.follows_files);
        let (counts, rests) = (u32::from(self.counts), u32::from(self.rests));
        loader.override_global("counts", &counts, true).override_global("rests", &rests, self.rests);
        if self.follows_files {
            files::make_room(&mut loader);
        }
        loader.map_max_entries("threads", SLOTS).map_max_entries("slot_of", SLOTS);
        loader.map_max_entries("free_slots", SLOTS);
        let cpus = nr_cpus().map_err(|(_, error)| unattached("count the CPUs", &error))?;
        let cpus = u32::try_from(cpus).unwrap_or(u32::MAX);
        loader.map_max_entries("cpus", cpus).map_max_entries("pendings", place(cpus, 0));
        // What the build script packed can be unpacked.
        let packed = if self.types.is_some() { PACKED } else { PACKED_RECORDS };
        let object = miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default();
        let loaded = loader.load(&object);
        let mut loaded = loaded.map_err(|error| unattached("create what BPF programs add up in", &error))?;
        if !self.locks {
            let mut slots = Stack::<_, u32>::try_from(map(&mut loaded, "free_slots")?)
                .map_err(|error| unattached("fill a BPF map", &error))?;
            for slot in (1..SLOTS).rev() {
                slots.push(slot, 0).map_err(|error| unattached("fill a BPF map", &error))?;
            }
        }
        if self.follows_files {
            files::fill(&mut loaded)?;
        }
        if self.types.is_none() {
            for (_, event, fields) in RECORDS {
                check_fields(event, fields).map_err(|why| Unattached { lacking: Lacking::Kernel, why })?;
            }
        }
        self.load_programs(&mut loaded)?;
        Ok(loaded)
    }

    /// Hands the programs to the kernel, which looks through each of them for some milliseconds: several at a
    /// time.
    fn load_programs(&self, loaded: &mut Ebpf) -> Result<(), Unattached> {
        let mut results: Vec<(&str, bool, Result<(), ProgramError>)> = thread::scope(|scope| {
            let programs = loaded.programs_mut().filter_map(|(name, program)| {
                let mut known = TRACEPOINTS.iter().chain(&faults::PROGRAMS);
                let (_, at, is_everywhere) = known.find(|(known, ..)| *known == name)?;
                Some((*at, *is_everywhere, scope.spawn(move || load(program, at, self.types))))
            });
            // All are begun before one is waited for.
            let begun: Vec<_> = programs.collect();
            let joined = |thread: ScopedJoinHandle<'_, _>| {
                thread.join().unwrap_or_else(|panic| panic::resume_unwind(panic))
            };
            begun.into_iter().map(|(at, is_everywhere, thread)| (at, is_everywhere, joined(thread))).collect()
        });
        // The same one is named each time.
        results.order_by_key(|(at, ..)| *at);
        match results.into_iter().find(|(_, is_everywhere, result)| *is_everywhere && result.is_err()) {
            Some((at, _, Err(error))) => Err(unattached(&format!("load a BPF program for {at}"), &error)),
            _ => Ok(()),
        }
    }
}

/// Where the map `pendings` has a row of a CPU.
fn place(cpu: u32, row: u32) -> u32 {
    cpu.saturating_mul(ROWS + 1).saturating_add(row)
}

/// The sums over all CPUs of the rows that were ever used, with what threads that live are in.
fn rows(
    all: &PerCpuArray<&MapData, RawRow>,
    pendings: &Array<&MapData, RawPending>,
    unseen: &[u64],
    alive: &[RawThread],
) -> Result<Vec<(u32, Row)>, aya::maps::MapError> {
    let mut rows = Vec::new();
    for number in 0..ROWS {
        let mut row = Row {
            doing: Doing::of(number),
            count: 0,
            errors: 0,
            untimed: 0,
            spent: Nanoseconds::default(),
            longest: 0,
            lengths: vec![0; LENGTHS],
            in_flight: 0,
            wakers: Vec::new(),
        };
        for (cpu, part) in (0..).zip(all.get(&number, 0)?.iter()) {
            // Those after the last timed one; of calls that are seen to begin, none is untimed before many
            // were timed.
            let pending = if part.count > 0 || number == FAULT || unseen.get(cpu as usize) > Some(&0) {
                pendings.get(&place(cpu, number), 0)?
            } else {
                RawPending::NONE
            };
            row.count += u64::from(pending.count);
            row.untimed += u64::from(pending.count);
            row.errors += u64::from(pending.errors);
            row.spent.on_cpu += pending.on_cpu();
            row.count += part.count;
            row.errors += part.errors;
            row.untimed += part.untimed;
            row.spent = row.spent.plus(part.split);
            row.longest = row.longest.max(part.longest);
            row.lengths.iter_mut().zip(part.lengths).for_each(|(sum, more)| *sum += more);
        }
        stand_for_all(&mut row.lengths, row.count);
        for thread in alive {
            if number == USER {
                row.spent = row.spent.plus(thread.user);
            } else if thread.row == number {
                row.spent = row.spent.plus(thread.here);
                row.in_flight += 1;
            }
        }
        if row.count > 0 || row.spent != Nanoseconds::default() {
            rows.push((number, row));
        }
    }
    Ok(rows)
}

/// Of those that were timed, how many there were of each length; of all, as many in proportion.
fn stand_for_all(lengths: &mut [u64], all: u64) {
    let timed: u64 = lengths.iter().sum();
    let (mut before, mut given) = (0, 0);
    for length in lengths.iter_mut().filter(|_| timed > 0) {
        before += *length;
        let up_to_here = u128::from(before) * u128::from(all) / u128::from(timed);
        let up_to_here = u64::try_from(up_to_here).unwrap_or(u64::MAX);
        *length = up_to_here - given;
        given = up_to_here;
    }
}

impl Nanoseconds {
    fn plus(self, other: Self) -> Self {
        Self {
            on_cpu: self.on_cpu + other.on_cpu,
            queued: self.queued + other.queued,
            blocked: self.blocked + other.blocked,
        }
    }

    /// All of it.
    pub fn total(self) -> u64 {
        self.on_cpu + self.queued + self.blocked
    }
}

/// A thread that lives, as it were if an event came now.
fn until(mut thread: RawThread, now: u64) -> RawThread {
    let spent = if thread.row == USER { &mut thread.user } else { &mut thread.here };
    let passed = now.saturating_sub(thread.mark);
    match thread.state {
        0 => spent.on_cpu += passed,
        1 => spent.queued += passed,
        _ => spent.blocked += passed,
    }
    thread.ended = now;
    thread
}

fn thread(raw: &RawThread) -> Thread {
    // What a thread that lives is in has not been added yet.
    let open = if raw.row == USER { Nanoseconds::default() } else { raw.here };
    let (mut kernel, mut faults) = (raw.kernel, raw.faults);
    *(if raw.row == FAULT { &mut faults } else { &mut kernel }) += open.on_cpu;
    Thread {
        process: raw.tgid,
        thread: raw.pid,
        name: letters(&raw.name),
        wall: raw.ended.saturating_sub(raw.began),
        user: raw.user.on_cpu,
        kernel,
        faults,
        interrupts: raw.interrupts,
        queued: raw.queued + raw.user.queued + open.queued,
        blocked: raw.blocked + raw.user.blocked + open.blocked,
    }
}

/// What a C string says, as far as it goes.
pub(crate) fn letters(name: &[u8]) -> String {
    let end = name.iter().position(|&letter| letter == 0).unwrap_or(name.len());
    String::from_utf8_lossy(&name[..end]).into_owned()
}

/// The kernel's clock that the programs read.
pub(crate) fn nanoseconds_now() -> u64 {
    nanoseconds(ClockId::Monotonic)
}

/// Nanoseconds as a length.
pub fn length(nanoseconds: u64) -> Picoseconds {
    Picoseconds(nanoseconds.saturating_mul(1000))
}
