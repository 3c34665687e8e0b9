//! Faults of a specification itself, found without any implementation: every small input against everything
//! that could come of it.
//!
//! The model is bounded (the small scope hypothesis of Jackson, *Software Abstractions*, 2006: most faults
//! show in small cases), so what is found is a fault, and what is not found may be one of larger inputs.

use tenbin_model::{Attributed, Attribution, Searched};

use super::contract::{Contract, Input, Outcome, Says, Specification};
use super::ending::breach;

pub(super) struct Search {
    pub(super) searched: Searched,
    /// At most one finding of each kind, with the smallest input that shows it.
    pub(super) findings: Vec<Attributed>,
    /// Whether there are inputs for which no outcome meets the specification.
    pub(super) contradictory: bool,
}

impl<I: Input, O: Outcome> Contract<I, O> {
    /// Searches all small inputs for faults of `specification`.
    pub(super) fn search(&self, specification: &Specification<I, O>) -> Search {
        let mut searched = Searched { inputs: 0, outcomes: 0 };
        let (mut disputed, mut impossible, mut unwanted) = (None, None, None);
        for input in (self.small)() {
            let Some(outcomes) = (self.outcomes)(&input) else { continue };
            searched.inputs += 1;
            searched.outcomes += outcomes.len() as u64;
            if specification.leaves_open(&input) {
                disputed = disputed.or_else(|| self.dispute(specification, &input));
                continue;
            }
            let mut admitted = outcomes.iter().filter(|it| specification.admits(&input, it)).peekable();
            if admitted.peek().is_none() && impossible.is_none() {
                impossible = Some(self.contradiction(specification, &input, &outcomes));
            }
            unwanted = unwanted.or_else(|| {
                let forbidden = admitted.find(|outcome| !(self.wanted)(&input, outcome))?;
                Some(self.admission(specification, &input, forbidden))
            });
        }
        let contradictory = impossible.is_some();
        let findings = [unwanted, impossible, disputed].into_iter().flatten().collect();
        Search { searched, findings, contradictory }
    }

    /// Whether some outcome meets `specification`; none where that is not known.
    pub(super) fn can_meet(&self, specification: &Specification<I, O>, input: &I) -> Option<bool> {
        let outcomes = (self.outcomes)(input)?;
        Some(outcomes.iter().any(|outcome| specification.admits(input, outcome)))
    }

    /// A fault of `specification`: `what` it does, and behind the input `more` about it.
    fn fault(
        &self,
        specification: &Specification<I, O>,
        what: &str,
        clause: &str,
        input: &I,
        more: &str,
    ) -> Attributed {
        let subject = format!("the specification `{}` of {}()", specification.name, self.symbol);
        let input = (self.show_input)(input);
        let sentence = format!("Specification error: {subject} {what} Smallest input: {input}; {more}.");
        let fault = breach(Attribution::SpecificationError, subject, sentence, clause, input, None);
        Attributed { expected: None, ..fault }
    }

    /// The specification admits what the requirement forbids.
    fn admission(&self, specification: &Specification<I, O>, input: &I, outcome: &O) -> Attributed {
        let required = self.requirement;
        let got = (self.show_outcome)(input, outcome);
        let what = format!("admits what the requirement forbids. The requirement: \"{required}\"");
        let promised = specification.clauses.iter().rev().find(|clause| clause.promises(input));
        let clause = promised.map(|clause| clause.text).unwrap_or_default();
        let more = format!("admitted but not wanted: {got}");
        let fault = self.fault(specification, &what, clause, input, &more);
        Attributed { expected: Some(required.into()), got: Some(got), ..fault }
    }

    /// No outcome meets all clauses.
    fn contradiction(&self, specification: &Specification<I, O>, input: &I, outcomes: &[O]) -> Attributed {
        let clause = culprit(specification, input, outcomes);
        let more = format!("it would have to meet, besides its other lines: {clause}");
        let what = "contradicts itself: no outcome meets all of it.";
        self.fault(specification, what, clause, input, &more)
    }

    /// One clause leaves an input undefined, and another one answers it.
    fn dispute(&self, specification: &Specification<I, O>, input: &I) -> Option<Attributed> {
        let applying = || specification.clauses.iter().filter(|clause| (clause.applies)(input));
        let silent = applying().find(|clause| matches!(clause.says, Says::Undefined))?.text;
        let answers = applying().find(|clause| matches!(clause.says, Says::Promises { .. }))?.text;
        let what = "contradicts itself: one line leaves undefined what another answers.";
        Some(self.fault(specification, what, silent, input, &format!("\"{silent}\", and \"{answers}\"")))
    }
}

/// The last line without which the others could be met.
fn culprit<I, O>(specification: &Specification<I, O>, input: &I, outcomes: &[O]) -> &'static str {
    let met_without = |without: usize| {
        let others = || specification.clauses.iter().enumerate().filter(|(place, _)| *place != without);
        outcomes.iter().any(|outcome| others().all(|(_, clause)| clause.admits(input, outcome)))
    };
    let applying =
        specification.clauses.iter().enumerate().rev().filter(|(_, clause)| clause.promises(input));
    let mut texts = applying.clone().filter(|(place, _)| met_without(*place)).map(|(_, clause)| clause.text);
    texts.next().or_else(|| applying.map(|(_, clause)| clause.text).next()).unwrap_or_default()
}
