//! `numa`: do all cores reach all memory alike? Every reader in the memory of several homes, interleaved.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_analysis::Analysis;
use tenbin_metal::lines::{Field, Track};
use tenbin_metal::pages::{PageKind, Pages};
use tenbin_metal::placement::{Answer, Placement};
use tenbin_metal::vmstat::Vmstat;
use tenbin_metal::{Chase, Clock, Fault, Lap, Pin, Task, Team};
use tenbin_model::machine::{Node, Observed, cpu_ranges};
use tenbin_model::topology::{data_caches, line_or_usual};
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{
    Arrangement, Axis, Bytes, Cpu, Descriptor, Effort, Finding, Parameter, Picoseconds, Published, Refusal,
    Sizes, Source, Variant, VariantIndex, order,
};

use self::analysis::Nearness;
use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use crate::memory::{self, within_allowance};
use crate::walk::comes_back;

mod analysis;
mod published;

const BY_CHASE: &str = "by a chase";
const BY_STORES: &str = "by the published stores";

/// The published buffer, and the smallest.
const SMALLEST: u64 = 16 << 20;

/// Homes at most. A group shows in the memory of any one of its members; of one none of whose memory was
/// tried nothing is known, and the judge says so.
const MOST_HOMES: usize = 8;
const MOST_HOMES_QUICKLY: usize = 4;

/// Variants of what one core repeats: as many as there are cores, as they are what cores are held against.
/// Fewer than two dozen do not say well how they spread, and more than this add little.
const REPEATS: std::ops::RangeInclusive<usize> = 24..=32;

/// Steps of an epoch at least.
const LEAST_STEPS: u64 = 512;

/// The axes of its variants: the CPU that reads, the one whose memory it is, and which repetition it is.
const READER: Axis = Axis::new("reader");
const HOME: Axis = Axis::new("home");
const REPEAT: Axis = Axis::new("repeat");

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let cpus = request.cpus;
    request.two_cpus(
        "two ways to a memory are compared; to tell distance from speed takes 2 on each of 2 nodes",
    )?;
    let homes = homes(request);
    let readers = readers(request, &homes);
    let buffer = buffer(request, homes.len())?;
    let chases: Vec<(Cpu, Cpu)> =
        homes.iter().flat_map(|&home| readers.iter().map(move |&reader| (reader, home))).collect();
    let mut variants: Vec<Variant> = chases.iter().map(|&(reader, home)| by_chase(reader, home)).collect();
    variants.extend(readers.iter().map(|&reader| by_stores(reader, cpus[0])));
    let repeats = readers.len().clamp(*REPEATS.start(), *REPEATS.end());
    variants.extend((1..=repeats as u64).map(|number| again(cpus[0], number)));
    let mut stores: Vec<(Cpu, Cpu)> = readers.iter().map(|&reader| (reader, cpus[0])).collect();
    stores.extend(vec![(cpus[0], cpus[0]); repeats]);
    variants.extend(describe().planted_faults().map(|(_, fault)| fault.clone()));
    let mut parameters = vec![
        ("buffer".into(), buffer.0.to_string()),
        ("homes".into(), homes.iter().map(|home| home.0.to_string()).collect::<Vec<_>>().join(",")),
    ];
    parameters.extend(beyond(request).map(|beyond| ("beyond".into(), beyond.0.to_string())));
    if readers.len() < cpus.len() {
        parameters.push(("unread".into(), (cpus.len() - readers.len()).to_string()));
    }
    let cell = |manner: Manner, first: usize, pairs: Vec<(Cpu, Cpu)>| {
        let arrangement = Arrangement {
            label: manner.label().into(),
            parameters: parameters.clone(),
            cpus: readers.clone(),
            // Readers take turns.
            at_once: Some(1),
            epoch: manner.epoch(),
            least_iterations: LEAST_STEPS,
            variants: VariantIndex::range(first..first + pairs.len()),
            headline: manner == Manner::Chase,
            ..Arrangement::default()
        };
        PlannedCell::new(arrangement, move |arrangement, request| {
            Ok(Box::new(open(arrangement, request, manner, buffer, &pairs)?))
        })
    };
    let first_store = chases.len();
    let mut cells = vec![cell(Manner::Chase, 0, chases)];
    if request.effort != Effort::Quick {
        cells.push(cell(Manner::Stores, first_store, stores));
    }
    Ok(Plan { variants: Some(variants), cells, ..Plan::default() })
}

