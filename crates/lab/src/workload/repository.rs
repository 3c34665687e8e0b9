//! Repositories of git: one of our own sources, or two revisions of a user's, which is only read.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds};

use super::command::{DEADLINE, Step, program};
use super::sources::{self, Revision};
use crate::ending;
use crate::experiment::{Failure, Unfit};

/// Where git is.
///
/// # Errors
/// That it is missing.
pub(crate) fn git() -> Result<PathBuf, Unfit> {
    program("git", "it makes the repository and checks it out", "git")
}

/// Two revisions to go between, by their ids.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) from: String,
    pub(crate) to: String,
}

/// What a repository is made of.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// So many files of our own sources.
    Own(u32),
    /// The objects of a user's, which stay where they are.
    Lent { objects: PathBuf, pair: Pair },
}

pub(crate) struct Repository {
    git: PathBuf,
    root: PathBuf,
    pub(crate) pair: Pair,
    origin: Origin,
}

/// What a user's environment or configuration says of other repositories, or of how git works, put aside.
/// `git rev-parse --local-env-vars` lists those of a repository; the rest is git(1).
fn environment(root: &Path) -> Vec<(&'static str, OsString)> {
    let own = root.join(".git");
    let within = |name: &str| own.join(name).into_os_string();
    vec![
        ("GIT_DIR", own.clone().into()),
        ("GIT_COMMON_DIR", own.clone().into()),
        ("GIT_WORK_TREE", root.into()),
        ("GIT_INDEX_FILE", within("index")),
        ("GIT_OBJECT_DIRECTORY", within("objects")),
        ("GIT_ALTERNATE_OBJECT_DIRECTORIES", OsString::new()),
        ("GIT_CONFIG_NOSYSTEM", "1".into()),
        ("GIT_CONFIG_GLOBAL", "/dev/null".into()),
        ("GIT_CONFIG_SYSTEM", "/dev/null".into()),
        ("GIT_CONFIG_COUNT", "0".into()),
        ("GIT_CONFIG_PARAMETERS", OsString::new()),
        // Before git 2.32 a user's own configuration is found by these alone.
        ("HOME", own.clone().into()),
        ("XDG_CONFIG_HOME", own.into()),
        ("GIT_DEFAULT_HASH", "sha1".into()),
        ("GIT_NAMESPACE", OsString::new()),
        ("GIT_TERMINAL_PROMPT", "0".into()),
    ]
}

impl Repository {
    /// One in this folder, with nothing checked out.
    ///
    /// # Errors
    /// A fault where a file cannot be written or git not be run; that git did not do it, in its words.
    pub(crate) fn make(git: &Path, folder: &Path, origin: &Origin) -> Result<Self, Failure> {
        let root = folder.join("work");
        let made = |path: &Path, error: io::Error| Fault::system(format!("make {}", path.display()), error);
        fs::create_dir(&root).map_err(|error| made(&root, error))?;
        let none = Pair { from: String::new(), to: String::new() };
        let mut repository = Self { git: git.into(), root, pair: none, origin: origin.clone() };
        repository.ask(&["init", "-q", "--template="], None)?;
        match origin {
            Origin::Own(files) => {
                let stream = folder.join("stream");
                let written = File::create(&stream).and_then(|file| {
                    let mut file = BufWriter::new(file);
                    history(&mut file, *files)?;
                    file.flush()
                });
                written.map_err(|error| made(&stream, error))?;
                let input = File::open(&stream).map_err(|error| made(&stream, error))?;
                fs::remove_file(&stream).map_err(|error| made(&stream, error))?;
                repository.ask(&["fast-import", "--quiet"], Some(input))?;
                let id = |name: &str| -> Result<String, Failure> {
                    let answer = repository.ask(&["rev-parse", name], None)?;
                    Ok(String::from_utf8_lossy(&answer).trim().to_owned())
                };
                repository.pair = Pair { from: id("refs/tags/from")?, to: id("refs/tags/to")? };
            }
            Origin::Lent { objects, pair } => {
                let list = repository.root.join(".git/objects/info/alternates");
                let line = [objects.as_os_str().as_bytes(), b"\n"].concat();
                let folder = list.parent().unwrap_or(&list);
                let written = fs::create_dir_all(folder).and_then(|()| fs::write(&list, line));
                written.map_err(|error| made(&list, error))?;
                repository.pair = pair.clone();
            }
        }
        repository.ask(&["checkout", "-q", "-f", "--detach", &repository.pair.from], None)?;
        Ok(repository)
    }

    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// The checkout of a revision.
    ///
    /// # Errors
    /// A fault where a word has a NUL in it.
    pub(crate) fn checkout(&self, id: &str) -> Result<Step, Fault> {
        let variables = environment(&self.root);
        let variables: Vec<(&str, &OsStr)> =
            variables.iter().map(|(name, value)| (*name, value.as_os_str())).collect();
        let words = ["checkout", "-q", "--detach", id].map(OsStr::new);
        Step::new(&self.git, &words, &self.root, &variables)
    }

