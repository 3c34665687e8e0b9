//! The helper that starts commands. It runs before `main`, so that it is as small as this program can be.

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicI32, Ordering};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::{Mode, OFlags, fcntl_setfl, open};
use rustix::io::{Errno, dup2, fcntl_dupfd_cloexec};
use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{
    Pid, Signal, WaitOptions, getpid, getppid, kill_process, kill_process_group, set_child_subreaper, waitpid,
};
use rustix::thread::{CpuSet, sched_setaffinity};
use tenbin_model::{Bytes, Picoseconds};

use super::placement::Placement;
use super::remains::Remains;
use super::{Launch, Launched, ProcessEnd, Sink, VARIABLE, wire};
use crate::child::{die_with, monotonic};
use crate::counters::CommandCounters;
use crate::pin::current_cpu;
use crate::signals::{default, masked};
use crate::usage::Usage;

// SAFETY: `.init_array` holds addresses of functions that the C library calls once before `main`; this one
// has the C calling convention, ignores the arguments that glibc passes, and does not unwind.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn() = before_main;

/// Where this process was started to be a helper, it is one, and never comes to `main`.
extern "C" fn before_main() {
    // SAFETY: the C library has its environment by now, there is no second thread that could change it, and
    // the name ends in a zero byte.
    let value = unsafe { libc::getenv(NAME.as_ptr()) };
    if value.is_null() {
        return;
    }
    // SAFETY: it is not null, so it is a string of the environment, which nobody changes meanwhile.
    let parent = unsafe { CStr::from_ptr(value) }.to_str().ok().and_then(|number| number.parse().ok());
    // One that was left in an environment by chance names another process.
    if parent.is_none() || getppid().map(Pid::as_raw_nonzero).map(i32::from) != parent {
        return;
    }
    // SAFETY: there is no second thread, and the name ends in a zero byte.
    let _ = unsafe { libc::unsetenv(NAME.as_ptr()) };
    let served = serve();
    // SAFETY: it takes a number and never returns. What `exit` would do belongs to a program that has begun.
    unsafe { libc::_exit(i32::from(served.is_err())) }
}

const NAME: &CStr = c"TENBIN_LAUNCHER";
const _: () = assert!(NAME.count_bytes() == VARIABLE.len());

/// How often somebody who waits for a command looks whether a signal has stopped it.
const LOOK: Duration = Duration::from_millis(200);

/// Bytes that are read of a pipe at a time.
const PART: usize = 1 << 16;

/// Parts that are read before somebody looks at the clock again: more than any pipe holds.
const PARTS: usize = 32;

/// Bytes of the stack of a child until it executes its program. It makes system calls only.
const STACK: usize = 32 << 10;

/// Starts what it is told to until the other end is closed.
fn serve() -> io::Result<()> {
    // Commands inherit what this process was told to ignore, and its mask.
    for signal in (1..=64).filter(|signal| ![libc::SIGKILL, libc::SIGSTOP, 32, 33].contains(signal)) {
        default(signal)?;
    }
    // SAFETY: all bytes zero are an empty set of signals.
    let nothing: libc::sigset_t = unsafe { std::mem::zeroed() };
    let _ = masked(&nothing);
    set_child_subreaper(Some(getpid()))?;
    // SAFETY: the parent gave this process the socket as its standard input, and nobody else here owns that.
    let given = unsafe { BorrowedFd::borrow_raw(0) };
    let socket = UnixStream::from(fcntl_dupfd_cloexec(given, 3)?);
    let null = open("/dev/null", OFlags::RDWR | OFlags::CLOEXEC, Mode::empty())?;
    // SAFETY: descriptor 0 is open, and is handed back to the process by `forget` below.
    let mut standard_input = unsafe { OwnedFd::from_raw_fd(0) };
    dup2(&null, &mut standard_input)?;
    std::mem::forget(standard_input);
    let mut helper = Helper {
        socket,
        null,
        stack: vec![0; STACK].into_boxed_slice(),
        part: vec![0; PART].into_boxed_slice(),
        clean: clean_pages(),
        remains: Remains::default(),
        kept: Vec::new(),
        placement: Placement::new(),
    };
    give_back(&helper.clean);
    let served = helper.serve();
    // However that ended, nothing goes on.
    helper.remains.end_all();
    served
}

