//! Whose fault it is, as text.

use tenbin_model::{Attributed, Attribution, Blame, Called, Contracted, Searched, Watched};

use super::text::folded;

/// What was found, how much was examined, and the contract that it was held against.
pub fn blame(blame: &Blame, width: usize) -> String {
    let mut text = String::new();
    for finding in &blame.findings {
        text.push_str(&folded(&finding.sentence, 0, width));
    }
    for called in &blame.libraries {
        text.push_str(&folded(&called_in_words(blame, called), 0, width));
    }
    if let Some(program) = &blame.program {
        text.push_str(&folded(&watched_in_words(program, &blame.contract.name), 0, width));
    }
    if let Some(searched) = blame.searched {
        let wrong = |finding: &Attributed| finding.attribution == Attribution::SpecificationError;
        let is_wrong = blame.findings.iter().any(wrong);
        text.push_str(&folded(&searched_in_words(searched, is_wrong), 0, width));
    }
    text.push('\n');
    text.push_str(&contract(&blame.contract, width));
    text
}

/// How much of the specification was searched.
fn searched_in_words(searched: Searched, is_wrong: bool) -> String {
    let tried = format!("{} outcomes of {} small inputs", searched.outcomes, searched.inputs);
    if is_wrong {
        format!("The specification was searched through {tried}.")
    } else {
        format!("No fault of the specification was found among {tried}.")
    }
}

/// How often a library kept the specification, and what of the examination does not count for that.
fn called_in_words(blame: &Blame, called: &Called) -> String {
    let Called { library, inputs, met, unjudged, uncalled, cut, largest } = called;
    let wrong = |it: &Attributed| it.attribution.is_fault() && it.subject == *library;
    let judged = inputs.saturating_sub(*unjudged);
    let mut text = if blame.findings.iter().any(wrong) {
        format!("{library} kept the specification for {met} of {judged} inputs")
    } else if judged == 0 {
        format!("Nothing of {library} was judged: the specification promises nothing of its {inputs} inputs")
    } else {
        format!("No fault of {library} was found with {judged} inputs")
    };
    text.push_str(&format!(
        ", each with guard pages behind and in front of what it may touch (the largest of {largest}; seed {})",
        blame.seed
    ));
    if *unjudged > 0 {
        text.push_str(&format!("; of {unjudged} more nothing was judged"));
    }
    if let Some(cut) = cut {
        text.push_str(&format!("; {uncalled} more were not called, because {cut}"));
    }
    text + "."
}

/// What a program did.
fn watched_in_words(watched: &Watched, function: &str) -> String {
    let Watched { program, calls, outside, cut, ended } = watched;
    if *calls == 0 {
        return format!(
            "{program} made no call of {function}() that passes through the loader, and {ended}; calls of a copy of \
             its own cannot be seen."
        );
    }
    let cut = if *cut { "; there were more, which were not judged" } else { "" };
    let made = match (calls, outside) {
        (1, 0) => "1 call, which kept what a caller must see to".to_owned(),
        (1, _) => "1 call, which broke what a caller must see to".to_owned(),
        _ => format!("{calls} calls, {outside} of which broke what a caller must see to"),
    };
    format!("{program} made {made}{cut}, and {ended}.")
}

/// A contract, with the specification that was chosen.
fn contract(contract: &Contracted, width: usize) -> String {
    let line = |text: &String| folded(&format!("- {text}"), 4, width);
    let mut text = folded(&format!("{}: {}", contract.name, contract.prototype), 0, width);
    text.push_str(&folded(&format!("Requirement: {}", contract.requirement), 2, width));
    text.push_str(&folded(&format!("Specification `{}`:", contract.specification), 2, width));
    text.extend(contract.clauses.iter().map(line));
    text.push_str(&folded("The caller sees to it that:", 2, width));
    text.extend(contract.precondition.iter().map(line));
    text
}

/// Every contract with its specifications.
pub fn contracts(contracts: &[Contracted], width: usize) -> String {
    let mut text = String::new();
    for contract in contracts {
        text.push_str(&folded(&format!("{}: {}", contract.name, contract.prototype), 0, width));
        for offered in &contract.specifications {
            text.push_str(&format!("  {:12}{}\n", offered.name, offered.about));
        }
    }
    text
}

#[cfg(test)]
mod tests;
