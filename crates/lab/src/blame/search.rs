//! Faults of a specification itself, found without any implementation: every small input against everything
//! that could come of it.
//!
//! The model is bounded (the small scope hypothesis of Jackson, *Software Abstractions*, 2006: most faults
//! show in small cases), so what is found is a fault, and what is not found may be one of larger inputs.

use tenbin_model::{Attributed, Attribution, Searched};

use super::contract::{Contract, Input, Outcome, Specification};

/// What a search found.
pub(super) struct Search {
    /// How much was searched.
    pub(super) searched: Searched,
    /// At most one finding of each kind, with the smallest input that shows it.
    pub(super) findings: Vec<Attributed>,
    /// Whether there are inputs for which no outcome meets the specification.
    pub(super) contradictory: bool,
}

/// Searches all small inputs.
pub(super) fn search<I: Input, O: Outcome>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
) -> Search {
    let mut searched = Searched { inputs: 0, outcomes: 0 };
    let (mut disputed, mut impossible, mut unwanted) = (None, None, None);
    for input in (contract.small)() {
        let Some(outcomes) = (contract.outcomes)(&input) else { continue };
        searched.inputs += 1;
        searched.outcomes += outcomes.len() as u64;
        if specification.leaves_open(&input) {
            if disputed.is_none() {
                disputed = dispute(contract, specification, &input);
            }
            continue;
        }
        let mut admitted = outcomes.iter().filter(|outcome| specification.admits(&input, outcome)).peekable();
        if admitted.peek().is_none() && impossible.is_none() {
            impossible = Some(contradiction(contract, specification, &input));
        }
        if unwanted.is_none() {
            let forbidden = admitted.find(|outcome| !(contract.wanted)(&input, outcome));
            unwanted = forbidden.map(|outcome| admission(contract, specification, &input, outcome));
        }
    }
    let contradictory = impossible.is_some();
    Search {
        searched,
        findings: [unwanted, impossible, disputed].into_iter().flatten().collect(),
        contradictory,
    }
}

/// Whether some outcome meets `specification`; none where that is not known.
pub(super) fn possible<I, O>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    input: &I,
) -> Option<bool> {
    let outcomes = (contract.outcomes)(input)?;
    Some(outcomes.iter().any(|outcome| specification.admits(input, outcome)))
}

fn subject<I, O>(contract: &Contract<I, O>, specification: &Specification<I, O>) -> String {
    format!("the specification `{}` of {}()", specification.name, contract.symbol)
}

fn finding<I, O>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    what: &str,
    clause: String,
    input: &I,
) -> Attributed {
    let subject = subject(contract, specification);
    let input = (contract.show_input)(input);
    Attributed {
        attribution: Attribution::SpecificationError,
        sentence: format!("Specification error: {subject} {what} Smallest input: {input}"),
        subject,
        clause: Some(clause),
        aspect: None,
        input: Some(input),
        expected: None,
        got: None,
    }
}

/// The specification admits what the requirement forbids.
fn admission<I, O>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    input: &I,
    outcome: &O,
) -> Attributed {
    let required = contract.requirement;
    let got = (contract.show_outcome)(input, outcome);
    let what = format!("admits what the requirement forbids. The requirement: \"{required}\"");
    let promised = specification.clauses.iter().rev().find(|clause| clause.promises(input));
    let clause = promised.map(|clause| clause.text).unwrap_or_default();
    let mut found = finding(contract, specification, &what, clause.into(), input);
    found.sentence.push_str(&format!("; admitted, and not wanted: {got}."));
    found.expected = Some(required.into());
    found.got = Some(got);
    found
}

/// No outcome meets all clauses.
fn contradiction<I, O>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    input: &I,
) -> Attributed {
    let what = "contradicts itself: no outcome meets all of it.";
    let clause = culprit(contract, specification, input);
    let mut found = finding(contract, specification, what, clause.into(), input);
    found.sentence.push_str(&format!("; it would have to meet, beside its other lines: {clause}."));
    found
}

/// The last line without which the others could be met.
fn culprit<I, O>(contract: &Contract<I, O>, specification: &Specification<I, O>, input: &I) -> &'static str {
    let outcomes = (contract.outcomes)(input).unwrap_or_default();
    let met_without = |without: usize| {
        let others = || specification.clauses.iter().enumerate().filter(|(place, _)| *place != without);
        outcomes.iter().any(|outcome| others().all(|(_, clause)| clause.admits(input, outcome)))
    };
    let applying =
        specification.clauses.iter().enumerate().rev().filter(|(_, clause)| clause.promises(input));
    let mut texts = applying.clone().filter(|(place, _)| met_without(*place)).map(|(_, clause)| clause.text);
    texts.next().or_else(|| applying.map(|(_, clause)| clause.text).next()).unwrap_or_default()
}

/// One clause leaves an input undefined, and another one answers it.
fn dispute<I, O>(
    contract: &Contract<I, O>,
    specification: &Specification<I, O>,
    input: &I,
) -> Option<Attributed> {
    use super::contract::Says;
    let applying = || specification.clauses.iter().filter(|clause| (clause.applies)(input));
    let silent = applying().find(|clause| matches!(clause.says, Says::Undefined))?;
    let answers = applying().find(|clause| matches!(clause.says, Says::Promises { .. }))?;
    let what = "contradicts itself: one line leaves undefined what another answers.";
    let mut found = finding(contract, specification, what, silent.text.into(), input);
    found.sentence.push_str(&format!("; \"{}\", and \"{}\".", silent.text, answers.text));
    Some(found)
}
