//! A change of the machine that can be undone, and how. Undoing allocates nothing and takes no lock, so that
//! a process that was forked off several threads may do it.

use std::ffi::{CStr, CString};
use std::io;
use std::path::Path;

use rustix::fs::{AtFlags, Mode, OFlags, open, unlinkat};
use rustix::io::{Errno, read, write};
use rustix::thread::{NanosleepRelativeResult, Timespec, nanosleep};

use super::{Switch, Value};
use crate::fault::Fault;

/// More bytes than the kernel gives of a setting.
const LARGEST: usize = 4096;

/// How often it is tried to remove a control group whose processes are ending, a millisecond apart.
const ATTEMPTS: usize = 1000;

/// How often a setting is written that is busy, a millisecond apart.
const BUSY: usize = 20;

/// The switch of both watchdogs. Before Linux 6.13 it is off once somebody has read it while both were
/// (`proc_watchdog_common` in `kernel/watchdog.c`), and neither can be switched on. One was on, so it was.
const WATCHDOGS: &CStr = c"/proc/sys/kernel/watchdog";

/// A change, and what undoes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Change {
    /// The file that holds a setting, or the folder of a control group.
    pub(super) path: CString,
    pub(super) kind: Kind,
}

#[derive(Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Setting {
        /// What it was.
        before: Vec<u8>,
        /// What is written to have that again.
        back: Vec<u8>,
        /// What it may be set to, as the kernel then has it.
        ours: Vec<Vec<u8>>,
    },
    /// A control group that is made, with its list of processes, and the one that they go back to.
    Group { members: CString, back: CString },
}

/// What became of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Undone {
    /// It was not made, or is undone.
    AsBefore,
    /// Somebody else has set something else since, which stays.
    Overridden,
}

impl Change {
    /// What undoes this switch, with what is there now.
    pub(super) fn of(switch: &Switch) -> Result<Self, Fault> {
        let path = |text: &str| {
            CString::new(text).map_err(|error| Fault::system(format!("use the path {text}"), error))
        };
        let kind = match switch {
            Switch::Setting { path, values, back } => {
                super::can_be_set(path)?;
                let before = super::word(path)?;
                let back = back.as_ref().unwrap_or(&before).clone().into_bytes();
                let ours = values.iter().map(|value| value.reads.clone().into_bytes()).collect();
                Kind::Setting { before: before.into_bytes(), back, ours }
            }
            Switch::Group { path: folder, .. } if Path::new(folder).exists() => {
                let error = io::Error::from(io::ErrorKind::AlreadyExists);
                return Err(Fault::system(format!("make the control group {folder}"), error));
            }
            Switch::Group { path: folder, back } => {
                Kind::Group { members: path(&format!("{folder}/cgroup.procs"))?, back: path(back)? }
            }
        };
        Ok(Self { path: path(switch.path())?, kind })
    }

    /// Undoes it where it was made.
    ///
    /// # Errors
    /// What the kernel said; `EIO` where it took what was there before and has something else.
    pub(super) fn undo(&self) -> Result<Undone, Errno> {
        match &self.kind {
            Kind::Setting { before, back, ours } => self.put_back(before, back, ours),
            Kind::Group { members, back } => self.remove(members, back),
        }
    }

    fn put_back(&self, before: &[u8], back: &[u8], ours: &[Vec<u8>]) -> Result<Undone, Errno> {
        let mut buffer = [0; LARGEST];
        let now = content(&self.path, &mut buffer)?;
        if now == before {
            return Ok(Undone::AsBefore);
        }
        if !ours.iter().any(|value| value == now) {
            return Ok(Undone::Overridden);
        }
        write_to(&self.path, back)?;
        if content(&self.path, &mut buffer)? != before && self.is_watchdog() {
            write_to(WATCHDOGS, b"1")?;
            write_to(&self.path, back)?;
        }
        if content(&self.path, &mut buffer)? == before { Ok(Undone::AsBefore) } else { Err(Errno::IO) }
    }

    fn is_watchdog(&self) -> bool {
        let path = self.path.to_bytes();
        path.starts_with(b"/proc/sys/kernel/") && path.ends_with(b"_watchdog")
    }

    /// A control group is removed once nobody is in it (`Documentation/admin-guide/cgroup-v2.rst`): who is
    /// goes back to where whoever made it had been.
    fn remove(&self, members: &CStr, back: &CStr) -> Result<Undone, Errno> {
        let mut buffer = [0; LARGEST];
        for _ in 0..ATTEMPTS {
            match unlinkat(rustix::fs::CWD, &*self.path, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => return Ok(Undone::AsBefore),
                Err(Errno::BUSY) => {}
                Err(error) => return Err(error),
            }
            let processes = content(members, &mut buffer)?;
            for process in processes.split(|byte| *byte == b'\n').filter(|process| !process.is_empty()) {
                match write_to(back, process) {
                    // It has ended meanwhile.
                    Ok(()) | Err(Errno::SRCH) => {}
                    Err(error) => return Err(error),
                }
            }
            pause()?;
        }
        Err(Errno::BUSY)
    }
}

/// A file's content, as [`chosen`] has it.
fn content<'a>(path: &CStr, buffer: &'a mut [u8; LARGEST]) -> Result<&'a [u8], Errno> {
    let file = open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty())?;
    let mut length = 0;
    loop {
        match read(&file, &mut buffer[length..])? {
            0 => return Ok(chosen(&buffer[..length])),
            more => length += more,
        }
    }
}

/// Writes a setting. Some are busy for a moment, as the parameters of a CPU's deadline server are while its
/// scheduling domain is made anew.
pub(super) fn write_to(path: &CStr, value: &[u8]) -> Result<(), Errno> {
    let file = open(path, OFlags::WRONLY | OFlags::TRUNC | OFlags::CLOEXEC, Mode::empty())?;
    for _ in 0..BUSY {
        match write(&file, value) {
            Err(Errno::BUSY | Errno::AGAIN) => pause()?,
            written => return written.map(drop),
        }
    }
    write(&file, value).map(drop)
}

/// A millisecond.
fn pause() -> Result<(), Errno> {
    match nanosleep(&Timespec { tv_sec: 0, tv_nsec: 1_000_000 }) {
        NanosleepRelativeResult::Err(error) => Err(error),
        _ => Ok(()),
    }
}

/// What a setting is: the text without the white space around it, or the word in brackets where all that it
/// may be are listed, as `always [madvise] never`.
pub(super) fn chosen(text: &[u8]) -> &[u8] {
    let at = |byte| text.iter().position(|other| *other == byte);
    match (at(b'['), at(b']')) {
        (Some(start), Some(end)) if start < end => &text[start + 1..end],
        _ => text.trim_ascii(),
    }
}

impl From<&str> for Value {
    fn from(word: &str) -> Self {
        Self { write: word.into(), reads: word.into() }
    }
}

/// The reason why a change could not be undone, with what it is about.
pub(super) fn stuck(change: &Change, error: Errno) -> Fault {
    let path = change.path.to_string_lossy();
    match &change.kind {
        Kind::Setting { before, .. } => {
            let before = String::from_utf8_lossy(before);
            Fault::system(format!("put {path} back to {before}"), io::Error::from(error))
        }
        Kind::Group { .. } => {
            Fault::system(format!("remove the control group {path}"), io::Error::from(error))
        }
    }
}
