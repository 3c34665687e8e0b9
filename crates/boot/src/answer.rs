//! What `boot check` answers: which firmware was examined on which machine, what can go wrong, and the run in
//! which it does.
//!
//! Comments and names of these types are also the published schema.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::axiomatic::Model;

/// What `tenbin boot check` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Boot {
    /// Name and version of this shape.
    #[schemars(extend("const" = Boot::SCHEMA))]
    pub schema: String,
    /// A machine each, in the order in which they were asked about.
    pub checks: Vec<BootCheck>,
}

impl Boot {
    /// The name and version of this shape.
    pub const SCHEMA: &str = "tenbin-boot-1";
}

/// One firmware on one machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootCheck {
    /// The ELF file, as it was named.
    pub file: String,
    /// SHA-256 of that file, in hexadecimal: a replay needs the same one. None in answers that were given
    /// before it was kept.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sha256: Option<String>,
    /// The machine.
    pub machine: BootMachine,
    /// The addresses at which a hart has arrived, the lowest first, each once: the goals of the boot hart and
    /// of the others.
    pub goals: Vec<Hex>,
    /// What came of it.
    pub verdict: BootVerdict,
    /// The `lr` of every loop that tries a store-conditional again and is no constrained LR/SC loop: the
    /// architecture promises no progress of it. The verdict believes in it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retries: Vec<BootPlace>,
    /// What it cost; of a refusal, up to there.
    pub effort: Effort,
}

/// A machine to boot.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootMachine {
    /// How many harts it has, numbered from 0.
    pub harts: u32,
    /// The hart that boots, which a word of the firmware says. None where it has no such word, or where the
    /// word was left as it is (`--boot-hart any`).
    pub boot_hart: Option<u32>,
    /// The memory model: `sc`, `tso` or `rvwmo`.
    #[schemars(with = "String")]
    pub memory: Model,
    /// How many instructions of a hart may be begun and not performed.
    pub window: u32,
    /// Words that were given a value before the first instruction: how many harts there are, and what the
    /// user set.
    pub set: Vec<Planted>,
    /// Control and status registers that were given a value before the first instruction, on every hart.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controls: Vec<GivenControl>,
}

/// A control and status register, and what it holds at first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct GivenControl {
    /// Its name, as `misa`.
    pub name: String,
    /// What it holds.
    pub value: Hex,
}

/// A place in the code.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootPlace {
    /// The address of the instruction.
    pub pc: Hex,
    /// The same as a symbol and a distance, and the line of source where the file says it:
    /// `take+8 (lock.S:12)`.
    pub place: String,
    /// The instruction in GNU's syntax.
    pub instruction: String,
}

/// What an examination cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "BootEffort")]
pub struct Effort {
    /// States of the whole machine that were looked at.
    pub states: u64,
    /// Steps between them.
    pub transitions: u64,
    /// Bytes of memory, at the most.
    pub bytes: u64,
    /// Seconds.
    pub seconds: f64,
}

/// What came of an examination.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BootVerdict {
    /// Every hart arrives, whatever memory holds and however late any of them is.
    Sound {
        /// Whether some hart could have begun more instructions than the window holds. The verdict then
        /// stands up to this window.
        window_full: bool,
        /// Whether the firmware computes with garbage. The verdict then stands for the garbage that was
        /// tried.
        #[serde(default)]
        partly: bool,
        /// Instructions behind which nothing was begun early, though it may be. The verdict then stands but
        /// for that.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<BootPlace>,
        /// What is no fault, and should be known.
        remarks: Vec<Counterexample>,
    },
    /// Something can go wrong. The shortest run that was found for each kind of fault.
    Faulty {
        /// In the order of [`Fault`].
        #[schemars(description = "In the order of [`BootFault`].")]
        faults: Vec<Counterexample>,
        /// Whether all of it was looked at. Else a limit was reached: what was found stands, and there may be
        /// more.
        whole: bool,
        /// What is no fault, and should be known.
        remarks: Vec<Counterexample>,
    },
    /// Nothing is known.
    Refused {
        /// What was reached, what the question needs, what would change it.
        why: String,
    },
}

