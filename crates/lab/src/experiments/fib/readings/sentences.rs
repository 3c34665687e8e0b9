//! What was found of the driver, in words.

use tenbin_model::unit::three_digits;
use tenbin_model::words::{and, comma, semicolon};
use tenbin_model::{Finding, Picoseconds, order};

use super::shares::{Shares, clears, multiplies};
use super::{ALLOCATIONS, Algorithm, Counted, Split, Traced, Unit};
use crate::experiments::fib::kernel::finding;

/// Our way, and the published one that it is held against: as first written, and after its first improvement.
const OURS: &str = "doubling";
const SEEDS: [&str; 2] = ["decimal", IMPROVED];
pub(super) const IMPROVED: &str = "decimal-sized";

const NAMED: usize = 6;

fn length(nanoseconds: f64, unit: Unit) -> String {
    match unit {
        Unit::Nanoseconds => Picoseconds((nanoseconds * 1_000.0).round() as u64).to_string(),
        Unit::Instructions => format!("{nanoseconds:.0}"),
    }
}

fn rests_on(unit: Unit) -> &'static str {
    match unit {
        Unit::Nanoseconds => {
            "the median of that many reads, one of which is shown; the algorithms read in turns; the \
             driver's own clock readings are within its parts"
        }
        Unit::Instructions => {
            "instructions, emulated: this guest's clock counts them, which a loop of known length showed \
             twice; each repetition of a string instruction (`rep stos` of x86) is one; they say nothing \
             about time. The least of that many reads, because an interrupt only adds; a read of \
             milliseconds always has ticks of the kernel in it"
        }
    }
}

fn of<'a, T>(all: &'a [(Algorithm, T)], name: &str) -> Option<&'a T> {
    all.iter().find(|(algorithm, _)| algorithm.name == name).map(|(_, figures)| figures)
}

/// Where the time of a read of one number goes, by algorithm; none where nothing was read.
pub(super) fn split(place: u64, splits: &[(Algorithm, Split)], unit: Unit) -> Option<Finding> {
    let (first, ours) = splits.iter().find(|(it, _)| it.name == OURS).or(splits.first())?;
    let what = if unit == Unit::Instructions { " instructions, emulated" } else { "" };
    let in_words = |time: f64| length(time, unit);
    let mut sentence = format!(
        "A read of F({place}) by {} takes {}{what}: {} to compute, {} to allocate, {} to copy, and {}",
        first.name,
        in_words(ours.whole),
        in_words(ours.compute),
        in_words(ours.allocate),
        in_words(ours.copy),
        if ours.call() > 0.0 {
            format!(
                "{} for the rest (the system call, the driver's lock, giving memory back)",
                in_words(ours.call())
            )
        } else {
            "a rest that is too short for this clock".into()
        },
    );
    let against = |name: &&str| {
        let published = of(splits, name)?.whole;
        let times = three_digits(published / ours.whole);
        (*name != first.name && ours.whole > 0.0).then(|| format!("{name} {}, {times}x", in_words(published)))
    };
    let against: Vec<String> = SEEDS.iter().filter_map(against).collect();
    if !against.is_empty() {
        sentence += &format!("; the published methods: {}", against.join(", and "));
    }
    let line = |(algorithm, it): &(Algorithm, Split)| {
        format!(
            "{}: compute {}, allocate {}, copy {}, rest {} ({} reads)",
            algorithm.name,
            in_words(it.compute),
            in_words(it.allocate),
            in_words(it.copy),
            in_words(it.call()),
            it.reads
        )
    };
    Some(finding(sentence + ".", semicolon(splits.iter().map(line)), rests_on(unit)))
}

/// Without the right to choose, one algorithm was asked.
pub(super) fn only_the_chosen(chosen: Option<&Algorithm>) -> Finding {
    let name = chosen.map_or("an algorithm that is not known", |algorithm| algorithm.name);
    finding(
        format!("Only {name} was asked, which is the driver's choice now: this user may not change it."),
        "/sys/class/misc/fibonacci/algorithm cannot be written; as root all of them are asked, and it is put back".into(),
        "the kernel's word",
    )
}

/// An emulated clock that counts no instructions.
pub(super) fn no_times(each: &[f64]) -> Finding {
    finding(
        "Where a read's time goes is not shown: this CPU is emulated, and its clock does not count instructions.".into(),
        format!(
            "an instruction of a loop took {} ns of it; a guest of `tenbin guest run --count-instructions` has a clock \
             that counts them",
            and(each.iter().map(|each| three_digits(*each)))
        ),
        "a loop of known length was timed twice",
    )
}

/// Whole numbers as such.
fn count(events: f64) -> String {
    if (events - events.round()).abs() < 1e-9 { format!("{events:.0}") } else { format!("{events:.2}") }
}

