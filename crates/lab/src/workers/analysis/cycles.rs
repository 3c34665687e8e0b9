//! How epochs of instructions become answers: each against an addition that waits for the one before it,
//! which takes a cycle. So the ratio is cycles.

use tenbin_analysis::report::{checked, with_caveat};
use tenbin_analysis::verdict::{Time, calls, comparisons};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::interval::{outward, show};
use tenbin_document::{Document, Table};
use tenbin_model::unit::three_digits;
use tenbin_model::{Answer, Cell, Interval, Machine, Sample, Trial, Verdict};
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

/// How it is named where there is no other register to write to.
pub(in crate::workers) const ALONE: &str = " apart, with no other register";

/// Instructions, in cycles.
pub const INSTRUCTIONS: &dyn Analysis = &Instructions;

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
        "A cycle is what a dependent addition takes, in the same blocks. Operands are registers and memory \
         in the nearest cache as the program sets them up; other operands may take different times."
    }

    fn time(&self, cell: &Cell) -> Time {
        calls::time(cell)
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        let mut answers = comparisons::answers(|cell| self.time(cell), machine, trial);
        let mut view = Document::new();
        for cell in &trial.cells {
            for answer in &mut answers {
                in_cycles(answer);
            }
            let time = self.time(cell);
            let is_own =
                |answer: &&Answer| answer.evidence.as_ref().is_none_or(|evidence| evidence.left != REFERENCE);
            // By hardware, which few virtual machines have: held against nothing, and beside what was.
            let is_counted = cell.samples.iter().any(|sample| sample.cycles.is_some());
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
                            match name {
                                name if is_no_chain(name, evidence.interval) => "no chain: ",
                                name if name.ends_with(ALONE) => "no other register: ",
                                _ => "",
                            },
                            show(evidence.ratio, evidence.interval),
                            outward(evidence.interval)
                        )
                    },
                );
                let per_copy = |of: &dyn Fn(&Sample) -> Option<f64>| {
                    let samples = cell.samples.iter().filter(|sample| sample.variant == variant);
                    let values = Ordered::new(samples.filter_map(of).collect());
                    let work = cell.arrangement.work as f64;
                    values.map_or_else(|| "–".into(), |values| three_digits(values.median() / work))
                };
                let nanoseconds = per_copy(&|sample| Some(time(sample) / 1e3));
                let counted = per_copy(&|sample| Some(sample.cycles? as f64 / sample.iterations as f64));
                let counted = is_counted.then_some(counted);
                let columns = [cycles, nanoseconds].into_iter().chain(counted);
                match (name.strip_suffix(IN_CHAIN), rows.last_mut()) {
                    (Some(line), _) => rows.push([line.to_owned()].into_iter().chain(columns).collect()),
                    (None, Some(row)) => row.extend(columns),
                    (None, None) => {}
                }
            }
            for answer in answers.iter().filter(is_own) {
                view.paragraph(0, with_caveat(answer));
            }
            if !cell.samples.is_empty() {
                let of = |order| [order, "ns"].into_iter().chain(is_counted.then_some("cycles counted"));
                let columns = of("cycles in a chain (latency)").chain(of("cycles apart (throughput)"));
                let header = ["instruction"].into_iter().chain(columns).collect::<Vec<_>>();
                view.space().table(Table::new(header, rows));
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
            answer.sentence.push_str(" No copy waits for the one before it: this is not a latency.");
        }
    }
}

#[cfg(test)]
mod tests {
    use tenbin_analysis::specimen;
    use tenbin_model::{Comparison, Ended, Picoseconds, Quantity, Variant, VariantIndex};

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

    /// A multiplication of three cycles, at 4 GHz, in 40 blocks.
    fn multiplication(is_counted: bool) -> String {
        const CYCLES: [u64; 3] = [1, 3, 1];
        let place = VariantIndex::from;
        let cell = specimen::cell(0, 1.0, 0.0, Ended::Budget, 1);
        let mut trial = specimen::trial(Quantity::NanosecondsPerOperation, vec![cell]);
        trial.descriptor.variants = [REFERENCE, "imul rax, rbx in a chain", "imul rax, rbx apart"]
            .map(|name| Variant::measured(name, "a line of assembler"))
            .to_vec();
        let cell = &mut trial.cells[0];
        cell.arrangement.work = 512;
        cell.arrangement.variants = VariantIndex::range(0..3);
        let pairs = pairs(3).into_iter().map(|(left, right)| (place(left), place(right)));
        cell.arrangement.comparisons = Comparison::of(pairs);
        let order = (0..40).flat_map(|block| [0, 1, 2, 2, 1, 0].map(|variant| (block, variant)));
        cell.samples = (0..)
            .zip(order)
            .map(|(order, (block, variant))| Sample {
                order,
                block,
                variant: place(variant),
                iterations: 1000,
                elapsed: Picoseconds(CYCLES[variant] * 512_000 * 250),
                cycles: is_counted.then_some(CYCLES[variant] * 512_000 + 60),
                ..Sample::default()
            })
            .collect();
        let judged = Instructions.judge(&Machine::unobserved("made up"), &trial);
        judged.view.text(200).split_whitespace().collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn what_hardware_counts_has_columns_of_its_own() {
        let shown = multiplication(false);
        assert!(shown.contains("(throughput) ns imul") && shown.contains(") 0.750 1.000"), "{shown}");
        let shown = multiplication(true);
        assert!(shown.contains("ns cycles counted imul") && shown.contains(") 0.750 3.00 1.000"), "{shown}");
        assert!(shown.contains(") 0.250 1.00 Checked"), "{shown}");
    }
}
