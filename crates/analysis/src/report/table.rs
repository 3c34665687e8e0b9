//! The tables of a cell: what each variant cost, and what was weighed against what.

use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Answer, Bytes, Cell, Descriptor, Picoseconds, Published, Quantity, Reading, Sample, Verdict,
};

use crate::stats::fairness::jain;
use crate::stats::order::Ordered;
use crate::stats::sign;
use crate::verdict::LEVEL;

/// What one variant did in a cell, over all its epochs.
struct Row {
    name: String,
    /// Time for one unit of work, in picoseconds: the median with its interval.
    cost: sign::Estimate,
    /// Failed attempts for one success.
    failures: Option<f64>,
    /// User and system seconds for a million units of work.
    user: f64,
    system: f64,
    /// Medians over the epochs of the fastest and the slowest worker's time for one of its units.
    workers: Option<(f64, f64)>,
    /// Median over the epochs of Jain's index of the workers' speeds.
    fairness: Option<f64>,
    /// The variant's gauges by name.
    gauges: Vec<(String, Reading)>,
}

impl Row {
    fn of(descriptor: &Descriptor, cell: &Cell, variant: u32) -> Option<Self> {
        let samples: Vec<&Sample> = cell.samples.iter().filter(|sample| sample.variant == variant).collect();
        let work = cell.arrangement.work as f64;
        let units = |sample: &Sample| sample.iterations as f64 * work;
        let cost = samples.iter().map(|sample| sample.elapsed.0 as f64 / units(sample)).collect();
        let total: f64 = samples.iter().map(|sample| units(sample)).sum();
        let seconds = |part: fn(&Sample) -> Picoseconds| {
            samples.iter().map(|sample| part(sample).as_seconds()).sum::<f64>() * 1e6 / total
        };
        let shared = || samples.iter().filter(|sample| sample.shares.len() > 1);
        let median = |values: Vec<f64>| Ordered::new(values).map(|values| values.median());
        let of_worker = |pick: fn(&[f64]) -> f64| {
            median(
                shared()
                    .map(|sample| {
                        let each =
                            |share: &tenbin_model::Share| share.elapsed.0 as f64 / sample.iterations as f64;
                        pick(&sample.shares.iter().map(each).collect::<Vec<_>>())
                    })
                    .collect(),
            )
        };
        let least = |times: &[f64]| times.iter().copied().fold(f64::INFINITY, f64::min);
        let most = |times: &[f64]| times.iter().copied().fold(0.0, f64::max);
        let speeds = |sample: &&&Sample| {
            let speeds: Vec<f64> =
                sample.shares.iter().map(|share| 1.0 / share.elapsed.0.max(1) as f64).collect();
            jain(&speeds)
        };
        let failed: u64 = samples.iter().flat_map(|sample| &sample.shares).map(|share| share.failures).sum();
        let contended = shared().next().is_some() || failed > 0;
        let gauges = cell.gauges.iter().filter(|gauge| gauge.variant == variant);
        Some(Self {
            name: descriptor.variants[variant as usize].name.clone(),
            cost: sign::Estimate::of(&Ordered::new(cost)?, LEVEL),
            failures: contended.then(|| failed as f64 / total),
            user: seconds(|sample| sample.user),
            system: seconds(|sample| sample.system),
            workers: of_worker(least).zip(of_worker(most)),
            fairness: median(shared().filter_map(|sample| speeds(&sample)).collect()),
            gauges: gauges.map(|gauge| (gauge.name.clone(), gauge.reading)).collect(),
        })
    }
}

/// What each variant cost in this cell. None if nothing was timed.
pub(super) fn variants(descriptor: &Descriptor, cell: &Cell) -> Option<String> {
    let rows: Vec<Row> =
        cell.arrangement.variants.iter().filter_map(|&index| Row::of(descriptor, cell, index)).collect();
    if rows.is_empty() {
        return None;
    }
    let cost = match descriptor.quantity {
        Quantity::NanosecondsPerOperation => "ns/op",
        Quantity::BytesPerSecond => "per second",
    };
    let counted = descriptor.quantity == Quantity::NanosecondsPerOperation;
    // A column appears when at least one variant has something to say in it.
    let mut header: Vec<String> = ["variant", cost, "median within (99 %)"].map(String::from).into();
    let mut cells: Vec<Vec<String>> = rows
        .iter()
        .map(|row| {
            vec![row.name.clone(), quantity(descriptor.quantity, row.cost.median), spread(descriptor, row)]
        })
        .collect();
    let mut column = |title: &str, texts: Vec<Option<String>>| {
        if texts.iter().any(Option::is_some) {
            header.push(title.to_owned());
            for (line, text) in cells.iter_mut().zip(texts) {
                line.push(text.unwrap_or_else(|| "–".into()));
            }
        }
    };
    let each = |read: &dyn Fn(&Row) -> Option<String>| rows.iter().map(read).collect::<Vec<_>>();
    let nanoseconds = |picoseconds: f64| three_digits(picoseconds / 1e3);
    column("failures/success", each(&|row| row.failures.map(three_digits).filter(|_| counted)));
    column(
        "thread min..max ns",
        each(&|row| {
            row.workers.map(|(least, most)| format!("{}..{}", nanoseconds(least), nanoseconds(most)))
        })
        .into_iter()
        .map(|text| text.filter(|_| counted))
        .collect(),
    );
    column("Jain", each(&|row| row.fairness.map(|index| format!("{index:.3}")).filter(|_| counted)));
    let mut names: Vec<&str> = Vec::new();
    for (name, _) in rows.iter().flat_map(|row| &row.gauges) {
        if !names.contains(&name.as_str()) {
            names.push(name);
        }
    }
    for name in names {
        let reading = |row: &Row| {
            let (_, reading) = row.gauges.iter().find(|(gauge, _)| gauge == name)?;
            Some(match reading {
                Reading::Time(time) => time.to_string(),
                Reading::Count(count) => three_digits(*count),
            })
        };
        column(name, each(&reading));
    }
    if counted {
        column("user s/10⁶", each(&|row| Some(three_digits(row.user))));
        column("system s/10⁶", each(&|row| (row.system > 0.0).then(|| three_digits(row.system))));
    }
    Some(drawn(&header, cells))
}

