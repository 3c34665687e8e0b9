//! An answer in one line of a survey: the figure first.

use tenbin_document::interval::{outward, show};
use tenbin_document::words::percent;
use tenbin_document::{Document, shortened};
use tenbin_model::machine::cpu_ranges;
use tenbin_model::{Answer, Cpu, Descriptor, Evidence, Quantity, Report, Verdict};

use super::pictures::figure;

/// The columns of a name; behind it stand a mark and the answer.
const NAME: usize = 9;

/// The columns of an answer where a line has 100.
const COLUMNS: usize = 88;

/// The answer with a line of its own, where its analysis has none for it: the ratio of what was weighed, or,
/// of a refusal, what would change it.
pub(crate) fn with_brief(descriptor: &Descriptor, answer: Answer) -> Answer {
    if !answer.brief.is_empty() {
        return answer;
    }
    let brief = match (answer.verdict, &answer.evidence, &answer.refusal) {
        (Verdict::Refused, _, Some(refusal)) => format!("not known: {}", refusal.remedy),
        (Verdict::Equivalent, Some(Evidence { left, right, margin, .. }), _) => {
            format!("the same within {}: {left} and {right}", percent(*margin))
        }
        (Verdict::Different, Some(evidence), _) => of_difference(descriptor.quantity, evidence),
        _ => shortened(&answer.sentence, COLUMNS),
    };
    // Where it was weighed, if there is room for it.
    let with_place = format!("{brief}, {}", answer.cell);
    let is_weighed = answer.verdict != Verdict::Refused && !answer.cell.is_empty();
    let fits = is_weighed && with_place.chars().count() <= COLUMNS;
    Answer { brief: if fits { with_place } else { brief }, ..answer }
}

/// `2.4x cheaper (2.2 to 2.6): lock xadd than a lock cmpxchg loop`.
fn of_difference(quantity: Quantity, evidence: &Evidence) -> String {
    let Evidence { left, right, ratio, interval, .. } = evidence;
    match quantity {
        Quantity::BytesPerSecond => {
            format!("{}x the rate ({}): {left} against {right}", show(*ratio, *interval), outward(*interval))
        }
        _ => format!("{}: {left} than {right}", figure(quantity, evidence)),
    }
}

/// On what a report was measured, and by what.
pub fn measured_on(report: &Report) -> Document {
    let Report { machine, provenance, .. } = report;
    let cpu = machine.cpu_model.known().map_or("A processor of unknown model", String::as_str);
    let kernel = machine.kernel_release().unwrap_or_else(|| "a kernel of unknown name".into());
    let cpus: Vec<Cpu> = machine.cpus.iter().map(|place| place.cpu).collect();
    let build = provenance.build.as_ref().map_or_else(String::new, |build| format!(" ({build})"));
    let mut document = Document::new();
    document
        .paragraph(0, format!("{cpu}, CPUs {}; tenbin {}{build}", cpu_ranges(&cpus), provenance.version))
        .paragraph(0, format!("{kernel}; {}", machine.virtualisation));
    document
}

/// One line an experiment, of this many columns at the most: its name, a mark for what came of it, and the
/// answer.
pub fn survey(report: &Report, width: usize) -> Document {
    let room = width.saturating_sub(NAME + 3).max(NAME);
    let mut document = Document::new();
    for answer in report.answers.iter().filter(|answer| answer.headline) {
        let (name, sign) = (&answer.experiment, mark(answer));
        document.line(format!("{name:NAME$} {sign} {}", shortened(&answer.brief, room)));
    }
    document
}

/// What the marks of [`survey`] mean.
pub fn marks() -> Document {
    let mut document = Document::new();
    document.space().line("● different   = the same   ~ changed meanwhile   ? not known");
    document
}

/// What came of an answer, as a letter.
pub(super) fn mark(answer: &Answer) -> char {
    let changed = answer.evidence.as_ref().is_some_and(|evidence| evidence.regimes.len() > 1);
    match answer.verdict {
        Verdict::Refused => '?',
        _ if changed => '~',
        Verdict::Different => '●',
        Verdict::Equivalent => '=',
    }
}
