//! Trials whose cells are one picture: times over sizes, by reader and home, by pair of CPUs.

use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Bytes, Grid, Run, Trial};

use super::curve::curve;
use super::heat::heat;
use super::table::{self, drawn};
use super::text::{checked, folded, said};
use crate::verdict::capacities::walked;
use crate::verdict::laws::{Line, lines};
use crate::verdict::percent;
use crate::verdict::transfers::{ByClass, by_class};

/// The curves of each CPU that walked, then what each level came to.
pub(super) fn capacities(run: &Run, trial: &Trial, answers: &[&Answer], width: usize) -> String {
    let mut text = String::new();
    for walked in walked(&run.machine, trial) {
        if let Ok(capacities) = &walked.judged {
            text.push_str(&format!("\ntime of a step by {}, over the size that is walked\n\n", walked.cpu));
            text.push_str(&curve(&walked.curves, capacities, width));
        }
    }
    text.push('\n');
    text.extend(answers.iter().map(|answer| folded(&said(answer), 2, width)));
    for cell in &trial.cells {
        // Kinds of pages that could not be had do not keep the others from an answer.
        if let Some(refusal) = &cell.refusal {
            let said = format!("Not {}: {}.", cell.arrangement.label, refusal.reached);
            text.push_str(&folded(&said, 2, width));
        }
    }
    text + &checked(trial, &trial.cells, width)
}

/// The map of readers and homes of each protocol, each with its answer.
pub(super) fn distances(trial: &Trial, answers: &[&Answer], width: usize) -> String {
    let mut text = String::new();
    for answer in answers {
        for grid in &answer.grids {
            text.push_str(&titled(grid, &format!("{}, {}", grid.name, answer.cell)));
            text.push_str(&drawn_by_home(grid));
        }
        text.push('\n');
        text.push_str(&folded(&said(answer), 2, width));
    }
    text + &checked(trial, &trial.cells, width)
}

/// A row a reader and a column a home: readers can be many, homes are few.
fn drawn_by_home(grid: &Grid) -> String {
    let mut header = vec!["reader".to_owned()];
    header.extend(grid.columns.iter().cloned());
    let figure = |value: &Option<f64>| value.map_or_else(|| "–".into(), three_digits);
    let row = |(name, values): (&String, &Vec<Option<f64>>)| {
        std::iter::once(name.clone()).chain(values.iter().map(figure)).collect()
    };
    drawn(&header, grid.rows.iter().zip(&grid.values).map(row).collect())
}

/// The answer, the classes with their spreads, and the map where there is more than one pair.
pub(super) fn transfers(run: &Run, trial: &Trial, answers: &[&Answer], width: usize) -> String {
    let Some((headline, pairs)) = answers.split_first() else { return String::new() };
    let mut text = format!("\n{}", folded(&said(headline), 2, width));
    text.extend(classes(run, trial));
    for grid in headline.grids.iter().filter(|grid| grid.name.starts_with("median") && grid.rows.len() > 2) {
        text.push_str(&titled(grid, &grid.name));
        text.push_str(&heat(&grid.rows, &grid.values, width));
    }
    text.push('\n');
    for refused in pairs.iter().filter(|answer| answer.evidence.is_none() && answer.refusal.is_some()) {
        text.push_str(&folded(&format!("{}: {}", refused.cell, refused.sentence), 2, width));
    }
    text + &checked(trial, &trial.cells, width)
}

/// A row a class and protocol.
fn classes(run: &Run, trial: &Trial) -> Option<String> {
    let row = |row: ByClass| {
        let figures = [row.median, row.low, row.high].map(three_digits);
        let names = [format!("{}, CPUs that share {}", row.way, row.shared), row.pairs.to_string()];
        names.into_iter().chain(figures).chain([percent(row.interrupted)]).collect()
    };
    let rows: Vec<Vec<String>> = by_class(&run.machine, trial).into_iter().map(row).collect();
    let header = ["one way", "pairs", "median ns", "p5", "p95", "most interrupted"];
    (!rows.is_empty()).then(|| format!("\n{}", drawn(&header, rows)))
}

/// The law that answers, a row for each way, what was weighed, and the ways that no law was found for.
pub(super) fn laws(run: &Run, trial: &Trial, answers: &[&Answer], width: usize) -> String {
    let mut text = String::new();
    if let Some(headline) = answers.first() {
        text.push_str(&format!("\n{}", folded(&said(headline), 2, width)));
    }
    for cell in trial.cells.iter().filter(|cell| cell.refusal.is_none()) {
        let lines = lines(&run.machine, trial, cell);
        text.push_str(&format!("\nmedian cost in µs {}\n\n{}", cell.arrangement.label, over_memory(&lines)));
        let here: Vec<&Answer> =
            answers.iter().copied().filter(|answer| answer.cell == cell.arrangement.label).collect();
        if let Some(table) = table::comparisons(&trial.descriptor, cell, &here) {
            text.push_str(&format!("\n{table}"));
        }
        text.push('\n');
        text.extend(unlawful(&lines, answers, width));
    }
    text + &checked(trial, &trial.cells, width)
}

/// A row for each way, a column for each size, then what a page costs.
fn over_memory(lines: &[Line]) -> String {
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
    drawn(&header, lines.iter().map(row).collect())
}

/// The sentences of those ways, beside the first, that were refused or follow no line.
fn unlawful(lines: &[Line], answers: &[&Answer], width: usize) -> Vec<String> {
    let worth = |line: &&Line| {
        line.found.as_ref().map_or(true, |found| found.trend() == "refused" || found.is_bent())
    };
    let said =
        |line: &Line| answers.iter().find(|answer| answer.cell == line.name).map(|answer| &answer.sentence);
    let named = |line: &Line| Some(folded(&format!("{}: {}", line.name, said(line)?), 2, width));
    lines.iter().skip(1).filter(worth).filter_map(named).collect()
}

fn titled(grid: &Grid, title: &str) -> String {
    format!("\n{title}, in {}\n\n", grid.unit)
}
