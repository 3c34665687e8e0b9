//! What `tenbin boot replay` must say of every run that `tenbin boot check` found under SC: QEMU showed it,
//! every time.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tenbin_boot::{BootReplay, ReplayOutcome, Replayed};

use super::answer::{Checked, Machine, name};
use xtask::command::{Command, Output, status_in_words};
use xtask::failure::Failure;

/// How often each run is followed. A hundred times, as the documents have it, is for a person with time.
const TIMES: u32 = 3;

/// Far longer than all replays take on a machine that is busy.
const DEADLINE: Duration = Duration::from_secs(3600);

/// A run: a fault on a machine.
type Fault = (Machine, String);

/// Have QEMU follow every run of the answer in the file `answer`.
pub(super) fn follow(tenbin: Command, answer: &Path) -> Result<Output, Failure> {
    let command = tenbin.arguments(["boot", "replay"]).argument(answer);
    command.argument(format!("--times={TIMES}")).argument("--json").patience(DEADLINE).capture()
}

/// Every run of `checked` that was not shown so often, and whatever else is wrong with what the replay left
/// behind. Of runs that end before what QEMU `executes`, every one of which it is not said.
pub(super) fn judge(checked: &[Checked], output: &Output, executes: bool) -> Vec<String> {
    let replayed = match read(&output.text) {
        Ok(replayed) => replayed,
        Err(reason) => {
            let status = status_in_words(output.code);
            return vec![format!(
                "tenbin boot replay: {reason} ({status}: {})",
                output.diagnostics.trim_end()
            )];
        }
    };
    let runs = checked.iter().flat_map(|it| {
        let faults = it.verdict.iter().flatten();
        faults.map(|fault| (it.machine.clone(), fault.clone()))
    });
    let mut faults = Vec::new();
    for run in runs {
        let words = replayed.get(&run).map_or("it was not replayed", String::as_str);
        if executes {
            if !words.contains("the emulator executes") {
                faults.push(format!("{}, {}: QEMU executes what it ends before, and {words}", run.0, run.1));
            }
        } else if words != SHOWN {
            faults.push(format!("{}, {}: QEMU was to show it {TIMES} times, and {words}", run.0, run.1));
        }
    }
    // What cannot be shown is a refusal.
    let status = if executes { Some(3) } else { Some(0) };
    if faults.is_empty() && output.code != status {
        faults.push(format!("tenbin boot replay: all was shown, and yet {}", status_in_words(output.code)));
    }
    faults
}

/// What is said of a run that was shown as often as asked.
const SHOWN: &str = "shown";

/// What came of each run, in words.
fn read(text: &str) -> Result<BTreeMap<Fault, String>, String> {
    let answer = serde_json::from_str::<BootReplay>(text)
        .map_err(|error| format!("what it wrote is not of its shape: {error}"))?;
    if answer.schema != BootReplay::SCHEMA {
        return Err(format!("its schema is {}, and not {}", answer.schema, BootReplay::SCHEMA));
    }
    let run = |replay: &Replayed| {
        let fault = (Machine::of(&replay.file, &replay.machine), name(replay.fault));
        (fault, in_words(&replay.outcome))
    };
    Ok(answer.replays.iter().map(run).collect())
}

fn in_words(outcome: &ReplayOutcome) -> String {
    match outcome {
        ReplayOutcome::Shown(shown) if shown.times == TIMES => SHOWN.into(),
        other => serde_json::to_string(other).unwrap_or_else(|error| error.to_string()),
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::firmware::answer;
    use crate::firmware::answer::tests::recorded;

    /// The replays of that answer, with the status that fits them.
    fn replayed() -> Value {
        let replay = |fault| {
            json!({"file": "out/one_flag.elf", "fault": fault, "steps": 3, "outcome": {"shown":
                {"times": 3, "instructions": 9, "planted": [], "out_of_order": 0, "passed_over": 0, "harts": [], "free": null, "rounds": 0}},
                   "machine": {"harts": 2, "boot_hart": 0, "memory": "sc", "window": 8, "set": []}})
        };
        let replays = ["dead", "started_early", "stale"].map(replay);
        json!({"schema": BootReplay::SCHEMA, "emulator": "QEMU 7.2.22", "times": 3, "replays": replays})
    }

    fn judged(code: i32, replayed: &Value) -> Vec<String> {
        let checked = answer::judge(Some(4), &recorded().to_string(), "").expect("it is an answer");
        let (text, diagnostics) = (replayed.to_string(), "QEMU said so".into());
        judge(&checked, &Output { code: Some(code), text, diagnostics, ..Output::default() }, false)
    }

    #[test]
    fn a_run_that_was_not_shown_as_often_as_asked_is_told() {
        assert_eq!(judged(0, &replayed()), Vec::<String>::new());
        type Spoil = (fn(&mut Value), &'static str);
        let spoils: [Spoil; 4] = [
            (
                |it| {
                    it["replays"][1]["outcome"] =
                        json!({"departed": {"shown": 2, "step": null, "why": "it was not"}})
                },
                "departed",
            ),
            (|it| it["replays"][1]["outcome"] = json!({"not_replayable": {"why": "no memory"}}), "no memory"),
            (|it| it["replays"][1]["outcome"]["shown"]["times"] = json!(2), "\"times\":2"),
            (|it| it["replays"][1]["fault"] = json!("livelock"), "it was not replayed"),
        ];
        for (spoil, words) in spoils {
            let mut spoilt = replayed();
            spoil(&mut spoilt);
            let faults = judged(4, &spoilt);
            assert_eq!(faults.len(), 1, "{faults:?}");
            let run = "one_flag, 2 harts, boot hart 0, sc, started_early: ";
            assert!(faults[0].starts_with(run) && faults[0].contains(words), "{faults:?}");
        }
    }

    #[test]
    fn a_status_that_does_not_fit_is_told_and_so_is_no_answer() {
        assert!(judged(3, &replayed())[0].contains("exit status 3"));
        let other = json!({"schema": "tenbin-replay-2", "emulator": null, "times": 3, "replays": []});
        for (answer, words) in [
            (json!(null), "not of its shape"),
            (other, "tenbin-replay-2"),
            (json!({"schema": BootReplay::SCHEMA}), "not of its shape"),
        ] {
            let faults = judged(5, &answer);
            assert!(faults[0].contains(words) && faults[0].contains("QEMU said so"), "{faults:?}");
        }
    }
}
