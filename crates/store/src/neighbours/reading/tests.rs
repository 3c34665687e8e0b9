use std::fs;

use tempfile::TempDir;

use super::*;

/// What `text` in a file of this name is read as.
fn of(name: &str, text: &str) -> Result<Run, String> {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join(name);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(&path, text).unwrap();
    let at = folder.path().display().to_string();
    read(&[path]).map_err(|wrong| wrong.to_string().replace(&at, "F"))
}

/// Each benchmark with its iterations and picoseconds.
fn samples(run: &Run) -> Vec<(String, Vec<(u64, u64)>)> {
    let trial = &run.trials[0];
    let of = |variant: VariantIndex| {
        let all = trial.cells.iter().flat_map(|cell| &cell.samples);
        all.filter(|sample| sample.variant == variant)
            .map(|sample| (sample.iterations, sample.elapsed.0))
            .collect()
    };
    trial.descriptor.numbered_variants().map(|(index, variant)| (variant.name.clone(), of(index))).collect()
}

fn named(name: &str, samples: &[(u64, u64)]) -> (String, Vec<(u64, u64)>) {
    (name.into(), samples.to_vec())
}

#[test]
fn hyperfine_has_a_sample_a_run() {
    let text = r#"{"results": [
        {"command": "sleep {n}", "mean": 0.5, "stddev": null, "median": 0.5, "user": 0.1, "system": 0.2, "min": 0.5,
         "max": 0.5, "times": [0.5, 0.25], "memory_usage_byte": [4096, 8192], "exit_codes": [0, null],
         "parameters": {"n": "1"}},
        {"command": "sleep {n}", "mean": 1, "stddev": 0.1, "times": [1], "exit_codes": [3],
         "parameters": {"n": "2"}},
        {"command": "old", "mean": 1, "times": [2]},
        {"command": "cut", "mean": 1.5, "stddev": 0.5}]}"#;
    let run = of("a.json", text).unwrap();
    assert_eq!(
        samples(&run),
        [
            named("sleep {n} (n = 1)", &[(1, 500_000_000_000), (1, 250_000_000_000)]),
            named("sleep {n} (n = 2)", &[(1, 1_000_000_000_000)]),
            named("old", &[(1, 2_000_000_000_000)])
        ]
    );
    let trial = &run.trials[0];
    let all = &trial.cells[0].samples;
    assert_eq!((all[1].peak_memory, all[1].exit_status, all[1].block), (Some(8192), None, 1));
    assert_eq!((all[2].exit_status, all[2].block, all[2].order), (Some(3), 0, 2));
    assert_eq!(trial.cells[0].arrangement.comparisons.len(), 3);
    assert_eq!(trial.findings[0].sentence, "`cut`: mean 1.50 s, standard deviation 500 ms.");
    assert!(run.is_imported() && trial.refusal.is_none());
}

#[test]
fn google_benchmark_has_a_sample_a_repetition() {
    let entry = |name: &str, kind: &str, rest: &str| {
        format!(
            r#"{{"name": "{name}", "run_name": "BM_a/8", "run_type": "{kind}", "iterations": 1000, {rest}}}"#
        )
    };
    let text = format!(
        r#"{{"context": {{"date": "2024-01-02T03:04:05+00:00", "load_avg": []}}, "benchmarks": [{}, {}, {}, {}, {}, {}]}}"#,
        entry("BM_a/8", "iteration", r#""real_time": 1.5, "cpu_time": 1.25, "time_unit": "us""#),
        entry("BM_a/8", "iteration", r#""real_time": 2.5, "cpu_time": 2.25, "time_unit": "us""#),
        entry(
            "BM_a/8_mean",
            "aggregate",
            r#""aggregate_name": "mean", "real_time": 2, "cpu_time": 1, "time_unit": "us""#
        ),
        r#"{"name": "BM_old", "iterations": 7, "real_time": 3, "cpu_time": 3, "time_unit": "ns"}"#,
        r#"{"name": "BM_a_BigO", "run_name": "BM_a", "run_type": "aggregate", "aggregate_name": "BigO", "big_o": "N"}"#,
        r#"{"name": "BM_b", "iterations": 0, "skipped": true, "skip_message": "no device"}"#,
    );
    let run = of("g.json", &text).unwrap();
    let old = named("BM_old", &[(7, 21_000)]);
    assert_eq!(samples(&run), [named("BM_a/8", &[(1000, 1_500_000_000), (1000, 2_500_000_000)]), old]);
    assert_eq!(run.trials[0].cells[0].samples[0].user, Picoseconds(1_250_000_000));
    assert_eq!(run.provenance.version, "Google Benchmark");
    assert_eq!(&run.provenance.started[..10], "2024-01-02");
}

#[test]
fn go_has_a_sample_a_line() {
    let text = "\
goos: linux
goarch: amd64
pkg: example.org/x
cpu: AMD EPYC
BenchmarkFib
BenchmarkFib-8   \t     100\t        12.5 ns/op\t  3 B/op
BenchmarkFib-8   \t     200\t        13 ns/op
BenchmarkRate-8 10 3.5 MB/s
PASS
";
    let run = of("bench.txt", text).unwrap();
    assert_eq!(samples(&run), [named("Fib-8", &[(100, 1_250_000), (200, 2_600_000)])]);
    assert_eq!(run.machine.architecture, "x86_64");
    assert_eq!(run.machine.cpu_model.known().unwrap(), "AMD EPYC");
    assert_eq!(run.trials[0].findings[0].sentence, "`Rate-8`: 3.5 MB/s, and no ns/op.");
    // Appended by a loop it has the package again, and is no other one.
    let again = of("bench.txt", &text.repeat(2)).unwrap();
    assert_eq!(samples(&again)[0].0, "Fib-8");
}

#[test]
fn pyperf_has_a_sample_a_value() {
    let text = r#"{"version": "1.0", "metadata": {"loops": 4, "unit": "second"}, "benchmarks": [
        {"metadata": {"name": "json_dumps"}, "runs": [
            {"warmups": [[1, 0.5]], "metadata": {"loops": 1}},
            {"values": [0.5, 0.25], "metadata": {"date": "2024-01-02 03:04:05", "inner_loops": 10}},
            {"values": [1]}]}]}"#;
    let run = of("p.json", text).unwrap();
    let times = [(40, 20_000_000_000_000), (40, 10_000_000_000_000), (4, 4_000_000_000_000)];
    assert_eq!(samples(&run), [named("json_dumps", &times)]);
    assert_eq!(run.provenance.started, "2024-01-02 03:04:05");
}

