//! What makes a guest's CPUs go.

use std::str::FromStr;

use tenbin_model::Architecture;

use crate::error::Error;

/// What makes a guest's CPUs go.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Accelerator {
    /// QEMU translates every instruction (TCG), for every architecture, on any machine. What such a CPU says
    /// of time means nothing.
    #[default]
    Emulated,
    /// As [`Accelerator::Emulated`], with one CPU and a clock that counts instructions: each takes one
    /// nanosecond of the guest's time. Where the CPU waits for a timer, the clock jumps there, so that
    /// waiting takes no time here.
    ///
    /// It is QEMU's `-icount shift=0,align=off,sleep=off`. How long an instruction takes on a real CPU is not
    /// in these figures: a division, a miss of every cache and a `nop` are one nanosecond each. Each
    /// repetition of a string instruction (`rep stos` of x86) is one too.
    Counted,
    /// The CPUs of this machine, by `/dev/kvm`: only for its own architecture. See [`Guest::try_kvm`].
    ///
    /// [`Guest::try_kvm`]: crate::Guest::try_kvm
    Kvm,
}

/// A word that names no accelerator.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0} cannot run guests: use tcg (emulated) or kvm")]
pub struct NotAnAccelerator(String);

/// From the names that QEMU has for them. Counting is another matter and has no name there.
impl FromStr for Accelerator {
    type Err = NotAnAccelerator;

    fn from_str(word: &str) -> Result<Self, NotAnAccelerator> {
        match word {
            "tcg" => Ok(Self::Emulated),
            "kvm" => Ok(Self::Kvm),
            _ => Err(NotAnAccelerator(word.to_owned())),
        }
    }
}

impl Accelerator {
    /// Whether it can make so many CPUs of `architecture` go on a machine like this. Whether KVM works here
    /// is another question.
    ///
    /// # Errors
    /// [`Error::Request`] where it cannot.
    pub fn insist(self, architecture: Architecture, cpus: u32) -> Result<(), Error> {
        match self {
            Self::Counted if cpus != 1 => Err(Error::Request(format!(
                "instructions are counted on one CPU only, and {cpus} are wanted: they would take turns"
            ))),
            Self::Kvm if Architecture::host() != Some(architecture) => Err(Error::Request(format!(
                "KVM runs only guests of this machine's own architecture: {architecture} must be emulated"
            ))),
            _ => Ok(()),
        }
    }

    /// What the emulator is told of it.
    pub(crate) fn words(self) -> &'static [&'static str] {
        match self {
            Self::Emulated => &["-accel", "tcg"],
            Self::Counted => &["-accel", "tcg", "-icount", "shift=0,align=off,sleep=off"],
            Self::Kvm => &["-accel", "kvm"],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_names_are_those_of_qemu() {
        assert_eq!("tcg".parse(), Ok(Accelerator::Emulated));
        assert_eq!("kvm".parse(), Ok(Accelerator::Kvm));
        let error = "xen".parse::<Accelerator>().unwrap_err();
        assert!(error.to_string().contains("tcg (emulated) or kvm"), "{error}");
    }

    #[test]
    fn counting_needs_one_cpu_and_kvm_the_own_architecture() {
        for architecture in Architecture::ALL {
            let own = Architecture::host() == Some(architecture);
            let cases = [
                (Accelerator::Emulated, 8, true),
                (Accelerator::Counted, 1, true),
                (Accelerator::Counted, 2, false),
                (Accelerator::Kvm, 2, own),
            ];
            for (accelerator, cpus, expected) in cases {
                let answer = accelerator.insist(architecture, cpus);
                assert_eq!(answer.is_ok(), expected, "{accelerator:?} {cpus} {architecture}");
                assert!(matches!(answer, Ok(()) | Err(Error::Request(_))));
            }
        }
    }
}
