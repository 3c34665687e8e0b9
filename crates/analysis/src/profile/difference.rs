//! Why a command takes longer than another: the difference of their wall times, activity by activity.
//!
//! The wall time of a command is split exactly. While threads run, each instant is shared out among what they
//! do, in proportion to the time on a CPU that each activity took; while none runs, the time is that of the
//! activity whose wait ended it, or of the queue for a CPU. What observing added is a part of its own, and no
//! part of the difference: it is known from a call that does next to nothing
//! ([`tenbin_model::profile::Overhead`]), and taken off the calls and page faults, and off the user code
//! between them, in which a part of it shows. So a parent that waits for its child, or a thread for another's
//! lock, is to blame for nothing. The parts of two commands differ by as much as the wholes do, and what no
//! activity that is named explains is left over as a part of its own.
//!
//! With several profiles of each side, taken in turns, each part has an interval by rank sums
//! ([`tenbin_stats::sides`]), at a level shared by all parts (Bonferroni), and is named only where that
//! leaves zero out.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tenbin_document::{Document, Table};
use tenbin_model::profile::{Activity, Event, Kind};
use tenbin_model::words::{comma, counted};
use tenbin_model::{Interval, Order, Picoseconds, Profile, order};
use tenbin_stats::order::Ordered;
use tenbin_stats::{multiple, sides};

use crate::comparable::{Comparability, Outcome, compare};

/// The probability that any part is named where there is no difference.
const LEVEL: f64 = 0.01;

/// A part is named from this share of the difference on.
const NAMED: f64 = 0.05;

/// None is named where the largest has a smaller share than this: each is then one of many, and not why.
const LEADING: f64 = 0.15;

/// What observing added is known within this share of it: what a call costs depends on the code around it,
/// by a quarter where the kernel spoils the CPU's return stack. A part is named where it differs by more.
const UNSURE: f64 = 0.3;

/// Parts that are named in the sentence.
const IN_SENTENCE: usize = 3;

/// Profiles of each side that are enough for intervals, whatever the commands do.
pub const ENOUGH: usize = 10;

/// Why the right command takes longer than the left one, or less long.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Explanation {
    /// Name and version of this shape.
    #[schemars(extend("const" = Explanation::SCHEMA))]
    pub schema: String,
    /// The answer.
    pub sentence: String,
    /// The names of both.
    pub names: [String; 2],
    /// Profiles of each.
    pub profiles: [usize; 2],
    /// The wall time of the right one less that of the left one.
    pub difference: Moved,
    /// What explains it, the largest share first.
    pub causes: Vec<Cause>,
    /// What none of them explains.
    pub not_explained: Moved,
    /// Whether they ran on comparable machines. None where that is not known.
    pub machines: Option<Comparability>,
}

/// By how much a time of the right command is longer than the left one's.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Moved {
    /// In nanoseconds; below zero where it is shorter.
    pub nanoseconds: f64,
    /// Where it lies. None where there are too few profiles to know.
    pub interval: Option<Interval>,
}

impl Moved {
    /// Whether it is known to be no accident. What has no interval is taken at its word.
    fn is_known(&self) -> bool {
        match self.interval {
            None => self.nanoseconds != 0.0,
            Some(interval) => interval.low > 0.0 || interval.high < 0.0,
        }
    }
}

/// A part of the difference.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Cause {
    /// The activity; `queue for a CPU` is none of a thread's.
    pub activity: String,
    /// What it is. None for the queue.
    pub kind: Option<Kind>,
    /// How much more of the wall time is its.
    pub difference: Moved,
    /// That as a share of the whole difference.
    pub share: f64,
    /// How often each side did it.
    pub counts: [f64; 2],
    /// The part of its difference that is of its being done more often, at what one takes on the left, in
    /// nanoseconds. The rest is of each one's taking longer.
    pub by_count: f64,
}

impl Explanation {
    /// Name and version of this shape.
    pub const SCHEMA: &'static str = "tenbin-explanation-1";
}

/// The wall time that an activity took of a profile, how often it was done, and what observing it added and
/// was taken off.
#[derive(Clone, Copy, Debug, Default)]
struct Part {
    wall: f64,
    count: f64,
    added: f64,
}

