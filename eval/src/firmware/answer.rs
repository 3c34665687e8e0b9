//! What `tenbin boot check --json` answers, as far as steps hold it against something: a verdict for each
//! machine.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use tenbin_boot::{Boot, BootCheck, BootMachine, BootVerdict, Fault};

use tenbin_model::words::comma;
use xtask::command::status_in_words;
use xtask::failure::Failure;

/// The exit statuses of an answer: all sound, some refused, and a fault found.
const ANSWERED: [Option<i32>; 3] = [Some(0), Some(3), Some(4)];

/// A file on a machine.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Machine {
    /// The file's name, without folder and ending.
    pub(crate) file: String,
    /// How many harts.
    pub(crate) harts: u64,
    /// The hart that was appointed to boot, if any was.
    pub(crate) boot_hart: Option<u64>,
    /// The memory model, as the command line has it.
    pub(crate) memory: String,
}

impl fmt::Display for Machine {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}, {} harts, ", self.file, self.harts)?;
        if let Some(hart) = self.boot_hart {
            write!(formatter, "boot hart {hart}, ")?;
        }
        formatter.write_str(&self.memory)
    }
}

impl Machine {
    /// The machine of a check or of a replay, which name it alike.
    pub(crate) fn of(file: &str, machine: &BootMachine) -> Self {
        Self {
            file: Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned(),
            harts: machine.harts.into(),
            boot_hart: machine.boot_hart.map(u64::from),
            memory: machine.memory.to_string(),
        }
    }
}

/// The faults that were found by their names in JSON, none if the machine is sound; or why that is not the
/// whole answer.
pub(crate) type Verdict = Result<BTreeSet<String>, String>;

/// What was said of one machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Checked {
    pub(crate) machine: Machine,
    pub(crate) verdict: Verdict,
    /// States that were looked at.
    pub(crate) states: u64,
}

/// The verdicts from how the program ended and what it wrote.
pub(crate) fn judge(code: Option<i32>, text: &str, diagnostics: &str) -> Result<Vec<Checked>, Failure> {
    let read = if ANSWERED.contains(&code) { read(text) } else { Err("it did not answer".into()) };
    read.map_err(|reason| {
        let status = status_in_words(code);
        let reason = format!("{reason} ({status})\n{}", diagnostics.trim_end());
        Failure::new("ask `tenbin boot check`", reason, "run the command by hand, without --json")
    })
}

/// The faults, or that there are none, or why that is not known.
pub(crate) fn in_words(verdict: &Verdict) -> String {
    match verdict {
        Ok(faults) if faults.is_empty() => "sound".into(),
        Ok(faults) => comma(faults),
        Err(why) => why.clone(),
    }
}

fn read(text: &str) -> Result<Vec<Checked>, String> {
    let boot = serde_json::from_str::<Boot>(text)
        .map_err(|error| format!("what it wrote is not of its shape: {error}"))?;
    if boot.schema != Boot::SCHEMA {
        return Err(format!("its schema is {}, and not {}", boot.schema, Boot::SCHEMA));
    }
    boot.checks.iter().map(checked).collect()
}

/// The name of a fault in JSON.
pub(super) fn name(fault: Fault) -> String {
    fault.name().replace(' ', "_")
}

