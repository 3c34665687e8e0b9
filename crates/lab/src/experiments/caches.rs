//! `caches`: how large are the caches really? A chase over sizes, in base pages and in huge ones.

mod analysis;
mod tables;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use std::sync::Arc;
use tenbin_analysis::Analysis;
use tenbin_metal::pages::{PageKind, Pages, modest_huge_page};
use tenbin_metal::touch::{self, huge_pages_are_granted};
use tenbin_metal::{Chase, Fault, Lap, Task, Team};
use tenbin_model::machine::CoreKind;
use tenbin_model::topology::{data_caches, line_or_usual};
use tenbin_model::{
    Arrangement, Axis, Bytes, Cpu, Descriptor, Effort, Machine, Parameter, Refusal, Source, Variant,
    VariantIndex, order,
};

use self::analysis::Knees;
pub use self::analysis::known_sizes;
use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use crate::memory::{self, allowance, within_allowance};
use crate::walk::comes_back;

/// The smallest size: a quarter of the smallest first cache that is built today.
const SMALLEST: u64 = 4 << 10;

/// Up to here sizes are half an octave apart, beyond it an octave.
const FINE: u64 = 64 << 20;

/// Where nothing is known of the last cache, sizes end here.
const USUAL_LARGEST: u64 = 128 << 20;

/// Sizes go this many times beyond what the firmware calls the last cache, so that memory is seen behind it.
const BEYOND: u64 = 4;

/// The largest size of all, by how much time there is.
fn largest(effort: Effort) -> u64 {
    match effort {
        Effort::Quick => 256 << 20,
        Effort::Normal => 512 << 20,
        Effort::Thorough => 1 << 30,
    }
}

/// Steps of an epoch at least: a step is a read, and one read alone is no rate.
const LEAST_STEPS: u64 = 512;

/// The axes of its variants: what a walk goes through, 1 for huge pages, and where it runs.
pub(super) const BYTES: Axis = Axis::new("bytes");
const HUGE: Axis = Axis::new("huge");
const CPU: Axis = Axis::new("cpu");

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    // Huge pages show caches and not translation. Where they cannot be had, base pages have to do.
    let usual = match (huge_pages_are_granted()?, request.effort) {
        (false, _) => vec!["base".to_owned()],
        (true, Effort::Quick) => vec!["huge".to_owned()],
        (true, _) => ["huge", "base"].map(String::from).into(),
    };
    let pages = request
        .settings
        .list("pages", &usual, "huge or base", |kind| ["huge", "base"].contains(&kind.as_str()))?;
    let cpus = walkers(request);
    let wanted = request
        .settings
        .one("largest", 0_u64, "a size from 1 to 65536 (MiB)", |mib| (1..=65_536).contains(mib))?;
    let allowance = allowance(request.machine);
    let mut variants = Vec::new();
    let mut cells = Vec::new();
    for &cpu in &cpus {
        for pages in &pages {
            let sizes = if wanted == 0 {
                sizes(request, cpu, kind(pages), allowance)?
            } else {
                asked_for(Bytes(wanted << 20), cpu, kind(pages), request)?
            };
            let first = variants.len();
            variants.extend(sizes.iter().map(|&bytes| variant(pages, cpu, bytes)));
            let arrangement = Arrangement {
                label: format!("in {pages} pages on {cpu}"),
                parameters: vec![
                    ("pages".into(), pages.clone()),
                    ("page".into(), page(pages).to_string()),
                    ("sizes".into(), sizes.iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
                ],
                cpus: vec![cpu],
                epoch: describe().epoch,
                least_iterations: LEAST_STEPS,
                variants: VariantIndex::range(first..variants.len()),
                headline: cells.is_empty(),
                ..Arrangement::default()
            };
            let kind = kind(pages);
            cells.push(PlannedCell::new(arrangement, move |arrangement, request| {
                Ok(Box::new(open(arrangement, request, kind, &sizes)?))
            }));
        }
    }
    variants.extend(describe().planted_faults().map(|(_, fault)| fault.clone()));
    Ok(Plan { variants: Some(variants), cells, ..Plan::default() })
}

