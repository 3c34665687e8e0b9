//! `thrash`: a shared buffer or one each? By size and distance; capacity apart from coherence, false sharing
//! from true.

use std::ops::Range;
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenbin_metal::lines::{Field, Track};
use tenbin_metal::pages::{PageKind, Pages};
use tenbin_metal::{Clock, Fault, Lap, Task, Team};
use tenbin_model::topology::{Shared, line_or_usual, shared};
use tenbin_model::words::{and, comma};
use tenbin_model::{Arrangement, Bytes, Comparison, Cpu, Effort, Finding, Order, Refusal, VariantIndex};

use self::analysis::Thrashing;
use self::described::describe;
use super::caches::stated;
use crate::experiment::{
    Apparatus, Aspect, Experiment, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit,
};
use crate::memory::{allowance, within_allowance};

mod analysis;
mod described;
mod published;

const PRIVATE: VariantIndex = VariantIndex(0);
const SHARED: VariantIndex = VariantIndex(1);
const OTHER_BYTES: VariantIndex = VariantIndex(2);
const READ_ONLY: VariantIndex = VariantIndex(3);
const ALONE: VariantIndex = VariantIndex(4);
const ALONE_ON_TWICE: VariantIndex = VariantIndex(5);
const LEFT_OUT: VariantIndex = VariantIndex(6);

/// Bytes between the two buffers: farther than a prefetcher looks ahead. Where one ends and the other begins
/// at once, who runs off the end of his own fetches what is the other's, and a buffer each is not a buffer
/// each.
const APART: usize = 64 << 10;

/// Distances between the lines written that are tried beside the machine's own line.
const SPACINGS: [usize; 3] = [64, 128, 256];

/// The published cases: what the buffer fits into.
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
        ["A", "B", "C", "D"][self as usize]
    }

    fn fits(self) -> String {
        self.level().map_or_else(|| "fits into no cache".into(), |level| format!("fits into L{level}"))
    }

    fn level(self) -> Option<u8> {
        (self != Self::D).then_some(self as u8 + 1)
    }

    /// The case of a buffer of this size: the innermost cache of both CPUs in which two of them fit.
    fn holding(bytes: Bytes, request: &Request<'_>, pair: (Cpu, Cpu)) -> Self {
        let fits = |case: &Self| {
            let Some(level) = case.level() else { return false };
            [pair.0, pair.1]
                .iter()
                .all(|&cpu| size(request, cpu, level).is_some_and(|whole| 2 * bytes.0 <= whole.0))
        };
        Self::ALL.into_iter().find(fits).unwrap_or(Self::D)
    }

    /// The size of the buffer for these CPUs, or why there is none.
    ///
    /// It is the published quarter of the cache. Where that fits into the cache inside it as well, it is the
    /// middle between that cache and half of this one, for two buffers must fit into it. What fits into no
    /// cache is twice the last one, or less where memory is short. A knee that is measured again lies
    /// elsewhere, by a little: powers of two, where there is one in that place, make runs of one machine ask
    /// about the same size.
    fn bytes(self, request: &Request<'_>, pair: (Cpu, Cpu)) -> Result<Bytes, Refusal> {
        let Some(level) = self.level() else { return beyond(request, pair) };
        let smaller =
            |level: u8| [pair.0, pair.1].into_iter().filter_map(|cpu| size(request, cpu, level)).min();
        let Some(Bytes(whole)) = smaller(level) else {
            return Err(Refusal {
                reached: format!("no L{level} of {} and {} is known", pair.0, pair.1),
                needs: format!("the size of an L{level}"),
                remedy: "look at `tenbin run caches`, which says what is known".into(),
            });
        };
        let inner = level.checked_sub(1).and_then(smaller).unwrap_or_default();
        let middle = (inner.0 as f64 * (whole as f64 / 2.0)).sqrt() as u64;
        let bytes = Bytes(if whole / 4 > inner.0 { whole / 4 } else { middle });
        let rounded = bytes.0.checked_ilog2().map_or(bytes, |log| Bytes(1 << log));
        if bytes > inner {
            return Ok(if rounded > inner { rounded } else { bytes });
        }
        Err(Refusal {
            reached: format!("the L{level} holds {} and the L{} {inner}", Bytes(whole), level - 1),
            needs: format!("an L{level} in which two buffers fit that do not fit into the L{}", level - 1),
            remedy: "ask where more of that cache is left for this machine".into(),
        })
    }
}

