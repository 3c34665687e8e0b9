//! Trials whose samples are events that came late: the middle and the tails of each variant.

use tenbin_analysis::report::table;
use tenbin_document::{Document, Table};
use tenbin_model::{Answer, Cell, Grid, Trial};

use super::{Late, time};

/// Each cell with its tables; then the medians of all cells side by side, where there are several.
pub(super) fn view(cells: &[(&Cell, Vec<Late>)], trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for (cell, late) in cells {
        let here: Vec<&Answer> =
            answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
        let cpu = cell.arrangement.cpus.first();
        let place = cpu.map_or_else(String::new, |cpu| format!(" (on {cpu})"));
        document.space().line(format!("{}{place}", cell.arrangement.label));
        for table in spreads(late).into_iter().chain(table::comparisons(&trial.descriptor, &here)) {
            document.space().table(table);
        }
    }
    let mut grids = answers.iter().flat_map(|answer| &answer.grids);
    if let Some(medians) = grids.find(|grid| grid.columns.len() > 1) {
        side_by_side(&mut document, medians);
    }
    document
}

/// A row a variant. None where nothing was timed, or what was timed does not count.
fn spreads(late: &[Late]) -> Option<Table> {
    let shown = |value: Option<f64>| value.map_or_else(|| "–".into(), time);
    let row = |late: &Late| {
        let within = late.within.map(|within| format!("{} to {}", time(within.low), time(within.high)));
        vec![
            late.name.clone(),
            late.count.to_string(),
            time(late.median),
            within.unwrap_or_else(|| "–".into()),
            shown(late.p5),
            shown(late.p95),
            shown(late.p99),
            time(late.worst),
        ]
    };
    let header = ["call", "firings", "median", "median within (99 %)", "p5", "p95", "p99", "worst"];
    (!late.is_empty()).then(|| Table::new(header, late.iter().map(row).collect()))
}

/// A row a variant and a column a cell; the words with which all labels begin stand above, once.
fn side_by_side(document: &mut Document, grid: &Grid) {
    let words = |label: &String| label.split_inclusive(' ').map(str::to_owned).collect::<Vec<_>>();
    let labels: Vec<Vec<String>> = grid.columns.iter().map(words).collect();
    let alike = |place: usize| labels.iter().all(|label| label.get(place) == labels[0].get(place));
    let shared = (0..labels[0].len()).take_while(|&place| alike(place)).count();
    let mut header = vec!["call".to_owned()];
    header.extend(labels.iter().map(|label| label[shared..].concat()));
    let shown = |value: &Option<f64>| value.map_or_else(|| "–".into(), time);
    let row = |(name, values): (&String, &Vec<Option<f64>>)| {
        std::iter::once(name.clone()).chain(values.iter().map(shown)).collect()
    };
    let title = format!("{} {}", grid.name, labels[0][..shared].concat());
    document.space().line(title.trim_end()).space();
    document.table(Table::new(header, grid.rows.iter().zip(&grid.values).map(row).collect()));
}
