//! Ratios, each with its interval, one below the other.

use maud::{Markup, html};
use tenbin_model::Verdict;

use super::svg::{self, Pen, WIDTH, short};
use super::verdict_class;
use crate::page::{sign, words};
use crate::scale::Scale;
use crate::{Axis, Estimate, Intervals, Unit};

/// The height of a row: its words above its line.
const ROW: f64 = 36.0;

/// The edge around all of them.
const EDGE: f64 = 24.0;

/// How much higher a row is whose figure stands below its name.
const LINE: f64 = 14.0;

/// Longer names are cut; the rest of one stands in its title.
const NAME: usize = 80;

/// The room of a row.
const ROOM: f64 = WIDTH - 2.0 * EDGE;

/// The least room between a name and a figure that stand side by side.
const GAP: f64 = 12.0;

/// More rows than this are several drawings, so that each has its scale in sight and fits on paper.
const MOST: usize = 24;

/// The lines on one logarithmic scale, with 1 marked. Nothing where there is no ratio.
pub(super) fn intervals(intervals: &Intervals) -> Markup {
    let rows = &intervals.rows;
    let values = rows.iter().flat_map(|row| [row.low, row.high, row.ratio]).chain([1.0]);
    let scale = Scale::over(values, true, (EDGE, WIDTH - EDGE)).filter(|_| !rows.is_empty());
    let Some(scale) = scale else { return html! {} };
    // None of them is much shorter than the others.
    let each = rows.len().div_ceil(rows.len().div_ceil(MOST));
    let drawings = html! {
        @for (number, rows) in rows.chunks(each).enumerate() {
            @let title = match number {
                0 => intervals.title.clone(),
                _ => format!("{}, continued", intervals.title),
            };
            (drawing(&title, rows, &scale))
        }
    };
    let below = html! {
        ul.legend {
            @if let [below, above] = &intervals.sides && !below.is_empty() {
                li { (below) " ◂ 1 ▸ " (above) }
            }
            @if !intervals.marked.is_empty() { li { (intervals.marked) ":" } }
            @for verdict in [Verdict::Different, Verdict::Equivalent, Verdict::Refused] {
                @if rows.iter().any(|row| row.verdict == verdict) {
                    li class=(verdict_class(verdict)) {
                        span aria-hidden="true" { (sign(verdict)) } " " (words(verdict))
                    }
                }
            }
        }
    };
    svg::figure(&intervals.title, &drawings, &below)
}

/// Some of the rows.
fn drawing(title: &str, rows: &[Estimate], scale: &Scale) -> Markup {
    let mut lines = Vec::new();
    let mut top = 0.0;
    for row in rows {
        let name = crate::shortened(&row.name, letters(&row.name, ROOM).min(NAME));
        let is_abreast = width(&name) + GAP + width(&row.figure) <= ROOM;
        let figure = top + if is_abreast { 17.0 } else { 17.0 + LINE };
        lines.push((row, name, top + 17.0, figure));
        top = figure + ROW - 17.0;
    }
    let bottom = top + 8.0;
    let ratio = Axis { name: String::new(), unit: Unit::Ratio, is_logarithmic: true };
    let body = html! {
        (svg::along(scale, 9, 0.0, bottom, |value| ratio.digits(value)))
        path.one d=(format!("M{} 0V{}", short(scale.place(1.0)), short(bottom))) {}
        g.rows transform=(format!("translate({EDGE})")) {
            @for (row, name, top, figure) in &lines {
                text y=(short(*top)) {
                    @if let Some(cut) = name.strip_suffix('…').filter(|_| *name != row.name) {
                        title { "…" (row.name.strip_prefix(cut).unwrap_or(&row.name)) }
                    }
                    (name) " "
                    @let below = (figure != top).then(|| short(*figure));
                    tspan x=(short(ROOM)) y=[below] { (row.figure) }
                }
            }
        }
        @for verdict in [Verdict::Different, Verdict::Equivalent, Verdict::Refused] {
            (marks(verdict, lines.iter().map(|(row, _, _, figure)| (*row, figure + 9.0)), scale))
        }
    };
    svg::drawn(title, bottom + 24.0, &body)
}

/// The intervals with this verdict, each at its height, and a dot, a square or a ring at each ratio.
fn marks<'a>(verdict: Verdict, lines: impl Iterator<Item = (&'a Estimate, f64)>, scale: &Scale) -> Markup {
    let (mut lengths, mut ratios) = (String::new(), Pen::default());
    for (row, height) in lines.filter(|(row, _)| row.verdict == verdict) {
        let [low, high] = [row.low, row.high].map(|end| short(scale.place(end)));
        lengths.push_str(&format!("M{low} {height}H{high}"));
        ratios.dot((scale.place(row.ratio), height));
    }
    if lengths.is_empty() {
        return html! {};
    }
    let (class, ratios) = (verdict_class(verdict), ratios.moves());
    html! {
        path class=(format!("interval {class}")) d=(lengths) {}
        path class=(format!("mark {class}")) d=(ratios) {}
        @if verdict == Verdict::Refused { path.hole d=(ratios) {} }
    }
}

/// About how wide words are in the style sheet's letters of 12 pixels, in a wide one of the usual fonts.
fn width(text: &str) -> f64 {
    text.chars().map(width_of).sum()
}

fn width_of(letter: char) -> f64 {
    match letter {
        'A'..='Z' => 8.5,
        _ if letter.is_ascii() => 6.2,
        _ => 12.0,
    }
}

/// How many letters of a text stand in so much room.
fn letters(text: &str, mut room: f64) -> usize {
    let fits = |letter: &char| {
        room -= width_of(*letter);
        room >= 0.0
    };
    text.chars().take_while(fits).count()
}
