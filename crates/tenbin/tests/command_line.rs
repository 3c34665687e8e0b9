//! What a user meets: answers, exit statuses, and what wrong input says.
//!
//! Nothing here depends on what a measurement comes to, only on its being answered.

#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::PermissionsExt;

use rustix::process::{Pid, Signal};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, json, text};

#[test]
fn the_readme_leads_to_the_page_of_every_question() {
    let readme = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../README.md")).unwrap();
    let list = json(&Place::new().tenbin(&["list", "--json"]));
    for descriptor in list.as_array().unwrap() {
        let page = format!("(docs/questions/{}.md)", descriptor["name"].as_str().unwrap());
        assert!(readme.contains(&page), "{page}");
    }
}

/// The first answer is there before the second one is known; then somebody at the terminal has enough.
#[test]
fn answers_come_as_they_are_known_and_an_interrupt_keeps_them() {
    let place = Place::new();
    let mut child = place.started(&["run", "null", "atomics", "--thorough"]);
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.by_ref().any(|line| line.contains("The same empty loop")));
    rustix::process::kill_process(Pid::from_child(&child), Signal::INT).unwrap();
    // Whatever else it writes, it ends.
    lines.for_each(drop);
    let (status, stderr) = ending(&child.wait_with_output().unwrap());
    assert_eq!(status, 130, "{stderr}");
    assert!(
        stderr.contains("Kept as run ") && stderr.contains("tenbin: interrupted by signal 2"),
        "{stderr}"
    );
    let runs = json(&place.tenbin(&["runs", "--json"]));
    assert_eq!(runs[0]["experiments"][0], "null");
}

/// The store is made before anything is measured: where there is none, nothing was.
#[test]
fn a_value_that_is_wrong_is_found_before_anything_is_measured() {
    let mut requests: Vec<(&[&str], &str)> = vec![
        (&["caches", "--set", "largest=0"], "largest=0"),
        (&["null", "pipe", "--set", "size=63"], "size=63"),
    ];
    if rustix::thread::sched_getaffinity(None).unwrap().count() > 1 {
        // The first has to know the caches, the last comes behind two others.
        requests.push((&["thrash", "--set", "case=E"], "case=E"));
        requests.push((&["caches", "numa", "c2c", "--set", "samples=0"], "samples=0"));
        requests.push((&["numa", "--set", "buffer=1,2"], "--set buffer"));
    } else {
        eprintln!("skipped: one CPU is refused before the values of thrash, numa and c2c are read");
    }
    for (request, named) in requests {
        let place = Place::new();
        let output = place.tenbin(&[&["run"], request].concat());
        let (status, stderr) = ending(&output);
        assert_eq!(status, 2, "{request:?}: {stderr}");
        assert!(stderr.contains(named), "{request:?}: {stderr}");
        assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0, "{request:?} has begun");
    }
}

#[test]
fn a_run_is_kept_shown_exported_imported_and_merged() {
    let place = Place::new();
    let (first, second) = (place.measured(), place.measured());
    assert_ne!(first, second);
    let shown = json(&place.tenbin(&["show", &first[..8], "--json"]));
    assert_eq!(shown["run"], first.as_str());
    assert_eq!(shown["answers"][0]["experiment"], "null");

    place.answered(&["export", &first, "-o", "one.db"]);
    place.answered(&["export", &first, "latest", "-o", "both.db"]);
    let other = place.path("other.db");
    let import = |files: &[&str]| {
        let output = place.with_store(&other, &[&["merge"], files].concat());
        assert_eq!(ending(&output).0, 0, "{}", ending(&output).1);
        text(&output.stdout)
    };
    assert!(import(&["one.db"]).contains("1 new, 0 already there"));
    assert!(import(&["both.db", "one.db"]).contains("1 new, 1 already there"));
    assert!(import(&["both.db"]).contains("0 new, 2 already there"));
    let again = json(&place.with_store(&other, &["show", &first, "--json"]));
    assert_eq!(again, shown, "the same samples give the same report in another store");

    let compared = place.tenbin(&["compare", &first, &second]);
    assert!(text(&compared.stdout).starts_with("Of 1 comparison, "), "{}", text(&compared.stdout));
    let third = place.measured();
    let across = json(&place.tenbin(&["compare", &first, &second, "--json"]));
    let compared = place.tenbin(&["compare", &format!("{first},{third}"), &second]);
    assert!(text(&compared.stdout).contains("2 runs against 1"), "{}", text(&compared.stdout));
    // Three runs cannot tell two of them apart from a third: the one thing asked is refused.
    assert_eq!(ending(&compared).0, 3, "{}", text(&compared.stdout));
    assert_eq!(across["sides"][0][0], first.as_str());
    assert_eq!(across["comparisons"][0]["sides"][0]["runs"], 1);
    for format in ["json", "csv", "go", "google-benchmark"] {
        let name = format!("run.{format}");
        place.answered(&["export", &first, "--format", format, "-o", &name]);
        assert!(fs::metadata(place.path(&name)).unwrap().len() > 1_000, "{name}");
    }
}

