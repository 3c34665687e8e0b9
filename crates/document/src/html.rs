//! A document as a file for a browser: one file that asks nobody for anything.
//!
//! Whatever stands in a document is text here: maud writes it so that no browser takes it for markup. The
//! file forbids itself to load anything. It has no program in it but where single values are to be drawn,
//! and then forbids itself to run another one.

mod bars;
mod chart;
mod heat;
mod intervals;
mod page;
mod samples;
mod svg;

use maud::{Markup, html};
use tenbin_model::{ClaimOutcome, Verdict};

use crate::page::Mark;
use crate::text::spans;
use crate::{Block, Document, Table};

/// How many shades there are to either side, in the style sheet.
const SHADES: u8 = 4;

impl Document {
    /// The document as HTML, below a heading of the second rank.
    fn html(&self) -> Markup {
        html! {
            @for block in &self.blocks { (block.html()) }
        }
    }
}

impl Block {
    fn html(&self) -> Markup {
        match self {
            // Whatever stands between blocks, a style sheet says.
            Self::Space => html! {},
            Self::Line(text) => html! { h3 { (inline(text.trim())) } },
            Self::Paragraph { indent, text, .. } => html! {
                p class=[(*indent > 2).then_some("further")] { (inline(text)) }
            },
            Self::Entry { name, text } => html! { p { b { (name) } " " (inline(text)) } },
            Self::Table(table) => drawn(table),
            Self::Bars(bars) => bars::bars(bars),
            Self::Heat(heat) => heat::heat(heat),
            Self::Intervals(intervals) => intervals::intervals(intervals),
            Self::Chart(chart) => chart::chart(chart),
            Self::Folded { title, document } => html! {
                details { summary { (title) } (document.html()) }
            },
        }
    }
}

/// Words of which what stands between two backticks is code.
fn inline(text: &str) -> Markup {
    html! {
        @for (part, is_code) in spans(text) {
            @if is_code { code { (part) } } @else { (part) }
        }
    }
}

/// A table that is moved sideways where it does not fit, by keys as well. Its rows and cells end where the
/// next ones begin, and its headers are those of their row or column by where they stand: HTML, sections
/// 13.1.2.4 and 4.9.12.2.
fn drawn(table: &Table) -> Markup {
    let name = table.header.first().map_or("Table", String::as_str);
    let is_words = |column: usize| column == 0 || table.words.contains(&column);
    html! {
        div.wide role="region" tabindex="0" aria-label=(format!("Table by {name}")) {
            table {
                thead;
                tr;
                @for (column, text) in table.header.iter().enumerate() {
                    th class=[is_words(column).then_some("words")];
                    (text)
                }
                tbody;
                @for (row_number, row) in table.rows.iter().enumerate() {
                    tr;
                    @for (column, text) in row.iter().enumerate() {
                        @if column == 0 {
                            th;
                            (text)
                        } @else {
                            td class=[cell_class(table, row_number, column)];
                            @if is_words(column) { (inline(text)) } @else { (text) }
                        }
                    }
                }
            }
        }
    }
}

/// The class of a verdict's colour. Its form differs as well.
fn verdict_class(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Different => "different",
        Verdict::Equivalent => "same",
        Verdict::Refused => "refused",
    }
}

/// The class of a mark's colour.
fn mark_class(mark: Mark) -> &'static str {
    match mark {
        Mark::Verdict(verdict) => verdict_class(verdict),
        Mark::Claim(ClaimOutcome::Holds) => verdict_class(Verdict::Equivalent),
        Mark::Claim(ClaimOutcome::Refuted | ClaimOutcome::NotDecided) => verdict_class(Verdict::Refused),
    }
}

/// How a cell looks: words stand to the left, and a shade says how far a figure is from others.
fn cell_class(table: &Table, row: usize, column: usize) -> Option<String> {
    if table.words.contains(&column) {
        return Some("words".into());
    }
    let shade = *table.shades.get(row)?.get(column)?;
    let side = match shade {
        0 => return None,
        less if less < 0 => "less",
        _ => "more",
    };
    Some(format!("{side}{}", shade.unsigned_abs().min(SHADES)))
}

#[cfg(test)]
mod tests;