/// Where this program lies that is in a file and was never written to: its code, and what it only reads.
fn clean_pages() -> Vec<(usize, usize)> {
    let maps = std::fs::read_to_string("/proc/self/smaps").unwrap_or_default();
    let mut clean = Vec::new();
    let mut range = None;
    for line in maps.lines() {
        let mut words = line.split_whitespace();
        match (words.next(), words.next(), words.nth(3)) {
            // What is read-only now may have been relocated before, and is in no file then.
            (Some("Private_Dirty:"), Some("0"), _) => clean.extend(range.take()),
            (Some(addresses), Some("r-xp" | "r--p"), Some(path)) if path.starts_with('/') => {
                let number = |text: &str| usize::from_str_radix(text, 16).ok();
                range =
                    addresses.split_once('-').and_then(|(start, end)| Some((number(start)?, number(end)?)));
            }
            (Some(word), ..) if !word.ends_with(':') => range = None,
            _ => {}
        }
    }
    clean
}

/// Gives these pages back, and has the kernel forget the peak: what this process holds is the least peak that
/// a command can be seen to have. Where that does not work it is larger.
fn give_back(clean: &[(usize, usize)]) {
    for &(start, end) in clean {
        let length = end - start;
        let start = ptr::with_exposed_provenance_mut::<c_void>(start);
        // SAFETY: pages of this program's file which nothing has written to: whoever comes there next gets
        // the same bytes of the same file (madvise(2)).
        let _ = unsafe { libc::madvise(start, length, libc::MADV_DONTNEED) };
    }
    // The peak becomes what is resident now (proc(5), /proc/PID/clear_refs).
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// A step towards a command, an index of [`super::STEPS`].
#[derive(Clone, Copy, Debug)]
enum Step {
    Input,
    Output,
    Pipe,
    Process,
    Folder,
    Placement,
    Execution,
    Wait,
    Counters,
}

/// The step that failed, and why.
struct Failed(Step, Errno);

struct Helper {
    socket: UnixStream,
    null: OwnedFd,
    stack: Box<[u8]>,
    part: Box<[u8]>,
    clean: Vec<(usize, usize)>,
    remains: Remains,
    /// What those of them write to that may go on goes nowhere, and is read as long as they have it open.
    kept: Vec<Pipe>,
    placement: Placement,
}

/// A command whose program does not say who reads it, read by a shell, as execvp(3) and every shell have it;
/// none where it is code for some machine, or is read by one already.
fn script(launch: &Launch) -> Option<Launch> {
    const SHELL: &CStr = c"/bin/sh";
    let of = |text: &CString| OsStr::from_bytes(text.as_bytes()).to_owned();
    let folder = launch.folder.as_ref().map(of).unwrap_or_default();
    let mut first = [0; 4];
    let read =
        File::open(Path::new(&folder).join(of(&launch.program))).and_then(|mut file| file.read(&mut first));
    if read.is_err() || first == *b"\x7fELF" || launch.program.as_c_str() == SHELL {
        return None;
    }
    let words = [SHELL.to_owned(), launch.program.clone()];
    let arguments = words.into_iter().chain(launch.arguments.iter().skip(1).cloned()).collect();
    Some(Launch { program: SHELL.to_owned(), arguments, ..launch.clone() })
}

/// Our end of a pipe that a command writes to.
struct Pipe {
    from: File,
    /// The kind of frame in which what comes is handed over; none where it is dropped.
    frames: Option<u8>,
}

impl Pipe {
    fn watched(&self) -> PollFd<'_> {
        PollFd::from_borrowed_fd(self.from.as_fd(), PollFlags::IN)
    }
}

impl Helper {
    /// Starts what it is told to until the other end is closed.
    fn serve(&mut self) -> io::Result<()> {
        wire::write_frame(&mut self.socket, wire::READY, &[])?;
        while let Some((kind, bytes)) = self.next_frame()? {
            // Whoever cancels what has ended meanwhile has nothing to cancel.
            if kind != wire::LAUNCH {
                continue;
            }
            let launch = Launch::decode(&bytes).ok_or(ErrorKind::InvalidData)?;
            match self.launch(&launch) {
                Ok(launched) => {
                    wire::write_frame(&mut self.socket, wire::ENDED, &wire::numbers(&launched.words()))?
                }
                Err(Failed(step, error)) => {
                    let numbers =
                        wire::numbers(&[step as u64, u64::from(error.raw_os_error().unsigned_abs())]);
                    wire::write_frame(&mut self.socket, wire::FAILED, &numbers)?;
                }
            }
        }
        Ok(())
    }

