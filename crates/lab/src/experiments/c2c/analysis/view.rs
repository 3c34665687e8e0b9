//! The classes of pairs, and the map of all of them.

use tenbin_analysis::report::{checked, with_caveat};
use tenbin_document::words::percent;
use tenbin_document::{Block, Document, Heat, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Trial};

use super::picture::ByClass;

/// The answer, the classes with their spreads, and the map where there is more than one pair.
pub(super) fn view(classes: &[ByClass], trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    let Some((headline, pairs)) = answers.split_first() else { return document };
    document.space().paragraph(2, with_caveat(headline));
    if let Some(table) = table(classes) {
        document.space().table(table);
    }
    for grid in headline.grids.iter().filter(|grid| grid.name.starts_with("median") && grid.rows.len() > 2) {
        document.space().line(format!("{}, in {}", grid.name, grid.unit)).space();
        document.push(Block::Heat(Heat { labels: grid.rows.clone(), times: grid.values.clone() }));
    }
    document.space();
    for refused in pairs.iter().filter(|answer| answer.evidence.is_none() && answer.refusal.is_some()) {
        document.paragraph(2, format!("{}: {}", refused.cell, refused.sentence));
    }
    document.append(checked(trial, &trial.cells));
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
