//! `numa`: do all cores reach all memory alike? Every reader in the memory of several homes, interleaved.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::lines::{Field, Track};
use tenbin_metal::pages::{PageKind, Pages};
use tenbin_metal::placement::{Answer, Placement};
use tenbin_metal::vmstat::Vmstat;
use tenbin_metal::{Chase, Clock, Fault, Lap, Pin, Task, Team};
use tenbin_model::topology::line;
use tenbin_model::{
    Arrangement, Bytes, Cpu, Descriptor, Effort, Finding, Judge, Parameter, Picoseconds, Published, Quantity, Refusal,
    Source, Variant,
};

use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};
use crate::memory::{allowance, within_allowance};

mod published;

const BY_CHASE: &str = "by a chase";
const BY_STORES: &str = "by the seed's stores";

/// The buffer is so many times as large as the last cache: what is read comes from memory.
const TIMES_THE_LAST_CACHE: u64 = 4;

/// The seed's buffer, and the smallest.
const SMALLEST: u64 = 16 << 20;

/// More homes than these tell no more: groups show in any one of their members' memory.
const MOST_HOMES: usize = 8;
const MOST_HOMES_QUICKLY: usize = 4;

/// The bytes of a line where the machine does not say.
const USUAL_LINE: u64 = 64;

/// Steps of an epoch at least.
const LEAST_STEPS: u64 = 512;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let cpus = request.cpus;
    if cpus.len() < 2 {
        return Err(Unfit::Refused(Refusal {
            reached: "there is 1 CPU to use, and so nothing to be near or far from".into(),
            needs: "2 CPUs to compare two ways to a memory, 2 on each of 2 nodes to tell distance from speed".into(),
            remedy: "run where the process may use more CPUs".into(),
        }));
    }
    let homes = homes(request);
    let buffer = buffer(request, homes.len())?;
    let mut variants = Vec::new();
    for &home in &homes {
        variants.extend(cpus.iter().map(|&reader| by_chase(reader, home)));
    }
    let chases = variants.len() as u32;
    variants.extend(cpus.iter().map(|&reader| by_stores(reader, cpus[0])));
    variants.push(again(cpus[0]));
    let all = variants.len() as u32;
    variants.extend(describe().variants.into_iter().filter(|variant| variant.role == tenbin_model::Role::Sabotage));
    let cell = |label: &str, epoch: Picoseconds, variants: Vec<u32>, headline: bool| Arrangement {
        label: label.into(),
        parameters: vec![
            ("buffer".into(), buffer.0.to_string()),
            ("homes".into(), homes.iter().map(|home| home.0.to_string()).collect::<Vec<_>>().join(",")),
        ],
        cpus: cpus.to_vec(),
        epoch,
        least_iterations: LEAST_STEPS,
        variants,
        headline,
        ..Arrangement::default()
    };
    let mut cells = vec![cell(BY_CHASE, describe().epoch, (0..chases).collect(), true)];
    if request.effort != Effort::Quick {
        cells.push(cell(BY_STORES, Picoseconds::from_millis(1), (chases..all).collect(), false));
    }
    Ok(Plan { variants: Some(variants), cells })
}

/// The CPUs that touch a buffer first: one of each of the firmware's nodes, then others evenly spread.
fn homes(request: &Request<'_>) -> Vec<Cpu> {
    let most = if request.effort == Effort::Quick { MOST_HOMES_QUICKLY } else { MOST_HOMES };
    let cpus = request.cpus;
    let node = |cpu: Cpu| {
        let place = request.machine.cpus.iter().find(|place| place.cpu == cpu)?;
        place.node.known().copied()
    };
    let mut homes: Vec<Cpu> = Vec::new();
    for &cpu in cpus {
        if !homes.iter().any(|&home| node(home) == node(cpu)) {
            homes.push(cpu);
        }
    }
    homes.truncate(most);
    // Each node twice where there is room, and where the firmware knows one node its halves and quarters.
    let steps = [2, 4, 8].into_iter().flat_map(|parts| (0..parts).map(move |part| cpus.len() * part / parts));
    for place in steps {
        if homes.len() < most && !homes.contains(&cpus[place]) {
            homes.push(cpus[place]);
        }
    }
    homes
}