    /// What is asked next. Until then whoever goes on is not held up by a pipe that nobody reads.
    fn next_frame(&mut self) -> io::Result<Option<(u8, Vec<u8>)>> {
        while !self.kept.is_empty() {
            let mut watched = vec![PollFd::new(&self.socket, PollFlags::IN)];
            watched.extend(self.kept.iter().map(Pipe::watched));
            match poll(&mut watched, None) {
                Ok(_) if !watched[0].revents().is_empty() => break,
                Ok(_) | Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
            self.drain_kept();
        }
        wire::read_frame(&mut self.socket)
    }

    fn launch(&mut self, launch: &Launch) -> Result<Launched, Failed> {
        let input = match &launch.input {
            None => None,
            Some(path) => Some(
                open(path.as_c_str(), OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())
                    .map_err(|error| Failed(Step::Input, error))?,
            ),
        };
        let mut pipes = Vec::new();
        let output = self.sink(&launch.output, wire::OUTPUT, &mut pipes)?;
        let errors = self.sink(&launch.errors, wire::ERRORS, &mut pipes)?;
        let environment = environment(&launch.environment);
        let pointers = |list: &[*const c_char]| {
            let mut list = list.to_vec();
            list.push(ptr::null());
            list
        };
        let arguments: Vec<*const c_char> = launch.arguments.iter().map(|it| it.as_ptr()).collect();
        let (arguments, environment) = (pointers(&arguments), pointers(&environment));
        let null = self.null.as_raw_fd();
        let start = Start {
            program: launch.program.as_ptr(),
            arguments: arguments.as_ptr(),
            environment: environment.as_ptr(),
            folder: launch.folder.as_ref().map_or(ptr::null(), |folder| folder.as_ptr()),
            cpus: (launch.first.is_some() || !launch.cpus.is_empty())
                .then(|| self.placement.set(&launch.cpus)),
            parent_cpus: launch.first.map(|_| self.placement.set(&[])),
            streams: [
                input.as_ref().map_or(null, AsRawFd::as_raw_fd),
                output.as_ref().map_or(1, Descriptor::number),
                errors.as_ref().map_or(2, Descriptor::number),
            ],
            parent: getpid(),
            step: AtomicI32::new(-1),
            error: AtomicI32::new(0),
        };
        let not_counted = |error: io::Error| {
            Failed(Step::Counters, error.raw_os_error().map_or(Errno::INVAL, Errno::from_raw_os_error))
        };
        let counters = launch.counted.then(CommandCounters::hardware).transpose().map_err(not_counted)?;
        if launch.small {
            give_back(&self.clean);
        }
        self.placement.stand_on(launch.first);
        let cpu = launch.first.unwrap_or_else(current_cpu);
        let began = monotonic();
        let (pid, pidfd) = self.start(&start).map_err(|error| Failed(Step::Process, error))?;
        // The writing ends are the child's alone, so that its end is the end of the pipe.
        drop((input, output, errors));
        if start.step.load(Ordering::Relaxed) >= 0 {
            let _ = waitpid(Some(pid), WaitOptions::empty());
            let step = match start.step.load(Ordering::Relaxed) {
                step if step == Step::Folder as i32 => Step::Folder,
                step if step == Step::Placement as i32 => Step::Placement,
                step if step == Step::Execution as i32 => Step::Execution,
                _ => Step::Process,
            };
            let error = Errno::from_raw_os_error(start.error.load(Ordering::Relaxed));
            return match script(launch) {
                Some(script) if matches!(step, Step::Execution) && error == Errno::NOEXEC => {
                    self.launch(&script)
                }
                _ => Err(Failed(step, error)),
            };
        }
        let why = self.wait(pid, &pidfd, &mut pipes, began + launch.deadline);
        let (status, raw) = reap(pid).map_err(|error| Failed(Step::Wait, error))?;
        let elapsed = monotonic().saturating_sub(began);
        self.drain(&mut pipes);
        let left = self.remains.after(pid, launch.leaves);
        if launch.leaves {
            self.kept.extend(pipes.into_iter().map(|pipe| Pipe { frames: None, ..pipe }));
        }
        let counts = counters.map(CommandCounters::read).transpose().map_err(not_counted)?.flatten();
        let end = why.unwrap_or(if libc::WIFEXITED(status) {
            ProcessEnd::Exited(libc::WEXITSTATUS(status))
        } else {
            ProcessEnd::Signalled(libc::WTERMSIG(status))
        });
        Ok(Launched {
            end,
            elapsed: Picoseconds::from_nanos(u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)),
            usage: Usage::from_raw(&raw),
            peak_memory: Bytes::from_kib(raw.ru_maxrss as u64),
            counts,
            left,
            cpu,
        })
    }

