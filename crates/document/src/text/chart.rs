//! Points between two axes as a picture of dots: eight of them in a character (Unicode's braille patterns).

use crate::scale::Scale;
use crate::{Chart, Curve, Style};

/// Characters above each other, and the most beside each other.
const ROWS: usize = 8;
const COLUMNS: usize = 64;

/// One picture for each curve below a title, all to the same scale, with the ends of both axes. Empty where
/// there are no points.
pub(super) fn chart(chart: &Chart, width: usize) -> String {
    let columns = width.saturating_sub(16).clamp(16, COLUMNS);
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let right = (columns * 2 - 1) as f64;
    let top = (ROWS * 4 - 1) as f64;
    let (Some(x), Some(y)) = (
        Scale::over(points().map(|point| point.0), chart.x.is_logarithmic, (0.0, right)),
        Scale::over(points().map(|point| point.1), chart.y.is_logarithmic, (top, 0.0)),
    ) else {
        return String::new();
    };
    let ends = |read: fn(&(f64, f64)) -> f64| {
        let values = || points().map(read);
        (values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max))
    };
    let (left, right) = ends(|point| point.0);
    let (low, high) = ends(|point| point.1);
    let mut text = format!("  {}\n", chart.title);
    for curve in &chart.curves {
        text.push_str(&format!("  {}\n", curve.name));
        for (row, line) in drawn(curve, columns, (&x, &y)).into_iter().enumerate() {
            let label = match row {
                0 => chart.y.digits(high),
                row if row + 1 == ROWS => chart.y.digits(low),
                _ => String::new(),
            };
            text.push_str(format!("  {label:>10} ┤{line}").trim_end());
            text.push('\n');
        }
    }
    let (left, right) = (chart.x.digits(left), chart.x.digits(right));
    let between = (columns + 1).saturating_sub(left.chars().count() + right.chars().count());
    text.push_str(&format!("  {:10} {left}{}{right}  {}\n", "", " ".repeat(between), chart.x.name));
    text
}

/// The rows of one curve, a character for each two columns and four rows of dots.
fn drawn(curve: &Curve, columns: usize, (x, y): (&Scale, &Scale)) -> Vec<String> {
    let mut dots = vec![vec![false; columns * 2]; ROWS * 4];
    let place = |point: &(f64, f64)| (x.place(point.0).round() as usize, y.place(point.1).round() as usize);
    let mut before: Option<(usize, usize)> = None;
    for (column, row) in curve.points.iter().map(place) {
        if let (Some((last, height)), Style::Steps | Style::Line) = (before, curve.style) {
            let wide = column.saturating_sub(last);
            for step in 0..wide {
                let part = step as f64 / wide as f64;
                let slope = if curve.style == Style::Line { part } else { 0.0 };
                let at = height as f64 + (row as f64 - height as f64) * slope;
                dots[at.round() as usize][last + step] = true;
            }
            if curve.style == Style::Steps {
                for line in &mut dots[row.min(height)..=row.max(height)] {
                    line[column] = true;
                }
            }
        }
        dots[row][column] = true;
        before = Some((column, row));
    }
    dots.chunks(4).map(|rows| (0..columns).map(|column| character(rows, column)).collect()).collect()
}

/// The pattern of the eight dots of one character. The order of its bits is Unicode's (block U+2800).
fn character(rows: &[Vec<bool>], column: usize) -> char {
    const BITS: [[u32; 2]; 4] = [[0x01, 0x08], [0x02, 0x10], [0x04, 0x20], [0x40, 0x80]];
    let set = |(row, bits): (&Vec<bool>, &[u32; 2])| {
        let of = |side: usize| if row[column * 2 + side] { bits[side] } else { 0 };
        of(0) | of(1)
    };
    let pattern: u32 = rows.iter().zip(&BITS).map(set).sum();
    match pattern {
        0 => ' ',
        pattern => char::from_u32(0x2800 + pattern).unwrap_or(' '),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Axis, Unit};

    #[test]
    fn a_distribution_climbs_by_steps() {
        let axis = |name: &str, unit, is_logarithmic| Axis { name: name.into(), unit, is_logarithmic };
        let points = (1..=20).map(|rank| (1e9 * 1.1_f64.powi(rank), f64::from(rank) / 20.0)).collect();
        let chart = Chart {
            title: "how many runs took no longer".into(),
            x: axis("time of a run", Unit::Time, true),
            y: axis("runs", Unit::Share, false),
            curves: vec![Curve { name: "`a`".into(), points, style: Style::Steps }],
        };
        insta::assert_snapshot!(super::chart(&chart, 60));
        let empty = Chart { curves: Vec::new(), ..chart };
        assert_eq!(super::chart(&empty, 60), "");
    }
}
