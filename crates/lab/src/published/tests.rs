//! What must hold for every published table, and for tables of a user's.

use std::fs;

use proptest::prelude::*;
use tenbin_model::{Report, Verdict};

use super::*;
use crate::EXPERIMENTS;
use crate::experiment::Experiment;

fn tables() -> impl Iterator<Item = (&'static Experiment<'static>, &'static Table)> {
    EXPERIMENTS
        .iter()
        .flat_map(|experiment| experiment.published.iter().map(move |table| (experiment, table)))
}

fn named(name: &str) -> &'static Experiment<'static> {
    EXPERIMENTS.iter().find(|experiment| (experiment.describe)().name == name).unwrap()
}

fn judged(run: &Run) -> Report {
    crate::analyses().report(run, None).report
}

/// What a user's own table holds about an experiment.
fn own(experiment: &Experiment<'_>, text: &str) -> Result<Run, String> {
    read(&(experiment.describe)(), experiment.formats, "own.csv", text)
}

fn wrong(name: &str, text: &str) -> String {
    own(named(name), text).unwrap_err()
}

/// One that nobody shows is a dead file.
#[test]
fn every_file_is_a_table_of_a_question_and_is_listed() {
    let listed = include_str!("../../../../docs/figures.md");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/published");
    let files: Vec<_> = fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    assert_eq!(files.len(), 8);
    for file in files {
        let name = file.file_name().unwrap().to_str().unwrap();
        let (experiment, table) = tables().find(|(_, table)| table.file == name).expect(name);
        assert_eq!(table.csv, fs::read_to_string(&file).unwrap());
        assert!(table.csv.starts_with("# source: "), "{name}: names no source");
        let row = format!("| `{name}` | `tenbin run {} --from published` |", (experiment.describe)().name);
        assert!(listed.contains(&row), "docs/figures.md: {row}");
        // A date is the source's, in its line of the table as well.
        let date = table.source.split_once(", ").unwrap().1.split(" (").next().unwrap();
        assert!(table.csv.lines().next().unwrap().contains(date), "{name}: {date}");
    }
}

#[test]
fn every_table_is_judged_and_claims_no_interval_it_cannot_have() {
    for (experiment, table) in tables() {
        let report = judged(&table.run(&(experiment.describe)(), experiment.formats));
        assert_eq!(report.answers.iter().filter(|answer| answer.headline).count(), 1, "{}", table.file);
        // The one table with repetitions enough; that of thrash is judged by a threshold, and says so.
        for answer in &report.answers {
            assert!(answer.evidence.is_none(), "{}: {}", table.file, answer.sentence);
            let is_judged = ["numa", "thrash"].contains(&answer.experiment.as_str());
            assert_eq!(answer.verdict != Verdict::Refused, is_judged, "{}: {}", table.file, answer.sentence);
        }
        let is_derived = table.file != "fibdrv.csv";
        assert_eq!(!(table.claims)(&table.rows()).is_empty(), is_derived, "{}", table.file);
    }
}

/// Contradictions are computed: with another figure in the table there is another one.
#[test]
fn a_wrong_figure_in_a_table_is_seen() {
    for (file, right, wrong, contradiction) in [
        ("yes.csv", "write 8 KiB,5.347", "write 8 KiB,5.447", "x21.5 (Ryzen): 114.938 / 5.447 = 21.1"),
        (
            "atomics_sg2038.csv",
            "35676085",
            "36676085",
            "1.45 % of branches missed: 100 * 36676085 / 2455506052 = 1.494",
        ),
        (
            "faults_sg2038.csv",
            "22776",
            "23776",
            "2.046 context switches/s: 23776 / (11134377.19 / 1000) = 2.1354",
        ),
        (
            "numa_sc2a11.csv",
            "repeat,17,37.841875",
            "repeat,17,38.841875",
            "within about 1 of each other: 38.841875 - 36.824337 = 2.02",
        ),
        (
            "thrash_ryzen1800x.csv",
            "0.625,14.70",
            "0.625,4.70",
            "in case B over 10x (CPUs 0,4): 4.70 / 0.625 = 7.52",
        ),
        ("wsl_vm.csv", "real,s,254,", "real,s,255,", "waits 154.2 s (WSL): 255 - 4.70 - 95.1 = 155.2"),
        ("fibdrv_perf.csv", "29.81", "29.91", "59.11 % of the samples: 29.91 + 29.30 = 59.21"),
    ] {
        let (experiment, table) = tables().find(|(_, table)| table.file == file).unwrap();
        let evidence = |csv: &str| {
            let claims = (table.claims)(&rows(csv));
            claims::finding(&(experiment.describe)().name, table.source, &claims).unwrap().evidence
        };
        assert!(table.csv.contains(right), "{file}: {right}");
        let planted = table.csv.replacen(right, wrong, 1);
        let contradicts = |csv: &str| {
            let evidence = evidence(csv);
            evidence.lines().any(|line| line.starts_with("Does not hold") && line.contains(contradiction))
        };
        assert!(!contradicts(table.csv), "{file}");
        assert!(contradicts(&planted), "{file}: {}", evidence(&planted));
    }
}

