//! Times over the values of something.

use maud::{Markup, html};

use super::svg::{self, Frame, Pen, WIDTH, short, style, upwards};
use crate::scale::Scale;
use crate::{Axis, Bars, Unit};

const HEIGHT: f64 = 320.0;

/// The most values that are named: more stand on each other.
const LABELS: usize = 12;

/// Times that are fewer times apart stand on a scale of differences.
const ONE_ORDER: f64 = 10.0;

/// A curve for each series, a place to the right for each value, and what there is to say of one above it.
/// Nothing where there is no time.
pub(super) fn bars(bars: &Bars) -> Markup {
    let frame = Frame { left: 76.0, right: WIDTH - 28.0, top: 40.0, bottom: HEIGHT - 44.0 };
    let times = || bars.series.iter().flat_map(|series| &series.times).flatten().map(|time| time.0 as f64);
    let (least, most) = (times().fold(f64::INFINITY, f64::min), times().fold(0.0, f64::max));
    let is_logarithmic = least > 0.0 && most >= least * ONE_ORDER;
    // Lengths are compared from 0, which a logarithm has not.
    let values = times().chain((!is_logarithmic).then_some(0.0));
    let Some(up) = Scale::over(values, is_logarithmic, (frame.bottom, frame.top)).filter(|_| most > 0.0)
    else {
        return html! {};
    };
    let last = bars.labels.len().saturating_sub(1).max(1) as f64;
    let right = |row: usize| frame.left + (frame.right - frame.left) * row as f64 / last;
    let axis = Axis { name: String::new(), unit: Unit::Time, is_logarithmic };
    let each = bars.labels.len().div_ceil(LABELS).max(1);
    let body = html! {
        (upwards(frame, &axis, &up))
        g.middle {
            @for (row, label) in bars.labels.iter().enumerate().step_by(each) {
                text x=(short(right(row))) y=(short(frame.bottom + 16.0)) { (label) }
            }
        }
        text.end x=(short(frame.right)) y=(short(frame.bottom + 34.0)) { (bars.rows) }
        @for (number, (row, words)) in bars.marks.iter().enumerate() {
            @let place = right(*row);
            path.one d=(format!("M{} {}V{}", short(place), short(frame.top), short(frame.bottom))) {}
            // Neighbours stand at two heights, so that they can be read.
            @let height = frame.top - 6.0 - 14.0 * (number % 2) as f64;
            text.middle x=(short(place)) y=(short(height)) { (words) }
        }
        @for (number, series) in bars.series.iter().enumerate() {
            @let points: Vec<(f64, f64)> = series.times.iter().enumerate().filter_map(|(row, time)| {
                Some((right(row), up.place((*time)?.0 as f64)))
            }).collect();
            path class=(format!("{} curve", style(number))) d=(path(&points, Pen::line)) {}
            path class=(format!("{} dots", style(number))) d=(path(&points, Pen::dot)) {}
        }
    };
    let names = || bars.series.iter().map(|series| series.name.as_str());
    let title = match names().collect::<Vec<_>>().as_slice() {
        [one] => format!("{one}: time over {}", bars.rows),
        _ => format!("Time over {}", bars.rows),
    };
    let below = html! {
        (svg::legend(names()))
        @if !bars.note.is_empty() { p.note { (bars.note) } }
    };
    svg::figure(&title, &svg::drawn(&title, HEIGHT, &body), &below)
}

fn path(points: &[(f64, f64)], draw: impl Fn(&mut Pen, (f64, f64))) -> String {
    let mut pen = Pen::default();
    points.iter().for_each(|place| draw(&mut pen, *place));
    pen.moves()
}
