//! What a litmus test may end with under a memory model, by enumeration of all candidate executions.
//!
//! [`outcomes`] gives the whole set or no set at all. It first finds, by repetition, the values that each
//! location could ever hold; then every path of each hart that these values allow; then, for each combination
//! of paths, every way in which loads and stores can have met, and keeps those that the axioms allow. The
//! same arguments give the same answer, and take the same steps.
//!
//! Source: The RISC-V Instruction Set Manual, volume I, 20240411, chapter "RVWMO Memory Consistency Model"
//! and appendix "Formal Memory Model Specifications". Not modelled: accesses that overlap without being the
//! same bytes (refused), instruction fetches, devices.

mod candidate;
mod limits;
mod order;
mod refusal;
mod thread;

#[cfg(test)]
mod oracle;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::str::FromStr;

use candidate::{Candidate, Last};
pub use limits::Limits;
use limits::Meter;
use order::Ordered;
pub use refusal::{NoAnswer, Refusal};
use serde::{Deserialize, Serialize};
use thread::{HartTrace, HartTraces, TraceEnd, Values, traces};

use crate::isa::Width;
use crate::litmus::{Location, Observable, Outcome, Quantifier, Test, ValueType};

/// A memory model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Model {
    /// Sequential consistency: all of program order is kept.
    Sc,
    /// Total store order, as the extension Ztso has it: a load may overtake earlier stores.
    Tso,
    /// RISC-V's weak memory order.
    Rvwmo,
}

impl fmt::Display for Model {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Sc => "sc",
            Self::Tso => "tso",
            Self::Rvwmo => "rvwmo",
        })
    }
}

impl FromStr for Model {
    type Err = String;

    /// By its short name.
    ///
    /// # Errors
    /// The names that there are.
    fn from_str(name: &str) -> Result<Self, String> {
        let all = [Self::Sc, Self::Tso, Self::Rvwmo];
        let model = all.into_iter().find(|model| model.to_string() == name);
        model.ok_or_else(|| "the memory models are sc, tso and rvwmo".to_owned())
    }
}

/// The whole set of outcomes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcomes {
    /// Each outcome once. Executions that break the test's filter are left out.
    pub states: BTreeSet<Outcome>,
    /// The types of the test's locations: where the test declares none, that follows from the accesses.
    pub kinds: Vec<ValueType>,
    /// Whether some path went round a loop more often than [`Limits::unroll`] says: then the set is whole for
    /// the others only.
    pub cut: bool,
    /// Steps that it took.
    pub steps: u64,
}

impl Outcomes {
    /// The number of outcomes that have what the test's condition says.
    #[must_use]
    pub fn having(&self, test: &Test) -> usize {
        let proposition = &test.question.proposition;
        self.states.iter().filter(|state| proposition.holds(&test.observed, &self.kinds, state)).count()
    }

    /// Whether the test's question is answered with yes; `None` where nothing is asked.
    #[must_use]
    pub fn holds(&self, test: &Test) -> Option<bool> {
        let having = self.having(test);
        match test.question.quantifier {
            Quantifier::Exists => Some(having > 0),
            Quantifier::NotExists => Some(having == 0),
            Quantifier::ForAll => Some(having == self.states.len()),
            Quantifier::Observed => None,
        }
    }
}

/// All outcomes of `test` under `model`.
///
/// # Errors
/// Where `limits` are reached first, or the test has something that is not supported.
pub fn outcomes(test: &Test, model: Model, limits: Limits<'_>) -> Result<Outcomes, NoAnswer> {
    search(test, model, limits.unroll, &mut Meter::new(limits))
}

fn search(test: &Test, model: Model, unroll: u32, meter: &mut Meter<'_>) -> Result<Outcomes, NoAnswer> {
    let paths = paths(test, unroll, meter)?;
    let widths = widths(test, &paths)?;
    let cut = paths.iter().any(|paths| paths.cut);
    let mut harts = Vec::new();
    for paths in paths {
        let mut hart = Vec::new();
        for trace in paths.traces {
            meter.step()?;
            let wired = Wired::new(Ordered::new(trace, model), test);
            meter.hold(wired.bytes())?;
            hart.push(wired);
        }
        harts.push(hart);
    }
    let mut search = Combinations::new(test, &widths, &harts);
    search.choose(&mut Vec::new(), meter)?;
    Ok(Outcomes { states: search.states, kinds: search.kinds, cut, steps: meter.used })
}

