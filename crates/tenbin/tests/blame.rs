//! What `tenbin blame` starts, and that it is gone afterwards. Whose fault each library is said to be, is in
//! `transcripts`.

#![expect(clippy::disallowed_methods, reason = "children have deadlines")]
#![allow(clippy::unwrap_used)]

use std::fs;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::fs::Mode;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open};
use serde_json::Value;

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, json, text};

/// Compiles a file of `fixtures/blame` by the machine's compiler, or by the one named.
fn compiled(place: &Place, compiler: &str, name: &str, source: &str, options: &[&str]) {
    let source = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/blame")).join(source);
    let mut command = Command::new(compiler);
    command.args(["-std=gnu11", "-O1", "-fno-builtin", "-o"]).arg(place.path(name)).arg(source).args(options);
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{name}: {}", text(&output.stderr));
}

/// A place with the `sort` that this macro chooses, as `libsort.so`.
fn with_sort(chosen: &str) -> Place {
    let place = Place::new();
    compiled(&place, "cc", "libsort.so", "sort.c", &["-shared", "-fPIC", "-D", chosen]);
    place
}

/// What was found of that library with the small inputs alone, as JSON, and the exit status.
fn blamed(place: &Place, library: &Path) -> (i32, Value) {
    let library = library.to_str().unwrap();
    let output = place.tenbin(&["blame", "--json", "sort", library, "--cases", "0", "--within", "120"]);
    (ending(&output).0, json(&output))
}

/// The processes that have the library's path in their words.
fn holding(library: &Path) -> Vec<i32> {
    let processes = fs::read_dir("/proc").unwrap().filter_map(|entry| {
        let process: i32 = entry.ok()?.file_name().to_str()?.parse().ok()?;
        let words = fs::read(format!("/proc/{process}/cmdline")).ok()?;
        text(&words).contains(library.to_str()?).then_some(process)
    });
    processes.collect()
}

#[test]
fn json_has_what_the_sentences_say() {
    let place = with_sort("DROPS");
    let (status, blame) = blamed(&place, &place.path("libsort.so"));
    let finding = |attribution: &str| {
        let mut findings = blame["findings"].as_array().unwrap().iter();
        findings.find(|it| it["attribution"] == attribution).unwrap_or_else(|| panic!("{blame}"))
    };
    let error = finding("implementation_error");
    assert_eq!((status, &error["input"]), (4, &"ages [0]".into()), "{blame}");
    assert!(error["sentence"].as_str().unwrap().contains("loses a person when len is odd"), "{error}");
    assert!(error["expected"].is_string() && error["got"].is_string(), "{error}");
    assert_eq!(finding("implementation_defined")["aspect"], "stability");
    let called = &blame["libraries"][0];
    let of = |key: &str| called[key].as_u64().unwrap();
    assert!(of("met") > 0 && of("met") < of("inputs") && of("unjudged") == 0, "{called}");
    assert_eq!(called["largest"], "300 persons");
    assert!(blame["searched"]["outcomes"].as_u64().unwrap() > 1_000, "{blame}");
}

/// A library may start what leaves its group and its session.
#[test]
fn what_a_library_starts_is_gone_when_it_was_examined() {
    let place = with_sort("DAEMON");
    let library = place.path("libsort.so");
    let (status, blame) = blamed(&place, &library);
    assert_eq!(status, 0, "{blame}");
    assert_eq!(holding(&library), [0; 0]);
}

/// What was started for a library is gone when tenbin is, however that ends.
#[test]
fn nothing_outlives_tenbin() {
    let place = with_sort("SLEEPS");
    let library = place.path("libsort.so");
    let mut command = place.command(&["blame", "sort", "--within", "10000"]);
    let mut tenbin = command.arg(&library).stdout(Stdio::null()).spawn().unwrap();
    // The supervisor and the worker have the library's path behind their own; so does tenbin.
    let own = tenbin.id().cast_signed();
    let started = || holding(&library).into_iter().filter(|&process| process != own).collect::<Vec<i32>>();
    let own_end = pidfd(tenbin.id());
    let mut processes = started();
    let begun = Instant::now();
    while processes.len() < 2 {
        // Its end would be the end of all hope for them.
        assert!(!ends_within(&own_end, Duration::from_millis(10)), "tenbin ended by itself");
        assert!(begun.elapsed() < PATIENCE, "nothing was started");
        processes = started();
    }
    let ends: Vec<OwnedFd> = processes.iter().map(|&process| pidfd(process.cast_unsigned())).collect();
    tenbin.kill().unwrap();
    tenbin.wait().unwrap();
    // Killed is not gone yet.
    for end in &ends {
        assert!(ends_within(end, PATIENCE), "a process outlives tenbin");
    }
}

/// Longer than anything here takes on a machine that is busy.
const PATIENCE: Duration = Duration::from_secs(120);

fn pidfd(process: u32) -> OwnedFd {
    let process = Pid::from_raw(process.cast_signed()).unwrap();
    pidfd_open(process, PidfdFlags::empty()).unwrap()
}

