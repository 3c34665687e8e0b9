//! Revisions of the repository that somebody stands in: checked out beside it, built, and gone afterwards.
//!
//! Nothing of the repository is touched. A revision gets a folder of its own under the cache, with a
//! repository of its own that borrows the objects of the other one (`objects/info/alternates`,
//! gitrepository-layout(5)); so there is no worktree to be registered, and none to be left behind.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tempfile::TempDir;
use tenbin_metal::child::{self, Bounds, End};
use tenbin_model::words::semicolon;

use crate::error::Error;
use crate::process::{lacking, unrun};

/// The longest that a call of git may take, and the longest that a build may.
const GIT: Duration = Duration::from_secs(600);
const BUILD: Duration = Duration::from_secs(3600);

/// How the names of folders begin that revisions are checked out into.
const FOLDER: &str = "revisions-";

/// A revision, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Revision {
    /// As it was named.
    pub name: String,
    /// The commit.
    pub hash: String,
    /// Whether what is not committed belongs to it.
    pub uncommitted: bool,
}

impl Revision {
    /// The first digits of its hash.
    pub fn short(&self) -> &str {
        &self.hash[..self.hash.len().min(9)]
    }
}

/// A repository, and the folder for its revisions, which ends with this.
#[derive(Debug)]
pub struct Repository {
    top: PathBuf,
    /// Where the user stands, seen from its top.
    prefix: PathBuf,
    objects: PathBuf,
    folder: TempDir,
    /// Has that folder locked.
    _held: File,
}

impl Repository {
    /// The repository of the current folder.
    ///
    /// # Errors
    /// [`Error::Missing`] without git, [`Error::Request`] where the folder is in no working tree,
    /// [`Error::File`] where the cache cannot be written.
    pub fn here() -> Result<Self, Error> {
        let asked = |word: &str| git(None, &["rev-parse", "--path-format=absolute", word]);
        let Some(top) = asked("--show-toplevel")? else {
            return Err(Error::Request(
                "--rev: this folder is not in a git working tree; go to one, or leave --rev out".into(),
            ));
        };
        let prefix = asked("--show-prefix")?.unwrap_or_default();
        let objects = git(None, &["rev-parse", "--path-format=absolute", "--git-path", "objects"])?;
        let objects =
            objects.ok_or_else(|| Error::Request("git does not say where its objects are".into()))?;
        let cache = crate::Cache::folder_of("weigh")?;
        fs::create_dir_all(&cache).map_err(Error::file("create", &cache))?;
        sweep(&cache);
        let (folder, held) = held_folder(&cache).map_err(Error::file("create a folder in", &cache))?;
        Ok(Self { top: top.into(), prefix: prefix.into(), objects: objects.into(), folder, _held: held })
    }

