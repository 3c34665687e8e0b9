//! What was found, in words.

use tenbin_model::machine::{Node, cpu_ranges, cpus_in_words};
use tenbin_model::unit::three_digits;
use tenbin_model::{Cpu, Interval, Order, Refusal};

use super::column::{Column, LEAST_VALUES};
use super::{COARSEST, DEVIATIONS, Distances, Gap, LEAST_BLOCKS, LEAST_HOMES, LEAST_READERS, Outcome, Why};
use tenbin_analysis::verdict::refused_in_words;
use tenbin_document::interval::{outward, show};
use tenbin_document::words::{and, counted, percent};

impl Distances {
    pub(crate) fn in_words(&self) -> String {
        match (self.outcome, self.gap) {
            (Outcome::Distant, Some(gap)) => self.distant(gap),
            (Outcome::Distant, None) => "NUMA.".into(),
            (Outcome::Alike, _) => format!(
                "Not NUMA: {} cores reach {} buffers within {}, once the speed of each core and each buffer \
                 is set aside, and repetition explains {}; a gap of {} would have shown.",
                self.readers.len(),
                self.homes.len(),
                near(self.spread),
                near(self.repeat),
                up(self.detectable)
            ),
            (Outcome::Undecided(why), _) => refused_in_words(&self.why(why)),
        }
    }

    /// The same in a line; nothing of what is not decided.
    pub(crate) fn brief(&self) -> String {
        match (self.outcome, self.gap) {
            (Outcome::Distant, Some(gap)) => {
                format!("{} more from far: {} groups of CPUs", percent(gap.relative), self.groups.len())
            }
            (Outcome::Alike, _) => format!(
                "alike: {} cores reach {} buffers within {}",
                self.readers.len(),
                self.homes.len(),
                near(self.spread)
            ),
            _ => String::new(),
        }
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self.outcome {
            Outcome::Undecided(why) => Some(self.why(why)),
            Outcome::Distant | Outcome::Alike => None,
        }
    }

    fn distant(&self, gap: Gap) -> String {
        let groups = and(self.groups.iter().map(|cpus| cpu_ranges(cpus)));
        let whose = if self.groups.len() == 2 { "the other's" } else { "any other's" };
        let least = if self.groups.len() == 2 { "gap" } else { "the smallest gap is" };
        let deviations = (gap.relative.ln_1p() / self.deviation.ln_1p()).floor();
        let beside = match self.unplaced.as_slice() {
            [] => String::new(),
            cpus => format!(
                " {} belong to none of these: memory of their own was not tried, or they are not like their neighbours.",
                cpus_in_words(cpus)
            ),
        };
        format!(
            "NUMA: CPUs {groups} each reach {whose} memory {} later than their own ({least} {}, {deviations:.0} times the \
             deviation within a group).{beside}",
            reached(gap),
            between(gap.interval),
        )
    }

    fn why(&self, why: Why) -> Refusal {
        let gap = self.gap.map_or_else(
            || "nothing could be swapped".into(),
            |gap| format!("the gap that comes nearest is {}", between(gap.interval)),
        );
        match why {
            Why::TooFewCpus => self.too_few(),
            Why::TooFewBlocks => Refusal {
                reached: format!("{} whole blocks were measured and {} left out", self.blocks, self.skipped),
                needs: format!("at least {LEAST_BLOCKS} blocks that hold every pair"),
                remedy: format!("measure for longer; in a file of figures, each pair {LEAST_BLOCKS} times"),
            },
            Why::LoneCpu => Refusal {
                reached: format!("{gap}, and one of its groups is a single CPU"),
                needs:
                    "two CPUs in each group, as one alone may suit a page for a reason other than distance"
                        .into(),
                remedy: "let more CPUs of that part of the machine read, each with a buffer of its own"
                    .into(),
            },
            Why::NoSignChange => Refusal {
                reached: format!(
                    "{gap}, but one buffer is so slow that both groups reach the other one sooner"
                ),
                needs: "a sign change: each group reaches its own buffer sooner".into(),
                remedy: "allocate the buffers again, on other pages, and with more homes in each group"
                    .into(),
            },
            Why::Between { needed } => Refusal {
                reached: format!(
                    "the pairs differ by up to {}, repetition explains {}, and {gap}",
                    near(self.spread),
                    near(self.repeat)
                ),
                needs: format!(
                    "a gap of at least {} ({DEVIATIONS} times the deviation within groups, and no accident \
                     of that many cores), or a spread that repetition explains",
                    up(needed)
                ),
                remedy: "measure for longer, on a quieter machine".into(),
            },
            Why::TooCoarse => too_coarse(self.detectable),
            Why::Cached(buffers) => buffers.refusal(),
            Why::OneBuffer | Why::TooFewValues => too_few_values(0, 0),
        }
    }

