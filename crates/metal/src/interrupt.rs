//! A request to end, noted instead of obeyed: what was finished can be shown and kept first.
//!
//! A handler and no thread that waits for signals: a second thread would make every system call on a file
//! descriptor of a single-threaded process dearer (the kernel counts references to the file then), and that
//! is measured here. So a signal may interrupt whatever the first thread is doing; whoever asks [`requested`]
//! drops what it disturbed.

use std::sync::atomic::{AtomicI32, Ordering};

use crate::fault::Fault;
use crate::inherited;

/// The signals that ask a process to end: from the terminal, from a service manager, and when the terminal is
/// gone.
const SIGNALS: [i32; 3] = [libc::SIGINT, libc::SIGTERM, libc::SIGHUP];

/// The first signal that arrived; 0 before.
static REQUESTED: AtomicI32 = AtomicI32::new(0);

/// The process that listens. A child that was forked has a copy of the handler, and its parent decides when
/// it ends.
static LISTENER: AtomicI32 = AtomicI32::new(0);

/// From now on the first of `SIGINT`, `SIGTERM` and `SIGHUP` is noted, and the second ends this process as it
/// would have without this call. What the parent had this process ignore stays ignored (POSIX, shell command
/// language, 2.11).
///
/// # Errors
/// [`Fault::System`] where the kernel refuses a handler; it refuses none for these signals.
pub fn listen() -> Result<(), Fault> {
    LISTENER.store(own_number(), Ordering::Relaxed);
    for signal in SIGNALS.into_iter().filter(|&signal| !inherited::was_ignored(signal)) {
        inherited::handle(signal, note)
            .map_err(|error| Fault::system(format!("handle signal {signal}"), error))?;
    }
    Ok(())
}

/// The signal that asked this process to end, if one did since [`listen`].
pub fn requested() -> Option<i32> {
    Some(REQUESTED.load(Ordering::Relaxed)).filter(|&signal| signal != 0)
}

fn own_number() -> i32 {
    // SAFETY: it takes nothing and cannot fail; a signal handler may call it (signal-safety(7)).
    unsafe { libc::getpid() }
}

extern "C" fn note(signal: i32) {
    if own_number() != LISTENER.load(Ordering::Relaxed) {
        return;
    }
    if REQUESTED.compare_exchange(0, signal, Ordering::Relaxed, Ordering::Relaxed).is_err() {
        // SAFETY: the default disposition runs no code of this process; a handler may call this
        // (signal-safety(7)).
        let _ = unsafe { libc::signal(signal, libc::SIG_DFL) };
        // SAFETY: a handler may call this. The signal is blocked until the handler returns, and then ends the
        // process.
        let _ = unsafe { libc::raise(signal) };
    }
}
