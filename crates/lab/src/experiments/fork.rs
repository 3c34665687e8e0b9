//! `fork`: what a new process costs, and how that grows with the memory of the one that makes it.

mod analysis;
mod described;
mod lines;
mod parents;

use std::sync::Arc;

use tenbin_metal::spawn::{ASKED, Spawner, Watched, Way};
use tenbin_metal::touch::page;
use tenbin_metal::{Fault, Lap};
use tenbin_model::words::semicolon;
use tenbin_model::{Arrangement, Bytes, Effort, Finding, Order, Refusal, Variant, VariantIndex};

use self::analysis::Laws;
use crate::experiment::{
    Apparatus, Aspect, Experiment, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit,
};
use crate::memory::{self, allowance, within_allowance};

use described::describe;
use lines::{FORK, Here, LINES, Place, Planted, Timed, asked, comparisons, parents_of, places};
use parents::Parent;

/// Resident memory beside none, in MiB, unless `--set mib` says otherwise.
const SIZES: [u64; 4] = [4, 16, 64, 256];
const SIZES_QUICKLY: [u64; 3] = [4, 16, 64];

/// Fewer sizes than these beside none show no law: through two points there is always a line.
const FEWEST_SIZES: usize = 2;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let sizes = sizes(request)?;
    let here = here(request)?;
    // All that are asked about have their numbers, so that a line that comes or goes later moves no other.
    let places = places(asked(request.effort), &sizes);
    let has = |place: &Place| matches!(place, Place::Measured { line, .. } if here.lines.contains(line));
    // What is not measured is no point of any line, and shares no level with those that are.
    let variant = |place: &Place| match has(place) || !place.is_measured() {
        true => place.variant(),
        false => Variant { point: Vec::new(), ..place.variant() },
    };
    let parents = parents_of(places.iter().filter(|place| has(place) || !place.is_measured()), sizes[1]);
    let cell = Arrangement {
        label: "on one CPU".into(),
        parameters: vec![
            ("mib".into(), sizes[1..].iter().map(u64::to_string).collect::<Vec<_>>().join(",")),
            ("bytes".into(), resident(&parents).to_string()),
        ],
        // All of them on one CPU, one at work at a time.
        cpus: vec![request.cpus[0]; parents.len()],
        at_once: Some(1),
        epoch: describe().epoch,
        variants: VariantIndex::select(&places, has),
        comparisons: comparisons(&places, &here.lines, &sizes),
        headline: true,
        ..Arrangement::default()
    };
    // Without such a process there is nobody to plant that fault in: it is the last.
    let described = if here.shares { places.len() } else { places.len() - 1 };
    let variants = places[..described].iter().map(variant).collect();
    let (lines, missing) = asked(request.effort).partition(|line| here.lines.contains(line));
    let planned = Planned { sizes, places, lines, missing };
    let cell = PlannedCell::new(cell, move |arrangement, request| open(arrangement, request, &planned));
    Ok(Plan { variants: Some(variants), cells: vec![cell], ..Plan::default() })
}

/// What the cell is opened with: asked again, the kernel might have other lines.
struct Planned {
    /// MiB of resident memory, none first.
    sizes: Vec<u64>,
    /// What each variant is, in their order.
    places: Vec<Place>,
    /// The lines that this kernel has of those that are asked about, and the others.
    lines: Vec<usize>,
    missing: Vec<usize>,
}

/// What this kernel has; a refusal where it does not even fork.
fn here(request: &Request<'_>) -> Result<Here, Unfit> {
    let spawner = Spawner::new()?;
    let here = Here::ask(&spawner, request.effort)?;
    match spawner.missing(LINES[FORK].way) {
        None => Ok(here),
        Some(reached) => Err(Unfit::Refused(Refusal {
            reached,
            needs: "a kernel that makes a process and lets it be waited for".into(),
            remedy: "raise `ulimit -u` or pids.max of the control group, or free memory: it fails for want of one of them".into(),
        })),
    }
}

/// A process that is forked from: how many MiB it has resident, and whether in huge pages.
type Process = (u64, bool);

/// Bytes that all buffers together have resident.
fn resident(parents: &[Process]) -> u64 {
    parents.iter().map(|(mib, _)| mib.saturating_mul(1 << 20)).sum()
}

