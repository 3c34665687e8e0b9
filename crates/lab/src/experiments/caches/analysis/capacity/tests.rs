//! What curves come to, case by case.

use proptest::prelude::*;
use tenbin_model::Verdict;

use super::machine::{Disturbance, HONEST, OVERSTATED, Pages, Replacement};
use super::*;

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;

/// A curve without noise: sizes half an octave apart from 4 KiB up to `largest`, and the time at each.
fn curve(largest: u64, time: impl Fn(u64) -> f64) -> Curve {
    let sizes = (0..).map(|half: u32| (4096.0 * 2.0_f64.powf(f64::from(half) / 2.0)).round() as u64);
    let point = |size: u64| Point { bytes: Bytes(size), times: vec![time(size); 6] };
    Curve { page: Bytes(2 * MIB), points: sizes.take_while(|&size| size <= largest).map(point).collect() }
}

/// A stair: the time of each step up to its size, then that of memory.
fn stair(steps: &[(u64, f64)], memory: f64) -> impl Fn(u64) -> f64 {
    move |size| steps.iter().find(|(end, _)| size <= *end).map_or(memory, |step| step.1)
}

fn stated(sizes: &[Option<u64>]) -> Vec<Stated> {
    let levels = sizes.iter().zip(1..);
    levels.map(|(size, level)| Stated { level, size: size.map(Bytes), shared_by: 1 }).collect()
}

fn sentences(capacities: &Capacities) -> String {
    capacities.levels.iter().map(|level| format!("{}\n", capacities.sentence(level, ""))).collect()
}

fn measured(capacities: &Capacities) -> Vec<Option<Bytes>> {
    capacities.levels.iter().map(Level::measured).collect()
}

const THREE: [(u64, f64); 3] = [(32 * KIB, 1e3), (MIB, 4e3), (16 * MIB, 20e3)];
const KNEES: [Bytes; 3] = [Bytes(32 * KIB), Bytes(MIB), Bytes(16 * MIB)];

#[test]
fn firmware_that_is_right_is_believed() {
    let curve = curve(256 * MIB, stair(&THREE, 100e3));
    let capacities = judge(&[curve], &stated(&[Some(32 * KIB), Some(MIB), Some(16 * MIB)])).unwrap();
    assert_eq!(measured(&capacities), KNEES.map(Some));
    assert!(capacities.levels.iter().all(|level| level.outcome().verdict() == Some(Verdict::Equivalent)));
    let times: Vec<Option<f64>> = capacities.levels.iter().map(Level::time).collect();
    assert_eq!((times, capacities.memory_time), (vec![Some(1e3), Some(4e3), Some(20e3)], Some(100e3)));
    assert!(taken(&capacities).iter().all(|taken| taken.by == Word::Both));
    assert_eq!(beyond(&capacities), Some(Bytes(4 * capacities.flat_from.unwrap().0)));
    insta::assert_snapshot!(sentences(&capacities));
}

#[test]
fn firmware_that_states_the_host_s_cache_is_not() {
    let curve = OVERSTATED[1].curve(Replacement::Oldest, Disturbance::Normal, Pages::Huge, 1);
    let capacities = judge(&[curve], &OVERSTATED[1].stated_times(1)).unwrap();
    assert_eq!(capacities.levels[2].outcome().verdict(), Some(Verdict::Different));
    let last = Size { level: 3, bytes: capacities.levels[2].measured().unwrap(), by: Word::Knee };
    assert_eq!(taken(&capacities).last(), Some(&last));
    insta::assert_snapshot!(capacities.sentence(&capacities.levels[2], "by CPU 0 in pages of 2 MiB"));
}

#[test]
fn firmware_that_states_too_little_is_not_either() {
    let curve = curve(256 * MIB, stair(&THREE, 100e3));
    let capacities = judge(&[curve], &stated(&[Some(32 * KIB), Some(256 * KIB), Some(4 * MIB)])).unwrap();
    insta::assert_snapshot!(sentences(&capacities));
}

