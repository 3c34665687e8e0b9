//! `faults`: what the first touch of a page costs, and how many faults it takes.

mod counted;
mod sampled;

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use tenbin_metal::touch::{self, Advised, Region, page};
use tenbin_metal::{Fault, Lap, Task, Team, Usage};
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Arrangement, Bytes, Comparison, Cpu, Descriptor, Effort, Finding, Gauge, Machine, Parameter, Picoseconds,
    Published, Quantity, Reading, Refusal, Source, Variant,
};

use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};
use crate::published::rows;

const BASE_IN_ORDER: u32 = 0;
const BASE_AT_RANDOM: u32 = 1;
const HUGE_IN_ORDER: u32 = 2;
const HUGE_AT_RANDOM: u32 = 3;
const POPULATED: u32 = 4;
const AGAIN: u32 = 5;

/// What each variant does, in the order of the descriptor; the last two are planted faults.
const WAYS: [Way; 8] = [
    Way { huge: false, act: Act::InOrder },
    Way { huge: false, act: Act::AtRandom },
    Way { huge: true, act: Act::InOrder },
    Way { huge: true, act: Act::AtRandom },
    Way { huge: false, act: Act::Populate },
    Way { huge: false, act: Act::Again },
    Way { huge: false, act: Act::LeaveOneOut },
    Way { huge: false, act: Act::OneTwice },
];

/// Memory of a worker unless `--set bytes` says otherwise, and of all of them. It is mapped and not filled: an epoch
/// touches some tens of megabytes of it, elsewhere in each block, and gives them back.
const OF_A_WORKER: u64 = 256 << 20;
const OF_ALL: u64 = 8 << 30;

/// Where nobody knows how much memory may be had, no more than this is asked for.
const OF_UNKNOWN: u64 = 1 << 30;

/// Iterations of the pass that is checked, and of each of the passes that are counted.
const CHECKED: u64 = 2;
const COUNTED: u64 = 4;
const COUNTED_LAPS: usize = 12;

/// Iterations' worth of pages that are touched again and again, however many iterations there are: they must be filled
/// before each epoch.
const KEPT: usize = 4;

/// One variant: which pages, and how they are touched.
#[derive(Clone, Copy)]
struct Way {
    huge: bool,
    act: Act,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Act {
    InOrder,
    AtRandom,
    Populate,
    Again,
    LeaveOneOut,
    OneTwice,
}

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let cpus = request.cpus.len();
    // 1, 2, 4, … and every CPU; with --quick the ends alone.
    let mut counts: Vec<usize> = std::iter::successors(Some(1), |count| Some(count * 2))
        .take_while(|&count| count < cpus)
        .chain([cpus])
        .collect();
    if request.effort == Effort::Quick {
        counts.retain(|&count| count == 1 || count == cpus);
    }
    let counts = request.settings.list("threads", &counts, "a number of threads from 1 to 1024", |count| {
        (1..=1024).contains(count)
    })?;
    let variants = variants()?;
    let pair = |(left, right)| Comparison { left, right };
    let comparisons: Vec<Comparison> = [
        (POPULATED, BASE_IN_ORDER),
        (HUGE_IN_ORDER, BASE_IN_ORDER),
        (BASE_IN_ORDER, BASE_AT_RANDOM),
        (HUGE_AT_RANDOM, BASE_AT_RANDOM),
        (AGAIN, BASE_IN_ORDER),
    ]
    .into_iter()
    .filter(|(left, _)| variants.contains(left))
    .map(pair)
    .collect();
    // The seed's question is about many threads.
    let most = counts.iter().copied().max();
    let cell = |threads: usize| {
        let bytes = wanted(request, threads)?;
        Ok(Arrangement {
            label: at_threads(threads),
            parameters: vec![("threads".into(), threads.to_string()), ("bytes".into(), bytes.to_string())],
            cpus: request.cpus.iter().copied().cycle().take(threads).collect(),
            work: (span() * threads) as u64,
            epoch: describe().epoch,
            most_iterations: (part(bytes, threads) / span()).max(1) as u64,
            variants: variants.clone(),
            comparisons: comparisons.clone(),
            headline: Some(threads) == most,
            ..Arrangement::default()
        })
    };
    Ok(counts.into_iter().map(cell).collect::<Result<Vec<_>, Unfit>>()?.into())
}

