//! All processes of a command, however they were started.

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, getpid, kill_process, set_child_subreaper, waitpid};

use tenbin_model::Bytes;

use crate::child::{End, adopt_orphans, through_from};
use crate::fault::Fault;

/// For how long what was started may go on being killed at a deadline.
const FAREWELL: Duration = Duration::from_secs(10);

/// The processes of a command. While this lives, what outlives its parent becomes this process's child
/// (`PR_SET_CHILD_SUBREAPER`), and so is not lost.
#[derive(Debug)]
pub(crate) struct Descendants {
    /// Children of this process that are not of the command.
    before: BTreeSet<i32>,
    was: Option<Pid>,
}

impl Descendants {
    /// All that this process starts from now on.
    ///
    /// # Errors
    /// A fault where the kernel gives it no orphans.
    pub(crate) fn adopt() -> Result<Self, Fault> {
        let was = adopt_orphans()?;
        Ok(Self { before: own_children().into_iter().collect(), was })
    }

    /// Those of this process's children that are of the command.
    pub(crate) fn children(&self) -> Vec<i32> {
        let mut children = own_children();
        children.retain(|child| !self.before.contains(child));
        children
    }

    /// Kills all that is left of it.
    pub(crate) fn kill(&self) {
        let until = Instant::now() + FAREWELL;
        while Instant::now() < until {
            let mut next = self.children();
            if next.is_empty() {
                return;
            }
            let ours = next.clone();
            while let Some(process) = next.pop() {
                next.extend(children_of(process));
                // One that has ended meanwhile is as good.
                let _ = Pid::from_raw(process).map(|pid| kill_process(pid, Signal::KILL));
            }
            for child in ours {
                let _ = Pid::from_raw(child).map(|pid| waitpid(Some(pid), WaitOptions::NOHANG));
            }
        }
    }
}

impl Drop for Descendants {
    fn drop(&mut self) {
        let _ = set_child_subreaper(self.was);
    }
}

/// Runs a command as [`crate::child::through`] does; at the deadline all its processes are killed, and not
/// only the first one.
///
/// # Errors
/// As [`crate::child::through`].
pub(crate) fn through(command: Command, deadline: Duration) -> Result<End, Fault> {
    let descendants = Descendants::adopt()?;
    let end = through_from(command, deadline, |_| {})?;
    if end == End::OutOfTime {
        descendants.kill();
    }
    Ok(end)
}

/// The processes that this one is the parent of, as the kernel lists them; none where it does not.
fn own_children() -> Vec<i32> {
    let own = getpid().as_raw_nonzero().get();
    numbers("/proc/self/task").into_iter().flat_map(|thread| children(own, thread)).collect()
}

fn children_of(process: i32) -> Vec<i32> {
    let threads = numbers(&format!("/proc/{process}/task")).into_iter();
    threads.flat_map(|thread| children(process, thread)).collect()
}

/// The processes that a thread is the parent of.
pub(crate) fn children(process: i32, thread: i32) -> Vec<i32> {
    let text = fs::read_to_string(format!("/proc/{process}/task/{thread}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|it| it.parse().ok()).collect()
}

/// CPU time in ticks of a process and of all below it, with that of those that they have waited for. None
/// where the kernel does not let this one see it.
pub(crate) fn ticks(process: i32) -> Option<u64> {
    let mut sum = 0;
    let mut next = vec![process];
    while let Some(process) = next.pop() {
        // One that has ended meanwhile is waited for by its parent, or was of none.
        let Ok(stat) = fs::read_to_string(format!("/proc/{process}/stat")) else { continue };
        // utime, stime, cutime and cstime, fields 14 to 17 (proc_pid_stat(5)): the third is behind the name.
        let fields = stat.rsplit_once(") ")?.1.split(' ').skip(14 - 3).take(4);
        sum += fields.map(|field| field.parse::<u64>().ok()).sum::<Option<u64>>()?;
        next.extend(children_of(process));
    }
    Some(sum)
}

/// The memory of a process and of all below it, a page that several have divided among them (PSS,
/// `Documentation/filesystems/proc.rst`). None where the kernel does not let this one see it.
pub fn memory(process: u32) -> Option<Bytes> {
    let mut sum = 0;
    let mut next = vec![i32::try_from(process).ok()?];
    while let Some(process) = next.pop() {
        let text = fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
        let mut fields = text.lines().filter_map(|line| line.strip_prefix("Pss:"));
        sum += fields.next()?.trim().strip_suffix(" kB")?.parse::<u64>().ok()?;
        next.extend(children_of(process));
    }
    Some(Bytes::from_kib(sum))
}

/// The names of a folder's entries that are numbers.
pub(crate) fn numbers(folder: &str) -> Vec<i32> {
    let Ok(entries) = fs::read_dir(folder) else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_process_has_that_of_what_it_waited_for() {
        let own = getpid().as_raw_nonzero().get();
        let before = ticks(own).unwrap();
        // A loop of a shell takes some milliseconds, and a tick is ten.
        let line = "i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done";
        for _ in 0..1000 {
            assert!(Command::new("sh").args(["-c", line]).status().unwrap().success());
            if ticks(own).unwrap() > before {
                return;
            }
        }
        panic!("a thousand loops took no time");
    }

    #[test]
    fn a_process_that_is_gone_has_none() {
        assert_eq!(ticks(i32::MAX), Some(0));
    }
}
