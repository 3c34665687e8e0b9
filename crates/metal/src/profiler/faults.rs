//! Page faults: each one is seen to begin and to end, and once there are many, those of a tenth of the time.
//!
//! To see one takes as long as it takes itself. Where the kernel's types are known, its own count of each
//! thread's says how many there were that were not seen.

use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

use aya::Ebpf;
use aya::maps::{Array, PerCpuArray};
use aya::programs::ProgramError;
use aya::util::online_cpus;
use perf_event::events::Software;
use perf_event::{Builder, Counter};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use super::layout::{RawRow, RawTimed};
use super::{FAULT, UNSEEN};
use crate::bpf::load;

/// Programs of page faults, as in [`super::TRACEPOINTS`]; those of perf's events have no tracepoint.
pub(super) const PROGRAMS: [(&str, &str, bool); 2] = [("fault_begins", "", false), ("fault_ends", "", false)];

/// Events with what is called at them.
const EVENTS: [(&str, Software); 3] = [
    ("fault_ends", Software::PAGE_FAULTS_MIN),
    ("fault_ends", Software::PAGE_FAULTS_MAJ),
    ("fault_begins", Software::PAGE_FAULTS),
];

/// So many between two looks are many. Where there are fewer, to see each one costs little, and they may take
/// long.
const MANY: u64 = 200;

/// Where they are so many times as many as when each was seen, or as few, they may be of another kind.
const ALIKE: u64 = 3;

/// So many are each seen.
const EACH_SEEN: u64 = 1 << 15;

/// What sees page faults.
#[derive(Debug)]
pub(super) struct Faults {
    /// Those of each CPU, where one ends and then where one begins, with the program of each. They are
    /// disabled and not closed: closing them makes the kernel change its own code (static keys), and under
    /// QEMU's translator it died of that.
    events: Vec<(&'static str, Counter)>,
    are_seen: bool,
    /// How many there were at the look before.
    before: u64,
    /// How many there were between two looks, when each one was seen.
    seen: u64,
    /// Looks since that.
    unseen: u32,
    /// How many files this process might have open before.
    files: Rlimit,
}

impl Faults {
    /// Opens the events.
    pub(super) fn open() -> io::Result<Self> {
        // Where there are hundreds of CPUs, their events are more than the usual 1024.
        let files = getrlimit(Resource::Nofile);
        let _ = setrlimit(Resource::Nofile, Rlimit { current: files.maximum, ..files });
        let mut faults = Self { events: Vec::new(), are_seen: false, before: 0, seen: 0, unseen: 0, files };
        faults.events = events()?;
        Ok(faults)
    }

    /// Has the programs called at them, once each one is to be seen.
    pub(super) fn attach(&mut self, loaded: &mut Ebpf) -> Result<(), ProgramError> {
        for (name, event) in &mut self.events {
            let Some(program) = loaded.program_mut(name) else { continue };
            load(program, "", None)?;
            event.set_bpf(program.fd()?.as_fd().as_raw_fd()).map_err(ProgramError::IOError)?;
        }
        Ok(())
    }

    /// From now on, each one is seen.
    pub(super) fn see(&mut self) -> io::Result<()> {
        self.are_seen = true;
        self.events.iter_mut().try_for_each(|(_, event)| event.enable())
    }

    /// From now on, none is.
    fn rest(&mut self) -> io::Result<()> {
        self.are_seen = false;
        self.events.iter_mut().rev().try_for_each(|(_, event)| event.disable())
    }

    /// Has a command start with the limits that this process had.
    pub(super) fn leave_limits(&self, command: &mut Command) {
        let Rlimit { current, maximum } = self.files;
        let limits = move || Ok(setrlimit(Resource::Nofile, Rlimit { current, maximum })?);
        // SAFETY: the forked process makes one system call, of numbers that it has.
        unsafe { command.pre_exec(limits) };
    }

    /// Looks how many there were, and has them seen or not until the next look.
    pub(super) fn look(&mut self, loaded: &mut Ebpf) {
        let count = count(loaded);
        let since = count.saturating_sub(self.before);
        self.before = count;
        if !self.are_seen {
            self.unseen += 1;
            let is_as_seen = (self.seen / ALIKE..=self.seen * ALIKE).contains(&since);
            if self.unseen < UNSEEN && since > MANY && is_as_seen {
                return;
            }
            // Where that fails, those of late stand for all others.
            if self.see().is_err() {
                return;
            }
        } else if count > EACH_SEEN && since > MANY && self.rest().is_ok() {
            (self.seen, self.unseen) = (since, 0);
            return;
        }
        forget(loaded);
    }
}

impl Drop for Faults {
    /// The next profile of this process, and what it starts otherwise, has the limit that there was.
    fn drop(&mut self) {
        let Rlimit { current, maximum } = self.files;
        let _ = setrlimit(Resource::Nofile, Rlimit { current, maximum });
    }
}

/// From now on, those that follow are the ones of late.
fn forget(loaded: &mut Ebpf) {
    let timed = loaded.map_mut("faults_of_late").and_then(|map| Array::try_from(map).ok());
    if let Some(mut timed) = timed {
        let _ = timed.set(0, RawTimed { count: 0, on_cpu: 0 }, 0);
    }
}

/// The events of each CPU, each with its program.
fn events() -> io::Result<Vec<(&'static str, Counter)>> {
    let cpus = online_cpus().map_err(|(_, error)| error)?;
    let of_each = EVENTS.iter().flat_map(|of| cpus.iter().map(move |cpu| (of, *cpu)));
    let opened = of_each.map(|(&(program, event), cpu)| {
        let mut builder = Builder::new(event);
        builder.any_pid().one_cpu(cpu as usize).include_kernel().sample_period(1);
        Ok((program, builder.build()?))
    });
    opened.collect()
}

/// How many there were.
fn count(loaded: &Ebpf) -> u64 {
    let rows = loaded.map("rows").and_then(|rows| PerCpuArray::<_, RawRow>::try_from(rows).ok());
    let row = rows.and_then(|rows| rows.get(&FAULT, 0).ok());
    row.iter().flat_map(|row| row.iter()).map(|part| part.count).sum()
}
