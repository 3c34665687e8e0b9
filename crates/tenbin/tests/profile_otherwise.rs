//! Where the time of commands goes where no programs can be had in the kernel, and where every call is to be
//! counted.
//!
//! What is profiled is `fixtures/profile/truth.c` and `cases.c`, whose parts are known however fast the
//! machine is.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use tenbin_model::profile::{Kind, Observer};
use tenbin_model::{Picoseconds, Profile};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, ending, joined, text};

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// What `tenbin profile` with these words wrote, and how it ended.
fn answer(place: &Place, mut tenbin: Command, words: &[&str]) -> (Profile, i32) {
    let file = place.path("profile.json");
    let _ = fs::remove_file(&file);
    let output = tenbin.args(["profile", "--json", "-o", "profile.json"]).args(words).output().unwrap();
    let (status, stderr) = ending(&output);
    let text = fs::read(&file).unwrap_or_else(|error| panic!("{error}: {status} {stderr}"));
    (serde_json::from_slice(&text).unwrap(), status)
}

/// The same with every call counted; none where a sandbox forbids to trace, which is said.
fn exact(place: &Place, words: &[&str]) -> Option<(Profile, i32)> {
    let options = ["profile", "--exact", "--json", "-o", "profile.json", "--"];
    let output = place.tenbin(&[&options, words].concat());
    let (status, stderr) = ending(&output);
    if status == 5 {
        eprintln!("not tested, as nothing can be traced here: {stderr}");
        assert!(stderr.contains("(ptrace)"), "{stderr}");
        return None;
    }
    Some((serde_json::from_slice(&fs::read(place.path("profile.json")).unwrap()).unwrap(), status))
}

/// How often each call was made, and failed.
fn calls(profile: &Profile) -> BTreeMap<String, (u64, u64)> {
    let calls = profile.activities.iter().filter(|it| matches!(it.kind, Kind::Call | Kind::Wait));
    calls.filter(|it| it.count > 0).map(|it| (it.name.clone(), (it.count, it.errors))).collect()
}

/// For how long all threads were blocked in this.
fn blocked(profile: &Profile, name: &str) -> f64 {
    let activity = profile.activities.iter().find(|activity| activity.name == name);
    activity.and_then(|activity| activity.split).map_or(0.0, |split| split.blocked.as_seconds())
}

/// For how long all threads were on a CPU.
fn on_cpu(profile: &Profile) -> f64 {
    let splits = profile.activities.iter().filter_map(|activity| activity.split);
    splits.map(|split| split.on_cpu.as_seconds()).sum()
}

#[test]
fn every_call_of_every_thread_is_counted() {
    let place = Place::new();
    let truth = place.compiled("truth");
    let Some((profile, status)) = exact(&place, &[&truth]) else { return };
    assert_eq!((status, profile.observer), (0, Observer::Exact));
    let counts = calls(&profile);
    assert_eq!(counts["getppid"], (50_000, 0));
    assert_eq!(counts["clock_nanosleep"], (31, 0));
    assert_eq!(counts["execve"], (1, 0));
    assert!(!counts.contains_key("exit_group"), "it never returns");
    assert_eq!((profile.threads.len(), profile.more_threads), (5, 0));
    for thread in &profile.threads {
        let parts = thread.user + thread.kernel + thread.blocked;
        assert!(thread.wall.0.abs_diff(parts.0) <= thread.wall.0 / 500, "{thread:?}");
    }
    let faults = profile.activities.iter().find(|activity| activity.kind == Kind::Fault).unwrap();
    assert!(faults.count >= 20_000, "{faults:?}");
    let of = |name: &str| profile.activities.iter().find(|activity| activity.name == name).unwrap();
    let sleeps = of("clock_nanosleep");
    assert_eq!(sleeps.histogram.iter().sum::<u64>(), 31);
    assert!(sleeps.longest >= Picoseconds::from_millis(200) && sleeps.total >= Picoseconds::from_millis(500));
    let overhead = profile.overhead.unwrap().parts[0];
    assert!(overhead.each > overhead.between && overhead.between > Picoseconds::ZERO, "{overhead:?}");
}

