//! The boot handshakes in QEMU, many times, with everything random that the firmware must not depend on.
//!
//! Of each run are drawn: how many harts there are, which one boots, how late each comes, how long the boot
//! hart works before it starts the others, how the harts take turns, and every word that the file leaves
//! undetermined. What is called sound must arrive, every time; then this says that chance finds nothing, and
//! no more. What is known to be broken shows how often chance does find it: in the memory of an emulator, all
//! zeros, and in one that is as full of garbage as a real one.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{SystemTime, UNIX_EPOCH};

use rand::seq::IndexedRandom as _;
use rand::{Rng, RngExt, SeedableRng};
use rand_pcg::Pcg64;

use crate::firmware::emulator::{self, End, Firmware, Run, Schedule};
use xtask::failure::Failure;
use xtask::requirement;
use xtask::workspace::Workspace;

/// Rounds that a hart is late, or that the boot hart works, are below 2 to this.
const LATEST: u32 = 21;

/// Where instructions are counted, one takes 2^n ns, and a hart's turn 100 ms: 1.5 million instructions to a
/// tenth of a million.
const SHIFTS: std::ops::RangeInclusive<u32> = 6..=10;

/// The same for those that may hang, which then end sooner.
const SHORT_SHIFTS: std::ops::RangeInclusive<u32> = 8..=10;

/// What the benchmark may be told.
#[derive(clap::Args)]
#[group(skip)]
pub(super) struct Arguments {
    /// For firmware: how many runs of handshakes that are called sound, in all.
    #[arg(long, default_value_t = 1000)]
    runs: usize,
    /// For firmware: how many runs of each handshake that is broken, with zeros in memory and with garbage.
    #[arg(long, default_value_t = 300)]
    broken: usize,
    /// For firmware: what everything random is drawn from; it is printed. The same seed means the same runs.
    #[arg(long)]
    seed: Option<u64>,
    /// For firmware: how many runs at a time; as many as there are CPUs if left out.
    #[arg(long, value_name = "RUNS", value_parser = clap::value_parser!(u64).range(1..))]
    at_once: Option<u64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Word {
    Sound,
    Broken,
}

/// What memory holds before the first instruction, where the file does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Memory {
    Zeros,
    Garbage,
}

/// A handshake and the machines on which it is tried.
#[derive(Debug)]
struct Subject {
    name: &'static str,
    word: Word,
    harts: (u64, u64),
    /// None: any.
    boot_hart: Option<u64>,
    /// Whether harts sleep: then QEMU 7.2 must not count instructions (`firmware/README.md`).
    sleeps: bool,
}

const fn subject(name: &'static str, word: Word, harts: (u64, u64)) -> Subject {
    Subject { name, word, harts, boot_hart: None, sleeps: false }
}

/// All of them, by what is said of them in `firmware/README.md`.
const SUBJECTS: &[Subject] = &[
    subject("slots", Word::Sound, (2, 8)),
    subject("change", Word::Sound, (2, 8)),
    subject("lottery", Word::Sound, (2, 8)),
    Subject { sleeps: true, ..subject("doorbell", Word::Sound, (2, 8)) },
    subject("wake_kept", Word::Sound, (2, 2)),
    Subject { boot_hart: Some(0), ..subject("two_flags", Word::Sound, (2, 2)) },
    subject("one_flag", Word::Broken, (2, 4)),
    subject("two_flags", Word::Broken, (2, 4)),
    subject("wake_kept", Word::Broken, (3, 4)),
    subject("lottery_broken", Word::Broken, (2, 4)),
    Subject { sleeps: true, ..subject("doorbell_broken", Word::Broken, (2, 4)) },
];

/// A row of the table: what was tried, and how its harts took turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Row {
    word: Word,
    /// Its number in [`SUBJECTS`].
    subject: usize,
    memory: Memory,
    in_turns: bool,
}

/// How often a row's runs ended how, in the order of [`End`].
type Tally = [usize; 4];

/// What the draw needs of a file.
struct Words {
    /// The address of every undetermined word.
    undetermined: Vec<u64>,
    /// The top of every hart's stack.
    stacks: Vec<u64>,
}

