//! Text in columns that never get wider than the terminal.

/// Columns between two columns.
const GAP: usize = 2;

/// Where a word may be broken that is longer than a line: behind one of these.
const SEAMS: [char; 6] = ['/', '_', '+', '.', ',', '-'];

/// A space at which no line ends: between a figure and its unit.
pub(super) const TOGETHER: char = '\u{a0}';

#[derive(Clone, Copy)]
pub(super) struct Column {
    pub(super) title: &'static str,
    /// Whether it holds figures, which stand to the right.
    pub(super) figures: bool,
    /// It gets no narrower than this, however little room there is; its title is then folded too.
    pub(super) least: usize,
}

/// A table without lines, indented by two. Where it is too wide, the widest columns get narrower, and what
/// they hold is folded.
pub(super) fn table(columns: &[Column], rows: &[Vec<String>], width: usize) -> String {
    let width_of = |(index, column): (usize, &Column)| {
        let cells = rows.iter().filter_map(|row| row.get(index));
        cells.map(|cell| length(cell)).chain([length(column.title)]).max().unwrap_or(0)
    };
    let mut widths: Vec<usize> = columns.iter().enumerate().map(width_of).collect();
    let room = width.saturating_sub(GAP * columns.len());
    while widths.iter().sum::<usize>() > room {
        let wide = |index: &usize| widths[*index] > columns[*index].least;
        match (0..columns.len()).filter(wide).max_by_key(|&index| widths[index]) {
            Some(widest) => widths[widest] -= 1,
            None => break,
        }
    }
    let header: Vec<String> = columns.iter().map(|column| column.title.to_owned()).collect();
    std::iter::once(&header).chain(rows).map(|row| line(columns, &widths, row)).collect()
}

/// A row: as many lines as its longest cell needs.
fn line(columns: &[Column], widths: &[usize], row: &[String]) -> String {
    let cells: Vec<Vec<String>> = row.iter().zip(widths).map(|(cell, &width)| wrapped(cell, width)).collect();
    let height = cells.iter().map(Vec::len).max().unwrap_or(0);
    let line = |index: usize| {
        let mut line = String::new();
        for ((column, &width), cell) in columns.iter().zip(widths).zip(&cells) {
            let part = cell.get(index).map_or("", String::as_str);
            line.push_str(&" ".repeat(GAP));
            line.push_str(&if column.figures { format!("{part:>width$}") } else { format!("{part:width$}") });
        }
        line.trim_end().to_owned() + "\n"
    };
    (0..height).map(line).collect()
}

/// Text between margins. Unlike other reports' text it breaks words too, since a symbol may be longer than a
/// line.
pub(super) fn paragraph(text: &str, indent: usize, width: usize) -> String {
    let margin = " ".repeat(indent);
    let lines = wrapped(text, width.saturating_sub(indent).max(20));
    lines.iter().map(|line| format!("{}\n", format!("{margin}{line}").trim_end())).collect()
}

/// The lines of `text`, folded between words, and inside of those that fit no line.
pub(super) fn wrapped(text: &str, room: usize) -> Vec<String> {
    let room = room.max(1);
    let mut lines: Vec<String> = vec![String::new()];
    for word in text.split_ascii_whitespace() {
        for (place, part) in parts(word, room).into_iter().enumerate() {
            match lines.last_mut() {
                Some(line) if line.is_empty() => line.push_str(&part),
                Some(line) if place == 0 && length(line) + 1 + length(&part) <= room => {
                    line.push(' ');
                    line.push_str(&part);
                }
                _ => lines.push(part),
            }
        }
    }
    lines.into_iter().map(|line| line.replace(TOGETHER, " ").trim().to_owned()).collect()
}

/// The parts of a word that each fit a line.
fn parts(word: &str, room: usize) -> Vec<String> {
    let mut rest: Vec<char> = word.chars().collect();
    let mut parts = Vec::new();
    while rest.len() > room {
        let seam = rest[..room].iter().rposition(|character| SEAMS.contains(character));
        // A seam near the beginning would leave lines of nothing.
        let end = seam.map(|seam| seam + 1).filter(|&end| end * 2 > room).unwrap_or(room);
        parts.push(rest.drain(..end).collect());
    }
    parts.push(rest.into_iter().collect());
    parts
}

/// `text` as a terminal and an SVG file can show it: a name out of a file may hold anything.
pub(super) fn shown(text: &str) -> String {
    let harmless = |character: char| {
        // Marks that change the direction of writing reorder what stands around them.
        let turns =
            matches!(character, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
        !character.is_control() && !turns && !matches!(character, '\u{fffe}' | '\u{ffff}')
    };
    text.chars().map(|character| if harmless(character) { character } else { '\u{fffd}' }).collect()
}

fn length(text: &str) -> usize {
    text.chars().count()
}
