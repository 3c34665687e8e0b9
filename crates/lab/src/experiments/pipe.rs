//! `pipe`: printf, write or vmsplice? What a pipe carries, by writer, reader, size and placement.

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::pipe::{
    Discard, How, Keep, LARGE, Pipe, Reader, Text, Verify, Writer, hold, probe, writer,
};
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::{
    Arrangement, Bytes, Comparison, Descriptor, Effort, Finding, Parameter, Picoseconds, Published,
    Quantity, Refusal, Source, Variant,
};

use crate::published::rows;
use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};

/// The variants that are measured, in the order of the descriptor.
const WAYS: [How; 8] = [
    How::Printf,
    How::Write,
    How::TwoBuffers { gift: false },
    How::Constant { huge: false },
    How::Tee,
    How::Splice,
    How::Constant { huge: true },
    How::TeeLarge,
];
const PRINTF: u32 = 0;
const WRITE: u32 = 1;
const TWO_BUFFERS: u32 = 2;
const CONSTANT: u32 = 3;
const TEE: u32 = 4;
const SPLICE: u32 = 5;
const CONSTANT_HUGE: u32 = 6;
const TEE_LARGE: u32 = 7;

/// Sizes that an ordinary user may give a pipe: the seed's first, then the default and the limit.
const SIZES_KIB: [u64; 3] = [256, 64, 1024];
const READERS: [&str; 2] = ["splice", "read"];
/// One CPU first: there the scheduler alone decides who runs, and the answer is the sharpest. On two,
/// writer and reader now run in step and now wait for each other to be woken.
const PLACEMENTS: [&str; 2] = ["same", "two"];

/// An epoch fills the pipe at least this many times: the first pipeful meets no resistance.
const LEAST_PIPEFULS: u64 = 2;

/// Pipefuls on the pass that is checked: every buffer of every way is used again.
const CHECKED_PIPEFULS: u64 = 8;

/// The hazard is shown in a pipe of the default size.
const HAZARD_SIZE: usize = 64 << 10;

/// A line in this many is damaged by the planted fault: the 1000th.
const DAMAGED_LINE: usize = 1_000;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let settings = request.settings;
    let sizes = if request.effort == Effort::Quick { &SIZES_KIB[..1] } else { &SIZES_KIB[..] };
    let sizes = settings.list("size", sizes, "a power of two from 4 to 1024 (KiB)", |kib| {
        (4..=1024).contains(kib) && kib.is_power_of_two()
    })?;
    let named = |key, values: [&'static str; 2]| {
        let expected = format!("one of {}", values.join(", "));
        let all = values.map(String::from);
        settings.list(key, &all, &expected, |value: &String| values.contains(&value.as_str()))
    };
    let readers = named("reader", READERS)?;
    let placements = named("placement", PLACEMENTS)?;
    // What does not work here is left out and named in a finding; the others still answer.
    let variants: Vec<u32> = (0..WAYS.len() as u32)
        .filter(|&variant| probe(WAYS[variant as usize]).is_ok())
        .filter(|&variant| variant != CONSTANT_HUGE || request.effort != Effort::Quick)
        .collect();
    let mut cells = Vec::new();
    for &kib in &sizes {
        for placement in &placements {
            for reader in &readers {
                cells.push(cell(request, kib, reader, placement, &variants, cells.is_empty()));
            }
        }
    }
    Ok(cells.into())
}

