//! Many readers of the driver at once, at random places, each number compared.

use std::fs::File;
use std::sync::atomic::{AtomicBool, Ordering};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::{Clock, Fault, Lap, Pin};
use tenbin_model::words::comma;
use tenbin_model::{Arrangement, Cpu, Finding, Picoseconds, Refusal, Variant, VariantIndex, order};

use super::device::{Algorithm, Driver, NumberSource, room};
use super::kernel::{DENSE, SAMPLES, Truth, available, finding, larger, one_before, planted_every, reading};
use super::user::EPOCH;
use crate::experiment::{Apparatus, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit};

const MOST_READERS: u32 = 1_024;
const MOST_SECONDS: u64 = 3_600;
const USUAL_SECONDS: u64 = 10;

/// EMFILE (errno(3)), the same number on every architecture of this program.
const TOO_MANY_FILES: i32 = 24;

/// Reads of the planted fault: among so many there is a place that it reads wrong.
const PLANTED_READS: u64 = 5_000;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Soak {
    readers: u32,
    seconds: u64,
}

impl Soak {
    /// What `--set readers=…,seconds=…` asks for; none without readers.
    pub(super) fn asked(request: &Request<'_>) -> Result<Option<Self>, Unfit> {
        let settings = request.settings;
        let range = |most: u64| format!("a number from 1 to {most}");
        let most = u64::from(MOST_READERS);
        let readers = settings.one("readers", 1, &range(most), |count| (1..=MOST_READERS).contains(count))?;
        let seconds = settings.one("seconds", USUAL_SECONDS, &range(MOST_SECONDS), |count| {
            (1..=MOST_SECONDS).contains(count)
        })?;
        let beside = ["n", "traced"].into_iter().find(|key| settings.given(key).is_some());
        match (settings.given("readers"), settings.given("seconds")) {
            (Some(_), _) if let Some(key) = beside => Err(Unfit::Usage(format!(
                "--set {key}: readers draw their places and are not timed, so leave out one of the two"
            ))),
            (Some(_), _) => Ok(Some(Self { readers, seconds })),
            (None, Some(_)) => {
                Err(Unfit::Usage("--set seconds: it says how long `--set readers=…` read".into()))
            }
            (None, None) => Ok(None),
        }
    }

    /// One cell that is checked and not weighed: the readers are its check.
    pub(super) fn plan(self, request: &Request<'_>) -> Plan {
        let variants = vec![
            Variant::measured(
                "readers at once",
                "each with a file of its own and one algorithm, at random places; the algorithms are dealt out in turn",
            ),
            Variant::sabotage(
                "a reader of the number before",
                "a reader that is asked for n - 1 where n ends in 00 (at max_n, where that is below 100)",
            ),
        ];
        let cell = Arrangement {
            label: format!("with {} readers for {} s", self.readers, self.seconds),
            parameters: vec![
                ("where".into(), "kernel".into()),
                ("readers".into(), self.readers.to_string()),
                ("seconds".into(), self.seconds.to_string()),
            ],
            cpus: request.cpus[..1].to_vec(),
            epoch: EPOCH,
            // Checked, and not timed.
            most_blocks: 0,
            variants: vec![VariantIndex(0)],
            headline: true,
            ..Arrangement::default()
        };
        let cell = PlannedCell::new(cell, move |_, request| open(request, self));
        Plan { variants: Some(variants), cells: vec![cell], ..Plan::default() }
    }
}

fn open(request: &Request<'_>, soak: Soak) -> Opened {
    let driver = Driver::default();
    let algorithms = available(&driver)?;
    let algorithms: Vec<Algorithm> = algorithms.into_iter().cycle().take(soak.readers as usize).collect();
    let files = driver.files(&algorithms).map_err(|fault| unopened(fault, soak.readers))?;
    let largest = driver.largest()?;
    let dense = DENSE.min(largest);
    let larger = larger(request.seed, dense, largest, SAMPLES);
    Ok(Box::new(Soaking {
        clock: request.clock,
        soak,
        cpus: request.cpus.to_vec(),
        seed: request.seed,
        sources: algorithms.into_iter().zip(files).collect(),
        truth: Truth::of(dense, &larger, 0),
        every: planted_every(largest),
        tally: None,
    }))
}