/// Signals, stops of job control, vfork and an execve of a thread that is not the first one change nothing of
/// what the program does.
#[test]
fn whatever_is_hard_to_follow_is_followed() {
    let place = Place::new();
    let cases = place.compiled("cases");
    for (case, call, count, errors) in [
        ("thread_execs", "getppid", 3 + 7, 0),
        ("thread_execs", "close", 1, 1),
        ("thread_execs", "execve", 2, 0),
        ("vforks", "vfork", 100, 0),
        ("stops", "getppid", 1, 0),
        ("signals", "rt_sigreturn", 1000, 0),
    ] {
        let Some((profile, status)) = exact(&place, &[&cases, case]) else { return };
        assert_eq!(status, 0, "{case}");
        let counts = calls(&profile);
        let (counted, failed) = counts[call];
        // The dynamic linker closes files too.
        let is_right = if call == "close" { counted > count } else { counted == count };
        assert!(is_right && failed == errors, "{case}: {counts:?}");
    }
}

/// Two runs of a program may differ in a call, as its memory happens to lie: one of three pairs is equal.
#[test]
fn counts_are_those_of_strace() {
    let place = Place::new();
    let words = ["dd", "if=/dev/zero", "of=/dev/null", "bs=1", "count=1000"];
    let mut different = None;
    for _ in 0..3 {
        // `dd` asks first whether SIGINT is ignored, as who starts the tests may have it.
        let mut strace = Command::new("env");
        strace.args(["--default-signal=INT", "strace", "-f", "-c", "-o"]).arg(place.path("table"));
        strace.args(words).stderr(Stdio::null());
        if !strace.status().is_ok_and(|status| status.success()) {
            eprintln!("not tested: there is no strace here");
            return;
        }
        let Some((profile, _)) = exact(&place, &words) else { return };
        let table = place.tenbin(&["profile", "--json", "--from", "table"]);
        let table: Profile = serde_json::from_slice(&table.stdout).unwrap();
        if calls(&profile) == calls(&table) {
            return;
        }
        different = Some((calls(&profile), calls(&table)));
    }
    panic!("{different:?}");
}

#[test]
fn without_rights_snapshots_say_where_the_time_went() {
    let place = Place::new();
    let truth = place.compiled("truth");
    let (profile, status) = answer(&place, place.unprivileged(&[]), &["--", &truth]);
    assert_eq!(status, 0);
    if profile.observer == Observer::Kernel {
        eprintln!("not tested: who runs these tests has the rights to load programs");
        return;
    }
    snapshots_show_the_truth(&profile);
    assert!(profile.unseen[0].contains("(BPF)"), "{:?}", profile.unseen);
    let shown = place.tenbin(&["profile", "--from", "profile.json"]);
    let shown = joined(&text(&shown.stdout));
    assert!(
        shown.contains("Sampled every") && shown.contains("snapshots, in which threads were seen"),
        "{shown}"
    );
    assert!(shown.contains("Snapshots stand in for programs in the kernel"), "{shown}");
}

/// As on a kernel without BTF: its description is hidden in a mount namespace.
#[test]
fn records_stand_in_where_the_kernel_does_not_describe_types() {
    let place = Place::new();
    let (truth, empty) = (place.compiled("truth"), place.path("empty"));
    fs::create_dir(&empty).unwrap();
    let (described, _) = answer(&place, place.command(&[]), &["--", "true"]);
    if !is_root() || described.observer != Observer::Kernel {
        eprintln!("not tested: who runs these tests may not load programs or mount");
        return;
    }
    // The root of a chroot is no mount point, so what is made private is /sys alone.
    let hide = "mount --make-private /sys && mount --bind \"$0\" /sys/kernel/btf && \
                { mountpoint -q /sys/kernel/tracing || mount -t tracefs nodev /sys/kernel/tracing; } && \
                exec \"$@\"";
    let mut tenbin = Command::new("unshare");
    tenbin.args(["--mount", "--propagation", "unchanged", "sh", "-c", hide]);
    tenbin.arg(&empty).arg(env!("CARGO_BIN_EXE_tenbin"));
    tenbin.current_dir(place.folder.path());
    let (profile, status) = answer(&place, tenbin, &["--files", "--", &truth]);
    assert_eq!((status, profile.observer), (0, Observer::Kernel), "{:?}", profile.unseen);
    assert!(profile.unseen.iter().any(|it| it.contains("handed over records")), "{:?}", profile.unseen);
    assert!(profile.unseen.iter().any(|it| it.contains("Which files")), "{:?}", profile.unseen);
    let counts = calls(&profile);
    assert_eq!(counts["getppid"], (50_000, 0));
    assert_eq!(counts["clock_nanosleep"], (31, 0));
    let slept = blocked(&profile, "clock_nanosleep");
    assert!((0.5..0.55).contains(&slept), "{slept} s");
    assert_eq!(profile.threads.len(), 5);
    for it in &profile.threads {
        let parts = [it.user, it.kernel, it.faults, it.interrupts, it.queued, it.blocked];
        let parts: Picoseconds = parts.into_iter().sum();
        assert!(it.wall.0.abs_diff(parts.0) <= it.wall.0 / 500, "{it:?}");
    }
}

