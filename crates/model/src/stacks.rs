//! Stacks of a command: in which functions its threads were while they ran, and in which they left their CPU.
//!
//! Names, frames and stacks stand once, and what uses one names it by its place in its list.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::machine::Machine;
use crate::schema::{Schema, Shape};
use crate::unit::Picoseconds;

/// Where the threads of a command were, by samples on a CPU and by each time that they left one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Stacks {
    /// Name and version of this shape.
    #[schemars(extend("const" = Stacks::SCHEMA))]
    pub schema: Schema<Self>,
    /// The words of its command line.
    pub command: Vec<String>,
    /// When it was begun, as ISO 8601 has it.
    pub started: String,
    /// Where it ran.
    pub machine: Option<Machine>,
    /// From its start to the end of its first process.
    pub wall: Picoseconds,
    /// The status that the first process ended with, or 256 and the number of the signal that ended it.
    pub exit_status: Option<u64>,
    /// Between two ticks of the clock of a CPU: what a sample there stands for.
    pub period: Picoseconds,
    /// Functions and lines.
    pub frames: Vec<Frame>,
    /// Stacks, each made of one before it and a frame within that.
    pub stacks: Vec<Stack>,
    /// Its threads.
    pub threads: Vec<Thread>,
    /// Where they were, in the order in which that ended.
    pub samples: Vec<Sample>,
    /// Samples on a CPU by instruction, where the function is known that it is in.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub instructions: Vec<Instruction>,
    /// What of it could not be seen, a sentence each.
    pub unseen: Vec<String>,
}

impl Shape for Stacks {
    const SCHEMA: &'static str = "tenbin-stacks-1";
}

impl Stacks {
    /// The frames of a stack by their places, the innermost first.
    pub fn frames_of(&self, stack: Option<u32>) -> impl Iterator<Item = u32> + '_ {
        let of = |place: u32| self.stacks.get(place as usize);
        std::iter::successors(stack.and_then(of), move |stack| stack.parent.and_then(of))
            .map(|stack| stack.frame)
    }

    /// Why places in it lead nowhere, where they do: a file may say anything.
    ///
    /// # Errors
    /// In words.
    pub fn check(&self) -> Result<(), String> {
        for (stack, place) in self.stacks.iter().zip(0..) {
            if stack.parent.is_some_and(|parent| parent >= place) {
                return Err(format!("stack {place} is within one that does not stand before it"));
            }
            if stack.frame as usize >= self.frames.len() {
                return Err(format!("stack {place} has a frame that is not there"));
            }
        }
        if let Some(place) = self.instructions.iter().position(|it| it.frame as usize >= self.frames.len()) {
            return Err(format!("instruction {place} has a frame that is not there"));
        }
        for (sample, place) in self.samples.iter().zip(0..) {
            if sample.stack.is_some_and(|stack| stack as usize >= self.stacks.len()) {
                return Err(format!("sample {place} has a stack that is not there"));
            }
            if sample.thread as usize >= self.threads.len() {
                return Err(format!("sample {place} has a thread that is not there"));
            }
        }
        Ok(())
    }
}

/// A place in code.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Frame {
    /// The function; or the file and the place in it, where that has no name for it: `libc.so.6+0x2613c`.
    pub function: String,
    /// The file that the code is in, `[kernel]` for the kernel and its modules; empty where nobody knows.
    pub module: String,
    /// The file of source, without its folders, where the code says so.
    pub source: Option<String>,
    /// The line in it, from 1.
    pub line: Option<u32>,
}

impl Frame {
    /// The module of frames of the kernel.
    pub const KERNEL: &'static str = "[kernel]";

    /// Whether it is the kernel's code.
    pub fn is_kernel(&self) -> bool {
        self.module == Self::KERNEL
    }
}

/// An instruction that was to be executed next when the clock ticked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Instruction {
    /// The function and line that it is of.
    pub frame: u32,
    /// Bytes from the beginning of the function.
    pub offset: u64,
    /// Samples.
    pub count: u64,
}

/// A frame, and what it was called from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Stack {
    /// The stack that it is within; none of the outermost.
    pub parent: Option<u32>,
    /// The frame.
    pub frame: u32,
}

/// A thread.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "SampledThread")]
pub struct Thread {
    /// Its process.
    pub process: u32,
    /// Its own number.
    pub thread: u32,
    /// Its last name.
    pub name: String,
}

/// What a thread did.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// It was on a CPU when a tick of the clock came.
    OnCpu,
    /// It had left its CPU, and could have run.
    Queued,
    /// It had left its CPU, and waited for something else.
    Blocked,
}

/// Where a thread was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(rename = "StackSample")]
pub struct Sample {
    /// When it ended, from the start of the command.
    pub at: Picoseconds,
    /// The thread.
    pub thread: u32,
    /// Its stack; none where it could not be walked.
    pub stack: Option<u32>,
    /// What it did.
    pub state: State,
    /// For how long; of one on a CPU what it stands for.
    pub time: Picoseconds,
    /// How many were added up to it; `at` is that of the first.
    pub count: u64,
    /// Who ended a wait: the name of a thread, or `an interrupt`. None where nobody was seen to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub waker: Option<String>,
}