#[test]
fn a_knee_beyond_the_largest_size_is_not_guessed() {
    // The plateau at the end may be that of the cache which is stated to be larger than all that was
    // measured.
    let quiet = curve(256 * MIB, stair(&THREE[..2], 20e3));
    let capacities = judge(&[quiet], &stated(&[Some(32 * KIB), Some(MIB), Some(480 * MIB)])).unwrap();
    assert_eq!((capacities.flat_from, capacities.memory_time, beyond(&capacities)), (None, None, None));
    assert_eq!(capacities.levels[2].measured(), None);
    assert_eq!(capacities.levels[2].outcome().verdict(), Some(Verdict::Refused));
    let last = Size { level: 3, bytes: Bytes(480 * MIB), by: Word::Firmware };
    assert_eq!(taken(&capacities).last(), Some(&last));
    let first = sentences(&capacities);
    // And this one had not reached its end.
    let rising = curve(32 * MIB, |size| stair(&THREE, 20e3 * (size as f64 / (16 * MIB) as f64))(size));
    let capacities = judge(&[rising], &stated(&[Some(32 * KIB), Some(MIB), Some(16 * MIB)])).unwrap();
    assert_eq!((capacities.flat_from, beyond(&capacities)), (None, None));
    insta::assert_snapshot!(format!("{first}\n{}", sentences(&capacities)));
}

#[test]
fn levels_that_run_together_are_one_knee_and_one_refusal() {
    let merged = curve(256 * MIB, stair(&[(32 * KIB, 1e3), (2 * MIB, 5e3)], 100e3));
    let capacities = judge(&[merged], &stated(&[Some(32 * KIB), Some(2 * MIB), Some(4 * MIB)])).unwrap();
    assert_eq!(capacities.levels.iter().filter(|level| level.measured().is_some()).count(), 2);
    assert_eq!(capacities.memory_time, Some(100e3));
    insta::assert_snapshot!(sentences(&capacities));
}

#[test]
fn what_nobody_states_is_measured_alone() {
    let curve = curve(256 * MIB, stair(&THREE, 100e3));
    let nothing = judge(&[Curve { page: Bytes(4096), ..curve.clone() }], &[]).unwrap();
    assert!(nothing.levels.iter().all(|level| level.outcome().verdict().is_none()));
    let sizes = judge(std::slice::from_ref(&curve), &stated(&[Some(32 * KIB), None, None])).unwrap();
    let two = judge(&[curve], &stated(&[Some(32 * KIB), Some(MIB)])).unwrap();
    for capacities in [&nothing, &sizes, &two] {
        assert_eq!(measured(capacities), KNEES.map(Some));
    }
    let text = [&nothing, &sizes, &two].map(sentences).join("\n");
    insta::assert_snapshot!(text);
}

#[test]
fn a_slow_climb_is_no_knee() {
    let climbing = curve(256 * MIB, |size| 1e3 * 1.14_f64.powf((size as f64 / 4096.0).log2()));
    let shape = Shape::of(&climbing).unwrap();
    assert_eq!((shape.rises.as_slice(), shape.unfinished), (&[][..], None));
    let capacities = judge(&[climbing], &stated(&[Some(32 * KIB)])).unwrap();
    assert_eq!((capacities.flat_from, beyond(&capacities)), (None, None));
    insta::assert_snapshot!(sentences(&capacities));
}

#[test]
fn a_rise_of_the_address_translation_is_no_level() {
    let extra = curve(256 * MIB, |size| {
        stair(&THREE, 100e3)(size) * if size > 256 * KIB && size <= MIB { 1.4 } else { 1.0 }
    });
    let capacities = judge(&[extra], &stated(&[Some(32 * KIB), Some(MIB), Some(16 * MIB)])).unwrap();
    assert_eq!(measured(&capacities), KNEES.map(Some));
    assert_eq!(capacities.unexplained.iter().map(|rise| rise.knee).collect::<Vec<_>>(), [Bytes(256 * KIB)]);
}

#[test]
fn a_valley_between_rises_tells_neighbouring_caches_apart() {
    let share = |size: u64, capacity: u64| (capacity as f64 / size as f64).min(1.0);
    let close = curve(256 * MIB, |size| {
        let (inner, outer) = (share(size, 512 * KIB), share(size, 4 * MIB));
        3e3 * inner + 9e3 * (outer - inner) + 100e3 * (1.0 - outer)
    });
    let shape = Shape::of(&close).unwrap();
    assert_eq!(shape.rises.len(), 2, "{:?}", shape.rises);
    assert!(shape.rises[0].high < shape.rises[1].low);
}

