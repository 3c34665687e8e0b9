//! Finding the clock's tick in a column of lengths.
//!
//! A counter's readings reach the store as ⌊k·t⌋ or ⌊k·t + ½⌋ picoseconds, with k an integer and t the
//! counter's step. Storing k instead of the product saves log₂ t bits a value: 8.6 on a 2.6 GHz
//! counter, 13.3 where a virtual counter moves in steps of 10 ns. What does not lie on the grid
//! keeps its distance from it, so a wrong guess costs space and never a value.

/// Fewer values than this do not show a grid.
const FEWEST: usize = 16;

/// A grid of values ⌊k·tick + phase⌋.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Grid {
    /// Distance of two neighbours; 1 means no grid.
    pub(super) tick: f64,
    /// 0 where products were cut off, 0.5 where they were rounded.
    pub(super) phase: f64,
}

impl Grid {
    /// Every integer: stores values as they are.
    pub(super) const NONE: Self = Self { tick: 1.0, phase: 0.0 };

    /// The index of the point nearest to `value`, and the folded distance from it.
    pub(super) fn split(self, value: u64) -> (u64, u64) {
        if self == Self::NONE {
            return (value, 0);
        }
        // A point of the cut grid lies up to one below its product, one of the rounded up to a half
        // to either side: shifted by ½ − phase, both are nearest to their own index.
        let index = ((value as f64 + 0.5 - self.phase) / self.tick).round() as u64;
        (index, value.wrapping_sub(self.point(index)))
    }

    /// The inverse of [`Grid::split`]. The product is one IEEE multiplication and one addition, so
    /// that every machine computes the same.
    pub(super) fn join(self, index: u64, distance: u64) -> u64 {
        if self == Self::NONE { index } else { self.point(index).wrapping_add(distance) }
    }

    fn point(self, index: u64) -> u64 {
        (index as f64 * self.tick + self.phase).floor() as u64
    }
}

/// The grid that `values` lie on, if most of them do.
pub(super) fn find(values: &[u64]) -> Option<Grid> {
    if values.len() < FEWEST {
        return None;
    }
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let median = sorted[sorted.len() / 2];
    sorted.dedup();
    let gap = commonest_gap(&sorted)?;
    // Where few values are taken, even the commonest gap may be several ticks.
    (1..=8).map(|parts| gap / f64::from(parts)).take_while(|&tick| tick >= 4.0).find_map(|tick| {
        let (tick, doubt) = from_differences(&sorted, median, tick)?;
        [0.0, 0.5]
            .into_iter()
            .filter_map(|phase| from_values(&sorted, median, tick, doubt, phase))
            .max_by_key(|(_, on_grid)| *on_grid)
            .map(|(grid, _)| grid)
    })
}

/// The most frequent distance of neighbours in a sorted list without repetition. Rounding makes
/// two distances of one: the frequent one and the next are averaged.
fn commonest_gap(sorted: &[u64]) -> Option<f64> {
    let mut gaps: Vec<u64> = sorted.windows(2).map(|pair| pair[1] - pair[0]).collect();
    gaps.sort_unstable();
    let runs: Vec<(u64, usize)> = gaps.chunk_by(|a, b| a == b).map(|run| (run[0], run.len())).collect();
    let joined = |index: usize| {
        let (gap, count) = runs[index];
        let next = runs.get(index + 1).filter(|(other, _)| *other == gap + 1).map_or(0, |(_, count)| *count);
        (gap, count, next)
    };
    // Of equally frequent ones the smallest.
    let (gap, count, next) = (0..runs.len()).rev().map(joined).max_by_key(|(_, count, next)| count + next)?;
    Some(gap as f64 + next as f64 / (count + next) as f64)
}

