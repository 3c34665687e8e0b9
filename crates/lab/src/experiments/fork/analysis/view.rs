//! The law of each way, over the memory that it was measured with.

use tenbin_analysis::report::{checked, table, with_caveat};
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Bytes, Cell, Trial};

use super::LawLine;
use super::words::memory;

/// The law that answers, a row for each way, what was weighed, and the ways that no law was found for.
pub(super) fn view(cells: &[(&Cell, Vec<LawLine>)], trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    if let Some(headline) = answers.first() {
        document.space().paragraph(2, with_caveat(headline));
    }
    for (cell, lines) in cells {
        document.space().line(format!("median cost in µs {}", cell.arrangement.label));
        document.space().table(over_memory(lines));
        let here: Vec<&Answer> =
            answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
        if let Some(table) = table::comparisons(&trial.descriptor, cell, &here) {
            document.space().table(table);
        }
        document.space();
        unlawful(&mut document, lines, answers);
    }
    document.append(checked(trial, &trial.cells));
    document
}

/// A row for each way, a column for each size, then what a page costs.
fn over_memory(lines: &[LawLine]) -> Table {
    let sizes = super::sizes(lines);
    let header = std::iter::once("with".to_owned()).chain(sizes.iter().map(memory));
    let header: Vec<String> =
        header.chain(["ns a page", "within", "with memory it"].map(String::from)).collect();
    let row = |line: &LawLine| {
        let cost = |memory: &Bytes| {
            line.at(*memory).map_or_else(|| "–".into(), |size| three_digits(size.median / 1e6))
        };
        let law = match &line.fitted {
            Err(_) => ["–", "–", "refused"].map(String::from),
            Ok(fitted) => [three_digits(fitted.page() / 1e3), fitted.page_within(), fitted.trend().into()],
        };
        std::iter::once(line.name.clone()).chain(sizes.iter().map(cost)).chain(law).collect()
    };
    Table::new(header, lines.iter().map(row).collect())
}

/// The sentences of those ways, beside the first, that were refused or follow no line.
fn unlawful(document: &mut Document, lines: &[LawLine], answers: &[Answer]) {
    let worth = |line: &&LawLine| {
        line.fitted.as_ref().map_or(true, |fitted| fitted.trend() == "refused" || fitted.is_bent())
    };
    for line in lines.iter().skip(1).filter(worth) {
        if let Some(answer) = answers.iter().find(|answer| answer.cell == line.name) {
            document.paragraph(2, format!("{}: {}", line.name, answer.sentence));
        }
    }
}