/// What a read allocates, by algorithm, at the smallest place that was counted; the others as evidence. None
/// of none.
pub(super) fn allocations(counted: &Counted) -> Option<Finding> {
    let asked_for = |events: &[(&str, f64)]| {
        events.iter().filter(|(name, _)| ALLOCATIONS.contains(name)).map(|(_, count)| count).sum::<f64>()
    };
    let smallest = counted.iter().map(|(_, place, _)| *place).min()?;
    let by = |place: u64| {
        let here = counted.iter().filter(|(_, known, _)| *known == place);
        comma(here.map(|(it, _, events)| format!("{} by {}", count(asked_for(events)), it.name)))
    };
    let others = order::distinct(counted.iter().map(|(_, place, _)| *place)).into_iter().skip(1);
    let mut evidence: Vec<String> = others.map(|place| format!("F({place}): {}", by(place))).collect();
    let raw = counted.iter().filter(|(_, place, _)| *place == smallest).map(|(algorithm, _, events)| {
        let passed = events.iter().filter(|(_, count)| *count > 0.0);
        let passed =
            passed.map(|(name, events)| format!("{} {}", name.trim_start_matches("kmem/"), count(*events)));
        format!("{}: {}", algorithm.name, passed.collect::<Vec<_>>().join(" "))
    });
    evidence.push(format!("events of F({smallest}), {}", semicolon(raw)));
    Some(finding(
        format!("Allocations in a read of F({smallest}): {}.", by(smallest)),
        semicolon(&evidence),
        "the kernel's own tracepoints, every event of this thread counted over many reads and divided by them; what an \
         interrupt allocates meanwhile is counted too, and so is a kfree of nothing",
    ))
}

pub(super) fn not_counted(why: &str) -> Finding {
    finding("Allocations in a read were not counted.".into(), why.into(), "the kernel's word")
}

pub(super) fn not_recorded(why: &str) -> Finding {
    finding(
        "What tracing costs a read was not measured.".into(),
        why.into(),
        "what kept the recorder from it",
    )
}

pub(super) fn traced(place: u64, recorded: &[(Algorithm, Traced)], unit: Unit) -> Finding {
    // Every event costs about the same, so the ratio is made of the events and of what a read costs without
    // them.
    let each = |it: &Traced| (it.traced - it.plain) / it.events;
    let by = |(algorithm, it): &(Algorithm, Traced)| {
        let ratio = three_digits(it.traced / it.plain.max(1.0));
        let price = if it.events > 0.0 && each(it) > 0.0 {
            format!(", {} each", length(each(it), unit))
        } else {
            String::new()
        };
        format!("{ratio}x by {} ({} events{price})", algorithm.name, count(it.events))
    };
    let line = |(algorithm, it): &(Algorithm, Traced)| {
        let lost = if it.lost > 0 { format!(", {} events dropped", it.lost) } else { String::new() };
        format!("{}: {} and {}{lost}", algorithm.name, length(it.plain, unit), length(it.traced, unit))
    };
    let what = if unit == Unit::Instructions { " in instructions, emulated," } else { "" };
    finding(
        format!(
            "While the kernel's memory events are recorded by perf, a read of F({place}) takes{what} {} of \
             what it takes without; its author saw 7x of the time, with every event recorded by trace-cmd.",
            comma(recorded.iter().map(by))
        ),
        format!("without and with, {}", semicolon(recorded.iter().map(line))),
        "a record per event in a ring of perf, this thread alone; before and after, as many events were \
         recorded that a read never passes. Another tracer has another price for an event, and so another \
         ratio",
    )
}

/// In which functions the published way spends its time after its first improvement; or why nobody knows.
pub(super) fn shares(place: u64, sampled: Result<Shares, String>, unit: Unit) -> Finding {
    let shares = match sampled {
        Ok(shares) if shares.all > 0 => shares,
        Ok(_) => return not_sampled("no sample was taken"),
        Err(why) => return not_sampled(&why),
    };
    let share = |count: u64| three_digits(100.0 * count as f64 / shares.all as f64);
    let sum = |wanted: &dyn Fn(&str) -> bool| {
        shares.functions.iter().filter(|(name, _)| wanted(name)).map(|(_, count)| count).sum::<u64>()
    };
    let lost = if shares.lost > 0 { format!(", {} dropped", shares.lost) } else { String::new() };
    let named = shares.functions.iter().take(NAMED);
    let named = comma(named.map(|(name, count)| format!("{name} {} %", share(*count))));
    finding(
        format!(
            "In reads of F({place}) by {IMPROVED}, {} % of the samples fell into functions that multiply and {} % into \
             memset; its author saw 30 % and 29 % of the time{}.",
            share(sum(&multiplies)),
            share(sum(&clears)),
            if unit == Unit::Instructions { ", which instructions neither confirm nor refute" } else { "" },
        ),
        format!("{} samples by {}{lost}: {named}", shares.all, shares.event),
        match unit {
            Unit::Nanoseconds => {
                "one thread; memset is the kernel's under each of its names, and what multiplies is the driver's; a compiler may have put one function into another"
            }
            Unit::Instructions => {
                "instructions, emulated, and not time: a memset counts each of its repetitions, whatever hardware takes for \
                 them; a compiler may have put one function into another"
            }
        },
    )
}

fn not_sampled(why: &str) -> Finding {
    finding(
        "In which functions the published way spends its time was not looked at.".into(),
        why.into(),
        "the kernel's word",
    )
}
