use tenbin_metal::allowed_cpus;
use tenbin_model::Picoseconds;

use super::*;

const SPACING: usize = 64;
const LINES: usize = 64;

/// Two threads on buffers of [`LINES`] lines each; where there is one CPU they share it.
fn buffers() -> Buffers {
    let cpus: Vec<Cpu> = allowed_cpus().unwrap().into_iter().cycle().take(2).collect();
    let cell = Arrangement {
        parameters: vec![("bytes".into(), (LINES * SPACING).to_string()), ("spacing".into(), SPACING.to_string())],
        cpus,
        epoch: Picoseconds::from_micros(1),
        ..Arrangement::default()
    };
    set_up(&cell, tenbin_metal::Clock::kernel(), usize::MAX).unwrap()
}

#[test]
fn what_is_written_while_it_is_timed_is_looked_at_however_long_an_epoch_is() {
    let mut buffers = buffers();
    let lines = LINES as u64;
    for iterations in [1, 7, lines - 1, lines, lines + 1, 3 * lines + 5, 1] {
        for variant in PRIVATE..LEFT_OUT {
            assert!(buffers.epoch(variant, iterations).is_ok(), "variant {variant}, {iterations} lines");
        }
    }
}

#[test]
fn a_line_that_is_lost_while_it_is_timed_is_seen_once_an_epoch_goes_over_it() {
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

/// A store of another turn, in the middle of the lines just written, is not taken for this turn's. (Where both write the
/// same byte, the other thread may write it after the one that lost it, and then nothing is lost.)
#[test]
fn what_an_earlier_turn_left_does_not_pass_for_this_turns_work() {
    for variant in [PRIVATE, OTHER_BYTES, ALONE, ALONE_ON_TWICE] {
        let mut buffers = buffers();
        buffers.epoch(variant, LINES as u64).unwrap();
        let (field, turns) = (Arc::clone(&buffers.field), Arc::clone(&buffers.turns[variant as usize]));
        let sound = Arc::clone(&buffers.tasks[variant as usize]);
        buffers.tasks[variant as usize] = Arc::new(move |worker, lines| {
            let failures = sound(worker, lines);
            if worker == 0 {
                let place = LINES / 2 * SPACING;
                let earlier = turns.value(0).wrapping_sub(2);
                field.write(&Track::new(place..place + SPACING, SPACING, 0), 0, 1, earlier);
            }
            failures
        });
        let lost = buffers.epoch(variant, 2 * LINES as u64);
        assert!(matches!(lost, Err(Failure::Wrong(_))), "variant {variant}: {lost:?}");
    }
}