/// The CPUs that touch a buffer first: one of each of the firmware's nodes, then others evenly spread.
fn homes(request: &Request<'_>) -> Vec<Cpu> {
    let most = if request.effort == Effort::Quick { MOST_HOMES_QUICKLY } else { MOST_HOMES };
    let cpus = request.cpus;
    let by_node = order::grouped(cpus.iter().map(|&cpu| (node_of(request, cpu), cpu)));
    let mut homes: Vec<Cpu> = by_node.iter().map(|(_, cpus)| cpus[0]).take(most).collect();
    // Each node twice where there is room, and where the firmware knows one node its halves and quarters; of
    // each the neighbour as well, because numbers can alternate between the sides of a machine.
    let steps = [2, 4, 8].into_iter().flat_map(|parts| (0..parts).map(move |part| cpus.len() * part / parts));
    let steps = steps.flat_map(|place| [place, (place + 1) % cpus.len()]);
    for place in steps {
        if homes.len() < most && !homes.contains(&cpus[place]) {
            homes.push(cpus[place]);
        }
    }
    homes
}

fn node_of(request: &Request<'_>, cpu: Cpu) -> Option<u32> {
    let place = request.machine.cpus.iter().find(|place| place.cpu == cpu)?;
    place.node.known().copied()
}

/// Pairs of reader and home of which eight whole blocks fit the time: in a block each runs twice, for 200 µs
/// and what it costs to pin a thread there, and before the first block about as often again as in three.
fn most_pairs(effort: Effort) -> usize {
    match effort {
        Effort::Quick => 256,
        Effort::Normal => 768,
        Effort::Thorough => 2_048,
    }
}

/// The CPUs that read, in the order of the request: all of them where so many pairs can be afforded. Else the
/// homes, and of each of the firmware's nodes and each group that shares a last cache one after the other,
/// the same number. That is four of each group and more on machines of up to 16 groups in a hurry, 24
/// otherwise and 64 with --thorough.
fn readers(request: &Request<'_>, homes: &[Cpu]) -> Vec<Cpu> {
    let cpus = request.cpus;
    let most = (most_pairs(request.effort) / homes.len().max(1)).max(homes.len());
    if cpus.len() <= most {
        return cpus.to_vec();
    }
    let place = |cpu: Cpu| {
        let last = data_caches(request.machine, cpu).last().map(|cache| cache.shared_by.clone());
        (node_of(request, cpu), last)
    };
    // Homes first: they are the first of their groups to be taken.
    let homes_first = homes.iter().chain(cpus.iter().filter(|cpu| !homes.contains(cpu)));
    let groups = order::grouped(homes_first.map(|&cpu| (place(cpu), cpu)));
    let mut chosen = homes.to_vec();
    for round in 0..cpus.len() {
        for cpu in groups.iter().filter_map(|(_, group)| group.get(round)) {
            if chosen.len() < most && !chosen.contains(cpu) {
                chosen.push(*cpu);
            }
        }
    }
    cpus.iter().copied().filter(|cpu| chosen.contains(cpu)).collect()
}

/// The size from which on no cache helps. None if the size of the last cache is not known.
fn beyond(request: &Request<'_>) -> Option<Bytes> {
    let sizes = request.sizes;
    let times = |size: tenbin_model::Size| size.bytes.0.saturating_mul(Sizes::BEYOND);
    let largest = sizes.levels.iter().copied().map(times).max();
    if let Some(beyond) = sizes.beyond {
        return Some(Bytes(beyond.0.max(largest.unwrap_or(0))));
    }
    // Where no knee was seen, the firmware's word has to do; and it may name a cache without its size.
    let named = data_caches(request.machine, request.cpus[0]).last().map(|cache| cache.level);
    let known = sizes.last().is_some_and(|last| named.is_none_or(|named| last.level >= named));
    largest.filter(|_| known).map(Bytes)
}

fn buffer(request: &Request<'_>, homes: usize) -> Result<Bytes, Unfit> {
    let wanted = beyond(request).map_or(SMALLEST, |beyond| beyond.0.max(SMALLEST)).div_ceil(1 << 20);
    let expected = "a size from 1 to 65536 (MiB)";
    let mib = request.settings.one("buffer", wanted, expected, |mib| (1..=65_536).contains(mib))?;
    let line = line_or_usual(request.machine, request.cpus[0]).0;
    let total = |mib: u64| {
        let buffer = mib.saturating_mul(1 << 20);
        let all = Pages::most_resident(buffer, PageKind::Huge).saturating_mul(homes as u64);
        all.saturating_add(Chase::scratch(buffer, line))
    };
    let buffer = Bytes(mib.saturating_mul(1 << 20));
    within_allowance(request.machine, Bytes(total(mib)), &format!("{homes} buffers of {buffer}"), |room| {
        Some(format!("buffer={}", memory::largest(1, mib, |mib| total(mib) <= room.0)?))
    })?;
    Ok(buffer)
}