/// Sharpens `tick` on ever longer distances from `origin`: each must come out as a whole number of
/// ticks within what is still in doubt. Returns the tick and half the width of the doubt.
fn from_differences(sorted: &[u64], origin: u64, tick: f64) -> Option<(f64, f64)> {
    let mut distances: Vec<f64> = sorted
        .iter()
        .filter(|&&value| value != origin)
        .map(|&value| signed_distance(value, origin))
        .collect();
    distances.sort_unstable_by(|a, b| a.abs().total_cmp(&b.abs()));
    let (mut tick, mut longest) = (tick, 1.0f64);
    let (mut products, mut squares) = (0.0, 0.0);
    let mut met: Vec<(f64, f64)> = Vec::new();
    for &distance in &distances {
        let steps = (distance / tick).round();
        let doubt = 1.5 + 1.5 * steps.abs() / longest;
        if doubt > tick / 4.0 {
            break;
        }
        if steps != 0.0 && (distance - steps * tick).abs() <= doubt {
            products += distance * steps;
            squares += steps * steps;
            tick = products / squares;
            longest = longest.max(steps.abs());
            met.push((steps, distance));
        }
    }
    if met.len() * 10 < distances.len() * 9 {
        return None;
    }
    // Least squares with an intercept, because the origin is itself rounded. Rounding errors have a
    // standard deviation of 0.3, so 2/√Σ(k − k̄)² is seven standard errors of the slope.
    let count = met.len() as f64;
    let (steps, lengths) = met.iter().fold((0.0, 0.0), |(k, d), pair| (k + pair.0, d + pair.1));
    let (steps, lengths) = (steps / count, lengths / count);
    let (spread, covered) = met.iter().fold((0.0, 0.0), |(spread, covered), (k, d)| {
        (spread + (k - steps) * (k - steps), covered + (k - steps) * (d - lengths))
    });
    (spread > 0.0).then(|| (covered / spread, 2.0 / spread.sqrt()))
}

fn signed_distance(value: u64, origin: u64) -> f64 {
    let distance = value.abs_diff(origin) as f64;
    if value < origin { -distance } else { distance }
}

/// Narrows `tick` ± `doubt` to the interval in which every value is exactly a point of the grid,
/// passing over those that no tick in it can explain. Returns the grid and the number explained.
fn from_values(sorted: &[u64], origin: u64, tick: f64, doubt: f64, phase: f64) -> Option<(Grid, usize)> {
    let mut nearest_first = sorted.to_vec();
    nearest_first.sort_unstable_by_key(|value| value.abs_diff(origin));
    let (mut low, mut high, mut explained) = (tick - doubt, tick + doubt, 0usize);
    for &value in &nearest_first {
        let value = value as f64;
        let index = ((value + 0.5 - phase) / ((low + high) / 2.0)).round();
        if index < 1.0 {
            explained += 1;
            continue;
        }
        // Where the index itself is in doubt, the value proves nothing.
        if index * (high - low) > tick / 2.0 {
            continue;
        }
        let (new_low, new_high) = (low.max((value - phase) / index), high.min((value + 1.0 - phase) / index));
        if new_low < new_high {
            (low, high) = (new_low, new_high);
            explained += 1;
        }
    }
    let grid = Grid { tick: (low + high) / 2.0, phase };
    (explained * 10 >= sorted.len() * 8).then_some((grid, explained))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Indices that look like lengths of epochs: near 260 000, with neighbours and outliers.
    fn indices() -> impl Iterator<Item = u64> {
        (0..2_000u64).map(|i| 259_000 + i * i * 7_919 % 2_600 + if i % 90 == 0 { 40_000 + i * 11 } else { 0 })
    }

    #[test]
    fn a_cut_and_a_rounded_grid_are_found_exactly() {
        let scale = (385.139_27 * 2f64.powi(32)) as u64;
        let fixed_point = |k: u64| ((u128::from(k) * u128::from(scale)) >> 32) as u64;
        let rounded = |k: u64| (k as f64 * 385.14).round() as u64;
        for place in [&fixed_point as &dyn Fn(u64) -> u64, &rounded] {
            let grid = find(&indices().map(place).collect::<Vec<_>>()).unwrap();
            assert!(indices().all(|k| grid.split(place(k)) == (k, 0)), "{grid:?}");
        }
    }

    #[test]
    fn a_few_values_beside_the_grid_do_not_hide_it() {
        let values: Vec<u64> = indices()
            .enumerate()
            .map(|(i, k)| (k as f64 * 385.14) as u64 + if i % 50 == 0 { 1 + i as u64 % 300 } else { 0 })
            .collect();
        let grid = find(&values).unwrap();
        assert!((grid.tick - 385.14).abs() < 1e-3, "{grid:?}");
        let on_grid = values.iter().filter(|&&value| grid.split(value).1 == 0).count();
        assert!(on_grid * 100 >= values.len() * 90, "{on_grid}");
    }

    #[test]
    fn where_there_is_no_grid_none_is_found() {
        let values: Vec<u64> =
            (0..2_000u64).map(|i| 100_000_000 + i.wrapping_mul(0x9e37_79b9_7f4a_7c15) % 1_000_003).collect();
        assert_eq!(find(&values), None);
        assert_eq!(find(&[5; 100]), None);
        assert_eq!(find(&[]), None);
    }
}
