//! Trials whose cells are one picture: times over sizes, by reader and home, by pair of CPUs.

use tenbin_document::words::percent;
use tenbin_document::{Bars, Block, Document, Heat, Series, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Bytes, Grid, Picoseconds, Run, Trial};
use tenbin_stats::order::Ordered;

use super::table;
use super::text::{checked, said};
use crate::capacity::{Capacities, Curve};
use crate::verdict::capacities::walked;
use crate::verdict::laws::{Line, lines};
use crate::verdict::transfers::{ByClass, by_class};

/// The curves of each CPU that walked, then what each level came to.
pub(super) fn capacities(run: &Run, trial: &Trial, answers: &[&Answer]) -> Document {
    let mut document = Document::new();
    for walked in walked(&run.machine, trial) {
        if let Ok(capacities) = &walked.judged {
            document.space().line(format!("time of a step by {}, over the size that is walked", walked.cpu));
            document.space().push(Block::Bars(bars(&walked.curves, capacities)));
        }
    }
    document.space();
    for answer in answers {
        document.paragraph(2, said(answer));
    }
    for cell in &trial.cells {
        // Kinds of pages that could not be had do not keep the others from an answer.
        if let Some(refusal) = &cell.refusal {
            document.paragraph(2, format!("Not {}: {}.", cell.arrangement.label, refusal.reached));
        }
    }
    document.append(checked(trial, &trial.cells));
    document
}

/// The curves with the knees of the one that was judged.
fn bars(curves: &[Curve], capacities: &Capacities) -> Bars {
    let point = |size: Bytes, times: &[f64]| {
        let times = times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
        Ordered::new(times).map(|times| (size, Picoseconds(times.median().round() as u64)))
    };
    let series = |curve: &Curve| Series {
        name: format!("{} pages", curve.page),
        points: curve.points.iter().filter_map(|it| point(it.bytes, &it.times)).collect(),
    };
    let ends =
        capacities.levels.iter().filter_map(|it| Some((it.measured()?, format!("L{} ends", it.level))));
    let rises = capacities.unexplained.iter().map(|rise| (rise.knee, "a rise".to_owned()));
    let flat = capacities.flat_from.map(|size| (size, "flat from".to_owned()));
    Bars {
        rows: "buffer".into(),
        series: curves.iter().map(series).collect(),
        marks: ends.chain(rises).chain(flat).collect(),
        note: format!("knees in pages of {}", capacities.page),
    }
}

/// The map of readers and homes of each protocol, each with its answer.
pub(super) fn distances(trial: &Trial, answers: &[&Answer]) -> Document {
    let mut document = Document::new();
    for answer in answers {
        for grid in &answer.grids {
            titled(&mut document, grid, &format!("{}, {}", grid.name, answer.cell));
            document.table(by_home(grid));
        }
        document.space().paragraph(2, said(answer));
    }
    document.append(checked(trial, &trial.cells));
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

/// The answer, the classes with their spreads, and the map where there is more than one pair.
pub(super) fn transfers(run: &Run, trial: &Trial, answers: &[&Answer]) -> Document {
    let mut document = Document::new();
    let Some((headline, pairs)) = answers.split_first() else { return document };
    document.space().paragraph(2, said(headline));
    if let Some(table) = classes(run, trial) {
        document.space().table(table);
    }
    for grid in headline.grids.iter().filter(|grid| grid.name.starts_with("median") && grid.rows.len() > 2) {
        titled(&mut document, grid, &grid.name);
        document.push(Block::Heat(Heat { labels: grid.rows.clone(), times: grid.values.clone() }));
    }
    document.space();
    for refused in pairs.iter().filter(|answer| answer.evidence.is_none() && answer.refusal.is_some()) {
        document.paragraph(2, format!("{}: {}", refused.cell, refused.sentence));
    }
    document.append(checked(trial, &trial.cells));
    document
}

/// A row a class and protocol.
fn classes(run: &Run, trial: &Trial) -> Option<Table> {
    let row = |row: ByClass| {
        let figures = [row.median, row.low, row.high].map(three_digits);
        let names = [format!("{}, CPUs that share {}", row.way, row.shared), row.pairs.to_string()];
        names.into_iter().chain(figures).chain([percent(row.interrupted)]).collect()
    };
    let rows: Vec<Vec<String>> = by_class(&run.machine, trial).into_iter().map(row).collect();
    let header = ["one way", "pairs", "median ns", "p5", "p95", "most interrupted"];
    (!rows.is_empty()).then(|| Table::new(header, rows))
}

/// The law that answers, a row for each way, what was weighed, and the ways that no law was found for.
pub(super) fn laws(run: &Run, trial: &Trial, answers: &[&Answer]) -> Document {
    let mut document = Document::new();
    if let Some(headline) = answers.first() {
        document.space().paragraph(2, said(headline));
    }
    for cell in trial.cells.iter().filter(|cell| cell.refusal.is_none()) {
        let lines = lines(&run.machine, trial, cell);
        document.space().line(format!("median cost in µs {}", cell.arrangement.label));
        document.space().table(over_memory(&lines));
        let here: Vec<&Answer> =
            answers.iter().copied().filter(|answer| answer.cell == cell.arrangement.label).collect();
        if let Some(table) = table::comparisons(&trial.descriptor, cell, &here) {
            document.space().table(table);
        }
        document.space();
        unlawful(&mut document, &lines, answers);
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
fn unlawful(document: &mut Document, lines: &[Line], answers: &[&Answer]) {
    let worth = |line: &&Line| {
        line.found.as_ref().map_or(true, |found| found.trend() == "refused" || found.is_bent())
    };
    for line in lines.iter().skip(1).filter(worth) {
        if let Some(answer) = answers.iter().find(|answer| answer.cell == line.name) {
            document.paragraph(2, format!("{}: {}", line.name, answer.sentence));
        }
    }
}

fn titled(document: &mut Document, grid: &Grid, title: &str) {
    document.space().line(format!("{title}, in {}", grid.unit)).space();
}
