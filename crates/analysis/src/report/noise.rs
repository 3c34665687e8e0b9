//! A diagnosis of a machine's noise as text.

use tenbin_document::{Block, Document};
use tenbin_model::machine::{cpu_ranges, cpus_in_words};
use tenbin_model::noise::{Diagnosis, Disturbance, Noise};
use tenbin_model::words::{capitalised, comma, counted, first, semicolon};

/// What disturbs, first in a sentence, then one by one with what it does and the remedy; then what does not,
/// and what cannot be seen.
pub fn diagnosis(diagnosis: &Diagnosis) -> Document {
    let mut document = Document::new();
    document.paragraph(0, sentence(diagnosis));
    for (state, title) in [(Disturbance::Active, "Disturbs now"), (Disturbance::Possible, "May disturb")] {
        let mut noises = diagnosis.in_state(state).peekable();
        if noises.peek().is_some() {
            document.space().line(title);
        }
        for noise in noises {
            one(&mut document, noise, diagnosis);
        }
    }
    let quiet = semicolon(
        diagnosis.in_state(Disturbance::Quiet).map(|noise| format!("{}: {}", noise.source, noise.seen)),
    );
    if !quiet.is_empty() {
        document.space().line("Does not disturb").paragraph(2, quiet);
    }
    let mut unseen = diagnosis.in_state(Disturbance::NotObservable).peekable();
    if unseen.peek().is_some() {
        document.space().line("Cannot be seen from here");
    }
    for noise in unseen {
        let text = format!("{}: {}", noise.source, noise.seen);
        document.push(Block::Paragraph { indent: 2, hang: 2, text });
    }
    if !diagnosis.remedies.is_empty() {
        // That one is there where the command would have some CPUs only.
        let cpus = match diagnosis.remedies.iter().any(|remedy| remedy == "cpus") {
            true => format!("--cpus {} ", cpu_ranges(&diagnosis.cpus)),
            false => String::new(),
        };
        let text = format!(
            "`tenbin quiet {cpus}-- COMMAND` can take and undo {}: {}.",
            match diagnosis.remedies.len() {
                1 => "a remedy".into(),
                count => format!("{count} remedies"),
            },
            comma(&diagnosis.remedies)
        );
        document.space().paragraph(0, text);
    }
    document
}

/// The answer.
fn sentence(diagnosis: &Diagnosis) -> String {
    let count = |state| diagnosis.in_state(state).count();
    let figures = match diagnosis.questions.as_slice() {
        [] => "figures".into(),
        names => format!("figures of {}", comma(names)),
    };
    let place = format!("on {}", cpus_in_words(&diagnosis.cpus));
    let disturbs = match (count(Disturbance::Active), count(Disturbance::Possible)) {
        (0, 0) => format!("Nothing that can be seen disturbs {figures} {place}"),
        (0, may) => {
            format!("Nothing that can be seen disturbs {figures} {place} now, and {} may", things(may))
        }
        (now, may) => {
            let verb = if now == 1 { "disturbs" } else { "disturb" };
            let more = if may > 0 { format!(", and {may} more may") } else { String::new() };
            format!("{} {verb} {figures} {place} now{more}", capitalised(&things(now)))
        }
    };
    format!(
        "{disturbs}; {} not, and {} cannot be seen (watched for {}).",
        match count(Disturbance::Quiet) {
            1 => "1 does".into(),
            quiet => format!("{quiet} do"),
        },
        count(Disturbance::NotObservable),
        diagnosis.watched,
    )
}

fn things(count: usize) -> String {
    counted(count, "thing")
}

/// Questions that are named beside a source.
const NAMED: usize = 4;

fn one(document: &mut Document, noise: &Noise, diagnosis: &Diagnosis) {
    let text = format!("{}: {}", noise.source, noise.seen);
    document.push(Block::Paragraph { indent: 2, hang: 2, text });
    let concerned = match noise.matters_to.as_slice() {
        names if diagnosis.questions == names => String::new(),
        [] => String::new(),
        names => format!(" ({})", first(names, NAMED)),
    };
    document.paragraph(4, format!("{}{concerned}.", capitalised(&noise.effect)));
    if let Some(remedy) = &noise.remedy {
        document.push(Block::Paragraph { indent: 4, hang: 2, text: format!("Remedy: {remedy}") });
    }
}

#[cfg(test)]
mod tests {
    use tenbin_model::{Cpu, Picoseconds};

    use super::*;

    fn noise(source: &str, state: Disturbance, matters_to: &[&str]) -> Noise {
        Noise {
            source: source.into(),
            state,
            seen: format!("what was seen of {source}"),
            effect: "it makes a figure vary".into(),
            matters_to: matters_to.iter().map(|name| (*name).into()).collect(),
            remedy: (state < Disturbance::Quiet).then(|| "end it".into()),
        }
    }

    fn of(sources: Vec<Noise>) -> Diagnosis {
        Diagnosis {
            cpus: vec![Cpu(0), Cpu(1)],
            watched: Picoseconds::from_millis(100),
            questions: Vec::new(),
            sources,
            remedies: Vec::new(),
        }
    }

    #[test]
    fn a_diagnosis_begins_with_its_answer() {
        let mut all = of(vec![
            noise("steal", Disturbance::Active, &[]),
            noise("turbo", Disturbance::Possible, &[]),
            noise("swap", Disturbance::Possible, &["caches", "numa"]),
            noise("merging", Disturbance::Quiet, &["caches"]),
            noise("tracing", Disturbance::NotObservable, &[]),
        ]);
        all.remedies = vec!["governor".into(), "interrupts".into()];
        insta::assert_snapshot!(diagnosis(&all).text(80));
    }

    #[test]
    fn a_sentence_counts_what_there_is() {
        use Disturbance::{Active, Possible, Quiet};
        let nothing = "Nothing that can be seen disturbs figures on CPUs 0-1";
        for (states, begins) in [
            (&[Quiet][..], format!("{nothing}; 1 does not, and 0 cannot")),
            (&[Possible], format!("{nothing} now, and 1 thing may; 0 do not")),
            (&[Active, Active], "2 things disturb figures on CPUs 0-1 now; 0 do not".into()),
        ] {
            let sources = states.iter().map(|state| noise("one", *state, &[])).collect();
            let text = sentence(&of(sources));
            assert!(text.starts_with(&begins), "{text}");
        }
    }
}
