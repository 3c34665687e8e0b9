//! A command profiled by stops at each of its calls.

use tenbin_metal::child::End;
use tenbin_metal::exact::{self, Calls, Counted, Life};
use tenbin_metal::profiler::{Cost, length};
use tenbin_metal::tracee::Trouble;
use tenbin_metal::usage::Usage;
use tenbin_model::profile::{Activity, Event, Kind, Observer, Overhead, OverheadPart, Thread};
use tenbin_model::words::counted as counted_noun;
use tenbin_model::{Order, Picoseconds, Profile};

use super::kernel::{Unprofiled, of_usage};
use super::{Observed, blank, exit_status, killed};

/// Runs a command, with every call of all its processes and threads counted.
///
/// # Errors
/// What is lacking to trace it, or a fault where it cannot be started.
pub fn profile(observed: Observed) -> Result<Profile, Unprofiled> {
    let Observed { command, words, deadline, machine, started, files: _ } = observed;
    let before = Usage::of_children();
    let counted = exact::run(command, deadline).map_err(|trouble| match trouble {
        Trouble::Fault(fault) => Unprofiled::Fault(fault),
        other => Unprofiled::Untraced(other),
    })?;
    let charged = Usage::of_children().since(&before);
    let faults = charged.minor_faults + charged.major_faults;
    Ok(Profile {
        command: words,
        observer: Observer::Exact,
        started,
        machine,
        wall: Some(length(counted.wall)),
        exit_status: exit_status(counted.end),
        charged: Some(of_usage(&charged)),
        activities: activities(&counted, faults),
        threads: counted.lives.iter().map(thread).collect(),
        more_threads: counted.more,
        unseen: unseen(&counted, deadline),
        overhead: Some(overhead(&counted)),
        ..Profile::default()
    })
}

fn activities(counted: &Counted, faults: u64) -> Vec<Activity> {
    let mut activities: Vec<_> = counted.calls.iter().map(activity).collect();
    let user = counted.lives.iter().map(|life| life.wall.saturating_sub(life.in_calls + life.in_waits)).sum();
    activities.push(Activity { total: length(user), ..blank("user code", Kind::User) });
    activities.order_by_key(|activity| std::cmp::Reverse(activity.total));
    if faults > 0 {
        // Nobody knows how long they took: they stand where they are not among the others.
        activities.insert(1, Activity { count: faults, ..blank("page fault", Kind::Fault) });
    }
    activities
}

fn activity(calls: &Calls) -> Activity {
    let name = calls.name.unwrap_or("a call without a name");
    let used = calls.lengths.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    Activity {
        count: calls.count,
        errors: calls.errors,
        total: length(calls.total),
        longest: length(calls.longest),
        histogram: calls.lengths[..used].to_vec(),
        in_flight: calls.in_flight,
        ..blank(name, Kind::of_call(name))
    }
}

/// As of a log: what is in no call is user code, and what is in one that only waits is blocked.
fn thread(life: &Life) -> Thread {
    Thread {
        process: life.process,
        thread: life.thread,
        name: life.name.clone(),
        wall: length(life.wall),
        user: length(life.wall.saturating_sub(life.in_calls + life.in_waits)),
        kernel: length(life.in_calls),
        faults: Picoseconds::ZERO,
        interrupts: Picoseconds::ZERO,
        queued: Picoseconds::ZERO,
        blocked: length(life.in_waits),
    }
}

fn overhead(counted: &Counted) -> Overhead {
    // A call has two stops, and whatever else stops costs half as much.
    let events = counted.stops / 2;
    let Cost { each, between } = counted.cost;
    Overhead {
        parts: vec![OverheadPart { event: Event::Call, count: events, each, between }],
        total: Picoseconds(each.0.saturating_mul(events)),
    }
}

fn unseen(counted: &Counted, deadline: std::time::Duration) -> Vec<String> {
    let mut unseen = vec![
        "Each call was counted, by a stop at its entry and one at its exit (ptrace). What of its time was on a CPU, \
         queued or blocked is not known; page faults are counted by the kernel, and their time, that of interrupts \
         and of the queue for a CPU are in what they came in. Programs that would run with the rights of another \
         user keep those of this one."
            .to_owned(),
    ];
    if counted.let_go > 0 {
        unseen.push(format!(
            "{} outlived its first process, and what became of them then was not followed.",
            counted_noun(usize::try_from(counted.let_go).unwrap_or(usize::MAX), "thread")
        ));
    }
    if counted.end == End::OutOfTime {
        unseen.push(killed(deadline));
    }
    unseen
}
