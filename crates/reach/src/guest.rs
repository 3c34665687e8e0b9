//! A guest: what it shall do, and how it is booted, minded and read.

use std::ffi::OsString;
use std::fs;
use std::io::BufWriter;
use std::path::Path;
use std::time::Duration;

use crate::answer::{self, Answer, Channel, File};
use crate::architecture::Architecture;
use crate::cargo::Cargo;
use crate::error::{Error, Silence};
use crate::initramfs::{self, INIT_PATH};
use crate::kernel::Kernel;
use crate::process::{End, Program, content, place_of, tail, unnamed};

/// Memory that a guest has beside twice its root, in MiB: the root is there packed and unpacked at first.
const MEMORY: u64 = 512;

/// How many lines of a console are shown of a guest that gave no answer.
const CONSOLE_LINES: usize = 15;

/// How many lines are shown around a panic: a few before the line that says so, and more after it.
const PANIC_LINES: (usize, usize) = (5, 25);

/// How the line of a kernel begins that panics, after the time.
const PANIC: &str = "Kernel panic";

/// A machine that runs one command and is gone.
///
/// Its CPU is emulated: what it says of time means nothing. Root is a file system in memory with a busybox
/// under its usual names, what is carried there, and `/proc`, `/sys`, `/dev`, `/tmp`. There is no network but
/// the loopback and no disk. The command runs as root in `/tmp`, with nothing to read on standard input.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Of what kind its CPU is.
    pub architecture: Architecture,
    /// What it boots.
    pub kernel: Kernel,
    /// How many CPUs it has.
    pub cpus: u32,
    /// Words for the kernel's command line.
    pub parameters: Vec<String>,
    /// What it finds in its root. Later ones replace earlier ones.
    pub cargo: Vec<Cargo>,
    /// The command and its words; looked up in the path as a shell does.
    pub command: Vec<OsString>,
    /// Files and folders there that shall come back; the root is where their paths start.
    pub bring: Vec<String>,
    /// How long all of it may take, from the emulator's start to its end.
    pub deadline: Duration,
}

/// What came of a guest's command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// Its exit status as a shell gives it: 128 and the signal's number if one ended it, 127 if there was no
    /// such command.
    pub status: u8,
    /// What it wrote to standard output.
    pub stdout: Vec<u8>,
    /// What it wrote to standard error.
    pub stderr: Vec<u8>,
    /// The files that came back: those in folders one by one, in the order of the request.
    pub files: Vec<File>,
    /// What should have come back, and of which no file was there.
    pub absent: Vec<String>,
    /// Which way the answer came.
    pub channel: Channel,
    /// The guest's console, as it came.
    pub console: Vec<u8>,
}

/// What the emulator reads and writes. The files have no names, so nothing is left of them.
struct Files {
    root: fs::File,
    console: fs::File,
    virtio: fs::File,
    serial: fs::File,
    complaints: fs::File,
}

impl Guest {
    /// A guest with one CPU, two minutes, and nothing to carry, that runs `command`.
    pub fn new<W: Into<OsString>>(
        architecture: Architecture,
        kernel: Kernel,
        command: impl IntoIterator<Item = W>,
    ) -> Self {
        Self {
            architecture,
            kernel,
            cpus: 1,
            parameters: Vec::new(),
            cargo: Vec::new(),
            command: command.into_iter().map(Into::into).collect(),
            bring: Vec::new(),
            deadline: Duration::from_secs(120),
        }
    }

