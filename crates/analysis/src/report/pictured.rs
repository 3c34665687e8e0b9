//! Trials whose cells are one picture: times over sizes, by reader and home, by pair of CPUs.

use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Grid, Run, Trial};

use super::curve::curve;
use super::heat::heat;
use super::table::drawn;
use super::text::{checked, folded, said};
use crate::verdict::capacities::walked;

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
    text + &folded(&checked(trial, &trial.cells), 2, width)
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
    text + &folded(&checked(trial, &trial.cells), 2, width)
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
pub(super) fn transfers(trial: &Trial, answers: &[&Answer], width: usize) -> String {
    let Some((headline, pairs)) = answers.split_first() else { return String::new() };
    let mut text = format!("\n{}", folded(&said(headline), 2, width));
    let rows = by_variant(headline, trial);
    if !rows.is_empty() {
        let header = ["one way", "pairs", "median ns", "p5", "p95", "worst p95"];
        text.push_str(&format!("\n{}", drawn(&header, rows)));
    }
    for grid in headline.grids.iter().filter(|grid| grid.name.starts_with("median") && grid.rows.len() > 2) {
        text.push_str(&titled(grid, &grid.name));
        text.push_str(&heat(&grid.rows, &grid.values, width));
    }
    text.push('\n');
    for refused in pairs.iter().filter(|answer| answer.evidence.is_none() && answer.refusal.is_some()) {
        text.push_str(&folded(&format!("{}: {}", refused.cell, refused.sentence), 2, width));
    }
    text + &folded(&checked(trial, &trial.cells), 2, width)
}

/// A row a protocol: how many pairs, and the medians over them.
fn by_variant(headline: &Answer, trial: &Trial) -> Vec<Vec<String>> {
    let row = |name: &String| {
        let of = |what: &str| {
            let grid = headline.grids.iter().find(|grid| grid.name == format!("{what} of {name}"))?;
            // Both halves of the map say the same.
            let mut values: Vec<f64> = grid.values.iter().flatten().flatten().copied().collect();
            values.sort_by(f64::total_cmp);
            Some(values)
        };
        let (median, low, high) = (of("median")?, of("p5")?, of("p95")?);
        let middle =
            |values: &[f64]| values.get(values.len() / 2).copied().map_or_else(|| "–".into(), three_digits);
        let worst = high.last().copied().map_or_else(|| "–".into(), three_digits);
        let pairs = (median.len() / 2).to_string();
        Some(vec![name.clone(), pairs, middle(&median), middle(&low), middle(&high), worst])
    };
    trial.descriptor.variants.iter().filter_map(|variant| row(&variant.name)).collect()
}

fn titled(grid: &Grid, title: &str) -> String {
    format!("\n{title}, in {}\n\n", grid.unit)
}