    /// The commit that `name` means; `.` is the working tree with what is not committed.
    ///
    /// # Errors
    /// [`Error::Request`] where it means none.
    pub fn resolve(&self, name: &str) -> Result<Revision, Error> {
        let uncommitted = name == ".";
        let asked = if uncommitted { "HEAD" } else { name };
        let commit = format!("{asked}^{{commit}}");
        let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &commit];
        if let Some(hash) = git(Some(&self.top), &words)? {
            return Ok(Revision { name: name.into(), hash, uncommitted });
        }
        let shallow = git(Some(&self.top), &["rev-parse", "--is-shallow-repository"])?;
        let why = match shallow.as_deref() {
            Some("true") => "; this clone is shallow: `git fetch --unshallow` brings the rest",
            _ => "; `git log --oneline` lists commits, `git branch --all` branches",
        };
        Err(Error::Request(format!("--rev {name}: there is no such revision here{why}")))
    }

    /// Whether something in the working tree is not committed.
    ///
    /// # Errors
    /// [`Error::Process`] where git cannot be run.
    pub fn is_dirty(&self) -> Result<bool, Error> {
        let status = git(Some(&self.top), &["status", "--porcelain", "--untracked-files=no"])?;
        Ok(status.is_some_and(|status| !status.is_empty()))
    }

    /// The revision that was first called good in the bisection that is under way.
    ///
    /// # Errors
    /// [`Error::Request`] where none is.
    pub fn first_good(&self) -> Result<Revision, Error> {
        let log = git(Some(&self.top), &["rev-parse", "--path-format=absolute", "--git-path", "BISECT_LOG"])?;
        let none = || {
            Error::Request(
                "--bisect: no bisection with a good revision is under way; begin one (git bisect start BAD GOOD), or name \
                 what to compare with (--rev GOOD)"
                    .into(),
            )
        };
        let path = PathBuf::from(log.ok_or_else(none)?);
        let terms = fs::read_to_string(path.with_file_name("BISECT_TERMS")).unwrap_or_default();
        let good = terms.lines().nth(1).unwrap_or("good").to_owned();
        let log = fs::read_to_string(&path).map_err(|_| none())?;
        let line =
            log.lines().find_map(|line| line.strip_prefix(&format!("# {good}: ["))).ok_or_else(none)?;
        let hash = line.split(']').next().unwrap_or_default();
        let revision = self.resolve(hash)?;
        Ok(Revision { name: good, ..revision })
    }

    /// Checks a revision out, and gives the folder in it that is where the user stands.
    ///
    /// # Errors
    /// [`Error::File`] where something cannot be written, [`Error::Revision`] where git will not.
    pub fn check_out(&self, revision: &Revision, number: usize) -> Result<PathBuf, Error> {
        // Paths of equal length: they are in what is built, and where it lies in memory follows.
        let folder = self.folder.path().join(format!("{number:03}"));
        fs::create_dir_all(&folder).map_err(Error::file("create", &folder))?;
        let must = |words: &[&str], input| {
            let failed = |cause| Error::Revision { name: revision.name.clone(), tried: "check out", cause };
            run("git", words, &folder, GIT, input)?.map_err(failed)
        };
        must(&["init", "--quiet"], None)?;
        let information = folder.join(".git/objects/info");
        let write = |path: PathBuf, text: &[u8]| fs::write(&path, text).map_err(Error::file("write", &path));
        fs::create_dir_all(&information).map_err(Error::file("create", &information))?;
        write(information.join("alternates"), format!("{}\n", self.objects.display()).as_bytes())?;
        let shallow = self.objects.with_file_name("shallow");
        if let Ok(shallow) = fs::read(shallow) {
            write(folder.join(".git/shallow"), &shallow)?;
        }
        // A build may ask `git describe`.
        let tags =
            git(Some(&self.top), &["for-each-ref", "--format=create %(refname) %(objectname)", "refs/tags"])?;
        if let Some(tags) = tags.filter(|tags| !tags.is_empty()) {
            let path = folder.join(".git/tags-to-come");
            write(path.clone(), format!("{tags}\n").as_bytes())?;
            let input = File::open(&path).map_err(Error::file("read", &path))?;
            must(&["update-ref", "--stdin"], Some(input))?;
            let _ = fs::remove_file(path);
        }
        must(&["-c", "advice.detachedHead=false", "checkout", "--quiet", "--detach", &revision.hash], None)?;
        if revision.uncommitted {
            self.add_uncommitted(&folder)?;
        }
        let stands = folder.join(&self.prefix);
        if stands.is_dir() {
            return Ok(stands);
        }
        Err(Error::Revision {
            name: revision.name.clone(),
            tried: "stand in",
            cause: format!("it has no folder {}", self.prefix.display()),
        })
    }

    /// Brings what is not committed into a folder that has the commit.
    fn add_uncommitted(&self, folder: &Path) -> Result<(), Error> {
        let listed = |words: &[&str]| git(Some(&self.top), words);
        let changed = listed(&["diff", "--name-only", "-z", "--no-renames", "HEAD"])?.unwrap_or_default();
        let untracked = listed(&["ls-files", "-z", "--others", "--exclude-standard"])?.unwrap_or_default();
        for name in changed.split('\0').chain(untracked.split('\0')).filter(|name| !name.is_empty()) {
            let (from, to) = (self.top.join(name), folder.join(name));
            if fs::symlink_metadata(&to).is_ok_and(|there| !there.is_dir()) {
                fs::remove_file(&to).map_err(Error::file("remove", &to))?;
            }
            let Ok(there) = fs::symlink_metadata(&from) else { continue };
            if let Some(parent) = to.parent() {
                fs::create_dir_all(parent).map_err(Error::file("create", parent))?;
            }
            if there.is_symlink() {
                let target = fs::read_link(&from).map_err(Error::file("read", &from))?;
                symlink(target, &to).map_err(Error::file("write", &to))?;
            } else if there.is_file() {
                crate::folder::copied(&from, &to)?;
            }
        }
        Ok(())
    }

    /// Builds what was checked out.
    ///
    /// # Errors
    /// [`Error::Revision`] where the build fails, with its last words.
    pub fn build(&self, revision: &Revision, folder: &Path, command: &str) -> Result<(), Error> {
        run("sh", &["-c", command], folder, BUILD, None)?.map(drop).map_err(|cause| Error::Revision {
            name: format!("{} ({})", revision.name, revision.short()),
            tried: "build",
            cause: format!("`{command}` {cause}"),
        })
    }
}

