//! Stops that were made on purpose, in a sentence.

use tenbin_model::Picoseconds;
use tenbin_model::stall::Stalls;
use tenbin_model::words::{capitalised, counted};

/// What was stopped and for how long; then what became of the command.
pub fn stalls(stalls: &Stalls) -> String {
    let asked = stalls.asked;
    let shortest = stalls.achieved.iter().min().copied();
    let longest = stalls.achieved.iter().max().copied();
    let target = &stalls.target;
    let stopped = match (stalls.achieved.as_slice(), shortest, longest) {
        ([achieved], ..) => format!("{target} stood still for {}", beside(*achieved, asked)),
        (all, Some(shortest), Some(longest)) => format!(
            "{target} stood still {}, for {} to {}",
            counted(all.len(), "time"),
            beside(shortest, asked),
            beside(longest, asked),
        ),
        _ => format!("{target} was never stopped"),
    };
    let Some(command) = &stalls.command else { return capitalised(&stopped) + ".\n" };
    format!(
        "`{}` ended with {} after {}. {stopped}.\n",
        command.words.join(" "),
        command.end,
        command.time,
        stopped = capitalised(&stopped),
    )
}

/// A time and how far it is from the one that was asked for.
fn beside(achieved: Picoseconds, asked: Picoseconds) -> String {
    match (achieved.0.checked_sub(asked.0), asked.0.saturating_sub(achieved.0)) {
        (Some(0), _) => format!("{asked}, as asked"),
        (Some(more), _) => format!("{asked} and {} more", Picoseconds(more)),
        (None, less) => format!("{asked} less {}", Picoseconds(less)),
    }
}

#[cfg(test)]
mod tests {
    use tenbin_model::stall::StalledCommand;

    use super::*;

    #[test]
    fn a_stop_says_how_far_it_is_from_what_was_asked() {
        let of = |target: &str, achieved: &[u64], command| Stalls {
            target: target.into(),
            asked: Picoseconds::from_millis(20),
            achieved: achieved.iter().map(|nanoseconds| Picoseconds::from_nanos(*nanoseconds)).collect(),
            command,
        };
        let command = |words: &[&str]| {
            Some(StalledCommand {
                words: words.iter().map(|word| (*word).into()).collect(),
                end: "exit status: 0".into(),
                status: 0,
                time: Picoseconds::from_millis(2500),
                every: Picoseconds::from_millis(1000),
            })
        };
        for (all, expected) in [
            (of("CPU 1", &[20_000_180], None), "CPU 1 stood still for 20.0 ms and 180 ns more.\n"),
            (of("process 7", &[20_000_000], None), "Process 7 stood still for 20.0 ms, as asked.\n"),
            (of("CPUs 0-1", &[19_999_000], None), "CPUs 0-1 stood still for 20.0 ms less 1.00 µs.\n"),
            (
                of("the machine", &[20_000_300, 20_000_100], command(&["ping", "-c", "3"])),
                "`ping -c 3` ended with exit status: 0 after 2.50 s. The machine stood still 2 times, for \
                 20.0 ms and 100 ns more to 20.0 ms and 300 ns more.\n",
            ),
            (
                of("CPU 1", &[], command(&["true"])),
                "`true` ended with exit status: 0 after 2.50 s. CPU 1 was never stopped.\n",
            ),
        ] {
            assert_eq!(stalls(&all), expected);
        }
    }
}
