//! Whose fault it is, as text.

use tenbin_document::Document;
use tenbin_model::{Attributed, Attribution, Blame, Called, Contracted, Searched, Watched};

/// What was found, how much was examined, and the contract that it was held against.
pub fn blame(blame: &Blame) -> Document {
    let mut document = Document::new();
    for finding in &blame.findings {
        document.paragraph(0, &finding.sentence);
    }
    for called in &blame.libraries {
        document.paragraph(0, called_in_words(blame, called));
    }
    if let Some(program) = &blame.program {
        document.paragraph(0, watched_in_words(program, &blame.contract.name));
    }
    if let Some(searched) = blame.searched {
        let wrong = |finding: &Attributed| finding.attribution == Attribution::SpecificationError;
        document.paragraph(0, searched_in_words(searched, blame.findings.iter().any(wrong)));
    }
    document.space();
    contract(&mut document, &blame.contract);
    document
}

fn searched_in_words(searched: Searched, is_wrong: bool) -> String {
    let tried = format!("{} outcomes of {} small inputs", searched.outcomes, searched.inputs);
    if is_wrong {
        format!("The specification was searched through {tried}.")
    } else {
        format!("No fault in the specification was found among {tried}.")
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
        format!("Nothing in {library} was judged: the specification promises nothing for its {inputs} inputs")
    } else {
        format!("No fault in {library} was found with {judged} inputs")
    };
    text.push_str(&format!(
        ", each with guard pages after and before what it may touch (the largest of {largest}; seed {})",
        blame.seed
    ));
    if *unjudged > 0 {
        text.push_str(&format!("; {unjudged} more were not judged"));
    }
    if let Some(cut) = cut {
        text.push_str(&format!("; {uncalled} more were not called, because {cut}"));
    }
    text + "."
}

fn watched_in_words(watched: &Watched, function: &str) -> String {
    let Watched { program, calls, outside, cut, ended } = watched;
    if *calls == 0 {
        return format!(
            "{program} made no call to {function}() that passes through the loader, and {ended}; calls to a \
             copy of its own cannot be seen."
        );
    }
    let cut = if *cut { "; there were more, which were not judged" } else { "" };
    let made = match (calls, outside) {
        (1, 0) => "1 call, which met the caller's obligations".to_owned(),
        (1, _) => "1 call, which broke the caller's obligations".to_owned(),
        _ => format!("{calls} calls, {outside} of which broke the caller's obligations"),
    };
    format!("{program} made {made}{cut}, and {ended}.")
}

fn contract(document: &mut Document, contract: &Contracted) {
    document
        .paragraph(0, format!("{}: {}", contract.name, contract.prototype))
        .paragraph(2, format!("Requirement: {}", contract.requirement))
        .paragraph(2, format!("Specification `{}`:", contract.specification));
    for clause in &contract.clauses {
        document.paragraph(4, format!("- {clause}"));
    }
    document.paragraph(2, "The caller ensures that:");
    for clause in &contract.precondition {
        document.paragraph(4, format!("- {clause}"));
    }
}

/// Every contract with its specifications.
pub fn contracts(contracts: &[Contracted]) -> Document {
    let mut document = Document::new();
    for contract in contracts {
        document.paragraph(0, format!("{}: {}", contract.name, contract.prototype));
        for offered in &contract.specifications {
            document.line(format!("  {:12}{}", offered.name, offered.about));
        }
    }
    document
}

#[cfg(test)]
mod tests;
