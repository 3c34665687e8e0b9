//! Stacks of a command in words: where its threads were on a CPU, and where they waited; and as other tools
//! read them.

pub mod export;
mod firefox;
mod folded;
mod perfetto;
mod pprof;
pub(crate) mod protobuf;
mod recording;
mod speedscope;

use std::cmp::Reverse;
use std::collections::BTreeMap;

use tenbin_document::{Document, Table};
use tenbin_model::stacks::{Frame, Sample, State};
use tenbin_model::words::{comma, counted, percent};
use tenbin_model::{Order, Picoseconds, Stacks};
use tenbin_stats::proportion::clopper_pearson;

/// Rows of a table.
const ROWS: usize = 12;

/// Instructions that are shown.
const INSTRUCTIONS: usize = 6;

/// Functions of user code that say where a thread waited, the innermost first.
const CALLERS: usize = 4;

/// From which share of the samples on it is said that a file has no names.
const NAMELESS: f64 = 0.1;

/// How often the interval of a share may miss it.
const LEVEL: f64 = 0.05;

/// How the kernel calls what serves a system call (`include/linux/syscalls.h` and `arch/*/include/asm`).
const SERVES: [&str; 5] = ["__x64_sys_", "__arm64_sys_", "__riscv_sys_", "__se_sys_", "__do_sys_"];

/// Where a stack begins that was walked to its end.
const OUTERMOST: [&str; 8] = [
    "_start",
    "main",
    "__libc_start_main",
    "__libc_start_call_main",
    "start_thread",
    "clone",
    "clone3",
    "__clone",
];

/// Where the threads were, the answer first.
pub fn document(stacks: &Stacks) -> Document {
    let sums = Sums::of(stacks);
    let mut document = Document::new();
    document.paragraph(0, answer(stacks, &sums));
    if !sums.functions.is_empty() {
        document.space().table(hottest(&sums));
    }
    if let Some(table) = instructions(stacks, &sums) {
        document.space().table(table);
        let sentence = "The instruction is the one that was to be executed next: what took long may be the one before it.";
        document.paragraph(2, sentence);
    }
    if let Some(table) = waits(stacks, &sums) {
        document.space().table(table);
    }
    if let Some(sentence) = nameless(&sums) {
        document.space().paragraph(0, sentence);
    }
    if let Some(sentence) = shallow(stacks) {
        document.space().paragraph(0, sentence);
    }
    for sentence in &stacks.unseen {
        document.space().paragraph(0, sentence);
    }
    document
}

/// Samples of a function.
struct Function<'a> {
    frame: &'a Frame,
    /// Samples in it, and in it or what it called.
    own: u64,
    all: u64,
    /// Samples in it by line.
    lines: BTreeMap<(&'a str, u32), u64>,
}

struct Sums<'a> {
    /// Samples on a CPU.
    samples: u64,
    on_cpu: Picoseconds,
    blocked: Picoseconds,
    queued: Picoseconds,
    /// That of most own samples first.
    functions: Vec<Function<'a>>,
}

impl<'a> Sums<'a> {
    fn of(stacks: &'a Stacks) -> Self {
        let time = |state| stacks.samples.iter().filter(|it| it.state == state).map(|it| it.time).sum();
        let mut functions: BTreeMap<(&str, &str), Function<'_>> = BTreeMap::new();
        let mut samples = 0_u64;
        for sample in stacks.samples.iter().filter(|sample| sample.state == State::OnCpu) {
            samples += sample.count;
            let mut seen: Vec<(&str, &str)> = Vec::new();
            for (place, depth) in stacks.frames_of(sample.stack).zip(0..) {
                let frame = &stacks.frames[place as usize];
                let key = (named(frame).unwrap_or_default(), frame.module.as_str());
                let function = functions.entry(key).or_insert_with(|| Function {
                    frame,
                    own: 0,
                    all: 0,
                    lines: BTreeMap::new(),
                });
                if depth == 0 {
                    function.own += sample.count;
                    if let (Some(source), Some(line)) = (&frame.source, frame.line) {
                        *function.lines.entry((source, line)).or_default() += sample.count;
                    }
                }
                // One that calls itself was there once.
                if !seen.contains(&key) {
                    function.all += sample.count;
                    seen.push(key);
                }
            }
        }
        let mut functions: Vec<_> = functions.into_values().collect();
        functions.order_by_key(|it| (Reverse(it.own), Reverse(it.all), named(it.frame).unwrap_or_default()));
        let [on_cpu, blocked, queued] = [State::OnCpu, State::Blocked, State::Queued].map(time);
        Self { samples, on_cpu, blocked, queued, functions }
    }
}

