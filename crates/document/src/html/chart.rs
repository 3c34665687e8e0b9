//! Points between two axes.

use maud::{Markup, html};

use super::svg::{self, Frame, Pen, WIDTH, axes, style};
use crate::scale::Scale;
use crate::{Chart, Curve, Style};

const HEIGHT: f64 = 280.0;

/// A chart with its legend. Nothing where there are no points.
pub(super) fn chart(chart: &Chart) -> Markup {
    let frame = Frame { left: 76.0, right: WIDTH - 28.0, top: 24.0, bottom: HEIGHT - 44.0 };
    let points = || chart.curves.iter().flat_map(|curve| &curve.points);
    let x = Scale::over(points().map(|point| point.0), chart.x.is_logarithmic, (frame.left, frame.right));
    let y = Scale::over(points().map(|point| point.1), chart.y.is_logarithmic, (frame.bottom, frame.top));
    let (Some(x), Some(y)) = (x, y) else { return html! {} };
    let body = html! {
        (axes(frame, (&chart.x, &x), (&chart.y, &y)))
        @for (number, curve) in chart.curves.iter().enumerate() {
            path class=(format!("{} {}", style(number), class(curve.style))) d=(path(curve, (&x, &y))) {}
        }
    };
    let legend = svg::legend(chart.curves.iter().map(|curve| curve.name.as_str()));
    svg::figure(&chart.title, &svg::drawn(&chart.title, HEIGHT, &body), &legend)
}

fn class(style: Style) -> &'static str {
    match style {
        Style::Dots => "dots",
        Style::Line | Style::Steps => "curve",
    }
}

fn path(curve: &Curve, (x, y): (&Scale, &Scale)) -> String {
    let mut pen = Pen::default();
    let places = curve.points.iter().map(|point| (x.place(point.0), y.place(point.1)));
    match curve.style {
        Style::Dots => places.for_each(|place| pen.dot(place)),
        Style::Line => places.for_each(|place| pen.line(place)),
        Style::Steps => pen.stairs(places),
    }
    pen.moves()
}
