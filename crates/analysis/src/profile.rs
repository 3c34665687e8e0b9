//! A profile in words: where the wall time of a command went, and why it differs from another's.

pub mod difference;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tenbin_document::{Document, Table};
use tenbin_model::profile::{
    Activity, Course, Event, FileUse, Kind, Observer, Overhead, Snapshots, Split, Thread,
};
use tenbin_model::words::{comma, counted, percent};
use tenbin_model::{Order, Picoseconds, Profile};

/// Rows of a table that are shown one by one.
const ROWS: usize = 12;

/// Calls that are named of a file.
const CALLS: usize = 3;

/// A call is named in the first line whose time on a CPU is one part of so many of the wall time, or more.
const LEADING: u64 = 20;

/// Threads that are shown one by one.
const THREADS: usize = 8;

/// How far the parts of a thread's time may be from it, before that is said.
const TOLERATED: f64 = 0.002;

/// Where the time went, the answer first.
pub fn document(profile: &Profile) -> Document {
    let mut document = Document::new();
    document.paragraph(0, answer(profile));
    let (waits, own): (Vec<_>, Vec<_>) =
        profile.activities.iter().partition(|activity| activity.kind == Kind::Wait);
    if !own.is_empty() {
        document.space().table(activities(&own));
    }
    if !waits.is_empty() {
        document
            .space()
            .line("Waiting for others: this time belongs to what they waited for, and explains nothing");
        document.space().table(activities(&waits));
    }
    files(&profile.files, &mut document);
    wakers(profile, &mut document);
    threads(profile, &mut document);
    in_flight(profile, &mut document);
    rough(profile, &mut document);
    if let Some(snapshots) = &profile.snapshots {
        document.space().paragraph(0, estimated(snapshots));
    }
    if let Some(overhead) = &profile.overhead {
        document.space().paragraph(0, observing(overhead, profile));
    }
    for sentence in &profile.unseen {
        document.space().paragraph(0, sentence);
    }
    document
}

fn answer(profile: &Profile) -> String {
    let command = match &profile.command[..] {
        [] => "The command".to_owned(),
        words => format!("`{}`", words.join(" ")),
    };
    let calls = profile.activities.iter().filter(|it| matches!(it.kind, Kind::Call | Kind::Wait));
    let calls: u64 = calls.map(|activity| activity.count).sum();
    let threads = profile.threads.len() as u64 + profile.more_threads;
    match (profile.wall, &profile.course) {
        (Some(wall), Some(course)) => {
            format!("{command} took {wall}: {}.{}", shares(course, wall), busiest(profile, wall))
        }
        (Some(wall), None) => {
            format!("{command} took {wall}, in which {threads} of its threads did {}.", most(profile, calls))
        }
        (None, _) => format!("{command}: {threads} of its threads did {}.", most(profile, calls)),
    }
}

/// Which calls were longest on a CPU, where that was a part of the wall time that matters.
fn busiest(profile: &Profile, wall: Picoseconds) -> String {
    let on_cpu = |it: &&Activity| it.split.as_ref().map_or(Picoseconds::ZERO, |split| split.on_cpu);
    let mut calls: Vec<&Activity> = profile.activities.iter().filter(|it| it.kind == Kind::Call).collect();
    calls.retain(|it| on_cpu(it).0.saturating_mul(LEADING) >= wall.0);
    calls.order_by_key(|it| Reverse(on_cpu(it)));
    let named = comma(calls.iter().take(CALLS).map(|it| format!("{} ({})", it.name, on_cpu(it))));
    if calls.is_empty() { String::new() } else { format!(" Calls were on a CPU longest in {named}.") }
}

fn most(profile: &Profile, calls: u64) -> String {
    let longest = profile.activities.iter().filter(|it| it.kind == Kind::Call).max_by_key(|it| it.total);
    let longest = longest.map(|it| format!(", most of their time in {} ({})", it.name, it.total));
    counted(usize::try_from(calls).unwrap_or(usize::MAX), "call") + &longest.unwrap_or_default()
}

