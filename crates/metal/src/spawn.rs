//! Children, made in every way that Linux has: a process that copies its parent's memory, one that borrows
//! it, one that runs a program, a thread.
//!
//! All that a child does is in `call`: it ends at once, and only where it is watched does it leave word of
//! itself before. So what is timed is the kernel's work and none of a child's. No child can stay: each ends
//! by itself a few instructions after its birth, whatever has become of who made it.

mod call;
mod program;

use std::ffi::{CStr, CString, c_char, c_int};
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::thread::futex;
use tenbin_model::{Bytes, Picoseconds};

use crate::clock::{Clock, Ticks};
use crate::crew::Shared;
use crate::fault::Fault;
use crate::pages::{PageKind, Pages};

use call::{Birth, Clone3, Note, Program};

pub(crate) use program::{countdown as countdown_program, empty as empty_program};

/// The status that every child is asked to end with.
pub const ASKED: i32 = program::STATUS;

/// How a child is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// `clone(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD)`, the system call that glibc's `fork`
    /// issues; musl's issues `fork` itself on x86-64. What they do around it in user mode is not in it.
    Fork,
    /// The same call; the child then executes a program that ends at once.
    ForkExec,
    /// `clone(CLONE_VM | CLONE_VFORK | SIGCHLD)`, which is `vfork`: the child has the parent's memory, and
    /// the parent does not go on until the child has ended.
    Vfork,
    /// The C library's `posix_spawn` of a program that ends at once.
    PosixSpawn,
    /// `clone3` with the flags of [`Way::Fork`].
    Clone3,
    /// `clone3(CLONE_VM)` with a stack of its own: a process that shares the memory and runs beside its
    /// parent.
    Clone3Shared,
    /// `clone` with the flags of `pthread_create`; what the C library does around it in user mode, such as
    /// mapping a stack, is not in it.
    Thread,
    /// Planted: called a fork, and shares the memory.
    ForkThatShares,
    /// Planted: a fork whose child ends with another status than [`ASKED`].
    ForkWithAnotherStatus,
}

impl Way {
    /// Whether the child has its parent's memory and no copy of it; none where a program of its own was
    /// executed by somebody else's code, so that nobody can see.
    pub fn shares_memory(self) -> Option<bool> {
        match self {
            Self::Vfork | Self::Clone3Shared | Self::Thread => Some(true),
            Self::PosixSpawn => None,
            _ => Some(false),
        }
    }

    /// The status that the child should end with: [`ASKED`]; none for a thread, which ends without one.
    pub fn status(self) -> Option<i32> {
        (self != Self::Thread).then_some(ASKED)
    }

    /// Whether the child runs code of ours, which can leave word of itself.
    fn speaks(self) -> bool {
        self != Self::PosixSpawn
    }

    fn call(self) -> &'static str {
        match self {
            Self::Fork | Self::ForkExec | Self::ForkWithAnotherStatus => "clone(SIGCHLD)",
            Self::Vfork => "clone(CLONE_VM | CLONE_VFORK)",
            Self::PosixSpawn => "posix_spawn",
            Self::Clone3 => "clone3(SIGCHLD)",
            Self::Clone3Shared => "clone3(CLONE_VM)",
            Self::Thread => "clone(CLONE_VM | CLONE_THREAD)",
            Self::ForkThatShares => "clone(CLONE_VM)",
        }
    }
}

/// What was seen of one child.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Watched {
    /// How many children came by: what they added to a word that all processes share. None for one whose code
    /// is not ours.
    pub runs: Option<u64>,
    /// What the child read in the word that its parent had written just before the call.
    pub read: u64,
    /// Whether the parent sees what the child wrote into its own memory.
    pub seen_by_parent: bool,
    /// The status that it ended with; none where a signal ended it, and for a thread, which has none.
    pub status: Option<i32>,
}

/// What many children in a row came to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Children that could not be made, or did not end as asked.
    pub wrong: u64,
    /// The first error number that the kernel gave; 0 if there was none.
    pub error: i32,
    /// Time from each call to the parent's next instruction, all together.
    pub calls: Picoseconds,
    /// Time from each call until the child had ended and was waited for, all together.
    pub lives: Picoseconds,
}

/// What a process has in memory, by the kernel's word (`proc(5)`, `/proc/PID/status`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// Resident: `VmRSS`.
    pub resident: Bytes,
    /// Page tables: `VmPTE`.
    pub page_tables: Bytes,
}