/// The size of each home's buffer.
fn buffer(request: &Request<'_>, homes: usize) -> Result<Bytes, Unfit> {
    // Where no knee was seen, the firmware's word has to do.
    let stated = request.sizes.last().map(|size| size.bytes.0.saturating_mul(TIMES_THE_LAST_CACHE));
    let beyond = request.sizes.beyond.map(|size| size.0).or(stated).map_or(SMALLEST, |size| size.max(SMALLEST));
    let asked = request.settings.list("buffer", &[beyond >> 20], "a size from 1 to 65536 (MiB)", |mib| {
        (1..=65_536).contains(mib)
    })?;
    let [mib] = asked[..] else {
        return Err(Unfit::Usage(format!("--set buffer: one size, not {}", asked.len())));
    };
    let buffer = Bytes(mib << 20);
    let scratch = Chase::scratch(buffer.0, line(request.machine, request.cpus[0]).map_or(USUAL_LINE, |line| line.0));
    let total = Bytes(Pages::most_resident(buffer.0, PageKind::Huge).saturating_mul(homes as u64).saturating_add(scratch));
    within_allowance(request.machine, total, &format!("{homes} buffers of {buffer}"))?;
    if request.settings.given("buffer").is_none() && buffer.0 < beyond {
        let allowance = allowance(request.machine);
        return Err(Unfit::Refused(Refusal {
            reached: format!("{allowance} may be taken for {homes} buffers"),
            needs: format!("{} each, {TIMES_THE_LAST_CACHE} times the last cache", Bytes(beyond)),
            remedy: "free memory, or name fewer CPUs with --cpus".into(),
        }));
    }
    Ok(buffer)
}

fn by_chase(reader: Cpu, home: Cpu) -> Variant {
    Variant::measured(&format!("{reader} in {home}'s memory"), "dependent loads in random order")
        .at(&[("reader", u64::from(reader.0)), ("home", u64::from(home.0))])
}

fn by_stores(reader: Cpu, home: Cpu) -> Variant {
    let name = format!("{reader} storing in {home}'s memory");
    Variant::measured(&name, "a byte stored in each line, in order: the seed's program")
        .at(&[("reader", u64::from(reader.0)), ("home", u64::from(home.0))])
}

/// What one core repeats: the seed's second column.
fn again(cpu: Cpu) -> Variant {
    Variant::measured(&format!("{cpu} storing again"), "the same core and the same buffer once more: what it repeats")
        .at(&[("reader", u64::from(cpu.0)), ("home", u64::from(cpu.0)), ("repeat", 1)])
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let variants = plan(request)?.variants.unwrap_or_default();
    let buffer = arrangement.parameter("buffer").and_then(|text| text.parse::<usize>().ok()).unwrap_or(SMALLEST as usize);
    let spacing = line(request.machine, arrangement.cpus[0]).map_or(USUAL_LINE, |line| line.0) as usize;
    let mut random = Pcg64Mcg::seed_from_u64(request.seed);
    let mut below = move |bound: usize| random.random_range(0..bound);
    let mut memories: Vec<Memory> = Vec::new();
    let mut ways = Vec::new();
    for &index in &arrangement.variants {
        let at = |name: &str| variants[index as usize].coordinate(name).map(|number| Cpu(number as u32));
        let (Some(reader), Some(home)) = (at("reader"), at("home")) else {
            return Err(Unfit::Usage("a variant of numa names its reader and its home".into()));
        };
        let known = memories.iter().position(|memory| memory.home == home);
        let memory = match known {
            Some(place) => place,
            None => {
                memories.push(Memory::touched_by(home, &arrangement.label, buffer, spacing, &mut below)?);
                memories.len() - 1
            }
        };
        ways.push(Way { reader, memory });
    }
    let broken = Chase::two_cycles(1 << 16, spacing, PageKind::Base, &mut below)?;
    Ok(Box::new(Matrix { clock: request.clock, first: arrangement.variants[0], ways, memories, broken, due: true, counted: Vmstat::read().unwrap_or_default() }))
}

/// A buffer that one CPU touched first, and where its pages were then.
struct Memory {
    home: Cpu,
    work: Work,
    task: Task,
    placed: Answer,
}

/// How a buffer is gone over.
enum Work {
    Chase(Arc<Chase>),
    Stores(Arc<Field>),
}

impl Work {
    fn placement(&self) -> Result<Answer, Fault> {
        match self {
            Self::Chase(chase) => Placement::of(chase.pages()),
            Self::Stores(field) => Placement::at(field.addresses()),
        }
    }
}