#[test]
fn the_largest_pages_with_enough_sizes_are_preferred() {
    let huge = curve(256 * MIB, stair(&THREE, 100e3));
    let base = Curve { page: Bytes(4096), ..curve(256 * MIB, stair(&[(8 * KIB, 1e3)], 100e3)) };
    assert_eq!(judge(&[huge.clone(), base.clone()], &[]).unwrap().page, Bytes(2 * MIB));
    let few = Curve { points: huge.points[..4].to_vec(), ..huge };
    assert_eq!(judge(&[few.clone(), base], &[]).unwrap().page, Bytes(4096));
    insta::assert_snapshot!(tenbin_analysis::verdict::refused_in_words(&judge(&[few], &[]).unwrap_err()));
}

/// Times of three walks over each size on an AMD EPYC (2 virtual CPUs, KVM; 48 KiB, 1 MiB and 32 MiB stated),
/// November 2026, in huge pages and in base pages, where the tables of the address translation outgrow what
/// is left of L3 at 64 MiB.
const EPYC: [(u64, [f64; 3], [f64; 3]); 30] = [
    (4096, [1039.0, 1040.0, 1039.0], [1073.0, 1074.0, 1076.0]),
    (8192, [1039.0, 1036.0, 1039.0], [1071.0, 1073.0, 1073.0]),
    (12288, [1039.0, 1040.0, 1036.0], [1069.0, 1069.0, 1070.0]),
    (16384, [1040.0, 1033.0, 1036.0], [1059.0, 1075.0, 1167.0]),
    (24576, [1039.0, 1040.0, 1125.0], [1060.0, 1058.0, 1060.0]),
    (32768, [1042.0, 1132.0, 1051.0], [1065.0, 1066.0, 1068.0]),
    (49152, [1421.0, 1158.0, 1168.0], [1178.0, 1186.0, 1110.0]),
    (65536, [3648.0, 3806.0, 3642.0], [3818.0, 3743.0, 3738.0]),
    (94208, [3775.0, 3662.0, 3666.0], [3700.0, 3719.0, 3719.0]),
    (131072, [3768.0, 3699.0, 3671.0], [3826.0, 3672.0, 3684.0]),
    (188416, [4208.0, 3665.0, 3685.0], [3722.0, 3718.0, 3691.0]),
    (262144, [3668.0, 3674.0, 3645.0], [3841.0, 3742.0, 3722.0]),
    (372736, [3797.0, 3919.0, 3641.0], [3815.0, 3717.0, 3715.0]),
    (524288, [4111.0, 4228.0, 4117.0], [4297.0, 4184.0, 4289.0]),
    (745472, [4824.0, 5187.0, 4914.0], [4953.0, 4793.0, 4799.0]),
    (1048576, [12979.0, 7542.0, 10500.0], [7101.0, 7218.0, 7221.0]),
    (1486848, [10795.0, 10019.0, 10531.0], [10501.0, 35786.0, 24316.0]),
    (2097152, [14680.0, 20304.0, 12318.0], [11978.0, 12198.0, 12354.0]),
    (2969600, [12915.0, 12816.0, 12862.0], [13203.0, 13011.0, 16403.0]),
    (4194304, [14657.0, 13989.0, 16398.0], [21047.0, 14267.0, 13911.0]),
    (5935104, [130137.0, 119636.0, 58294.0], [16249.0, 15581.0, 14908.0]),
    (8388608, [134054.0, 129005.0, 126981.0], [167178.0, 153948.0, 138707.0]),
    (11866112, [131482.0, 155637.0, 141992.0], [133217.0, 159907.0, 144552.0]),
    (16777216, [145614.0, 140687.0, 145698.0], [152000.0, 143603.0, 144126.0]),
    (23728128, [161924.0, 150463.0, 147496.0], [148378.0, 147130.0, 144891.0]),
    (33554432, [155561.0, 151928.0, 155710.0], [152755.0, 156919.0, 156966.0]),
    (47456256, [162281.0, 162815.0, 155528.0], [216596.0, 276331.0, 296594.0]),
    (67108864, [157419.0, 161903.0, 160880.0], [317714.0, 257590.0, 264508.0]),
    (134217728, [170628.0, 240807.0, 184164.0], [316375.0, 279904.0, 281405.0]),
    (268435456, [175881.0, 171141.0, 171100.0], [288632.0, 243302.0, 300935.0]),
];

