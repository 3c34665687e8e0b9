//! `pipe`: puts, write or vmsplice? What a pipe carries, by writer, reader, size and placement.

mod described;
mod published;

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::pipe::{
    Discard, How, Keep, LARGE, PUBLISHED_WRITE, Pipe, Reader, Text, Verify, Writer, hold, probe, writer,
};
use tenbin_metal::{Clock, Fault, Lap, Task, Team};
use tenbin_model::words::{comma, semicolon};
use tenbin_model::{
    Arrangement, Bytes, Comparison, Cpu, Effort, Finding, Gauge, Picoseconds, Reading, Refusal, VariantIndex,
};

use crate::experiment::{
    Apparatus, Aspect, Experiment, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit,
};

use described::describe;

/// The variants that are measured, in the order of the descriptor.
const WAYS: [How; 17] = [
    How::Puts,
    How::Write { room: PUBLISHED_WRITE },
    How::TwoBuffers { gift: false },
    How::Constant { huge: false },
    How::Tee,
    How::Splice,
    How::Constant { huge: true },
    How::TeeLarge,
    How::TwoBuffers { gift: false },
    How::Write { room: 4 << 10 },
    How::Write { room: 8 << 10 },
    How::Write { room: 16 << 10 },
    How::Write { room: 32 << 10 },
    How::Write { room: 64 << 10 },
    How::Write { room: 128 << 10 },
    How::Write { room: 256 << 10 },
    How::Write { room: 1 << 20 },
];
const PUTS: VariantIndex = VariantIndex(0);
const WRITE: VariantIndex = VariantIndex(1);
const TWO_BUFFERS: VariantIndex = VariantIndex(2);
const CONSTANT: VariantIndex = VariantIndex(3);
const TEE: VariantIndex = VariantIndex(4);
const SPLICE: VariantIndex = VariantIndex(5);
const CONSTANT_HUGE: VariantIndex = VariantIndex(6);
const TEE_LARGE: VariantIndex = VariantIndex(7);
/// The published one, through a pipe of 1 MiB: in the cell of its programs alone.
const TWO_LARGE_BUFFERS: VariantIndex = VariantIndex(8);
/// `write` of other sizes: in the cells about them alone.
const WRITES: std::ops::Range<usize> = 9..17;
const WRITE_64_KIB: VariantIndex = VariantIndex(13);

/// What stands in a cell that is about no pair of placement and reader alone.
const GROUPS: [&str; 3] = ["all", "seed", "writes"];

/// Sizes that an ordinary user may give a pipe: that of the published vmsplice first, then the default and
/// the limit.
const SIZES_KIB: [u64; 3] = [256, 64, 1024];
/// Sizes of the pipe in which writes of several sizes are weighed: the default and the limit.
const WRITTEN_KIB: [u64; 2] = [64, 1024];
const READERS: [&str; 2] = ["splice", "read"];
/// One CPU first: there the scheduler alone decides who runs, and the answer is the sharpest. On two,
/// writer and reader now run in step and now wait for each other to be woken.
const PLACEMENTS: [&str; 2] = ["same", "two"];

/// An epoch fills the pipe at least this many times: the first pipeful meets no resistance.
const LEAST_PIPEFULS: u64 = 2;

/// Pipefuls on the pass that is checked: every buffer of every way is used again.
const CHECKED_PIPEFULS: u64 = 8;

/// How long a pass takes, about, that tells user from system time: 25 ticks of the slowest usual kernel's 250
/// a second.
const ACCOUNTED: Picoseconds = Picoseconds::from_millis(100);
/// Pipefuls of such a pass at the most.
const MOST_ACCOUNTED: u64 = 1 << 16;