impl FromStr for Case {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        Self::ALL.into_iter().find(|case| case.name() == name).ok_or(())
    }
}

/// A buffer that fits into no cache of these CPUs: twice the last one, at least a quarter more.
fn beyond(request: &Request<'_>, pair: (Cpu, Cpu)) -> Result<Bytes, Refusal> {
    let levels = || (1..=4).rev().flat_map(|level| [pair.0, pair.1].map(|cpu| size(request, cpu, level)));
    let last = levels().flatten().max().map_or(0, |last| last.0);
    // Loads take memory's time from a quarter of this on.
    let flat = request.sizes.beyond.map_or(0, |beyond| beyond.0 / 4);
    let wanted = (2 * last).max(2 * flat).next_power_of_two();
    let (bytes, least) = (wanted.min(allowance(request.machine).0 / 2), last.max(flat) / 4 * 5);
    if bytes >= least {
        return Ok(Bytes(bytes));
    }
    Err(Refusal {
        reached: format!("{} may be taken for two buffers: half of what is free", allowance(request.machine)),
        needs: format!("{} for each, a quarter more than the last cache holds", Bytes(least)),
        remedy: "free memory".into(),
    })
}

/// What a cache holds for this CPU: as it was measured, where a CPU with the same caches was; else by the
/// firmware.
fn size(request: &Request<'_>, cpu: Cpu, level: u8) -> Option<Bytes> {
    match request.sizes.cpu {
        Some(walked) if stated(request, walked) != stated(request, cpu) => {
            stated(request, cpu).into_iter().find(|(known, _)| *known == level).and_then(|(_, size)| size)
        }
        _ => Some(request.sizes.level(level)?.bytes),
    }
}

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    request.two_cpus("two threads must write at once")?;
    let quick = request.effort == Effort::Quick;
    let usual: &[Case] = if quick { &[Case::A, Case::C] } else { &Case::ALL };
    let cases = request.settings.list("case", usual, "one of A, B, C, D", |_| true)?;
    let expected = "a number of bytes from 256 to 1073741824";
    let given = request.settings.list("size", &[], expected, |size| (256..=1_u64 << 30).contains(size))?;
    if !given.is_empty() && request.settings.given("case").is_some() {
        return Err(Unfit::Usage("--set size: a case is a size as well; give one of the two".into()));
    }
    let own = line_or_usual(request.machine, request.cpus[0]).0 as usize;
    let spacings =
        request.settings.list("spacing", &[own], "a power of two from 16 to 4096 (bytes)", |spacing| {
            (16..=4096).contains(spacing) && spacing.is_power_of_two()
        })?;
    if given.is_empty() && request.sizes.last().is_none() {
        return Err(Unfit::Refused(Refusal {
            reached: "no cache size is known here, from the firmware or from a knee".into(),
            needs: "the size of a cache: buffers are parts of it".into(),
            remedy: "run `tenbin run caches`, which says why no knee was seen".into(),
        }));
    }
    let pairs = representatives(request, if quick { 2 } else { usize::MAX });
    let of_given = |&pair: &(Cpu, Cpu)| {
        let of = move |&size: &u64| (Case::holding(Bytes(size), request, pair), pair, Bytes(size));
        given.iter().map(of).collect::<Vec<_>>()
    };
    let mut known: Vec<(Case, (Cpu, Cpu), Bytes)> = pairs.iter().flat_map(of_given).collect();
    let mut unknown = Vec::new();
    for &case in cases.iter().filter(|_| given.is_empty()) {
        for &pair in &pairs {
            match case.bytes(request, pair) {
                Ok(bytes) => known.push((case, pair, bytes)),
                Err(why) => unknown.push((case, pair, why)),
            }
        }
    }
    if known.is_empty() {
        let first = unknown.into_iter().next().map(|(_, _, why)| why);
        return Err(first.map_or_else(|| Unfit::Usage("--set case: it names no case".into()), Unfit::Refused));
    }
    let mut cells: Vec<PlannedCell> = Vec::new();
    for (case, pair, bytes) in known {
        // How far apart the lines lie matters most where all else is cheap.
        let usual = !quick && given.is_empty() && request.settings.given("spacing").is_none();
        let swept = usual && case == Case::A && Some(&pair) == pairs.first();
        let mut here = spacings.clone();
        here.extend(SPACINGS.iter().filter(|&&spacing| swept && !spacings.contains(&spacing)));
        for &spacing in &here {
            let headline = cells.is_empty();
            let say_spacing = spacing != own || spacings.len() > 1;
            let shape = Shape::of(request, case, pair, bytes, spacing);
            let arrangement = cell(request, case, pair, Some(&shape), say_spacing, headline);
            cells.push(PlannedCell::new(arrangement, move |arrangement, request| {
                open(arrangement, request, &shape)
            }));
        }
    }
    // What there is no buffer for is refused in its place: after all others.
    cells.extend(unknown.into_iter().map(|(case, pair, why)| {
        let arrangement = cell(request, case, pair, None, false, false);
        PlannedCell::new(arrangement, move |_, _| Err(Unfit::Refused(why.clone())))
    }));
    Ok(Plan { cells, ..Plan::default() })
}