/// What was weighed in this cell: the ratio, its interval, the verdict, and what others published.
pub(super) fn comparisons(descriptor: &Descriptor, cell: &Cell, answers: &[&Answer]) -> Option<String> {
    let rows: Vec<Vec<String>> = answers
        .iter()
        .filter_map(|answer| {
            let evidence = answer.evidence.as_ref()?;
            let width = evidence.interval.high - evidence.interval.low;
            let verdict = match answer.verdict {
                Verdict::Different => "different",
                Verdict::Equivalent => "equivalent",
                Verdict::Refused => "refused",
            };
            let published = descriptor
                .published
                .iter()
                .filter(|published| published.cell == cell.arrangement.label)
                .filter(|published| published.left == evidence.left && published.right == evidence.right)
                .map(brief);
            Some(vec![
                format!("{} : {}", evidence.left, evidence.right),
                crate::verdict::show(evidence.ratio, width),
                crate::verdict::outward(evidence.interval),
                verdict.into(),
                evidence.blocks.to_string(),
                published.collect::<Vec<_>>().join("; "),
            ])
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let ratio = match descriptor.quantity {
        Quantity::NanosecondsPerOperation => "cheaper by",
        Quantity::BytesPerSecond => "carries x",
    };
    let mut header = vec!["left : right", ratio, "interval", "verdict", "blocks"];
    let none_published = rows.iter().all(|row| row[5].is_empty());
    let rows = rows.into_iter().map(|mut row| {
        if none_published {
            row.truncate(5);
        }
        row
    });
    if !none_published {
        header.push("published elsewhere");
    }
    Some(drawn(&header, rows.collect()))
}

/// A published ratio with its place and date.
fn brief(published: &Published) -> String {
    let ratio =
        published.ratio.map_or_else(|| published.what.clone(), |ratio| format!("{}x", three_digits(ratio)));
    format!("{ratio} {}, {}", published.machine, published.date)
}

/// The published figures of cells that were not measured here. None if there are none.
pub(super) fn published(descriptor: &Descriptor, measured: &[&str]) -> Option<String> {
    let rows: Vec<Vec<String>> = descriptor
        .published
        .iter()
        .filter(|published| !measured.contains(&published.cell.as_str()))
        .map(|published| {
            vec![
                published.cell.clone(),
                published.ratio.map_or_else(|| "–".into(), |ratio| format!("{}x", three_digits(ratio))),
                format!("{} ({}, {})", published.what, published.machine, published.date),
            ]
        })
        .collect();
    if rows.is_empty() { None } else { Some(drawn(&["published for", "ratio", "what"], rows)) }
}

fn quantity(quantity: Quantity, picoseconds: f64) -> String {
    match quantity {
        Quantity::NanosecondsPerOperation => three_digits(picoseconds / 1e3),
        Quantity::BytesPerSecond => Bytes((1e12 / picoseconds) as u64).to_string(),
    }
}

fn spread(descriptor: &Descriptor, row: &Row) -> String {
    let Some(found) = row.cost.interval else { return "–".into() };
    let (one, other) = (found.interval.low, found.interval.high);
    let (low, high) = match descriptor.quantity {
        Quantity::NanosecondsPerOperation => (one, other),
        Quantity::BytesPerSecond => (other, one),
    };
    format!("{} to {}", quantity(descriptor.quantity, low), quantity(descriptor.quantity, high))
}

/// A plain table: names to the left, figures to the right, nothing drawn around them.
///
/// The last column of a table of published figures is prose, and stands to the left as well.
fn drawn(header: &[impl AsRef<str>], rows: Vec<Vec<String>>) -> String {
    let prose: Vec<usize> = header
        .iter()
        .enumerate()
        .filter(|(_, title)| title.as_ref() == "what")
        .map(|(index, _)| index)
        .collect();
    let mut table = Table::new();
    table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    table.set_header(header.iter().map(AsRef::as_ref));
    table.add_rows(rows);
    for (index, column) in table.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 2));
        let figures = index > 0 && !prose.contains(&index);
        column.set_cell_alignment(if figures { CellAlignment::Right } else { CellAlignment::Left });
    }
    table.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}
