use std::path::Path;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_model::{
    Cell, ClaimOutcome, Ended, Gauge, JudgedClaim, Picoseconds, Reading, Sample, Trial, VariantIndex,
};

use super::*;
use crate::experiment::Unfit;
use crate::weigh::analysis::LEAST_PEAK;

fn read(text: &str) -> Result<Vec<AskedQuestion>, String> {
    let file = File { shown: "tenbin.toml", text, folder: Path::new("/") };
    file.read(&[]).map_err(|unfit| match unfit {
        Unfit::Usage(message) => message,
        other => panic!("{other:?}"),
    })
}

/// The one question of a file.
fn question(text: &str) -> AskedQuestion {
    read(text).unwrap().swap_remove(0)
}

/// A file with two commands and these claims.
fn of_two(claims: &[&str]) -> String {
    let claims = claims.iter().enumerate().map(|(place, claim)| format!("c{place} = \"{claim}\"\n"));
    format!(
        "[weigh.q]\ncommands = {{ new = \"true\", old = \"true\" }}\n[weigh.q.claims]\n{}",
        claims.collect::<String>()
    )
}

/// A file with a command that has a parameter, and this claim.
fn of_sizes(values: &str, claim: &str) -> String {
    format!("[weigh.q]\ncommands.new = \"true\"\nparameters.n = [{values}]\nclaims.c = \"{claim}\"\n")
}

#[test]
fn every_form_of_a_claim_is_understood() {
    let texts = [
        "new is at most 1 % slower than old",
        "new is at most 1% slower than old",
        "new is at most 5 % faster than old",
        "new is at least 5 % faster than old",
        "new is at least 2x faster than old",
        "new is at least 2 x slower than old",
        "new and old are the same",
        "new and old are the same within 0.5 %",
        "new needs at most 1 % more memory than old",
        "new needs at least 50 % less user time than old",
        "new needs at most 10 % less context switches than old",
        "new needs at least 10 % more page faults than old",
        "new uses at most 2 MiB",
        "new uses at most 1.5GiB",
        "new takes at most 20ms",
        "new takes at most 0.5 s",
    ];
    let question = question(&of_two(&texts));
    let descriptor = &question.weighing.as_ref().unwrap().descriptor;
    assert_eq!(Claims::of(descriptor).len(), texts.len());
    // Times, memory, user time, context switches and page faults of one pair, and a median.
    assert_eq!(CLAIMS.family(descriptor, 0), 6);
    for law in ["constant", "linear", "quadratic"] {
        read(&of_sizes("1, 2, 4", &format!("new is {law} in n"))).unwrap();
    }
}

#[test]
fn the_bounds_of_a_claim_are_those_of_its_words() {
    let questions = read(&of_two(&[])).map(drop);
    assert!(questions.is_err_and(|message| message.contains("nothing is claimed")));
    let words = Vocabulary {
        commands: vec!["a".into(), "b".into()],
        parameters: Vec::new(),
        quantities: vec![Quantity::WallTime],
        margin: 0.25,
        cycle: None,
    };
    let bounds = |text: &str| match Claim::read("c", text, &words).unwrap().kind {
        grammar::Kind::Ratio { one: 0, other: 1, allowed, .. } => (allowed.least, allowed.most),
        other => panic!("{other:?}"),
    };
    for (text, expected) in [
        ("a is at most 25 % slower than b", (None, Some(1.25))),
        ("a is at least 25 % slower than b", (Some(1.25), None)),
        ("a is at least 25 % faster than b", (None, Some(0.8))),
        ("a is at most 25 % faster than b", (Some(0.8), None)),
        ("a is at least 4x faster than b", (None, Some(0.25))),
        ("a is at most 4x slower than b", (None, Some(4.0))),
        ("a and b are the same", (Some(0.8), Some(1.25))),
        ("a needs at most 25 % more memory than b", (None, Some(1.25))),
        ("a needs at least 25 % less memory than b", (None, Some(0.75))),
        ("a needs at most 25 % less memory than b", (Some(0.75), None)),
    ] {
        assert_eq!(bounds(text), expected, "{text}");
    }
}

