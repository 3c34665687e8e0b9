use std::fs;
use std::process::Stdio;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{PidfdFlags, pidfd_open};

use super::*;

const AMPLE: Duration = Duration::from_secs(60);

fn shell(script: &str) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command
}

/// Every stop of a program that runs to its end, each resumed as `how` says for it.
fn stops(command: Command, how: fn(Stop) -> Option<i32>) -> Vec<(Thread, Stop)> {
    traced(command, AMPLE, |tracee| {
        tracee.resume(tracee.leader(), Until::SystemCall, None)?;
        let mut stops = Vec::new();
        while let Some((thread, stop)) = tracee.next_stop()? {
            stops.push((thread, stop));
            if !matches!(stop, Stop::Ended(_)) {
                tracee.resume(thread, Until::SystemCall, how(stop))?;
            }
        }
        Ok(stops)
    })
    .unwrap()
}

fn delivered(stop: Stop) -> Option<i32> {
    match stop {
        Stop::Signal(signal) => Some(signal),
        _ => None,
    }
}

#[test]
fn every_system_call_is_seen_at_its_entry_and_at_its_end() {
    let stops = stops(shell("exit 7"), delivered);
    let (last, before) = stops.split_last().unwrap();
    assert_eq!(last.1, Stop::Ended(End::Exited(7)));
    let (last, pairs) = before.split_last().unwrap();
    match last.1 {
        Stop::Entered(entered) => {
            assert_eq!(entered.number, libc::SYS_exit_group as u64);
            assert_eq!(entered.arguments[0], 7);
        }
        other => panic!("{other:?}"),
    }
    assert!(pairs.len() > 10);
    for pair in pairs.chunks(2) {
        match pair {
            [(_, Stop::Entered(entered)), (_, Stop::Left { .. })] => {
                assert!(entered.instruction > 0 && entered.stack > 0);
            }
            other => panic!("{other:?}"),
        }
    }
}

#[test]
fn children_are_followed_and_told_of_before_they_begin() {
    // Two, of which the second makes one more.
    let stops = stops(shell("(exit 3); ( (exit 4); exit 5 ); exit 6"), delivered);
    let mut announced = BTreeSet::new();
    let mut begun = BTreeSet::new();
    let mut ends = Vec::new();
    for (thread, stop) in stops {
        match stop {
            Stop::Born { child, .. } => assert!(announced.insert(child)),
            Stop::Begun => assert!(announced.contains(&thread) && begun.insert(thread)),
            Stop::Ended(end) => ends.push(end),
            _ => assert!(begun.contains(&thread) || !announced.contains(&thread)),
        }
    }
    assert_eq!(announced, begun);
    assert_eq!(ends, [3, 4, 5, 6].map(End::Exited));
}

#[test]
fn a_signal_is_delivered_or_kept_back() {
    let script = "kill -USR1 $$; exit 2";
    let ended = |how: fn(Stop) -> Option<i32>| stops(shell(script), how).pop().unwrap().1;
    assert_eq!(ended(delivered), Stop::Ended(End::Signalled(libc::SIGUSR1)));
    assert_eq!(ended(|_| None), Stop::Ended(End::Exited(2)));
}

/// Where a program begins, which its auxiliary vector says (getauxval(3)): pairs of words, `AT_ENTRY` is 9.
fn entry(thread: Thread) -> u64 {
    let vector = fs::read(format!("/proc/{thread}/auxv")).unwrap();
    let words: Vec<u64> = vector.chunks(8).map(|word| u64::from_ne_bytes(word.try_into().unwrap())).collect();
    words.chunks(2).find(|pair| pair[0] == 9).unwrap()[1]
}

#[test]
fn a_breakpoint_does_not_change_the_program() {
    traced(shell("exit 9"), AMPLE, |tracee| {
        let leader = tracee.leader();
        let at = entry(leader);
        let mut before = [0; 16];
        tracee.read(leader, at, &mut before)?;
        let breakpoint = tracee.plant(leader, at)?;
        let mut planted = [0; 16];
        tracee.read(leader, at, &mut planted)?;
        assert_ne!(before, planted);
        tracee.resume(leader, Until::Event, None)?;
        assert_eq!(tracee.next_stop()?, Some((leader, Stop::Trapped { at })));
        tracee.step_back(leader, breakpoint)?;
        tracee.read(leader, at, &mut planted)?;
        assert_eq!(before, planted);
        assert_eq!(tracee.registers(leader)?.instruction(), at);
        tracee.resume(leader, Until::Event, None)?;
        assert_eq!(tracee.next_stop()?, Some((leader, Stop::Ended(End::Exited(9)))));
        assert_eq!(tracee.next_stop()?, None);
        Ok(())
    })
    .unwrap();
}

