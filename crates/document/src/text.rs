//! A document as the page of a terminal.

mod bars;
mod chart;
pub(crate) mod heat;
mod intervals;

use comfy_table::{CellAlignment, ContentArrangement, Table as Grid, presets};

use tenbin_model::words::folded;

use crate::{Block, Document, Table};

/// The column in which the words beside a name begin.
const MARGIN: usize = 10;

impl Document {
    /// The document as text whose words are folded at `width` columns. A line that cannot be folded may be
    /// wider.
    pub fn text(&self, width: usize) -> String {
        self.blocks.iter().map(|block| block.text(width)).collect()
    }
}

impl Block {
    fn text(&self, width: usize) -> String {
        match self {
            Self::Space => "\n".into(),
            Self::Line(text) => format!("{text}\n"),
            Self::Paragraph { indent, hang, text } => paragraph(text, *indent, *hang, width),
            Self::Entry { name, text } => entry(name, text, width),
            Self::Table(table) => drawn(table),
            Self::Bars(bars) => bars::bars(bars, width),
            Self::Heat(heat) => heat::heat(heat, width),
            Self::Intervals(intervals) => intervals::intervals(intervals, width),
            Self::Chart(chart) => chart::chart(chart, width),
            Self::Folded { title, document } => format!("{title}\n{}", document.text(width)),
        }
    }
}

/// Words whose first line stands `indent` columns in and all others `hang` farther.
fn paragraph(text: &str, indent: usize, hang: usize, width: usize) -> String {
    let whole = folded(text, indent, width.saturating_sub(hang));
    let mut lines = whole.split_inclusive('\n');
    let first = lines.next().unwrap_or_default().to_owned();
    lines.fold(first, |text, line| text + &" ".repeat(hang) + line)
}

/// A name in the margin and words beside it.
fn entry(name: &str, text: &str, width: usize) -> String {
    let folded = folded(text, MARGIN, width);
    // A name that fills the margin gets a line of its own.
    if name.chars().count() < MARGIN {
        folded.replacen(&" ".repeat(MARGIN), &format!("{name:MARGIN$}"), 1)
    } else {
        format!("{name}\n{folded}")
    }
}

/// A plain table: names and words to the left, figures to the right, nothing drawn around them.
fn drawn(table: &Table) -> String {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    grid.set_header(&table.header);
    grid.add_rows(&table.rows);
    for (index, column) in grid.column_iter_mut().enumerate() {
        column.set_padding((if index == 0 { 2 } else { 0 }, 2));
        let figures = index > 0 && !table.words.contains(&index);
        column.set_cell_alignment(if figures { CellAlignment::Right } else { CellAlignment::Left });
    }
    grid.lines().map(|line| format!("{}\n", line.trim_end())).collect()
}

/// The parts of a text, and whether each is code: what stands between two backticks. One without a second is
/// a letter.
pub(crate) fn spans(text: &str) -> Vec<(&str, bool)> {
    let mut spans = Vec::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('`') {
        let Some((code, behind)) = after.split_once('`') else { break };
        spans.extend([(before, false), (code, true)]);
        rest = behind;
    }
    spans.push((rest, false));
    spans.retain(|(part, _)| !part.is_empty());
    spans
}

/// A text, or its first characters where it has more than so many.
pub fn shortened(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.into();
    }
    text.chars().take(width - 1).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_folded_between_words_and_keeps_its_margin() {
        let text = entry("pipe", "vmsplice of constant pages carries more", 30);
        assert_eq!(text, "pipe      vmsplice of constant\n          pages carries more\n");
        assert_eq!(
            paragraph("some words that go on and on", 2, 4, 28),
            "  some words that go on\n      and on\n"
        );
    }

    #[test]
    fn figures_stand_to_the_right_and_words_to_the_left() {
        let rows =
            vec![vec!["a".into(), "1".into(), "x".into()], vec!["bc".into(), "10".into(), "yz".into()]];
        let table = Table::new(["name", "count", "what"], rows).with_words(2);
        let mut document = Document::new();
        document.line("title").space().table(table);
        assert_eq!(document.text(80), "title\n\n  name  count  what\n  a         1  x\n  bc       10  yz\n");
    }
}
