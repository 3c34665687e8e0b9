//! `tenbin guest` while it runs and when it is ended, with a shell script in the emulator's place. What it
//! says is in `transcripts`.
//!
//! What only a real guest shows is shown by `cargo xtask test guests`.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

use guest_desk::Desk;
use rustix::event::{PollFd, PollFlags, Timespec, poll};

mod guest_desk;

impl Desk {
    /// Puts a script in the emulator's place. Where `$virtio` and `$console` are, a guest's answer and its
    /// console are expected.
    fn emulator(&self, script: &str) {
        let find = "for word; do case $word in
            file,id=virtio,path=*) virtio=${word#*path=} ;;
            file,id=console,path=*) console=${word#*path=} ;;
        esac; done";
        self.program("qemu-system-x86_64", &format!("{find}\n{script}"));
    }

    /// The exit status and standard error of a guest.
    fn run(&self, words: &[&str]) -> (i32, String) {
        let output = self.command("run", words).output().unwrap();
        (output.status.code().unwrap_or(-1), String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

const PROGRAMS: [&str; 5] = ["sh", "tar", "tail", "mkdir", "dd"];

/// A script that answers with `status`, and sends `last` at the end.
fn answering(status: u8, last: &str) -> String {
    format!(
        "mkdir -p files/tmp; echo {status} >status; printf 'out\\377' >stdout; echo err >stderr
        echo content >files/tmp/x; echo end >end; tar -c -f $virtio status stdout stderr files/tmp/x {last}"
    )
}

/// The time and the text of a line that `--console` shows.
fn shown(line: &str) -> Option<(f64, &str)> {
    let (time, text) = line.strip_prefix('[')?.split_once("] ")?;
    Some((time.trim_start().parse().ok()?, text))
}

#[test]
fn the_console_is_shown_with_its_times_while_the_guest_runs() {
    let desk = Desk::new(&PROGRAMS);
    let pipe = desk.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    // It goes on when somebody has read the first line.
    let script = format!(
        "printf 'one\\r\\n' >$console; read -r word <'{}'; echo $word >$console; {}",
        pipe.display(),
        answering(0, "end")
    );
    desk.emulator(&script);
    let mut command = desk.command("run", &["--console", "--", "true"]);
    let mut tenbin = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(tenbin.stderr.take().unwrap()).lines().map(Result::unwrap);
    let first = lines.next().unwrap();
    let (begun, text) = shown(&first).unwrap();
    assert_eq!(text, "one");
    assert!(tenbin.try_wait().unwrap().is_none());
    fs::write(&pipe, "two\n").unwrap();
    let rest = lines.collect::<Vec<_>>();
    let (ended, text) = shown(&rest[0]).unwrap();
    assert_eq!(text, "two");
    assert!(begun <= ended, "{begun} {ended}");
    assert_eq!(rest[1], "err", "{rest:?}");
    assert!(tenbin.wait().unwrap().success());
    // Who does not ask for it does not see it.
    desk.emulator(&format!("echo one >$console; {}", answering(0, "end")));
    let (status, stderr) = desk.run(&["--", "true"]);
    assert!(status == 0 && !stderr.lines().any(|line| shown(line).is_some()), "{stderr}");
}

/// A machine whose `/dev/kvm` breaks off, stands still or lies; and one whose works.
#[test]
#[cfg_attr(not(target_arch = "x86_64"), ignore = "the stand-in is an emulator of x86_64")]
fn kvm_is_used_where_a_short_guest_shows_that_it_works() {
    let desk = Desk::new(&PROGRAMS);
    let works = answering(0, "end").replace("printf 'out\\377'", "echo x86_64");
    let remark = "tenbin: KVM does not work here, so the guest is emulated: ";
    let lies = answering(0, "end");
    let cases = [
        ("echo 'no such device' >&2; exit 1", "ended with exit status: 1: no such device"),
        ("kill -KILL $$", "ended with signal: 9"),
        ("echo Kernel panic - not syncing >$console", "its kernel panicked"),
        ("", "it ended without a whole answer (it sent nothing)"),
        (&*lies, "a guest under it ends with 0 and says \"out\u{fffd}\" of its CPU"),
        (&*works, ""),
    ];
    for (under_kvm, expected) in cases {
        let emulated = answering(42, "end");
        let script = format!("case \"$*\" in *'-accel kvm'*) {under_kvm}\nexit ;; esac; {emulated}");
        desk.emulator(&script);
        let (status, stderr) = desk.run(&["--accel", "kvm", "--", "true"]);
        let works = expected.is_empty();
        assert_eq!(status, if works { 0 } else { 42 }, "{under_kvm}: {stderr}");
        assert_eq!(stderr.contains(remark), !works, "{under_kvm}: {stderr}");
        assert!(stderr.contains(expected), "{under_kvm}: {stderr}");
    }
    // The try ends, and what follows it has a time of its own.
    desk.emulator("exec tail -f /dev/null");
    let (status, stderr) = desk.run(&["--accel", "kvm", "--seconds", "1", "--", "true"]);
    assert_eq!(status, 4, "{stderr}");
    assert!(
        stderr.starts_with("tenbin guest: the guest gave no answer: it was still running after 1 s"),
        "{stderr}"
    );
    assert!(stderr.contains(&format!("{remark}a guest under it gave no answer within 1 s")), "{stderr}");
}

#[test]
fn emulator_and_children_end_with_tenbin_however_that_ends() {
    // The emulator itself, a child that it waits for, and one whose parent is gone.
    let cases = [
        "echo begun; exec tail -f /dev/null",
        "(echo begun; tail -f /dev/null; :) & exec >&-; wait",
        "((echo begun; exec tail -f /dev/null) &); exec >/dev/null tail -f /dev/null",
    ];
    for script in cases {
        let desk = Desk::new(&PROGRAMS);
        let pipe = desk.path("pipe");
        rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
        desk.emulator(&format!("exec >'{}'; {script}", pipe.display()));
        let mut tenbin =
            desk.command("run", &["--seconds", "600", "--", "true"]).stderr(Stdio::piped()).spawn().unwrap();
        let mut pipe = fs::File::open(pipe).unwrap();
        let mut bytes = [0; 64];
        let length = pipe.read(&mut bytes).unwrap();
        assert_eq!(&bytes[..length], b"begun\n");
        tenbin.kill().unwrap();
        assert!(!tenbin.wait().unwrap().success());
        // Nobody writes to it any more: all of them are gone too.
        let patience = Timespec { tv_sec: 60, tv_nsec: 0 };
        let hung_up = poll(&mut [PollFd::new(&pipe, PollFlags::IN)], Some(&patience));
        assert_eq!(hung_up, Ok(1), "{script}: it lives on");
        assert_eq!(pipe.read(&mut bytes).unwrap(), 0);
    }
}

/// tenbin itself waits for whoever reads, as every program does.
#[test]
fn a_guest_ends_in_time_when_nobody_reads_its_console() {
    let desk = Desk::new(&PROGRAMS);
    let pipe = desk.path("pipe");
    rustix::fs::mkfifoat(rustix::fs::CWD, &pipe, 0o600.into()).unwrap();
    // It says more than a pipe can hold.
    desk.emulator(&format!("exec >'{}'; echo begun; while :; do echo line >$console; done", pipe.display()));
    let words = ["--seconds", "1", "--console", "--", "true"];
    let mut tenbin = desk.command("run", &words).stderr(Stdio::piped()).spawn().unwrap();
    let mut pipe = fs::File::open(pipe).unwrap();
    let mut bytes = Vec::new();
    // Until the emulator is gone.
    pipe.read_to_end(&mut bytes).unwrap();
    assert_eq!(bytes, b"begun\n");
    let shown = BufReader::new(tenbin.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(shown.filter(|line| line.ends_with("] line")).count() > 0);
    assert_eq!(tenbin.wait().unwrap().code(), Some(4));
}
