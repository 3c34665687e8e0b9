//! What a line costs to move: tenbin's median beside the shortest time that a small C program finds.
//!
//! The peers of this kind report a minimum, and tenbin a median of epochs that were not interrupted.
//! Both ask for the same thing, flags on two lines, so on a quiet machine they should nearly agree. They
//! run in turns on one pair of CPUs, in the opposite order every other round, so that neither has the
//! quiet hours. The C program is `c2c_minimum.c` beside this file.
//!
//! A host may move a virtual CPU, for a moment nearer to the other or for seconds far away from it, and
//! one such moment decides the best of all rounds. So the ratios of single rounds, whose programs ran
//! within seconds of each other, stand beside the ratio of the best.

use std::path::{Path, PathBuf};

use tenbin_model::{Grid, Report};

use super::{Stand, compile};
use xtask::architecture::Target;
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::requirement::{self, Requirement};

use crate::cpus;
use crate::tally::median;

const SOURCE: &str = "c2c_minimum.c";
const OPTIONS: [&str; 3] = ["-std=c11", "-O2", "-pthread"];

/// Round trips of a sample, and samples: about a tenth of a second where nothing disturbs.
const TRIPS: &str = "100";
const SAMPLES: &str = "10000";

/// The protocol of tenbin that the C program and c2clat have too.
const PROTOCOL: &str = "flags on two lines";

/// How far the median may be from the shortest time, as a part of it.
const NEAR: f64 = 0.15;

/// What the benchmark may be told.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// For boot, c2c and yes: how many times every program is asked.
    #[arg(long, default_value_t = 15, value_parser = clap::value_parser!(u64).range(1..))]
    pub(super) rounds: u64,
    /// For c2c and yes: the two CPUs, like 0,1; the first two that may be used if left out.
    #[arg(long, value_name = "CPU,CPU", value_parser = pair_of_cpus)]
    pub(super) cpus: Option<Pair>,
    /// For c2c: a program c2clat, built from <https://github.com/rigtorp/c2clat>, to be asked as well.
    #[arg(long, value_name = "PROGRAM")]
    c2clat: Option<PathBuf>,
}

/// The CPU that asks and the one that answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Pair(pub(super) usize, pub(super) usize);

/// What the programs said in one round, in nanoseconds for one way.
#[derive(Clone, Debug, PartialEq)]
struct Round {
    minimum: f64,
    /// `None` where tenbin refused to say.
    flags: Option<Flags>,
    /// `None` where there is no c2clat to ask.
    c2clat: Option<f64>,
}

/// tenbin's own figures: the median of the epochs, and where nine tenths of them lie.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Flags {
    median: f64,
    p5: f64,
    p95: f64,
}

/// tenbin beside one program that reports a minimum.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Comparison {
    /// The shortest time of all rounds.
    best: f64,
    median: f64,
    /// The lowest, the middle and the highest ratio of one round's median to the same round's minimum.
    single: [f64; 3],
}

/// Compile the C program, ask all of them in turns, and say how far apart they are.
pub(super) fn run(stand: &Stand<'_>, arguments: &Arguments) -> Result<(), Failure> {
    let mut needs = vec![Requirement::program("gcc", "cc")];
    if arguments.c2clat.is_some() {
        needs.push(Requirement::program("util-linux", "taskset"));
    }
    requirement::insist(&needs)?;
    let pair = match arguments.cpus {
        Some(pair) => pair,
        None => first_two()?,
    };
    let program = compile(stand.workspace, &OPTIONS, SOURCE, &stand.workspace.scratch("bench-c2c")?)?;
    println!("CPU {} and CPU {}, nanoseconds for one way", pair.0, pair.1);
    println!(
        "{:>5}  {:>9}  {:>13} {:>7} {:>7}  {:>7}",
        "round", "C minimum", "tenbin median", "p5", "p95", "c2clat"
    );
    let mut rounds = Vec::new();
    for number in 1..=arguments.rounds {
        let tenbin = || flags(stand, pair);
        let (minimum, flags) = if number % 2 == 0 {
            let flags = tenbin()?;
            (minimum(&program, pair)?, flags)
        } else {
            (minimum(&program, pair)?, tenbin()?)
        };
        let c2clat = arguments.c2clat.as_deref().map(|program| c2clat(program, pair)).transpose()?;
        let round = Round { minimum, flags, c2clat };
        println!("{number:>5}  {}", line(&round));
        rounds.push(round);
    }
    println!("\n{}", conclusion(&rounds));
    Ok(())
}