impl BootVerdict {
    /// The runs that end in a fault.
    pub fn faults(&self) -> &[Counterexample] {
        match self {
            Self::Faulty { faults, .. } => faults,
            Self::Sound { .. } | Self::Refused { .. } => &[],
        }
    }

    /// What is no fault, and should be known.
    pub fn remarks(&self) -> &[Counterexample] {
        match self {
            Self::Faulty { remarks, .. } | Self::Sound { remarks, .. } => remarks,
            Self::Refused { .. } => &[],
        }
    }

    /// The faults, and then the remarks.
    pub fn runs(&self) -> impl Iterator<Item = &Counterexample> {
        self.faults().iter().chain(self.remarks())
    }
}

/// What can be wrong with a boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(rename = "BootFault")]
pub enum Fault {
    /// A state is reached from which no run brings all harts to their goal.
    Dead,
    /// All harts step for ever, and never arrive; another run from there would.
    Livelock,
    /// A hart starts before it is told to.
    StartedEarly,
    /// A hart starts twice, or two harts boot.
    StartedTwice,
    /// Two harts arrive on one stack.
    SharedStack,
    /// A hart arrives with a stack pointer or an argument that was not meant for it.
    Stale,
    /// A hart goes where no memory is, or no code.
    Astray,
    /// A hart stores to memory that is still to be cleared: what it stored is lost. A remark, and no fault by
    /// itself.
    LostStore,
}

impl Fault {
    /// All kinds, in their order.
    pub const ALL: [Self; 8] = [
        Self::Dead,
        Self::Livelock,
        Self::StartedEarly,
        Self::StartedTwice,
        Self::SharedStack,
        Self::Stale,
        Self::Astray,
        Self::LostStore,
    ];

    /// In a few words, as a table has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dead => "dead",
            Self::Livelock => "livelock",
            Self::StartedEarly => "started early",
            Self::StartedTwice => "started twice",
            Self::SharedStack => "shared stack",
            Self::Stale => "stale",
            Self::Astray => "astray",
            Self::LostStore => "lost store",
        }
    }
}

/// A run that ends in a fault.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Counterexample {
    /// The kind.
    pub fault: Fault,
    /// What goes wrong, in a sentence.
    pub sentence: String,
    /// What memory must hold at first. Garbage that the run does not read is not named.
    pub garbage: Vec<Planted>,
    /// What is performed, one after the other. What changes nothing (a hart that looks again at what it waits
    /// for) is left out.
    pub steps: Vec<BootStep>,
    /// Of a run that goes on for ever, dead or a livelock: the number of the step from which on all repeats,
    /// where the run tells that.
    pub repeats_from: Option<usize>,
    /// Where every hart is in the end, hart 0 first.
    pub ends: Vec<HartEnd>,
    /// Whether some hart performs an instruction before an older one.
    pub reordered: bool,
    /// The names of those values in the run that are addresses. May be empty: they are for people.
    #[serde(default)]
    pub values: Vec<NamedValue>,
}

/// A value that is an address.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedValue {
    /// The value.
    pub value: Hex,
    /// The same as a symbol and a distance: `stacks+512`.
    pub name: String,
}

/// A word of memory, and what it holds at first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Planted {
    /// Where.
    pub address: Hex,
    /// As a symbol, with a distance where it is not its beginning: `order+8`.
    pub name: String,
    /// How many: 1, 2, 4 or 8.
    pub bytes: u32,
    /// What it holds.
    pub value: Hex,
}