/// Waits for the end of a process that somebody else waits for. That it is no more at all is as good.
fn gone(process: Thread) -> bool {
    const LONG: Timespec = Timespec { tv_sec: 60, tv_nsec: 0 };
    match pidfd_open(Pid::from_raw(process).unwrap(), PidfdFlags::empty()) {
        Ok(pidfd) => {
            poll(&mut [PollFd::new(&pidfd, PollFlags::IN)], Some(&LONG)).is_ok_and(|ready| ready == 1)
        }
        Err(error) => error == Errno::SRCH,
    }
}

#[test]
fn a_hanging_program_ends_at_the_deadline_with_its_children() {
    // How soon a shell has come to make a child is the machine's business: one that has not gets more time.
    let with_a_child = [1, 10, 100].into_iter().map(Duration::from_secs).any(|deadline| {
        let seen = Mutex::new(BTreeSet::new());
        let trouble = traced(shell("sleep 1000 & sleep 1000"), deadline, |tracee| {
            seen.lock().unwrap().insert(tracee.leader());
            tracee.resume(tracee.leader(), Until::Event, None)?;
            while let Some((thread, _)) = tracee.next_stop()? {
                seen.lock().unwrap().insert(thread);
                tracee.resume(thread, Until::Event, None)?;
            }
            Ok(())
        });
        assert!(matches!(trouble, Err(Trouble::OutOfTime(late)) if late == deadline), "{trouble:?}");
        let seen = seen.into_inner().unwrap();
        assert!(seen.iter().all(|&thread| gone(thread)));
        seen.len() > 1
    });
    assert!(with_a_child);
}

/// The kernel gives numbers again; here it is its words that are played, since none can be made to come soon.
#[test]
fn a_number_that_comes_again_is_a_new_thread() {
    const CHILD: Thread = 77;
    let stopped = libc::SIGSTOP << 8 | 0x7f;
    let living = Mutex::new(Living::default());
    for ended in [3 << 8, libc::SIGKILL] {
        for births in [BTreeMap::new(), BTreeMap::from([(CHILD, Half::Announced)])] {
            let (known, begun) = (BTreeSet::from([1, CHILD]), VecDeque::new());
            let mut tracee = Tracee { living: &living, deadline: AMPLE, leader: 1, births, begun, known };
            let end = tracee.understood(CHILD, ended).unwrap();
            assert!(matches!(end, Some(Stop::Ended(_))), "{end:?}");
            // The first half of a birth, and no signal that would be delivered and stop it for ever.
            assert_eq!(tracee.understood(CHILD, stopped).unwrap(), None);
            assert_eq!(tracee.births.get(&CHILD), Some(&Half::Stopped));
        }
    }
}

#[test]
fn what_the_work_leaves_running_is_ended() {
    let leader = traced(shell("sleep 1000"), AMPLE, |tracee| Ok(tracee.leader())).unwrap();
    assert!(gone(leader));
}

#[test]
fn an_untraceable_process_is_not_an_unstartable_one() {
    let mut twice = shell("exit 0");
    // SAFETY: one system call; nothing is allocated.
    unsafe { twice.pre_exec(request::trace_me) };
    assert!(matches!(traced(twice, AMPLE, |_| Ok(())), Err(Trouble::Forbidden(_))));
    match traced(Command::new("/no/such/program"), AMPLE, |_| Ok(())) {
        Err(Trouble::Fault(fault)) => assert!(fault.to_string().contains("/no/such/program"), "{fault}"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn registers_of_an_architecture_are_different_words() {
    for layout in [Layout::X86_64, Layout::AARCH64, Layout::RISCV64] {
        let mut words = layout.arguments.to_vec();
        words.extend([layout.stack, layout.instruction]);
        words.extend(layout.link);
        let distinct: BTreeSet<_> = words.iter().collect();
        assert_eq!(distinct.len(), words.len(), "{layout:?}");
        assert!(words.iter().all(|&word| word < layout.words) && layout.result < layout.words);
        assert!(!words[layout.arguments.len()..].contains(&layout.result));
    }
}