fn minimum(program: &Path, pair: Pair) -> Result<f64, Failure> {
    let command = Command::new(program).arguments([&pair.0.to_string(), &pair.1.to_string()]);
    let text =
        command.arguments([SAMPLES, TRIPS]).remedy("choose CPUs that may be used with --cpus").read()?;
    positive(&text).ok_or_else(|| unreadable("the C program", &text))
}

fn flags(stand: &Stand<'_>, pair: Pair) -> Result<Option<Flags>, Failure> {
    let command =
        stand.host.command(stand.binary).arguments(["run", "c2c", "--quick", "--json", "--no-store"]);
    let output = command.arguments(["--cpus", &format!("{},{}", pair.0, pair.1)]).capture_quietly()?;
    if !output.is_answer() {
        let tried = "ask tenbin what a line costs to move";
        return Err(Failure::new(tried, output.ending(), "run `tenbin run c2c` by hand"));
    }
    let report: Report =
        serde_json::from_str(&output.text).map_err(|error| unreadable("tenbin", &error.to_string()))?;
    let grids: Vec<Grid> = report.answers.into_iter().flat_map(|answer| answer.grids).collect();
    Ok(read_flags(&grids, pair))
}

/// What c2clat finds, held on the pair.
fn c2clat(program: &Path, pair: Pair) -> Result<f64, Failure> {
    let command = Command::new("taskset").arguments(["--cpu-list", &format!("{},{}", pair.0, pair.1)]);
    let text = command.argument(program).remedy("name a c2clat that runs here").read()?;
    read_c2clat(&text, pair).ok_or_else(|| unreadable("c2clat", &text))
}

fn unreadable(who: &str, text: &str) -> Failure {
    let remedy = "compare what it says with what eval/src/bench/c2c.rs expects";
    Failure::new(format!("understand {who}"), text.trim_end(), remedy)
}

/// The figures of the pair in the grids of a report; `None` if there are none.
fn read_flags(grids: &[Grid], pair: Pair) -> Option<Flags> {
    let figure = |what: &str| {
        let grid = grids.iter().find(|grid| grid.name == format!("{what} of {PROTOCOL}"))?;
        let place = |labels: &[String], cpu: usize| labels.iter().position(|it| *it == cpu.to_string());
        let (row, column) = (place(&grid.rows, pair.0)?, place(&grid.columns, pair.1)?);
        grid.values[row][column]
    };
    Some(Flags { median: figure("median")?, p5: figure("p5")?, p95: figure("p95")? })
}

/// The cell of the pair in c2clat's table: CPUs at the top and on the left, whole nanoseconds between.
fn read_c2clat(text: &str, pair: Pair) -> Option<f64> {
    let mut lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let head = lines.next().filter(|head| head.first() == Some(&"CPU"))?;
    let column = head.iter().position(|word| *word == pair.1.to_string())?;
    let row = lines.find(|row| row.first() == Some(&pair.0.to_string().as_str()))?;
    positive(row.get(column)?)
}

fn positive(text: &str) -> Option<f64> {
    text.trim().parse().ok().filter(|value: &f64| value.is_finite() && *value > 0.0)
}