    fn too_few(&self) -> Refusal {
        let swapped = match self.gap {
            Some(Gap { interval: Interval { low, high }, .. }) => {
                let (apart, word) = if high < 0.0 {
                    (Interval { low: -high, high: -low }, "sooner")
                } else {
                    (Interval { low, high }, "later")
                };
                format!(
                    "; by the swap, a CPU reaches the other's buffer {} {word} than its own, and a difference of {} would have shown",
                    between(apart),
                    up(self.detectable)
                )
            }
            None => String::new(),
        };
        Refusal {
            reached: format!(
                "{} read {}{swapped}",
                counted(self.readers.len(), "CPU"),
                counted(self.homes.len(), "buffer")
            ),
            needs: format!(
                "two CPUs in each of two groups, so at least {LEAST_READERS} readers and {LEAST_HOMES} homes: where a group is one CPU, \
                 nothing says how much CPUs of one group differ"
            ),
            remedy: format!("ask on a machine with at least {LEAST_READERS} CPUs, or allow more of them"),
        }
    }
}

impl Column {
    /// The answer in a line; nothing of what is not decided.
    pub(crate) fn brief(&self) -> String {
        match self.refusal() {
            Some(_) => String::new(),
            None => format!("alike: {} cores reach one buffer within {}", self.cores, near(self.spread)),
        }
    }

    pub(crate) fn in_words(&self) -> String {
        match self.refusal() {
            Some(refusal) => refused_in_words(&refusal),
            None => format!(
                "Not NUMA: {} cores reach the buffer within {}, one core repeats within {}, and that \
                 explains {} between that many cores; a gap of {} would have shown.",
                self.cores,
                near(self.spread),
                near(self.repeat),
                near(self.explained),
                up(self.detectable)
            ),
        }
    }

    pub(crate) fn refusal(&self) -> Option<Refusal> {
        match self.outcome {
            Outcome::Distant | Outcome::Alike => None,
            Outcome::Undecided(Why::TooCoarse) => Some(too_coarse(self.detectable)),
            Outcome::Undecided(Why::Cached(buffers)) => Some(buffers.refusal()),
            Outcome::Undecided(Why::OneBuffer) => Some(Refusal {
                reached: format!(
                    "the cores differ by {} at one buffer{}, and repetition explains {}",
                    near(self.spread),
                    self.gap.map_or_else(String::new, |gap| format!(", in two groups {} apart", near(gap))),
                    near(self.explained)
                ),
                needs: "a second buffer: with one, a slow core and a far one look alike".into(),
                remedy: "measure with a buffer for each of several cores".into(),
            }),
            Outcome::Undecided(_) => Some(too_few_values(self.cores, self.repeats)),
        }
    }
}

fn too_coarse(detectable: f64) -> Refusal {
    Refusal {
        reached: format!("no gap was seen, but none below {} would have shown", up(detectable)),
        needs: format!("data in which a gap of {} would show", percent(COARSEST)),
        remedy: "measure for longer, on a quieter machine".into(),
    }
}

/// Which of the two is missing decides what helps.
fn too_few_values(cores: usize, repeats: usize) -> Refusal {
    Refusal {
        reached: format!("{} and {} of one", counted(cores, "core"), counted(repeats, "repetition")),
        needs: format!("{LEAST_VALUES} of each, and every one a time"),
        remedy: if cores < LEAST_VALUES {
            format!(
                "ask where at least {LEAST_VALUES} CPUs may be used, or by a chase, which needs {LEAST_READERS}"
            )
        } else {
            "repeat more often".into()
        },
    }
}

