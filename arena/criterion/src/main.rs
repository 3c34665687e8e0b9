//! One work as a criterion benchmark. Which one, and how much of it, stands in the environment:
//! criterion takes the command line for itself.

#![forbid(unsafe_code)]

use std::hint::black_box;

use arena_work::environment;
use criterion::Criterion;

fn main() -> Result<(), String> {
    let index = environment::work()?;
    let operations = environment::number("ARENA_OPERATIONS")?;
    let mut criterion = Criterion::default().configure_from_args();
    criterion.bench_function("work", |bencher| {
        bencher.iter(|| arena_work::tenbin_work(black_box(index), black_box(operations)));
    });
    criterion.final_summary();
    Ok(())
}