#[test]
fn a_claim_that_is_not_understood_says_what_is() {
    for (claim, wrong) in [
        ("new is quick", "is not understood. A claim is one of these"),
        ("new is at most 1 slower than old", "not understood"),
        ("new is at most -1 % slower than old", "not understood"),
        ("new is at most 1,5 % slower than old", "not understood"),
        ("new is at most 1 % slower than old or so", "not understood"),
        ("new uses at most 2 MB", "not understood"),
        ("newer uses at most 2 MiB", "no command `newer`; there are `new` and `old`"),
        ("new is at most 1 % slower than new", "one command twice"),
        ("new is at least 0.5x faster than old", "below 1x"),
        ("new needs at most 1 % more coffee than old", "`coffee` is nothing that commands need"),
        ("new needs at least 100 % less memory than old", "nothing"),
        ("new is linear in n", "no parameter `n`; this question has no parameters"),
    ] {
        let message = read(&of_two(&[claim])).map(drop).unwrap_err();
        assert!(message.contains(wrong) && message.starts_with("tenbin.toml:4: claim `c0`: "), "{message}");
    }
    for (values, wrong) in
        [("1, 1.5", "factor of 2"), ("0, 1", "not a number above 0"), ("'a', 1", "not a number")]
    {
        let message = read(&of_sizes(values, "new is linear in n")).map(drop).unwrap_err();
        assert!(message.contains(wrong) && message.starts_with("tenbin.toml:4:"), "{message}");
    }
}

#[test]
fn a_wrong_file_is_named_with_line_and_word() {
    let of = |lines: &str| {
        format!("[weigh.q]\ncommands.new = 'true'\n{lines}\nclaims.c = 'new takes at most 1 s'")
    };
    for (text, wrong) in [
        (of("comands.old = 'true'"), "tenbin.toml:3: unknown field `comands`, expected one of `commands`"),
        (of("within = '2 days'"), "tenbin.toml:3: `2 days`: it is a number with ms, s, min or h"),
        (of("level = '50%'"), "tenbin.toml:3: `50%`: it is a percentage from 0.01 to 20"),
        (
            of("within = 8"),
            "tenbin.toml:3: invalid type: integer `8`, expected a time in quotes, like \"8s\"",
        ),
        (of("margin = 0.5"), "expected a percentage in quotes, like \"2 %\""),
        (of("metrics = ['speed']"), "tenbin.toml:3: `speed`: it is wall,"),
        (of("runs = 0"), "tenbin.toml:3: "),
        (of("prepare = 3"), "tenbin.toml:3: invalid type: integer `3`, expected a command"),
        (of("ignore-failure = 'all'"), "expected true, false, or a list of statuses"),
        (of("prepare = { other = 'true' }"), "tenbin.toml:1: prepare names other"),
        (of("input = 'none-such'"), "there is no such file"),
        (of("within = "), "tenbin.toml:3: "),
        ("[weigh.q]\ncommands = { 'a b' = 'true' }".into(), "tenbin.toml:2: the command's name `a b`"),
        ("[weigh.q]\ncommands.a = 'none-such'\nclaims.c = 'a takes at most 1 s'".into(), "command not found"),
        ("[weigh]".into(), "no question"),
        ("[weight.q]".into(), "unknown field `weight`, expected `weigh`"),
        (String::new(), "missing field `weigh`"),
    ] {
        let message = read(&text).map(drop).unwrap_err();
        assert!(message.contains(wrong), "{text}: {message}");
    }
}

#[test]
fn commands_and_values_keep_the_order_of_the_file() {
    let text = "[weigh.z]\ncommands = { z = 'true', a = 'true' }\nparameters = { y = [2, 'x,y'], b = [0.5] }\n\
                ignore-failure = [1]\nclaims = { z = 'z takes at most 1 s', a = 'a takes at most 1 s' }\n\
                [weigh.a]\ncommands.b = 'true'\nclaims.c = 'b takes at most 1 s'";
    let questions = read(text).unwrap();
    assert_eq!(questions.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["z", "a"]);
    assert_eq!(questions[0].claims[0].0, "z");
    let variants = &questions[0].weighing.as_ref().unwrap().descriptor.variants;
    let names: Vec<&str> = variants.iter().map(|variant| variant.name.as_str()).collect();
    assert_eq!(
        names,
        ["z (y = 2, b = 0.5)", "a (y = 2, b = 0.5)", "z (y = x,y, b = 0.5)", "a (y = x,y, b = 0.5)"]
    );
}

