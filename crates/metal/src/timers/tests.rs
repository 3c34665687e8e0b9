use std::fs;
use std::sync::atomic::AtomicBool;
use std::thread;

use rustix::process::{Pid, Signal, kill_process};
use rustix::thread::current_timer_slack;

use super::*;
use crate::pin::allowed_cpus;

const MICROSECONDS: u64 = 1_000_000;

fn waiters(count: usize) -> Waiters {
    Waiters::gather(Clock::kernel(), allowed_cpus().unwrap()[0], count).unwrap()
}

fn order(way: Way, microseconds: u64) -> Order {
    let length = Picoseconds(microseconds * MICROSECONDS);
    Order { way, slack: Slack::AsFound, length, after: Picoseconds::ZERO }
}

fn only(waiters: &mut Waiters, order: Order) -> Firing {
    let [firing] = <[Firing; 1]>::try_from(waiters.wait(&[order]).unwrap()).unwrap();
    firing
}

/// The kernel's promise, which holds under any load: no timer fires before its time, and each fires once.
#[test]
fn a_timer_never_fires_early_and_fires_once() {
    let mut waiters = waiters(1);
    for way in [Way::Timerfd, Way::Setitimer, Way::Sleep, Way::Futex, Way::Poll] {
        for slack in [Slack::AsFound, Slack::Least] {
            for microseconds in [50, 333, 2_000] {
                let firing = only(&mut waiters, Order { slack, ..order(way, microseconds) });
                assert_eq!((firing.early, firing.fired, firing.armed), (None, 1, false), "{firing:?}");
                assert!(firing.lap.shares.is_empty());
            }
        }
    }
}

/// Whoever sleeps gives the CPU away. A timer can be due before its caller could fall asleep, so many are
/// asked.
#[test]
fn who_waits_sleeps_and_who_spins_does_not() {
    let mut waiters = waiters(1);
    let mut slept = |way| {
        let firings = (0..8).map(|_| only(&mut waiters, order(way, 2_000)));
        firings.map(|firing| firing.lap.usage.voluntary_switches).sum::<u64>()
    };
    for way in [Way::Timerfd, Way::Setitimer, Way::Sleep, Way::Futex, Way::Poll] {
        assert!(slept(way) > 0, "{way:?}");
    }
    assert_eq!(slept(Way::Spinning), 0);
}

#[test]
fn a_timer_that_is_20_microseconds_too_soon_is_seen() {
    let mut waiters = waiters(1);
    for microseconds in [50, 1_000, 5_000] {
        let firing = only(&mut waiters, order(Way::TooSoon, microseconds));
        let early = firing.early.unwrap_or_else(|| panic!("{microseconds} µs: {firing:?}"));
        assert!(early > Picoseconds::ZERO && early <= TOO_SOON, "{firing:?}");
        assert_eq!(firing.lap.elapsed, Picoseconds::ZERO);
    }
}

#[test]
fn a_timer_that_would_fire_again_is_seen_to_be_armed() {
    let firing = only(&mut waiters(1), order(Way::Again, 1_000));
    assert!(firing.armed && firing.fired >= 1, "{firing:?}");
    assert_eq!(firing.early, None);
}

/// The call that a process waits in, by the kernel's word (`proc_pid_syscall(5)`); none where it runs or is
/// gone.
fn waits_in(process: u32) -> std::io::Result<Option<i64>> {
    let text = fs::read_to_string(format!("/proc/{process}/syscall"))?;
    Ok(text.split_whitespace().next().and_then(|number| number.parse().ok()))
}

fn is_stopped(process: u32) -> bool {
    // The name stands in brackets and may hold anything; the state is the word behind it (proc_pid_stat(5)).
    let text = fs::read_to_string(format!("/proc/{process}/stat")).unwrap();
    text.rsplit_once(") ").unwrap().1.starts_with('T')
}

/// What Ctrl-Z and `fg` do.
#[test]
fn a_wait_survives_being_stopped_and_continued() {
    let mut waiters = waiters(1);
    let process = waiters.crew.processes()[0];
    if let Err(error) = waits_in(process) {
        eprintln!("skipped: /proc/PID/syscall: {error}");
        return;
    }
    let pid = Pid::from_raw(process as i32).unwrap();
    let mut stopped = false;
    // Who looks for it may come too late. Then the timer is asked for again, and is a longer one.
    for milliseconds in [100, 1_000, 10_000] {
        let over = AtomicBool::new(false);
        let firing = thread::scope(|scope| {
            let stopping = scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    if waits_in(process).ok().flatten() == Some(libc::SYS_rt_sigtimedwait) {
                        kill_process(pid, Signal::STOP).unwrap();
                        while !is_stopped(process) {
                            thread::yield_now();
                        }
                        kill_process(pid, Signal::CONT).unwrap();
                        return true;
                    }
                    thread::yield_now();
                }
                false
            });
            let firing = waiters.wait(&[order(Way::Setitimer, milliseconds * 1_000)]);
            over.store(true, Ordering::Relaxed);
            stopped |= stopping.join().unwrap();
            firing.unwrap().remove(0)
        });
        assert_eq!((firing.early, firing.fired, firing.armed), (None, 1, false), "{firing:?}");
        if stopped {
            return;
        }
    }
    panic!("it was never seen to wait");
}

