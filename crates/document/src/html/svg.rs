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

/// What a pen does on a screen: a line of moves, each from where it is.
///
/// Places are whole tenths of a pixel, so that what is left out of one move is not added up in others.
#[derive(Default)]
pub(super) struct Pen {
    moves: String,
    at: (i64, i64),
}

impl Pen {
    /// A dot: a line of no length with round ends.
    pub(super) fn dot(&mut self, place: (f64, f64)) {
        self.go('m', tenths(place));
        self.moves.push_str("h0");
    }

    /// A line to there, from where the last one ended; the first one begins there.
    pub(super) fn line(&mut self, place: (f64, f64)) {
        self.go(if self.moves.is_empty() { 'm' } else { 'l' }, tenths(place));
    }

    /// Stairs through these places: across, then up or down. Steps of less than a pixel are part of the one
    /// before, as nobody sees them.
    pub(super) fn stairs(&mut self, places: impl Iterator<Item = (f64, f64)>) {
        let mut places = places.map(tenths);
        let Some(first) = places.next() else { return };
        self.go('m', first);
        let mut up = first.1;
        for place in places {
            if (place.0 - self.at.0).abs() >= 10 {
                self.upright(up);
                self.moves.push('h');
                self.push(place.0 - self.at.0);
                self.at.0 = place.0;
            }
            up = place.1;
        }
        self.upright(up);
    }

    fn upright(&mut self, up: i64) {
        if up != self.at.1 {
            self.moves.push('v');
            self.push(up - self.at.1);
            self.at.1 = up;
        }
    }

    fn go(&mut self, pen: char, (right, up): (i64, i64)) {
        self.moves.push(pen);
        self.push(right - self.at.0);
        // A minus sign parts two numbers as well as a space does.
        if up >= self.at.1 {
            self.moves.push(' ');
        }
        self.push(up - self.at.1);
        self.at = (right, up);
    }

    fn push(&mut self, tenths: i64) {
        let text = short(tenths as f64 / 10.0);
        self.moves.push_str(&match text.strip_prefix("0.") {
            Some(rest) => format!(".{rest}"),
            None => text.replace("-0.", "-."),
        });
    }

    /// The moves, as a path has them.
    pub(super) fn moves(self) -> String {
        self.moves
    }
}

fn tenths((right, up): (f64, f64)) -> (i64, i64) {
    ((right * 10.0).round() as i64, (up * 10.0).round() as i64)
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
        (along(across, 8, frame.top, frame.bottom, |value| x.digits(value)))
        text.end x=(short(frame.right)) y=(short(frame.bottom + 34.0)) { (x.name) }
        (upwards(frame, y, up))
    }
}

/// Upright lines at the marks of a scale, and what stands below each.
pub(super) fn along(
    across: &Scale,
    ticks: usize,
    top: f64,
    bottom: f64,
    digits: impl Fn(f64) -> String,
) -> Markup {
    let places: Vec<_> =
        across.ticks(ticks).into_iter().map(|value| (value, short(across.place(value)))).collect();
    let (top, down) = (short(top), short(bottom));
    html! {
        path.grid d=(places.iter().map(|(_, place)| format!("M{place} {top}V{down}")).collect::<String>()) {}
        g.middle {
            @for (value, place) in &places {
                text x=(place) y=(short(bottom + 16.0)) { (digits(*value)) }
            }
        }
    }
}

/// Marks and name of the axis that goes up.
pub(super) fn upwards(frame: Frame, y: &Axis, up: &Scale) -> Markup {
    html! {
        path.grid d=(up.ticks(6).iter().map(|value| {
            format!("M{} {}H{}", short(frame.left), short(up.place(*value)), short(frame.right))
        }).collect::<String>()) {}
        g.end {
            @for value in up.ticks(6) {
                text x=(short(frame.left - 6.0)) y=(short(up.place(value) + 4.0)) { (y.digits(value)) }
            }
        }
        text x=(short(frame.left)) y=(short(frame.top - 6.0)) { (y.name) }
    }
}
