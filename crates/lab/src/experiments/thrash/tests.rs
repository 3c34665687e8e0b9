use tenbin_metal::allowed_cpus;
use tenbin_model::machine::CpuPlace;
use tenbin_model::{Machine, Size, Sizes, VariantIndex, Word};

use super::*;
use crate::rehearsal::{self, TestRequest, arrangements, machine_with, settings};

const SPACING: usize = 64;
const LINES: usize = 64;

/// Two threads on buffers of [`LINES`] lines each; where there is one CPU they share it.
fn buffers() -> Buffers {
    let cpus: Vec<Cpu> = allowed_cpus().unwrap().into_iter().cycle().take(2).collect();
    let shape = Shape { case: Case::A, bytes: LINES * SPACING, spacing: SPACING, line: SPACING };
    set_up(&cpus, tenbin_metal::Clock::kernel(), &shape).unwrap()
}

fn place(cpu: u32, l1: u64, l2: u64) -> CpuPlace {
    let cache = |level, kib| rehearsal::cache(level, Bytes::from_kib(kib), [cpu]);
    rehearsal::place(cpu, vec![cache(1, l1), cache(2, l2)])
}

fn size(level: u8, kib: u64) -> Size {
    Size { level, bytes: Bytes::from_kib(kib), by: Word::Both }
}

#[test]
fn what_is_written_is_there_however_long_an_epoch_is() {
    let mut buffers = buffers();
    let lines = LINES as u64;
    for iterations in [1, 7, lines - 1, lines, lines + 1, 3 * lines + 5, 1] {
        for variant in (PRIVATE.0..LEFT_OUT.0).map(VariantIndex) {
            assert!(buffers.epoch(variant, iterations).is_ok(), "{variant:?}, {iterations} lines");
        }
    }
}

#[test]
fn a_lost_line_is_seen_once_an_epoch_goes_over_it() {
    let mut buffers = buffers();
    let lines = LINES as u64;
    for iterations in [lines, lines + 3, 5 * lines] {
        match buffers.epoch(LEFT_OUT, iterations) {
            Err(Failure::Wrong(seen)) => assert!(seen.starts_with("0 and 1 lines"), "{seen}"),
            other => panic!("{other:?}"),
        }
    }
    assert!(buffers.epoch(PRIVATE, lines).is_ok(), "what was lost before is made good");
}

/// A store of another turn, in the middle of the lines just written, is not taken for this turn's. (Where
/// both write the same byte, the other thread may write it after the one that lost it, and then nothing is
/// lost.)
#[test]
fn what_an_earlier_turn_left_does_not_pass_for_this_turns_work() {
    for variant in [PRIVATE, OTHER_BYTES, ALONE, ALONE_ON_TWICE] {
        let mut buffers = buffers();
        buffers.epoch(variant, LINES as u64).unwrap();
        let (field, turns) = (Arc::clone(&buffers.field), Arc::clone(&buffers.turns[variant]));
        let sound = Arc::clone(&buffers.tasks[variant]);
        buffers.tasks[variant.place()] = Arc::new(move |worker, lines| {
            let failures = sound(worker, lines);
            if worker == 0 {
                let place = LINES / 2 * SPACING;
                let earlier = turns.value(0).wrapping_sub(2);
                field.write(&Track::new(place..place + SPACING, SPACING, 0), 0, 1, earlier);
            }
            failures
        });
        let lost = buffers.epoch(variant, 2 * LINES as u64);
        assert!(matches!(lost, Err(Failure::Wrong(_))), "{variant:?}: {lost:?}");
    }
}

#[test]
fn bytes_of_one_line_stay_in_it_however_far_apart_lines_are() {
    for (spacing, line) in [(64, 64), (128, 64), (256, 64), (256, 128), (64, 128)] {
        let [one, other] = tracks(OTHER_BYTES, 1 << 12, spacing, line)
            .map(|track| track.unwrap().places().map(|place| place / line).collect::<Vec<_>>());
        assert_eq!(one, other, "lines of {line}, {spacing} apart");
        let bytes = tracks(OTHER_BYTES, 1 << 12, spacing, line).map(|track| track.unwrap().places().next());
        assert_ne!(bytes[0], bytes[1], "and not the same byte");
    }
}