/// Why so many files could not be opened.
fn unopened(fault: Fault, readers: u32) -> Unfit {
    match &fault {
        Fault::System { error, .. } if error.raw_os_error() == Some(TOO_MANY_FILES) => {
            Unfit::Refused(Refusal {
                reached: format!("this process may not open a file for each of {readers} readers: {fault}"),
                needs: format!("RLIMIT_NOFILE (`ulimit -n`) some tens above {readers}"),
                remedy: format!("`ulimit -n {}` before, or fewer readers", 2 * readers.max(512)),
            })
        }
        _ => Unfit::Fault(fault),
    }
}

struct Soaking {
    clock: Clock,
    soak: Soak,
    /// Where they read: one after the other, and again from the first.
    cpus: Vec<Cpu>,
    seed: u64,
    sources: Vec<(Algorithm, File)>,
    truth: Truth,
    /// What divides the places that the planted fault reads wrong.
    every: u64,
    tally: Option<Tally>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    pub(super) reads: u64,
    pub(super) wrong: u64,
    /// The place of one of them.
    pub(super) at: Option<u64>,
    pub(super) up_to: u64,
}

impl Tally {
    fn plus(self, other: Self) -> Self {
        Self {
            reads: self.reads + other.reads,
            wrong: self.wrong + other.wrong,
            at: self.at.or(other.at),
            up_to: self.up_to.max(other.up_to),
        }
    }
}

/// Reads at random places of `truth` until `more` says that it is enough, and compares each number.
pub(super) fn read(
    source: &dyn NumberSource,
    algorithm: Algorithm,
    truth: &Truth,
    seed: u64,
    asked: impl Fn(u64) -> u64,
    more: impl Fn(u64) -> bool,
) -> Result<Tally, Fault> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let places = truth.all();
    let mut tally = Tally::default();
    let mut buffer = vec![0_u8; places.iter().copied().max().map_or(0, room)];
    while more(tally.reads) {
        let place = places[random.random_range(0..places.len())];
        let length = source.number(asked(place), &mut buffer).map_err(|error| reading(place, error))?;
        tally.reads += 1;
        tally.up_to = tally.up_to.max(place);
        if truth.holds(algorithm.base, place, &buffer[..length]) != Some(true) {
            tally.wrong += 1;
            tally.at = tally.at.or(Some(place));
        }
    }
    Ok(tally)
}

/// All of them at once, a thread each, until the time is over or one of them fails.
pub(super) fn at_once<S: NumberSource + Sync>(
    sources: &[(Algorithm, S)],
    truth: &Truth,
    seed: u64,
    cpus: &[Cpu],
    (clock, time): (Clock, Picoseconds),
) -> Result<Tally, Fault> {
    let start = clock.now();
    let failed = AtomicBool::new(false);
    let more = |_| clock.between(start, clock.now()) < time && !failed.load(Ordering::Relaxed);
    let (failed, more) = (&failed, &more);
    std::thread::scope(|scope| {
        let reader = |(number, (algorithm, source)): (usize, &(Algorithm, S))| {
            let (algorithm, seed) = (*algorithm, seed.wrapping_add(number as u64));
            let pin = Pin::hold(cpus[number % cpus.len()]);
            let tally = pin.and_then(|_pin| read(source, algorithm, truth, seed, |place| place, more));
            failed.fetch_or(tally.is_err(), Ordering::Relaxed);
            tally
        };
        let started = |source| {
            std::thread::Builder::new()
                .spawn_scoped(scope, move || reader(source))
                .map_err(|error| Fault::system("start a thread that reads", error))
                // Those that run already have nothing to go on for.
                .inspect_err(|_| failed.store(true, Ordering::Relaxed))
        };
        let threads = sources.iter().enumerate().map(started).collect::<Result<Vec<_>, Fault>>()?;
        threads.into_iter().try_fold(Tally::default(), |sum, thread| {
            Ok(sum.plus(thread.join().map_err(|_| Fault::Panicked)??))
        })
    })
}

