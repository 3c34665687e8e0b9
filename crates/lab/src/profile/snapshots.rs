//! A command profiled by snapshots of what its threads are in.
//!
//! What the scheduler charged a thread with between two snapshots (`/proc/TID/schedstat`) says how long it
//! was on a CPU and queued for one; the rest of the time it was blocked, in the call that the later snapshot
//! shows. So on a CPU and queued are exact but for the ends of threads, and what is estimated is the call.

use std::collections::BTreeMap;

use tenbin_metal::allowed_cpus;
use tenbin_metal::bpf::Unattached;
use tenbin_metal::child::End;
use tenbin_metal::profiler::length;
use tenbin_metal::snapshots::{self, Seen, Watched, Where};
use tenbin_metal::usage::Usage;
use tenbin_model::profile::{
    Activity, BlockedBy, Charged, Course, Event, Kind, Observer, Overhead, OverheadPart, Snapshots, Split,
    Thread,
};
use tenbin_model::words::percent;
use tenbin_model::{Order, Picoseconds, Profile};

use super::kernel::{Unprofiled, of_usage};
use super::{Observed, blank, exit_status, killed};

#[cfg(test)]
mod tests;

const LISTED: usize = 4096;

/// Ticks of user and system time that are enough to tell how a thread divides its own.
const TICKS: u64 = 10;

/// Time that a CPU was charged for and that belongs to no thread that was seen, as a share, from which on
/// that is said.
const MISSED: f64 = 0.02;

/// Runs a command and says where its time went, as snapshots show it. `why` is what is lacking for more.
///
/// # Errors
/// `why`, where not even snapshots can be had; a fault where it cannot be started.
pub fn profile(observed: Observed, why: Unattached) -> Result<Profile, Unprofiled> {
    if snapshots::can_look().is_err() {
        return Err(Unprofiled::Unattached(why));
    }
    let Observed { command, words, deadline, machine, started, files: _ } = observed;
    let before = Usage::of_children();
    let mut account = Account { cpus: allowed_cpus().map_or(0, |cpus| cpus.len()), ..Account::default() };
    let watched = snapshots::watch(command, deadline, &mut |now, seen| account.take(now, seen));
    let watched = watched.map_err(Unprofiled::Fault)?;
    account.close();
    let charged = of_usage(&Usage::of_children().since(&before));
    let mut unseen = vec![format!(
        "Snapshots stand in for programs in the kernel, which count each call, as --exact does without them: {}.",
        Unprofiled::Unattached(why)
    )];
    unseen.extend(account.unseen(&charged));
    if watched.end == End::OutOfTime {
        unseen.push(killed(deadline));
    }
    Ok(Profile {
        command: words,
        observer: Observer::Snapshots,
        started,
        machine,
        wall: Some(length(watched.wall)),
        exit_status: exit_status(watched.end),
        charged: Some(charged),
        course: Some(account.course(watched.wall)),
        activities: account.activities(&charged),
        threads: account.ended.iter().map(|life| life.thread(user_share(&charged))).collect(),
        more_threads: account.more,
        unseen,
        overhead: Some(overhead(&account, &watched)),
        snapshots: Some(Snapshots {
            every: length(watched.wall / account.count.max(1)),
            count: account.count,
            threads: account.threads,
        }),
        ..Profile::default()
    })
}

/// What snapshots took of a CPU, beside the command.
fn overhead(account: &Account, watched: &Watched) -> Overhead {
    let each = length(watched.spent / account.count.max(1));
    let part =
        OverheadPart { event: Event::Snapshot, count: account.count, each, between: Picoseconds::ZERO };
    Overhead { parts: vec![part], total: length(watched.spent) }
}

/// What was on a CPU in user code, of all that was.
fn user_share(charged: &Charged) -> f64 {
    let both = charged.user + charged.system;
    if both.0 == 0 { 1.0 } else { charged.user.0 as f64 / both.0 as f64 }
}

/// The part of a length.
fn part(of: u64, share: f64) -> u64 {
    (of as f64 * share).round() as u64
}

/// A thread, from the first snapshot of it on. Times are in ns.
struct Life {
    seen: Seen,
    /// When it was seen last.
    until: u64,
    on_cpu: u64,
    queued: u64,
    blocked: u64,
    /// Not accounted for yet: what a thread has of a CPU or a queue, the scheduler charges when that is over,
    /// or at a tick.
    pending: u64,
}

/// What a command did, as far as snapshots go.
#[derive(Default)]
struct Account {
    count: u64,
    threads: u64,
    last: Option<u64>,
    /// CPUs that it can use; 0 where that is not known.
    cpus: usize,
    /// By number and beginning: a number may be given to another thread.
    living: BTreeMap<(u32, u64), Life>,
    ended: Vec<Life>,
    more: u64,
    /// Blocked time by what threads were in, all threads together.
    blocked: BTreeMap<Where, u64>,
    on_cpu: u64,
    queued: u64,
    /// For how long 1, 2, 3 … ran at a time.
    running: Vec<u64>,
    none_ran: u64,
    stood: BTreeMap<Where, u64>,
    /// All were blocked for so long, and nothing has ended that yet.
    standing: u64,
    unscheduled: bool,
    hidden: bool,
}

