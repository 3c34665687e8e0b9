//! The engine against scripted machines: no clock, no hardware, no sleep.

use std::cell::Cell as Shared;
use std::rc::Rc;

use tenbin_analysis::Analysis;
use tenbin_model::machine::Virtualisation;
use tenbin_model::{Comparison, Cpu, Finding, Gauge, Machine, Missing, Reading, Variant, VariantIndex};

use super::*;
use crate::experiment::{Allowance, Open, Settings};
use crate::rehearsal::{TestRequest, usage};

/// A machine on which variant `v` costs `10 · (v + 1)` ns an iteration and an epoch 50 ns more.
#[derive(Clone, Default)]
struct Script {
    now: Rc<Shared<u64>>,
    /// How often it was set up.
    opened: Rc<Shared<u32>>,
    asked: Rc<Shared<u64>>,
    /// The epoch, counted from 0, at which the pin is lost.
    pin_lost_at: Option<u64>,
    /// The epoch at which work comes out wrong.
    wrong_at: Option<u64>,
    /// The variant that breaks the specification.
    broken: Option<VariantIndex>,
}

impl Apparatus for Script {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let planted = variant == VariantIndex(2);
        Ok(if planted || self.broken == Some(variant) {
            Seen::Broken("one short".into())
        } else {
            Seen::Met("all there".into())
        })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let number = self.asked.replace(self.asked.get() + 1);
        if self.pin_lost_at == Some(number) {
            return Err(Fault::PinNotHeld { worker: 0, wanted: Cpu(0), actual: Cpu(1) }.into());
        }
        if self.wrong_at == Some(number) {
            return Err(Failure::Wrong("one addition lost".into()));
        }
        let elapsed = 50_000 + iterations * 10_000 * u64::from(variant.0 + 1);
        self.now.set(self.now.get() + elapsed);
        Ok(Lap { elapsed: Picoseconds(elapsed), ..Lap::default() })
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        Ok(vec![Gauge { variant, name: "depth".into(), reading: Reading::Count(3.0) }])
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        Ok(vec![Finding {
            experiment: "script".into(),
            sentence: "Seen.".into(),
            evidence: String::new(),
            confidence: String::new(),
        }])
    }
}

/// Stops whenever so many more blocks were measured, and takes its answer to depend until it has as many as
/// the second number says.
struct Rule(u32, u32);

impl Analysis for Rule {
    fn name(&self) -> &'static str {
        "a rule"
    }

    fn least_blocks(&self, _: &Descriptor, _: usize) -> u32 {
        16
    }

    fn decided(&self, _: &Descriptor, _: usize, cell: &Cell) -> bool {
        let Cell { arrangement, samples, .. } = cell;
        samples.len().is_multiple_of((self.0 as usize).saturating_mul(2 * arrangement.variants.len()))
    }

    fn depends(&self, _: &Descriptor, _: usize, cell: &Cell) -> bool {
        cell.samples.last().map_or(0, |sample| sample.block + 1) < self.1
    }
}

fn descriptor() -> Descriptor {
    Descriptor {
        name: "script".into(),
        specification: "nothing is lost".into(),
        subject: "A script".into(),
        variants: vec![
            Variant::measured("cheap", ""),
            Variant::measured("dear", ""),
            Variant::sabotage("lossy", ""),
        ],
        parameters: vec![tenbin_model::Parameter::new("depth", "1", "how deep")],
        margin: 0.01,
        ..Descriptor::default()
    }
}

fn arrangement() -> Arrangement {
    Arrangement {
        label: "in a script".into(),
        cpus: vec![Cpu(0)],
        epoch: Picoseconds::from_micros(100),
        variants: VariantIndex::range(0..2),
        comparisons: Comparison::of([(VariantIndex(0), VariantIndex(1))]),
        headline: true,
        doubling: true,
        ..Arrangement::default()
    }
}

/// Runs the script with this analysis and returns its only cell, the findings and the epochs asked for.
fn run(
    script: impl Fn(&mut Script),
    analysis: &'static dyn Analysis,
    virtualisation: Virtualisation,
) -> (Trial, u64) {
    run_cells(&[arrangement()], script, analysis, virtualisation)
}

