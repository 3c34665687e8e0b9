//! The report must fit the schema that tenbin publishes, and a spoilt report must not.
//!
//! A replay needs QEMU, so the step of the firmware takes one and has it validated here.

use std::path::Path;

use jsonschema::Validator;
use serde_json::Value;

use tenbin_model::Report;
use tenbin_model::words::semicolon;
use xtask::architecture::{Architecture, Target};
use xtask::command::Command;
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

use crate::files::write;

const REMEDY: &str =
    "compare the report with the schema, both kept in the folder xtask/schema of the target folder";

const ROOM: &str = "make room in the target folder";

/// Take a survey's report, a calibration's, the lists, a run, those of `blame`, of litmus tests and of a
/// boot, and validate each, whole and spoilt.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("schema")?;
    for (name, arguments, status) in ANSWERS {
        let command = host.command(&binary).arguments(arguments.iter().copied()).directory(workspace.root());
        let output = command.variable("TENBIN_STORE", folder.join("store.db")).capture()?;
        if output.code != Some(*status) {
            let tried = format!("take a report from `tenbin {}`", arguments.join(" "));
            return Err(Failure::new(tried, output.ending(), REMEDY));
        }
        hold(host.command(&binary), &folder, name, &output.text)?;
    }
    check_comparison(&|| host.command(&binary), &folder)
}

/// Validate what `compare` says of two runs, which are made here: their names are known only then.
fn check_comparison(tenbin: &dyn Fn() -> Command, folder: &Path) -> Result<(), Failure> {
    let store = folder.join("store.db");
    let run = || {
        let run = tenbin().arguments(["run", "null", "--quick", "--json"]).variable("TENBIN_STORE", &store);
        let text = run.capture()?.text;
        let kept = serde_json::from_str::<Report>(&text).ok().and_then(|report| report.run);
        kept.ok_or_else(|| Failure::new("take a run to compare", format!("no run was kept:\n{text}"), REMEDY))
    };
    let (one, other) = (run()?, run()?);
    let compare = tenbin().arguments(["compare", &one, &other, "--json"]).variable("TENBIN_STORE", &store);
    // Answered or refused is the runs' business; either has a shape.
    hold(tenbin(), folder, "compare", &compare.capture()?.text)
}

/// Validate a replay, whole and spoilt; the step that has QEMU takes one, and names a folder for the files.
pub(crate) fn check_replay(tenbin: Command, folder: &Path, replay: &str) -> Result<(), Failure> {
    hold(tenbin, folder, "replay", replay)
}

/// Hold `report`, which `tenbin schema` calls `name`, against its schema, whole and spoilt.
fn hold(tenbin: Command, folder: &Path, name: &str, report: &str) -> Result<(), Failure> {
    let schema = tenbin.arguments(["schema", name]).read()?;
    write(&folder.join(format!("{name}.schema.json")), &schema, ROOM)?;
    let validator = validator(&schema)
        .map_err(|reason| Failure::new(format!("read the schema called {name}"), reason, REMEDY))?;
    let failure = |reason: String| Failure::new(format!("read a report called {name}"), reason, REMEDY);
    let whole = serde_json::from_str::<Value>(report).map_err(|error| failure(error.to_string()))?;
    let path = folder.join(format!("{name}.json"));
    write(&path, report, ROOM)?;
    let faults = faults(&validator, &whole);
    if !faults.is_empty() {
        let reason = format!("the report does not fit the schema: {}", semicolon(faults));
        return Err(Failure::new(format!("validate {}", path.display()), reason, REMEDY));
    }
    println!("{}: it fits", path.display());

    for (_, kind, place, value) in SPOILT.iter().filter(|spoilt| spoilt.0 == name) {
        let spoilt = spoil(&whole, place, value).ok_or_else(|| failure("there is nothing in it".into()))?;
        let path = folder.join(format!("{name}-{kind}.json"));
        write(&path, &spoilt.to_string(), ROOM)?;
        let faults = self::faults(&validator, &spoilt);
        if faults.is_empty() {
            let tried = format!("validate {}", path.display());
            return Err(Failure::new(tried, "a spoilt report fits the schema", REMEDY));
        }
        println!("{}: it does not fit, as it must: {}", path.display(), semicolon(faults));
    }
    Ok(())
}