/// The wall time of a profile without what observing it added, in nanoseconds, and its parts.
#[derive(Debug)]
struct Parts<'a> {
    whole: f64,
    each: BTreeMap<&'a str, Part>,
}

/// The time in which no thread ran and one could have.
const QUEUE: &str = "queue for a CPU";

fn parts(profile: &Profile) -> Parts<'_> {
    let mut each: BTreeMap<&str, Part> = BTreeMap::new();
    let nanoseconds = |time: Picoseconds| time.as_nanos();
    let Some(course) = &profile.course else {
        // When threads ran is not known, so their time stands for wall time; what waits for others is no part
        // of it.
        for activity in profile.activities.iter().filter(|activity| activity.kind != Kind::Wait) {
            let part = Part { wall: nanoseconds(activity.total), count: activity.count as f64, added: 0.0 };
            each.insert(&activity.name, part);
        }
        let whole = profile.wall.map_or_else(|| each.values().map(|part| part.wall).sum(), nanoseconds);
        return Parts { whole, each };
    };
    let running: f64 = course.running.iter().map(|&time| nanoseconds(time)).sum();
    let on_cpu = |activity: &Activity| activity.split.map_or(0.0, |split| nanoseconds(split.on_cpu));
    let all: f64 = profile.activities.iter().map(on_cpu).sum();
    let cost = |event| {
        let part = profile.overhead.as_ref().and_then(|overhead| overhead.part(event));
        part.map_or((0.0, 0.0), |part| (nanoseconds(part.each), nanoseconds(part.between)))
    };
    let shown_as_user = profile.overhead.iter().flat_map(|overhead| &overhead.parts);
    let shown_as_user: f64 = shown_as_user.map(|part| part.count as f64 * nanoseconds(part.between)).sum();
    for activity in &profile.activities {
        let count = activity.count as f64;
        // What observing it added to the time that is booked as its own.
        let inside = |event| {
            let (each, between) = cost(event);
            (each - between) * count
        };
        let added = match activity.kind {
            Kind::Call | Kind::Wait => inside(Event::Call),
            Kind::Fault => inside(Event::Fault),
            Kind::User => shown_as_user,
            Kind::Interrupt => 0.0,
        };
        let own = (on_cpu(activity) - added).max(0.0);
        let of_wall = |time: f64| if all > 0.0 { time * running / all } else { 0.0 };
        each.insert(&activity.name, Part { wall: of_wall(own), count, added: of_wall(added) });
    }
    for by in &course.blocked {
        each.entry(&by.activity).or_default().wall += nanoseconds(by.time);
    }
    each.insert(QUEUE, Part { wall: nanoseconds(course.queued), ..Part::default() });
    Parts { whole: each.values().map(|part| part.wall).sum(), each }
}

