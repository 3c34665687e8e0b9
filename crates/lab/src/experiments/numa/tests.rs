use tenbin_metal::allowed_cpus;
use tenbin_model::machine::{Cache, CpuPlace};
use tenbin_model::topology::USUAL_LINE;
use tenbin_model::{Machine, Size, VariantIndex, Word};

use super::*;
use crate::rehearsal::{
    Planted, TestRequest, arrangements, cache, machine_with, place, refuses, rehearsed, says,
};

const BYTES: usize = 1 << 20;

/// A reader and a home, the same CPU, as the only variant.
fn with_matrix(manner: Manner, body: impl FnOnce(&Request<'_>, &Descriptor, Arrangement, Matrix)) {
    let cpus = &allowed_cpus().unwrap()[..1];
    let asked = TestRequest { cpus: cpus.to_vec(), ..TestRequest::default() };
    let request = asked.request();
    let home = cpus[0];
    let mut descriptor = describe();
    let planted = descriptor.variants.pop().unwrap();
    descriptor.variants = vec![by_chase(home, home), planted];
    let arrangement = Arrangement {
        label: manner.label().into(),
        cpus: cpus.to_vec(),
        epoch: Picoseconds::from_micros(10),
        least_iterations: LEAST_STEPS,
        variants: vec![VariantIndex(0)],
        ..Arrangement::default()
    };
    let matrix = open(&arrangement, &request, manner, Bytes(BYTES as u64), &[(home, home)]).unwrap();
    body(&request, &descriptor, arrangement, matrix);
}

#[test]
fn memory_that_stays_is_measured_to_the_end() {
    for manner in [Manner::Chase, Manner::Stores] {
        with_matrix(manner, |request, descriptor, arrangement, mut matrix| {
            let cell = rehearsed((descriptor, arrangement), request, &mut matrix);
            assert_eq!(cell.refusal, None, "{manner:?}");
            assert!(!cell.samples.is_empty(), "{manner:?}");
            let finding = &matrix.findings().unwrap()[0];
            let asked = matrix.memories[0].placed.clone().placed().is_some();
            assert_eq!(finding.sentence.starts_with("No page that was looked at"), asked, "{finding:?}");
        });
    }
}

/// The kernel cannot be made to move a page where there is one node. So what it said before is replaced: to
/// what it says now, it is as if the pages had been on another node until then.
#[test]
fn pages_that_move_between_two_blocks_refuse_the_cell() {
    for manner in [Manner::Chase, Manner::Stores] {
        with_matrix(manner, |request, descriptor, arrangement, matrix| {
            let mut moving = Planted::later(Box::new(matrix), |matrix: &mut Matrix, variant, iterations| {
                matrix.memories[0].placed = Answer::Placed(Placement::all_on(u32::MAX, BYTES));
                matrix.epoch(variant, iterations)
            });
            let cell = rehearsed((descriptor, arrangement), request, &mut moving);
            let refusal = cell.refusal.as_ref().unwrap();
            // Where the kernel does not say where pages are, it was planted that it did and then fell silent.
            if refusal.reached.contains("no longer does") {
                eprintln!("the kernel does not say where memory lies: {}", refusal.reached);
            } else {
                let message = format!("the page at byte 0 was on node {} and is", u32::MAX);
                refuses(refusal, &message, "every page where it was", "numa_balancing");
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
    with_matrix(Manner::Chase, |request, descriptor, arrangement, mut matrix| {
        let spacing = USUAL_LINE.0 as usize;
        let short = Arc::new(Chase::two_cycles(BYTES, spacing, PageKind::Base, |bound| bound / 2).unwrap());
        let work = Work::Chase(short);
        matrix.memories[0].placed = work.placement().unwrap();
        matrix.memories[0].work = work;
        let cell = rehearsed((descriptor, arrangement), request, &mut matrix);
        let home = request.cpus[0];
        let message = format!("implementation error: `{home} in {home}'s memory` broke the specification");
        says(&cell.refusal.unwrap().reached, &[&message, &format!("of {} lines", BYTES / spacing)]);
        assert!(cell.samples.is_empty());
    });
}

fn planned(machine: &Machine, effort: Effort, sizes: &Sizes) -> Plan {
    let cpus = machine.cpus.iter().map(|place| place.cpu).collect();
    let asked = TestRequest { cpus, effort, ..TestRequest::default() };
    plan(&Request { machine, sizes, ..asked.request() }).unwrap()
}

/// `nodes` nodes of `groups` groups, each of `size` CPUs that share a last cache.
fn made(nodes: u32, groups: u32, size: u32) -> Machine {
    let place = |number: u32| {
        let first = number / size * size;
        let size_not_told = Observed::NotObservable("a test".into());
        let cache = Cache { size: size_not_told, ..cache(3, Bytes(0), first..first + size) };
        CpuPlace { node: Observed::Known(number / (groups * size)), ..place(number, vec![cache]) }
    };
    Machine { cpus: (0..nodes * groups * size).map(place).collect(), ..machine_with(Bytes(1 << 40)) }
}

fn size(level: u8, mib: u64) -> Size {
    Size { level, bytes: Bytes(mib << 20), by: Word::Firmware }
}

#[test]
fn a_block_stays_affordable_and_every_node_and_group_is_read() {
    for (nodes, groups, of, effort, all) in [
        (1, 1, 4, Effort::Quick, true),
        (2, 4, 8, Effort::Quick, true),
        (2, 8, 16, Effort::Quick, false),
        (2, 8, 16, Effort::Normal, false),
        (2, 12, 16, Effort::Normal, false),
        (8, 4, 16, Effort::Thorough, false),
        (2, 4, 24, Effort::Thorough, true),
    ] {
        let machine = made(nodes, groups, of);
        let plan = planned(&machine, effort, &Sizes::default());
        for cell in arrangements(&plan) {
            assert!(cell.variants.len() <= most_pairs(effort), "{}", cell.variants.len());
            let count = |belongs: &dyn Fn(u32) -> bool| cell.cpus.iter().filter(|cpu| belongs(cpu.0)).count();
            for group in 0..nodes * groups {
                let read = count(&|cpu| cpu / of == group);
                assert!(read >= 4.min(of as usize), "{read} readers of group {group} on {nodes} nodes");
            }
            let homes: Vec<u32> =
                cell.parameter("homes").unwrap().split(',').map(|home| home.parse().unwrap()).collect();
            assert!(homes.iter().all(|&home| cell.cpus.contains(&Cpu(home))));
            let unread = cell.parameter("unread").map_or(0, |unread| unread.parse().unwrap());
            assert_eq!(unread + cell.cpus.len(), machine.cpus.len());
            assert_eq!(unread == 0, all, "{nodes} nodes of {groups} groups of {of}");
        }
    }
}

#[test]
fn what_one_core_repeats_is_planned_as_often_as_cores_are() {
    for (cpus, expected) in [(4, 24), (28, 28), (64, 32)] {
        let plan = planned(&made(1, 1, cpus), Effort::Normal, &Sizes::default());
        let cells = arrangements(&plan);
        let variants = plan.variants.unwrap();
        let of_cell = |label: &str| {
            let cell = cells.iter().find(|cell| cell.label == label).unwrap();
            let repeats = |index: &&VariantIndex| variants[**index].coordinate(REPEAT).is_some();
            cell.variants.iter().filter(repeats).count()
        };
        assert_eq!((of_cell(BY_STORES), of_cell(BY_CHASE)), (expected, 0));
    }
}

#[test]
fn the_judge_is_told_how_large_buffers_had_to_be() {
    let levels = vec![size(2, 1), size(3, 8)];
    let known = |levels: &[Size], beyond: Option<u64>| Sizes {
        levels: levels.to_vec(),
        beyond: beyond.map(Bytes),
        ..Sizes::default()
    };
    for (sizes, beyond, buffer) in [
        (known(&levels, None), Some(32 << 20), 32 << 20),
        // A size between two MiB is rounded upwards.
        (known(&levels, Some((40 << 20) + 1)), Some((40 << 20) + 1), 41 << 20),
        (known(&levels, Some(24 << 20)), Some(32 << 20), 32 << 20),
        // The firmware names an L3 and nobody knows its size.
        (known(&levels[..1], None), None, SMALLEST),
        (known(&[], None), None, SMALLEST),
        (known(&[size(3, 1)], None), Some(4 << 20), SMALLEST),
    ] {
        let plan = planned(&made(1, 1, 4), Effort::Quick, &sizes);
        let cells = arrangements(&plan);
        let parameter = |name: &str| cells[0].parameter(name).map(|text| text.parse::<u64>().unwrap());
        assert_eq!((parameter("beyond"), parameter("buffer")), (beyond, Some(buffer)), "{sizes:?}");
    }
}

fn on_node(node: u32, cpus: &[Cpu]) -> Node {
    Node { node, cpus: cpus.to_vec(), distances: vec![] }
}

#[test]
fn memory_away_from_the_cpu_that_touched_it_is_refused() {
    let nodes = [on_node(0, &[Cpu(0), Cpu(1)]), on_node(1, &[Cpu(2), Cpu(3)])];
    let placed = Placement::all_on(1, BYTES);
    assert!(at_home(&placed, Cpu(2), &nodes).is_ok());
    assert!(at_home(&placed, Cpu(9), &nodes).is_ok(), "the firmware has it nowhere");
    assert!(at_home(&placed, Cpu(0), &[]).is_ok());
    let Err(Unfit::Refused(refusal)) = at_home(&placed, Cpu(1), &nodes) else { panic!("it lies on node 1") };
    let pages = placed.asked();
    let message =
        format!("of {pages} pages looked at in the memory that CPU 1 touched first, 0 are on node 0");
    refuses(&refusal, &message, "every page", "free memory on node 0");
    assert!(refusal.reached.ends_with(&format!("{pages} on node 1")), "{refusal:?}");
}

/// The kernel cannot be made to put a page elsewhere where there is one node. So the firmware's word is
/// replaced: by it, the CPU is on a node from which no memory comes.
#[test]
fn a_cell_whose_memory_lies_elsewhere_is_not_opened() {
    let cpus = &allowed_cpus().unwrap()[..1];
    for manner in [Manner::Chase, Manner::Stores] {
        with_matrix(manner, |request, _, arrangement, matrix| {
            let Some(placed) = matrix.memories[0].placed.clone().placed() else {
                eprintln!("skipped: the kernel does not say where memory lies");
                return;
            };
            let here = placed.by_node()[0].0;
            for (node, opens) in [(here, true), (u32::MAX, false)] {
                let machine = Machine {
                    nodes: Observed::Known(vec![on_node(node, cpus)]),
                    ..machine_with(Bytes(1 << 40))
                };
                let request = Request { machine: &machine, ..*request };
                match open(&arrangement, &request, manner, Bytes(BYTES as u64), &[(cpus[0], cpus[0])]) {
                    Ok(_) => assert!(opens, "node {node}"),
                    Err(Unfit::Refused(refusal)) => {
                        assert!(!opens, "{refusal:?}");
                        assert!(refusal.reached.contains(&format!("0 are on node {node}")), "{refusal:?}");
                    }
                    Err(other) => panic!("{other:?}"),
                }
            }
        });
    }
}

#[test]
fn one_core_reads_at_a_time_so_a_quota_of_one_cpu_is_enough() {
    let machine = Machine { cpu_quota: Observed::Known(Some(1.0)), ..machine_with(Bytes(1 << 40)) };
    let (cpus, effort) = ((0..16).map(Cpu).collect(), Effort::Normal);
    let asked = TestRequest { machine: machine.clone(), cpus, effort, ..TestRequest::default() };
    let plan = plan(&asked.request()).unwrap();
    assert_eq!(plan.cells.len(), 2);
    for cell in &arrangements(&plan) {
        assert_eq!(crate::engine::refusal(&machine, cell, &[]), None, "{}", cell.label);
    }
}
