//! A command profiled by programs in the kernel.

use std::cmp::Reverse;

use tenbin_metal::bpf::{Lacking, Unattached};
use tenbin_metal::child::End;
use tenbin_metal::profiler::{
    self, Cost, Costs, Doing, FileUse, Nanoseconds, Observation, Profiler, Row, length,
};
use tenbin_metal::tracee::Trouble;
use tenbin_metal::usage::Usage;
use tenbin_metal::{Fault, allowed_cpus};
use tenbin_model::profile::{
    self as model, Activity, BlockedBy, Charged, Course, Event, Kind, Observer, Overhead, OverheadPart,
    Split, Thread, Waker,
};
use tenbin_model::words::counted;
use tenbin_model::{Order, Picoseconds, Profile};

use super::files::Mounts;
use super::{Observed, exit_status, killed};

/// What blocks a thread outside of calls and page faults: a signal, a debugger, the freezer of its cgroup.
const STOP: &str = "stop";

/// Wakers of an activity that are kept.
const WAKERS: usize = 8;

/// Whether a command could be profiled here.
///
/// # Errors
/// What is lacking.
pub fn can_profile() -> Result<(), Unprofiled> {
    Profiler::attach(false).map(drop).map_err(Unprofiled::Unattached)
}

/// Runs a command and says where its time went, by attached programs. How it ended is in the profile.
///
/// # Errors
/// A fault where it cannot be started.
pub(crate) fn profile_by(mut profiler: Profiler, observed: Observed) -> Result<Profile, Unprofiled> {
    let Observed { command, words, deadline, machine, started, files } = observed;
    let before = Usage::of_children();
    let (end, observation) = profiler.run(command, deadline).map_err(Unprofiled::Fault)?;
    let charged = Usage::of_children().since(&before);
    let mut unseen = unseen(&observation, profiler.no_faults());
    if let Some(why) = &profiler.no_types {
        unseen.push(format!(
            "The kernel does not describe its types ({why}): its tracepoints handed over records."
        ));
        if files {
            unseen.push("Which files its calls were about, records do not show.".into());
        }
    }
    if end == End::OutOfTime {
        unseen.push(killed(deadline));
    }
    let activities = activities(&observation.rows);
    Ok(Profile {
        command: words,
        observer: Observer::Kernel,
        started,
        machine,
        wall: Some(length(observation.wall)),
        exit_status: exit_status(end),
        charged: Some(of_usage(&charged)),
        course: observation.course.as_ref().map(course),
        more_threads: observation
            .began
            .saturating_sub(observation.lost)
            .saturating_sub(observation.threads.len() as u64),
        threads: observation.threads.iter().map(thread).collect(),
        unseen,
        overhead: Some(overhead(&observation, profiler.costs)),
        activities,
        files: observation.files.as_deref().map_or_else(Vec::new, uses),
        ..Profile::default()
    })
}

/// What was done with which file, the longest first.
fn uses(uses: &[FileUse]) -> Vec<model::FileUse> {
    let mounts = Mounts::here();
    let named = |file: &FileUse| model::FileUse {
        file: mounts.named(&file.file),
        activity: named(file.doing).0,
        count: file.count,
        errors: file.errors,
        split: split(file.spent),
    };
    let mut files: Vec<_> = uses.iter().map(named).collect();
    files.order_by_key(|file| (Reverse(file.split.total()), file.file.clone(), file.activity.clone()));
    files
}

/// What the kernel charged, with the CPUs that there were.
pub(super) fn of_usage(charged: &Usage) -> Charged {
    let cpus = allowed_cpus().map_or(0, |cpus| cpus.len());
    Charged { user: charged.user, system: charged.system, cpus: u32::try_from(cpus).unwrap_or(u32::MAX) }
}

/// What observing these cost.
fn overhead(observation: &Observation, costs: Costs) -> Overhead {
    let count = |is: fn(Doing) -> bool, of: fn(&Row) -> u64| -> u64 {
        observation.rows.iter().filter(|row| is(row.doing)).map(of).sum()
    };
    let is_call = |doing| matches!(doing, Doing::Call(_));
    let is_fault = |doing| doing == Doing::Fault;
    let timed = |row: &Row| row.count.saturating_sub(row.untimed);
    let untimed = |row: &Row| row.untimed;
    let part = |event, count, cost: Option<Cost>| {
        // What could not be measured has a call's.
        let Cost { each, between } = cost.unwrap_or(costs.call);
        OverheadPart { event, count, each, between }
    };
    let untimed_calls = count(is_call, untimed);
    let switch = costs.switch.map(|each| Cost { each, between: Picoseconds::ZERO });
    let mut parts = vec![
        part(Event::Call, count(is_call, timed), Some(costs.call)),
        part(Event::UntimedCall, untimed_calls.saturating_sub(observation.unseen_calls), costs.untimed_call),
        part(Event::UnseenCall, observation.unseen_calls, costs.unseen_call),
        part(Event::Fault, count(is_fault, timed), costs.fault),
        part(Event::UntimedFault, count(is_fault, untimed), costs.untimed_fault),
        part(Event::Switch, observation.switches, switch),
    ];
    parts.retain(|part| part.count > 0);
    let total = parts.iter().map(|part| part.count.saturating_mul(part.each.0)).sum();
    Overhead { parts, total: Picoseconds(total) }
}

