//! The report must fit the schema that tenbin publishes, and a spoilt report must not.
//!
//! A replay needs QEMU, so the step of the firmware takes one and has it validated here.

use std::path::Path;

use jsonschema::Validator;
use serde_json::{Value, json};

use tenbin_model::words::semicolon;
use xtask::architecture::{Architecture, Target};
use xtask::command::{Command, status_in_words};
use xtask::failure::Failure;
use xtask::workspace::{Profile, Workspace};

const REMEDY: &str =
    "compare the report with the schema, both kept in the folder xtask/schema of the target folder";

/// Take a survey's report, a calibration's, the lists, a run, those of `blame`, of litmus tests and of a
/// boot, and validate each, whole and spoilt.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let host = Architecture::HERE;
    let binary = workspace.build(host, Profile::Dev)?;
    let folder = workspace.scratch("schema")?;
    for Answer { name, arguments, status, spoilt } in ANSWERS {
        let command = host.command(&binary).arguments(arguments.iter().copied()).directory(workspace.root());
        let output = command.variable("TENBIN_STORE", folder.join("store.db")).capture()?;
        if output.code != Some(*status) {
            let tried = format!("take a report from `tenbin {}`", arguments.join(" "));
            let ended = status_in_words(output.code);
            return Err(Failure::new(tried, format!("{ended}\n{}", output.diagnostics.trim_end()), REMEDY));
        }
        hold(host.command(&binary), &folder, name, &output.text, *spoilt)?;
    }
    check_comparison(&|| host.command(&binary), &folder)
}

/// Validate what `compare` says of two runs, which are made here: their names are known only then.
fn check_comparison(tenbin: &dyn Fn() -> Command, folder: &Path) -> Result<(), Failure> {
    let store = folder.join("store.db");
    let run = || {
        let run = tenbin().arguments(["run", "null", "--quick", "--json"]).variable("TENBIN_STORE", &store);
        let text = run.capture()?.text;
        let report = serde_json::from_str::<Value>(&text).unwrap_or_default();
        report["run"]
            .as_str()
            .map(str::to_owned)
            .ok_or_else(|| Failure::new("take a run to compare", format!("no run was kept:\n{text}"), REMEDY))
    };
    let (one, other) = (run()?, run()?);
    let compare = tenbin().arguments(["compare", &one, &other, "--json"]).variable("TENBIN_STORE", &store);
    // Answered or refused is the runs' business; either has a shape.
    hold(tenbin(), folder, "compare", &compare.capture()?.text, spoilt_comparison)
}

/// Validate a replay, whole and spoilt; the step that has QEMU takes one, and names a folder for the files.
pub(crate) fn check_replay(tenbin: Command, folder: &Path, replay: &str) -> Result<(), Failure> {
    hold(tenbin, folder, "replay", replay, spoilt_replay)
}

/// Hold `report`, which `tenbin schema` calls `name`, against its schema, whole and spoilt.
fn hold(tenbin: Command, folder: &Path, name: &str, report: &str, spoilt: Spoil) -> Result<(), Failure> {
    let schema = tenbin.arguments(["schema", name]).read()?;
    write(&folder.join(format!("{name}.schema.json")), &schema)?;
    let validator = validator(&schema)
        .map_err(|reason| Failure::new(format!("read the schema called {name}"), reason, REMEDY))?;
    let failure = |reason: String| Failure::new(format!("read a report called {name}"), reason, REMEDY);
    let value = serde_json::from_str::<Value>(report).map_err(|error| failure(error.to_string()))?;
    let path = folder.join(format!("{name}.json"));
    write(&path, report)?;
    let faults = faults(&validator, &value);
    if !faults.is_empty() {
        let reason = format!("the report does not fit the schema: {}", semicolon(faults));
        return Err(Failure::new(format!("validate {}", path.display()), reason, REMEDY));
    }
    println!("{}: it fits", path.display());

    for (kind, spoilt) in spoilt(&value).ok_or_else(|| failure("there is nothing in it".into()))? {
        let path = folder.join(format!("{name}-{kind}.json"));
        write(&path, &spoilt.to_string())?;
        let faults = self::faults(&validator, &spoilt);
        if faults.is_empty() {
            let tried = format!("validate {}", path.display());
            return Err(Failure::new(tried, "a spoilt report fits the schema", REMEDY));
        }
        println!("{}: it does not fit, as it must: {}", path.display(), semicolon(faults));
    }
    Ok(())
}

