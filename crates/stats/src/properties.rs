//! What must hold for every sample.
use proptest::collection::vec;
use proptest::prelude::*;
use tenbin_model::Interval;

use super::detectable;
use super::fairness::jain;
use super::order::{Ordered, Ranks};
use super::paired::{Block, Epoch, Side, log_ratios};
use super::proportion::clopper_pearson;
use super::sign::{self, Signs};

fn sample() -> impl Strategy<Value = Vec<f64>> {
    // Quarters, so that ties and zeros are common and sums are exact.
    vec((-40..40_i32).prop_map(|quarters| f64::from(quarters) / 4.0), 1..80)
}

fn level() -> impl Strategy<Value = f64> {
    prop_oneof![Just(0.5), Just(0.05), Just(0.01), 1e-9..0.999]
}

fn ordered(values: Vec<f64>) -> Ordered {
    Ordered::new(values).unwrap()
}

fn interval(values: &[f64], level: f64) -> Option<Interval> {
    Some(sign::interval(&ordered(values.to_vec()), level)?.interval)
}

fn negated(interval: Interval) -> Interval {
    Interval { low: -interval.high, high: -interval.low }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(200) })]

    #[test]
    fn the_interval_contains_the_median(values in sample(), level in level()) {
        let values = ordered(values);
        if let Some(estimate) = sign::interval(&values, level) {
            let Interval { low, high } = estimate.interval;
            prop_assert!(low <= values.median() && values.median() <= high);
            prop_assert!(estimate.ranks.level <= level);
            prop_assert!(estimate.ranks.low < estimate.ranks.high);
        }
    }

    #[test]
    fn order_does_not_matter(
        (values, shuffled) in sample()
            .prop_flat_map(|values| (Just(values.clone()), Just(values).prop_shuffle())),
        level in level(),
    ) {
        prop_assert_eq!(interval(&values, level), interval(&shuffled, level));
        prop_assert_eq!(ordered(values), ordered(shuffled));
    }

    #[test]
    fn negating_the_sample_negates_the_interval(values in sample(), level in level()) {
        let mirrored: Vec<f64> = values.iter().map(|value| -value).collect();
        prop_assert_eq!(interval(&mirrored, level), interval(&values, level).map(negated));
        let (mirrored, values) = (ordered(mirrored), ordered(values));
        prop_assert_eq!(Signs::of(&mirrored).p_value(), Signs::of(&values).p_value());
        prop_assert_eq!(mirrored.median(), -values.median());
    }

    #[test]
    fn swapping_the_variants_negates_the_log_ratios(times in vec(0.1..10.0_f64, 4..80)) {
        let epochs = |first, second| {
            times.chunks_exact(4).enumerate().flat_map(move |(block, times)| {
                let sides = [first, second, second, first];
                std::iter::zip(sides, times)
                    .map(move |(side, &time)| Epoch { block: block as u32, side, time })
                    .collect::<Vec<_>>()
            })
        };
        let one = log_ratios(epochs(Side::Left, Side::Right));
        let other = log_ratios(epochs(Side::Right, Side::Left));
        prop_assert_eq!(one.values.len(), times.len() / 4);
        prop_assert_eq!(one.values, other.values.iter().map(|value| -value).collect::<Vec<_>>());
    }

    #[test]
    fn a_common_unit_cancels(times in [0.1..10.0_f64, 0.1..10.0, 0.1..10.0, 0.1..10.0], power in -8..8_i32) {
        let [a, b, c, d] = times;
        let unit = 2_f64.powi(power);
        let plain = Block { left: [a, d], right: [b, c] };
        let scaled = Block { left: [a * unit, d * unit], right: [b * unit, c * unit] };
        prop_assert!((plain.log_ratio() - scaled.log_ratio()).abs() < 1e-14);
    }

    #[test]
    fn a_stricter_level_never_narrows(
        count in 1..5_000_usize,
        quantile in 0.01..0.99,
        one in level(),
        other in level(),
    ) {
        let (strict, loose) = (one.min(other), one.max(other));
        if let Some(wide) = Ranks::of(count, quantile, strict) {
            let narrow = Ranks::of(count, quantile, loose).unwrap();
            prop_assert!(wide.low <= narrow.low && narrow.high <= wide.high);
            prop_assert!(wide.level <= strict && narrow.level <= loose);
        }
    }

    #[test]
    fn ranks_are_the_narrowest_allowed(count in 1..400_usize, level in level()) {
        // One step inwards on either side must break the promise for that side.
        if let Some(ranks) = Ranks::of(count, 0.5, level) {
            let coin = super::binomial::Binomial::new(count as u64, 0.5).unwrap();
            prop_assert!(coin.lower_tail(ranks.low as u64) * (1.0 + 2e-12) > level / 2.0);
            prop_assert_eq!(ranks.low + ranks.high, count + 1);
        }
    }

    #[test]
    fn shifting_the_sample_shifts_the_answers(
        values in sample(), shift in -1000..1000_i32, level in level(),
    ) {
        let shift = f64::from(shift);
        let shifted: Vec<f64> = values.iter().map(|value| value + shift).collect();
        let moved = interval(&values, level)
            .map(|old| Interval { low: old.low + shift, high: old.high + shift });
        prop_assert_eq!(interval(&shifted, level), moved);
        let (values, shifted) = (ordered(values), ordered(shifted));
        prop_assert_eq!(shifted.median(), values.median() + shift);
        prop_assert_eq!(shifted.median_absolute_deviation(), values.median_absolute_deviation());
        prop_assert!((shifted.quantile(0.3).unwrap() - values.quantile(0.3).unwrap() - shift).abs() < 1e-9);
    }

    #[test]
    fn the_interval_excludes_zero_exactly_if_the_p_value_allows(values in sample(), level in level()) {
        let excludes = interval(&values, level).is_some_and(|it| it.low > 0.0 || it.high < 0.0);
        prop_assert_eq!(excludes, Signs::of(&ordered(values)).p_value() <= level);
    }

    #[test]
    fn quantiles_rise_from_the_smallest_to_the_largest(
        values in sample(), one in 0.0..=1.0, other in 0.0..=1.0,
    ) {
        let values = ordered(values);
        let at = |fraction: f64| values.quantile(fraction).unwrap();
        prop_assert!(at(f64::min(one, other)) <= at(f64::max(one, other)) + 1e-12);
        prop_assert_eq!(at(0.0), values.values()[0]);
        prop_assert_eq!(at(1.0), values.values()[values.count() - 1]);
        prop_assert!((at(0.5) - values.median()).abs() < 1e-12);
    }

    #[test]
    fn a_proportion_lies_in_its_interval(trials in 1..3_000_u64, part in 0.0..=1.0, level in level()) {
        let successes = (trials as f64 * part) as u64;
        let interval = clopper_pearson(successes, trials, level).unwrap();
        let observed = successes as f64 / trials as f64;
        let Interval { low, high } = interval;
        prop_assert!(0.0 <= low && low <= observed && observed <= high && high <= 1.0);
        let mirrored = clopper_pearson(trials - successes, trials, level).unwrap();
        prop_assert!((mirrored.low - (1.0 - interval.high)).abs() < 1e-13);
    }

    #[test]
    fn a_detectable_effect_lies_outside_the_interval(values in sample(), level in level()) {
        let values = ordered(values);
        if let Some(estimate) = sign::interval(&values, level) {
            let level = estimate.ranks.level;
            let effect = detectable::smallest(values.median(), estimate.interval, level).unwrap();
            prop_assert!(effect >= (estimate.interval.high - estimate.interval.low) / 2.0);
        }
    }

    #[test]
    fn fairness_stays_within_its_bounds(shares in vec(0.0..1e6_f64, 1..50)) {
        if let Some(index) = jain(&shares) {
            prop_assert!(index <= 1.0 && index >= (1.0 - 1e-12) / shares.len() as f64);
        }
    }
}
