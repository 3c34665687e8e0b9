//! The time of a load over the size of the buffer, as a picture of rows.

use tenbin_model::{Bytes, Picoseconds};

use crate::capacity::{Capacities, Curve};
use tenbin_stats::order::Ordered;

/// The most rows of a picture: it shall stand on one screen with what is said of it.
const ROWS: usize = 30;

/// The widths of a size and of a time.
const SIZE: usize = 10;
const TIME: usize = 9;

/// Room for what ends at a size.
const MARK: usize = 14;

/// The shortest and the longest bar.
const BAR: (usize, usize) = (6, 48);

/// The curves side by side, a row a size and a bar a time, with the knees marked: at most 30 rows and
/// a few lines around them, no wider than `width` columns where two curves leave room for it. Empty if nothing
/// was measured.
///
/// Bars are logarithmic, as a cache is some times faster than the next: one character of the shortest is the
/// fastest time of all curves. The knees are those of the curve that was judged.
pub(super) fn curve(curves: &[Curve], capacities: &Capacities, width: usize) -> String {
    let medians: Vec<Vec<(Bytes, f64)>> = curves.iter().map(medians).collect();
    let times = || medians.iter().flatten().map(|(_, time)| *time);
    let (fastest, slowest) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    if slowest <= 0.0 {
        return String::new();
    }
    let mut sizes: Vec<Bytes> = medians.iter().flatten().map(|(size, _)| *size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    let left_out = thin_out(&mut sizes, capacities);
    let room = width.saturating_sub(2 + SIZE + MARK) / curves.len().max(1);
    let bar = room.saturating_sub(TIME + 4).clamp(BAR.0, BAR.1);
    let scale = |time: f64| {
        let range = (slowest / fastest).ln();
        let part = if range > 0.0 { (time / fastest).ln() / range } else { 0.0 };
        1.0 + part * (bar - 1) as f64
    };
    let mut text = line(std::iter::once(format!("  {:>SIZE$}", "buffer")).chain(
        curves.iter().map(|curve| format!("  {:<1$}", format!("{} pages", curve.page), TIME + 2 + bar)),
    ));
    for size in &sizes {
        let cells = medians.iter().map(|curve| match curve.iter().find(|(at, _)| at == size) {
            Some(&(_, time)) => {
                let shown = Picoseconds(time.round() as u64).to_string();
                format!("  {shown:>TIME$}  {:<bar$}", blocks(scale(time)))
            }
            None => " ".repeat(TIME + 4 + bar),
        });
        let row = std::iter::once(format!("  {:>SIZE$}", size.to_string())).chain(cells);
        text.push_str(&line(row.chain(std::iter::once(mark(*size, capacities)))));
    }
    text.push_str(&format!(
        "  Bars are logarithmic, from {} to {}; knees in pages of {}.\n",
        Picoseconds(fastest.round() as u64),
        Picoseconds(slowest.round() as u64),
        capacities.page
    ));
    if left_out > 0 {
        text.push_str(&format!("  {left_out} sizes between are not shown.\n"));
    }
    text
}

/// The sizes of a curve with their median times, in picoseconds.
fn medians(curve: &Curve) -> Vec<(Bytes, f64)> {
    let median = |times: &[f64]| {
        let times = times.iter().copied().filter(|time| time.is_finite() && *time > 0.0).collect();
        Ordered::new(times).map(|times| times.median())
    };
    curve.points.iter().filter_map(|point| Some((point.bytes, median(&point.times)?))).collect()
}

/// Takes out every other size, the smallest first, until `ROWS` are left; never one that is marked, nor the
/// one after it, which is where a bar grows. How many were taken out.
fn thin_out(sizes: &mut Vec<Bytes>, capacities: &Capacities) -> usize {
    let before = sizes.len();
    while sizes.len() > ROWS {
        let marked = |at: usize| !mark(sizes[at], capacities).is_empty();
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

/// What there is to say of a size.
fn mark(size: Bytes, capacities: &Capacities) -> String {
    let ends = capacities.levels.iter().find(|level| level.measured() == Some(size));
    if let Some(level) = ends {
        return format!("  ◂ L{} ends", level.level);
    }
    if capacities.unexplained.iter().any(|rise| rise.knee == size) {
        return "  ◂ a rise".into();
    }
    if capacities.flat_from == Some(size) { "  ◂ flat from".into() } else { String::new() }
}

/// A bar of `length` characters, in eighths.
fn blocks(length: f64) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = (length * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn line(parts: impl Iterator<Item = String>) -> String {
    format!("{}\n", parts.collect::<String>().trim_end())
}

#[cfg(test)]
mod tests;
