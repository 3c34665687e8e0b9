use std::collections::HashSet;
use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64};

use super::*;
use crate::pin::{Pin, allowed_cpus, current_cpu};
use crate::touch::{Advised, Region, page};

fn cpus(count: usize) -> Vec<Cpu> {
    allowed_cpus().unwrap().into_iter().cycle().take(count).collect()
}

fn task(work: impl Fn(usize, u64) -> u64 + Send + Sync + 'static) -> Task {
    Arc::new(work)
}

fn crew(workers: usize, tasks: Vec<Task>) -> Crew {
    Crew::gather(Clock::kernel(), &cpus(workers), tasks).unwrap()
}

fn die() -> u64 {
    kill_process(getpid(), Signal::KILL).map_or(1, |()| 0)
}

fn pid(process: u32) -> Option<Pid> {
    Pid::from_raw(process as i32)
}

/// No child of this process any more, dead or alive: neither an orphan nor a zombie.
fn assert_gone(processes: &[u32]) {
    for &process in processes {
        assert_eq!(waitpid(pid(process), WaitOptions::NOHANG).unwrap_err(), Errno::CHILD);
        let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
        let ours = stat.rsplit(')').next().is_some_and(|rest| rest.split_whitespace().nth(1) == Some(&own()));
        assert!(!ours, "{stat}");
    }
}

fn own() -> String {
    std::process::id().to_string()
}

#[test]
fn every_child_runs_every_iteration_on_its_cpu() {
    for workers in [1, 2, 3, 5] {
        let seen: Arc<Shared<AtomicU64>> = Arc::new(Shared::zeroed(3 * workers).unwrap());
        let noted = Arc::clone(&seen);
        let mut crew = crew(
            workers,
            vec![
                task(|_, _| 0),
                task(move |worker, iterations| {
                    noted[3 * worker].fetch_add(iterations, Ordering::Relaxed);
                    noted[3 * worker + 1].store(u64::from(current_cpu().0), Ordering::Relaxed);
                    noted[3 * worker + 2].store(u64::from(std::process::id()), Ordering::Relaxed);
                    0
                }),
            ],
        );
        for _ in 0..50 {
            let lap = crew.lap(1, 7).unwrap();
            assert_eq!((lap.shares.len(), lap.cpu), (if workers == 1 { 0 } else { workers }, crew.cpus()[0]));
            assert!(lap.shares.iter().all(|share| share.elapsed <= lap.elapsed));
            crew.lap(0, 1_000).unwrap();
        }
        let processes = crew.processes();
        for (worker, seen) in seen.chunks(3).enumerate() {
            let seen: Vec<u64> = seen.iter().map(|word| word.load(Ordering::Relaxed)).collect();
            assert_eq!(seen, [350, u64::from(crew.cpus()[worker].0), u64::from(processes[worker])]);
        }
        let different: HashSet<u32> = processes.iter().copied().chain([std::process::id()]).collect();
        assert_eq!(different.len(), workers + 1);
        drop(crew);
        assert_gone(&processes);
    }
}

#[test]
fn failures_are_told_worker_by_worker() {
    let lap = crew(3, vec![task(|worker, _| worker as u64 * 10)]).lap(0, 1).unwrap();
    let failures: Vec<u64> = lap.shares.iter().map(|share| share.failures).collect();
    assert_eq!(failures, [0, 10, 20]);
}

#[test]
fn a_killed_child_is_named_in_later_laps_and_the_others_leave() {
    // Before the lap, from outside; in the middle of it; and while the others wait for each other at its
    // start.
    for (workers, from_outside) in [(2, true), (3, true), (2, false), (3, false)] {
        let mut crew =
            crew(workers, vec![task(|_, _| 0), task(|worker, _| if worker == 1 { die() } else { 0 })]);
        crew.lap(0, 1).unwrap();
        let processes = crew.processes();
        if from_outside {
            kill_process(pid(processes[1]).unwrap(), Signal::KILL).unwrap();
        }
        for _ in 0..2 {
            match crew.lap(usize::from(!from_outside), 1) {
                Err(Fault::Died { worker: 1, how }) => assert_eq!(how, "killed by signal 9"),
                other => panic!("{other:?}"),
            }
        }
        drop(crew);
        assert_gone(&processes);
    }
}

#[test]
fn an_endless_child_is_late_and_killed_with_its_crew() {
    let mut crew = crew(
        2,
        vec![task(|worker, _| {
            loop {
                if worker == 0 {
                    break 0;
                }
                std::hint::spin_loop();
            }
        })],
    );
    let processes = crew.processes();
    crew.deadline = Duration::ZERO;
    for _ in 0..2 {
        assert!(matches!(crew.lap(0, 1), Err(Fault::Late { .. })));
    }
    drop(crew);
    assert_gone(&processes);
}

#[test]
fn no_child_outlives_a_panic_of_the_parent() {
    let processes = Arc::new(std::sync::Mutex::new(Vec::new()));
    let known = Arc::clone(&processes);
    let parent = thread::spawn(move || {
        let crew = crew(2, Vec::new());
        *known.lock().unwrap() = crew.processes();
        std::panic::resume_unwind(Box::new("planted"));
    });
    assert!(parent.join().is_err());
    let processes = processes.lock().unwrap();
    assert_eq!(processes.len(), 2);
    assert_gone(&processes);
}