/// A line in this many is damaged by the planted fault: the 1000th.
const DAMAGED_LINE: usize = 1_000;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let settings = request.settings;
    let quick = request.effort == Effort::Quick;
    let kib = |usual: &[u64]| {
        settings.list("size", usual, "a power of two from 4 to 1024 (KiB)", |kib| {
            (4..=1024).contains(kib) && kib.is_power_of_two()
        })
    };
    let (sizes, written) = (kib(if quick { &SIZES_KIB[..1] } else { &SIZES_KIB })?, kib(&WRITTEN_KIB)?);
    let named = |key, values: &[&'static str]| {
        let expected = format!("one of {}", comma(values));
        let all: Vec<String> = values.iter().map(|&value| value.into()).collect();
        settings.list(key, &all, &expected, |value: &String| values.contains(&value.as_str()))
    };
    let readers = named("reader", &READERS)?;
    let placements = named("placement", &PLACEMENTS)?;
    let groups = match settings.given("cells") {
        Some(_) => named("cells", &GROUPS)?,
        // Who names a size means every way through it, and not the sizes that others had.
        None if settings.given("size").is_some() => vec!["all".into()],
        None if quick => vec!["all".into(), "seed".into()],
        None => GROUPS.map(String::from).to_vec(),
    };
    let line = line(request)?;
    let pipe = |kib: u64, reader: &str, placement: &str| Setup {
        line: line.clone(),
        kib,
        spliced: reader == READERS[0],
        together: placement == PLACEMENTS[0],
    };
    // What does not work here is left out and named in a finding; the others still answer.
    let works = VariantIndex::select(&WAYS, |&way| probe(way).is_ok());
    let mut cells = Vec::new();
    for group in groups {
        match group.as_str() {
            "seed" => cells.push(as_published(pipe(PUBLISHED_KIB, READERS[0], PLACEMENTS[1]), &works)),
            "writes" => {
                let placement = PLACEMENTS[usize::from(request.cpus.len() > 1)];
                cells.extend(written.iter().map(|&kib| by_writes(pipe(kib, &readers[0], placement))));
            }
            _ => {
                for &kib in &sizes {
                    for placement in &placements {
                        let pipes = readers.iter().map(|reader| pipe(kib, reader, placement));
                        cells.extend(pipes.map(|pipe| cell(request, pipe, &works)));
                    }
                }
            }
        }
    }
    let cells = cells.into_iter().enumerate().map(|(number, (arrangement, pipe)): (usize, (_, Setup))| {
        let arrangement = Arrangement { headline: number == 0, ..placed(arrangement, &pipe, request) };
        PlannedCell::new(arrangement, move |arrangement, request| open(arrangement, request, &pipe))
    });
    Ok(Plan { cells: cells.collect(), ..Plan::default() })
}

fn line(request: &Request<'_>) -> Result<String, Unfit> {
    let line = request.settings.given("line").unwrap_or("y");
    if Text::is_line(line) {
        return Ok(line.to_owned());
    }
    let longest = Text::LONGEST;
    Err(Unfit::Usage(format!(
        "--set line=…: it is one line of 1 to {longest} bytes, without a newline, and this one has {}",
        line.len()
    )))
}

struct Setup {
    line: String,
    kib: u64,
    /// Whether the reader splices it to /dev/null; else it reads it into a buffer.
    spliced: bool,
    together: bool,
}

impl Setup {
    fn parameters(&self) -> Vec<(String, String)> {
        let mut parameters: Vec<(String, String)> = vec![
            ("size".into(), self.kib.to_string()),
            ("reader".into(), READERS[usize::from(!self.spliced)].into()),
            ("placement".into(), PLACEMENTS[usize::from(!self.together)].into()),
        ];
        if self.line != "y" {
            parameters.push(("line".into(), self.line.clone()));
        }
        parameters
    }

    fn of_line(&self) -> String {
        if self.line == "y" { String::new() } else { format!(", lines of {} bytes", self.line.len() + 1) }
    }

    /// Where its bytes go, and from where: "read into a buffer on one CPU".
    fn course(&self) -> String {
        let to = if self.spliced { "spliced to /dev/null" } else { "read into a buffer" };
        format!("{to} on {}", if self.together { "one CPU" } else { "two CPUs" })
    }
}

