use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};
use tenbin_model::machine::{Clock, CoreKind, Node, Virtualisation, Witness, Wsl};

use super::*;
use crate::specimen::sharing;

/// Two CPUs on one node, with every field observed.
fn machine() -> Machine {
    Machine {
        architecture: "x86_64".into(),
        cpu_model: Observed::Known("AMD EPYC".into()),
        microcode: Observed::Known("0x1".into()),
        cpus: sharing(1, &[&[0], &[1]]).cpus,
        online: Observed::Known(vec![Cpu(0), Cpu(1)]),
        nodes: Observed::Known(vec![Node { node: 0, cpus: vec![Cpu(0), Cpu(1)], distances: vec![10] }]),
        kernel: Observed::Known("Linux version 6.1".into()),
        command_line: Observed::Known("quiet".into()),
        clock_source: Observed::Known("tsc".into()),
        clock: Observed::Known(Clock {
            name: "tsc".into(),
            resolution_ps: 400.0,
            cost_ps: 20_000.0,
            backward_steps: 0,
            cross_readings: 100,
            why: "constant".into(),
        }),
        governor: Observed::Known("performance".into()),
        turbo: Observed::Known(false),
        smt: Observed::Known("off".into()),
        transparent_huge_pages: Observed::Known("madvise".into()),
        numa_balancing: Observed::Known(false),
        address_randomisation: Observed::Known(2),
        mitigations: Observed::Known(vec![("meltdown".into(), "Not affected".into())]),
        virtualisation: Virtualisation::None,
        wsl: Observed::Known(Wsl::No),
        cpu_quota: Observed::Known(None),
        memory: Observed::Known(Bytes(8 << 30)),
        memory_available: Observed::Known(Bytes(7 << 30)),
        memory_limit: Observed::Known(None),
        page_size: Bytes(4096),
        huge_page_sizes: Observed::Known(vec![Bytes(2 << 20)]),
        load: Observed::Known(0.5),
        counters: Observed::Known("counters".into()),
    }
}

/// `machine()` with `key` of its JSON replaced.
fn with(key: &str, value: Value) -> Machine {
    let mut json = serde_json::to_value(machine()).unwrap();
    json[key] = value;
    serde_json::from_value(json).unwrap()
}

#[test]
fn the_table_has_every_field_of_a_machine() {
    let json = serde_json::to_value(machine()).unwrap();
    let keys: BTreeSet<&str> = json.as_object().unwrap().keys().map(String::as_str).collect();
    let table: BTreeSet<&str> = FIELDS.iter().map(|(key, ..)| *key).collect();
    assert_eq!(table, keys);
}

#[test]
fn a_machine_is_like_itself() {
    let answer = compare(&machine(), &machine());
    assert_eq!((answer.outcome, answer.differences.len()), (Outcome::Alike, 0));
    assert_eq!(answer.sentence, "Nothing that was observed differs between the machines.");
}

/// For each field that may be unknown: unknown on one side is named, on both sides is listed.
#[test]
fn unknown_is_never_taken_for_equal() {
    let json = serde_json::to_value(machine()).unwrap();
    for (key, value) in json.as_object().unwrap() {
        if value.get("known").is_none() {
            continue;
        }
        let blind = with(key, json!({ "not_observable": "no such file" }));
        let one = compare(&machine(), &blind);
        assert!(!one.differences.is_empty(), "{key}");
        for difference in &one.differences {
            assert_eq!((&difference.key, difference.grade), (key, Grade::Unknown));
            assert!(difference.right.contains("no such file"), "{}", difference.right);
        }
        assert!(matches!(one.outcome, Outcome::Undecided | Outcome::Comparable), "{key}");
        let both = compare(&blind, &blind);
        assert_eq!((both.outcome, both.unknown_on_both.len()), (Outcome::Alike, one.differences.len()));
    }
}

#[test]
fn what_changes_the_measurement_is_told_from_what_may() {
    let mut other = machine();
    other.kernel = Observed::Known("Linux version 6.18".into());
    other.governor = Observed::Known("powersave".into());
    other.load = Observed::Known(5.0);
    other.microcode = Observed::NotObservable("/proc/cpuinfo: no line `microcode`".into());
    let answer = compare(&machine(), &other);
    assert_eq!(answer.outcome, Outcome::Different);
    assert_eq!(
        answer.sentence,
        "The machines are not comparable: what is measured changes with kernel and governor. \
         It may also change with load. Unknown on one side: microcode."
    );
    let grades: Vec<Grade> = answer.differences.iter().map(|difference| difference.grade).collect();
    assert_eq!(grades, [Grade::Changes, Grade::Changes, Grade::MayChange, Grade::Unknown]);
    assert_eq!((&*answer.differences[0].left, &*answer.differences[2].right), ("Linux version 6.1", "5.00"));
}

