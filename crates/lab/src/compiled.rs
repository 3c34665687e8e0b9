//! Small C programs of ours, compiled on the machine that they run on.
//!
//! A static binary cannot load a shared library: the library brings the C library of its machine, and two of
//! those in one process do not get on. So what must meet the machine's own C library is a dynamic program of
//! its own, built by the machine's own compiler (`$CC`, else `cc`) into a folder that vanishes, however this
//! process ends.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::{self, BufRead, BufReader};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds, End, Finished};
use tenbin_model::words::semicolon;
use tenbin_model::{Missing, Refusal};

use crate::experiment::Unfit;
use crate::shortage;

/// A compiler that takes longer for a page of C hangs.
pub(crate) const DEADLINE: Duration = Duration::from_secs(60);

/// What a source becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A dynamic program.
    Program,
    /// A shared library.
    Library,
    /// An object, to be linked with others.
    Object,
}

/// What execve(2) says where there is no such program, and where it is none.
const ENOENT: i32 = 2;
const EACCES: i32 = 13;

/// How a shell, or a program that stands in front of a compiler, ends when there is no such program.
const NO_SUCH_PROGRAM: i32 = 127;

/// What makes the folder: a shell that leaves a guardian behind, which makes one in the folder `$1` for the
/// process `$2`, says `=` and its path, or `!` and why there is none, and reads until nobody has the other
/// end of its standard input open, which nobody ever writes to. Then it removes the folder, and again where a
/// compiler that outlived its parent has just written there. What a terminal or a shutdown sends to end
/// programs does not end it: it is the one that has to be there afterwards. The shell itself ends at once,
/// because who traces waits for all children.
const GUARDIAN: &str = r#"
exec 3<&0
{
    trap '' HUP INT QUIT TERM PIPE
    folder=$(mktemp -d "$1/tenbin-$2-XXXXXX" 2>&1) || { printf '!%s\0' "$folder"; exit 1; }
    printf '=%s\0' "$folder"
    read -r nothing
    for try in 1 2 3 4 5; do
        rm -rf -- "$folder" 2>/dev/null
        [ -e "$folder" ] || exit 0
        sleep 1
    done
} <&3 3<&- &
"#;

/// A folder that a guardian, a process of its own, removes when this is dropped or this process has ended, in
/// whatever way.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    /// Open as long as the folder is wanted; none when it is not any more.
    wanted: Option<ChildStdin>,
    /// Open as long as the guardian lives.
    guardian: BufReader<ChildStdout>,
}

impl Folder {
    /// An empty folder in `within`.
    ///
    /// # Errors
    /// A fault where it cannot be made, or no guardian started.
    pub(crate) fn within(within: &Path) -> Result<Self, Fault> {
        let fault = |error| Fault::system(format!("make a folder in {}", within.display()), error);
        let within = std::path::absolute(within).map_err(fault)?;
        // A group of its own: a terminal interrupts this process's. Standard error stays: who waits for its
        // end waits for the guardian's.
        let mut shell = Command::new("sh")
            .args(["-c", GUARDIAN, "sh"])
            .arg(&within)
            .arg(std::process::id().to_string())
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(fault)?;
        let (wanted, output) = (shell.stdin.take(), shell.stdout.take());
        shell.wait().map_err(fault)?;
        let mut guardian = BufReader::new(output.ok_or_else(|| fault(io::Error::other("no pipe")))?);
        let mut answer = Vec::new();
        guardian.read_until(0, &mut answer).map_err(fault)?;
        match answer.as_slice() {
            [b'=', path @ .., 0] => {
                Ok(Self { path: OsString::from_vec(path.to_vec()).into(), wanted, guardian })
            }
            [b'!', why @ .., 0] => Err(fault(io::Error::other(String::from_utf8_lossy(why)))),
            _ => Err(fault(io::Error::other("the shell that makes it ended too soon, and said why above"))),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.wanted = None;
        // To the end of the guardian. That it was killed is no error: then the folder stays.
        let _ = self.guardian.read_until(0, &mut Vec::new());
    }
}

/// A folder of compiled things, gone with it or with this process.
#[derive(Debug)]
pub struct Workshop {
    folder: Folder,
    /// Its name and what is given to it first: `ccache gcc`, `gcc -m64`.
    compiler: Vec<OsString>,
}

impl Workshop {
    /// An empty one, for `needed`, the sentence that says what it is for.
    ///
    /// # Errors
    /// What is missing where there is no compiler; a refusal where there is one that does not work; a fault
    /// where no folder can be made.
    pub fn open(needed: &str) -> Result<Self, Unfit> {
        let compiler = env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
        Self::with(compiler, needed)
    }

