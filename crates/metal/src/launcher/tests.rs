use super::*;

fn text(text: &str) -> CString {
    CString::new(text).unwrap()
}

/// A shell that runs `script`.
fn shell(script: &str) -> Launch {
    Launch {
        program: text("/bin/sh"),
        arguments: ["sh", "-c", script].map(text).into(),
        environment: Vec::new(),
        folder: None,
        cpus: Vec::new(),
        first: None,
        input: None,
        output: Sink::HandOver,
        errors: Sink::Null,
        deadline: Duration::from_secs(60),
        leaves: false,
        small: false,
        counted: false,
    }
}

fn run(launcher: &mut Launcher, launch: &Launch) -> (Launched, String) {
    let mut output = Vec::new();
    let launched = launcher.run(launch, true, &mut |_, part| output.extend_from_slice(part)).unwrap();
    (launched, String::from_utf8(output).unwrap())
}

/// A program that asks at once where it may run is told what any other is: whoever starts as many threads as
/// there are CPUs is not to start one. Short as it is, a time without that would be met by one in many runs.
#[test]
fn a_command_that_begins_on_a_cpu_may_leave_it() {
    const RUNS: usize = 200;
    let mut launcher = Launcher::start().unwrap();
    let asks = Launch {
        program: text("/bin/sed"),
        arguments: ["sed", "-n", "s/Cpus_allowed_list:.//p", "/proc/self/status"].map(text).to_vec(),
        ..shell("")
    };
    let (_, free) = run(&mut launcher, &asks);
    for cpu in crate::allowed_cpus().unwrap() {
        let launch = Launch { first: Some(cpu), ..asks.clone() };
        for turn in 0..RUNS {
            let (launched, mask) = run(&mut launcher, &launch);
            assert_eq!((launched.end, &mask), (ProcessEnd::Exited(0), &free), "{cpu:?}, {turn}");
        }
    }
    // What one that began somewhere leaves behind is not the next one's.
    assert_eq!(run(&mut launcher, &asks).1, free);
}

#[test]
fn a_command_is_run_and_its_end_is_known() {
    let mut launcher = Launcher::start().unwrap();
    let (launched, output) = run(&mut launcher, &shell("echo out; echo err >&2; exit 3"));
    assert_eq!((launched.end, output.as_str()), (ProcessEnd::Exited(3), "out\n"));
    assert!(launched.elapsed.0 > 0 && launched.peak_memory.0 > 0 && launched.left == 0, "{launched:?}");
    let (launched, _) = run(&mut launcher, &shell("kill -9 $$"));
    assert_eq!(launched.end, ProcessEnd::Signalled(libc::SIGKILL));
}

#[test]
fn what_hardware_counts_grows_with_work_or_is_refused() {
    let mut launcher = Launcher::start().unwrap();
    let mut counts = |turns| {
        let (program, path) = Launcher::countdown(turns).unwrap();
        let launch = Launch { program: path, counted: true, ..shell("") };
        let launched = launcher.run(&launch, true, &mut |_, _| {});
        drop(program);
        launched.map(|launched| launched.counts)
    };
    for _ in 0..4 {
        match [counts(100_000), counts(300_000)] {
            [Ok(Some(one)), Ok(Some(three))] => {
                let more = three.instructions - one.instructions;
                assert!((400_000..420_000).contains(&more), "{one:?} {three:?}");
                assert!(one.instructions >= 200_000 && one.cycles > 0, "{one:?}");
            }
            [Err(one), Err(other)] => {
                eprintln!("no counters here: {one}");
                for fault in [one, other] {
                    assert!(fault.to_string().contains("count the instructions of"), "{fault}");
                }
            }
            others => panic!("{others:?}"),
        }
    }
    // One that is not counted needs no counters.
    assert_eq!(run(&mut launcher, &shell("true")).0.counts, None);
}

#[test]
fn folder_environment_and_streams_are_those_that_were_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| text(folder.path().join(name).to_str().unwrap());
    std::fs::write(folder.path().join("in"), "input").unwrap();
    let mut launcher = Launcher::start().unwrap();
    let launch = Launch {
        environment: vec![text("HOME=elsewhere"), text("ADDED=here")],
        folder: Some(text(folder.path().to_str().unwrap())),
        input: Some(path("in")),
        errors: Sink::File(path("err")),
        ..shell("cat; echo \" $HOME $ADDED $TENBIN_LAUNCHER\"; pwd -P >&2; kill -l | head -c 0")
    };
    let (launched, output) = run(&mut launcher, &launch);
    assert_eq!((launched.end, output.as_str()), (ProcessEnd::Exited(0), "input elsewhere here \n"));
    let written = std::fs::read_to_string(folder.path().join("err")).unwrap();
    assert_eq!(written.trim_end(), folder.path().canonicalize().unwrap().to_str().unwrap());
}