/// The variants that this kernel has.
fn variants() -> Result<Vec<u32>, Unfit> {
    let (huge, populate) = (span_is_huge() && touch::huge_pages_are_granted()?, touch::can_populate()?);
    let has = |&variant: &u32| match WAYS[variant as usize] {
        Way { huge: true, .. } => huge,
        Way { act: Act::Populate, .. } => populate,
        _ => true,
    };
    Ok((BASE_IN_ORDER..=AGAIN).filter(has).collect())
}

/// Pages of one iteration of one worker: as many as a huge page has, so that no epoch ends inside one.
fn span() -> usize {
    if span_is_huge() { touch::huge_page().unwrap_or(0) / page() } else { 512 }
}

/// Where base pages have 64 KiB a huge one has 512 MiB, too much for an iteration: those are left out.
fn span_is_huge() -> bool {
    touch::huge_page().is_some_and(|huge| (page()..=32 << 20).contains(&huge))
}

/// The bytes asked for, or as many as are good for this many threads and modest here.
fn wanted(request: &Request<'_>, threads: usize) -> Result<u64, Unfit> {
    let modest = (OF_A_WORKER * threads as u64).min(OF_ALL).min(most(request.machine));
    match request.settings.list("bytes", &[modest], "a number of bytes from 1", |&bytes| bytes > 0)?[..] {
        [bytes] => Ok(bytes),
        ref several => Err(Unfit::Usage(format!("--set bytes: one number, not {}", several.len()))),
    }
}

/// The most memory that is touched: half of what may be had, as the machine or the control group allows it.
fn most(machine: &Machine) -> u64 {
    machine.memory_available.known().map_or(OF_UNKNOWN, |available| available.0 / 2)
}

/// Pages of each worker's part, in whole iterations.
fn part(bytes: u64, threads: usize) -> usize {
    let spans = bytes / (page() * span()) as u64;
    (spans / threads as u64) as usize * span()
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let threads = arrangement.cpus.len();
    let bytes = wanted(request, threads)?;
    let (most, part) = (most(request.machine), part(bytes, threads));
    let least = Bytes((threads * page() * span()) as u64 * COUNTED);
    if bytes > most {
        return Err(Unfit::Refused(Refusal {
            reached: format!("{} asked for; half of the memory that is available is {}", Bytes(bytes), Bytes(most)),
            needs: format!("no more than {}, so that nothing else is pushed out", Bytes(most)),
            remedy: format!("--set bytes={most}, or more memory"),
        }));
    }
    if part < COUNTED as usize * span() {
        return Err(Unfit::Refused(Refusal {
            reached: format!("{} {}", Bytes(bytes), at_threads(threads)),
            needs: format!("{least}: {COUNTED} iterations of {} pages for each", span()),
            remedy: format!("--set bytes={} or --set threads=1", least.0),
        }));
    }
    let touching = Touching::of(request, &arrangement.cpus, part)?;
    if !touching.gives_pages_back()? {
        return Err(Unfit::Refused(Refusal {
            reached: "a page that was given back is still there".into(),
            needs: "a kernel that takes pages back (MADV_DONTNEED)".into(),
            remedy: "a CPU that is not emulated".into(),
        }));
    }
    Ok(Box::new(touching))
}

struct Touching {
    team: Team,
    /// Base pages, then huge ones. All workers share each mapping, and have a part of it each.
    regions: Arc<[Region; 2]>,
    /// Pages of a worker's part.
    part: usize,
    layout: u32,
    seed: u64,
    /// The order in which pages were last touched, with what it was made for: the act, the pages, the layout.
    order: (Act, usize, u32, Arc<[u32]>),
    machine: Machine,
    effort: Effort,
}

/// Where each worker touches in one lap: so many pages, from this one of its part on.
#[derive(Clone, Copy)]
struct Window {
    first: usize,
    pages: usize,
    part: usize,
}

impl Window {
    fn of(self, worker: usize) -> Range<usize> {
        let start = worker * self.part + self.first;
        start..start + self.pages
    }
}

impl Touching {
    /// Workers on these CPUs, each with a part of so many pages.
    fn of(request: &Request<'_>, cpus: &[Cpu], part: usize) -> Result<Self, Fault> {
        let map = |advised| Region::map(part * cpus.len() * page(), advised);
        Ok(Self {
            team: Team::gather(request.clock, cpus)?,
            regions: Arc::new([map(Advised::Base)?, map(Advised::Huge)?]),
            part,
            layout: 0,
            seed: request.seed,
            order: (Act::Again, 0, 0, Arc::new([])),
            machine: request.machine.clone(),
            effort: request.effort,
        })
    }

