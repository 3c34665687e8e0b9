//! A campaign of random litmus tests: both models of the crate against a second reading of the manual that
//! shares nothing with them.
//!
//! Here it is small, and the same each time. `cargo xtask litmus-campaign` has it draw thousands of tests,
//! and asks herd too where it is told of one.

#![expect(clippy::disallowed_methods, reason = "a person is told how long it took")]
#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod program;
mod reference;

use std::collections::BTreeSet;
use std::process::Command;
use std::thread;
use std::time::Instant;

use program::{Access, Chance, Kind, Mark, Place, Program, Scope, Statement, Target};
use reference::Bits;
use tenbin_boot::axiomatic::{self, Limits, Model, NoAnswer, Refusal};
use tenbin_boot::litmus::Test;
use tenbin_boot::operational;

/// A window that no test here fills.
const WINDOW: u32 = 32;

const MODELS: &[(Model, reference::Model)] = &[
    (Model::Sc, reference::Model::Sc),
    (Model::Tso, reference::Model::Tso),
    (Model::Rvwmo, reference::Model::Rvwmo),
];

/// Steps that a model may take for one test. Long chains on one word take more, and are counted as not
/// finished.
const STEPS: u64 = 500_000;

/// A number from the environment, or this one.
fn asked(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).map_or(otherwise, |text| text.parse().unwrap_or_else(|_| panic!("{name}: {text}")))
}

fn drawn(seed: u64, number: u64, scope: Scope) -> Program {
    program::random(&mut Chance(seed.wrapping_mul(0x0001_0000_0000).wrapping_add(number)), scope)
}

fn difference(expected: &BTreeSet<String>, name: &str, states: &BTreeSet<String>) -> String {
    let only = |one: &BTreeSet<String>, other: &BTreeSet<String>| {
        one.difference(other).map(|state| format!("\n    {state}")).collect::<String>()
    };
    format!(
        "  only the second reading:{}\n  only {name}:{}\n",
        only(expected, states),
        only(states, expected)
    )
}

#[derive(Default)]
struct Tally {
    outcomes: usize,
    /// Sets of the axioms, of the machine and of herd that were compared.
    compared: [u64; 3],
    unfinished: [u64; 3],
    differences: Vec<String>,
}

impl Tally {
    fn compare(
        &mut self,
        index: usize,
        name: &str,
        text: &str,
        expected: &BTreeSet<String>,
        states: &BTreeSet<String>,
    ) {
        self.compared[index] += 1;
        if states != expected {
            self.differences.push(format!("{name}\n{text}{}", difference(expected, name, states)));
        }
    }
}

fn campaign(model: Model, reading: reference::Model, tests: u64, seed: u64) -> Tally {
    let mut tally = Tally::default();
    for number in 0..tests {
        let program = drawn(seed, number, Scope::Whole);
        let text = program.text(&format!("c{seed}-{number}"));
        let test = Test::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
        let expected = reference::outcomes(&program, reading, Bits::Manual);
        assert!(!expected.is_empty(), "{model}: no outcome\n{text}");
        tally.outcomes += expected.len();
        let limits = Limits { steps: STEPS, ..Limits::default() };
        let answers =
            [axiomatic::outcomes(&test, model, limits), operational::outcomes(&test, model, WINDOW, limits)];
        for (index, (answer, name)) in answers.into_iter().zip(["the axioms", "the machine"]).enumerate() {
            match answer {
                Ok(answer) => {
                    assert!(!answer.cut, "{model}, {name}: cut\n{text}");
                    let states = answer.states.iter().map(|state| test.outcome(state)).collect();
                    tally.compare(index, name, &text, &expected, &states);
                }
                Err(NoAnswer::NotFinished { .. } | NoAnswer::Refused(Refusal::TooManyPaths)) => {
                    tally.unfinished[index] += 1;
                }
                Err(error) => tally.differences.push(format!("{name}: {error}\n{text}")),
            }
        }
    }
    tally
}

/// Asks herd about tests that it prints as we do. `TENBIN_CAMPAIGN_HERD` is its program.
fn herd(program: &str, model: Model, reading: reference::Model, tests: u64, seed: u64, tally: &mut Tally) {
    let cat = match model {
        Model::Sc => "sc.cat",
        Model::Tso => "riscv-tso.cat",
        Model::Rvwmo => "riscv.cat",
    };
    let folder = tempfile::tempdir().unwrap();
    for number in 0..tests {
        let drawn = drawn(seed, number, Scope::Words);
        let text = drawn.text(&format!("h{seed}-{number}"));
        let path = folder.path().join("test.litmus");
        std::fs::write(&path, &text).unwrap();
        // herd itself ends a test that takes longer.
        let output = Command::new(program).args(["-model", cat, "-timeout", "3"]).arg(&path).output();
        let output = output.unwrap_or_else(|error| panic!("{program}: {error}"));
        let answer = String::from_utf8_lossy(&output.stdout);
        let mut lines = answer.lines().skip_while(|line| !line.starts_with("States ")).skip(1);
        if !answer.contains("Observation") {
            tally.unfinished[2] += 1;
            continue;
        }
        let states = lines.by_ref().take_while(|line| line.ends_with(';'));
        // It writes `[x]=1`, and orders what it prints in its own way.
        let sorted = |state: &str| {
            let mut words = state.split_whitespace().collect::<Vec<_>>();
            words.sort_unstable();
            words.join(" ")
        };
        let states = states.map(|state| sorted(&state.replace(['[', ']'], ""))).collect();
        let expected = reference::outcomes(&drawn, reading, Bits::Manual);
        let expected = expected.iter().map(|state| sorted(state)).collect();
        tally.compare(2, "herd", &text, &expected, &states);
    }
}

