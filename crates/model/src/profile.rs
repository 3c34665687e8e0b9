//! Where the wall time of a command went.
//!
//! Each thread is somewhere at any time: in user code, in a system call, in a page fault or in an interrupt.
//! There it is on a CPU, or could be and waits for one, or waits for something else. The parts of a thread's
//! time sum to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::schema::{Schema, Shape};
use crate::unit::Picoseconds;

/// Where the time of a command, with all its processes and threads, went.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Profile {
    /// Name and version of this shape.
    #[schemars(extend("const" = Profile::SCHEMA))]
    pub schema: Schema<Self>,
    /// The words of its command line; none where a file does not say.
    pub command: Vec<String>,
    /// How it was observed.
    pub observer: Observer,
    /// When it was begun, as ISO 8601 has it; empty where nobody knows.
    pub started: String,
    /// Where it ran. None where a file does not say.
    pub machine: Option<Machine>,
    /// From its start to the end of its first process. None where that is not known.
    pub wall: Option<Picoseconds>,
    /// The status that the first process ended with, or 256 and the number of the signal that ended it.
    pub exit_status: Option<u64>,
    /// What the kernel charged it with, and how many CPUs it could use.
    pub charged: Option<Charged>,
    /// How many of its threads ran at a time. None where that is not known.
    pub course: Option<Course>,
    /// What its threads did, the longest first.
    pub activities: Vec<Activity>,
    /// Its threads in the order in which they began, up to a limit.
    pub threads: Vec<Thread>,
    /// Threads that are not in `threads`; their time is in `activities` and `course`.
    pub more_threads: u64,
    /// What of it could not be seen or read, a sentence each.
    pub unseen: Vec<String>,
    /// What observing it cost. None where that is not known.
    pub overhead: Option<Overhead>,
    /// The snapshots that its times are estimates from. None where each event was seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub snapshots: Option<Snapshots>,
    /// What its system calls did with which file. Empty where nobody asked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub files: Vec<FileUse>,
}

/// What a system call did with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FileUse {
    /// The file: a path, as the program gave it where the call is about a path; or `a pipe`, `a socket`.
    pub file: String,
    /// The call.
    pub activity: String,
    /// How often.
    pub count: u64,
    /// How often that failed.
    pub errors: u64,
    /// For how long.
    pub split: Split,
}

impl Shape for Profile {
    const SCHEMA: &'static str = "tenbin-profile-1";
}

/// How a command was observed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Observer {
    /// Programs in the kernel (BPF) that add up at each event.
    #[default]
    Kernel,
    /// A log of strace.
    Log,
    /// A stop of each thread at the entry and the exit of each system call (ptrace(2)): calls are counted
    /// exactly, and their times hold what the stops took.
    Exact,
    /// Snapshots of what each thread was in, as /proc shows it: shares of the time are estimates, and nothing
    /// is counted.
    Snapshots,
}

/// What estimates are made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Snapshots {
    /// The time between two of them, in the mean.
    pub every: Picoseconds,
    /// How many there were.
    pub count: u64,
    /// How many threads they saw, all together.
    pub threads: u64,
}

/// What the kernel charged a command with (`getrusage(2)`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Charged {
    /// User time of all threads.
    pub user: Picoseconds,
    /// System time of all threads.
    pub system: Picoseconds,
    /// CPUs that it could run on.
    pub cpus: u32,
}

/// How many threads ran at a time, over the wall time of a command. Its parts sum to that.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Course {
    /// For how long 1, 2, 3 … of its threads ran at once; the last one is for so many or more.
    pub running: Vec<Picoseconds>,
    /// None ran, and at least one waited for a CPU.
    pub queued: Picoseconds,
    /// All waited for something else, by the activity whose wait ended that, the longest first.
    pub blocked: Vec<BlockedBy>,
}

/// For how long a command stood still until something ended a wait.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BlockedBy {
    /// The name of the activity that waited; `stop` where threads were stopped in user code, by a signal, a
    /// debugger or the freezer of their cgroup.
    pub activity: String,
    /// For how long.
    pub time: Picoseconds,
}

/// What a thread is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// Its own code.
    User,
    /// A system call.
    Call,
    /// A system call that waits for another process or thread of the command, or until something happens
    /// (`wait4`, `poll`, `futex`): its time is that of what it waits for.
    Wait,
    /// A page fault outside of calls; one in a call is part of that.
    Fault,
    /// An interrupt that came while it was on a CPU.
    Interrupt,
}