/// Writer and reader on their CPUs, with what the setup decides.
fn placed(cell: Arrangement, pipe: &Setup, request: &Request<'_>) -> Arrangement {
    let cpus = match pipe.together {
        true => vec![request.cpus[0]; 2],
        // Where there is one CPU the two are the same, and `open` refuses the cell.
        false => request.cpus.iter().copied().cycle().take(2).collect(),
    };
    // On two CPUs they run in step or wake each other, by how far apart a host puts them: the same pair of
    // ways was 0.82 and less, and 1.1 and more, in two runs of half an hour.
    let sway = (!pipe.together).then_some(1.0);
    Arrangement {
        parameters: pipe.parameters(),
        cpus,
        work: Text::of(&pipe.line).pipeful((pipe.kib as usize) << 10) as u64,
        epoch: describe().epoch,
        least_iterations: LEAST_PIPEFULS,
        sway,
        ..cell
    }
}

fn cell(request: &Request<'_>, pipe: Setup, works: &[VariantIndex]) -> (Arrangement, Setup) {
    let size = Bytes::from_kib(pipe.kib);
    let stands = |&variant: &VariantIndex| match variant {
        TEE_LARGE => size.0.is_multiple_of(LARGE as u64),
        CONSTANT_HUGE => request.effort != Effort::Quick,
        _ => variant < CONSTANT_HUGE,
    };
    let variants: Vec<VariantIndex> = works.iter().copied().filter(stands).collect();
    // The most telling first: the two ends of the scale, then everything against the first published
    // program (printf) and the last (vmsplice with two buffers).
    let against = |right: VariantIndex| variants.iter().map(move |&left| (left, right));
    let pairs = [(TEE_LARGE, WRITE), (CONSTANT, WRITE)].into_iter();
    let pairs = pairs.chain(against(PUTS)).chain(against(TWO_BUFFERS));
    let pairs = pairs.chain([(TEE, CONSTANT), (SPLICE, TEE), (TEE_LARGE, TEE)]).filter(|&(left, right)| {
        // The last program against the first is there already, the other way round.
        let again = (left, right) == (PUTS, TWO_BUFFERS);
        !again && left != right && variants.contains(&left) && variants.contains(&right)
    });
    let cell = Arrangement {
        label: format!("{} through {size}{}", pipe.course(), pipe.of_line()),
        comparisons: Comparison::of(pairs),
        variants,
        ..Arrangement::default()
    };
    (cell, pipe)
}

/// The published programs as their author ran them: `puts` and `write` never set the size of their pipe,
/// `vmsplice` makes it as large as its buffers, and its pv splices.
fn as_published(pipe: Setup, works: &[VariantIndex]) -> (Arrangement, Setup) {
    let pairs = [
        (TWO_BUFFERS, PUTS),
        (WRITE, PUTS),
        (WRITE, TWO_BUFFERS),
        (TWO_LARGE_BUFFERS, TWO_BUFFERS),
        (TWO_LARGE_BUFFERS, PUTS),
    ];
    let works = |variant: &VariantIndex| works.contains(variant);
    let pairs = pairs.into_iter().filter(|(left, right)| works(left) && works(right));
    let cell = Arrangement {
        label: format!("{PUBLISHED_CELL}{}", pipe.of_line()),
        variants: [PUTS, WRITE, TWO_BUFFERS, TWO_LARGE_BUFFERS].into_iter().filter(works).collect(),
        comparisons: Comparison::of(pairs),
        ..Arrangement::default()
    };
    (cell, pipe)
}

const PUBLISHED_CELL: &str = "as published, spliced to /dev/null on two CPUs";

/// What an iteration carries in the cell of the published programs: a pipeful of its largest pipe.
const PUBLISHED_KIB: u64 = 1024;

/// `write` by the size of the buffer. Its author took 8 KiB for the limit of this call.
fn by_writes(pipe: Setup) -> (Arrangement, Setup) {
    // The size that tenbin's own `yes` writes answers first.
    let writes = VariantIndex::range(WRITES);
    let others = writes.iter().copied().filter(|&variant| variant != WRITE_64_KIB);
    let size = Bytes::from_kib(pipe.kib);
    let cell = Arrangement {
        label: format!("by write alone, {} through {size}{}", pipe.course(), pipe.of_line()),
        comparisons: Comparison::of([WRITE_64_KIB].into_iter().chain(others).map(|left| (left, WRITE))),
        variants: [WRITE].into_iter().chain(writes).collect(),
        ..Arrangement::default()
    };
    (cell, pipe)
}

