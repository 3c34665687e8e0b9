//! The tables of a cell: what each variant cost, and what was weighed against what.

use tenbin_document::Table;
use tenbin_document::interval::{outward, show};
use tenbin_model::sample::METRICS;
use tenbin_model::unit::three_digits;
use tenbin_model::words::semicolon;
use tenbin_model::{Answer, Bytes, Cell, Descriptor, Published, Quantity, Reading, Verdict};

use super::row::Row;
use crate::across::in_order;
use crate::verdict::Time;
use crate::verdict::sentence::{briefly, range};

/// From this many for an operation on a metric is shown.
const COUNT_SHOWN: f64 = 1e-3;

/// What each variant cost in this cell. None if nothing was timed.
pub fn variants(time: Time, descriptor: &Descriptor, cell: &Cell) -> Option<Table> {
    let rows: Vec<Row> = cell
        .arrangement
        .variants
        .iter()
        .filter_map(|&index| Row::of(time, descriptor, cell, index))
        .collect();
    if rows.is_empty() {
        return None;
    }
    let cost = match descriptor.quantity {
        Quantity::NanosecondsPerOperation => "ns/op",
        Quantity::BytesPerSecond => "per second",
        Quantity::Lateness => "ns late",
        other => other.of_command().unwrap_or_default(),
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
    if counted {
        // Where nothing can fail nobody has failed; a column of zeros would say that it was counted.
        let failed = rows.iter().any(|row| row.failures.is_some_and(|failures| failures > 0.0));
        column("failures/success", each(&|row| row.failures.filter(|_| failed).map(three_digits)));
        let range = |row: &Row| {
            let workers = row.workers.as_ref()?;
            Some(format!("{}..{}", nanoseconds(workers.fastest), nanoseconds(workers.slowest)))
        };
        column("thread min..max ns", each(&range));
        let fairness = |row: &Row| row.workers.as_ref().map(|workers| format!("{:.3}", workers.fairness));
        column("Jain", each(&fairness));
    }
    for name in in_order(rows.iter().flat_map(|row| &row.gauges).map(|(name, _)| name)) {
        let reading = |row: &Row| {
            let (_, reading) = row.gauges.iter().find(|(gauge, _)| gauge == name)?;
            Some(match reading {
                Reading::Time(time) => time.to_string(),
                Reading::Count(count) if count.fract() == 0.0 => count.to_string(),
                Reading::Count(count) => three_digits(*count),
            })
        };
        column(name, each(&reading));
    }
    if counted {
        for (place, metric) in METRICS.iter().enumerate() {
            // Where none of the variants has one in a thousand operations, what there was came from beside
            // them.
            let occurs = rows.iter().any(|row| row.metrics[place].is_some_and(|count| count >= COUNT_SHOWN));
            let Some(header) = metric.header else { continue };
            column(header, each(&|row| row.metrics[place].filter(|_| occurs).map(three_digits)));
        }
        // The sum alone: the kernel divides it by where ticks met the thread over the whole of its life, so
        // neither part is the variant's. User time that others published is of work that makes no system
        // call, and compares with the sum. Published figures come without.
        let is_charged = rows.iter().any(|row| row.charged > 0.0);
        column("CPU s/10⁶", each(&|row| is_charged.then(|| three_digits(row.charged))));
    }
    Some(Table::new(header, cells))
}

/// What was weighed in this cell: the ratio, its interval, the verdict, and what others published.
pub fn comparisons(descriptor: &Descriptor, cell: &Cell, answers: &[&Answer]) -> Option<Table> {
    let rows: Vec<Vec<String>> = answers
        .iter()
        .filter_map(|answer| {
            let evidence = answer.evidence.as_ref()?;
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
            let (how, range) = match briefly(descriptor.quantity, evidence) {
                Some(how) => (how, range(descriptor.quantity, evidence)),
                None => (show(evidence.ratio, evidence.interval), outward(evidence.interval)),
            };
            Some(vec![
                format!("{} : {}", evidence.left, evidence.right),
                how,
                range,
                verdict.into(),
                evidence.blocks.to_string(),
                semicolon(published),
            ])
        })
        .collect();
    if rows.is_empty() {
        return None;
    }
    let ratio = match descriptor.quantity {
        Quantity::BytesPerSecond => "carries x",
        _ => "left is",
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
    Some(Table::new(header, rows.collect()))
}

/// A published ratio with its place and date.
fn brief(published: &Published) -> String {
    let ratio =
        published.ratio.map_or_else(|| published.what.clone(), |ratio| format!("{}x", three_digits(ratio)));
    format!("{ratio} in {}, {}, {}", published.measure, published.machine, published.date)
}

/// The published figures of cells that were not measured here. None if there are none.
pub(super) fn published(descriptor: &Descriptor, measured: &[&str]) -> Option<Table> {
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
    // What was published is words, the last column as well.
    (!rows.is_empty()).then(|| Table::new(["published for", "ratio", "what"], rows).with_words(2))
}

fn quantity(quantity: Quantity, picoseconds: f64) -> String {
    match quantity {
        Quantity::BytesPerSecond => Bytes((1e12 / picoseconds) as u64).to_string(),
        _ => three_digits(picoseconds / 1e3),
    }
}

fn spread(descriptor: &Descriptor, row: &Row) -> String {
    let Some(quantile) = row.cost.interval else { return "–".into() };
    let (one, other) = (quantile.interval.low, quantile.interval.high);
    let (low, high) = match descriptor.quantity {
        Quantity::BytesPerSecond => (other, one),
        _ => (one, other),
    };
    format!("{} to {}", quantity(descriptor.quantity, low), quantity(descriptor.quantity, high))
}
