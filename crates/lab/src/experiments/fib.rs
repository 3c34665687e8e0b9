//! `fib`: which way to a Fibonacci number is cheap, in user mode and in the kernel?

mod decimal;
mod described;
mod device;
mod kernel;
mod looked;
mod oracle;
mod soak;
mod user;
mod words;

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::Finding;
use tenbin_model::words::comma;

use crate::experiment::{Experiment, Plan, Request, Unfit};

use described::describe;

/// Where numbers are computed.
const WHERE: [&str; 2] = ["user", "kernel"];

/// What only the driver can be asked for.
const OF_THE_KERNEL: [&str; 3] = ["readers", "seconds", "traced"];

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let known = |place: &String| WHERE.contains(&place.as_str());
    let place =
        request.settings.one("where", WHERE[0].to_owned(), &format!("one of {}", comma(WHERE)), known)?;
    if place == WHERE[1] {
        return kernel::plan(request);
    }
    match OF_THE_KERNEL.iter().find(|key| request.settings.given(key).is_some()) {
        Some(key) => {
            Err(Unfit::Usage(format!("--set {key}: it asks the driver, so it needs --set where=kernel")))
        }
        None => user::plan(request),
    }
}

fn finding(sentence: String, evidence: String, confidence: &str) -> Finding {
    Finding { experiment: "fib".into(), sentence, evidence, confidence: confidence.into() }
}

/// Places within `range` at random; none where it is empty.
fn samples(seed: u64, range: Range<u64>, count: usize) -> Vec<u64> {
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    let count = if range.is_empty() { 0 } else { count };
    (0..count).map(|_| random.random_range(range.clone())).collect()
}

/// The fib experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment::new(&describe, &plan);

#[cfg(test)]
mod tests;