#[test]
fn a_real_virtual_machine_gets_an_eighth_of_its_stated_cache() {
    let stated = stated(&[Some(48 * KIB), Some(MIB), Some(32 * MIB)]);
    let huge = EPYC.map(|(size, huge, _)| Point { bytes: Bytes(size), times: huge.into() });
    let base = EPYC.map(|(size, _, base)| Point { bytes: Bytes(size), times: base.into() });
    for (page, points) in [(2 * MIB, huge.into()), (4096, base.into())] {
        let real = Curve { page: Bytes(page), points };
        let capacities = judge(&[real], &stated).unwrap();
        let verdicts: Vec<_> =
            capacities.levels.iter().map(|level| level.outcome().verdict().unwrap()).collect();
        assert_eq!(verdicts, [Verdict::Equivalent, Verdict::Equivalent, Verdict::Different]);
        assert!(beyond(&capacities).unwrap().0 >= 16 * MIB);
        insta::assert_snapshot!(format!(
            "{}{:?}",
            sentences(&capacities),
            (capacities.flat_from, capacities.memory_time)
        ));
    }
}

/// The same machine an hour later: its neighbours leave no plateau of the L3, and memory's time begins at 8
/// MiB.
#[test]
fn a_cache_without_plateau_has_ended_where_memory_s_time_begins() {
    /// In nanoseconds: half octaves from 4 KiB to 64 MiB, then 128 MiB.
    const LATER: [f64; 30] = [
        1.05, 1.06, 1.06, 1.06, 1.06, 1.06, 1.06, 1.17, 3.74, 3.71, 3.71, 3.70, 3.73, 3.73, 4.24, 13.1, 40.0,
        100.0, 151.0, 97.7, 131.0, 128.0, 147.0, 145.0, 153.0, 156.0, 159.0, 160.0, 163.0, 166.0,
    ];
    let sizes = crate::experiments::caches::up_to(128 * MIB);
    let point = |(size, time): (u64, f64)| Point { bytes: Bytes(size), times: vec![time * 1e3; 3] };
    let curve = Curve { page: Bytes(2 * MIB), points: sizes.into_iter().zip(LATER).map(point).collect() };
    let capacities = judge(&[curve], &stated(&[Some(48 * KIB), Some(MIB), Some(32 * MIB)])).unwrap();
    let last = &capacities.levels[2];
    assert_eq!((last.measured(), last.outcome().verdict()), (None, Some(Verdict::Different)));
    let ended = last.ended_by.unwrap();
    assert!((4 * MIB..=12 * MIB).contains(&ended.0), "{ended}");
    assert_eq!(taken(&capacities).len(), 2, "how much of it there is, nobody knows");
    assert!(beyond(&capacities).unwrap().0 >= 4 * ended.0);
    insta::assert_snapshot!(capacities.sentence(last, "by CPU 0"));
}

/// L2 ends at 3 MiB; L3 leaves no rise of its own, and memory's time begins at 24 MiB, within twice of what
/// L3 is stated to hold: so it is taken as stated, and what no cache helps is larger than that.
#[test]
fn no_cache_that_is_taken_helps_beyond() {
    let climbing = |size: u64| match size {
        0..=49_152 => 1e3,
        49_153..=3_145_728 => 4e3,
        _ => (30e3 * (size as f64 / 4_194_304.0).powf(0.6)).min(84e3),
    };
    let capacities =
        judge(&[curve(256 * MIB, climbing)], &stated(&[Some(48 * KIB), Some(3 * MIB), Some(32 * MIB)]))
            .unwrap();
    let last = &capacities.levels[2];
    assert_eq!((last.measured(), last.ended_by), (None, None));
    let size = Size { level: 3, bytes: Bytes(32 * MIB), by: Word::Firmware };
    assert_eq!(taken(&capacities).last(), Some(&size));
    assert_eq!(beyond(&capacities), Some(Bytes(128 * MIB)));
}

