//! A guest: what it shall do, and how it is booted, minded and read.

#![expect(clippy::disallowed_methods, reason = "a guest's console is told by time")]

use std::ffi::OsString;
use std::fs;
use std::io::{BufReader, BufWriter, PipeWriter, Seek, pipe};
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use tenbin_metal::child::End;
use tenbin_model::Architecture;

use crate::accelerator::Accelerator;
use crate::answer::{self, Answer, Channel, File};
use crate::board;
use crate::cargo::Cargo;
use crate::console::{self, Console, ConsoleLine};
use crate::error::{Error, Silence};
use crate::initramfs::{self, INIT_PATH};
use crate::kernel::Kernel;
use crate::process::{Program, place_of, tail, unnamed};

/// Memory that a guest has beside twice its root, in MiB: the root is there packed and unpacked at first.
const MEMORY: u64 = 512;

/// How large an answer may be if nobody says otherwise, in bytes: 1 GiB.
pub const ANSWER_MOST: u64 = 1 << 30;

/// How many lines of a console are shown of a guest that gave no answer.
const CONSOLE_LINES: usize = 15;

/// How many lines are shown around a panic: a few before the line that says so, and more after it.
const PANIC_LINES: (usize, usize) = (5, 25);

/// How the line of a kernel begins that panics, after the time.
const PANIC: &str = "Kernel panic";

/// A machine that runs one command and is gone.
///
/// Its CPU is emulated, if nobody says otherwise: what it says of time means nothing. Root is a file system
/// in memory with a busybox under its usual names, what is carried there, and `/proc`, `/sys`, `/dev`,
/// `/tmp`, with debugfs and tracefs at their places below `/sys/kernel`. There is no network but the loopback
/// and no disk. The command runs as root in `/tmp`, with nothing to read on standard input.
#[derive(Clone, Debug)]
pub struct Guest {
    /// Of what kind its CPU is.
    pub architecture: Architecture,
    /// What it boots.
    pub kernel: Kernel,
    /// How many CPUs it has.
    pub cpus: u32,
    /// Among how many memory nodes its CPUs and its memory are divided, one after the other.
    pub nodes: u32,
    /// What makes them go.
    pub accelerator: Accelerator,
    /// Words for the kernel's command line.
    pub parameters: Vec<String>,
    /// What it finds in its root. Later ones replace earlier ones.
    pub cargo: Vec<Cargo>,
    /// The command and its words; looked up in the path as a shell does.
    pub command: Vec<OsString>,
    /// Files and folders there that shall come back; the root is where their paths start.
    pub bring: Vec<String>,
    /// The socket on which the emulator's monitor (QMP) listens meanwhile.
    pub monitor: Option<PathBuf>,
    /// How long all of it may take, from the emulator's start to its end.
    pub deadline: Duration,
    /// How large its answer may be on its way, in bytes: output, and what shall come back. [`ANSWER_MOST`] if
    /// nobody says otherwise. All of it is held in memory at the end.
    pub answer_most: u64,
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
    /// The guest's console, with the times at which its lines came.
    pub console: Console,
}

/// What a try of KVM showed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kvm {
    /// A guest under it booted and answered.
    Works,
    /// It did not, for this reason.
    Fails(String),
}