    /// As [`open`](Self::open), with this compiler: words with white space between, as `$CC` has them.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with(compiler: OsString, needed: &str) -> Result<Self, Unfit> {
        let missing = || {
            Unfit::Missing(Missing {
                what: format!("a C compiler (`{}`)", compiler.to_string_lossy()),
                needed: needed.into(),
                install: "apt install gcc libc6-dev".into(),
            })
        };
        let words = compiler.as_bytes().split(u8::is_ascii_whitespace).filter(|word| !word.is_empty());
        let mut words: Vec<OsString> = words.map(|word| OsStr::from_bytes(word).to_owned()).collect();
        // A path is seen from here, wherever the compiler is to stand.
        if let Some(program) = words.first_mut().filter(|program| program.as_bytes().contains(&b'/'))
            && let Ok(path) = std::path::absolute(&*program)
        {
            *program = path.into();
        }
        let folder = Folder::within(&env::temp_dir()).map_err(shortage::unfit)?;
        let workshop = Self { folder, compiler: words };
        let mut ask = workshop.command().ok_or_else(missing)?;
        ask.arg("--version");
        let finished = child::run(ask, Bounds::within(DEADLINE)).map_err(|fault| match &fault {
            Fault::System { error, .. } if matches!(error.raw_os_error(), Some(ENOENT | EACCES)) => missing(),
            _ => Unfit::Fault(fault),
        })?;
        match finished.end {
            End::Exited(0) => Ok(workshop),
            End::Exited(NO_SUCH_PROGRAM) => Err(missing()),
            _ => Err(Unfit::Refused(Refusal {
                reached: format!("{}; {needed}", workshop.failed("ask the version of", &finished)),
                needs: "a C compiler that works".into(),
                remedy: "name one in the environment, as in CC=gcc".into(),
            })),
        }
    }

    /// The compiler, to be told what to do. None where no word names one.
    fn command(&self) -> Option<Command> {
        let (program, first) = self.compiler.split_first()?;
        let mut command = Command::new(program);
        // What it leaves when it is killed is gone with the folder.
        command.args(first).env("TMPDIR", self.path()).stdin(Stdio::null());
        Some(command)
    }

    /// That the compiler did not do what was `tried`, in its own words where it has some.
    fn failed(&self, tried: &str, finished: &Finished) -> Fault {
        let words = String::from_utf8_lossy(&finished.stderr);
        let words = semicolon(words.trim().lines().take(5));
        let ended = match finished.end {
            End::Exited(status) => format!("it ended with status {status}"),
            End::Signalled(number) => format!("signal {number} ended it"),
            End::OutOfTime => format!("it was still running after {DEADLINE:?}"),
        };
        let error = if words.is_empty() { ended } else { format!("{ended}: {words}") };
        let compiler = self.compiler.join(OsStr::new(" "));
        Fault::system(format!("{tried} `{}`", compiler.to_string_lossy()), std::io::Error::other(error))
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.folder.path
    }

    /// Compiles `source`, a whole C file, with `options` last, into a file called `name` in the folder.
    ///
    /// # Errors
    /// A fault with the compiler's words where it does not compile: the source is ours, so either it or the
    /// compiler is broken.
    pub fn compile(&self, name: &str, source: &str, kind: Kind, options: &[&str]) -> Result<PathBuf, Fault> {
        let (path, page) = (self.path().join(name), self.path().join(format!("{name}.c")));
        fs::write(&page, source)
            .map_err(|error| Fault::system(format!("write {}", page.display()), error))?;
        let mut words: Vec<&OsStr> = vec!["-std=gnu11".as_ref(), "-O2".as_ref()];
        if cfg!(test) {
            // A compiler that warns of what no test of ours has seen is no reason to have no answer.
            words.extend(["-Wall", "-Wextra", "-Werror"].map(OsStr::new));
        }
        match kind {
            Kind::Program => {}
            Kind::Library => words.extend(["-shared", "-fPIC"].map(OsStr::new)),
            Kind::Object => words.push("-c".as_ref()),
        }
        words.extend(["-o".as_ref(), path.as_os_str(), page.as_os_str()]);
        words.extend(options.iter().map(OsStr::new));
        self.ask(None, &format!("compile {name}.c with"), &words)?;
        Ok(path)
    }

