//! Page faults: where they begin and end is seen of each one, and once there were many, of a sample.

use std::mem;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::Duration;

use aya::Ebpf;
use aya::maps::PerCpuArray;
use aya::programs::perf_event::{
    PerfEventConfig, PerfEventLinkId, PerfEventScope, SamplePolicy, SoftwareEvent,
};
use aya::programs::{Program, ProgramError};
use aya::util::online_cpus;

use super::FAULT;
use super::layout::{EACH_TIMED, RawRow};
use crate::bpf::{Types, attach_tracepoint, load};

/// Programs of page faults, as in [`super::TRACEPOINTS`]; those for events of perf have no tracepoint.
pub(super) const PROGRAMS: [(&str, &str, bool); 3] = [
    ("fault_ends", "", false),
    ("major_fault_ends", "", false),
    ("user_fault_begins", "page_fault_user", false),
];

/// One of so many is seen to end where they are a sample (`EVERY`).
pub(super) const EVERY: u64 = 8;

/// The time between two looks at how many there were.
const LOOK: Duration = Duration::from_millis(10);

/// What sees page faults.
#[derive(Debug)]
pub(super) struct Faults {
    /// Whether a tracepoint sees where they begin (x86). Else an event of perf does, each one.
    pub(super) at_tracepoint: bool,
    /// The events that see where they end.
    ends: Vec<PerfEventLinkId>,
}

impl Faults {
    /// Attaches it to see each of them.
    pub(super) fn attach(loaded: &mut Ebpf, types: Option<&Types>) -> Result<Self, ProgramError> {
        let ends = attach_event(loaded, "fault_ends", SoftwareEvent::PageFaultsMin, 1)?;
        attach_event(loaded, "major_fault_ends", SoftwareEvent::PageFaultsMaj, 1)?;
        let [.., (program, tracepoint, _)] = PROGRAMS;
        let at_tracepoint = attach_tracepoint(loaded, program, tracepoint, types).is_ok();
        if !at_tracepoint {
            attach_event(loaded, "fault_begins", SoftwareEvent::PageFaults, 1)?;
        }
        Ok(Self { at_tracepoint, ends })
    }

    /// From now on, one in `every` is seen to end.
    pub(super) fn sample(&mut self, loaded: &mut Ebpf, every: u64) -> Result<(), ProgramError> {
        let before = mem::take(&mut self.ends);
        self.ends = attach_event(loaded, "fault_ends", SoftwareEvent::PageFaultsMin, every)?;
        if let Some(Program::PerfEvent(program)) = loaded.program_mut("fault_ends") {
            before.into_iter().try_for_each(|link| program.detach(link))?;
        }
        Ok(())
    }

    /// Goes over to a sample once there were many, unless the other end of `ended` is gone before.
    pub(super) fn watch(&mut self, loaded: &mut Ebpf, ended: &Receiver<()>) {
        while ended.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
            if count(loaded) > EACH_TIMED {
                // Where that fails, each one is seen still.
                let _ = self.sample(loaded, EVERY);
                return;
            }
        }
    }
}

/// How many there were.
fn count(loaded: &Ebpf) -> u64 {
    let rows = loaded.map("rows").and_then(|rows| PerCpuArray::<_, RawRow>::try_from(rows).ok());
    let row = rows.and_then(|rows| rows.get(&FAULT, 0).ok());
    row.iter().flat_map(|row| row.iter()).map(|part| part.count).sum()
}

/// Has a program called at each `every`th event of perf, once the kernel took it.
fn attach_event(
    loaded: &mut Ebpf,
    program: &str,
    event: SoftwareEvent,
    every: u64,
) -> Result<Vec<PerfEventLinkId>, ProgramError> {
    let Some(program) = loaded.program_mut(program) else { return Ok(Vec::new()) };
    load(program, "", None)?;
    let Program::PerfEvent(program) = program else { return Ok(Vec::new()) };
    let cpus = online_cpus().map_err(|(_, error)| ProgramError::IOError(error))?;
    let mut attach = |cpu| {
        let scope = PerfEventScope::AllProcessesOneCpu { cpu };
        program.attach(PerfEventConfig::Software(event), scope, SamplePolicy::Period(every), false)
    };
    cpus.into_iter().map(&mut attach).collect()
}
