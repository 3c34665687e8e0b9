//! `tenbin environment`, with places for commands that need no rights.

#![allow(clippy::unwrap_used)]

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::Place;

/// What is known of a run: status, and the answers by where they were asked.
fn answers(place: &Place, start: &[&str], options: &[&str]) -> (Option<i32>, Vec<(String, String)>, String) {
    let words = ["environment", "--quick", "--work", "edit", "--json", "--no-store"];
    let words = [&words, options, &["--"], start].concat();
    let output = place.tenbin(&words);
    let errors = String::from_utf8_lossy(&output.stderr).into_owned();
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let answers = report["answers"].as_array().cloned().unwrap_or_default();
    let answers = answers.iter().map(|answer| {
        let text = |name: &str| answer[name].as_str().unwrap_or_default().to_owned();
        (text("cell"), text("sentence"))
    });
    (output.status.code(), answers.collect(), errors)
}

/// A folder for temporary files that is empty, and a command that puts others into an environment where it is
/// theirs.
fn with_folder(place: &Place) -> (std::path::PathBuf, String) {
    let folder = place.path("inside");
    std::fs::create_dir(&folder).unwrap();
    let variable = format!("TMPDIR={}", folder.display());
    (folder, variable)
}

#[test]
fn work_is_done_inside_and_nothing_stays_there() {
    let place = Place::new();
    let (folder, variable) = with_folder(&place);
    let (status, answers, errors) = answers(&place, &["env", &variable], &[]);
    // Whether they differ is the machine's business.
    assert!(matches!(status, Some(0 | 3)), "{status:?} {errors}");
    let cells: Vec<&str> = answers.iter().map(|(cell, _)| cell.as_str()).collect();
    assert_eq!(cells, ["for the start of `true`", "for edit", "for edit"], "{errors}");
    assert!(!answers.iter().any(|(_, sentence)| sentence.contains("cannot be done")), "{answers:?}");
    // Both folders are in one file system, so no difference there is the environment's.
    let claims = |it: &str| it.starts_with("Inside, edit takes ") && it.contains("x as long");
    assert!(!answers.iter().any(|(_, sentence)| claims(sentence)), "{answers:?}");
    let left: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn a_start_that_gives_its_words_to_a_shell_gets_them_quoted() {
    let place = Place::new();
    // As ssh does: the words are joined by spaces, and a shell reads the line.
    let start = ["sh", "-c", "exec sh -c \"$*\"", "sh"];
    let (status, answers, errors) = answers(&place, &start, &["--quote"]);
    assert!(matches!(status, Some(0 | 3)), "{status:?} {errors}");
    assert!(answers.iter().filter(|(cell, _)| cell == "for edit").count() == 2, "{answers:?} {errors}");
    assert!(!answers.iter().any(|(_, sentence)| sentence.contains("cannot be done")), "{answers:?}");
}

#[test]
fn what_cannot_be_done_inside_is_refused_and_says_why() {
    let place = Place::new();
    let (_, variable) = with_folder(&place);
    // Commands are found there, and none of those that get tenbin in.
    let bare = place.path("bin");
    std::fs::create_dir(&bare).unwrap();
    for name in ["sh", "true", "false"] {
        let there = ["/bin", "/usr/bin"].iter().map(|folder| format!("{folder}/{name}"));
        let there = there.into_iter().find(|path| std::path::Path::new(path).exists()).unwrap();
        std::os::unix::fs::symlink(there, bare.join(name)).unwrap();
    }
    let path = format!("PATH={}", bare.display());
    let (status, answers, errors) = answers(&place, &["env", &variable, &path], &[]);
    assert!(matches!(status, Some(0 | 3)), "{status:?} {errors}");
    let (_, sentence) = answers.iter().find(|(cell, _)| cell == "for edit").unwrap();
    assert!(sentence.contains("mktemp") && sentence.contains("Refused"), "{sentence}");
}

#[test]
fn an_environment_that_cannot_be_started_is_said() {
    let place = Place::new();
    let (status, answers, errors) = answers(&place, &["false"], &[]);
    assert_eq!(status, Some(4), "{errors}");
    assert!(answers.iter().all(|(_, sentence)| sentence.contains("ended with status 1")), "{answers:?}");
    let nowhere = place.tenbin(&["environment", "--", "no-such-program"]);
    assert_eq!(nowhere.status.code(), Some(2));
    let unknown = place.tenbin(&["environment", "--work", "juggle", "--", "env"]);
    assert_eq!(unknown.status.code(), Some(2));
    let why = String::from_utf8_lossy(&unknown.stderr).into_owned();
    assert!(why.contains("checkout, tags, build"), "{why}");
}

#[test]
fn it_is_made_before_and_removed_after() {
    let place = Place::new();
    let made = place.path("made");
    let setup = format!("mkdir {}", made.display());
    let cleanup = format!("rmdir {} && touch {}", made.display(), place.path("removed").display());
    let start = format!("test -d {} && exec \"$@\"", made.display());
    let words = ["environment", "--quick", "--work", "edit", "--setup", &setup, "--cleanup", &cleanup, "--"];
    let output = place.tenbin(&[&words[..], &["sh", "-c", &start, "sh"]].concat());
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(matches!(output.status.code(), Some(0 | 3)), "{text}");
    assert!(text.contains("Making it took "), "{text}");
    assert!(!made.exists() && place.path("removed").exists());
    let failing = place.tenbin(&["environment", "--setup", "exit 3", "--", "env"]);
    assert_eq!(failing.status.code(), Some(3), "{}", String::from_utf8_lossy(&failing.stderr));
}