/// The paths of every hart, on every value that locations could hold.
fn paths(test: &Test, unroll: u32, meter: &mut Meter<'_>) -> Result<Vec<HartTraces>, NoAnswer> {
    let mut values = Values::new();
    let mut round = 0;
    let held = meter.held;
    loop {
        meter.held = held;
        let all = (0..test.threads.len()).map(|hart| traces(test, hart, &values, unroll, meter));
        let all = all.collect::<Result<Vec<_>, _>>()?;
        let mut grown = values.clone();
        for access in all.iter().flat_map(|paths| &paths.traces).flat_map(|trace| &trace.accesses) {
            grown.entry(access.address).or_default().extend(access.written);
        }
        // What a store depends on comes before it in memory, so no value goes through one store twice: more
        // rounds than stores find nothing that an execution could hold (a counter that feeds itself, for
        // one).
        let writes = |trace: &HartTrace| trace.accesses.iter().filter(|access| access.writes()).count();
        let stores = all.iter().filter_map(|paths| paths.traces.iter().map(writes).max()).sum::<usize>();
        if grown == values || round >= stores {
            return Ok(all);
        }
        values = grown;
        round += 1;
    }
}

fn widths(test: &Test, paths: &[HartTraces]) -> Result<BTreeMap<u64, Width>, NoAnswer> {
    let mut widths = BTreeMap::new();
    for access in paths.iter().flat_map(|paths| &paths.traces).flat_map(|trace| &trace.accesses) {
        let end = access.address + access.width.bytes();
        let (begin, width) = (access.address, access.width);
        let differs = |(&other, &its): (&u64, &Width)| {
            let overlap = other < end && begin < other + its.bytes();
            overlap && (other, its) != (begin, width)
        };
        if widths.iter().any(differs) {
            return Err(NoAnswer::Refused(Refusal::mixed(test, begin)));
        }
        widths.insert(begin, width);
    }
    Ok(widths)
}

/// A trace with what it needs of the other harts and what it offers them: addresses with values.
struct Wired {
    ordered: Ordered,
    needs: BTreeSet<(u64, u64)>,
    offers: BTreeSet<(u64, u64)>,
}

impl Wired {
    fn new(ordered: Ordered, test: &Test) -> Self {
        let (mut needs, mut offers) = (BTreeSet::new(), BTreeSet::new());
        for access in &ordered.trace.accesses {
            let initial = test.initial(access.address, access.width);
            let read = access.read.filter(|&read| read != initial).map(|read| (access.address, read));
            needs.extend(read.filter(|read| !offers.contains(read)));
            offers.extend(access.written.map(|written| (access.address, written)));
        }
        Self { ordered, needs, offers }
    }

    /// What it holds beside its trace, roughly.
    fn bytes(&self) -> usize {
        size_of::<Self>()
            + 16 * self.ordered.trace.accesses.len()
            + 32 * (self.needs.len() + self.offers.len())
    }
}

struct Combinations<'a> {
    test: &'a Test,
    widths: &'a BTreeMap<u64, Width>,
    kinds: Vec<ValueType>,
    harts: &'a [Vec<Wired>],
    /// By hart: what any trace of it or of a later one offers.
    later: Vec<BTreeSet<(u64, u64)>>,
    states: BTreeSet<Outcome>,
}

impl<'a> Combinations<'a> {
    fn new(test: &'a Test, widths: &'a BTreeMap<u64, Width>, harts: &'a [Vec<Wired>]) -> Self {
        let mut later = vec![BTreeSet::new(); harts.len() + 1];
        for (hart, traces) in harts.iter().enumerate().rev() {
            later[hart] = later[hart + 1].clone();
            later[hart].extend(traces.iter().flat_map(|trace| &trace.offers));
        }
        Self { test, widths, kinds: test.kinds(widths), harts, later, states: BTreeSet::new() }
    }

