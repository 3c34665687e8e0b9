//! The law of each way, over the memory that it was measured with.

use tenbin_analysis::report::{checked, said, table};
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Bytes, Cell, Trial};

use super::Line;

/// The law that answers, a row for each way, what was weighed, and the ways that no law was found for.
pub(super) fn view(cells: &[(&Cell, Vec<Line>)], trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    if let Some(headline) = answers.first() {
        document.space().paragraph(2, said(headline));
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
fn over_memory(lines: &[Line]) -> Table {
    let mut sizes: Vec<_> = lines.iter().flat_map(|line| line.sizes.iter().map(|size| size.memory)).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let none = |size: &Bytes| if size.0 == 0 { "none".to_owned() } else { size.to_string() };
    let header = std::iter::once("with".to_owned()).chain(sizes.iter().map(none));
    let header: Vec<String> =
        header.chain(["ns a page", "within", "with memory it"].map(String::from)).collect();
    let row = |line: &Line| {
        let cost = |size: &Bytes| {
            let found = line.sizes.iter().find(|one| one.memory == *size);
            found.map_or_else(|| "–".into(), |one| three_digits(one.median / 1e6))
        };
        let law = match &line.found {
            Err(_) => ["–", "–", "refused"].map(String::from),
            Ok(found) => [three_digits(found.page() / 1e3), found.page_within(), found.trend().into()],
        };
        std::iter::once(line.name.clone()).chain(sizes.iter().map(cost)).chain(law).collect()
    };
    Table::new(header, lines.iter().map(row).collect())
}

/// The sentences of those ways, beside the first, that were refused or follow no line.
fn unlawful(document: &mut Document, lines: &[Line], answers: &[Answer]) {
    let worth = |line: &&Line| {
        line.found.as_ref().map_or(true, |found| found.trend() == "refused" || found.is_bent())
    };
    for line in lines.iter().skip(1).filter(worth) {
        if let Some(answer) = answers.iter().find(|answer| answer.cell == line.name) {
            document.paragraph(2, format!("{}: {}", line.name, answer.sentence));
        }
    }
}