    /// Has git do what these words say, in the work tree; what it wrote.
    ///
    /// # Errors
    /// A fault where it cannot be run; that it ended otherwise than with 0.
    pub(crate) fn ask(&self, words: &[&str], input: Option<File>) -> Result<Vec<u8>, Failure> {
        let mut command = Command::new(&self.git);
        command.args(words).current_dir(&self.root).envs(environment(&self.root));
        answer(command, input).map_err(|why| match why {
            Unanswered::Fault(fault) => Failure::Machine(fault),
            Unanswered::Refused(words) => Failure::Wrong(words),
        })
    }

    /// Whether the work tree is this revision's, every file and no other: what it holds, or what is wrong.
    ///
    /// # Errors
    /// As [`ask`](Self::ask).
    pub(crate) fn holds(&self, revision: Revision) -> Result<Result<String, String>, Failure> {
        let id = if revision == Revision::From { &self.pair.from } else { &self.pair.to };
        let head = self.ask(&["rev-parse", "HEAD"], None)?;
        if String::from_utf8_lossy(&head).trim() != id {
            return Ok(Err(format!("HEAD is {} and not {id}", String::from_utf8_lossy(&head).trim())));
        }
        let status = self.ask(&["status", "--porcelain", "--untracked-files=all", "-z"], None)?;
        if let Some(first) = status.split(|&byte| byte == 0).next().filter(|first| !first.is_empty()) {
            return Ok(Err(format!("not as in the revision: {}", String::from_utf8_lossy(first).trim())));
        }
        let Origin::Own(files) = self.origin else { return Ok(Ok("every file as in the revision".into())) };
        // Git was asked about its own work: the contents are known here as well.
        for number in 0..files {
            let path = sources::path(number, revision);
            match fs::read_to_string(self.root.join(&path)) {
                Ok(text) if text == sources::text(number, revision) => {}
                Ok(_) => return Ok(Err(format!("{path} has other contents"))),
                Err(error) => return Ok(Err(format!("{path}: {error}"))),
            }
        }
        Ok(Ok(format!("{files} of {files} files as in the revision")))
    }
}

/// The stream of a history of two commits with a tag each (git-fast-import(1)).
fn history(stream: &mut dyn Write, files: u32) -> io::Result<()> {
    let commits = [(Revision::From, "from", 946_684_800), (Revision::To, "to", 978_307_200)];
    for (mark, (revision, name, date)) in (1..).zip(commits) {
        let who = format!("tenbin <tenbin@localhost> {date} +0000");
        let length = name.len();
        write!(stream, "commit refs/tags/{name}\nmark :{mark}\nauthor {who}\ncommitter {who}\n")?;
        write!(stream, "data {length}\n{name}\n")?;
        if revision == Revision::To {
            stream.write_all(b"from :1\n")?;
        }
        for number in 0..files {
            let is_new =
                revision == Revision::From || sources::is_changed(number) || sources::is_moved(number);
            if !is_new {
                continue;
            }
            let (path, text) = (sources::path(number, revision), sources::text(number, revision));
            if revision == Revision::To && sources::is_moved(number) {
                writeln!(stream, "D {}", sources::path(number, Revision::From))?;
            }
            write!(stream, "M 100644 inline {path}\ndata {}\n{text}\n", text.len())?;
        }
        stream.write_all(b"\n")?;
    }
    Ok(())
}

