//! What all drawings share: their frame, axes and legends.

use maud::{Markup, html};

use crate::Axis;
use crate::scale::Scale;

/// The width of a drawing; a browser makes it as wide as there is room.
pub(super) const WIDTH: f64 = 720.0;

/// How many colours there are, and how many kinds of dashes, by which curves are told apart.
const STYLES: usize = 6;

/// Drawings under their title, and what stands below them.
pub(super) fn figure(title: &str, drawings: &Markup, below: &Markup) -> Markup {
    html! {
        figure {
            figcaption { (title) }
            (drawings)
            (below)
        }
    }
}

/// A drawing of this height, with a title that is read out where it cannot be seen; it is moved sideways
/// where the screen is too narrow for its words. A browser gives keys to what can be moved.
pub(super) fn drawn(title: &str, height: f64, body: &Markup) -> Markup {
    html! {
        div.drawn {
            svg viewBox=(format!("0 0 {WIDTH} {height}")) role="img" aria-label=(title) { (body) }
        }
    }
}

/// The classes of a curve's colour and dashes: where the colours are used up, they come again with other
/// dashes.
pub(super) fn style(number: usize) -> String {
    format!("c{} d{}", number % STYLES, (number + number / STYLES) % STYLES)
}

/// The names of curves beside their colours. Nothing for one that has no name.
pub(super) fn legend<'a>(names: impl Iterator<Item = &'a str>) -> Markup {
    html! {
        ul.legend {
            @for (number, name) in names.enumerate().filter(|(_, name)| !name.is_empty()) {
                li {
                    svg class=(format!("key {}", style(number))) viewBox="0 0 24 8" aria-hidden="true" {
                        path d="M0 4H24" {}
                    }
                    (name)
                }
            }
        }
    }
}

/// A place, as short as a screen needs it.
pub(super) fn short(place: f64) -> String {
    let text = format!("{place:.1}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_owned)
}

/// The edges of the room between two axes.
#[derive(Clone, Copy)]
pub(super) struct Frame {
    pub(super) left: f64,
    pub(super) right: f64,
    pub(super) top: f64,
    pub(super) bottom: f64,
}

/// Marks and names of both axes.
pub(super) fn axes(frame: Frame, (x, across): (&Axis, &Scale), (y, up): (&Axis, &Scale)) -> Markup {
    html! {
        @for value in across.ticks(8) {
            @let place = short(across.place(value));
            path.grid d=(format!("M{place} {}V{}", short(frame.top), short(frame.bottom))) {}
            text x=(place) y=(short(frame.bottom + 16.0)) text-anchor="middle" { (x.digits(value)) }
        }
        text x=(short(frame.right)) y=(short(frame.bottom + 34.0)) text-anchor="end" { (x.name) }
        (upwards(frame, y, up))
    }
}

/// Marks and name of the axis that goes up.
pub(super) fn upwards(frame: Frame, y: &Axis, up: &Scale) -> Markup {
    html! {
        @for value in up.ticks(6) {
            @let place = up.place(value);
            path.grid d=(format!("M{} {}H{}", short(frame.left), short(place), short(frame.right))) {}
            text x=(short(frame.left - 6.0)) y=(short(place + 4.0)) text-anchor="end" { (y.digits(value)) }
        }
        text x=(short(frame.left)) y=(short(frame.top - 6.0)) { (y.name) }
    }
}