/// One pair of CPUs for each thing that two of them can have in common, nearest first, at most `most`: the
/// first that is not one core alone if there is such a pair.
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
    classes.order_by_key(|&(class, _)| (class == Shared::Core, class));
    classes.into_iter().map(|(_, pair)| pair).take(most).collect()
}

struct Shape {
    case: Case,
    bytes: usize,
    /// Bytes from one that is written to the next.
    spacing: usize,
    /// Bytes of a cache line.
    line: usize,
}

impl Shape {
    /// A buffer of these bytes, or somewhat less: two that divide it between them write to as many lines
    /// each.
    fn of(request: &Request<'_>, case: Case, (one, _): (Cpu, Cpu), bytes: Bytes, spacing: usize) -> Self {
        let whole = spacing * 2;
        let bytes = (bytes.0 as usize / whole).max(1) * whole;
        Self { case, bytes, spacing, line: line_or_usual(request.machine, one).0 as usize }
    }
}

/// The cell of a case on these CPUs; without a shape there is none to be had.
fn cell(
    request: &Request<'_>,
    case: Case,
    (one, other): (Cpu, Cpu),
    shape: Option<&Shape>,
    say_spacing: bool,
    headline: bool,
) -> Arrangement {
    let line = line_or_usual(request.machine, one).0 as usize;
    let spacing = shape.map_or(line, |shape| shape.spacing);
    let size = shape.map_or_else(|| "a buffer".into(), |shape| Bytes(shape.bytes as u64).to_string());
    let stride = if say_spacing { format!(", a byte every {spacing}") } else { String::new() };
    let common = shared(request.machine, one, other);
    Arrangement {
        label: format!(
            "in case {} ({size}, which {}{stride}) on {one} and {other}, which share {common}",
            case.name(),
            case.fits()
        ),
        parameters: vec![
            ("case".into(), case.name().into()),
            ("bytes".into(), shape.map_or_else(String::new, |shape| shape.bytes.to_string())),
            ("spacing".into(), spacing.to_string()),
            ("line".into(), line.to_string()),
        ],
        cpus: vec![one, other],
        epoch: describe().epoch,
        variants: VariantIndex::range(0..LEFT_OUT.place()),
        comparisons: Comparison::of([
            (PRIVATE, SHARED),
            (PRIVATE, OTHER_BYTES),
            (OTHER_BYTES, SHARED),
            (PRIVATE, READ_ONLY),
            (ALONE, PRIVATE),
            (ALONE_ON_TWICE, PRIVATE),
        ]),
        headline,
        ..Arrangement::default()
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>, shape: &Shape) -> Opened {
    let bytes = shape.bytes;
    let both = |bytes: usize| Bytes(Pages::most_resident((2 * bytes + APART) as u64, PageKind::Huge));
    within_allowance(request.machine, both(bytes), "a buffer for each of two threads", |room| {
        let smallest = Case::A.bytes(request, (arrangement.cpus[0], arrangement.cpus[1])).ok()?;
        (smallest.0 < bytes as u64 && both(smallest.0 as usize) <= room).then(|| "case=A".into())
    })?;
    let mut buffers = set_up(&arrangement.cpus, request.clock, shape)?;
    let levels = request.sizes.levels.iter();
    buffers.sizes = comma(levels.map(|size| format!("L{} {} ({})", size.level, size.bytes, size.by)));
    Ok(Box::new(buffers))
}

/// Both buffers and their threads. Each thread touches its own buffer first.
fn set_up(cpus: &[Cpu], clock: Clock, shape: &Shape) -> Result<Buffers, Fault> {
    let &Shape { case, bytes, spacing, line } = shape;
    let mut team = Team::gather(clock, cpus)?;
    let field = Arc::new(Field::map(2 * bytes + APART, PageKind::Huge)?);
    let course: Arc<Course> = Arc::default();
    let of = |variant| {
        let tracks = tracks(variant, bytes, spacing, line);
        Arc::new(Turns { variant, spacing, tracks, course: Arc::clone(&course) })
    };
    let turns: Vec<Arc<Turns>> = (PRIVATE.0..=LEFT_OUT.0).map(VariantIndex).map(of).collect();
    let tasks: Vec<Task> = turns.iter().map(|turns| writing(&field, turns)).collect();
    let looks = turns.iter().map(|turns| looking(&field, turns)).collect();
    let private = &turns[PRIVATE];
    team.lap(&tasks[PRIVATE], private.round())?;
    // What fits into no cache does not come back by being gone over.
    let warmed = case.level().is_some();
    Ok(Buffers { team, field, course, turns, tasks, looks, warmed, sizes: String::new() })
}

/// What one of the two threads goes over: which track, and whether it writes.
///
/// Bytes that are to lie in the same line do so whatever the spacing.
fn tracks(variant: VariantIndex, bytes: usize, spacing: usize, line: usize) -> [Option<Track>; 2] {
    let track = |range: Range<usize>, offset| Some(Track::new(range, spacing, offset));
    let (own, others) = (0..bytes, bytes + APART..2 * bytes + APART);
    match variant {
        PRIVATE | LEFT_OUT => [track(own, 0), track(others, 0)],
        OTHER_BYTES => [track(own.clone(), 0), track(own, spacing.min(line) / 2)],
        ALONE => [track(own, 0), None],
        ALONE_ON_TWICE => [track(0..2 * bytes, 0), None],
        _ => [track(own.clone(), 0), track(own, 0)],
    }
}

/// How far the threads of a cell have come, whatever the variant.
///
/// All variants share one course: each epoch goes on where the one before it stopped, whoever ran it. So it
/// meets lines whose last use lies a whole round back, and short epochs go over all of a buffer in turn.
#[derive(Default)]
struct Course {
    lines: AtomicU64,
    /// Counts turns. Each writes something else, so that what an earlier one left there does not pass for its
    /// work.
    turn: AtomicU64,
}

struct Turns {
    variant: VariantIndex,
    spacing: usize,
    tracks: [Option<Track>; 2],
    course: Arc<Course>,
}

impl Turns {
    /// The line of the track at which this turn begins.
    fn first(&self, track: &Track) -> u64 {
        self.course.lines.load(Ordering::Relaxed) % track.lines()
    }

    fn round(&self) -> u64 {
        self.tracks.iter().flatten().map(Track::lines).max().unwrap_or(0)
    }

    /// What this thread writes in this turn: never 0, and never what the other one writes.
    fn value(&self, worker: usize) -> u8 {
        (self.course.turn.load(Ordering::Relaxed) % 127) as u8 * 2 + worker as u8 + 1
    }

    /// Whether the byte is what a thread left at a line of its own in this turn: what it wrote, or what
    /// either wrote where both write the same byte, or nothing where nobody writes.
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
        let position = turns.first(track) as usize * turns.spacing;
        let value = turns.value(worker);
        match turns.variant {
            READ_ONLY => field.read(track, position, lines),
            LEFT_OUT if worker == 1 => field.write_but_one(track, position, lines, value),
            _ => field.write(track, position, lines, value),
        };
        0
    })
}

