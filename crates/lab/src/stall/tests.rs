use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::process::Child;

use super::*;
use crate::rehearsal::refused;

/// A process in a session of its own, killed when the test ends.
struct Other(Child);

impl Other {
    fn start() -> Self {
        Self(Command::new("setsid").args(["sleep", "600"]).spawn().unwrap())
    }

    fn state(&self) -> String {
        let stat = fs::read_to_string(format!("/proc/{}/stat", self.0.id())).unwrap();
        stat.rsplit_once(") ").unwrap().1[..1].to_owned()
    }

    /// Once it has a session of its own.
    fn ready() -> Self {
        let other = Self::start();
        let comm = format!("/proc/{}/comm", other.0.id());
        while fs::read_to_string(&comm).unwrap().trim() != "sleep" {
            thread::yield_now();
        }
        other
    }
}

impl Drop for Other {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn request(target: Target, milliseconds: u64) -> Request {
    Request { target, duration: Picoseconds::from_millis(milliseconds), force: false, command: None }
}

#[test]
fn a_process_stands_still_and_goes_on() {
    let other = Other::ready();
    let stalls = stall(&request(Target::Process(other.0.id()), 30)).unwrap();
    assert_eq!(stalls.achieved.len(), 1);
    assert!(stalls.achieved[0] >= Picoseconds::from_millis(30), "{stalls:?}");
    while other.state() == "T" {
        thread::yield_now();
    }
    // Stopped by somebody else it is left alone.
    let halted = Command::new("kill").args(["-STOP", &other.0.id().to_string()]).status();
    assert!(halted.unwrap().success());
    while other.state() != "T" {
        thread::yield_now();
    }
    let reached = refused(stall(&request(Target::Process(other.0.id()), 30))).reached;
    assert!(reached.contains("it does not run, and would run afterwards; nothing was stopped"), "{reached}");
    assert_eq!(other.state(), "T");
}

#[test]
fn what_must_not_be_stopped_is_refused() {
    for (target, words) in [
        (Target::Process(1), "process 1 is the parent of all others"),
        (Target::Process(std::process::id()), "it belongs to this session"),
        (Target::Process(2), "it is a thread of the kernel"),
    ] {
        // In a container it may be one like any other.
        if target == Target::Process(2)
            && fs::read_to_string("/proc/2/comm").ok().as_deref() != Some("kthreadd\n")
        {
            continue;
        }
        let reached = refused(stall(&request(target, 30))).reached;
        assert!(reached.contains(words), "{reached}");
    }
    let long = refused(stall(&request(Target::Process(1), 8_001))).reached;
    assert_eq!(long, "a stop of 8.00 s; nothing was stopped");
    for absent in
        [Target::Process(u32::MAX), Target::Group("/nowhere".into()), Target::Guest("/nowhere".into())]
    {
        assert!(matches!(stall(&request(absent, 30)), Err(Unfit::Usage(_))));
    }
    let absent = ["/nowhere/nothing".to_owned()];
    let command = Some((absent.into(), Picoseconds::from_millis(1)));
    assert!(matches!(stall(&Request { command, ..request(Target::Process(1), 30) }), Err(Unfit::Usage(_))));
}

#[test]
fn a_command_is_stopped_under_until_it_ends() {
    let other = Other::ready();
    // It ends when it has seen the other one stopped.
    let line = format!("until grep -q 'State:.T' /proc/{}/status; do :; done; exit 3", other.0.id());
    let words = ["sh", "-c", &line].map(str::to_owned).into();
    let command = Some((words, Picoseconds::from_millis(1)));
    let stalls = stall(&Request { command, ..request(Target::Process(other.0.id()), 20) }).unwrap();
    assert!(!stalls.achieved.is_empty());
    let command = stalls.command.unwrap();
    assert_eq!((command.status, command.end.as_str()), (3, "exit status: 3"));
}

/// A kernel that would panic at a lockup is not tried.
#[test]
fn a_stop_that_ends_in_a_panic_is_refused() {
    let tree = |files: &[(&str, &str)]| {
        let tree = tempfile::tempdir().unwrap();
        for (path, text) in files {
            let path = tree.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        tree
    };
    const KERNEL: &str = "proc/sys/kernel";
    let soft = |panics, on| {
        [
            (format!("{KERNEL}/softlockup_panic"), panics),
            (format!("{KERNEL}/soft_watchdog"), on),
            (format!("{KERNEL}/watchdog_thresh"), "4"),
        ]
    };
    for (files, seconds, expected) in [
        (soft("1", "1"), 3, None),
        (soft("1", "1"), 4, Some("the watchdog for soft lockups panics after 8 s")),
        (soft("0", "1"), 4, None),
        (soft("1", "0"), 4, None),
    ] {
        let files: Vec<(&str, &str)> = files.iter().map(|(path, text)| (path.as_str(), *text)).collect();
        let tree = tree(&files);
        let why = panics::panics(Root::new(tree.path()), Duration::from_secs(seconds));
        assert_eq!(why.is_some(), expected.is_some(), "{files:?}: {why:?}");
        assert!(why.unwrap_or_default().starts_with(expected.unwrap_or_default()), "{files:?}");
    }
    let rcu = tree(&[
        ("proc/sys/kernel/panic_on_rcu_stall", "1"),
        ("sys/module/rcupdate/parameters/rcu_cpu_stall_timeout", "21"),
    ]);
    assert!(panics::panics(Root::new(rcu.path()), Duration::from_secs(11)).is_some());
}

/// A socket on which `monitor` answers the one who connects, after the greeting of QEMU's.
fn monitored<T: Send + 'static>(
    monitor: impl FnOnce(UnixStream) -> T + Send + 'static,
) -> (tempfile::TempDir, PathBuf, thread::JoinHandle<T>) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("socket");
    let listener = UnixListener::bind(&path).unwrap();
    let answering = thread::spawn(move || {
        let (mut socket, _) = listener.accept().unwrap();
        writeln!(socket, "{{\"QMP\": {{}}}}").unwrap();
        monitor(socket)
    });
    (folder, path, answering)
}