impl Apparatus for Soaking {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        if variant.0 > 0 {
            let Some((algorithm, file)) = self.sources.first() else { return Err(Fault::Panicked) };
            let asked = |place| one_before(place, self.every);
            let tally = read(file, *algorithm, &self.truth, self.seed, asked, |reads| reads < PLANTED_READS)?;
            return Ok(seen(tally, "1 reader"));
        }
        let time = Picoseconds::from_millis(self.soak.seconds * 1_000);
        let tally = at_once(&self.sources, &self.truth, self.seed, &self.cpus, (self.clock, time))?;
        self.tally = Some(tally);
        Ok(seen(tally, &format!("{} readers", self.soak.readers)))
    }

    /// Nothing is weighed here, so nothing is timed.
    fn epoch(&mut self, _variant: VariantIndex, _iterations: u64) -> Result<Lap, Failure> {
        Ok(Lap::default())
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = order::firsts(self.sources.iter().map(|(algorithm, _)| algorithm.name));
        Ok(self.tally.iter().map(|tally| in_words(tally, self.soak, &names)).collect())
    }
}

fn seen(tally: Tally, who: &str) -> Seen {
    match tally.at {
        None => Seen::Met(format!("{} reads by {who}, none wrong", tally.reads)),
        Some(place) => Seen::Broken(format!(
            "{} of {} reads by {who} were wrong, that of F({place}) first",
            tally.wrong, tally.reads
        )),
    }
}

fn in_words(tally: &Tally, soak: Soak, names: &[&str]) -> Finding {
    let wrong = match tally.at {
        None => "none was wrong".into(),
        Some(place) => format!("{} were wrong, F({place}) among them", tally.wrong),
    };
    finding(
        format!(
            "{} readers at once read {} numbers in {} s at random places up to {}; {wrong}.",
            soak.readers, tally.reads, soak.seconds, tally.up_to
        ),
        format!(
            "by {}; each reader has a file of its own, and compares with what user space computed before",
            comma(names)
        ),
        "every number that was read was compared",
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::fib::kernel::tests::InUserSpace;
    use crate::rehearsal::refuses;

    #[test]
    fn readers_see_one_wrong_place_and_nothing_wrong_elsewhere() {
        let truth = Truth::of(300, &[1_000, 4_000], 0);
        let sources: Vec<_> = InUserSpace::every().into_iter().cycle().take(4).collect();
        let (time, cpus) = (Picoseconds::ZERO, tenbin_metal::allowed_cpus().unwrap());
        // No time, no reads; and a reader that counts to its own end.
        assert_eq!(at_once(&sources, &truth, 1, &cpus, (Clock::kernel(), time)).unwrap(), Tally::default());
        for (algorithm, source) in &sources {
            let tally = read(source, *algorithm, &truth, 1, |place| place, |reads| reads < 1_500).unwrap();
            assert_eq!((tally.reads, tally.wrong, tally.up_to), (1_500, 0, 4_000), "{}", algorithm.name);
            let tally =
                read(source, *algorithm, &truth, 1, |place| one_before(place, 100), |reads| reads < 1_500)
                    .unwrap();
            assert!(tally.wrong > 0 && tally.at.is_some_and(|place| place % 100 == 0), "{tally:?}");
            assert!(
                matches!(seen(tally, "1 reader"), Seen::Broken(reason) if reason.contains("of 1500 reads by 1 reader"))
            );
        }
    }

    #[test]
    fn where_files_run_out_the_limit_is_named() {
        let fault = |code| Fault::system("open /dev/fibonacci", std::io::Error::from_raw_os_error(code));
        let Unfit::Refused(refusal) = unopened(fault(24), 1_024) else { panic!("it is a refusal") };
        refuses(&refusal, "", "RLIMIT_NOFILE", "ulimit -n 2048");
        assert!(matches!(unopened(fault(13), 1_024), Unfit::Fault(_)));
    }

    #[test]
    fn what_was_read_is_told_with_its_readers() {
        let soak = Soak { readers: 8, seconds: 60 };
        let tally = Tally { reads: 123_456, wrong: 0, at: None, up_to: 99_990 };
        let finding = in_words(&tally, soak, &["doubling", "decimal"]);
        assert_eq!(
            finding.sentence,
            "8 readers at once read 123456 numbers in 60 s at random places up to 99990; none was wrong."
        );
        assert!(finding.evidence.starts_with("by doubling, decimal;"));
        let wrong = in_words(&Tally { wrong: 2, at: Some(77), ..tally }, soak, &["doubling"]);
        assert!(wrong.sentence.ends_with("2 were wrong, F(77) among them."), "{}", wrong.sentence);
    }
}
