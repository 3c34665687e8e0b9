//! What commands leave running, which comes to whoever started them.

use rustix::process::{Pid, Signal, WaitOptions, kill_process_group, test_kill_process_group, wait};

use crate::child::{children, end_all};

/// Who may go on of what commands left running.
#[derive(Default)]
pub(super) struct Remains {
    /// Children of this process that are none of its making: what commands left running that may.
    known: Vec<Pid>,
    /// The groups of those commands: whoever is in one may go on too, whenever it comes here.
    groups: Vec<Pid>,
}

impl Remains {
    /// Sees to what a command has left running: it is ended, or may go on where the command `leaves` it. How
    /// many there were.
    pub(super) fn after(&mut self, pid: Pid, leaves: bool) -> u64 {
        // Mostly there is no child at all, and this is one system call.
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => {
                    *self = Self::default();
                    return 0;
                }
            }
        }
        let there = children();
        self.known.retain(|known| there.contains(known));
        let new = self.strangers();
        if leaves {
            self.known.extend(&new);
            self.groups.push(pid);
        } else if !new.is_empty() {
            let _ = kill_process_group(pid, Signal::KILL);
            self.end_strangers();
        }
        // A group that nobody is in gives its number back.
        self.groups.retain(|&group| test_kill_process_group(group).is_ok());
        new.len() as u64
    }

    /// Ends all of them, also those that may go on.
    pub(super) fn end_all(&mut self) {
        *self = Self::default();
        self.end_strangers();
    }

    /// The children that may not go on.
    fn strangers(&self) -> Vec<Pid> {
        // One of a group outside of this namespace of processes has 0, which rustix's `getpgid` takes for
        // impossible.
        let group = |child: Pid| {
            // SAFETY: getpgid(2) reads no memory.
            unsafe { libc::getpgid(child.as_raw_nonzero().get()) }
        };
        let is_of_a_group =
            |child| Pid::from_raw(group(child).max(0)).is_some_and(|group| self.groups.contains(&group));
        let may_not = |&child: &Pid| !self.known.contains(&child) && !is_of_a_group(child);
        children().into_iter().filter(may_not).collect()
    }

    /// Ends those, with what they leave in turn.
    fn end_strangers(&self) {
        end_all(|| self.strangers());
    }
}
