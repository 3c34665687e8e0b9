//! `tenbin yes`: GNU's `yes`, and `--verify`, the test of what a `yes` writes.
//!
//! The words do not come through the parser of the command line: that one would take away the first `--`, and
//! say what is wrong in words of its own. What a drop-in says on standard error begins with the name by which
//! it was called.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use clap::Args;
use tenbin_lab::yes::{Asked, Halt, Placement, Text, pour, read, read_test, verify};
use tenbin_metal::inherited;
use tenbin_metal::outlet::Outlet;

use super::{Verb, Work};
use crate::output::{self, Answer, Exit, Trouble};

/// Write a line again and again, as GNU's `yes` does, as fast as the machine lets it
///
/// The same arguments, messages and exit statuses (1 for whatever fails); a link to tenbin that is named
/// `yes` is one. With --verify in the first place it reads such lines instead, says how many are right,
/// and names the first that is not (4); 3 if nothing came.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct Yes {
    /// `--verify [--lines N|all]`, then the strings of the line; `y` if there is none
    #[arg(value_name = "STRING", trailing_var_arg = true, allow_hyphen_values = true)]
    words: Vec<OsString>,
}

pub const VERB: Verb = Verb::of::<Yes>("yes");

/// Whoever asks for `yes` first is answered before the command line is read; this is declared for help,
/// manual and completions.
impl Work for Yes {
    fn run(self) -> Result<Answer, Trouble> {
        let exit = Invocation::of_tenbin(self.words).run();
        Ok(Answer { exit, ..Answer::default() })
    }
}

/// How `yes` was asked for.
#[derive(Debug)]
pub struct Invocation {
    /// What its messages begin with.
    name: OsString,
    /// The words after its name.
    words: Vec<OsString>,
    /// Whether it was called as `tenbin yes`, which has a test beside what a `yes` has.
    of_tenbin: bool,
}

impl Invocation {
    /// Whether the command line of this process, its name first, asks for `yes`: as the first command, or by
    /// the name of a link to this binary.
    pub fn among(words: impl IntoIterator<Item = OsString>) -> Option<Self> {
        let mut words = words.into_iter();
        let name = words.next()?;
        if Path::new(&name).file_name() == Some(OsStr::new("yes")) {
            return Some(Self { name, words: words.collect(), of_tenbin: false });
        }
        (words.next()? == "yes").then(|| Self::of_tenbin(words.collect()))
    }

    /// `tenbin yes` with these words.
    pub fn of_tenbin(words: Vec<OsString>) -> Self {
        Self { name: "tenbin yes".into(), words, of_tenbin: true }
    }

    /// Does what was asked, to standard output.
    pub fn run(self) -> Exit {
        match self.words.split_first() {
            Some((word, words)) if self.of_tenbin && word == "--verify" => output::deliver(test(words)),
            _ => self.write(),
        }
    }

    /// Writes lines, help or the version.
    fn write(&self) -> Exit {
        let order =
            if std::env::var_os("POSIXLY_CORRECT").is_some() { Placement::First } else { Placement::Any };
        let asked = read(&self.words, order);
        if let Err(error) = inherited::restore_pipe_signal() {
            return self.fail("SIGPIPE", &error);
        }
        match asked {
            Asked::Line(line) => self.fail("standard output", &lines(&line)),
            Asked::Help => self.answer(&help(&self.name)),
            Asked::Version => self.answer(format!("yes (tenbin) {}\n", env!("CARGO_PKG_VERSION")).as_bytes()),
            Asked::Nothing(why) => {
                let name = self.name.as_bytes();
                say(&[name, b": ", &why, b"\nTry '", name, b" --help' for more information.\n"]);
                Exit::Internal
            }
        }
    }

    /// Writes a text that ends.
    fn answer(&self, text: &[u8]) -> Exit {
        match outlet().and_then(|mut outlet| all(text, |bytes| outlet.write(bytes))) {
            Ok(()) => Exit::Answered,
            Err(error) => self.fail("write error", &error),
        }
    }

    /// Says what failed as GNU's does. The status is 1 there too, whatever failed.
    fn fail(&self, what: &str, error: &io::Error) -> Exit {
        say(&[self.name.as_bytes(), b": ", what.as_bytes(), b": ", reason(error).as_bytes(), b"\n"]);
        Exit::Internal
    }
}

/// Standard output as the parent left it.
fn outlet() -> io::Result<Outlet<io::Stdout>> {
    if inherited::standard_output_was_closed() {
        return Err(rustix::io::Errno::BADF.into());
    }
    Outlet::new(io::stdout())
}

/// Writes the line until that is no longer possible, and says why.
fn lines(line: &[u8]) -> io::Error {
    let text = Text::new(line).map_err(|fault| io::Error::new(io::ErrorKind::OutOfMemory, fault.to_string()));
    match outlet().and_then(|outlet| text.map(|text| (outlet, text))) {
        Ok((mut outlet, text)) => pour(&mut outlet, &text),
        Err(error) => error,
    }
}

/// Hands over all of `bytes`, in as many calls as that takes.
fn all(bytes: &[u8], mut call: impl FnMut(&[u8]) -> io::Result<usize>) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        match call(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => rest = &rest[sent..],
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// The system's words for an error, without the number that Rust adds.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let number = error.raw_os_error().map(|number| format!(" (os error {number})"));
    number.and_then(|number| text.strip_suffix(&number)).unwrap_or(&text).to_owned()
}

/// Bytes on standard error, at once. A standard error that is closed is no reason to fail.
fn say(parts: &[&[u8]]) {
    let _ = io::stderr().write_all(&parts.concat());
}

/// What `--help` says. The name is bytes, and goes out as it came.
fn help(name: &OsStr) -> Vec<u8> {
    let name = name.as_bytes();
    let usage = [b"Usage: ", name, b" [STRING]...\n  or:  ", name, b" OPTION\n"].concat();
    [usage.as_slice(), HELP.as_bytes()].concat()
}

const HELP: &str = "\
Write the STRINGs, with a space between them, on a line of their own, again and again;
`y` if there is none. Ends when nobody reads any more, or nothing more can be written.

      --help     say this and end
      --version  say which version this is and end

A STRING that begins with a dash comes after `--`. As `tenbin yes`, and in the first place:

      --verify [--lines N|all] [STRING]...
                 read such lines from standard input instead, and say how many are right
                 and which is the first that is not (exit status 4; 3 if nothing came); stops
                 after N lines, or at 268435454 as did the test that this one follows
";

fn test(words: &[OsString]) -> Result<Answer, Trouble> {
    let asked = read_test(words).map_err(Trouble::usage)?;
    let reading = verify(&mut io::stdin().lock(), &asked.line, asked.lines)
        .map_err(|error| Trouble::internal(format!("read standard input: {}", reason(&error))))?;
    let exit = match reading.end {
        Halt::Nothing => Exit::Refused,
        _ if reading.is_fault() => Exit::Fault,
        _ => Exit::Answered,
    };
    Ok(Answer { exit, ..Answer::text(format!("{reading}\n")) })
}
