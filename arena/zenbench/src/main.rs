//! One work in two amounts as a zenbench group. Which work, and how much of it, stand in the environment.
//! It prints zenbench's analysis of the pair as JSON.

#![forbid(unsafe_code)]

use std::hint::black_box;

use arena_work::environment;
use arena_zenbench::{weigh, Side};

fn main() -> Result<(), String> {
    let index = environment::work()?;
    let side = |variable| {
        let operations = environment::number(variable)?;
        let work: Side = Box::new(move || arena_work::tenbin_work(black_box(index), black_box(operations)));
        Ok::<_, String>(work)
    };
    weigh([side("ARENA_LEFT")?, side("ARENA_RIGHT")?])
}
