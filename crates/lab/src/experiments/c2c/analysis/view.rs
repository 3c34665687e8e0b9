//! The classes of pairs, and the map of all of them.

use tenbin_document::words::percent;
use tenbin_document::{Block, Document, Heat, Table};
use tenbin_model::Answer;
use tenbin_model::unit::three_digits;

use super::picture::ByClass;

/// The classes with their spreads, and the map where there is more than one pair.
pub(super) fn view(classes: &[ByClass], answers: &[Answer]) -> Document {
    let mut document = Document::new();
    let Some((headline, pairs)) = answers.split_first() else { return document };
    if let Some(table) = table(classes) {
        document.space().table(table);
    }
    for grid in headline.grids.iter().filter(|grid| grid.name.starts_with("median") && grid.rows.len() > 2) {
        document.space().line(format!("{}, in {}", grid.name, grid.unit)).space();
        document.push(Block::Heat(Heat { labels: grid.rows.clone(), times: grid.values.clone() }));
    }
    let refused = pairs.iter().filter(|answer| answer.evidence.is_none() && answer.refusal.is_some());
    for (number, refused) in refused.enumerate() {
        if number == 0 {
            document.space();
        }
        document.paragraph(2, format!("{}: {}", refused.cell, refused.sentence));
    }
    document
}

fn table(classes: &[ByClass]) -> Option<Table> {
    let row = |row: &ByClass| {
        let figures = [row.median, row.low, row.high].map(three_digits);
        let names = [format!("{}, CPUs that share {}", row.way, row.shared), row.pairs.to_string()];
        names.into_iter().chain(figures).chain([percent(row.interrupted)]).collect()
    };
    let rows: Vec<Vec<String>> = classes.iter().map(row).collect();
    let header = ["one way", "pairs", "median ns", "p5", "p95", "most interrupted"];
    (!rows.is_empty()).then(|| Table::new(header, rows))
}
