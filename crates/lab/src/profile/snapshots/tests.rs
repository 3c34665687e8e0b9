//! Snapshots of threads whose times are known.

use super::*;

const MS: u64 = 1_000_000;

fn seen(thread: u32, place: Where, on_cpu: u64, queued: u64) -> Seen {
    let scheduled = Some((on_cpu, queued));
    Seen { process: 1, thread, began: 7, name: "it".into(), place, scheduled, ticks: (0, 0) }
}

const SLEEPS: Where = Where::Call(Some("clock_nanosleep"));
const READS: Where = Where::Call(Some("read"));

#[test]
fn a_thread_that_sleeps_and_one_that_runs_are_told_apart() {
    let mut account = Account { cpus: 2, ..Account::default() };
    for number in 0..=100 {
        let now = number * 5 * MS;
        // What runs is charged at ticks of 4 ms alone.
        let charged = now / (4 * MS) * (4 * MS);
        account.take(now, &[seen(1, SLEEPS, MS, 0), seen(2, Where::Runnable, charged, 0)]);
    }
    account.close();
    assert_eq!(account.blocked.get(&SLEEPS), Some(&(500 * MS)));
    assert_eq!(account.blocked.get(&Where::Runnable).copied().unwrap_or(0), 0);
    assert_eq!(account.on_cpu, 500 * MS);
    let course = account.course(500 * MS);
    assert_eq!(course.running, [length(500 * MS)]);
    assert_eq!(course.blocked, []);
}

#[test]
fn what_runs_between_two_waits_is_charged_and_no_more() {
    let mut account = Account { cpus: 2, ..Account::default() };
    for number in 0..=100 {
        // 1 ms of 10 on a CPU, and half of one queued.
        account.take(number * 10 * MS, &[seen(1, SLEEPS, number * MS, number * MS / 2)]);
    }
    account.close();
    assert_eq!((account.on_cpu, account.queued), (100 * MS, 50 * MS));
    assert_eq!(account.blocked, BTreeMap::from([(SLEEPS, 850 * MS)]));
    let course = account.course(1000 * MS);
    assert_eq!(course.running, [length(100 * MS)]);
    assert_eq!(course.queued, length(50 * MS));
    let stood = BlockedBy { activity: "clock_nanosleep".into(), time: length(850 * MS) };
    assert_eq!(course.blocked, [stood]);
}

#[test]
fn all_stand_still_until_one_goes_on_with_what_it_waited_in() {
    let mut account = Account { cpus: 2, ..Account::default() };
    for number in 0..=10 {
        account.take(number * 5 * MS, &[seen(1, SLEEPS, 0, 0), seen(2, READS, 0, 0)]);
    }
    account.take(55 * MS, &[seen(1, SLEEPS, 0, 0), seen(2, Where::Runnable, 2 * MS, 0)]);
    account.close();
    assert!(account.stood.get(&READS).is_some_and(|&time| time >= 50 * MS), "{:?}", account.stood);
    assert_eq!(account.stood.get(&SLEEPS).copied().unwrap_or(0), 0);
}

#[test]
fn a_number_that_another_thread_has_got_is_another_thread() {
    let mut account = Account::default();
    account.take(0, &[seen(1, SLEEPS, MS, 0)]);
    account.take(5 * MS, &[Seen { began: 8, ..seen(1, SLEEPS, 2 * MS, 0) }]);
    account.take(10 * MS, &[Seen { place: Where::Ended, ..seen(1, SLEEPS, 2 * MS, 0) }]);
    account.close();
    assert_eq!(account.ended.len(), 2);
    assert_eq!(account.threads, 2);
    // Of the second one nobody knows what it did before it was seen but that it ran.
    assert_eq!(account.on_cpu, 2 * MS);
}

#[test]
fn parts_of_a_thread_sum_to_its_time() {
    let mut account = Account::default();
    account.take(0, &[seen(1, Where::Runnable, MS, 0)]);
    account.take(5 * MS, &[seen(1, READS, 3 * MS, MS)]);
    account.take(9 * MS, &[seen(1, READS, 3 * MS, MS)]);
    account.close();
    let thread = account.ended[0].thread(0.5);
    assert_eq!((thread.user, thread.kernel, thread.queued), (length(MS), length(MS), length(MS)));
    assert_eq!((thread.blocked, thread.wall), (length(6 * MS), length(9 * MS)));
}