/// `document` with this value at this place, which must be there.
fn spoil(document: &Value, place: &str, value: &str) -> Option<Value> {
    let mut spoilt = document.clone();
    if value.is_empty() {
        let (above, name) = place.rsplit_once('/')?;
        spoilt.pointer_mut(above)?.as_object_mut()?.remove(name)?;
    } else {
        *spoilt.pointer_mut(place)? = serde_json::from_str(value).ok()?;
    }
    Some(spoilt)
}

/// Answers whose shape is published: what `tenbin schema` calls each, what makes tenbin give it, and what it
/// then ends with.
const ANSWERS: &[(&str, &[&str], i32)] = &[
    ("report", &["--json", "--quick"], 0),
    ("calibration", &["calibrate", "--works", "alu,truth", "--effects", "0,1", "--pairs", "1", "--json"], 0),
    // Two processes are too few for an answer, and it has a shape all the same.
    ("processes", &["run", "null", "--processes", "2", "--json"], 3),
    ("list", &["list", "--json"], 0),
    ("machine", &["machine", "--json"], 0),
    // The run of the first answer is in the store by now.
    ("runs", &["runs", "--json"], 0),
    ("run", &["export", "latest", "--format", "json", "-o", "-"], 0),
    ("blame", &["blame", "sort", "--json"], 0),
    ("litmus", &["boot", "litmus", "fixtures/litmus", "--json"], 0),
    ("check", &["check", "--file", "fixtures/check/tenbin.toml", "--json"], 0),
    ("profile", &["profile", "--from", "fixtures/profile/truth.json", "--json"], 0),
    ("explanation", &["compare", "fixtures/profile/few.json", "fixtures/profile/many.json", "--json"], 0),
    // A boot that is blamed for what it does not do, so that the answer has a run in it: only hart 0 is told
    // to go to `done`.
    (
        "boot",
        &[
            "boot",
            "check",
            "fixtures/isa/image/two_harts-dwarf5.elf",
            "--harts=2",
            "--arrived=done",
            "--started=done",
            "--tell=_start",
            "--json",
        ],
        4,
    ),
];

