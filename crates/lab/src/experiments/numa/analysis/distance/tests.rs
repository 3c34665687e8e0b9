//! What the judge promises, counted over seeded runs of made-up machines. Run with `--nocapture` to see the
//! counts.

use super::simulation::{Counts, Made, count, cpu};
use super::*;

/// Machines of each kind that a promise is held against.
const RUNS: u32 = 1_000;
/// Machines of the kinds beside them, which are larger and take longer.
const FEW: u32 = 100;
/// Machines of the largest kinds.
const VERY_FEW: u32 = 10;

fn heavy(made: Made) -> Made {
    Made { preempted: 0.05, ..made }
}

fn first_of_each(groups: &[usize], homes: usize) -> Vec<usize> {
    let starts = groups.iter().scan(0, |next, size| {
        let start = *next;
        *next += size;
        Some(start)
    });
    starts.flat_map(|start| start..start + homes).collect()
}

fn print(kind: &str, counts: Counts) {
    let Counts { runs, distant, right, alike, covered } = counts;
    println!("{kind:56} {runs:5} {distant:8} {right:6} {alike:6} {covered:8}");
}

fn heading() {
    println!(
        "{:56} {:>5} {:>8} {:>6} {:>6} {:>8}",
        "machine", "runs", "distant", "right", "alike", "covered"
    );
}

#[test]
fn what_is_alike_is_never_called_distant() {
    heading();
    let flat = |readers: usize, homes: usize, blocks: u32| Made {
        homes: (0..homes).collect(),
        blocks,
        ..Made::of(&[readers], 1.0)
    };
    let uneven = |made: Made| Made { cores: 2.0, buffers: 2.0, ..made };
    for (kind, runs, made) in [
        ("4 readers, 2 homes, 8 blocks", RUNS, flat(4, 2, 8)),
        ("8 readers, 3 homes, 8 blocks", RUNS, flat(8, 3, 8)),
        ("8 readers, 8 homes, 6 blocks", FEW, flat(8, 8, 6)),
        ("16 readers, 4 homes, 12 blocks twice", FEW, Made { tries: 2, ..flat(16, 4, 12) }),
        ("64 readers, 8 homes, 6 blocks", VERY_FEW, flat(64, 8, 6)),
    ] {
        for (noise, made) in [("", made.clone()), (", preempted", heavy(made))] {
            for (speeds, made) in [("", made.clone()), (", slow cores and buffers", uneven(made))] {
                let counts = count(&made, 0.0, runs);
                print(&format!("{kind}{speeds}{noise}"), counts);
                assert_eq!(counts.distant, 0, "{kind}{speeds}{noise}");
                assert!(counts.alike >= runs * 9 / 10, "{kind}{speeds}{noise}: {counts:?}");
            }
        }
    }
}

#[test]
fn a_gap_of_a_tenth_is_found_with_its_groups() {
    let of = |sizes: [usize; 2], homes: usize, blocks: u32| Made {
        homes: first_of_each(&sizes, homes),
        blocks,
        ..Made::of(&sizes, 1.1)
    };
    hold([
        ("2 + 2 readers, 1 home each, 8 blocks", RUNS, 0.1, of([2, 2], 1, 8)),
        ("4 + 4 readers, 2 homes each, 6 blocks", RUNS, 0.1, of([4, 4], 2, 6)),
        ("4 + 4 readers, 2 homes each, slow cores", FEW, 0.1, Made { cores: 2.0, ..of([4, 4], 2, 8) }),
        ("4 + 4 readers, 4 homes each, 6 blocks", FEW, 0.1, of([4, 4], 4, 6)),
        ("6 + 2 readers, 2 homes each, 8 blocks", FEW, 0.1, of([6, 2], 2, 8)),
        ("12 + 4 readers, 2 homes each, 12 blocks", FEW, 0.1, of([12, 4], 2, 12)),
    ]);
}

