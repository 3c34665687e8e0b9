//! A law of cost over size: y = a + b·x, from blocks that hold every size.
//!
//! Each block gives one line, by the median of the slopes of all its pairs of points (Theil 1950; Sen 1968)
//! and the median of what that slope leaves over (Dietz 1989). Three of ten points may be anything at all
//! before such a slope is lost, so a preempted epoch moves it little; and what is common to a block, such as
//! a busy neighbour, stays within it. The blocks' slopes are then numbers like any others here: their median
//! gets the exact interval of the sign test. So does what each size deviates from the line of its own block,
//! as a part of what that line says: of a law that holds, those medians are 0.
//!
//! What the interval covers is the median of the blocks' slopes. Where noise is as likely to lengthen a time
//! as to shorten it, in any measure, that is b; where the cost is no line at all it is a number without a
//! meaning, which the deviations show.
//!
//! Sources: H. Theil, "A rank-invariant method of linear and polynomial regression analysis" (1950); P. K.
//! Sen, "Estimates of the Regression Coefficient Based on Kendall's Tau" (1968); E. J. Dietz, "Teaching
//! Regression in a Nonparametric Statistics Course" (1989).

use super::order::Ordered;
use super::sign::Estimate;

/// A cost at a size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Point {
    /// The size, in any unit.
    pub size: f64,
    /// The cost there, in any unit.
    pub cost: f64,
}

/// A line: cost = constant + slope · size.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CostLine {
    /// The cost at size 0.
    pub constant: f64,
    /// What one more of size costs.
    pub slope: f64,
}

impl CostLine {
    /// The cost that the line says at `size`.
    pub fn at(&self, size: f64) -> f64 {
        self.constant + self.slope * size
    }

    /// The line of Theil and Sen through `points`. None unless there are two different sizes, and where a
    /// number is not finite.
    pub fn through(points: &[Point]) -> Option<Self> {
        if points.iter().any(|point| !point.size.is_finite() || !point.cost.is_finite()) {
            return None;
        }
        let slopes = points.iter().enumerate().flat_map(|(place, one)| {
            let others = points[place + 1..].iter().filter(|other| other.size != one.size);
            others.map(|other| (other.cost - one.cost) / (other.size - one.size))
        });
        let slope = Ordered::new(slopes.collect())?.median();
        let left = points.iter().map(|point| point.cost - slope * point.size).collect();
        Some(Self { constant: Ordered::new(left)?.median(), slope })
    }
}

/// A law over blocks: constant, slope, and how well each size fits.
#[derive(Clone, Debug, PartialEq)]
pub struct Law {
    /// The cost at size 0, in the unit of the costs.
    pub constant: Estimate,
    /// What one more of size costs.
    pub slope: Estimate,
    /// What each size costs beyond the line, as a part of what the line says, smallest size first.
    pub deviations: Vec<Deviation>,
    /// Blocks that gave a line.
    pub blocks: usize,
}

/// What a size costs beyond the line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Deviation {
    /// The size.
    pub size: f64,
    /// The deviation, as a part: 0.1 where it costs a tenth more than the line says. Always finite; see
    /// [`law`].
    pub part: Estimate,
    /// What the size costs beyond the constant of the line of its block, as a part of that constant.
    pub of_constant: Estimate,
}

/// By how much `here` is more than `predicted`, as a part of that; as a part of `here` where nothing or less
/// was predicted.
fn beyond(here: f64, predicted: f64) -> Option<f64> {
    if predicted > 0.0 {
        Some(here / predicted - 1.0)
    } else {
        (here > 0.0).then(|| (here - predicted) / here)
    }
}

