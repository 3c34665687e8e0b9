//! Something that is stopped for a time, and goes on then whatever becomes of this process.
//!
//! CPUs are held by a program in the kernel that has its own end (`bpf/stall.bpf.c`). What is stopped from
//! outside, a process or a virtual machine, is let go by a guardian that is there before it stops.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use aya::maps::{Array, Map, MapError, PerCpuArray, PerCpuValues};
use aya::programs::perf_event::{PerfEventConfig, PerfEventScope, SamplePolicy, SoftwareEvent};
use aya::programs::{PerfEvent, ProgramError};
use aya::{Ebpf, EbpfLoader, Pod};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};
use tenbin_model::Cpu;
use tenbin_model::machine::cpus_in_words;

use crate::bpf::{Unattached, chain, unattached};
use crate::child::monotonic;
use crate::fault::Fault;
use crate::guardian::Guardian;
use crate::pin::Pin;

/// The program, as the build script packed it.
static PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/stall.bpf.deflate"));

/// How long a CPU waits for the others.
const PATIENCE: Duration = Duration::from_millis(200);

/// From one tick of a CPU's clock to the next: each begins within that time.
const TICK: Duration = Duration::from_millis(1);

/// How long the end of a stall that is over may take to be seen.
const DELAY: Duration = Duration::from_secs(2);

/// As in `bpf/stall.bpf.c`.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Order {
    nanoseconds: u64,
    patience: u64,
    cpus: u64,
}

/// As in `bpf/stall.bpf.c`: nanoseconds of the monotonic clock.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
struct Course {
    arrived: u64,
    began: u64,
    ended: u64,
}

// SAFETY: integers in C's layout, without a gap; any bytes are a value. So for the next.
unsafe impl Pod for Order {}
// SAFETY: see above.
unsafe impl Pod for Course {}

/// A CPU that stood still.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standstill {
    /// Which.
    pub cpu: Cpu,
    /// When it began, on the monotonic clock.
    pub began: Duration,
    /// When it ended.
    pub ended: Duration,
}

/// CPUs that can be held.
#[derive(Debug)]
pub struct Stall {
    loaded: Ebpf,
    cpus: Vec<Cpu>,
}

impl Stall {
    /// Loads the program. Nothing stops yet.
    ///
    /// # Errors
    /// What is lacking: rights, or a kernel with `bpf_loop` (Linux 5.17).
    pub fn load(cpus: &[Cpu]) -> Result<Self, Unattached> {
        // What the build script packed can be unpacked.
        let object = miniz_oxide::inflate::decompress_to_vec(PACKED).unwrap_or_default();
        let mut loaded = EbpfLoader::new()
            .load(&object)
            .map_err(|error| unattached("create what a BPF program writes to", &error))?;
        program(&mut loaded)
            .and_then(|program| program.load())
            .map_err(|error| unattached("load a BPF program for perf events", &error))?;
        Ok(Self { loaded, cpus: cpus.to_vec() })
    }

    /// Holds the CPUs for `duration`, with interrupts off, from the moment when all of them are held. Comes
    /// back when they run again.
    ///
    /// # Errors
    /// [`Fault::System`] where a CPU's clock cannot be had, or one of them did not come in time: then none
    /// was held.
    pub fn hold(&mut self, duration: Duration) -> Result<Vec<Standstill>, Fault> {
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let words = cpus_in_words(&self.cpus);
        let tried = || format!("hold {words}");
        let of_map = |error: MapError| Fault::system(tried(), io::Error::other(error));
        self.reset().map_err(of_map)?;
        let of_program = |error: ProgramError| Fault::system(tried(), io::Error::other(chain(&error)));
        let mut links = Vec::new();
        for cpu in &self.cpus {
            let config = PerfEventConfig::Software(SoftwareEvent::CpuClock);
            let scope = PerfEventScope::AllProcessesOneCpu { cpu: cpu.0 };
            let ticks = SamplePolicy::Period(nanoseconds(TICK));
            let attached =
                program(&mut self.loaded).and_then(|program| program.attach(config, scope, ticks, false));
            links.push(attached.map_err(of_program)?);
        }
        let order = Order {
            nanoseconds: nanoseconds(duration),
            patience: nanoseconds(PATIENCE),
            cpus: self.cpus.len() as u64,
        };
        let over = AtomicBool::new(false);
        let ended = thread::scope(|scope| {
            // A CPU that idles may see its clock late, and the others would be held until it does.
            for &cpu in &self.cpus {
                let over = &over;
                scope.spawn(move || awake(cpu, over));
            }
            let begun = monotonic();
            let ordered = self.order(order);
            let ended = ordered.and_then(|()| self.ended(begun + duration + PATIENCE + DELAY, duration));
            over.store(true, Ordering::Relaxed);
            ended
        });
        for link in links {
            let detached = program(&mut self.loaded).and_then(|program| program.detach(link));
            detached.map_err(of_program)?;
        }
        ended.map_err(of_map)?.ok_or_else(|| {
            let why = format!("not every CPU stopped within {} ms, so none was held", PATIENCE.as_millis());
            Fault::system(tried(), io::Error::other(why))
        })
    }