/// Makes children for whoever has it: it is set up once, and after that allocates nothing and locks nothing,
/// so a task of a [`crate::Crew`] may use it. It serves one thread at a time: another that asks meanwhile is
/// refused with `EBUSY`.
#[derive(Debug)]
pub struct Spawner {
    /// A program that ends at once, in memory.
    file: OwnedFd,
    /// The name by which that program can be executed.
    path: CString,
    /// Of a child that runs beside its parent in the same memory. It never uses it.
    stack: Pages,
    /// A child is being made or is there: stack and words are its own.
    busy: AtomicBool,
    /// Private memory of whoever makes children: written before the call, and read by the child.
    answer: AtomicU64,
    /// Private memory as well: the child writes it.
    heard: AtomicU64,
    /// The kernel's word on whether a thread has ended, and where a forked child has its number.
    thread: AtomicU32,
    /// What the children and the processes that make them leave for each other and for the one that looks on.
    words: Shared<AtomicU64>,
}

/// Places in [`Spawner::words`].
const READ: usize = 0;
const RUNS: usize = 1;
const HEARD: usize = 2;
const STATUS: usize = 3;
const ERROR: usize = 4;
const WRONG: usize = 5;
const CALLS: usize = 6;
const LIVES: usize = 7;
const WORDS: usize = 8;

/// No exit status: a signal ended it, or it was never there.
const NO_STATUS: u64 = u64::MAX;

/// Bytes of the stack of a child that shares its parent's memory.
const STACK: usize = 16 << 10;

/// Gives the kernel back what this process has freed and its C library keeps (malloc_trim(3)).
///
/// What experiments before this one have freed would be copied with every child of whoever is forked from
/// here.
fn give_back_what_is_freed() {
    // SAFETY: the call takes a number and no address; it locks the allocator as any other call of it does,
    // and what is in use stays where it is.
    unsafe { libc::malloc_trim(0) };
}