    /// What a stream of a command is connected to; none for this process's own.
    fn sink(&self, sink: &Sink, frames: u8, pipes: &mut Vec<Pipe>) -> Result<Option<Descriptor>, Failed> {
        match sink {
            Sink::Inherit => Ok(None),
            Sink::Null => Ok(Some(Descriptor::Null(self.null.as_raw_fd()))),
            Sink::File(path) => {
                let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
                let file = open(path.as_c_str(), flags, Mode::from_raw_mode(0o666));
                file.map(|file| Some(Descriptor::Own(file))).map_err(|error| Failed(Step::Output, error))
            }
            Sink::Discard | Sink::HandOver => {
                let failed = |error| Failed(Step::Pipe, error);
                let (from, to) = pipe_with(PipeFlags::CLOEXEC).map_err(failed)?;
                fcntl_setfl(&from, OFlags::NONBLOCK).map_err(failed)?;
                let frames = (*sink == Sink::HandOver).then_some(frames);
                pipes.push(Pipe { from: File::from(from), frames });
                Ok(Some(Descriptor::Own(to)))
            }
        }
    }

    /// Makes the child, which borrows this memory until it executes its program or ends.
    fn start(&mut self, start: &Start) -> Result<(Pid, OwnedFd), Errno> {
        let top = self.stack.as_mut_ptr_range().end;
        let aligned = top.map_addr(|address| address & !0xf);
        let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::CLONE_PIDFD | libc::SIGCHLD;
        let mut pidfd: c_int = -1;
        // SAFETY: `into_program` runs on a stack of its own, which this process keeps and nobody else uses;
        // it reads `start`, which outlives it, because this call returns only when the child has executed a
        // program or ended; and it does nothing but system calls. The kernel writes a descriptor to `pidfd`.
        let child = unsafe {
            libc::clone(
                into_program,
                aligned.cast(),
                flags,
                ptr::from_ref(start).cast_mut().cast(),
                &raw mut pidfd,
                ptr::null_mut::<c_void>(),
                ptr::null_mut::<c_int>(),
            )
        };
        let Some(pid) = (child > 0).then(|| Pid::from_raw(child)).flatten() else {
            return Err(io::Error::last_os_error()
                .raw_os_error()
                .map_or(Errno::AGAIN, Errno::from_raw_os_error));
        };
        // SAFETY: the kernel has just opened it for this process, and nobody else knows it.
        Ok((pid, unsafe { OwnedFd::from_raw_fd(pidfd) }))
    }