fn open(arrangement: &Arrangement, request: &Request<'_>, pipe: &Setup) -> Opened {
    if !pipe.together && request.cpus.len() < 2 {
        return Err(Unfit::Refused(Refusal {
            reached: "this process may use 1 CPU".into(),
            needs: "2, one for the writer and one for the reader".into(),
            remedy: "allow it another CPU (taskset, cpuset), or --set placement=same".into(),
        }));
    }
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    let text = Text::of(&pipe.line);
    let capacities = Capacities {
        usual: (pipe.kib as usize) << 10,
        as_published: arrangement.variants.contains(&TWO_LARGE_BUFFERS),
    };
    let work = arrangement.work as usize;
    let lay = |variant: VariantIndex| {
        let measured = arrangement.variants.contains(&variant);
        measured.then(|| Link::lay(variant, capacities, pipe.spliced, &text, work)).transpose()
    };
    let links = (0..WAYS.len()).map(VariantIndex::from).map(lay).collect::<Result<_, _>>()?;
    let accounted = request.effort != Effort::Quick;
    let (clock, cpus) = (request.clock, arrangement.cpus.clone());
    Ok(Box::new(Pipes { team, links, capacities, text, accounted, clock, cpus }))
}

#[derive(Clone, Copy)]
struct Capacities {
    /// Of every way, but in the cell of the published programs.
    usual: usize,
    as_published: bool,
}

impl Capacities {
    fn of(self, variant: VariantIndex) -> usize {
        match (self.as_published, variant) {
            (true, TWO_BUFFERS) => 256 << 10,
            (true, TWO_LARGE_BUFFERS) => 1 << 20,
            // Linux's default (pipe(7)).
            (true, _) => 64 << 10,
            (false, _) => self.usual,
        }
    }
}

/// One pipe with a writer and a reader, each worn out by its first error.
struct Link {
    sender: Mutex<Option<Box<dyn Writer>>>,
    receiver: Mutex<Option<Box<dyn Reader>>>,
    trouble: Mutex<Option<io::Error>>,
    /// Bytes of an iteration.
    work: usize,
}

struct Pipes {
    team: Team,
    /// By variant, of those that are measured.
    links: Vec<Option<Arc<Link>>>,
    capacities: Capacities,
    text: Text,
    /// Whether user and system time are told apart, in passes of their own.
    accounted: bool,
    clock: Clock,
    cpus: Vec<Cpu>,
}

impl Link {
    fn lay(
        variant: VariantIndex,
        capacities: Capacities,
        splices: bool,
        text: &Text,
        work: usize,
    ) -> Result<Arc<Self>, Unfit> {
        let capacity = capacities.of(variant);
        let pipe = Pipe::new(capacity)?;
        if pipe.capacity != capacity {
            // Two buffers of a smaller size than the pipe's would be written while they are read.
            let [wanted, made] = [capacity, pipe.capacity].map(|bytes| Bytes(bytes as u64));
            return Err(Unfit::Refused(Refusal {
                reached: format!("the kernel made a pipe of {wanted} into one of {made}"),
                needs: "a pipe of the size that was asked for, in whole pages of this machine".into(),
                remedy: format!("--set size={}", pipe.capacity >> 10),
            }));
        }
        let receiver: Box<dyn Reader> =
            if splices { Box::new(Discard::new(pipe.output)?) } else { Box::new(Keep::new(pipe.output)) };
        let sender = writer(WAYS[variant], pipe.input, capacity, text)?;
        Ok(Self::new(sender, receiver, work))
    }

    fn new(sender: Box<dyn Writer>, receiver: Box<dyn Reader>, work: usize) -> Arc<Self> {
        let (sender, receiver) = (Mutex::new(Some(sender)), Mutex::new(Some(receiver)));
        Arc::new(Self { sender, receiver, trouble: Mutex::new(None), work })
    }

