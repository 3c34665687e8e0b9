//! A cell whose machine was in several states: when each was, what else was different then, and whether one
//! answer holds in all of them.

use tenbin_model::unit::three_digits;
use tenbin_model::words::comma;
use tenbin_model::{Cell, Evidence, Figure, Machine, Order, Probe, Refusal, Regime, Stretch, Verdict};

use tenbin_stats::order::Ordered;
use tenbin_stats::paired::{LogRatios, as_ratios};
use tenbin_stats::regimes;

/// A figure that differs by less than this factor between two regimes explains nothing.
const TELLING: f64 = 1.25;

/// A part of the time that is taken away below this is taken away all the time, somewhere.
const STEALING: f64 = 0.02;

/// Names of the figures that tell regimes apart.
const CPU_TIME: &str = "CPU time a second";
const SWITCHES: &str = "context switches a second";
const STOLEN: &str = "CPU time stolen a second";
const SPIN: &str = "a fixed loop of additions";
const LINE: &str = "a line there and back";

/// The regimes of `ratios`, with when each was and what was seen of the machine then.
pub(super) fn described(cell: &Cell, ratios: &LogRatios, regimes: &[regimes::Regime]) -> Vec<Regime> {
    if regimes.is_empty() {
        return Vec::new();
    }
    let blocks = Blocks::of(cell);
    let described = regimes.iter().map(|regime| {
        let numbers: Vec<(u32, u32)> = regime
            .parts
            .iter()
            .map(|part| (ratios.blocks[part.start], ratios.blocks[part.end - 1]))
            .collect();
        let stretch =
            |&(first, last): &(u32, u32)| Stretch { from: blocks.start(first), to: blocks.end(last) };
        Regime {
            ratio: regime.median.exp(),
            interval: as_ratios(regime.interval),
            blocks: regime.count(),
            seconds: numbers.iter().map(stretch).map(|stretch| stretch.to - stretch.from).sum(),
            turns: numbers.len(),
            stretches: numbers.iter().map(stretch).take(Regime::STRETCHES).collect(),
            figures: blocks.figures(&cell.probes, &numbers),
        }
    });
    described.collect()
}

/// What happened in each block of a cell.
struct Blocks {
    /// Running time of the epochs before each block and, at the end, of all: seconds.
    since: Vec<f64>,
    /// User and system time of the workers, and their context switches.
    used: Vec<(f64, f64)>,
}

impl Blocks {
    fn of(cell: &Cell) -> Self {
        let count = cell.samples.last().map_or(0, |sample| sample.block as usize + 1);
        let mut blocks = Self { since: vec![0.0; count + 1], used: vec![(0.0, 0.0); count] };
        for sample in &cell.samples {
            let block = sample.block as usize;
            if block < count {
                blocks.since[block + 1] += sample.elapsed.as_seconds();
                blocks.used[block].0 += (sample.user + sample.system).as_seconds();
                blocks.used[block].1 += f64::from(sample.voluntary_switches + sample.involuntary_switches);
            }
        }
        for block in 0..count {
            blocks.since[block + 1] += blocks.since[block];
        }
        blocks
    }

    fn start(&self, block: u32) -> f64 {
        self.since[block as usize]
    }

    fn end(&self, block: u32) -> f64 {
        self.since[block as usize + 1]
    }

    /// What was seen in these blocks, first to last of each stretch: medians, where a figure is not a share
    /// of time.
    fn figures(&self, probes: &[Probe], stretches: &[(u32, u32)]) -> Vec<Figure> {
        let within = |block: u32| stretches.iter().any(|&(first, last)| (first..=last).contains(&block));
        let seconds: f64 = stretches.iter().map(|&(first, last)| self.end(last) - self.start(first)).sum();
        let of = |field: fn(&(f64, f64)) -> f64| -> f64 {
            let used = stretches.iter().flat_map(|&(first, last)| &self.used[first as usize..=last as usize]);
            used.map(field).sum::<f64>() / seconds
        };
        let mut figures = Vec::new();
        if seconds > 0.0 {
            figures.push(Figure::new(CPU_TIME, of(|used| used.0), "s"));
            figures.push(Figure::new(SWITCHES, of(|used| used.1), "1"));
        }
        if let Some((stolen, time)) = stolen(probes, within) {
            figures.push(Figure::new(STOLEN, stolen / time, "s"));
        }
        let here = || probes.iter().filter(|probe| within(probe.block));
        let slowest = here().filter_map(|probe| Some(probe.spins.iter().max()?.as_nanos()));
        figures.extend(median(slowest.collect()).map(|median| Figure::new(SPIN, median, "ns")));
        let lines = here().filter_map(|probe| Some(probe.line?.as_nanos()));
        figures.extend(median(lines.collect()).map(|median| Figure::new(LINE, median, "ns")));
        figures
    }
}

/// CPU time that the host took in blocks that are `within`, and the time that passed: seconds. None where
/// that was not observed.
pub(super) fn stolen(probes: &[Probe], within: impl Fn(u32) -> bool) -> Option<(f64, f64)> {
    // Between two probes with blocks between them nothing but those ran; without, there were other cells.
    let pairs = probes.windows(2).filter(|pair| {
        let ran = pair[1].block > pair[0].block && pair[1].since > pair[0].since;
        ran && within(pair[0].block) && within(pair[1].block - 1)
    });
    let stolen = pairs.filter_map(|pair| {
        let taken = pair[1].stolen?.saturating_sub(pair[0].stolen?);
        Some((taken.as_seconds(), pair[1].since.saturating_sub(pair[0].since).as_seconds()))
    });
    stolen.reduce(|one, other| (one.0 + other.0, one.1 + other.1))
}

