//! Times between each two of several as a grid of shades.

use maud::{Markup, html};
use tenbin_model::unit::three_digits;

use super::svg::{self, WIDTH, short};
use crate::Heat;
use crate::scale::Scale;
use crate::text::heat::condensed;

/// Of more than these neighbours are taken together.
const MOST: usize = 64;

/// Of more than these the figures are not written into the grid: they are titles.
const FIGURES: usize = 16;

/// The faintest and the darkest shade.
const SHADES: (f64, f64) = (0.06, 0.6);

/// A row for the first of a pair and a column for the second, the darker the longer it takes, by the
/// logarithm. Nothing where there is no time.
pub(super) fn heat(heat: &Heat) -> Markup {
    let together = heat.labels.len().div_ceil(MOST).max(1);
    let (labels, times) = match together {
        1 => (heat.labels.clone(), heat.times.clone()),
        several => condensed(&heat.labels, &heat.times, several),
    };
    let measured = || times.iter().flatten().flatten().copied().filter(|time| *time > 0.0);
    let Some(shade) = Scale::over(measured(), true, SHADES) else { return html! {} };
    let (least, most) = (measured().fold(f64::INFINITY, f64::min), measured().fold(0.0, f64::max));
    let count = labels.len();
    let margin = 64.0;
    let size = ((WIDTH - margin) / count as f64).min(64.0);
    let height = size.min(40.0);
    let has_figures = count <= FIGURES;
    let body = html! {
        g.middle {
            @for (column, label) in labels.iter().enumerate() {
                @if count <= FIGURES * 2 || column % 8 == 0 {
                    text x=(short(margin + size * (column as f64 + 0.5))) y="14" { (label) }
                }
            }
        }
        @for (row, (label, times)) in labels.iter().zip(&times).enumerate() {
            @let top = 20.0 + height * row as f64;
            @if count <= FIGURES * 2 || row % 8 == 0 {
                text.end x=(short(margin - 6.0)) y=(short(top + height / 2.0 + 4.0)) { (label) }
            }
            @for (column, time) in times.iter().enumerate() {
                @if let Some(time) = time.filter(|time| *time > 0.0) {
                    @let left = margin + size * column as f64;
                    rect.shade x=(short(left)) y=(short(top)) width=(short(size)) height=(short(height))
                        fill-opacity=(format!("{:.2}", shade.place(time)))
                        { title { (label) " to " (labels[column]) ": " (three_digits(time)) " ns" } }
                    @if has_figures {
                        text.middle x=(short(left + size / 2.0)) y=(short(top + height / 2.0 + 4.0)) {
                            (three_digits(time))
                        }
                    }
                }
            }
        }
    };
    let below = html! {
        p.note {
            "From " (three_digits(least)) " ns, the lightest, to " (three_digits(most)) " ns, the darkest."
            @if together > 1 { " " (together) " neighbours are taken together, by their median." }
        }
    };
    let title = "Time between each pair, in nanoseconds";
    svg::figure(title, &svg::drawn(title, 28.0 + height * count as f64, &body), &below)
}