/// A published table is no other form than a user's.
#[test]
fn the_same_text_from_a_file_is_judged_alike() {
    for (experiment, table) in tables().filter(|(_, table)| table.unweighed.is_none()) {
        let [own, published] =
            [own(experiment, table.csv).unwrap(), table.run(&(experiment.describe)(), experiment.formats)]
                .map(|run| judged(&run));
        let verdicts = |report: &Report| {
            let verdict = |answer: &tenbin_model::Answer| (answer.verdict, answer.figures.clone());
            report.answers.iter().map(verdict).collect::<Vec<_>>()
        };
        assert_eq!(verdicts(&own), verdicts(&published), "{}", table.file);
    }
}

/// Readers of two nodes in the memory of two homes, far ones half as slow again.
#[test]
fn a_matrix_of_ones_own_is_judged() {
    let mut text = String::from("reader,home,ns,buffer_mib,last_cache_mib\n");
    for block in 0..8 {
        for (reader, home) in (0..8).flat_map(|reader| [0, 1, 4, 5].map(|home| (reader, home))) {
            let far = if (reader < 4) == (home < 4) { 80.0 } else { 120.0 };
            let noise = f64::from((reader * 7 + home * 3 + block * 5) % 11) * 0.02;
            text.push_str(&format!("{reader},{home},{},256,16\n", far + noise));
        }
    }
    let report = judged(&own(named("numa"), &text).unwrap());
    let answer = &report.answers[0];
    assert_eq!(answer.verdict, Verdict::Different, "{}", answer.sentence);
    assert!(answer.sentence.contains("A buffer holds 256 MiB; from 64 MiB on no cache helps."), "{answer:?}");
}

/// Pairs of eight CPUs, four to a last cache, six times; a second protocol's rows would be another table.
fn lines(far: f64) -> String {
    let mut text = String::from("one,other,ns,one_l3,other_l3\n");
    for block in 0..6_u32 {
        for (one, other) in (0..8_u32).flat_map(|one| (one + 1..8).map(move |other| (one, other))) {
            let time = if one / 4 == other / 4 { 30.0 } else { far };
            let noise = f64::from((one * 7 + other * 3 + block * 5) % 11) * 0.05;
            text.push_str(&format!("{one},{other},{},a{},a{}\n", time + noise, one / 4, other / 4));
        }
    }
    text
}

#[test]
fn pairs_of_cpus_fall_into_the_classes_of_the_table() {
    let answer = |text: &str| judged(&own(named("c2c"), text).unwrap()).answers.swap_remove(0);
    let far = answer(&lines(90.0));
    assert_eq!(far.verdict, Verdict::Different, "{}", far.sentence);
    assert!(far.sentence.contains("that share one L3 (12 pairs)"), "{}", far.sentence);
    assert_eq!(answer(&lines(30.0)).verdict, Verdict::Equivalent);
    // What was measured once says nothing about what changed meanwhile.
    let once: String = lines(90.0).lines().take(29).map(|line| format!("{line}\n")).collect();
    let once = answer(&once);
    assert_eq!(once.verdict, Verdict::Refused);
    assert!(once.sentence.contains("Needs two or more measurements of a control pair"), "{}", once.sentence);
}

#[test]
fn the_knees_of_a_curve_of_ones_own_are_seen() {
    let mut text = String::from("bytes,ns\n");
    for block in 0..6_u64 {
        for (power, time) in
            (12..28).map(|power| (power, [1.0, 4.0, 80.0][usize::from(power > 15) + usize::from(power > 20)]))
        {
            text.push_str(&format!("{},{}\n", 1_u64 << power, time + 0.001 * (block * power % 7) as f64));
        }
    }
    let report = judged(&own(named("caches"), &text).unwrap());
    let sentences: Vec<&str> = report.answers.iter().map(|answer| answer.sentence.as_str()).collect();
    let sees = |knee: &str| sentences.iter().any(|sentence| sentence.contains(&format!("a knee at {knee}")));
    assert!(sees("32 KiB") && sees("1 MiB"), "{sentences:?}");
}

