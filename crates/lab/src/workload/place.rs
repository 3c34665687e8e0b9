//! Where work is done: a folder in the file system that is asked about, and one in memory beside it.

use std::path::{Path, PathBuf};
use std::{env, fs};

use tenbin_model::{Finding, Refusal};

use crate::compiled::Folder;
use crate::experiment::{Request, Unfit};
use crate::shortage;

/// Where Linux has a file system in memory for everybody (shm_overview(7)).
const MEMORY: &str = "/dev/shm";

/// File systems in memory, by the kernel's names.
const IN_MEMORY: [&str; 2] = ["tmpfs", "ramfs"];

/// The two folders, gone with this or with this process.
pub(crate) struct Places {
    /// In the file system that is asked about.
    pub(crate) here: Folder,
    /// In memory.
    pub(crate) memory: Folder,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Mount {
    kind: String,
    source: String,
    point: PathBuf,
}

impl Places {
    /// Both, empty.
    ///
    /// # Errors
    /// A refusal where there is no file system in memory; a fault where a folder cannot be made.
    pub(crate) fn open(request: &Request<'_>) -> Result<Self, Unfit> {
        let here = folder(request)?;
        if !of(Path::new(MEMORY)).is_some_and(|mount| mount.is_in_memory()) {
            return Err(Unfit::Refused(Refusal {
                reached: format!("there is no file system in memory at {MEMORY}"),
                needs: "one, to hold the other against".into(),
                remedy: format!("have root mount one: mount -t tmpfs tmpfs {MEMORY}"),
            }));
        }
        Ok(Self {
            here: Folder::within(&here).map_err(shortage::unfit)?,
            memory: Folder::within(Path::new(MEMORY)).map_err(shortage::unfit)?,
        })
    }

    /// Which file system is asked about.
    pub(crate) fn finding(&self, experiment: &str) -> Finding {
        let path = self.here.path();
        let sentence = match of(path) {
            Some(mount) if mount.is_in_memory() => {
                "The file system asked about is in memory as well: --set folder=PATH names a folder of another one."
                    .to_owned()
            }
            Some(Mount { kind, .. }) => format!("The file system asked about is {kind}."),
            None => "The kernel does not say which file system is asked about.".into(),
        };
        let point = |path: &Path| {
            of(path).map_or_else(
                || "?".into(),
                |Mount { kind, source, point }| format!("{kind} ({source}) at {}", point.display()),
            )
        };
        Finding {
            experiment: experiment.into(),
            sentence,
            evidence: format!("{}, beside {}", point(path), point(self.memory.path())),
            confidence: "the kernel's word, in /proc/self/mountinfo".into(),
        }
    }
}

/// The folder in whose file system work is done: that of temporary files unless `--set folder` names another.
///
/// # Errors
/// A usage error where there is no such folder.
pub(crate) fn folder(request: &Request<'_>) -> Result<PathBuf, Unfit> {
    let Some(given) = request.settings.given("folder") else { return Ok(env::temp_dir()) };
    if !Path::new(given).is_dir() {
        return Err(Unfit::Usage(format!("--set folder={given}: there is no such folder")));
    }
    Ok(given.into())
}

impl Mount {
    fn is_in_memory(&self) -> bool {
        IN_MEMORY.contains(&self.kind.as_str())
    }
}

/// The file system that a path is in; none where the kernel does not say.
fn of(path: &Path) -> Option<Mount> {
    let path = fs::canonicalize(path).ok()?;
    mount_of(&fs::read_to_string("/proc/self/mountinfo").ok()?, &path)
}

/// That of a path, by the lines of a mountinfo (proc(5)): the deepest mount point, and of several at one
/// place the last, which covers the others.
fn mount_of(mounts: &str, path: &Path) -> Option<Mount> {
    let mounts = mounts.lines().filter_map(|line| {
        let (left, right) = line.split_once(" - ")?;
        let point = PathBuf::from(plain(left.split(' ').nth(4)?));
        let mut right = right.split(' ');
        Some(Mount { kind: right.next()?.into(), source: plain(right.next()?), point })
    });
    mounts.filter(|mount| path.starts_with(&mount.point)).max_by_key(|mount| mount.point.components().count())
}

/// A field with its white space as it is.
fn plain(field: &str) -> String {
    field.replace("\\040", " ").replace("\\011", "\t").replace("\\134", "\\")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_in_the_deepest_mount_and_the_last_of_a_place() {
        let mounts = "22 1 254:0 / / rw,relatime shared:1 - ext4 /dev/root rw\n\
                      30 22 0:26 / /mnt/c rw - 9p C:\\134 rw\n\
                      31 22 0:27 / /dev/shm rw - devtmpfs none rw\n\
                      32 22 0:28 / /dev/shm rw - tmpfs none rw\n\
                      33 22 0:29 / /mnt/a\\040b rw - xfs /dev/sda rw\n";
        let of = |path: &str| mount_of(mounts, Path::new(path)).unwrap();
        assert_eq!(of("/tmp/work").kind, "ext4");
        assert_eq!(
            of("/mnt/c/work"),
            Mount { kind: "9p".into(), source: "C:\\".into(), point: "/mnt/c".into() }
        );
        assert_eq!(of("/mnt/cc").kind, "ext4");
        assert!(of("/dev/shm/x").is_in_memory() && !of("/dev").is_in_memory());
        assert_eq!(of("/mnt/a b/c").kind, "xfs");
        assert_eq!(mount_of("", Path::new("/")), None);
    }
}