    fn reset(&mut self) -> Result<(), MapError> {
        self.order(Order::default())?;
        let cpus = aya::util::nr_cpus().map_err(|(_, error)| MapError::IoError(error))?;
        let mut courses: PerCpuArray<_, Course> = PerCpuArray::try_from(map(&mut self.loaded, "courses")?)?;
        courses.set(0, PerCpuValues::try_from(vec![Course::default(); cpus])?, 0)?;
        let mut arrivals: Array<_, u64> = Array::try_from(map(&mut self.loaded, "arrivals")?)?;
        arrivals.set(0, 0, 0)
    }

    fn order(&mut self, order: Order) -> Result<(), MapError> {
        let mut orders: Array<_, Order> = Array::try_from(map(&mut self.loaded, "orders")?)?;
        orders.set(0, order, 0)
    }

    /// Waits until all have ended; none where one did not come.
    fn ended(&mut self, deadline: Duration, duration: Duration) -> Result<Option<Vec<Standstill>>, MapError> {
        thread::sleep(duration);
        loop {
            let courses: PerCpuArray<_, Course> = PerCpuArray::try_from(map(&mut self.loaded, "courses")?)?;
            let values = courses.get(&0, 0)?;
            let of = |cpu: &Cpu| {
                let course = values.get(cpu.0 as usize).filter(|course| course.ended > 0)?;
                let (began, ended) = (Duration::from_nanos(course.began), Duration::from_nanos(course.ended));
                Some(Standstill { cpu: *cpu, began, ended })
            };
            let all: Option<Vec<Standstill>> = self.cpus.iter().map(of).collect();
            if all.is_some() || monotonic() > deadline {
                return Ok(all);
            }
            thread::sleep(TICK);
        }
    }
}

/// Keeps a CPU from idling until it is over; one that this thread may not run on has others to do that.
fn awake(cpu: Cpu, over: &AtomicBool) {
    if let Ok(_pin) = Pin::hold(cpu) {
        while !over.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    }
}

/// The one program of the object.
fn program(loaded: &mut Ebpf) -> Result<&mut PerfEvent, ProgramError> {
    loaded.program_mut("stand_still").ok_or(ProgramError::UnexpectedProgramType)?.try_into()
}

fn map<'a>(loaded: &'a mut Ebpf, name: &str) -> Result<&'a mut Map, MapError> {
    loaded.map_mut(name).ok_or_else(|| MapError::InvalidName { name: name.into() })
}

/// What lets go on what was stopped.
#[derive(Debug)]
pub enum Resume {
    /// SIGCONT to the process of this pidfd.
    Signal(OwnedFd),
    /// These bytes to a file or a socket.
    Write(OwnedFd, &'static [u8]),
}

impl Resume {
    /// The same again.
    ///
    /// # Errors
    /// [`Fault::System`] where there are too many descriptors.
    pub fn copy(&self) -> Result<Self, Fault> {
        let copied = |file: &OwnedFd| {
            file.try_clone().map_err(|error| Fault::system("copy the descriptor of what is stopped", error))
        };
        Ok(match self {
            Self::Signal(process) => Self::Signal(copied(process)?),
            Self::Write(file, bytes) => Self::Write(copied(file)?, bytes),
        })
    }