/// Why a command was not profiled.
#[derive(Debug)]
pub enum Unprofiled {
    /// Nothing could observe it.
    Unattached(Unattached),
    /// It cannot be traced (ptrace), and why.
    Untraced(Trouble),
    /// It could not be run.
    Fault(Fault),
    /// It did not do what it must, and how.
    Failed(String),
}

impl std::fmt::Display for Unprofiled {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fault(fault) => write!(f, "{fault}; check PATH and the spelling"),
            Self::Failed(how) => write!(f, "{how}"),
            Self::Untraced(why) => write!(
                f,
                "count the calls of a command (ptrace): {why}; allow it to (Linux 5.3 at least, kernel.yama.ptrace_scope \
                 below 3, a container or sandbox whose seccomp filter lets ptrace pass), or leave --exact out"
            ),
            Self::Unattached(Unattached { lacking, why }) => {
                let remedy = match lacking {
                    Lacking::Rights => "run it as root, or with CAP_BPF and CAP_PERFMON",
                    Lacking::Types => "use a kernel that was built with CONFIG_DEBUG_INFO_BTF",
                    Lacking::Kernel => {
                        "use a newer kernel, Linux 5.10 at least, with CONFIG_BPF_SYSCALL and CONFIG_FTRACE_SYSCALLS"
                    }
                };
                write!(
                    f,
                    "profile a command by programs in the kernel (BPF): {why}; {remedy}, or read a log of strace: \
                     `strace -f -T -ttt -o LOG COMMAND`, then `tenbin profile --from LOG`"
                )
            }
        }
    }
}

fn unseen(observation: &Observation, no_faults: Option<&str>) -> Vec<String> {
    let mut unseen = Vec::new();
    if let Some(why) = no_faults {
        unseen.push(format!("Page faults were not seen; they are in what they came in: {why}."));
    }
    if observation.course.is_none() {
        unseen.push("How many threads ran at a time is not known: the BPF programs took no lock.".into());
    }
    if observation.unseen_switches > 0 {
        unseen.push(format!(
            "The kernel did not report {} of {} switches of threads; the time up to the next call is counted as queued.",
            observation.unseen_switches, observation.switches
        ));
    }
    if observation.unnamed > 0 {
        unseen.push(format!("{} calls were about files for which there was no room.", observation.unnamed));
    }
    if observation.lost > 0 {
        unseen.push(format!(
            "{} of {} were not followed: too many lived at once.",
            observation.lost,
            counted(usize::try_from(observation.began).unwrap_or(usize::MAX), "thread")
        ));
    }
    unseen
}

fn course(seen: &profiler::Course) -> Course {
    let last = seen.running.iter().rposition(|&time| time > 0).map_or(0, |last| last + 1);
    let mut blocked: Vec<_> = seen
        .stood
        .iter()
        .map(|(doing, time)| {
            let activity = if *doing == Doing::User { STOP.into() } else { named(*doing).0 };
            BlockedBy { activity, time: length(*time) }
        })
        .collect();
    blocked.order_by_key(|by| Reverse(by.time));
    Course {
        running: seen.running[..last].iter().map(|&time| length(time)).collect(),
        queued: length(seen.queued),
        blocked,
    }
}

fn named(doing: Doing) -> (String, Kind) {
    match doing {
        Doing::User => ("user code".into(), Kind::User),
        Doing::Fault => ("page fault".into(), Kind::Fault),
        Doing::Interrupt => ("interrupt".into(), Kind::Interrupt),
        Doing::Call(Some(name)) => (name.into(), Kind::of_call(name)),
        Doing::Call(None) => ("a call without a name".into(), Kind::Call),
    }
}

fn activities(rows: &[Row]) -> Vec<Activity> {
    let mut activities: Vec<_> = rows.iter().map(activity).collect();
    activities.order_by_key(|activity| Reverse(activity.total));
    activities
}

fn split(spent: Nanoseconds) -> Split {
    let Nanoseconds { on_cpu, queued, blocked } = spent;
    Split { on_cpu: length(on_cpu), queued: length(queued), blocked: length(blocked) }
}

fn activity(row: &Row) -> Activity {
    let (name, kind) = named(row.doing);
    let mut wakers: Vec<_> = row
        .wakers
        .iter()
        .map(|(name, count, blocked)| Waker {
            name: name.clone().unwrap_or_else(|| "an interrupt".into()),
            count: *count,
            blocked: length(*blocked),
        })
        .collect();
    wakers.order_by_key(|waker| Reverse(waker.blocked));
    wakers.truncate(WAKERS);
    let used = row.lengths.iter().rposition(|&count| count > 0).map_or(0, |last| last + 1);
    Activity {
        name,
        kind,
        count: row.count,
        errors: row.errors,
        total: length(row.spent.total()),
        split: Some(split(row.spent)),
        longest: length(row.longest),
        histogram: row.lengths[..used].to_vec(),
        wakers,
        in_flight: row.in_flight,
    }
}

fn thread(thread: &tenbin_metal::profiler::Thread) -> Thread {
    Thread {
        process: thread.process,
        thread: thread.thread,
        name: thread.name.clone(),
        wall: length(thread.wall),
        user: length(thread.user),
        kernel: length(thread.kernel),
        faults: length(thread.faults),
        interrupts: length(thread.interrupts),
        queued: length(thread.queued),
        blocked: length(thread.blocked),
    }
}
