//! `faults`: what the first touch of a page costs, and how many faults it takes.

mod apparatus;
mod counted;
mod described;
mod processes;
mod published;
mod remedy;
mod sampled;
mod touching;

use std::str::FromStr;

use tenbin_metal::Usage;
use tenbin_metal::pages::modest_huge_page;
use tenbin_metal::touch::{self, page};
use tenbin_model::words::or;
use tenbin_model::{Arrangement, Bytes, Comparison, Effort, Finding, Refusal, VariantIndex};

use crate::experiment::{Aspect, Experiment, Opened, Plan, PlannedCell, Request, Unfit};
use crate::memory::{self, allowance, within_allowance};

use super::{at_threads, doublings, threads};

use apparatus::COUNTED;
use described::describe;
use touching::Touching;

const BASE_IN_ORDER: VariantIndex = VariantIndex(0);
const BASE_AT_RANDOM: VariantIndex = VariantIndex(1);
const HUGE_IN_ORDER: VariantIndex = VariantIndex(2);
const HUGE_AT_RANDOM: VariantIndex = VariantIndex(3);
const POPULATED: VariantIndex = VariantIndex(4);
const AGAIN: VariantIndex = VariantIndex(5);
const IN_ORDER_BY_PROCESSES: VariantIndex = VariantIndex(6);
const AT_RANDOM_BY_PROCESSES: VariantIndex = VariantIndex(7);

/// What each variant does, in the order of the descriptor. What follows the [`MEASURED`] ones are planted
/// faults, those of processes last.
const WAYS: [Way; 11] = [
    Way { huge: false, act: Act::InOrder, by: By::Threads },
    Way { huge: false, act: Act::AtRandom, by: By::Threads },
    Way { huge: true, act: Act::InOrder, by: By::Threads },
    Way { huge: true, act: Act::AtRandom, by: By::Threads },
    Way { huge: false, act: Act::Populate, by: By::Threads },
    Way { huge: false, act: Act::Again, by: By::Threads },
    Way { huge: false, act: Act::InOrder, by: By::Processes },
    Way { huge: false, act: Act::AtRandom, by: By::Processes },
    Way { huge: false, act: Act::LeaveOneOut, by: By::Threads },
    Way { huge: false, act: Act::OneTwice, by: By::Threads },
    Way { huge: false, act: Act::LeaveOneOut, by: By::Processes },
];
const MEASURED: usize = 8;

/// What is weighed, where both are there; the first of those answers for the experiment. Threads share the
/// lock of their address space and processes do not: what is between them in time is that lock's, and the
/// clearing is in both.
const COMPARISONS: [(VariantIndex, VariantIndex); 8] = [
    (HUGE_IN_ORDER, BASE_IN_ORDER),
    (IN_ORDER_BY_PROCESSES, BASE_IN_ORDER),
    (AT_RANDOM_BY_PROCESSES, BASE_AT_RANDOM),
    (POPULATED, BASE_IN_ORDER),
    (BASE_IN_ORDER, BASE_AT_RANDOM),
    (HUGE_AT_RANDOM, BASE_AT_RANDOM),
    (AGAIN, BASE_IN_ORDER),
    (IN_ORDER_BY_PROCESSES, AT_RANDOM_BY_PROCESSES),
];

/// Memory of a worker unless `--set bytes` says otherwise, and of all of them. It is mapped and not filled:
/// an epoch touches some tens of megabytes of it, elsewhere in each block, and gives them back.
const OF_A_WORKER: u64 = 256 << 20;
const OF_ALL: u64 = 8 << 30;

#[derive(Clone, Copy)]
struct Way {
    huge: bool,
    act: Act,
    by: By,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum By {
    Threads,
    Processes,
}

impl FromStr for By {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        match text {
            "threads" => Ok(Self::Threads),
            "processes" => Ok(Self::Processes),
            _ => Err(()),
        }
    }
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
    if remedy::asked(request)? {
        // What it switches concerns every cell, so it stands alone.
        return Ok(Plan { look: Some(remedy::look), ..Plan::default() });
    }
    let cpus = request.cpus.len();
    let mut counts = doublings(cpus);
    if request.effort == Effort::Quick {
        counts.retain(|&count| count == 1 || count == cpus);
    }
    let counts = threads(request, &counts)?;
    let (here, workers) = (here()?, workers(request)?);
    // The question as published is about many threads.
    let most = counts.iter().copied().max();
    let cell = |threads: usize| {
        let bytes = wanted(request, threads)?;
        // One process against one thread is the same work twice.
        let stands = |by| workers.contains(&by) && (by == By::Threads || threads > 1 || workers.len() == 1);
        let variants: Vec<VariantIndex> =
            here.iter().copied().filter(|&variant| stands(WAYS[variant].by)).collect();
        let arrangement = Arrangement {
            label: at_threads(threads),
            parameters: vec![("threads".into(), threads.to_string()), ("bytes".into(), bytes.to_string())],
            cpus: request.cpus.iter().copied().cycle().take(threads).collect(),
            work: (span() * threads) as u64,
            epoch: describe().epoch,
            most_iterations: (part(bytes, threads) / span()).max(1) as u64,
            comparisons: comparisons(&variants),
            variants,
            headline: Some(threads) == most,
            ..Arrangement::default()
        };
        let processes = workers.contains(&By::Processes);
        Ok(PlannedCell::new(arrangement, move |arrangement, request| open(arrangement, request, processes)))
    };
    // Without processes there is nobody to plant their fault in: it is the last.
    let mut variants = describe().variants;
    variants.truncate(if workers.contains(&By::Processes) { WAYS.len() } else { WAYS.len() - 1 });
    Ok(Plan {
        variants: Some(variants),
        cells: counts.into_iter().map(cell).collect::<Result<_, Unfit>>()?,
        ..Plan::default()
    })
}

