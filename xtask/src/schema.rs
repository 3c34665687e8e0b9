//! The report must fit the schema that tenbin publishes, and a spoilt report must not.

use std::path::Path;

use serde_json::{Value, json};

use crate::architecture::Architecture;
use crate::command::{Command, status_in_words};
use crate::failure::Failure;
use crate::requirement::{PYTHON, Requirement};
use crate::workspace::{Profile, Workspace};

/// What `xtask/validate.py` ends with when the document does not fit.
const DOES_NOT_FIT: i32 = 1;

const REMEDY: &str =
    "compare the report with the schema, both kept in the folder xtask/schema of the target folder";

pub(crate) fn needs() -> Vec<Requirement> {
    vec![Requirement::python("python3-jsonschema", "jsonschema")]
}

/// Take a survey's report, a calibration's, that of `blame` and that of litmus tests, and validate each, whole and spoilt.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let host = Architecture::host()?;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("schema")?;
    for answer in ANSWERS {
        let Answer { name, arguments, spoilt } = answer;
        let schema = folder.join(format!("{name}.schema.json"));
        write(&schema, &host.command(&binary).arguments(["schema", name]).read()?)?;

        let command = host.command(&binary).arguments(arguments.iter().copied()).directory(workspace.root());
        let output = command.variable("TENBIN_STORE", folder.join("store.db")).capture()?;
        let tried = format!("take a report from `tenbin {}`", arguments.join(" "));
        let failure = |reason: String| Failure::new(tried.clone(), reason, REMEDY);
        if output.code != Some(0) {
            let status = status_in_words(output.code);
            return Err(failure(format!("{status}\n{}", output.diagnostics.trim_end())));
        }
        let report =
            serde_json::from_str::<Value>(&output.text).map_err(|error| failure(error.to_string()))?;
        let path = folder.join(format!("{name}.json"));
        write(&path, &output.text)?;
        expect(workspace, &schema, &path, Some(0), "the report does not fit the schema")?;

        for (kind, spoilt) in spoilt(&report).ok_or_else(|| failure("there is nothing in it".into()))? {
            let path = folder.join(format!("{name}-{kind}.json"));
            write(&path, &spoilt.to_string())?;
            expect(workspace, &schema, &path, Some(DOES_NOT_FIT), "a spoilt report fits the schema")?;
        }
    }
    Ok(())
}

/// Spoilt answers, each with a name for what is wrong with it.
type Spoilt = [(&'static str, Value); 3];

/// An answer whose shape is published.
struct Answer {
    /// What `tenbin schema` calls it.
    name: &'static str,
    /// What makes tenbin give it.
    arguments: &'static [&'static str],
    /// The answer with one thing wrong each; `None` if there is nothing to spoil.
    spoilt: fn(&Value) -> Option<Spoilt>,
}

const ANSWERS: &[Answer] = &[
    Answer { name: "report", arguments: &["--json", "--quick"], spoilt },
    Answer {
        name: "calibration",
        arguments: &["calibrate", "--works", "alu,truth", "--effects", "0,1", "--pairs", "1", "--json"],
        spoilt: spoilt_calibration,
    },
    Answer { name: "blame", arguments: &["blame", "sort", "--json"], spoilt: spoilt_blame },
    Answer {
        name: "litmus",
        arguments: &["boot", "litmus", "fixtures/litmus", "--json"],
        spoilt: spoilt_litmus,
    },
];

/// The report with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt(report: &Value) -> Option<Spoilt> {
    let mut verdict = report.clone();
    *verdict["answers"].get_mut(0)?.get_mut("verdict")? = json!("perhaps");
    let mut machine = report.clone();
    machine.as_object_mut()?.remove("machine")?;
    let mut sentence = report.clone();
    *sentence["answers"].get_mut(0)?.get_mut("sentence")? = json!(1);
    Some([("verdict-unknown", verdict), ("machine-missing", machine), ("sentence-a-number", sentence)])
}

/// The calibration with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_calibration(report: &Value) -> Option<Spoilt> {
    let mut rates = report.clone();
    rates["rates"].as_object_mut()?.remove("alarms")?;
    let mut purpose = report.clone();
    *purpose["calibration"]["series"].get_mut(0)?.get_mut("purpose")? = json!("fun");
    let mut truth = report.clone();
    *truth["calibration"]["series"].get_mut(0)?["pairs"].get_mut(0)?.get_mut("truth")? = json!("one");
    Some([("alarms-missing", rates), ("purpose-unknown", purpose), ("truth-a-word", truth)])
}

/// What `blame` found with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_blame(blame: &Value) -> Option<Spoilt> {
    let mut contract = blame.clone();
    contract.as_object_mut()?.remove("contract")?;
    let mut seed = blame.clone();
    *seed.get_mut("seed")? = json!("one");
    let mut searched = blame.clone();
    *searched["searched"].get_mut("inputs")? = json!("many");
    Some([("contract-missing", contract), ("seed-a-word", seed), ("inputs-a-word", searched)])
}

/// The outcomes of litmus tests with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_litmus(litmus: &Value) -> Option<Spoilt> {
    let mut memory = litmus.clone();
    memory.as_object_mut()?.remove("memory")?;
    let mut settled = litmus.clone();
    *settled["tests"].get_mut(0)?.get_mut("settled")? = json!("perhaps");
    let mut having = litmus.clone();
    *having["tests"].get_mut(0)?["settled"]["decided"].get_mut("having")? = json!("some");
    Some([("memory-missing", memory), ("settled-unknown", settled), ("having-a-word", having)])
}

fn expect(
    workspace: &Workspace,
    schema: &Path,
    document: &Path,
    code: Option<i32>,
    otherwise: &str,
) -> Result<(), Failure> {
    let script = workspace.root().join("xtask/validate.py");
    let output = Command::new(PYTHON).arguments([script.as_path(), schema, document]).capture()?;
    print!("{}{}", output.text, output.diagnostics);
    if output.code == code {
        return Ok(());
    }
    let name = document.display();
    Err(Failure::new(
        format!("validate {name}"),
        format!("{} ({otherwise})", status_in_words(output.code)),
        REMEDY,
    ))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::new(format!("write {}", path.display()), error, "make room in the target folder")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_spoilt_report_differs_and_an_empty_one_cannot_be_spoilt() {
        let report = json!({"machine": {}, "answers": [{"verdict": "different", "sentence": "a"}]});
        for (name, spoilt) in spoilt(&report).expect("there is an answer to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt(&json!({"machine": {}, "answers": []})), None);
        let series = json!([{"purpose": "ladder", "pairs": [{"truth": 1.0}]}]);
        let report = json!({"rates": {"alarms": {}}, "calibration": {"series": series}});
        for (name, spoilt) in spoilt_calibration(&report).expect("there is a pair to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_calibration(&json!({"rates": {}, "calibration": {"series": []}})), None);
        let report = json!({"contract": {}, "seed": 1, "searched": {"inputs": 1}});
        for (name, spoilt) in spoilt_blame(&report).expect("there is a search to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_blame(&json!({"contract": {}})), None);
    }
}
