//! Intervals and documents: how what was measured is said, in one place. Lists and counts are said by
//! [`words`].
//!
//! Who has an answer makes a [`Document`] of it, which says what there is to read and nothing of how wide a
//! line is. [`Document::text`] makes the page of a terminal of it. A renderer knows no question, and a
//! question no renderer.
//!
//! Reading order: [`interval`], [`Block`], the renderer of text.

pub mod interval;

mod text;
mod tree;

pub use tenbin_model::words;
pub use tree::{Bars, Block, Document, Heat, Series, Table};