fn workers(request: &Request<'_>) -> Result<Vec<By>, Unfit> {
    request.settings.list("as", &[By::Threads, By::Processes], "threads or processes", |_| true)
}

fn comparisons(variants: &[VariantIndex]) -> Vec<Comparison> {
    // Order against chance is asked of threads; of processes only where there are no threads.
    let threads = variants.contains(&BASE_IN_ORDER);
    Comparison::of(COMPARISONS.into_iter().filter(|(left, right)| {
        let weighed = !threads || WAYS[*right].by == By::Threads;
        weighed && variants.contains(left) && variants.contains(right)
    }))
}

fn here() -> Result<Vec<VariantIndex>, Unfit> {
    let (huge, populate) = (touch::huge_pages_are_granted()?, touch::can_populate()?);
    let has = |way: &Way| match way {
        Way { huge: true, .. } => huge,
        Way { act: Act::Populate, .. } => populate,
        _ => true,
    };
    Ok(VariantIndex::select(&WAYS[..MEASURED], has))
}

/// Pages of one iteration of one worker: as many as a huge page has, so that no epoch ends inside one. Where
/// no huge page is modest, base pages alone are measured.
fn span() -> usize {
    modest_huge_page().map_or(512, |huge| huge / page())
}

/// The bytes asked for, or as many as are good for this many threads and modest here.
fn wanted(request: &Request<'_>, threads: usize) -> Result<u64, Unfit> {
    let modest = (OF_A_WORKER * threads as u64).min(OF_ALL).min(allowance(request.machine).0);
    request.settings.one("bytes", modest, "a number of bytes from 1", |&bytes| bytes > 0)
}

/// Pages of each worker's part, in whole iterations.
fn part(bytes: u64, threads: usize) -> usize {
    let spans = bytes / (page() * span()) as u64;
    (spans / threads as u64) as usize * span()
}

/// Pages of each worker's part of a mapping that may be made, and is large enough.
fn mapped(request: &Request<'_>, threads: usize) -> Result<usize, Unfit> {
    let bytes = wanted(request, threads)?;
    let least = |threads: usize| Bytes((threads * page() * span()) as u64 * COUNTED);
    within_allowance(
        request.machine,
        Bytes(bytes),
        &format!("the mapping {}", at_threads(threads)),
        |room| {
            let fits = |bytes: u64| bytes <= room.0;
            Some(format!("bytes={}", memory::largest(least(threads).0, bytes, fits)?))
        },
    )?;
    let part = part(bytes, threads);
    if part >= COUNTED as usize * span() {
        return Ok(part);
    }
    let may_be_had = least(threads) <= allowance(request.machine);
    let fewer = threads > 1 && least(1).0 <= bytes;
    let remedies = [
        may_be_had.then(|| format!("--set bytes={}", least(threads).0)),
        fewer.then(|| "--set threads=1".into()),
    ];
    let remedies: Vec<String> = remedies.into_iter().flatten().collect();
    Err(Unfit::Refused(Refusal {
        reached: format!("{} {}", Bytes(bytes), at_threads(threads)),
        needs: format!("{}: {COUNTED} iterations of {} pages for each", least(threads), span()),
        remedy: if remedies.is_empty() { "free memory".into() } else { format!("ask for {}", or(&remedies)) },
    }))
}

fn open(arrangement: &Arrangement, request: &Request<'_>, processes: bool) -> Opened {
    let part = mapped(request, arrangement.cpus.len())?;
    let touching = Touching::of(request, &arrangement.cpus, part, processes)?;
    if !touching.gives_pages_back()? {
        return Err(Unfit::Refused(Refusal {
            reached: "a page that was given back is still there".into(),
            needs: "a kernel that takes pages back (MADV_DONTNEED)".into(),
            remedy: "a CPU that is not emulated".into(),
        }));
    }
    Ok(Box::new(touching))
}

/// The part of the CPU time that the kernel took; none where no time was charged.
fn system_share(usage: &Usage) -> Option<f64> {
    let all = usage.user + usage.system;
    (all.0 > 0).then(|| usage.system.0 as f64 / all.0 as f64)
}

fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "faults".into(), sentence, evidence, confidence: confidence.into() }
}

fn published_figure(figure: &str) -> f64 {
    let rows = published::TABLES[0].rows();
    let row = rows.iter().find(|row| row.text("figure") == figure);
    row.and_then(|row| row.number("value")).unwrap_or(f64::NAN)
}

/// The faults experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    published: published::TABLES,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Memory, Aspect::Calls])
};

#[cfg(test)]
mod tests;