#[test]
fn slack_is_the_worker_s_own_and_is_taken_back() {
    let (before, mut waiters) = (current_timer_slack().unwrap(), waiters(1));
    let mut named = |slack| only(&mut waiters, Order { slack, ..order(Way::Sleep, 50) }).slack;
    assert_eq!(named(Slack::AsFound), before);
    // A thread of a real-time class has none, whatever it asks for.
    assert!(named(Slack::Least) <= 1);
    assert_eq!(named(Slack::AsFound), before, "it was taken back");
    assert_eq!(current_timer_slack().unwrap(), before, "the caller keeps its own");
    assert_eq!(slack().unwrap(), Picoseconds::from_nanos(before));
}

#[test]
fn several_wait_at_the_same_time_and_are_told_apart() {
    let mut waiters = waiters(5);
    let ways = [Way::Setitimer, Way::Timerfd, Way::Setitimer, Way::Sleep];
    let orders: Vec<Order> = ways
        .iter()
        .zip(1_u64..)
        .map(|(&way, place)| Order {
            after: Picoseconds::from_micros(500 * place),
            ..order(way, 5_000 * place)
        })
        .collect();
    let firings = waiters.wait(&orders).unwrap();
    assert_eq!(firings.iter().map(|firing| firing.order).collect::<Vec<_>>(), orders);
    assert!(firings.iter().all(|firing| (firing.early, firing.fired) == (None, 1)), "{firings:?}");
    // The fifth had nothing to do, and nobody does again what was ordered before.
    assert_eq!(waiters.wait(&orders[..1]).unwrap().len(), 1);
    assert_eq!(waiters.wait(&[]).unwrap(), []);
}

#[test]
#[should_panic(expected = "2 orders for 1 waiters")]
fn more_orders_than_waiters_are_a_mistake() {
    let _ = waiters(1).wait(&[order(Way::Sleep, 50); 2]);
}

#[test]
fn every_way_has_a_number_of_its_own_and_nothing_has_none() {
    for way in Way::ALL {
        assert_eq!(Way::numbered(way.number()), Some(way));
    }
    assert_eq!((Way::numbered(0), Way::numbered(Way::ALL.len() as u64 + 1)), (None, None));
}

#[test]
fn idle_states_are_read_and_absent_ones_not_made_up() {
    let root = tempfile::tempdir().unwrap();
    assert_eq!(Idle::of(root.path(), Cpu(3)), Idle::default());
    let write = |path: &str, text: &str| {
        let path = root.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    write("sys/devices/system/cpu/cpuidle/current_governor_ro", "menu\n");
    write("sys/devices/system/cpu/cpuidle/current_driver", "none\n");
    write("sys/devices/system/clockevents/clockevent3/current_device", "lapic-deadline\n");
    write("proc/sys/kernel/version", "#1 SMP PREEMPT_DYNAMIC @0\n");
    for (number, name, latency, disable) in
        [(0, "POLL", "0", "0"), (1, "C1", "2", "1"), (2, "C6", "133", "0")]
    {
        let folder = format!("sys/devices/system/cpu/cpu3/cpuidle/state{number}");
        write(&format!("{folder}/name"), name);
        write(&format!("{folder}/latency"), latency);
        write(&format!("{folder}/disable"), disable);
    }
    let state = |name: &str, microseconds| State { name: name.into(), microseconds };
    let known = Idle {
        governor: Some("menu".into()),
        driver: None,
        states: vec![state("POLL", 0), state("C6", 133)],
        device: Some("lapic-deadline".into()),
        preemption: Some("PREEMPT_DYNAMIC".into()),
    };
    assert_eq!(Idle::of(root.path(), Cpu(3)), known);
}

/// What a worker reported, as lateness: to the nanosecond, and nothing negative is made zero without a word.
#[test]
fn lateness_counts_from_the_armed_moment() {
    let order = order(Way::Timerfd, 1_000);
    let table = [
        (5_000_000_000, 5_001_000_000, 0, None),
        (5_000_000_000, 5_001_000_001, 1, None),
        (5_000_000_000, 5_001_031_800, 31_800, None),
        (5_000_000_000, 5_000_999_999, 0, Some(1)),
        (5_000_000_000, 5_000_980_000, 0, Some(20_000)),
        (0, 11_001_000_000, 11_000_000_000, None),
    ];
    for (from, until, late, early) in table {
        let slot = Slot::default();
        slot.note(Some((&order, 0)));
        slot.from.store(from, Ordering::Relaxed);
        slot.until.store(until, Ordering::Relaxed);
        let firing = slot.firing(order, Cpu(1)).unwrap();
        assert_eq!((firing.lap.elapsed, firing.lap.cpu), (Picoseconds::from_nanos(late), Cpu(1)));
        assert_eq!(firing.early, early.map(Picoseconds::from_nanos));
    }
}

#[test]
fn a_call_that_failed_is_named_with_what_the_kernel_said() {
    let slot = Slot::default();
    slot.errno.store(rustix::io::Errno::MFILE.raw_os_error() as u64, Ordering::Relaxed);
    let fault = slot.firing(order(Way::Timerfd, 1_000), Cpu(0)).unwrap_err().to_string();
    assert!(fault.starts_with("wait for 1.00 ms by timerfd: ") && fault.contains("os error 24"), "{fault}");
}