    /// It allocates nothing.
    fn now(&self) -> Result<(), Errno> {
        match self {
            // One that has ended needs nothing.
            Self::Signal(process) => match pidfd_send_signal(process, Signal::CONT) {
                Err(Errno::SRCH) => Ok(()),
                sent => sent,
            },
            Self::Write(file, bytes) => rustix::io::write(file, bytes).map(drop),
        }
    }
}

/// Something that goes on at a time on the monotonic clock, or when this is dropped, and be it because this
/// process is killed: a guardian sees to it.
#[derive(Debug)]
pub struct Armed {
    resume: Resume,
    guardian: Option<Guardian>,
}

impl Armed {
    /// Arms a guardian. Nothing is stopped yet.
    ///
    /// # Errors
    /// [`Fault::System`] where there is no room for another process.
    pub fn until(resume: Resume, deadline: Duration) -> Result<Self, Fault> {
        let work = || {
            let until = Timespec {
                tv_sec: deadline.as_secs().cast_signed(),
                tv_nsec: deadline.subsec_nanos().into(),
            };
            while clock_nanosleep_absolute(ClockId::Monotonic, &until).is_err() {}
            let _ = resume.now();
        };
        // SAFETY: it sleeps, and sends a signal or writes bytes that were made before.
        let guardian = unsafe { Guardian::fork(work) }?;
        Ok(Self { resume, guardian: Some(guardian) })
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// [`Fault::System`] with the kernel's reason. The guardian is left to try when it is time.
    pub fn resume(mut self) -> Result<(), Fault> {
        self.go_on()
    }

    /// Leaves it to another one, and lets nothing go on.
    pub fn disarm(mut self) {
        self.guardian = None;
    }

    fn go_on(&mut self) -> Result<(), Fault> {
        let Some(guardian) = self.guardian.take() else { return Ok(()) };
        match self.resume.now() {
            Ok(()) => {
                drop(guardian);
                Ok(())
            }
            Err(error) => {
                guardian.leave();
                Err(Fault::system("let go on what was stopped", error))
            }
        }
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        // What could not be done is the guardian's.
        let _ = self.go_on();
    }
}

/// A process by a descriptor, which no other process gets when it has ended (pidfd_open(2)).
#[derive(Debug)]
pub struct Pidfd(OwnedFd);

impl Pidfd {
    /// The process of this number.
    ///
    /// # Errors
    /// [`Fault::System`] where there is none.
    pub fn open(number: u32) -> Result<Self, Fault> {
        let pid = i32::try_from(number).ok().and_then(Pid::from_raw);
        let opened = pid.ok_or(Errno::SRCH).and_then(|pid| pidfd_open(pid, PidfdFlags::empty()));
        opened.map(Self).map_err(|error| Fault::system(format!("open process {number}"), error))
    }

    /// Another descriptor of the same process.
    ///
    /// # Errors
    /// [`Fault::System`] where there are too many.
    pub fn copy(&self) -> Result<OwnedFd, Fault> {
        self.0.try_clone().map_err(|error| Fault::system("copy a descriptor of a process", error))
    }

    /// Sends SIGSTOP.
    ///
    /// # Errors
    /// [`Fault::System`] where that is not allowed, or it has ended.
    pub fn stop(&self) -> Result<(), Fault> {
        pidfd_send_signal(&self.0, Signal::STOP).map_err(|error| Fault::system("stop the process", error))
    }
}

/// The session of this process, as `/proc` numbers it: 0 where its leader is outside of this namespace of
/// processes. rustix's `getsid` takes 0 for impossible.
pub fn session() -> i32 {
    // SAFETY: getsid(2) of 0 is about the caller, and reads no memory.
    unsafe { libc::getsid(0) }
}

/// Has the kernel write to disks what it has not yet (sync(2)).
pub fn sync_disks() {
    rustix::fs::sync();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_session_is_that_of_proc_also_where_its_leader_is_outside() {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let mut fields = stat.rsplit_once(") ").unwrap().1.split_whitespace();
        assert_eq!(session().to_string(), fields.nth(3).unwrap());
    }
}
