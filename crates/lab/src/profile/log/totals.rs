//! What a log or a table comes to, as a profile.

use tenbin_model::profile::{self, Activity, Kind, Observer, Split};
use tenbin_model::{Order, Picoseconds, Profile};

use super::clock::StampKind;
use super::table::{Row, Tables};
use super::threads::Thread;
use super::{LISTED, Log, USER_CODE, Unread};
use crate::profile::blank;

impl Log {
    pub(super) fn profile(mut self) -> Result<Profile, Unread> {
        self.gives_up_torn();
        if self.events == 0 {
            return self.table();
        }
        let latest = self.clock.kind.map(|_| self.clock.latest);
        for thread in self.threads.rest() {
            // What a thread was in when the log ended lasted at least until then.
            let until = thread.pending.filter(|pending| !pending.never).and(latest);
            self.settle(thread, until);
        }
        Ok(Profile {
            command: self.command.clone().unwrap_or_default(),
            observer: Observer::Log,
            started: self.started(),
            wall: self.wall(),
            exit_status: self.ended.and_then(|(_, status)| status).filter(|_| self.command.is_some()),
            activities: self.activities(),
            threads: self.listed.iter().flatten().map(|thread| self.listed_thread(thread)).collect(),
            more_threads: self.threads.begun.saturating_sub(LISTED),
            unseen: self.unseen(),
            ..Profile::default()
        })
    }

    fn started(&self) -> String {
        if self.clock.kind != Some(StampKind::Epoch) {
            return String::new();
        }
        let seconds = i64::try_from(self.clock.first / 1_000_000_000).unwrap_or(i64::MAX);
        jiff::Timestamp::from_second(seconds).map_or_else(|_| String::new(), |started| started.to_string())
    }

    fn wall(&self) -> Option<Picoseconds> {
        self.clock.kind?;
        let end = self.ended.and_then(|(end, _)| end).filter(|_| self.command.is_some());
        let end = end.unwrap_or(self.clock.latest);
        Some(Picoseconds::from_nanos(end.saturating_sub(self.clock.first)))
    }

    /// Whether the time between calls is known.
    fn knows_between(&self) -> bool {
        self.times && self.clock.kind.is_some()
    }

    fn activities(&mut self) -> Vec<Activity> {
        let times = self.times;
        let mut activities: Vec<Activity> = std::mem::take(&mut self.calls)
            .into_iter()
            .filter(|call| call.count + call.in_flight > 0)
            .map(|call| Activity {
                count: call.count,
                total: Picoseconds::from_nanos(if times {
                    call.total.saturating_add(call.in_flight_total)
                } else {
                    0
                }),
                errors: call.errors,
                longest: Picoseconds::from_nanos(call.longest),
                histogram: call.histogram,
                in_flight: call.in_flight,
                ..blank(&call.name, if call.waits { Kind::Wait } else { Kind::Call })
            })
            .collect();
        if self.knows_between() {
            activities.push(Activity {
                total: Picoseconds::from_nanos(self.between),
                longest: Picoseconds::from_nanos(self.longest_between),
                ..blank(USER_CODE, Kind::User)
            });
        }
        sort(&mut activities);
        activities
    }

    fn listed_thread(&self, thread: &Thread) -> profile::Thread {
        let (user, kernel, blocked) = match (self.times, self.clock.kind) {
            (true, Some(_)) => (between(thread), thread.in_calls, thread.in_waits),
            (true, None) => (0, thread.in_calls, thread.in_waits),
            _ => (0, 0, 0),
        };
        let parts = user.saturating_add(kernel).saturating_add(blocked);
        profile::Thread {
            process: thread.process,
            thread: thread.number,
            name: thread.name.clone(),
            wall: Picoseconds::from_nanos(if self.times { parts } else { length(thread) }),
            user: Picoseconds::from_nanos(user),
            kernel: Picoseconds::from_nanos(kernel),
            faults: Picoseconds::ZERO,
            interrupts: Picoseconds::ZERO,
            queued: Picoseconds::ZERO,
            blocked: Picoseconds::from_nanos(blocked),
        }
    }

    /// A file without a line of a log.
    fn table(self) -> Result<Profile, Unread> {
        if self.tables.begun == 0 {
            let lines = self.lines;
            return Err(self.first.map_or(Unread::Empty, |first| Unread::NotStrace { lines, first }));
        }
        let tables = &self.tables;
        if !tables.has_wall() && !tables.has_seconds() {
            return Err(Unread::NoTime { titles: tables.titles() });
        }
        let splits = tables.splits();
        let mut activities: Vec<Activity> =
            tables.rows.iter().map(|row| of_row(row, tables, splits)).collect();
        sort(&mut activities);
        Ok(Profile {
            observer: Observer::Log,
            activities,
            unseen: self.unseen_in_table(),
            ..Profile::default()
        })
    }
}

/// How long a thread ran, in nanoseconds.
fn length(thread: &Thread) -> u64 {
    thread.begin.zip(thread.end).map_or(0, |(begin, end)| end.saturating_sub(begin))
}

/// How long a thread was in no call.
pub(super) fn between(thread: &Thread) -> u64 {
    length(thread).saturating_sub(thread.in_calls.saturating_add(thread.in_waits))
}

fn of_row(row: &Row, tables: &Tables, splits: bool) -> Activity {
    let (total, longest) =
        if tables.has_wall() { (row.wall, row.wall_longest) } else { (row.seconds, row.longest) };
    let total = Picoseconds::from_nanos(total);
    let on_cpu = Picoseconds::from_nanos(row.seconds).min(total);
    Activity {
        count: row.calls,
        errors: row.errors,
        total,
        split: splits.then(|| Split {
            on_cpu,
            queued: Picoseconds::ZERO,
            blocked: total.saturating_sub(on_cpu),
        }),
        longest: Picoseconds::from_nanos(longest),
        ..blank(&row.name, Kind::of_call(&row.name))
    }
}

/// The longest first; of equally long ones the most frequent.
fn sort(activities: &mut [Activity]) {
    activities.order_by(|one, other| {
        (other.total, other.count).cmp(&(one.total, one.count)).then_with(|| one.name.cmp(&other.name))
    });
}