/// Counts the lines, of those that this turn went over last, that do not hold what was left there. Each
/// thread looks at its own lines: another one that read them would fetch them, and the next turn would have
/// to fetch them back.
fn looking(field: &Arc<Field>, turns: &Arc<Turns>) -> Task {
    let (field, turns) = (Arc::clone(field), Arc::clone(turns));
    Arc::new(move |worker, lines| {
        let Some(track) = turns.tracks[worker].as_ref().filter(|_| turns.variant != READ_ONLY) else {
            return 0;
        };
        let all = track.lines() as usize;
        let went = lines.min(track.lines()) as usize;
        let from = turns.first(track) as usize;
        // Round the end of the track.
        let wrapped = (from + went).saturating_sub(all);
        let places = track.places().take(wrapped).chain(track.places().skip(from).take(went - wrapped));
        places.filter(|&place| !turns.left(worker, field.byte(place))).count() as u64
    })
}

struct Buffers {
    team: Team,
    field: Arc<Field>,
    course: Arc<Course>,
    /// Of each variant, as are the tasks.
    turns: Vec<Arc<Turns>>,
    tasks: Vec<Task>,
    /// Whether the lines hold what the task left there, by each thread of its own.
    looks: Vec<Task>,
    /// Whether the buffers are gone over once, untimed, before each epoch: the other variants have been
    /// there.
    warmed: bool,
    /// What the buffers are parts of, and whose word each is.
    sizes: String,
}