/// The same with these cells.
fn run_cells(
    cells: &[Arrangement],
    script: impl Fn(&mut Script),
    analysis: &'static dyn Analysis,
    virtualisation: Virtualisation,
) -> (Trial, u64) {
    let mut apparatus = Script::default();
    script(&mut apparatus);
    let (now, asked) = (Rc::clone(&apparatus.now), Rc::clone(&apparatus.asked));
    let plan = |_: &Request<'_>| {
        let planned = |cell: &Arrangement| {
            let apparatus = apparatus.clone();
            PlannedCell::new(cell.clone(), move |_, _| {
                apparatus.opened.set(apparatus.opened.get() + 1);
                Ok(Box::new(apparatus.clone()))
            })
        };
        Ok(Plan { cells: cells.iter().map(planned).collect(), ..Plan::default() })
    };
    let experiment = Experiment { analysis, ..Experiment::new(&descriptor, &plan) };
    let machine = Machine { virtualisation, ..Machine::unobserved("a script") };
    let asked_for = TestRequest { machine, cpus: vec![Cpu(0)], seed: 42, ..TestRequest::default() };
    let watch = || Picoseconds(now.get());
    let probe = |cpus: &[Cpu]| Probe { spins: vec![Picoseconds(7); cpus.len()], ..Probe::default() };
    let mut bench =
        Bench { watch: &watch, stop: &|| false, counters: None, probe: Some(&probe), sink: &mut |_| {} };
    let trial = bench.run(&experiment, &asked_for.request()).unwrap();
    (trial, asked.get())
}

#[test]
fn epochs_have_the_wanted_length_doubled_in_every_second_block() {
    let (trial, _) = run(|_| {}, &Rule(4, 0), Virtualisation::None);
    let cell = &trial.cells[0];
    assert_eq!(cell.refusal, None);
    for sample in &cell.samples {
        let wanted = 100e6 * f64::from(1 + sample.block % 2);
        let ratio = sample.elapsed.0 as f64 / wanted;
        assert!((0.98..=1.02).contains(&ratio), "{sample:?}");
    }
}

#[test]
fn a_block_is_mirrored_and_its_orders_count_up() {
    let (trial, _) = run(|_| {}, &Rule(10, 0), Virtualisation::None);
    let samples = &trial.cells[0].samples;
    assert_eq!(samples.len(), 80);
    assert!(samples.iter().zip(0..).all(|(sample, order)| sample.order == order));
    for block in samples.chunks(4) {
        let order: Vec<u32> = block.iter().map(|sample| sample.variant.0).collect();
        assert!(order == [0, 1, 1, 0] || order == [1, 0, 0, 1], "{order:?}");
    }
}

#[test]
fn the_rule_stops_a_cell_early_and_the_budget_stops_it_late() {
    let (early, _) = run(|_| {}, &Rule(3, 0), Virtualisation::None);
    assert_eq!(early.cells[0].ended, Some(Ended::Precision));
    assert_eq!(early.cells[0].samples.last().unwrap().block, 5, "three blocks, and three that confirm them");

    let (late, _) = run(|_| {}, &Rule(u32::MAX, 0), Virtualisation::None);
    assert_eq!(late.cells[0].ended, Some(Ended::Budget));
    let spent: f64 = late.cells[0].samples.iter().map(|sample| sample.elapsed.as_seconds()).sum();
    assert!((1.9..2.1).contains(&spent), "{spent} s of 2 s");
}

#[test]
fn the_machine_is_probed_first_last_and_ten_times_a_second() {
    let (trial, _) = run(|_| {}, &Rule(u32::MAX, 0), Virtualisation::None);
    let cell = &trial.cells[0];
    let (first, last) = (&cell.probes[0], cell.probes.last().unwrap());
    assert_eq!((first.block, last.block), (0, cell.samples.last().unwrap().block + 1));
    // Two stretches, each probed last where it ends and the other one first where it begins.
    let second = cell.probes.windows(2).position(|pair| pair[0].block == pair[1].block).unwrap() + 1;
    for probes in [&cell.probes[..second], &cell.probes[second..]] {
        let between = probes.windows(2).map(|pair| (pair[1].since.0 - pair[0].since.0) / 1_000_000_000);
        let between: Vec<u64> = between.collect();
        let usual = |ms: &u64| (100..110).contains(ms);
        assert!(between.len() >= 8 && between[..between.len() - 1].iter().all(usual), "{between:?}");
    }
    assert!(cell.probes.iter().all(|probe| probe.spins == [Picoseconds(7)]));
    // A cell that is not timed is not looked at either.
    let (trial, _) = run(|_| {}, &Rule(1, 0), Virtualisation::Emulated("qemu-user".into()));
    assert_eq!(trial.cells[0].probes, []);
}

