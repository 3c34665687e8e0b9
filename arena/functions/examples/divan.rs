//! Two functions as divan benchmarks, `left` and `right`.

#![forbid(unsafe_code)]

use std::hint::black_box;

include!(env!("ARENA_PAIR"));

#[divan::bench(name = "left")]
fn left_side() -> u64 {
    left(black_box(OPERATIONS))
}

#[divan::bench(name = "right")]
fn right_side() -> u64 {
    right(black_box(OPERATIONS))
}

fn main() {
    divan::main();
}
