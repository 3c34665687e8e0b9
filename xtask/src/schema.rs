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

/// Run a quick survey and validate its report.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let host = Architecture::host()?;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("schema")?;
    let schema = folder.join("schema.json");
    write(&schema, &host.command(&binary).argument("schema").read()?)?;

    let survey = host.command(&binary).arguments(["--json", "--quick"]);
    let output = survey.variable("TENBIN_STORE", folder.join("store.db")).capture()?;
    let survey = |reason: String| Failure::new("take a report from `tenbin --json --quick`", reason, REMEDY);
    if output.code != Some(0) {
        return Err(survey(format!("{}\n{}", status_in_words(output.code), output.diagnostics.trim_end())));
    }
    let report = serde_json::from_str::<Value>(&output.text).map_err(|error| survey(error.to_string()))?;
    let path = folder.join("report.json");
    write(&path, &output.text)?;
    expect(workspace, &schema, &path, Some(0), "the report does not fit the schema")?;

    for (name, spoilt) in spoilt(&report).ok_or_else(|| survey("it has no answers".into()))? {
        let path = folder.join(format!("{name}.json"));
        write(&path, &spoilt.to_string())?;
        expect(workspace, &schema, &path, Some(DOES_NOT_FIT), "a spoilt report fits the schema")?;
    }
    Ok(())
}

/// The report with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt(report: &Value) -> Option<[(&'static str, Value); 3]> {
    let mut verdict = report.clone();
    *verdict["answers"].get_mut(0)?.get_mut("verdict")? = json!("perhaps");
    let mut machine = report.clone();
    machine.as_object_mut()?.remove("machine")?;
    let mut sentence = report.clone();
    *sentence["answers"].get_mut(0)?.get_mut("sentence")? = json!(1);
    Some([("verdict-unknown", verdict), ("machine-missing", machine), ("sentence-a-number", sentence)])
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
    }
}
