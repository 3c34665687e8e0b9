//! What was carried in a second, and how much more that is than what a peer carried in the same round.

use super::Program;
use crate::bench::middle::middle;

/// Bytes a second of every pair, a value for each round.
pub(super) struct Speeds {
    writers: Vec<&'static str>,
    readers: Vec<&'static str>,
    /// By reader, then by writer.
    values: Vec<Vec<Vec<f64>>>,
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
                    ratio.map_or_else(String::new, |ratio| ratio.to_string()),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

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