/// What all threads did between two snapshots.
#[derive(Default)]
struct Step {
    /// How many ran at a time, in the mean.
    ran: f64,
    queued: u64,
    /// Who ran most after a wait, and what it had waited in: that ended what all stood still for.
    ender: Option<(f64, Where)>,
}

impl Account {
    /// One more snapshot, at `now`.
    fn take(&mut self, now: u64, seen: &[Seen]) {
        let passed = self.last.map_or(0, |last| now.saturating_sub(last));
        self.last = Some(now);
        self.count += 1;
        let mut step = Step::default();
        for seen in seen.iter().filter(|seen| seen.place != Where::Ended) {
            self.threads += 1;
            self.hidden |= seen.place == Where::Hidden;
            match self.living.remove(&(seen.thread, seen.began)) {
                Some(life) => self.goes_on(life, seen, now, &mut step),
                None => self.begins(seen, now, passed, &mut step),
            }
        }
        self.course_of(&step, passed);
        let living = std::mem::take(&mut self.living);
        for (key, life) in living {
            if life.until == now {
                self.living.insert(key, life);
            } else {
                self.ends(life);
            }
        }
    }

    /// One that is seen first. What it was charged with was since the last snapshot; whether it was blocked
    /// in that time is not known.
    fn begins(&mut self, seen: &Seen, now: u64, passed: u64, step: &mut Step) {
        let (on_cpu, queued) = seen.scheduled.unwrap_or((0, 0));
        // The first snapshot comes when the command has been executed.
        let (on_cpu, queued) = if passed == 0 { (0, 0) } else { (on_cpu, queued) };
        self.on_cpu += on_cpu;
        self.queued += queued;
        step.ran += share(on_cpu, passed);
        step.queued += queued;
        let life = Life { seen: seen.clone(), until: now, on_cpu, queued, blocked: 0, pending: 0 };
        self.living.insert((seen.thread, seen.began), life);
    }

    fn goes_on(&mut self, mut life: Life, seen: &Seen, now: u64, step: &mut Step) {
        let passed = now.saturating_sub(life.until);
        let (before, is) = (life.seen.place, seen.place);
        let was_charged = life.seen.scheduled.unwrap_or((0, 0));
        let (on_cpu, queued) = match seen.scheduled {
            Some((on_cpu, queued)) => {
                (on_cpu.saturating_sub(was_charged.0), queued.saturating_sub(was_charged.1))
            }
            // What it is in stands for the time before.
            None => {
                self.unscheduled = true;
                (if is == Where::Runnable { passed } else { 0 }, 0)
            }
        };
        let rest = (life.pending + passed).saturating_sub(on_cpu + queued);
        if is == Where::Runnable {
            life.pending = rest;
        } else {
            life.pending = 0;
            life.blocked += rest;
            // It went from one to the other somewhere between.
            let half = if before == Where::Runnable { 0 } else { rest / 2 };
            *self.blocked.entry(before).or_default() += half;
            *self.blocked.entry(is).or_default() += rest - half;
        }
        life.on_cpu += on_cpu;
        life.queued += queued;
        self.on_cpu += on_cpu;
        self.queued += queued;
        let ran = if before == Where::Runnable || is == Where::Runnable {
            // Of these the scheduler has not charged all.
            let ends = [before, is].iter().filter(|&&place| place == Where::Runnable).count();
            let queue = share(queued, on_cpu + queued);
            ends as f64 / 2.0 * (1.0 - queue)
        } else {
            share(on_cpu, passed).min(1.0)
        };
        step.ran += ran;
        step.queued += queued;
        if before != Where::Runnable && ran > step.ender.map_or(0.0, |(most, _)| most) {
            step.ender = Some((ran, before));
        }
        life.seen = seen.clone();
        life.until = now;
        self.living.insert((seen.thread, seen.began), life);
    }

    /// How many ran at a time between two snapshots.
    fn course_of(&mut self, step: &Step, passed: u64) {
        let most = if self.cpus == 0 { f64::INFINITY } else { self.cpus as f64 };
        let ran = step.ran.min(most);
        // As near to each other as a mean lets them be: so many, or one more.
        let (fewer, more) = (ran.floor(), ran - ran.floor());
        for (at_once, share) in [(fewer, 1.0 - more), (fewer + 1.0, more)] {
            let time = part(passed, share);
            if at_once > 0.0 && time > 0 {
                let place = at_once as usize - 1;
                self.running.resize(self.running.len().max(place + 1), 0);
                self.running[place] += time;
            }
        }
        if let Some((_, place)) = step.ender {
            *self.stood.entry(place).or_default() += std::mem::take(&mut self.standing);
        }
        if ran < 1.0 {
            let none = part(passed, 1.0 - ran);
            let queued = step.queued.min(none);
            self.none_ran += queued;
            match step.ender {
                Some((_, place)) => *self.stood.entry(place).or_default() += none - queued,
                None => self.standing += none - queued,
            }
        }
    }