fn line(round: &Round) -> String {
    let flags = match round.flags {
        Some(Flags { median, p5, p95 }) => format!("{median:>13.1} {p5:>7.1} {p95:>7.1}"),
        None => format!("{:>13} {:>7} {:>7}", "refused", "", ""),
    };
    let c2clat = round.c2clat.map_or_else(|| "-".into(), |value| format!("{value:.0}"));
    format!("{:>9.1}  {flags}  {c2clat:>7}", round.minimum)
}

/// tenbin beside the program that `minimum` reads; `None` if there is no round in which both had an answer.
fn compare(rounds: &[Round], minimum: impl Fn(&Round) -> Option<f64>) -> Option<Comparison> {
    let heard = rounds.iter().filter_map(|round| Some((minimum(round)?, round.flags?.median)));
    let heard = heard.collect::<Vec<_>>();
    let ratios = || heard.iter().map(|(minimum, median)| median / minimum);
    Some(Comparison {
        best: heard.iter().map(|(minimum, _)| *minimum).reduce(f64::min)?,
        median: median(heard.iter().map(|(_, median)| *median).collect())?,
        single: [ratios().reduce(f64::min)?, median(ratios().collect())?, ratios().reduce(f64::max)?],
    })
}

impl Comparison {
    fn ratio(&self) -> f64 {
        self.median / self.best
    }

    fn in_words(&self, who: &str) -> String {
        let [low, middle, high] = self.single;
        format!(
            "{who}: {:.1} ns at best; tenbin's median of medians: {:.1} ns; ratio {:.3}, {}\n  \
             in single rounds {low:.3} to {high:.3}; the middle one {middle:.3}, {}",
            self.best,
            self.median,
            self.ratio(),
            nearness(self.ratio()),
            nearness(middle)
        )
    }
}

/// "within 15 %", or that it is not.
fn nearness(ratio: f64) -> String {
    let within = if (ratio - 1.0).abs() <= NEAR { "within" } else { "NOT within" };
    format!("{within} {:.0} %", NEAR * 100.0)
}

fn conclusion(rounds: &[Round]) -> String {
    let refused = rounds.iter().filter(|round| round.flags.is_none()).count();
    let mut lines = vec![format!("{} rounds, in {refused} of them tenbin refused to say", rounds.len())];
    let own = compare(rounds, |round| Some(round.minimum));
    lines.extend(own.map(|comparison| comparison.in_words("the C program")));
    lines.extend(compare(rounds, |round| round.c2clat).map(|comparison| comparison.in_words("c2clat")));
    lines.join("\n")
}

fn pair_of_cpus(text: &str) -> Result<Pair, String> {
    let pair =
        text.split_once(',').and_then(|(one, other)| Some(Pair(one.parse().ok()?, other.parse().ok()?)));
    pair.filter(|pair| pair.0 != pair.1).ok_or_else(|| "two CPUs are needed, like 0,1".into())
}