/// The name of a function. None where its file has none for it: what stands in its place is where in the file
/// the code is, and all such code of a file is one row.
fn named(frame: &Frame) -> Option<&str> {
    let module = frame.module.rsplit('/').next().unwrap_or_default();
    let place = frame.function.strip_prefix(module).filter(|_| !module.is_empty());
    let is_place = place.is_some_and(|place| place.starts_with("+0x")) || frame.function.starts_with("0x");
    (!is_place).then_some(&frame.function)
}

impl Function<'_> {
    /// Its name with the line in which most of its samples are.
    fn name(&self) -> String {
        let Some(function) = named(self.frame) else {
            return match self.module() {
                "" => "code of no file".into(),
                module => format!("{module} (no name)"),
            };
        };
        match self.lines.iter().max_by_key(|(place, count)| (**count, Reverse(**place))) {
            None => function.to_owned(),
            Some(((source, line), _)) => format!("{function} ({source}:{line})"),
        }
    }

    fn module(&self) -> &str {
        self.frame.module.rsplit('/').next().unwrap_or_default()
    }
}

fn answer(stacks: &Stacks, sums: &Sums<'_>) -> String {
    let command = match &stacks.command[..] {
        [] => "The command".to_owned(),
        words => format!("`{}`", words.join(" ")),
    };
    let threads = counted(stacks.threads.len(), "thread");
    let mut parts = vec![format!("{} on a CPU", sums.on_cpu)];
    if sums.queued > Picoseconds::ZERO {
        parts.push(format!("{} queued for one", sums.queued));
    }
    if sums.blocked > Picoseconds::ZERO {
        parts.push(format!("{} blocked", sums.blocked));
    }
    let whole = format!("{command} took {}, its {threads} together: {}.", stacks.wall, comma(parts));
    if sums.samples == 0 {
        return format!("The sampling clock never ticked while it was on a CPU. {whole}");
    }
    let named = sums.functions.iter().filter(|it| it.own > 0).take(3).map(|function| {
        let share = function.own as f64 / sums.samples as f64;
        let interval = clopper_pearson(function.own, sums.samples, LEVEL);
        let interval = interval.map_or_else(String::new, |interval| {
            format!(" ({} to {})", percent(interval.low), percent(interval.high))
        });
        format!("{}{interval} in `{}`", percent(share), function.name())
    });
    let count = usize::try_from(sums.samples).unwrap_or(usize::MAX);
    format!("Of {} on a CPU, {}. {whole}", counted(count, "sample"), comma(named))
}

fn hottest(sums: &Sums<'_>) -> Table {
    let share = |count: u64| percent(count as f64 / sums.samples as f64);
    let rows = sums.functions.iter().take(ROWS).map(|function| {
        let (own, module) = (function.own.to_string(), function.module().to_owned());
        vec![function.name(), own, share(function.own), share(function.all), module]
    });
    let header = ["on a CPU in", "samples", "itself", "with what it called", "of"];
    Table::new(header, rows.collect()).with_words(4)
}

/// The instructions of most samples, as disassemblers name their places.
fn instructions(stacks: &Stacks, sums: &Sums<'_>) -> Option<Table> {
    let mut most: Vec<_> = stacks.instructions.iter().collect();
    most.order_by_key(|it| (Reverse(it.count), it.frame, it.offset));
    let rows = most.iter().take(INSTRUCTIONS).map(|instruction| {
        let frame = &stacks.frames[instruction.frame as usize];
        let line = frame.source.as_ref().zip(frame.line);
        vec![
            format!("{}+{:#x}", frame.function, instruction.offset),
            instruction.count.to_string(),
            percent(instruction.count as f64 / sums.samples.max(1) as f64),
            line.map_or_else(|| "–".into(), |(source, line)| format!("{source}:{line}")),
        ]
    });
    let rows: Vec<_> = rows.collect();
    (!rows.is_empty()).then(|| Table::new(["instruction", "samples", "share", "line"], rows).with_words(3))
}

