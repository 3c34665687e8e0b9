//! Single values, drawn by a program in the file when somebody opens them.

use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, PreEscaped, html};
use sha2::{Digest, Sha256};

use crate::{Samples, Unit};

/// uPlot and what draws with it, which the build script packed and so can be unpacked.
static PROGRAM: LazyLock<String> = LazyLock::new(|| {
    let packed = include_bytes!(concat!(env!("OUT_DIR"), "/program.deflate"));
    let text = miniz_oxide::inflate::decompress_to_vec(packed).unwrap_or_default();
    String::from_utf8(text).unwrap_or_default()
});
const STYLE: &str = include_str!("uplot/uPlot.min.css");
const LICENCE: &str = include_str!("uplot/LICENSE");

/// What a page with samples may run besides: this program and no other, by its hash (Content Security Policy
/// Level 3, 2.3.1).
pub(super) fn policy() -> String {
    format!("; script-src 'sha256-{}'", STANDARD.encode(Sha256::digest(PROGRAM.as_bytes())))
}

/// The program, its style and its licence.
pub(super) fn program() -> Markup {
    html! {
        style { (PreEscaped(STYLE)) }
        script { (PreEscaped(PROGRAM.as_str())) }
        details.licence {
            summary { "Licence of uPlot, which draws the samples" }
            pre { (LICENCE) }
        }
    }
}

/// What is opened, and what is drawn then.
pub(super) fn samples(samples: &Samples) -> Markup {
    let unit = match samples.unit {
        Unit::Time => "time",
        Unit::Bytes => "bytes",
        Unit::Ratio => "ratio",
        Unit::Share => "share",
        Unit::Number => "number",
    };
    html! {
        details.samples data-unit=(unit) {
            summary { (samples.title) }
            noscript { p.note { "A script in this file draws them, and this browser runs none." } }
            div.plot role="img" aria-label=(samples.title) {}
            p.note { "Drag over a part to see it larger; a double click shows all again." }
            @for (name, values) in &samples.series {
                data value=(encoded(values)) hidden { (name) }
            }
        }
    }
}

/// The values as floats of 32 bits, the lowest byte first, in base 64: six digits are more than is measured.
fn encoded(values: &[f64]) -> String {
    let bytes: Vec<u8> = values.iter().flat_map(|value| (*value as f32).to_le_bytes()).collect();
    STANDARD.encode(bytes)
}
