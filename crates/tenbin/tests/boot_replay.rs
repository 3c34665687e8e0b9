//! `tenbin boot replay` as a user meets it: runs of the firmware that are made by hand, and QEMU.
//!
//! Those that need QEMU and the firmware are ignored; `cargo xtask test firmware` builds it and runs them.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;
#[path = "boot_replay/recorder.rs"]
mod recorder;

use std::fs;
use std::path::{Path, PathBuf};

use place::{Place, joined, text};
use recorder::{Recorded, Recorder};
use serde_json::Value;
use tenbin_boot::image::Image;
use tenbin_boot::{
    Boot, BootAction, BootCheck, BootReplay, BootVerdict, Effort, Fault, Hex, ReplayOutcome, Shown, Stood,
};

fn file(name: &str) -> PathBuf {
    let folder =
        std::env::var_os("TENBIN_FIRMWARE").expect("TENBIN_FIRMWARE names the folder of the built firmware");
    Path::new(&folder).join(format!("{name}.elf"))
}

fn image(name: &str) -> Image {
    Image::read(&fs::read(file(name)).unwrap()).unwrap()
}

/// An answer of `boot check` that has these runs.
fn boot(runs: Vec<(&str, Recorded)>) -> Boot {
    let check = |(name, recorded): (&str, Recorded)| BootCheck {
        file: file(name).display().to_string(),
        sha256: None,
        machine: recorded.machine,
        goals: recorded.goals,
        verdict: BootVerdict::Faulty { faults: vec![recorded.run], remarks: vec![], whole: true },
        retries: vec![],
        effort: Effort::default(),
    };
    Boot { schema: Boot::SCHEMA.into(), checks: runs.into_iter().map(check).collect() }
}

