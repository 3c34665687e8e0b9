//! Settings of the kernel that are switched for a while, and put back whatever becomes of this process.

mod change;
mod journal;
#[cfg(test)]
mod tests;

use std::fs;
use std::io;
use std::path::Path;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::{PidfdFlags, getpid, pidfd_open};

use crate::fault::Fault;
use crate::guardian::Guardian;
use change::{Change, Kind, Undone, chosen, stuck, write_to};
use journal::{Journal, Leftover};

/// Where the journal of this machine is: on a file system that is gone when the settings are, with the
/// kernel.
pub const JOURNAL: &str = "/run/tenbin-settings";

/// What is to be switched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Switch {
    /// A setting in a file of the kernel.
    Setting {
        /// The file.
        path: String,
        /// What it may be set to meanwhile.
        values: Vec<Value>,
        /// What is written to have what was there before; none where that is the word that is read.
        back: Option<String>,
    },
    /// A control group that is made.
    Group {
        /// Its folder.
        path: String,
        /// The `cgroup.procs` of the group that its processes go to when it is removed.
        back: String,
    },
}

impl Switch {
    /// A setting that has one value meanwhile.
    pub fn setting(path: impl Into<String>, value: &str) -> Self {
        Self::Setting { path: path.into(), values: vec![value.into()], back: None }
    }

    /// The file or folder.
    pub fn path(&self) -> &str {
        let (Self::Setting { path, .. } | Self::Group { path, .. }) = self;
        path
    }
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Value {
    /// What is written to have it.
    pub write: String,
    /// What is read then, without white space around it.
    pub reads: String,
}

/// A setting that is not what it was, because somebody else has set it since.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Overridden {
    /// The file.
    pub path: String,
    /// What it says now.
    pub now: String,
}

/// Settings as they were, with a guardian that puts them back.
///
/// The guardian is a process of its own, in a session of its own, that no signal reaches but SIGKILL. It
/// waits for the end of this process, however that comes (SIGKILL, a crash, a panic that aborts), undoes what
/// was done, the last first, and ends. Where both are killed at once (a control group that is killed, say)
/// the journal says what there is to undo: [`restore`], or the next guard, does.
#[derive(Debug)]
pub struct Switched {
    switches: Vec<Switch>,
    changes: Vec<Change>,
    journal: Journal,
    guardian: Option<Guardian>,
}

/// Whether this process may set what the file at `path` holds. It is opened, and nothing is written.
///
/// # Errors
/// [`Fault::System`] with the kernel's reason.
pub fn can_be_set(path: &str) -> Result<(), Fault> {
    let opened = fs::OpenOptions::new().write(true).open(path);
    opened.map(drop).map_err(|error| Fault::system(format!("open {path} to set it"), error))
}

/// What the file says now: its word, or the one in brackets where all that it may be are listed.
///
/// # Errors
/// [`Fault::System`] where it cannot be read.
pub fn word(path: &str) -> Result<String, Fault> {
    let text = fs::read(path).map_err(|error| Fault::system(format!("read {path}"), error))?;
    Ok(String::from_utf8_lossy(chosen(&text)).into_owned())
}

impl Switched {
    /// Notes what the machine says now of whatever is to be switched, in a journal and with a guardian.
    /// Nothing is changed yet. What a journal has that was left behind is undone first.
    ///
    /// # Errors
    /// [`Fault::System`] where one cannot be read or set, the journal cannot be written or is in use, or no
    /// guardian can be had.
    pub fn guard(switches: Vec<Switch>, journal: &Path) -> Result<Self, Fault> {
        let mut journal = Journal::open(journal)?;
        if let Leftover::Changes(changes) = journal.leftover()? {
            undo(&changes)?;
        }
        let changes: Vec<Change> = switches.iter().map(Change::of).collect::<Result<_, _>>()?;
        let guarded = journal.write(&changes).and_then(|()| guardian(&changes, &journal));
        let guardian = guarded.inspect_err(|_| {
            let _ = journal.remove();
        })?;
        Ok(Self { switches, changes, journal, guardian: Some(guardian) })
    }

    /// What the file at `path` said before, if it is one of those that are guarded.
    pub fn before(&self, path: &str) -> Option<String> {
        let at = self.switches.iter().position(|switch| switch.path() == path)?;
        match &self.changes[at].kind {
            Kind::Setting { before, .. } => Some(String::from_utf8_lossy(before).into_owned()),
            Kind::Group { .. } => None,
        }
    }