    /// Waits until the child has ended, and reads its pipes meanwhile. Where it is ended before, why.
    fn wait(
        &mut self,
        pid: Pid,
        pidfd: &OwnedFd,
        pipes: &mut Vec<Pipe>,
        until: Duration,
    ) -> Option<ProcessEnd> {
        let mut why = None;
        let mut quiet = false;
        loop {
            let left = until.saturating_sub(monotonic());
            // Only one of which nothing was heard for a while may have been stopped.
            let reason = if left.is_zero() {
                Some(ProcessEnd::OutOfTime)
            } else if quiet {
                stopped(pid)
            } else {
                None
            };
            if let (None, Some(reason)) = (why, reason) {
                why = Some(reason);
                end(pid);
            }
            let pause = if why.is_some() { LOOK } else { left.min(LOOK) };
            let pause = Timespec { tv_sec: 0, tv_nsec: i64::from(pause.subsec_nanos()) };
            let mut watched = vec![PollFd::new(pidfd, PollFlags::IN)];
            watched.extend(pipes.iter().map(Pipe::watched));
            // What is asked meanwhile is to end it; so is the end of whoever asks.
            if why.is_none() {
                watched.push(PollFd::new(&self.socket, PollFlags::IN));
            }
            let own = watched.len();
            watched.extend(self.kept.iter().map(Pipe::watched));
            match poll(&mut watched, Some(&pause)) {
                Ok(_) => {}
                Err(_) => continue,
            }
            let ready: Vec<bool> = watched.iter().map(|it| !it.revents().is_empty()).collect();
            quiet = !ready[..own].contains(&true);
            let asked = why.is_none() && ready[own - 1];
            if ready[0] {
                return why;
            }
            if ready[1..=pipes.len()].contains(&true) {
                self.drain(pipes);
            }
            if !self.kept.is_empty() {
                self.drain_kept();
            }
            if asked {
                // A cancellation, or the end of the stream, which is met again where the next is read.
                let _ = wire::read_frame(&mut self.socket);
                why = Some(ProcessEnd::Cancelled);
                end(pid);
            }
        }
    }

    fn drain_kept(&mut self) {
        let mut kept = std::mem::take(&mut self.kept);
        self.drain(&mut kept);
        self.kept = kept;
    }

    /// Reads what there is in the pipes, and of one that is written to all the time a good part; those that
    /// have ended are closed.
    fn drain(&mut self, pipes: &mut Vec<Pipe>) {
        pipes.retain_mut(|pipe| {
            for _ in 0..PARTS {
                match pipe.from.read(&mut self.part) {
                    Ok(0) => return false,
                    Ok(read) => {
                        let Some(kind) = pipe.frames else { continue };
                        // That nobody is there any more is met again where the next is read.
                        if wire::write_frame(&mut self.socket, kind, &self.part[..read]).is_err() {
                            return false;
                        }
                    }
                    Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
                    Err(error) if error.kind() == ErrorKind::Interrupted => {}
                    Err(_) => return false,
                }
            }
            true
        });
    }
}

/// What a standard stream of a command is connected to.
enum Descriptor {
    Null(c_int),
    Own(OwnedFd),
}

impl Descriptor {
    fn number(&self) -> c_int {
        match self {
            Self::Null(number) => *number,
            Self::Own(descriptor) => descriptor.as_raw_fd(),
        }
    }
}

/// Ends a command and its group.
fn end(pid: Pid) {
    // Not waited for yet, so both numbers are its own.
    let _ = kill_process_group(pid, Signal::KILL);
    let _ = kill_process(pid, Signal::KILL);
}

/// The signal that has stopped a child, if one has.
fn stopped(pid: Pid) -> Option<ProcessEnd> {
    // SAFETY: all bytes zero are a value of this plain C structure.
    let mut seen: libc::siginfo_t = unsafe { std::mem::zeroed() };
    let options = libc::WSTOPPED | libc::WNOHANG | libc::WNOWAIT;
    let id = pid.as_raw_nonzero().get().cast_unsigned();
    // SAFETY: `seen` is live and writable, and the child is our own.
    let answer = unsafe { libc::waitid(libc::P_PID, id, &raw mut seen, options) };
    if answer != 0 || seen.si_code != libc::CLD_STOPPED {
        return None;
    }
    // SAFETY: for a child that was stopped the kernel has filled in its status, the signal's number.
    Some(ProcessEnd::Stopped(unsafe { seen.si_status() }))
}

/// Waits for a child that has ended or is about to: its status, and what it was charged with.
fn reap(pid: Pid) -> Result<(c_int, libc::rusage), Errno> {
    let (mut status, mut usage) = (0, MaybeUninit::<libc::rusage>::zeroed());
    loop {
        let id = pid.as_raw_nonzero().get();
        // SAFETY: both pointers are live and writable.
        let waited = unsafe { libc::wait4(id, &raw mut status, 0, usage.as_mut_ptr()) };
        if waited == id {
            // SAFETY: all-zero bytes are a valid `rusage` (plain integers), and the kernel wrote the rest.
            return Ok((status, unsafe { usage.assume_init() }));
        }
        match io::Error::last_os_error().raw_os_error().map(Errno::from_raw_os_error) {
            Some(Errno::INTR) => {}
            other => return Err(other.unwrap_or(Errno::CHILD)),
        }
    }
}

