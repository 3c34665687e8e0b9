//! Every command, ended at random moments by a terminal, by a service manager and by SIGKILL: no process of
//! it stays, no temporary folder, the store is sound, and what was finished is shown.
//!
//! A few moments of each, the same every time. `cargo xtask killed` tries many: `TENBIN_KILLED_MOMENTS` of
//! each command, of the first `TENBIN_KILLED_SECONDS` of it, by the seed `TENBIN_KILLED_SEED`, and of the
//! commands whose name holds `TENBIN_KILLED_ONLY`. One test and nothing beside it: orphans of what it kills
//! become children of this process.

#![expect(clippy::disallowed_methods, reason = "children have deadlines")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitOptions, getpid, kill_process, kill_process_group, pidfd_open,
    set_child_subreaper, waitpid,
};
use serde_json::Value;
use tempfile::TempDir;

/// How long a command may take to end that was told to, and its children after it.
const PATIENCE: Duration = Duration::from_secs(120);

/// A function and a worker whose operations are turns of a loop.
const TURNS_IN_C: &str = "#include \"tenbin.h\"\n\
    uint64_t tenbin_run(void *state, uint64_t n)\n\
    { volatile uint64_t i; (void)state; for (i = 0; i < n; i++) ; return n; }\n";
const TURNS_IN_SHELL: &str = "while read word variant n; do case $word in\n\
    variants) echo turns ;;\n\
    check) echo ok ;;\n\
    run) start=$(date +%s%N); i=0; while [ $i -lt $n ]; do i=$((i + 1)); done\n\
         echo $(($(date +%s%N) - start)) ;;\n\
    esac; done\n";

/// What a command keeps in the store when it has something to keep.
#[derive(Clone, Copy, PartialEq)]
enum Keeps {
    Nothing,
    Run,
    Calibration,
}

struct Verb {
    name: &'static str,
    words: Vec<OsString>,
    keeps: Keeps,
}

fn verb(name: &'static str, words: &[&str], keeps: Keeps) -> Verb {
    Verb { name, words: words.iter().map(OsString::from).collect(), keeps }
}

/// Every command that there is, but for those that only print what is in the binary.
fn verbs() -> Vec<Verb> {
    use Keeps::{Calibration, Nothing, Run};
    let libc = ["x86_64", "aarch64", "riscv64"].map(|it| format!("/lib/{it}-linux-gnu/libc.so.6"));
    let libc = libc.iter().find(|path| Path::new(path).exists());
    let mut verbs = vec![
        verb("survey", &[], Run),
        verb("run, short ones", &["run", "null", "fib", "pipe", "--quick"], Run),
        verb("run, with processes", &["run", "fork", "faults", "--quick"], Run),
        verb("run, with timers", &["run", "timer", "--quick", "--json"], Run),
        verb("run, with probes", &["run", "calls", "--quick"], Run),
        verb("run, on what it builds", &["run", "thrash", "c2c", "--quick", "-o", "answer"], Run),
        verb("weigh", &["weigh", "sleep 0.01", "sleep 0.02 & sleep 0.01", "--prepare", "true"], Run),
        verb("weigh, functions", &["weigh", "turns.c", "turns.c"], Run),
        verb("weigh, workers", &["weigh", "--worker", "sh turns.sh", "--worker", "sh turns.sh"], Run),
        verb("calibrate", &["calibrate", "--pairs", "3", "--works", "alu,pipe"], Calibration),
        verb("calibrate under load", &["calibrate", "--thorough", "--load", "2"], Calibration),
        verb("blame, a specification", &["blame", "sort"], Nothing),
        verb("blame, a program", &["blame", "sort", "--", "sleep", "1000"], Nothing),
        verb("boot litmus", &["boot", "litmus", "litmus"], Nothing),
        verb("boot check", &["boot", "check", "never.elf", "--arrived=done", "--harts=2,3"], Nothing),
        verb("boot replay", &["boot", "replay", "answer.json"], Nothing),
        verb("guest run", &["guest", "run", "--arch", "x86_64", "--cache", "cache", "--", "true"], Nothing),
        verb("yes", &["yes"], Nothing),
        verb("fib", &["fib", "3000000"], Nothing),
        verb("list", &["list", "--json"], Nothing),
        verb("runs", &["runs"], Nothing),
        verb("show", &["show", "latest"], Nothing),
        verb("compare", &["compare", "latest", "latest"], Nothing),
        verb("export", &["export", "latest", "-o", "exported.db", "--force"], Nothing),
        verb("import", &["import", "other.db"], Nothing),
        verb("merge", &["merge", "other.db", "other.db"], Nothing),
    ];
    if let Some(libc) = libc {
        verbs.push(verb("blame, a library", &["blame", "memcpy", libc, "--cases", "5000"], Nothing));
    }
    let only = std::env::var("TENBIN_KILLED_ONLY").unwrap_or_default();
    verbs.retain(|verb| verb.name.contains(&only));
    verbs
}

