//! Ratios and their intervals as a picture of rows.

use tenbin_model::Verdict;

use crate::page::words;
use crate::scale::Scale;
use crate::words::folded;
use crate::{Estimate, Intervals};

/// The widest name beside a line, and the narrowest and the widest line.
const NAME: usize = 36;
const LINE: (usize, usize) = (12, 48);

/// A row a ratio: its name, above it where names are long, a line with its interval and a mark at the ratio,
/// and the figures. 1 is marked below, with what lies on either side of it where there is room. Wider than
/// `width` where that leaves no room. Empty where there is no ratio.
pub(super) fn intervals(intervals: &Intervals, width: usize) -> String {
    let rows = &intervals.rows;
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let longest_name = longest(&mut rows.iter().map(|row| row.name.chars().count()));
    let is_above = longest_name > NAME;
    let name = if is_above { 2 } else { longest_name };
    let figure = longest(&mut rows.iter().map(|row| row.figure.chars().count()));
    let line = width.saturating_sub(name + figure + 6).clamp(LINE.0, LINE.1);
    let values = rows.iter().flat_map(|row| [row.low, row.high, row.ratio]).chain([1.0]);
    let Some(scale) = Scale::over(values, true, (0.0, (line - 1) as f64)).filter(|_| !rows.is_empty()) else {
        return String::new();
    };
    let column = |value: f64| scale.place(value).round() as usize;
    let mut text = folded(&intervals.title, 2, width);
    for row in rows {
        let mut cells = vec![' '; line];
        cells[column(1.0)] = '┊';
        cells[column(row.low)..=column(row.high)].fill('─');
        cells[column(row.ratio)] = mark(row.verdict);
        let drawn: String = cells.into_iter().collect();
        let beside = if is_above { "" } else { &row.name };
        if is_above {
            text.push_str(&format!("  {}\n", row.name));
        }
        text.push_str(&format!("  {beside:name$}  {drawn}  {}\n", row.figure));
    }
    let [below, above] = &intervals.sides;
    let (left, right) = match below.is_empty() {
        true => (String::new(), String::new()),
        false => (format!("{below} ◂ "), format!(" ▸ {above}")),
    };
    let marked = if intervals.marked.is_empty() { String::new() } else { format!("{}: ", intervals.marked) };
    // The 1 stands below the line of 1.
    let start = 2 + name + 2 + column(1.0);
    let left = if left.chars().count() < start { left } else { String::new() };
    text.push_str(&format!("{left:>start$}1{right}   {marked}{}\n", legend(rows)));
    text
}

/// By its form alone it says what was said.
fn mark(verdict: Verdict) -> char {
    match verdict {
        Verdict::Different => '●',
        Verdict::Equivalent => '=',
        Verdict::Refused => '?',
    }
}

/// The marks that occur.
fn legend(rows: &[Estimate]) -> String {
    let verdicts = [Verdict::Different, Verdict::Equivalent, Verdict::Refused];
    let known = verdicts.into_iter().filter(|verdict| rows.iter().any(|row| row.verdict == *verdict));
    known.map(|verdict| format!("{} {}", mark(verdict), words(verdict))).collect::<Vec<_>>().join("  ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ratio_has_its_line_and_its_mark() {
        let row = |name: &str, ratio, low, high, verdict| {
            let figure = format!("{ratio}x ({low} to {high})");
            Estimate { name: name.into(), ratio, low, high, figure, verdict }
        };
        let rows = vec![
            row("write : vmsplice", 1.58, 1.5, 1.67, Verdict::Different),
            row(
                "write : a name that is far too long for its column",
                1.001,
                0.997,
                1.004,
                Verdict::Equivalent,
            ),
            row("write : tee", 0.9, 0.7, 1.2, Verdict::Refused),
        ];
        let sides = ["left dearer", "left cheaper"].map(String::from);
        let text = intervals(
            &Intervals { title: "right over left".into(), sides, rows, ..Intervals::default() },
            100,
        );
        insta::assert_snapshot!(text);
        assert_eq!(intervals(&Intervals::default(), 80), "");
    }
}