    /// Whether a page that was given back is gone: an emulator may take the request for a hint.
    fn gives_pages_back(&self) -> Result<bool, Fault> {
        let region = &self.regions[0];
        region.touch(0, &[0]);
        region.discard(0..1)?;
        Ok(region.present(0..1)? == 0)
    }

    /// The window of the block: it begins elsewhere in each.
    fn window(&self, pages: usize) -> Window {
        // Knuth's multiplicative hashing (TAOCP volume 3, section 6.4): neighbours lie far apart.
        let mixed = (u64::from(self.layout).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let places = (self.part - pages) / span() + 1;
        Window { first: mixed % places * span(), pages, part: self.part }
    }

    /// The pages of a window in the order in which `act` touches them. Every act runs the same loop over such a list.
    fn order(&mut self, act: Act, pages: usize) -> Arc<[u32]> {
        let made_for = (act, pages, self.layout);
        if (self.order.0, self.order.1, self.order.2) != made_for {
            let mut order: Vec<u32> = (0..pages as u32).collect();
            match act {
                Act::AtRandom => {
                    let seed = self.seed ^ u64::from(self.layout) << 32;
                    order.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
                }
                Act::LeaveOneOut => order.truncate(pages - 1),
                Act::OneTwice => order[pages - 1] = order[0],
                Act::InOrder | Act::Populate | Act::Again => {}
            }
            self.order = (act, pages, self.layout, order.into());
        }
        Arc::clone(&self.order.3)
    }

    /// Runs `iterations` of `variant` on pages that are not there, lets `look` see what came of it, and gives the
    /// pages back. Only the touching is in the lap.
    ///
    /// The pages are touched once before and given back at once, so that the kernel has as many at hand and, in a
    /// guest, the host has provided them: one that takes free pages back needs several times as long for a page as
    /// the guest's kernel does, and only for some of them.
    fn lap<T>(
        &mut self,
        variant: u32,
        iterations: u64,
        look: impl FnOnce(&Region, Window) -> Result<T, Fault>,
    ) -> Result<(Lap, T), Fault> {
        let Way { huge, act } = WAYS[variant as usize];
        let asked = usize::try_from(iterations).unwrap_or(usize::MAX).saturating_mul(span());
        if act != Act::Again && asked > self.part {
            let error = std::io::Error::other("that is more than there are: --set bytes asks for more memory");
            return Err(Fault::system(format!("touch {asked} fresh pages of {}", self.part), error));
        }
        let window = self.window(if act == Act::Again { asked.min(KEPT * span()) } else { asked });
        let order = self.order(act, window.pages);
        let failed = Arc::new(Mutex::new(None));
        // Workers cannot return a fault of their own.
        let each = |work: fn(&Region, Range<usize>) -> Result<(), Fault>| -> Task {
            let (regions, failed) = (Arc::clone(&self.regions), Arc::clone(&failed));
            Arc::new(move |worker, _| {
                if let Err(fault) = work(&regions[usize::from(huge)], window.of(worker)) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                }
                0
            })
        };
        let touching = |passes: Passes| -> Task {
            let (regions, order) = (Arc::clone(&self.regions), Arc::clone(&order));
            Arc::new(move |worker, _| {
                let (region, first) = (&regions[usize::from(huge)], window.of(worker).start);
                for _ in 0..passes.whole {
                    region.touch(first, &order);
                }
                region.touch(first, &order[..passes.rest]);
                0
            })
        };
        let once = Passes { whole: 1, rest: 0 };
        let work = match act {
            Act::Populate => each(Region::populate),
            // Around and around, as every page stays.
            Act::Again => touching(Passes { whole: asked / window.pages, rest: asked % window.pages }),
            _ => touching(once),
        };
        let (filling, giving_back) = (touching(once), each(Region::discard));
        self.team.lap(&filling, 1)?;
        if act != Act::Again {
            self.team.lap(&giving_back, 1)?;
        }
        let lap = self.team.lap(&work, 1);
        let looked = look(&self.regions[usize::from(huge)], window);
        self.team.lap(&giving_back, 1)?;
        match failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(fault) => Err(fault),
            None => Ok((lap?, looked?)),
        }
    }

    /// How many pages of all windows are there.
    fn present(region: &Region, window: Window, workers: usize) -> Result<usize, Fault> {
        (0..workers).map(|worker| region.present(window.of(worker))).sum()
    }
}

