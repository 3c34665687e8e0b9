//! One handshake in QEMU: which words are planted, how its harts take turns, and how it ends.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use object::{Object as _, ObjectSection as _, ObjectSymbol as _};

use xtask::command::{Command, Output, status_in_words};
use xtask::failure::Failure;
use xtask::workspace::Workspace;

/// The folder, from the root of the repository.
const FOLDER: &str = "firmware";

/// Longer than any run needs whose watchdog works, on a machine that is slow and busy.
const DEADLINE: Duration = Duration::from_secs(3600);

/// Bytes of a word of the firmware.
const WORD: u64 = 8;

/// What the file leaves undetermined: cleared by the boot hart, or by nobody.
const UNDETERMINED: &[&str] = &[".bss", ".noinit"];

/// How a run ended, by QEMU's exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Every hart arrived, once, with its own stack and argument.
    Arrived,
    /// The watchdog ended it.
    Hung,
    /// A hart arrived twice, on another stack or with another argument.
    Wrong,
    /// Something that the firmware does not do by itself.
    Other,
}

impl End {
    fn of(code: Option<i32>) -> Self {
        match code {
            Some(0) => Self::Arrived,
            Some(1) => Self::Hung,
            Some(2) => Self::Wrong,
            _ => Self::Other,
        }
    }
}

/// How the harts of a run take turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Schedule {
    /// Every hart is a thread of the host: all of them at once, as far as it has CPUs.
    Threads,
    /// One thread: a hart runs until it sleeps or 100 ms of the host's time are over.
    Turns,
    /// One thread, and time is counted in instructions, one every 2^n ns: a hart runs until it sleeps or 100
    /// ms of that time are over, and the schedule is the same every time. Not for harts that sleep while
    /// another waits for them: `firmware/README.md`.
    Counted(u32),
}

impl Schedule {
    /// As QEMU has it.
    fn words(self) -> Vec<String> {
        match self {
            Self::Threads => vec![],
            Self::Turns => vec!["-accel".into(), "tcg,thread=single".into()],
            Self::Counted(shift) => vec!["-icount".into(), format!("shift={shift},sleep=off")],
        }
    }
}

/// A run of one handshake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    pub(crate) name: &'static str,
    pub(crate) harts: u64,
    pub(crate) boot_hart: u64,
    pub(crate) schedule: Schedule,
    /// Ticks of the guest's clock, ten million a second, until the watchdog ends the run.
    pub(crate) patience: u64,
    /// Words that have a name: symbol, index, value.
    pub(crate) planted: Vec<(&'static str, u64, u64)>,
    /// Words that have an address: address, value.
    pub(crate) garbage: Vec<(u64, u64)>,
}

impl Run {
    /// The command that does it with this file.
    pub(crate) fn command(&self, file: &Firmware) -> Result<Command, Failure> {
        let mut words = self.garbage.clone();
        let parameters =
            [("harts", 0, self.harts), ("boot_hart", 0, self.boot_hart), ("patience", 0, self.patience)];
        for &(name, index, value) in parameters.iter().chain(&self.planted) {
            words.push((file.address(name)? + WORD * index, value));
        }
        let mut command = Command::new("qemu-system-riscv64").patience(DEADLINE);
        command = command.arguments(["-M", "virt", "-bios", "none", "-display", "none"]);
        command = command.arguments(["-monitor", "none", "-serial", "none", "-smp", &self.harts.to_string()]);
        command = command.arguments(self.schedule.words());
        for (address, value) in words {
            let word = format!("loader,addr={address:#x},data={value:#x},data-len=8");
            command = command.argument("-device").argument(word);
        }
        Ok(command.argument("-kernel").argument(&file.path))
    }
}

/// How a run ended, and that in words with what QEMU said.
pub(crate) fn judge(output: &Output) -> (End, String) {
    let words = format!("{}: {}", status_in_words(output.code), output.diagnostics.trim_end());
    // QEMU's own complaints end with status 1 too, and with words.
    (if output.diagnostics.is_empty() { End::of(output.code) } else { End::Other }, words)
}

