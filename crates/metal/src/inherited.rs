//! What the parent left to this process, noted before the runtime of Rust changes it.
//!
//! That runtime sets `SIGPIPE` to be ignored and opens `/dev/null` in the place of a standard descriptor that
//! is closed. A program that must end as others do when nobody reads, or complain when there is nowhere to
//! write, has to know what was before. So a function in `.init_array`, which the C library calls before
//! `main` (System V ABI, "Initialization and Termination Functions"), asks.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use crate::signals::{action, default, dispose};

/// Signals that the parent had this process ignore, a bit each: signal n is bit n - 1. Both words are written
/// once, before there is a second thread.
static IGNORED: AtomicU64 = AtomicU64::new(0);
static STANDARD_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// The signals of POSIX: numbers from here on are for real time, and nobody ignores them for somebody else.
const SIGNALS: std::ops::Range<i32> = 1..32;

// SAFETY: `.init_array` holds addresses of functions that the C library calls once before `main`; this one
// has the C calling convention, ignores the arguments that glibc passes, and neither allocates nor unwinds.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

/// Asks, and writes down what it is told.
extern "C" fn note() {
    let ignored = SIGNALS.filter(|&signal| is_ignored(signal));
    IGNORED.store(ignored.fold(0, |bits, signal| bits | bit(signal)), Ordering::Relaxed);
    // SAFETY: this asks about a descriptor by its number and takes no address.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    STANDARD_OUTPUT_CLOSED.store(closed, Ordering::Relaxed);
}

fn is_ignored(signal: i32) -> bool {
    dispose(signal, None).is_ok_and(|current| current.sa_sigaction == libc::SIG_IGN)
}

const fn bit(signal: i32) -> u64 {
    1 << (signal - 1)
}

/// Whether the parent had this process ignore this signal, of 1 to 31.
pub fn was_ignored(signal: i32) -> bool {
    IGNORED.load(Ordering::Relaxed) & bit(signal) != 0
}

/// Whether the parent had this process ignore `SIGPIPE`.
pub fn pipe_signal_was_ignored() -> bool {
    was_ignored(libc::SIGPIPE)
}

/// Calls `handler` for each of these signals that arrives from now on. System calls that it interrupts go on
/// after it where the kernel can have that (signal(7)).
///
/// `handler` must do what a handler may do (signal-safety(7)): the two in this crate do nothing, or note a
/// number.
pub(crate) fn handle(signal: i32, handler: extern "C" fn(i32)) -> io::Result<()> {
    let action = action(handler as *const () as libc::sighandler_t);
    dispose(signal, Some(&libc::sigaction { sa_flags: libc::SA_RESTART, ..action })).map(drop)
}

/// Signals that stay as the parent left them. `SIGHUP` is what `nohup` ignores for all that a command starts.
/// The three of job control would come again and again if they were handled: a write to a terminal is
/// restarted after the handler. `SIGCHLD` and `SIGPIPE` have functions of their own here.
const LEFT_ALONE: [i32; 6] =
    [libc::SIGHUP, libc::SIGTSTP, libc::SIGTTIN, libc::SIGTTOU, libc::SIGCHLD, libc::SIGPIPE];

/// Keeps the programs that this process starts from ignoring what the parent had this process ignore: a shell
/// that starts a command in the background ignores `SIGINT` and `SIGQUIT` for it, and a child that must end
/// by one would not.
///
/// This process goes on doing nothing when such a signal arrives, by a handler that does nothing: `execve`
/// gives a signal that is handled its default disposition, and leaves alone one that is ignored (execve(2)).
/// So it holds for every child, whoever starts it. `SIGXFSZ`, which would end this process where a limit on
/// the size of files is reached, is handled in the same way: the write then fails and says why
/// (setrlimit(2)).
pub fn hand_on_default_signals() {
    extern "C" fn nothing(_: i32) {}
    let ignored = SIGNALS.filter(|&signal| was_ignored(signal) && !LEFT_ALONE.contains(&signal));
    for signal in ignored.chain([libc::SIGXFSZ]) {
        // The kernel refuses a handler for SIGKILL and SIGSTOP alone, which nobody can ignore.
        let _ = handle(signal, nothing);
    }
}

/// Whether the parent closed standard output. What is open under its number now is then `/dev/null`.
pub fn standard_output_was_closed() -> bool {
    STANDARD_OUTPUT_CLOSED.load(Ordering::Relaxed)
}

/// Gives `SIGPIPE` back the disposition that the parent left: ended by it, or ignoring it.
///
/// # Errors
/// What the kernel said; it refuses no valid signal.
pub fn restore_pipe_signal() -> io::Result<()> {
    if pipe_signal_was_ignored() { Ok(()) } else { default(libc::SIGPIPE) }
}

/// Gives `SIGCHLD` its default disposition, whatever the parent left.
///
/// Where it is ignored, which `execve` hands on, the kernel takes children off its list itself, and every
/// wait for one fails in the end (wait(2), on `ECHILD`). A program that waits for its children has to say so
/// before it makes the first. Those that it starts do not inherit it either. It cannot fail: the kernel
/// refuses no disposition of this signal (sigaction(2)).
pub fn keep_children_until_waited_for() {
    let _ = default(libc::SIGCHLD);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_signal_that_is_ignored_is_recognised() {
        // Nobody sends it here, so what it does is of no consequence to the other tests of this process.
        assert!(!is_ignored(libc::SIGWINCH));
        dispose(libc::SIGWINCH, Some(&action(libc::SIG_IGN))).unwrap();
        assert!(is_ignored(libc::SIGWINCH));
        default(libc::SIGWINCH).unwrap();
        assert!(!is_ignored(libc::SIGWINCH));
    }

    #[test]
    fn a_test_is_started_with_a_standard_output() {
        assert!(!standard_output_was_closed());
    }
}
