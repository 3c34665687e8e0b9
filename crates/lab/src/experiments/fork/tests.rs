//! What `fork` plans, checks and refuses.

use tenbin_model::{Role, Variant, VariantIndex};

use super::lines::{HUGE, PAGES, WAY};
use super::*;
use crate::rehearsal::{TestRequest, machine_with, settings};

/// Calls `body` with a request on a machine with so many MiB free.
fn with<T>(free: u64, effort: Effort, mib: Option<&str>, body: impl FnOnce(&Request<'_>) -> T) -> T {
    let given: Vec<(&str, &str)> = mib.map(|mib| ("mib", mib)).into_iter().collect();
    let (machine, settings) = (machine_with(Bytes(free << 20)), settings(&describe(), &given).unwrap());
    body(&TestRequest { machine, effort, settings, ..TestRequest::default() }.request())
}

fn planned(request: &Request<'_>) -> (Vec<Variant>, PlannedCell) {
    let mut plan = plan(request).unwrap();
    assert_eq!(plan.cells.len(), 1);
    (plan.variants.take().unwrap(), plan.cells.remove(0))
}

#[test]
fn half_of_free_memory_holds_the_sizes_in_both_kinds_of_pages() {
    let table: [(u64, Effort, Option<&str>, &[u64]); 6] = [
        (8 << 10, Effort::Normal, None, &[0, 4, 16, 64, 256]),
        (8 << 10, Effort::Quick, None, &[0, 4, 16, 64]),
        (2 * 2 * 84, Effort::Normal, None, &[0, 4, 16, 64]),
        (2 * 2 * 84 - 1, Effort::Normal, None, &[0, 4, 16]),
        (2 * 2 * 20, Effort::Thorough, None, &[0, 4, 16]),
        (8 << 10, Effort::Quick, Some("8,2,1"), &[0, 1, 2, 8]),
    ];
    for (free, effort, given, expected) in table {
        with(free, effort, given, |request| {
            assert_eq!(sizes(request).unwrap(), expected, "{free} {given:?}")
        });
    }
}

/// What a refusal for want of memory advises is taken, whatever was asked for and however much is free.
#[test]
fn advice_about_memory_works_for_sizes_of_fork() {
    let mut advice = 0;
    // Asked once: where processes are limited to hardly enough, a way may be missing at one time and not at
    // another.
    let known = with(8 << 10, Effort::Normal, None, |request| here(request).unwrap());
    for free in [3_u64, 13, 77, 300, 2_000, 15_740, 1 << 20] {
        for asked in ["4,999999", "1,2,3,900000", "999998,999999", "700,800", "2,4,8,16,32,64,128,256,512"] {
            let refused = |mib: Option<&str>| {
                with(free, Effort::Normal, mib, |request| {
                    let sizes = sizes(request)?;
                    affordable(request, &known.lines, &sizes).map(drop)
                })
            };
            let Err(unfit) = refused(Some(asked)) else { continue };
            let Some((key, value)) = crate::memory::advised(&unfit) else {
                assert!(free < 10, "{free} MiB free, {asked}: {unfit:?}");
                continue;
            };
            assert_eq!(key, "mib");
            refused(Some(&value))
                .unwrap_or_else(|unfit| panic!("{free} MiB free, {asked}: {value}: {unfit:?}"));
            advice += 1;
        }
    }
    assert!(advice > 10, "{advice}");
}

#[test]
fn too_little_memory_is_refused_and_too_few_sizes_are_wrong() {
    with(2 * 2 * 20 - 1, Effort::Normal, None, |request| match plan(request) {
        Err(Unfit::Refused(refusal)) => {
            assert!(refusal.reached.contains("40 MiB") && refusal.needs.contains("80 MiB"), "{refusal:?}");
        }
        other => panic!("{other:?}"),
    });
    for (mib, part) in
        [("4", "2 sizes or more"), ("0,4", "`0` is not"), ("4,x", "`x` is not"), ("4,4", "twice")]
    {
        with(8 << 10, Effort::Normal, Some(mib), |request| match plan(request) {
            Err(Unfit::Usage(message)) => assert!(message.contains(part), "{mib}: {message}"),
            other => panic!("{mib}: {other:?}"),
        });
    }
    with(64, Effort::Normal, Some("4,1024"), |request| {
        let (_, cell) = planned(request);
        match cell.open(request) {
            Err(Unfit::Refused(refusal)) => {
                assert!(refusal.reached.contains("32 MiB may be taken"), "{refusal:?}")
            }
            Ok(_) => panic!("a gibibyte was taken"),
            Err(other) => panic!("{other:?}"),
        }
    });
}

#[test]
fn in_a_hurry_fewer_ways_are_asked_and_the_dearest_are_left_out() {
    let names = |effort| {
        with(8 << 10, effort, None, |request| {
            let here = here(request).unwrap();
            // Whether huge pages are to be had may change from one moment to the next.
            let lines = here.lines.into_iter().map(|line| &LINES[line]).filter(|line| !line.huge);
            lines.map(|line| line.name).collect::<Vec<_>>()
        })
    };
    let (quick, normal) = (names(Effort::Quick), names(Effort::Normal));
    assert!(quick.len() < normal.len() && quick.iter().all(|name| normal.contains(name)));
    assert!(quick.contains(&"fork") && !quick.contains(&"fork of written pages"));
}

#[test]
fn every_line_has_every_size_and_stands_where_it_says() {
    with(8 << 10, Effort::Normal, None, |request| {
        let (variants, planned) = planned(request);
        let cell = planned.arrangement;
        let measured: Vec<&Variant> = cell.variants.iter().map(|&number| &variants[number]).collect();
        assert!(measured.iter().all(|variant| variant.role == Role::Measured));
        let here = here(request).unwrap().lines;
        for (number, line) in LINES.iter().enumerate() {
            let own = [Some(line.number), Some(line.huge.into())];
            let of_line = measured.iter().filter(|it| [it.coordinate(WAY), it.coordinate(HUGE)] == own);
            let pages = of_line.filter_map(|variant| variant.coordinate(PAGES));
            let points: Vec<u64> = pages.map(|pages| (pages * page() as u64) >> 20).collect();
            let expected: &[u64] = match here.contains(&number) {
                false => &[],
                true if line.most < 256 => &[0, 4, 16, 64],
                true => &[0, 4, 16, 64, 256],
            };
            if !line.huge {
                assert_eq!(points, expected, "{}", line.name);
            }
            assert!(points.is_empty() || variants.iter().any(|variant| variant.name == line.name));
        }
        // The smallest size and the largest.
        for comparison in &cell.comparisons {
            let pages = |number: VariantIndex| variants[number].coordinate(PAGES);
            assert_eq!(pages(comparison.left), pages(comparison.right));
        }
        assert_eq!(cell.at_once, Some(1));
    });
}

/// A cell of two small sizes, set up.
fn small(body: impl FnOnce(&[Variant], &Arrangement, &mut dyn Apparatus)) {
    with(8 << 10, Effort::Quick, Some("1,2"), |request| {
        let (variants, cell) = planned(request);
        let mut apparatus = cell.open(request).unwrap();
        body(&variants, &cell.arrangement, &mut *apparatus);
    });
}

#[test]
fn each_planted_fault_breaks_what_it_says_and_nothing_after() {
    small(|variants, cell, apparatus| {
        let mut seen = Vec::new();
        for (number, variant) in (0..).map(VariantIndex).zip(variants) {
            match apparatus.check(number).unwrap() {
                Seen::Met(met) => assert_eq!(variant.role, Role::Measured, "{}: {met}", variant.name),
                Seen::Broken(broken) => {
                    assert_eq!(variant.role, Role::Sabotage, "{}: {broken}", variant.name);
                    seen.push(broken);
                }
            }
        }
        assert!(seen.contains(&"the child ended with status 43 and not with 42".to_owned()), "{seen:?}");
        let short = (1 << 20) / page();
        assert!(seen.contains(&format!("{} of {short} pages are resident", short - 1)), "{seen:?}");
        if variants.iter().any(|variant| variant.name == "a fork that shares the memory") {
            assert!(
                seen.iter().any(|broken| broken.contains("can see what the child wrote, and should not")),
                "{seen:?}"
            );
        } else {
            eprintln!("skipped: no process can be made here that shares memory and runs beside its parent");
        }
        for &variant in &cell.variants {
            assert!(matches!(apparatus.check(variant).unwrap(), Seen::Met(_)), "after the planted faults");
        }
    });
}

#[test]
fn epochs_have_a_time_and_see_a_child_that_ends_otherwise() {
    small(|variants, cell, apparatus| {
        apparatus.shift(7);
        for &variant in &cell.variants {
            let lap = apparatus.epoch(variant, 3).unwrap();
            assert!(lap.elapsed.0 > 0 && lap.shares.is_empty(), "{}", variants[variant].name);
        }
        let otherwise =
            variants.iter().position(|variant| variant.name == "a child that ends otherwise").unwrap();
        match apparatus.epoch(otherwise.into(), 3) {
            Err(Failure::Wrong(wrong)) => assert_eq!(wrong, "3 of 3 children did not end with status 42"),
            other => panic!("{other:?}"),
        }
        let findings = apparatus.findings().unwrap();
        assert!(findings[0].sentence.contains("page tables besides its buffer"), "{findings:?}");
    });
}

/// What a check answers to what can be seen of a child.
#[test]
fn every_way_to_break_the_specification_is_told_apart() {
    let good = Watched { runs: Some(1), read: 7, seen_by_parent: false, status: Some(ASKED) };
    let table: [(Way, Watched, Result<&str, &str>); 11] = [
        (Way::Fork, good, Ok("a copy of its parent's")),
        (
            Way::Fork,
            Watched { seen_by_parent: true, ..good },
            Err("can see what the child wrote, and should not"),
        ),
        (Way::Fork, Watched { runs: Some(2), ..good }, Err("one call made 2 children")),
        (Way::Fork, Watched { runs: Some(0), read: 0, ..good }, Err("0 children")),
        (Way::Fork, Watched { read: 6, ..good }, Err("did not see what was written before")),
        (Way::Fork, Watched { status: None, ..good }, Err("by a signal")),
        (Way::Vfork, good, Err("cannot see what the child wrote, and should")),
        (Way::Vfork, Watched { seen_by_parent: true, ..good }, Ok("memory its parent's")),
        (Way::PosixSpawn, Watched { runs: None, read: 0, ..good }, Ok("1 child, status 42")),
        (
            Way::Thread,
            Watched { seen_by_parent: true, status: None, ..good },
            Ok("1 thread, which has no status, memory its parent's"),
        ),
        (Way::Thread, Watched { seen_by_parent: true, ..good }, Err("with status 42 and not without one")),
    ];
    for (way, watched, expected) in table {
        match (child(way, &watched, 7), expected) {
            (Ok(sentence), Ok(part)) | (Err(sentence), Err(part)) => {
                assert!(sentence.contains(part), "{way:?}: {sentence}")
            }
            (outcome, expected) => panic!("{way:?}: {outcome:?} and not {expected:?}"),
        }
    }
}