#[test]
fn nodes_at_several_distances_are_found() {
    let four = |size: usize, homes: usize, distance: [[f64; 4]; 4]| Made {
        homes: first_of_each(&[size; 4], homes),
        distance: distance.iter().map(|row| row.to_vec()).collect(),
        ..Made::of(&[size; 4], 1.0)
    };
    let packages = [[1.0, 1.1, 1.2, 1.2], [1.1, 1.0, 1.2, 1.2], [1.2, 1.2, 1.0, 1.1], [1.2, 1.2, 1.1, 1.0]];
    let ring = [[1.0, 1.1, 1.2, 1.1], [1.1, 1.0, 1.1, 1.2], [1.2, 1.1, 1.0, 1.1], [1.1, 1.2, 1.1, 1.0]];
    let lopsided =
        [[1.0, 1.15, 1.3, 1.6], [1.25, 1.0, 1.6, 1.3], [1.6, 1.3, 1.0, 1.15], [1.3, 1.6, 1.25, 1.0]];
    let two = |there: f64, back: f64| Made {
        homes: vec![0, 1, 4, 5],
        distance: vec![vec![1.0, there], vec![back, 1.0]],
        ..Made::of(&[4, 4], 1.0)
    };
    let uneven = |made: Made| Made { cores: 2.0, buffers: 1.3, ..made };
    let mean = |there: f64, back: f64| (there * back).sqrt() - 1.0;
    hold([
        ("4 nodes of 2, 1 home each, 10 % and 20 %", RUNS, 0.1, four(2, 1, packages)),
        ("4 nodes of 4, 2 homes each, 10 % and 20 %", FEW, 0.1, four(4, 2, packages)),
        ("4 nodes of 2, all homes, a ring of 10 % and 20 %", FEW, 0.1, four(2, 2, ring)),
        ("4 nodes of 4, three asymmetric distances", FEW, mean(1.15, 1.25), four(4, 2, lopsided)),
        ("2 nodes, 10 % there and 25 % back", RUNS, mean(1.1, 1.25), two(1.1, 1.25)),
        ("2 nodes, 40 %, slow cores, buffers up to 1.3x", FEW, 0.4, uneven(two(1.4, 1.4))),
    ]);
}

#[test]
fn few_homes_among_many_readers_are_enough() {
    let of = |sizes: &[usize], homes: usize| Made {
        homes: first_of_each(sizes, homes),
        cores: 2.0,
        ..Made::of(sizes, 1.1)
    };
    hold([
        ("16 readers on 2 nodes, 1 home each", RUNS, 0.1, of(&[8, 8], 1)),
        ("64 readers on 2 nodes, 4 homes each", VERY_FEW, 0.1, of(&[32, 32], 4)),
        ("64 readers on 4 nodes, 2 homes each", VERY_FEW, 0.1, of(&[16; 4], 2)),
        ("128 readers on 2 nodes, 2 homes each", VERY_FEW, 0.1, of(&[64, 64], 2)),
    ]);
}

/// Counts machines of each kind, with and without preemption: 99 of 100 must be found with exactly their
/// groups, and the interval of the gap, given last but one, must hold it 19 times of 20.
fn hold<const KINDS: usize>(kinds: [(&str, u32, f64, Made); KINDS]) {
    heading();
    for (kind, runs, gap, made) in kinds {
        for (noise, made) in [("", made.clone()), (", preempted", heavy(made))] {
            let counts = count(&made, gap, runs);
            print(&format!("{kind}{noise}"), counts);
            assert!(counts.right >= runs - runs / 100, "{kind}{noise}: {counts:?}");
            assert!(runs < FEW || counts.covered >= counts.right * 95 / 100, "{kind}{noise}: {counts:?}");
        }
    }
}

/// Machines whose gap is the one that a flat machine of the same kind says it would have shown.
#[test]
fn the_smallest_gap_that_would_show_shows_nine_times_of_ten() {
    heading();
    for (kind, sizes, homes, blocks) in [
        ("2 + 2 readers, 1 home each", [2, 2], vec![0, 2], 8),
        ("2 + 6 readers, 1 home and 3", [2, 6], vec![0, 2, 3, 4], 8),
        ("2 + 6 readers, all homes", [2, 6], (0..8).collect(), 8),
        ("8 + 8 readers, 2 homes each", [8, 8], vec![0, 1, 8, 9], 12),
    ] {
        let made = |far: f64| Made { homes: homes.clone(), blocks, ..Made::of(&sizes, far) };
        let would: Vec<f64> = (0..50).map(|seed| judge(&made(1.0).measured(seed)).detectable).collect();
        let gap = middle::median(would);
        let counts = count(&made(1.0 + gap), gap, 2 * FEW);
        print(&format!("{kind}, gap {:.1} %", gap * 100.0), counts);
        assert!(counts.distant >= counts.runs * 9 / 10, "{kind}: {counts:?}");
    }
}

/// Pages may suit a core for reasons of their own. That is spread within groups, and must not be called
/// distance.
#[test]
fn pairs_that_differ_for_good_are_not_called_distant() {
    heading();
    let lasting = |readers: usize, homes: usize| Made {
        lasting: 0.02,
        homes: (0..homes).collect(),
        ..Made::of(&[readers], 1.0)
    };
    for (kind, made) in [("8 readers, 4 homes", lasting(8, 4)), ("16 readers, 4 homes", lasting(16, 4))] {
        let counts = count(&made, 0.0, 5 * FEW);
        print(&format!("{kind}, pairs differ by 2 % for good"), counts);
        assert!(counts.distant <= counts.runs / 100, "{kind}: {counts:?}");
    }
}

