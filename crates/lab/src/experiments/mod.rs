//! The experiments, a file each. To add one, write its file and declare it here.
//!
//! What such a file holds, whole (this example is compiled and run):
//!
//! ```
//! use std::sync::Arc;
//!
//! use tenbin_lab::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};
//! use tenbin_metal::{Fault, Lap, Task, Team, kernels};
//! use tenbin_model::{Arrangement, Comparison, Descriptor, Source, Variant, VariantIndex};
//!
//! const ONE: VariantIndex = VariantIndex(0);
//! const TWO: VariantIndex = VariantIndex(1);
//!
//! // 1. Which cells, on which CPUs, and what is weighed against what.
//! fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
//!     let cell = Arrangement {
//!         label: "in a register".into(),
//!         cpus: request.cpus[..1].to_vec(),
//!         epoch: describe().epoch,
//!         variants: vec![ONE, TWO],
//!         comparisons: Comparison::of([(ONE, TWO)]),
//!         headline: true,
//!         ..Arrangement::default()
//!     };
//!     Ok(Plan::new([cell], open))
//! }
//!
//! // 2. One cell, set up: how a variant is checked, and how it is timed.
//! struct Loops(Team);
//!
//! impl Apparatus for Loops {
//!     fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
//!         let made = if variant <= TWO { turns(variant, 10) } else { kernels::empty_loop_one_short(10) };
//!         Ok(if made >= 10 { Seen::Met(format!("{made} turns")) } else { Seen::Broken(format!("{made}")) })
//!     }
//!     fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
//!         let task: Task = Arc::new(move |_, iterations| {
//!             std::hint::black_box(turns(variant, iterations));
//!             0
//!         });
//!         Ok(self.0.lap(&task, iterations)?)
//!     }
//! }
//!
//! fn turns(variant: VariantIndex, iterations: u64) -> u64 {
//!     kernels::empty_loop(iterations * u64::from(1 + variant.0))
//! }
//!
//! fn open(cell: &Arrangement, request: &Request<'_>) -> Opened {
//!     Ok(Box::new(Loops(Team::gather(request.clock, &cell.cpus)?)))
//! }
//!
//! // 3. What it says about itself, last.
//! fn describe() -> Descriptor {
//!     Descriptor {
//!         name: "loops".into(),
//!         question: "Do two turns cost twice what one costs?".into(),
//!         requirement: "an example must be small".into(),
//!         specification: "n turns are made at least".into(),
//!         subject: "A loop".into(),
//!         variants: vec![
//!             Variant::measured("one turn", "as asked"),
//!             Variant::measured("two turns", "twice as many"),
//!             Variant::sabotage("one turn short", "must fail the check"),
//!         ],
//!         margin: 0.01,
//!         sources: vec![Source::new("this page", "everything")],
//!         ..Descriptor::default()
//!     }
//! }
//!
//! /// The line in the list is this name's module.
//! pub const EXPERIMENT: Experiment<'static> = Experiment::new(&describe, &plan);
//! # assert_eq!(turns(TWO, 10), 20);
//! # assert_eq!((EXPERIMENT.describe)().variant("two turns"), Some(TWO));
//! ```

use std::collections::BTreeMap;

use tenbin_metal::sampling::Sampled;
use tenbin_metal::symbols::Symbols;
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::Order;
use tenbin_model::words::counted;

use crate::experiment::{Experiment, Request, Unfit};

pub mod null;
pub mod pipe;
pub mod atomics;
pub mod caches;
pub mod numa;
pub mod c2c;
pub mod thrash;
pub mod faults;
pub mod calls;
pub mod fork;
pub mod timer;
pub mod wake;
pub mod mmap;
pub mod fib;
pub mod checkout;
pub mod tags;
pub mod build;
pub mod edit;

include!(concat!(env!("OUT_DIR"), "/experiments.rs"));

/// 1, 2, 4, … and every CPU.
fn doublings(cpus: usize) -> Vec<usize> {
    std::iter::successors(Some(1), |count| Some(count * 2))
        .take_while(|&count| count < cpus)
        .chain([cpus])
        .collect()
}

fn threads(request: &Request<'_>, usual: &[usize]) -> Result<Vec<usize>, Unfit> {
    let expected = "a number of threads from 1 to 1024";
    request.settings.list("threads", usual, expected, |count| (1..=1024).contains(count))
}

/// Whether `--set key=yes`.
fn is_yes(request: &Request<'_>, key: &str) -> Result<bool, Unfit> {
    let answers = ["yes", "no"];
    let known = |answer: &String| answers.contains(&answer.as_str());
    Ok(request.settings.one(key, "no".to_owned(), "yes or no", known)? == "yes")
}

/// A lap, and how often something failed in it.
fn lap_with_failures(team: &mut Team, task: &Task, iterations: u64) -> Result<(Lap, u64), Fault> {
    let lap = team.lap(task, iterations)?;
    let failures = lap.shares.iter().map(|share| share.failures).sum();
    Ok((lap, failures))
}

/// The kernel's functions into which samples fell, and how many: those with the most first.
fn by_function<'a>(sampled: &Sampled, symbols: &'a Symbols) -> Vec<(&'a str, u64)> {
    let mut functions: BTreeMap<&str, u64> = BTreeMap::new();
    for (&address, &count) in &sampled.kernel {
        let name = symbols.at(address).map_or("no known function", |place| place.symbol);
        *functions.entry(name).or_default() += count;
    }
    let mut functions: Vec<(&str, u64)> = functions.into_iter().collect();
    functions.order_by_key(|&(_, count)| std::cmp::Reverse(count));
    functions
}

fn at_threads(threads: usize) -> String {
    format!("at {}", counted(threads, "thread"))
}

#[cfg(test)]
mod tests;
