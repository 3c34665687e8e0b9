use tenbin_metal::pages::modest_huge_page;
use tenbin_metal::{Pin, allowed_cpus};
use tenbin_model::topology::USUAL_LINE;
use tenbin_model::{Picoseconds, VariantIndex};

use super::*;
use crate::rehearsal::{Planted, TestRequest, refuses, rehearsed, says};

/// Two sizes that fit anywhere, as variants 0 and 1, in base pages on the first CPU.
fn with_walks(body: impl FnOnce(&Request<'_>, Descriptor, Arrangement, Walks)) {
    let cpus = &allowed_cpus().unwrap()[..1];
    let asked = TestRequest { cpus: cpus.to_vec(), ..TestRequest::default() };
    let request = asked.request();
    let bytes = [SMALLEST, 2 * SMALLEST];
    let mut descriptor = describe();
    let planted = descriptor.variants.pop().unwrap();
    descriptor.variants = bytes.map(|bytes| variant("base", cpus[0], bytes)).into();
    descriptor.variants.push(planted);
    let arrangement = Arrangement {
        label: "in base pages".into(),
        cpus: cpus.to_vec(),
        epoch: Picoseconds::from_micros(10),
        least_iterations: LEAST_STEPS,
        variants: VariantIndex::range(0..2),
        ..Arrangement::default()
    };
    let walks = open(&arrangement, &request, PageKind::Base, &bytes).unwrap();
    body(&request, descriptor, arrangement, walks);
}

#[test]
fn sizes_are_half_octaves_then_octaves_within_the_allowance() {
    let sizes = up_to(256 << 20);
    assert_eq!(sizes[..5], [4 << 10, 6 << 10, 8 << 10, 12 << 10, 16 << 10]);
    assert_eq!(sizes[sizes.len() - 4..], [48 << 20, 64 << 20, 128 << 20, 256 << 20]);
    let few = within(sizes.clone(), 64, PageKind::Base, Bytes(30 << 20));
    assert!(few.iter().sum::<u64>() <= 30 << 20 && few.len() < sizes.len() && few.len() > 10, "{few:?}");
    // What it takes to make the last one has to fit as well: a sixteenth of it here.
    let two = vec![32 << 20, 32 << 20];
    assert_eq!(within(two.clone(), 64, PageKind::Huge, Bytes(64 << 20)).len(), 1);
    assert_eq!(within(two, 64, PageKind::Huge, Bytes(66 << 20)).len(), 2);
    // The smallest takes a huge page all the same.
    let small = vec![4 << 10, 6 << 10, 8 << 10];
    if let Some(huge) = modest_huge_page() {
        assert_eq!(within(small.clone(), 64, PageKind::Huge, Bytes(huge as u64 / 2 * 5)).len(), 2);
    }
    assert_eq!(within(small, 64, PageKind::Base, Bytes(5 << 20)).len(), 3);
    assert_eq!(within(sizes.clone(), 64, PageKind::Huge, Bytes(u64::MAX)), sizes);
}

#[test]
fn a_measured_walk_that_is_not_one_cycle_is_never_timed() {
    with_walks(|request, descriptor, arrangement, mut walks| {
        let (spacing, lines) = (USUAL_LINE.0 as usize, 2 * SMALLEST / USUAL_LINE.0);
        let short =
            Chase::two_cycles(2 * SMALLEST as usize, spacing, PageKind::Base, |bound| bound / 2).unwrap();
        walks.chases[1] = Arc::new(short);
        walks.tasks[1] = walk(Arc::clone(&walks.chases[1]));
        let cell = rehearsed((&descriptor, arrangement), request, &mut walks);
        let lines = format!("of {lines} lines");
        says(&cell.refusal.unwrap().reached, &["implementation error: `8 KiB in base pages", &lines]);
        assert!(cell.samples.is_empty());
        assert!(cell.checks.iter().any(|check| check.variant == VariantIndex(1) && !check.as_expected()));
    });
}

/// A walker that finds itself on another CPU in the third block, as a container's manager may have it.
#[test]
fn a_walker_that_is_moved_to_another_cpu_refuses_the_cell() {
    let all = allowed_cpus().unwrap();
    let Some(&elsewhere) = all.get(1) else {
        eprintln!("skipped: one CPU, so there is none to be moved to");
        return;
    };
    with_walks(|request, descriptor, arrangement, walks| {
        let mut walks = Planted::later(Box::new(walks), |walks: &mut Walks, variant, steps| {
            walks.tasks[variant.place()] = Arc::new(move |_, _| {
                std::mem::forget(Pin::hold(elsewhere));
                0
            });
            walks.epoch(variant, steps)
        });
        let cell = rehearsed((&descriptor, arrangement), request, &mut walks);
        let message = format!("worker 0 was pinned to {} and ran on {elsewhere}", all[0]);
        refuses(&cell.refusal.unwrap(), &message, "every worker on its CPU", "");
        assert!(!cell.samples.is_empty() && cell.ended.is_none(), "two blocks were sound, none is believed");
        // The machine's doing, and none of the variants'.
        assert!(cell.checks.iter().all(tenbin_model::Check::as_expected));
    });
}