/// What git says, without white space at its end. None where it says no.
fn git(folder: Option<&Path>, words: &[&str]) -> Result<Option<String>, Error> {
    let folder = folder.map_or_else(|| PathBuf::from("."), Path::to_path_buf);
    Ok(run("git", words, &folder, GIT, None)?.ok())
}

/// What a program wrote, or how it ended and its last words.
fn run(
    program: &'static str,
    words: &[&str],
    folder: &Path,
    time: Duration,
    input: Option<File>,
) -> Result<Result<String, String>, Error> {
    let mut command = Command::new(program);
    command.args(words).current_dir(folder).stdin(input.map_or_else(Stdio::null, Stdio::from));
    // What git tells its hooks and its bisections is of the other repository.
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY"] {
        command.env_remove(name);
    }
    command.env("GIT_TERMINAL_PROMPT", "0");
    let bounds = Bounds { output: 64 << 20, ..Bounds::within(time) };
    let finished = match child::run(command, bounds) {
        Ok(finished) => finished,
        Err(tenbin_metal::Fault::System { error, .. }) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err(lacking(format!("the program {program}"), "to check out revisions", program));
        }
        Err(fault) => return Err(unrun(program, fault)),
    };
    if finished.end == End::Exited(0) {
        return Ok(Ok(String::from_utf8_lossy(&finished.stdout).trim_end().to_owned()));
    }
    const LINES: usize = 5;
    let text =
        String::from_utf8_lossy(if finished.stderr.is_empty() { &finished.stdout } else { &finished.stderr })
            .into_owned();
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = semicolon(&lines[lines.len().saturating_sub(LINES)..]);
    let last = if last.is_empty() { String::new() } else { format!(": {last}") };
    Ok(Err(format!("ended with {}{last}", finished.end)))
}

/// A folder in the cache that nobody sweeps as long as it is held: by a lock (flock(2)), which ends with its
/// process, however that ends. Numbers of processes would be those of one machine, or of one container.
fn held_folder(cache: &Path) -> io::Result<(TempDir, File)> {
    loop {
        let folder = tempfile::Builder::new().prefix(FOLDER).tempdir_in(cache)?;
        let held = File::open(folder.path())?;
        // Who sweeps may have come between the two.
        if held.try_lock().is_ok() && folder.path().is_dir() {
            return Ok((folder, held));
        }
    }
}

/// Removes what processes left behind that are no more: killed, they could not do it themselves.
fn sweep(cache: &Path) {
    let Ok(entries) = fs::read_dir(cache) else { return };
    for entry in entries.flatten() {
        let is_ours = entry.file_name().to_str().is_some_and(|name| name.starts_with(FOLDER));
        if is_ours
            && let Ok(held) = File::open(entry.path())
            && held.try_lock().is_ok()
        {
            // Another one may sweep as well.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dead_processes_left_is_swept_and_nothing_else() {
        let cache = tempfile::tempdir().unwrap();
        fs::create_dir(cache.path().join(format!("{FOLDER}of-nobody"))).unwrap();
        fs::create_dir(cache.path().join("something")).unwrap();
        let (folder, held) = held_folder(cache.path()).unwrap();
        let left = || {
            sweep(cache.path());
            fs::read_dir(cache.path()).unwrap().count()
        };
        assert_eq!(left(), 2);
        assert!(folder.path().is_dir());
        // As when its process is killed. A child that another test starts at this moment has the lock as
        // well, until it executes a program.
        drop(held);
        assert!((0..10_000).any(|_| left() == 1), "{} are left", left());
    }

    #[test]
    fn a_program_that_fails_says_how_and_with_which_words() {
        let failed = run("sh", &["-c", "echo one >&2; echo two >&2; exit 3"], Path::new("/"), GIT, None);
        assert_eq!(failed.unwrap(), Err("ended with exit status: 3: one; two".into()));
        assert_eq!(run("sh", &["-c", "echo yes"], Path::new("/"), GIT, None).unwrap(), Ok("yes".into()));
    }
}
