//! What can go wrong between a program and its machine.

use std::fmt;
use std::io;
use std::time::Duration;

use tenbin_model::{Bytes, Cpu, Picoseconds};

/// A fault at the bottom: what was tried, on what, why it failed and what to do.
#[derive(Debug)]
pub enum Fault {
    /// A system call failed.
    System {
        /// What was tried, on what.
        tried: String,
        /// What the kernel said.
        error: io::Error,
    },
    /// A worker was not, or did not stay, on its CPU: its time says nothing about that CPU.
    PinNotHeld {
        /// Which worker, from 0.
        worker: usize,
        /// Where it should run.
        wanted: Cpu,
        /// Where it ran.
        actual: Cpu,
    },
    /// A worker could not be pinned at all.
    Unpinned {
        /// What its own attempt said.
        why: String,
    },
    /// A page did not stay where it was: what was measured before and after is not one distance.
    PageMoved {
        /// The CPU whose memory it is.
        home: Cpu,
        /// Which page, and where it was and is.
        moved: Moved,
    },
    /// A worker did not come to the end of its epoch in time.
    Late {
        /// Workers that did not arrive.
        missing: usize,
        /// How long they were given.
        deadline: Duration,
    },
    /// A worker waited for an answer of the other one, and gave up.
    Unanswered {
        /// Round trips that were made.
        made: u64,
        /// Round trips that were to be made.
        asked: u64,
        /// How long the epoch took with the wait in it.
        elapsed: Picoseconds,
    },
    /// Memory that was to lie in huge pages lies in base pages. Huge ones are advice.
    NoHugePages {
        /// What was touched.
        asked: Bytes,
        /// What of it lies in huge pages; none where the kernel does not say.
        granted: Option<Bytes>,
    },
    /// A command had not ended at its deadline, and was ended.
    Overdue {
        /// Which.
        what: String,
        /// How long it was given.
        deadline: Duration,
    },
    /// A worker panicked.
    Panicked,
    /// A worker that is a process is no more.
    Died {
        /// Which worker, from 0.
        worker: usize,
        /// How it ended, in words.
        how: String,
    },
}

/// A page that lies elsewhere than it did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Moved {
    /// Bytes from the first page of the memory to this one.
    pub at: usize,
    /// The node where it was; none if there was no page.
    pub was: Option<u32>,
    /// The node where it is; none if there is no page.
    pub is: Option<u32>,
}

impl fmt::Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let place = |node: Option<u32>| node.map_or("nowhere".to_owned(), |node| format!("on node {node}"));
        write!(f, "the page at byte {} was {} and is {}", self.at, place(self.was), place(self.is))
    }
}

impl std::error::Error for Moved {}

impl Fault {
    /// A system call failed: `tried` names it and its object.
    pub fn system(tried: impl Into<String>, error: impl Into<io::Error>) -> Self {
        Self::System { tried: tried.into(), error: error.into() }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System { tried, error } => write!(f, "{tried}: {error}"),
            Self::PinNotHeld { worker, wanted, actual } => write!(
                f,
                "worker {worker} was pinned to {wanted} and ran on {actual}; \
                 something else sets this process's affinity: stop it and run again"
            ),
            Self::PageMoved { home, moved: moved @ Moved { is: Some(_), .. } } => {
                write!(f, "{home}'s memory: {moved}; something moves pages while they are measured")
            }
            Self::PageMoved { home, moved } => {
                write!(f, "{home}'s memory: {moved}; the kernel took it back while it was measured")
            }
            Self::Unpinned { why } => write!(f, "a worker could not be pinned: {why}"),
            Self::Late { missing, deadline } => write!(
                f,
                "{missing} worker(s) did not finish an epoch within {deadline:?}; \
                 the machine is overloaded or the work hangs: run again on a quieter machine"
            ),
            Self::Unanswered { made, asked, elapsed } => write!(
                f,
                "the other worker did not answer within {elapsed}, after {made} of {asked} round trips; \
                 something else holds its CPU: run again on a quieter machine"
            ),
            Self::NoHugePages { asked, granted: Some(granted) } => {
                write!(f, "the kernel gave {granted} of {asked} requested in huge pages")
            }
            Self::NoHugePages { asked, granted: None } => {
                write!(f, "{asked} were asked for in huge pages, and the kernel does not say what it gave")
            }
            Self::Overdue { what, deadline } => {
                write!(f, "{what} had not ended after {deadline:?}, and was ended")
            }
            Self::Panicked => write!(f, "a worker panicked inside an epoch; this is a fault of tenbin"),
            Self::Died { worker, how } => write!(f, "worker {worker}, a process of its own, died: {how}"),
        }
    }
}

impl std::error::Error for Fault {}