/// Where a thread left its CPU: what of the kernel, and the functions that led there.
fn place(stacks: &Stacks, sample: &Sample) -> (String, String) {
    let frames: Vec<&Frame> =
        stacks.frames_of(sample.stack).map(|place| &stacks.frames[place as usize]).collect();
    let (kernel, user): (Vec<&Frame>, Vec<&Frame>) = frames.into_iter().partition(|it| it.is_kernel());
    let call = kernel.iter().find_map(|frame| {
        SERVES.iter().find_map(|prefix| frame.function.strip_prefix(prefix)).map(str::to_owned)
    });
    let fallback = kernel.iter().map(|frame| frame.function.as_str()).find(|it| !it.contains("schedule"));
    let call = call.unwrap_or_else(|| fallback.unwrap_or("?").to_owned());
    // Where a stack was walked wrongly, there is no code.
    let code = user.iter().filter(|frame| !frame.module.is_empty());
    let callers: Vec<&str> = code.take(CALLERS).map(|frame| frame.function.as_str()).collect();
    (call, if callers.is_empty() { "?".into() } else { callers.join(" ← ") })
}

#[derive(Default)]
struct Wait<'a> {
    times: u64,
    time: Picoseconds,
    wakers: BTreeMap<&'a str, Picoseconds>,
}

/// Where threads were blocked, the longest first.
fn waits(stacks: &Stacks, sums: &Sums<'_>) -> Option<Table> {
    let blocked = || stacks.samples.iter().filter(|sample| sample.state == State::Blocked);
    let mut places: BTreeMap<Option<u32>, (String, String)> = BTreeMap::new();
    for sample in blocked() {
        places.entry(sample.stack).or_insert_with(|| place(stacks, sample));
    }
    let mut named: BTreeMap<&(String, String), Wait<'_>> = BTreeMap::new();
    for sample in blocked() {
        let wait = named.entry(&places[&sample.stack]).or_default();
        wait.times += sample.count;
        wait.time += sample.time;
        *wait.wakers.entry(sample.waker.as_deref().unwrap_or("?")).or_default() += sample.time;
    }
    let mut named: Vec<_> = named.into_iter().collect();
    named.order_by_key(|(_, wait)| Reverse(wait.time));
    let rows = named.iter().take(ROWS).map(|((call, callers), wait)| {
        let waker = wait.wakers.iter().max_by_key(|(_, time)| **time).map_or("?", |(waker, _)| waker);
        vec![
            call.clone(),
            callers.clone(),
            wait.times.to_string(),
            wait.time.to_string(),
            percent(wait.time.0 as f64 / sums.blocked.0.max(1) as f64),
            waker.to_owned(),
        ]
    });
    let rows: Vec<_> = rows.collect();
    let header = ["blocked in", "from", "times", "blocked", "share", "woken most by"];
    (!rows.is_empty()).then(|| Table::new(header, rows).with_words(1).with_words(5))
}

/// Which file has no names for what was often on a CPU, and what gives it names.
fn nameless(sums: &Sums<'_>) -> Option<String> {
    let hottest = sums.functions.iter().find(|it| named(it.frame).is_none() && !it.module().is_empty())?;
    let share = hottest.own as f64 / sums.samples.max(1) as f64;
    (share >= NAMELESS && !hottest.frame.is_kernel()).then(|| {
        format!(
            "`{}` has no names for {} of the samples: it was stripped. Debug symbols beside it, or a build that keeps \
             its symbol table, give them; --export has the places in the file.",
            hottest.module(),
            percent(share)
        )
    })
}

/// That stacks of user code are short, where most are.
fn shallow(stacks: &Stacks) -> Option<String> {
    let (mut with, mut short) = (0_u64, 0_u64);
    for sample in stacks.samples.iter().filter(|sample| sample.state == State::OnCpu) {
        let frames = stacks.frames_of(sample.stack).map(|place| &stacks.frames[place as usize]);
        let user: Vec<&Frame> = frames.filter(|frame| !frame.is_kernel()).collect();
        let Some(outermost) = user.last() else { continue };
        with += sample.count;
        // A C library calls `main` from a function whose name it keeps for itself.
        let is_whole =
            user.len() == 2 && outermost.module.rsplit('/').next().unwrap_or_default().starts_with("libc.");
        if user.len() <= 2 && !is_whole && !OUTERMOST.contains(&outermost.function.as_str()) {
            short += sample.count;
        }
    }
    (short * 2 > with).then(|| {
        format!(
            "{short} of {with} stacks of user code end after one or two functions: stacks are walked by frame pointers, \
             which this code was built without (`-fno-omit-frame-pointer` keeps them)."
        )
    })
}

#[cfg(test)]
mod tests;
