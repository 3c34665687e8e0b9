//! `tenbin check`: what its document tells a CI to run is run here, word for word.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, joined, text};

/// The one block of this language in the document.
fn block(language: &str) -> String {
    let document = include_str!("../../../docs/check.md");
    let (_, rest) = document.split_once(&format!("```{language}\n")).unwrap();
    let (block, rest) = rest.split_once("```").unwrap();
    assert!(!rest.contains(&format!("```{language}\n")), "there are several");
    block.to_owned()
}

/// What the action of this repository runs.
const ACTION: &str = include_str!("../../../.github/actions/check/check.sh");

/// Runs the lines for a CI where this is what is claimed.
fn in_ci(place: &Place, script: &str, claims: &str) -> std::process::Output {
    let file = format!("[weigh.q]\ncommands.a = 'true'\nwithin = '60s'\n[weigh.q.claims]\n{claims}\n");
    fs::write(place.path("tenbin.toml"), file).unwrap();
    let tenbin = place.path("tenbin");
    if !tenbin.exists() {
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tenbin"), &tenbin).unwrap();
    }
    let folder = place.folder.path();
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    Command::new("sh")
        .args(["-c", script])
        .env("PATH", path)
        .envs([("TENBIN", "tenbin"), ("FILE", "tenbin.toml")])
        .env("GITHUB_STEP_SUMMARY", place.path("summary.md"))
        .env("HOME", folder)
        .current_dir(folder)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn what_the_document_tells_a_ci_to_run_works_as_the_action_does() {
    for script in [&block("sh"), ACTION] {
        let place = Place::new();
        let summary = || fs::read_to_string(place.path("summary.md")).unwrap();
        let held = in_ci(&place, script, "c = 'a takes at most 100 s'");
        assert_eq!(ending(&held).0, 0, "{}", text(&held.stderr));
        assert!(summary().starts_with("### tenbin check: 1 claim: 1 holds\n"), "{}", summary());
        let refuted = in_ci(&place, script, "c = 'a takes at most 0.001 ms'");
        assert_eq!(ending(&refuted).0, 4, "{}", text(&refuted.stderr));
        assert!(summary().contains("1 refuted"), "{}", summary());
        assert!(fs::read_to_string(place.path("claims.xml")).unwrap().contains("<failure type=\"refuted\""));
        // A file that is wrong leaves no page, and its status is the one that comes out.
        fs::remove_file(place.path("claims.md")).unwrap();
        let wrong = in_ci(&place, script, "c = 'a is quick'");
        assert_eq!(ending(&wrong).0, 2, "{}", text(&wrong.stderr));
        assert!(text(&wrong.stderr).contains("tenbin.toml:5: claim `c`"), "{}", text(&wrong.stderr));
    }
}

#[test]
fn the_file_of_the_document_is_understood() {
    let place = Place::new();
    let toml = block("toml");
    fs::write(place.path("tenbin.toml"), &toml).unwrap();
    for name in ["parse-old", "parse-new"] {
        fs::write(place.path(name), "#!/bin/sh\n").unwrap();
        fs::set_permissions(place.path(name), fs::Permissions::from_mode(0o755)).unwrap();
    }
    let listed = place.answered(&["check", "--list"]);
    let claims = toml.split_once("claims]\n").unwrap().1.lines().count();
    assert_eq!(listed.lines().count(), claims);
}

#[test]
fn the_answer_in_json_has_every_claim_with_its_figures() {
    let place = Place::new();
    let file = "[weigh.q]\ncommands.a = 'true'\nwithin = '60s'\nclaims.c = 'a takes at most 100 s'\n";
    fs::write(place.path("tenbin.toml"), file).unwrap();
    let report: serde_json::Value = serde_json::from_str(&place.answered(&["check", "--json"])).unwrap();
    assert_eq!((&report["schema"], &report["holds"]), (&"tenbin-check-1".into(), &1.into()));
    let question = &report["questions"][0];
    assert_eq!(question["run"].as_str().unwrap().len(), 64);
    let claim = &question["claims"][0];
    assert_eq!((&claim["outcome"], &claim["figures"][0]["most"]), (&"holds".into(), &100.0.into()));
    // What is kept says the same, in a report before all else.
    let page = text(&place.tenbin(&["report", "--markdown", "-o", "-"]).stdout);
    let (title, rest) = page.split_once("\n\n").unwrap();
    assert!(title.starts_with("### tenbin check: q") && !title.contains('\n'), "{page}");
    let first = "1 claim: 1 holds\n\n- ✓ <code>q.c</code>: a takes at most 100 s. Holds: ";
    assert!(rest.starts_with(first), "{page}");
    let page = text(&place.tenbin(&["report", "-o", "-"]).stdout);
    let count = page.find("1 claim: 1 holds").unwrap();
    let sentence = page.find("<span>a takes at most 100 s. Holds: ").unwrap();
    assert!(count < sentence && sentence < page.find("<section").unwrap(), "{page}");
    let sentence = claim["sentence"].as_str().unwrap();
    let shown = joined(&text(&place.tenbin(&["show", "latest"]).stdout));
    assert!(shown.contains(&joined(sentence)), "{sentence}: {shown}");
}