/// Whether the firmware's `nodes` agree with what was measured, in one sentence. `nodes` are those that it
/// names, none if it names none. Of nodes on which nobody read, and of their memory, the measurement says
/// nothing.
pub(crate) fn against_firmware(distances: &Distances, nodes: &[Node]) -> String {
    let named = Named::of(nodes, &distances.readers);
    let measured = match distances.outcome {
        Outcome::Undecided(_) => UNDECIDED.into(),
        // Every home reads: a node with a buffer has a reader.
        Outcome::Alike => named.alike(Named::of(nodes, &distances.homes).read.len(), distances.detectable),
        Outcome::Distant => {
            let placed = |cpus: &Vec<Cpu>| {
                cpus.iter().copied().filter(|cpu| !distances.unplaced.contains(cpu)).collect::<Vec<_>>()
            };
            let known: Vec<_> = named.read.iter().map(placed).filter(|cpus| !cpus.is_empty()).collect();
            if known == distances.groups {
                "the measurement agrees: these are the groups that were found".into()
            } else {
                let groups = and(distances.groups.iter().map(|cpus| cpu_ranges(cpus)));
                format!("the measurement disagrees: it finds the groups {groups}")
            }
        }
    };
    format!("{}; {measured}.", named.in_words())
}

/// The same for one buffer that `readers` read. It is never found distant, so the measurement can contradict
/// nodes that are named and never find any.
pub(crate) fn column_against_firmware(column: &Column, readers: &[Cpu], nodes: &[Node]) -> String {
    let named = Named::of(nodes, readers);
    let measured = match column.outcome {
        Outcome::Alike => named.alike(named.read.len(), column.detectable),
        Outcome::Distant | Outcome::Undecided(_) => UNDECIDED.into(),
    };
    format!("{}; {measured}.", named.in_words())
}

const UNDECIDED: &str = "the measurement neither confirms nor contradicts it";

/// What the firmware says, beside who read.
struct Named {
    /// Nodes that it names, with or without CPUs.
    nodes: usize,
    /// The readers on each node that has some, in ascending order.
    read: Vec<Vec<Cpu>>,
}

impl Named {
    fn of(nodes: &[Node], readers: &[Cpu]) -> Self {
        let of_node = |node: &Node| -> Vec<Cpu> {
            let mut cpus: Vec<Cpu> = node.cpus.iter().copied().filter(|cpu| readers.contains(cpu)).collect();
            cpus.order();
            cpus
        };
        let mut read: Vec<Vec<Cpu>> = nodes.iter().map(of_node).filter(|cpus| !cpus.is_empty()).collect();
        read.order();
        Self { nodes: nodes.len(), read }
    }

    fn in_words(&self) -> String {
        let ranges: Vec<String> = self.read.iter().map(|cpus| cpu_ranges(cpus)).collect();
        match (self.nodes, self.read.len()) {
            (0, _) => "The firmware names no nodes".into(),
            (1, 1) => "The firmware names one node".into(),
            (nodes, read) if nodes == read => {
                format!("The firmware names {nodes} nodes, with CPUs {}", and(&ranges))
            }
            (nodes, 0) => format!("The firmware names {}, and no reader is on any", counted(nodes, "node")),
            (nodes, read) => format!(
                "The firmware names {nodes} nodes, and the readers are on {read} of them, with CPUs {}",
                and(&ranges)
            ),
        }
    }

    /// What a measurement to which everything that it tried was alike says to it, as a clause. It tried ways
    /// between nodes if buffers that were read lie on at least two, or one was read from at least two: so
    /// many are `tried`.
    fn alike(&self, tried: usize, detectable: f64) -> String {
        if self.nodes < 2 {
            "the measurement agrees: what was read is alike".into()
        } else if tried < 2 {
            format!("{UNDECIDED}: what was read is alike, and no way between nodes was tried")
        } else {
            let between =
                if tried < self.nodes { format!(" between {tried} of them") } else { String::new() };
            format!(
                "the measurement disagrees: a gap of {} would have shown{between}, and none did",
                up(detectable)
            )
        }
    }
}

fn in_percent(interval: Interval) -> Interval {
    Interval { low: interval.low * 100.0, high: interval.high * 100.0 }
}

/// A fraction beyond this is said as a multiple: in percent it would have five digits.
const MOST_IN_PERCENT: f64 = 10.0;

fn between(interval: Interval) -> String {
    if interval.high.max(-interval.low) > MOST_IN_PERCENT {
        return format!("{} times", outward(interval));
    }
    format!("{} %", outward(in_percent(interval)))
}