/// Two threads sleep for 500 ms, and others take 300 ms of a CPU and more.
fn snapshots_show_the_truth(profile: &Profile) {
    assert_eq!(profile.observer, Observer::Snapshots);
    let all: f64 = profile.threads.iter().map(|thread| thread.wall.as_seconds()).sum();
    let (slept, ran) = (blocked(profile, "clock_nanosleep"), on_cpu(profile));
    assert!((slept - 0.5).abs() / all < 0.05, "{slept} s of {all} s");
    let charged = profile.charged.unwrap();
    let charged = (charged.user + charged.system).as_seconds();
    assert!(ran > 0.3 && (ran - charged).abs() < 0.05 * charged, "{ran} s of {charged} s");
    let course = profile.course.as_ref().unwrap();
    let stood: Picoseconds = course.blocked.iter().map(|by| by.time).sum();
    let parts = course.running.iter().copied().sum::<Picoseconds>() + course.queued + stood;
    assert!(profile.wall.unwrap().0.abs_diff(parts.0) <= profile.wall.unwrap().0 / 500);
    let snapshots = profile.snapshots.unwrap();
    assert!(snapshots.count > 3 && snapshots.threads > snapshots.count, "{snapshots:?}");
    assert!(profile.activities.iter().all(|activity| activity.count == 0));
}

