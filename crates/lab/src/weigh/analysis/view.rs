//! What is shown of commands: the answers, a table, a curve over a parameter, and where that turns one answer
//! into its opposite.

use std::collections::BTreeMap;

use tenbin_analysis::report::{checked, ratios, with_caveat};
use tenbin_analysis::verdict;
use tenbin_document::{Bars, Block, Document, Series, Table};
use tenbin_model::machine::Virtualisation;
use tenbin_model::unit::three_digits;
use tenbin_model::words::{and, comma};
use tenbin_model::{
    Answer, Axis, Bytes, Cell, Descriptor, Machine, Order, Parameter, Picoseconds, Quantity, Sample, Trial,
    VariantIndex, Verdict,
};
use tenbin_stats::order::Ordered;
use tenbin_stats::sign;

use super::{COLUMN, ROW, least_peak, typed};
use crate::weigh::above;

pub(super) fn view(machine: &Machine, trial: &Trial, answers: &[Answer]) -> Document {
    let mut document = Document::new();
    for cell in &trial.cells {
        if let Some((names, known)) = fastest(trial, answers) {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            let least = match trial.descriptor.quantity {
                Quantity::WallTime => "Fastest".to_owned(),
                other => format!("Least {}", other.of_command().unwrap_or_default()),
            };
            document.paragraph(
                0,
                match (names.as_slice(), known) {
                    ([only], _) => format!("{least}: {only}."),
                    (several, true) => format!("{least}: {}, which are the same.", and(several)),
                    (several, false) => {
                        format!("{least}: one of {}, which could not be told apart.", comma(several))
                    }
                },
            );
        }
        for answer in answers {
            document.paragraph(0, with_caveat(answer));
        }
        for crossing in crossings(trial, answers) {
            document.paragraph(0, crossing);
        }
        if let Some(picture) = ratios(trial, answers) {
            document.space().push(picture);
        }
        if let Some(curves) = curves(&trial.descriptor, cell) {
            document.space().push(Block::Bars(curves));
        }
        if let Some(table) = table(&trial.descriptor, cell) {
            document.space().table(table);
        }
        document.space();
        for parameter in trial.descriptor.parameters.iter().filter(|parameter| parameter.name == "start") {
            document.paragraph(
                2,
                format!("Commands: {}; blocks of all of them in random orders.", parameter.default),
            );
        }
        if let (Virtualisation::Emulated(how), false) = (&machine.virtualisation, cell.samples.is_empty()) {
            document.paragraph(
                2,
                format!("Times: they say nothing about a CPU, as this one is emulated ({how})."),
            );
        }
        document.append(checked(trial, std::slice::from_ref(cell)));
    }
    document
}

/// Where a parameter turns the answer to one pair of commands into its opposite: between the last value at
/// which the one is known to need less and the first at which the other is.
fn crossings(trial: &Trial, answers: &[Answer]) -> Vec<String> {
    let descriptor = &trial.descriptor;
    let variants = &descriptor.variants;
    let columns = variants.iter().filter_map(|variant| variant.coordinate(COLUMN)).max().unwrap_or(0);
    let Some(cell) = trial.cells.first() else { return Vec::new() };
    let mut sentences = Vec::new();
    let at = |column: u64, row: u64| {
        variants.iter().find(|variant| {
            variant.coordinate(COLUMN) == Some(column) && variant.coordinate(ROW) == Some(row)
        })
    };
    // Only along numbers there is a before and an after.
    let mut rows: Vec<(f64, u64)> = Vec::new();
    for variant in variants {
        let Some(row) = variant.coordinate(ROW) else { continue };
        match variant.parameters.as_slice() {
            // A reference has no value.
            [] => {}
            [(_, value)] => {
                let Some(value) = value.parse().ok().filter(|value: &f64| value.is_finite()) else {
                    return Vec::new();
                };
                rows.push((value, row));
            }
            _ => return Vec::new(),
        }
    }
    rows.order_by(|one, other| one.0.total_cmp(&other.0).then(one.1.cmp(&other.1)));
    rows.dedup_by_key(|(_, row)| *row);
    for left in 0..=columns {
        for right in left + 1..=columns {
            // What is known at each value: which of the two needs less.
            let known: Vec<(u64, Option<bool>)> = rows
                .iter()
                .filter_map(|&(_, row)| {
                    let (one, other) = (at(left, row)?, at(right, row)?);
                    let answer = answers.iter().find(|answer| {
                        answer.cell == cell.arrangement.label
                            && answer.evidence.as_ref().is_some_and(|evidence| {
                                evidence.left == one.name && evidence.right == other.name
                            })
                    })?;
                    let ratio = answer.evidence.as_ref()?.ratio;
                    Some((row, (answer.verdict == Verdict::Different).then_some(ratio > 1.0)))
                })
                .collect();
            let decided: Vec<(u64, bool)> =
                known.iter().filter_map(|&(row, known)| Some((row, known?))).collect();
            for pair in decided.windows(2) {
                let [(before, one), (after, other)] = pair else { continue };
                if one == other {
                    continue;
                }
                let value = |row: u64| {
                    let values = at(left, row).map(|variant| {
                        variant
                            .parameters
                            .iter()
                            .map(|(name, value)| format!("{name} = {value}"))
                            .collect::<Vec<_>>()
                    });
                    comma(values.unwrap_or_default())
                };
                let template = |column: u64| {
                    let name = typed(column);
                    let text = descriptor.parameters.iter().find(|parameter| parameter.name == name);
                    text.map_or(name, |parameter| format!("`{}`", parameter.default))
                };
                let (first, second) = if *one { (left, right) } else { (right, left) };
                let needs = match descriptor.quantity {
                    Quantity::WallTime => "is faster".to_owned(),
                    other => format!("needs less {}", other.of_command().unwrap_or_default()),
                };
                sentences.push(format!(
                    "They cross between {before} and {after}: {} {needs} up to {before}, {} from {after} on.",
                    template(first),
                    template(second),
                    before = value(*before),
                    after = value(*after),
                ));
            }
        }
    }
    sentences
}