impl Spawner {
    /// Prepares a program, a stack and the words, and gives back what this process has freed: a parent that
    /// is forked from it afterwards has less beside its buffer.
    ///
    /// # Errors
    /// [`Fault::System`] when there is no memory for them.
    pub fn new() -> Result<Self, Fault> {
        give_back_what_is_freed();
        let file = program::empty()?;
        let path = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))
            .map_err(|error| Fault::system("name a program in memory", error))?;
        Ok(Self {
            file,
            path,
            stack: Pages::map(STACK, PageKind::Base)?,
            busy: AtomicBool::new(false),
            answer: AtomicU64::new(0),
            heard: AtomicU64::new(0),
            thread: AtomicU32::new(0),
            words: Shared::zeroed(WORDS)?,
        })
    }

    /// Makes so many children, one after the other, each waited for before the next. `before` is done before
    /// each, and is in none of the times. What came of it is left for [`tally`](Self::tally).
    ///
    /// Nothing is allocated and nothing locked, if `before` does neither.
    pub fn repeat(&self, way: Way, clock: &Clock, children: u64, before: impl Fn()) {
        let (mut wrong, mut error, mut calls, mut lives) = (0, 0, 0_u64, 0_u64);
        for _ in 0..children {
            before();
            let called = clock.now();
            let since = || clock.now().0.wrapping_sub(called.0);
            let ended = self.child(way, false, || calls = calls.wrapping_add(since()));
            lives = lives.wrapping_add(since());
            match ended {
                Ok(status) if status == way.status() => {}
                Ok(_) => wrong += 1,
                Err(refused) => {
                    wrong += 1;
                    error = if error == 0 { refused } else { error };
                }
            }
        }
        self.leave(WRONG, wrong);
        self.leave(ERROR, error as u64);
        self.leave(CALLS, calls);
        self.leave(LIVES, lives);
    }

    /// What the last [`repeat`](Self::repeat) of any process came to, by the clock that it was given.
    pub fn tally(&self, clock: &Clock) -> Tally {
        Tally {
            wrong: self.word(WRONG),
            error: self.word(ERROR) as i32,
            calls: clock.between(Ticks(0), Ticks(self.word(CALLS))),
            lives: clock.between(Ticks(0), Ticks(self.word(LIVES))),
        }
    }

    /// Makes one child that leaves word of itself, after writing `answer` for it to read. What was seen is
    /// left for [`watched`](Self::watched).
    ///
    /// Nothing is allocated and nothing locked.
    pub fn watch(&self, way: Way, answer: u64) {
        [READ, RUNS].into_iter().for_each(|word| self.leave(word, 0));
        self.heard.store(0, Ordering::Relaxed);
        self.answer.store(answer, Ordering::Relaxed);
        let ended = self.child(way, true, || {});
        // What a child has said cannot come from the next one.
        self.answer.store(0, Ordering::Relaxed);
        self.leave(HEARD, u64::from(self.heard.load(Ordering::Relaxed) != 0));
        self.leave(ERROR, ended.err().unwrap_or(0) as u64);
        self.leave(STATUS, ended.ok().flatten().map_or(NO_STATUS, |status| status as u64));
    }

    /// What was seen of the last child that was watched in any process.
    ///
    /// # Errors
    /// [`Fault::System`] when it could not be made or waited for.
    pub fn watched(&self, way: Way) -> Result<Watched, Fault> {
        match self.word(ERROR) as i32 {
            0 => Ok(Watched {
                runs: way.speaks().then(|| self.word(RUNS)),
                read: self.word(READ),
                seen_by_parent: self.word(HEARD) != 0,
                status: Some(self.word(STATUS))
                    .filter(|&status| status != NO_STATUS)
                    .map(|status| status as i32),
            }),
            error => Err(Fault::system(way.call(), io::Error::from_raw_os_error(error))),
        }
    }

    /// Why children cannot be made this way here, in words; none if they can. It makes one.
    ///
    /// An emulator may know no `clone3`, make a process that shares memory as `fork` does, or not execute a
    /// program.
    pub fn missing(&self, way: Way) -> Option<String> {
        const ANSWER: u64 = 0x7465_6e62_696e;
        self.watch(way, ANSWER);
        let call = way.call();
        match self.watched(way) {
            Err(fault) => Some(fault.to_string()),
            Ok(Watched { seen_by_parent: false, .. }) if way.shares_memory() == Some(true) => {
                Some(format!("{call}: the child was given a copy of the memory that it was to share"))
            }
            Ok(Watched { status, .. })
                if matches!(way, Way::PosixSpawn | Way::ForkExec) && status != Some(ASKED) =>
            {
                Some(format!("{call}: a program in memory was not executed"))
            }
            Ok(_) => None,
        }
    }

    fn leave(&self, word: usize, value: u64) {
        self.words[word].store(value, Ordering::Relaxed);
    }

    fn word(&self, word: usize) -> u64 {
        self.words[word].load(Ordering::Relaxed)
    }

    /// Makes a child, calls `made` when the call is back, and waits for the child. One that is watched leaves
    /// word of itself. The status, if it ended with one.
    ///
    /// # Errors
    /// The error number; `EBUSY` while there is another child.
    fn child(&self, way: Way, watched: bool, made: impl FnOnce()) -> Result<Option<i32>, c_int> {
        if self.busy.swap(true, Ordering::Acquire) {
            return Err(libc::EBUSY);
        }
        // Should `made` panic it stays busy, as the child may be there still.
        let ended = self.only_child(way, watched, made);
        self.busy.store(false, Ordering::Release);
        ended
    }

    /// As [`child`](Self::child), which sees to it that nobody else of this process is here at the same time.
    fn only_child(&self, way: Way, watched: bool, made: impl FnOnce()) -> Result<Option<i32>, c_int> {
        if way == Way::PosixSpawn {
            let process = self.posix_spawn();
            made();
            return self.wait(process?);
        }
        let note = Note {
            answer: self.answer.as_ptr(),
            heard: self.heard.as_ptr(),
            read: self.words[READ].as_ptr(),
            runs: self.words[RUNS].as_ptr(),
        };
        let arguments = Arguments::new();
        let program = Program {
            file: self.file.as_raw_fd() as u64,
            path: c"".as_ptr(),
            arguments: arguments.list(),
            environment: arguments.empty(),
        };
        let thread = self.thread.as_ptr();
        let stack = self.stack.as_ptr().addr() as u64;
        let top = stack + self.stack.len() as u64;
        let like_fork = libc::CLONE_CHILD_SETTID | libc::CLONE_CHILD_CLEARTID;
        let exit_signal = libc::SIGCHLD as u64;
        let clone3 = match way {
            Way::Clone3 => Clone3 {
                flags: like_fork as u64,
                child_tid: thread.addr() as u64,
                exit_signal,
                ..Clone3::default()
            },
            _ => Clone3 {
                flags: libc::CLONE_VM as u64,
                exit_signal,
                stack,
                stack_size: self.stack.len() as u64,
                ..Clone3::default()
            },
        };
        let clone = |flags: c_int, stack: u64| call::clone(flags as u64, stack, thread);
        let call = match way {
            Way::Fork | Way::ForkExec | Way::ForkWithAnotherStatus => clone(like_fork | libc::SIGCHLD, 0),
            // On the parent's stack, which waits: what the child does needs none.
            Way::Vfork => clone(libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD, 0),
            Way::ForkThatShares => clone(libc::CLONE_VM | libc::SIGCHLD, top),
            Way::Thread => clone(THREAD, top),
            Way::Clone3 | Way::Clone3Shared | Way::PosixSpawn => call::clone3(&clone3),
        };
        let birth = Birth {
            call,
            note: watched.then_some(&note),
            program: (way == Way::ForkExec).then_some(&program),
            status: if way == Way::ForkWithAnotherStatus { ASKED + 1 } else { ASKED },
            thread: way == Way::Thread,
        };
        // SAFETY: every address in `birth` is one of this value's or of this frame's, and this frame does not
        // end before the child has: it is waited for below, and `made` reads a clock and does not panic. A
        // child that shares the memory runs on a stack that `self` owns and that `busy`, set by `child`,
        // keeps for it alone, or on this one while the kernel holds this thread (`CLONE_VFORK`).
        let answer = unsafe { call::make(&birth) };
        made();
        match answer {
            ..0 => Err(-answer as c_int),
            _ if way == Way::Thread => self.join(),
            process => self.wait(process as c_int),
        }
    }

    fn posix_spawn(&self) -> Result<c_int, c_int> {
        let arguments = Arguments::new();
        let (list, empty) = (arguments.list().cast(), arguments.empty().cast());
        let mut process = 0;
        let (actions, attributes) = (std::ptr::null(), std::ptr::null());
        // SAFETY: path and lists are ended as they must be and live across the call; without actions and
        // attributes nothing is changed on the way; `process` is a place for its number.
        let error = unsafe {
            libc::posix_spawn(&raw mut process, self.path.as_ptr(), actions, attributes, list, empty)
        };
        if error == 0 { Ok(process) } else { Err(error) }
    }

    /// Waits until a child has ended, and takes it off the kernel's list. The status, if it ended with one.
    ///
    /// # Errors
    /// The error number.
    fn wait(&self, process: c_int) -> Result<Option<i32>, c_int> {
        let mut status = 0;
        loop {
            // SAFETY: `status` is a place for the status, and nothing else is written.
            let ended = unsafe { libc::waitpid(process, &raw mut status, 0) };
            if ended == process {
                return Ok(libc::WIFEXITED(status).then(|| libc::WEXITSTATUS(status)));
            }
            match Errno::from_io_error(&io::Error::last_os_error()) {
                Some(Errno::INTR) => {}
                error => return Err(error.map_or(libc::EIO, Errno::raw_os_error)),
            }
        }
    }

    /// Waits until the kernel has cleared the thread's number: it does that last of all in the thread's
    /// memory (`CLONE_CHILD_CLEARTID`, clone(2)).
    fn join(&self) -> Result<Option<i32>, c_int> {
        loop {
            let number = self.thread.load(Ordering::Acquire);
            if number == 0 {
                return Ok(None);
            }
            // Not private: the kernel wakes it as a futex that processes may share. Every failure means the
            // same: look again.
            let _ = futex::wait(&self.thread, futex::Flags::empty(), number, None);
        }
    }
}