impl Kind {
    /// What a system call of this name is: [`Kind::Wait`] where all that it does is to wait for another
    /// process or thread, or until something happens. One that waits now and then for what it is asked for
    /// (`read` of a pipe, `accept`) is a [`Kind::Call`].
    pub fn of_call(name: &str) -> Self {
        // Where words have 32 bits, a call that takes times of 64 has a name of its own.
        match name.strip_suffix("_time64").unwrap_or(name) {
            "wait4" | "waitid" | "waitpid" | "poll" | "ppoll" | "select" | "_newselect" | "pselect6"
            | "epoll_wait" | "epoll_pwait" | "epoll_pwait2" | "futex" | "futex_wait" | "futex_waitv"
            | "pause" | "nanosleep" | "clock_nanosleep" | "restart_syscall" | "rt_sigsuspend"
            | "sigsuspend" | "rt_sigtimedwait" | "io_getevents" | "io_pgetevents" => Self::Wait,
            _ => Self::Call,
        }
    }
}

/// What threads did, added up over all of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Activity {
    /// The name of the system call, or `user code`, `page fault`, `interrupt`.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// How often; of user code 0.
    pub count: u64,
    /// Calls that failed.
    pub errors: u64,
    /// For how long, all threads together.
    pub total: Picoseconds,
    /// What it did meanwhile: sums to `total`. None where that is not known.
    pub split: Option<Split>,
    /// The longest one, of those that were timed or waited.
    pub longest: Picoseconds,
    /// How many took less than 2 ns, then from 2, 4, 8 … ns on; those that were not timed, as those did that
    /// stand for them. Empty where they were not told apart.
    pub histogram: Vec<u64>,
    /// What ended its waits, the longest first.
    pub wakers: Vec<Waker>,
    /// Calls that had not returned at the end.
    pub in_flight: u64,
}

/// How time was spent.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Split {
    /// On a CPU.
    pub on_cpu: Picoseconds,
    /// Able to run, and waiting for a CPU.
    pub queued: Picoseconds,
    /// Waiting for something else.
    pub blocked: Picoseconds,
}

impl Split {
    /// All of it.
    pub fn total(&self) -> Picoseconds {
        self.on_cpu + self.queued + self.blocked
    }

    /// This and another one.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            on_cpu: self.on_cpu + other.on_cpu,
            queued: self.queued + other.queued,
            blocked: self.blocked + other.blocked,
        }
    }
}

/// What ended waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Waker {
    /// The name of the process, or `interrupt`.
    pub name: String,
    /// Waits that it ended.
    pub count: u64,
    /// How long they were.
    pub blocked: Picoseconds,
}

/// Where the time of one thread went. Its parts sum to `wall`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Thread {
    /// Its process.
    pub process: u32,
    /// Its own number.
    pub thread: u32,
    /// Its name at the end.
    pub name: String,
    /// From its start to its end.
    pub wall: Picoseconds,
    /// On a CPU in user code.
    pub user: Picoseconds,
    /// On a CPU in system calls.
    pub kernel: Picoseconds,
    /// On a CPU in page faults.
    pub faults: Picoseconds,
    /// On a CPU, which served interrupts.
    pub interrupts: Picoseconds,
    /// Able to run, and waiting for a CPU.
    pub queued: Picoseconds,
    /// Waiting for something else.
    pub blocked: Picoseconds,
}

/// What observing a command cost it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Overhead {
    /// By what was observed.
    pub parts: Vec<OverheadPart>,
    /// All of it, over all threads.
    pub total: Picoseconds,
}

/// What observing events of one kind cost, as measured before with such events that do next to nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct OverheadPart {
    /// What was observed.
    pub event: Event,
    /// How many.
    pub count: u64,
    /// What observing added to each.
    pub each: Picoseconds,
    /// For how long a thread seems to be in user code between two that follow at once: what comes before the
    /// first program of one and after its last one. It is part of `each` and of what one takes by itself.
    pub between: Picoseconds,
}

/// What costs something to observe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Event {
    /// A system call.
    Call,
    /// A system call that is not timed, as others of its kind stand for it.
    UntimedCall,
    /// A system call of which only the end was seen. It is not timed either.
    UnseenCall,
    /// A page fault.
    Fault,
    /// A page fault that is not timed.
    UntimedFault,
    /// A thread that leaves its CPU.
    Switch,
    /// A snapshot of all threads, which takes a CPU beside the command.
    Snapshot,
}

impl Overhead {
    /// What observing these events cost. None where there were none.
    pub fn part(&self, event: Event) -> Option<&OverheadPart> {
        self.parts.iter().find(|part| part.event == event)
    }
}