    /// The part of worker 0, the writer, or 1, the reader, in so many iterations.
    fn work(&self, worker: usize, iterations: u64) {
        let bytes = iterations as usize * self.work;
        if worker == 0 {
            self.with_end(&self.sender, |sender| sender.send(bytes));
        } else {
            self.with_end(&self.receiver, |receiver| receiver.take(bytes));
        }
    }

    /// Uses one end. An error is noted and then drops the end, in this order: the other side sees the
    /// pipe's end, does not wait, and comes second with what is only a consequence. A panic drops it too.
    fn with_end<T: ?Sized>(&self, end: &Mutex<Option<Box<T>>>, work: impl FnOnce(&mut T) -> io::Result<()>) {
        let mut place = lock(end);
        let Some(mut held) = place.take() else { return };
        match work(&mut held) {
            Ok(()) => *place = Some(held),
            Err(error) => {
                lock(&self.trouble).get_or_insert(error);
            }
        }
    }

    fn lap(self: &Arc<Self>, team: &mut Team, iterations: u64) -> Result<Lap, Fault> {
        let link = Arc::clone(self);
        let task: Task = Arc::new(move |worker, iterations| {
            link.work(worker, iterations);
            0
        });
        let lap = team.lap(&task, iterations)?;
        let worn_out = lock(&self.sender).is_none() || lock(&self.receiver).is_none();
        if let Some(error) = lock(&self.trouble).take() {
            let bytes = Bytes(iterations * self.work as u64);
            return Err(Fault::system(format!("carry {bytes} through a pipe"), error));
        }
        match worn_out {
            true => Err(Fault::system("use a pipe that failed before", io::ErrorKind::BrokenPipe)),
            false => Ok(lap),
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Lines whose period suits the way: constant pages repeat what they hold, and a partial `tee`
/// starts again at a page, so those know one page of lines; the others, 65 537, a prime.
fn changing(how: How) -> Text {
    Text::numbered(match how {
        How::Puts | How::Write { .. } | How::TwoBuffers { .. } => 65_537,
        How::Constant { .. } | How::Tee | How::TeeLarge | How::Splice => 4096 / Text::NUMBERED,
    })
}

impl Pipes {
    /// Sends `sent` by `variant`, a planted fault by `write`, and reads what comes as `expected`.
    fn verified(&mut self, variant: VariantIndex, sent: &Text, expected: &Text) -> Result<Seen, Fault> {
        let how = WAYS.get(variant.place()).copied().unwrap_or(WAYS[WRITE]);
        let capacity = self.capacities.of(variant);
        let pipe = Pipe::new(capacity)?;
        let sender = writer(how, pipe.input, capacity, sent)?;
        let verify = Arc::new(Mutex::new(Verify::new(pipe.output, expected.clone())));
        let receiver = Box::new(Shared(Arc::clone(&verify)));
        Link::new(sender, receiver, expected.pipeful(capacity)).lap(&mut self.team, CHECKED_PIPEFULS)?;
        let verdict = lock(&verify).verdict();
        Ok(match verdict {
            Ok(lines) => Seen::Met(format!("{lines} lines verified")),
            Err(wrong) => Seen::Broken(format!(
                "line {} should be `{}` and is `{}`",
                wrong.line, wrong.expected, wrong.actual
            )),
        })
    }
}

impl Apparatus for Pipes {
    /// Numbered lines, in which one that is lost, late or repeated shows; and then the line that is timed.
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let how = WAYS.get(variant.place()).copied();
        let text = changing(how.unwrap_or(WAYS[WRITE]));
        let sent = if how.is_some() { text.clone() } else { text.damaged_at(DAMAGED_LINE) };
        match self.verified(variant, &sent, &text)? {
            Seen::Met(_) => {
                let text = self.text.clone();
                self.verified(variant, &text, &text)
            }
            broken @ Seen::Broken(_) => Ok(broken),
        }
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let link = self.links.get(variant.place()).and_then(Option::as_ref);
        let link = link.ok_or_else(|| Failure::Wrong("not a variant of this cell".into()))?;
        Ok(link.lap(&mut self.team, iterations)?)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }

    /// User and system time of both ends, of threads that do nothing else: the kernel tells the two apart by
    /// where its ticks met a thread over the whole of its life.
    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        let Some(link) = self.links.get(variant.place()).and_then(Option::as_ref).filter(|_| self.accounted)
        else {
            return Ok(Vec::new());
        };
        let mut team = Team::gather(self.clock, &self.cpus)?;
        let first = link.lap(&mut team, LEAST_PIPEFULS)?;
        let one = (first.elapsed.0 / LEAST_PIPEFULS).max(1);
        let count = (ACCOUNTED.0 / one).clamp(LEAST_PIPEFULS, MOST_ACCOUNTED);
        let usage = link.lap(&mut team, count)?.usage;
        let gib = (count * link.work as u64) as f64 / f64::from(1 << 30);
        let gauge = |name: &str, time: Picoseconds| {
            let reading = Reading::Count(time.as_seconds() / gib);
            Gauge { variant, name: name.into(), reading }
        };
        Ok(vec![gauge("user s/GiB", usage.user), gauge("system s/GiB", usage.system)])
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = describe().variants;
        let missing = WAYS.iter().zip(&names).filter_map(|(&how, variant)| {
            let fault = probe(how).err()?;
            let sentence = format!("{} was not measured: it does not work here.", variant.name);
            Some(finding(sentence, fault.to_string(), "one page was tried"))
        });
        let mut findings: Vec<Finding> = missing.collect();
        if findings.is_empty() {
            findings.push(self.hazard()?);
        }
        Ok(findings)
    }
}

impl Pipes {
    /// A reader that keeps pages by `tee` looks at them after the writer has gone on.
    fn hazard(&mut self) -> Result<Finding, Fault> {
        const ROUNDS: usize = 4;
        // The default.
        let capacity = 64 << 10;
        let mut seen = Vec::new();
        for (name, how) in [
            ("vmsplice of two buffers", How::TwoBuffers { gift: false }),
            ("the same with SPLICE_F_GIFT", How::TwoBuffers { gift: true }),
            ("vmsplice of constant pages", How::Constant { huge: false }),
            ("tee", How::Tee),
            ("tee of large buffers", How::TeeLarge),
        ] {
            let text = changing(how);
            let pipe = Pipe::new(capacity)?;
            let mut sender = writer(how, pipe.input, capacity, &text)?;
            let held = std::thread::scope(|scope| {
                // A writer that fails drops its end, which ends the reader: its error is the reader's.
                scope.spawn(move || (0..ROUNDS).try_for_each(|_| sender.send(capacity)));
                hold(pipe.output, capacity, ROUNDS, &text)
            })?;
            seen.push((name, held));
        }
        let evidence = seen
            .iter()
            .map(|(name, held)| format!("{name}: {} of {} lines changed", held.changed, held.lines));
        let live = seen[0].1.changed;
        let sentence = if live > 0 {
            format!(
                "Pages given by vmsplice stay live: {live} of {} lines that a tee-ing reader held changed \
                 after they were sent from two buffers, {} with SPLICE_F_GIFT, and {} from constant pages.",
                seen[0].1.lines, seen[1].1.changed, seen[2].1.changed
            )
        } else {
            "This kernel copies what vmsplice is given: no line that a tee-ing reader held changed.".into()
        };
        let confidence = "deterministic: the writer fills its first buffer again before the reader looks";
        Ok(finding(sentence, semicolon(evidence), confidence))
    }
}

fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "pipe".into(), sentence, evidence, confidence: confidence.into() }
}

/// A reader that can be asked for its verdict after it was used.
struct Shared<R>(Arc<Mutex<R>>);

impl<R: Reader> Reader for Shared<R> {
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        lock(&self.0).take(bytes)
    }
}

/// The pipe experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    published: published::TABLES,
    formats: published::FORMATS,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Calls, Aspect::Wakes, Aspect::Memory])
};

#[cfg(test)]
mod tests;