    /// Boots it, waits until it is over, and gives what its command left. Whatever happens, it is gone
    /// afterwards.
    ///
    /// # Errors
    /// [`Error::Missing`] without the emulator, [`Error::Request`] where the command or a place makes no
    /// sense, [`Error::Emulator`] where the emulator would not work, [`Error::Silent`] where the guest gave no
    /// whole answer, and [`Error::File`] where something cannot be read or written here.
    pub fn run(&self) -> Result<Outcome, Error> {
        let files = Files {
            root: self.pack()?,
            console: unnamed()?,
            virtio: unnamed()?,
            serial: unnamed()?,
            complaints: unnamed()?,
        };
        let end = self.emulator(&files)?.run(&unnamed()?, &files.complaints, self.deadline)?;
        let console = content(&files.console)?;
        let (virtio, serial) = (content(&files.virtio)?, content(&files.serial)?);
        // The guest uses one of the two and leaves the other alone.
        let (channel, stream) =
            if virtio.is_empty() { (Channel::Serial, serial) } else { (Channel::Virtio, virtio) };
        match answer::read(&stream[..]) {
            Ok(answer) => Ok(self.outcome(answer, channel, console)),
            Err(why) => Err(self.explain(&end, why, &console, &files.complaints)),
        }
    }

    /// The root, packed.
    fn pack(&self) -> Result<fs::File, Error> {
        let out = BufWriter::new(unnamed()?);
        let out = initramfs::pack(out, &self.kernel, &self.cargo, &self.command, &self.bring)?;
        out.into_inner().map_err(|error| Error::file("write", &std::env::temp_dir())(error.into_error()))
    }

    /// The emulator with all that it is told.
    fn emulator(&self, files: &Files) -> Result<Program, Error> {
        let size = files.root.metadata().map_err(Error::file("read", &std::env::temp_dir()))?.len();
        let memory = MEMORY + 2 * size.div_ceil(1 << 20);
        let (name, package) = self.architecture.emulator();
        let image = fs::canonicalize(&self.kernel.image).map_err(Error::file("read", &self.kernel.image))?;
        let mut parameters = format!("console={} panic=-1 quiet", self.architecture.console());
        parameters.push_str(&format!(" rdinit={INIT_PATH}"));
        for parameter in &self.parameters {
            parameters.push(' ');
            parameters.push_str(parameter);
        }
        let (memory, cpus) = (memory.to_string(), self.cpus.to_string());
        let words = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot", "-accel", "tcg"];
        let machine =
            ["-m", &memory, "-smp", &cpus, "-initrd", &place_of(&files.root), "-append", &parameters];
        let file = |name: &str, file: &fs::File| format!("file,id={name},path={}", place_of(file));
        // An answer must be out before the guest is off: without ioeventfd, the CPU that rings the bell of the
        // port carries the bytes itself.
        let channels = [
            "-chardev",
            &file("console", &files.console),
            "-serial",
            "chardev:console",
            "-chardev",
            &file("virtio", &files.virtio),
            "-device",
            "virtio-serial-pci,ioeventfd=off",
            "-device",
            "virtserialport,chardev=virtio,name=tenbin",
            "-chardev",
            &file("serial", &files.serial),
            "-device",
            "pci-serial,chardev=serial",
        ];
        let program = Program::new(name, package).words(words).words(self.architecture.board());
        Ok(program.words(machine).words(["-kernel".as_ref(), image.as_os_str()]).words(channels))
    }

    fn outcome(&self, answer: Answer, channel: Channel, console: Vec<u8>) -> Outcome {
        let Answer { status, stdout, stderr, files } = answer;
        let came = |wanted: &&String| {
            let wanted = Path::new(wanted.as_str());
            files.iter().any(|file| file.path.starts_with(wanted.strip_prefix("/").unwrap_or(wanted)))
        };
        let absent = self.bring.iter().filter(|wanted| !came(wanted)).cloned().collect();
        Outcome { status, stdout, stderr, files, absent, channel, console }
    }

    /// Why a guest that ended like this has sent no whole answer.
    fn explain(&self, end: &End, why: String, console: &[u8], complaints: &fs::File) -> Error {
        let text = what_matters(console);
        let silence = match end {
            End::Deadline => Silence::Deadline(self.deadline),
            End::Itself(status) if !status.success() => {
                let said = format!("it ended with {status}: {}", tail(complaints));
                return Error::Emulator { program: self.architecture.emulator().0, said };
            }
            End::Itself(_) if text.contains(PANIC) => Silence::Panic,
            End::Itself(_) => Silence::Ended(why),
        };
        Error::Silent { silence, console: text }
    }
}

