//! The law of each way, over the memory that it was measured with.

use tenbin_analysis::report::table;
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::words::and;
use tenbin_model::{Answer, Bytes, Cell, Trial, order};

use super::LawLine;
use super::words::memory;

/// A row for each way, what was weighed, and the ways that no law was found for.
pub(super) fn view(cells: &[(&Cell, Vec<LawLine>)], trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for (cell, lines) in cells {
        document.space().line(format!("median cost in µs {}", cell.arrangement.label));
        document.space().table(over_memory(lines));
        let here: Vec<&Answer> =
            answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
        if let Some(table) = table::comparisons(&trial.descriptor, &here) {
            document.space().table(table);
        }
        let unlawful = unlawful(lines, answers);
        if !unlawful.blocks.is_empty() {
            document.space().append(unlawful);
        }
    }
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

/// Of the ways beside the first: which were refused, with what would decide them, and the sentences of those
/// that follow no line.
fn unlawful(lines: &[LawLine], answers: &[Answer]) -> Document {
    let mut document = Document::new();
    let mut refused: Vec<(&str, &str)> = Vec::new();
    for line in lines.iter().skip(1) {
        let Some(answer) = answers.iter().find(|answer| answer.cell == line.name) else { continue };
        match &answer.refusal {
            Some(refusal) => refused.push((&refusal.remedy, &line.name)),
            None if line.fitted.as_ref().is_ok_and(|fitted| fitted.is_bent()) => {
                document.paragraph(2, format!("{}: {}", line.name, answer.sentence));
            }
            None => {}
        }
    }
    for (remedy, names) in order::grouped(refused) {
        let laws = if names.len() == 1 { "law was" } else { "laws were" };
        document.paragraph(2, format!("The {laws} refused for {}: {remedy}.", and(&names)));
    }
    document
}