#[test]
fn what_was_decided_at_one_moment_is_confirmed_at_another() {
    let opened = Rc::new(Shared::new(0));
    let script = |script: &mut Script| script.opened = Rc::clone(&opened);
    let (trial, _) = run_cells(&[arrangement(), arrangement()], script, &Rule(3, 0), Virtualisation::None);
    assert_eq!(opened.get(), 4, "an apparatus for each of two cells at each of two moments");
    for cell in &trial.cells {
        assert_eq!((cell.ended, cell.samples.len()), (Some(Ended::Precision), 2 * 3 * 4));
        assert_eq!(cell.checks.len(), 3, "what was checked is not checked again");
    }
    // The second moment of the first cell comes after the first one of the second.
    let middle =
        |cell: &Cell| cell.probes.iter().filter(|probe| probe.block == 3).map(|probe| probe.since).max();
    let end =
        |cell: &Cell| cell.probes.iter().filter(|probe| probe.block <= 3).map(|probe| probe.since).min();
    assert!(middle(&trial.cells[0]) > end(&trial.cells[1]), "{:?}", trial.cells[0].probes);
}

#[test]
fn an_answer_that_depends_is_measured_on_and_set_up_anew() {
    let measured = |until: u32| {
        let opened = Rc::new(Shared::new(0));
        let script = |script: &mut Script| script.opened = Rc::clone(&opened);
        let (trial, _) = run(script, Box::leak(Box::new(Rule(u32::MAX, until))), Virtualisation::None);
        let cell = trial.cells.into_iter().next().unwrap();
        let blocks: Vec<u32> = cell.samples.chunks(4).map(|block| block[0].block).collect();
        assert!(blocks.iter().copied().eq(0..blocks.len() as u32), "blocks go on where the last ones ended");
        assert_eq!(cell.checks.len(), 3, "what was checked is not checked again");
        assert!(cell.probes.windows(2).all(|pair| pair[0].block <= pair[1].block));
        (opened.get(), blocks.len())
    };
    let (twice, usual) = measured(0);
    assert_eq!(twice, 2);
    let (opened, blocks) = measured(usual as u32 + 1);
    assert!(opened == 3 && (2 * blocks).abs_diff(3 * usual) <= 4, "{opened}: {blocks}, {usual}");
    let (opened, blocks) = measured(u32::MAX);
    assert!(opened == 5 && (2 * blocks).abs_diff(5 * usual) <= 6, "{opened}: {blocks}, {usual}");
}

#[test]
fn a_pin_that_is_lost_in_a_further_stretch_refuses_the_cell() {
    let script = |script: &mut Script| script.pin_lost_at = Some(20_000);
    let (trial, epochs) = run(script, &Rule(u32::MAX, u32::MAX), Virtualisation::None);
    let cell = &trial.cells[0];
    assert!(epochs > 20_000 && cell.samples.len() > 10_000, "it was lost in the first stretch");
    assert!(cell.refusal.as_ref().unwrap().reached.contains("pinned to CPU 0 and ran on CPU 1"));
}

#[test]
fn checks_cover_every_variant_and_the_planted_fault() {
    let (trial, _) = run(|_| {}, &Rule(1, 0), Virtualisation::None);
    let checks = &trial.cells[0].checks;
    assert_eq!(
        checks.iter().map(|check| (check.variant.0, check.met)).collect::<Vec<_>>(),
        [(0, true), (1, true), (2, false)]
    );
    assert!(checks.iter().all(Check::as_expected));
    assert_eq!(trial.cells[0].gauges.len(), 2);
    assert_eq!(trial.findings.len(), 1);
}

#[test]
fn a_variant_that_breaks_the_specification_is_never_timed() {
    let (trial, epochs) =
        run(|script| script.broken = Some(VariantIndex(1)), &Rule(1, 0), Virtualisation::None);
    let refusal = trial.cells[0].refusal.as_ref().unwrap();
    assert!(refusal.reached.contains("implementation error: `dear`"), "{refusal:?}");
    assert_eq!(epochs, 0);
}

