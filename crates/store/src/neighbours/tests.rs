//! A tiny run, written for each neighbour.

use tenbin_model::{Cpu, Picoseconds, Share, VariantIndex};

use super::*;
use crate::specimens;

/// Two cells: one with two workers and names that need care, one of bytes without an operation in it.
fn tiny() -> Run {
    let first = Sample {
        variant: VariantIndex(0),
        iterations: 1_000,
        elapsed: Picoseconds(25_000_000),
        cpu: Cpu(1),
        user: Picoseconds::from_micros(25),
        shares: vec![
            Share { elapsed: Picoseconds(24_000_000), failures: 0 },
            Share { elapsed: Picoseconds(25_000_000), failures: 17 },
        ],
        ..Sample::default()
    };
    let second = Sample {
        order: 1,
        variant: VariantIndex(1),
        elapsed: Picoseconds(50_000_000),
        involuntary_switches: 2,
        ..first.clone()
    };
    let third = Sample { order: 2, block: 1, variant: VariantIndex(9), iterations: 0, ..second.clone() };
    let mut run = specimens::run_of(1, vec![vec![first, second, third]]);
    run.provenance.started = "2025-11-21T04:00:00Z".into();
    run.trials.truncate(1);
    let trial = &mut run.trials[0];
    trial.cells.truncate(1);
    trial.cells[0].arrangement.label = "at 2 threads, \"far\"".into();
    trial.cells[0].arrangement.cpus = vec![Cpu(0), Cpu(1)];
    trial.cells[0].arrangement.work = 2;
    trial.descriptor.variants[1].name = "lock/xadd".into();
    run
}

fn written(write: fn(&Run, &mut Vec<u8>) -> io::Result<()>, run: &Run) -> String {
    let mut out = Vec::new();
    write(run, &mut out).unwrap();
    String::from_utf8(out).unwrap()
}

#[test]
fn csv_has_a_row_for_every_epoch() {
    let expected = "\
experiment,cell,variant,order,block,iterations,work,elapsed_ps,ns_per_operation,cpu,user_ps,system_ps,voluntary_switches,involuntary_switches,share_elapsed_ps,share_failures\r
atomics,\"at 2 threads, \"\"far\"\"\",lock xadd,0,0,1000,2,25000000,12.5,1,25000000,0,0,0,24000000;25000000,0;17\r
atomics,\"at 2 threads, \"\"far\"\"\",lock/xadd,1,0,1000,2,50000000,25,1,25000000,0,0,2,24000000;25000000,0;17\r
atomics,\"at 2 threads, \"\"far\"\"\",9,2,1,0,2,50000000,,1,25000000,0,0,2,24000000;25000000,0;17\r
";
    assert_eq!(written(csv, &tiny()), expected);
}

/// A run that an older tenbin kept has no such column; where one has it, an epoch that was not counted has an
/// empty field.
#[test]
fn csv_has_a_column_for_each_metric_that_was_counted() {
    let mut run = tiny();
    run.trials[0].cells[0].samples[1].minor_faults = Some(3);
    let text = written(csv, &run);
    let last = |line: &str| line.trim_end().rsplit(',').next().unwrap().to_owned();
    let expected = ["minor_faults", "", "3", ""];
    assert_eq!(text.lines().map(last).collect::<Vec<_>>(), expected, "{text}");
}

#[test]
fn go_benchmark_has_a_line_an_epoch_and_a_name_a_variant() {
    let expected = "\
goos: linux
goarch: amd64
cpu: AMD EPYC
BenchmarkAtomics/cell=at_2_threads,far/variant=lock_xadd-2 2000 12.5 ns/op
BenchmarkAtomics/cell=at_2_threads,far/variant=lock_xadd_2-2 2000 25 ns/op
";
    assert_eq!(written(go_benchmark, &tiny()), expected);
}

#[test]
fn go_benchmark_says_bytes_in_a_second_where_bytes_are_counted() {
    let mut run = tiny();
    run.trials[0].descriptor.quantity = Quantity::BytesPerSecond;
    run.trials[0].cells[0].arrangement.work = 8192;
    run.trials[0].cells[0].samples.truncate(1);
    let text = written(go_benchmark, &run);
    // 1000 × 8192 bytes in 25 µs.
    assert!(text.ends_with("variant=lock_xadd-2 1000 25 ns/op 327680 MB/s\n"), "{text}");
}

#[test]
fn go_benchmark_gives_lateness_a_unit_of_its_own() {
    let mut run = tiny();
    run.trials[0].descriptor.quantity = Quantity::Lateness;
    let text = written(go_benchmark, &run);
    assert!(text.contains("\nUnit ns-late/op better=lower\n"), "{text}");
    assert!(text.contains(" 12.5 ns-late/op\n") && !text.contains(" ns/op"), "{text}");
}

#[test]
fn google_benchmark_counts_repetitions() {
    let expected = r#"{
  "context": {
    "date": "2025-11-21T04:00:00Z",
    "executable": "tenbin",
    "tenbin_version": "0.1.0",
    "cpu_model": "AMD EPYC",
    "num_cpus": 0,
    "cpu_scaling_enabled": null,
    "load_avg": [
      1.37
    ],
    "json_schema_version": 1
  },
  "benchmarks": [
    {
      "name": "atomics/at 2 threads, \"far\"/lock xadd",
      "family_index": 0,
      "per_family_instance_index": 0,
      "run_name": "atomics/at 2 threads, \"far\"/lock xadd",
      "run_type": "iteration",
      "repetitions": 2,
      "repetition_index": 0,
      "threads": 2,
      "iterations": 1000,
      "real_time": 12.5,
      "cpu_time": 12.5,
      "time_unit": "ns"
    },
    {
      "name": "atomics/at 2 threads, \"far\"/lock xadd",
      "family_index": 0,
      "per_family_instance_index": 0,
      "run_name": "atomics/at 2 threads, \"far\"/lock xadd",
      "run_type": "iteration",
      "repetitions": 2,
      "repetition_index": 1,
      "threads": 2,
      "iterations": 1000,
      "real_time": 25.0,
      "cpu_time": 12.5,
      "time_unit": "ns"
    }
  ]
}
"#;
    let mut run = tiny();
    run.trials[0].cells[0].samples[1].variant = VariantIndex(0);
    assert_eq!(written(google_benchmark, &run), expected);
}

#[test]
fn json_reads_back_as_the_run() {
    let run = tiny();
    let text = written(json, &run);
    assert_eq!(serde_json::from_str::<Run>(&text).unwrap(), run);
    let value: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(value["schema"], "tenbin-run-1");
}

#[test]
fn names_are_made_safe_and_stay_apart() {
    assert_eq!(go_name("lock cmpxchg/a=b\tc"), "lock_cmpxchg_a_b_c");
    let name = go_name("in case A (8 KiB, which fits into L1) on CPU 0");
    assert_eq!(name, "in_case_A_8_KiB,which_fits_into_L1_on_CPU_0");
    assert_eq!(go_name(""), "_");
    assert_eq!(go_name("()"), "_");
    assert_eq!(distinct(["a", "a", "a_2", "b"].map(String::from).into_iter()), ["a", "a_2", "a_2_2", "b"]);
    assert_eq!(csv_field("a\nb"), "\"a\nb\"");
}