#[test]
fn criterion_is_named_by_the_file_beside_it_or_its_folder() {
    let text = r#"{"sampling_mode": "Linear", "iters": [10.0, 20.0], "times": [125.5, 250.0]}"#;
    let run = of("fib 20/new/sample.json", text).unwrap();
    assert_eq!(samples(&run), [named("fib 20", &[(10, 125_500), (20, 250_000)])]);
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("benchmark.json"), r#"{"group_id": "g", "full_id": "g/fib"}"#).unwrap();
    fs::write(folder.path().join("sample.json"), text).unwrap();
    let run = read(&[folder.path().join("sample.json")]).unwrap();
    assert_eq!(samples(&run)[0].0, "g/fib");
}

#[test]
fn means_alone_are_figures_and_a_refusal() {
    let estimates = r#"{"mean": {"point_estimate": 12.5}, "std_dev": {"point_estimate": 1.0}}"#;
    let aggregate = r#"{"context": {}, "benchmarks": [{"name": "a_mean", "run_name": "a", "run_type": "aggregate",
        "aggregate_name": "mean", "iterations": 3, "real_time": 2, "cpu_time": 1, "time_unit": "ms"}]}"#;
    let csv = "command,mean,stddev,median,user,system,min,max\n\"a, \"\"b\"\"\",0.5,0.1,0,0,0,0,0\n";
    for (name, text, sentence) in [
        ("fib/new/estimates.json", estimates, "`fib`: mean 12.5 ns, standard deviation 1.00 ns."),
        ("a.json", aggregate, "`a`: mean 2.00 ms."),
        ("a.csv", csv, "`a, \"b\"`: mean 500 ms, standard deviation 100 ms."),
    ] {
        let run = of(name, text).unwrap();
        let trial = &run.trials[0];
        assert_eq!(trial.findings[0].sentence, sentence);
        assert!(trial.cells.is_empty() && trial.refusal.is_some(), "{name}");
    }
}

