//! What became of claims: for a terminal, for readers of JUnit's XML, and for a page in Markdown.

use std::fmt::Write;

use tenbin_document::markdown::{inline, plain};
use tenbin_document::words::{comma, counted, percent};
use tenbin_document::{Document, Mark, Summary, shortened};
use tenbin_model::{CheckReport, CheckedQuestion, ClaimOutcome, JudgedClaim};

/// The outcomes, what is urgent first.
const OUTCOMES: [ClaimOutcome; 3] = [ClaimOutcome::Refuted, ClaimOutcome::NotDecided, ClaimOutcome::Holds];

/// How many claims there are, and what became of them: `3 claims: 1 holds, 1 refuted, 1 not decided`.
pub fn claim_counts(report: &CheckReport) -> String {
    let CheckReport { holds, refuted, not_decided, .. } = *report;
    let hold = if holds == 1 { "holds" } else { "hold" };
    let each = [(holds, hold), (refuted, "refuted"), (not_decided, "not decided")];
    let each = each.iter().filter(|(count, _)| *count > 0).map(|(count, word)| format!("{count} {word}"));
    let faults = report.questions.iter().filter(|question| question.fault.is_some()).count();
    let faults =
        if faults > 0 { format!("; {} at fault", counted(faults, "question")) } else { String::new() };
    format!("{}: {}{faults}", counted(holds + refuted + not_decided, "claim"), comma(each))
}

/// The answer, then every claim with what became of it.
pub fn claims(report: &CheckReport) -> Document {
    let mut document = Document::new();
    document.line(claim_counts(report));
    for question in &report.questions {
        for claim in &question.claims {
            document.space().paragraph(0, format!("{}: {}", title(question, claim), claim.claim));
            document.paragraph(2, &claim.sentence);
            if let Some(needs) = &claim.needs {
                document.paragraph(2, needs);
            }
        }
        if let Some(shared) = shared(question) {
            document.space().paragraph(0, shared);
        }
    }
    document
}

/// The claims of a question as answers of a page, what is urgent first.
pub(super) fn summaries(section: usize, question: &CheckedQuestion) -> impl Iterator<Item = Summary> {
    OUTCOMES.iter().flat_map(move |outcome| {
        let own = question.claims.iter().filter(move |claim| claim.outcome == *outcome);
        own.map(move |claim| Summary {
            section,
            name: title(question, claim),
            mark: Mark::Claim(*outcome),
            sentence: whole(claim),
        })
    })
}

/// How sure the intervals of a question are, all together; none where no claim asks for one.
fn shared(question: &CheckedQuestion) -> Option<String> {
    let CheckedQuestion { name, level, family, claims, .. } = question;
    let level = percent(*level);
    let figures = || claims.iter().flat_map(|claim| &claim.figures);
    match family {
        _ if figures().all(|figure| figure.level.is_none()) => None,
        1 => Some(format!("`{name}`: its exact interval misses with a probability of {level} at most.")),
        many => Some(format!(
            "`{name}`: any of its {many} exact intervals misses with a probability of {level} at most."
        )),
    }
}

/// The claims of questions, each by its name and its sentence, without what became of them.
pub fn claims_listed(questions: &[(String, Vec<(String, String)>)]) -> Document {
    let mut document = Document::new();
    for (question, claims) in questions {
        for (name, text) in claims {
            document.line(format!("{question}.{name}: {text}"));
        }
    }
    document
}

fn title(question: &CheckedQuestion, claim: &JudgedClaim) -> String {
    format!("{}.{}", question.name, claim.name)
}

