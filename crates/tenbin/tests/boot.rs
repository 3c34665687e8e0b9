//! `tenbin boot` as a user meets it. What the models allow is shown beside them, in `crates/boot`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use serde_json::Value;
use tempfile::TempDir;

/// The litmus tests whose verdicts are known.
const KNOWN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/litmus");

/// A folder with some of them, and some files that are none.
struct Desk(TempDir);

impl Desk {
    fn new(known: &[&str]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for name in known {
            let name = format!("{name}.litmus");
            fs::copy(PathBuf::from(KNOWN).join(&name), desk.0.path().join(name)).unwrap();
        }
        desk
    }

    fn with(self, name: &str, text: &str) -> Self {
        let path = self.0.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
        self
    }

    fn command(&self, words: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tenbin"));
        command.args(["boot", "litmus"]).args(words).current_dir(self.0.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Status, answer, and what was said on standard error.
    fn litmus(&self, words: &[&str]) -> (Option<i32>, String, String) {
        ending(self.command(words).output().unwrap())
    }
}

fn ending(output: Output) -> (Option<i32>, String, String) {
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

/// A test that is refused: a word and a double word at one place.
const MIXED: &str = "RISCV mixed\n{ 0:x6=x; 1:x6=x; 0:x5=1; }\n P0 | P1 ;
 sw x5,0(x6) | ld x7,0(x6) ;\nexists (1:x7=1)\n";

/// A hart that waits for another one, by a loop.
const WAITING: &str = "RISCV waiting\n{ 0:x6=x; 0:x5=1; 1:x6=x; }\n P0 | P1 ;
 sw x5,0(x6) | L: lw x7,0(x6) ;\n | beqz x7,L ;\nexists (1:x7=0)\n";

/// Three harts that exchange one word often: their orders are more than a second can look at on any machine.
fn endless() -> String {
    let rows = (1..=4).map(|_| " amoadd.w x5,x7,(x6) | amoadd.w x5,x7,(x6) | amoadd.w x5,x7,(x6) ;\n");
    let rows = rows.collect::<String>();
    format!(
        "RISCV endless\n{{ 0:x6=x; 1:x6=x; 2:x6=x; 0:x7=1; 1:x7=1; 2:x7=1; }}\n P0 | P1 | P2 ;\n{rows}exists (x=0)\n"
    )
}

/// Twelve harts that store to one word: of their orders there are 479 million.
fn many() -> String {
    let row = |cell: &dyn Fn(usize) -> String| (0..12).map(cell).collect::<Vec<_>>().join(" | ");
    let state = (0..12).map(|hart| format!("{hart}:x6=x; {hart}:x5={hart};")).collect::<String>();
    let (names, stores) = (row(&|hart| format!("P{hart}")), row(&|_| "sw x5,0(x6)".to_owned()));
    format!("RISCV many\n{{ {state} }}\n {names} ;\n {stores} ;\nexists (x=1)\n")
}

#[test]
fn one_test_is_told_in_herds_form_and_by_a_sentence() {
    let desk = Desk::new(&["MP", "MP+fence.rw.rws"])
        .with("all.litmus", &WAITING.replace("exists (1:x7=0)", "forall (1:x7=1)"))
        .with("not.litmus", &WAITING.replace("exists (1:x7=0)", "~exists (1:x7=1)"))
        .with("none.litmus", &WAITING.replace("exists (1:x7=0)", "locations [1:x7;]"))
        .with("waiting.litmus", WAITING);
    let asked: &[&[&str]] = &[
        &["MP.litmus"],
        &["MP.litmus", "--memory", "tso"],
        &["MP+fence.rw.rws.litmus"],
        &["waiting.litmus"],
        &["all.litmus", "--memory", "sc", "--unroll", "1"],
        &["not.litmus"],
        &["none.litmus"],
    ];
    let mut shown = String::new();
    for words in asked {
        let (status, answer, said) = desk.litmus(words);
        assert_eq!((status, said), (Some(0), String::new()), "{words:?}");
        shown.push_str(&format!("$ tenbin boot litmus {}\n{answer}\n", words.join(" ")));
    }
    insta::assert_snapshot!(shown);
}

#[test]
fn several_tests_have_a_line_each_and_what_is_none_is_among_them() {
    let desk = Desk::new(&["SB", "MP", "LB+addrs"])
        .with("below/waiting.litmus", WAITING)
        .with("below/mixed.litmus", MIXED)
        .with("below/x86.litmus", "X86 SB\n{ }\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n")
        .with("below/notes.txt", "no test")
        .with("wrong.litmus", &MIXED.replace("ld x7", "lq x7"));
    let (status, answer, said) = desk.litmus(&[".", "nowhere"]);
    assert_eq!(status, Some(2), "{said}");
    insta::assert_snapshot!(format!("{answer}\n{said}"));
    // What is refused spoils nothing.
    let (status, answer, said) = desk.litmus(&["below/mixed.litmus", "MP.litmus"]);
    assert_eq!((status, said), (Some(0), String::new()), "{answer}");
    let (status, _, said) = desk.litmus(&["below/mixed.litmus", "below/mixed.litmus"]);
    assert_eq!((status, &*said), (Some(3), "tenbin: no test was decided\n"));
}

#[test]
fn one_test_without_an_answer_is_told_on_standard_error() {
    let desk = Desk::new(&["MP"])
        .with("mixed.litmus", MIXED)
        .with("endless.litmus", &endless())
        .with("x86.litmus", "X86 SB\n{ }\n P0 ;\n MOV [x],$1 ;\nexists (x=1)\n")
        .with("wrong.litmus", &MIXED.replace("ld x7", "lq x7"))
        .with("empty.litmus", "")
        .with("cursor.litmus", "X86\u{1b}[2J SB")
        .with("large.litmus", &" ".repeat((1 << 20) + 1))
        .with("many.litmus", &many())
        .with("folder/notes.txt", "no test");
    // Who opens this to read waits for somebody who writes.
    let pipe = rustix::fs::mknodat(
        rustix::fs::CWD,
        desk.0.path().join("pipe.litmus"),
        rustix::fs::FileType::Fifo,
        rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR,
        0,
    );
    pipe.unwrap();
    let cases: &[(&[&str], i32, &str)] = &[
        (&["mixed.litmus"], 3, "tenbin: mixed.litmus: refused: accesses of `x` overlap"),
        (&["endless.litmus", "--seconds", "1"], 3, "tenbin: endless.litmus: not finished in 1 s"),
        (&["many.litmus", "--limit", "16MiB"], 3, "not finished: 16.0 MiB reached (--limit), after "),
        (&["MP.litmus", "--limit", "1MiB"], 2, "16MiB are the least"),
        (&["pipe.litmus"], 2, "tenbin: usage error: pipe.litmus: it is no regular file"),
        (&["x86.litmus"], 2, "tenbin: usage error: x86.litmus: line 1: "),
        (&["wrong.litmus"], 2, "tenbin: usage error: wrong.litmus: line 4: "),
        (&["empty.litmus"], 2, "tenbin: usage error: empty.litmus: line 1: "),
        (&["cursor.litmus"], 2, "tenbin: usage error: cursor.litmus: line 1: "),
        (&["large.litmus"], 2, "tenbin: usage error: large.litmus: it has more than 1048576 bytes"),
        (&["folder"], 2, "tenbin: usage error: folder: no file below this folder"),
        (&["nowhere"], 2, "tenbin: usage error: nowhere: No such file"),
        (&[], 2, "tenbin: usage error: "),
        (&["MP.litmus", "--memory", "arm"], 2, "the memory models are sc, tso and rvwmo"),
        (&["MP.litmus", "--seconds", "0"], 2, "--seconds"),
        (&["MP.litmus", "--unroll", "0"], 2, "--unroll"),
        (&["MP.litmus", "--unroll", "two"], 2, "--unroll"),
        (&["MP.litmus", "--window", "8"], 2, "--window"),
    ];
    for (words, wanted, expected) in cases {
        let (status, answer, said) = desk.litmus(words);
        assert_eq!((status, &*answer), (Some(*wanted), ""), "{words:?}: {said}");
        assert!(!said.contains('\u{1b}'), "{words:?}");
        assert!(said.starts_with("tenbin: ") && said.contains(expected), "{words:?}: {said}");
    }
}

#[test]
fn no_known_verdict_is_contradicted() {
    let desk = Desk::new(&[]);
    let (status, answer, said) = desk.litmus(&[KNOWN, "--json"]);
    assert_eq!(status, Some(0), "{said}");
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let tests = answer["tests"].as_array().unwrap();
    let mut known = [0, 0];
    for test in tests {
        let text = fs::read_to_string(test["file"].as_str().unwrap()).unwrap();
        let decided = &test["settled"]["decided"];
        assert_eq!(decided["cut"], false, "{test}");
        let can = decided["having"].as_u64().unwrap() > 0;
        let verdict = if can { "\nVerdict=Allowed\n" } else { "\nVerdict=Forbidden\n" };
        assert!(text.contains(verdict), "{test}");
        known[usize::from(can)] += 1;
    }
    let files = fs::read_dir(KNOWN).unwrap().count();
    assert_eq!(known[0] + known[1], files);
    assert!(known[0] >= 30 && known[1] >= 30, "{known:?}");
    let names = tests.iter().map(|test| test["file"].as_str().unwrap()).collect::<Vec<_>>();
    assert!(names.is_sorted(), "{names:?}");
}

#[test]
fn the_same_is_said_each_time_and_in_json_what_has_no_answer_too() {
    let desk = Desk::new(&["MP", "IRIW"]).with("mixed.litmus", MIXED).with("empty.litmus", "");
    let (status, answer, said) = desk.litmus(&[".", "--json"]);
    assert_eq!(status, Some(2), "{said}");
    assert_eq!(desk.litmus(&[".", "--json"]), (status, answer.clone(), said));
    let answer: Value = serde_json::from_str(&answer).unwrap();
    let settled = |index: usize| &answer["tests"][index]["settled"];
    assert_eq!(settled(0)["decided"]["states"].as_array().unwrap().len(), 16);
    assert_eq!(settled(1)["decided"]["states"].as_array().unwrap().len(), 4);
    assert_eq!(settled(2)["unreadable"]["line"], 1);
    assert!(settled(3)["refused"]["why"].as_str().unwrap().contains("mixed size"));
    // Of one test as well.
    let (status, answer, said) = desk.litmus(&["mixed.litmus", "--json"]);
    assert!(status == Some(3) && !said.is_empty(), "{said}");
    assert!(serde_json::from_str::<Value>(&answer).unwrap()["tests"][0]["settled"]["refused"].is_object());
}

#[test]
fn a_reader_that_leaves_is_no_trouble() {
    // Ninety tests with all their outcomes, three times: more than a pipe holds.
    let desk = Desk::new(&[]);
    let mut child = desk.command(&[KNOWN, KNOWN, KNOWN, "--json"]).spawn().unwrap();
    let mut start = [0; 1];
    child.stdout.take().unwrap().read_exact(&mut start).unwrap();
    assert_eq!(&start, b"{");
    assert_eq!(ending(child.wait_with_output().unwrap()), (Some(0), String::new(), String::new()));
}
