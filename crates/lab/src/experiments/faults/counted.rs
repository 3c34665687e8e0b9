//! The published work, once: faults that are counted against faults that are expected, and the rest by name.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tenbin_metal::pages::huge_page;
use tenbin_metal::touch::{Advised, Region, page};
use tenbin_metal::vmstat::Vmstat;
use tenbin_metal::{Fault, Task, Team, Usage};
use tenbin_model::machine::Observed;
use tenbin_model::unit::three_digits;
use tenbin_model::words::{comma, counted};
use tenbin_model::{Effort, Finding, Machine, Picoseconds};

use super::{finding, published_figure, system_share};
use crate::memory::allowance;

/// Writes for each page, all threads together: of 257 769 pages less than one is missed in a thousand passes
/// (e^-20 of them).
const WRITES_A_PAGE: u64 = 20;

/// The writes are made in this many laps, so that the time can be looked at between them.
const LAPS: u64 = 64;

/// What of the kernel's counters speaks about faults, in words.
const COUNTERS: [(&str, &str); 7] = [
    ("numa_hint_faults", "NUMA hints"),
    ("numa_pages_migrated", "pages moved between nodes"),
    ("numa_pte_updates", "entries unmapped for hints"),
    ("thp_fault_alloc", "huge pages given"),
    ("thp_fault_fallback", "huge pages not to be had"),
    ("thp_split_page", "huge pages split"),
    ("thp_split_pmd", "huge mappings split"),
];

#[derive(Clone, Debug, Default)]
pub(super) struct Counts {
    /// Minor faults of all workers.
    pub(super) faults: u64,
    /// Base pages that are there afterwards.
    pub(super) touched: u64,
    pub(super) huge: u64,
    /// Base pages in a huge one.
    pub(super) of_a_huge: u64,
    /// NUMA hint faults of the whole machine meanwhile; none where the kernel does not count them.
    pub(super) hints: Option<u64>,
}

impl Counts {
    /// One fault for each base page and one for each huge one.
    pub(super) fn expected(&self) -> u64 {
        self.touched.saturating_sub(self.huge * self.of_a_huge) + self.huge
    }

    /// Why more faults were counted than expected, or fewer, in words.
    pub(super) fn excess(&self) -> String {
        let expected = self.expected();
        let Some(excess) = self.faults.checked_sub(expected) else {
            return format!(
                "{} fewer than expected: a fault brought more than one page (large folios)",
                expected - self.faults
            );
        };
        if excess == 0 {
            return "none more than expected".into();
        }
        let hints = self.hints.unwrap_or(0).min(excess);
        let by_hints = match self.hints {
            Some(_) => format!("{hints} by hints of NUMA balancing"),
            None => "this kernel does not count hints of NUMA balancing".into(),
        };
        format!(
            "{excess} more than expected: {by_hints}, {} that remain (threads that met on one fresh page are \
             charged a fault each)",
            excess - hints
        )
    }
}

/// How long a pass goes on. Hints come seconds after a page was touched.
#[derive(Clone, Copy, Debug)]
pub(super) enum Until {
    /// Until the last part of the work is done, or so much time is spent.
    Either(Picoseconds),
    Spent(Picoseconds),
    /// Until the last part is done and so much time is spent, ten times that at the most.
    Both(Picoseconds),
}

impl Until {
    fn goes_on(self, spent: Picoseconds, laps: u64) -> bool {
        match self {
            Self::Either(limit) => spent < limit && laps < LAPS,
            Self::Spent(limit) => spent < limit,
            Self::Both(limit) => spent < limit || (laps < LAPS && spent.0 < limit.0.saturating_mul(10)),
        }
    }
}

/// The published work once over a mapping of its own, and what was counted meanwhile.
pub(super) struct Pass {
    pub(super) counts: Counts,
    pub(super) usage: Usage,
    spent: Picoseconds,
    bytes: u64,
    writes: u64,
    laps: u64,
    /// Before and after.
    vmstat: [Vmstat; 2],
}

impl Pass {
    pub(super) fn run(team: &mut Team, machine: &Machine, until: Until, chosen: u64) -> Result<Self, Fault> {
        let bytes = (published_figure("bytes") as u64).min(allowance(machine).0);
        let region = Arc::new(Region::map(bytes as usize, Advised::Nothing)?);
        let workers = team.size();
        let writes = (region.pages() as u64 * WRITES_A_PAGE).div_ceil(workers as u64 * LAPS);
        // The places of each worker are its own, as those of usemem are, which takes the thread's number.
        let states: Vec<AtomicU64> = (1..=workers as u64)
            .map(|worker| AtomicU64::new(chosen.wrapping_add(worker).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1))
            .collect();
        let task: Task = {
            let region = Arc::clone(&region);
            Arc::new(move |worker, writes| {
                let state = states[worker].load(Ordering::Relaxed);
                states[worker].store(region.write_at_random(state, writes), Ordering::Relaxed);
                0
            })
        };
        let before = Vmstat::read().unwrap_or_default();
        let (mut usage, mut spent, mut laps) = (Usage::default(), Picoseconds::default(), 0);
        while until.goes_on(spent, laps) {
            let lap = team.lap(&task, writes)?;
            usage = usage.plus(&lap.usage);
            spent += lap.elapsed;
            laps += 1;
        }
        let after = Vmstat::read().unwrap_or_default();
        let of_a_huge = huge_page().map_or(1, |huge| (huge / page()) as u64);
        let counts = Counts {
            faults: usage.minor_faults,
            touched: region.present(0..region.pages())? as u64,
            huge: region.huge_bytes().unwrap_or(0) / (of_a_huge * page() as u64),
            of_a_huge,
            hints: after.grown_since(&before, "numa_hint_faults"),
        };
        let writes = writes * laps * workers as u64;
        Ok(Self { counts, usage, spent, bytes, writes, laps, vmstat: [before, after] })
    }
}