/// The lines of a console around a panic, else its last ones: those that say something, and without what
/// would move a terminal's cursor.
fn what_matters(console: &[u8]) -> String {
    let text = String::from_utf8_lossy(console);
    let lines = text.lines().map(|line| {
        let plain = line.chars().filter(|&letter| letter == '\t' || !letter.is_control());
        plain.collect::<String>().trim_end().to_owned()
    });
    let lines = lines.filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let (start, end) = match lines.iter().position(|line| line.contains(PANIC)) {
        Some(place) => (place.saturating_sub(PANIC_LINES.0), lines.len().min(place + PANIC_LINES.1)),
        None => (lines.len().saturating_sub(CONSOLE_LINES), lines.len()),
    };
    lines[start..end].join("\n")
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::os::unix::process::ExitStatusExt;
    use std::process::ExitStatus;

    use super::*;

    fn guest() -> Guest {
        let kernel = Kernel { image: "image".into(), busybox: "busybox".into(), modules: vec![] };
        Guest::new(Architecture::Riscv64, kernel, ["true"])
    }

    #[test]
    fn how_a_guest_ended_says_why_it_is_silent() {
        let mut complaints = unnamed().unwrap();
        complaints.write_all(b"no such machine\n").unwrap();
        let explain =
            |end, console: &str| guest().explain(&end, "why".to_owned(), console.as_bytes(), &complaints);
        let ended = |code| End::Itself(ExitStatus::from_raw(code));
        let panic = "[1.0] Kernel panic - not syncing: x\n[1.1] Call trace";
        let silence = |error| match error {
            Error::Silent { silence, console } => (silence, console),
            other => panic!("{other}"),
        };
        assert_eq!(silence(explain(ended(0), panic)), (Silence::Panic, panic.to_owned()));
        assert_eq!(silence(explain(ended(0), "x")).0, Silence::Ended("why".to_owned()));
        assert_eq!(silence(explain(End::Deadline, panic)).0, Silence::Deadline(Duration::from_secs(120)));
        let error = explain(ended(256), "").to_string();
        assert!(error.contains("exit status: 1: no such machine"), "{error}");
    }

    #[test]
    fn what_should_have_come_and_did_not_is_absent() {
        let mut guest = guest();
        guest.bring = ["/tmp/x", "tmp/folder", "/tmp/y", "/tm"].map(str::to_owned).to_vec();
        let file = |path: &str| File { path: path.into(), mode: 0o644, content: vec![] };
        let files = vec![file("tmp/x"), file("tmp/folder/z")];
        let answer = Answer { status: 0, stdout: vec![], stderr: vec![], files };
        assert_eq!(guest.outcome(answer, Channel::Serial, vec![]).absent, ["/tmp/y", "/tm"]);
    }

    #[test]
    fn of_a_console_the_end_is_shown_and_it_moves_no_cursor() {
        assert_eq!(
            what_matters(b"first\r\n\x1b[2Jsecond\r\n\r\nthird\xff\n"),
            "first\n[2Jsecond\nthird\u{fffd}"
        );
        assert_eq!(what_matters(b""), "");
        let long = (0..100).map(|number| format!("{number}\n")).collect::<String>();
        let shown = what_matters(long.as_bytes());
        assert!(shown.starts_with("85\n") && shown.ends_with("\n99"), "{shown}");
    }

    #[test]
    fn of_a_panic_the_reason_is_shown_however_long_the_trace_is() {
        let trace = (0..100).map(|number| format!("[2.0] trace {number}\n")).collect::<String>();
        let console = format!("one\ntwo\n[1.0] BUG: why\n[1.0] Kernel panic - not syncing: x\n{trace}");
        let shown = what_matters(console.as_bytes());
        assert!(shown.starts_with("one\n") && shown.contains("BUG: why\n[1.0] Kernel panic"), "{shown}");
        assert_eq!(shown.lines().count(), 3 + PANIC_LINES.1);
    }
}
