//! `tenbin schema`: the JSON schemas of what the verbs answer.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::{Verb, Work, each, json};
use crate::output::{Answer, Trouble};

/// Print the JSON schema of what --json or `export --format json` prints
#[derive(Args)]
pub struct Schema {
    /// Of which answer
    #[arg(default_value = "report", value_parser = values())]
    what: String,
}

pub const VERB: Verb = Verb::of::<Schema>("schema");

/// Every schema by its name.
fn schemas() -> impl Iterator<Item = &'static super::Schema> {
    each().flat_map(|verb| verb.schemas)
}

fn values() -> PossibleValuesParser {
    PossibleValuesParser::new(schemas().map(|schema| PossibleValue::new(schema.name).help(schema.about)))
}

impl Work for Schema {
    fn run(self) -> Result<Answer, Trouble> {
        // The parser takes no other word.
        schemas()
            .filter(|schema| schema.name == self.what)
            .map(|schema| json(&(schema.schema)()))
            .collect::<Result<_, _>>()
            .map(Answer::text)
    }
}
