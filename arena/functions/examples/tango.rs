//! Two functions as tango benchmarks, `left/work` and `right/work`. Two builds of this program are compared:
//! `compare --strip-baseline 'left/*' --strip-candidate 'right/*'`.

#![forbid(unsafe_code)]

use std::hint::black_box;

use tango_bench::{benchmark_fn, tango_benchmarks, IntoBenchmarks};

include!(env!("ARENA_PAIR"));

fn sides() -> impl IntoBenchmarks {
    [
        benchmark_fn("left/work", |bencher| bencher.iter(|| left(black_box(OPERATIONS)))),
        benchmark_fn("right/work", |bencher| bencher.iter(|| right(black_box(OPERATIONS)))),
    ]
}

tango_benchmarks!(sides());
