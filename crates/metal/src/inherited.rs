//! What the parent left to this process, noted before the runtime of Rust changes it.
//!
//! That runtime sets `SIGPIPE` to be ignored and opens `/dev/null` in the place of a standard descriptor that is
//! closed. A program that must end as others do when nobody reads, or complain when there is nowhere to write, has to
//! know what was before. So a function in `.init_array`, which the C library calls before `main` (System V ABI,
//! "Initialization and Termination Functions"), asks.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

/// Both words are written once, before there is a second thread.
static PIPE_SIGNAL_IGNORED: AtomicBool = AtomicBool::new(false);
static STANDARD_OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

// SAFETY: `.init_array` holds addresses of functions that the C library calls once before `main`; this one has the C
// calling convention, ignores the arguments that glibc passes, and neither allocates nor unwinds.
#[used]
#[unsafe(link_section = ".init_array")]
static NOTE: extern "C" fn() = note;

/// Asks, and writes down what it is told.
extern "C" fn note() {
    // SAFETY: all bytes zero are a value of this plain C structure.
    let mut found: libc::sigaction = unsafe { std::mem::zeroed() };
    // SAFETY: a null action changes nothing, and `found` is live and writable.
    let answer = unsafe { libc::sigaction(libc::SIGPIPE, std::ptr::null(), &raw mut found) };
    let ignored = answer == 0 && found.sa_sigaction == libc::SIG_IGN;
    PIPE_SIGNAL_IGNORED.store(ignored, Ordering::Relaxed);
    // SAFETY: this asks about a descriptor by its number and takes no address.
    let closed = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) } == -1;
    STANDARD_OUTPUT_CLOSED.store(closed, Ordering::Relaxed);
}

/// Whether the parent had this process ignore `SIGPIPE`.
pub fn pipe_signal_was_ignored() -> bool {
    PIPE_SIGNAL_IGNORED.load(Ordering::Relaxed)
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
    if pipe_signal_was_ignored() {
        return Ok(());
    }
    // SAFETY: the default disposition runs no code of this process, so nothing has to be fit for a signal handler.
    match unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) } {
        libc::SIG_ERR => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}

/// Gives `SIGCHLD` its default disposition, whatever the parent left.
///
/// Where it is ignored, which `execve` hands on, the kernel takes children off its list itself, and every wait for one
/// fails in the end (wait(2), on `ECHILD`). A program that waits for its children has to say so before it makes the
/// first. Those that it starts do not inherit it either. It cannot fail: the kernel refuses no disposition of this signal
/// (sigaction(2)).
pub fn keep_children_until_waited_for() {
    // SAFETY: the default disposition runs no code of this process, so nothing has to be fit for a signal handler.
    let _ = unsafe { libc::signal(libc::SIGCHLD, libc::SIG_DFL) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_started_with_a_standard_output() {
        assert!(!standard_output_was_closed());
    }
}
