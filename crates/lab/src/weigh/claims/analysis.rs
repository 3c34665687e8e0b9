//! How runs of commands become the outcome of claims.
//!
//! Every claim but one of memory is held against exact intervals: of the ratio of two commands, block by
//! block, or of the median run of one. All intervals of a question share its level (Bonferroni), each
//! counted once however many claims read it, and all looks at them share it as those of any comparison do. A
//! claim holds where the whole interval satisfies it and is refuted where the whole violates it: so it can
//! come out wrong only where an interval misses.

mod bench;
mod figures;
mod growth;

use tenbin_analysis::report::{self, checked};
use tenbin_analysis::verdict::{self, calls};
use tenbin_analysis::{Analysis, Judged};
use tenbin_document::words::capitalised;
use tenbin_document::{Document, Table};
use tenbin_model::{
    Cell, CheckReport, CheckedQuestion, ClaimOutcome, Comparison, Descriptor, Ended, JudgedClaim, Machine,
    Order, Picoseconds, Purpose, Quantity, Refusal, Role, Trial, VariantIndex,
};

use super::grammar::{Claim, Kind, positive};
use super::{Claims, question};
use crate::weigh::Values;
use crate::weigh::analysis::{COLUMN, ROW, SCOPE, table as commands};
use bench::Bench;

/// Claims about commands.
pub const CLAIMS: &dyn Analysis =
    &OfClaims { name: "claims", scope: SCOPE, calibrated_by: Purpose::Command, table: commands };

/// Claims about functions and workers.
pub const CLAIMS_OF_FUNCTIONS: &dyn Analysis = &OfClaims {
    name: "claims of functions",
    scope: "Intervals cover what varied from block to block; in each, functions lie at other places, unless they are linked once. Another \
            input, compiler or machine is not in them.",
    calibrated_by: Purpose::Function,
    table: |descriptor, cell| report::table::variants(calls::time(cell), descriptor, cell),
};

/// Claims about instructions.
pub const CLAIMS_OF_INSTRUCTIONS: &dyn Analysis = &OfClaims {
    name: "claims of instructions",
    scope: "A cycle is what a dependent addition takes, in the same blocks. Other operands may take different times.",
    calibrated_by: Purpose::Ladder,
    table: |descriptor, cell| report::table::variants(calls::time(cell), descriptor, cell),
};

/// Runs of a command of which none was above a bound, before that is called to hold.
const ENOUGH_RUNS: usize = 20;

struct OfClaims {
    name: &'static str,
    scope: &'static str,
    calibrated_by: Purpose,
    /// What each variant cost.
    table: fn(&Descriptor, &Cell) -> Option<Table>,
}

impl Analysis for OfClaims {
    fn name(&self) -> &'static str {
        self.name
    }

    fn scope(&self) -> &'static str {
        self.scope
    }

    fn calibrated_by(&self) -> Purpose {
        self.calibrated_by
    }

    fn family(&self, descriptor: &Descriptor, _comparisons: usize) -> usize {
        family(descriptor)
    }

    fn least_blocks(&self, descriptor: &Descriptor, family: usize) -> u32 {
        least_blocks(descriptor).max(verdict::votes(descriptor.level, family))
    }

    fn decided(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        if !verdict::is_look(descriptor, family, &cell.samples) {
            return false;
        }
        let cell = Cell { ended: Some(Ended::Precision), ..cell.clone() };
        let bench = Bench { descriptor, cell: &cell, family };
        calls::are_known(descriptor, &cell)
            && Claims::of(descriptor)
                .iter()
                .all(|claim| bench.judged(claim).outcome != ClaimOutcome::NotDecided)
    }

    fn depends(&self, descriptor: &Descriptor, family: usize, cell: &Cell) -> bool {
        let bench = Bench { descriptor, cell, family };
        Claims::of(descriptor).iter().any(|claim| bench.depends(claim))
    }

    fn claims(&self, trial: &Trial) -> Option<CheckedQuestion> {
        Some(judged(trial))
    }

    fn judge(&self, _machine: &Machine, trial: &Trial) -> Judged {
        let mut view = Document::new();
        let report = CheckReport::of(vec![judged(trial)]);
        view.line(report::claim_counts(&report)).space();
        for claim in report.questions.iter().flat_map(|question| &question.claims) {
            view.entry(&claim.name, &claim.sentence);
            if let Some(needs) = &claim.needs {
                view.entry("", needs);
            }
        }
        for cell in &trial.cells {
            if let Some(table) = (self.table)(&trial.descriptor, cell) {
                view.space().table(table);
            }
            view.space().append(checked(trial, std::slice::from_ref(cell)));
        }
        Judged { answers: Vec::new(), findings: Vec::new(), view }
    }
}