fn cell(
    request: &Request<'_>,
    kib: u64,
    reader: &str,
    placement: &str,
    variants: &[u32],
    headline: bool,
) -> Arrangement {
    let to = if reader == "splice" { "spliced to /dev/null" } else { "read into a buffer" };
    let (cpus, place) = match placement {
        "same" => (vec![request.cpus[0]; 2], "on one CPU"),
        // Where there is one CPU the two are the same, and `open` refuses the cell.
        _ => (request.cpus.iter().copied().cycle().take(2).collect(), "on two CPUs"),
    };
    let size = Bytes::from_kib(kib);
    let fits = |&variant: &u32| variant != TEE_LARGE || size.0.is_multiple_of(LARGE as u64);
    let variants: Vec<u32> = variants.iter().copied().filter(fits).collect();
    // The most telling first: the two ends of the scale, then everything against the seed's first
    // program (printf) and its last (vmsplice with two buffers).
    let against = |right: u32| variants.iter().map(move |&left| Comparison { left, right });
    let mut comparisons =
        vec![Comparison { left: TEE_LARGE, right: WRITE }, Comparison { left: CONSTANT, right: WRITE }];
    comparisons.extend(against(PRINTF).chain(against(TWO_BUFFERS)));
    comparisons.extend(
        [(TEE, CONSTANT), (SPLICE, TEE), (TEE_LARGE, TEE)].map(|(left, right)| Comparison { left, right }),
    );
    comparisons.retain(|pair| {
        // The last program against the first is there already, the other way round.
        let again = *pair == Comparison { left: PRINTF, right: TWO_BUFFERS };
        !again && pair.left != pair.right && variants.contains(&pair.left) && variants.contains(&pair.right)
    });
    Arrangement {
        label: format!("{to} {place} through {size}"),
        parameters: vec![
            ("size".into(), kib.to_string()),
            ("reader".into(), reader.into()),
            ("placement".into(), placement.into()),
        ],
        cpus,
        work: size.0,
        epoch: describe().epoch,
        least_iterations: LEAST_PIPEFULS,
        variants,
        comparisons,
        headline,
        ..Arrangement::default()
    }
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let two = arrangement.parameters.iter().any(|(key, value)| key == "placement" && value == "two");
    if two && request.cpus.len() < 2 {
        return Err(Unfit::Refused(Refusal {
            reached: "this process may use 1 CPU".into(),
            needs: "2, one for the writer and one for the reader".into(),
            remedy: "allow it another CPU (taskset, cpuset), or --set placement=same".into(),
        }));
    }
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    let reader = arrangement.parameters.iter().find(|(key, _)| key == "reader").map(|(_, value)| value);
    let splices = reader.is_some_and(|reader| reader == "splice");
    let capacity = arrangement.work as usize;
    let mut lines = Vec::new();
    for (variant, &how) in WAYS.iter().enumerate() {
        let measured = arrangement.variants.contains(&(variant as u32));
        lines.push(if measured { Some(Line::lay(how, capacity, splices)?) } else { None });
    }
    Ok(Box::new(Pipes { team, lines, capacity }))
}

/// One pipe with a writer and a reader, each worn out by its first error.
struct Line {
    sender: Mutex<Option<Box<dyn Writer>>>,
    receiver: Mutex<Option<Box<dyn Reader>>>,
    trouble: Mutex<Option<io::Error>>,
    capacity: usize,
}

struct Pipes {
    team: Team,
    lines: Vec<Option<Arc<Line>>>,
    capacity: usize,
}

impl Line {
    fn lay(how: How, capacity: usize, splices: bool) -> Result<Arc<Self>, Unfit> {
        let pipe = Pipe::new(capacity)?;
        if pipe.capacity != capacity {
            // Two buffers of a smaller size than the pipe's would be written while they are read.
            let size = |bytes: usize| Bytes(bytes as u64);
            return Err(Unfit::Refused(Refusal {
                reached: format!("the kernel made a pipe of {} into one of {}", size(capacity), size(pipe.capacity)),
                needs: "a pipe of the size that was asked for, in whole pages of this machine".into(),
                remedy: format!("--set size={}", pipe.capacity >> 10),
            }));
        }
        let receiver: Box<dyn Reader> =
            if splices { Box::new(Discard::new(pipe.output)?) } else { Box::new(Keep::new(pipe.output)) };
        let sender = writer(how, pipe.input, capacity, &Text::yes())?;
        Ok(Arc::new(Self::new(sender, Some(receiver), capacity)))
    }

    fn new(sender: Box<dyn Writer>, receiver: Option<Box<dyn Reader>>, capacity: usize) -> Self {
        let (sender, receiver) = (Mutex::new(Some(sender)), Mutex::new(receiver));
        Self { sender, receiver, trouble: Mutex::new(None), capacity }
    }