/// One CPU of each kind of core and each set of caches; the first alone where time is short.
fn walkers(request: &Request<'_>) -> Vec<Cpu> {
    let place = |cpu: Cpu| request.machine.cpus.iter().find(|place| place.cpu == cpu);
    let shape = |cpu: Cpu| {
        let kind = place(cpu).and_then(|place| place.kind.known().copied()).unwrap_or(CoreKind::Uniform);
        (kind, stated(request, cpu))
    };
    let most = if request.effort == Effort::Quick { 1 } else { usize::MAX };
    let by_shape = order::grouped(request.cpus.iter().map(|&cpu| (shape(cpu), cpu)));
    by_shape.iter().map(|(_, cpus)| cpus[0]).take(most).collect()
}

/// The levels of the caches of a CPU with the sizes that the firmware states.
pub(super) fn stated(request: &Request<'_>, cpu: Cpu) -> Vec<(u8, Option<Bytes>)> {
    let caches = data_caches(request.machine, cpu);
    caches.iter().map(|cache| (cache.level, cache.size.known().copied())).collect()
}

fn page(pages: &str) -> usize {
    let huge = modest_huge_page().filter(|_| pages == "huge");
    huge.unwrap_or_else(touch::page)
}

fn kind(pages: &str) -> PageKind {
    if pages == "huge" { PageKind::Huge } else { PageKind::Base }
}

/// The sizes to walk through, ascending, so that all of them together stay within `allowance`.
fn sizes(request: &Request<'_>, cpu: Cpu, kind: PageKind, allowance: Bytes) -> Result<Vec<u64>, Unfit> {
    let largest_stated = stated(request, cpu).into_iter().filter_map(|(_, size)| size).max();
    let end = largest_stated
        .map_or(USUAL_LARGEST, |size| size.0.saturating_mul(BEYOND).max(FINE))
        .min(largest(request.effort));
    let spacing = spacing(request, cpu);
    let least = Bytes(together(&[SMALLEST], spacing, kind));
    within_allowance(request.machine, least, &format!("a walk through {}", Bytes(SMALLEST)), |_| None)?;
    Ok(within(up_to(end), spacing, kind, allowance))
}

fn spacing(request: &Request<'_>, cpu: Cpu) -> u64 {
    line_or_usual(request.machine, cpu).0
}

/// Half octaves to [`FINE`], octaves beyond.
fn up_to(end: u64) -> Vec<u64> {
    let octaves =
        std::iter::successors(Some(SMALLEST), |size| size.checked_mul(2)).take_while(|&size| size <= end);
    let with_halves = octaves.flat_map(|size| [Some(size), (size < FINE).then_some(size / 2 * 3)]);
    with_halves.flatten().filter(|&size| size <= end).collect()
}

/// Bytes that walks through all of these `sizes` take, what it takes to make the last included.
fn together(sizes: &[u64], spacing: u64, kind: PageKind) -> u64 {
    let walks: u64 = sizes.iter().map(|&size| Pages::most_resident(size, kind)).sum();
    walks + sizes.last().map_or(0, |&size| Chase::scratch(size, spacing))
}

/// The sizes that together, from the smallest on, stay within `allowance`.
fn within(mut sizes: Vec<u64>, spacing: u64, kind: PageKind, allowance: Bytes) -> Vec<u64> {
    while !sizes.is_empty() && together(&sizes, spacing, kind) > allowance.0 {
        sizes.pop();
    }
    sizes
}

fn asked_for(end: Bytes, cpu: Cpu, kind: PageKind, request: &Request<'_>) -> Result<Vec<u64>, Unfit> {
    let sizes = up_to(end.0);
    let spacing = spacing(request, cpu);
    let total = Bytes(together(&sizes, spacing, kind));
    within_allowance(request.machine, total, &format!("all sizes up to {end}"), |room| {
        // In whichever kind of pages takes more: the advice is for all cells.
        let fits = |mib: u64| {
            let most = |kind| together(&up_to(mib << 20), spacing, kind);
            most(PageKind::Base).max(most(PageKind::Huge)) <= room.0
        };
        Some(format!("largest={}", memory::largest(1, end.0 >> 20, fits)?))
    })?;
    Ok(sizes)
}

fn variant(pages: &str, cpu: Cpu, bytes: u64) -> Variant {
    let huge = u64::from(pages == "huge");
    let size = Bytes(bytes);
    Variant::measured(
        &format!("{size} in {pages} pages on {cpu}"),
        "one cycle through every line, in random order",
    )
    .at(&[(BYTES, bytes), (HUGE, huge), (CPU, u64::from(cpu.0))])
}