fn by_chase(reader: Cpu, home: Cpu) -> Variant {
    Variant::measured(&format!("{reader} in {home}'s memory"), "dependent loads in random order")
        .at(&[(READER, u64::from(reader.0)), (HOME, u64::from(home.0))])
}

fn by_stores(reader: Cpu, home: Cpu) -> Variant {
    let name = format!("{reader} storing in {home}'s memory");
    Variant::measured(&name, "a byte stored in each line, in order: the published program")
        .at(&[(READER, u64::from(reader.0)), (HOME, u64::from(home.0))])
}

/// What one core repeats: the second published column. Each `number` is measured as often as a core, so that
/// the two can be held against each other.
fn again(cpu: Cpu, number: u64) -> Variant {
    Variant::measured(
        &format!("{cpu} storing again, {number}"),
        "the same core and the same buffer once more: what it repeats",
    )
    .at(&[(READER, u64::from(cpu.0)), (HOME, u64::from(cpu.0)), (REPEAT, number)])
}

/// Sets one cell up, whose variants are these pairs of reader and home, each home with a `buffer` of its own.
fn open(
    arrangement: &Arrangement,
    request: &Request<'_>,
    manner: Manner,
    buffer: Bytes,
    pairs: &[(Cpu, Cpu)],
) -> Result<Matrix, Unfit> {
    let spacing = line_or_usual(request.machine, arrangement.cpus[0]).0 as usize;
    let mut random = Pcg64Mcg::seed_from_u64(request.seed);
    let mut below = move |bound: usize| random.random_range(0..bound);
    let mut memories: Vec<Memory> = Vec::new();
    let mut ways = Vec::new();
    for &(reader, home) in pairs {
        let known = memories.iter().position(|memory| memory.home == home);
        let memory = match known {
            Some(place) => place,
            None => {
                let memory = Memory::touched_by(home, manner, buffer.0 as usize, spacing, &mut below)?;
                if let (Answer::Placed(placed), Observed::Known(nodes)) =
                    (&memory.placed, &request.machine.nodes)
                {
                    at_home(placed, home, nodes)?;
                    memory.hold(nodes)?;
                }
                memories.push(memory);
                memories.len() - 1
            }
        };
        ways.push(Way { reader, memory });
    }
    let broken = Chase::two_cycles(1 << 16, spacing, PageKind::Base, &mut below)?;
    Ok(Matrix {
        clock: request.clock,
        first: arrangement.variants[0].place(),
        ways,
        memories,
        broken,
        due: true,
        counted: Vmstat::read().unwrap_or_default(),
    })
}

/// Whether every page that was looked at lies on the node where the firmware has `home`; true where it has it
/// nowhere.
///
/// # Errors
/// A refusal: memory of another node is not what the answer would be about.
fn at_home(placed: &Placement, home: Cpu, nodes: &[Node]) -> Result<(), Unfit> {
    let Some(node) = nodes.iter().find(|node| node.cpus.contains(&home)) else { return Ok(()) };
    let by_node = placed.by_node();
    let there = by_node.iter().find(|(number, _)| *number == node.node).map_or(0, |(_, pages)| *pages);
    if there == placed.asked() {
        return Ok(());
    }
    let elsewhere = by_node.iter().filter(|(number, _)| *number != node.node);
    let mut elsewhere: Vec<String> =
        elsewhere.map(|(number, pages)| format!("{pages} on node {number}")).collect();
    if placed.absent() > 0 {
        elsewhere.push(format!("{} nowhere", placed.absent()));
    }
    Err(Unfit::Refused(Refusal {
        reached: format!(
            "of {} pages looked at in the memory that {home} touched first, {there} are on node {}, where the firmware \
             has CPUs {}: {}",
            placed.asked(),
            node.node,
            cpu_ranges(&node.cpus),
            comma(&elsewhere)
        ),
        needs: "every page that is looked at on the node of the CPU that touched it first".into(),
        remedy: format!(
            "free memory on node {}, run without a policy that puts memory elsewhere (numactl, cpuset.mems), or name CPUs of \
             nodes that have memory (--cpus)",
            node.node
        ),
    }))
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Manner {
    Chase,
    Stores,
}

impl Manner {
    fn label(self) -> &'static str {
        match self {
            Self::Chase => BY_CHASE,
            Self::Stores => BY_STORES,
        }
    }

    fn epoch(self) -> Picoseconds {
        match self {
            Self::Chase => describe().epoch,
            Self::Stores => Picoseconds::from_millis(1),
        }
    }
}