#[test]
fn both_models_end_as_a_second_reading_of_the_manual_says() {
    let (tests, seed) = (asked("TENBIN_CAMPAIGN_TESTS", 60), asked("TENBIN_CAMPAIGN_SEED", 1));
    let herds = asked("TENBIN_CAMPAIGN_HERD_TESTS", 0);
    let peer = std::env::var("TENBIN_CAMPAIGN_HERD").ok();
    let begun = Instant::now();
    let tallies = thread::scope(|scope| {
        let ask = |&(model, reading): &(Model, reference::Model)| {
            let mut tally = campaign(model, reading, tests, seed);
            if let Some(peer) = &peer {
                herd(peer, model, reading, herds, seed, &mut tally);
            }
            (model, tally)
        };
        let asked = MODELS.iter().map(|each| scope.spawn(move || ask(each))).collect::<Vec<_>>();
        asked.into_iter().map(|each| each.join().unwrap()).collect::<Vec<_>>()
    });
    let (mut all, mut too_few) = (Vec::new(), false);
    for (model, Tally { outcomes, compared, unfinished, differences }) in tallies {
        let [axioms, machine, herd] = compared;
        println!(
            "{model}: {tests} tests of seed {seed}, {outcomes} outcomes; sets compared: axioms {axioms}, machine {machine}, \
             herd {herd}; not finished: {unfinished:?}; different: {}",
            differences.len(),
        );
        too_few |= axioms * 10 < tests * 8 || machine * 10 < tests * 8;
        all.extend(differences.into_iter().map(|difference| format!("{model}, {difference}")));
    }
    println!("{:.0} s", begun.elapsed().as_secs_f64());
    let shown = all[..all.len().min(20)].join("\n");
    assert!(!too_few, "of a fifth of the tests no sets were compared");
    assert!(all.is_empty(), "{} differences:\n{shown}", all.len());
}

/// A campaign is worth something only if it would notice: here it reads `lr.rl` and `sc.aq` as if they were
/// annotated.
#[test]
fn a_campaign_of_this_size_sees_a_bit_that_is_read_wrongly() {
    let seen = (0..300).filter(|&number| {
        let program = drawn(1, number, Scope::Whole);
        let model = reference::Model::Rvwmo;
        reference::outcomes(&program, model, Bits::Manual)
            != reference::outcomes(&program, model, Bits::Literal)
    });
    let seen = seen.count();
    assert!(seen >= 1, "{seen}");
}

/// The second reading against what is known of every memory model: message passing, store buffering,
/// coherence.
#[test]
fn the_second_reading_knows_the_classics() {
    let place = Place { bytes: 4, signed: true, pointer: false };
    let access = |kind, rd, source, at| {
        let (target, mark) = (Target::Place(at), Mark::default());
        Statement::Access(Access { kind, rd, source, bytes: 4, target, mark })
    };
    let store = |at| access(Kind::Store, 0, 22, at);
    let load = |rd, at| access(Kind::Load { signed: true }, rd, 0, at);
    let one = || Statement::Number { rd: 22, value: 1 };
    let fence = || Statement::Fence(Some(("rw", "rw")));
    let count = |harts: Vec<Vec<Statement>>| {
        let program = Program { places: vec![place, place], harts };
        [reference::Model::Sc, reference::Model::Tso, reference::Model::Rvwmo]
            .map(|model| reference::outcomes(&program, model, Bits::Manual).len())
    };
    let (writer, reader) = (vec![one(), store(0), store(1)], vec![load(5, 1), load(6, 0)]);
    assert_eq!(count(vec![writer.clone(), reader.clone()]), [3, 3, 4]);
    let fenced = vec![one(), store(0), fence(), store(1)];
    assert_eq!(count(vec![fenced, vec![load(5, 1), fence(), load(6, 0)]]), [3, 3, 3]);
    let buffered = |own, other| vec![one(), store(own), load(5, other)];
    assert_eq!(count(vec![buffered(0, 1), buffered(1, 0)]), [3, 4, 4]);
    assert_eq!(count(vec![vec![one(), store(0)], vec![load(5, 0), load(6, 0)]]), [3, 3, 3]);
}