/// tenbin below a filter that refuses calls, as a case of the fixture installs it.
fn below(place: &Place, case: &str, words: &[&str]) -> Output {
    Command::new(place.path("cases"))
        .args([case, env!("CARGO_BIN_EXE_tenbin"), "profile"])
        .args(words)
        .current_dir(place.folder.path())
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_sandbox_that_refuses_bpf_gets_snapshots() {
    let place = Place::new();
    let truth = place.compiled("truth");
    place.compiled("cases");
    let output = below(&place, "sealed", &["--json", "-o", "profile.json", "--", &truth]);
    assert_eq!(ending(&output).0, 0, "{}", text(&output.stderr));
    let profile: Profile = serde_json::from_slice(&fs::read(place.path("profile.json")).unwrap()).unwrap();
    snapshots_show_the_truth(&profile);
    // Where tracing is refused too, counting is.
    let output = below(&place, "sealed_all", &["--exact", "--", &truth]);
    let (status, stderr) = ending(&output);
    assert_eq!(status, 5, "{stderr}");
    assert!(joined(&stderr).contains("count the calls of a command (ptrace)"), "{stderr}");
}

#[test]
fn what_is_lacking_is_said_where_nothing_observes() {
    let place = Place::new();
    place.compiled("cases");
    if !is_root() {
        eprintln!("not tested: only root takes /proc away");
        return;
    }
    let output = below(&place, "hidden", &["--", "true"]);
    let (status, stderr) = ending(&output);
    if status == 99 {
        eprintln!("not tested: no mounts can be made here: {stderr}");
        return;
    }
    assert_eq!(status, 5, "{stderr}");
    let said_why = joined(&stderr);
    assert!(said_why.contains("(BPF)") && said_why.contains("CAP_BPF"), "{said_why}");
}

#[test]
fn either_ends_as_the_command_does() {
    let place = Place::new();
    place.compiled("cases");
    for exact in [true, false] {
        let profile = |words: &[&str]| {
            let mut tenbin = place.unprivileged(&[]);
            tenbin.arg("profile").args(exact.then_some("--exact")).args(words);
            tenbin.output().unwrap()
        };
        for (script, status) in [("exit 7", 7), ("kill -TERM $$", 128 + 15), ("kill -KILL $$", 128 + 9)] {
            assert_eq!(ending(&profile(&["--", "sh", "-c", script])).0, status, "{script}");
        }
        let output = profile(&["--", "echo", "on standard output"]);
        assert_eq!(text(&output.stdout), "on standard output\n");
        assert!(text(&output.stderr).starts_with("`echo on standard output` took "));
        let missing = profile(&["--", "no-such-command"]);
        assert_eq!(ending(&missing).0, 2);
        assert!(text(&missing.stderr).contains("no-such-command"), "{}", text(&missing.stderr));
        let late = profile(&["--deadline", "1", "--", "sleep", "600"]);
        assert_eq!(ending(&late).0, 1);
        assert!(joined(&text(&late.stderr)).contains("It had not ended after 1 s, and was killed."));
    }
    let output = place.tenbin(&["profile", "--exact", "--from", "profile.json"]);
    assert_eq!(ending(&output).0, 2);
}

/// The end of what they could write to is that of the last of them.
#[test]
fn nothing_of_a_fork_bomb_is_left_at_its_deadline() {
    let place = Place::new();
    let cases = place.compiled("cases");
    // By stops, by snapshots, by programs in the kernel, and by stacks.
    for (option, is_unprivileged) in
        [(Some("--exact"), true), (None, true), (None, false), (Some("--sample"), false)]
    {
        let mut tenbin = if is_unprivileged { place.unprivileged(&[]) } else { place.command(&[]) };
        tenbin.arg("profile").args(option).args(["--deadline", "2", "--"]);
        let mut tenbin =
            tenbin.args([&cases, "bomb"]).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        assert_eq!(tenbin.stdout.take().unwrap().read_to_end(&mut Vec::new()).unwrap(), 0);
        // Stacks need rights.
        let is_refused = option == Some("--sample") && tenbin.wait().unwrap().code() == Some(5);
        assert!(is_refused || tenbin.wait().unwrap().code() == Some(1));
    }
}

/// Programs that are traced are killed with who traces them.
#[test]
fn nothing_traced_is_left_when_tenbin_is_killed() {
    let place = Place::new();
    if exact(&place, &["true"]).is_none() {
        return;
    }
    let script = "sleep 600 & sleep 600 & echo; exec sleep 600";
    let mut command = place.command(&["profile", "--exact", "--", "sh", "-c", script]);
    let mut tenbin = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut output = tenbin.stdout.take().unwrap();
    // What it writes says that it runs.
    output.read_exact(&mut [0]).unwrap();
    tenbin.kill().unwrap();
    tenbin.wait().unwrap();
    assert_eq!(output.read_to_end(&mut Vec::new()).unwrap(), 0);
}

/// What outlives the first process is not waited for, and goes on.
#[test]
fn who_outlives_the_first_process_is_let_go() {
    let place = Place::new();
    let script = "(read line && echo \"$line\" >&2 && touch went-on) <&3 >/dev/null 2>&1 & exit 3";
    pipe_at(&place.path("pipe"));
    let script = format!("exec 3<>pipe; {script}");
    let Some((profile, status)) = exact(&place, &["sh", "-c", &script]) else { return };
    assert_eq!(status, 3);
    assert!(profile.unseen.iter().any(|words| words.contains("outlived")), "{:?}", profile.unseen);
    fs::write(place.path("pipe"), "on\n").unwrap();
    while !place.path("went-on").exists() {
        std::thread::yield_now();
    }
}

fn pipe_at(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().unwrap().success());
}

#[test]
fn many_short_processes_are_counted_and_sampled() {
    let place = Place::new();
    fs::set_permissions(place.folder.path(), Permissions::from_mode(0o777)).unwrap();
    let script = "number=0; while [ $number -lt 2000 ]; do /bin/true; number=$((number + 1)); done";
    let words = ["sh", "-c", script];
    if let Some((profile, status)) = exact(&place, &words) {
        assert_eq!(status, 0);
        let counts = calls(&profile);
        assert_eq!(counts["execve"], (2001, 0));
        assert_eq!(profile.threads.len() as u64 + profile.more_threads, 2001);
    }
    let (profile, status) = answer(&place, place.unprivileged(&[]), &[&["--"], &words[..]].concat());
    assert_eq!(status, 0);
    if profile.observer == Observer::Snapshots {
        // Most of them live shorter than the time between two snapshots.
        let charged = profile.charged.unwrap();
        assert!((charged.user + charged.system).as_seconds() <= on_cpu(&profile) * 1.01);
    }
}
