//! The map of readers and homes.

use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Grid};

pub(super) fn view(answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for answer in answers {
        for grid in &answer.grids {
            document.space().line(format!("{}, {}, in {}", grid.name, answer.cell, grid.unit)).space();
            document.table(by_home(grid));
        }
    }
    document
}

/// A row a reader and a column a home: readers can be many, homes are few.
fn by_home(grid: &Grid) -> Table {
    let mut header = vec!["reader".to_owned()];
    header.extend(grid.columns.iter().cloned());
    let figure = |value: &Option<f64>| value.map_or_else(|| "–".into(), three_digits);
    let row = |(name, values): (&String, &Vec<Option<f64>>)| {
        std::iter::once(name.clone()).chain(values.iter().map(figure)).collect()
    };
    Table::new(header, grid.rows.iter().zip(&grid.values).map(row).collect())
}