/// Fewer values than these are no curve.
const LEAST_VALUES: usize = 3;

/// The median time of each command over the values of the one parameter that it has.
fn curves(descriptor: &Descriptor, cell: &Cell) -> Option<Bars> {
    use Quantity::{CpuTime, KernelTime, UserTime, WallTime};
    matches!(descriptor.quantity, WallTime | UserTime | KernelTime | CpuTime).then_some(())?;
    let read = verdict::of_command(descriptor.quantity);
    let own = |variant: &&VariantIndex| !descriptor[**variant].parameters.is_empty();
    let variants = || cell.arrangement.variants.iter().filter(own);
    let [(parameter, _)] = descriptor[*variants().next()?].parameters.as_slice() else { return None };
    let at = |variant: VariantIndex, axis: Axis| descriptor[variant].coordinate(axis).unwrap_or(0);
    let mut labels = Vec::new();
    let mut series: BTreeMap<u64, Series> = BTreeMap::new();
    for &variant in variants() {
        let row = at(variant, ROW) as usize;
        if row == labels.len() {
            labels.extend(descriptor[variant].parameters.iter().map(|(_, value)| value.clone()));
        }
        let column = at(variant, COLUMN);
        let name = descriptor.parameter(&typed(column)).unwrap_or_default();
        let series = series.entry(column).or_insert_with(|| Series { name: name.into(), times: Vec::new() });
        let times = cell.samples.iter().filter(|sample| sample.variant == variant).map(read).collect();
        series.times.resize(row, None);
        series.times.push(Ordered::new(times).map(|times| Picoseconds(times.median().round() as u64)));
    }
    let rows = parameter.clone();
    (labels.len() >= LEAST_VALUES && !cell.samples.is_empty()).then(|| Bars {
        rows,
        labels,
        series: series.into_values().collect(),
        ..Bars::default()
    })
}

/// What each command needed.
pub(in crate::weigh) fn table(descriptor: &Descriptor, cell: &Cell) -> Option<Table> {
    let unit = descriptor.parameter(Parameter::TIME_UNIT);
    let mut rows: Vec<(f64, Vec<String>)> = cell
        .arrangement
        .variants
        .iter()
        .filter_map(|&variant| row(descriptor, cell, variant, unit))
        .collect();
    if descriptor.parameter(Parameter::ORDER).is_some() {
        rows.order_by(|one, other| one.0.total_cmp(&other.0));
    }
    if rows.is_empty() {
        return None;
    }
    let header =
        ["command", "median", "within (99 %)", "least..most", "user", "system", "peak memory", "runs"];
    let counts = hardware_counts(cell).into_iter().filter_map(Quantity::of_command);
    Some(Table::new(header.into_iter().chain(counts), rows.into_iter().map(|(_, row)| row).collect()))
}