/// How often a worker goes through its pages.
#[derive(Clone, Copy)]
struct Passes {
    whole: usize,
    rest: usize,
}

impl Apparatus for Touching {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        let Way { huge, act } = WAYS[variant as usize];
        let workers = self.team.size();
        let asked = CHECKED as usize * span() * workers;
        let (lap, (inside, all, kept)) = self.lap(variant, CHECKED, |region, window| {
            let all = region.present(0..region.pages())?;
            Ok((Self::present(region, window, workers)?, all, region.huge_bytes().ok()))
        })?;
        let (faults, kept) = (lap.usage.minor_faults, kept.map(Bytes));
        let there = format!("{inside} of {asked} pages are there");
        let emulated = !self.machine.virtualisation.timing_can_be_trusted();
        Ok(if inside != asked || all != inside {
            Seen::Broken(format!("{there}, and {} that were not asked for", all - inside))
        } else if huge != kept.is_some_and(|kept| kept.0 > 0) {
            let wanted = if huge { "huge" } else { "base" };
            let kept = kept.map_or_else(|| "an unknown part".into(), |kept| kept.to_string());
            Seen::Broken(format!("{there}, which should be {wanted} pages: {kept} of them lies in huge ones"))
        } else if !huge && !emulated && act != Act::Again && faults < asked as u64 {
            Seen::Broken(format!("{there} after {faults} faults: some were there before"))
        } else {
            Seen::Met(format!("{there} after {faults} faults"))
        })
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
        let workers = self.team.size();
        let (lap, (present, asked)) = self.lap(variant, iterations, |region, window| {
            Ok((Self::present(region, window, workers)?, window.pages * workers))
        })?;
        if present == asked {
            Ok(lap)
        } else {
            Err(Failure::Wrong(format!("{present} of {asked} pages are there")))
        }
    }

    fn shift(&mut self, layout: u32) {
        self.layout = layout;
        self.team.shift_stack(layout);
    }

    fn gauges(&mut self, variant: u32) -> Result<Vec<Gauge>, Fault> {
        let mut usage = Usage::default();
        for _ in 0..COUNTED_LAPS {
            let (lap, ()) = self.lap(variant, COUNTED, |_, _| Ok(()))?;
            usage = usage.plus(&lap.usage);
        }
        let pages = COUNTED_LAPS as u64 * COUNTED * (span() * self.team.size()) as u64;
        let gauge = |name: &str, count| Gauge { variant, name: name.into(), reading: Reading::Count(count) };
        let faults = usage.minor_faults as f64 / pages as f64;
        Ok([gauge("faults/page", faults)]
            .into_iter()
            .chain(system_share(&usage).map(|share| gauge("system share", share)))
            .collect())
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let mut findings = counted::look(&mut self.team, &self.machine, self.effort, self.seed)?;
        findings.push(sampled::look(self)?);
        let has = |variant| variants().is_ok_and(|variants| variants.contains(&variant));
        let missing: Vec<&str> = [
            (HUGE_IN_ORDER, "huge pages: this kernel grants none, or they are too large for an epoch"),
            (POPULATED, "one call: this kernel has no MADV_POPULATE_WRITE, which came with Linux 5.14"),
        ]
        .into_iter()
        .filter_map(|(variant, why)| (!has(variant)).then_some(why))
        .collect();
        if touch::host::takes_free_pages() == Some(true) {
            findings.push(finding(
                "The host takes free memory of this guest back and must provide it again: the first touch of a page \
                 that has been free for some time costs more than is shown here."
                    .into(),
                "virtio's balloon has free page reporting; what was timed was touched and given back just before".into(),
                "the device's word; how much more was not measured",
            ));
        }
        if !missing.is_empty() {
            findings.push(finding(
                "Not every way of touching was tested here.".into(),
                missing.join("; "),
                "asked of the kernel and seen",
            ));
        }
        Ok(findings)
    }
}

/// The part of the CPU time that the kernel took; none where no time was charged.
fn system_share(usage: &Usage) -> Option<f64> {
    let all = usage.user + usage.system;
    (all.0 > 0).then(|| usage.system.0 as f64 / all.0 as f64)
}

fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "faults".into(), sentence, evidence, confidence: confidence.into() }
}