/// MiB of resident memory, none first: those that were asked for, or as many of the usual ones as fit.
fn sizes(request: &Request<'_>) -> Result<Vec<u64>, Unfit> {
    let usual: &[u64] = if request.effort == Effort::Quick { &SIZES_QUICKLY } else { &SIZES };
    // Of each size a process in base pages and one in huge ones.
    let both = |some: &[u64]| some.iter().map(|mib| (2 * mib) << 20).sum::<u64>();
    let fitting =
        (1..=usual.len()).filter(|&count| both(&usual[..count]) <= allowance(request.machine).0).count();
    let accepted = |mib: &u64| (1..=1 << 20).contains(mib);
    let mut sizes =
        request.settings.list("mib", &usual[..fitting], "a number of MiB from 1 to 1048576", accepted)?;
    if sizes.len() < FEWEST_SIZES {
        if request.settings.given("mib").is_some() {
            let message =
                format!("--set mib: {FEWEST_SIZES} sizes or more, as one besides none shows no law");
            return Err(Unfit::Usage(message));
        }
        let least = Bytes(both(&usual[..FEWEST_SIZES]));
        within_allowance(request.machine, least, "the smallest sizes in both kinds of pages", |room| {
            (both(&[1, 2]) <= room.0).then(|| "mib=1,2".into())
        })?;
    }
    sizes.push(0);
    sizes.order();
    Ok(sizes)
}

/// The processes that these lines are forked from at these sizes, none first.
fn affordable(request: &Request<'_>, lines: &[usize], sizes: &[u64]) -> Result<Vec<Process>, Unfit> {
    let with = |sizes: &[u64]| parents_of(&places(lines.iter().copied(), sizes), sizes[1]);
    let needed = with(sizes);
    let what = "the processes that are forked from, all together";
    within_allowance(request.machine, Bytes(resident(&needed)), what, |room| {
        let fits = |some: &[u64]| resident(&with(&[&[0], some].concat())) <= room.0;
        let fewer: Vec<String> = smaller(&sizes[1..], fits)?.iter().map(u64::to_string).collect();
        Some(format!("mib={}", fewer.join(",")))
    })?;
    Ok(needed)
}

/// Sizes that fit instead of these, which ascend: the smallest of them, and the largest below the first that
/// is too many. The smallest of the usual ones where even these are too many.
fn smaller(sizes: &[u64], fits: impl Fn(&[u64]) -> bool) -> Option<Vec<u64>> {
    for kept in (1..sizes.len()).rev() {
        let (small, large) = (&sizes[..kept], sizes[kept]);
        let more = memory::largest(small[kept - 1] + 1, large, |mib| fits(&[small, &[mib]].concat()));
        if let Some(more) = more {
            return Some([small, &[more]].concat());
        }
        if kept >= FEWEST_SIZES && fits(small) {
            return Some(small.to_vec());
        }
    }
    [&SIZES[..FEWEST_SIZES], &[1, 2]].into_iter().find(|some| fits(some)).map(<[u64]>::to_vec)
}

fn open(arrangement: &Arrangement, request: &Request<'_>, planned: &Planned) -> Opened {
    let Planned { sizes, places, lines, missing } = planned;
    let needed = affordable(request, lines, sizes)?;
    let spawner = Arc::new(Spawner::new()?);
    let mut parents = Vec::with_capacity(needed.len());
    for (mib, huge) in needed {
        let pages = (mib << 20) as usize / page();
        let parent = Parent::fork(request.clock, arrangement.cpus[0], (pages, huge), &spawner)?;
        parents.push(((mib, huge), parent));
    }
    let missing = missing.iter().map(|&line| {
        let why = spawner.missing(LINES[line].way);
        (
            LINES[line].name,
            why.unwrap_or_else(|| "the kernel granted no huge page, or only too large ones".into()),
        )
    });
    let missing = missing.collect();
    let places = places.clone();
    Ok(Box::new(Forking { places, smallest: sizes[1], parents, missing, word: request.seed }))
}

struct Forking {
    /// What each variant is, in their order.
    places: Vec<Place>,
    /// The least memory that is any, in MiB.
    smallest: u64,
    /// Those who make the children, by MiB and whether in huge pages.
    parents: Vec<((u64, bool), Parent)>,
    /// Lines that this kernel has not, and why.
    missing: Vec<(&'static str, String)>,
    /// What the next child is to read.
    word: u64,
}

impl Forking {
    fn parent(&mut self, place: Place) -> Result<&mut Parent, Fault> {
        let wanted = place.parent(self.smallest);
        match self.parents.iter_mut().find(|(known, _)| *known == wanted) {
            Some((_, parent)) => Ok(parent),
            None => {
                let error = std::io::Error::other("it was not forked");
                Err(Fault::system(format!("ask a process with {} MiB", wanted.0), error))
            }
        }
    }

