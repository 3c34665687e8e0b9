//! `tenbin schema`: the JSON schemas of what the verbs answer.

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser};

use super::{Verb, Work, each};
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

/// The files of `schemas`, packed: their types take more than ten times the room.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/schemas.deflate"));

/// The text of the file with this name.
fn text(name: &str) -> Option<String> {
    let texts = miniz_oxide::inflate::decompress_to_vec(PACKED).ok()?;
    let mut parts = texts.split(|byte| *byte == 0);
    parts.by_ref().find(|part| *part == name.as_bytes())?;
    String::from_utf8(parts.next()?.into()).ok()
}

impl Work for Schema {
    fn run(self) -> Result<Answer, Trouble> {
        let missing = || Trouble::internal(format!("unpack the schema {}: it is not there", self.what));
        text(&self.what).map(Answer::text).ok_or_else(missing)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use snapbox::{Assert, Data};

    use super::*;

    /// `SNAPSHOTS=overwrite` writes the files anew.
    #[test]
    fn each_file_is_the_schema_of_its_type() {
        let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/schemas"));
        for schema in schemas() {
            let file = folder.join(schema.name).with_extension("json");
            let derived = super::super::json(&(schema.derived)()).expect("a schema is JSON");
            Assert::new().action_env("SNAPSHOTS").eq(derived, Data::read_from(&file, None).raw());
            assert_eq!(text(schema.name), fs::read_to_string(&file).ok(), "{}", schema.name);
        }
        let files = fs::read_dir(folder).expect("the files are there").flatten();
        let files = files.map(|entry| entry.file_name().to_string_lossy().into_owned());
        let names = schemas().map(|schema| format!("{}.json", schema.name));
        assert_eq!(files.collect::<BTreeSet<_>>(), names.collect());
    }
}
