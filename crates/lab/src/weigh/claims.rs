//! Claims about commands: what a project says of them, read, and held against what was measured.
//!
//! A claim is a sentence of a small language ([`Claim::read`]). The sentences are kept in the description of
//! the experiment, so that a run that is kept is judged by the claims that it was measured for.

mod analysis;
mod file;
mod grammar;

use tenbin_model::{Descriptor, Parameter, Quantity};

pub(crate) use analysis::comparisons;
pub use analysis::{CLAIMS, CLAIMS_OF_FUNCTIONS, CLAIMS_OF_INSTRUCTIONS, judged};
pub use file::{AskedQuestion, File};
pub use grammar::Claim;

use super::analysis::COLUMN;

/// What is claimed of the commands of a question.
#[derive(Clone, Debug, Default)]
pub struct Claims {
    /// The name of the question.
    pub question: String,
    /// What claims call each command, in the order of the commands.
    pub commands: Vec<String>,
    /// The claims: the name of each, and its sentence.
    pub claims: Vec<(String, String)>,
}

/// The parameter that holds the name of the question.
const QUESTION: &str = "question";

/// The parameters that hold what claims call each command.
const COMMAND: &str = "command";

/// The parameters that hold the claims, each with its name beside it.
const CLAIM: &str = "claim";

impl Claims {
    /// The parameters of a description that keep them.
    pub(crate) fn parameters(&self) -> Vec<Parameter> {
        let mut parameters = vec![Parameter::new(QUESTION, &self.question, "whose claims are judged")];
        let commands = self.commands.iter().map(|name| Parameter::new(COMMAND, name, "a command's name"));
        parameters.extend(commands);
        parameters.extend(self.claims.iter().map(|(name, text)| Parameter::new(CLAIM, text, name)));
        parameters
    }

    /// What has to be measured for the claims that a description keeps.
    pub(super) fn quantities(descriptor: &Descriptor) -> Vec<Quantity> {
        Self::of(descriptor).iter().flat_map(Claim::quantities).copied().collect()
    }

    /// The claims that a description keeps, read; one that is not understood, because another tenbin wrote
    /// it, is left out.
    pub(super) fn of(descriptor: &Descriptor) -> Vec<Claim> {
        let words = Vocabulary::of(descriptor);
        let kept = descriptor.parameters.iter().filter(|parameter| parameter.name == CLAIM);
        kept.filter_map(|parameter| Claim::read(&parameter.what, &parameter.default, &words).ok()).collect()
    }
}

/// What a claim may name, and what holds where it does not say it.
#[derive(Clone, Debug)]
pub struct Vocabulary {
    /// The commands, in their order.
    pub commands: Vec<String>,
    /// The parameters with their values.
    pub parameters: Vec<(String, Vec<String>)>,
    /// What a claim that names no quantity is about.
    pub quantities: Vec<Quantity>,
    /// Within which fraction of each other two commands are the same.
    pub margin: f64,
    /// Which of the commands takes a cycle, where instructions are weighed.
    pub cycle: Option<usize>,
}

impl Vocabulary {
    /// That of a description.
    pub(super) fn of(descriptor: &Descriptor) -> Self {
        let commands = descriptor.parameters.iter().filter(|parameter| parameter.name == COMMAND);
        let mut parameters: Vec<(String, Vec<String>)> = Vec::new();
        for variant in descriptor.variants.iter().filter(|variant| variant.coordinate(COLUMN) == Some(0)) {
            for (name, value) in &variant.parameters {
                match parameters.iter_mut().find(|(known, _)| known == name) {
                    Some((_, values)) if values.contains(value) => {}
                    Some((_, values)) => values.push(value.clone()),
                    None => parameters.push((name.clone(), vec![value.clone()])),
                }
            }
        }
        Self {
            commands: commands.map(|parameter| parameter.default.clone()).collect(),
            parameters,
            quantities: descriptor.quantities().collect(),
            margin: descriptor.margin,
            // The first, by which all are counted.
            cycle: (descriptor.analysis.as_str() == CLAIMS_OF_INSTRUCTIONS.name()).then_some(0),
        }
    }
}

/// The name of the question whose claims a description keeps.
pub(super) fn question(descriptor: &Descriptor) -> &str {
    let kept = descriptor.parameters.iter().find(|parameter| parameter.name == QUESTION);
    kept.map_or("", |parameter| parameter.default.as_str())
}

#[cfg(test)]
mod tests;