#[test]
fn a_pin_that_is_lost_refuses_the_cell() {
    let (trial, _) = run(|script| script.pin_lost_at = Some(100), &Rule(u32::MAX, 0), Virtualisation::None);
    let refusal = trial.cells[0].refusal.as_ref().unwrap();
    assert!(refusal.reached.contains("pinned to CPU 0 and ran on CPU 1"), "{refusal:?}");
    assert_eq!(trial.cells[0].ended, None);
}

#[test]
fn what_helps_a_page_that_moved_depends_on_where_it_went() {
    let remedy = |is| {
        let moved = tenbin_metal::fault::Moved { at: 0, was: Some(0), is };
        let refusal = refusal_of(&Fault::PageMoved { home: Cpu(0), moved });
        (refusal.reached, refusal.remedy)
    };
    let (reached, elsewhere) = remedy(Some(1));
    assert!(reached.contains("is on node 1; something moves pages"), "{reached}");
    assert!(elsewhere.contains("numa_balancing") && !elsewhere.contains("swap"), "{elsewhere}");
    let (reached, nowhere) = remedy(None);
    assert!(reached.contains("is nowhere; the kernel took it back"), "{reached}");
    assert!(nowhere.contains("swap") && !nowhere.contains("numa_balancing"), "{nowhere}");
}

#[test]
fn wrong_work_while_timed_is_an_implementation_error() {
    let (trial, _) = run(|script| script.wrong_at = Some(60), &Rule(u32::MAX, 0), Virtualisation::None);
    let cell = &trial.cells[0];
    let refusal = cell.refusal.as_ref().unwrap();
    assert!(
        refusal.reached.contains("implementation error") && refusal.reached.contains("one addition lost")
    );
    assert!(!cell.checks.last().unwrap().as_expected());
}

#[test]
fn an_emulated_cpu_is_checked_and_not_timed() {
    let (trial, epochs) = run(|_| {}, &Rule(1, 0), Virtualisation::Emulated("qemu-user".into()));
    let cell = &trial.cells[0];
    assert!(cell.refusal.as_ref().unwrap().reached.contains("emulated (qemu-user)"));
    assert_eq!(cell.checks.len(), 3);
    assert_eq!(epochs, 0);
}

/// A cell without blocks is a check alone, which an emulated CPU can answer; what is found beside it is
/// found.
#[test]
fn a_cell_without_blocks_is_checked_on_any_cpu() {
    let cells = [Arrangement { most_blocks: 0, comparisons: Vec::new(), ..arrangement() }];
    for virtualisation in [Virtualisation::None, Virtualisation::Emulated("qemu-user".into())] {
        let (trial, epochs) = run_cells(&cells, |_| {}, &Rule(1, 0), virtualisation.clone());
        let cell = &trial.cells[0];
        assert_eq!((cell.refusal.as_ref(), cell.checks.len(), cell.samples.len(), epochs), (None, 3, 0, 0));
        assert_eq!(trial.findings[0].sentence, "Seen.");
        let (trial, _) =
            run_cells(&cells, |script| script.broken = Some(VariantIndex(1)), &Rule(1, 0), virtualisation);
        assert!(trial.cells[0].refusal.as_ref().unwrap().reached.starts_with("implementation error"));
    }
}

#[test]
fn the_same_seed_gives_the_same_order() {
    let order = || {
        let (trial, _) = run(|_| {}, &Rule(50, 0), Virtualisation::None);
        trial.cells[0].samples.iter().map(|sample| sample.variant).collect::<Vec<_>>()
    };
    assert_eq!(order(), order());
}

#[test]
fn an_unknown_setting_is_named_beside_those_that_there_are() {
    let given = [("dept".to_string(), "2".to_string())].into();
    let message = usage(Settings::new(given, &descriptor()));
    assert!(message.contains("`dept`") && message.contains("depth"), "{message}");
}

/// What the script's look says: by the seed, so that a plain function can be told.
fn look(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    let text = str::to_owned;
    Err(match request.seed {
        0 => Unfit::Refused(Refusal { reached: text("no"), needs: text("leave"), remedy: text("ask") }),
        1 => {
            Unfit::Missing(Missing { what: text("a tool"), needed: text("looking"), install: text("get it") })
        }
        2 => Unfit::Fault(Fault::Panicked),
        _ => Unfit::Usage(text("what is that?")),
    })
}