#[test]
fn the_schema_is_json_and_names_what_the_design_promises() {
    let schema = json(&Place::new().tenbin(&["schema"]));
    for property in ["schema", "machine", "answers", "checks", "findings", "provenance"] {
        assert!(schema["properties"][property].is_object(), "{property}");
    }
}

/// Every page that a page refers to is there.
#[test]
fn every_page_of_the_manual_can_be_had_and_has_its_heads() {
    let place = Place::new();
    let page = |words: &[&str]| place.answered(&[&["man"], words].concat());
    let whole = page(&[]);
    for head in
        ["NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "\"EXIT STATUS\"", "ENVIRONMENT", "FILES", "EXAMPLES"]
    {
        assert!(whole.contains(&format!("\n.SH {head}\n")), "{head}:\n{whole}");
    }
    assert!(whole.contains("[\\-\\-seed N]"), "{whole}");
    assert!(!whole.contains("tenbin\\-kernels"), "{whole}");
    let mut waiting: Vec<Vec<String>> = vec![vec![]];
    let mut visited = 0;
    while let Some(words) = waiting.pop() {
        let page = page(&words.iter().map(String::as_str).collect::<Vec<_>>());
        let name =
            ["tenbin"].into_iter().chain(words.iter().map(String::as_str)).collect::<Vec<_>>().join("-");
        assert!(page.contains(&format!(".TH {name} 1")), "{page}");
        visited += 1;
        // It has every command below it again.
        let is_help = words.last().is_some_and(|word| word == "help");
        for line in page.lines().filter(|_| !is_help) {
            let Some(below) = line.strip_suffix("(1)").map(|line| line.replace("\\-", "-")) else { continue };
            if let Some(last) = below.strip_prefix(&format!("{name}-")) {
                waiting.push(words.iter().cloned().chain([last.to_owned()]).collect());
            }
        }
    }
    assert!(visited > 20, "{visited}");
    fs::create_dir(place.path("man1")).unwrap();
    let output = place.tenbin(&["man", "--into", "man1"]);
    assert_eq!(text(&output.stdout), format!("{visited} pages in man1\n"), "{}", ending(&output).1);
    assert_eq!(fs::read_dir(place.path("man1")).unwrap().count(), visited);
    assert_eq!(fs::read_to_string(place.path("man1/tenbin.1")).unwrap(), whole);
    assert_eq!(fs::read_to_string(place.path("man1/tenbin-guest-run.1")).unwrap(), page(&["guest", "run"]));
    let (status, stderr) = ending(&place.tenbin(&["man", "--into", "nowhere"]));
    assert!(status == 2 && stderr.contains("nowhere"), "{stderr}");
    let (status, stderr) = ending(&place.tenbin(&["man", "guest", "fly"]));
    assert!(status == 2 && stderr.contains("`fly`") && stderr.contains("run, modules"), "{stderr}");
}

#[test]
fn completions_know_the_words_that_a_command_takes() {
    let place = Place::new();
    for shell in ["bash", "zsh", "fish"] {
        let script = text(&place.tenbin(&["completions", shell]).stdout);
        for word in ["riscv64", "fibdrv", "google-benchmark"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
        // What clap_complete writes for fish knows the values of options alone.
        if shell != "fish" {
            for word in ["atomics", "thrash", "memcpy", "latest"] {
                assert!(script.contains(word), "{shell}: {word}");
            }
        }
        assert!(script.contains("_tenbin") || script.contains("-c tenbin"), "{shell}");
        assert!(!script.contains("machine-code kernels") && !script.contains("tenbin,kernels"), "{shell}");
    }
}

/// A limit on processes, as containers have one. It does not hold for root, so root becomes nobody.
#[test]
fn where_no_thread_can_be_started_that_is_said() {
    let place = Place::new();
    fs::set_permissions(place.folder.path(), fs::Permissions::from_mode(0o777)).unwrap();
    let litmus = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/litmus/2+2W.litmus");
    fs::copy(litmus, place.path("test.litmus")).unwrap();
    let many = rustix::thread::sched_getaffinity(None).unwrap().count() > 1;
    let one_cpu = if many { 1 } else { 0 };
    let asked: [(&[&str], i32, &str); 4] = [
        (&["run", "null", "--quick"], one_cpu, "start a thread that reads the clock on CPU"),
        (&["calibrate", "--load", "1", "--pairs", "1", "--works", "alu"], 1, "start a thread"),
        (&["guest", "run", "--", "true"], 1, "tenbin guest: run apt-config"),
        // One thread decides it as well.
        (&["boot", "litmus", "test.litmus"], 0, ""),
    ];
    for (words, expected, named) in asked {
        let mut command = place.unprivileged(&["prlimit", "--nproc=1"]);
        command.args(words).env("TENBIN_STORE", place.path("store.db")).env("HOME", place.folder.path());
        let (status, stderr) = ending(&command.output().unwrap());
        assert_eq!(status, expected, "{words:?}: {stderr}");
        assert!(stderr.contains(named) || expected == 0, "{words:?}: {stderr}");
        assert!(!stderr.contains("panicked"), "{words:?}: {stderr}");
    }
}
