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

/// The empty columns before the first column of a table and behind each.
const GAP: usize = 2;

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
            Self::Table(table) => drawn(table, width),
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

/// A plain table: names and words to the left, figures to the right, nothing drawn around them. Words in the
/// last column are folded where they would not fit. Where columns do not fit, the table goes on below itself
/// with the names once more.
fn drawn(table: &Table, width: usize) -> String {
    /// The least room for words that are folded, and for names.
    const LEAST: usize = 24;
    const NAMES: usize = 34;
    let last = table.header.len().saturating_sub(1);
    let column = |index: usize| {
        let texts = table.rows.iter().filter_map(move |row| row.get(index)).chain(table.header.get(index));
        GAP + texts.map(|text| text.chars().count()).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = (0..=last).map(column).collect();
    widths[0] += GAP;
    if table.words.contains(&last) {
        let room = width.saturating_sub(widths[..last].iter().sum::<usize>() + GAP);
        widths[last] = widths[last].min(room.max(LEAST));
    }
    // Long names are folded if that makes room for all else.
    let rest: usize = widths[1..].iter().sum();
    if (NAMES + rest..widths[0] + rest).contains(&(width + GAP)) {
        widths[0] = width + GAP - rest;
    }
    let parts = parted(&widths, width + GAP);
    // None stands alone while another part is full.
    let balanced = (0..width + GAP).map(|limit| parted(&widths, limit));
    let parts = balanced.into_iter().find(|other| other.len() == parts.len()).unwrap_or(parts);
    let parts: Vec<String> = parts.iter().map(|part| columns(table, part, &widths)).collect();
    parts.join("\n")
}

/// Which columns stand beside each other where so many characters are allowed; the first one in each part.
fn parted(widths: &[usize], limit: usize) -> Vec<Vec<usize>> {
    let mut parts = vec![vec![0]];
    let mut end = widths[0];
    for (index, column) in widths.iter().enumerate().skip(1) {
        end += column;
        match parts.last_mut() {
            Some(part) if end <= limit || part.len() == 1 => part.push(index),
            _ => {
                parts.push(vec![0, index]);
                end = widths[0] + column;
            }
        }
    }
    parts
}

/// These columns of a table; names, and words in the last one, are folded where they are wider than this.
fn columns(table: &Table, shown: &[usize], widths: &[usize]) -> String {
    let mut grid = Grid::new();
    grid.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
    let last = table.header.len().saturating_sub(1);
    let text = |row: &[String], index: usize| {
        let text = row.get(index).cloned().unwrap_or_default();
        let is_folded = index == 0 || index == last && table.words.contains(&index);
        let room = widths[index].saturating_sub(if index == 0 { 2 * GAP } else { GAP });
        let is_wider = is_folded && text.chars().count() > room;
        if is_wider { folded(&text, 0, room).trim_end().into() } else { text }
    };
    let line = |row: &Vec<String>| shown.iter().map(|&index| text(row, index)).collect::<Vec<_>>();
    grid.set_header(line(&table.header));
    grid.add_rows(table.rows.iter().map(line));
    for (column, &index) in grid.column_iter_mut().zip(shown) {
        column.set_padding((if index == 0 { GAP as u16 } else { 0 }, GAP as u16));
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
        let text = paragraph("some words that go on and on", 2, 4, 28);
        assert_eq!(text, "  some words that go on\n      and on\n");
    }

    #[test]
    fn a_table_that_is_too_wide_goes_on_below_itself() {
        let words = "some words that go on until they have to be folded";
        let row = |name: &str| [name, "12345", "67890", words].map(String::from).to_vec();
        let table = Table::new(["name", "count", "other", "what"], vec![row("a"), row("b")]).with_words(3);
        let at = |width| {
            let mut document = Document::new();
            document.table(table.clone());
            document.text(width)
        };
        insta::assert_snapshot!(format!("{}---\n{}---\n{}", at(80), at(44), at(18)));
        for width in [80, 44, 18] {
            assert!(at(width).lines().all(|line| line.chars().count() <= width.max(32)), "{}", at(width));
        }
    }

    #[test]
    fn figures_stand_to_the_right_and_words_to_the_left() {
        let rows = [["a", "1", "x"], ["bc", "10", "yz"]].map(|row| row.map(String::from).to_vec()).to_vec();
        let table = Table::new(["name", "count", "what"], rows).with_words(2);
        let mut document = Document::new();
        document.line("title").space().table(table);
        assert_eq!(document.text(80), "title\n\n  name  count  what\n  a         1  x\n  bc       10  yz\n");
    }
}