/// What cannot be looked at is said beside what was measured, with what helps; alone it is the answer.
#[test]
fn a_look_that_fails_leaves_what_was_measured() {
    let outcome = |cells: Vec<Arrangement>, seed| {
        let not_set_up: Open = |_, _| {
            let refusal =
                Refusal { reached: "not set up".into(), needs: String::new(), remedy: String::new() };
            Err(Unfit::Refused(refusal))
        };
        let plan = |_: &Request<'_>| Ok(Plan { look: Some(look), ..Plan::new(cells.clone(), not_set_up) });
        let experiment = Experiment { analysis: &Rule(1, 0), ..Experiment::new(&descriptor, &plan) };
        let asked = TestRequest { cpus: vec![Cpu(0)], seed, ..TestRequest::default() };
        let request = asked.request();
        let watch = || Picoseconds(0);
        let mut bench =
            Bench { watch: &watch, stop: &|| false, counters: None, probe: None, sink: &mut |_| {} };
        bench.run(&experiment, &request)
    };
    for (seed, reason) in
        [(0, "no; ask"), (1, "a tool is missing: looking; install it: get it"), (2, "panic")]
    {
        let trial = outcome(vec![arrangement()], seed).unwrap();
        assert_eq!((trial.cells.len(), trial.findings.len(), trial.refusal), (1, 1, None));
        assert!(trial.findings[0].evidence.contains(reason), "{:?}", trial.findings[0]);
    }
    assert!(matches!(outcome(vec![arrangement()], 3), Err(Unfit::Usage(_))));
    assert_eq!(outcome(Vec::new(), 0).unwrap().refusal.unwrap().remedy, "ask");
    assert!(matches!(outcome(Vec::new(), 1), Err(Unfit::Missing(_))));
    assert!(outcome(Vec::new(), 2).unwrap().refusal.is_some());
    assert!(matches!(outcome(Vec::new(), 3), Err(Unfit::Usage(_))));
}

/// Wherever it is asked to stop, what is there is whole, and nothing is there of what is not.
#[test]
fn a_stop_leaves_whole_cells_and_nothing_of_the_others() {
    let now = Rc::new(Shared::new(0));
    let plan = |_: &Request<'_>| {
        let cell = || {
            let now = Rc::clone(&now);
            // An epoch that a signal interrupts may come out wrong.
            PlannedCell::new(arrangement(), move |_, _| {
                Ok(Box::new(Script { now: Rc::clone(&now), ..Script::default() }))
            })
        };
        Ok(Plan { cells: vec![cell(), cell()], look: Some(look), ..Plan::default() })
    };
    let experiment = Experiment { analysis: &Rule(3, 0), ..Experiment::new(&descriptor, &plan) };
    let asked = TestRequest { cpus: vec![Cpu(0)], seed: 0, ..TestRequest::default() };
    let request = asked.request();
    let mut finished = std::collections::BTreeSet::new();
    for limit in (0..20_000_000_000).step_by(100_000_000) {
        now.set(0);
        let (watch, stop) = (|| Picoseconds(now.get()), || now.get() >= limit);
        let mut bench = Bench { watch: &watch, stop: &stop, counters: None, probe: None, sink: &mut |_| {} };
        let cells = match bench.run(&experiment, &request) {
            Ok(trial) => trial.cells,
            Err(Unfit::Stopped) => Vec::new(),
            Err(other) => panic!("{other:?}"),
        };
        let whole = cells.iter().take_while(|cell| cell.ended.is_some()).count();
        let confirmed = cells.iter().filter(|cell| cell.samples.len() == 24).count();
        for cell in &cells[..whole] {
            assert!([12, 24].contains(&cell.samples.len()) && cell.refusal.is_none(), "{limit}");
        }
        for cell in &cells[whole..] {
            assert!(cell.refusal.as_ref().is_some_and(|why| why.reached.contains("interrupted")), "{limit}");
            assert!(cell.samples.is_empty() && cell.checks.is_empty() && cell.gauges.is_empty(), "{limit}");
        }
        finished.insert((whole, confirmed));
    }
    assert_eq!(finished, [(0, 0), (1, 0), (2, 0), (2, 1), (2, 2)].into());
}

