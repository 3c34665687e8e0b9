//! `timer`: when does a timer of T fire? Five system calls, with the timer slack that there is and with the
//! least.

mod analysis;
mod described;
mod firing;
mod surroundings;

use std::fmt;
use std::str::FromStr;

use tenbin_metal::timers::{self, Slack, Waiters, Way};
use tenbin_model::{Arrangement, Axis, Comparison, Effort, Picoseconds, VariantIndex};

use self::analysis::Lateness;
use crate::experiment::{Aspect, Experiment, Opened, Plan, PlannedCell, Request, Unfit};

use described::{describe, variants};
use firing::{Firings, Wave};

/// The axis of its variants: the timer slack of the process, in nanoseconds.
const SLACK: Axis = Axis::new("slack");

const TIMERFD: VariantIndex = VariantIndex(0);
const SLEEP: VariantIndex = VariantIndex(2);
const SLEEP_LEAST: VariantIndex = VariantIndex(3);
const POLL: VariantIndex = VariantIndex(6);

/// What each variant does, in the order of the descriptor. What follows the [`MEASURED`] ones are planted
/// faults.
const WAYS: [(Way, Slack); 10] = [
    (Way::Timerfd, Slack::AsFound),
    (Way::Setitimer, Slack::AsFound),
    (Way::Sleep, Slack::AsFound),
    (Way::Sleep, Slack::Least),
    (Way::Futex, Slack::AsFound),
    (Way::Futex, Slack::Least),
    (Way::Poll, Slack::AsFound),
    (Way::TooSoon, Slack::AsFound),
    (Way::Again, Slack::AsFound),
    (Way::Spinning, Slack::AsFound),
];
const MEASURED: usize = 7;

/// Timers of a block: each variant twice.
const OF_A_BLOCK: usize = 2 * MEASURED;

/// What is weighed; the first answers for a cell.
const COMPARISONS: [(VariantIndex, VariantIndex); 3] =
    [(TIMERFD, SLEEP), (SLEEP_LEAST, SLEEP), (SLEEP, POLL)];

/// The times of a run of each effort, and the one that answers for the experiment.
const HEADLINE: Time = Time(Picoseconds::from_millis(1));
const NORMALLY: [Time; 6] = [
    Time(Picoseconds::from_micros(50)),
    Time(Picoseconds::from_micros(500)),
    HEADLINE,
    Time(Picoseconds::from_millis(10)),
    Time(Picoseconds::from_millis(100)),
    Time(Picoseconds::from_millis(1_000)),
];
const LONGEST: Time = Time(Picoseconds::from_millis(10_000));

/// Timers of this length and longer wait together: one after the other they would take minutes.
const TOGETHER: Picoseconds = Picoseconds::from_millis(100);

/// Time between two timers that wait together, half of it drawn: that of a tick, no two within half of it.
const GAP: Picoseconds = Picoseconds::from_millis(4);

/// Blocks that wait together at the most: 98 processes.
const BLOCKS_OF_A_WAVE: u32 = 7;

/// What a firing takes beside its time, about: two processes are woken.
const BESIDE: Picoseconds = Picoseconds::from_micros(100);

/// Blocks of a cell at the most; at the least where a timer is this short, so that one in a hundred is seen;
/// and else, so that the comparisons can be judged.
const MOST_BLOCKS: u32 = 1_000;
const SHORT: Picoseconds = HEADLINE.0;
const LEAST_BLOCKS_SHORT: u32 = 150;
const LEAST_BLOCKS: u32 = 14;

/// The length of a timer: a whole number of microseconds from 50 µs to 10 s. Written as `50us`, read with any
/// unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Time(Picoseconds);

const MICRO: [&str; 2] = ["us", "µs"];
const UNITS: [(&str, u64); 5] =
    [("ns", 1_000), ("us", 1_000_000), ("µs", 1_000_000), ("ms", 1_000_000_000), ("s", 1_000_000_000_000)];

impl Time {
    fn is_accepted(&self) -> bool {
        const MICROSECOND: u64 = 1_000_000;
        let Self(Picoseconds(time)) = *self;
        (NORMALLY[0].0.0..=LONGEST.0.0).contains(&time) && time.is_multiple_of(MICROSECOND)
    }

    /// The count and the largest unit in which it is whole, of those with this sign for the microsecond.
    fn whole(self, micro: &'static str) -> (u64, &'static str) {
        let mut units = UNITS.into_iter().rev().filter(|(unit, _)| *unit == micro || !MICRO.contains(unit));
        let largest = units.find(|(_, length)| self.0.0.is_multiple_of(*length));
        largest.map_or((self.0.0 / 1_000, "ns"), |(unit, length)| (self.0.0 / length, unit))
    }
}