proptest! {
    /// Stairs of caches with the firmware's word on them, right or wrong: what is made up by chance hardly
    /// ever has a plateau.
    #[test]
    fn beyond_is_four_times_whatever_is_taken(
        ends in prop::collection::vec(15.0_f64..26.0, 1..4),
        words in prop::collection::vec(prop::option::of(0.2_f64..5.0), 1..4),
    ) {
        let mut ends = ends.clone();
        ends.sort_by(f64::total_cmp);
        let steps: Vec<(u64, f64)> =
            ends.iter().zip(0..).map(|(end, step)| (end.exp2() as u64, 1e3 * 4.0_f64.powi(step))).collect();
        let memory = 1e3 * 4.0_f64.powi(steps.len() as i32);
        let size = |(step, word): (&(u64, f64), &Option<f64>)| word.map(|word| (step.0 as f64 * word) as u64);
        let mut sizes: Vec<Option<u64>> = steps.iter().zip(&words).map(size).collect();
        sizes.sort();
        let capacities = judge(&[curve(256 * MIB, stair(&steps, memory))], &stated(&sizes)).unwrap();
        if let Some(beyond) = beyond(&capacities) {
            for size in taken(&capacities) {
                prop_assert!(beyond.0 >= size.bytes.0 * Sizes::BEYOND, "{beyond} for {size:?}");
            }
        }
    }

    #[test]
    fn nothing_measured_makes_it_panic_and_knees_are_in_order(
        times in prop::collection::vec(prop::collection::vec(0.0_f64..1e6, 0..5), 0..30),
        sizes in prop::collection::vec(prop::option::of(1_u64..1 << 40), 0..5),
    ) {
        let point = |(place, times): (usize, &Vec<f64>)| {
            Point { bytes: Bytes(4096 << place), times: times.clone() }
        };
        let curve = Curve { page: Bytes(4096), points: times.iter().enumerate().map(point).collect() };
        if let Ok(capacities) = judge(&[curve], &stated(&sizes)) {
            let knees: Vec<Bytes> = capacities.levels.iter().filter_map(Level::measured).collect();
            prop_assert!(knees.is_sorted_by(|one, other| one < other));
            prop_assert!(capacities.levels.len() >= sizes.len());
            for rise in capacities.levels.iter().filter_map(|level| level.rise.as_ref().ok()) {
                prop_assert!(rise.low <= rise.knee && rise.knee < rise.past && rise.past <= rise.high);
                prop_assert!(rise.ratio() >= 1.0);
            }
            for taken in taken(&capacities) {
                let level = capacities.levels.iter().find(|level| level.level == taken.level).unwrap();
                prop_assert!([level.stated, level.measured()].contains(&Some(taken.bytes)));
                prop_assert!(level.ended_by.is_none());
            }
            if let Some(beyond) = beyond(&capacities) {
                let taken = taken(&capacities);
                for held in knees.iter().copied().chain(taken.iter().map(|size| size.bytes)) {
                    prop_assert!(beyond.0 >= held.0.saturating_mul(Sizes::BEYOND), "{beyond} for {held}");
                }
            }
            prop_assert!(!sentences(&capacities).is_empty() || capacities.levels.is_empty());
        }
    }

    #[test]
    fn times_in_another_unit_change_no_size(seed in 0_u64..50, factor in 0.001_f64..1000.0) {
        let machine = &HONEST[0];
        let curve = machine.curve(Replacement::Random, Disturbance::HeavyTail, Pages::Huge, seed);
        let mut scaled = curve.clone();
        scaled.points.iter_mut().flat_map(|point| &mut point.times).for_each(|time| *time *= factor);
        let knees = |curve: &Curve| {
            let capacities = judge(std::slice::from_ref(curve), &machine.stated_times(1)).unwrap();
            (measured(&capacities), capacities.flat_from)
        };
        prop_assert_eq!(knees(&curve), knees(&scaled));
    }
}