    fn ends(&mut self, life: Life) {
        if self.ended.len() == LISTED {
            self.more += 1;
        } else {
            self.ended.push(life);
        }
    }

    /// Nothing is seen any more.
    fn close(&mut self) {
        let living = std::mem::take(&mut self.living);
        // The last wait ended the command.
        let last = living.values().map(|life| life.seen.place).find(|&place| place != Where::Runnable);
        *self.stood.entry(last.unwrap_or(Where::Hidden)).or_default() += std::mem::take(&mut self.standing);
        living.into_values().for_each(|life| self.ends(life));
    }

    /// What the kernel charged and no snapshot saw: threads between two of them, and their last moments.
    fn missed(&self, charged: &Charged) -> u64 {
        ((charged.user + charged.system).0 / 1000).saturating_sub(self.on_cpu)
    }

    fn activities(&self, charged: &Charged) -> Vec<Activity> {
        // What was missed is divided as the rest is.
        let on_cpu = self.on_cpu + self.missed(charged);
        let user = part(on_cpu, user_share(charged));
        let mut activities = vec![
            activity("user code", Kind::User, user, 0, 0),
            activity("calls and faults", Kind::Call, on_cpu - user.min(on_cpu), 0, 0),
            activity("queue for a CPU", Kind::User, 0, self.queued, 0),
        ];
        for (&place, &blocked) in &self.blocked {
            let (name, kind) = named(place);
            activities.push(activity(name, kind, 0, 0, blocked));
        }
        activities.retain(|activity| activity.total > Picoseconds::ZERO);
        activities.order_by_key(|activity| std::cmp::Reverse(activity.total));
        activities
    }

    /// Scaled to the wall time, of which the ends lie before the first and after the last snapshot.
    fn course(&self, wall: u64) -> Course {
        let stood = self.stood.values().sum::<u64>();
        let all = self.running.iter().sum::<u64>() + self.none_ran + stood;
        let scaled = |time: u64| length(part(time, if all == 0 { 0.0 } else { wall as f64 / all as f64 }));
        let stood = self.stood.iter().filter(|(_, time)| **time > 0);
        let mut blocked: Vec<_> = stood
            .map(|(&place, &time)| BlockedBy { activity: named(place).0.into(), time: scaled(time) })
            .collect();
        blocked.order_by_key(|by| std::cmp::Reverse(by.time));
        Course {
            running: self.running.iter().map(|&time| scaled(time)).collect(),
            queued: scaled(self.none_ran),
            blocked,
        }
    }

    fn unseen(&self, charged: &Charged) -> Vec<String> {
        let mut unseen = Vec::new();
        let missed = self.missed(charged);
        let missed_share = share(missed, (charged.user + charged.system).0 / 1000);
        if missed_share > MISSED {
            unseen.push(format!(
                "Of the time that the kernel charged, {}, {}, belongs to threads that no snapshot saw, or to their last \
                 moments: it is divided as the rest is, and what they waited for is not known.",
                length(missed),
                percent(missed_share)
            ));
        }
        if self.unscheduled {
            unseen.push(
                "This kernel does not say for how long a thread was on a CPU and queued (/proc/PID/schedstat): what \
                 a snapshot shows stands for the time before it, and queued counts as on a CPU."
                    .to_owned(),
            );
        }
        if self.hidden {
            unseen.push(
                "Of some threads the kernel does not say in which call they wait (/proc/PID/syscall): they have \
                 rights of another user, or a security module or sandbox forbids it."
                    .to_owned(),
            );
        }
        unseen
    }
}

/// A part of a length, as a fraction.
fn share(time: u64, of: u64) -> f64 {
    if of == 0 { 0.0 } else { time as f64 / of as f64 }
}

impl Life {
    /// `user` is what part of the time on a CPU is user code where its own ticks are too few to tell.
    fn thread(&self, user: f64) -> Thread {
        let ticks = self.seen.ticks.0 + self.seen.ticks.1;
        let user = if ticks >= TICKS { share(self.seen.ticks.0, ticks) } else { user };
        let user = part(self.on_cpu, user).min(self.on_cpu);
        Thread {
            process: self.seen.process,
            thread: self.seen.thread,
            name: self.seen.name.clone(),
            wall: length(self.on_cpu + self.queued + self.blocked),
            user: length(user),
            kernel: length(self.on_cpu - user),
            faults: Picoseconds::ZERO,
            interrupts: Picoseconds::ZERO,
            queued: length(self.queued),
            blocked: length(self.blocked),
        }
    }
}

fn named(place: Where) -> (&'static str, Kind) {
    match place {
        Where::Call(Some(name)) => (name, Kind::of_call(name)),
        Where::Call(None) => ("a call without a name", Kind::Call),
        Where::Fault => ("page fault", Kind::Fault),
        Where::Runnable | Where::Hidden | Where::Ended => ("what the kernel does not tell", Kind::Call),
    }
}

fn activity(name: &str, kind: Kind, on_cpu: u64, queued: u64, blocked: u64) -> Activity {
    let split = Split { on_cpu: length(on_cpu), queued: length(queued), blocked: length(blocked) };
    Activity { total: split.total(), split: Some(split), ..blank(name, kind) }
}