#[test]
fn repetitions_of_an_export_are_weighed() {
    let mut text = String::from("experiment,cell,variant,order,ns_per_operation\n");
    for order in 0..20 {
        for (variant, time) in [("lock xadd", 7.0), ("lock cmpxchg loop", 18.0)] {
            text.push_str(&format!(
                "atomics,at 2 threads,{variant},{order},{}\n",
                time + f64::from(order) * 0.01
            ));
        }
        text.push_str("null,elsewhere,left,0,1\n");
    }
    let report = judged(&own(named("atomics"), &text).unwrap());
    assert_eq!(report.answers.len(), 1);
    let answer = &report.answers[0];
    assert_eq!((answer.verdict, answer.cell.as_str()), (Verdict::Different, "at 2 threads"));
    assert!(answer.sentence.starts_with("`lock xadd` is 2.5"), "{}", answer.sentence);
}

#[test]
fn what_is_wrong_is_named_with_its_line_and_column() {
    const SERIES: &str = "series,index,ns_per_access";
    const CASES: &str = "case,buffer_kib,fits_in,cpus,private_s,shared_s";
    const THREADS: &str = "variant,threads,loops_per_thread,user_s";
    for (name, titles, rows, line, column, expected) in [
        ("numa", SERIES, "core,0,37.3\ncore,1,fast", 3, "ns_per_access", "`fast` is not a number above 0"),
        ("numa", SERIES, "kernel,0,37.3", 2, "series", "`kernel` is none of: core, repeat"),
        ("numa", "# mine\nreader,home,ns", "0,-1,3", 3, "home", "`-1` is no whole number"),
        ("numa", "reader,home,ns", "4096,0,3", 2, "reader", "there is no CPU 4096: the last is 4095 at most"),
        ("thrash", CASES, "A,8,L1d,0,1,2", 2, "cpus", "`0` is not two CPUs, as 0,4 is"),
        ("thrash", CASES, "A,8,L1d,\"0,4\",0,2", 2, "private_s", "`0` is not a number above 0"),
        ("calls", "cell,unit,wsl,vm", "open,ms,1,2", 2, "unit", "`ms` is none of: s, s total, min"),
        ("atomics", THREADS, "add,0,10,1", 2, "threads", "0 threads add nothing"),
        (
            "null",
            "cell,variant,ns_per_operation",
            "a,b,\na,b,0",
            3,
            "ns_per_operation",
            "`0` is not a number above 0",
        ),
    ] {
        let expected = format!("line {line}, column `{column}`: {expected}");
        assert_eq!(wrong(name, &format!("{titles}\n{rows}\n")), expected);
    }
    assert_eq!(wrong("null", "a,b\n1\n"), "line 2: 1 fields below 2 titles");
    assert_eq!(wrong("null", ""), "line 1: there is no line of titles");
    let unknown = wrong("numa", "core,ns\n0,3\n");
    assert!(
        unknown.starts_with(
            "the titles are core, ns; of `numa` a table has the titles series,index,ns_per_access ("
        ),
        "{unknown}"
    );
    let others = "experiment,cell,variant,ns_per_operation\nnull,a,b,1\n";
    assert_eq!(wrong("pipe", others), "no row is about `pipe`");
}

proptest! {
    /// No table makes a question fail otherwise than by a sentence, and what is read is judged.
    #[test]
    fn any_table_is_judged_or_refused(
        which in 0..EXPERIMENTS.len(), form in 0_usize..4,
        fields in prop::collection::vec(prop::sample::select(
            vec!["", "0", "1", "-1", "0,4", "1e300", "1e-300", "A", "L1d", "core", "repeat", "s", "x", "4095", "64", "37.3"]
        ), 1..60)
    ) {
        let experiment = &EXPERIMENTS[which];
        let all: Vec<&Format> = with_epochs(experiment.formats).collect();
        let titles = all[form % all.len()].titles;
        let mut text = titles.join(",");
        for row in fields.chunks_exact(titles.len()) {
            let row: Vec<String> = row.iter().map(|field| format!("\"{field}\"")).collect();
            text.push_str(&format!("\n{}", row.join(",")));
        }
        if let Ok(run) = own(experiment, &text) {
            let reported = crate::analyses().report(&run, None);
            prop_assert!(!reported.report.answers.is_empty());
            prop_assert!(!reported.sheets[0].text(80).is_empty());
        }
    }
}
