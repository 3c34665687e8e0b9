//! The journal of what is switched: a file that is on the disk before anything is switched, and gone when all
//! is as it was. A process that is killed with its guardian leaves it behind, for whoever comes next.
//!
//! Its lines have their fields between tabs: the boot, the process, the changes in the order in which they
//! are made, and `end`. Without that line it was never finished, and then nothing was switched.

use std::ffi::CString;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::id;

use rustix::fs::{FlockOperation, flock, unlink};
use rustix::io::Errno;

use super::change::{Change, Kind};
use crate::fault::Fault;

const BOOT: &str = "/proc/sys/kernel/random/boot_id";

/// A journal that is open and locked. The lock is that of the open file: a guardian that is forked has it
/// too, and it lasts as long as one of them (flock(2)).
#[derive(Debug)]
pub(super) struct Journal {
    file: File,
    path: CString,
}

/// What a journal says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Leftover {
    /// Nothing is switched.
    Nothing,
    /// Of the kernel that ran before: what it had switched is gone with it.
    OfAnotherBoot,
    /// These are switched, if nobody has undone them.
    Changes(Vec<Change>),
}

impl Journal {
    /// Opens and locks the journal at `path`.
    ///
    /// # Errors
    /// [`Fault::System`] where it cannot be written, or somebody has it.
    pub(super) fn open(path: &Path) -> Result<Self, Fault> {
        let fault = |error: io::Error| Fault::system(format!("open the journal {}", path.display()), error);
        let name = CString::new(path.as_os_str().as_bytes()).map_err(|error| fault(error.into()))?;
        loop {
            let mut options = OpenOptions::new();
            let options = options.read(true).write(true).create(true).truncate(false).mode(0o600);
            let mut file = options.open(path).map_err(fault)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::AGAIN) => return Err(taken(&mut file)),
                Err(error) => return Err(fault(error.into())),
            }
            // Whoever had it may have removed it between the two calls.
            let inode = |metadata: fs::Metadata| (metadata.dev(), metadata.ino());
            let here = file.metadata().map(inode).map_err(fault)?;
            match fs::symlink_metadata(path).map(inode) {
                Ok(there) if there == here => return Ok(Self { file, path: name }),
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fault(error)),
                _ => {}
            }
        }
    }

    /// What is left of whoever wrote it last.
    pub(super) fn leftover(&mut self) -> Result<Leftover, Fault> {
        let mut text = String::new();
        let read = self.file.rewind().and_then(|()| self.file.read_to_string(&mut text));
        read.map_err(|error| self.fault("read", error))?;
        Ok(leftover(&text, &boot()?))
    }

    /// Writes what is about to be switched, on to the disk.
    pub(super) fn write(&mut self, changes: &[Change]) -> Result<(), Fault> {
        let text = written(&boot()?, changes).map_err(|error| self.fault("write", error))?;
        let folder = PathBuf::from(self.path.to_string_lossy().into_owned());
        let mut write = || {
            self.file.set_len(0)?;
            self.file.rewind()?;
            self.file.write_all(&text)?;
            self.file.sync_all()?;
            // The file's name too.
            File::open(folder.parent().unwrap_or(&folder))?.sync_all()
        };
        write().map_err(|error| self.fault("write", error))
    }

    /// Removes it: all is as it was. It allocates nothing.
    pub(super) fn remove(&self) -> Result<(), Errno> {
        unlink(&*self.path)
    }

    fn fault(&self, verb: &str, error: io::Error) -> Fault {
        Fault::system(format!("{verb} the journal {}", self.path.to_string_lossy()), error)
    }
}

/// That somebody else has it: the process that is in it.
fn taken(file: &mut File) -> Fault {
    let mut text = String::new();
    let _ = file.read_to_string(&mut text);
    let holder = text.lines().nth(1).and_then(|line| line.strip_prefix("process\t"));
    let holder = holder.map_or_else(|| "another tenbin".into(), |number| format!("process {number}"));
    let why = format!("{holder} has settings of this machine switched, and puts them back when it ends");
    Fault::system("switch settings", io::Error::other(why))
}

fn boot() -> Result<String, Fault> {
    super::word(BOOT)
}

fn written(boot: &str, changes: &[Change]) -> io::Result<Vec<u8>> {
    let mut text = format!("boot\t{boot}\nprocess\t{}\n", id()).into_bytes();
    for change in changes {
        let path = change.path.as_bytes();
        let fields: Vec<&[u8]> = match &change.kind {
            Kind::Setting { before, back, ours } => {
                let first: [&[u8]; 4] = [b"setting", path, before, back];
                first.into_iter().chain(ours.iter().map(Vec::as_slice)).collect()
            }
            Kind::Group { members, back } => vec![b"group", path, members.as_bytes(), back.as_bytes()],
        };
        if fields.iter().any(|field| field.iter().any(|byte| b"\t\n".contains(byte))) {
            let why = format!("{} holds more than a line", change.path.to_string_lossy());
            return Err(io::Error::other(why));
        }
        text.extend(fields.join(&b'\t'));
        text.push(b'\n');
    }
    text.extend(b"end\n");
    Ok(text)
}

fn leftover(text: &str, boot: &str) -> Leftover {
    let mut lines = text.lines();
    let of = lines.next().and_then(|line| line.strip_prefix("boot\t"));
    let changes = lines.skip(1).map_while(read);
    match of {
        Some(_) if !text.ends_with("\nend\n") => Leftover::Nothing,
        Some(of) if of == boot => Leftover::Changes(changes.collect()),
        Some(_) => Leftover::OfAnotherBoot,
        None => Leftover::Nothing,
    }
}

fn read(line: &str) -> Option<Change> {
    let text = |field: Option<&str>| CString::new(field?).ok();
    let mut fields = line.split('\t');
    let kind = fields.next()?;
    let path = text(fields.next())?;
    let kind = match kind {
        "setting" => Kind::Setting {
            before: fields.next()?.into(),
            back: fields.next()?.into(),
            ours: fields.map(Into::into).collect(),
        },
        "group" => Kind::Group { members: text(fields.next())?, back: text(fields.next())? },
        _ => return None,
    };
    Some(Change { path, kind })
}