    /// The part of worker 0, the writer, or 1, the reader, in an epoch of `pipefuls`.
    fn work(&self, worker: usize, pipefuls: u64) {
        let bytes = pipefuls as usize * self.capacity;
        if worker == 0 {
            self.with_end(&self.sender, |sender| sender.send(bytes));
        } else {
            self.with_end(&self.receiver, |receiver| receiver.take(bytes));
        }
    }

    /// Uses one end. An error is noted and then drops the end, in this order: the other side sees the
    /// pipe's end, does not wait, and comes second with what is only a consequence. A panic drops it too.
    fn with_end<T: ?Sized>(
        &self,
        end: &Mutex<Option<Box<T>>>,
        work: impl FnOnce(&mut T) -> io::Result<()>,
    ) {
        let mut place = lock(end);
        let Some(mut held) = place.take() else { return };
        match work(&mut held) {
            Ok(()) => *place = Some(held),
            Err(error) => {
                lock(&self.trouble).get_or_insert(error);
            }
        }
    }

    /// Runs `pipefuls` through the line and reports what went wrong on the way.
    fn lap(self: &Arc<Self>, team: &mut Team, pipefuls: u64) -> Result<Lap, Fault> {
        let line = Arc::clone(self);
        let task: Task = Arc::new(move |worker, pipefuls| {
            line.work(worker, pipefuls);
            0
        });
        let lap = team.lap(&task, pipefuls)?;
        let worn_out = lock(&self.sender).is_none() || lock(&self.receiver).is_none();
        match lock(&self.trouble).take() {
            None if worn_out => Err(Fault::system("use a pipe that failed before", io::ErrorKind::BrokenPipe)),
            None => Ok(lap),
            Some(error) => Err(Fault::system(format!("carry {pipefuls} pipefuls"), error)),
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
        How::Printf | How::Write | How::TwoBuffers { .. } => 65_537,
        How::Constant { .. } | How::Tee | How::TeeLarge | How::Splice => 4096 / Text::NUMBERED,
    })
}

impl Apparatus for Pipes {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        let how = WAYS.get(variant as usize).copied();
        let text = changing(how.unwrap_or(How::Write));
        let sent = if how.is_some() { text.clone() } else { text.damaged_at(DAMAGED_LINE) };
        let pipe = Pipe::new(self.capacity)?;
        let sender = writer(how.unwrap_or(How::Write), pipe.input, self.capacity, &sent)?;
        let verify = Arc::new(Mutex::new(Verify::new(pipe.output, text)));
        let line = Arc::new(Line::new(sender, Some(Box::new(Shared(Arc::clone(&verify)))), self.capacity));
        line.lap(&mut self.team, CHECKED_PIPEFULS)?;
        let verdict = lock(&verify).verdict();
        Ok(match verdict {
            Ok(lines) => Seen::Met(format!("{lines} lines verified")),
            Err(wrong) => Seen::Broken(format!(
                "line {} should be `{}` and is `{}`",
                wrong.line, wrong.expected, wrong.found
            )),
        })
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
        let line = self.lines.get(variant as usize).and_then(Option::as_ref);
        let line = line.ok_or_else(|| Failure::Wrong("not a variant of this cell".into()))?;
        Ok(line.lap(&mut self.team, iterations)?)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = describe().variants;
        let missing = WAYS.iter().zip(&names).filter_map(|(&how, variant)| {
            let fault = probe(how).err()?;
            Some(Finding {
                experiment: "pipe".into(),
                sentence: format!("{} was not measured: it does not work here.", variant.name),
                evidence: fault.to_string(),
                confidence: "one page was tried".into(),
            })
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
        let capacity = HAZARD_SIZE;
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
        let evidence: Vec<String> = seen
            .iter()
            .map(|(name, held)| format!("{name}: {} of {} lines changed", held.changed, held.lines))
            .collect();
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
        Ok(Finding {
            experiment: "pipe".into(),
            sentence,
            evidence: evidence.join("; "),
            confidence: "deterministic: the writer fills its first buffer again before the reader looks".into(),
        })
    }
}

/// A reader that can be asked for its verdict after the line has used it.
struct Shared<R>(Arc<Mutex<R>>);

impl<R: Reader> Reader for Shared<R> {
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        lock(&self.0).take(bytes)
    }
}