fn hardware_counts(cell: &Cell) -> Vec<Quantity> {
    let any = |quantity: &Quantity| {
        let read = verdict::of_command(*quantity);
        cell.samples.iter().any(|sample| read(sample) > 0.0)
    };
    [Quantity::Instructions, Quantity::Cycles].into_iter().filter(any).collect()
}

/// "1.23 M", three digits of a count.
fn in_thousands(count: f64) -> String {
    match count {
        ..1e3 => format!("{count:.0}"),
        ..1e6 => format!("{} k", three_digits(count / 1e3)),
        ..1e9 => format!("{} M", three_digits(count / 1e6)),
        _ => format!("{} G", three_digits(count / 1e9)),
    }
}

fn row(
    descriptor: &Descriptor,
    cell: &Cell,
    variant: VariantIndex,
    unit: Option<&str>,
) -> Option<(f64, Vec<String>)> {
    let samples = || cell.samples.iter().filter(|sample| sample.variant == variant);
    let of = |quantity: Quantity| {
        let read = verdict::of_command(quantity);
        Ordered::new(samples().map(read).collect())
    };
    let time = |picoseconds: f64| in_unit(picoseconds, unit);
    let wall = of(Quantity::WallTime)?;
    let own: Vec<&Sample> = samples().collect();
    let blocks = verdict::by_block(&own, verdict::of_command(Quantity::WallTime));
    let estimate = sign::Estimate::of(&Ordered::new(blocks)?, tenbin_stats::LEVEL);
    let within = estimate.interval.map_or_else(
        || "–".into(),
        |quantile| format!("{} to {}", time(quantile.interval.low), time(quantile.interval.high)),
    );
    let values = wall.values();
    let (least, most) = (values[0], values[values.len() - 1]);
    let median = |quantity: Quantity| of(quantity).map_or(0.0, |values| values.median());
    let mut row = vec![
        descriptor[variant].name.clone(),
        time(estimate.median),
        within,
        format!("{}..{}", time(least), time(most)),
        time(median(Quantity::UserTime)),
        time(median(Quantity::KernelTime)),
        match median(Quantity::PeakMemory) as u64 {
            peak if peak <= least_peak(cell) => format!("≤ {}", Bytes(peak)),
            peak => Bytes(peak).to_string(),
        },
        values.len().to_string(),
    ];
    row.extend(hardware_counts(cell).into_iter().map(|quantity| in_thousands(median(quantity))));
    Some((estimate.median, row))
}

/// A time in the unit that was asked for, or in that which fits it.
fn in_unit(picoseconds: f64, unit: Option<&str>) -> String {
    let (scale, name) = match unit {
        Some("microsecond") => (1e6, "µs"),
        Some("millisecond") => (1e9, "ms"),
        Some("second") => (1e12, "s"),
        _ if picoseconds == 0.0 => return "0".into(),
        _ => return Picoseconds(picoseconds as u64).to_string(),
    };
    format!("{} {name}", three_digits(picoseconds / scale))
}

/// The commands that none is known to need less than, by their names, and whether that is known of all
/// others: each of those needs more than one of these. None where two were compared, or not each with each.
fn fastest(trial: &Trial, answers: &[Answer]) -> Option<(Vec<String>, bool)> {
    let cell = trial.cells.first()?;
    let below = above::below(&trial.descriptor, &cell.arrangement);
    let weighed = cell.arrangement.variants.iter().filter(|&&variant| Some(variant) != below);
    let names: Vec<&str> = weighed.map(|&variant| trial.descriptor[variant].name.as_str()).collect();
    let first: Vec<&Answer> = answers.iter().filter(|answer| answer.cell == cell.arrangement.label).collect();
    let pairs = names.len() * (names.len() - 1) / 2;
    if names.len() < 3 || first.len() != pairs {
        return None;
    }
    let beaten = |name: &str| {
        first.iter().filter(|answer| answer.verdict == Verdict::Different).any(|answer| {
            answer.evidence.as_ref().is_some_and(|evidence| {
                let loser = if evidence.ratio > 1.0 { &evidence.right } else { &evidence.left };
                loser == name
            })
        })
    };
    let left: Vec<String> = names.iter().filter(|name| !beaten(name)).map(|&name| name.into()).collect();
    let open = first.iter().any(|answer| {
        let names = answer.evidence.as_ref().map(|evidence| [&evidence.left, &evidence.right]);
        let among = names.is_none_or(|names| names.iter().all(|&name| left.contains(name)));
        answer.verdict == Verdict::Refused && among
    });
    (!left.is_empty()).then_some((left, !open))
}
