//! Signals kept from this thread while it does what must not end in the middle.

use std::io;

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
fn masked(set: &libc::sigset_t) -> io::Result<libc::sigset_t> {
    // SAFETY: all bytes zero are a value of this plain C structure.
    let mut before: libc::sigset_t = unsafe { std::mem::zeroed() };
    // SAFETY: `set` is a live set, and `before` is live and writable.
    match unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, set, &raw mut before) } {
        0 => Ok(before),
        // It returns the error and leaves errno alone.
        error => Err(io::Error::from_raw_os_error(error)),
    }
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