/// What `pthread_create` asks for, without a block of thread-local memory of its own: the child uses none.
const THREAD: c_int = libc::CLONE_VM
    | libc::CLONE_FS
    | libc::CLONE_FILES
    | libc::CLONE_SIGHAND
    | libc::CLONE_THREAD
    | libc::CLONE_SYSVSEM
    | libc::CLONE_PARENT_SETTID
    | libc::CLONE_CHILD_CLEARTID;

/// The arguments of the program and its environment: a name, and nothing.
struct Arguments([*const c_char; 2]);

impl Arguments {
    fn new() -> Self {
        const NAME: &CStr = c"tenbin-child";
        Self([NAME.as_ptr(), std::ptr::null()])
    }

    fn list(&self) -> *const *const c_char {
        self.0.as_ptr()
    }

    /// An empty list: the end of the other one.
    fn empty(&self) -> *const *const c_char {
        &raw const self.0[1]
    }
}

/// What the process of this number has in memory.
///
/// # Errors
/// [`Fault::System`] when `/proc/PID/status` cannot be read or does not say.
pub fn footprint(process: u32) -> Result<Footprint, Fault> {
    let path = format!("/proc/{process}/status");
    let status =
        std::fs::read_to_string(&path).map_err(|error| Fault::system(format!("read {path}"), error))?;
    footprint_by(&status).ok_or_else(|| {
        Fault::system(format!("read {path}"), io::Error::other("it does not say VmRSS and VmPTE"))
    })
}

fn footprint_by(status: &str) -> Option<Footprint> {
    let of = |name: &str| {
        let rest = status.lines().find_map(|line| line.strip_prefix(name))?;
        Some(Bytes::from_kib(rest.trim().strip_suffix(" kB")?.trim().parse().ok()?))
    };
    Some(Footprint { resident: of("VmRSS:")?, page_tables: of("VmPTE:")? })
}

#[cfg(test)]
mod tests;