#[test]
fn what_is_wrong_is_named_with_its_place() {
    for (text, wrong) in [
        ("", "F/x: it is in none of the known formats"),
        ("hello\n", "it is in none of the known formats"),
        ("{\"a\": 1}", "it is in none of the known formats"),
        ("SQLite format 3\0", "it is in none of the known formats"),
        ("{\"results\": [", "F/x: EOF while parsing a list at line 1 column 13"),
        ("{\"results\": []}", "a file of hyperfine and holds no benchmark"),
        ("{\"results\": [{\"times\": [1]}]}", "missing field `command` at line 1"),
        (r#"{"results": [{"command": "a", "times": [1, -2]}]}"#, "results[0].times[1]: -2 s is not a time"),
        (r#"{"iters": [1], "times": [1, 2]}"#, "1 iters and 2 times"),
        (r#"{"iters": [0], "times": [1]}"#, "iters[0], times[0]: no iterations"),
        (
            r#"{"context": {}, "benchmarks": [{"name": "a", "real_time": 1, "time_unit": "h"}]}"#,
            "benchmarks[0] (`a`): time_unit is h",
        ),
        (
            r#"{"benchmarks": [{"metadata": {"name": "a", "unit": "byte"}, "runs": [{"values": [1]}]}]}"#,
            "benchmarks[0]: its values are bytes",
        ),
        (r#"{"benchmarks": [{"runs": [{"values": [1]}]}]}"#, "benchmarks[0].metadata: no name"),
        ("BenchmarkA 10 x ns/op\n", "line 1: x is not a time"),
    ] {
        let message = of("x", text).unwrap_err();
        assert!(message.contains(wrong), "{text}: {message}");
    }
    assert!(matches!(read(&["/nowhere/x".into()]), Err(Unread::Io { .. })));
    assert!(matches!(read(&["/".into()]), Err(Unread::Unknown(_))));
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("large");
    // A hole, which takes no room.
    File::create(&path).unwrap().set_len(LARGEST + 1).unwrap();
    assert!(matches!(read(&[path]), Err(Unread::TooLarge(_))));
}

#[test]
fn several_files_are_one_run_whose_names_say_which() {
    let folder = TempDir::new().unwrap();
    let paths = ["before.txt", "after.txt"].map(|name| folder.path().join(name));
    for (path, time) in paths.iter().zip([1, 2]) {
        fs::write(path, format!("BenchmarkA 10 {time} ns/op\n")).unwrap();
    }
    let run = read(&paths).unwrap();
    let names = samples(&run).into_iter().map(|(name, _)| name);
    let expected = paths.iter().map(|path| format!("A [{}]", path.display()));
    assert_eq!(names.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
    assert_eq!(run.trials[0].cells[0].arrangement.comparisons.len(), 1);
}

#[test]
fn what_is_in_several_files_is_weighed_from_file_to_file() {
    let folder = TempDir::new().unwrap();
    let paths = ["before.txt", "after.txt"].map(|name| folder.path().join(name));
    for (path, names) in paths.iter().zip([["A", "B", "C", "OnlyBefore"], ["C", "A", "B", "OnlyAfter"]]) {
        let lines = names.map(|name| format!("Benchmark{name} 10 1 ns/op\n"));
        fs::write(path, lines.concat()).unwrap();
    }
    let run = read(&paths).unwrap();
    let trial = &run.trials[0];
    let name = |variant: VariantIndex| trial.descriptor[variant].name.split(' ').next().unwrap();
    let pairs = trial.cells[0].arrangement.comparisons.iter();
    let pairs: Vec<_> = pairs.map(|pair| (name(pair.left), name(pair.right))).collect();
    assert_eq!(pairs, [("A", "A"), ("B", "B"), ("C", "C")]);
}

#[test]
fn an_imported_run_is_kept_and_comes_back() {
    let folder = TempDir::new().unwrap();
    let mut store = crate::Store::open(&folder.path().join("store.db")).unwrap();
    let run = of("x", "BenchmarkA 10 1 ns/op\nBenchmarkB 10 2 ns/op\n").unwrap();
    let id = store.keep_as(&run, None).unwrap();
    assert_eq!(store.load(&id).unwrap(), run);
}

#[test]
fn csv_has_a_column_a_side_or_a_row_a_sample() {
    let wide = of("a.csv", "# mine\nold_ms, new [ms],third (us)\n2,1.5,7\n2.5,,8\n").unwrap();
    let picoseconds = |ms: f64| (1, (ms * 1e9) as u64);
    let old = named("old", &[picoseconds(2.0), picoseconds(2.5)]);
    let third = named("third", &[picoseconds(0.007), picoseconds(0.008)]);
    assert_eq!(samples(&wide), [old, named("new", &[picoseconds(1.5)]), third]);
    let long = of("a.csv", "name,ns\nadd,7.25\nswap,0.5\nadd,8\n").unwrap();
    let add = named("add", &[(1000, 7_250_000), (1000, 8_000_000)]);
    assert_eq!(samples(&long), [add, named("swap", &[(1000, 500_000)])]);
    let cores = of("a.csv", "core,value\n0,1.5\n1,2\n").unwrap();
    let seconds = |core, picoseconds| named(core, &[(1, picoseconds)]);
    let expected = [seconds("core 0", 1_500_000_000_000), seconds("core 1", 2_000_000_000_000)];
    assert_eq!(samples(&cores), expected);
    assert_eq!(cores.provenance.version, "CSV");
}

#[test]
fn wrong_csv_names_line_and_column() {
    for (text, wrong) in [
        ("a,b\n1,2\n1,x\n", "F/a.csv: line 3, column `b`: `x` is not a number above 0"),
        ("name,ns\nadd,-1\n", "F/a.csv: line 2, column `ns`: `-1` is not a number above 0"),
        ("name,ns\n,1\n", "F/a.csv: line 2, column `name`: nothing is named here"),
        ("a,b\n1,2,3\n", "F/a.csv: line 2: 3 fields below 2 titles"),
        ("a,a\n1,2\n", "F/a.csv: line 1: two columns have the title `a`"),
        (
            "a,b\n1,1e30\n",
            "F/a.csv: line 2, column `b`: 1000000000000000000000000000000 is no time in the unit of its title",
        ),
    ] {
        assert_eq!(of("a.csv", text).unwrap_err(), wrong);
    }
    // Without titles it is no table of ours.
    assert!(of("a.csv", "1,2\n3,4\n").unwrap_err().contains("none of the known formats"));
}