/// A buffer that one CPU touched first, and where its pages were then.
struct Memory {
    home: Cpu,
    work: Work,
    task: Task,
    placed: Answer,
}

enum Work {
    Chase(Arc<Chase>),
    Stores(Arc<Field>),
}

impl Work {
    fn addresses(&self) -> std::ops::Range<usize> {
        match self {
            Self::Chase(chase) => {
                let start = chase.pages().as_ptr().addr();
                start..start + chase.pages().len()
            }
            Self::Stores(field) => field.addresses(),
        }
    }

    fn placement(&self) -> Result<Answer, Fault> {
        Placement::at(self.addresses())
    }
}

impl Memory {
    /// Holds the pages to the node of their home, where there are several: else balancing would stop the
    /// readers with faults of its own, and move what is to stay.
    fn hold(&self, nodes: &[Node]) -> Result<(), Fault> {
        match nodes.iter().find(|node| node.cpus.contains(&self.home)) {
            Some(node) if nodes.len() > 1 => Placement::hold(self.work.addresses(), node.node),
            _ => Ok(()),
        }
    }

    /// Maps the buffer and touches it from `home`.
    fn touched_by(
        home: Cpu,
        manner: Manner,
        bytes: usize,
        spacing: usize,
        below: &mut impl FnMut(usize) -> usize,
    ) -> Result<Self, Fault> {
        let _pin = Pin::hold(home)?;
        let (work, task): (Work, Task) = if manner == Manner::Chase {
            let chase = Arc::new(Chase::new(bytes, spacing, PageKind::Huge, below)?);
            let walked = Arc::clone(&chase);
            let task = Arc::new(move |_, steps| {
                walked.walk(steps);
                0
            });
            (Work::Chase(chase), task)
        } else {
            let field = Arc::new(Field::map(bytes, PageKind::Huge)?);
            field.fill(0);
            let (stored, track) = (Arc::clone(&field), Track::new(0..bytes, spacing, 0));
            let position = std::sync::atomic::AtomicUsize::new(0);
            let task = Arc::new(move |_, lines| {
                let from = position.load(std::sync::atomic::Ordering::Relaxed);
                let end = stored.write(&track, from, lines, 1);
                position.store(end, std::sync::atomic::Ordering::Relaxed);
                0
            });
            (Work::Stores(field), task)
        };
        let placed = work.placement()?;
        Ok(Self { home, work, task, placed })
    }

    /// Looks whether every page that is asked about is still where it was, as far as the kernel says; and
    /// says so.
    ///
    /// # Errors
    /// [`Fault::PageMoved`] where one is not. That is no fault of the variant: it read what was there.
    fn still(&self) -> Result<String, Fault> {
        let Answer::Placed(before) = &self.placed else {
            return Ok("the kernel does not say where it lies".into());
        };
        let Answer::Placed(now) = self.work.placement()? else {
            let tried = format!("move_pages, to ask where {}'s memory lies now", self.home);
            return Err(Fault::system(
                tried,
                std::io::Error::other("it said where it lay and no longer does"),
            ));
        };
        now.agrees(before).map_err(|moved| Fault::PageMoved { home: self.home, moved })?;
        Ok(format!("what was looked at of {}'s memory is where it was", self.home))
    }
}

struct Way {
    reader: Cpu,
    memory: usize,
}

struct Matrix {
    clock: Clock,
    /// Place of the cell's first variant.
    first: usize,
    ways: Vec<Way>,
    memories: Vec<Memory>,
    broken: Chase,
    /// Whether a block has begun whose placement has not been looked at.
    due: bool,
    /// What the kernel had counted before the first epoch.
    counted: Vmstat,
}

impl Matrix {
    /// How many pages the kernel moved between nodes meanwhile, on the whole machine.
    fn migrated(&self) -> Finding {
        const NAME: &str = "numa_pages_migrated";
        let (sentence, evidence) = match Vmstat::read().unwrap_or_default().grown_since(&self.counted, NAME) {
            Some(0) => {
                ("The kernel moved no page between nodes meanwhile.".into(), format!("{NAME} did not grow"))
            }
            Some(moved) => (
                "The kernel moved pages between nodes meanwhile, of this program or of others.".into(),
                format!("{NAME} grew by {moved}"),
            ),
            None => (
                "Whether the kernel moved pages between nodes meanwhile is not counted here.".into(),
                format!("/proc/vmstat has no {NAME}"),
            ),
        };
        let confidence = "the kernel's count for the whole machine".into();
        Finding { experiment: "numa".into(), sentence, evidence, confidence }
    }