/// Asked to stop in a further stretch, before it has come to a planned look: what was decided before stands.
#[test]
fn a_stop_in_a_further_stretch_leaves_what_was_decided() {
    let now = Rc::new(Shared::new(0));
    let plan = |_: &Request<'_>| {
        let now = Rc::clone(&now);
        let cell = PlannedCell::new(arrangement(), move |_, _| {
            Ok(Box::new(Script { now: Rc::clone(&now), ..Script::default() }))
        });
        let time = Some(Allowance { time: Picoseconds::from_millis(1_000), firm: false });
        Ok(Plan { cells: vec![cell], time, ..Plan::default() })
    };
    let experiment = Experiment::new(&descriptor, &plan);
    let asked = TestRequest { cpus: vec![Cpu(0)], seed: 0, ..TestRequest::default() };
    let mut blocks = std::collections::BTreeSet::new();
    for limit in (0..60_000_000_000).step_by(200_000_000) {
        now.set(0);
        let (watch, stop) = (|| Picoseconds(now.get()), || now.get() >= limit);
        let mut bench = Bench { watch: &watch, stop: &stop, counters: None, probe: None, sink: &mut |_| {} };
        let Ok(trial) = bench.run(&experiment, &asked.request()) else { continue };
        let cell = &trial.cells[0];
        let comparison = &cell.arrangement.comparisons[0];
        let evidence =
            tenbin_analysis::verdict::evidence(|it| it.elapsed.0 as f64, &descriptor(), 1, cell, comparison);
        assert!(evidence.is_some(), "{limit}: {:?} after {} epochs", cell.ended, cell.samples.len());
        blocks.insert(cell.samples.len() / 4);
    }
    // At the first look, and at the second.
    assert!(blocks.len() >= 2, "{blocks:?}");
}

/// Variants of which nobody knew when this program was built, as commands of a user's are: nothing of them is
/// static.
#[test]
fn an_experiment_can_be_made_of_what_a_user_gave() {
    let given: Vec<String> = ["sort a", "sort b", "sort c"].map(String::from).into();
    let describe = || Descriptor {
        variants: given.iter().map(|name| Variant::measured(name, "as given")).collect(),
        ..descriptor()
    };
    let now = Rc::new(Shared::new(0));
    let plan = |_: &Request<'_>| {
        let variants = VariantIndex::range(0..given.len());
        let against_first = variants[1..].iter().map(|&right| (variants[0], right));
        let cell = Arrangement { comparisons: Comparison::of(against_first), variants, ..arrangement() };
        let now = Rc::clone(&now);
        let cell = PlannedCell::new(cell, move |_, _| Ok(Box::new(Paced(Rc::clone(&now)))));
        Ok(Plan { cells: vec![cell], ..Plan::default() })
    };
    let asked = TestRequest { cpus: vec![Cpu(0)], ..TestRequest::default() };
    let watch = || Picoseconds(now.get());
    let mut bench = Bench { watch: &watch, stop: &|| false, counters: None, probe: None, sink: &mut |_| {} };
    let trial = bench.run(&Experiment::new(&describe, &plan), &asked.request()).unwrap();
    let judged = tenbin_analysis::Comparisons.judge(&asked.machine, &trial);
    let sentences = ["sort a is 2.000000x cheaper than sort b", "sort a is 3.000000x cheaper than sort c"];
    assert_eq!(judged.answers.len(), sentences.len());
    for (answer, expected) in judged.answers.iter().zip(sentences) {
        assert!(answer.sentence.contains(expected), "{}", answer.sentence);
    }
}

/// A machine on which variant `v` costs `v + 1` microseconds an iteration, and whatever it is asked for is as
/// specified.
struct Paced(Rc<Shared<u64>>);

impl Apparatus for Paced {
    fn check(&mut self, _: VariantIndex) -> Result<Seen, Fault> {
        Ok(Seen::Met("all there".into()))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let elapsed = Picoseconds::from_micros(iterations * u64::from(variant.0 + 1));
        self.0.set(self.0.get() + elapsed.0);
        Ok(Lap { elapsed, ..Lap::default() })
    }
}