/// What became of every claim of a question that was measured.
pub fn judged(trial: &Trial) -> CheckedQuestion {
    let descriptor = &trial.descriptor;
    let family = family(descriptor);
    let claims = Claims::of(descriptor);
    let whole = trial.refusal.as_ref().or_else(|| trial.cells.first().and_then(|cell| cell.refusal.as_ref()));
    let claims = match (whole, trial.cells.first()) {
        (None, Some(cell)) => {
            let bench = Bench { descriptor, cell, family };
            claims.iter().map(|claim| bench.judged(claim)).collect()
        }
        (refusal, _) => {
            let nothing = Refusal {
                reached: "nothing was measured".into(),
                needs: "a measurement".into(),
                remedy: "measure it".into(),
            };
            let refusal = refusal.unwrap_or(&nothing);
            claims.iter().map(|claim| unmeasured(&claim.name, &claim.text, refusal)).collect()
        }
    };
    let samples = trial.cells.iter().flat_map(|cell| &cell.samples);
    CheckedQuestion {
        name: question(descriptor).to_owned(),
        run: None,
        level: descriptor.level,
        family,
        seconds: samples.map(|sample| sample.elapsed).sum::<Picoseconds>().as_seconds(),
        fault: fault(trial),
        claims,
    }
}

/// What did not do what it has to, and how.
fn fault(trial: &Trial) -> Option<String> {
    let checks = trial.cells.iter().flat_map(|cell| &cell.checks);
    let mut broken = checks.filter(|check| !check.met && !check.sabotage);
    broken.next().map(|check| format!("`{}`: {}", trial.descriptor[check.variant].name, check.seen))
}

/// What became of a question of which nothing could be read but its claims.
pub(super) fn unmeasured_question(
    name: &str,
    claims: &[(String, String)],
    refusal: &Refusal,
) -> CheckedQuestion {
    CheckedQuestion {
        name: name.into(),
        run: None,
        level: Descriptor::default().level,
        family: 0,
        seconds: 0.0,
        fault: None,
        claims: claims.iter().map(|(name, text)| unmeasured(name, text, refusal)).collect(),
    }
}

/// A claim about what could not be measured.
fn unmeasured(name: &str, claim: &str, refusal: &Refusal) -> JudgedClaim {
    JudgedClaim {
        name: name.into(),
        claim: claim.into(),
        outcome: ClaimOutcome::NotDecided,
        sentence: format!("Not decided: {}.", refusal.reached),
        needs: Some(format!("It needs {}. {}.", refusal.needs, capitalised(&refusal.remedy))),
        figures: Vec::new(),
    }
}

/// What all claims read of the samples, each once.
struct Read {
    /// Ratios of two commands.
    pairs: Vec<(Comparison, Quantity)>,
    medians: Vec<(VariantIndex, Quantity)>,
}

