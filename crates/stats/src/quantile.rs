//! Median, quantiles and the median absolute deviation of a sample.

use super::order::Ordered;

impl Ordered {
    /// The median, in the unit of the sample: the middle value, or the mean of the two middle ones.
    /// NaN if those two are the two infinities.
    pub fn median(&self) -> f64 {
        let values = self.values();
        let middle = values.len() / 2;
        if values.len() % 2 == 1 { values[middle] } else { values[middle - 1].midpoint(values[middle]) }
    }

    /// The quantile at `fraction` of the way from the smallest value to the largest, in the unit of
    /// the sample. None unless `fraction` lies between 0 and 1, both included. Not finite strictly
    /// between an infinite neighbour and another value.
    ///
    /// Definition 7 of Hyndman & Fan, "Sample Quantiles in Statistical Packages" (1996): linear between
    /// neighbours, with the smallest value at 0 and the largest at 1. It is NumPy's default; the
    /// interpolation runs from the nearer neighbour, as there.
    pub fn quantile(&self, fraction: f64) -> Option<f64> {
        if !(0.0..=1.0).contains(&fraction) {
            return None;
        }
        let values = self.values();
        let place = (values.len() - 1) as f64 * fraction;
        let index = (place as usize).min(values.len() - 1);
        let below = values[index];
        let above = values[(index + 1).min(values.len() - 1)];
        let part = place - index as f64;
        let step = above - below;
        // Equal neighbours need no step, and infinite ones would turn it into NaN.
        Some(match part {
            0.0 => below,
            _ if above == below => below,
            part if part < 0.5 => below + step * part,
            part => above - step * (1.0 - part),
        })
    }

    /// The median distance from the median, in the unit of the sample. Raw: it is not scaled by 1.4826
    /// to estimate a standard deviation. None where infinities leave no distance.
    ///
    /// F. R. Hampel, "The Influence Curve and its Role in Robust Estimation" (1974).
    pub fn median_absolute_deviation(&self) -> Option<f64> {
        let median = self.median();
        let distances = self.values().iter().map(|value| (value - median).abs()).collect();
        Some(Self::new(distances)?.median())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ordered(values: &[f64]) -> Ordered {
        Ordered::new(values.to_vec()).unwrap()
    }

    #[test]
    fn the_median_of_an_even_sample_lies_halfway() {
        assert_eq!(ordered(&[3.0, 1.0, 2.0]).median(), 2.0);
        assert_eq!(ordered(&[4.0, 1.0, 2.0, 3.0]).median(), 2.5);
        assert_eq!(ordered(&[f64::MAX, f64::MAX]).median(), f64::MAX);
    }

    #[test]
    fn quantiles_follow_definition_seven() {
        let sample = ordered(&[10.0, 20.0, 30.0, 40.0]);
        for (fraction, value) in [(0.0, 10.0), (0.25, 17.5), (0.5, 25.0), (1.0, 40.0)] {
            assert_eq!(sample.quantile(fraction), Some(value));
        }
        assert_eq!(sample.quantile(1.5), None);
        assert_eq!(sample.quantile(f64::NAN), None);
    }

    #[test]
    fn the_deviation_is_not_scaled() {
        assert_eq!(ordered(&[1.0, 1.0, 2.0, 2.0, 4.0, 6.0, 9.0]).median_absolute_deviation(), Some(1.0));
        assert_eq!(ordered(&[f64::INFINITY; 3]).median_absolute_deviation(), None);
    }
}