    /// Has the compiler do what these words say, in this folder or the current one; `tried` is that, as in
    /// "compile page.c with".
    ///
    /// # Errors
    /// A fault with the compiler's words where it does not.
    pub fn ask(&self, folder: Option<&Path>, tried: &str, words: &[impl AsRef<OsStr>]) -> Result<(), Fault> {
        let mut command = self
            .command()
            .ok_or_else(|| Fault::system(tried, std::io::Error::other("no compiler is named")))?;
        command.args(words);
        if let Some(folder) = folder {
            command.current_dir(folder);
        }
        let finished = child::run(command, Bounds::within(DEADLINE))?;
        if finished.end == End::Exited(0) { Ok(()) } else { Err(self.failed(tried, &finished)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::refused;

    #[test]
    fn a_program_is_compiled_and_runs_and_its_folder_vanishes() {
        let workshop = Workshop::open("a test compiles").unwrap();
        let source = "int main(void) { return 42; }\n";
        let program = workshop.compile("answer", source, Kind::Program, &[]).unwrap();
        let finished = child::run(Command::new(&program), Bounds::within(DEADLINE)).unwrap();
        assert_eq!(finished.end, End::Exited(42));
        drop(workshop);
        assert!(!program.exists());
    }

    #[test]
    fn a_folder_names_its_process_or_why_it_cannot_be_made() {
        let within = tempfile::tempdir().unwrap();
        let folder = Folder::within(within.path()).unwrap();
        let name = folder.path.file_name().unwrap().to_string_lossy().into_owned();
        assert!(name.starts_with(&format!("tenbin-{}-", std::process::id())), "{name}");
        fs::write(folder.path.join("file"), "").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(within.path()).unwrap().count(), 0);
        let fault = Folder::within(&within.path().join("nowhere")).unwrap_err().to_string();
        assert!(fault.contains("nowhere") && fault.contains("mktemp"), "{fault}");
    }

    #[test]
    fn a_source_that_does_not_compile_is_quoted_from_the_compiler() {
        let workshop = Workshop::open("a test compiles").unwrap();
        let fault = workshop.compile("wrong", "int main(void) { return nothing; }\n", Kind::Program, &[]);
        let message = fault.unwrap_err().to_string();
        assert!(message.contains("wrong.c") && message.contains("nothing"), "{message}");
    }

    #[test]
    fn a_compiler_that_is_not_there_is_missing_and_can_be_had() {
        let unfit = Workshop::with("no-such-compiler".into(), "the trace runs a program of its own");
        let Err(Unfit::Missing(missing)) = unfit else { panic!("{unfit:?}") };
        let message = missing.to_string();
        assert!(message.contains("no-such-compiler") && message.contains("apt install gcc"), "{message}");
    }

    /// A compiler of a line of shell, in `folder`. The shell reads it: a file that has just been written may
    /// not be executed while another test starts a process.
    fn script(folder: &Path, name: &str, lines: &str) -> OsString {
        let path = folder.join(name);
        fs::write(&path, format!("{lines}\n")).unwrap();
        let mut words = OsString::from("sh ");
        words.push(path);
        words
    }

    #[test]
    fn a_compiler_that_is_there_and_fails_is_not_missing() {
        let folder = tempfile::tempdir().unwrap();
        let opened = |name: &str, lines: &str| {
            Workshop::with(script(folder.path(), name, lines), "a test compiles").map(drop)
        };
        let message = refused(opened("strict", "echo no licence >&2; exit 3")).reached;
        assert!(message.contains("status 3") && message.contains("no licence"), "{message}");
        let message = refused(opened("dying", "kill -9 $$")).reached;
        assert!(message.contains("signal 9"), "{message}");
        // One that stands in front of a compiler which is not there. By a path: where a folder of PATH may
        // not be read, a shell calls nothing missing.
        let behind = opened("front", "exec /no-such-compiler \"$@\"");
        assert!(matches!(behind, Err(Unfit::Missing(_))), "{behind:?}");
        let page = folder.path().join("page");
        fs::write(&page, "no program").unwrap();
        let unfit = Workshop::with(page.into(), "a test compiles").map(drop);
        assert!(matches!(unfit, Err(Unfit::Missing(_))), "{unfit:?}");
        let blank = Workshop::with(" ".into(), "a test compiles").map(drop);
        assert!(matches!(blank, Err(Unfit::Missing(_))), "{blank:?}");
    }

    #[test]
    fn a_compiler_may_be_several_words_and_writes_in_the_folder() {
        let folder = tempfile::tempdir().unwrap();
        let mut compiler = script(
            folder.path(),
            "front",
            "test \"$1\" = -DANSWER=41 || exit 3; echo $TMPDIR >>$0.log; exec cc \"$@\"",
        );
        compiler.push("  -DANSWER=41\t-DMORE=1 ");
        let workshop = Workshop::with(compiler, "a test compiles").unwrap();
        let source = "int main(void) { return ANSWER + MORE; }\n";
        let program = workshop.compile("answer", source, Kind::Program, &[]).unwrap();
        let finished = child::run(Command::new(&program), Bounds::within(DEADLINE)).unwrap();
        assert_eq!(finished.end, End::Exited(42));
        let log = fs::read_to_string(folder.path().join("front.log")).unwrap();
        let own = workshop.path().to_str().unwrap();
        assert_eq!(log.lines().collect::<Vec<_>>(), [own, own]);
    }
}
