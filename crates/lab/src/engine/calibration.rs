//! How many iterations make an epoch of the wanted length.

use tenbin_model::Arrangement;

use crate::experiment::{Apparatus, Failure};

/// More than this is not tried: a variant that costs nothing has no epoch.
const MOST_ITERATIONS: u64 = 1 << 40;

/// The iterations of an epoch for each variant of the arrangement, in its order.
///
/// Iterations are doubled until an epoch takes half of the wanted length, then scaled. Each count is
/// tried three times and the shortest counts, because a preemption can only lengthen an epoch.
/// What is found here decides only how long epochs are, never what they are taken to mean.
pub(super) fn calibrate(
    apparatus: &mut dyn Apparatus,
    arrangement: &Arrangement,
) -> Result<Vec<u64>, (u32, Failure)> {
    let wanted = arrangement.epoch.0.max(1);
    let least = arrangement.least_iterations.max(1);
    let mut counts = Vec::with_capacity(arrangement.variants.len());
    for &variant in &arrangement.variants {
        let mut iterations = least;
        let mut elapsed = shortest(apparatus, variant, iterations).map_err(|failure| (variant, failure))?;
        while elapsed < wanted / 2 && iterations < MOST_ITERATIONS {
            // Grow faster while far away, as a timer's resolution allows.
            iterations *= if elapsed < wanted / 64 { 16 } else { 2 };
            elapsed = shortest(apparatus, variant, iterations).map_err(|failure| (variant, failure))?;
        }
        let scaled = u128::from(iterations) * u128::from(wanted) / u128::from(elapsed.max(1));
        counts.push((scaled as u64).clamp(least, MOST_ITERATIONS));
    }
    Ok(counts)
}

fn shortest(apparatus: &mut dyn Apparatus, variant: u32, iterations: u64) -> Result<u64, Failure> {
    let mut shortest = u64::MAX;
    for _ in 0..3 {
        shortest = shortest.min(apparatus.epoch(variant, iterations)?.elapsed.0);
    }
    Ok(shortest)
}
