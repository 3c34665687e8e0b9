//! `thrash`: a shared buffer or one each? By size and distance; capacity apart from coherence, false sharing from true.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use tenbin_metal::lines::{Field, Track};
use tenbin_metal::pages::{PageKind, Pages};
use tenbin_metal::{Clock, Fault, Lap, Task, Team};
use tenbin_model::topology::{Shared, line, shared};
use tenbin_model::{
    Arrangement, Bytes, Comparison, Cpu, Descriptor, Effort, Judge, Parameter, Picoseconds, Quantity, Refusal,
    Source, Variant,
};

use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};
use crate::memory::within_allowance;

mod published;

const PRIVATE: u32 = 0;
const SHARED: u32 = 1;
const OTHER_BYTES: u32 = 2;
const READ_ONLY: u32 = 3;
const ALONE: u32 = 4;
const ALONE_ON_TWICE: u32 = 5;
const LEFT_OUT: u32 = 6;

/// Bytes from one line to the next where the machine does not say how long a line is.
const USUAL_LINE: usize = 64;

/// Distances between the lines written that are tried beside the machine's own line.
const SPACINGS: [usize; 3] = [64, 128, 256];

/// The seed's cases: what the buffer fits into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Case {
    A,
    B,
    C,
    D,
}

impl Case {
    const ALL: [Self; 4] = [Self::A, Self::B, Self::C, Self::D];

    fn name(self) -> &'static str {
        match self {
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
        }
    }

    fn of(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|case| case.name() == name)
    }

    /// What the buffer fits into, as a clause.
    fn fits(self) -> &'static str {
        match self {
            Self::A => "fits into L1",
            Self::B => "fits into L2",
            Self::C => "fits into L3",
            Self::D => "fits into no cache",
        }
    }

    /// The size of the buffer: a part of the cache that it fits into, or twice the last one. None where the
    /// machine has no such cache, or its size is not known, or there is no room beyond the cache inside it.
    ///
    /// The part is the seed's quarter. Where that fits into the next cache as well, it is the middle between that
    /// cache and half of this one, for two buffers must fit into it.
    fn bytes(self, request: &Request<'_>) -> Option<Bytes> {
        let quarter = |level| {
            let size = request.sizes.level(level)?.bytes.0;
            let inner = request.sizes.level(level - 1).map_or(0, |inner| inner.bytes.0);
            let middle = ((inner as f64) * (size as f64 / 2.0)).sqrt() as u64;
            let bytes = if size / 4 > inner { size / 4 } else { middle };
            (bytes > inner).then_some(Bytes(bytes))
        };
        match self {
            Self::A => quarter(1),
            Self::B => quarter(2),
            Self::C => quarter(3),
            Self::D => Some(Bytes(request.sizes.last()?.bytes.0 * 2)),
        }
    }
}

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    if request.cpus.len() < 2 {
        return Err(Unfit::Refused(Refusal {
            reached: "there is 1 CPU to use".into(),
            needs: "2 CPUs: two threads must write at once".into(),
            remedy: "run where the process may use more CPUs".into(),
        }));
    }
    let quick = request.effort == Effort::Quick;
    let usual = if quick { "A,C" } else { "A,B,C,D" };
    let usual: Vec<String> = usual.split(',').map(String::from).collect();
    let cases = request.settings.list("case", &usual, "one of A, B, C, D", |name| Case::of(name).is_some())?;
    let cases: Vec<Case> = cases.iter().filter_map(|name| Case::of(name)).collect();
    let own = line(request.machine, request.cpus[0]).map_or(USUAL_LINE, |line| line.0 as usize);
    let spacings = request.settings.list("spacing", &[own], "a power of two from 16 to 4096 (bytes)", |spacing| {
        (16..=4096).contains(spacing) && spacing.is_power_of_two()
    })?;
    if request.sizes.last().is_none() {
        return Err(Unfit::Refused(Refusal {
            reached: "the size of no cache is known here, by the firmware or by a knee".into(),
            needs: "the size of a cache: buffers are parts of it".into(),
            remedy: "run `tenbin run caches`, which says why no knee was seen".into(),
        }));
    }
    let pairs = representatives(request, if quick { 2 } else { usize::MAX });
    let mut cells: Vec<Arrangement> = Vec::new();
    for &case in &cases {
        let Some(bytes) = case.bytes(request) else { continue };
        for (place, &pair) in pairs.iter().enumerate() {
            // How far apart the lines lie matters most where all else is cheap.
            let swept = case == Case::A && place == 0 && !quick && request.settings.given("spacing").is_none();
            let mut here = spacings.clone();
            here.extend(SPACINGS.iter().filter(|&&spacing| swept && !spacings.contains(&spacing)));
            for &spacing in &here {
                let headline = cells.is_empty();
                cells.push(cell(request, case, bytes, pair, spacing, spacing != own || spacings.len() > 1, headline));
            }
        }
    }
    if cells.is_empty() {
        let levels: Vec<String> = request.sizes.levels.iter().map(|size| format!("L{}", size.level)).collect();
        return Err(Unfit::Refused(Refusal {
            reached: format!("this machine's caches are {}", levels.join(", ")),
            needs: "the cache that the case is named for".into(),
            remedy: "ask for another case with --set case=…".into(),
        }));
    }
    Ok(cells.into())
}

