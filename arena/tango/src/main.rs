//! One work in two amounts as tango benchmarks, `left/work` and `right/work`, to be compared with each
//! other by `compare --strip-baseline 'left/*' --strip-candidate 'right/*'`. Which work, and how much of
//! it, stands in the environment: tango takes the command line for itself, and starts this program twice.

#![forbid(unsafe_code)]

use std::hint::black_box;

use arena_work::environment;
use tango_bench::{benchmark_fn, tango_benchmarks, Benchmark, IntoBenchmarks};

fn sides() -> impl IntoBenchmarks {
    match environment::work().and_then(|index| {
        let side =
            |name: &str, variable: &str| Ok::<_, String>(side(name, index, environment::number(variable)?));
        Ok([side("left/work", "ARENA_LEFT")?, side("right/work", "ARENA_RIGHT")?])
    }) {
        Ok(sides) => sides,
        // The harness has no place for an error: a panic says why, and ends the process that tango waits for.
        Err(reason) => panic!("{reason}"),
    }
}

fn side(name: &str, index: u32, operations: u64) -> Benchmark {
    benchmark_fn(name, move |bencher| {
        bencher.iter(move || arena_work::tenbin_work(black_box(index), black_box(operations)))
    })
}

tango_benchmarks!(sides());
