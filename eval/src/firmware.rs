//! The boot handshakes in `firmware`: they build without a warning, the sound ones start every hart in QEMU,
//! and the broken ones fail there as they are said to. The boot checker says of every one what is known of it
//! and what `docs/boot.md` shows, and QEMU follows what it found under SC.
//!
//! The file's watchdog decides between arriving and hanging, by QEMU's clock. Where a schedule matters, and
//! wherever a run has to hang, QEMU counts instructions (`-icount`): then one hart runs at a time, in turns
//! that do not depend on how busy this machine is, and neither does the clock.

pub(crate) mod answer;
pub(crate) mod emulator;
mod replays;
mod verdicts;

use std::collections::BTreeMap;
use std::path::Path;

use crate::files::write;
use crate::schema;
use emulator::{End, Firmware, Run, Schedule};
use xtask::architecture::{Architecture, Target};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

/// Ticks of the guest's clock, ten million a second, until the watchdog ends a run whose instructions are
/// counted: 40 s of that time, 625 million instructions.
const PATIENCE: u64 = 400_000_000;

/// The same where the clock is the host's: 20 minutes. A sound handshake ends when it arrives, some hundred
/// times sooner. So only a hang takes that long, however slow the host is.
const PATIENCE_OF_THE_HOST: u64 = 12_000_000_000;

/// Rounds that keep a hart for several turns of all others.
const LATE: u64 = 2_000_000;

/// Nanoseconds an instruction, as a power of two: 1.5 million instructions are a turn.
const COUNTED: Schedule = Schedule::Counted(6);

/// The handshakes that must start every hart, whatever the boot hart and whoever is late.
const SOUND: &[&str] = &["slots", "change", "lottery", "doorbell"];

/// Words of garbage that mislead a handshake if anything does: the values that it waits for, in the wrong
/// places.
const GARBAGE_OF_CHANGE: &[&[(&str, u64, u64)]] = &[
    &[("order", 1, 3), ("echo", 1, 1), ("order", 3, 3), ("echo", 3, 2)],
    &[("order", 1, 2), ("echo", 1, 1), ("order", 0, 3), ("echo", 0, 3)],
    &[("order", 0, 1), ("echo", 0, 1), ("order", 2, 3), ("echo", 2, 1)],
];

/// A run, and how it must end.
struct Trial {
    run: Run,
    expected: End,
    shows: &'static str,
}

/// Build every file, run them in QEMU, ask the checker about them, and have QEMU follow runs of them.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let out = emulator::build(workspace)?;
    // What the checker reads of each: every instruction must be one that it knows. Runs of them that QEMU
    // must follow, and hangs that must happen there every time. What the pages show of them.
    workspace
        .cargo()
        .arguments(["test", "--workspace", "--test", "firmware", "--test", "boot_replay"])
        .arguments(["--test", "transcripts", "--", "--ignored"])
        .variable("TENBIN_FIRMWARE", &out)
        .run_tests()?;
    let mut faults = ask(workspace, &out)?;
    for Trial { run, expected, shows } in trials() {
        let (end, words) = qemu(&out, &run)?;
        let Run { name, harts, boot_hart, .. } = run;
        println!("  {end:?}: {shows} ({harts} harts, boot hart {boot_hart})");
        if end != expected {
            faults.push(format!(
                "{name}, {harts} harts, boot hart {boot_hart}, {shows}: {end:?} ({words}) where {expected:?} was expected"
            ));
        }
    }
    let remedy = "run the command that is printed above, and read firmware/README.md";
    Failure::judge("approve the firmware", &faults, remedy)
}

/// Ask the checker about every file, and have QEMU follow what it found under SC; what is not as it must be.
fn ask(workspace: &Workspace, out: &Path) -> Result<Vec<String>, Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("verdicts")?;
    let (mut verdicts, mut faults) = (BTreeMap::new(), Vec::new());
    let mut replay = None;
    for question in verdicts::QUESTIONS {
        let (checked, text) = question.ask(host.command(&binary), out)?;
        if question.replayed {
            let path = folder.join(format!("{}.json", question.name));
            write(&path, &text, "make room in the target folder")?;
            let output = replays::follow(host.command(&binary), &path)?;
            faults.extend(replays::judge(&checked, &output, question.executed));
            if !question.executed {
                replay = Some(output.text);
            }
        }
        verdicts.extend(checked.into_iter().map(|it| (it.machine, it.verdict)));
    }
    faults.extend(verdicts::differences(&verdicts::expected(), &verdicts));
    println!("  {} verdicts; {} things are not as they must be", verdicts.len(), faults.len());
    faults.iter().for_each(|fault| println!("  {fault}"));
    // One has the shape of all. What was not shown has another, and is told already.
    if let Some(replay) = replay.filter(|_| faults.is_empty()) {
        schema::check_replay(host.command(&binary), &folder, &replay)?;
    }
    Ok(faults)
}

/// A run whose instructions are counted.
fn counted(name: &'static str, harts: u64, boot_hart: u64, planted: Vec<(&'static str, u64, u64)>) -> Run {
    Run { name, harts, boot_hart, schedule: COUNTED, patience: PATIENCE, planted, garbage: vec![] }
}

