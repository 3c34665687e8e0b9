//! One work as a criterion benchmark. Which one, and how much of it, stands in the environment:
//! criterion takes the command line for itself.

#![forbid(unsafe_code)]

use std::env;
use std::hint::black_box;

use criterion::Criterion;

fn main() -> Result<(), String> {
    let index = number("ARENA_WORK")?;
    let operations = number("ARENA_OPERATIONS")?;
    let index = u32::try_from(index).map_err(|error| format!("ARENA_WORK is {index}: {error}"))?;
    // Preparing a work takes time, and is no part of it.
    arena_work::attempt(index, 0)?;
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("work", |bencher| {
        bencher.iter(|| arena_work::tenbin_work(black_box(index), black_box(operations)));
    });
    criterion.final_summary();
    Ok(())
}

fn number(name: &str) -> Result<u64, String> {
    let text = env::var(name).map_err(|error| format!("cannot read {name}: {error}; set it to a number"))?;
    text.parse().map_err(|error| format!("{name} is {text}: {error}; set it to a number"))
}