impl Apparatus for Buffers {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        self.field.fill(0);
        let turns = &self.turns[variant];
        self.course.turn.fetch_add(1, Ordering::Relaxed);
        self.team.lap(&self.tasks[variant], turns.round())?;
        Ok(held(&self.field, turns))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let (turns, task) = (&self.turns[variant], &self.tasks[variant]);
        if self.warmed {
            self.team.lap(task, turns.round())?;
        }
        self.course.turn.fetch_add(1, Ordering::Relaxed);
        let mut lap = self.team.lap(task, iterations)?;
        let look = self.team.lap(&self.looks[variant], iterations)?;
        let lost: Vec<u64> = look.shares.iter().map(|share| share.failures).collect();
        if lost.iter().any(|&lost| lost > 0) {
            return Err(Failure::Wrong(format!(
                "{} lines of the two threads, of {iterations} that each wrote last, do not hold what it left there",
                and(lost)
            )));
        }
        self.course.lines.fetch_add(iterations, Ordering::Relaxed);
        if turns.tracks[1].is_none() {
            // Who has nothing to do is no worker, and what it took says nothing.
            lap.shares.truncate(1);
        }
        Ok(lap)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        Ok(vec![Finding {
            experiment: "thrash".into(),
            sentence: "Buffers are parts and multiples of what the caches hold.".into(),
            evidence: self.sizes.clone(),
            confidence: "as `caches` found them in this run; what is said of one CPU holds for those like it"
                .into(),
        }])
    }
}

fn held(field: &Field, turns: &Turns) -> Seen {
    let mut lines = 0;
    for (worker, track) in turns.tracks.iter().enumerate() {
        for place in track.iter().flat_map(Track::places) {
            let byte = field.byte(place);
            if !turns.left(worker, byte) {
                return Seen::Broken(format!(
                    "the byte at {place} is {byte} after thread {worker} was there"
                ));
            }
            lines += 1;
        }
    }
    Seen::Met(format!("{lines} lines hold what was written"))
}

/// The experiment on thrashing.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    analysis: &Thrashing,
    published: published::TABLES,
    formats: published::FORMATS,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Memory])
};

#[cfg(test)]
mod tests;
