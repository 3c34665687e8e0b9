//! Lines, logs and tables, and the real ones of `fixtures/strace`.

use std::fs;
use std::io::Cursor;
use std::path::Path;

use proptest::prelude::*;
use tenbin_model::Picoseconds;
use tenbin_model::profile::{Activity, Kind};

use super::clock::{Stamp, StampKind};
use super::line::{Event, Line, Outcome};
use super::*;

fn read_text(text: impl AsRef<[u8]>) -> Profile {
    read(&mut Cursor::new(text)).unwrap()
}

fn fixture(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/strace").join(name)).unwrap()
}

fn of<'a>(profile: &'a Profile, name: &str) -> &'a Activity {
    profile.activities.iter().find(|activity| activity.name == name).unwrap_or_else(|| panic!("no {name}"))
}

#[test]
fn a_call_ends_outside_of_strings_and_decorations() {
    for (line, outcome, took) in [
        (r#"read(3, "a) = 7 <0.1>", 10) = 5 <0.000010>"#, Outcome::Succeeded, Some(10_000)),
        (r#"read(3, "\") = 7", 10)    = 5"#, Outcome::Succeeded, None),
        (r#"read(3</tmp/a) = 0>, "", 10) = -1 EIO (I/O error) <0.5>"#, Outcome::Failed, Some(500_000_000)),
        (r#"openat(AT_FDCWD</>, "x", 0) = 3</tmp/a) = -1 E> <0.000001>"#, Outcome::Succeeded, Some(1_000)),
        (r#"read(3<TCP:[10.0.0.1:22->10.0.0.2:1]>, "", 1) = 0 <0>"#, Outcome::Succeeded, Some(0)),
        (r#"write(1</dev/pts/0<char 136:0>>, "x", 1) = 1 <0.000000012>"#, Outcome::Succeeded, Some(12)),
        (
            r"mmap(NULL, 1, PROT_READ, MAP_HUGETLB|21<<MAP_HUGE_SHIFT, 3, 0) = 0x7f00",
            Outcome::Succeeded,
            None,
        ),
        (
            r"poll([{fd=3}], 1, -1) = 1 ([{fd=3, revents=POLLIN}]) <1.5>",
            Outcome::Succeeded,
            Some(1_500_000_000),
        ),
        (r"wait4(-1, 0x7f, 0, NULL) = ? ERESTARTSYS (To be restarted)", Outcome::Failed, None),
        (r"futex(0x7f, FUTEX_WAIT <unfinished ...>) = ?", Outcome::Never, None),
        (r"exit_group(0)                = ?", Outcome::Never, None),
        (r"read(3, 0x7f, 1) = ? <unavailable>", Outcome::Succeeded, None),
        (r"foo(1) = -1 (errno 999)", Outcome::Failed, None),
        (
            r"syscall_0x1ff(0, 1) = -1 ENOSYS (Function not implemented) (INJECTED) <0.1>",
            Outcome::Failed,
            Some(100_000_000),
        ),
        (r"getpriority(PRIO_PROCESS, 0) = -3", Outcome::Succeeded, None),
    ] {
        match Line::of(line.as_bytes()).event {
            Event::Called { returned, .. } => {
                assert_eq!((returned.outcome, returned.took), (outcome, took), "{line}")
            }
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn a_leader_has_its_thread_its_name_and_its_stamp() {
    let stamp = |kind, nanoseconds, decimals| Some(Stamp { kind, nanoseconds, decimals });
    let epoch = |nanoseconds| stamp(StampKind::Epoch, nanoseconds, 6);
    let midnight = |nanoseconds| stamp(StampKind::Midnight, nanoseconds, 6);
    let before = |nanoseconds, decimals| stamp(StampKind::LineBefore, nanoseconds, decimals);
    for (leader, thread, name, time) in [
        ("", None, None, None),
        ("4012  ", Some(4012), None, None),
        ("123456 ", Some(123_456), None, None),
        ("[pid  4012] ", Some(4012), None, None),
        ("[pid  4012<a b>] ", Some(4012), Some("a b"), None),
        ("4012<sh> 00:00:01.500000 ", Some(4012), Some("sh"), midnight(1_500_000_000)),
        ("4012  1795756866.279956 ", Some(4012), None, epoch(1_795_756_866_279_956_000)),
        ("12.000001 ", None, None, epoch(12_000_001_000)),
        ("4012       0.000450849 ", Some(4012), None, before(450_849, 9)),
        ("     0.000012 ", None, None, before(12_000, 6)),
        ("     2 ", None, None, before(2_000_000_000, 0)),
        ("1795756866 ", None, None, stamp(StampKind::Epoch, 1_795_756_866_000_000_000, 0)),
        ("23:59:59 ", None, None, stamp(StampKind::Midnight, 86_399_000_000_000, 0)),
        (
            "[pid    12] 00:00:00.000001 (+     0.000004) [  16] [00007f7cc77ad000] ",
            Some(12),
            None,
            midnight(1_000),
        ),
        ("12    [unconfined_t] 1.000000 ", Some(12), None, epoch(1_000_000_000)),
    ] {
        let line = format!("{leader}close(3)                = 0");
        let line = Line::of(line.as_bytes());
        assert!(matches!(line.event, Event::Called { call: b"close", .. }), "{leader}: {:?}", line.event);
        let read = (line.thread, line.name.map(|name| std::str::from_utf8(name).unwrap()), line.stamp);
        assert_eq!(read, (thread, name, time), "{leader}");
    }
}

#[test]
fn other_lines_are_told_apart() {
    for (line, event) in [
        ("+++ exited with 3 +++", Event::Ended { status: Some(3) }),
        ("+++ killed by SIGSEGV (core dumped) +++", Event::Ended { status: Some(256 + 11) }),
        ("+++ killed by SIGRT_2 +++", Event::Ended { status: Some(256 + 34) }),
        ("7     +++ superseded by execve in pid 9 +++", Event::Superseded { by: 9 }),
        ("strace: Process 12 attached", Event::Attached { thread: 12 }),
        ("/usr/bin/strace: Process 12 detached", Event::Note),
        ("--- SIGCHLD {si_signo=SIGCHLD} ---\r", Event::Note),
        ("--- stopped by SIGSTOP ---", Event::Note),
        (" | 00000  61 62                                             ab |", Event::Note),
        (" > /lib/x86_64-linux-gnu/libc.so.6(__read+0x4d) [0xfa0ad]", Event::Note),
        ("hello", Event::Other(b"hello")),
        ("", Event::Note),
    ] {
        assert_eq!(Line::of(line.as_bytes()).event, event, "{line}");
    }
}

#[test]
fn counts_and_errors_equal_those_of_strace() {
    for name in ["stamps", "plain", "decorated", "nanoseconds", "terminal", "killed", "threads"] {
        let text = fixture(&format!("{name}.log"));
        let head = text.windows(6).position(|part| part == b"% time").unwrap();
        let (log, table) = (read_text(&text), read_text(&text[head..]));
        let counts = |profile: &Profile| {
            let mut counts: Vec<(String, u64, u64)> = profile
                .activities
                .iter()
                .filter(|activity| activity.count > 0)
                .map(|activity| (activity.name.clone(), activity.count, activity.errors))
                .collect();
            counts.sort();
            counts
        };
        assert_eq!(counts(&log), counts(&table), "{name}");
        assert!(!log.unseen.iter().any(|sentence| sentence.contains("read;")), "{name}: {:?}", log.unseen);
    }
}

#[test]
fn stamps_and_times_say_where_each_thread_was() {
    let profile = read_text(
        "10    1000.000000 execve(\"/bin/sh\", [\"sh\", \"-c\", \"a \\\"b\\\"\"...], 0x7f /* 2 vars */) = 0 <0.001000>\n\
         10    1000.002000 clone3({flags=CLONE_VM|CLONE_THREAD}, 88) = 11 <0.000500>\n\
         10    1000.003000 futex(0x7f, FUTEX_WAIT <unfinished ...>\n\
         11    1000.003000 write(1, \"x\", 1) = -1 EPIPE (Broken pipe) <0.001000>\n\
         11    1000.006000 exit(0)           = ?\n\
         11    1000.007000 +++ exited with 0 +++\n\
         10    1000.008000 <... futex resumed>) = 0 <0.005000>\n\
         10    1000.010000 exit_group(3)     = ?\n\
         10    1000.010000 +++ exited with 3 +++\n",
    );
    assert_eq!(profile.command, ["sh", "-c", "a \"b\"..."]);
    assert_eq!(profile.started, "1970-01-01T00:16:40Z");
    assert_eq!((profile.wall, profile.exit_status), (Some(Picoseconds::from_micros(10_000)), Some(3)));
    let parts: Vec<_> = profile
        .threads
        .iter()
        .map(|it| {
            (
                it.process,
                it.thread,
                it.name.as_str(),
                [it.wall, it.user, it.kernel, it.blocked].map(|time| time.0 / 1_000_000),
            )
        })
        .collect();
    assert_eq!(
        parts,
        [(10, 10, "sh", [10_000, 3_500, 1_500, 5_000]), (10, 11, "sh", [4_000, 2_000, 2_000, 0])]
    );
    let (futex, write) = (of(&profile, "futex"), of(&profile, "write"));
    assert_eq!((futex.kind, futex.count, futex.total), (Kind::Wait, 1, Picoseconds::from_micros(5_000)));
    assert_eq!((write.kind, write.errors, write.histogram.len()), (Kind::Call, 1, 20));
    let (exit, user) = (of(&profile, "exit"), of(&profile, USER_CODE));
    assert_eq!((exit.count, exit.in_flight, exit.total), (0, 1, Picoseconds::from_micros(1_000)));
    assert_eq!(
        (user.kind, user.total, user.longest),
        (Kind::User, Picoseconds::from_micros(5_500), Picoseconds::from_micros(2_000))
    );
}

#[test]
fn what_a_log_lacks_is_a_sentence() {
    for (text, sentence) in [
        ("close(3) = 0\n", "How long its calls took is not in the log"),
        ("close(3) = 0 <0.000001>\n", "The log has no stamps"),
        ("close(3) = 0 <0.001>\n", "in whole milliseconds"),
        ("10:00:00 close(3) = 0 <0.000001>\n", "The stamps of the log are in whole seconds"),
        ("1.000000 close(3) = 0 <0.000001>\n", "an upper bound"),
        ("fork() = 7\n", "It made another process or thread"),
        (
            "close(3) = 0\nhello\nclose(3) = 0\nyou\n",
            "2 of 4 lines could not be read; the first is line 2: `hello`.",
        ),
        ("close(3) = 0\nclose(4) = ", "The last line is cut off."),
        ("1 <... read resumed>) = 0\n", "1 call ends in the log and began outside it"),
        ("1 read(3 <unfinished ...>\n1 close(3) = 0\n", "1 call begins in the log without an end"),
        ("23:59:59 close(3) = 0\n00:00:01 close(3) = 0\n", "midnight passed once"),
        ("5.000000 close(3) = 0\n4.000000 close(3) = 0\n", "1 line has a stamp that"),
    ] {
        let profile = read_text(text);
        assert!(profile.unseen.iter().any(|it| it.contains(sentence)), "{text}: {:?}", profile.unseen);
    }
}

#[test]
fn midnight_is_passed_and_late_lines_are_not_the_next_day() {
    let profile = read_text(
        "1 23:59:59.000000 close(3) = 0 <0.000001>\n2 00:00:00.500000 close(3) = 0 <0.000001>\n\
         1 23:59:59.950000 close(3) = 0 <0.000001>\n2 00:00:02.000000 close(3) = 0 <0.000000>\n",
    );
    assert_eq!(profile.wall, Some(Picoseconds::from_micros(3_000_000)));
}

#[test]
fn a_call_goes_on_behind_what_the_command_writes() {
    let profile = read_text(
        "write(1, \"a\\n\", 2a\n)                      = 2 <0.000004>\n\
         clone(child_stack=NULL, flags=CLONE_THREADstrace: Process 9 attached\n <unfinished ...>\n\
         [pid     9] close(3) = 0 <0.000001>\n[pid     8] <... clone resumed>, tid=0x7f) = 9 <0.000002>\n\
         write(1, \"b\", 1b\n",
    );
    assert_eq!((of(&profile, "write").count, of(&profile, "clone").count), (1, 1));
    let numbers: Vec<_> = profile.threads.iter().map(|thread| (thread.process, thread.thread)).collect();
    assert_eq!(numbers, [(8, 8), (8, 9)]);
    assert!(profile.unseen.iter().any(|it| it.contains("1 of 7 lines could not be read: line 7")));
}

#[test]
fn an_execve_of_another_thread_goes_on_under_the_first() {
    let profile = read_text(
        "5 pause( <unfinished ...>\n6 execve(\"/bin/true\", [\"true\"], 0x7f <unfinished ...>\n\
         5 +++ superseded by execve in pid 6 +++\n5 <... execve resumed>) = 0\n5 exit_group(0) = ?\n\
         5 +++ exited with 0 +++\n",
    );
    assert_eq!((of(&profile, "pause").in_flight, of(&profile, "execve").count), (1, 1));
    assert!(!profile.unseen.iter().any(|it| it.contains("outside it")));
}

#[test]
fn more_threads_than_are_listed_are_counted() {
    let log: String =
        (1..=5_000).map(|thread| format!("{thread} 1.000000 close(3) = 0 <0.000001>\n")).collect();
    let profile = read_text(log);
    assert_eq!((profile.threads.len(), profile.more_threads), (4096, 904));
    assert_eq!(of(&profile, "close").count, 5_000);
}

#[test]
fn a_table_has_counts_errors_and_times() {
    let profile = read_text(fixture("table.txt"));
    assert_eq!((of(&profile, "wait4").count, of(&profile, "wait4").errors), (6, 2));
    let walls = read_text(
        "% time     seconds  wall-total wall-max     calls    errors syscall\r\n\
         ------ ----------- ----------- -------- --------- --------- ----------------\r\n\
         \x2090.00    0.000200    1.500000 1.400000         3         1 wait4\r\n\
         \x2010.00    0.000100    0.000110 0.000060         2           close\r\n\
         ------ ----------- ----------- -------- --------- --------- ----------------\r\n\
         100.00    0.000300    1.500110 0.000000         5         1 total\r\n",
    );
    let wait = of(&walls, "wait4");
    assert_eq!((wait.count, wait.errors, wait.total), (3, 1, Picoseconds::from_micros(1_500_000)));
    assert_eq!(wait.longest, Picoseconds::from_micros(1_400_000));
    let split = wait.split.unwrap();
    assert_eq!(
        (split.on_cpu.0 + split.blocked.0, split.on_cpu),
        (wait.total.0, Picoseconds::from_micros(200))
    );
}

#[test]
fn columns_of_a_table_stand_in_any_order() {
    let profile = read_text(fixture("table-columns.txt"));
    let wait = of(&profile, "rt_sigsuspend");
    assert_eq!((wait.count, wait.errors, wait.total), (1, 1, wait.longest));
    assert!(wait.total > Picoseconds::ZERO);
    assert_eq!(of(&profile, "clock_nanosleep").errors, 0);
}

#[test]
fn what_is_no_profile_says_what_it_is() {
    let failure = |text: &[u8]| read(&mut Cursor::new(text.to_vec())).unwrap_err().to_string();
    assert!(failure(b" \n\n").starts_with("the log of strace is empty"));
    let other = failure(b"\n{\"a\": 1}\nxyz\n");
    assert!(other.contains("none of its 3 lines is a system call, and the first is `{\"a\": 1}`"), "{other}");
    assert!(failure(&fixture("table-counts.txt")).contains("only `calls`, `errors` and `syscall`"));
}

/// Every line is read or not read: what a profile says of them sums to all.
fn unread(text: &[u8]) -> (u64, u64) {
    let mut log = Log::default();
    log.lines(&mut &text[..]).unwrap();
    log.gives_up_torn();
    (log.lines, log.unread)
}

proptest! {
    #[test]
    fn no_bytes_are_a_panic(text in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let _ = read(&mut &text[..]);
        let (lines, unread) = unread(&text);
        prop_assert!(unread <= lines);
    }

    #[test]
    fn no_mixture_of_its_words_is_a_panic(
        words in proptest::collection::vec(proptest::sample::select(&[
            "[pid ", "12", "  ", "<", ">", "sh", "] ", "1.5 ", "99999999999", "23:59:59 ", "(", ")", " = ", "-1 E",
            "?", "\"", "\\", "read", "exit", "execve(\"", "clone(CLONE_THREAD", "<... read resumed>", "<unfinished ...>",
            "+++ exited with 0 +++", "+++ superseded by execve in pid 12 +++", "% time seconds calls syscall",
            "total", "-----", "\n", "\r\n", "\0", "é", " <0.1>", "strace: Process 12 attached", ", ", "...",
        ][..]), 0..80)
    ) {
        let text = words.concat();
        let _ = read(&mut text.as_bytes());
        let (lines, unread) = unread(text.as_bytes());
        prop_assert!(unread <= lines);
    }

    #[test]
    fn a_log_cut_anywhere_loses_its_last_line_alone(at in 0_usize..40_000) {
        let whole = fixture("stamps.log");
        let head = whole.windows(6).position(|part| part == b"% time").unwrap();
        let text = &whole[..at % head];
        let (lines, unread) = unread(text);
        prop_assert_eq!(lines, text.split_inclusive(|&byte| byte == b'\n').count() as u64);
        prop_assert!(unread <= 1);
        if unread == 0 && lines > 0 {
            prop_assert!(text.ends_with(b"\n") || text.ends_with(b"---") || text.ends_with(b"+++"));
        }
    }
}