/// What a check says.
fn checked(check: &BootCheck) -> Result<Checked, String> {
    let verdict = match &check.verdict {
        BootVerdict::Sound { partly: true, .. } => Err("sound, but only for the garbage tried".into()),
        BootVerdict::Sound { .. } => Ok(BTreeSet::new()),
        BootVerdict::Refused { why } => Err(format!("refused: {why}")),
        BootVerdict::Faulty { faults, .. } if faults.is_empty() => {
            return Err(format!("it calls {} faulty and names no fault", check.file));
        }
        BootVerdict::Faulty { faults, whole, .. } => {
            let faults = Ok(faults.iter().map(|fault| name(fault.fault)).collect());
            if *whole { faults } else { Err(format!("{}, and maybe more", in_words(&faults))) }
        }
    };
    let machine = Machine::of(&check.file, &check.machine);
    Ok(Checked { machine, verdict, states: check.effort.states })
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;

    /// An answer as tenbin writes it, with three machines.
    pub(crate) fn recorded() -> Value {
        let machine = |harts, boot_hart| json!({"harts": harts, "boot_hart": boot_hart, "memory": "sc", "window": 8, "set": []});
        let effort = json!({"states": 321, "transitions": 654, "bytes": 65536, "seconds": 0.01});
        let fault = |name| {
            json!({"fault": name, "sentence": "Hart 1 waits for ever.", "garbage": [], "steps": [],
                   "repeats_from": null, "ends": [], "reordered": false})
        };
        json!({"schema": "tenbin-boot-1", "checks": [
            {"file": "out/one_flag.elf", "machine": machine(2, 0), "goals": [], "effort": effort,
             "verdict": {"faulty": {"faults": [fault("dead"), fault("started_early"), fault("stale")],
                                    "remarks": [fault("lost_store")], "whole": true}}},
            {"file": "out/two_flags.elf", "machine": machine(2, 0), "goals": [], "effort": effort,
             "verdict": {"sound": {"window_full": false, "partly": false, "remarks": []}}},
            {"file": "out/wake_kept.elf", "machine": machine(3, 1), "goals": [], "effort": effort,
             "verdict": {"refused": {"why": "the time was over at 321 states"}}}]})
    }

    #[test]
    fn verdicts_are_read_from_what_tenbin_writes() {
        let mut recorded = recorded();
        recorded["checks"][1]["machine"]["boot_hart"] = json!(null);
        let checked = judge(Some(4), &recorded.to_string(), "").expect("it is an answer");
        let words = checked.iter().map(|it| format!("{}: {}", it.machine, in_words(&it.verdict)));
        assert_eq!(
            words.collect::<Vec<_>>(),
            [
                "one_flag, 2 harts, boot hart 0, sc: dead, stale, started_early",
                "two_flags, 2 harts, sc: sound",
                "wake_kept, 3 harts, boot hart 1, sc: refused: the time was over at 321 states"
            ]
        );
        assert!(checked.iter().all(|it| it.states == 321));
    }

    #[test]
    fn what_is_no_answer_or_of_another_shape_is_a_failure() {
        let whole = recorded();
        let spoil = |change: &dyn Fn(&mut Value)| {
            let mut spoilt = whole.clone();
            change(&mut spoilt);
            spoilt.to_string()
        };
        for (text, what) in [
            (String::new(), "not of its shape"),
            (spoil(&|it| it["schema"] = json!("tenbin-boot-2")), "tenbin-boot-2"),
            (spoil(&|it| it["checks"] = json!(null)), "not of its shape"),
            (spoil(&|it| it["checks"][0]["verdict"] = json!("perhaps")), "not of its shape"),
            (spoil(&|it| it["checks"][0]["verdict"]["faulty"]["faults"] = json!([])), "names no fault"),
            (spoil(&|it| it["checks"][1]["machine"]["boot_hart"] = json!("any")), "not of its shape"),
        ] {
            let failure = judge(Some(0), &text, "").expect_err(what).to_string();
            assert!(failure.contains(what), "{failure}");
        }
        let failure = judge(Some(2), &whole.to_string(), "no such command").expect_err("a usage error");
        assert!(failure.to_string().contains("no such command"), "{failure}");
    }

    #[test]
    fn what_was_not_examined_whole_says_nothing_of_the_rest() {
        for whole in [true, false] {
            let mut recorded = recorded();
            recorded["checks"][0]["verdict"]["faulty"]["whole"] = json!(whole);
            recorded["checks"][1]["verdict"]["sound"]["partly"] = json!(!whole);
            let checked = judge(Some(4), &recorded.to_string(), "").expect("it is an answer");
            assert_eq!(checked[0].verdict.is_ok(), whole);
            assert_eq!(checked[1].verdict.is_ok(), whole);
        }
    }
}
