use tenbin_metal::{Clock, allowed_cpus};
use tenbin_model::{Machine, Sizes};

use super::*;
use crate::experiment::Settings;
use crate::rehearsal::{Planted, rehearsed};

const BYTES: usize = 1 << 20;

/// A reader and a home, the same CPU, as the only variant; with `work` in the home's memory if it is given.
fn with_matrix(label: &str, body: impl FnOnce(&Request<'_>, &Descriptor, Arrangement, Matrix)) {
    let machine = Machine::unobserved("a test");
    let cpus = &allowed_cpus().unwrap()[..1];
    let (settings, sizes) = (Settings::default(), Sizes::default());
    let (clock, effort) = (Clock::kernel(), Effort::Quick);
    let request = Request { machine: &machine, clock, cpus, effort, settings: &settings, sizes: &sizes, seed: 1 };
    let home = cpus[0];
    let mut descriptor = describe();
    let planted = descriptor.variants.pop().unwrap();
    descriptor.variants = vec![by_chase(home, home), planted];
    let arrangement = Arrangement {
        label: label.into(),
        cpus: cpus.to_vec(),
        epoch: Picoseconds::from_micros(10),
        least_iterations: LEAST_STEPS,
        variants: vec![0],
        ..Arrangement::default()
    };
    let mut random = Pcg64Mcg::seed_from_u64(1);
    let mut below = move |bound: usize| random.random_range(0..bound);
    let spacing = USUAL_LINE as usize;
    let matrix = Matrix {
        counted: Vmstat::default(),
        clock,
        first: 0,
        ways: vec![Way { reader: home, memory: 0 }],
        memories: vec![Memory::touched_by(home, label, BYTES, spacing, &mut below).unwrap()],
        broken: Chase::two_cycles(1 << 16, spacing, PageKind::Base, &mut below).unwrap(),
        due: true,
    };
    body(&request, &descriptor, arrangement, matrix);
}

#[test]
fn memory_that_stays_is_measured_to_the_end() {
    for label in [BY_CHASE, BY_STORES] {
        with_matrix(label, |request, descriptor, arrangement, mut matrix| {
            let cell = rehearsed((descriptor, arrangement), request, &mut matrix);
            assert_eq!(cell.refusal, None, "{label}");
            assert!(!cell.samples.is_empty(), "{label}");
            let finding = &matrix.findings().unwrap()[0];
            let asked = matrix.memories[0].placed.clone().placed().is_some();
            assert_eq!(finding.sentence.starts_with("No page moved"), asked, "{finding:?}");
        });
    }
}

/// The kernel cannot be made to move a page where there is one node. So what it said before is replaced: to what it
/// says now, it is as if the pages had been on another node until then.
#[test]
fn pages_that_move_between_two_blocks_refuse_the_cell() {
    for label in [BY_CHASE, BY_STORES] {
        with_matrix(label, |request, descriptor, arrangement, matrix| {
            let mut moving = Planted::later(matrix, |matrix: &mut Matrix, variant, iterations| {
                matrix.memories[0].placed = Answer::Placed(Placement::all_on(u32::MAX, BYTES));
                matrix.epoch(variant, iterations)
            });
            let cell = rehearsed((descriptor, arrangement), request, &mut moving);
            let refusal = cell.refusal.as_ref().unwrap();
            // Where the kernel does not say where pages are, it was planted that it did and then fell silent.
            if refusal.reached.contains("does not any more") {
                eprintln!("the kernel does not say where memory lies: {}", refusal.reached);
            } else {
                let said = format!("the page at byte 0 was on node {} and is", u32::MAX);
                assert!(refusal.reached.contains(&said), "{refusal:?}");
                assert!(refusal.needs.contains("every page where it was"), "{refusal:?}");
                assert!(refusal.remedy.contains("numa_balancing"), "{refusal:?}");
            }
            assert!(refusal.reached.contains(&format!("{}'s memory", request.cpus[0])), "{refusal:?}");
            assert!(!cell.samples.is_empty() && cell.ended.is_none());
            // The kernel's doing, and no fault of the variant.
            assert!(cell.checks.iter().all(tenbin_model::Check::as_expected));
            assert!(moving.findings().is_err(), "nobody says that no page moved");
        });
    }
}

#[test]
fn a_measured_walk_that_is_not_one_cycle_is_never_timed() {
    with_matrix(BY_CHASE, |request, descriptor, arrangement, mut matrix| {
        let spacing = USUAL_LINE as usize;
        let short = Arc::new(Chase::two_cycles(BYTES, spacing, PageKind::Base, |bound| bound / 2).unwrap());
        let work = Work::Chase(short);
        matrix.memories[0].placed = work.placement().unwrap();
        matrix.memories[0].work = work;
        let cell = rehearsed((descriptor, arrangement), request, &mut matrix);
        let refusal = cell.refusal.as_ref().unwrap();
        let home = request.cpus[0];
        let said = format!("implementation error: `{home} in {home}'s memory` broke the specification");
        assert!(refusal.reached.contains(&said), "{refusal:?}");
        assert!(refusal.reached.contains(&format!("of {} lines", BYTES / spacing)), "{refusal:?}");
        assert!(cell.samples.is_empty());
    });
}
