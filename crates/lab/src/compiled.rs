//! Small C programs of ours, compiled on the machine that they run on.
//!
//! A static binary cannot load a shared library: the library brings the C library of its machine, and two of those in
//! one process do not get on. So what must meet the machine's own C library is a dynamic program of its own, built by
//! the machine's own compiler (`$CC`, else `cc`) into a folder that vanishes.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds, End};
use tenbin_model::Missing;

use crate::experiment::Unfit;

/// A compiler that takes longer for a page of C hangs.
const DEADLINE: Duration = Duration::from_secs(60);

/// What a source becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A dynamic program.
    Program,
    /// A shared library.
    Library,
}

/// A folder of compiled things, gone with it.
#[derive(Debug)]
pub struct Workshop {
    folder: tempfile::TempDir,
    compiler: OsString,
}

impl Workshop {
    /// An empty one, for `needed`, the sentence that says what it is for.
    ///
    /// # Errors
    /// What is missing where there is no compiler; a fault where no folder can be made.
    pub fn open(needed: &str) -> Result<Self, Unfit> {
        let compiler = env::var_os("CC").filter(|name| !name.is_empty()).unwrap_or_else(|| "cc".into());
        Self::with(compiler, needed)
    }

    /// As [`open`](Self::open), with this compiler.
    ///
    /// # Errors
    /// As [`open`](Self::open).
    pub fn with(compiler: OsString, needed: &str) -> Result<Self, Unfit> {
        let mut ask = Command::new(&compiler);
        ask.arg("--version").stdin(Stdio::null());
        let answers = child::run(ask, Bounds::within(DEADLINE)).is_ok_and(|said| said.end == End::Exited(0));
        if !answers {
            return Err(Unfit::Missing(Missing {
                what: format!("a C compiler (`{}`)", compiler.to_string_lossy()),
                needed: needed.into(),
                install: "apt install gcc libc6-dev".into(),
            }));
        }
        let folder = tempfile::tempdir()
            .map_err(|error| Fault::system("make a folder for compiled programs", error))?;
        Ok(Self { folder, compiler })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        self.folder.path()
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
        let mut command = Command::new(&self.compiler);
        command.args(["-std=gnu11", "-O2", "-g", "-Wall", "-Wextra", "-Werror"]);
        if kind == Kind::Library {
            command.args(["-shared", "-fPIC"]);
        }
        command.arg("-o").arg(&path).arg(&page).args(options).stdin(Stdio::null());
        let said = child::run(command, Bounds::within(DEADLINE))?;
        if said.end == End::Exited(0) {
            return Ok(path);
        }
        let words = String::from_utf8_lossy(&said.stderr);
        let words = words.trim().lines().take(5).collect::<Vec<_>>().join("; ");
        let error = std::io::Error::other(if words.is_empty() { format!("{:?}", said.end) } else { words });
        Err(Fault::system(format!("compile {name}.c with `{}`", self.compiler.to_string_lossy()), error))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_source_that_does_not_compile_is_a_fault_with_the_compilers_words() {
        let workshop = Workshop::open("a test compiles").unwrap();
        let fault = workshop.compile("wrong", "int main(void) { return nothing; }\n", Kind::Program, &[]);
        let said = fault.unwrap_err().to_string();
        assert!(said.contains("wrong.c") && said.contains("nothing"), "{said}");
    }

    #[test]
    fn a_compiler_that_is_not_there_is_missing_and_the_command_that_installs_one_is_named() {
        match Workshop::with("no-such-compiler".into(), "the trace runs a program of its own") {
            Err(Unfit::Missing(missing)) => {
                let said = missing.to_string();
                assert!(said.contains("no-such-compiler") && said.contains("apt install gcc"), "{said}");
            }
            other => panic!("{other:?}"),
        }
    }
}
