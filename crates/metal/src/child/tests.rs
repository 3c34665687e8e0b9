//! Children that hang, fork, crash and write too much, and parents that are killed.

use super::*;

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null());
    command
}

fn ample() -> Bounds {
    Bounds::within(Duration::from_secs(60))
}

#[test]
fn status_and_output_come_back() {
    let finished = run(shell("echo out; echo err >&2; exit 7"), ample()).unwrap();
    assert_eq!(finished.end, End::Exited(7));
    assert_eq!((finished.stdout.as_slice(), finished.stderr.as_slice()), (&b"out\n"[..], &b"err\n"[..]));
}

#[test]
fn a_signal_is_told_from_a_status() {
    assert_eq!(run(shell("kill -SEGV $$"), ample()).unwrap().end, End::Signalled(libc::SIGSEGV));
}

/// Waits for the end of the process whose number was written. Killed is not gone yet; that it is no more at
/// all is as good.
fn gone(number: &[u8]) -> bool {
    let number: i32 = std::str::from_utf8(number).unwrap().trim().parse().unwrap();
    match pidfd_open(Pid::from_raw(number).unwrap(), PidfdFlags::empty()) {
        Ok(pidfd) => wait_for(&pidfd, &[], Duration::from_secs(60)).unwrap(),
        Err(error) => error == Errno::SRCH,
    }
}

#[test]
fn a_child_that_hangs_is_ended_with_all_its_group() {
    // How soon a shell has come to speak is the machine's business: one that has not gets more time.
    let spoke = [200, 2_000, 20_000, 200_000].into_iter().any(|milliseconds| {
        let bounds = Bounds::within(Duration::from_millis(milliseconds));
        // The grandchild holds the output open and would keep a reader waiting for ever.
        let finished = run(shell("sleep 1000 & echo $!; wait"), bounds).unwrap();
        assert_eq!(finished.end, End::OutOfTime);
        let spoke = finished.stdout.ends_with(b"\n");
        assert!(!spoke || gone(&finished.stdout));
        spoke
    });
    assert!(spoke);
}

#[test]
fn a_child_that_ends_takes_what_it_left_behind_with_it() {
    let finished = run(shell("sleep 1000 & echo $!; exit 3"), ample()).unwrap();
    assert_eq!(finished.end, End::Exited(3));
    assert!(gone(&finished.stdout));
}

#[test]
fn a_child_dropped_unwaited_takes_its_group_with_it() {
    let mut command = shell("sleep 1000 >/dev/null & echo $!");
    command.stdout(Stdio::piped());
    let mut running = start(command, ample()).unwrap();
    while !running.ended(Duration::from_secs(60)).unwrap() {
        running.stdout.drain().unwrap();
    }
    running.stdout.drain().unwrap();
    let output_so_far = running.stdout.kept.clone();
    drop(running);
    assert!(gone(&output_so_far));
}

#[test]
fn a_child_whose_parent_is_gone_does_not_begin() {
    let spawned = |parent: Pid| {
        let mut command = shell("exit 0");
        // SAFETY: two system calls; nothing is allocated.
        unsafe { command.pre_exec(move || die_with(parent).map_err(Into::into)) };
        command.status().map(|status| status.code())
    };
    assert_eq!(spawned(getpid()).unwrap(), Some(0));
    // Somebody else is the parent: the one that was said is not there any more.
    let other = Pid::from_raw(i32::MAX).unwrap();
    assert_eq!(spawned(other).unwrap_err().raw_os_error(), Some(libc::ESRCH));
}

#[test]
fn output_beyond_the_bound_is_dropped_and_the_child_still_ends() {
    let finished = run(shell("head -c 300000 /dev/zero"), Bounds { output: 1000, ..ample() }).unwrap();
    assert_eq!((finished.end, finished.stdout.len()), (End::Exited(0), 1000));
}

#[test]
fn lines_come_one_by_one_and_the_last_needs_no_end() {
    let mut lines = Vec::new();
    let mut each = |line: &[u8]| lines.push(String::from_utf8(line.to_vec()).unwrap());
    let end = feed(shell("echo one; echo; printf two; exit 4"), ample(), &mut each).unwrap();
    assert_eq!((end, lines.join("|").as_str()), (End::Exited(4), "one||two"));
}

#[test]
fn a_deadline_beyond_all_clocks_is_one() {
    assert!(run(shell("exit 0"), Bounds::within(Duration::MAX)).unwrap().end.success());
}

