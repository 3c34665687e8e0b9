//! A matrix of times between CPUs as a picture: figures where they fit, shades where they do not.

use tenbin_model::unit::three_digits;
use tenbin_stats::order::Ordered;

use super::folded;
use crate::Heat;

/// The classes of a time, fastest first.
const SHADES: [char; 4] = ['░', '▒', '▓', '█'];

/// More CPUs than this are shown by shades alone, as figures in so many columns are not read.
const FIGURES: usize = 24;

/// In place of a pair that was not measured, away from the diagonal.
const MISSING: char = '·';

/// The heat map of all times: a row for the first of a pair and a column for the second. The diagonal is
/// empty unless there is something on it. Lines are no wider than `width`, but never narrower than a label
/// and ten columns.
///
/// The class of a time is its place between the smallest and the largest on a logarithmic scale, as a pair is
/// so many times as far as another. Up to 24 CPUs show the figures with their shades if they fit; more
/// of them, a shade a pair; and where even those do not fit, neighbours are taken together by their median.
/// Empty if nothing was measured.
pub(super) fn heat(heat: &Heat, width: usize) -> String {
    let Heat { labels, times } = heat;
    let Some(scale) = Scale::of(times) else { return String::new() };
    let count = labels.len();
    let margin = 2 + labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let drawn = figures(labels, times, &scale, margin)
        .filter(|text| text.lines().all(|line| line.chars().count() <= width))
        .unwrap_or_else(|| {
            let room = width.saturating_sub(margin + 1).max(10);
            match count.div_ceil(room) {
                0 | 1 => shades(labels, times, &scale),
                several => {
                    // The names of several take more room than the name of one.
                    let room = width.saturating_sub(2 * margin).max(10);
                    let together = several.max(count.div_ceil(room));
                    let (labels, times) = condensed(labels, times, together);
                    let remark = format!(
                        "{together} neighbours are taken together: a shade is the median of up to {} pairs.",
                        together * together
                    );
                    format!("{}{}", shades(&labels, &times, &scale), folded(&remark, 2, width))
                }
            }
        });
    format!("{drawn}{}", scale.legend(drawn.contains(MISSING), width))
}

/// Where the classes begin.
struct Scale {
    low: f64,
    high: f64,
}

impl Scale {
    fn of(times: &[Vec<Option<f64>>]) -> Option<Self> {
        let measured = || times.iter().flatten().flatten().copied().filter(|time| *time > 0.0);
        let (low, high) = (measured().fold(f64::INFINITY, f64::min), measured().fold(0.0, f64::max));
        (low <= high && high.is_finite()).then_some(Self { low, high })
    }

    /// The lower edge of a class.
    fn edge(&self, class: usize) -> f64 {
        self.low * (self.high / self.low).powf(class as f64 / SHADES.len() as f64)
    }

    fn shade(&self, time: f64) -> char {
        let class = (1..SHADES.len()).rev().find(|&class| self.low < self.high && time >= self.edge(class));
        SHADES[class.unwrap_or(0)]
    }

    /// Which shade is which range, with no range broken over two lines.
    fn legend(&self, missing: bool, width: usize) -> String {
        let range = |(class, shade): (usize, &char)| {
            format!("{shade} {} to {} ns", three_digits(self.edge(class)), three_digits(self.edge(class + 1)))
        };
        let mut parts: Vec<String> = if self.low < self.high {
            SHADES.iter().enumerate().map(range).collect()
        } else {
            vec![format!("{} {} ns", SHADES[0], three_digits(self.low))]
        };
        parts.extend(missing.then(|| format!("{MISSING} not measured")));
        let mut lines: Vec<String> = Vec::new();
        for part in parts {
            match lines.last_mut() {
                Some(line) if line.chars().count() + 2 + part.chars().count() <= width => {
                    line.push_str("  ");
                    line.push_str(&part);
                }
                _ => lines.push(format!("  {part}")),
            }
        }
        lines.iter().map(|line| format!("{line}\n")).collect()
    }
}

/// The time of a pair, if it was measured.
fn time(times: &[Vec<Option<f64>>], row: usize, column: usize) -> Option<f64> {
    times.get(row)?.get(column).copied().flatten().filter(|time| *time > 0.0)
}

/// Figures with their shades. None for more CPUs than `FIGURES`.
fn figures(labels: &[String], times: &[Vec<Option<f64>>], scale: &Scale, margin: usize) -> Option<String> {
    let count = labels.len();
    if count > FIGURES {
        return None;
    }
    let cell = |row: usize, column: usize| match time(times, row, column) {
        Some(time) => format!("{}{}", three_digits(time), scale.shade(time)),
        None if row == column => String::new(),
        None => MISSING.into(),
    };
    let cells: Vec<Vec<String>> =
        (0..count).map(|row| (0..count).map(|column| cell(row, column)).collect()).collect();
    let widest = cells.iter().flatten().chain(labels).map(|text| text.chars().count()).max().unwrap_or(0);
    let line = |name: &str, texts: &[String]| {
        let texts: String = texts.iter().map(|text| format!(" {text:>widest$}")).collect();
        format!("{}\n", format!("{name:>margin$} {texts}").trim_end())
    };
    let rows = labels.iter().zip(&cells).map(|(label, cells)| line(label, cells));
    Some(std::iter::once(line("", labels)).chain(rows).collect())
}

/// A shade a pair. Of the columns, those are named whose name begins where the one before it has ended.
fn shades(labels: &[String], times: &[Vec<Option<f64>>], scale: &Scale) -> String {
    let margin = 2 + labels.iter().map(|label| label.chars().count()).max().unwrap_or(0);
    let mut named = String::new();
    for (column, label) in labels.iter().enumerate() {
        let end = named.chars().count();
        let fits = column + label.chars().count() <= labels.len();
        if fits && column % 8 == 0 && end <= column {
            named.push_str(&" ".repeat(column - end));
            named.push_str(label);
        }
    }
    let mut text = format!("{:margin$} {named}\n", "");
    for (row, label) in labels.iter().enumerate() {
        let shades: String = (0..labels.len())
            .map(|column| match time(times, row, column) {
                Some(time) => scale.shade(time),
                None if row == column => ' ',
                None => MISSING,
            })
            .collect();
        text.push_str(&format!("{}\n", format!("{label:>margin$} {shades}").trim_end()));
    }
    text
}

/// Every `together` neighbours as one, by the median of what was measured between them.
pub(crate) fn condensed(
    labels: &[String],
    times: &[Vec<Option<f64>>],
    together: usize,
) -> (Vec<String>, Vec<Vec<Option<f64>>>) {
    let count = labels.len();
    let blocks: Vec<std::ops::Range<usize>> =
        (0..count).step_by(together).map(|from| from..(from + together).min(count)).collect();
    let name = |block: &std::ops::Range<usize>| match (&labels[block.start], &labels[block.end - 1]) {
        (first, last) if first == last => first.clone(),
        (first, last) => format!("{first}-{last}"),
    };
    let median = |rows: &std::ops::Range<usize>, columns: &std::ops::Range<usize>| {
        let pairs = rows.clone().flat_map(|row| columns.clone().map(move |column| (row, column)));
        let measured = pairs.filter_map(|(row, column)| time(times, row, column)).collect();
        Ordered::new(measured).map(|measured| measured.median())
    };
    let medians = blocks.iter().map(|rows| blocks.iter().map(|columns| median(rows, columns)).collect());
    (blocks.iter().map(name).collect(), medians.collect())
}

#[cfg(test)]
mod tests;