/// Spoilt answers, each with a name for what is wrong with it.
type Spoilt = [(&'static str, Value); 3];

/// An answer with one thing wrong each; `None` if there is nothing to spoil.
type Spoil = fn(&Value) -> Option<Spoilt>;

/// An answer whose shape is published.
struct Answer {
    /// What `tenbin schema` calls it.
    name: &'static str,
    /// What makes tenbin give it.
    arguments: &'static [&'static str],
    /// What tenbin then ends with.
    status: i32,
    /// What spoils it.
    spoilt: Spoil,
}

const ANSWERS: &[Answer] = &[
    Answer { name: "report", arguments: &["--json", "--quick"], status: 0, spoilt },
    Answer {
        name: "calibration",
        arguments: &["calibrate", "--works", "alu,truth", "--effects", "0,1", "--pairs", "1", "--json"],
        status: 0,
        spoilt: spoilt_calibration,
    },
    // Two processes are too few for an answer, and it has a shape all the same.
    Answer {
        name: "processes",
        arguments: &["run", "null", "--processes", "2", "--json"],
        status: 3,
        spoilt: spoilt_processes,
    },
    Answer { name: "list", arguments: &["list", "--json"], status: 0, spoilt: spoilt_list },
    Answer { name: "machine", arguments: &["machine", "--json"], status: 0, spoilt: spoilt_machine },
    // The run of the first answer is in the store by now.
    Answer { name: "runs", arguments: &["runs", "--json"], status: 0, spoilt: spoilt_runs },
    Answer {
        name: "run",
        arguments: &["export", "latest", "--format", "json", "-o", "-"],
        status: 0,
        spoilt: spoilt_run,
    },
    Answer { name: "blame", arguments: &["blame", "sort", "--json"], status: 0, spoilt: spoilt_blame },
    Answer {
        name: "litmus",
        arguments: &["boot", "litmus", "fixtures/litmus", "--json"],
        status: 0,
        spoilt: spoilt_litmus,
    },
    // A boot that is blamed for what it does not do, so that the answer has a run in it: only hart 0 is told
    // to go to `done`.
    Answer {
        name: "boot",
        arguments: &[
            "boot",
            "check",
            "fixtures/isa/image/two_harts-dwarf5.elf",
            "--harts=2",
            "--arrived=done",
            "--started=done",
            "--tell=_start",
            "--json",
        ],
        status: 4,
        spoilt: spoilt_boot,
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

/// The experiments with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_list(list: &Value) -> Option<Spoilt> {
    let mut name = list.clone();
    name.get_mut(0)?.as_object_mut()?.remove("name")?;
    let mut question = list.clone();
    *question.get_mut(0)?.get_mut("question")? = json!(1);
    let mut parameters = list.clone();
    *parameters.get_mut(0)?.get_mut("parameters")? = json!("none");
    Some([("name-missing", name), ("question-a-number", question), ("parameters-a-word", parameters)])
}

/// The machine with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_machine(machine: &Value) -> Option<Spoilt> {
    let mut kernel = machine.clone();
    kernel.as_object_mut()?.remove("kernel")?;
    let mut architecture = machine.clone();
    *architecture.get_mut("architecture")? = json!(1);
    let mut page = machine.clone();
    *page.get_mut("page_size")? = json!("large");
    Some([("kernel-missing", kernel), ("architecture-a-number", architecture), ("page-a-word", page)])
}

/// The runs of a store with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_runs(runs: &Value) -> Option<Spoilt> {
    let mut id = runs.clone();
    id.get_mut(0)?.as_object_mut()?.remove("id")?;
    let mut samples = runs.clone();
    *samples.get_mut(0)?.get_mut("samples")? = json!("many");
    let mut labels = runs.clone();
    *labels.get_mut(0)?.get_mut("labels")? = json!("before");
    Some([("id-missing", id), ("samples-a-word", samples), ("labels-a-word", labels)])
}

/// A whole run with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_run(run: &Value) -> Option<Spoilt> {
    let mut schema = run.clone();
    *schema.get_mut("schema")? = json!("tenbin-run-0");
    let mut trials = run.clone();
    trials.as_object_mut()?.remove("trials")?;
    let mut started = run.clone();
    *started["provenance"].get_mut("started")? = json!(1);
    Some([("schema-unknown", schema), ("trials-missing", trials), ("started-a-number", started)])
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

/// What can go wrong with a boot, with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_boot(boot: &Value) -> Option<Spoilt> {
    let mut machine = boot.clone();
    machine["checks"].get_mut(0)?.as_object_mut()?.remove("machine")?;
    let mut verdict = boot.clone();
    *verdict["checks"].get_mut(0)?.get_mut("verdict")? = json!("perhaps");
    let mut fault = boot.clone();
    *fault.pointer_mut("/checks/0/verdict/faulty/faults/0/fault")? = json!("bad luck");
    Some([("machine-missing", machine), ("verdict-unknown", verdict), ("fault-unknown", fault)])
}