    /// Sets one of the settings that are guarded to one of its values, or makes a control group, for which
    /// `value` is empty.
    ///
    /// # Errors
    /// [`Fault::System`] where nobody would put it back, the kernel does not take the value, or has something
    /// else then; that is undone at once.
    pub fn set(&self, path: &str, value: &str) -> Result<(), Fault> {
        let unguarded = || {
            let error = io::Error::other("nobody would put it back");
            Fault::system(format!("set {path} to {value}"), error)
        };
        let at = self.switches.iter().position(|switch| switch.path() == path).ok_or_else(unguarded)?;
        let Switch::Setting { values, .. } = &self.switches[at] else {
            return fs::create_dir(path)
                .map_err(|error| Fault::system(format!("make the control group {path}"), error));
        };
        let value = values.iter().find(|known| known.write == value).ok_or_else(unguarded)?;
        let change = &self.changes[at];
        let written = write_to(&change.path, value.write.as_bytes());
        written.map_err(|error| Fault::system(format!("write {} to {path}", value.write), error))?;
        let now = word(path)?;
        if now == value.reads {
            return Ok(());
        }
        if let Kind::Setting { back, .. } = &change.kind {
            write_to(&change.path, back).map_err(|error| stuck(change, error))?;
        }
        let error = io::Error::other(format!("it said {now} then, and is as before"));
        Err(Fault::system(format!("set {path} to {}", value.reads), error))
    }

    /// Has one of the settings that are guarded be again what it was; it stays guarded.
    ///
    /// # Errors
    /// [`Fault::System`] where the kernel does not take that.
    pub fn reset(&self, path: &str) -> Result<(), Fault> {
        let Some(at) = self.switches.iter().position(|switch| switch.path() == path) else { return Ok(()) };
        self.changes[at].undo().map(drop).map_err(|error| stuck(&self.changes[at], error))
    }

    /// Undoes everything, the last first, and lets the guardian go. Gives what somebody else has set
    /// meanwhile, which stays.
    ///
    /// # Errors
    /// [`Fault::System`] that names the first setting that is not what it was, and has not been set by
    /// somebody else. The guardian is left to try again when this process ends.
    pub fn restore(mut self) -> Result<Vec<Overridden>, Fault> {
        self.put_back()
    }

    fn put_back(&mut self) -> Result<Vec<Overridden>, Fault> {
        let Some(guardian) = self.guardian.take() else { return Ok(Vec::new()) };
        let overridden = match undo(&self.changes) {
            Ok(overridden) => overridden,
            Err(fault) => {
                guardian.leave();
                return Err(fault);
            }
        };
        self.journal
            .remove()
            .map_err(|error| Fault::system("remove the journal of what was switched", error))?;
        Ok(overridden)
    }
}

impl Drop for Switched {
    fn drop(&mut self) {
        // What cannot be undone now the guardian tries once more.
        let _ = self.put_back();
    }
}

/// What became of what a journal had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restored {
    /// Nothing was switched.
    Nothing,
    /// It was of an earlier start of this machine, which took its settings with it.
    OfAnotherBoot,
    /// All is as it was, but for what somebody else has set since.
    Back {
        /// How many settings the journal had.
        settings: usize,
        /// Those that stay.
        overridden: Vec<Overridden>,
    },
}

/// Undoes what the journal at `path` has that was left behind, and removes it.
///
/// # Errors
/// [`Fault::System`] where somebody uses it, or a setting cannot be put back.
pub fn restore(path: &Path) -> Result<Restored, Fault> {
    if !path.exists() {
        return Ok(Restored::Nothing);
    }
    let mut journal = Journal::open(path)?;
    let restored = match journal.leftover()? {
        Leftover::Nothing => Restored::Nothing,
        Leftover::OfAnotherBoot => Restored::OfAnotherBoot,
        Leftover::Changes(changes) => Restored::Back { settings: changes.len(), overridden: undo(&changes)? },
    };
    journal.remove().map_err(|error| Fault::system(format!("remove {}", path.display()), error))?;
    Ok(restored)
}

/// Undoes all of them, the last first. One that cannot be undone does not keep the others from it.
fn undo(changes: &[Change]) -> Result<Vec<Overridden>, Fault> {
    let mut overridden = Vec::new();
    let mut first = None;
    for change in changes.iter().rev() {
        match change.undo() {
            Ok(Undone::AsBefore) => {}
            Ok(Undone::Overridden) => {
                let path = change.path.to_string_lossy().into_owned();
                overridden.push(Overridden { now: word(&path)?, path });
            }
            Err(error) => first = first.or_else(|| Some(stuck(change, error))),
        }
    }
    first.map_or(Ok(overridden), Err)
}

/// The process that undoes `changes` when this one has ended.
fn guardian(changes: &[Change], journal: &Journal) -> Result<Guardian, Fault> {
    let fault = |error| Fault::system("watch this process", io::Error::from(error));
    let parent = pidfd_open(getpid(), PidfdFlags::empty()).map_err(fault)?;
    let work = || {
        let mut ended = [PollFd::new(&parent, PollFlags::IN)];
        // With every signal blocked nothing interrupts it but a stop; then it waits on.
        while poll(&mut ended, None).is_err() {}
        let mut is_undone = true;
        for change in changes.iter().rev() {
            is_undone &= change.undo().is_ok();
        }
        // What it could not undo is left to whoever comes next.
        if is_undone {
            let _ = journal.remove();
        }
    };
    // SAFETY: it polls, and `Change::undo` and `Journal::remove` make system calls with what was made before.
    unsafe { Guardian::fork(work) }
}
