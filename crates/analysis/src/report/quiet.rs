//! Remedies against noise as text.

use tenbin_document::{Block, Document};
use tenbin_model::machine::cpus_in_words;
use tenbin_model::noise::{Remedies, Remedy, RemedyState};
use tenbin_model::words::{capitalised, comma, counted, semicolon};

/// What could be done for a command, first in a sentence.
pub fn remedies(remedies: &Remedies) -> Document {
    let mut document = Document::new();
    let count = |state| remedies.in_state(state).count();
    let whom = match &remedies.cpus {
        Some(cpus) => format!("a command on {}", cpus_in_words(cpus)),
        None => "a command".into(),
    };
    document.paragraph(
        0,
        format!(
            "{} can be taken for {whom} and undone when it ends; {} so already, and {} cannot be taken here.",
            capitalised(&counted_remedies(count(RemedyState::Possible))),
            match count(RemedyState::AlreadySo) {
                1 => "1 is".into(),
                so => format!("{so} are"),
            },
            count(RemedyState::Impossible),
        ),
    );
    for (state, title) in [
        (RemedyState::Possible, "Would be taken"),
        (RemedyState::AlreadySo, "So already"),
        (RemedyState::Impossible, "Cannot be taken here"),
    ] {
        let mut some = remedies.in_state(state).peekable();
        if some.peek().is_some() {
            document.space().line(title);
        }
        for remedy in some {
            let text = format!("{}: {}", remedy.name, remedy.words);
            document.push(Block::Paragraph { indent: 2, hang: 2, text });
            if state == RemedyState::Possible {
                document.paragraph(4, format!("{}.", capitalised(&remedy.does)));
            }
        }
    }
    document
}

/// What is in force while a command runs, in a sentence.
pub fn in_force(remedies: &Remedies) -> String {
    let names = |state| comma(remedies.in_state(state).map(|remedy| &remedy.name));
    let with_words = |state| {
        let each = |remedy: &Remedy| format!("{} ({})", remedy.name, remedy.words);
        semicolon(remedies.in_state(state).map(each))
    };
    let count = |state| remedies.in_state(state).count();
    let mut parts = vec![match count(RemedyState::InForce) {
        0 => "nothing could be done to keep noise away".into(),
        taken => format!(
            "{} against noise {} in force until the command ends: {}",
            counted_remedies(taken),
            if taken == 1 { "is" } else { "are" },
            with_words(RemedyState::InForce)
        ),
    }];
    if count(RemedyState::AlreadySo) > 0 {
        parts.push(format!("So already: {}", names(RemedyState::AlreadySo)));
    }
    if count(RemedyState::Impossible) > 0 {
        parts.push(format!("Not taken: {}", with_words(RemedyState::Impossible)));
    }
    parts.join(". ") + "."
}

fn counted_remedies(count: usize) -> String {
    match count {
        1 => "1 remedy".into(),
        count => counted(count, "remedie"),
    }
}

#[cfg(test)]
mod tests {
    use tenbin_model::Cpu;

    use super::*;

    fn remedy(name: &str, state: RemedyState) -> Remedy {
        Remedy {
            name: name.into(),
            does: "it keeps something away".into(),
            is_usual: true,
            state,
            words: format!("what is switched for {name}"),
        }
    }

    #[test]
    fn a_plan_begins_with_what_can_be_taken() {
        let all = Remedies {
            cpus: Some(vec![Cpu(1)]),
            remedies: vec![
                remedy("governor", RemedyState::Possible),
                remedy("turbo", RemedyState::Impossible),
                remedy("watchdogs", RemedyState::AlreadySo),
            ],
        };
        insta::assert_snapshot!(remedies(&all).text(80));
    }

    #[test]
    fn a_sentence_has_what_is_in_force_and_what_is_not() {
        let of = |states: &[(&str, RemedyState)]| Remedies {
            cpus: None,
            remedies: states.iter().map(|(name, state)| remedy(name, *state)).collect(),
        };
        let all = of(&[
            ("governor", RemedyState::InForce),
            ("turbo", RemedyState::Impossible),
            ("watchdogs", RemedyState::AlreadySo),
            ("layout", RemedyState::AlreadySo),
        ]);
        assert_eq!(
            in_force(&all),
            "1 remedy against noise is in force until the command ends: governor (what is switched for governor). \
             So already: watchdogs, layout. Not taken: turbo (what is switched for turbo)."
        );
        assert_eq!(in_force(&of(&[])), "nothing could be done to keep noise away.");
    }
}