/// The seed's figures: seconds for the same 24 GiB, so their ratio is a ratio of throughput.
fn published() -> Vec<Published> {
    let rows = rows(include_str!("../../../../fixtures/published/yes.csv"));
    let pairs = [
        ("write 8 KiB", "printf", "write", "printf"),
        ("vmsplice 256 KiB x2", "printf", "vmsplice of two buffers", "printf"),
        ("write 8 KiB", "vmsplice 256 KiB x2", "write", "vmsplice of two buffers"),
    ];
    let mut published = Vec::new();
    for machine in ["Intel Pentium J4205", "AMD Ryzen 7 5700X"] {
        let seconds = |variant: &str| {
            rows.iter()
                .find(|row| row.text("machine").starts_with(machine) && row.text("variant") == variant)
                .and_then(|row| row.number("seconds"))
        };
        for (left_there, right_there, left, right) in pairs {
            let (Some(fast), Some(slow)) = (seconds(left_there), seconds(right_there)) else { continue };
            published.push(Published {
                machine: machine.into(),
                date: "2023-11-06".into(),
                what: format!("24 GiB into pv on another CPU: {left_there} {fast} s, {right_there} {slow} s"),
                measure: "elapsed time".into(),
                cell: format!("read into a buffer on two CPUs through {}", Bytes::from_kib(256)),
                left: left.into(),
                right: right.into(),
                ratio: Some(slow / fast),
            });
        }
    }
    published
}

fn describe() -> Descriptor {
    Descriptor {
        name: "pipe".into(),
        question: "How should lines be put into a pipe: printf, write or vmsplice?".into(),
        requirement: "seeds 000 and 001: `yes` made 160 times faster by vmsplice; what of that is safe, \
                      and does it hold on this machine"
            .into(),
        specification: "the reader receives every line, whole and in order".into(),
        subject: "Through a pipe".into(),
        quantity: Quantity::BytesPerSecond,
        variants: vec![
            Variant::measured("printf", "one fprintf(3) a line through the C library's buffer"),
            Variant::measured("write", "write(2) of as many whole lines as the seed's 8 KiB hold (8190 bytes)"),
            Variant::measured(
                "vmsplice of two buffers",
                "the seed's: copy lines into one of two buffers of the pipe's size, give its pages",
            ),
            Variant::measured("vmsplice of constant pages", "give the same pages again and again, no copy"),
            Variant::measured("tee", "fill a pipe once, duplicate its pages by tee(2)"),
            Variant::measured("splice", "splice(2) from a file in memory that is written once"),
            Variant::measured("constant huge page", "vmsplice of constant pages that lie in a huge page"),
            Variant::measured(
                "tee of large buffers",
                "the same with buffers of 32 KiB, made by splicing from a socket: eight pages in one place of the pipe",
            ),
            Variant::sabotage("one wrong byte", "write with one byte of line 1000 changed"),
        ],
        parameters: vec![
            Parameter::new("size", "256,64,1024 (256 with --quick)", "sizes of the pipe in KiB, powers of two"),
            Parameter::new("reader", "splice,read", "splice to /dev/null, or read into 128 KiB"),
            Parameter::new("placement", "same,two", "writer and reader on the same CPU or on two"),
        ],
        margin: 0.02,
        epoch: Picoseconds::from_millis(2),
        privileges: "none".into(),
        touches: "none".into(),
        sources: vec![
            Source::new("seeds 000 and 001, 2023-11-06", "the first three variants and the tester"),
            Source::new("vmsplice(2), tee(2), splice(2), pipe(7)", "what the calls promise, and pipe-max-size"),
            Source::new("GNU coreutils, yes.c", "8 KiB of whole lines in one write"),
            Source::new("uutils coreutils, pull request 11458", "write once, then tee"),
            Source::new(
                "Linux, net/unix/af_unix.c and net/core/skbuff.c (skb_splice_bits)",
                "what went through a socket lies in pieces of 32 KiB, and each becomes one buffer of a pipe",
            ),
        ],
        published: published(),
        ..Descriptor::default()
    }
}

/// The pipe experiment.
pub const EXPERIMENT: Experiment = Experiment { describe, plan, open, published: None };
