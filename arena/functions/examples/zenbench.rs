//! Two functions as a zenbench group. For how many seconds, and the noise threshold, stand in the
//! environment. It prints zenbench's analysis of the pair as JSON.

#![forbid(unsafe_code)]

use std::hint::black_box;

use arena_zenbench::{weigh, Side};

include!(env!("ARENA_PAIR"));

fn main() -> Result<(), String> {
    let side = |function: fn(u64) -> u64| -> Side { Box::new(move || function(black_box(OPERATIONS))) };
    weigh([side(left), side(right)])
}