impl Read {
    fn of(descriptor: &Descriptor) -> Self {
        let mut read = Self { pairs: Vec::new(), medians: Vec::new() };
        for claim in Claims::of(descriptor) {
            match &claim.kind {
                Kind::Ratio { one, other, quantities, .. } => {
                    for comparison in pairs(descriptor, *one, *other) {
                        for &quantity in quantities {
                            let turned = Comparison { left: comparison.right, right: comparison.left };
                            // The interval of B over A is that of A over B, turned round.
                            let known = |pair: &(Comparison, Quantity)| {
                                *pair == (comparison, quantity) || *pair == (turned, quantity)
                            };
                            if !read.pairs.iter().any(known) {
                                read.pairs.push((comparison, quantity));
                            }
                        }
                    }
                }
                Kind::Growth { command, quantities, .. } => {
                    for variant in variants(descriptor, *command) {
                        quantities.iter().for_each(|&quantity| read.median(variant, quantity));
                    }
                }
                Kind::Time { command, .. } => {
                    let variants = variants(descriptor, *command);
                    variants.into_iter().for_each(|variant| read.median(variant, Quantity::WallTime));
                }
                // What was seen is no interval.
                Kind::Memory { .. } => {}
            }
        }
        read
    }

    fn median(&mut self, variant: VariantIndex, quantity: Quantity) {
        if !self.medians.contains(&(variant, quantity)) {
            self.medians.push((variant, quantity));
        }
    }
}

/// How many intervals share the level: each that any claim reads, once.
fn family(descriptor: &Descriptor) -> usize {
    let read = Read::of(descriptor);
    read.pairs.len() + read.medians.len()
}

/// The pairs that claims name.
pub(crate) fn comparisons(descriptor: &Descriptor) -> Vec<(VariantIndex, VariantIndex)> {
    let mut pairs: Vec<(VariantIndex, VariantIndex)> = Vec::new();
    for (comparison, _) in Read::of(descriptor).pairs {
        let pair = (comparison.left, comparison.right);
        if !pairs.contains(&pair) && !pairs.contains(&(pair.1, pair.0)) {
            pairs.push(pair);
        }
    }
    pairs
}

/// The fewest blocks that claims about every run ask for.
fn least_blocks(descriptor: &Descriptor) -> u32 {
    let of_runs = |claim: &Claim| matches!(claim.kind, Kind::Memory { .. });
    if Claims::of(descriptor).iter().any(of_runs) { ENOUGH_RUNS as u32 } else { 0 }
}

/// What a command is with each combination of values.
fn variants(descriptor: &Descriptor, command: usize) -> Vec<VariantIndex> {
    let measured = descriptor.numbered_variants().filter(|(_, variant)| variant.role == Role::Measured);
    let own = measured.filter(|(_, variant)| variant.coordinate(COLUMN) == Some(command as u64));
    own.map(|(index, _)| index).collect()
}

/// The variants of a command that differ in one parameter alone, by its value, in ascending order.
fn groups(descriptor: &Descriptor, command: usize, parameter: &str) -> Vec<Vec<(f64, VariantIndex)>> {
    let mut groups: Vec<(Values, Vec<(f64, VariantIndex)>)> = Vec::new();
    for variant in variants(descriptor, command) {
        let (own, rest): (Vec<_>, Vec<_>) =
            descriptor[variant].parameters.iter().cloned().partition(|(name, _)| name == parameter);
        let Some(value) = own.first().and_then(|(_, value)| positive(value)) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == rest) {
            Some((_, group)) => group.push((value, variant)),
            None => groups.push((rest, vec![(value, variant)])),
        }
    }
    let sorted = groups.into_iter().map(|(_, mut group)| {
        group.order_by(|one, other| one.0.total_cmp(&other.0));
        // A value that is given twice has no distance to itself.
        group.dedup_by(|one, other| one.0 == other.0);
        group
    });
    sorted.collect()
}

/// Two commands with the same values, `one` to the right: a ratio is then that of `one` over `other`.
fn pairs(descriptor: &Descriptor, one: usize, other: usize) -> Vec<Comparison> {
    let row = |variant: VariantIndex| descriptor[variant].coordinate(ROW);
    let others = variants(descriptor, other);
    let pair = |right: VariantIndex| {
        let left = others.iter().copied().find(|&left| row(left) == row(right))?;
        Some(Comparison { left, right })
    };
    variants(descriptor, one).into_iter().filter_map(pair).collect()
}
