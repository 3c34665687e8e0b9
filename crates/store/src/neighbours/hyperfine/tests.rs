use tenbin_model::{AnalysisName, Arrangement, Cell, Picoseconds, Quantity, VariantIndex};

use super::*;
use crate::specimens;

/// Three runs of one command and one of another, whose tables say a value that its words do not have.
fn weighed() -> Run {
    let sample = |variant: u32, millis: u64, status: u64| Sample {
        variant: VariantIndex(variant),
        iterations: 1,
        elapsed: Picoseconds::from_millis(millis),
        user: Picoseconds::from_millis(millis / 2),
        system: Picoseconds::from_millis(1),
        peak_memory: Some(4096),
        exit_status: Some(status),
        ..Sample::default()
    };
    let mut run = specimens::small_run(1);
    run.trials.truncate(1);
    let trial = &mut run.trials[0];
    trial.descriptor.name = "weigh".into();
    trial.descriptor.analysis = AnalysisName::from("commands");
    trial.descriptor.quantity = Quantity::WallTime;
    trial.descriptor.parameters = Vec::new();
    trial.descriptor.variants = vec![
        Variant::measured("sort a | uniq, \"b\"", "sort a | uniq, \"b\""),
        Variant {
            parameters: vec![("n".into(), "3".into()), ("a".into(), "x".into())],
            ..Variant::measured("quick (n = 3, a = x)", "quick")
        },
        Variant::sabotage("a command that fails", "it ends with another status than 0"),
    ];
    let samples = vec![sample(0, 10, 0), sample(1, 4, 265), sample(0, 14, 1), sample(0, 12, 0)];
    trial.cells = vec![Cell { samples, ..Cell::unmeasured(Arrangement::default()) }];
    run
}

fn written(run: &Run, write: fn(&Results<'_>, &mut Vec<u8>) -> io::Result<()>) -> String {
    let mut out = Vec::new();
    write(&Results::of(run).unwrap(), &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn json_has_every_run_in_the_order_of_the_commands() {
    let expected = r#"{
  "results": [
    {
      "command": "sort a | uniq, \"b\"",
      "mean": 0.012,
      "stddev": 0.002,
      "median": 0.012,
      "user": 0.006,
      "system": 0.001,
      "min": 0.01,
      "max": 0.014,
      "times": [
        0.01,
        0.014,
        0.012
      ],
      "memory_usage_byte": [
        4096,
        4096,
        4096
      ],
      "exit_codes": [
        0,
        1,
        0
      ]
    },
    {
      "command": "quick",
      "mean": 0.004,
      "stddev": null,
      "median": 0.004,
      "user": 0.002,
      "system": 0.001,
      "min": 0.004,
      "max": 0.004,
      "times": [
        0.004
      ],
      "memory_usage_byte": [
        4096
      ],
      "exit_codes": [
        137
      ],
      "parameters": {
        "a": "x",
        "n": "3"
      }
    }
  ]
}
"#;
    assert_eq!(written(&weighed(), |results, out| results.json(out)), expected);
}

#[test]
fn csv_has_a_column_for_each_parameter_and_quotes_where_needed() {
    let expected = "\
command,mean,stddev,median,user,system,min,max,parameter_a,parameter_n
\"sort a | uniq, \"\"b\"\"\",0.012,0.002,0.012,0.006,0.001,0.01,0.014,,
quick,0.004,0,0.004,0.002,0.001,0.004,0.004,x,3
";
    assert_eq!(written(&weighed(), |results, out| results.csv(out)), expected);
}

#[test]
fn tables_are_aligned_as_each_format_has_it() {
    let markdown = "\
| Command | Mean [ms] | Min [ms] | Max [ms] | Relative |
|:---|---:|---:|---:|---:|
| `sort a \\| uniq, \"b\"` | 12.0 ± 2.0 | 10.0 | 14.0 | 3.00 |
| `quick (n = 3, a = x)` | 4.0 | 4.0 | 4.0 | 1.00 |
";
    assert_eq!(written(&weighed(), |results, out| results.markdown(out)), markdown);
    // A dot stands for the space at the end of a line.
    let asciidoc = "\
[cols=\"<,>,>,>,>\"]
|===
| Command·
| Mean [ms]·
| Min [ms]·
| Max [ms]·
| Relative·

| `sort a \\| uniq, \"b\"`·
| 12.0 ± 2.0·
| 10.0·
| 14.0·
| 3.00·

| `quick (n = 3, a = x)`·
| 4.0·
| 4.0·
| 4.0·
| 1.00·
|===
";
    assert_eq!(written(&weighed(), |results, out| results.asciidoc(out)), asciidoc.replace('·', " "));
    let orgmode = "\
| Command  |  Mean [ms] |  Min [ms] |  Max [ms] |  Relative |
|--+--+--+--+--|
| =sort a \\| uniq, \"b\"=  |  12.0 ± 2.0 |  10.0 |  14.0 |  3.00 |
| =quick (n = 3, a = x)=  |  4.0 |  4.0 |  4.0 |  1.00 |
";
    assert_eq!(written(&weighed(), |results, out| results.orgmode(out)), orgmode);
}

#[test]
fn tables_follow_unit_order_and_reference_of_the_run() {
    let mut run = weighed();
    let set = |name, value| Parameter::new(name, value, "");
    run.trials[0].descriptor.parameters =
        vec![set(Parameter::TIME_UNIT, "second"), set(Parameter::ORDER, "time")];
    // A second run: now both have a deviation.
    let mut slower = run.trials[0].cells[0].samples[1].clone();
    slower.elapsed = Picoseconds::from_millis(6);
    run.trials[0].cells[0].samples.push(slower);
    let are = |run: &Run, relative: [&str; 2]| {
        let text = written(run, |results, out| results.markdown(out));
        let lines: Vec<&str> = text.lines().skip(2).map(|line| line.rsplit('`').next().unwrap()).collect();
        let times = ["0.005 ± 0.001 | 0.004 | 0.006", "0.012 ± 0.002 | 0.010 | 0.014"];
        assert_eq!(lines, [0, 1].map(|place| format!(" | {} | {} |", times[place], relative[place])));
    };
    are(&run, ["1.00", "2.40 ± 0.79"]);
    run.trials[0].descriptor.parameters.push(set(Parameter::REFERENCE, "sort"));
    are(&run, ["0.42 ± 0.14", "1.00"]);
}

#[test]
fn names_are_those_that_were_given() {
    let named = |name: &str, what: &str| {
        let parameters = vec![("n".into(), "3".into()), ("m".into(), "(4)".into())];
        plain_name(&Variant { parameters, ..Variant::measured(name, what) }).to_owned()
    };
    assert_eq!(named("true (2)", "true"), "true");
    assert_eq!(named("true (n = 3, m = (4))", "true"), "true");
    assert_eq!(named("a (b) (m = (4))", "true"), "a (b)");
    assert_eq!(named("true (quick)", "true"), "true (quick)");
    assert_eq!(named("true ()", "true"), "true ()");
    assert_eq!(named("short", "sleep 3"), "short");
}

#[test]
fn a_run_of_something_else_is_named() {
    let other = specimens::small_run(1);
    let why = Results::of(&other).unwrap_err().to_string();
    assert!(why.contains("`atomics") && why.contains("not of commands"), "{why}");
    let mut run = weighed();
    run.trials[0].cells[0].samples.clear();
    assert_eq!(Results::of(&run).unwrap_err(), NotOfCommands::Untimed);
}