/// Every run: sound handshakes on harts of their own threads and in turns, and each bug once.
fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for &name in SOUND {
        // Where instructions are counted, QEMU 7.2 may leave a hart asleep that was woken
        // (firmware/README.md).
        let turns = if name == "doorbell" { Schedule::Turns } else { COUNTED };
        for (harts, boot_hart, late) in [(2, 0, 1), (2, 0, 0), (2, 1, 0), (4, 0, 3), (4, 2, 2)] {
            for schedule in [Schedule::Threads, turns] {
                let planted = vec![("delays", late, LATE)];
                let counted = matches!(schedule, Schedule::Counted(_));
                let patience = if counted { PATIENCE } else { PATIENCE_OF_THE_HOST };
                let run = Run { name, harts, boot_hart, schedule, patience, planted, garbage: vec![] };
                trials.push(Trial { run, expected: End::Arrived, shows: "one hart is late" });
            }
        }
    }
    for (boot_hart, garbage) in (0..).zip(GARBAGE_OF_CHANGE) {
        for late in 0..4 {
            let mut planted = garbage.to_vec();
            planted.push(("delays", late, LATE));
            let run = counted("change", 4, boot_hart, planted);
            trials.push(Trial { run, expected: End::Arrived, shows: "garbage misleads nobody" });
        }
    }
    trials.extend(bugs());
    trials
}

/// One run for each bug that a schedule of whole turns can show.
fn bugs() -> Vec<Trial> {
    let late = ("delays", 0, LATE);
    let trial = |name, boot_hart, planted: &[_], expected, shows| Trial {
        run: counted(name, 2, boot_hart, planted.to_vec()),
        expected,
        shows,
    };
    vec![
        trial("one_flag", 0, &[late, ("wake_flag", 0, 0)], End::Arrived, "no garbage, no bug"),
        trial(
            "one_flag",
            0,
            &[late, ("wake_flag", 0, 1)],
            End::Wrong,
            "garbage 1 starts hart 1 on a stale stack",
        ),
        trial(
            "one_flag",
            0,
            // The stale words are right by chance: 2 stacks above the first, and the argument of hart 1.
            &[late, ("wake_flag", 0, 1), ("start_stack", 0, STACK_OF_HART_1), ("start_argument", 1, 0x101)],
            End::Hung,
            "garbage 1, and the boot hart waits for ever",
        ),
        trial("one_flag", 1, &[("work", 0, LATE)], End::Wrong, "hart 0 starts when .bss is cleared"),
        trial(
            "two_flags",
            1,
            &[("delays", 1, LATE), ("work", 0, LATE)],
            End::Wrong,
            "hart 0 starts when .bss is cleared",
        ),
        trial(
            "wake_kept",
            1,
            &[("delays", 1, LATE), ("work", 0, LATE)],
            End::Arrived,
            "clearing starts nobody",
        ),
        trial("lottery_broken", 0, &[], End::Hung, "a late hart overwrites the status"),
        // Its harts sleep, and where instructions are counted QEMU 7.2 may leave one asleep. So it is also
        // shown to arrive.
        trial("doorbell_broken", 0, &[], End::Arrived, "no ring in the gap, no bug"),
        trial("doorbell_broken", 0, &[("meet", 0, 1)], End::Hung, "a ring between test and clear is lost"),
    ]
}

/// In place of a value: the top of the stack of hart 1, wherever the file has it.
const STACK_OF_HART_1: u64 = u64::MAX;

/// How one run ended, and QEMU's words.
fn qemu(out: &Path, run: &Run) -> Result<(End, String), Failure> {
    let file = Firmware::read(out, run.name)?;
    let mut run = run.clone();
    for (_, _, value) in &mut run.planted {
        if *value == STACK_OF_HART_1 {
            *value = file.stack_of(1)?;
        }
    }
    let output = run.command(&file)?.capture()?;
    print!("{}", output.diagnostics);
    Ok(emulator::judge(&output))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sound_handshakes_run_with_two_and_four_harts_others_break() {
        let trials = trials();
        let arrives = |name: &str, harts| {
            trials
                .iter()
                .any(|it| it.run.name == name && it.run.harts == harts && it.expected == End::Arrived)
        };
        for name in SOUND {
            assert!(arrives(name, 2) && arrives(name, 4), "{name}");
            assert!(trials.iter().all(|it| it.run.name != *name || it.expected == End::Arrived), "{name}");
        }
        for name in ["one_flag", "two_flags", "lottery_broken", "doorbell_broken"] {
            assert!(trials.iter().any(|it| it.run.name == name && it.expected != End::Arrived), "{name}");
        }
    }

    #[test]
    fn only_what_must_arrive_runs_by_the_clock_of_the_host() {
        for Trial { run, expected, shows } in trials() {
            let counted = matches!(run.schedule, Schedule::Counted(_));
            assert!(counted || expected == End::Arrived, "{}: {shows}", run.name);
            let patience = if counted { PATIENCE } else { PATIENCE_OF_THE_HOST };
            assert_eq!(run.patience, patience, "{}: {shows}", run.name);
        }
    }

    #[test]
    fn what_is_planted_is_within_the_harts_that_run() {
        for Trial { run, .. } in trials() {
            assert!(run.boot_hart < run.harts, "{}", run.name);
            assert!(run.planted.iter().all(|(_, index, _)| *index < run.harts), "{}", run.name);
        }
    }
}
