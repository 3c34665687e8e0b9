//! One work in two amounts as a zenbench group. Which work, how much of it, for how many seconds, and the
//! noise threshold, stand in the environment. It prints zenbench's analysis of the pair as JSON.

#![forbid(unsafe_code)]

use std::io::Write;
use std::time::Duration;

use arena_work::environment;
use zenbench::prelude::{black_box, GateConfig, Suite};

fn main() -> Result<(), String> {
    let index = environment::work()?;
    let sides =
        [("left", environment::number("ARENA_LEFT")?), ("right", environment::number("ARENA_RIGHT")?)];
    let time = Duration::from_millis(environment::number("ARENA_MILLISECONDS")?);
    let threshold = environment::number("ARENA_THRESHOLD_PERCENT")? as f64 / 100.0;
    // It would wait for other work to end, for half a minute at a time; its peers here get no such wait.
    let result = zenbench::run_gated(GateConfig::disabled(), |suite: &mut Suite| {
        suite.group("work", |group| {
            group.config().max_time(time).noise_threshold(threshold);
            for (name, operations) in sides {
                group.bench(name, move |bencher| {
                    bencher.iter(|| arena_work::tenbin_work(black_box(index), black_box(operations)));
                });
            }
        });
    });
    let analysis = result.comparisons.first().and_then(|comparison| comparison.analyses.first());
    let (_, _, analysis) = analysis.ok_or("zenbench analysed no pair; give it more time")?;
    let line = serde_json::to_string(analysis).map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}