impl Memory {
    /// Maps the buffer and touches it from `home`.
    fn touched_by(
        home: Cpu,
        label: &str,
        bytes: usize,
        spacing: usize,
        below: &mut impl FnMut(usize) -> usize,
    ) -> Result<Self, Fault> {
        let _pin = Pin::hold(home)?;
        let (work, task): (Work, Task) = if label == BY_CHASE {
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

    /// Looks whether every page is still where it was, as far as the kernel says; and says so.
    ///
    /// # Errors
    /// [`Fault::PageMoved`] where one is not. That is no fault of the variant: it read what was there.
    fn still(&self) -> Result<String, Fault> {
        let Answer::Placed(before) = &self.placed else {
            return Ok("the kernel does not say where it lies".into());
        };
        let Answer::Placed(now) = self.work.placement()? else {
            let tried = format!("move_pages, to ask where {}'s memory lies now", self.home);
            return Err(Fault::system(tried, std::io::Error::other("it said where it lay and does not any more")));
        };
        now.agrees(before).map_err(|moved| Fault::PageMoved { home: self.home, moved })?;
        Ok(format!("{}'s memory is where it was", self.home))
    }
}

/// Who reads which memory.
struct Way {
    reader: Cpu,
    memory: usize,
}

struct Matrix {
    clock: Clock,
    /// Index of the cell's first variant.
    first: u32,
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
            Some(0) => ("The kernel moved no page between nodes meanwhile.".into(), format!("{NAME} did not grow")),
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

    fn way(&self, variant: u32) -> Option<&Way> {
        variant.checked_sub(self.first).and_then(|place| self.ways.get(place as usize))
    }
}

impl Apparatus for Matrix {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        let memory = self.way(variant).map(|way| &self.memories[way.memory]);
        let whole = |chase: &Chase| {
            let (length, lines) = (chase.cycle_length(), chase.lines());
            let seen = format!("the walk returns after {length} of {lines} lines");
            if length == lines { Seen::Met(seen) } else { Seen::Broken(seen) }
        };
        let Some(memory) = memory else { return Ok(whole(&self.broken)) };
        let cycle = match &memory.work {
            Work::Chase(chase) => whole(chase),
            Work::Stores(field) => Seen::Met(format!("{} are stored to", Bytes(field.len() as u64))),
        };
        let still = memory.still()?;
        Ok(match cycle {
            Seen::Met(cycle) => Seen::Met(format!("{cycle}; {still}")),
            broken => broken,
        })
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
        let place = (variant - self.first) as usize;
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
            let nodes: Vec<String> = nodes.iter().map(|(node, pages)| format!("{pages} on node {node}")).collect();
            Some(format!("{}'s: {}", memory.home, nodes.join(", ")))
        });
        let (sentence, evidence) = match unknown {
            Some(why) => ("Whether pages stayed where they were is not known.".into(), why.into()),
            None => (
                "No page moved while it was measured, by the kernel's own word.".into(),
                format!("pages looked at in each buffer: {}", placed.collect::<Vec<_>>().join("; ")),
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
        requirement: "seed 002: firmware that names no node does not prove that there is one distance; measure it, \
                      and tell far memory from a slow core"
            .into(),
        specification: "a walk comes back after every line and not before, and no page moves".into(),
        subject: "Reading memory".into(),
        quantity: Quantity::NanosecondsPerOperation,
        judge: Judge::Distances,
        builds_on: vec!["caches".into()],
        variants: vec![
            Variant::measured("a chase", "each core reads buffers that several cores touched first, in random order"),
            Variant::measured("the seed's stores", "each core stores a byte a line in the first core's buffer, in order"),
            Variant::sabotage("two cycles", "a walk that comes back too early and leaves lines out"),
        ],
        parameters: vec![Parameter::new(
            "buffer",
            "4 times the last cache's knee, at least 16",
            "the size of each home's buffer in MiB, 1 to 65536",
        )],
        margin: 0.05,
        epoch: Picoseconds::from_micros(200),
        privileges: "none".into(),
        touches: "none".into(),
        sources: vec![
            Source::new("seed 002, 2018", "the question, the program, both published columns"),
            Source::new("S. Sattolo, \"An algorithm to generate a random cyclic permutation\", 1986", "the single cycle"),
            Source::new("J. Tukey, Exploratory Data Analysis, 1977", "median polish: core, buffer and what is left"),
        ],
        published: vec![Published {
            machine: "Socionext SC2A11, 24 cores".into(),
            date: "2018".into(),
            what: "24 cores took 36.8 to 37.5 ns an access in one buffer, and one core repeated with 37.0 to 37.8; \
                   `--from published` judges them"
                .into(),
            measure: "elapsed time".into(),
            cell: BY_STORES.into(),
            left: "the seed's stores".into(),
            right: "the seed's stores".into(),
            ratio: None,
        }],
    }
}

/// The experiment on memory distances.
pub const EXPERIMENT: Experiment =
    Experiment { describe, plan, open, published: Some(published::run) };

#[cfg(test)]
mod tests;
