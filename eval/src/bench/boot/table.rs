//! Verdicts, states and seconds, a row for each machine.

use crate::bench::middle::middle;
use crate::spin::{Case, Wrong};
use xtask::failure::Failure;

/// One handshake on one machine. The times are seconds, a value for each round.
#[derive(Clone, Debug, Default)]
pub(super) struct Cell {
    pub(super) case: Case,
    /// The verdict of whoever was asked first.
    verdict: Option<Wrong>,
    pub(super) tenbin: Vec<f64>,
    pub(super) tenbin_states: u64,
    /// SPIN with its program compiled by `-O0`, all together.
    pub(super) quickly_built: Vec<f64>,
    /// The same by `-O2`.
    pub(super) well_built: Vec<f64>,
    /// Of the latter the searches alone.
    pub(super) searches: Vec<f64>,
    pub(super) spin_states: u64,
}

/// All of them, in the order in which they are printed.
#[derive(Default)]
pub(super) struct Table {
    pub(super) cells: Vec<Cell>,
}

impl Cell {
    /// Takes a verdict.
    ///
    /// # Errors
    /// It is not the one that was there.
    pub(super) fn agree(&mut self, verdict: Wrong, who: &str) -> Result<(), Failure> {
        let before = *self.verdict.get_or_insert(verdict);
        if before == verdict {
            return Ok(());
        }
        let reason = format!("{who} says `{verdict}` where `{before}` was said before");
        Err(Failure::new(format!("time verdicts about {}", self.case), reason, "run `cargo xtask test spin`"))
    }

    fn row(&self) -> [String; 11] {
        let seconds = |times: &[f64]| middle(times).map_or_else(String::new, |it| format!("{:.4}", it.value));
        let ratio = |times: &[f64]| {
            let ratios = times.iter().zip(&self.tenbin).map(|(spin, tenbin)| spin / tenbin);
            middle(&ratios.collect::<Vec<_>>()).map_or_else(String::new, |it| it.to_string())
        };
        [
            self.case.handshake.clone(),
            self.case.harts.to_string(),
            self.verdict.map_or_else(String::new, |it| it.to_string()),
            self.tenbin_states.to_string(),
            self.spin_states.to_string(),
            seconds(&self.tenbin),
            seconds(&self.quickly_built),
            seconds(&self.searches),
            ratio(&self.quickly_built),
            ratio(&self.well_built),
            ratio(&self.searches),
        ]
    }
}

impl Table {
    /// A row for `case`; its number.
    pub(super) fn add(&mut self, case: Case) -> usize {
        self.cells.push(Cell { case, ..Cell::default() });
        self.cells.len() - 1
    }

    /// A ratio above 1: SPIN takes longer.
    pub(super) fn markdown(&self) -> String {
        let head = [
            "handshake",
            "harts",
            "verdict",
            "states, tenbin",
            "states, SPIN",
            "tenbin, s",
            "SPIN, -O0, s",
            "its searches, -O2, s",
            "SPIN (-O0) takes so many times tenbin's time (95 % interval)",
            "with -O2",
            "its searches alone",
        ];
        let line = |row: &[String; 11]| format!("| {} |\n", row.join(" | "));
        let rows = self.cells.iter().map(|cell| line(&cell.row())).collect::<String>();
        line(&head.map(String::from)) + &"|---".repeat(head.len()) + "|\n" + &rows
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_is_one_of_a_single_round_and_verdicts_must_agree() {
        let mut table = Table::default();
        let number = table.add(Case::new("wake_kept", 3, 0));
        let cell = &mut table.cells[number];
        let hangs = Wrong { hangs: true, ..Wrong::default() };
        cell.agree(hangs, "SPIN").expect("the first verdict");
        cell.agree(hangs, "tenbin").expect("the same verdict");
        let failure = cell.agree(Wrong::default(), "tenbin").expect_err("another verdict").to_string();
        assert!(failure.contains("`sound` where `hangs`"), "{failure}");
        for round in 1..=6 {
            // The machine is slower in every round, and the ratio is the same.
            let slower = f64::from(round);
            cell.tenbin.push(0.01 * slower);
            cell.quickly_built.push(0.04 * slower);
            cell.well_built.push(0.1 * slower);
            cell.searches.push(0.005 * slower);
        }
        let markdown = table.markdown();
        for part in [
            "| wake_kept | 3 | hangs | 0 | 0 | 0.0350 | 0.1400 | 0.0175 | 4.00 (4.00 to 4.00) |",
            "| 0.50 (0.50 to 0.50) |",
        ] {
            assert!(markdown.contains(part), "{markdown}");
        }
    }
}
