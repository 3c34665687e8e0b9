//! What kept CPUs for long, as programs in the kernel (BPF) see it: `bpf/watch.bpf.c`.

use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::thread;
use std::time::Duration;

use aya::Ebpf;
use aya::maps::{MapData, RingBuf};

use crate::bpf::{Unattached, attach_ring, kernel_types, unattached};
use crate::profiler::letters;
use crate::sampling::long;
use crate::starter::{NAME, named, starter};

/// The programs, for machines whose lowest byte comes first.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/watch.bpf.deflate"));

/// Programs of tracepoints, each with its tracepoint and whether every kernel has that. What ends comes
/// before what begins.
const TRACEPOINTS: [(&str, &str, bool); 11] = [
    ("irq_ends", "irq_handler_exit", true),
    ("softirq_ends", "softirq_exit", true),
    ("timer_ends", "hrtimer_expire_exit", true),
    ("call_ends", "csd_function_exit", false),
    ("irq_begins", "irq_handler_entry", true),
    ("softirq_begins", "softirq_entry", true),
    ("timer_begins", "hrtimer_expire_entry", true),
    ("call_begins", "csd_function_entry", false),
    ("waking", "sched_waking", true),
    ("switched", "sched_switch", true),
    ("froze", "cgroup_notify_frozen", false),
];

/// How long this thread sleeps to be seen.
const MOMENT: Duration = Duration::from_millis(1);

/// `struct event`.
const EVENT: usize = 64;

/// What kept a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Work {
    /// A task, between two switches.
    Task {
        /// Its number.
        number: u64,
        /// Its name.
        name: String,
        /// Its priority in the kernel: below 100 it keeps ordinary tasks from running.
        priority: u32,
    },
    /// The handler of an interrupt.
    Interrupt {
        /// The interrupt's number.
        number: u64,
        /// What asked for it.
        name: String,
    },
    /// A soft interrupt, by its number (`enum` in `include/linux/interrupt.h`).
    Soft(u64),
    /// A timer's callback, by its address.
    Timer(u64),
    /// A function that another CPU had it call, by its address.
    Call(u64),
    /// Nothing that is known: a timer expired late, from when it should have to when it did. Its callback's
    /// address.
    Late(u64),
    /// Nothing: the control group of this process was frozen.
    Frozen,
    /// Nothing: a thread of this process was not on it.
    Away {
        /// The thread's name.
        name: String,
        /// When it was to run again, in nanoseconds of the monotonic clock. 0 where nobody woke it.
        woken: u64,
        /// Its state then (`include/linux/sched.h`): 0 where it could have run.
        state: u32,
    },
}

/// Something that took long. Times are nanoseconds of the monotonic clock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// When it began.
    pub began: u64,
    /// When it ended.
    pub ended: u64,
    /// On which CPU.
    pub cpu: u32,
    /// What it was.
    pub work: Work,
}

/// Programs that are attached; they are gone when this is dropped, or when its process ends, however it does.
pub struct Observer {
    /// What is loaded lives as long as this.
    _loaded: Ebpf,
    ring: RingBuf<MapData>,
}

impl Observer {
    /// Attaches the programs, for what takes `least` nanoseconds. `group` is the folder of this process's
    /// control group.
    ///
    /// # Errors
    /// What is lacking.
    pub fn attach(least: u64, group: Option<&Path>) -> Result<Self, Unattached> {
        let (types, mut loader) = kernel_types();
        let types = types?;
        let (starter, padded) = starter();
        // The number of its file is the kernel's for the group (`cgroup_id` in `include/linux/cgroup.h`).
        let group = group.and_then(|group| std::fs::metadata(group).ok()).map_or(0, |folder| folder.ino());
        loader.override_global("least", &least, true).override_global("starter", &padded, true);
        loader.override_global("group", &group, true);
        let (loaded, ring) = attach_ring(loader, PACKED, &TRACEPOINTS, &types)?;
        // It is known by its name when it leaves its CPU.
        let known = named(&starter, || thread::sleep(MOMENT));
        known.map_err(|fault| unattached("name this thread", &fault))?;
        Ok(Self { _loaded: loaded, ring })
    }

    /// What they saw since the last time, in the order in which it ended on each CPU.
    pub fn take(&mut self) -> Vec<Event> {
        let mut events = Vec::new();
        while let Some(bytes) = self.ring.next() {
            events.extend(bytes.first_chunk().and_then(event));
        }
        events
    }
}

fn event(bytes: &[u8; EVENT]) -> Option<Event> {
    let long = |place: usize| long(bytes, place);
    let word = |place: usize| Some(u32::from_ne_bytes(bytes.get(place..place + 4)?.try_into().ok()?));
    let (what, name) = (long(24)?, letters(bytes.last_chunk::<NAME>()?));
    let work = match word(32)? {
        0 => Work::Task { number: what, name, priority: word(40)? },
        1 => Work::Interrupt { number: what, name },
        2 => Work::Soft(what),
        3 => Work::Timer(what),
        4 => Work::Call(what),
        5 => Work::Late(what),
        7 => Work::Frozen,
        _ => Work::Away { name, woken: long(8)?, state: word(40)? },
    };
    Some(Event { began: long(0)?, ended: long(16)?, cpu: word(36)?, work })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_read_as_the_programs_write_it() {
        let bytes = |kind: u32, state: u32| {
            let mut bytes = [0; EVENT];
            for (place, value) in [(0, 100_u64), (8, 150), (16, 200), (24, 7)] {
                bytes[place..place + 8].copy_from_slice(&value.to_ne_bytes());
            }
            for (place, value) in [(32, kind), (36, 3), (40, state)] {
                bytes[place..place + 4].copy_from_slice(&value.to_ne_bytes());
            }
            bytes[48..53].copy_from_slice(b"cc1\0x");
            bytes
        };
        for (kind, work) in [
            (0, Work::Task { number: 7, name: "cc1".into(), priority: 4 }),
            (1, Work::Interrupt { number: 7, name: "cc1".into() }),
            (2, Work::Soft(7)),
            (3, Work::Timer(7)),
            (4, Work::Call(7)),
            (5, Work::Late(7)),
            (7, Work::Frozen),
            (6, Work::Away { name: "cc1".into(), woken: 150, state: 4 }),
        ] {
            let read = event(&bytes(kind, 4));
            assert_eq!(read, Some(Event { began: 100, ended: 200, cpu: 3, work }));
        }
    }
}