pub(super) fn look(
    team: &mut Team,
    machine: &Machine,
    effort: Effort,
    chosen: u64,
) -> Result<Vec<Finding>, Fault> {
    let asked = published_figure("bytes") as u64;
    let workers = team.size();
    let limit = Picoseconds::from_millis(match effort {
        Effort::Quick => 2_000,
        Effort::Normal => 6_000,
        Effort::Thorough => 30_000,
    });
    // Where pages are balanced the work goes on.
    let balanced = machine.numa_balancing.known() == Some(&true);
    let until = if balanced { Until::Spent(limit) } else { Until::Either(limit) };
    let pass = Pass::run(team, machine, until, chosen)?;
    let Pass { counts, usage, spent, bytes, writes, laps, vmstat: [before, after] } = &pass;

    let counters = COUNTERS.map(|(name, words)| match after.grown_since(before, name) {
        Some(count) => format!("{words} {count}"),
        None => format!("{words} not counted by this kernel"),
    });
    let scaled = if *bytes < asked {
        format!(", which is half of the memory available, of {asked}")
    } else {
        String::new()
    };
    let unfinished = if *laps < LAPS {
        format!(", and the time was spent ({spent}) after {laps} parts of {LAPS}")
    } else {
        String::new()
    };
    let evidence = format!(
        "{} made {writes} random writes over {bytes} bytes{scaled}{unfinished}; {}; meanwhile, on the whole \
         machine: {}; its author expected {} faults, which is 1 GiB in pages, where {asked} bytes are {} pages, \
         or {} huge ones of 2 MiB",
        counted(workers, "thread"),
        counts.excess(),
        comma(&counters),
        published_figure("page_faults_the_author_expects"),
        published_figure("pages_of_4096"),
        asked.div_ceil(2 << 20),
    );
    let mut findings =
        vec![finding(sentence(counts), evidence, "one pass; faults are those of the workers' threads alone")];
    findings.extend(system_share(usage).map(|share| {
        let (user, system) = (published_figure("user_s"), published_figure("sys_s"));
        finding(
            format!(
                "In the published work {} % of the CPU time here was the kernel's; on the SG2038 it was {} %.",
                three_digits(100.0 * share),
                three_digits(100.0 * system / (user + system))
            ),
            format!(
                "{} in the kernel, {} in user mode; there {} s and {} s",
                usage.system,
                usage.user,
                three_digits(system),
                three_digits(user)
            ),
            "one pass, which ends soon after every page was touched; the published one went on for 90 s",
        )
    }));
    findings.push(balancing(machine, counts.hints));
    Ok(findings)
}

pub(super) fn sentence(counts: &Counts) -> String {
    let expected = counts.expected();
    let because = match counts.huge {
        0 => String::new(),
        huge => format!(
            " ({expected} faults were to be expected, as {} lie in huge pages)",
            pages(huge * counts.of_a_huge)
        ),
    };
    let (there, expected_there) =
        (published_figure("page_faults_counted"), published_figure("pages_of_4096"));
    format!(
        "The published work took {} faults to touch {}{because}: {}x what was expected; on the SG2038 it was {there} for \
         {expected_there} pages, {}x.",
        counts.faults,
        pages(counts.touched),
        three_digits(counts.faults as f64 / expected.max(1) as f64),
        three_digits(there / expected_there)
    )
}

fn pages(count: u64) -> String {
    counted(count as usize, "page")
}

/// The published explanation of its excess, and why it was or was not tested here.
fn balancing(machine: &Machine, hints: Option<u64>) -> Finding {
    let untested = |why: &str| {
        format!("NUMA balancing, by which the author explains these faults, was not tested: {why}.")
    };
    let off = |nodes: &str| format!("/proc/sys/kernel/numa_balancing is 0; {nodes}");
    let (sentence, evidence) = match (&machine.numa_balancing, machine.nodes.known().map(Vec::len)) {
        (Observed::Known(true), _) => (
            "NUMA balancing is on here, and its hints are part of the faults that were counted; `--set remedy=yes`, as \
             root, counts them with it and without."
                .into(),
            hints.map_or_else(|| "hints are not counted by this kernel".into(), |hints| format!("{hints} hint faults")),
        ),
        (Observed::Known(false), Some(1)) => {
            (untested("this machine has one memory node, and balancing is off"), off("one node"))
        }
        (Observed::Known(false), nodes) => (
            untested("it is off here; `--set remedy=yes`, as root, counts them with it and without"),
            off(&nodes.map_or_else(|| "nodes unknown".into(), |nodes| format!("{nodes} nodes"))),
        ),
        (Observed::NotObservable(why), _) => (untested("whether it is on cannot be seen"), why.clone()),
    };
    finding(sentence, evidence, "the kernel's word")
}
