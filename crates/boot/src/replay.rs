//! Replays: how a run that a checker found went in an emulator.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::answer::{Boot, BootCheck, BootMachine, BootVerdict, Counterexample, Fault, Hex, Planted};
use tenbin_model::order;
use tenbin_model::words::comma;

/// What `tenbin boot replay` answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BootReplay {
    /// Name and version of this shape.
    #[schemars(extend("const" = BootReplay::SCHEMA))]
    pub schema: String,
    /// The emulator and its version, `QEMU 7.2.22`; none where nothing was replayed.
    pub emulator: Option<String>,
    /// How often each run was to be followed, from the first instruction.
    pub times: u32,
    /// A run each, in the order in which the answer that was replayed has them.
    pub replays: Vec<Replayed>,
}

impl BootReplay {
    /// The name and version of this shape.
    pub const SCHEMA: &str = "tenbin-replay-1";
}

/// One run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Replayed {
    /// The ELF file that ran.
    pub file: String,
    /// The machine.
    pub machine: BootMachine,
    /// The fault that the run ends in.
    pub fault: Fault,
    /// How many steps it has.
    pub steps: usize,
    /// What came of it.
    pub outcome: ReplayOutcome,
}

/// What came of a replay.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ReplayOutcome {
    /// Every time the emulator did what the run says, and the fault was there.
    Shown(Shown),
    /// The emulator did something else. One of the two is wrong.
    Departed {
        /// How often the fault was shown before.
        shown: u32,
        /// The step of the run, from 0, at which they part; none behind the last.
        step: Option<usize>,
        /// What was expected, and what was there.
        why: String,
    },
    /// The emulator cannot be made to do this.
    NotReplayable {
        /// Why not.
        why: String,
    },
}

/// A run that the emulator followed every time. What differs from time to time is that of the first.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Shown {
    /// How often, each time by an emulator that was started anew.
    pub times: u32,
    /// Instructions that harts were stepped through.
    pub instructions: u64,
    /// Words that the debugger wrote before the first instruction: what was set, and the garbage.
    pub planted: Vec<Planted>,
    /// Accesses that the debugger performed before their turn in program order, because the run reorders
    /// them.
    pub out_of_order: u32,
    /// Instructions that the debugger passed over: those of [`Shown::out_of_order`] when their turn came,
    /// `wfi`, and a store-conditional that fails.
    pub passed_over: u32,
    /// The harts at the end of the run, hart 0 first.
    pub harts: Vec<ReplayedHart>,
    /// How all harts ran freely from there; only behind a run after which they cannot all arrive.
    pub free: Option<FreeRun>,
    /// How often the part that repeats was gone through again.
    pub rounds: u32,
}

/// A hart where the run leaves it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ReplayedHart {
    /// Where it is.
    pub pc: Hex,
    /// The same as a symbol and a distance.
    pub place: String,
    /// Its stack pointer.
    pub sp: Hex,
    /// Its register a1.
    pub a1: Hex,
    /// Whether it has arrived.
    pub arrived: bool,
}

/// What harts did that ran freely.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FreeRun {
    /// How long each piece of it was, in seconds; in later times it is shorter. Nobody arrived in the last
    /// one.
    pub seconds: f64,
    /// How many pieces there were.
    pub pieces: u32,
    /// What became of each hart.
    pub harts: Vec<Stood>,
}

/// What became of a hart that ran freely.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Stood {
    /// It had arrived before.
    Arrived,
    /// It arrived meanwhile.
    ArrivedLater,
    /// It comes again and again to where the run leaves it.
    GoesRound,
    /// It sleeps in `wfi`.
    Sleeps,
    /// It went on from where the run leaves it, and did not arrive.
    WentOn,
}

impl Boot {
    /// The runs to replay: the faults of each machine, or all runs of one kind, which may be remarks.
    pub fn runs(&self, fault: Option<Fault>) -> Vec<(&BootCheck, &Counterexample)> {
        let mut runs = Vec::new();
        for check in &self.checks {
            let of_check = check.verdict.runs().take(match fault {
                Some(_) => usize::MAX,
                None => check.verdict.faults().len(),
            });
            let asked = of_check.filter(|run| fault.is_none_or(|fault| run.fault == fault));
            runs.extend(asked.map(|run| (check, run)));
        }
        runs
    }

    /// Why there is no run to replay.
    pub fn nothing_to_replay(&self, fault: Option<Fault>) -> String {
        let runs = self.checks.iter().flat_map(|check| check.verdict.runs());
        let has: Vec<&str> = order::set(runs.map(|run| run.fault.name())).into_iter().collect();
        let is_sound = |check: &BootCheck| matches!(check.verdict, BootVerdict::Sound { .. });
        match (fault, has.as_slice()) {
            (Some(fault), [_, ..]) => {
                format!("the answer has no run of the kind `{}`; it has: {}", fault.name(), comma(&has))
            }
            _ if self.checks.iter().all(is_sound) => {
                "nothing goes wrong on any machine of the answer, so there is no run to replay".into()
            }
            _ => "the answer has no run to replay: what is not sound in it was refused".into(),
        }
    }
}