/// One thing that a hart does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BootStep {
    /// Who.
    pub hart: u32,
    /// The address of the instruction.
    pub pc: Hex,
    /// The same as a symbol and a distance.
    pub place: String,
    /// The line of source, `slots.S:9`, where the file says it.
    pub source: Option<String>,
    /// The instruction in GNU's syntax.
    pub instruction: String,
    /// What it does.
    pub action: BootAction,
    /// How many older instructions of the hart are performed later. 0: in order.
    pub overtakes: u32,
    /// What it means for the boot: `hart 1 is told`, `.bss is clear`, `hart 1 starts`.
    pub events: Vec<String>,
}

/// What a step does to memory. Addresses are also given as symbols, as in [`Planted`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum BootAction {
    /// Reads.
    Read {
        /// Where.
        address: Hex,
        /// Its name.
        name: String,
        /// How many bytes.
        bytes: u32,
        /// What it reads.
        value: Hex,
        /// From whom.
        from: Writer,
    },
    /// Writes.
    Wrote {
        /// Where.
        address: Hex,
        /// Its name.
        name: String,
        /// How many bytes.
        bytes: u32,
        /// What it writes.
        value: Hex,
    },
    /// Reads and writes at once: an atomic operation, or a store-conditional that succeeds (which does not
    /// say what it read).
    Swapped {
        /// Where.
        address: Hex,
        /// Its name.
        name: String,
        /// How many bytes.
        bytes: u32,
        /// What it reads.
        read: Option<Hex>,
        /// What it writes.
        value: Hex,
        /// Who wrote what it reads.
        from: Writer,
    },
    /// A store-conditional fails.
    Failed,
    /// `wfi` returns.
    Woke {
        /// Whether an interrupt is pending that the hart has enabled. Else it returned for no reason, which
        /// it may.
        called: bool,
    },
}

impl BootAction {
    /// What is accessed, and how; none where nothing is.
    pub fn access(&self) -> Option<StepAccess<'_>> {
        let (address, name, bytes, read, written) = match self {
            Self::Read { address, name, bytes, value, from } => {
                (address, name, bytes, Some((*value, *from)), None)
            }
            Self::Wrote { address, name, bytes, value } => (address, name, bytes, None, Some(*value)),
            Self::Swapped { address, name, bytes, read, value, from } => {
                (address, name, bytes, read.map(|read| (read, *from)), Some(*value))
            }
            Self::Failed | Self::Woke { .. } => return None,
        };
        Some(StepAccess { address: address.0, bytes: *bytes, name, read, written })
    }
}

/// A step's access to memory, whichever it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepAccess<'a> {
    /// The first byte.
    pub address: u64,
    /// How many.
    pub bytes: u32,
    /// The name of the first.
    pub name: &'a str,
    /// What was read, and from whom.
    pub read: Option<(Hex, Writer)>,
    /// What was written.
    pub written: Option<Hex>,
}

/// Who wrote what is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Writer {
    /// The file puts it there.
    File,
    /// It was there before the file was loaded.
    Garbage,
    /// The step of this number, from 0.
    Step(usize),
    /// An older store of the same hart that memory has not seen yet.
    Forwarded,
}

/// Where a hart is when a run ends.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct HartEnd {
    /// The address of its oldest instruction that is not performed.
    pub pc: Hex,
    /// The same as a symbol and a distance.
    pub place: String,
    /// Whether it has arrived.
    pub arrived: bool,
    /// In a few words: `arrived`, `reads wake_flag, which holds 0, for ever`, `sleeps`.
    pub doing: String,
    /// Whether it went where no code is, or asks for memory that is none.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub astray: bool,
}

/// A number that JSON has as text, `0x80001000`: its own numbers are exact up to 2^53 only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(with = "String")]
pub struct Hex(pub u64);

impl fmt::Display for Hex {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:#x}", self.0)
    }
}

impl From<Hex> for String {
    fn from(number: Hex) -> Self {
        number.to_string()
    }
}

impl TryFrom<String> for Hex {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let digits = text.strip_prefix("0x").filter(|digits| !digits.starts_with('+'));
        let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
        number.map(Self).ok_or_else(|| format!("`{text}` is not a number of the form 0x1f"))
    }
}
