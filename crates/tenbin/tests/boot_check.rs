//! `tenbin boot check` as a user meets it. What can go wrong with a boot is shown beside the checker, in
//! `crates/boot`.
//!
//! The file is `fixtures/isa/image/two_harts.s`: hart 0 sets `flag`, hart 1 waits for it, and both go to
//! `done`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::process::Command;

use serde_json::Value;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, joined, text};

const TWO_HARTS: &[u8] = include_bytes!("../../../fixtures/isa/image/two_harts-dwarf5.elf");

const CODE: usize = 0xb0;

/// A folder with the file, and others that are made of it.
struct Desk(Place);

impl Desk {
    fn new() -> Self {
        Self(Place::new()).with("two_harts.elf", |_| ())
    }

    fn with(self, name: &str, change: impl FnOnce(&mut Vec<u8>)) -> Self {
        let mut file = TWO_HARTS.to_vec();
        change(&mut file);
        fs::write(self.0.path(name), file).unwrap();
        self
    }

    /// Status, answer, and what was said on standard error.
    fn check(&self, words: &[&str]) -> (Option<i32>, String, String) {
        let output = self.0.tenbin(&[&["boot", "check"], words].concat());
        (output.status.code(), text(&output.stdout), text(&output.stderr))
    }

    /// Status and the machines' answers.
    fn answer(&self, words: &[&str]) -> (Option<i32>, Vec<Value>) {
        let words = [words, &["--json"]].concat();
        let (status, answer, stderr) = self.check(&words);
        let answer = serde_json::from_str::<Value>(&answer).unwrap_or_else(|_| panic!("{words:?}: {stderr}"));
        assert_eq!(answer["schema"], "tenbin-boot-1");
        (status, answer["checks"].as_array().unwrap().clone())
    }
}

#[test]
fn a_sound_boot_is_answered_on_every_machine() {
    let desk = Desk::new();
    let (status, checks) = desk.answer(&["two_harts.elf", "two_harts.elf", "--arrived=done", "--harts=2,1"]);
    let machines = checks.iter().map(|check| {
        assert!(check["verdict"]["sound"].is_object(), "{check}");
        // `done`: the goal of all of them.
        assert_eq!(check["goals"], serde_json::json!(["0x80000020"]));
        let machine = &check["machine"];
        assert_eq!((&machine["boot_hart"], machine["set"].as_array().unwrap().len()), (&Value::Null, 0));
        (machine["harts"].as_u64().unwrap(), machine["memory"].as_str().unwrap())
    });
    let once = [(2, "sc"), (2, "tso"), (2, "rvwmo"), (1, "sc"), (1, "tso"), (1, "rvwmo")];
    assert_eq!(machines.collect::<Vec<_>>(), [once, once].concat());
    assert_eq!(status, Some(0));
    // Nothing is drawn of what does not go wrong.
    let words = ["two_harts.elf", "--arrived=done", "--harts=2", "--picture=run.svg"];
    let (status, _, stderr) = desk.check(&words);
    assert_eq!((status, &*stderr), (Some(0), "tenbin: nothing goes wrong, so run.svg is not written\n"));
    assert!(!desk.0.path("run.svg").exists());
}

#[test]
fn a_hang_is_shown_with_its_garbage_and_its_lines() {
    // `li a2,1` becomes `li a2,0`: what hart 1 waits for never comes, unless the garbage has it.
    let desk = Desk::new().with("never.elf", |file| file[CODE + 0xe] = 0x01);
    let words = ["never.elf", "two_harts.elf", "--arrived=done", "--harts=2", "--memory=sc"];
    let (status, checks) = desk.answer(&words);
    assert_eq!(status, Some(4));
    assert!(checks[1]["verdict"]["sound"].is_object(), "{}", checks[1]);
    let run = &checks[0]["verdict"]["faulty"]["faults"][0];
    assert_eq!((&run["fault"], &run["reordered"]), (&Value::from("dead"), &Value::from(false)));
    assert_eq!((&run["ends"][0]["arrived"], &run["ends"][1]["arrived"]), (&true.into(), &false.into()));
    assert_eq!(run["ends"][1]["doing"], "reads flag, which holds 0, for ever");
    let sentence = run["sentence"].as_str().unwrap();
    assert!(sentence.contains("hart 1, at wait"), "{sentence}");
    assert!(sentence.contains("(two_harts.s:1"), "{sentence}");
    assert!(sentence.contains("), reads flag, which holds 0, for ever"), "{sentence}");
    // The same in words, and as a picture.
    let words = [&words[..], &["--picture=run.svg"]].concat();
    let (status, answer, stderr) = desk.check(&words);
    assert_eq!((status, stderr.as_str()), (Some(4), ""));
    assert!(answer.contains("never.elf") && answer.contains("dead"), "{answer}");
    let picture = fs::read_to_string(desk.0.path("run.svg")).unwrap();
    assert!(picture.contains("<svg") && picture.contains("hart 1"), "{picture}");
}