/// Why git gave no answer.
enum Unanswered {
    Fault(Fault),
    /// It ended with another status than 0: its words.
    Refused(String),
}

fn answer(mut command: Command, input: Option<File>) -> Result<Vec<u8>, Unanswered> {
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    // As many paths as a user's repository has differing.
    let bounds = Bounds { output: 256 << 20, ..Bounds::within(DEADLINE) };
    let finished = child::run(command, bounds).map_err(Unanswered::Fault)?;
    if finished.end.success() {
        return Ok(finished.stdout);
    }
    Err(Unanswered::Refused(format!(
        "`git` ended with {}{}",
        finished.end,
        ending::last_words(&finished.stderr)
    )))
}

/// What `--set repo`, `from` and `to` name: the repository's objects, its two revisions, how many paths
/// differ between them, and the first regular file of those.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Lent {
    pub(crate) objects: PathBuf,
    pub(crate) pair: Pair,
    pub(crate) differing: u64,
    pub(crate) first: PathBuf,
}

impl Lent {
    /// Asks git about a user's repository, which it only reads.
    ///
    /// # Errors
    /// A usage error where there is no such repository or revision, or the two do not differ in a file; a
    /// fault where git cannot be run.
    pub(crate) fn of(git: &Path, repo: &str, [from, to]: [&str; 2]) -> Result<Self, Unfit> {
        let ask = |key: &str, words: &[&str]| {
            let mut command = Command::new(git);
            command.arg("-C").arg(repo).args(words);
            for (name, _) in environment(Path::new("")) {
                // What a user says of himself stays: whose repositories he trusts, above all.
                if !["HOME", "XDG_CONFIG_HOME"].contains(&name) {
                    command.env_remove(name);
                }
            }
            // Nothing of the repository is changed, its index not even refreshed.
            command.env("GIT_OPTIONAL_LOCKS", "0");
            answer(command, None).map_err(|why| match why {
                Unanswered::Fault(fault) => Unfit::Fault(fault),
                Unanswered::Refused(words) => Unfit::Usage(format!("--set {key}: {words}")),
            })
        };
        let line = |bytes: Vec<u8>| {
            let end = bytes.iter().rposition(|&byte| byte != b'\n').map_or(0, |last| last + 1);
            OsString::from_vec(bytes[..end].to_vec())
        };
        let objects = line(ask(&format!("repo={repo}"), &["rev-parse", "--git-path", "objects"])?);
        let objects = fs::canonicalize(Path::new(repo).join(objects))
            .map_err(|error| Unfit::Usage(format!("--set repo={repo}: {error}")))?;
        let id = |key: &str, revision: &str| {
            let name = format!("{revision}^{{commit}}");
            let words = ["rev-parse", "--verify", "--quiet", "--end-of-options", &name];
            ask(&format!("{key}={revision}"), &words).map(|id| line(id).to_string_lossy().into_owned())
        };
        let pair = Pair { from: id("from", from)?, to: id("to", to)? };
        let keys = format!("from={from}, --set to={to}");
        let raw = ask(&keys, &["diff-tree", "-r", "-z", "--no-renames", "--raw", &pair.from, &pair.to])?;
        let fields: Vec<&[u8]> = raw.split(|&byte| byte == 0).collect();
        let pairs: Vec<[&[u8]; 2]> = fields.as_chunks::<2>().0.to_vec();
        // ":100644 100755 …": a mode of 0 is no file, 16 and 12 are submodules and links.
        let is_plain = |meta: &[u8]| {
            let modes = [meta.get(1..7), meta.get(8..14)];
            modes.iter().flatten().all(|mode| mode.starts_with(b"100") || **mode == *b"000000")
        };
        let first = pairs
            .iter()
            .find(|[meta, _]| is_plain(meta))
            .ok_or_else(|| Unfit::Usage(format!("--set {keys}: these two do not differ in a file")))?;
        let first = OsString::from_vec(first[1].to_vec()).into();
        Ok(Self { objects, differing: pairs.len() as u64, first, pair })
    }
}

#[cfg(test)]
mod tests;