/// What part of the wall time its threads ran, were queued, and stood still, and for what.
fn shares(course: &Course, wall: Picoseconds) -> String {
    let share = |time: Picoseconds| if wall.0 == 0 { 0.0 } else { time.0 as f64 / wall.0 as f64 };
    let mut parts = Vec::new();
    let mut at_once: Vec<_> =
        course.running.iter().zip(1..).filter(|(time, _)| share(**time) >= 0.005).collect();
    at_once.order_by_key(|(time, _)| Reverse(**time));
    for (time, count) in at_once {
        let ran = if count == 1 { "thread ran" } else { "threads ran at once" };
        parts.push(format!("{} of it {count} {ran}", percent(share(*time))));
    }
    if share(course.queued) >= 0.005 {
        parts.push(format!("{} none ran and one waited for a CPU", percent(share(course.queued))));
    }
    let stood: Picoseconds = course.blocked.iter().map(|by| by.time).sum();
    if share(stood) >= 0.005 {
        let by = course.blocked.iter().filter(|by| share(by.time) >= 0.005).take(3);
        let by = comma(by.map(|by| format!("{} {}", by.activity, percent(share(by.time)))));
        let by = if by.is_empty() { by } else { format!(" ({by})") };
        parts.push(format!("{} all were blocked{by}", percent(share(stood))));
    }
    comma(parts)
}

/// A row a file, with its most frequent calls.
fn files(all: &[FileUse], document: &mut Document) {
    let mut files: BTreeMap<&str, Vec<&FileUse>> = BTreeMap::new();
    for file in all {
        files.entry(&file.file).or_default().push(file);
    }
    let sum = |uses: &[&FileUse]| uses.iter().fold(Split::default(), |sum, file| sum.plus(file.split));
    let mut files: Vec<_> = files.into_iter().map(|(name, uses)| (name, sum(&uses), uses)).collect();
    files.order_by_key(|(_, split, _)| Reverse(split.total()));
    let more = files.split_off(files.len().min(ROWS));
    let row = |name: String, split: Split, uses: &[&FileUse], calls: String| {
        let errors: u64 = uses.iter().map(|file| file.errors).sum();
        let errors = if errors == 0 { "–".into() } else { errors.to_string() };
        let time = |part: Picoseconds| if part.0 == 0 { "–".into() } else { part.to_string() };
        vec![name, split.total().to_string(), time(split.on_cpu), time(split.blocked), errors, calls]
    };
    let mut rows: Vec<_> = files
        .into_iter()
        .map(|(name, split, mut uses)| {
            uses.order_by_key(|file| Reverse(file.count));
            let calls = uses.iter().take(CALLS).map(|file| format!("{} {}", file.count, file.activity));
            let more = if uses.len() > CALLS { " …" } else { "" };
            row(name.into(), split, &uses, comma(calls) + more)
        })
        .collect();
    if !more.is_empty() {
        let uses: Vec<_> = more.iter().flat_map(|(.., uses)| uses).copied().collect();
        let calls = uses.iter().map(|file| file.count).sum::<u64>().to_string();
        rows.push(row(format!("{} others", more.len()), sum(&uses), &uses, calls));
    }
    if !rows.is_empty() {
        let header = ["file", "all together", "on a CPU", "blocked", "errors", "calls"];
        let mut table = Table::new(header, rows);
        table.words.push(header.len() - 1);
        document.space().table(table);
    }
}

/// A row an activity, those beyond [`ROWS`] as one.
fn activities(all: &[&Activity]) -> Table {
    let mut rows: Vec<_> = all.iter().take(ROWS).map(|activity| row(&activity.name, activity)).collect();
    if all.len() > ROWS {
        let mut sum = all[ROWS].clone();
        for more in &all[ROWS + 1..] {
            sum.count += more.count;
            sum.errors += more.errors;
            sum.total += more.total;
            sum.longest = sum.longest.max(more.longest);
            sum.split = sum.split.zip(more.split).map(|(one, other)| one.plus(other));
        }
        rows.push(row(&format!("{} others", all.len() - ROWS), &sum));
    }
    let header = ["", "count", "errors", "all together", "on a CPU", "queued", "blocked", "longest"];
    let is_split = all.iter().any(|activity| activity.split.is_some());
    let is_shown = |column: usize| is_split || !(4..7).contains(&column);
    let shown =
        |row: Vec<String>| row.into_iter().enumerate().filter(|(it, _)| is_shown(*it)).map(|(_, it)| it);
    let header: Vec<String> = shown(header.map(str::to_owned).to_vec()).collect();
    Table::new(header, rows.into_iter().map(|row| shown(row).collect()).collect())
}