/// One pair of CPUs for each thing that two of them can have in common, nearest first, at most `most`: the first
/// that is not one core alone if there is such a pair.
fn representatives(request: &Request<'_>, most: usize) -> Vec<(Cpu, Cpu)> {
    let mut classes: Vec<(Shared, (Cpu, Cpu))> = Vec::new();
    for (place, &one) in request.cpus.iter().enumerate() {
        for &other in &request.cpus[place + 1..] {
            let class = shared(request.machine, one, other);
            if !classes.iter().any(|(known, _)| *known == class) {
                classes.push((class, (one, other)));
            }
        }
    }
    // Threads of one core share every cache: nothing moves between them. They come last.
    classes.sort_by_key(|&(class, _)| (class == Shared::Core, class));
    classes.into_iter().map(|(_, pair)| pair).take(most).collect()
}

fn cell(
    request: &Request<'_>,
    case: Case,
    bytes: Bytes,
    (one, other): (Cpu, Cpu),
    spacing: usize,
    say_spacing: bool,
    headline: bool,
) -> Arrangement {
    let whole = (spacing * 2) as u64;
    let bytes = Bytes((bytes.0 / whole).max(1) * whole);
    let stride = if say_spacing { format!(", a byte every {spacing}") } else { String::new() };
    let common = shared(request.machine, one, other);
    let label = format!(
        "in case {} ({bytes}, which {}{stride}) on {one} and {other}, which share {common}",
        case.name(),
        case.fits()
    );
    Arrangement {
        label,
        parameters: vec![
            ("case".into(), case.name().into()),
            ("bytes".into(), bytes.0.to_string()),
            ("spacing".into(), spacing.to_string()),
        ],
        cpus: vec![one, other],
        epoch: describe().epoch,
        variants: (PRIVATE..LEFT_OUT).collect(),
        comparisons: [
            (PRIVATE, SHARED),
            (PRIVATE, OTHER_BYTES),
            (OTHER_BYTES, SHARED),
            (PRIVATE, READ_ONLY),
            (ALONE, PRIVATE),
            (ALONE_ON_TWICE, PRIVATE),
        ]
        .map(|(left, right)| Comparison { left, right })
        .into(),
        headline,
        ..Arrangement::default()
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let bytes = arrangement.parameter("bytes").and_then(|text| text.parse().ok()).unwrap_or(0);
    let both = Bytes(Pages::most_resident(2 * bytes, PageKind::Huge));
    within_allowance(request.machine, both, "a buffer for each of two threads")?;
    let last = request.sizes.last().map_or(0, |size| size.bytes.0 as usize);
    Ok(Box::new(set_up(arrangement, request.clock, last)?))
}

/// Both buffers and their threads, where the last cache has so many bytes.
fn set_up(arrangement: &Arrangement, clock: Clock, last: usize) -> Result<Buffers, Unfit> {
    let number = |name: &str| arrangement.parameter(name).and_then(|text| text.parse::<usize>().ok());
    let (Some(bytes), Some(spacing)) = (number("bytes"), number("spacing")) else {
        return Err(Unfit::Usage("a cell of thrash names its bytes and its spacing".into()));
    };
    let team = Team::gather(clock, &arrangement.cpus)?;
    let field = Arc::new(Field::map(2 * bytes, PageKind::Huge)?);
    field.fill(0);
    let turn = Arc::default();
    let of = |variant| Arc::new(Turns::of(variant, bytes, spacing, Arc::clone(&turn)));
    let turns: Vec<Arc<Turns>> = (PRIVATE..=LEFT_OUT).map(of).collect();
    let tasks = turns.iter().map(|turns| writing(&field, turns)).collect();
    let looks = turns.iter().map(|turns| looking(&field, turns)).collect();
    // What fits into no cache does not come back by being gone over.
    Ok(Buffers { team, field, turns, tasks, looks, warmed: bytes <= last })
}

/// What one of the two threads goes over: which track, and whether it writes.
fn tracks(variant: u32, bytes: usize, spacing: usize) -> [Option<Track>; 2] {
    let track = |range: Range<usize>, offset| Some(Track::new(range, spacing, offset));
    let (own, others) = (0..bytes, bytes..2 * bytes);
    match variant {
        PRIVATE | LEFT_OUT => [track(own, 0), track(others, 0)],
        OTHER_BYTES => [track(own.clone(), 0), track(own, spacing / 2)],
        ALONE => [track(own, 0), None],
        ALONE_ON_TWICE => [track(0..2 * bytes, 0), None],
        _ => [track(own.clone(), 0), track(own, 0)],
    }
}

/// How far the two threads of a variant have come, and what they write there.
struct Turns {
    variant: u32,
    spacing: usize,
    tracks: [Option<Track>; 2],
    /// Each thread goes on where it stopped, so that short epochs go over the whole buffer in turn.
    positions: [AtomicUsize; 2],
    /// Counts the turns of all variants. Each writes something else, so that what an earlier one left there does not
    /// pass for its work.
    turn: Arc<AtomicU64>,
}

impl Turns {
    fn of(variant: u32, bytes: usize, spacing: usize, turn: Arc<AtomicU64>) -> Self {
        let tracks = tracks(variant, bytes, spacing);
        Self { variant, spacing, tracks, positions: Default::default(), turn }
    }

    /// Lines of the longer track.
    fn round(&self) -> u64 {
        self.tracks.iter().flatten().map(Track::lines).max().unwrap_or(0)
    }

    fn begin(&self) {
        self.turn.fetch_add(1, Ordering::Relaxed);
    }

    /// What this thread writes in this turn: never 0, and never what the other one writes.
    fn value(&self, worker: usize) -> u8 {
        (self.turn.load(Ordering::Relaxed) % 127) as u8 * 2 + worker as u8 + 1
    }

    /// Whether the byte is what a thread left at a line of its own in this turn: what it wrote, or what either wrote
    /// where both write the same byte, or nothing where nobody writes.
    fn left(&self, worker: usize, byte: u8) -> bool {
        match self.variant {
            READ_ONLY => byte == 0,
            _ if self.tracks[0] == self.tracks[1] => byte == self.value(0) || byte == self.value(1),
            _ => byte == self.value(worker),
        }
    }
}

fn writing(field: &Arc<Field>, turns: &Arc<Turns>) -> Task {
    let (field, turns) = (Arc::clone(field), Arc::clone(turns));
    Arc::new(move |worker, lines| {
        let Some(track) = &turns.tracks[worker] else { return 0 };
        let position = turns.positions[worker].load(Ordering::Relaxed);
        let value = turns.value(worker);
        let end = match turns.variant {
            READ_ONLY => field.read(track, position, lines),
            LEFT_OUT if worker == 1 => field.write_but_one(track, position, lines, value),
            _ => field.write(track, position, lines, value),
        };
        turns.positions[worker].store(end, Ordering::Relaxed);
        0
    })
}

/// Counts the lines, of those that this turn went over last, that do not hold what was left there. Each thread looks
/// at its own lines: another one that read them would fetch them, and the next turn would have to fetch them back.
fn looking(field: &Arc<Field>, turns: &Arc<Turns>) -> Task {
    let (field, turns) = (Arc::clone(field), Arc::clone(turns));
    Arc::new(move |worker, lines| {
        let Some(track) = turns.tracks[worker].as_ref().filter(|_| turns.variant != READ_ONLY) else { return 0 };
        let all = track.lines() as usize;
        let went = lines.min(track.lines()) as usize;
        let end = turns.positions[worker].load(Ordering::Relaxed) / turns.spacing;
        // The lines before the one at which it stopped, round the end of the track.
        let from = (end + all - went) % all;
        let wrapped = (from + went).saturating_sub(all);
        let places = track.places().take(wrapped).chain(track.places().skip(from).take(went - wrapped));
        places.filter(|&place| !turns.left(worker, field.byte(place))).count() as u64
    })
}

struct Buffers {
    team: Team,
    field: Arc<Field>,
    /// Of each variant, as are the tasks.
    turns: Vec<Arc<Turns>>,
    tasks: Vec<Task>,
    /// Whether the lines hold what the task left there, by each thread of its own.
    looks: Vec<Task>,
    /// Whether the buffers are gone over once, untimed, before each epoch: the other variants have been there.
    warmed: bool,
}

impl Apparatus for Buffers {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        self.field.fill(0);
        let turns = &self.turns[variant as usize];
        turns.begin();
        self.team.lap(&self.tasks[variant as usize], turns.round())?;
        Ok(held(&self.field, turns))
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
        let (turns, task) = (&self.turns[variant as usize], &self.tasks[variant as usize]);
        if self.warmed {
            self.team.lap(task, turns.round())?;
        }
        turns.begin();
        let lap = self.team.lap(task, iterations)?;
        let looked = self.team.lap(&self.looks[variant as usize], iterations)?;
        let lost: Vec<u64> = looked.shares.iter().map(|share| share.failures).collect();
        if lost.iter().any(|&lost| lost > 0) {
            let lost: Vec<String> = lost.iter().map(u64::to_string).collect();
            return Err(Failure::Wrong(format!(
                "{} lines of the two threads, of {iterations} that each wrote last, do not hold what it left there",
                lost.join(" and ")
            )));
        }
        Ok(lap)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

/// Whether every line of both tracks holds what was left there.
fn held(field: &Field, turns: &Turns) -> Seen {
    let mut lines = 0;
    for (worker, track) in turns.tracks.iter().enumerate() {
        for place in track.iter().flat_map(Track::places) {
            let byte = field.byte(place);
            if !turns.left(worker, byte) {
                return Seen::Broken(format!("the byte at {place} is {byte} after thread {worker} was there"));
            }
            lines += 1;
        }
    }
    Seen::Met(format!("{lines} lines hold what was written"))
}

fn describe() -> Descriptor {
    Descriptor {
        name: "thrash".into(),
        question: "Does a buffer that two threads share thrash, and at which size and distance?".into(),
        requirement: "seed 002 saw a shared buffer cost 7 to 27 times as much as one each where the caches are \
                      not shared; where does it here, and is it room or coherence"
            .into(),
        specification: "every line that is written holds what its writer left there".into(),
        subject: "Two threads that write a byte a line".into(),
        quantity: Quantity::NanosecondsPerOperation,
        judge: Judge::Thrashing,
        builds_on: vec!["caches".into()],
        variants: vec![
            Variant::measured("a buffer each", "each thread writes the lines of its own: the seed's unshared"),
            Variant::measured("one shared buffer", "both write the same bytes: the seed's shared; true sharing"),
            Variant::measured("one buffer, other bytes", "both write the same lines, each its own byte: false sharing"),
            Variant::measured("one buffer, read only", "both read the same lines"),
            Variant::measured("one thread alone", "half the work, half the room: what the second thread costs the first"),
            Variant::measured("one thread on both buffers", "the room of two threads without a second: capacity alone"),
            Variant::sabotage("a line left out", "one thread never writes its last line"),
        ],
        parameters: vec![
            Parameter::new("case", "A,B,C,D (A,C with --quick)", "a quarter of L1, L2, L3; twice the last cache"),
            Parameter::new("spacing", "the machine's line", "bytes from one line written to the next, 16 to 4096"),
        ],
        margin: 0.05,
        // Two workers are preempted twice as often as one. In a fifth of a slice that would decide ratios under load.
        epoch: Picoseconds::from_micros(100),
        privileges: "none".into(),
        touches: "none".into(),
        sources: vec![
            Source::new("seed 002, 2017 and 2019", "the program, the grid of sizes and distances, the footnote"),
            Source::new(
                "Molka et al., \"Memory Performance and Cache Coherency Effects on an Intel Nehalem System\", 2009",
                "the cost of a line depends on who wrote it last and where",
            ),
        ],
        published: published::figures(),
    }
}

/// The experiment on thrashing.
pub const EXPERIMENT: Experiment =
    Experiment { describe, plan, open, published: Some(published::run) };

#[cfg(test)]
mod tests;