/// This process's environment with these variables, `NAME=VALUE`, in the place of those of their names.
fn environment(added: &[CString]) -> Vec<*const c_char> {
    let name = |variable: &[u8]| variable.split(|&byte| byte == b'=').next().map(<[u8]>::to_vec);
    let names: Vec<_> = added.iter().map(|variable| name(variable.as_bytes())).collect();
    let mut all = Vec::new();
    // SAFETY: reading the address of the environment, which no second thread of this process could change.
    let mut place = unsafe { environ };
    // SAFETY: a list of pointers that ends in null, and `place` is not beyond that.
    while let Some(variable) = unsafe { place.as_ref() }.copied().filter(|variable| !variable.is_null()) {
        // SAFETY: an entry of the environment is a string.
        let text = unsafe { CStr::from_ptr(variable) };
        if !names.contains(&name(text.to_bytes())) {
            all.push(variable);
        }
        // SAFETY: the entry here was not the last.
        place = unsafe { place.add(1) };
    }
    all.extend(added.iter().map(|variable| variable.as_ptr()));
    all
}

unsafe extern "C" {
    static environ: *const *const c_char;
}

/// What a child needs to become a program, made before it is there: it must not allocate.
struct Start {
    program: *const c_char,
    arguments: *const *const c_char,
    environment: *const *const c_char,
    /// Null for the parent's.
    folder: *const c_char,
    cpus: Option<CpuSet>,
    /// Where the parent may be from then on, so that it need not wait for the CPU on which both are.
    parent_cpus: Option<CpuSet>,
    /// What becomes its standard input, output and error.
    streams: [c_int; 3],
    parent: Pid,
    /// The step that failed, and the error number: the child has its parent's memory and writes it there.
    step: AtomicI32,
    error: AtomicI32,
}

/// The child, from its birth to its program. It returns, and so ends, where a step fails.
extern "C" fn into_program(start: *mut c_void) -> c_int {
    // SAFETY: the parent passed a `Start`, which outlives this process's use of its memory.
    let start = unsafe { &*start.cast::<Start>() };
    let failed = |step: Step| {
        start.error.store(io::Error::last_os_error().raw_os_error().unwrap_or(0), Ordering::Relaxed);
        start.step.store(step as i32, Ordering::Relaxed);
        127
    };
    // A group of its own, so that all of it can be ended. A child of this process cannot fail to lead one.
    // SAFETY: it takes numbers.
    let _ = unsafe { libc::setpgid(0, 0) };
    if die_with(start.parent).is_err() {
        return failed(Step::Process);
    }
    for (wanted, &descriptor) in (0..).zip(&start.streams) {
        // SAFETY: it takes numbers; only the streams of this process are replaced, whose descriptors are its
        // own. What is to be a stream lies above all of them, so none is replaced before it is used.
        if descriptor != wanted && unsafe { libc::dup2(descriptor, wanted) } < 0 {
            return failed(Step::Process);
        }
    }
    // SAFETY: not null, and so a string of the parent's.
    if !start.folder.is_null() && unsafe { libc::chdir(start.folder) } != 0 {
        return failed(Step::Folder);
    }
    if let Some(cpus) = &start.parent_cpus {
        // It was there for the birth of this process only.
        let _ = sched_setaffinity(Some(start.parent), cpus);
    }
    if let Some(Err(error)) = start.cpus.as_ref().map(|cpus| sched_setaffinity(None, cpus)) {
        start.error.store(error.raw_os_error(), Ordering::Relaxed);
        start.step.store(Step::Placement as i32, Ordering::Relaxed);
        return 127;
    }
    // SAFETY: a path, and two lists of strings that end in null, all of them the parent's, which waits.
    unsafe { libc::execve(start.program, start.arguments, start.environment) };
    failed(Step::Execution)
}