/// The first two CPUs that this process may use.
pub(super) fn first_two() -> Result<Pair, Failure> {
    let [one, other, ..] = cpus::allowed()[..] else {
        let remedy = "name two with --cpus, or use a machine that has them";
        return Err(Failure::new("find two CPUs", "this process may use fewer than two", remedy));
    };
    Ok(Pair(one, other))
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::workspace::Workspace;

    fn flags(median: f64) -> Option<Flags> {
        Some(Flags { median, p5: median - 1.0, p95: median + 1.0 })
    }

    fn grid(name: &str, value: f64) -> Grid {
        let [rows, columns] = [0; 2].map(|_| ["2", "5"].map(String::from).to_vec());
        let values = vec![vec![None, Some(value)], vec![Some(value), None]];
        Grid { name: name.into(), unit: "ns".into(), rows, columns, values }
    }

    #[test]
    fn the_figures_of_the_pair_are_read_and_no_others() {
        let grids = [
            grid("median of compare-and-swap on one line", 27.8),
            grid("median of flags on two lines", 60.2),
            grid("p5 of flags on two lines", 59.2),
            grid("p95 of flags on two lines", 66.4),
        ];
        let expected = Some(Flags { median: 60.2, p5: 59.2, p95: 66.4 });
        for pair in [Pair(2, 5), Pair(5, 2)] {
            assert_eq!(read_flags(&grids, pair), expected);
        }
        assert_eq!(read_flags(&grids, Pair(2, 7)), None, "a CPU that was not asked");
        assert_eq!(read_flags(&grids, Pair(2, 2)), None, "a CPU with itself");
        assert_eq!(read_flags(&grids[..3], Pair(2, 5)), None, "a figure is missing");
    }

    #[test]
    fn the_table_of_c2clat_is_read_by_the_names_of_the_cpus() {
        let text = " CPU   10   11   12\n  10    0   52   61\n  11   52    0   70\n  12   61   70    0\n";
        for (pair, expected) in [
            (Pair(10, 11), Some(52.0)),
            (Pair(12, 11), Some(70.0)),
            (Pair(10, 10), None),
            (Pair(0, 10), None),
        ] {
            assert_eq!(read_c2clat(text, pair), expected, "{pair:?}");
        }
        assert_eq!(read_c2clat("reset\nset autoscale fix\n", Pair(10, 11)), None);
    }

    #[test]
    fn the_ratio_is_of_the_best_minimum_and_the_middle_median() {
        let round = |minimum, median| Round { minimum, flags: flags(median), c2clat: None };
        let silent = Round { minimum: 1.0, flags: None, c2clat: None };
        let rounds = [round(50.0, 60.0), round(64.0, 80.0), round(55.0, 56.0), silent];
        let comparison = compare(&rounds, |round| Some(round.minimum)).expect("three rounds were heard");
        assert_eq!(
            (comparison.best, comparison.median, comparison.single),
            (50.0, 60.0, [56.0 / 55.0, 1.2, 1.25])
        );
        let expected = "4 rounds, in 1 of them tenbin refused to say\n\
                        the C program: 50.0 ns at best; tenbin's median of medians: 60.0 ns; ratio 1.200, NOT within 15 %\n  \
                        in single rounds 1.018 to 1.250; the middle one 1.200, NOT within 15 %";
        assert_eq!(conclusion(&rounds), expected);
        assert_eq!(compare(&rounds, |round| round.c2clat), None);
        assert_eq!(compare(&[], |round| Some(round.minimum)), None);
    }

    #[test]
    fn near_is_fifteen_per_cent_to_either_side() {
        for (ratio, near) in [(1.149, true), (1.151, false), (0.851, true), (0.849, false), (1.0, true)] {
            let expected = if near { "within 15 %" } else { "NOT within 15 %" };
            assert_eq!(nearness(ratio), expected, "{ratio}");
        }
    }

    #[test]
    fn a_pair_is_two_cpus() {
        assert_eq!(pair_of_cpus("4,2"), Ok(Pair(4, 2)));
        for text in ["", "1", "1,1", "1,x", "0-1", "1,2,3"] {
            assert!(pair_of_cpus(text).is_err(), "{text}");
        }
    }

    #[test]
    fn the_c_program_finds_a_time_and_refuses_what_it_cannot_do() {
        let workspace = Workspace::find().expect("the test runs in the repository");
        let folder = workspace.scratch("bench-c2c-test").expect("there is room");
        let program = compile(&workspace, &OPTIONS, SOURCE, &folder);
        let program = program.expect("the linker of rustc compiles C too");
        let ends = |words: &[&str]| {
            let command = Command::new(&program).arguments(words.iter().copied());
            command.capture_quietly().expect("it runs").code
        };
        for wrong in
            [&["0", "1", "1"][..], &["0", "0", "1", "1"], &["0", "1", "0", "1"], &["0", "1", "1", "x"]]
        {
            assert_eq!(ends(wrong), Some(2), "{wrong:?}");
        }
        match first_two() {
            Ok(pair) => assert!(minimum(&program, pair).expect("the pair may be used") > 0.0),
            Err(failure) => println!("skipped: the program was not run. {failure}"),
        }
    }
}
