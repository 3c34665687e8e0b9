use proptest::prelude::*;
use tenbin_metal::timers::{Firing, Order};
use tenbin_metal::{Lap, Usage};
use tenbin_model::{Descriptor, VariantIndex};

use super::firing::{Clause, comes_again, judged};
use super::*;
use crate::experiment::{Apparatus, Seen};
use crate::rehearsal::{Planted, TestRequest, arrangements, headline, rehearsed, says, settings};

/// Calls `body` with a request for these times, or for those of the effort.
fn with_times<T>(times: Option<&str>, effort: Effort, body: impl FnOnce(&Request<'_>) -> T) -> T {
    let given: Vec<(&str, &str)> = times.map(|times| ("times", times)).into_iter().collect();
    let settings = settings(&describe(), &given).unwrap();
    body(&TestRequest { effort, settings, seed: 7, ..TestRequest::default() }.request())
}

fn cells(times: Option<&str>, effort: Effort) -> Result<Vec<Arrangement>, Unfit> {
    with_times(times, effort, |request| Ok(arrangements(&plan(request)?)))
}

fn labels(times: Option<&str>, effort: Effort) -> Vec<String> {
    cells(times, effort).unwrap().into_iter().map(|cell| cell.label).collect()
}

#[test]
fn a_survey_asks_for_one_time_and_a_thorough_run_for_all() {
    let normally =
        ["50 µs", "500 µs", "1 ms", "10 ms", "100 ms", "1 s"].map(|time| format!("armed for {time}"));
    assert_eq!(labels(None, Effort::Quick), ["armed for 1 ms"]);
    assert_eq!(labels(None, Effort::Normal), normally);
    assert_eq!(
        labels(None, Effort::Thorough).split_last().unwrap(),
        (&"armed for 10 s".into(), &normally[..])
    );
    assert_eq!(labels(Some("10s,50000ns"), Effort::Quick), ["armed for 10 s", "armed for 50 µs"]);
}

#[test]
fn one_millisecond_answers_if_it_is_asked_for_else_the_first() {
    for (times, answers) in [(None, "1 ms"), (Some("2s,1000us,50us"), "1 ms"), (Some("2s,50us"), "2 s")] {
        let cells = cells(times, Effort::Normal).unwrap();
        let headlines: Vec<&str> =
            cells.iter().filter(|cell| cell.headline).map(|cell| cell.label.as_str()).collect();
        assert_eq!(headlines, [format!("armed for {answers}")], "{times:?}");
    }
}

#[test]
fn what_is_no_time_is_a_usage_error_that_says_what_is() {
    let wrong =
        ["49us", "49999ns", "50500ns", "10000001us", "11s", "1", "ms", "-1ms", "1.5ms", "1 ms", "1h", ""];
    for wrong in wrong.into_iter().chain(["99999999999999999999s", "18446744073709551615s", "1ms,1000us"]) {
        match cells(Some(wrong), Effort::Normal) {
            Err(Unfit::Usage(message)) => {
                let twice = wrong.contains(',') && message.contains("given twice");
                assert!(twice || message.contains("50us to 10s"), "{wrong}: {message}");
            }
            other => panic!("{wrong}: {other:?}"),
        }
    }
}

proptest! {
    #[test]
    fn a_time_is_read_as_it_is_written(microseconds in 50_u64..=10_000_000) {
        let time = Time(Picoseconds::from_micros(microseconds));
        prop_assert!(time.is_accepted());
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }

    /// The last timer of a wave is armed before the first fires, wherever in its gap each was drawn to; and a
    /// cell holds whole waves, enough for its comparisons, and never many more than it has time for.
    #[test]
    fn a_wave_is_armed_before_it_fires_and_cells_hold_whole_waves(
        microseconds in 50_u64..=10_000_000,
        effort in prop_oneof![Just(Effort::Quick), Just(Effort::Normal), Just(Effort::Thorough)],
    ) {
        let time = Time(Picoseconds::from_micros(microseconds));
        let blocks = blocks(time, effort);
        prop_assert!((LEAST_BLOCKS..=MOST_BLOCKS).contains(&blocks));
        match together(time) {
            None => prop_assert!(time.0 < TOGETHER),
            Some(of_a_wave) => {
                let last = OF_A_BLOCK as u64 * u64::from(of_a_wave);
                prop_assert!(last * GAP.0 + GAP.0 / 2 < GAP.0 + time.0.0);
                prop_assert!(blocks.is_multiple_of(of_a_wave));
                let seconds = f64::from(blocks / of_a_wave) * (time.0.0 + last * GAP.0) as f64 / 1e12;
                prop_assert!(seconds < 22.0, "{seconds} s");
            }
        }
    }
}

/// A sound one, of a millisecond.
fn firing() -> Firing {
    let length = Picoseconds::from_millis(1);
    let order = Order { way: Way::Timerfd, slack: Slack::AsFound, length, after: Picoseconds::ZERO };
    let usage = Usage { voluntary_switches: 1, ..Usage::default() };
    let lap = Lap { elapsed: Picoseconds::from_micros(6), usage, ..Lap::default() };
    Firing { order, lap, early: None, fired: 1, armed: false, slack: 50_000 }
}

/// One whose caller did not sleep, and was charged so many microseconds.
fn awake(charged: u64) -> Firing {
    let usage = Usage { system: Picoseconds::from_micros(charged), ..Usage::default() };
    Firing { lap: Lap { usage, ..firing().lap }, ..firing() }
}

#[test]
fn a_firing_is_held_against_every_part_of_the_specification() {
    let short = Order { length: Picoseconds::from_micros(50), ..firing().order };
    let table = [
        ("a sound one", firing(), None),
        ("early", Firing { early: Some(Picoseconds(1_000)), ..firing() }, Some("1.00 ns before its time")),
        ("never fired", Firing { fired: 0, ..firing() }, Some("fired 0 times")),
        ("fired twice", Firing { fired: 2, ..firing() }, Some("fired 2 times")),
        ("armed", Firing { armed: true, ..firing() }, Some("still armed")),
        ("awake", awake(900), Some("did not sleep")),
        // It was due before its caller could fall asleep.
        ("preempted before it slept", awake(20), None),
        ("preempted, and charged for what the host took", awake(279), None),
        // 3.42 ms were charged for a timer of 1 ms: more than the wait took cannot be the wait's.
        ("charged for more than it took", awake(3_420), None),
        ("too short to tell", Firing { order: short, ..awake(500) }, None),
    ];
    for (name, firing, broken) in table {
        match (judged(&firing), broken) {
            (Ok(()), None) => {}
            (Err((_, seen)), Some(part)) => assert!(seen.contains(part), "{name}: {seen}"),
            (seen, _) => panic!("{name}: {seen:?}"),
        }
    }
}

#[test]
fn a_caller_is_called_awake_only_if_it_is_so_again_and_again() {
    let (sound, awake) = (firing(), awake(900));
    let early = Firing { early: Some(Picoseconds(1_000)), ..sound.clone() };
    // What each firing is after the one that broke the clause; which clause; and whether it comes again.
    let always = usize::MAX;
    let cases = [
        (&awake, Clause::Asleep, 0, false),
        (&awake, Clause::Asleep, 7, false),
        (&awake, Clause::Asleep, always, true),
        (&early, Clause::Early, 0, false),
        (&early, Clause::Early, 1, true),
        // Another clause is other evidence.
        (&awake, Clause::Early, always, false),
    ];
    for (broken, clause, times, accused) in cases {
        let mut asked = 0;
        let ask = || {
            asked += 1;
            Ok(if asked <= times { broken.clone() } else { sound.clone() })
        };
        assert_eq!(comes_again(clause, ask).unwrap(), accused, "{clause:?} {times}");
        assert!(asked <= 8);
    }
}

/// A cell whose timers wait together, a few milliseconds each: how long is nothing to a wave.
fn in_waves(request: &Request<'_>, blocks: u32) -> (Descriptor, Arrangement, Firings) {
    let (descriptor, planned) = headline(&EXPERIMENT, request);
    let cell = planned.arrangement;
    let gather = |count| Waiters::gather(request.clock, request.cpus[0], count).unwrap();
    let wave = Wave::of(gather(blocks as usize * OF_A_BLOCK), blocks, &cell.variants, request.seed);
    let firings = Firings::of(Picoseconds::from_millis(5), vec![gather(1)], Some(wave), request.cpus[0]);
    (descriptor, cell, firings)
}

#[test]
fn a_wave_is_handed_out_two_by_two_and_every_firing_once() {
    with_times(None, Effort::Quick, |request| {
        // A rehearsal has four blocks: two waves of two.
        let (descriptor, cell, mut firings) = in_waves(request, 2);
        let cell = rehearsed((&descriptor, cell), request, &mut firings);
        assert_eq!(cell.refusal, None);
        assert_eq!(cell.samples.len(), 4 * OF_A_BLOCK);
        assert!(cell.samples.iter().all(|sample| sample.iterations == 1 && sample.shares.is_empty()));
        assert!(cell.samples.iter().all(|sample| sample.elapsed > Picoseconds::ZERO));
        // Readings of a clock of nanoseconds: were one handed out twice, its neighbours would be as well.
        let late: Vec<u64> = cell.samples.iter().map(|sample| sample.elapsed.0).collect();
        let first = &late[..OF_A_BLOCK];
        assert!(late[OF_A_BLOCK..].chunks(OF_A_BLOCK).all(|block| block != first));
        assert_eq!(firings.left(), 0, "every firing of both waves was asked for");
    });
}

#[test]
fn each_block_of_a_wave_is_an_order_and_its_mirror_image() {
    with_times(None, Effort::Quick, |request| {
        let (_, cell, mut firings) = in_waves(request, 2);
        let drawn = firings.drawn();
        assert_eq!(drawn.len(), 2 * OF_A_BLOCK);
        for block in drawn.chunks(OF_A_BLOCK) {
            let mut mirrored = block.to_vec();
            mirrored.reverse();
            assert_eq!(block, mirrored);
            let mut once = block[..MEASURED].to_vec();
            once.sort_unstable();
            assert_eq!(once, cell.variants);
        }
        assert_ne!(drawn[..OF_A_BLOCK], drawn[OF_A_BLOCK..]);
    });
}

/// A timer that goes wrong while many wait is seen as well.
#[test]
fn a_fault_in_a_cell_of_waves_is_an_implementation_error() {
    with_times(None, Effort::Quick, |request| {
        let (descriptor, cell, _) = in_waves(request, 1);
        let mut planted = 0;
        for (number, fault) in descriptor.planted_faults() {
            let (_, _, firings) = in_waves(request, 1);
            let mut firings = Planted::later(Box::new(firings), |inner: &mut Firings, _, iterations| {
                inner.epoch(number, iterations)
            });
            let cell = rehearsed((&descriptor, cell.clone()), request, &mut firings);
            let refusal = cell.refusal.unwrap_or_else(|| panic!("{}: not seen", fault.name));
            assert!(refusal.reached.contains("implementation error"), "{}: {refusal:?}", fault.name);
            planted += 1;
        }
        assert_eq!(planted, WAYS.len() - MEASURED);
    });
}

/// The smallest fault of the shortest timers, for which nothing but the clock speaks.
#[test]
fn a_short_timer_that_is_too_soon_or_spins_fails_the_check() {
    with_times(Some("50us"), Effort::Quick, |request| {
        let mut apparatus = plan(request).unwrap().cells[0].open(request).unwrap();
        for (variant, (way, _)) in (0..).map(VariantIndex).zip(WAYS) {
            let seen = apparatus.check(variant).unwrap();
            let sound = variant.place() < MEASURED;
            assert_eq!(matches!(seen, Seen::Met(_)), sound, "{way:?}: {seen:?}");
        }
    });
}

/// Before the first block the engine looks for a number of iterations: nobody shall wait ten seconds for
/// that.
#[test]
fn what_is_asked_before_the_first_block_is_short() {
    with_times(Some("10s"), Effort::Quick, |request| {
        let cell = arrangements(&plan(request).unwrap()).remove(0);
        assert_eq!((cell.most_iterations, cell.most_blocks), (1, 2 * BLOCKS_OF_A_WAVE));
        let (_, _, mut firings) = in_waves(request, 1);
        let length = |firings: &mut Firings| firings.firing(TIMERFD).unwrap().order.length;
        let long = Picoseconds::from_millis(30);
        firings.lengthen(long);
        assert!(length(&mut firings) < long);
        assert_eq!(firings.left(), 0, "no wave was started for it");
        firings.shift(0);
        assert_eq!(length(&mut firings), long);
        assert_eq!(firings.left(), OF_A_BLOCK - 1);
    });
}

#[test]
fn what_is_found_beside_names_slack_and_what_wakes_the_cpu() {
    with_times(None, Effort::Quick, |request| {
        let (_, cell) = headline(&EXPERIMENT, request);
        let findings = cell.open(request).unwrap().findings().unwrap();
        let sentences: Vec<&str> = findings.iter().map(|finding| finding.sentence.as_str()).collect();
        says(sentences[0], &["Timer slack"]);
        says(sentences[1], &["While nothing is due"]);
    });
}