fn row(name: &str, activity: &Activity) -> Vec<String> {
    let count = |count: u64| if count == 0 { "–".into() } else { count.to_string() };
    let part = |part: fn(&Split) -> Picoseconds| match &activity.split {
        None => "?".into(),
        Some(split) if part(split).0 == 0 => "–".into(),
        Some(split) => part(split).to_string(),
    };
    let longest = if activity.longest.0 == 0 { "–".into() } else { activity.longest.to_string() };
    vec![
        name.to_owned(),
        count(activity.count),
        count(activity.errors),
        // What happened took its time; where that is not known there is none.
        if activity.total.0 == 0 && activity.count > 0 { "?".into() } else { activity.total.to_string() },
        part(|split| split.on_cpu),
        part(|split| split.queued),
        part(|split| split.blocked),
        longest,
    ]
}

/// What ended the longest waits.
fn wakers(profile: &Profile, document: &mut Document) {
    let mut all: Vec<_> = profile
        .activities
        .iter()
        .flat_map(|activity| activity.wakers.iter().map(move |waker| (activity, waker)))
        .filter(|(_, waker)| waker.blocked > Picoseconds::ZERO)
        .collect();
    all.order_by_key(|(_, waker)| std::cmp::Reverse(waker.blocked));
    if all.is_empty() {
        return;
    }
    let rows = all.iter().take(THREADS).map(|(activity, waker)| {
        vec![activity.name.clone(), waker.name.clone(), waker.count.to_string(), waker.blocked.to_string()]
    });
    let table = Table::new(["blocked in", "woken by", "times", "blocked"], rows.collect());
    document.space().table(table.with_words(1));
}

fn threads(profile: &Profile, document: &mut Document) {
    if profile.threads.is_empty() {
        return;
    }
    let mut longest: Vec<&Thread> = profile.threads.iter().collect();
    longest.order_by_key(|thread| std::cmp::Reverse(thread.wall));
    let rows = longest.iter().take(THREADS).map(|thread| {
        let Thread { wall, user, kernel, faults, interrupts, queued, blocked, .. } = thread;
        let parts = [wall, user, kernel, faults, interrupts, queued, blocked];
        let name = format!("{} {}", thread.name, thread.thread);
        std::iter::once(name).chain(parts.map(Picoseconds::to_string)).collect()
    });
    let header = ["thread", "wall", "user", "calls", "faults", "interrupts", "queued", "blocked"];
    document.space().table(Table::new(header, rows.collect()));
    let more = (longest.len().saturating_sub(THREADS)) as u64 + profile.more_threads;
    if more > 0 {
        let more = counted(usize::try_from(more).unwrap_or(usize::MAX), "thread");
        document.line(format!("  and {more} more, with shorter lives or beyond what is kept"));
    }
    let off: Vec<_> = longest.iter().filter(|thread| missed(thread) > TOLERATED).collect();
    if let Some(worst) = off.iter().map(|thread| missed(thread)).reduce(f64::max) {
        let (threads, worst) = (counted(off.len(), "thread"), percent(worst));
        document.space().paragraph(0, format!("The parts of {threads} miss its time, by {worst} at most."));
    }
}

/// How far the parts of a thread's time are from it, as a share of it.
fn missed(thread: &Thread) -> f64 {
    let parts =
        thread.user + thread.kernel + thread.faults + thread.interrupts + thread.queued + thread.blocked;
    if thread.wall.0 == 0 { 0.0 } else { parts.0.abs_diff(thread.wall.0) as f64 / thread.wall.0 as f64 }
}

fn in_flight(profile: &Profile, document: &mut Document) {
    let calls = profile.activities.iter().filter(|activity| activity.in_flight > 0);
    let calls = comma(calls.map(|activity| format!("{} {}", activity.in_flight, activity.name)));
    if !calls.is_empty() {
        document.space().paragraph(0, format!("Had not returned at the end: {calls}."));
    }
}

/// What `time` says, and the wait that is left of it by a rough formula.
fn rough(profile: &Profile, document: &mut Document) {
    let (Some(wall), Some(charged)) = (profile.wall, profile.charged) else { return };
    let spent = (charged.user.0 + charged.system.0) / u64::from(charged.cpus.max(1));
    let sign = if wall.0 < spent { "−" } else { "" };
    let wait = Picoseconds(wall.0.abs_diff(spent));
    document.space().paragraph(
        0,
        format!(
            "As time(1) has it: real {wall}, user {}, sys {} (by the ticks that met it: of milliseconds they say little). By the rough formula real − (user + sys) / CPUs, wait {sign}{wait} \
             on {}.",
            charged.user,
            charged.system,
            counted(charged.cpus as usize, "CPU"),
        ),
    );
}

