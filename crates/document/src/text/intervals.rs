//! Ratios and their intervals as a picture of rows.

use tenbin_model::Verdict;

use crate::interval::{outward, show};
use crate::page::words;
use crate::scale::Scale;
use crate::{Estimate, Intervals};

/// The widest name, and the narrowest and the widest line.
const NAME: usize = 36;
const LINE: (usize, usize) = (12, 48);

/// A row a ratio: its name, a line with its interval and a mark at the ratio, and the figures. 1 is marked
/// below. Wider than `width` where that leaves no room. Empty where there is no ratio.
pub(super) fn intervals(intervals: &Intervals, width: usize) -> String {
    let rows = &intervals.rows;
    let figures: Vec<String> = rows.iter().map(Estimate::digits).collect();
    let longest = |texts: &mut dyn Iterator<Item = usize>| texts.max().unwrap_or(0);
    let name = longest(&mut rows.iter().map(|row| row.name.chars().count())).min(NAME);
    let figure = longest(&mut figures.iter().map(|text| text.chars().count()));
    let line = width.saturating_sub(name + figure + 6).clamp(LINE.0, LINE.1);
    let values = rows.iter().flat_map(|row| [row.low, row.high, row.ratio]).chain([1.0]);
    let Some(scale) = Scale::over(values, true, (0.0, (line - 1) as f64)).filter(|_| !rows.is_empty()) else {
        return String::new();
    };
    let column = |value: f64| scale.place(value).round() as usize;
    let mut text = format!("  {}\n", intervals.title);
    for (row, figures) in rows.iter().zip(figures) {
        let mut cells = vec![' '; line];
        cells[column(1.0)] = '┊';
        cells[column(row.low)..=column(row.high)].fill('─');
        cells[column(row.ratio)] = mark(row.verdict);
        let drawn: String = cells.into_iter().collect();
        text.push_str(&format!("  {:name$}  {drawn}  {figures}\n", crate::shortened(&row.name, name)));
    }
    let below = format!("{}1", " ".repeat(2 + name + 2 + column(1.0)));
    text.push_str(&format!("{below}  {}\n", legend(rows)));
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

impl Estimate {
    /// The ratio and its interval.
    pub(crate) fn digits(&self) -> String {
        let interval = tenbin_model::Interval { low: self.low, high: self.high };
        format!("{} ({})", show(self.ratio, interval), outward(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_ratio_has_its_line_and_its_mark() {
        let row =
            |name: &str, ratio, low, high, verdict| Estimate { name: name.into(), ratio, low, high, verdict };
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
        let text = intervals(&Intervals { title: "right over left".into(), rows }, 100);
        insta::assert_snapshot!(text);
        assert_eq!(intervals(&Intervals::default(), 80), "");
    }
}
