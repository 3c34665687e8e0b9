//! QEMU's board `virt` with a file in its memory, and a debugger that holds its harts.

use std::fs::{self, File};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::Stdio;
use std::time::Instant;

use tenbin_metal::child::Running;
use tenbin_model::Architecture;

use crate::debugger::{Debugger, Harts as _, Trouble};
use crate::error::Error;
use crate::process::{Program, tail, unnamed};

use super::follow::Parted;

/// Where harts are after a reset, and where the code ends that QEMU puts there (`hw/riscv/virt.c`,
/// `VIRT_MROM`).
const RESET_VECTOR: std::ops::Range<u64> = 0x1000..0x10000;

/// More instructions than the reset vector has.
const RESET_INSTRUCTIONS: u32 = 64;

/// The register in which the reset vector leaves the hart's number.
const A0: u8 = 10;

/// A machine that runs nothing yet, or stands.
pub(super) struct Machine {
    pub(super) debugger: Debugger,
    /// The emulator and its version: `QEMU 7.2.22`.
    pub(super) version: String,
    harts: u32,
    complaints: File,
    /// Killed when this is dropped.
    _emulator: Running,
}

impl Machine {
    /// Starts the emulator; all harts stand at the reset vector. It answers until `until`.
    ///
    /// # Errors
    /// [`Error::Missing`] without the emulator, [`Error::Emulator`] where it does not come up.
    pub(super) fn start(elf: &Path, harts: u32, until: Instant) -> Result<Self, Error> {
        let (name, package) = Architecture::Riscv64.names().emulator;
        let plumbing = |error| Error::Process { program: name.to_owned(), error };
        let file = fs::canonicalize(elf).map_err(Error::file("read", elf))?;
        let (ours, theirs) = UnixStream::pair().map_err(plumbing)?;
        let harts_word = harts.to_string();
        let program = Program::new(name, package)
            .words(["-M", "virt", "-smp", &harts_word, "-bios", "none", "-nodefaults", "-no-user-config"])
            .words(["-display", "none", "-S"])
            // Standard input is the other end of the pair.
            .words(["-chardev", "socket,id=debugger,fd=0", "-gdb", "chardev:debugger"])
            .words(["-kernel".as_ref(), file.as_os_str()]);
        let (out, complaints) = (unnamed()?, unnamed()?);
        let emulator = program.start(Stdio::from(OwnedFd::from(theirs)), &out, &complaints)?;
        let speak = || {
            let mut debugger = Debugger::new(ours, until)?;
            let version = debugger.monitor("info version")?;
            Ok((debugger, format!("QEMU {}", number(version.trim()))))
        };
        match speak() {
            Ok((debugger, version)) => Ok(Self { debugger, version, harts, complaints, _emulator: emulator }),
            Err(trouble) => Err(explained(&trouble, &complaints)),
        }
    }

    /// Steps every hart through the reset vector and puts it at `entry`, where the vector of this board would
    /// not go if the file begins elsewhere than memory does. All its registers but a0 hold `registers` then:
    /// what the vector leaves in them is this board's.
    pub(super) fn prepare(&mut self, entry: u64, registers: u64) -> Result<(), Parted> {
        for hart in 0..self.harts {
            let mut left = RESET_INSTRUCTIONS;
            while RESET_VECTOR.contains(&self.debugger.pc(hart)?) && left > 0 {
                self.debugger.step(hart)?;
                left -= 1;
            }
            let (pc, number) = (self.debugger.pc(hart)?, self.debugger.register(hart, A0)?);
            if RESET_VECTOR.contains(&pc) || number != u64::from(hart) {
                return Err(Parted::Cannot(format!(
                    "the reset vector leaves hart {hart} at {pc:#x} with the number {number}"
                )));
            }
            for register in (1..32).filter(|&register| register != A0) {
                self.debugger.set_register(hart, register, registers)?;
            }
            self.debugger.set_pc(hart, entry)?;
        }
        Ok(())
    }

    /// What kept the emulator from its work.
    pub(super) fn failed(&self, trouble: &Trouble) -> Error {
        explained(trouble, &self.complaints)
    }
}

/// The number at the beginning of a version; QEMU says that of its package behind it, without a space.
fn number(version: &str) -> &str {
    let end = version.find(|each: char| !each.is_ascii_digit() && each != '.');
    end.map_or(version, |end| &version[..end])
}

fn explained(trouble: &Trouble, complaints: &File) -> Error {
    let (program, _) = Architecture::Riscv64.names().emulator;
    let complaints = tail(complaints);
    let cause =
        if complaints.is_empty() { trouble.to_string() } else { format!("{trouble}; it said: {complaints}") };
    Error::Replay { program, cause }
}