/// Why the right command takes longer, or less long, than the left one; the names are of both.
///
/// None where a side has no profile.
pub fn explain(names: [String; 2], left: &[Profile], right: &[Profile]) -> Option<Explanation> {
    let machines = left.first()?.machine.as_ref().zip(right.first()?.machine.as_ref());
    let sides = [left, right].map(|side| side.iter().map(parts).collect::<Vec<_>>());
    let activities: BTreeSet<&str> =
        order::set(sides.iter().flatten().flat_map(|parts| parts.each.keys().copied()));
    // The whole, each part, and what is left.
    let level = multiple::bonferroni(LEVEL, activities.len() + 2)?;
    let moved = |of: &dyn Fn(&Parts<'_>) -> f64| {
        let [left, right] = [0, 1].map(|side: usize| sides[side].iter().map(of).collect::<Vec<f64>>());
        Some(match sides::shift(&left, &right, level) {
            Some(shift) => Moved { nanoseconds: shift.estimate, interval: Some(shift.interval) },
            None => {
                let nanoseconds = Ordered::new(right)?.median() - Ordered::new(left)?.median();
                Moved { nanoseconds, interval: None }
            }
        })
    };
    let difference = moved(&|parts| parts.whole)?;
    let of = |name: &str, read: fn(&Part) -> f64| {
        let name = name.to_owned();
        move |parts: &Parts<'_>| parts.each.get(&*name).map_or(0.0, read)
    };
    let kind = |name: &str| {
        let all = left.iter().chain(right).flat_map(|profile| &profile.activities);
        all.filter(|activity| activity.name == name).map(|activity| activity.kind).next()
    };
    let mut causes = Vec::new();
    for &name in activities.iter().filter(|_| difference.is_known()) {
        let own = moved(&of(name, |part| part.wall))?;
        let share = own.nanoseconds / difference.nanoseconds;
        if !own.is_known() || !share.is_finite() || share.abs() < NAMED {
            continue;
        }
        let medians = |read: fn(&Part) -> f64| {
            let side = |side: usize| Ordered::new(sides[side].iter().map(of(name, read)).collect());
            Some([side(0)?.median(), side(1)?.median()])
        };
        let (counts, walls) = (medians(|part| part.count)?, medians(|part| part.wall)?);
        let added = medians(|part| part.added)?;
        if own.nanoseconds.abs() <= UNSURE * (added[1] - added[0]).abs() {
            continue;
        }
        // What one takes on the left, or on the right where there is none on the left.
        let each = if counts[0] > 0.0 { walls[0] / counts[0] } else { walls[1] / counts[1].max(1.0) };
        let kind = kind(name);
        let is_counted = matches!(kind, Some(Kind::Call | Kind::Fault | Kind::Interrupt));
        let by_count = if is_counted { (counts[1] - counts[0]) * each } else { 0.0 };
        causes.push(Cause { activity: name.to_owned(), kind, difference: own, share, counts, by_count });
    }
    causes.order_by(|one, other| other.share.abs().total_cmp(&one.share.abs()));
    if causes.first().is_some_and(|first| first.share.abs() < LEADING) {
        causes.clear();
    }
    let not_explained = moved(&|parts| {
        let named = causes.iter().map(|cause| parts.each.get(&*cause.activity).map_or(0.0, |part| part.wall));
        parts.whole - named.sum::<f64>()
    })?;
    let mut explanation = Explanation {
        schema: Explanation::SCHEMA.into(),
        sentence: String::new(),
        names,
        profiles: [left.len(), right.len()],
        difference,
        causes,
        not_explained,
        machines: machines.map(|(left, right)| compare(left, right)),
    };
    explanation.sentence = sentence(&explanation);
    Some(explanation)
}

fn sentence(explanation: &Explanation) -> String {
    let Explanation { names: [left, right], difference, causes, not_explained, profiles, .. } = explanation;
    if !difference.is_known() {
        return format!(
            "Nothing to explain: profiled, {left} and {right} are not known to take different times, in {} and {} \
             profiles.",
            profiles[0], profiles[1]
        );
    }
    let longer = if difference.nanoseconds > 0.0 { "longer" } else { "less" };
    let rest = not_explained.nanoseconds / difference.nanoseconds;
    let named = causes.iter().take(IN_SENTENCE);
    let mut shares: Vec<String> =
        named.map(|cause| format!("{} of that {}", whole_percent(cause.share), why(cause))).collect();
    if causes.len() > IN_SENTENCE {
        let others: f64 = causes[IN_SENTENCE..].iter().map(|cause| cause.share).sum();
        let more = counted(causes.len() - IN_SENTENCE, "part");
        shares.push(format!("{} in {more} more", whole_percent(others)));
    }
    let explained = if causes.is_empty() {
        "nothing that was observed explains it".to_owned()
    } else {
        let is_little = rest.abs() < 0.005;
        let rest = format!("; {} is not explained", whole_percent(rest));
        comma(shares) + if is_little { "" } else { &rest }
    };
    let few =
        if difference.interval.is_some() { "" } else { ". So few profiles do not show how far they vary" };
    format!("Profiled, {right} takes {} {longer} than {left}: {explained}{few}.", time(*difference))
}

/// A share in whole percent.
fn whole_percent(share: f64) -> String {
    let rounded = (share * 100.0).round();
    format!("{}{} %", if rounded < 0.0 { "−" } else { "" }, rounded.abs())
}

