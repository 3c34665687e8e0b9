//! The elements of a drawing: SVG 1.1 without scripts, for light and dark backgrounds.

use super::grid::shown;

/// How wide a character of the drawing's text is, in tenths of a unit: the usual typefaces of one width have
/// 0.6 of their size.
const TENTHS: i64 = 67;

pub(super) fn text_width(characters: usize) -> i64 {
    (i64::try_from(characters).unwrap_or(i64::MAX / TENTHS) * TENTHS + 9) / 10
}

pub(super) fn characters(width: i64) -> usize {
    usize::try_from(width * 10 / TENTHS).unwrap_or(0)
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

#[derive(Default)]
pub(super) struct Canvas(String);

impl Canvas {
    /// Text; `class` says how it looks.
    pub(super) fn text(&mut self, x: i64, y: i64, class: &str, anchor: Anchor, text: &str) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let text = escaped(text);
        let class = if class.is_empty() { String::new() } else { format!(" class=\"{class}\"") };
        self.0.push_str(&format!("<text x=\"{x}\" y=\"{y}\"{class}{anchor}>{text}</text>\n"));
    }

    pub(super) fn line(&mut self, (x, y): (i64, i64), (to_x, to_y): (i64, i64), class: &str) {
        self.0.push_str(&format!(
            "<line x1=\"{x}\" y1=\"{y}\" x2=\"{to_x}\" y2=\"{to_y}\" class=\"{class}\"/>\n"
        ));
    }

    pub(super) fn block(&mut self, (x, y): (i64, i64), width: i64, height: i64, class: &str) {
        self.0.push_str(&format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" class=\"{class}\"/>\n"
        ));
    }

    pub(super) fn arrow(&mut self, y: i64, from: i64, to: i64, class: &str) {
        let back = if from < to { -8 } else { 8 };
        self.line((from, y), (to + back / 2, y), class);
        self.0.push_str(&format!("<path d=\"M{to} {y}l{back} -4v8z\" class=\"{class} head\"/>\n"));
    }

    pub(super) fn dot(&mut self, x: i64, y: i64, class: &str) {
        self.0.push_str(&format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"3.5\" class=\"{class} head\"/>\n"));
    }

    /// The sign of a loop: three quarters of a circle with a head.
    pub(super) fn repeat(&mut self, x: i64, y: i64, class: &str) {
        self.0.push_str(&format!(
            "<path d=\"M{x} {}a6 6 0 1 1 -6 6\" class=\"{class} bare\"/>\n<path d=\"M{} {}l-4.5 6h9z\" class=\"{class} head\"/>\n",
            y - 6,
            x - 6,
            y - 5
        ));
    }

    /// A tick: it is where it is to be.
    pub(super) fn tick(&mut self, x: i64, y: i64, class: &str) {
        self.0.push_str(&format!("<path d=\"M{} {y}l4 5l8 -10\" class=\"{class} bare\"/>\n", x - 6));
    }

    pub(super) fn append(&mut self, sheet: Self) {
        self.0.push_str(&sheet.0);
    }

    /// What follows belongs together, and is called this when one points at it.
    pub(super) fn open(&mut self, title: &str) {
        self.0.push_str(&format!("<g><title>{}</title>\n", escaped(title)));
    }

    pub(super) fn close(&mut self) {
        self.0.push_str("</g>\n");
    }

    pub(super) fn finished(self, width: i64, height: i64, title: &str, description: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" \
             role=\"img\" aria-labelledby=\"title description\">\n\
             <title id=\"title\">{}</title>\n<desc id=\"description\">{}</desc>\n<style>\n{STYLE}</style>\n\
             <rect width=\"{width}\" height=\"{height}\" class=\"paper\"/>\n{}</svg>\n",
            escaped(title),
            escaped(description),
            self.0
        )
    }
}

fn escaped(text: &str) -> String {
    let entities = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    entities.iter().fold(shown(text), |text, (character, entity)| text.replace(*character, entity))
}

/// Colours: of harts those of Okabe and Ito (Color Universal Design, 2008), which differ for colour-blind
/// people too, made darker or lighter until text in them can be read. Nothing is said by colour alone.
const STYLE: &str = "\
text{font-family:'DejaVu Sans Mono',Menlo,Consolas,monospace;font-size:11px;fill:#1f2328;paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}
text.title{font-size:15px;font-weight:bold}
text.faint{fill:#656d76}
text.early{fill:#9a4d00;font-weight:bold}
text.inside,text.head{stroke:none}
text.head{fill:#fff;font-weight:bold}
text.garbage{fill:#b3005e;font-weight:bold}
line,.bare{stroke:currentColor;stroke-width:1.5;fill:none}
.dashed{stroke-dasharray:5 3}
.life{stroke-opacity:.45}
.quiet{stroke-width:5;stroke-opacity:.35}
.head{fill:currentColor;stroke:none}
.solid{fill:currentColor}
.band{fill:currentColor;fill-opacity:.14;stroke:currentColor}
.event,.end{fill:#fff;stroke:currentColor;stroke-width:1.2}
.again{fill:none;stroke:currentColor;stroke-dasharray:2 3}
.paper{fill:#fff}
.row{color:#eaeef2}
.grey{color:#656d76}.garbage{color:#b3005e}.early{color:#9a4d00}
.h0{color:#0060a8}.h1{color:#a84300}.h2{color:#00704f}.h3{color:#8a3b72}.h4{color:#6b5d00}.h5{color:#156d94}.h6{color:#4d4d4d}.h7{color:#5b3fb5}
@media (prefers-color-scheme:dark){
text{fill:#e6edf3;stroke:#0d1117}
text.faint{fill:#9aa4af}
text.early{fill:#ffb454}
text.garbage{fill:#ff7ab8}
text.head{fill:#0d1117}
.paper,.event,.end{fill:#0d1117}
.row{color:#21262d}
.grey{color:#9aa4af}.garbage{color:#ff7ab8}.early{color:#ffb454}
.h0{color:#6bb8f0}.h1{color:#f2915a}.h2{color:#3fc79a}.h3{color:#dd94c4}.h4{color:#e0cf4f}.h5{color:#7fd3f7}.h6{color:#c0c0c0}.h7{color:#b6a3ff}
}
";
