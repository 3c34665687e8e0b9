//! Signals kept from this thread while it does what must not end in the middle.

use std::io;
use std::ptr;

use crate::fault::Fault;

/// This thread, with every signal that can be blocked kept pending until this is dropped; then they arrive.
///
/// A signal to the whole process goes to another thread if there is one that does not hold it, and SIGKILL
/// and SIGSTOP cannot be held (signal(7), sigprocmask(2)).
#[derive(Debug)]
pub struct Held {
    before: libc::sigset_t,
    /// The mask belongs to the thread, so this stays there.
    _here: std::marker::PhantomData<*const ()>,
}

impl Held {
    /// Holds them.
    ///
    /// # Errors
    /// [`Fault::System`] where the kernel does not let.
    pub fn all() -> Result<Self, Fault> {
        // SAFETY: all bytes zero are a value of this plain C structure.
        let mut every: libc::sigset_t = unsafe { std::mem::zeroed() };
        // SAFETY: `every` is live and writable.
        unsafe { libc::sigfillset(&raw mut every) };
        let before = masked(&every).map_err(|error| Fault::system("block signals in this thread", error))?;
        Ok(Self { before, _here: std::marker::PhantomData })
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // A set that the kernel gave is one that it takes.
        let _ = masked(&self.before);
    }
}

/// Blocks exactly these, and returns what was blocked.
pub(crate) fn masked(set: &libc::sigset_t) -> io::Result<libc::sigset_t> {
    // SAFETY: all bytes zero are a value of this plain C structure.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live set, and `before` is live and writable.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, &raw mut before) } {
        0 => Ok(before),
        // It returns the error and leaves errno alone.
        error => Err(io::Error::from_raw_os_error(error)),
    }
}

/// An action with this handler, or one of the constants in its place: no flags, an empty mask.
pub(crate) fn action(handler: libc::sighandler_t) -> libc::sigaction {
    // SAFETY: all bytes zero are a value of this structure: no flags, an empty mask, the default action.
    let action: libc::sigaction = unsafe { std::mem::zeroed() };
    libc::sigaction { sa_sigaction: handler, ..action }
}

/// Sets what a signal does where there is an `action`, and gives what it did. An action ignores it, is the
/// default or what an earlier call gave, or has a handler that does what a handler may do (signal-safety(7)).
pub(crate) fn dispose(signal: i32, action: Option<&libc::sigaction>) -> io::Result<libc::sigaction> {
    let mut was = self::action(libc::SIG_DFL);
    // SAFETY: both point to structures that outlive the call, or the first is null, which changes nothing. A
    // handler takes a number and may be called at any time, as the callers in this crate guarantee.
    let answer = unsafe { libc::sigaction(signal, action.map_or(ptr::null(), ptr::from_ref), &raw mut was) };
    if answer == 0 { Ok(was) } else { Err(io::Error::last_os_error()) }
}

/// Has a signal do what it does by default.
pub(crate) fn default(signal: i32) -> io::Result<()> {
    dispose(signal, Some(&action(libc::SIG_DFL))).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the kernel keeps from this thread, a bit a signal (proc(5), SigBlk).
    fn blocked() -> u64 {
        let text = std::fs::read_to_string("/proc/thread-self/status").unwrap();
        let mask = text.lines().find_map(|line| line.strip_prefix("SigBlk:")).unwrap();
        u64::from_str_radix(mask.trim(), 16).unwrap()
    }

    #[test]
    fn those_that_end_a_process_are_held_and_then_as_before() {
        let before = blocked();
        let held = Held::all().unwrap();
        for signal in [libc::SIGHUP, libc::SIGINT, libc::SIGQUIT, libc::SIGTERM] {
            assert_ne!(blocked() & 1 << (signal - 1), 0, "signal {signal}");
        }
        drop(held);
        assert_eq!(blocked(), before);
    }
}