#[test]
fn a_child_ignores_no_signal() {
    let was = dispose(libc::SIGUSR2, Some(&action(libc::SIG_IGN))).unwrap();
    // A shell cannot undo that it was started with a signal ignored (POSIX, `trap`).
    let end = run(shell("kill -USR2 $$; exit 0"), ample()).unwrap().end;
    dispose(libc::SIGUSR2, Some(&was)).unwrap();
    assert_eq!(end, End::Signalled(libc::SIGUSR2));
}

#[test]
fn a_file_is_bounded_and_what_was_written_stays() {
    for (bytes, expected) in [(1000, true), (1001, false)] {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut command = shell("exec head -c \"$0\" /dev/zero");
        command.arg(bytes.to_string()).stdout(file.reopen().unwrap());
        let running = start(command, Bounds { file: Some(1000), ..ample() }).unwrap();
        assert_eq!(running.wait().unwrap().success(), expected, "{bytes}");
        assert_eq!(std::fs::read(file.path()).unwrap().len(), 1000);
    }
}

const STARTED: &str = "TENBIN_TEST_CHILD_GROUP";

/// Killed, ended or crashed: a process of its own, whose child's child holds its output open. That closes
/// when both are gone.
#[test]
fn however_the_process_ends_its_groups_end() {
    if let Ok(signal) = std::env::var(STARTED) {
        let mut command = shell("trap '' TERM INT HUP; echo started; sleep 1000 & wait");
        command.stdout(Stdio::inherit());
        let running = start(command, ample()).unwrap();
        let mut line = String::new();
        // Its parent says when it has heard of the child.
        std::io::stdin().read_line(&mut line).unwrap();
        let signal = signal.parse().ok().and_then(Signal::from_named_raw).unwrap();
        kill_process(getpid(), signal).unwrap();
        running.wait().unwrap();
        unreachable!("it has ended");
    }
    for signal in [Signal::KILL, Signal::TERM, Signal::INT, Signal::ABORT, Signal::HUP] {
        // Whoever runs the tests in the background of a shell ignores SIGINT, and so would a child.
        let mut command = Command::new("env");
        let own = "child::tests::however_the_process_ends_its_groups_end";
        command.arg("--default-signal").arg(std::env::current_exe().unwrap());
        command.args(["--exact", own, "--nocapture"]).env(STARTED, signal.as_raw().to_string());
        let mut process = Alone(command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap());
        let mut output = io::BufReader::new(process.0.stdout.take().unwrap());
        let mut output_so_far = String::new();
        while !output_so_far.contains("started\n") {
            assert_ne!(
                io::BufRead::read_line(&mut output, &mut output_so_far).unwrap(),
                0,
                "{output_so_far}"
            );
        }
        drop(process.0.stdin.take());
        assert_eq!(End::from(process.0.wait().unwrap()), End::Signalled(signal.as_raw()));
        // To the end, which who is left would keep away for as long as it sleeps.
        output.read_to_string(&mut output_so_far).unwrap();
    }
}

#[test]
fn memory_is_bounded() {
    let greedy = "exec 2>/dev/null; dd if=/dev/zero of=/dev/null bs=512M count=1";
    let without = run(shell(greedy), ample()).unwrap();
    let within = run(shell(greedy), Bounds { memory: Some(128 << 20), ..ample() }).unwrap();
    assert_eq!(without.end, End::Exited(0));
    assert_ne!(within.end, End::Exited(0));
}

#[test]
fn a_child_with_passed_through_output_ends_in_time() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let mut command = shell("echo through; exit 5");
    command.stdout(file.reopen().unwrap());
    assert_eq!(through(command, Duration::from_secs(60)).unwrap(), End::Exited(5));
    assert_eq!(std::fs::read(file.path()).unwrap(), b"through\n");
    assert_eq!(through(shell("kill -KILL $$"), Duration::from_secs(60)).unwrap(), End::Signalled(9));
    let hangs = shell("exec sleep 1000");
    assert_eq!(through(hangs, Duration::from_millis(100)).unwrap(), End::OutOfTime);
    assert!(through(Command::new("/no/such/program"), Duration::from_secs(60)).is_err());
}

#[test]
fn a_program_that_is_not_there_is_a_fault_that_names_it() {
    let fault = run(Command::new("/no/such/program"), ample()).unwrap_err();
    assert!(fault.to_string().contains("/no/such/program"), "{fault}");
}
