//! How epochs of instructions become answers: each against an addition that waits for the one before it,
//! which takes a cycle. So the ratio is cycles.

use tenbin_analysis::report::{checked, with_caveat};
use tenbin_analysis::verdict::{self, comparisons};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::interval::{outward, show};
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Interval, Machine, Trial, Verdict};
use tenbin_stats::order::Ordered;

/// What everything is held against.
pub(in crate::workers) const REFERENCE: &str = "a dependent addition (1 cycle)";

/// What claims call it.
pub(in crate::workers) const CYCLE: &str = "cycle";

/// How a line is named whose copies wait for each other.
pub(in crate::workers) const IN_CHAIN: &str = " in a chain";

/// How it is named where they do not.
pub(in crate::workers) const APART: &str = " apart";

/// What waits for the one before it takes a cycle, or nothing at all where a move is only a name more. So
/// copies that take less than this did not wait, whatever was typed.
const LEAST_OF_A_CHAIN: f64 = 0.9;

/// Instructions, in cycles.
pub const INSTRUCTIONS: &dyn Analysis = &Instructions;

#[derive(Debug)]
struct Instructions;

/// The comparisons of so many variants, of which the first is the reference and the others stand in pairs, in
/// a chain and apart: two lines of a user's with each other, then all with the reference.
pub(in crate::workers) fn pairs(variants: usize) -> Vec<(usize, usize)> {
    let own: &[(usize, usize)] = if variants == 5 { &[(1, 3), (2, 4)] } else { &[] };
    own.iter().copied().chain((1..variants).map(|variant| (0, variant))).collect()
}

impl Analysis for Instructions {
    fn name(&self) -> &'static str {
        "instructions"
    }

    fn scope(&self) -> &'static str {
        "A cycle is what a dependent addition takes, in the same blocks. Operands are registers and memory in the nearest cache as the \
         program sets them up; other operands may take another time."
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let mut answers = comparisons::answers(self.time(), machine, trial);
        let mut view = Document::new();
        for cell in &trial.cells {
            for answer in &mut answers {
                in_cycles(answer);
            }
            let is_own =
                |answer: &&Answer| answer.evidence.as_ref().is_none_or(|evidence| evidence.left != REFERENCE);
            let mut rows: Vec<Vec<String>> = Vec::new();
            for &variant in cell.arrangement.variants.iter().skip(1) {
                let name = &trial.descriptor[variant].name;
                let evidence = answers.iter().filter_map(|answer| answer.evidence.as_ref());
                let mut evidence =
                    evidence.filter(|evidence| evidence.left == REFERENCE && evidence.right == *name);
                let cycles = evidence.next().map_or_else(
                    || "–".into(),
                    |evidence| {
                        format!(
                            "{}{} ({})",
                            if is_no_chain(name, evidence.interval) { "no chain: " } else { "" },
                            show(evidence.ratio, evidence.interval),
                            outward(evidence.interval)
                        )
                    },
                );
                let times =
                    cell.samples.iter().filter(|sample| sample.variant == variant).map(verdict::whole_epoch);
                let nanoseconds = Ordered::new(times.collect()).map_or_else(
                    || "–".into(),
                    |times| three_digits(times.median() / cell.arrangement.work as f64 / 1e3),
                );
                match (name.strip_suffix(IN_CHAIN), rows.last_mut()) {
                    (Some(line), _) => rows.push(vec![line.to_owned(), cycles, nanoseconds]),
                    (None, Some(row)) => row.extend([cycles, nanoseconds]),
                    (None, None) => {}
                }
            }
            if !cell.samples.is_empty() {
                let header =
                    ["instruction", "cycles in a chain (latency)", "ns", "cycles apart (throughput)", "ns"];
                view.table(Table::new(header, rows)).space();
            }
            for answer in answers.iter().filter(is_own) {
                view.paragraph(0, with_caveat(answer));
            }
            view.space().append(checked(trial, std::slice::from_ref(cell)));
        }
        Judged { answers, findings: Vec::new(), view }
    }
}

/// Whether copies that were to wait for each other did not.
fn is_no_chain(name: &str, cycles: Interval) -> bool {
    name.ends_with(IN_CHAIN) && cycles.high < LEAST_OF_A_CHAIN
}

/// Has an answer about the reference say cycles.
fn in_cycles(answer: &mut Answer) {
    let Some(evidence) = answer.evidence.as_ref().filter(|evidence| evidence.left == REFERENCE) else {
        return;
    };
    if answer.verdict != Verdict::Refused {
        let (cycles, range) = (show(evidence.ratio, evidence.interval), outward(evidence.interval));
        answer.sentence = format!("{} takes {cycles} cycles ({range}).", evidence.right);
        if is_no_chain(&evidence.right, evidence.interval) {
            answer.sentence.push_str(" No copy waits for the one before it: this is no latency.");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_lines_are_held_against_each_other_before_the_cycle() {
        assert_eq!(pairs(3), [(0, 1), (0, 2)]);
        assert_eq!(pairs(5), [(1, 3), (2, 4), (0, 1), (0, 2), (0, 3), (0, 4)]);
        assert_eq!(pairs(7).len(), 6);
    }

    #[test]
    fn what_takes_less_than_a_cycle_is_no_chain() {
        for (name, low, high, expected) in [
            ("movsx eax, bx in a chain", 0.332, 0.335, true),
            ("movsx eax, bx apart", 0.332, 0.335, false),
            ("add rax, rbx in a chain", 0.994, 1.001, false),
            // Not known yet.
            ("add rax, rbx in a chain", 0.3, 1.2, false),
        ] {
            assert_eq!(is_no_chain(name, Interval { low, high }), expected, "{name}");
        }
    }
}