/// What several processes answered, with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_processes(over: &Value) -> Option<Spoilt> {
    let mut level = over.clone();
    level.as_object_mut()?.remove("level")?;
    let mut verdict = over.clone();
    *verdict["answers"].get_mut(0)?.get_mut("verdict")? = json!("perhaps");
    let mut counts = over.clone();
    *counts.pointer_mut("/answers/0/counts/refused")? = json!("none");
    Some([("level-missing", level), ("verdict-unknown", verdict), ("refused-a-word", counts)])
}

/// What was said of two runs, with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_comparison(across: &Value) -> Option<Spoilt> {
    let mut machines = across.clone();
    machines.as_object_mut()?.remove("machines")?;
    let mut verdict = across.clone();
    *verdict["comparisons"].get_mut(0)?.get_mut("verdict")? = json!("not told apart");
    let mut runs = across.clone();
    *runs.pointer_mut("/comparisons/0/sides/0/runs")? = json!("one");
    Some([("machines-missing", machines), ("verdict-unknown", verdict), ("runs-a-word", runs)])
}

/// What came of replays, with one thing wrong each; `None` if there is nothing to spoil.
fn spoilt_replay(replay: &Value) -> Option<Spoilt> {
    let mut machine = replay.clone();
    machine["replays"].get_mut(0)?.as_object_mut()?.remove("machine")?;
    let mut outcome = replay.clone();
    *outcome["replays"].get_mut(0)?.get_mut("outcome")? = json!("perhaps");
    let mut times = replay.clone();
    *times.pointer_mut("/replays/0/outcome/shown/times")? = json!("often");
    Some([("machine-missing", machine), ("outcome-unknown", outcome), ("times-a-word", times)])
}

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

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(|error| {
        Failure::new(format!("write {}", path.display()), error, "make room in the target folder")
    })
}

#[cfg(test)]
mod tests {
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
        let list = json!([{"name": "a", "question": "b", "parameters": []}]);
        for (name, spoilt) in spoilt_list(&list).expect("there is an experiment to spoil") {
            assert_ne!(spoilt, list, "{name}");
        }
        assert_eq!(spoilt_list(&json!([])), None);
        let runs = json!([{"id": "a", "samples": 1, "labels": []}]);
        for (name, spoilt) in spoilt_runs(&runs).expect("there is a run to spoil") {
            assert_ne!(spoilt, runs, "{name}");
        }
        assert_eq!(spoilt_runs(&json!([])), None);
        let run = json!({"schema": "a", "trials": [], "provenance": {"started": "b"}});
        for (name, spoilt) in spoilt_run(&run).expect("there is a run to spoil") {
            assert_ne!(spoilt, run, "{name}");
        }
        assert_eq!(spoilt_run(&json!({"trials": []})), None);
        let report = json!({"contract": {}, "seed": 1, "searched": {"inputs": 1}});
        for (name, spoilt) in spoilt_blame(&report).expect("there is a search to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_blame(&json!({"contract": {}})), None);
        let verdict = json!({"faulty": {"faults": [{"fault": "dead"}]}});
        let report = json!({"checks": [{"machine": {}, "verdict": verdict}]});
        for (name, spoilt) in spoilt_boot(&report).expect("there is a fault to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_boot(&json!({"checks": [{"machine": {}, "verdict": "sound"}]})), None);
        let outcome = json!({"shown": {"times": 3}});
        let report = json!({"replays": [{"machine": {}, "outcome": outcome}]});
        for (name, spoilt) in spoilt_replay(&report).expect("there is a replay to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_replay(&json!({"replays": []})), None);
        let answer = json!({"verdict": "refused", "counts": {"refused": 1}});
        let report = json!({"level": 0.01, "answers": [answer]});
        for (name, spoilt) in spoilt_processes(&report).expect("there is an answer to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_processes(&json!({"level": 0.01, "answers": []})), None);
        let comparison = json!({"verdict": "different", "sides": [{"runs": 1}, {"runs": 1}]});
        let report = json!({"machines": {}, "comparisons": [comparison]});
        for (name, spoilt) in spoilt_comparison(&report).expect("there is a comparison to spoil") {
            assert_ne!(spoilt, report, "{name}");
        }
        assert_eq!(spoilt_comparison(&json!({"machines": {}, "comparisons": []})), None);
    }
}
