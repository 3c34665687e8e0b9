//! A table of readers by homes, and what is left of it without rows and columns.

use super::middle::median;

/// Values by row (reader) and column (home).
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Table {
    pub(super) columns: usize,
    pub(super) cells: Vec<f64>,
}

impl Table {
    /// `cells` row by row, `columns` to a row; at least one column.
    pub(super) fn new(columns: usize, cells: Vec<f64>) -> Self {
        Self { columns: columns.max(1), cells }
    }

    pub(super) fn rows(&self) -> usize {
        self.cells.len() / self.columns
    }

    pub(super) fn at(&self, row: usize, column: usize) -> f64 {
        self.cells[row * self.columns + column]
    }

    pub(super) fn row(&self, row: usize) -> &[f64] {
        &self.cells[row * self.columns..][..self.columns]
    }

    /// The largest cell less the smallest.
    pub(super) fn spread(&self) -> f64 {
        let low = self.cells.iter().copied().fold(f64::INFINITY, f64::min);
        let high = self.cells.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if low <= high { high - low } else { 0.0 }
    }
}

/// Sweeps after which the polish ends, whether or not it still moves; it hardly ever needs five.
const SWEEPS: usize = 12;

/// A sweep that moves no median by more than this, in logarithms, is the last one: a hundredth of a
/// thousandth, far below what any repetition shows.
const STILL: f64 = 1e-5;

/// The interaction: `table` less a constant for each row and one for each column, both found by medians.
///
/// J. W. Tukey, "Exploratory Data Analysis" (1977), chapter 11: subtract the medians of the rows, then
/// those of the columns, until nothing moves. A slow core is a row and a bad buffer is a column; what
/// is left belongs to neither.
pub(super) fn polish(table: &Table) -> Table {
    let mut left = table.clone();
    for _ in 0..SWEEPS {
        let mut moved: f64 = 0.0;
        for cells in left.cells.chunks_mut(left.columns) {
            let middle = median(cells.iter().copied());
            cells.iter_mut().for_each(|cell| *cell -= middle);
            moved = moved.max(middle.abs());
        }
        for column in 0..left.columns {
            let middle = median(left.cells.iter().skip(column).step_by(left.columns).copied());
            left.cells.iter_mut().skip(column).step_by(left.columns).for_each(|cell| *cell -= middle);
            moved = moved.max(middle.abs());
        }
        if moved < STILL {
            break;
        }
    }
    left
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_leave_nothing_and_an_odd_cell_stays() {
        let row = [0.0, 0.7, -0.3, 0.1, 0.2];
        let column = [0.0, 0.1, 0.4];
        let mut cells: Vec<f64> = row.iter().flat_map(|r| column.iter().map(move |c| r + c)).collect();
        let left = polish(&Table::new(3, cells.clone()));
        assert!(left.spread() < 1e-9, "{left:?}");

        cells[4] += 0.5;
        let left = polish(&Table::new(3, cells));
        assert!((left.at(1, 1) - 0.5).abs() < 1e-9, "{left:?}");
        assert!((left.spread() - 0.5).abs() < 1e-9, "{left:?}");
        assert_eq!((left.rows(), left.columns), (5, 3));
    }
}
