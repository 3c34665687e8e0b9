//! Two sides as a zenbench group.

#![forbid(unsafe_code)]

use std::io::Write;
use std::time::Duration;

use arena_work::environment;
use zenbench::prelude::{GateConfig, Suite};

/// What is called again and again.
pub type Side = Box<dyn FnMut() -> u64 + Send>;

/// Weigh the left side and the right one, for as long and with the noise threshold that stand in the
/// environment, and print zenbench's analysis of the pair as JSON.
///
/// # Errors
/// A variable is missing, or there was no time to analyse anything.
pub fn weigh(sides: [Side; 2]) -> Result<(), String> {
    let time = Duration::from_millis(environment::number("ARENA_MILLISECONDS")?);
    let threshold = environment::number("ARENA_THRESHOLD_PERCENT")? as f64 / 100.0;
    // It would wait for other work to end, for half a minute at a time; its peers here get no such wait.
    let result = zenbench::run_gated(GateConfig::disabled(), |suite: &mut Suite| {
        suite.group("work", |group| {
            group.config().max_time(time).noise_threshold(threshold);
            for (name, mut side) in ["left", "right"].into_iter().zip(sides) {
                group.bench(name, move |bencher| bencher.iter(&mut side));
            }
        });
    });
    let analysis = result.comparisons.first().and_then(|comparison| comparison.analyses.first());
    let (_, _, analysis) = analysis.ok_or("zenbench analysed no pair; give it more time")?;
    let line = serde_json::to_string(analysis).map_err(|error| error.to_string())?;
    writeln!(std::io::stdout(), "{line}").map_err(|error| error.to_string())
}
