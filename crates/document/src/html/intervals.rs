//! Ratios, each with its interval, one below the other.

use maud::{Markup, html};
use tenbin_model::Verdict;

use super::svg::{self, WIDTH, short};
use super::verdict_class;
use crate::page::{sign, words};
use crate::scale::Scale;
use crate::{Axis, Intervals, Unit};

/// The height of a row: its words above its line.
const ROW: f64 = 36.0;

/// The edge around all of them.
const EDGE: f64 = 24.0;

/// Longer names are cut; the whole of one stands in its title.
const NAME: usize = 80;

/// The lines on one logarithmic scale, with 1 marked. Nothing where there is no ratio.
pub(super) fn intervals(intervals: &Intervals) -> Markup {
    let rows = &intervals.rows;
    let values = rows.iter().flat_map(|row| [row.low, row.high, row.ratio]).chain([1.0]);
    let scale = Scale::over(values, true, (EDGE, WIDTH - EDGE)).filter(|_| !rows.is_empty());
    let Some(scale) = scale else { return html! {} };
    let bottom = ROW * rows.len() as f64 + 8.0;
    let ratio = Axis { name: String::new(), unit: Unit::Ratio, is_logarithmic: true };
    let body = html! {
        @for value in scale.ticks(9) {
            @let place = short(scale.place(value));
            path.grid d=(format!("M{place} 0V{}", short(bottom))) {}
            text x=(place) y=(short(bottom + 16.0)) text-anchor="middle" { (ratio.digits(value)) }
        }
        path.one d=(format!("M{} 0V{}", short(scale.place(1.0)), short(bottom))) {}
        @for (number, row) in rows.iter().enumerate() {
            @let line = ROW * number as f64 + 26.0;
            g class=(verdict_class(row.verdict)) {
                title { (row.name) ": " (row.figure) ", " (words(row.verdict)) }
                text x=(EDGE) y=(short(line - 9.0)) { (crate::shortened(&row.name, NAME)) }
                text x=(short(WIDTH - EDGE)) y=(short(line - 9.0)) text-anchor="end" { (row.figure) }
                path.interval d=(format!(
                    "M{} {line}H{}", short(scale.place(row.low)), short(scale.place(row.high))
                )) {}
                @let place = scale.place(row.ratio);
                @match row.verdict {
                    Verdict::Different => { circle.mark cx=(short(place)) cy=(line) r="5" {} }
                    Verdict::Equivalent => {
                        rect.mark x=(short(place - 4.5)) y=(short(line - 4.5)) width="9" height="9" {}
                    }
                    Verdict::Refused => { circle.open cx=(short(place)) cy=(line) r="4.5" {} }
                }
            }
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
    svg::figure(&intervals.title, bottom + 24.0, &body, &below)
}