/// Do all runs, and print how they ended. A run that ends as it must not is printed with the command that
/// repeats it.
pub(super) fn run(workspace: &Workspace, arguments: &Arguments) -> Result<(), Failure> {
    requirement::insist(&requirement::firmware_in_qemu())?;
    let folder = emulator::build(workspace)?;
    let seed = arguments.seed.unwrap_or_else(any_seed);
    println!("the same runs again: --seed {seed} --runs {} --broken {}", arguments.runs, arguments.broken);
    let files = files(&folder)?;
    let drawn = draw_all(seed, arguments, &files)?;
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    let at_once = arguments.at_once.map_or(cpus, |runs| usize::try_from(runs).unwrap_or(cpus));
    let ends = run_all(&drawn, &files, at_once)?;

    let rows = drawn.iter().map(|(row, _)| *row);
    let (table, faults) = judge(rows.zip(&ends));
    print!("{}", draw_table(&table));
    if faults.is_empty() {
        return Ok(());
    }
    Err(Failure::new(
        format!("bring every sound handshake to its end: {} runs did not", faults.len()),
        faults.join("\n"),
        "repeat the commands above, and read firmware/README.md",
    ))
}

/// How often each row ended how, and what ended as it must not.
fn judge<'a>(ends: impl Iterator<Item = (Row, &'a (End, String))>) -> (BTreeMap<Row, Tally>, Vec<String>) {
    let mut table = BTreeMap::<Row, Tally>::new();
    let mut faults = Vec::new();
    for (row, (end, words)) in ends {
        table.entry(row).or_default()[*end as usize] += 1;
        if *end == End::Other || row.word == Word::Sound && *end != End::Arrived {
            faults.push(format!("{}: {end:?}, {words}", SUBJECTS[row.subject].name));
        }
    }
    (table, faults)
}

/// A seed that nobody chose.
fn any_seed() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::from(since.subsec_nanos()) ^ since.as_secs() << 20
}

fn files(folder: &Path) -> Result<BTreeMap<&'static str, Firmware>, Failure> {
    SUBJECTS.iter().map(|it| Ok((it.name, Firmware::read(folder, it.name)?))).collect()
}

/// Every run, in order: the sound handshakes one after the other until there are enough, then the broken
/// ones.
fn draw_all(
    seed: u64,
    arguments: &Arguments,
    files: &BTreeMap<&'static str, Firmware>,
) -> Result<Vec<(Row, Run)>, Failure> {
    let mut words = Vec::new();
    for subject in SUBJECTS {
        let file = &files[subject.name];
        let stacks = (0..subject.harts.1).map(|hart| file.stack_of(hart)).collect::<Result<_, _>>()?;
        words.push(Words { undetermined: file.undetermined.clone(), stacks });
    }
    let mut generator = Pcg64::seed_from_u64(seed);
    let rows = rows(arguments.runs, arguments.broken);
    let draw = |row: Row| (row, draw(&mut generator, &SUBJECTS[row.subject], row, &words[row.subject]));
    Ok(rows.into_iter().map(draw).collect())
}

/// Which rows are drawn, as often as there are runs of them; every other time in turns.
fn rows(runs: usize, broken: usize) -> Vec<Row> {
    let of = |word| {
        let subjects = SUBJECTS.iter().enumerate().filter(move |(_, it)| it.word == word);
        subjects.map(|(subject, _)| subject).collect::<Vec<_>>()
    };
    let sound = of(Word::Sound);
    let mut rows = Vec::new();
    for run in 0..runs {
        let (subject, in_turns) = (sound[run % sound.len()], run / sound.len() % 2 == 1);
        rows.push(Row { word: Word::Sound, subject, memory: Memory::Garbage, in_turns });
    }
    for subject in of(Word::Broken) {
        for memory in [Memory::Zeros, Memory::Garbage] {
            let row = |run| Row { word: Word::Broken, subject, memory, in_turns: run % 2 == 1 };
            rows.extend((0..broken).map(row));
        }
    }
    rows
}

fn draw<R: Rng>(generator: &mut R, subject: &Subject, row: Row, words: &Words) -> Run {
    let sound = subject.word == Word::Sound;
    let harts = generator.random_range(subject.harts.0..=subject.harts.1);
    let boot_hart = subject.boot_hart.unwrap_or_else(|| generator.random_range(0..harts));
    let schedule = match (row.in_turns, subject.sleeps) {
        (false, _) => Schedule::Threads,
        (true, true) => Schedule::Turns,
        (true, false) => Schedule::Counted(generator.random_range(if sound { SHIFTS } else { SHORT_SHIFTS })),
    };
    let mut planted = vec![("work", 0, late(generator))];
    planted.extend((0..harts).map(|hart| ("delays", hart, late(generator))));
    let garbage = match row.memory {
        Memory::Zeros => vec![],
        Memory::Garbage => {
            words.undetermined.iter().map(|at| (*at, garbage(generator, harts, &words.stacks))).collect()
        }
    };
    let patience = patience(schedule, sound);
    Run { name: subject.name, harts, boot_hart, schedule, patience, planted, garbage }
}