/// What about an activity takes more time, or less.
fn why(cause: &Cause) -> String {
    let Cause { activity, kind, difference, counts: [left, right], by_count, .. } = cause;
    let is_longer = difference.nanoseconds > 0.0;
    let (longer, more) = if is_longer { ("longer", "more") } else { ("shorter", "less") };
    let own = match kind {
        None => {
            return match &**activity {
                QUEUE => format!("is {more} time in the queue for a CPU that something else used"),
                _ => format!("is {more} time for which it was stopped"),
            };
        }
        Some(Kind::User) => return format!("is user code that runs {longer}"),
        Some(Kind::Wait) => return format!("is {longer} waits in {activity}"),
        Some(Kind::Call) => format!("of {activity}"),
        Some(Kind::Fault | Kind::Interrupt) => String::new(),
    };
    let noun = match kind {
        Some(Kind::Fault) => "page fault",
        Some(Kind::Interrupt) => "interrupt",
        _ => "call",
    };
    let own = if own.is_empty() { own } else { format!(" {own}") };
    if by_count.abs() * 2.0 >= difference.nanoseconds.abs() && (*by_count > 0.0) == is_longer {
        let more = if right > left { "more" } else { "fewer" };
        let count = (right - left).abs().round() as usize;
        let noun = if count == 1 { noun.to_owned() } else { format!("{noun}s") };
        return format!("is {count} {more} {noun}{own}");
    }
    format!("is {longer} {noun}s{own}")
}

/// A length of time with its interval.
fn time(moved: Moved) -> String {
    let length = |nanoseconds: f64| Picoseconds((nanoseconds.abs() * 1e3) as u64).to_string();
    let signed = |nanoseconds: f64| {
        let sign =
            if (nanoseconds < 0.0) == (moved.nanoseconds < 0.0) || nanoseconds == 0.0 { "" } else { "−" };
        format!("{sign}{}", length(nanoseconds))
    };
    match moved.interval {
        None => length(moved.nanoseconds),
        Some(Interval { low, high }) => {
            let (near, far) = if moved.nanoseconds < 0.0 { (high, low) } else { (low, high) };
            format!("{} ({} to {})", length(moved.nanoseconds), signed(near), signed(far))
        }
    }
}