    /// How a variant makes children: the way, which time counts, and whether pages are written to before.
    fn manner(place: Place) -> (Way, Timed, bool) {
        match place {
            Place::Measured { line, .. } => (LINES[line].way, LINES[line].timed, LINES[line].written),
            Place::Planted(Planted::Shares) => (Way::ForkThatShares, Timed::Life, false),
            Place::Planted(Planted::AnotherStatus) => (Way::ForkWithAnotherStatus, Timed::Life, false),
            Place::Planted(Planted::PageMissing) => (Way::Fork, Timed::Life, false),
        }
    }
}

impl Apparatus for Forking {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let place = self.places[variant];
        let (way, ..) = Self::manner(place);
        // Never 0, which is what a child reads that reads too late.
        self.word = self.word.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(1) | 1;
        let (word, missing) = (self.word, place == Place::Planted(Planted::PageMissing));
        let parent = self.parent(place)?;
        if missing {
            parent.miss_last_page(true)?;
        }
        let seen = memory(parent, place)?;
        let watched = parent.watch(way, word)?;
        if missing {
            parent.miss_last_page(false)?;
        }
        Ok(match (seen, child(way, &watched, word)) {
            (Ok(memory), Ok(child)) => Seen::Met(format!("{child}; {memory}")),
            (Err(broken), _) | (_, Err(broken)) => Seen::Broken(broken),
        })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let place = self.places[variant];
        let (way, timed, written) = Self::manner(place);
        let (lap, tally) = self.parent(place)?.repeat(way, written, iterations)?;
        if tally.error != 0 {
            let error = std::io::Error::from_raw_os_error(tally.error);
            return Err(Fault::system(format!("make {iterations} children or wait for them"), error).into());
        }
        if tally.wrong > 0 {
            let wrong = format!("{} of {iterations} children did not end with status {ASKED}", tally.wrong);
            return Err(Failure::Wrong(wrong));
        }
        let elapsed = if timed == Timed::Call { tally.calls } else { tally.lives };
        Ok(Lap { elapsed, ..lap })
    }

    fn shift(&mut self, layout: u32) {
        self.parents.iter_mut().for_each(|(_, parent)| parent.shift_stack(layout));
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let empty = self.parent(Place::Measured { line: FORK, mib: 0 })?.footprint()?;
        let mut findings = vec![finding(
            format!(
                "The process that makes the children has {} resident and {} of page tables besides its buffer.",
                empty.resident, empty.page_tables
            ),
            "it and its children share one CPU; a child ends at once, so what it would copy by writing is in no figure",
            "/proc/PID/status of the process without a buffer",
        )];
        if !self.missing.is_empty() {
            let evidence = semicolon(self.missing.iter().map(|(name, why)| format!("{name} ({why})")));
            findings.push(finding(
                "Not every way of making a child was tested here.".into(),
                &evidence,
                "asked of the kernel and seen",
            ));
        }
        Ok(findings)
    }
}

/// Whether the parent's memory is what it should be, in words either way.
fn memory(parent: &mut Parent, place: Place) -> Result<Result<String, String>, Fault> {
    let (asked, there) = (parent.asked(), parent.resident()?);
    let seen = format!("{there} of {asked} pages are resident");
    if there != asked {
        return Ok(Err(seen));
    }
    let huge = matches!(place, Place::Measured { line, .. } if LINES[line].huge);
    let bytes = (asked * page()) as u64;
    match (huge, parent.huge_bytes()) {
        // An emulator's kernel may not say; what was asked of it were base pages.
        (false, None | Some(0)) => Ok(Ok(seen)),
        (false, Some(granted)) => {
            Ok(Err(format!("{seen}, and {} of them lies in huge ones, where none should", Bytes(granted))))
        }
        (true, Some(granted)) if granted == bytes => Ok(Ok(format!("{seen}, all in huge ones"))),
        (true, granted) => Err(Fault::NoHugePages { asked: Bytes(bytes), granted: granted.map(Bytes) }),
    }
}

/// Whether the child did what it should, in words either way.
fn child(way: Way, watched: &Watched, word: u64) -> Result<String, String> {
    let Watched { runs, read, seen_by_parent, status } = *watched;
    if status != way.status() {
        let ended = status.map_or_else(|| "by a signal".into(), |status| format!("with status {status}"));
        let asked = way.status().map_or_else(|| "without one".into(), |asked| format!("with {asked}"));
        return Err(format!("the child ended {ended} and not {asked}"));
    }
    let ended = status
        .map_or_else(|| "1 thread, which has no status".into(), |status| format!("1 child, status {status}"));
    match (runs, way.shares_memory()) {
        (Some(1), Some(shares)) if read == word && seen_by_parent == shares => {
            let whose = if shares { "its parent's" } else { "a copy of its parent's" };
            Ok(format!("{ended}, memory {whose}"))
        }
        (Some(1), Some(_)) if read != word => {
            Err("the child did not see what was written before the call".into())
        }
        (Some(1), Some(shares)) => {
            let (is, should) = if shares { ("cannot", "should") } else { ("can", "should not") };
            Err(format!("the parent {is} see what the child wrote, and {should}"))
        }
        (Some(runs), _) => Err(format!("one call made {runs} children")),
        (None, _) => Ok(ended),
    }
}

fn finding(sentence: String, evidence: &str, confidence: &str) -> Finding {
    Finding { experiment: "fork".into(), sentence, evidence: evidence.into(), confidence: confidence.into() }
}

/// The fork experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    analysis: &Laws,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Memory, Aspect::Calls, Aspect::Wakes])
};

#[cfg(test)]
mod tests;
