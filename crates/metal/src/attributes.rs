//! Attributes of this process that whatever it starts inherits, and that the kernel forgets with it.

use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::num::NonZero;
use std::process;

use rustix::io::Errno;
use rustix::process::{Resource, geteuid, getpriority_process, getrlimit, setpriority_process};
use rustix::thread::{current_timer_slack, sched_setaffinity, set_current_timer_slack};
use tenbin_model::Cpu;

use crate::fault::Fault;
use crate::knobs::can_be_set;
use crate::pin::{allowed_cpus, set_of};

/// Where a bound on the time to wake is asked for (`Documentation/power/pm_qos_interface.rst`).
const LATENCY: &str = "/dev/cpu_dma_latency";

/// An attribute, with what it is to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Attribute {
    /// The CPUs that it may run on (sched_setaffinity(2)).
    Cpus(Vec<Cpu>),
    /// The niceness: -20 is the highest priority (setpriority(2)).
    Niceness(i32),
    /// Nanoseconds by which a sleep may be longer than asked for (`PR_SET_TIMERSLACK`, prctl(2)). 0 would be
    /// that of the kernel.
    TimerSlack(NonZero<u64>),
    /// No address is random (`ADDR_NO_RANDOMIZE`, personality(2)).
    FixedLayout,
    /// No CPU of the machine takes an idle state that it does not leave at once; while the file is open.
    NoIdleStates,
    /// It is in the control group that has this list of processes (`cgroup.procs`).
    Group(String),
}

impl Attribute {
    /// Whether this process may set it, as far as that can be asked. Nothing is changed.
    ///
    /// # Errors
    /// [`Fault::System`] with the reason.
    pub fn can_be_set(&self) -> Result<(), Fault> {
        match self {
            Self::NoIdleStates => can_be_set(LATENCY),
            // The limit counts the other way round: 40 is a niceness of -20 (setrlimit(2)).
            Self::Niceness(niceness) if !geteuid().is_root() => {
                let least = getrlimit(Resource::Nice).current.map_or(i64::MIN, |limit| 20 - limit as i64);
                if i64::from(*niceness) >= least.min(0) {
                    return Ok(());
                }
                let error = io::Error::from(io::ErrorKind::PermissionDenied);
                Err(Fault::system(format!("set the niceness to {niceness}"), error))
            }
            _ => Ok(()),
        }
    }

    /// The same attribute as this thread has it now. None where it is nothing that could be set back so.
    ///
    /// # Errors
    /// [`Fault::System`] with the kernel's reason.
    pub fn now(&self) -> Result<Option<Self>, Fault> {
        let fault = |error: Errno| Fault::system("read an attribute of this thread", error);
        Ok(match self {
            Self::Cpus(_) => Some(Self::Cpus(allowed_cpus()?)),
            Self::Niceness(_) => Some(Self::Niceness(getpriority_process(None).map_err(fault)?)),
            Self::TimerSlack(_) => NonZero::new(current_timer_slack().map_err(fault)?).map(Self::TimerSlack),
            Self::FixedLayout | Self::NoIdleStates | Self::Group(_) => None,
        })
    }

    /// Sets it, for this thread where it is a thread's. What is given back has to be kept for as long as it
    /// is to hold.
    ///
    /// # Errors
    /// [`Fault::System`] with the kernel's reason.
    pub fn set(&self) -> Result<Option<File>, Fault> {
        let fault = |tried: &str, error: io::Error| Fault::system(tried, error);
        match self {
            Self::Cpus(cpus) => {
                sched_setaffinity(None, &set_of(cpus))
                    .map_err(|error| fault("keep to CPUs", error.into()))?;
            }
            Self::Niceness(niceness) => setpriority_process(None, *niceness)
                .map_err(|error| fault(&format!("set the niceness to {niceness}"), error.into()))?,
            Self::TimerSlack(nanoseconds) => set_current_timer_slack(Some(*nanoseconds))
                .map_err(|error| fault("set the timer slack", error.into()))?,
            Self::FixedLayout => fix_layout().map_err(|error| fault("fix the address layout", error))?,
            Self::NoIdleStates => {
                let open = OpenOptions::new().write(true).open(LATENCY);
                let mut file = open.map_err(|error| fault(&format!("open {LATENCY}"), error))?;
                // Microseconds.
                let written = file.write_all(&0_i32.to_ne_bytes());
                written.map_err(|error| fault(&format!("write 0 to {LATENCY}"), error))?;
                return Ok(Some(file));
            }
            Self::Group(list) => std::fs::write(list, process::id().to_string())
                .map_err(|error| fault(&format!("write this process to {list}"), error))?,
        }
        Ok(None)
    }
}

fn fix_layout() -> io::Result<()> {
    /// Asks for what is there (`include/uapi/linux/personality.h`).
    const QUERY: libc::c_ulong = 0xffff_ffff;
    // SAFETY: both calls take a number and no address (personality(2)).
    let now = unsafe { libc::personality(QUERY) };
    let fixed = libc::ADDR_NO_RANDOMIZE;
    // SAFETY: as above. What is set holds for programs that are executed from now on.
    let answer = if now < 0 { now } else { unsafe { libc::personality((now | fixed) as libc::c_ulong) } };
    if answer < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::thread;

    use super::*;

    /// A process or thread that it starts has them, and the thread next to it has not.
    #[test]
    fn what_a_thread_sets_its_children_inherit() {
        let own = || {
            let output = process::Command::new("cat").arg("/proc/self/timerslack_ns").output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let before = own();
        let set = thread::spawn(move || {
            Attribute::TimerSlack(NonZero::new(1234).unwrap()).set().unwrap();
            own()
        });
        assert_eq!(set.join().unwrap(), "1234");
        assert_eq!(own(), before);
        let cpus = crate::allowed_cpus().unwrap();
        let last = vec![*cpus.last().unwrap()];
        let expected = last.clone();
        let pinned = thread::spawn(move || {
            let attribute = Attribute::Cpus(last);
            let before = attribute.now().unwrap().unwrap();
            attribute.set().unwrap();
            assert_eq!(attribute.now().unwrap(), Some(attribute));
            let pinned = crate::allowed_cpus().unwrap();
            before.set().unwrap();
            assert_eq!(Attribute::Cpus(crate::allowed_cpus().unwrap()), before);
            pinned
        });
        assert_eq!(pinned.join().unwrap(), expected);
        assert_eq!(crate::allowed_cpus().unwrap(), cpus);
    }

    #[test]
    fn what_cannot_be_set_says_what_was_tried() {
        let error = Attribute::Group("/nowhere/cgroup.procs".into()).set().unwrap_err().to_string();
        assert!(error.contains("write this process to /nowhere/cgroup.procs"), "{error}");
        let nobody = Attribute::Cpus(Vec::new()).set().unwrap_err().to_string();
        assert!(nobody.contains("keep to CPUs"), "{nobody}");
    }

    #[test]
    fn a_fixed_layout_is_a_personality() {
        if std::env::var_os("TENBIN_FIXED").is_some() {
            Attribute::FixedLayout.set().unwrap();
            println!("{}", fs::read_to_string("/proc/thread-self/personality").unwrap());
            return;
        }
        let own = "attributes::tests::a_fixed_layout_is_a_personality";
        let mut child = process::Command::new(std::env::current_exe().unwrap());
        let output = child.args(["--exact", own, "--nocapture"]).env("TENBIN_FIXED", "").output().unwrap();
        assert!(String::from_utf8_lossy(&output.stdout).contains("00040000"), "{output:?}");
    }
}