/// The law of `blocks`, each of which holds its points, every interval at `level` by itself.
///
/// None if no block gives a line; blocks without one are left out. Where the line of a block says that a size
/// costs nothing or less, nothing is a part of that: the deviation there is a part of what the size does
/// cost, and so 1 or more. A block in which it costs nothing either has no deviation there, and a size
/// without any is left out.
pub fn law(blocks: &[Vec<Point>], level: f64) -> Option<Law> {
    let fitted: Vec<(&Vec<Point>, CostLine)> =
        blocks.iter().filter_map(|points| Some((points, CostLine::through(points)?))).collect();
    let estimate = |of: fn(&CostLine) -> f64| {
        let values = fitted.iter().map(|(_, line)| of(line)).collect();
        Some(Estimate::of(&Ordered::new(values)?, level))
    };
    let mut sizes: Vec<f64> =
        fitted.iter().flat_map(|(points, _)| points.iter().map(|point| point.size)).collect();
    sizes.sort_unstable_by(f64::total_cmp);
    sizes.dedup();
    let deviation = |&size: &f64| {
        let parts = |predicted: fn(&CostLine, f64) -> f64| {
            let of_block = |(points, line): &(&Vec<Point>, CostLine)| {
                let costs = points.iter().filter(|point| point.size == size).map(|point| point.cost);
                beyond(Ordered::new(costs.collect())?.median(), predicted(line, size))
            };
            let parts = Ordered::new(fitted.iter().filter_map(of_block).collect())?;
            Some(Estimate::of(&parts, level))
        };
        let (part, of_constant) = (parts(CostLine::at)?, parts(|line, _| line.constant)?);
        Some(Deviation { size, part, of_constant })
    };
    Some(Law {
        constant: estimate(|line| line.constant)?,
        slope: estimate(|line| line.slope)?,
        deviations: sizes.iter().filter_map(deviation).collect(),
        blocks: fitted.len(),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn points(line: CostLine, sizes: &[f64]) -> Vec<Point> {
        sizes.iter().map(|&size| Point { size, cost: line.at(size) }).collect()
    }

    const SIZES: [f64; 5] = [0.0, 1.0, 4.0, 16.0, 64.0];

    #[test]
    fn a_line_without_noise_is_found_exactly_and_deviates_nowhere() {
        let line = CostLine { constant: 60.0, slope: 7.0 };
        assert_eq!(CostLine::through(&points(line, &SIZES)), Some(line));
        let law = law(&vec![points(line, &SIZES); 8], 0.05).unwrap();
        assert_eq!((law.constant.median, law.slope.median, law.blocks), (60.0, 7.0, 8));
        assert_eq!(law.deviations.len(), SIZES.len());
        assert!(law.deviations.iter().all(|deviation| deviation.part.median.abs() < 1e-12));
        let interval = law.slope.interval.unwrap().interval;
        assert_eq!((interval.low, interval.high), (7.0, 7.0));
    }

    #[test]
    fn a_bent_one_deviates_where_it_bends() {
        let mut bent = points(CostLine { constant: 60.0, slope: 7.0 }, &SIZES);
        bent[4].cost *= 2.0;
        let law = law(&vec![bent; 8], 0.05).unwrap();
        let furthest =
            law.deviations.iter().max_by(|one, other| one.part.median.total_cmp(&other.part.median));
        assert_eq!(furthest.unwrap().size, 64.0);
        assert!(furthest.unwrap().part.interval.unwrap().interval.low > 0.1, "{law:?}");
    }

    #[test]
    fn deviation_is_a_part_of_the_cost_where_the_line_is_zero() {
        let squares: Vec<Point> = SIZES.iter().map(|&size| Point { size, cost: 1.0 + size * size }).collect();
        assert!(CostLine::through(&squares).unwrap().at(0.0) < 0.0);
        let fitted = law(&vec![squares; 8], 0.05).unwrap();
        assert_eq!(fitted.deviations[0].part.median, 17.5, "1 is 17.5 above −16.5");
        // Nothing is a part of nothing: there is no deviation, and none of the others suffers.
        let still: Vec<Point> = SIZES.iter().map(|&size| Point { size, cost: size }).collect();
        let fitted = law(&vec![still; 8], 0.05).unwrap();
        assert_eq!(fitted.deviations.iter().map(|deviation| deviation.size).collect::<Vec<_>>(), SIZES[1..]);
    }

    #[test]
    fn what_is_no_line_is_none_and_too_few_blocks_have_no_interval() {
        let point = Point { size: 1.0, cost: 2.0 };
        for points in [vec![], vec![point], vec![point; 3], vec![point, Point { size: 2.0, cost: f64::NAN }]]
        {
            assert_eq!(CostLine::through(&points), None, "{points:?}");
            assert_eq!(law(&[points], 0.05), None);
        }
        let line = CostLine { constant: 1.0, slope: 1.0 };
        assert_eq!(law(&[points(line, &SIZES)], 0.05).unwrap().slope.interval, None);
    }

    proptest! {
        /// Two of ten points may be anything, and a line that is otherwise exact is still found.
        #[test]
        fn two_points_of_ten_do_not_move_an_exact_line(
            constant in 1.0..1e3_f64,
            slope in -1e2..1e2_f64,
            wild in prop::collection::vec((0..10_usize, -1e9..1e9_f64), 2),
        ) {
            let line = CostLine { constant, slope };
            let mut both = points(line, &[&SIZES[..], &SIZES[..]].concat());
            wild.into_iter().for_each(|(place, cost)| both[place].cost = cost);
            let line = CostLine::through(&both).unwrap();
            let scale = constant.abs() + 64.0 * slope.abs();
            prop_assert!((line.slope - slope).abs() <= 1e-9 * scale, "{line:?}");
            prop_assert!((line.constant - constant).abs() <= 1e-9 * scale, "{line:?}");
        }

        /// Other units change the figures by just that, and the order of the points nothing.
        #[test]
        fn units_scale_and_order_is_nothing(
            costs in prop::collection::vec(1.0..1e6_f64, 5),
            factor in 0.001..1e3_f64,
        ) {
            let mut points: Vec<Point> =
                SIZES.iter().zip(&costs).map(|(&size, &cost)| Point { size, cost }).collect();
            let line = CostLine::through(&points).unwrap();
            points.reverse();
            prop_assert_eq!(CostLine::through(&points).unwrap(), line);
            points.iter_mut().for_each(|point| point.cost *= factor);
            let scaled = CostLine::through(&points).unwrap();
            let slope = line.slope * factor;
            prop_assert!((scaled.slope - slope).abs() <= 1e-9 * slope.abs().max(1e-9));
        }
    }
}
