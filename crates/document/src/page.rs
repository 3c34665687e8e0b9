//! A page: answers first, then a part for each question. [`Page::html`] and [`Page::markdown`] write it.

use tenbin_model::{ClaimOutcome, Verdict};

use crate::{Document, Unit};

/// A page of answers.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// Where its figures are from: names and values.
    pub about: Vec<(String, String)>,
    /// The answer to all of it, where there is one beside the answers. May be empty.
    pub lead: String,
    /// The answers, each in a sentence.
    pub summaries: Vec<Summary>,
    /// What holds for all of them.
    pub remarks: Document,
    /// The parts.
    pub sections: Vec<Section>,
}

/// An answer in a sentence.
#[derive(Clone, Debug)]
pub struct Summary {
    /// The place of the section that holds more.
    pub section: usize,
    /// What is answered: a question or a claim by its name.
    pub name: String,
    /// What it came to.
    pub mark: Mark,
    /// The sentence.
    pub sentence: String,
}

/// What an answer came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Of a comparison or another question.
    Verdict(Verdict),
    /// Of a claim.
    Claim(ClaimOutcome),
}

impl Mark {
    /// As a character.
    pub(crate) fn sign(self) -> char {
        match self {
            Self::Verdict(verdict) => sign(verdict),
            Self::Claim(ClaimOutcome::Holds) => '✓',
            Self::Claim(ClaimOutcome::Refuted) => '✗',
            Self::Claim(ClaimOutcome::NotDecided) => sign(Verdict::Refused),
        }
    }

    /// In words.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::Verdict(verdict) => words(verdict),
            Self::Claim(outcome) => outcome.in_words(),
        }
    }
}

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its name.
    pub name: String,
    /// What it is about, in a sentence.
    pub about: String,
    /// What there is to read.
    pub document: Document,
    /// Every single value, for those who want to look at them. A browser alone can show them.
    pub samples: Vec<Samples>,
}

/// Single values of several kinds, in the order in which they were measured.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Of what.
    pub title: String,
    /// The unit of all of them.
    pub unit: Unit,
    /// The kinds: a name and the values of each.
    pub series: Vec<(String, Vec<f64>)>,
}

/// The form of a verdict's mark, as a character.
pub(crate) fn sign(verdict: Verdict) -> char {
    match verdict {
        Verdict::Different => '●',
        Verdict::Equivalent => '■',
        Verdict::Refused => '○',
    }
}

/// A verdict in words.
pub(crate) fn words(verdict: Verdict) -> &'static str {
    match verdict {
        Verdict::Different => "different",
        Verdict::Equivalent => "the same",
        Verdict::Refused => "not known",
    }
}