    fn way(&self, variant: VariantIndex) -> Option<&Way> {
        variant.place().checked_sub(self.first).and_then(|place| self.ways.get(place))
    }
}

impl Apparatus for Matrix {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let memory = self.way(variant).map(|way| &self.memories[way.memory]);
        let Some(memory) = memory else { return Ok(comes_back(&self.broken)) };
        let cycle = match &memory.work {
            Work::Chase(chase) => comes_back(chase),
            Work::Stores(field) => Seen::Met(format!("{} are stored to", Bytes(field.len() as u64))),
        };
        let still = memory.still()?;
        Ok(match cycle {
            Seen::Met(cycle) => Seen::Met(format!("{cycle}; {still}")),
            broken => broken,
        })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let place = variant.place() - self.first;
        let Way { reader, memory } = self.ways[place];
        // The reader is the only worker: a team of one is a pin that is read back on both sides.
        let lap = Team::gather(self.clock, &[reader])?.lap(&self.memories[memory].task, iterations)?;
        if std::mem::take(&mut self.due) {
            for memory in &self.memories {
                memory.still()?;
            }
        }
        Ok(lap)
    }

    fn shift(&mut self, _layout: u32) {
        self.due = true;
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        // A last look, behind the last block.
        for memory in &self.memories {
            memory.still()?;
        }
        let unknown = self.memories.iter().find_map(|memory| match memory.placed {
            Answer::Placed(_) => None,
            Answer::NoNodes => Some("this kernel was built without nodes"),
            Answer::Forbidden => Some("this process may not ask"),
        });
        let placed = self.memories.iter().filter_map(|memory| {
            let nodes = memory.placed.clone().placed()?.by_node();
            let nodes = nodes.iter().map(|(node, pages)| format!("{pages} on node {node}"));
            Some(format!("{}'s: {}", memory.home, comma(nodes)))
        });
        let (sentence, evidence) = match unknown {
            Some(why) => ("Whether pages stayed where they were is not known.".into(), why.into()),
            None => (
                "No page that was looked at moved while it was measured, by the kernel's own word.".into(),
                format!("pages looked at in each buffer: {}", semicolon(placed)),
            ),
        };
        let placed = Finding {
            experiment: "numa".into(),
            sentence,
            evidence,
            confidence: "move_pages(2), asked again in every block".into(),
        };
        Ok(vec![placed, self.migrated()])
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "numa".into(),
        question: "Do all cores reach all memory alike?".into(),
        requirement: "firmware that names no node does not prove that there is one distance; measure it, \
                      and tell far memory from a slow core"
            .into(),
        specification: "a walk comes back after every line and not before, and no page that is looked at moves".into(),
        subject: "Reading memory".into(),
        analysis: Nearness.name().into(),
        builds_on: vec!["caches".into()],
        variants: vec![
            Variant::measured("a chase", "each core reads buffers that several cores touched first, in random order"),
            Variant::measured("the published stores", "each core stores a byte per line in the first core's buffer, in order"),
            Variant::sabotage("two cycles", "a walk that comes back too early and leaves lines out"),
        ],
        parameters: vec![Parameter::new(
            "buffer",
            "4 times the last cache's knee, at least 16",
            "the size of each home's buffer in MiB, 1 to 65536",
        )],
        margin: 0.05,
        epoch: Picoseconds::from_micros(200),
        sources: vec![
            Source::new("S. Takeuchi, \"Socionext SC0FQAA-B: NUMA or not\", undated (in Japanese)", "the question, the program, both published columns"),
            Source::new("S. Sattolo, \"An algorithm to generate a random cyclic permutation\", 1986", "the single cycle"),
            Source::new("J. Tukey, Exploratory Data Analysis, 1977", "median polish: core, buffer and what is left"),
        ],
        published: vec![Published {
            machine: "Socionext SC2A11, 24 cores".into(),
            date: "undated".into(),
            what: "24 cores took 36.8 to 37.5 ns an access in one buffer, and one core repeated with 37.0 to 37.8; \
                   `--from published` judges them"
                .into(),
            measure: "elapsed time".into(),
            cell: BY_STORES.into(),
            left: "the published stores".into(),
            right: "the published stores".into(),
            ratio: None,
        }],
        ..Descriptor::default()
    }
}

/// The experiment on memory distances.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    analysis: &Nearness,
    published: published::TABLES,
    formats: published::FORMATS,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Memory])
};

#[cfg(test)]
mod tests;