/// What takes long to stop is not let go before it has.
#[test]
fn a_guest_that_stops_late_stands_still_for_as_long() {
    let (_folder, path, monitor) = monitored(|mut socket| {
        let mut lines = BufReader::new(socket.try_clone().unwrap());
        let mut line = String::new();
        while !line.contains("\"stop\"") {
            line.clear();
            lines.read_line(&mut line).unwrap();
            if !line.contains("\"stop\"") {
                writeln!(socket, "{{\"return\": {{\"running\": true}}}}").unwrap();
            }
        }
        socket.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
        let early = lines.read_line(&mut line);
        assert!(early.is_err(), "let go before it had stopped: {line}");
        writeln!(socket, "{{\"return\": {{}}}}").unwrap();
        socket.set_read_timeout(None).unwrap();
        // Who lets it go is not alone: its guardian may be as quick.
        for _ in lines.lines().map_while(Result::ok) {
            let _ = writeln!(socket, "{{\"return\": {{}}}}");
        }
    });
    let stalls = stall(&request(Target::Guest(path), 20));
    monitor.join().unwrap();
    assert!(stalls.unwrap().achieved[0] >= Picoseconds::from_millis(20));
}

/// A socket that answers as QEMU's monitor does, and an event in between.
#[test]
fn a_guest_is_stopped_by_its_monitor() {
    let (_folder, path, monitor) = monitored(|mut socket| {
        let mut commands = Vec::new();
        // What is sent to who reads no more ends the connection.
        for line in BufReader::new(socket.try_clone().unwrap()).lines().map_while(Result::ok) {
            let status = if line.contains("query-status") { "\"running\": true" } else { "" };
            if line.contains("\"stop\"") {
                writeln!(socket, "{{\"event\": \"STOP\"}}").unwrap();
            }
            // Nobody waits for the answer to the guardian's `cont`.
            let answered = writeln!(socket, "{{\"return\": {{{status}}}}}");
            assert!(answered.is_ok() || commands.last() == Some(&line), "{line}: {answered:?}");
            commands.push(line);
        }
        commands
    });
    let stalls = stall(&request(Target::Guest(path.clone()), 20)).unwrap();
    assert!(stalls.achieved[0] >= Picoseconds::from_millis(20));
    assert_eq!(stalls.target, format!("the guest behind {}", path.display()));
    let mut commands: Vec<String> = monitor.join().unwrap();
    // The guardian may have been as quick.
    commands.dedup();
    let expected = ["qmp_capabilities", "query-status", "stop", "cont"];
    assert_eq!(commands, expected.map(|command| format!("{{\"execute\":\"{command}\"}}")));
}