/// Three ways to spoil each answer: what is then wrong with it, where, and what stands there in JSON; nothing
/// where it is empty.
const SPOILT: &[(&str, &str, &str, &str)] = &[
    ("report", "verdict-unknown", "/answers/0/verdict", r#""perhaps""#),
    ("report", "machine-missing", "/machine", ""),
    ("report", "sentence-a-number", "/answers/0/sentence", "1"),
    ("calibration", "alarms-missing", "/rates/alarms", ""),
    ("calibration", "purpose-unknown", "/calibration/series/0/purpose", r#""fun""#),
    ("calibration", "truth-a-word", "/calibration/series/0/pairs/0/truth", r#""one""#),
    ("processes", "level-missing", "/level", ""),
    ("processes", "verdict-unknown", "/answers/0/verdict", r#""perhaps""#),
    ("processes", "refused-a-word", "/answers/0/counts/refused", r#""none""#),
    ("list", "name-missing", "/0/name", ""),
    ("list", "question-a-number", "/0/question", "1"),
    ("list", "parameters-a-word", "/0/parameters", r#""none""#),
    ("machine", "kernel-missing", "/kernel", ""),
    ("machine", "architecture-a-number", "/architecture", "1"),
    ("machine", "page-a-word", "/page_size", r#""large""#),
    ("runs", "id-missing", "/0/id", ""),
    ("runs", "samples-a-word", "/0/samples", r#""many""#),
    ("runs", "labels-a-word", "/0/labels", r#""before""#),
    ("run", "schema-unknown", "/schema", r#""tenbin-run-0""#),
    ("run", "trials-missing", "/trials", ""),
    ("run", "started-a-number", "/provenance/started", "1"),
    ("blame", "contract-missing", "/contract", ""),
    ("blame", "seed-a-word", "/seed", r#""one""#),
    ("blame", "inputs-a-word", "/searched/inputs", r#""many""#),
    ("litmus", "memory-missing", "/memory", ""),
    ("litmus", "settled-unknown", "/tests/0/settled", r#""perhaps""#),
    ("litmus", "having-a-word", "/tests/0/settled/decided/having", r#""some""#),
    ("check", "questions-missing", "/questions", ""),
    ("check", "outcome-unknown", "/questions/0/claims/0/outcome", r#""perhaps""#),
    ("check", "level-a-word", "/questions/0/level", r#""low""#),
    ("profile", "schema-unknown", "/schema", r#""tenbin-profile-0""#),
    ("profile", "activities-missing", "/activities", ""),
    ("profile", "kind-unknown", "/activities/0/kind", r#""idle""#),
    ("explanation", "sentence-missing", "/sentence", ""),
    ("explanation", "share-a-word", "/causes/0/share", r#""all""#),
    ("explanation", "schema-unknown", "/schema", r#""tenbin-explanation-0""#),
    ("boot", "machine-missing", "/checks/0/machine", ""),
    ("boot", "verdict-unknown", "/checks/0/verdict", r#""perhaps""#),
    ("boot", "fault-unknown", "/checks/0/verdict/faulty/faults/0/fault", r#""bad luck""#),
    ("compare", "machines-missing", "/machines", ""),
    ("compare", "verdict-unknown", "/comparisons/0/verdict", r#""not told apart""#),
    ("compare", "runs-a-word", "/comparisons/0/sides/0/runs", r#""one""#),
    ("replay", "machine-missing", "/replays/0/machine", ""),
    ("replay", "outcome-unknown", "/replays/0/outcome", r#""perhaps""#),
    ("replay", "times-a-word", "/replays/0/outcome/shown/times", r#""often""#),
];

/// What holds documents against this schema, which itself must be one of JSON Schema 2020-12.
fn validator(schema: &str) -> Result<Validator, String> {
    let schema = serde_json::from_str::<Value>(schema).map_err(|error| error.to_string())?;
    jsonschema::draft202012::meta::validate(&schema).map_err(|error| error.to_string())?;
    let options = jsonschema::draft202012::options().should_validate_formats(true);
    options.build(&schema).map_err(|error| error.to_string())
}

/// Every place in `document` that does not fit.
fn faults(validator: &Validator, document: &Value) -> Vec<String> {
    let fault = |error: jsonschema::ValidationError<'_>| format!("{}: {error}", error.instance_path());
    // What is wrong may be a whole document, which nobody reads on a terminal.
    validator.iter_errors(document).map(|error| fault(error).chars().take(200).collect()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_does_not_fit_is_told_with_its_place() {
        let schema = r#"{"type": "object", "properties": {"a": {"enum": ["b"]}}, "required": ["a"]}"#;
        let validator = validator(schema).expect("it is a schema");
        assert_eq!(faults(&validator, &json!({"a": "b"})), Vec::<String>::new());
        assert!(faults(&validator, &json!({"a": "c"}))[0].starts_with("/a: "));
        assert_eq!(faults(&validator, &json!({})).len(), 1);
        assert!(self::validator(r#"{"type": "thing"}"#).is_err() && self::validator("{").is_err());
    }

    #[test]
    fn an_answer_is_spoilt_where_there_is_something_to_spoil() {
        let report = json!({"machine": {}, "answers": [{"verdict": "different"}]});
        let changed = json!({"machine": {}, "answers": [{"verdict": "perhaps"}]});
        assert_eq!(spoil(&report, "/answers/0/verdict", r#""perhaps""#), Some(changed));
        assert_eq!(spoil(&report, "/machine", ""), Some(json!({"answers": report["answers"]})));
        for (place, value) in
            [("/answers/1/verdict", "1"), ("/rates", ""), ("/rates", "1"), ("/rates/alarms", "")]
        {
            assert_eq!(spoil(&report, place, value), None, "{place}");
        }
        for (name, kind, place, value) in SPOILT {
            let is_json = value.is_empty() || serde_json::from_str::<Value>(value).is_ok();
            assert!(is_json && place.starts_with('/'), "{name}: {kind}");
        }
        for name in ANSWERS.iter().map(|answer| answer.0).chain(["compare", "replay"]) {
            assert_eq!(SPOILT.iter().filter(|spoilt| spoilt.0 == name).count(), 3, "{name}");
        }
    }
}