/// What the emulator reads and writes. The files have no names, so nothing is left of them.
struct Files {
    root: fs::File,
    console: PipeWriter,
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
            nodes: 1,
            accelerator: Accelerator::default(),
            parameters: Vec::new(),
            cargo: Vec::new(),
            command: command.into_iter().map(Into::into).collect(),
            bring: Vec::new(),
            monitor: None,
            deadline: Duration::from_secs(120),
            answer_most: ANSWER_MOST,
        }
    }

    /// Boots it, waits until it is over, and gives what its command left. Whatever happens, it is gone
    /// afterwards.
    ///
    /// # Errors
    /// [`Error::Missing`] without the emulator, [`Error::Request`] where the command, a place or the number
    /// of CPUs makes no sense, [`Error::Emulator`] where the emulator would not work, [`Error::Silent`] where
    /// the guest gave no whole answer, and [`Error::File`] where something cannot be read or written here.
    pub fn run(&self) -> Result<Outcome, Error> {
        self.run_watched(&mut |_| {})
    }

    /// As [`Guest::run`], and tells `each` every line of the console as soon as it is over, those included
    /// that [`Console`] leaves out.
    ///
    /// `each` is called by the thread that reads the console: while it does not return, the lines that come
    /// wait, and are then said to have come later.
    ///
    /// # Errors
    /// As [`Guest::run`].
    pub fn run_watched(&self, each: &mut (dyn FnMut(&ConsoleLine) + Send)) -> Result<Outcome, Error> {
        self.accelerator.insist(self.architecture, self.cpus)?;
        if !(1..=self.cpus).contains(&self.nodes) {
            let Self { nodes, cpus, .. } = self;
            return Err(Error::Request(format!(
                "{nodes} memory nodes for {cpus} CPUs: each node needs a CPU"
            )));
        }
        let plumbing =
            |error| Error::Process { program: self.architecture.names().emulator.0.to_owned(), error };
        let (reader, writer) = pipe().map_err(plumbing)?;
        let (over, alive) = pipe().map_err(plumbing)?;
        let files = Files {
            root: self.pack()?,
            console: writer,
            virtio: unnamed()?,
            serial: unnamed()?,
            complaints: unnamed()?,
        };
        let (emulator, out) = (self.emulator(&files)?, unnamed()?);
        let (end, console) = thread::scope(|scope| {
            let start = Instant::now();
            let watch = move || console::watch(reader, over, start, each);
            let watcher = thread::Builder::new().spawn_scoped(scope, watch).map_err(plumbing)?;
            let end = emulator.run(&out, &files.complaints, self.deadline);
            // An emulator that was killed leaves it.
            self.monitor.iter().for_each(|socket| fs::remove_file(socket).unwrap_or_default());
            drop(alive);
            Ok((end?, watcher.join().unwrap_or_else(|panic| resume_unwind(panic))))
        })?;
        self.conclude(end, console, &files)
    }

    /// Boots a guest of this kind under KVM, however this one shall run, and sees whether it answers within
    /// `patience`: `/dev/kvm` may be there and not work. Under some hypervisors the emulator breaks off at
    /// once; under others the guest stands still, or opening the device never returns.
    ///
    /// The guest has the same kernel and as many CPUs, and nothing is carried.
    ///
    /// # Errors
    /// [`Error::Missing`] without the emulator, [`Error::Request`] where KVM cannot have such a guest on any
    /// machine like this, and [`Error::File`] where something cannot be read or written here. That it does
    /// not work is none.
    pub fn try_kvm(&self, patience: Duration) -> Result<Kvm, Error> {
        let mut guest = Self::new(self.architecture, self.kernel.clone(), ["uname", "-m"]);
        (guest.cpus, guest.accelerator, guest.deadline) = (self.cpus, Accelerator::Kvm, patience);
        let fails = |reason| Ok(Kvm::Fails(reason));
        match guest.run() {
            Ok(Outcome { status: 0, stdout, .. })
                if stdout.trim_ascii() == self.architecture.name().as_bytes() =>
            {
                Ok(Kvm::Works)
            }
            Ok(Outcome { status, stdout, .. }) => {
                let stdout = String::from_utf8_lossy(&stdout).into_owned();
                fails(format!(
                    "a guest under it ends with {status} and says {:?} of its CPU",
                    stdout.trim_end()
                ))
            }
            Err(Error::Silent { silence: Silence::Deadline(_), .. }) => {
                fails(format!("a guest under it gave no answer within {} s", patience.as_secs_f64()))
            }
            Err(Error::Silent { silence, .. }) => fails(format!("of a guest under it: {silence}")),
            Err(error @ (Error::Emulator { .. } | Error::Process { .. })) => fails(error.to_string()),
            Err(error) => Err(error),
        }
    }

    fn pack(&self) -> Result<fs::File, Error> {
        let out = BufWriter::new(unnamed()?);
        let out = initramfs::pack(out, &self.kernel, &self.cargo, &self.command, &self.bring)?;
        out.into_inner().map_err(|error| Error::file("write", &std::env::temp_dir())(error.into_error()))
    }

    /// The emulator with all that it is told.
    fn emulator(&self, files: &Files) -> Result<Program, Error> {
        let size = files.root.metadata().map_err(Error::file("read", &std::env::temp_dir()))?.len();
        let memory = (MEMORY + 2 * size.div_ceil(1 << 20)).next_multiple_of(u64::from(self.nodes));
        let (name, package) = self.architecture.names().emulator;
        let image = fs::canonicalize(&self.kernel.image).map_err(Error::file("read", &self.kernel.image))?;
        let mut parameters = format!("console={} panic=-1 quiet", board::console(self.architecture));
        parameters.push_str(&format!(" rdinit={INIT_PATH}"));
        // On a busy machine an emulated timer ticks less often than a loop of the kernel takes for the least,
        // which then panics (`check_timer`, arch/x86/kernel/apic/io_apic.c). Under KVM it does not look.
        if self.architecture == Architecture::X86_64 {
            parameters.push_str(" no_timer_check");
        }
        for parameter in &self.parameters {
            parameters.push(' ');
            parameters.push_str(parameter);
        }
        let nodes = nodes(self.nodes, self.cpus, memory);
        let (memory, cpus) = (memory.to_string(), self.cpus.to_string());
        let words = ["-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"];
        let board = match self.accelerator {
            Accelerator::Emulated => board::emulated(self.architecture),
            Accelerator::Counted => board::counted(self.architecture),
            Accelerator::Kvm => board::own(self.architecture),
        };
        let machine =
            ["-m", &memory, "-smp", &cpus, "-initrd", &place_of(&files.root), "-append", &parameters];
        let file = |name: &str, place: String| format!("file,id={name},path={place}");
        // An answer must be out before the guest is off: without ioeventfd, the CPU that rings the bell of
        // the port carries the bytes itself.
        let channels = [
            "-chardev",
            &file("console", place_of(&files.console)),
            "-serial",
            "chardev:console",
            "-chardev",
            &file("virtio", place_of(&files.virtio)),
            "-device",
            "virtio-serial-pci,ioeventfd=off",
            "-device",
            "virtserialport,chardev=virtio,name=tenbin",
            "-chardev",
            &file("serial", place_of(&files.serial)),
            "-device",
            "pci-serial,chardev=serial",
        ];
        let monitor = self.monitor.iter().flat_map(|socket| {
            // A comma ends a value, and two are one.
            let socket = socket.to_string_lossy().replace(',', ",,");
            ["-qmp".into(), format!("unix:{socket},server=on,wait=off")]
        });
        let program = Program::new(name, package).largest_file(self.answer_most).words(monitor);
        let program = program.words(words).words(self.accelerator.words()).words(board);
        Ok(program.words(machine).words(nodes).words(["-kernel".as_ref(), image.as_os_str()]).words(channels))
    }

    /// What came of it, after the emulator ended like this.
    fn conclude(&self, end: End, console: Console, files: &Files) -> Result<Outcome, Error> {
        let length = |file: &fs::File| file.metadata().map(|metadata| metadata.len());
        let read = |error| Error::file("read", &std::env::temp_dir())(error);
        // The guest uses one of the two and leaves the other alone.
        let (channel, mut stream) = match length(&files.virtio).map_err(read)? {
            0 => (Channel::Serial, &files.serial),
            _ => (Channel::Virtio, &files.virtio),
        };
        stream.rewind().map_err(read)?;
        match answer::read(BufReader::new(stream), self.answer_most) {
            Ok(answer) => Ok(self.outcome(answer, channel, console)),
            Err(_) if length(stream).map_err(read)? >= self.answer_most => Err(Error::Silent {
                silence: Silence::Flood(self.answer_most),
                console: what_matters(&console),
            }),
            Err(why) => Err(self.explain(end, why, &console, &files.complaints)),
        }
    }

    fn outcome(&self, answer: Answer, channel: Channel, console: Console) -> Outcome {
        let Answer { status, stdout, stderr, mut files } = answer;
        let is_under = |file: &File, wanted: &String| {
            let wanted = Path::new(wanted.as_str());
            file.path.starts_with(wanted.strip_prefix("/").unwrap_or(wanted))
        };
        // What runs in a guest may send what it likes. Nobody waits for it here.
        files.retain(|file| self.bring.iter().any(|wanted| is_under(file, wanted)));
        let arrived = |wanted: &&String| files.iter().any(|file| is_under(file, wanted));
        let absent = self.bring.iter().filter(|wanted| !arrived(wanted)).cloned().collect();
        Outcome { status, stdout, stderr, files, absent, channel, console }
    }

    /// Why a guest that ended like this has sent no whole answer.
    fn explain(&self, end: End, why: String, console: &Console, complaints: &fs::File) -> Error {
        let text = what_matters(console);
        let silence = match end {
            End::OutOfTime => Silence::Deadline(self.deadline),
            end if !end.success() => {
                let cause = format!("it ended with {end}: {}", tail(complaints));
                return Error::Emulator { program: self.architecture.names().emulator.0, cause };
            }
            _ if text.contains(PANIC) => Silence::Panic,
            _ => Silence::Ended(why),
        };
        Error::Silent { silence, console: text }
    }
}