/// How far a share that comes of snapshots may be off: 1.96 standard deviations of a share of a half, as if
/// each thread that a snapshot saw were drawn by itself.
fn estimated(snapshots: &Snapshots) -> String {
    let count = usize::try_from(snapshots.count).unwrap_or(usize::MAX);
    let off = 0.98 / (snapshots.threads.max(1) as f64).sqrt();
    format!(
        "Sampled every {}: {}, in which threads were seen {}; a share of their time has ± {} at most (95 %). What is on a \
         CPU and what is queued, the scheduler has summed up; in which call a thread was blocked is estimated.",
        snapshots.every,
        counted(count, "snapshot"),
        counted(usize::try_from(snapshots.threads).unwrap_or(usize::MAX), "time"),
        percent(off.min(1.0))
    )
}

fn observing(overhead: &Overhead, profile: &Profile) -> String {
    let parts = comma(overhead.parts.iter().map(|part| {
        let (one, many) = match part.event {
            Event::Call => ("call", "calls"),
            Event::UntimedCall => ("call that was not timed", "calls that were not timed"),
            Event::UnseenCall => {
                ("call of which only the end was seen", "calls of which only the end was seen")
            }
            Event::Fault => ("page fault", "page faults"),
            Event::UntimedFault => ("page fault that was not timed", "page faults that were not timed"),
            Event::Switch => ("switch of threads", "switches of threads"),
            Event::Snapshot => ("snapshot", "snapshots"),
        };
        let is_free = part.each == Picoseconds::ZERO;
        let each = if is_free { "nothing".into() } else { part.each.to_string() };
        match part.count {
            1 => format!("{each} for one {one}"),
            count => format!("{each} for each of {count} {many}"),
        }
    }));
    let between = overhead.part(Event::Call).map(|call| call.between);
    match profile.observer {
        Observer::Exact => format!(
            "Observing it took about {}: {parts}, measured on calls made for that; {} of each shows as user code, \
             and the rest as time in the call.",
            overhead.total,
            between.unwrap_or_default()
        ),
        Observer::Snapshots => {
            format!("Observing it took {} of a CPU, beside the command: {parts}.", overhead.total)
        }
        Observer::Kernel | Observer::Log => {
            let all: Picoseconds = profile.activities.iter().map(|activity| activity.total).sum();
            let share = if all.0 == 0 { 0.0 } else { overhead.total.0 as f64 / all.0 as f64 };
            let between = between.map(|between| format!(" Of a call, {between} show as user code."));
            format!(
                "Observing it took at least {}, {} of the time of its threads: {parts}, with warm caches; cold ones make \
                 that up to three times as much.{}",
                overhead.total,
                percent(share),
                between.unwrap_or_default()
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use tenbin_model::profile::OverheadPart;

    use super::*;

    pub(super) fn activity(name: &str, kind: Kind, count: u64, total: Picoseconds) -> Activity {
        let (name, longest) = (name.into(), Picoseconds::ZERO);
        let (split, histogram, wakers) = (None, Vec::new(), Vec::new());
        Activity { name, kind, count, errors: 0, total, split, longest, histogram, wakers, in_flight: 0 }
    }

    /// Of a million threads only some are kept; the time of all is that of what they did.
    #[test]
    fn the_share_of_observing_is_of_all_threads() {
        let each = Picoseconds::from_nanos(100);
        let part = OverheadPart { event: Event::Call, count: 1000, each, between: Picoseconds::ZERO };
        let overhead = Overhead { parts: vec![part], total: Picoseconds::from_nanos(100_000) };
        let activity = activity("vfork", Kind::Call, 1000, Picoseconds::from_nanos(1_000_000));
        let profile = Profile { activities: vec![activity], more_threads: 1_000_000, ..Profile::default() };
        let sentence = observing(&overhead, &profile);
        assert!(sentence.contains("100 µs, 10 % of the time of its threads"), "{sentence}");
    }

    #[test]
    fn what_was_observed_once_is_one() {
        let each = Picoseconds::from_nanos(490);
        let part = |event, count| OverheadPart { event, count, each, between: Picoseconds::ZERO };
        let parts = vec![part(Event::UntimedFault, 1), part(Event::Switch, 1), part(Event::Call, 2)];
        let sentence = observing(&Overhead { parts, total: each }, &Profile::default());
        let each = "490 ns for one page fault that was not timed, 490 ns for one switch of threads, 490 ns for each of 2 \
                    calls";
        assert!(sentence.contains(each), "{sentence}");
    }
}