#[test]
fn two_cpus_are_told_what_they_can_and_cannot_say() {
    for (far, low, high) in [(1.0, -0.05, 0.05), (1.4, 0.3, 0.5)] {
        let made = Made::of(&[1, 1], far);
        let distances = judge(&made.measured(7));
        assert_eq!(distances.outcome, Outcome::Undecided(Why::TooFewCpus));
        let gap = distances.gap.unwrap();
        assert!(gap.relative > low && gap.relative < high && gap.interval.low < gap.relative, "{gap:?}");
        assert!(distances.detectable > 0.01 && distances.detectable < 0.1, "{distances:?}");
        println!("{}", distances.in_words());
    }
    let heavily = (0..200).filter(|&seed| {
        judge(&heavy(Made::of(&[1, 1], 1.4)).measured(seed)).outcome != Outcome::Undecided(Why::TooFewCpus)
    });
    assert_eq!(heavily.count(), 0);
}

#[test]
fn too_little_is_refused_with_its_figures() {
    let few = |made: Made| judge(&made.measured(1));
    for (made, why) in [
        (Made::of(&[3], 1.0), Why::TooFewCpus),
        (Made { homes: vec![0], ..Made::of(&[4, 4], 1.4) }, Why::TooFewCpus),
        (Made { blocks: 4, ..Made::of(&[4, 4], 1.4) }, Why::TooFewBlocks),
        (Made::of(&[1, 5], 1.4), Why::LoneCpu),
        (Made { noise: 0.2, ..Made::of(&[4, 4], 1.0) }, Why::TooCoarse),
    ] {
        let distances = few(made);
        assert_eq!(distances.outcome, Outcome::Undecided(why), "{distances:?}");
        assert_eq!(distances.groups.len(), 1);
    }
    let nothing = judge(&[]);
    assert_eq!((nothing.outcome, nothing.blocks), (Outcome::Undecided(Why::TooFewCpus), 0));
}

#[test]
fn a_buffer_that_is_slow_for_all_changes_no_sign() {
    let mut observations = Made { homes: vec![0, 2], ..Made::of(&[2, 2], 1.2) }.measured(3);
    assert_eq!(judge(&observations).outcome, Outcome::Distant);
    observations.iter_mut().filter(|one| one.home == cpu(2)).for_each(|one| one.time *= 1.5);
    let distances = judge(&observations);
    assert_eq!(distances.outcome, Outcome::Undecided(Why::NoSignChange));
    assert!(distances.in_words().contains("sign"), "{}", distances.in_words());
}

#[test]
fn blocks_that_lack_a_pair_or_hold_no_time_are_left_out() {
    let made = Made::of(&[4, 4], 1.2);
    let mut observations = made.measured(5);
    let whole = judge(&observations);
    observations.iter_mut().find(|one| one.block == 3).unwrap().time = f64::NAN;
    let at = observations.iter().position(|one| one.block == 5).unwrap();
    observations.remove(at);
    // A buffer of a CPU that reads nothing is nobody's own.
    observations.push(Observation { reader: cpu(0), home: cpu(99), block: 0, time: 1e9 });
    let distances = judge(&observations);
    assert_eq!((whole.blocks, whole.skipped, distances.blocks, distances.skipped), (8, 0, 6, 2));
    assert_eq!((distances.outcome, &distances.groups), (Outcome::Distant, &made.groups()));
}

#[test]
fn readers_of_a_node_without_a_buffer_are_left_aside() {
    let made = Made { homes: vec![0, 1, 4, 5], ..Made::of(&[4, 4, 4], 1.3) };
    let distances = judge(&made.measured(11));
    assert_eq!(distances.outcome, Outcome::Distant);
    assert_eq!(distances.groups, made.groups()[..2]);
    assert_eq!(distances.unplaced, made.groups()[2]);
    assert!(distances.in_words().contains("8-11"), "{}", distances.in_words());
}

#[test]
fn order_unit_and_exact_repetition_change_nothing() {
    let made = Made { noise: 0.0, drift: 0.0, ..Made::of(&[4, 4], 1.0) };
    assert_eq!(judge(&made.measured(1)).outcome, Outcome::Alike);
    let exact = Made { noise: 0.0, ..Made::of(&[4, 4], 1.42) };
    let distances = judge(&exact.measured(1));
    assert!((distances.gap.unwrap().relative - 0.42).abs() < 1e-9, "{distances:?}");

    let mut observations = Made::of(&[4, 4], 1.2).measured(2);
    let before = judge(&observations);
    observations.reverse();
    assert_eq!(judge(&observations), before);
    observations.iter_mut().for_each(|one| one.time *= 1024.0);
    let after = judge(&observations);
    assert_eq!((after.outcome, &after.groups), (before.outcome, &before.groups));
    assert!((after.gap.unwrap().relative - before.gap.unwrap().relative).abs() < 1e-9);
}