/// Rounds to be late: short times as often as long ones, and sometimes none.
fn late<R: Rng>(generator: &mut R) -> u64 {
    let most = generator.random_range(0..=LATEST);
    generator.random_range(0..1 << most)
}

/// What an undetermined word holds: what a handshake may wait for, or anything.
fn garbage<R: Rng>(generator: &mut R, harts: u64, stacks: &[u64]) -> u64 {
    match generator.random_range(0..6) {
        0 => 0,
        1 => u64::MAX,
        // Also START and its like, and the numbers of harts.
        2 => generator.random_range(0..=8),
        // The arguments of harts.
        3 => 0x100 + generator.random_range(0..harts),
        4 => stacks.choose(generator).copied().unwrap_or_default(),
        _ => generator.random(),
    }
}

/// Ticks until the watchdog ends the run: 60 s of the host's clock for what must arrive, 3 s for what may
/// hang; ten times as much, or fifty times, of a clock that counts instructions, as such a second is soon
/// over.
fn patience(schedule: Schedule, sound: bool) -> u64 {
    let seconds = match (schedule, sound) {
        (Schedule::Counted(_), true) => 600,
        (Schedule::Counted(_), false) => 150,
        (_, true) => 60,
        (_, false) => 3,
    };
    seconds * 10_000_000
}

/// How every run ended, and, unless all arrived, that in words with the command. So many at a time.
fn run_all(
    drawn: &[(Row, Run)],
    files: &BTreeMap<&'static str, Firmware>,
    at_once: usize,
) -> Result<Vec<(End, String)>, Failure> {
    let next = AtomicUsize::new(0);
    let ends = Mutex::new(BTreeMap::new());
    let work = || -> Result<(), Failure> {
        loop {
            let number = next.fetch_add(1, Ordering::Relaxed);
            let Some((_, run)) = drawn.get(number) else { return Ok(()) };
            let end = run_one(run, &files[run.name])?;
            let mut ends = ends.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
            ends.insert(number, end);
            if ends.len() % 100 == 0 {
                println!("  {} of {} runs", ends.len(), drawn.len());
            }
        }
    };
    thread::scope(|scope| {
        let workers = (0..at_once).map(|_| scope.spawn(work)).collect::<Vec<_>>();
        workers.into_iter().try_for_each(|worker| worker.join().unwrap_or(Ok(())))
    })?;
    let ends = ends.into_inner().unwrap_or_else(std::sync::PoisonError::into_inner);
    if ends.len() == drawn.len() {
        return Ok(ends.into_values().collect());
    }
    Err(Failure::new("do every run", "a worker ended early", "report it: this should not happen"))
}

fn run_one(run: &Run, file: &Firmware) -> Result<(End, String), Failure> {
    let command = run.command(file)?;
    let described = command.describe();
    // Who does not end at all is as bad as who ends wrongly, and no reason to stop the others.
    let (end, words) = match command.capture_quietly() {
        Ok(output) => emulator::judge(&output),
        Err(failure) => return Ok((End::Other, failure.to_string())),
    };
    Ok((end, if end == End::Arrived { words } else { format!("{words} $ {described}") }))
}

