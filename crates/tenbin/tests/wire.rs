//! What programs read of tenbin keeps its shape: the JSON of every answer, and the runs in stores of earlier
//! tenbins.
//!
//! The types are those of the code, so a name that changes inside would change the format. Golden files hold
//! it: `fixtures/wire/shapes.txt` the shape of each type in JSON, and beside it stores with what was computed
//! of them. `SNAPSHOTS=overwrite` writes down what comes. A line that goes or changes breaks who reads it:
//! that takes another `schema` in the answer, or a new format of the store, and its reason in CHANGELOG.md.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde_json::Value;
use snapbox::{Assert, Data};

#[allow(dead_code, reason = "the other files of tests use the rest")]
mod place;

use place::{Place, json, text};

fn golden(name: &str) -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/wire")).join(name)
}

fn assert_golden(actual: String, name: &str) {
    Assert::new()
        .action_env("SNAPSHOTS")
        .normalize_paths(false)
        .eq(actual, Data::read_from(&golden(name), None));
}

/// A schema in a line: names of types, `[T]` of arrays, `{ field: T }` of objects, `field?` of what may lack.
fn shape(schema: &Value) -> String {
    let several = |key: &str, between: &str| {
        let parts = schema[key].as_array()?;
        Some(parts.iter().map(shape).collect::<Vec<_>>().join(between))
    };
    if let Some(name) = schema["$ref"].as_str() {
        return name.trim_start_matches("#/$defs/").to_owned();
    }
    if let Some(value) = schema.get("const") {
        return value.to_string();
    }
    if let Some(values) = schema["enum"].as_array() {
        return values.iter().map(Value::to_string).collect::<Vec<_>>().join(" | ");
    }
    if let Some(all) = several("anyOf", " | ").or_else(|| several("oneOf", " | ")) {
        return all;
    }
    if let Some(items) = several("prefixItems", ", ") {
        return format!("({items})");
    }
    if let Some(fields) = schema["properties"].as_object() {
        let required = schema["required"].as_array().cloned().unwrap_or_default();
        let field = |(name, schema): (&String, &Value)| {
            let mark = if required.iter().any(|it| it == name) { "" } else { "?" };
            format!("{name}{mark}: {}", shape(schema))
        };
        return format!("{{ {} }}", fields.iter().map(field).collect::<Vec<_>>().join(", "));
    }
    let format = schema["format"].as_str().map_or(String::new(), |format| format!(" {format}"));
    match &schema["type"] {
        Value::String(array) if array == "array" => format!("[{}]", shape(&schema["items"])),
        Value::String(object) if object == "object" => {
            format!("{{ *: {} }}", shape(&schema["additionalProperties"]))
        }
        Value::String(kind) => format!("{kind}{format}"),
        Value::Array(kinds) => {
            let kinds: Vec<&str> = kinds.iter().filter_map(Value::as_str).collect();
            let whole = |kind: &&str| match *kind {
                "array" => format!("[{}]", shape(&schema["items"])),
                "null" => "null".to_owned(),
                kind => format!("{kind}{format}"),
            };
            kinds.iter().map(whole).collect::<Vec<_>>().join(" | ")
        }
        _ => "anything".to_owned(),
    }
}

#[test]
fn no_answer_changes_its_shape_unnoticed() {
    let place = Place::new();
    let help = place.tenbin(&["schema", "--help"]).stdout;
    let names: Vec<String> = text(&help)
        .lines()
        .filter_map(|line| line.trim().strip_prefix("- ")?.split_once(':').map(|(name, _)| name.to_owned()))
        .collect();
    assert!(names.len() > 10, "{names:?}");
    let mut answers = String::new();
    let mut types: BTreeMap<String, String> = BTreeMap::new();
    for name in &names {
        let schema = json(&place.tenbin(&["schema", name]));
        answers.push_str(&format!("{name} = {}\n", shape(&schema).replace(", ", ",\n    ")));
        for (defined, schema) in schema["$defs"].as_object().into_iter().flatten() {
            let line = format!("{defined} = {}\n", shape(schema).replace(", ", ",\n    "));
            let known = types.entry(defined.clone()).or_insert_with(|| line.clone());
            assert_eq!(*known, line, "two types of one name");
        }
    }
    assert_golden(answers + "\n" + &types.into_values().collect::<String>(), "shapes.txt");
}

/// The store was written by the last tenbin of format 2, on two CPUs of a guest.
#[test]
fn a_store_of_format_2_is_answered_as_it_was() {
    let place = Place::new();
    place.answered(&["import", golden("format_2.db").to_str().unwrap()]);
    assert_golden(place.answered(&["show", "latest"]), "format_2.txt");
}