/// A home, a folder for temporary files and a store, none of them anybody else's.
struct Home(TempDir);

impl Home {
    fn new() -> Self {
        let home = Self(tempfile::tempdir().unwrap());
        for folder in ["tmp", "programs", "cache/bookworm-x86_64/modules", "litmus"] {
            fs::create_dir_all(home.path(folder)).unwrap();
        }
        for name in ["image", "busybox"] {
            fs::write(home.path(&format!("cache/bookworm-x86_64/{name}")), name).unwrap();
        }
        // An emulator whose guest never speaks, with a child of its own.
        let emulator = home.path("programs/qemu-system-x86_64");
        fs::write(&emulator, "#!/bin/sh\nsleep 1000 & wait\n").unwrap();
        fs::set_permissions(emulator, fs::Permissions::from_mode(0o755)).unwrap();
        let fixtures = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures");
        for test in fs::read_dir(fixtures.join("litmus")).unwrap().map(Result::unwrap) {
            fs::copy(test.path(), home.path("litmus").join(test.file_name())).unwrap();
        }
        let mut image = fs::read(fixtures.join("isa/image/two_harts-dwarf5.elf")).unwrap();
        // `li a2,1` becomes `li a2,0`: what hart 1 waits for never comes.
        image[0xb0 + 0xe] = 0x01;
        fs::write(home.path("never.elf"), image).unwrap();
        fs::write(home.path("turns.c"), TURNS_IN_C).unwrap();
        fs::write(home.path("turns.sh"), TURNS_IN_SHELL).unwrap();
        let words = ["never.elf", "--arrived=done", "--harts=2", "--memory=sc", "--json"];
        let check = home.tenbin(&[&["boot", "check"], &words[..]].concat());
        fs::write(home.path("answer.json"), check.stdout).unwrap();
        for _ in 0..2 {
            // On a busy machine the answer may be a refusal.
            let run = home.tenbin(&["run", "null", "--quick"]);
            assert!(matches!(run.status.code(), Some(0 | 3)), "{run:?}");
        }
        assert!(home.tenbin(&["export", "latest", "-o", "other.db"]).status.success());
        home
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// tenbin with these words, started by somebody who ignores nothing: who starts the tests may.
    fn command<W: AsRef<std::ffi::OsStr>>(&self, words: &[W]) -> Command {
        let mut command = Command::new("env");
        command.args(["--default-signal=INT,TERM,HUP,QUIT", env!("CARGO_BIN_EXE_tenbin")]).args(words);
        let path = std::env::join_paths(
            [self.path("programs")]
                .into_iter()
                .chain(std::env::split_paths(&std::env::var_os("PATH").unwrap())),
        );
        command
            .env("PATH", path.unwrap())
            .env("HOME", self.0.path())
            .env("TMPDIR", self.path("tmp"))
            .env("TENBIN_STORE", self.path("store.db"))
            .current_dir(self.0.path())
            .stdin(Stdio::null());
        for variable in ["XDG_DATA_HOME", "XDG_STATE_HOME", "XDG_CACHE_HOME"] {
            command.env_remove(variable);
        }
        command
    }

    fn tenbin(&self, words: &[&str]) -> std::process::Output {
        self.command(words).output().unwrap()
    }

    /// How many runs and calibrations the store has; the newest run can be read.
    fn kept(&self) -> (usize, usize) {
        let runs = self.tenbin(&["runs", "--json"]);
        let parsed: Value = serde_json::from_slice(&runs.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&runs.stderr)));
        let runs = parsed.as_array().unwrap();
        let shown = self.tenbin(&["show", "latest", "--json"]);
        assert!(serde_json::from_slice::<Value>(&shown.stdout).is_ok(), "{shown:?}");
        let listed = self.tenbin(&["runs"]);
        let calibrations = String::from_utf8(listed.stdout).unwrap();
        let is_calibration = |line: &&str| line.contains(" pair ") || line.contains(" pairs ");
        (runs.len(), calibrations.lines().filter(is_calibration).count())
    }

    /// Starts it with its output in files, as the leader of a process group.
    fn start(&self, verb: &Verb) -> Child {
        let file = |name| File::create(self.path(name)).unwrap();
        let mut command = self.command(&verb.words);
        let endless = verb.name == "yes";
        let output = if endless { File::create("/dev/null").unwrap() } else { file("stdout") };
        command.process_group(0).stdout(output).stderr(file("stderr")).spawn().unwrap()
    }
}