/// The gap, with as many digits as its interval has.
fn reached(gap: Gap) -> String {
    if gap.interval.high.max(-gap.interval.low) > MOST_IN_PERCENT {
        return format!("{} times", show(gap.relative, gap.interval));
    }
    format!("{} %", show(gap.relative * 100.0, in_percent(gap.interval)))
}

/// Steps to 1 in which a fraction is said: tenths of a per cent, whole ones from 10 % on.
fn steps(fraction: f64) -> f64 {
    if fraction < 0.1 { 1e3 } else { 1e2 }
}

/// A fraction in percent, to the nearest step.
fn near(fraction: f64) -> String {
    if fraction > MOST_IN_PERCENT {
        return format!("{}x", three_digits(fraction));
    }
    percent((fraction * steps(fraction)).round() / steps(fraction))
}

/// A fraction in percent, upwards: what would have shown is never promised too small. The last digit of a
/// binary fraction does not count.
fn up(fraction: f64) -> String {
    if fraction > MOST_IN_PERCENT {
        return format!("{}x", three_digits(fraction));
    }
    percent((fraction * steps(fraction) - 1e-9).ceil() / steps(fraction))
}

#[cfg(test)]
mod tests {
    use super::super::{node, one_column};
    use super::*;
    use crate::rehearsal::refuses;

    fn distances(outcome: Outcome) -> Distances {
        let cpus = |range: std::ops::Range<u32>| range.map(Cpu).collect::<Vec<_>>();
        Distances {
            outcome,
            groups: if outcome == Outcome::Distant { vec![cpus(0..4), cpus(4..8)] } else { vec![cpus(0..8)] },
            unplaced: vec![],
            gap: Some(Gap { relative: 0.42, interval: Interval { low: 0.381, high: 0.459 } }),
            deviation: 0.0166,
            spread: 0.019,
            repeat: 0.0231,
            detectable: 0.0301,
            blocks: 8,
            skipped: 0,
            readers: cpus(0..8),
            homes: cpus(0..8),
        }
    }

    #[test]
    fn answers_say_what_was_found_and_what_would_have_shown() {
        assert_eq!(
            distances(Outcome::Distant).in_words(),
            "NUMA: CPUs 0-3 and 4-7 each reach the other's memory 42 % later than their own (gap 38 to 46 %, 21 times the \
             deviation within a group)."
        );
        assert_eq!(
            distances(Outcome::Alike).in_words(),
            "Not NUMA: 8 cores reach 8 buffers within 1.9 %, once the speed of each core and each buffer is set aside, and \
             repetition explains 2.3 %; a gap of 3.1 % would have shown."
        );
        let aside = Distances { unplaced: vec![Cpu(8), Cpu(9)], ..distances(Outcome::Distant) };
        assert!(aside.in_words().contains("CPUs 8-9 belong to none of these"), "{}", aside.in_words());
    }

    #[test]
    fn a_gap_of_more_than_ten_times_is_no_percentage() {
        let far = |high| Gap { relative: high / 2.0, interval: Interval { low: -0.03, high } };
        assert_eq!((between(far(0.5).interval), reached(far(0.5))), ("-3 to 50 %".into(), "25 %".into()));
        assert_eq!(
            (between(far(337.39).interval), reached(far(337.39))),
            ("-0.0300 to 338 times".into(), "169 times".into())
        );
        assert_eq!((near(12.34), up(12.34), near(0.42)), ("12.3x".into(), "12.3x".into(), "42 %".into()));
    }

    #[test]
    fn every_refusal_has_its_number_its_threshold_and_its_remedy() {
        for (why, number, threshold) in [
            (Why::TooFewCpus, "8 CPUs", "4 readers"),
            (Why::TooFewBlocks, "8 whole blocks", "5 blocks"),
            (Why::LoneCpu, "38 to 46 %", "two CPUs"),
            (Why::NoSignChange, "38 to 46 %", "sign change"),
            (Why::Between { needed: 0.5 }, "1.9 %", "50 %"),
            (Why::TooCoarse, "3.1 %", "10 %"),
        ] {
            let distances = distances(Outcome::Undecided(why));
            let refusal = distances.refusal().unwrap();
            refuses(&refusal, number, threshold, "");
            assert!(!refusal.remedy.is_empty(), "{refusal:?}");
            assert!(distances.in_words().starts_with("Refused: "), "{}", distances.in_words());
        }
        assert_eq!(distances(Outcome::Alike).refusal(), None);
        assert_eq!(distances(Outcome::Distant).refusal(), None);
    }