/// One question, measured on a machine that is made up: `cost` is the median of each variant in nanoseconds,
/// around which each run lies by a log-normal factor.
fn trial(question: &AskedQuestion, cost: &dyn Fn(usize) -> f64, blocks: u32, seed: u64) -> Trial {
    const SPREAD: f64 = 0.02;
    let weighing = question.weighing.as_ref().unwrap();
    let descriptor = weighing.descriptor.clone();
    let mut cell = Cell::unmeasured(weighing.arrangement.clone());
    let family = CLAIMS.family(&descriptor, 0);
    let mut random = Pcg64Mcg::seed_from_u64(seed);
    for block in 0..blocks {
        let mut order: Vec<usize> = (0..cell.arrangement.variants.len()).collect();
        if random.random_bool(0.5) {
            order.reverse();
        }
        for &variant in order.iter().chain(order.iter().rev()) {
            // Box and Muller (1958).
            let radius = (-2.0 * (1.0 - random.random::<f64>()).ln()).sqrt();
            let normal = radius * (std::f64::consts::TAU * random.random::<f64>()).cos();
            cell.samples.push(Sample {
                order: cell.samples.len() as u32,
                block,
                variant: VariantIndex::from(variant),
                iterations: 1,
                elapsed: Picoseconds((cost(variant) * 1e3 * (SPREAD * normal).exp()).round() as u64),
                peak_memory: Some(if cell.samples.len() == 13 { 2 << 20 } else { 1 << 20 }),
                ..Sample::default()
            });
        }
        if CLAIMS.decided(&descriptor, family, &cell) {
            cell.ended = Some(Ended::Precision);
            break;
        }
    }
    cell.ended.get_or_insert(Ended::Budget);
    Trial { descriptor, refusal: None, cells: vec![cell], findings: Vec::new() }
}

/// The same, judged.
fn measured(
    question: &AskedQuestion,
    cost: &dyn Fn(usize) -> f64,
    blocks: u32,
    seed: u64,
) -> Vec<JudgedClaim> {
    judged(&trial(question, cost, blocks, seed)).claims
}

fn outcomes(text: &str, cost: &dyn Fn(usize) -> f64, blocks: u32) -> Vec<ClaimOutcome> {
    measured(&question(text), cost, blocks, 1).iter().map(|claim| claim.outcome).collect()
}

use ClaimOutcome::{Holds, NotDecided, Refuted};

#[test]
fn ratios_hold_are_refuted_or_stay_open() {
    let text = of_two(&[
        "new is at most 1 % slower than old",
        "new is at least 20 % faster than old",
        "old is at most 5 % slower than new",
        "new and old are the same within 1 %",
        "new is at least 1.25x faster than old",
    ]);
    // New takes 100, old 125 µs: the last claims are at their edge, or beyond it.
    let cost = |variant: usize| if variant == 0 { 100_000.0 } else { 125_000.0 };
    assert_eq!(outcomes(&text, &cost, 64), [Holds, Holds, Refuted, Refuted, NotDecided]);
    // With a handful of blocks nothing is known.
    assert_eq!(outcomes(&text, &cost, 4), [NotDecided; 5]);
}

#[test]
fn times_and_memory_are_held_against_what_is_claimed() {
    let text = of_two(&[
        "new takes at most 2 ms",
        "old takes at most 1 ms",
        "new takes at most 1.5 ms",
        "new uses at most 2 MiB",
        "old uses at most 1 MiB",
    ]);
    let cost = |_| 1_500_000.0;
    let known = outcomes(&text, &cost, 64);
    assert_eq!(&known[..3], [Holds, Refuted, NotDecided]);
    // One run, of either command, had 2 MiB.
    let claims = measured(&question(&text), &cost, 64, 1);
    assert_eq!(claims[3].outcome, Holds);
    assert!(claims[3].sentence.contains("that is what was seen, and no bound"), "{}", claims[3].sentence);
    let both = question(&of_two(&["new uses at most 1 MiB", "old uses at most 1 MiB"]));
    let refuted = measured(&both, &cost, 16, 1);
    let named: Vec<&str> =
        refuted.iter().filter(|it| it.outcome == Refuted).map(|it| it.sentence.as_str()).collect();
    assert!(matches!(named[..], [sentence] if sentence.starts_with("Refuted: run 7 of `")), "{named:?}");
    // Too few runs show nothing of memory.
    let few = measured(&question(&of_two(&["new uses at most 2 MiB"])), &cost, 9, 1);
    assert_eq!(few[0].outcome, NotDecided);
    assert!(few[0].needs.as_ref().unwrap().contains("20 runs"));
}