fn draw_table(table: &BTreeMap<Row, Tally>) -> String {
    let mut lines = vec![
        "| handshake | harts | boot hart | memory | harts run | runs | arrived | hung | wrong | other |"
            .to_owned(),
        "|---|---|---|---|---|---|---|---|---|---|".to_owned(),
    ];
    for (row, tally) in table {
        let Subject { name, harts: (least, most), boot_hart, sleeps, .. } = &SUBJECTS[row.subject];
        let harts = if least == most { least.to_string() } else { format!("{least} to {most}") };
        let boot_hart = boot_hart.map_or_else(|| "any".into(), |hart| hart.to_string());
        let memory = if row.memory == Memory::Zeros { "zeros" } else { "garbage" };
        let turns = match (row.in_turns, sleeps) {
            (false, _) => "at once",
            (true, true) => "in turns",
            (true, false) => "in turns, counted",
        };
        let [arrived, hung, wrong, other] = tally;
        let runs: usize = tally.iter().sum();
        lines.push(format!(
            "| `{name}` | {harts} | {boot_hart} | {memory} | {turns} | {runs} | {arrived} | {hung} | {wrong} | {other} |"
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words() -> Words {
        Words { undetermined: (0..20).map(|word| 0x1000 + 8 * word).collect(), stacks: vec![0x2100, 0x2200] }
    }

    fn drawn(seed: u64) -> Vec<(Row, Run)> {
        let mut generator = Pcg64::seed_from_u64(seed);
        let draw = |row: Row| (row, draw(&mut generator, &SUBJECTS[row.subject], row, &words()));
        rows(600, 60).into_iter().map(draw).collect()
    }

    #[test]
    fn a_seed_means_the_same_runs_always() {
        assert_eq!(drawn(1), drawn(1));
        assert_ne!(drawn(1), drawn(2));
    }

    #[test]
    fn subjects_run_as_often_as_asked_and_half_of_that_in_turns() {
        let rows = rows(600, 60);
        for (number, subject) in SUBJECTS.iter().enumerate() {
            let of =
                |in_turns| rows.iter().filter(|it| it.subject == number && it.in_turns == in_turns).count();
            let expected = if subject.word == Word::Sound { 50 } else { 60 };
            assert_eq!((of(false), of(true)), (expected, expected), "{}", subject.name);
        }
    }

    #[test]
    fn every_machine_that_a_handshake_is_for_is_drawn_and_no_other() {
        for (number, subject) in SUBJECTS.iter().enumerate() {
            let runs = drawn(3).into_iter().filter(|(row, _)| row.subject == number).collect::<Vec<_>>();
            for (_, run) in &runs {
                assert!(
                    (subject.harts.0..=subject.harts.1).contains(&run.harts) && run.boot_hart < run.harts
                );
                assert!(subject.boot_hart.is_none_or(|hart| hart == run.boot_hart));
                assert!(!subject.sleeps || !matches!(run.schedule, Schedule::Counted(_)), "{}", subject.name);
                assert!(
                    run.planted.iter().all(|(_, index, value)| *index < run.harts && *value < 1 << LATEST)
                );
            }
            for harts in subject.harts.0..=subject.harts.1 {
                assert!(runs.iter().any(|(_, run)| run.harts == harts), "{}: {harts}", subject.name);
            }
        }
    }

    #[test]
    fn garbage_fills_every_undetermined_word_and_is_of_every_kind() {
        let drawn = drawn(4);
        for (row, run) in &drawn {
            let planted = run.garbage.iter().map(|(address, _)| *address).collect::<Vec<_>>();
            let expected = if row.memory == Memory::Garbage { words().undetermined } else { vec![] };
            assert_eq!(planted, expected);
        }
        let values =
            drawn.iter().flat_map(|(_, run)| &run.garbage).map(|(_, value)| *value).collect::<Vec<_>>();
        for value in [0, u64::MAX, 1, 2, 3, 0x101, 0x2100] {
            assert!(values.contains(&value), "{value:#x}");
        }
        assert!(values.iter().any(|value| *value > 1 << 40 && *value != u64::MAX));
    }

    #[test]
    fn what_is_sound_must_arrive_and_what_is_broken_may_do_anything() {
        let cases = [
            (Word::Sound, 0, End::Arrived, false),
            (Word::Sound, 0, End::Hung, true),
            (Word::Sound, 0, End::Wrong, true),
            (Word::Sound, 0, End::Other, true),
            (Word::Broken, 8, End::Arrived, false),
            (Word::Broken, 8, End::Hung, false),
            (Word::Broken, 8, End::Wrong, false),
            (Word::Broken, 8, End::Other, true),
        ];
        for (word, subject, end, fault) in cases {
            let row = Row { word, subject, memory: Memory::Garbage, in_turns: false };
            let (table, faults) = judge([(row, &(end, "exit $ qemu".to_owned()))].into_iter());
            assert_eq!(table[&row].iter().sum::<usize>(), 1);
            assert_eq!(faults.len(), usize::from(fault), "{word:?} {end:?}");
            assert!(faults.iter().all(|words| words.contains("$ qemu")));
        }
    }

    #[test]
    fn the_table_counts_each_end_in_its_column() {
        let row = Row { word: Word::Broken, subject: 8, memory: Memory::Zeros, in_turns: true };
        let ends = [End::Arrived, End::Arrived, End::Hung, End::Wrong, End::Wrong, End::Wrong];
        let ends = ends.map(|end| (end, String::new()));
        let (table, _) = judge(ends.iter().map(|end| (row, end)));
        let table = draw_table(&table);
        let expected = "| `wake_kept` | 3 to 4 | any | zeros | in turns, counted | 6 | 2 | 1 | 3 | 0 |";
        assert_eq!(table.lines().nth(2), Some(expected));
    }
}
