//! Intervals and documents: how what was measured is said, in one place. Lists and counts are said by
//! [`words`].
//!
//! Who has an answer makes a [`Document`] of it, which says what there is to read and nothing of how wide a
//! line is. [`Document::text`] makes the page of a terminal of it; several with their answers are a
//! [`Page`], which is written as a file for a browser or in Markdown. A renderer knows no question, and a
//! question no renderer.
//!
//! Reading order: [`interval`], [`Block`], the renderer of text, [`Page`], that of HTML.

pub mod interval;
pub mod markdown;

mod card;
mod html;
mod page;
mod scale;
mod text;
mod tree;

pub use card::card;
pub use page::{Mark, Page, Samples, Section, Summary};
pub use tenbin_model::words;
pub use text::shortened;
pub use tree::{
    Axis, Bars, Block, Chart, Curve, Document, Estimate, Heat, Intervals, Series, Style, Table, Unit,
};
