//! Whether the smallest detectable effect that a verdict names is the one that is found.

use super::Frequency;
use super::noise::{Host, Shape, preempted};
use crate::LEVEL;
use crate::detectable::{self, POWER};
use crate::order::Ordered;
use crate::sequential::Plan;
use crate::sign;

/// What a typical run says, over what is true. It says a tenth more, and never less: it takes the longer
/// side of an interval that is not symmetric.
const CLAIMED: std::ops::RangeInclusive<f64> = 1.0..=1.25;

/// How often an effect of the size that one run says is found by the next run like it. About nine times
/// of ten and not exactly, as the size that is said varies from run to run.
const DETECTED: std::ops::RangeInclusive<f64> = 0.80..=0.97;

/// The log ratios of equal variants move by exactly the logarithm of a difference when there is one. So
/// a run whose interval begins at `low` would have found every effect above −`low`, and the effect that
/// nine of ten runs find is a quantile of that, without a search.
#[test]
fn the_detectable_effect_is_detected_nine_times_of_ten() {
    const RUNS: usize = 1_000;
    let shapes: [(&str, Shape); 3] = [
        ("normal", |noise, _, cost| cost * (0.02 * noise.normal()).exp()),
        ("Laplace", |noise, _, cost| cost * (0.02 * noise.laplace()).exp()),
        ("2 % preempted", |noise, _, cost| preempted(noise, 0.02, cost)),
    ];
    let plan = Plan::new(LEVEL, 1).unwrap();
    for (index, (name, shape)) in shapes.into_iter().enumerate() {
        for count in [32, 200] {
            let (lows, claimed): (Vec<_>, Vec<_>) = (0..RUNS)
                .map(|number| {
                    let seed = 95_000_000 + 1_000_000 * index as u64 + 10_000 * count + number as u64;
                    let mut host = Host::new(seed, shape);
                    let values = (0..count).map(|_| host.block(1.0).0.log_ratio()).collect();
                    let values = Ordered::new(values).unwrap();
                    let estimate = sign::interval(&values, plan.final_level()).unwrap();
                    let level = estimate.ranks.level;
                    let effect = detectable::smallest(values.median(), estimate.interval, level);
                    (estimate.interval.low, effect.unwrap())
                })
                .unzip();
            let next = lows[1..].iter().chain(&lows);
            let detected = Frequency::of(claimed.iter().zip(next).map(|(effect, low)| effect + low > 0.0));
            let needed = lows.iter().map(|low| -low).collect();
            let truth = Ordered::new(needed).unwrap().quantile(POWER).unwrap();
            let claimed = Ordered::new(claimed).unwrap().median();
            println!("{name}, n = {count}: said {claimed:.5}, true {truth:.5}; found {detected}");
            assert!(CLAIMED.contains(&(claimed / truth)), "{name}, {count}: {claimed} {truth}");
            let part = detected.hits as f64 / detected.runs as f64;
            assert!(DETECTED.contains(&part), "{name}, {count}: {detected}");
        }
    }
}
