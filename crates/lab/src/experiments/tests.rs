//! What must hold for every experiment, asked of each in turn.

use std::collections::BTreeSet;

use tenbin_metal::touch::forbid_huge_pages;
use tenbin_metal::{Fault, allowed_cpus};
use tenbin_model::{
    Arrangement, Bytes, Check, Cpu, Descriptor, Effort, Machine, Refusal, Role, Size, Sizes, Variant,
    VariantIndex, Word,
};

use super::{EXPERIMENTS, caches};
use crate::experiment::{Apparatus, Experiment, PlannedCell, Request, Seen, Unfit};
use crate::rehearsal::{Planted, TestRequest, arrangements, headline, machine_with, rehearsed, settings};

/// Calls `body` with the request of an ordinary run on this machine.
fn with_request(effort: Effort, body: impl Fn(&Request<'_>)) {
    with_cpus(&allowed_cpus().unwrap(), effort, body);
}

fn with_cpus(cpus: &[Cpu], effort: Effort, body: impl Fn(&Request<'_>)) {
    // Enough for eight homes, and for a part of each thread.
    let free = Bytes((272 << 20).max((cpus.len() as u64) << 24));
    with_machine(&machine_with(free), cpus, effort, body);
}

fn with_machine(machine: &Machine, cpus: &[Cpu], effort: Effort, body: impl Fn(&Request<'_>)) {
    let size = |level, kib| Size { level, bytes: Bytes::from_kib(kib), by: Word::Firmware };
    let sizes = Sizes { levels: vec![size(1, 32), size(2, 512), size(3, 4096)], ..Sizes::default() };
    let asked = TestRequest { effort, sizes, ..TestRequest::default() };
    body(&Request { machine, cpus, ..asked.request() });
}

/// What there is, or why this machine cannot answer.
fn fit<T>(outcome: Result<T, Unfit>, place: &str) -> Result<T, Refusal> {
    outcome.map_err(|unfit| match unfit {
        Unfit::Refused(refusal) => refusal,
        other => panic!("{place}: {other:?}"),
    })
}

/// The cell, set up; none, said aloud, where this machine cannot answer it.
fn opened(cell: &PlannedCell, request: &Request<'_>) -> Option<Box<dyn Apparatus>> {
    let label = &cell.arrangement.label;
    let opened = fit(cell.open(request), label);
    opened.inspect_err(|refusal| eprintln!("skipped: {label}: {}", refusal.reached)).ok()
}

/// Whether no memory in one piece was to be had: other tests, and other programs, hold what they hold.
fn in_pieces(refusal: &Refusal) -> bool {
    refusal.reached.contains("huge pages")
}

/// Says aloud what is not looked at because memory is in pieces.
fn skips(place: &str, refusal: &Refusal) -> bool {
    if in_pieces(refusal) {
        eprintln!("skipped: {place}: {}", refusal.reached);
    }
    in_pieces(refusal)
}

fn described() -> impl Iterator<Item = Descriptor> {
    EXPERIMENTS.iter().map(|experiment| (experiment.describe)())
}

fn named(name: &str) -> &'static Experiment<'static> {
    EXPERIMENTS.iter().find(|experiment| (experiment.describe)().name == name).unwrap()
}

#[test]
fn names_are_single_lower_case_words_and_unique() {
    let names: BTreeSet<String> = described().map(|descriptor| descriptor.name).collect();
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    assert!(names.iter().all(|name| name.bytes().all(plain)), "{names:?}");
    assert_eq!(names.len(), EXPERIMENTS.len());
    assert!(!names.iter().any(|name| name == crate::survey::ALL));
}

/// What others do on a core slows down different instructions by different amounts.
#[test]
fn who_compares_different_work_allows_for_other_guests() {
    with_request(Effort::Normal, |request| {
        for experiment in EXPERIMENTS {
            let descriptor = (experiment.describe)();
            let Ok(plan) = (experiment.plan)(request) else { continue };
            let compares = plan.cells.iter().any(|cell| !cell.arrangement.comparisons.is_empty());
            let allows = descriptor.sway > 0.0;
            assert_eq!(allows, compares && descriptor.name != "null", "{}", descriptor.name);
        }
    });
}

/// Ratios of two variants that runs of one virtual machine came to (docs/truth.md).
#[test]
fn what_two_runs_came_to_is_not_claimed_both_ways() {
    for (name, one, other) in [("atomics", 0.92_f64, 0.989), ("fib", 0.91, 1.13)] {
        let beyond = 1.0 + (named(name).describe)().sway;
        assert!(one.max(other) < beyond && one.min(other) > 1.0 / beyond, "{name}");
    }
}

#[test]
fn every_descriptor_is_complete() {
    for descriptor in described() {
        let name = &descriptor.name;
        assert!(descriptor.question.ends_with('?'), "{name}: the question is a question");
        for text in [&descriptor.requirement, &descriptor.specification, &descriptor.subject] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{name}: `{text}` is a clause");
        }
        assert!(!descriptor.sources.is_empty(), "{name}: names no source");
        assert!((0.0..0.2).contains(&descriptor.margin), "{name}: margin {}", descriptor.margin);
        let variants: BTreeSet<_> = descriptor.variants.iter().map(|variant| &variant.name).collect();
        assert_eq!(variants.len(), descriptor.variants.len(), "{name}: variants share a name");
        let plants = descriptor.variants.iter().any(|variant| variant.role == Role::Sabotage);
        assert!(plants, "{name}: plants no fault, so its check is not known to be able to fail");
        // What has no ratio may be of a program that is no variant, such as GNU yes.
        for published in descriptor.published.iter().filter(|published| published.ratio.is_some()) {
            for variant in [&published.left, &published.right] {
                assert!(descriptor.variant(variant).is_some(), "{name}: published `{variant}` is no variant");
            }
        }
    }
}

#[test]
fn every_description_names_the_analysis_of_its_experiment() {
    for experiment in EXPERIMENTS {
        let descriptor = (experiment.describe)();
        assert_eq!(descriptor.analysis.as_str(), experiment.analysis.name(), "{}", descriptor.name);
        let known = crate::analyses().of(&descriptor).map(|known| known.name());
        assert_eq!(known, Some(experiment.analysis.name()));
    }
}

#[test]
fn every_plan_is_sound_for_every_effort() {
    for experiment in EXPERIMENTS {
        let descriptor = (experiment.describe)();
        for effort in [Effort::Quick, Effort::Normal, Effort::Thorough] {
            with_request(effort, |request| {
                let plan = (experiment.plan)(request).unwrap();
                let variants = plan.variants.as_ref().unwrap_or(&descriptor.variants);
                let plan = &arrangements(&plan);
                let headlines = plan.iter().filter(|cell| cell.headline).count();
                assert_eq!(headlines, 1, "{}: one cell answers in a survey", descriptor.name);
                let labels: BTreeSet<_> = plan.iter().map(|cell| &cell.label).collect();
                assert_eq!(labels.len(), plan.len(), "{}: cells share a label", descriptor.name);
                for cell in plan {
                    assert!(!cell.cpus.is_empty() && cell.work > 0);
                    // What is judged otherwise than by ratios needs no comparison.
                    assert!(!cell.comparisons.is_empty() || experiment.analysis.name() != "comparisons");
                    for comparison in &cell.comparisons {
                        for variant in [comparison.left, comparison.right] {
                            assert!(cell.variants.contains(&variant), "{}: {}", descriptor.name, cell.label);
                        }
                        assert_ne!(comparison.left, comparison.right);
                    }
                    for &variant in &cell.variants {
                        assert_eq!(variants[variant].role, Role::Measured);
                    }
                }
            });
        }
    }
}

#[test]
fn every_variant_is_sound_and_every_planted_fault_is_seen() {
    with_request(Effort::Quick, |request| {
        for experiment in EXPERIMENTS {
            let descriptor = (experiment.describe)();
            let plan = (experiment.plan)(request).unwrap();
            let variants: &[Variant] = plan.variants.as_ref().unwrap_or(&descriptor.variants);
            for planned in &plan.cells {
                let Some(mut apparatus) = opened(planned, request) else { continue };
                let cell = &planned.arrangement;
                for (index, variant) in (0..).map(VariantIndex).zip(variants) {
                    if variant.role == Role::Measured && !cell.variants.contains(&index) {
                        continue;
                    }
                    let seen = match apparatus.check(index) {
                        Err(fault @ Fault::NoHugePages { .. }) => {
                            eprintln!("skipped: {}: {}: {fault}", cell.label, variant.name);
                            continue;
                        }
                        seen => seen.unwrap(),
                    };
                    let met = matches!(seen, Seen::Met(_));
                    let place = format!("{} {}: {}: {seen:?}", descriptor.name, cell.label, variant.name);
                    assert_eq!(met, variant.role == Role::Measured, "{place}");
                }
            }
        }
    });
}

#[test]
fn every_variant_can_be_timed() {
    with_request(Effort::Quick, |request| {
        for experiment in EXPERIMENTS {
            for planned in (experiment.plan)(request).unwrap().cells {
                let Some(mut apparatus) = opened(&planned, request) else { continue };
                let cell = planned.arrangement;
                for &variant in &cell.variants {
                    let lap = apparatus.epoch(variant, cell.least_iterations.max(1)).unwrap();
                    assert!(lap.shares.len() <= cell.cpus.len(), "{}", cell.label);
                }
            }
        }
    });
}

#[test]
fn what_one_cpu_cannot_answer_is_refused_and_not_left_out() {
    let refused = std::cell::Cell::new(0);
    with_cpus(&allowed_cpus().unwrap()[..1], Effort::Quick, |request| {
        for experiment in EXPERIMENTS {
            let hold = |refusal: Refusal| {
                assert!(refusal.reached.contains("1 CPU") && refusal.needs.starts_with('2'), "{refusal:?}");
                refused.set(refused.get() + 1);
            };
            let plan = match fit((experiment.plan)(request), "the plan") {
                Ok(plan) => plan,
                // The question itself is about several CPUs.
                Err(refusal) => {
                    hold(refusal);
                    continue;
                }
            };
            for planned in plan.cells {
                let Arrangement { label, headline, .. } = &planned.arrangement;
                if let Err(refusal) = fit(planned.open(request), label)
                    && !skips(label, &refusal)
                {
                    assert!(!headline, "{label}: a headline that one CPU cannot answer");
                    hold(refusal);
                }
            }
        }
    });
    assert!(refused.get() > 3, "a pipe between two CPUs, lines, buffers or distances were left out");
}

/// What was sound when it was checked and is not any more: in the third block, each measured variant does
/// what a planted fault does. Those that can be looked at while they are timed are named here.
#[test]
fn a_fault_that_comes_up_while_timed_is_an_implementation_error() {
    with_request(Effort::Quick, |request| {
        for name in ["atomics", "c2c", "thrash", "faults", "calls", "timer", "fib", "edit"] {
            let experiment = named(name);
            if let Err(Unfit::Refused(refusal)) = (experiment.plan)(request) {
                eprintln!("skipped: {name}: {}", refusal.reached);
                continue;
            }
            let (descriptor, planned_cell) = headline(experiment, request);
            for (planted, fault) in descriptor.planted_faults() {
                let Some(apparatus) = opened(&planned_cell, request) else { continue };
                let mut apparatus =
                    Planted::later(apparatus, |inner, _, iterations| inner.epoch(planted, iterations));
                let cell =
                    rehearsed((&descriptor, planned_cell.arrangement.clone()), request, &mut apparatus);
                let place = format!("{name}: {}", fault.name);
                let refusal = cell.refusal.as_ref().unwrap_or_else(|| panic!("{place}: not seen"));
                if skips(&place, refusal) {
                    continue;
                }
                let last = cell.checks.last().unwrap();
                let variant = &descriptor[last.variant].name;
                for words in [&format!("implementation error: `{variant}` broke"), &last.seen] {
                    assert!(refusal.reached.contains(words), "{place}: {refusal:?}");
                }
                // What a report takes for a fault, and the exit status with it.
                assert!(!last.as_expected() && !last.sabotage, "{place}: {last:?}");
                assert!(!cell.samples.is_empty() && cell.ended.is_none(), "{place}: two blocks were sound");
            }
        }
    });
}

fn taken(experiment: &str, variants: &[Variant], cell: &Arrangement) -> u64 {
    let parameter = |name: &str| cell.parameter(name).and_then(|text| text.parse::<u64>().ok());
    let coordinate = |variant: &VariantIndex| variants[*variant].coordinate(caches::BYTES);
    let homes = cell.parameter("homes").map_or(0, |homes| homes.split(',').count() as u64);
    let taken = match experiment {
        "caches" => cell.variants.iter().map(coordinate).sum(),
        "numa" => parameter("buffer").map(|buffer| buffer * homes),
        "thrash" => parameter("bytes").map(|bytes| 2 * bytes),
        _ => parameter("bytes"),
    };
    taken.unwrap_or_else(|| panic!("{experiment}: {}: it does not say what it takes", cell.label))
}

#[test]
fn half_of_little_memory_is_taken_at_most_or_it_is_refused() {
    for free in [64_u64 << 20, 24 << 20, 2 << 20] {
        with_machine(&machine_with(Bytes(free)), &allowed_cpus().unwrap(), Effort::Normal, |request| {
            for name in ["caches", "numa", "thrash", "faults", "fork"] {
                let hold = |refusal: Refusal| {
                    if skips(name, &refusal) {
                        return;
                    }
                    // With both figures.
                    let figures = format!("{} {} {}", refusal.reached, refusal.needs, refusal.remedy);
                    let either = |one: u64| figures.contains(&Bytes(one).to_string());
                    let is_said = request.cpus.len() < 2 || either(free) || either(free / 2);
                    assert!(is_said && refusal.needs.contains("iB"), "{name}: {refusal:?}");
                };
                let plan = match fit((named(name).plan)(request), name) {
                    Ok(plan) => plan,
                    Err(refusal) => {
                        hold(refusal);
                        continue;
                    }
                };
                let variants = plan.variants.unwrap_or((named(name).describe)().variants);
                assert!(!plan.cells.is_empty(), "{name}");
                for planned in plan.cells {
                    let cell = &planned.arrangement;
                    let place = format!("{name}: {}", cell.label);
                    match fit(planned.open(request), &place) {
                        Ok(_) => {
                            let taken = taken(name, &variants, cell);
                            assert!(taken > 0 && taken <= free / 2, "{place}: {taken} of {free}");
                        }
                        Err(refusal) => hold(refusal),
                    }
                }
            }
        });
    }
}

/// The process that a test starts finds here which experiment it is to run.
const REHEARSED: &str = "TENBIN_REHEARSED";

/// The experiment that this process is to run; none in the process that has just seen the test of this name
/// run in one of its own for each of `names`.
fn alone(test: &str, names: &[&str]) -> Option<String> {
    if let Ok(name) = std::env::var(REHEARSED) {
        return Some(name);
    }
    for name in names {
        let mut child = std::process::Command::new(std::env::current_exe().unwrap());
        let output = child.args(["--exact", test, "--nocapture"]).env(REHEARSED, name).output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success() && printed.contains("1 passed"), "{name}: {printed}{errors}");
        eprintln!("{errors}");
    }
    None
}

/// Huge pages are advice: what asked for them, and was given base pages, has broken nothing.
#[test]
fn memory_in_pieces_is_no_implementation_error() {
    let own = "experiments::tests::memory_in_pieces_is_no_implementation_error";
    let Some(name) = alone(own, &["caches", "faults", "fork"]) else { return };
    with_request(Effort::Quick, |request| {
        let (descriptor, planned) = headline(named(&name), request);
        let cell = planned.arrangement.clone();
        let asks = cell.variants.iter().any(|&at| descriptor[at].name.contains("huge"));
        if !asks {
            eprintln!("skipped: {name}: no huge page was granted");
            return;
        }
        // From here on there is none to be had, for this process and its children.
        forbid_huge_pages().unwrap();
        let mut apparatus = match fit(planned.open(request), &name) {
            Ok(apparatus) => apparatus,
            Err(refusal) => return assert!(in_pieces(&refusal), "{name}: {refusal:?}"),
        };
        let cell = rehearsed((&descriptor, cell), request, &mut *apparatus);
        let refusal = cell.refusal.unwrap();
        assert!(in_pieces(&refusal) && refusal.needs.contains("huge"), "{name}: {refusal:?}");
        assert!(cell.checks.iter().all(Check::as_expected), "{name}: {:?}", cell.checks);
    });
}

/// What is resident at the most, by the kernel's own count: a process of its own for each experiment, in
/// which nothing else is.
#[test]
fn what_is_resident_stays_within_half_of_what_is_free() {
    const FREE: u64 = 160 << 20;
    let high_water = || {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().strip_suffix(" kB").unwrap().trim().parse::<u64>().unwrap() << 10
    };
    let own = "experiments::tests::what_is_resident_stays_within_half_of_what_is_free";
    let Some(name) = alone(own, &["caches", "numa", "thrash", "faults"]) else { return };
    with_machine(&machine_with(Bytes(FREE)), &allowed_cpus().unwrap(), Effort::Quick, |request| {
        let experiment = named(&name);
        if let Err(Unfit::Refused(refusal)) = (experiment.plan)(request) {
            eprintln!("skipped: {name}: {}", refusal.reached);
            return;
        }
        let before = high_water();
        let (descriptor, planned) = headline(experiment, request);
        let Some(mut apparatus) = opened(&planned, request) else { return };
        let cell = rehearsed((&descriptor, planned.arrangement), request, &mut *apparatus);
        if cell.refusal.as_ref().is_some_and(|refusal| skips(&name, refusal)) {
            return;
        }
        assert_eq!(cell.refusal, None, "{name}");
        apparatus.findings().unwrap();
        let taken = high_water() - before;
        eprintln!("{name}: {} MiB of {} MiB", taken >> 20, FREE >> 20);
        // Beside buffers there are stacks and samples; and faults reads the kernel's symbols where it may.
        let program = if name == "faults" { 64 << 20 } else { 2 << 20 };
        assert!(taken > 0 && taken <= FREE / 2 + program, "{name}: {taken} bytes of {FREE}");
    });
}

/// A refusal for want of memory names a setting that is taken when it is followed.
#[test]
fn advice_about_memory_works_where_a_plan_gives_it() {
    let mut advice = 0;
    for (name, key, asked) in [
        ("caches", "largest", "65536"),
        ("caches", "largest", "700"),
        ("numa", "buffer", "65536"),
        ("numa", "buffer", "3000"),
        ("c2c", "samples", "20000"),
    ] {
        let experiment = named(name);
        for mib in [1_u64, 5, 40, 700, 15_740] {
            let planned = |value: &str| {
                let settings = settings(&(experiment.describe)(), &[(key, value)]).unwrap();
                let (machine, cpus) = (machine_with(Bytes(mib << 20)), (0..64).map(Cpu).collect());
                let effort = Effort::Normal;
                let asked = TestRequest { machine, cpus, effort, settings, ..TestRequest::default() };
                (experiment.plan)(&asked.request()).map(drop)
            };
            let Err(unfit) = planned(asked) else { continue };
            let Some((advised, value)) = crate::memory::advised(&unfit) else {
                assert!(mib < 50 || name == "c2c", "{name}, {mib} MiB: {unfit:?}");
                continue;
            };
            assert_eq!(advised, key);
            planned(&value).unwrap_or_else(|unfit| panic!("{name}, {mib} MiB, {value}: {unfit:?}"));
            advice += 1;
        }
    }
    assert!(advice > 10, "{advice}");
}