/// Waits for the end of a child, for so long at most.
fn ended_within(child: &Child, time: Duration) -> bool {
    let handle = pidfd_open(Pid::from_child(child), PidfdFlags::empty()).unwrap();
    let started = Instant::now();
    loop {
        let left = Timespec::try_from(time.saturating_sub(started.elapsed())).unwrap();
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&left)) {
            Ok(ready) => return ready > 0,
            Err(rustix::io::Errno::INTR) => {}
            Err(error) => panic!("{error}"),
        }
    }
}

/// The living children of this process: what was orphaned is among them. The dead ones are collected.
fn living_children() -> BTreeSet<i32> {
    let mut living = BTreeSet::new();
    for entry in fs::read_dir("/proc").unwrap().map(Result::unwrap) {
        let Ok(stat) = fs::read_to_string(entry.path().join("stat")) else { continue };
        // "number (name) state parent": a name may hold anything.
        let Some((before, after)) = stat.rsplit_once(") ") else { continue };
        let mut words = after.split(' ');
        let (state, parent) = (words.next().unwrap(), words.next().unwrap());
        if parent != getpid().as_raw_nonzero().to_string() {
            continue;
        }
        let number = before.split(' ').next().unwrap().parse().unwrap();
        if state == "Z" {
            let _ = waitpid(Pid::from_raw(number), WaitOptions::NOHANG);
        } else {
            living.insert(number);
        }
    }
    living
}

/// Waits until nobody is left, and says who is.
fn left_behind() -> Vec<String> {
    let started = Instant::now();
    loop {
        let living = living_children();
        if living.is_empty() {
            return Vec::new();
        }
        if started.elapsed() > PATIENCE {
            let words = |number: &i32| fs::read(format!("/proc/{number}/cmdline")).unwrap_or_default();
            return living.iter().map(|it| String::from_utf8_lossy(&words(it)).replace('\0', " ")).collect();
        }
        std::thread::yield_now();
    }
}

fn number(variable: &str, otherwise: f64) -> f64 {
    std::env::var(variable).map_or(otherwise, |text| text.parse().unwrap())
}

/// From 0 to 1, by splitmix64 (Steele, Lea and Flood 2014).
fn random(state: &mut u64) -> f64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut word = *state;
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((word ^ word >> 31) >> 11) as f64 / (1_u64 << 53) as f64
}

