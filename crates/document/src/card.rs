//! A few facts as one drawing, for a page that somebody else writes.

use maud::{Markup, html};

use crate::shortened;

/// The height of a row, and where values begin.
const ROW: usize = 22;
const VALUES: usize = 170;

/// Letters of a title and of a value that find room.
const TITLE: usize = 62;
const VALUE: usize = 62;

/// A drawing of a title and rows below it, each a name and a value, as a file of SVG. What is too long is
/// cut.
pub fn card(title: &str, rows: &[(String, String)]) -> String {
    let height = 58 + ROW * rows.len();
    let drawing: Markup = html! {
        svg xmlns="http://www.w3.org/2000/svg" width="640" height=(height) viewBox=(format!("0 0 640 {height}"))
            role="img" aria-label=(title) {
            style {
                "text{font:14px system-ui,sans-serif;fill:#1b1b1f}.t{font-size:17px;font-weight:600}.n{fill:#5c5f66}"
                "rect{fill:#fff;stroke:#dcdde1}"
                "@media (prefers-color-scheme:dark){text{fill:#e6e6e9}.n{fill:#a5a8b0}rect{fill:#17181b;stroke:#3a3c42}}"
            }
            rect x="0.5" y="0.5" width="639" height=(height - 1) rx="8" {}
            text.t x="18" y="32" { (shortened(title, TITLE)) }
            @for (number, (name, value)) in rows.iter().enumerate() {
                @let line = 60 + ROW * number;
                text.n x="18" y=(line) { (name) }
                text x=(VALUES) y=(line) { (shortened(value, VALUE)) }
            }
        }
    };
    drawing.into_string() + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_holds_its_facts_and_no_markup_of_theirs() {
        let svg =
            card("<b>CPU</b>", &[("kernel".into(), "Linux & more".into()), ("long".into(), "x".repeat(99))]);
        let start = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"640\" height=\"102\"";
        assert!(svg.starts_with(start), "{svg}");
        assert!(svg.contains("&lt;b&gt;CPU&lt;/b&gt;") && svg.contains("Linux &amp; more"), "{svg}");
        assert!(svg.contains(&format!(">{}…<", "x".repeat(61))), "{svg}");
    }
}
