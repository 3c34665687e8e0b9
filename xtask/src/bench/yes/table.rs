//! What was carried in a second, and how much more that is than what a peer carried in the same round.

use super::Program;

/// The level of the intervals, as the chance that one of them misses.
const MISS: f64 = 0.05;

/// Bytes a second of every pair, a value for each round.
pub(super) struct Speeds {
    writers: Vec<&'static str>,
    readers: Vec<&'static str>,
    /// By reader, then by writer.
    values: Vec<Vec<Vec<f64>>>,
}

/// A middle value and the interval around it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Middle {
    value: f64,
    /// `None` where there are too few rounds for one.
    interval: Option<(f64, f64)>,
}

impl Speeds {
    pub(super) fn new(writers: &[Program], readers: &[Program]) -> Self {
        let names = |programs: &[Program]| programs.iter().map(|program| program.name).collect::<Vec<_>>();
        let values = vec![vec![Vec::new(); writers.len()]; readers.len()];
        Self { writers: names(writers), readers: names(readers), values }
    }

    pub(super) fn add(&mut self, writer: usize, reader: usize, speed: f64) {
        self.values[reader][writer].push(speed);
    }

    /// Reader, writer, GiB a second, and how many times that the first writer carried.
    fn rows(&self) -> Vec<[String; 4]> {
        let mut rows = Vec::new();
        for (reader, cells) in self.readers.iter().zip(&self.values) {
            for (writer, speeds) in self.writers.iter().zip(cells) {
                let Some(speed) = middle(speeds) else { continue };
                let ratios = cells[0].iter().zip(speeds).map(|(first, this)| first / this);
                let ratio = middle(&ratios.collect::<Vec<_>>()).filter(|_| *writer != self.writers[0]);
                let gib = format!("{:.2}", speed.value / f64::from(1 << 30));
                rows.push([
                    (*reader).into(),
                    (*writer).into(),
                    gib,
                    ratio.map_or_else(String::new, in_words),
                ]);
            }
        }
        rows
    }

    fn head(&self) -> [String; 4] {
        let ratio = format!("{} carries so many times that (95 % interval)", self.writers[0]);
        ["reader".into(), "writer".into(), "GiB/s".into(), ratio]
    }

    pub(super) fn text(&self) -> String {
        let line = |row: &[String; 4]| format!("{:<8} {:<9} {:>8}  {}\n", row[0], row[1], row[2], row[3]);
        [self.head()].iter().chain(&self.rows()).map(line).collect()
    }

    pub(super) fn markdown(&self) -> String {
        let line = |row: &[String; 4]| format!("| {} |\n", row.join(" | "));
        line(&self.head()) + "|---|---|---|---|\n" + &self.rows().iter().map(line).collect::<String>()
    }
}

fn in_words(ratio: Middle) -> String {
    match ratio.interval {
        Some((low, high)) => format!("{:.2} ({low:.2} to {high:.2})", ratio.value),
        None => format!("{:.2} (too few rounds for an interval)", ratio.value),
    }
}

/// The median, with the exact interval of the sign test: between the k-th lowest and the k-th highest value, where
/// fewer than k heads in as many tosses as there are values are no likelier than half the chance of a miss.
fn middle(values: &[f64]) -> Option<Middle> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let count = sorted.len();
    let value = (sorted.get(count / 2)? + sorted.get((count - 1) / 2)?) / 2.0;
    let mut chance = 0.5_f64.powi(i32::try_from(count).ok()?);
    let (mut sum, mut rank) = (0.0, 0);
    while rank < count && sum + chance <= MISS / 2.0 {
        sum += chance;
        chance *= (count - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    let interval = (rank > 0).then(|| (sorted[rank - 1], sorted[count - rank]));
    Some(Middle { value, interval })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[test]
    fn the_interval_is_that_of_the_sign_test() {
        let upto = |count: u32| (1..=count).rev().map(f64::from).collect::<Vec<_>>();
        // The ranks of the 95 % interval in tables of the sign test.
        for (count, value, interval) in [
            (1, 1.0, None),
            (5, 3.0, None),
            (6, 3.5, Some((1.0, 6.0))),
            (15, 8.0, Some((4.0, 12.0))),
            (20, 10.5, Some((6.0, 15.0))),
        ] {
            assert_eq!(middle(&upto(count)), Some(Middle { value, interval }), "{count}");
        }
        assert_eq!(middle(&[]), None);
    }

    #[test]
    fn ratios_are_those_of_single_rounds() {
        let program = |name| Program::new(name, Path::new(name), &[]);
        let mut speeds = Speeds::new(&[program("tenbin"), program("GNU")], &[program("read")]);
        let gib = f64::from(1 << 30);
        for round in 1..=15 {
            // The machine is faster in every round, and the ratio is the same.
            speeds.add(0, 0, 4.0 * f64::from(round) * gib);
            speeds.add(1, 0, 2.0 * f64::from(round) * gib);
        }
        let markdown = speeds.markdown();
        assert!(markdown.contains("| read | tenbin | 32.00 |  |\n"), "{markdown}");
        assert!(markdown.contains("| read | GNU | 16.00 | 2.00 (2.00 to 2.00) |\n"), "{markdown}");
        assert_eq!(speeds.text().lines().count(), 3);
    }
}