/// What is wrong after `verb` was sent `signal`, in words.
fn wrong(
    home: &Home,
    verb: &Verb,
    signal: Signal,
    status: ExitStatus,
    before: (usize, usize),
) -> Vec<String> {
    let mut wrong = Vec::new();
    let left = left_behind();
    if !left.is_empty() {
        wrong.push(format!("left processes: {left:?}"));
    }
    let names = |folder: &str| fs::read_dir(home.path(folder)).unwrap().map(|it| it.unwrap().file_name());
    let temporary = names("tmp").collect::<Vec<_>>();
    if !temporary.is_empty() {
        wrong.push(format!("left in the folder of temporary files: {temporary:?}"));
    }
    fs::remove_dir_all(home.path("tmp")).unwrap();
    fs::create_dir(home.path("tmp")).unwrap();
    let half = names("").map(|name| name.into_string().unwrap()).filter(|name| name.ends_with(".part"));
    let half = half.collect::<Vec<_>>();
    if !half.is_empty() && signal != Signal::KILL {
        wrong.push(format!("left half-written: {half:?}"));
    }
    half.iter().for_each(|name| fs::remove_file(home.path(name)).unwrap());
    let after = home.kept();
    let added = match verb.keeps {
        Keeps::Nothing => 0,
        Keeps::Run => after.0 - before.0,
        Keeps::Calibration => after.1 - before.1,
    };
    let answered = ["stdout", "answer"]
        .iter()
        .any(|name| fs::metadata(home.path(name)).is_ok_and(|metadata| metadata.len() > 0));
    let stderr = fs::read_to_string(home.path("stderr")).unwrap();
    let by_signal = status.signal() == Some(signal.as_raw());
    let by_status = matches!(status.code(), Some(0..=5)) || status.code() == Some(128 + signal.as_raw());
    // A program that is watched is ended by the signal, too, and then what was seen is told.
    if !by_signal && !by_status {
        wrong.push(format!("ended with {status:?}"));
    }
    if stderr.contains("panicked") {
        wrong.push("panicked".into());
    }
    if added > 1 || (signal != Signal::KILL && verb.keeps != Keeps::Nothing && answered != (added == 1)) {
        wrong.push(format!("answered: {answered}, kept: {added}"));
    }
    if !wrong.is_empty() {
        wrong.push(format!("it said: {stderr}"));
    }
    wrong
}

#[test]
fn what_is_killed_leaves_nothing_and_shows_what_was_finished() {
    let moments = number("TENBIN_KILLED_MOMENTS", 3.0) as usize;
    let longest = Duration::from_secs_f64(number("TENBIN_KILLED_SECONDS", 0.5));
    let mut seed = number("TENBIN_KILLED_SEED", 1.0) as u64;
    set_child_subreaper(Some(getpid())).unwrap();
    let home = Home::new();
    let (mut failures, mut before) = (Vec::new(), home.kept());
    for verb in verbs() {
        // How long it takes: for the choice of moments alone.
        let mut child = home.start(&verb);
        let started = Instant::now();
        ended_within(&child, longest);
        let usual = started.elapsed();
        let _ = child.kill();
        child.wait().unwrap();
        left_behind();
        before = (before.0, before.1).max(home.kept());
        let (mut interrupted, mut bad) = (0, 0);
        for moment in 0..moments {
            let signal = [Signal::INT, Signal::TERM, Signal::KILL][moment % 3];
            let _ = fs::remove_file(home.path("answer"));
            let after = usual.mul_f64(random(&mut seed));
            let mut child = home.start(&verb);
            let pid = Pid::from_child(&child);
            if !ended_within(&child, after) {
                interrupted += 1;
                // A terminal tells all of the group.
                let sent = match signal {
                    Signal::INT => kill_process_group(pid, signal),
                    _ => kill_process(pid, signal),
                };
                assert!(matches!(sent, Ok(()) | Err(rustix::io::Errno::SRCH)), "{sent:?}");
            }
            let ended = ended_within(&child, PATIENCE);
            if !ended {
                let _ = child.kill();
            }
            let status = child.wait().unwrap();
            let mut why = wrong(&home, &verb, signal, status, before);
            if !ended {
                why.insert(0, format!("still running {PATIENCE:?} after the signal"));
            }
            before = home.kept();
            if !why.is_empty() {
                bad += 1;
                let why = why.join("; ");
                failures.push(format!("{}, {signal:?} after {after:?}: {why}", verb.name));
            }
        }
        eprintln!(
            "{:24} {moments} moments in {usual:?}: {interrupted} before its end, {bad} wrong",
            verb.name
        );
    }
    assert!(failures.is_empty(), "{} wrong:\n{}", failures.len(), failures.join("\n"));
}
