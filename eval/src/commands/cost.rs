//! What weighing costs: what tenbin's way of starting a command adds to its time, and the memory that many
//! runs take.

use std::path::Path;
use std::time::Duration;

use tenbin_model::Report;
use tenbin_stats::order::Ordered;
use tenbin_stats::sign::Estimate;

use super::spinner::Spinner;
use super::{Stand, unreadable};
use crate::tally::median;
use xtask::command::Command;
use xtask::failure::Failure;

/// Runs of a turn, of each way to start.
const RUNS: usize = 500;

/// The length of a run, in milliseconds.
const TIME: u32 = 1;

/// The chance that the interval of the ratio misses.
const MISS: f64 = 0.05;

/// A run that takes longer than this is not of a millisecond any more.
const SECONDS_A_RUN: f64 = 0.02;

/// Compare launchers in turns, then weigh `true` with itself `runs` times a side. What came of it, as text.
pub(super) fn run(stand: &Stand<'_>, turns: u32, runs: u64) -> Result<String, Failure> {
    let [additions, _] = stand.spinner.additions(TIME, 0.0);
    let mut medians = Vec::new();
    for turn in 1..=turns {
        let ours = || Ok(median(stand.spinner.times(RUNS, additions)?));
        let theirs = || Ok(median(weighed(stand, turn, additions)?));
        let pair = if turn % 2 == 0 {
            let theirs = theirs()?;
            (ours()?, theirs)
        } else {
            (ours()?, theirs()?)
        };
        let (Some(ours), Some(theirs)) = pair else {
            return Err(unreadable("times of runs", "there is no median"));
        };
        eprintln!("turn {turn} of {turns}: {:.4} ms launched, {:.4} ms weighed", ours / 1e6, theirs / 1e6);
        medians.push((ours, theirs));
    }
    let mut text = format!("{}\n", in_words(&medians));
    text.push_str(&peak(stand, runs)?);
    Ok(text)
}

/// The times of as many runs in all, weighed and exported, in nanoseconds.
fn weighed(stand: &Stand<'_>, turn: u32, additions: u64) -> Result<Vec<f64>, Failure> {
    let label = format!("turn-{turn}");
    let store = stand.spinner.folder.join("store.db");
    let ask = |words: &[&str]| ask(stand.tenbin(), &store, words);
    let (runs, command) = ((RUNS / 2).to_string(), Spinner::command(additions));
    ask(&[
        "weigh", "-r", &runs, "--within", "5min", "--label", &label, "-n", "a", "-n", "b", &command, &command,
    ])?;
    let table = ask(&["export", &label, "--format", "csv", "--output", "-"])?;
    times(&table)
        .filter(|times| times.len() == RUNS)
        .ok_or_else(|| unreadable("the export of tenbin", &table))
}

fn ask(tenbin: Command, store: &Path, words: &[&str]) -> Result<String, Failure> {
    let command = tenbin.arguments(words).variable("TENBIN_STORE", store);
    let described = command.describe();
    let output = command.capture_quietly()?;
    // Whether they are equal is not the question.
    if output.is_answer() {
        return Ok(output.text);
    }
    Err(Failure::new(format!("run `{described}`"), output.ending(), "run it by hand"))
}

/// What each row of an export took, in nanoseconds.
fn times(table: &str) -> Option<Vec<f64>> {
    let mut reader = csv::Reader::from_reader(table.as_bytes());
    let place = reader.headers().ok()?.iter().position(|name| name == "elapsed_ps")?;
    let time = |row: csv::StringRecord| row.get(place)?.parse::<f64>().ok().map(|time| time / 1e3);
    reader.records().map(|row| time(row.ok()?)).collect()
}

/// Medians of all turns, the launcher's first, in nanoseconds.
fn in_words(medians: &[(f64, f64)]) -> String {
    let over = |value: &dyn Fn(&(f64, f64)) -> f64| {
        let values = Ordered::new(medians.iter().map(value).collect())?;
        Some(Estimate::of(&values, MISS))
    };
    let (ours, theirs, ratio) = (over(&|it| it.0), over(&|it| it.1), over(&|it| it.1 / it.0));
    let (Some(ours), Some(theirs), Some(ratio)) = (ours, theirs, ratio) else {
        return "no turn, no ratio".into();
    };
    let interval = ratio.interval.map_or_else(
        || "too few turns for an interval".into(),
        |it| format!("95 % interval {:.4} to {:.4}", it.interval.low, it.interval.high),
    );
    format!(
        "A run of {:.4} ms by posix_spawn takes {:.4} ms by `tenbin weigh`: medians of {} turns of {RUNS} runs each; \
         the ratio of medians is {:.4} ({interval}).",
        ours.median / 1e6,
        theirs.median / 1e6,
        medians.len(),
        ratio.median
    )
}

/// The most memory that tenbin, or one of the processes that it waited for, had at once.
fn peak(stand: &Stand<'_>, runs: u64) -> Result<String, Failure> {
    let seconds = 60 + (2.0 * runs as f64 * SECONDS_A_RUN) as u64;
    let words =
        ["weigh", "--no-store", "--json", "-r", &runs.to_string(), "--within", &format!("{seconds}s")];
    let command = stand.spinner.launch().argument("peak").argument(stand.binary).arguments(words);
    let command = command.arguments(["true", "true"]).patience(Duration::from_secs(2 * seconds));
    let output = command.capture_quietly()?;
    let peak =
        output.diagnostics.lines().rev().find_map(|line| line.strip_prefix("peak ")?.parse::<u64>().ok());
    let report = serde_json::from_str::<Report>(&output.text).ok();
    let blocks = report.and_then(|report| Some(report.answers.first()?.evidence.as_ref()?.blocks));
    match (peak, blocks) {
        (Some(peak), Some(blocks)) if output.is_answer() => Ok(format!(
            "`tenbin weigh -r {runs} true true` had {:.1} MiB of memory at most, in {:.0} s, {blocks} blocks.\n",
            peak as f64 / 1024.0,
            output.time.as_secs_f64()
        )),
        _ => Err(unreadable("tenbin", &output.ending())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_times_of_an_export_are_read_by_their_name() {
        let table = "cell,variant,elapsed_ps,cpu\n,\"a, b\",2047694000,0\n,b,1500,1\n";
        assert_eq!(times(table), Some(vec![2_047_694.0, 1.5]));
        assert_eq!(times("cell,variant\n,a\n"), None);
        assert_eq!(times("elapsed_ps\nx\n"), None);
    }

    #[test]
    fn the_ratio_is_the_middle_one_of_the_turns() {
        let turns = [(1e6, 1.01e6), (2e6, 2e6), (1e6, 1.02e6)];
        let text = in_words(&turns);
        assert!(text.contains("ratio of medians is 1.0100 (too few turns for an interval)"), "{text}");
        let text = in_words(&[(1e6, 1.01e6); 6]);
        assert!(text.contains("A run of 1.0000 ms by posix_spawn takes 1.0100 ms"), "{text}");
        assert!(text.contains("1.0100 (95 % interval 1.0100 to 1.0100)"), "{text}");
        assert_eq!(in_words(&[]), "no turn, no ratio");
    }
}
