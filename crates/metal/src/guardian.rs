//! A process that does one thing after this one has ended, or at a time, however this one ends.

use std::io;

use rustix::fs::{Mode, OFlags, open};
use rustix::io::write;
use rustix::process::{Pid, Signal, WaitOptions, kill_process, setsid, waitpid};
use rustix::thread::set_name;

use crate::fault::Fault;
use crate::signals::Held;

/// A guardian: in a session of its own, and no signal reaches it but SIGKILL. It is let go when this is
/// dropped: what it was there for is done.
#[derive(Debug)]
pub(crate) struct Guardian(Pid);

impl Guardian {
    /// Forks a process that does `work` and ends.
    ///
    /// # Errors
    /// [`Fault::System`] where there is no room for another process.
    ///
    /// # Safety `work` makes system calls and reads values that were made before, and nothing else: it
    /// allocates nothing, takes no lock, unwinds nowhere and drops nothing, as a child of a process with
    /// several threads must (fork(2)).
    pub(crate) unsafe fn fork(work: impl FnOnce()) -> Result<Self, Fault> {
        // The child keeps them blocked for ever.
        let held = Held::all()?;
        // SAFETY: the child runs these lines up to its exit alone, which keep to what the caller promises of
        // `work`.
        let forked = unsafe { libc::fork() };
        if forked == 0 {
            let _ = setsid();
            let _ = set_name(c"tenbin-guard");
            // Whoever is killed for lack of memory, it is not this one.
            let score = open(c"/proc/self/oom_score_adj", OFlags::WRONLY | OFlags::CLOEXEC, Mode::empty());
            let _ = score.and_then(|file| write(&file, b"-1000"));
            work();
            // SAFETY: it ends the process at once, without handlers or destructors.
            unsafe { libc::_exit(0) };
        }
        let error = io::Error::last_os_error();
        drop(held);
        let pid = Pid::from_raw(forked).filter(|_| forked > 0);
        pid.map(Self).ok_or_else(|| Fault::system("start a guardian", error))
    }

    /// Its number.
    #[cfg(test)]
    pub(crate) fn pid(&self) -> Pid {
        self.0
    }

    /// Leaves it alone: it does its work when this process ends.
    pub(crate) fn leave(self) {
        std::mem::forget(self);
    }
}

impl Drop for Guardian {
    fn drop(&mut self) {
        // Our own child: it is there until it is waited for.
        let _ = kill_process(self.0, Signal::KILL);
        let _ = waitpid(Some(self.0), WaitOptions::empty());
    }
}
