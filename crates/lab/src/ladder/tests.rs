//! The ladder on this machine's CPU and on a clock of our own, so that no test depends on how fast the
//! machine is.

use std::cell::Cell;
use std::collections::BTreeMap;

use tenbin_metal::allowed_cpus;
use tenbin_model::machine::{Observed, Virtualisation};

use super::*;
use crate::rehearsal::{After, machine_with_clock};

pub(super) fn order(extent: Extent) -> Order {
    Order {
        works: vec!["alu", "atomic", "pipe"],
        effects: vec![0.0, 0.01, 0.05],
        layout: true,
        truth: true,
        commands: false,
        functions: false,
        extent,
        limit: Picoseconds::from_millis(60_000),
        seed: 7,
    }
}

/// Climbs on a clock that ticks once a reading, and returns what was weighed for each question.
fn climbed(order: &Order, tick: Picoseconds) -> (Vec<Question>, BTreeMap<usize, Vec<Weighed>>) {
    climbed_on(&Machine::unobserved("a test"), order, tick)
}

/// The same on a machine of which something is known.
fn climbed_on(
    machine: &Machine,
    order: &Order,
    tick: Picoseconds,
) -> (Vec<Question>, BTreeMap<usize, Vec<Weighed>>) {
    let mut ladder = Ladder::gather(Clock::kernel(), allowed_cpus().unwrap()[0], order).unwrap();
    ladder.analysis = &After(8);
    let questions = ladder.questions(order).unwrap();
    let now = Cell::new(Picoseconds::ZERO);
    let watch = || {
        now.set(Picoseconds(now.get().0 + tick.0));
        now.get()
    };
    let mut ignored = |_: engine::Event<'_>| {};
    let mut bench = Bench { watch: &watch, stop: &|| false, counters: None, probe: None, sink: &mut ignored };
    let mut weighed: BTreeMap<usize, Vec<Weighed>> = BTreeMap::new();
    ladder.climb(&mut bench, machine, order, &questions, &mut |index, pair| {
        weighed.entry(index).or_default().push(pair);
    });
    (questions, weighed)
}

#[test]
fn questions_are_weighed_as_often_as_asked_with_known_truth() {
    let (questions, weighed) = climbed(&order(Extent::Pairs(2)), Picoseconds(1));
    for (index, question) in questions.iter().enumerate() {
        let pairs = weighed.get(&index).map_or(&[][..], Vec::as_slice);
        assert_eq!(pairs.len(), if question.refused.is_some() { 0 } else { 2 }, "{question:?}");
        for pair in pairs {
            let cell = &pair.trial.cells[0];
            assert_eq!(cell.refusal, None, "{question:?}");
            assert_eq!(cell.samples.len(), 8 * 4);
            assert!(cell.checks.iter().all(|check| check.as_expected()) && cell.checks.len() == 3);
            assert!(pair.took > Picoseconds::ZERO);
            // Both sides count the same iterations, but for a truth.
            let same = cell.samples.iter().all(|sample| sample.iterations == cell.samples[0].iterations);
            assert!(same || question.purpose() == Purpose::Truth, "{question:?}");
            match question.purpose() {
                Purpose::Ladder if question.effect == 0.0 => assert_eq!(pair.truth, 1.0),
                Purpose::Ladder => {
                    let more = (pair.truth - 1.0) * pair.operations as f64;
                    assert!(more.round() >= 2.0, "{more} operations more");
                    assert!((pair.truth - 1.0 - question.effect).abs() < 0.26 * question.effect);
                }
                Purpose::Layout => assert_eq!(pair.truth, 1.0),
                Purpose::Truth => assert!([2.0, 3.0].contains(&pair.truth)),
                Purpose::Command | Purpose::Function => unreachable!("none was asked for"),
            }
        }
    }
}

#[test]
fn when_the_time_is_over_no_further_pair_begins() {
    let whole: usize = climbed(&order(Extent::Rounds(1)), Picoseconds(1)).1.values().map(Vec::len).sum();
    // The clock of this one reaches the limit within the first few pairs.
    let tick = Picoseconds::from_millis(1);
    let cut: usize =
        climbed(&order(Extent::Time(Picoseconds::from_millis(30))), tick).1.values().map(Vec::len).sum();
    assert!(cut > 0 && cut < whole, "{cut} of {whole}");
}

#[test]
fn an_effect_of_less_than_two_operations_is_not_asked_for() {
    let tiny = Order { works: vec!["pipe"], effects: vec![0.000_001], ..order(Extent::Pairs(1)) };
    let (questions, weighed) = climbed(&Order { layout: false, truth: false, ..tiny }, Picoseconds(1));
    assert!(questions[0].refused.as_ref().is_some_and(|why| why.contains("two more whole operations")));
    assert!(weighed.is_empty());
}

#[test]
fn an_emulated_cpu_and_a_quota_below_the_load_are_refused() {
    let machine = || Machine::unobserved("a test");
    assert_eq!(refusal(&machine(), &[Cpu(0)]), None);
    let emulated = Machine { virtualisation: Virtualisation::Emulated("a test".into()), ..machine() };
    assert!(refusal(&emulated, &[Cpu(0)]).is_some_and(|why| why.reached.contains("emulated")));
    let quota = Machine { cpu_quota: Observed::Known(Some(1.5)), ..machine() };
    assert_eq!(refusal(&quota, &[Cpu(0)]), None);
    assert!(refusal(&quota, &[Cpu(0), Cpu(1)]).is_some_and(|why| why.reached.contains("1.5")));
}

#[test]
fn a_coarse_clock_makes_epochs_longer_and_refuses_nothing() {
    // One of 24 MHz.
    let machine = machine_with_clock(41_667.0);
    assert_eq!(refusal(&machine, &[Cpu(0)]), None);
    let order = Order { works: vec!["alu"], layout: false, truth: false, ..order(Extent::Pairs(1)) };
    let (_, weighed) = climbed_on(&machine, &order, Picoseconds(1));
    for pair in weighed.values().flatten() {
        let cell = &pair.trial.cells[0];
        assert_eq!(cell.refusal, None);
        assert!(cell.arrangement.epoch > Picoseconds::from_micros(80), "{}", cell.arrangement.epoch);
    }
}

#[test]
fn whoever_stops_gets_the_pairs_that_were_whole() {
    let order = order(Extent::Pairs(1));
    let mut ladder = Ladder::gather(Clock::kernel(), allowed_cpus().unwrap()[0], &order).unwrap();
    ladder.analysis = &After(8);
    let questions = ladder.questions(&order).unwrap();
    let (now, weighed) = (Cell::new(0), Cell::new(0));
    let watch = || Picoseconds(now.replace(now.get() + 1));
    // Asked between the blocks of the third pair.
    let begun = Cell::new(0);
    let stop = || {
        begun.set(begun.get() + u32::from(weighed.get() == 2));
        begun.get() > 3
    };
    let mut ignored = |_: engine::Event<'_>| {};
    let mut bench = Bench { watch: &watch, stop: &stop, counters: None, probe: None, sink: &mut ignored };
    ladder.climb(&mut bench, &Machine::unobserved("a test"), &order, &questions, &mut |_, pair| {
        assert_eq!(pair.trial.cells[0].samples.len(), 8 * 4);
        weighed.set(weighed.get() + 1);
    });
    assert_eq!(weighed.get(), 2);
}
