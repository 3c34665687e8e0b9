//! Times over sizes as a picture of rows.

use tenbin_model::Picoseconds;

use crate::Bars;
use crate::shortened;
use crate::words::counted;

/// The most rows of a picture: it shall stand on one screen with what is said of it.
const ROWS: usize = 30;

/// The widths of a label, at least, and of a time.
const LABEL: usize = 10;
const TIME: usize = 9;

/// Times that are fewer times apart are shown as they are.
const ONE_ORDER: f64 = 10.0;

/// Room for what is said of a row.
const MARK: usize = 14;

/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 48);

/// The series side by side, a row a value and a bar a time, with the marks: at most 30 rows and a few lines
/// around them, no wider than `width` columns where two series leave room for it. Empty if nothing was
/// measured.
///
/// Bars begin at 0 where all times are of one order. Else they are logarithmic, as a cache is some times
/// faster than the next: one character of the shortest is the fastest time of all.
pub(super) fn bars(bars: &Bars, width: usize) -> String {
    let times = || bars.series.iter().flat_map(|series| &series.times).copied().flatten();
    let (Some(fastest), Some(slowest)) = (times().min(), times().max()) else { return String::new() };
    let (rows, left_out) = thin_out(bars.labels.len(), &bars.marks);
    let label = bars.labels.iter().map(|label| label.chars().count()).fold(LABEL, usize::max);
    let room = width.saturating_sub(2 + label + MARK) / bars.series.len().max(1);
    let longest = room.saturating_sub(TIME + 4).clamp(BAR.0, BAR.1);
    let times_fastest = |time: Picoseconds| time.0 as f64 / fastest.0.max(1) as f64;
    let range = times_fastest(slowest).ln();
    let linear = times_fastest(slowest) < ONE_ORDER;
    let length = |time: Picoseconds| {
        if linear {
            return time.0 as f64 / slowest.0.max(1) as f64 * longest as f64;
        }
        1.0 + times_fastest(time).ln() / range * (longest - 1) as f64
    };
    let column = TIME + 2 + longest;
    let titles = bars.series.iter().map(|series| format!("  {:<column$}", shortened(&series.name, column)));
    let mut text = line(std::iter::once(format!("  {:>label$}", bars.rows)).chain(titles));
    for row in rows {
        let cells = bars.series.iter().map(|series| match series.times.get(row).copied().flatten() {
            Some(time) => {
                format!("  {:>TIME$}  {:<longest$}", time.to_string(), eighths(length(time)))
            }
            None => " ".repeat(column + 2),
        });
        let mark = bars.marks.iter().find(|(at, _)| *at == row);
        let cells = std::iter::once(format!("  {:>label$}", bars.labels[row])).chain(cells);
        text.push_str(&line(cells.chain(mark.map(|(_, words)| format!("  ◂ {words}")))));
    }
    let note = if bars.note.is_empty() { String::new() } else { format!("; {}", bars.note) };
    text.push_str(&match linear {
        true => format!("  Bars begin at 0, and the longest is {slowest}{note}.\n"),
        false => format!("  Bars are logarithmic, from {fastest} to {slowest}{note}.\n"),
    });
    if left_out > 0 {
        text.push_str(&format!("  Not shown: {} between.\n", counted(left_out, "row")));
    }
    text
}

/// Which of `count` rows are shown: every other one is taken out, the first ones first, until `ROWS` are
/// left; never one that is marked, nor the one after it, which is where a bar grows. And how many were taken
/// out.
fn thin_out(count: usize, marks: &[(usize, String)]) -> (Vec<usize>, usize) {
    let mut rows: Vec<usize> = (0..count).collect();
    while rows.len() > ROWS {
        let marked = |at: usize| marks.iter().any(|(row, _)| *row == rows[at]);
        let mut spare = Vec::new();
        for at in 1..rows.len().saturating_sub(1) {
            let neighbour = spare.last().is_some_and(|last| last + 1 == at);
            if rows.len() - spare.len() > ROWS && !neighbour && !marked(at) && !marked(at - 1) {
                spare.push(at);
            }
        }
        if spare.is_empty() {
            break;
        }
        let mut at = 0;
        rows.retain(|_| {
            at += 1;
            !spare.contains(&(at - 1))
        });
    }
    let left_out = count - rows.len();
    (rows, left_out)
}

/// A bar of `length` characters, in eighths.
fn eighths(length: f64) -> String {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), PARTS[eighths % 8])
}

fn line(parts: impl Iterator<Item = String>) -> String {
    format!("{}\n", parts.collect::<String>().trim_end())
}

#[cfg(test)]
mod tests;
