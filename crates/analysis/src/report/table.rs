//! The tables of a cell: what each variant cost, and what was weighed against what.

use tenbin_document::Table;
use tenbin_document::interval::{outward, show};
use tenbin_model::sample::METRICS;
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Bytes, Cell, Descriptor, Published, Quantity, Reading, Trial, Verdict};

use super::row::Row;
use crate::across::in_order;
use crate::verdict::Time;
use crate::verdict::sentence::{briefly, range};

/// From this many for an operation on a metric is shown.
const COUNT_SHOWN: f64 = 1e-3;

/// What each variant cost in this cell. None if nothing was timed.
pub fn variants(time: Time, descriptor: &Descriptor, cell: &Cell) -> Option<Table> {
    let variants = cell.arrangement.variants.iter();
    let rows: Vec<Row> = variants.filter_map(|&index| Row::of(time, descriptor, cell, index)).collect();
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
    let median = |row: &Row| quantity(descriptor.quantity, row.cost.median);
    let first = |row: &Row| vec![row.name.clone(), median(row), spread(descriptor, row)];
    let mut cells: Vec<Vec<String>> = rows.iter().map(first).collect();
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

/// What was weighed: the ratio, its interval, the verdict.
pub fn comparisons(descriptor: &Descriptor, answers: &[&Answer]) -> Option<Table> {
    let row = |answer: &&Answer| {
        let evidence = answer.evidence.as_ref()?;
        let verdict = match answer.verdict {
            Verdict::Different => "different",
            Verdict::Equivalent => "equivalent",
            Verdict::Refused => "refused",
        };
        let (how, range) = match briefly(descriptor.quantity, evidence) {
            Some(how) => (how, range(descriptor.quantity, evidence)),
            None => (show(evidence.ratio, evidence.interval), outward(evidence.interval)),
        };
        let pair = format!("{} : {}", evidence.left, evidence.right);
        Some(vec![pair, how, range, verdict.into(), evidence.blocks.to_string()])
    };
    let rows: Vec<Vec<String>> = answers.iter().filter_map(row).collect();
    if rows.is_empty() {
        return None;
    }
    let ratio = match descriptor.quantity {
        Quantity::BytesPerSecond => "carries x",
        _ => "left is",
    };
    Some(Table::new(["left : right", ratio, "interval", "verdict", "blocks"], rows))
}

/// What others published, a table for each machine and date: where, how much, beside what it is here, and in
/// their words.
///
/// What stands for a cell of the trial and was not weighed in it is left out: it is that cell.
pub(super) fn published(trial: &Trial, answers: &[Answer]) -> Vec<(String, Table)> {
    let is_cell = |name: &String| trial.cells.iter().any(|cell| cell.arrangement.label == *name);
    let own = |published: &Published| {
        answers.iter().filter(|answer| answer.cell == published.cell).find_map(|answer| {
            let evidence = answer.evidence.as_ref()?;
            let is_same = evidence.left == published.left && evidence.right == published.right;
            is_same.then(|| format!("{}x", show(evidence.ratio, evidence.interval)))
        })
    };
    let row = |published: &Published| {
        let ratio = published.ratio.map(|ratio| format!("{}x", three_digits(ratio)));
        let figures = [ratio, own(published)].map(|figure| figure.unwrap_or_else(|| "–".into()));
        std::iter::once(published.cell.clone()).chain(figures).chain([published.what.clone()]).collect()
    };
    let source = |published: &Published| format!("{}, {}", published.machine, published.date);
    let shown = || {
        let all = trial.descriptor.published.iter();
        all.filter(|it| !is_cell(&it.cell) || own(it).is_some())
    };
    let sources = in_order(shown().map(source));
    let table = |title: String| {
        let own = || shown().filter(|it| source(it) == title);
        // What was published is words, the last column as well.
        let table = if own().any(|published| published.ratio.is_some()) {
            Table::new(["for", "there", "here", "what"], own().map(row).collect()).with_words(3)
        } else {
            let row = |published: &Published| vec![published.cell.clone(), published.what.clone()];
            Table::new(["for", "what"], own().map(row).collect()).with_words(1)
        };
        (title, table)
    };
    sources.into_iter().map(table).collect()
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