/// Every variant goes on where the one before it stopped: nothing is met again before a whole round.
#[test]
fn variants_share_one_course() {
    let mut buffers = buffers();
    for (epoch, variant) in [PRIVATE, SHARED, ALONE_ON_TWICE, READ_ONLY, ALONE].into_iter().enumerate() {
        let track = buffers.turns[variant].tracks[0].clone().unwrap();
        let first = buffers.turns[variant].first(&track);
        assert_eq!(first, (epoch as u64 * 5) % track.lines());
        buffers.epoch(variant, 5).unwrap();
    }
}

/// A request on a machine of two CPUs, whose caches are known.
fn of_two(places: [CpuPlace; 2], sizes: Sizes) -> TestRequest {
    let machine = Machine { cpus: places.into(), ..machine_with(Bytes(8 << 30)) };
    let cpus = vec![Cpu(0), Cpu(1)];
    TestRequest { machine, cpus, effort: Effort::Normal, sizes, ..TestRequest::default() }
}

/// A phone's cores: what fits into the caches of a pair must fit into the smaller one's, and what fits into
/// none must fit into neither.
#[test]
fn a_pair_of_unlike_cores_gets_what_both_hold() {
    let sizes = Sizes { cpu: Some(Cpu(0)), levels: vec![size(1, 60), size(2, 4096)], beyond: None };
    let asked = of_two([place(0, 64, 4096), place(1, 128, 12288)], sizes.clone());
    let request = asked.request();
    let pair = (Cpu(0), Cpu(1));
    assert_eq!(Case::A.bytes(&request, pair).unwrap(), Bytes::from_kib(8), "of the CPU that was measured");
    assert_eq!(Case::B.bytes(&request, pair).unwrap(), Bytes::from_kib(1024));
    assert_eq!(Case::D.bytes(&request, pair).unwrap(), Bytes::from_kib(32768), "twice the larger one's");
    assert!(Case::C.bytes(&request, pair).unwrap_err().reached.starts_with("no L3 of CPU 0 and CPU 1"));
    // Knees that lie a little elsewhere ask about the same size.
    for knee in [33, 40, 48, 63] {
        let sizes = Sizes { levels: vec![size(1, knee), size(2, 4096)], ..sizes.clone() };
        let request = Request { sizes: &sizes, ..request };
        assert_eq!(Case::A.bytes(&request, pair).unwrap(), Bytes::from_kib(8), "{knee}");
    }
}

#[test]
fn a_size_that_is_given_stands_in_place_of_the_cases() {
    let sizes = Sizes { cpu: Some(Cpu(0)), levels: vec![size(1, 32), size(2, 1024)], beyond: None };
    let asked = of_two([place(0, 32, 1024), place(1, 32, 1024)], sizes);
    let planned = |set: &[(&str, &str)]| {
        let settings = settings(&describe(), set)?;
        plan(&Request { settings: &settings, ..asked.request() })
            .map(|plan| arrangements(&plan).into_iter().map(|cell| cell.label).collect::<Vec<_>>())
    };
    let labels = planned(&[("size", "2048,65536,4194304")]).unwrap();
    let cases: Vec<&str> = labels.iter().map(|label| label.split_once(" on ").unwrap().0).collect();
    assert_eq!(
        cases,
        [
            "in case A (2 KiB, which fits into L1)",
            "in case B (64 KiB, which fits into L2)",
            "in case D (4 MiB, which fits into no cache)",
        ]
    );
    for wrong in ["128", "2e3", "1073741825", "8192,8192"] {
        assert!(matches!(planned(&[("size", wrong)]), Err(Unfit::Usage(_))), "{wrong}");
    }
    assert!(matches!(planned(&[("size", "8192"), ("case", "A")]), Err(Unfit::Usage(_))));
}