/// How the emulator is told to divide `cpus` CPUs and `memory` MiB among `nodes` nodes; one needs no word.
fn nodes(nodes: u32, cpus: u32, memory: u64) -> Vec<String> {
    let words = |node: u32| {
        let (first, last) = (node * cpus / nodes, (node + 1) * cpus / nodes - 1);
        let share = memory / u64::from(nodes);
        [
            "-object".to_owned(),
            format!("memory-backend-ram,id=memory{node},size={share}M"),
            "-numa".to_owned(),
            format!("node,nodeid={node},cpus={first}-{last},memdev=memory{node}"),
        ]
    };
    if nodes == 1 { Vec::new() } else { (0..nodes).flat_map(words).collect() }
}

/// The lines of a console around a panic, else its last ones: those that say something, and without what
/// would move a terminal's cursor.
fn what_matters(console: &Console) -> String {
    let lines = console.lines.iter().map(ConsoleLine::plain);
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

    use super::*;

    fn console(text: &str) -> Console {
        let line = |text: &str| ConsoleLine { began: Duration::ZERO, ended: None, text: text.into() };
        Console { lines: text.split('\n').map(line).collect(), gap: None }
    }

    fn guest() -> Guest {
        let kernel = Kernel { image: "image".into(), busybox: "busybox".into(), modules: vec![] };
        Guest::new(Architecture::Riscv64, kernel, ["true"])
    }

    #[test]
    fn how_a_guest_ended_says_why_it_is_silent() {
        let mut complaints = unnamed().unwrap();
        complaints.write_all(b"no such machine\n").unwrap();
        let explain = |end, text: &str| guest().explain(end, "why".to_owned(), &console(text), &complaints);
        let panic = "[1.0] Kernel panic - not syncing: x\n[1.1] Call trace";
        let silence = |error| match error {
            Error::Silent { silence, console } => (silence, console),
            other => panic!("{other}"),
        };
        assert_eq!(silence(explain(End::Exited(0), panic)), (Silence::Panic, panic.to_owned()));
        assert_eq!(silence(explain(End::Exited(0), "x")).0, Silence::Ended("why".to_owned()));
        assert_eq!(silence(explain(End::OutOfTime, panic)).0, Silence::Deadline(Duration::from_secs(120)));
        let error = explain(End::Exited(1), "").to_string();
        assert!(error.contains("exit status: 1: no such machine"), "{error}");
    }

    #[test]
    fn what_should_have_come_and_did_not_is_absent() {
        let mut guest = guest();
        guest.bring = ["/tmp/x", "tmp/folder", "/tmp/y", "/tm"].map(str::to_owned).to_vec();
        let file = |path: &str| File { path: path.into(), mode: 0o644, content: vec![] };
        let files = vec![file("tmp/x"), file("etc/crontab"), file("tmp/folder/z")];
        let answer = Answer { status: 0, stdout: vec![], stderr: vec![], files };
        let outcome = guest.outcome(answer, Channel::Serial, console(""));
        assert_eq!(outcome.absent, ["/tmp/y", "/tm"]);
        let kept: Vec<&Path> = outcome.files.iter().map(|file| file.path.as_path()).collect();
        assert_eq!(kept, [Path::new("tmp/x"), Path::new("tmp/folder/z")], "nobody asked for the other");
    }

    #[test]
    fn every_cpu_and_all_memory_lie_in_one_node() {
        assert_eq!(nodes(1, 4, 512), Vec::<String>::new());
        let words = nodes(2, 3, 514).join(" ");
        assert_eq!(
            words,
            "-object memory-backend-ram,id=memory0,size=257M -numa node,nodeid=0,cpus=0-0,memdev=memory0 \
             -object memory-backend-ram,id=memory1,size=257M -numa node,nodeid=1,cpus=1-2,memdev=memory1"
        );
        let mut guest = guest();
        guest.nodes = 2;
        assert!(matches!(guest.run(), Err(Error::Request(why)) if why.contains("2 memory nodes for 1 CPUs")));
    }

    #[test]
    fn of_a_console_the_end_is_shown_and_it_moves_no_cursor() {
        assert_eq!(what_matters(&console("first\n\x1b[2Jsecond\n\nthird")), "first\n[2Jsecond\nthird");
        assert_eq!(what_matters(&console("")), "");
        let long = (0..100).map(|number| format!("{number}\n")).collect::<String>();
        let shown = what_matters(&console(&long));
        assert!(shown.starts_with("85\n") && shown.ends_with("\n99"), "{shown}");
    }

    #[test]
    fn of_a_panic_the_reason_is_shown_however_long_the_trace_is() {
        let trace = (0..100).map(|number| format!("[2.0] trace {number}\n")).collect::<String>();
        let text = format!("one\ntwo\n[1.0] BUG: why\n[1.0] Kernel panic - not syncing: x\n{trace}");
        let shown = what_matters(&console(&text));
        assert!(shown.starts_with("one\n") && shown.contains("BUG: why\n[1.0] Kernel panic"), "{shown}");
        assert_eq!(shown.lines().count(), 3 + PANIC_LINES.1);
    }
}