#[test]
fn amounts_are_compared_with_a_tolerance() {
    let near = compare(&machine(), &with("load", json!({ "known": 0.9 })));
    assert_eq!(near.outcome, Outcome::Alike);
    let far = compare(&machine(), &with("memory_available", json!({ "known": 1u64 << 30 })));
    assert_eq!(far.outcome, Outcome::Comparable);
    assert_eq!(far.differences[0].left, "7 GiB");
}

#[test]
fn each_flaw_is_compared_on_its_own() {
    let flaws = json!({ "known": [["meltdown", "Vulnerable"], ["tsa", "Not affected"]] });
    let answer = compare(&machine(), &with("mitigations", flaws));
    let named: Vec<(&str, Grade)> =
        answer.differences.iter().map(|difference| (&*difference.name, difference.grade)).collect();
    assert_eq!(named, [("mitigations (meltdown)", Grade::Changes), ("mitigations (tsa)", Grade::Unknown)]);
}

#[test]
fn the_places_of_cpus_count() {
    let mut other = machine();
    other.cpus[1].siblings = Observed::Known(vec![Cpu(0), Cpu(1)]);
    other.cpus[1].kind = Observed::Known(CoreKind::Efficiency);
    let names = |other: &Machine| -> Vec<String> {
        compare(&machine(), other).differences.into_iter().map(|difference| difference.name).collect()
    };
    assert_eq!(names(&other), ["cores", "kinds of core"]);
    other.cpus.pop();
    assert!(names(&other).contains(&"CPUs usable".to_owned()));
}

/// The same cache by another's word is the same cache.
#[test]
fn whose_word_a_cache_is_makes_no_difference() {
    let mut other = machine();
    for place in &mut other.cpus {
        let Observed::Known(caches) = &mut place.caches else { panic!("{place:?}") };
        caches.iter_mut().for_each(|cache| cache.witness = Witness::DeviceTree);
    }
    assert_ne!(machine(), other);
    assert_eq!(compare(&machine(), &other).outcome, Outcome::Alike);
}

#[test]
fn a_machine_without_cpus_was_not_looked_at() {
    let blind = Machine { cpus: Vec::new(), ..machine() };
    let answer = compare(&machine(), &blind);
    assert_eq!(answer.outcome, Outcome::Undecided);
    assert!(answer.differences.iter().all(|d| d.key == "cpus" && d.grade == Grade::Unknown));
}

#[test]
fn an_emulated_processor_is_named() {
    let emulated = Virtualisation::Emulated("QEMU TCG".into());
    let other = Machine { virtualisation: emulated, ..machine() };
    let answer = compare(&machine(), &other);
    assert_eq!(answer.outcome, Outcome::Different);
    let end = "Lengths of time mean nothing on the second: its processor is emulated.";
    assert!(answer.sentence.ends_with(end), "{}", answer.sentence);
    assert!(compare(&other, &other).sentence.contains("on either"));
}

#[test]
fn the_answer_survives_json() {
    let answer = compare(&machine(), &with("load", json!({ "known": 9.0 })));
    let text = serde_json::to_string(&answer).unwrap();
    assert!(text.contains(r#""outcome":"comparable""#) && text.contains(r#""grade":"may_change""#), "{text}");
    assert_eq!(serde_json::from_str::<Comparability>(&text).unwrap(), answer);
}

proptest! {
    /// The order of the machines changes the sides and nothing else.
    #[test]
    fn comparing_is_symmetric(
        load in proptest::option::of(0.0..64.0f64),
        turbo in proptest::option::of(any::<bool>()),
        memory in 1u64..1 << 40,
        emulated in any::<bool>(),
    ) {
        fn observed<T>(value: Option<T>) -> Observed<T> {
            value.map_or_else(|| Observed::NotObservable("hidden".into()), Observed::Known)
        }
        let mut other = machine();
        other.load = observed(load);
        other.turbo = observed(turbo);
        other.memory = Observed::Known(Bytes(memory));
        if emulated {
            other.virtualisation = Virtualisation::Emulated("QEMU TCG".into());
        }
        let (there, back) = (compare(&machine(), &other), compare(&other, &machine()));
        prop_assert_eq!(there.outcome, back.outcome);
        let mirrored = back.differences.into_iter().map(|d| Difference { left: d.right, right: d.left, ..d });
        prop_assert_eq!(there.differences, mirrored.collect::<Vec<_>>());
        prop_assert_eq!(compare(&other, &other).outcome, Outcome::Alike);
    }
}

#[test]
fn values_are_shown_in_words_and_units() {
    let mut machine = machine();
    machine.smt = Observed::Known("notsupported".into());
    if let Observed::Known(clock) = &mut machine.clock {
        clock.cost_ps = 30_045.0;
    }
    let fields = fields(&machine);
    let shown =
        |name: &str| fields.iter().find(|(field, _)| field == name).and_then(|(_, value)| value.known());
    assert_eq!(shown("simultaneous multithreading").unwrap(), "not supported");
    assert_eq!(shown("clock cost").unwrap(), "30.0 ns");
    assert_eq!(shown("clock resolution").unwrap(), "400 ps");
}