    /// Extends a choice of one trace for each of the first harts.
    fn choose(&mut self, chosen: &mut Vec<&'a Wired>, meter: &mut Meter<'_>) -> Result<(), NoAnswer> {
        meter.step()?;
        let later = &self.later[chosen.len()];
        let offered = |need| later.contains(need) || chosen.iter().any(|each| each.offers.contains(need));
        if !chosen.iter().flat_map(|each| &each.needs).all(offered) {
            return Ok(());
        }
        let harts = self.harts;
        let Some(traces) = harts.get(chosen.len()) else {
            return self.combination(chosen, meter);
        };
        for trace in traces {
            chosen.push(trace);
            self.choose(chosen, meter)?;
            chosen.pop();
        }
        Ok(())
    }

    fn combination(&mut self, chosen: &[&Wired], meter: &mut Meter<'_>) -> Result<(), NoAnswer> {
        let harts = chosen.iter().map(|each| &each.ordered).collect::<Vec<_>>();
        let (test, widths) = (self.test, self.widths);
        let initial = |address| test.initial(address, widths.get(&address).copied().unwrap_or(Width::Double));
        let mut candidate = Candidate::new(&harts, &initial).ok_or(NoAnswer::Refused(Refusal::TooLarge))?;
        let astray = harts.iter().enumerate().find_map(|(thread, hart)| match hart.trace.end {
            TraceEnd::Finished => None,
            TraceEnd::Jumped(to) => Some(Refusal::Jump { thread, to: test.value(to) }),
            TraceEnd::Astray(address, width) => Some(Refusal::astray(test, thread, address, width)),
        });
        let before = self.states.len();
        let mut ends = EndVisitor { search: self, harts: &harts, astray, refused: None };
        candidate.explore(0, meter, &mut ends)?;
        let refused = ends.refused;
        meter.hold((self.states.len() - before) * (64 + 8 * test.observed.len()))?;
        refused.map_or(Ok(()), |refusal| Err(NoAnswer::Refused(refusal)))
    }

    /// What the observables are where the harts went these ways and memory ends so.
    fn outcome(&self, harts: &[&Ordered], last: &Last) -> Outcome {
        self.test.observed.iter().map(|&observable| self.value(harts, last, observable)).collect()
    }

    fn value(&self, harts: &[&Ordered], last: &Last, observable: Observable) -> u64 {
        match observable {
            Observable::Register { thread, register } => harts[thread].trace.registers[register.index()],
            Observable::Memory { place } => {
                let Location { address, initial, .. } = self.test.places[place];
                let mut held = initial;
                for (&at, &stored) in last.range(address..address + 8) {
                    let width = self.widths.get(&at).copied().unwrap_or(Width::Double);
                    let shift = 8 * (at - address);
                    held = held & !(width.truncate(u64::MAX) << shift) | stored << shift;
                }
                self.kinds[place].of(held)
            }
        }
    }
}

/// Whether to go on: it is asked before it is known whether memory can hold this in the end, and told where
/// it can.
struct EndVisitor<'s, 'a> {
    search: &'s mut Combinations<'a>,
    harts: &'s [&'s Ordered],
    /// What is to be said if this combination is possible at all.
    astray: Option<Refusal>,
    refused: Option<Refusal>,
}

impl EndVisitor<'_, '_> {
    /// Whether an execution that ends so should be looked at.
    fn wants(&self, last: &Last) -> bool {
        if self.astray.is_some() {
            return self.refused.is_none();
        }
        let outcome = self.search.outcome(self.harts, last);
        !self.search.states.contains(&outcome) && self.passes(last)
    }

    /// An execution that the model allows ends so.
    fn visit(&mut self, last: &Last) {
        if self.astray.is_some() {
            self.refused.clone_from(&self.astray);
        } else if self.passes(last) {
            self.search.states.insert(self.search.outcome(self.harts, last));
        }
    }

    /// Whether the filter lets it through. What the filter names need not be among what is observed.
    fn passes(&self, last: &Last) -> bool {
        let Some(filter) = &self.search.test.filter else { return true };
        filter.is_true(&self.search.kinds, &|observable| self.search.value(self.harts, last, observable))
    }
}
