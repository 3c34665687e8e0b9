//! The experiments, a file each. To add one, write its file, as `null.rs` shows it, and declare it here.

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
