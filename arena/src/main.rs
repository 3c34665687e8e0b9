//! `work NAME OPERATIONS` runs that many operations and says nothing. `work` alone says what there
//! is: a line for each work, with its name and the nanoseconds that one operation takes here.

#![forbid(unsafe_code)]

use std::env;
use std::io::Write;
use std::time::{Duration, Instant};

/// Long enough that starting a clock and a cold cache do not show.
const LONG: Duration = Duration::from_millis(20);

fn main() -> Result<(), String> {
    let arguments = env::args().skip(1).collect::<Vec<_>>();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => list(),
        [name, operations] => {
            let index = arena_work::index(name).ok_or_else(|| format!("there is no work called {name}"))?;
            let operations = operations.parse().map_err(|error| format!("{operations}: {error}"))?;
            arena_work::attempt(index, operations)
        }
        _ => Err("usage: work [NAME OPERATIONS]".into()),
    }
}

fn list() -> Result<(), String> {
    for (name, index) in arena_work::names().zip(0..) {
        let nanoseconds = nanoseconds(index)?;
        writeln!(std::io::stdout(), "{name} {nanoseconds:.4}").map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// What one operation takes, as the median of a few long runs.
fn nanoseconds(index: u32) -> Result<f64, String> {
    let time = |operations| {
        let started = Instant::now();
        arena_work::attempt(index, operations).map(|()| started.elapsed())
    };
    let mut operations = 1;
    while time(operations)? < LONG {
        operations *= 2;
    }
    let mut times = [Duration::ZERO; 5];
    for slot in &mut times {
        *slot = time(operations)?;
    }
    times.sort();
    Ok(times[2].as_nanos() as f64 / operations as f64)
}