impl FromStr for Time {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let digits = text.find(|letter: char| !letter.is_ascii_digit()).ok_or(())?;
        let (count, unit) = text.split_at(digits);
        let (_, length) = UNITS.into_iter().find(|(known, _)| *known == unit).ok_or(())?;
        let count: u64 = count.parse().map_err(|_| ())?;
        count.checked_mul(length).map(|time| Self(Picoseconds(time))).ok_or(())
    }
}

/// As `--set` takes it: `50us`.
impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, unit) = self.whole("us");
        write!(f, "{count}{unit}")
    }
}

/// As a sentence has it: `50 µs`.
fn in_words(time: Time) -> String {
    let (count, unit) = time.whole("µs");
    format!("{count} {unit}")
}

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let mut times = match request.effort {
        Effort::Quick => vec![HEADLINE],
        Effort::Normal | Effort::Thorough => NORMALLY.to_vec(),
    };
    if request.effort == Effort::Thorough {
        times.push(LONGEST);
    }
    let expected = "a time from 50us to 10s in whole microseconds (ns, us, ms or s)";
    let times = request.settings.list("times", &times, expected, Time::is_accepted)?;
    let headline = times.iter().position(|&time| time == HEADLINE).unwrap_or(0);
    let cells = times.iter().enumerate().map(|(place, &time)| {
        let arrangement = cell(request, time, place == headline);
        PlannedCell::new(arrangement, move |arrangement, request| open(arrangement, request, time))
    });
    Ok(Plan { variants: Some(variants(timers::slack()?)), cells: cells.collect(), ..Plan::default() })
}

fn cell(request: &Request<'_>, time: Time, headline: bool) -> Arrangement {
    // One CPU for all: whoever waits leaves it to the others. A process for each variant, or for each timer
    // of a wave.
    let workers = together(time).map_or(MEASURED, |blocks| blocks as usize * OF_A_BLOCK);
    Arrangement {
        label: format!("armed for {}", in_words(time)),
        parameters: vec![("times".into(), time.to_string())],
        cpus: vec![request.cpus[0]; workers],
        at_once: Some(1),
        epoch: time.0.max(describe().epoch),
        // A sample is one firing.
        most_iterations: 1,
        most_blocks: blocks(time, request.effort),
        variants: VariantIndex::range(0..MEASURED),
        comparisons: Comparison::of(COMPARISONS),
        headline,
        ..Arrangement::default()
    }
}

/// How many blocks of such timers wait at the same time; none where each waits alone. All are armed before
/// the first fires, so that no arming meets a firing.
fn together(time: Time) -> Option<u32> {
    let room = time.0.0 / (GAP.0 * OF_A_BLOCK as u64);
    (time.0 >= TOGETHER).then_some((room as u32).clamp(1, BLOCKS_OF_A_WAVE))
}

/// How many blocks a cell takes: as many as its share of the time holds, in whole waves.
fn blocks(time: Time, effort: Effort) -> u32 {
    let budget = Picoseconds::from_millis(match effort {
        Effort::Quick => 2_000,
        Effort::Normal => 6_000,
        Effort::Thorough => 15_000,
    });
    let all = OF_A_BLOCK as u64;
    let fit = |block: u64| (budget.0 / block) as u32;
    let least = if time.0 <= SHORT { LEAST_BLOCKS_SHORT } else { LEAST_BLOCKS };
    match together(time) {
        None => fit((time.0 + BESIDE).0 * all).clamp(least, MOST_BLOCKS),
        Some(of_a_wave) => {
            let wave = time.0.0 + u64::from(of_a_wave) * all * GAP.0;
            fit(wave / u64::from(of_a_wave)).clamp(least, MOST_BLOCKS).next_multiple_of(of_a_wave)
        }
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>, time: Time) -> Opened {
    let cpu = arrangement.cpus[0];
    let gather = |count| Waiters::gather(request.clock, cpu, count);
    let wave = together(time).map(|blocks| {
        let waiters = gather(blocks as usize * OF_A_BLOCK)?;
        Ok::<_, Unfit>(Wave::of(waiters, blocks, &arrangement.variants, request.seed ^ time.0.0))
    });
    let wave = wave.transpose()?;
    // Each variant has a process of its own, and the planted faults share one. In a wave any will do.
    let alone = if wave.is_some() { 1 } else { MEASURED + 1 };
    let alone = (0..alone).map(|_| gather(1)).collect::<Result<Vec<_>, _>>()?;
    Ok(Box::new(Firings::of(time.0, alone, wave, cpu)))
}

/// The timer experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    analysis: &Lateness,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Wakes, Aspect::Calls])
};

#[cfg(test)]
mod tests;