/// What happens when the parent is killed: nothing is dropped, and the kernel alone can end the children.
#[test]
fn children_die_with_the_thread_that_gathered_them() {
    let parent = thread::spawn(|| {
        let crew = crew(2, Vec::new());
        let processes = crew.processes();
        std::mem::forget(crew);
        processes
    });
    for process in parent.join().unwrap() {
        let (_, status) = waitpid(pid(process), WaitOptions::empty()).unwrap().unwrap();
        assert_eq!(status.terminating_signal(), Some(Signal::KILL.as_raw()));
    }
}

#[test]
fn a_child_that_leaves_its_cpu_fails_the_epoch() {
    let all = allowed_cpus().unwrap();
    let Some(&elsewhere) = all.get(1) else {
        eprintln!("skipped: one CPU, so there is none to leave for");
        return;
    };
    let leave = task(move |worker, _| {
        if worker == 1 {
            std::mem::forget(Pin::hold(elsewhere));
        }
        0
    });
    let mut crew = Crew::gather(Clock::kernel(), &[all[0]; 2], vec![leave]).unwrap();
    match crew.lap(0, 1) {
        Err(Fault::PinNotHeld { worker: 1, wanted, actual }) => {
            assert_eq!((wanted, actual), (all[0], elsewhere))
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_cpu_that_does_not_exist_is_refused_when_the_crew_gathers() {
    let present = allowed_cpus().unwrap()[0];
    for absent in [Cpu(1_000), Cpu(70_000)] {
        let fault = Crew::gather(Clock::kernel(), &[present, absent], Vec::new()).map(|_| ()).unwrap_err();
        assert!(fault.to_string().contains(&absent.to_string()), "{fault}");
    }
}

#[test]
fn a_shifted_stack_is_the_one_that_every_child_runs_on() {
    let places: Arc<Shared<AtomicU64>> = Arc::new(Shared::zeroed(2).unwrap());
    let noted = Arc::clone(&places);
    let mut crew = crew(
        2,
        vec![task(move |worker, _| {
            let local = 0_u8;
            let address = std::hint::black_box(&raw const local).addr();
            noted[worker].store(address as u64, Ordering::Relaxed);
            0
        })],
    );
    let mut met = [HashSet::new(), HashSet::new()];
    for block in 0..8 {
        crew.shift_stack(block);
        crew.lap(0, 1).unwrap();
        met.iter_mut().zip(places.iter()).for_each(|(met, place)| {
            met.insert(place.load(Ordering::Relaxed));
        });
    }
    assert_eq!(met.map(|met| met.len()), [8, 8]);
}

/// Each child has memory of its own at one and the same address: what one touches the others do not see, nor
/// does the parent; and each is charged with its own faults.
#[test]
fn every_child_touches_its_own_memory_and_is_charged_for_it() {
    const PAGES: usize = 96;
    let region = Arc::new(Region::map(PAGES * page(), Advised::Base).unwrap());
    let order: Arc<Shared<AtomicU32>> = Arc::new(Shared::zeroed(PAGES).unwrap());
    let (touched, counted, discarded) = (Arc::clone(&region), Arc::clone(&region), Arc::clone(&region));
    let noted = Arc::clone(&order);
    let mut crew = crew(
        3,
        vec![
            task(move |worker, pages| {
                touched.touch_as_noted(0, &noted[..pages as usize >> worker]);
                0
            }),
            task(move |_, _| counted.try_present(0..PAGES).map_or(u64::MAX, |pages| pages as u64)),
            task(move |_, _| discarded.try_discard(0..PAGES).map_or(1, |()| 0)),
            task(|_, _| crate::touch::forbid_huge_pages().map_or(1, |()| 0)),
        ],
    );
    // Told after the fork.
    order
        .iter()
        .enumerate()
        .for_each(|(place, page)| page.store((PAGES - 1 - place) as u32, Ordering::Relaxed));
    crew.lap(3, 0).unwrap();
    for _ in 0..2 {
        let lap = crew.lap(0, PAGES as u64).unwrap();
        assert!(lap.usage.minor_faults >= (PAGES + PAGES / 2 + PAGES / 4) as u64, "{:?}", lap.usage);
        let counts: Vec<u64> = crew.lap(1, 0).unwrap().shares.iter().map(|share| share.failures).collect();
        assert_eq!(counts, [96, 48, 24]);
        assert_eq!(region.present(0..PAGES).unwrap(), 0, "the parent touched nothing");
        let again = crew.lap(0, PAGES as u64).unwrap();
        assert!(again.usage.minor_faults < PAGES as u64 / 2, "{:?}", again.usage);
        for process in crew.processes() {
            // An emulator's kernel may not say.
            assert_eq!(region.huge_bytes_of(process).unwrap_or(0), 0);
        }
        let discarding = crew.lap(2, 0).unwrap();
        assert!(discarding.shares.iter().all(|share| share.failures == 0));
    }
}