/// Sets up walks through `sizes`, in pages of this kind.
fn open(
    arrangement: &Arrangement,
    request: &Request<'_>,
    kind: PageKind,
    sizes: &[u64],
) -> Result<Walks, Unfit> {
    let cpu = arrangement.cpus[0];
    let spacing = spacing(request, cpu) as usize;
    let mut random = Pcg64Mcg::seed_from_u64(request.seed);
    let mut below = move |bound: usize| random.random_range(0..bound);
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    let mut chases = Vec::new();
    for &bytes in sizes {
        chases.push(Arc::new(Chase::new(bytes as usize, spacing, kind, &mut below)?));
    }
    if let Some(largest) = chases.last().filter(|_| kind == PageKind::Huge) {
        granted(request.machine, largest)?;
    }
    let broken = Chase::two_cycles(SMALLEST as usize, spacing, PageKind::Base, &mut below)?;
    let tasks = chases.iter().map(|chase| walk(Arc::clone(chase))).collect();
    Ok(Walks { team, first: arrangement.variants[0].place(), chases, tasks, broken })
}

/// Huge pages are advice; whether it was taken is asked of the largest chase.
fn granted(machine: &Machine, largest: &Chase) -> Result<(), Unfit> {
    let granted = largest.pages().huge_bytes().unwrap_or(0);
    let asked = largest.pages().len() as u64;
    if granted * 10 >= asked * 9 {
        return Ok(());
    }
    Err(Unfit::Refused(Refusal {
        reached: format!(
            "of {} requested in huge pages, the kernel gave {} (transparent huge pages: {})",
            Bytes(asked),
            Bytes(granted),
            machine.transparent_huge_pages
        ),
        needs: "nine tenths in huge pages, or translation would be measured and not caches".into(),
        remedy: "allow them: madvise or always in /sys/kernel/mm/transparent_hugepage/enabled".into(),
    }))
}

fn walk(chase: Arc<Chase>) -> Task {
    Arc::new(move |_, steps| {
        chase.walk(steps);
        0
    })
}

struct Walks {
    team: Team,
    /// Place of the cell's first variant.
    first: usize,
    chases: Vec<Arc<Chase>>,
    tasks: Vec<Task>,
    broken: Chase,
}

impl Apparatus for Walks {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let own = variant.place().checked_sub(self.first).and_then(|place| self.chases.get(place));
        Ok(comes_back(own.map_or(&self.broken, Arc::as_ref)))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let place = variant.place() - self.first;
        // The walks through other sizes have been here.
        let chase = &self.chases[place];
        chase.warm(chase.lines());
        Ok(self.team.lap(&self.tasks[place], iterations)?)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "caches".into(),
        question: "How large are the caches, and does the firmware tell the truth?".into(),
        requirement:
            "buffers are sized as parts and multiples of caches; a virtual machine claimed 480 MiB where \
                      loads stopped getting slower at 16 MiB"
                .into(),
        specification: "a walk comes back to its first line after every line and not before".into(),
        subject: "A walk through memory".into(),
        analysis: Knees.name().into(),
        variants: Variant::list(
            &[
                ("a chase in huge pages", "one cycle through every line of each size, in random order"),
                ("a chase in base pages", "the same; translation adds its own steps"),
            ],
            &[("two cycles", "a walk that comes back too early and leaves lines out")],
        ),
        parameters: vec![
            Parameter::new(
                "pages",
                "huge,base (huge with --quick; base where there are no huge ones)",
                "kinds of pages to walk through",
            ),
            Parameter::new(
                "largest",
                "4 times the last cache, at most 512 (256 with --quick, 1024 with --thorough)",
                "the largest size in MiB, 1 to 65536",
            ),
        ],
        margin: 0.05,
        sources: vec![
            Source::new(
                "S. Sattolo, \"An algorithm to generate a random cyclic permutation\", 1986",
                "the single cycle",
            ),
            Source::new(
                "McVoy and Staelin, \"lmbench: Portable tools for performance analysis\", 1996",
                "latency over sizes shows the caches",
            ),
            Source::new(
                "Saavedra and Smith, \"Measuring Cache and TLB Performance\", 1995",
                "translation has knees of its own",
            ),
        ],
        ..Descriptor::default()
    }
}

/// The experiment on cache sizes.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    analysis: &Knees,
    formats: tables::FORMATS,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Memory])
};

#[cfg(test)]
mod tests;