/// The answer, under a name where it has one, and a row a cause.
pub fn document(explanation: &Explanation, name: Option<&str>) -> Document {
    let mut document = Document::new();
    match name {
        Some(name) => document.entry(name, &explanation.sentence),
        None => document.paragraph(0, &explanation.sentence),
    };
    if let Some(machines) = &explanation.machines
        && machines.outcome != Outcome::Alike
    {
        document.paragraph(0, &machines.sentence);
    }
    if explanation.causes.is_empty() {
        return document;
    }
    let whole = explanation.difference.nanoseconds;
    let row = |name: &str, counts: Option<[f64; 2]>, moved: Moved, by_count: Option<f64>| {
        let signed = |moved: Moved| match moved.nanoseconds {
            0.0 => "–".to_owned(),
            below if below < 0.0 => format!("−{}", time(moved)),
            _ => format!("+{}", time(moved)),
        };
        let count = |count: f64| if count == 0.0 { "–".to_owned() } else { format!("{}", count.round()) };
        let by_count = by_count.map(|by_count| signed(Moved { nanoseconds: by_count, interval: None }));
        let [left, right] = counts.map_or_else(|| ["–".into(), "–".into()], |counts| counts.map(count));
        let share = whole_percent(moved.nanoseconds / whole);
        vec![name.to_owned(), left, right, signed(moved), share, by_count.unwrap_or_else(|| "–".into())]
    };
    let mut rows: Vec<_> = explanation
        .causes
        .iter()
        .map(|cause| {
            let by_count = (cause.by_count != 0.0).then_some(cause.by_count);
            row(&cause.activity, Some(cause.counts), cause.difference, by_count)
        })
        .collect();
    rows.push(row("not explained", None, explanation.not_explained, None));
    let header = ["", "left", "right", "wall time", "share", "by their number"];
    document.space().table(Table::new(header, rows));
    document
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tenbin_model::profile::{BlockedBy, Course, Overhead, OverheadPart, Split};

    use super::*;
    use crate::profile::tests::activity;

    /// An activity with its count, its time on a CPU, and the time for which all stood still for it, in ms.
    type Did = (&'static str, Kind, u64, f64, f64);

    const BASE: &[Did] = &[
        ("user code", Kind::User, 0, 100.0, 0.0),
        ("read", Kind::Call, 1000, 50.0, 20.0),
        ("page fault", Kind::Fault, 500, 10.0, 0.0),
        ("interrupt", Kind::Interrupt, 40, 1.0, 0.0),
        ("wait4", Kind::Wait, 3, 0.1, 0.0),
        ("clock_nanosleep", Kind::Wait, 2, 0.1, 30.0),
    ];

    fn picoseconds(milliseconds: f64) -> Picoseconds {
        Picoseconds((milliseconds * 1e9).round() as u64)
    }

    /// A profile of these, times a factor, where `threads` run at once.
    fn profile(did: &[Did], queued: f64, threads: f64, factor: f64) -> Profile {
        let running: f64 = did.iter().map(|did| did.3 * factor / threads).sum();
        Profile {
            wall: Some(picoseconds(running + queued + did.iter().map(|did| did.4 * factor).sum::<f64>())),
            course: Some(Course {
                running: vec![picoseconds(running)],
                queued: picoseconds(queued),
                blocked: did
                    .iter()
                    .map(|did| BlockedBy { activity: did.0.into(), time: picoseconds(did.4 * factor) })
                    .collect(),
            }),
            activities: did
                .iter()
                .map(|did| Activity {
                    split: Some(Split { on_cpu: picoseconds(did.3 * factor), ..Split::default() }),
                    ..activity(did.0, did.1, did.2, picoseconds((did.3 + did.4) * factor))
                })
                .collect(),
            ..Profile::default()
        }
    }

    /// Ten of each, the times up to 1 % apart.
    fn explained(left: &[Did], right: &[Did], queued: [f64; 2]) -> Explanation {
        let factor = |place: usize| 1.0 + (place % ENOUGH) as f64 / (100 * ENOUGH) as f64;
        let side = |did: &[Did], queued: f64, shift: usize| -> Vec<Profile> {
            (0..ENOUGH).map(|place| profile(did, queued, 1.0, factor(place * 7 + shift))).collect()
        };
        explain(["A", "B"].map(String::from), &side(left, queued[0], 0), &side(right, queued[1], 3)).unwrap()
    }

    /// [`BASE`] with another count, time on a CPU and time blocked for one of them.
    fn with(name: &str, count: u64, on_cpu: f64, stood: f64) -> Vec<Did> {
        let mut did = BASE.to_vec();
        let own = did.iter_mut().find(|did| did.0 == name).unwrap();
        (own.2, own.3, own.4) = (count, on_cpu, stood);
        did
    }

    #[test]
    fn a_planted_cause_is_the_one_that_is_named() {
        let cases = [
            (with("user code", 0, 200.0, 0.0), "is user code that runs longer"),
            (with("read", 3000, 150.0, 20.0), "is 2000 more calls of read"),
            (with("read", 1000, 50.0, 120.0), "is longer calls of read"),
            (with("read", 1000, 150.0, 20.0), "is longer calls of read"),
            (with("page fault", 5500, 110.0, 0.0), "is 5000 more page faults"),
            (with("page fault", 500, 110.0, 0.0), "is longer page faults"),
            (with("clock_nanosleep", 2, 0.1, 130.0), "is longer waits in clock_nanosleep"),
            (with("interrupt", 4040, 101.0, 0.0), "is 4000 more interrupts"),
            (with("user code", 0, 30.0, 0.0), "is user code that runs shorter"),
        ];
        for (right, expected) in cases {
            let explanation = explained(BASE, &right, [0.0; 2]);
            assert!(explanation.sentence.contains(expected), "{expected}: {}", explanation.sentence);
            assert_eq!(explanation.causes.len(), 1, "{expected}: {:?}", explanation.causes);
            assert!((explanation.causes[0].share - 1.0).abs() < 0.1, "{expected}");
        }
        let queued = explained(BASE, BASE, [0.0, 100.0]);
        assert!(queued.sentence.contains("is more time in the queue for a CPU"), "{}", queued.sentence);
    }

    #[test]
    fn what_is_equal_has_nothing_to_explain() {
        let explanation = explained(BASE, BASE, [0.0; 2]);
        assert!(explanation.sentence.starts_with("Nothing to explain"), "{}", explanation.sentence);
        assert!(explanation.causes.is_empty());
    }

    #[test]
    fn what_many_small_parts_add_up_to_is_not_explained() {
        // 26 parts that are below what is named, and 18 that are above it and one of many.
        for names in
            ["a b c d e f g h i j k l m n o p q r s t u v w x y z", "a b c d e f g h i j k l m n o p q r"]
        {
            let mut right = BASE.to_vec();
            right.extend(names.split(' ').map(|name| (name, Kind::Call, 1, 4.0, 0.0)));
            let explanation = explained(BASE, &right, [0.0; 2]);
            assert!(explanation.sentence.contains("nothing that was observed explains it"));
            let left_over = explanation.not_explained.nanoseconds / explanation.difference.nanoseconds;
            assert!((left_over - 1.0).abs() < 0.01, "{left_over}");
        }
    }

    /// 48 000 calls more, of 170 ns as they are and of 470 ns observed, of which 230 ns show as user code.
    #[test]
    fn what_observing_adds_is_no_cause() {
        let of = |calls: f64, between: u64| {
            let did = [
                ("user code", Kind::User, 0, 100.0 + calls * 230e-6, 0.0),
                ("getppid", Kind::Call, calls as u64, calls * 240e-6, 0.0),
            ];
            let (each, between) = (Picoseconds::from_nanos(300), Picoseconds::from_nanos(between));
            let part =
                OverheadPart { event: Event::Call, count: did.iter().map(|did| did.2).sum(), each, between };
            let overhead = Some(Overhead { parts: vec![part], total: Picoseconds::ZERO });
            [Profile { overhead, ..profile(&did, 0.0, 1.0, 1.0) }]
        };
        let explain =
            |between| explain(["A", "B"].map(String::from), &of(2e3, between), &of(50e3, between)).unwrap();
        let explanation = explain(230);
        assert!((explanation.difference.nanoseconds - 48e3 * 170.0).abs() < 1.0, "{explanation:?}");
        assert_eq!(explanation.causes.len(), 1);
        assert!(explanation.sentence.contains("100 % of that is 48000 more calls of getppid"));
        // What shows as user code depends on the code around a call.
        for between in [200, 260] {
            let causes = explain(between).causes;
            assert!(causes.len() == 1 && causes[0].activity == "getppid", "{causes:?}");
        }
    }

    #[test]
    fn one_profile_a_side_says_that_it_is_one() {
        let sides = [profile(BASE, 0.0, 1.0, 1.0), profile(&with("read", 3000, 150.0, 20.0), 0.0, 1.0, 1.0)];
        let names = ["A", "B"].map(String::from);
        let explanation = explain(names.clone(), &sides[..1], &sides[1..]).unwrap();
        assert!(explanation.difference.interval.is_none());
        insta::assert_snapshot!(document(&explanation, None).text(100), @r"
        Profiled, B takes 100 ms longer than A: 100 % of that is 2000 more calls of read. So few profiles do
        not show how far they vary.

                         left  right  wall time  share  by their number
          read           1000   3000    +100 ms  100 %          +140 ms
          not explained     –      –          –    0 %                –
        ");
        let itself = explain(names.clone(), &sides[..1], &sides[..1]).unwrap();
        assert!(itself.sentence.starts_with("Nothing to explain"), "{}", itself.sentence);
        assert_eq!(explain(names, &sides[..1], &[]), None);
    }

    proptest! {
        /// What is named and what is not sum to the difference, however many threads run.
        #[test]
        fn the_parts_sum_to_the_whole(
            times in prop::collection::vec((0.0..1e3_f64, 0.0..1e3_f64), BASE.len()),
            queued in 0.0..1e3_f64,
            threads in 1.0..8.0_f64,
        ) {
            let right = BASE.iter().zip(&times).map(|(did, time)| (did.0, did.1, did.2, time.0, time.1));
            let right: Vec<Did> = right.collect();
            let sides = [profile(BASE, 0.0, 1.0, 1.0), profile(&right, queued, threads, 1.0)];
            let explanation = explain(["A", "B"].map(String::from), &sides[..1], &sides[1..]).unwrap();
            let named: f64 = explanation.causes.iter().map(|cause| cause.difference.nanoseconds).sum();
            let wall = |profile: &Profile| profile.wall.unwrap().as_nanos();
            let whole = explanation.difference.nanoseconds;
            prop_assert!((whole - (wall(&sides[1]) - wall(&sides[0]))).abs() < 10.0);
            prop_assert!((named + explanation.not_explained.nanoseconds - whole).abs() < 10.0);
        }
    }
}