fn median(values: Vec<f64>) -> Option<f64> {
    Some(Ordered::new(values)?.median())
}

/// What a ratio with its interval comes to by itself: a verdict, and of two that differ on which side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stance(pub Verdict, pub bool);

/// Two regimes that are decided, each in another way; and so no answer holds in both. Of several such pairs
/// the longest.
pub fn contradiction(evidence: &Evidence, stance: impl Fn(&Regime) -> Stance) -> Option<(&Regime, &Regime)> {
    let decided = evidence.regimes.iter().filter(|regime| stance(regime).0 != Verdict::Refused);
    let mut longest: Vec<&Regime> = decided.collect();
    longest.order_by_key(|regime| std::cmp::Reverse(regime.blocks));
    let one = *longest.first()?;
    let apart = |other: &Regime| {
        let gap = (other.interval.low / one.interval.high).max(one.interval.low / other.interval.high);
        stance(other) != stance(one) && gap > 1.0 + evidence.margin
    };
    let other = longest.into_iter().find(|other| apart(other))?;
    let first = |regime: &Regime| regime.stretches.first().map_or(0.0, |stretch| stretch.from);
    Some(if first(one) <= first(other) { (one, other) } else { (other, one) })
}

/// The refusal of a question that has two answers. `in_words` puts the answer of one regime in words.
pub fn it_depends(
    machine: &Machine,
    cell: &Cell,
    evidence: &Evidence,
    (one, other): (&Regime, &Regime),
    in_words: impl Fn(&Regime) -> String,
) -> Refusal {
    let rest = match evidence.regimes.len() - 2 {
        0 => String::new(),
        1 => ", with one more state in between".into(),
        more => format!(", with {more} more states"),
    };
    Refusal {
        reached: format!(
            "it depends: {} {}, and {} {}{rest}{}",
            in_words(one),
            when(one, evidence),
            in_words(other),
            when(other, evidence),
            changed(machine, cell, one, other).map_or_else(String::new, |changed| format!("; {changed}"))
        ),
        needs: "one answer for as long as it is measured".into(),
        remedy: "run it again when nothing else runs, or on CPUs that nobody moves".into(),
    }
}

/// When a regime was: "for the first 4.1 s", "for 3 s in 4 stretches".
pub fn when(regime: &Regime, evidence: &Evidence) -> String {
    let stretches = || evidence.regimes.iter().flat_map(|regime| &regime.stretches);
    let start = stretches().map(|stretch| stretch.from).fold(f64::INFINITY, f64::min);
    let end = stretches().map(|stretch| stretch.to).fold(0.0, f64::max);
    let time = time(regime.seconds);
    match regime.stretches.as_slice() {
        [only] if only.from <= start => format!("for the first {time}"),
        [only] if only.to >= end => format!("for the last {time}"),
        [only] => format!("for {time} from {} on", self::time(only.from)),
        _ => format!("for {time} in {} stretches", regime.turns),
    }
}

fn time(seconds: f64) -> String {
    if seconds >= 1.0 {
        format!("{} s", three_digits(seconds))
    } else {
        format!("{} ms", three_digits(seconds * 1e3))
    }
}

/// What else was different in the one regime and in the other, and what that may mean. None if nothing was
/// seen.
fn changed(machine: &Machine, cell: &Cell, one: &Regime, other: &Regime) -> Option<String> {
    let of = |regime: &Regime, name: &str| {
        regime.figures.iter().find(|figure| figure.name == name).map(|figure| figure.value)
    };
    // From the first of the two to the second: which way it went, and by how much.
    let went = |name: &str| {
        let (before, after) = (of(one, name)?, of(other, name)?);
        let factor = after / before;
        let telling = before > 0.0 && after > 0.0 && !(1.0 / TELLING..=TELLING).contains(&factor);
        telling.then_some(factor)
    };
    let mut seen = Vec::new();
    for (name, title) in [
        (CPU_TIME, "the workers' CPU time per second"),
        (SWITCHES, "their context switches per second"),
        (SPIN, "the time of a fixed loop"),
        (LINE, "the round-trip time of a line between the CPUs"),
    ] {
        seen.extend(went(name).map(|factor| {
            let (way, factor) = if factor > 1.0 { ("rose", factor) } else { ("fell", 1.0 / factor) };
            format!("{title} {way} {}x", three_digits(factor))
        }));
    }
    let stolen = [one, other].map(|regime| of(regime, STOLEN).unwrap_or(0.0));
    let stealing = (stolen[0] - stolen[1]).abs() > STEALING;
    if stealing {
        let percent = stolen.map(|part| format!("{} %", three_digits(part * 100.0)));
        seen.push(format!("the CPU time that the host took went from {} to {}", percent[0], percent[1]));
    }
    let several = cell.arrangement.cpus.iter().any(|cpu| Some(cpu) != cell.arrangement.cpus.first());
    let guest = machine.is_guest();
    let guess = match () {
        () if several && guest && went(LINE).is_some() => {
            Some("did the host move these CPUs, onto one core or apart?")
        }
        () if stealing => Some("did others run on these CPUs of the host?"),
        () if went(SWITCHES).is_some() => Some("did other work run on these CPUs?"),
        () if went(SPIN).is_some() => {
            Some("did the clock rate change, or another thread run on the same core?")
        }
        () if several && guest => Some("did the host move these CPUs?"),
        () => None,
    };
    if seen.is_empty() {
        return guess.map(|guess| format!("nothing else that was watched changed ({guess})"));
    }
    let guess = guess.map_or_else(String::new, |guess| format!(" ({guess})"));
    Some(format!("{}{guess}", comma(seen)))
}
