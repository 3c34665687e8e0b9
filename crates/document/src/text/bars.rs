//! Times over sizes as a picture of rows.

use tenbin_model::{Bytes, Picoseconds};

use crate::Bars;

/// The most rows of a picture: it shall stand on one screen with what is said of it.
const ROWS: usize = 30;

/// The widths of a size and of a time.
const SIZE: usize = 10;
const TIME: usize = 9;

/// Room for what is said of a size.
const MARK: usize = 14;

/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 48);

/// The series side by side, a row a size and a bar a time, with the marks: at most 30 rows and a few lines
/// around them, no wider than `width` columns where two series leave room for it. Empty if nothing was
/// measured.
///
/// Bars are logarithmic, as a cache is some times faster than the next: one character of the shortest is the
/// fastest time of all.
pub(super) fn bars(bars: &Bars, width: usize) -> String {
    let times = || bars.series.iter().flat_map(|series| &series.points).map(|(_, time)| *time);
    let (Some(fastest), Some(slowest)) = (times().min(), times().max()) else { return String::new() };
    let mut sizes: Vec<Bytes> =
        bars.series.iter().flat_map(|series| &series.points).map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let left_out = thin_out(&mut sizes, &bars.marks);
    let room = width.saturating_sub(2 + SIZE + MARK) / bars.series.len().max(1);
    let longest = room.saturating_sub(TIME + 4).clamp(BAR.0, BAR.1);
    let times_fastest = |time: Picoseconds| time.0 as f64 / fastest.0.max(1) as f64;
    let range = times_fastest(slowest).ln();
    let length = |time: Picoseconds| {
        let part = if range > 0.0 { times_fastest(time).ln() / range } else { 0.0 };
        1.0 + part * (longest - 1) as f64
    };
    let titles = bars.series.iter().map(|series| format!("  {:<1$}", series.name, TIME + 2 + longest));
    let mut text = line(std::iter::once(format!("  {:>SIZE$}", bars.rows)).chain(titles));
    for size in &sizes {
        let cells = bars.series.iter().map(|series| match series.points.iter().find(|(at, _)| at == size) {
            Some((_, time)) => {
                format!("  {:>TIME$}  {:<longest$}", time.to_string(), eighths(length(*time)))
            }
            None => " ".repeat(TIME + 4 + longest),
        });
        let mark = bars.marks.iter().find(|(at, _)| at == size);
        let row = std::iter::once(format!("  {:>SIZE$}", size.to_string())).chain(cells);
        text.push_str(&line(row.chain(mark.map(|(_, words)| format!("  ◂ {words}")))));
    }
    text.push_str(&format!("  Bars are logarithmic, from {fastest} to {slowest}; {}.\n", bars.note));
    if left_out > 0 {
        text.push_str(&format!("  {left_out} sizes between are not shown.\n"));
    }
    text
}

/// Takes out every other size, the smallest first, until `ROWS` are left; never one that is marked, nor the
/// one after it, which is where a bar grows. How many were taken out.
fn thin_out(sizes: &mut Vec<Bytes>, marks: &[(Bytes, String)]) -> usize {
    let before = sizes.len();
    while sizes.len() > ROWS {
        let marked = |at: usize| marks.iter().any(|(size, _)| *size == sizes[at]);
        let mut spare = Vec::new();
        for at in 1..sizes.len().saturating_sub(1) {
            let neighbour = spare.last().is_some_and(|last| last + 1 == at);
            if sizes.len() - spare.len() > ROWS && !neighbour && !marked(at) && !marked(at - 1) {
                spare.push(at);
            }
        }
        if spare.is_empty() {
            break;
        }
        let mut at = 0;
        sizes.retain(|_| {
            at += 1;
            !spare.contains(&(at - 1))
        });
    }
    before - sizes.len()
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
