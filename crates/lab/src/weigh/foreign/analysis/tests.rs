use tenbin_model::{Arrangement, Effort, Provenance, Quantity, Run, Sample, Variant};

use super::*;

/// Times in milliseconds of each benchmark, one after the other.
fn report(benchmarks: &[&[f64]]) -> (Vec<Answer>, String) {
    let names = ["a", "b", "c", "d", "e"];
    let samples = benchmarks.iter().enumerate().flat_map(|(variant, times)| {
        times.iter().map(move |&time| Sample {
            variant: variant.into(),
            iterations: 10,
            elapsed: Picoseconds((time * 1e10) as u64),
            ..Sample::default()
        })
    });
    let pairs = (1..benchmarks.len()).map(|other| (VariantIndex(0), VariantIndex::from(other)));
    let arrangement = Arrangement {
        variants: VariantIndex::range(0..benchmarks.len()),
        comparisons: Comparison::of(pairs),
        headline: true,
        ..Arrangement::default()
    };
    let cell = Cell { samples: samples.collect(), ..Cell::unmeasured(arrangement) };
    let descriptor = Descriptor {
        name: "weigh".into(),
        quantity: Quantity::WallTime,
        analysis: AnalysisName::from(AnalysisName::UNORDERED),
        variants: names.iter().map(|name| Variant::measured(name, name)).collect(),
        margin: 0.01,
        ..Descriptor::default()
    };
    let provenance = Provenance {
        version: "a tool".into(),
        build: None,
        started: "undated".into(),
        seed: 0,
        effort: Effort::Normal,
        arguments: Vec::new(),
    };
    let trial = Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() };
    let run = Run { provenance, machine: Machine::unobserved("a script"), trials: vec![trial] };
    let reported = crate::analyses().report(&run, None);
    (reported.report.answers, reported.sheets[0].text(100))
}

fn times(count: usize, around: f64) -> Vec<f64> {
    (0..count).map(|place| around * (1.0 + 0.001 * place as f64)).collect()
}

#[test]
fn a_difference_is_claimed_under_a_condition() {
    let (answers, text) = report(&[&times(10, 1.0), &times(12, 1.8)]);
    assert_eq!(answers[0].verdict, Verdict::Different);
    assert_eq!(
        answers[0].sentence,
        "`a` is 1.80x faster than `b` (1.79 to 1.81), as far as nothing changed between the runs of the one and of \
         the other: they were not interleaved, and their order is not known."
    );
    assert!(text.contains("  benchmark   median") && text.contains("samples"), "{text}");
    let evidence = answers[0].evidence.as_ref().unwrap();
    assert!(evidence.level <= 0.01 && evidence.blocks == 10 && evidence.detectable < 0.1, "{evidence:?}");
}

#[test]
fn what_lies_within_the_margin_is_the_same() {
    let (answers, _) = report(&[&times(12, 1.0), &times(12, 1.001)]);
    assert_eq!(answers[0].verdict, Verdict::Equivalent, "{}", answers[0].sentence);
    assert!(answers[0].sentence.contains("take the same time within 1 %"), "{}", answers[0].sentence);
    // Nothing varies at all: no interval has a width.
    let (answers, _) = report(&[&[1.0; 12], &[1.0; 12]]);
    assert_eq!(answers[0].verdict, Verdict::Equivalent, "{}", answers[0].sentence);
}

#[test]
fn what_cannot_be_known_says_what_is_missing() {
    let wide: Vec<f64> = (0..12).map(|place| 1.0 + 0.2 * f64::from(place % 4)).collect();
    for (benchmarks, words) in [
        (
            vec![times(4, 1.0), times(4, 2.0)],
            "`a` is 2.00x as fast as `b` by 4 of the one and 4 of the other, too few for an interval. Needs about 5 of each",
        ),
        (
            vec![vec![1.0], vec![2.0]],
            "`a` is 2.00x as fast as `b` by one figure a side, which says nothing about spread. Needs about 5 of each",
        ),
        (vec![times(4, 1.0)], "`a` is the only benchmark with samples"),
        (vec![vec![0.0; 9], times(9, 1.0)], "9 of 9 samples of `a` took no time"),
        (vec![wide.clone(), wide], "measure both again in turns"),
        // Each of several has its part of the level.
        (vec![times(5, 1.0), times(5, 2.0), times(5, 3.0)], "Needs about 6 of each, for 2 pairs"),
    ] {
        let slices: Vec<&[f64]> = benchmarks.iter().map(Vec::as_slice).collect();
        let (answers, _) = report(&slices);
        let sentence = answers[0].sentence.to_lowercase();
        assert!(
            answers[0].verdict == Verdict::Refused && sentence.contains(&words.to_lowercase()),
            "{sentence}"
        );
    }
}