fn at_threads(threads: impl std::fmt::Display) -> String {
    let threads = threads.to_string();
    format!("at {threads} thread{}", if threads == "1" { "" } else { "s" })
}

/// A figure of the seed's run.
fn seed(figure: &str) -> f64 {
    let rows = rows(include_str!("../../../../fixtures/published/faults_sg2038.csv"));
    let row = rows.iter().find(|row| row.text("figure") == figure);
    row.and_then(|row| row.number("value")).unwrap_or(f64::NAN)
}

/// The seed's figures: one run, so none of them is a ratio of two variants.
fn published() -> Vec<Published> {
    let publish = |measure: &str, what: String| Published {
        machine: "Sophgo SG2038, 64 cores".into(),
        date: "2024-02-24".into(),
        what,
        measure: measure.into(),
        cell: at_threads(64),
        left: describe_name(BASE_IN_ORDER),
        right: describe_name(BASE_AT_RANDOM),
        ratio: None,
    };
    let (faults, pages) = (seed("page_faults_counted"), seed("pages_of_4096"));
    vec![
        publish(
            "page faults",
            format!(
                "{faults} page faults for {pages} pages, {} a page, with NUMA balancing and huge pages on",
                three_digits(faults / pages)
            ),
        ),
        publish(
            "CPU time",
            format!(
                "{} s in the kernel and {} s in user mode within {} s",
                three_digits(seed("sys_s")),
                three_digits(seed("user_s")),
                three_digits(seed("elapsed_s"))
            ),
        ),
    ]
}

/// Names and what they do, in the order of [`WAYS`].
const NAMES: [(&str, &str); 8] = [
    ("a base page in order", "a word is written to each page, upwards: a fault each"),
    ("a base page at random", "the same pages in random order"),
    ("a page of a huge one in order", "a word for each base page: one fault fills a huge page"),
    ("a page of a huge one at random", "the same in random order"),
    ("a base page by one call", "MADV_POPULATE_WRITE: allocated and cleared without an exception for each"),
    ("a page that is there", "the same loop over pages that were touched before"),
    ("a page left out", "the last page is not touched"),
    ("a page touched twice", "as many writes as pages, but the last page's goes to the first"),
];

fn describe_name(variant: u32) -> String {
    NAMES[variant as usize].0.into()
}

fn describe() -> Descriptor {
    let variants = NAMES.iter().enumerate().map(|(index, (name, what))| {
        if index as u32 <= AGAIN { Variant::measured(name, what) } else { Variant::sabotage(name, what) }
    });
    Descriptor {
        name: "faults".into(),
        question: "What does the first touch of a page cost, and how many faults does it take?".into(),
        requirement: "seed 004: 64 threads took 1626092 page faults to touch 257769 pages, and all of their \
                      time was the kernel's"
            .into(),
        specification: "every page that was asked for is there afterwards and no other is".into(),
        subject: "Touching fresh memory".into(),
        quantity: Quantity::NanosecondsPerOperation,
        variants: variants.collect(),
        parameters: vec![
            Parameter::new("threads", "1,2,4,… all CPUs", "numbers of threads, 1 to 1024"),
            Parameter::new(
                "bytes",
                "256 MiB a thread, at most 8 GiB and half of what is available",
                "bytes of the mapping that the threads share, each in a part of its own",
            ),
        ],
        margin: 0.02,
        // An iteration takes most of it. Shorter than a scheduler's slice, so that most epochs are not interrupted.
        epoch: Picoseconds::from_millis(1),
        privileges: "none; with CAP_PERFMON or perf_event_paranoid of 1 it also says where the kernel's time goes"
            .into(),
        touches: "none".into(),
        sources: vec![
            Source::new("seed 004, 2024-02-24", "the question, the work, the figures"),
            Source::new(
                "vm-scalability, usemem.c",
                "what --prealloc --random does: one private mapping, and threads that write words at random \
                 over all of it",
            ),
            Source::new("Linux, mm/memory.c, mm_account_fault", "which faults are counted for a thread"),
            Source::new("madvise(2), MADV_POPULATE_WRITE", "how to fill pages without an exception for each"),
            Source::new(
                "Linux, Documentation/admin-guide/mm/transhuge.rst",
                "how huge pages are asked for and told",
            ),
        ],
        published: published(),
        ..Descriptor::default()
    }
}

/// The faults experiment.
pub const EXPERIMENT: Experiment = Experiment { describe, plan, open, published: None };

#[cfg(test)]
mod tests;