#[test]
fn memory_below_what_can_be_seen_is_not_decided() {
    let question = &read(&of_two(&["new uses at most 1 KiB", "new uses at most 3 MiB"])).unwrap()[0];
    let mut trial = trial(question, &|_| 1e6, 16, 1);
    let least = || Gauge {
        variant: VariantIndex(0),
        name: LEAST_PEAK.into(),
        reading: Reading::Count(f64::from(2 << 20)),
    };
    trial.cells[0].gauges.push(least());
    let claims = judged(&trial).claims;
    assert_eq!([claims[0].outcome, claims[1].outcome], [NotDecided, Holds]);
    assert!(claims[0].sentence.contains("the least that can be seen"), "{}", claims[0].sentence);
    // Nor is how it grows.
    let text = of_sizes("1, 2, 4, 8", "new is constant in n");
    let text = text.replacen("[weigh.q]", "[weigh.q]\nmetrics = ['memory']", 1);
    let question = &read(&text).unwrap()[0];
    let mut trial = self::trial(question, &|_| 1e6, 16, 1);
    assert_eq!(judged(&trial).claims[0].outcome, Holds);
    trial.cells[0].gauges.push(least());
    assert_eq!(judged(&trial).claims[0].outcome, NotDecided);
}

#[test]
fn an_iteration_of_instructions_is_many_of_them() {
    let question = &read(&of_two(&["new takes at most 3 ns"])).unwrap()[0];
    let mut trial = trial(question, &|_| 1024.0, 64, 1);
    assert_eq!(judged(&trial).claims[0].outcome, Refuted);
    trial.cells[0].arrangement.work = 512;
    assert_eq!(judged(&trial).claims[0].outcome, Holds);
}

#[test]
fn laws_of_growth_are_told_apart_by_their_exponents() {
    let of = |law: &str, cost: &dyn Fn(f64) -> f64| {
        let cost = |place: usize| 1e6 * cost([1.0, 2.0, 4.0, 8.0][place]);
        outcomes(&of_sizes("1, 2, 4, 8", &format!("new is {law} in n")), &cost, 64)[0]
    };
    assert_eq!(of("linear", &|n| n), Holds);
    assert_eq!(of("linear", &|n| n * n), Refuted);
    assert_eq!(of("linear", &|n| n * (n + 1.0).log2()), Refuted);
    assert_eq!(of("linear", &|_| 1.0), Refuted);
    assert_eq!(of("constant", &|_| 1.0), Holds);
    assert_eq!(of("constant", &|n| n), Refuted);
    assert_eq!(of("quadratic", &|n| n * n), Holds);
    assert_eq!(of("quadratic", &|n| n), Refuted);
    // The start of a program hides it at small values, which refutes nothing where it shows at large ones.
    assert_eq!(of("linear", &|n| 1.5 + n), NotDecided);
    // A knee is steeper than any constant part makes it.
    assert_eq!(of("linear", &|n| if n > 4.0 { 2.0 * n } else { n }), Refuted);
    assert_eq!(of("linear", &|n| n.powf(1.25)), NotDecided);
}

#[test]
fn every_combination_of_values_has_to_satisfy_a_claim() {
    let text = "[weigh.q]\ncommands = { new = 'true', old = 'true' }\nparameters.n = [1, 2]\n\
                claims.c = 'new is at most 5 % slower than old'";
    let question = &read(text).unwrap()[0];
    assert_eq!(CLAIMS.family(&question.weighing.as_ref().unwrap().descriptor, 0), 2);
    let slow_at_two = |place: usize| if place == 2 { 2e6 } else { 1e6 };
    let claims = measured(question, &slow_at_two, 64, 1);
    assert_eq!(claims[0].outcome, Refuted);
    assert!(claims[0].sentence.contains("`new (n = 2)`"), "{}", claims[0].sentence);
    assert_eq!(measured(question, &|_| 1e6, 64, 1)[0].outcome, Holds);
}

/// At the very edge of a claim neither outcome may come more often than the level says: whichever comes is
/// wrong on the other side of the edge.
#[test]
fn at_the_edge_at_most_one_in_a_hundred_is_decided() {
    const RUNS: u64 = 1_000;
    let ratio = of_two(&["new is at most 1 % slower than old"]);
    let both = of_two(&["new is at most 1 % slower than old", "new takes at most 1.01 ms"]);
    let growth = of_sizes("1, 2", "new is linear in n");
    let cost = |place: usize| if place == 0 { 1_010_000.0 } else { 1_000_000.0 };
    let grows = |place: usize| 1e6 * 2_f64.powf(1.25 * place as f64);
    for (text, cost) in [(&ratio, &cost as &dyn Fn(usize) -> f64), (&both, &cost), (&growth, &grows)] {
        let question = &read(text).unwrap()[0];
        let decided = (0..RUNS).filter(|&seed| {
            measured(question, cost, 40, seed).iter().any(|claim| claim.outcome != NotDecided)
        });
        let count = decided.count();
        assert!(count as f64 <= 0.01 * RUNS as f64, "{text}: {count} of {RUNS}");
    }
}