fn ends_within(end: &OwnedFd, time: Duration) -> bool {
    let time = Timespec::try_from(time).unwrap();
    poll(&mut [PollFd::new(end, PollFlags::IN)], Some(&time)).unwrap() > 0
}

#[test]
fn an_interrupt_is_the_programs_and_the_answer_is_still_given() {
    let place = with_sort("STABLE");
    let here = format!("-Wl,-rpath,{}", place.folder.path().display());
    let folder = format!("-L{}", place.folder.path().display());
    compiled(&place, "cc", "program", "interrupts.c", &[&folder, "-lsort", &here]);
    let mut blame = Value::Null;
    // A shell that starts a command in the background has it ignore the signal; the program does not.
    for disposition in ["--default-signal=INT", "--ignore-signal=INT"] {
        let mut command = place.disposed(disposition, &["blame", "sort", "--json", "--", "./program"]);
        let output = command.process_group(0).output().unwrap();
        assert_eq!(output.status.code(), Some(4), "{:?} {}", output.status, text(&output.stderr));
        blame = json(&output);
        assert_eq!(blame["program"]["ended"], "was ended by signal 2 (SIGINT)", "{disposition}");
    }
    let sentence = blame["findings"][0]["sentence"].as_str().unwrap();
    assert!(
        sentence.contains("breaks an obligation of its caller: every age is 0 or more. 1 of 1"),
        "{sentence}"
    );
}

#[test]
fn what_is_left_by_a_library_that_ends_its_watcher_is_gone_too() {
    let place = with_sort("PARRICIDE");
    let library = place.path("libsort.so");
    let (status, blame) = blamed(&place, &library);
    assert_eq!(status, 4, "{blame}");
    assert!(blame["libraries"][0]["uncalled"].as_u64().unwrap() > 0, "{blame}");
    assert!(blame["libraries"][0]["cut"].as_str().unwrap().contains("was ended"), "{blame}");
    assert_eq!(holding(&library), [0; 0]);
}

#[test]
fn a_library_for_another_architecture_is_named() {
    if Command::new("riscv64-linux-gnu-gcc").arg("--version").output().is_err()
        || cfg!(target_arch = "riscv64")
    {
        eprintln!("skipped: a real library for another architecture, for want of riscv64-linux-gnu-gcc");
        return;
    }
    let place = Place::new();
    compiled(&place, "riscv64-linux-gnu-gcc", "riscv.so", "sort.c", &["-shared", "-fPIC", "-DSTABLE"]);
    let (status, stderr) = ending(&place.tenbin(&["blame", "sort", "riscv.so"]));
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("riscv.so") && stderr.contains("another architecture, Riscv64"), "{stderr}");
}

#[test]
fn a_library_that_may_not_be_read_is_named() {
    let place = with_sort("STABLE");
    let allow = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    allow(place.folder.path(), 0o755);
    allow(&place.path("libsort.so"), 0o000);
    // Root may read anything.
    let refused = place.unprivileged(&[]).args(["blame", "sort", "./libsort.so"]).output();
    let (status, stderr) = ending(&refused.unwrap());
    assert_eq!(status, 2, "{stderr}");
    assert!(stderr.contains("./libsort.so") && stderr.contains("denied"), "{stderr}");
}

/// However tenbin ends: the guardian of the folder has its standard error, so the end of that is the
/// guardian's.
#[test]
fn a_signal_leaves_no_folder_of_what_was_compiled() {
    for signal in [Signal::INT, Signal::TERM, Signal::HUP, Signal::KILL] {
        // The library opens a pipe that has a name, which lasts until somebody reads it: so this test knows
        // when it is called.
        let place = Place::new();
        let pipe = place.path("called");
        rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, Mode::RUSR | Mode::WUSR, 0)
            .unwrap();
        let options = ["-shared", "-fPIC", &format!("-DPIPE=\"{}\"", pipe.display())];
        compiled(&place, "cc", "libsort.so", "sort.c", &options);
        let temporary = place.path("temporary");
        fs::create_dir(&temporary).unwrap();
        // Whoever started the tests may have had them ignore some of these.
        let words = ["blame", "sort", "./libsort.so", "--within", "10000"];
        let mut command = place.disposed("--default-signal=INT,TERM,HUP", &words);
        command.env("TMPDIR", &temporary).process_group(0).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut tenbin = command.spawn().unwrap();
        drop(fs::File::open(&pipe).unwrap());
        let entries =
            || fs::read_dir(&temporary).unwrap().map(|it| it.unwrap().file_name()).collect::<Vec<_>>();
        let there = entries();
        let prefix = format!("tenbin-{}-", tenbin.id());
        assert!(there.len() == 1 && there[0].to_str().unwrap().starts_with(&prefix), "{there:?}");
        // As a terminal does it, to the whole group.
        let group = Pid::from_raw(i32::try_from(tenbin.id()).unwrap()).unwrap();
        rustix::process::kill_process_group(group, signal).unwrap();
        let mut stderr = String::new();
        tenbin.stderr.take().unwrap().read_to_string(&mut stderr).unwrap();
        tenbin.wait().unwrap();
        assert_eq!(entries(), Vec::<std::ffi::OsString>::new(), "{signal:?}: {stderr}");
    }
}