/// A file for QEMU, and what is where in it.
pub(crate) struct Firmware {
    path: PathBuf,
    symbols: BTreeMap<String, u64>,
    /// The address of every word that the file leaves undetermined.
    pub(crate) undetermined: Vec<u64>,
}

impl Firmware {
    /// What the ELF file of a handshake has, in the folder that [`build`] gave.
    pub(crate) fn read(folder: &Path, name: &str) -> Result<Self, Failure> {
        let path = folder.join(format!("{name}-qemu.elf"));
        let failure = |reason: &dyn std::fmt::Display| {
            Failure::new(format!("read {}", path.display()), reason, "build the firmware again")
        };
        let bytes = std::fs::read(&path).map_err(|error| failure(&error))?;
        let object = object::File::parse(&*bytes).map_err(|error| failure(&error))?;
        let symbols =
            object.symbols().filter_map(|it| it.name().ok().map(|name| (name.to_owned(), it.address())));
        let symbols = symbols.collect();
        let mut undetermined = Vec::new();
        for name in UNDETERMINED {
            let Some(section) = object.section_by_name(name) else { continue };
            undetermined.extend((0..section.size() / WORD).map(|word| section.address() + WORD * word));
        }
        Ok(Self { path, symbols, undetermined })
    }

    /// Where a name is.
    pub(crate) fn address(&self, name: &str) -> Result<u64, Failure> {
        self.symbols.get(name).copied().ok_or_else(|| {
            Failure::new(
                format!("find `{name}` in {}", self.path.display()),
                "there is no such symbol",
                "correct what xtask plants, or the firmware",
            )
        })
    }

    /// The top of the stack of a hart.
    pub(crate) fn stack_of(&self, hart: u64) -> Result<u64, Failure> {
        Ok(self.address("stacks")? + (hart + 1) * self.address("stack_size")?)
    }
}

/// Build every file, those for the checker and those for QEMU, and give their folder.
pub(crate) fn build(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let out = workspace.scratch(FOLDER)?;
    Command::new("make")
        .arguments(["--silent", "-C"])
        .argument(workspace.root().join(FOLDER))
        .argument(format!("OUT={}", out.display()))
        .remedy("correct what the compiler names above")
        .run()?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_is_what_the_firmware_means_by_it() {
        let ends = [Some(0), Some(1), Some(2), Some(3), None].map(End::of);
        assert_eq!(ends, [End::Arrived, End::Hung, End::Wrong, End::Other, End::Other]);
    }

    #[test]
    fn a_complaint_of_qemu_is_no_hang() {
        let output = |diagnostics: &str| Output {
            code: Some(1),
            diagnostics: diagnostics.into(),
            ..Output::default()
        };
        assert_eq!(judge(&output("")).0, End::Hung);
        assert_eq!(judge(&output("no such device\n")), (End::Other, "exit status 1: no such device".into()));
    }

    #[test]
    fn a_command_has_the_schedule_and_every_word() {
        let symbols = [("harts", 0x100), ("boot_hart", 0x108), ("patience", 0x110), ("delays", 0x200)];
        let file = Firmware {
            path: "x-qemu.elf".into(),
            symbols: symbols.map(|(name, address)| (name.into(), address)).into(),
            undetermined: vec![],
        };
        let mut run = Run {
            name: "x",
            harts: 3,
            boot_hart: 1,
            schedule: Schedule::Counted(4),
            patience: 5,
            planted: vec![("delays", 2, 0x77)],
            garbage: vec![(0x300, u64::MAX)],
        };
        let command = run.command(&file).expect("all names are there").describe();
        for part in [
            "-smp 3",
            "-icount shift=4,sleep=off",
            "addr=0x100,data=0x3,",
            "addr=0x108,data=0x1,",
            "addr=0x110,data=0x5,",
            "addr=0x210,data=0x77,",
            "addr=0x300,data=0xffffffffffffffff,",
            "-kernel x-qemu.elf",
        ] {
            assert!(command.contains(part), "{part} in {command}");
        }
        run.planted = vec![("meet", 0, 1)];
        assert!(run.command(&file).err().expect("no such name").to_string().contains("`meet`"));
    }
}
