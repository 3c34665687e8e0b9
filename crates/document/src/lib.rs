//! Words and documents: how lists, counts, intervals and tables are said, in one place.
//!
//! Who has an answer makes a [`Document`] of it, which says what there is to read and nothing of how wide a
//! line is. [`Document::text`] makes the page of a terminal of it. A renderer knows no question, and a
//! question no renderer.
//!
//! Reading order: [`words`], [`interval`], [`Block`], the renderer of text.

pub mod interval;
pub mod words;

mod text;
mod tree;

pub use tree::{Bars, Block, Document, Heat, Series, Table};