#[test]
fn what_cannot_be_started_says_which_step_failed_and_why() {
    let mut launcher = Launcher::start().unwrap();
    let mut fails = |launch: Launch| launcher.run(&launch, true, &mut |_, _| {}).unwrap_err().to_string();
    let wrong = Launch { program: text("/nowhere"), ..shell("") };
    assert_eq!(fails(wrong), "start `/nowhere`: No such file or directory (os error 2)");
    let wrong = Launch { folder: Some(text("/nowhere")), ..shell("") };
    assert!(fails(wrong).starts_with("enter the folder of `/bin/sh`: No such file"));
    let wrong = Launch { input: Some(text("/nowhere")), ..shell("") };
    assert!(fails(wrong).starts_with("open the input of `/bin/sh`: No such file"));
    let wrong = Launch { program: text("/"), ..shell("") };
    assert!(fails(wrong).starts_with("start `/`: Permission denied"));
    // And it goes on afterwards.
    assert_eq!(run(&mut launcher, &shell("exit 0")).0.end, ProcessEnd::Exited(0));
}

#[test]
fn whatever_is_written_is_read_and_no_pipe_blocks_a_command() {
    let mut launcher = Launcher::start().unwrap();
    let (launched, output) = run(&mut launcher, &shell("head -c 3000000 /dev/zero | tr '\\0' x"));
    assert_eq!((launched.end, output.len()), (ProcessEnd::Exited(0), 3_000_000));
    let discarded = Launch { output: Sink::Discard, ..shell("head -c 3000000 /dev/zero") };
    let (launched, output) = run(&mut launcher, &discarded);
    assert_eq!((launched.end, output.as_str()), (ProcessEnd::Exited(0), ""));
}

#[test]
fn what_a_command_leaves_running_is_ended_after_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pids");
    let mut launcher = Launcher::start().unwrap();
    // One in its group, and one that has a session of its own.
    let script = format!("sleep 600 & echo $! >{0}; setsid sleep 600 & echo $! >>{0}", file.display());
    let (launched, _) = run(&mut launcher, &Launch { output: Sink::Null, ..shell(&script) });
    assert_eq!((launched.end, launched.left), (ProcessEnd::Exited(0), 2));
    for pid in std::fs::read_to_string(file).unwrap().lines() {
        assert!(!std::path::Path::new(&format!("/proc/{pid}")).exists(), "{pid}");
    }
}

#[test]
fn what_may_go_on_does_so_until_the_launcher_ends() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let mut launcher = Launcher::start().unwrap();
    let server = format!("setsid sleep 600 & echo $! >{}", file.display());
    let server = Launch { leaves: true, output: Sink::Null, ..shell(&server) };
    assert_eq!(run(&mut launcher, &server).0.left, 1);
    let place = format!("/proc/{}", std::fs::read_to_string(file).unwrap().trim());
    let (launched, _) = run(&mut launcher, &shell("exit 0"));
    assert_eq!((launched.left, std::path::Path::new(&place).exists()), (0, true));
    drop(launcher);
    assert!(!std::path::Path::new(&place).exists());
}

/// A server that says something is not ended by that, whoever has read it before.
#[test]
fn what_goes_on_may_write_where_nobody_listens_any_more() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pid");
    let mut launcher = Launcher::start().unwrap();
    let server = format!("(while echo word >&2; do :; done) & echo $! >{}", file.display());
    let server = Launch { leaves: true, output: Sink::Null, errors: Sink::HandOver, ..shell(&server) };
    assert_eq!(run(&mut launcher, &server).0.left, 1);
    for _ in 0..20 {
        assert_eq!(run(&mut launcher, &shell("exit 0")).0.left, 0);
    }
    let place = format!("/proc/{}/stat", std::fs::read_to_string(file).unwrap().trim());
    let state = std::fs::read_to_string(place).unwrap();
    assert!(!state.contains(") Z "), "{state}");
    // Nor does what it says hide that a command says nothing.
    let (launched, _) = run(&mut launcher, &shell("kill -STOP $$; exit 0"));
    assert_eq!(launched.end, ProcessEnd::Stopped(libc::SIGSTOP));
}