#[test]
fn the_garbage_that_misleads_a_hart_is_named() {
    // Only hart 0 is ever told to go to `done`.
    let words =
        ["two_harts.elf", "--arrived=done", "--harts=2", "--memory=sc", "--started=done", "--tell=_start"];
    let (status, checks) = Desk::new().answer(&words);
    assert_eq!(status, Some(4));
    let faults = checks[0]["verdict"]["faulty"]["faults"].as_array().unwrap();
    let run = faults.iter().find(|run| run["fault"] == "started_early").unwrap();
    let sentence = run["sentence"].as_str().unwrap();
    assert!(sentence.starts_with("Hart 1 starts before it is told to; it read flag = "), "{sentence}");
    for planted in run["garbage"].as_array().unwrap() {
        assert_eq!((&planted["name"], &planted["bytes"]), (&"flag".into(), &4.into()), "{planted}");
    }
}

#[test]
fn what_is_refused_says_why() {
    // Behind `wait` comes an instruction for floating-point numbers, or `ecall`.
    let patch = |bits: u32| {
        move |file: &mut Vec<u8>| file[CODE + 0x1c..CODE + 0x20].copy_from_slice(&bits.to_le_bytes())
    };
    let desk = Desk::new().with("float.elf", patch(0x0005_2507)).with("ecall.elf", patch(0x0000_0073));
    let rest = ["--arrived=done", "--harts=2", "--memory=sc"];
    for file in ["float.elf", "ecall.elf"] {
        let (status, answer, stderr) = desk.check(&[&[file], &rest[..]].concat());
        // It is the answer's first sentence, and is not said twice.
        assert_eq!((status, &*stderr), (Some(3), ""), "{answer}");
        let answer = joined(&answer);
        let known = [format!("{file} was refused: at 0x8000001c: "), "wait+4 (two_harts.s:17)".to_owned()];
        assert!(known.iter().all(|part| answer.contains(part)), "{answer}");
        let (_, _, stderr) = desk.check(&[&[file, "--json"], &rest[..]].concat());
        assert!(stderr.starts_with(&format!("tenbin: {file}: refused: at 0x8000001c: ")), "{stderr}");
    }
    // Beside others it is one of several, and spoils nothing.
    let (status, checks) = desk.answer(&[&["two_harts.elf", "float.elf"], &rest[..]].concat());
    assert_eq!((status, checks.len()), (Some(3), 2));
    assert!(checks[0]["verdict"]["sound"].is_object() && checks[1]["verdict"]["refused"].is_object());
}

#[test]
fn the_same_is_said_each_time() {
    let desk = Desk::new().with("never.elf", |file| file[CODE + 0xe] = 0x01);
    let words = ["never.elf", "two_harts.elf", "--arrived=done", "--harts=1,2,3"];
    let answer = || {
        let (status, mut checks) = desk.answer(&words);
        for check in &mut checks {
            // Time goes on.
            check["effort"]["seconds"] = Value::Null;
        }
        (status, checks)
    };
    let first = answer();
    assert_eq!(first.1.len(), 2 * 3 * 3);
    assert_eq!(answer(), first);
}

#[test]
fn a_replay_of_another_file_than_was_checked_is_a_usage_error() {
    let desk = Desk::new().with("never.elf", |file| file[CODE + 0xe] = 0x01);
    let path = |name: &str| desk.0.path(name);
    let words = ["never.elf", "--arrived=done", "--harts=2", "--memory=sc", "--json"];
    let (status, answer, stderr) = desk.check(&words);
    assert_eq!(status, Some(4), "{stderr}");
    let summed = Command::new("sha256sum").arg(path("never.elf")).output().unwrap();
    let summed = text(&summed.stdout);
    let mut old: Value = serde_json::from_str(&answer).unwrap();
    let hash = old["checks"][0]["sha256"].as_str().unwrap().to_owned();
    assert!(summed.starts_with(&format!("{hash} ")), "{summed} {hash}");
    fs::write(path("answer.json"), &answer).unwrap();
    old["checks"][0].as_object_mut().unwrap().remove("sha256");
    fs::write(path("old.json"), old.to_string()).unwrap();
    let sound = ["two_harts.elf", "--arrived=done", "--harts=2", "--memory=sc", "--json"];
    fs::write(path("sound.json"), desk.check(&sound).1).unwrap();
    // Nothing is in the path, and so no emulator: whoever wants to start one ends with 5.
    let replay = |words: &[&str]| {
        let mut command = desk.0.command(&[&["boot", "replay"], words].concat());
        let output = command.env("PATH", desk.0.folder.path()).output().unwrap();
        (output.status.code(), text(&output.stderr))
    };
    let (status, stderr) = replay(&["answer.json"]);
    assert_eq!(status, Some(5), "it is the same file: {stderr}");
    let (status, stderr) = replay(&["answer.json", "--elf", "two_harts.elf"]);
    assert_eq!(status, Some(2), "{stderr}");
    for words in ["two_harts.elf", "never.elf", &hash, "--elf"] {
        assert!(stderr.contains(words), "{words}: {stderr}");
    }
    let (status, _) = replay(&["old.json", "--elf", "two_harts.elf"]);
    assert_eq!(status, Some(5), "an old answer says nothing of its file");
    let (status, stderr) = replay(&["sound.json"]);
    assert_eq!(status, Some(3));
    assert!(stderr.contains("nothing goes wrong on any machine of the answer"), "{stderr}");
    fs::remove_file(path("never.elf")).unwrap();
    let (status, stderr) = replay(&["answer.json"]);
    assert_eq!(status, Some(2));
    assert!(stderr.contains("never.elf") && stderr.contains("--elf"), "{stderr}");
}