/// Status, answer and what was said on standard error.
fn replay(answer: &str, words: &[&str]) -> (Option<i32>, String, String) {
    let place = Place::new();
    fs::write(place.path("answer.json"), answer).unwrap();
    let output = place.tenbin(&[&["boot", "replay", "answer.json"], words].concat());
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

fn replayed(boot: &Boot, times: u32) -> (Option<i32>, BootReplay) {
    let text = serde_json::to_string(boot).unwrap();
    let (status, answer, stderr) = replay(&text, &["--json", "--times", &times.to_string()]);
    let answer = serde_json::from_str(&answer).unwrap_or_else(|error| panic!("{error}: {answer}{stderr}"));
    (status, answer)
}

/// What was shown of the one run, or of the first.
fn shown(boot: &Boot, times: u32) -> Shown {
    let (status, answer) = replayed(boot, times);
    match &answer.replays[0].outcome {
        ReplayOutcome::Shown(shown) if status == Some(0) => shown.clone(),
        other => panic!("{status:?}: {other:?}"),
    }
}

/// Garbage 1 in the one flag: hart 1 answers before it is asked, and the boot hart waits for ever.
fn one_flag_hangs(image: &Image) -> Recorded {
    let mut run = Recorder::new(image, 2, 0).garbage("wake_flag", 1).garbage("start_stack", 0x1234);
    run.until(1, "arrived");
    run.until_access(0, "wake_flag", true);
    run.step(0, false);
    // Clearing wrote to it too. Now it is told, and waits.
    run.until_access(0, "wake_flag", true);
    run.step(0, false);
    run.until_access(0, "wake_flag", false);
    run.end(Fault::Dead)
}

/// A late hart's `boot_flag` = 0 erases another's 1.
fn wake_kept_hangs(image: &Image) -> Recorded {
    let mut run = Recorder::new(image, 3, 0);
    run.until_access(1, "wake_flag", false);
    run.until(0, "tell");
    run.until_access(0, "boot_flag", false);
    run.until(1, "arrived");
    run.until_access(2, "wake_flag", false);
    run.until_access(0, "wake_flag", true);
    run.end(Fault::Dead)
}

/// The bell rings between the test and the clear, and the hart sleeps.
fn doorbell_is_missed(image: &Image) -> Recorded {
    let mut run = Recorder::new(image, 2, 0);
    run.until(0, "cleared");
    run.until(1, "gap");
    run.until_access(0, "answer+8", false);
    // It clears, and comes to its `wfi`.
    run.step(1, false);
    run.end(Fault::Dead)
}

/// The stack pointer is still in the boot hart's store buffer when the hart is told.
fn one_flag_is_stale(image: &Image) -> Recorded {
    let mut run = Recorder::new(image, 2, 0);
    run.until(0, "cleared");
    run.until_access(1, "wake_flag", false);
    run.until_access(0, "start_stack", true);
    run.step(0, true);
    run.until_access(0, "wake_flag", true);
    run.step(0, false);
    run.until(1, "arrived");
    run.end(Fault::Stale)
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn hangs_that_need_no_reordering_happen_every_time() {
    let (one_flag, wake_kept) = (image("one_flag"), image("wake_kept"));
    let boot =
        boot(vec![("one_flag", one_flag_hangs(&one_flag)), ("wake_kept", wake_kept_hangs(&wake_kept))]);
    let (status, answer) = replayed(&boot, 20);
    assert_eq!(status, Some(0), "{answer:?}");
    assert!(answer.emulator.unwrap().starts_with("QEMU "));
    let stood = answer.replays.iter().map(|it| match &it.outcome {
        ReplayOutcome::Shown(shown) => {
            assert_eq!((shown.times, shown.out_of_order), (20, 0));
            let free = shown.free.as_ref().unwrap();
            assert!(free.pieces >= 2 && free.seconds > 0.0);
            free.harts.clone()
        }
        other => panic!("{other:?}"),
    });
    let stood = stood.collect::<Vec<_>>();
    assert_eq!(stood[0], [Stood::GoesRound, Stood::Arrived]);
    assert_eq!(stood[1], [Stood::GoesRound, Stood::Arrived, Stood::GoesRound]);
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn a_store_that_is_late_is_played_by_the_debugger() {
    let image = image("one_flag");
    let recorded = one_flag_is_stale(&image);
    assert!(recorded.run.reordered);
    let shown = shown(&boot(vec![("one_flag", recorded)]), 3);
    assert_eq!(shown.out_of_order, 1);
    // The stack pointer that hart 1 took was cleared, and not yet written.
    assert_eq!((shown.harts[1].arrived, shown.harts[1].sp), (true, Hex(0)));
    assert!(shown.free.is_none());
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn a_hart_that_misses_its_bell_sleeps() {
    let image = image("doorbell_broken");
    let shown = shown(&boot(vec![("doorbell_broken", doorbell_is_missed(&image))]), 2);
    assert_eq!(shown.free.unwrap().harts, [Stood::GoesRound, Stood::Sleeps]);
    // Had it been rung for after its clear, it would not: then this is no hang, and said to be none.
    let mut run = Recorder::new(&image, 2, 0);
    run.until(0, "cleared");
    run.until(1, "gap");
    run.step(1, false);
    run.until_access(0, "answer+8", false);
    let (status, answer) = replayed(&boot(vec![("doorbell_broken", run.end(Fault::Dead))]), 1);
    assert_eq!(status, Some(4), "{answer:?}");
    assert!(
        matches!(&answer.replays[0].outcome, ReplayOutcome::Departed { step: None, why, .. } if why.contains("all harts arrived")),
        "{answer:?}"
    );
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn only_what_is_asked_for_is_replayed_and_a_lack_is_named() {
    let image = image("one_flag");
    let mut boot = boot(vec![("one_flag", one_flag_hangs(&image))]);
    let answer = serde_json::to_string(&boot).unwrap();
    let (status, _, stderr) = replay(&answer, &["--fault", "stale"]);
    assert_eq!(
        (status, stderr.contains("no run of the kind `stale`; it has: dead")),
        (Some(3), true),
        "{stderr}"
    );
    let (status, _, stderr) = replay(&answer, &["--elf", "absent.elf"]);
    assert_eq!((status, stderr.contains("absent.elf")), (Some(2), true), "{stderr}");
    // Goals that are none: no hart is where the run says that it arrived.
    boot.checks[0].goals = vec![Hex(0x8000_0018)];
    let (status, stdout, _) = replay(&serde_json::to_string(&boot).unwrap(), &[]);
    // Where a line ends depends on how long the name of the file is.
    let stdout = joined(&stdout);
    assert_eq!((status, stdout.contains("not a goal; goals are: 0x80000018.")), (Some(3), true), "{stdout}");
    let place = Place::new();
    fs::write(place.path("answer.json"), answer).unwrap();
    let mut command = place.command(&["boot", "replay", "answer.json"]);
    let output = command.env("PATH", place.folder.path()).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!((output.status.code(), stderr.contains("apt-get install")), (Some(5), true), "{stderr}");
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn a_run_that_does_not_happen_is_noticed() {
    let image = image("one_flag");
    // What to spoil, and at which step that is noticed. A place that is never reached is given up after
    // 20 000 instructions, half a minute of a debugger; the toy's tests have it.
    type Spoil = (fn(&mut Boot), Option<usize>);
    fn run(boot: &mut Boot) -> &mut tenbin_boot::Counterexample {
        match &mut boot.checks[0].verdict {
            BootVerdict::Faulty { faults, .. } => &mut faults[0],
            other => panic!("{other:?}"),
        }
    }
    let spoils: [Spoil; 5] = [
        (|boot| run(boot).garbage[0].value = Hex(2), Some(0)),
        (|boot| run(boot).steps[2].hart = 0, Some(2)),
        (
            |boot| match &mut run(boot).steps[2].action {
                BootAction::Wrote { value, .. } => *value = Hex(7),
                other => panic!("{other:?}"),
            },
            Some(2),
        ),
        (|boot| run(boot).ends[0].pc = Hex(0x8000_0018), None),
        // Only the boot hart's first instructions: from there both arrive.
        (
            |boot| {
                let run = run(boot);
                run.garbage.clear();
                run.steps.clear();
                run.ends.iter_mut().for_each(|end| (end.pc, end.arrived) = (Hex(0x8000_0000), false));
            },
            None,
        ),
    ];
    for (number, (spoil, step)) in spoils.into_iter().enumerate() {
        let mut boot = boot(vec![("one_flag", one_flag_hangs(&image))]);
        spoil(&mut boot);
        let (status, answer) = replayed(&boot, 1);
        assert_eq!(status, Some(4), "{number}: {answer:?}");
        let ReplayOutcome::Departed { step: at, .. } = &answer.replays[0].outcome else {
            panic!("{number}: {answer:?}")
        };
        assert_eq!(*at, step, "{number}: {answer:?}");
    }
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn whatever_harts_do_with_their_stores_late_or_not_is_followed() {
    const FILES: [&str; 9] = [
        "one_flag",
        "two_flags",
        "wake_kept",
        "slots",
        "change",
        "lottery",
        "lottery_broken",
        "doorbell",
        "doorbell_broken",
    ];
    let images = FILES.map(image);
    let mut numbers = 1_u64;
    let mut below = |most: u64| {
        numbers = numbers.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (numbers >> 33) % most
    };
    let mut runs = Vec::new();
    for (name, image) in FILES.into_iter().zip(&images) {
        for reorders in [false, true] {
            let mut run = Recorder::new(image, 3, below(3) as u32);
            for _ in 0..150 {
                let (hart, instructions) = (below(3) as usize, below(12));
                for _ in 0..instructions {
                    // Devices are written in order here.
                    let late = reorders && !name.starts_with("doorbell") && below(4) == 0;
                    run.step(hart, late);
                }
                if below(8) == 0 {
                    run.catch_up(hart);
                }
            }
            runs.push((name, run.end(Fault::LostStore)));
        }
    }
    let steps = runs.iter().map(|(_, it)| it.run.steps.len()).sum::<usize>();
    let early = runs.iter().flat_map(|(_, it)| &it.run.steps).filter(|it| it.overtakes > 0).count();
    assert!(steps > 2000 && early > 100, "{steps} steps, {early} of them early");
    let (status, answer) = replayed(&boot(runs), 1);
    for replayed in &answer.replays {
        assert!(matches!(replayed.outcome, ReplayOutcome::Shown(_)), "{replayed:?}");
    }
    assert_eq!(status, Some(0));
}

/// An own firmware as in `docs/boot.md`: the goals have names of their own, which the answer knows.
/// And the lock whose acquire stands where it orders nothing.
#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn an_answer_about_firmware_of_ones_own_is_replayed_as_it_is() {
    for name in ["example/own_forgotten", "example/reserved_misplaced"] {
        let words = ["--harts=2", "--memory=rvwmo", "--arrived=parked", "--all-arrived=kernel", "--json"];
        let place = Place::new();
        let output = place.command(&["boot", "check"]).arg(file(name)).args(words).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{name}: {output:?}");
        let boot = serde_json::from_slice::<Boot>(&output.stdout).unwrap();
        let image = image(name);
        let goals = ["parked", "kernel"].map(|name| Hex(image.symbol(name).unwrap().address));
        assert_eq!(boot.checks[0].goals, goals, "{name}");
        let shown = shown(&boot, 2);
        assert!(shown.out_of_order > 0 && shown.free.is_some(), "{name}: {shown:?}");
        // Both call places by the same names.
        let BootVerdict::Faulty { faults, .. } = &boot.checks[0].verdict else { panic!("{boot:?}") };
        let places = shown.harts.iter().map(|hart| &hart.place).collect::<Vec<_>>();
        assert_eq!(places, faults[0].ends.iter().map(|end| &end.place).collect::<Vec<_>>(), "{name}");
        assert!(places[0].contains('+'), "{name}: {places:?}");
    }
}

#[test]
#[ignore = "needs QEMU, and the files that `cargo xtask test firmware` builds"]
fn a_replay_says_what_was_seen() {
    let image = image("one_flag");
    let answer = boot(vec![("one_flag", one_flag_hangs(&image))]);
    let (status, stdout, _) = replay(&serde_json::to_string(&answer).unwrap(), &["--times", "2"]);
    assert_eq!(status, Some(0), "{stdout}");
    let stdout = joined(&stdout);
    for words in [
        "2 harts, boot hart 0, SC, dead: shown 2 of 2 times",
        "wake_flag = 0x1",
        "hart 0 loops at",
        "hart 1 had arrived",
    ] {
        assert!(stdout.contains(words), "{words}: {stdout}");
    }
}

#[test]
fn what_is_no_answer_of_a_check_is_a_usage_error() {
    let mut other = Boot { schema: "tenbin-boot-9".into(), checks: vec![] };
    let cases = [
        ("", "not what `tenbin boot check --json` prints"),
        ("{}", "not what `tenbin boot check --json` prints"),
        (&serde_json::to_string(&other).unwrap(), "its schema is tenbin-boot-9"),
    ];
    for (text, expected) in cases {
        let (status, answer, stderr) = replay(text, &[]);
        assert_eq!((status, answer.as_str()), (Some(2), ""), "{text}");
        assert!(stderr.contains(expected), "{stderr}");
    }
    // An answer without a fault has nothing to replay.
    other.schema = Boot::SCHEMA.into();
    let (status, answer, stderr) = replay(&serde_json::to_string(&other).unwrap(), &["--json"]);
    assert_eq!(status, Some(3));
    assert!(stderr.contains("so there is no run to replay"), "{stderr}");
    let answer = serde_json::from_str::<Value>(&answer).unwrap();
    assert_eq!(answer["schema"], "tenbin-replay-1");
    let (status, _, stderr) = replay("", &["--fault", "late"]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("started-early"), "{stderr}");
}