/// What a setup started ends later than the setup, and leaves something that is the setup's too.
#[test]
fn whoever_is_of_a_group_that_may_go_on_may_go_on() {
    let folder = tempfile::tempdir().unwrap();
    let (fifo, pids) = (folder.path().join("fifo"), folder.path().join("pids"));
    let (fifo, pids) = (fifo.display(), pids.display());
    let mut launcher = Launcher::start().unwrap();
    let setup = format!(
        "mkfifo {fifo}; (read word <{fifo}; sleep 600 & echo $! >{pids}; exit) & echo $! >{pids}.first"
    );
    let setup = Launch { leaves: true, output: Sink::Null, ..shell(&setup) };
    assert_eq!(run(&mut launcher, &setup).0.left, 1);
    let go = format!(
        "echo go >{fifo}; read pid <{pids}.first; until grep -q ') Z ' /proc/$pid/stat; do :; done; cat {pids}"
    );
    let (launched, pid) = run(&mut launcher, &shell(&go));
    assert_eq!((launched.end, launched.left), (ProcessEnd::Exited(0), 0));
    let place = format!("/proc/{}", pid.trim());
    assert!(std::path::Path::new(&place).exists(), "{place}");
    drop(launcher);
    assert!(!std::path::Path::new(&place).exists(), "{place}");
}

#[test]
fn a_script_that_does_not_say_who_reads_it_is_read_by_a_shell() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let mut launcher = Launcher::start().unwrap();
    let mut program = |content: &str| {
        let path = folder.path().join("program");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        let launch = Launch {
            program: text("./program"),
            arguments: ["./program", "7"].map(text).into(),
            folder: Some(text(folder.path().to_str().unwrap())),
            ..shell("")
        };
        launcher.run(&launch, true, &mut |_, _| {})
    };
    assert_eq!(program("exit $1\n").unwrap().end, ProcessEnd::Exited(7));
    let error = program("\x7fELF of another machine").unwrap_err().to_string();
    assert!(error.contains("Exec format error"), "{error}");
}

#[test]
fn one_that_does_not_end_or_stops_is_ended() {
    let mut launcher = Launcher::start().unwrap();
    let late = Launch { deadline: Duration::from_millis(30), ..shell("sleep 600") };
    assert_eq!(run(&mut launcher, &late).0.end, ProcessEnd::OutOfTime);
    let (launched, _) = run(&mut launcher, &shell("kill -STOP $$; exit 0"));
    assert_eq!(launched.end, ProcessEnd::Stopped(libc::SIGSTOP));
}

/// The peak of a command is not that of whoever asked for it.
#[test]
fn a_small_command_has_a_small_peak_whoever_asks_for_it() {
    let large = vec![1_u8; 64 << 20];
    let mut launcher = Launcher::start().unwrap();
    let (launched, _) = run(&mut launcher, &shell("exit 0"));
    assert!(launched.peak_memory.0 < 16 << 20, "{launched:?} beside {}", std::hint::black_box(large).len());
    let (smaller, _) = run(&mut launcher, &Launch { small: true, ..shell("exit 0") });
    // Resident pages are added up in batches (`TASK_RSS_EVENTS_THRESH` in mm/memory.c, Linux 6.1: 64).
    let batch = 64 * 4096;
    assert!(smaller.peak_memory.0 <= launched.peak_memory.0 + batch, "{smaller:?} {launched:?}");
}

#[test]
fn a_countdown_takes_as_long_as_its_turns() {
    let mut launcher = Launcher::start().unwrap();
    let mut user = |turns| {
        let (file, path) = Launcher::countdown(turns).unwrap();
        let launch = Launch { program: path, ..shell("") };
        let (launched, _) = run(&mut launcher, &launch);
        drop(file);
        assert_eq!(launched.end, ProcessEnd::Exited(0), "{turns}");
        launched.usage.user
    };
    let (none, one) = (user(0), user(1));
    // No processor makes this many turns, one after the other, in a millisecond.
    let many = user(200_000_000);
    assert!(many > Picoseconds::from_millis(1), "{none} {one} {many}");
}