/// The claims as JUnit's XML, a suite for each question and a case for each claim: refuted is a failure, and
/// not decided is skipped, or an error where something did not do what it has to.
///
/// Source: junit-10.xsd of Jenkins' plugin xunit, which is what readers agree on.
pub fn claims_as_junit(report: &CheckReport) -> String {
    let all = |outcome| report.with(outcome).count();
    let seconds: f64 = report.questions.iter().map(|question| question.seconds).sum();
    let errors = |question: &CheckedQuestion| {
        let open = question.claims.iter().filter(|claim| claim.outcome == ClaimOutcome::NotDecided).count();
        if question.fault.is_some() { open } else { 0 }
    };
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites name=\"tenbin check\" tests=\"{}\" failures=\"{}\" \
         errors=\"{}\" time=\"{seconds:.3}\">\n",
        report.holds + report.refuted + report.not_decided,
        all(ClaimOutcome::Refuted),
        report.questions.iter().map(errors).sum::<usize>(),
    );
    for question in &report.questions {
        let count = |outcome| question.claims.iter().filter(|claim| claim.outcome == outcome).count();
        let _ = writeln!(
            text,
            "  <testsuite name=\"{}\" tests=\"{}\" failures=\"{}\" errors=\"{}\" skipped=\"{}\" time=\"{:.3}\">",
            in_xml(&question.name),
            question.claims.len(),
            count(ClaimOutcome::Refuted),
            errors(question),
            count(ClaimOutcome::NotDecided) - errors(question),
            question.seconds,
        );
        // All claims were measured together, and readers add cases up.
        let each = question.seconds / question.claims.len().max(1) as f64;
        for claim in &question.claims {
            let _ = writeln!(
                text,
                "    <testcase classname=\"tenbin.{}\" name=\"{}\" time=\"{each:.3}\">",
                in_xml(&question.name),
                in_xml(&claim.name),
            );
            let whole = whole(claim);
            let _ = match (claim.outcome, &question.fault) {
                (ClaimOutcome::Refuted, _) => writeln!(
                    text,
                    "      <failure type=\"refuted\" message=\"{}\">{}</failure>",
                    in_xml(&claim.sentence),
                    in_xml(&whole)
                ),
                (ClaimOutcome::NotDecided, Some(fault)) => writeln!(
                    text,
                    "      <error type=\"fault\" message=\"{}\">{}</error>",
                    in_xml(fault),
                    in_xml(&whole)
                ),
                (ClaimOutcome::NotDecided, None) => {
                    writeln!(text, "      <skipped message=\"{}\"/>", in_xml(&whole))
                }
                (ClaimOutcome::Holds, _) => {
                    writeln!(text, "      <system-out>{}</system-out>", in_xml(&whole))
                }
            };
            text.push_str("    </testcase>\n");
        }
        text.push_str("  </testsuite>\n");
    }
    text + "</testsuites>\n"
}

/// The claim, what became of it, and what would decide it.
fn whole(claim: &JudgedClaim) -> String {
    format!("{}. {}", claim.claim, sentences(claim))
}

/// The sentence, and what would decide it.
fn sentences(claim: &JudgedClaim) -> String {
    let needs = claim.needs.iter().map(String::as_str);
    std::iter::once(claim.sentence.as_str()).chain(needs).collect::<Vec<_>>().join(" ")
}

/// Text for an element or an attribute. A letter that XML cannot hold (XML 1.0, 2.2) is replaced.
fn in_xml(text: &str) -> String {
    let mut escaped = String::new();
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&apos;"),
            // In an attribute they would become spaces.
            '\t' | '\n' | '\r' => {
                let _ = write!(escaped, "&#{};", u32::from(letter));
            }
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            other => escaped.push(other),
        }
    }
    escaped
}

/// Claims that a page in Markdown shows; with all else it has 40 lines at most.
const SHOWN: usize = 26;

/// Letters of a claim's line that are shown.
const LONGEST: usize = 600;

/// The claims as a page in Markdown: what is refuted, what is not decided, and, folded, what holds.
pub fn claims_as_markdown(report: &CheckReport) -> String {
    let mut text = format!("### tenbin check: {}\n", claim_counts(report));
    let mut room = SHOWN;
    for outcome in OUTCOMES {
        let all: Vec<_> = report.with(outcome).collect();
        if all.is_empty() {
            continue;
        }
        let folded = outcome == ClaimOutcome::Holds;
        if folded {
            let hold =
                if all.len() == 1 { "1 claim holds".into() } else { format!("{} claims hold", all.len()) };
            let _ = write!(text, "\n<details>\n<summary>{hold}</summary>\n");
        }
        // An empty line within a list sets it wider.
        if folded || room == SHOWN {
            text.push('\n');
        }
        for (question, claim) in all.iter().take(room) {
            let _ = writeln!(
                text,
                "- <code>{}</code>: <i>{}</i><br>{}",
                plain(&title(question, claim)),
                plain(&claim.claim),
                inline(&shortened(&sentences(claim), LONGEST)),
            );
        }
        if all.len() > room {
            let _ = writeln!(text, "- and {} more ({})", all.len() - room, outcome.in_words());
        }
        room = room.saturating_sub(all.len());
        if folded {
            text.push_str("\n</details>\n");
        }
    }
    text
}

#[cfg(test)]
mod tests;