    #[test]
    fn the_firmware_is_confirmed_or_contradicted() {
        let halves = [node(0, 0..4), node(1, 4..8)];
        let others = [node(0, 0..2), node(1, 2..8)];
        let undecided = Outcome::Undecided(Why::TooCoarse);
        for (outcome, nodes, says) in [
            (Outcome::Distant, &halves[..], "agrees: these are the groups"),
            (Outcome::Distant, &others[..], "disagrees: it finds the groups 0-3 and 4-7"),
            (Outcome::Distant, &[][..], "names no nodes; the measurement disagrees"),
            (Outcome::Distant, &[node(0, 0..8)][..], "names one node; the measurement disagrees"),
            (Outcome::Alike, &halves[..], "disagrees: a gap of 3.1 % would have shown"),
            (Outcome::Alike, &[][..], "agrees: what was read is alike"),
            (undecided, &halves[..], "neither confirms nor contradicts"),
        ] {
            let sentence = against_firmware(&distances(outcome), nodes);
            assert!(sentence.contains(says), "{sentence}");
        }
        // Memory that was not tried is not spoken for: of a node without CPUs, without readers, without a
        // buffer.
        let alike = distances(Outcome::Alike);
        let one_home = Distances { homes: vec![Cpu(0), Cpu(1)], ..alike.clone() };
        let untried = "neither confirms nor contradicts it: what was read is alike, and no way between";
        for (distances, nodes, firmware, says) in [
            (&alike, &[node(0, 0..8), node(1, 0..0)][..], "names 2 nodes, and the readers are on 1", untried),
            (&alike, &[node(0, 0..8), node(1, 8..16)], "names 2 nodes, and the readers are on 1", untried),
            (&alike, &[node(1, 8..16)], "names 1 node, and no reader is on any", "what was read is alike"),
            (&one_home, &halves, "names 2 nodes, with CPUs", untried),
            (
                &alike,
                &[node(0, 0..4), node(1, 4..8), node(2, 8..12)],
                "names 3 nodes, and the readers are on 2 of them, with CPUs 0-3 and 4-7",
                "disagrees: a gap of 3.1 % would have shown between 2 of them",
            ),
        ] {
            let sentence = against_firmware(distances, nodes);
            assert!(sentence.contains(firmware) && sentence.contains(says), "{sentence}");
            assert!(!sentence.contains("all memory"), "{sentence}");
        }
        // CPUs that did not read, and nodes of memory alone, say nothing about the groups.
        let wider = [node(0, 0..4), node(1, 4..8), node(2, 8..12), node(3, 0..0)];
        assert!(against_firmware(&distances(Outcome::Distant), &wider).contains("agrees: these"));
    }

    #[test]
    fn one_buffer_is_held_against_the_firmware_and_finds_no_nodes() {
        let cores = [37.0, 37.1, 37.2, 37.3, 37.4, 37.5, 37.1, 37.2];
        let readers: Vec<Cpu> = (0..8).map(Cpu).collect();
        let alike = one_column(&cores, &[36.9, 37.0, 37.2, 37.3, 37.5, 37.6]);
        let undecided = one_column(&cores, &[37.0; 6]);
        assert_eq!(alike.outcome, Outcome::Alike);
        let halves = [node(0, 0..4), node(1, 4..8)];
        for (column, nodes, says) in [
            (alike, &[][..], "The firmware names no nodes; the measurement agrees: what was read is alike."),
            (
                alike,
                &[node(0, 0..8)][..],
                "The firmware names one node; the measurement agrees: what was read is alike.",
            ),
            (
                alike,
                &halves[..],
                "The firmware names 2 nodes, with CPUs 0-3 and 4-7; the measurement disagrees: a gap of ",
            ),
            (undecided, &halves[..], "neither confirms nor contradicts it."),
            (undecided, &[][..], "names no nodes; the measurement neither confirms nor contradicts it."),
        ] {
            let sentence = column_against_firmware(&column, &readers, nodes);
            assert!(sentence.contains(says), "{sentence}");
        }
    }
}
