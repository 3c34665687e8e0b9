//! Verdicts on runs that are made up, so that the truth is known.

use tenbin_document::interval::{outward, show};
use tenbin_model::machine::Virtualisation;
use tenbin_model::{
    Answer, Cell, Cpu, Descriptor, Ended, Machine, Picoseconds, Quantity, Refusal, Run, Sample, Verdict,
};

use super::comparisons::answers;
use super::decide::decided;
use super::*;
use crate::specimen::{cell, descriptor, reported, run, trial};

fn only_answer(quantity: Quantity, cell: Cell) -> Answer {
    answers(|_| whole_epoch, &Machine::unobserved("a test"), &trial(quantity, vec![cell])).remove(0)
}

#[test]
fn sentences_say_the_ratio_its_interval_and_where() {
    use Quantity::{BytesPerSecond as Rate, NanosecondsPerOperation as Cost};
    let sentences: Vec<String> = [
        (Cost, 2.4, 0.02),
        (Cost, 1.0 / 2.4, 0.02),
        (Cost, 1.03, 0.002),
        (Cost, 0.97, 0.002),
        (Rate, 8.3, 0.05),
        (Rate, 0.25, 0.05),
        (Rate, 1.05, 0.002),
        (Cost, 1.0, 0.01),
        (Rate, 1.0, 0.01),
        (Cost, 1.0, 3.0),
    ]
    .into_iter()
    .map(|(quantity, ratio, noise)| only_answer(quantity, cell(200, ratio, noise, Ended::Budget, 1)).sentence)
    .collect();
    insta::assert_snapshot!(sentences.join("\n"));
}

#[test]
fn a_difference_below_the_margin_is_equivalence_and_said_beside() {
    // The margin is 1 %; the noise is far below the difference.
    for (ratio, noise, verdict, is_below) in [
        (1.004, 0.001, Verdict::Equivalent, true),
        (1.02, 0.001, Verdict::Different, false),
        // Partly beyond: nobody can say that it is below.
        (1.01, 0.004, Verdict::Different, false),
        (1.0, 0.001, Verdict::Equivalent, false),
    ] {
        let answer = only_answer(Quantity::NanosecondsPerOperation, cell(64, ratio, noise, Ended::Budget, 1));
        assert_eq!(answer.verdict, verdict, "{ratio}");
        let sentence = &answer.sentence;
        assert_eq!(sentence.contains("a difference below that margin"), is_below, "{sentence}");
    }
}

#[test]
fn rounding_never_hides_that_1_lies_outside() {
    let shown = |low, high| outward(tenbin_model::Interval { low, high });
    assert_eq!(shown(1.04, 1.2), "1.04 to 1.20");
    assert_eq!(shown(0.8, 0.97), "0.80 to 0.97");
    assert_eq!(shown(0.94, 1.2), "0.9 to 1.2");
    assert_eq!(shown(1.000_04, 1.3), "1.00004 to 1.30000");
    assert_eq!(shown(16.4, 18.2), "16 to 19");
}

#[test]
fn too_few_blocks_are_refused_with_the_number_that_is_needed() {
    let answer = only_answer(Quantity::NanosecondsPerOperation, cell(5, 2.0, 0.01, Ended::Budget, 1));
    assert_eq!(answer.verdict, Verdict::Refused);
    insta::assert_snapshot!(answer.sentence);
}

#[test]
fn more_runs_are_asked_for_where_a_user_bounded_them() {
    let mut few = cell(5, 2.0, 0.01, Ended::Budget, 1);
    few.arrangement.most_blocks = 5;
    let mut trial = trial(Quantity::NanosecondsPerOperation, vec![few]);
    trial.descriptor.subject.clear();
    let sentence = &answers(|_| whole_epoch, &Machine::unobserved("a test"), &trial)[0].sentence;
    assert!(sentence.contains("in 5 blocks, as many as were asked for"), "{sentence}");
    assert!(sentence.ends_with("Allow more runs (--runs 16)."), "{sentence}");
}

#[test]
fn a_cell_that_was_refused_gives_one_answer_with_its_reason() {
    let mut refused = cell(0, 1.0, 0.0, Ended::Budget, 1);
    refused.ended = None;
    refused.refusal = Some(Refusal {
        reached: "this CPU is emulated (qemu-user)".into(),
        needs: "hardware".into(),
        remedy: "run it on hardware".into(),
    });
    let answer = only_answer(Quantity::NanosecondsPerOperation, refused);
    let expected = "Refused: this CPU is emulated (qemu-user). Needs hardware. Run it on hardware.";
    assert_eq!(answer.sentence, expected);
    assert!(answer.headline && answer.evidence.is_none());
}

#[test]
fn equals_alarm_no_more_than_the_level_and_differences_show() {
    const RUNS: u64 = 1_000;
    let count = |ratio: f64| {
        (0..RUNS)
            .filter(|&seed| {
                let cell = cell(100, ratio, 0.01, Ended::Budget, seed);
                let answer = only_answer(Quantity::NanosecondsPerOperation, cell);
                // Asked of the interval and not of the verdict, which excuses what lies within the margin.
                answer.evidence.is_some_and(|it| it.interval.low > 1.0 || it.interval.high < 1.0)
            })
            .count()
    };
    let (false_alarms, detections) = (count(1.0), count(1.004));
    println!("{false_alarms} false alarms of {RUNS}; 0.4 % found {detections} times of {RUNS}");
    // Fixed seeds: the same figures on every machine. A true 1 % rule passes 20 of 1000 in 999 of 1000.
    assert!(false_alarms <= 20, "{false_alarms}");
    assert!(detections >= 900, "{detections}");
}

#[test]
fn a_stop_at_a_look_is_judged_at_the_level_of_that_look() {
    let at_look = only_answer(Quantity::NanosecondsPerOperation, cell(32, 1.5, 0.02, Ended::Precision, 3));
    let at_end = only_answer(Quantity::NanosecondsPerOperation, cell(32, 1.5, 0.02, Ended::Budget, 3));
    let level = |answer: &Answer| answer.evidence.as_ref().unwrap().level;
    assert!(level(&at_look) < level(&at_end));
    // 33 blocks are no planned look: a run that claims to have stopped there is not believed.
    let odd = only_answer(Quantity::NanosecondsPerOperation, cell(33, 1.5, 0.02, Ended::Precision, 3));
    assert_eq!(odd.verdict, Verdict::Refused);
}

/// After how many blocks measuring stops.
fn stops(descriptor: &Descriptor, cell: &Cell) -> Option<usize> {
    let is_decided = |samples| decided(whole_epoch, descriptor, 1, &cell.arrangement, samples);
    (1..=cell.samples.len() / 4).find(|blocks| is_decided(&cell.samples[..blocks * 4]))
}

#[test]
fn measuring_stops_at_looks_alone_once_the_ratio_is_known() {
    let descriptor = descriptor(Quantity::NanosecondsPerOperation);
    let stops = |ratio, noise| stops(&descriptor, &cell(300, ratio, noise, Ended::Budget, 1));
    assert_eq!(stops(1.5, 0.002), Some(16));
    assert_eq!(stops(1.0, 0.002), Some(16));
    let noisy = stops(1.5, 0.05);
    assert!(noisy.is_some_and(|blocks| blocks > 16 && blocks.is_power_of_two()), "{noisy:?}");
    assert_eq!(stops(1.0, 2.0), None);
}

#[test]
fn a_plain_difference_of_a_users_own_things_is_known_sooner() {
    let of_tenbin = descriptor(Quantity::NanosecondsPerOperation);
    let of_user = Descriptor { subject: String::new(), ..of_tenbin.clone() };
    let stops = |descriptor: &Descriptor, ratio: f64| {
        stops(descriptor, &cell(1_000, ratio, 0.05, Ended::Budget, 1)).unwrap()
    };
    assert!(stops(&of_user, 1.5) < stops(&of_tenbin, 1.5));
    assert_eq!(stops(&of_user, 1.04), stops(&of_tenbin, 1.04));
    // A smaller margin asks for more of a plain difference too.
    let closer = Descriptor { margin: of_user.margin / 4.0, ..of_user.clone() };
    assert!(stops(&of_user, 1.5) < stops(&closer, 1.5));
}

#[test]
fn a_cell_that_doubles_goes_on_until_its_overhead_is_known() {
    let stops = |noise: f64| {
        let mut cell = cell(2_000, 1.0, noise, Ended::Budget, 4);
        cell.arrangement.doubling = true;
        for sample in &mut cell.samples {
            let scale = 1 + u64::from(sample.block % 2);
            sample.iterations *= scale;
            sample.elapsed = Picoseconds(sample.elapsed.0 * scale + 25_000);
        }
        stops(&descriptor(Quantity::NanosecondsPerOperation), &cell)
    };
    // The ratio is known within its margin at 16 blocks in both; the overhead is not.
    assert!(stops(0.000_1).is_some_and(|blocks| blocks <= 32));
    assert!(stops(0.004).is_some_and(|blocks| blocks > 64), "{:?}", stops(0.004));
}

#[test]
fn that_a_host_may_move_cpus_is_said_of_guests_alone() {
    let bare = run(2.0, Machine::unobserved("a test"));
    let caveat = |run: &Run| reported(run, None).report.answers.remove(0).caveat;
    assert_eq!(caveat(&bare), None);
    let mut guest = bare;
    guest.machine.virtualisation = self::guest();
    assert!(caveat(&guest).is_some_and(|caveat| caveat.contains("virtual CPUs")));
    // Workers that share a CPU have no distance between them.
    guest.trials[0].cells[0].arrangement.cpus = vec![Cpu(0), Cpu(0)];
    assert_eq!(caveat(&guest), None);
}

fn guest() -> Virtualisation {
    Virtualisation::Hypervisor("KVM".into())
}

/// On shared cores, with the sway of the experiment and that of the cell.
fn judged(virtualisation: Virtualisation, sway: f64, sway_of_cell: Option<f64>, ratio: f64) -> Answer {
    let machine = Machine { virtualisation, ..Machine::unobserved("a test") };
    let mut trial = trial(Quantity::NanosecondsPerOperation, vec![cell(200, ratio, 0.002, Ended::Budget, 1)]);
    trial.descriptor.sway = sway;
    trial.cells[0].arrangement.sway = sway_of_cell;
    answers(|_| whole_epoch, &machine, &trial).remove(0)
}

#[test]
fn on_shared_cores_no_difference_within_the_sway_is_claimed() {
    for (machine, sway, ratio, verdict) in [
        (guest(), 0.1, 1.07, Verdict::Refused),
        (guest(), 0.1, 0.93, Verdict::Refused),
        (guest(), 0.1, 1.15, Verdict::Different),
        (guest(), 0.1, 0.85, Verdict::Different),
        (guest(), 0.1, 1.0, Verdict::Equivalent),
        // Where the machine is one's own, or both sides do the same work, an interval says all that there is
        // to say.
        (Virtualisation::None, 0.1, 1.07, Verdict::Different),
        (guest(), 0.0, 1.07, Verdict::Different),
    ] {
        let answer = judged(machine, sway, None, ratio);
        assert_eq!(answer.verdict, verdict, "{sway} {ratio}: {}", answer.sentence);
    }
    let refused = judged(guest(), 0.1, None, 1.07);
    assert!(refused.sentence.starts_with("Refused: in this run lock xadd is 6."), "{}", refused.sentence);
    assert!(refused.sentence.contains("--processes 10") && refused.evidence.is_some());
}

/// Two that wait for each other on two CPUs of a guest were 0.82 and less and 1.1 and more in two runs: the
/// ratio of such a cell is claimed beyond twice alone, whatever holds for the others of its experiment.
#[test]
fn a_cell_may_differ_over_runs_by_more_than_its_experiment() {
    let judged = |ratio: f64| judged(guest(), 0.1, Some(1.0), ratio);
    let refused = judged(1.5);
    assert_eq!(refused.verdict, Verdict::Refused);
    assert!(refused.sentence.contains("or beyond 2.00x, by which"), "{}", refused.sentence);
    for (ratio, verdict) in [(0.6, Verdict::Refused), (0.4, Verdict::Different), (2.2, Verdict::Different)] {
        assert_eq!(judged(ratio).verdict, verdict, "{ratio}");
    }
}

#[test]
fn a_ratio_that_changed_is_told_and_a_steady_one_is_not() {
    let mut changing = cell(100, 2.4, 0.02, Ended::Budget, 5);
    let later = cell(100, 1.3, 0.02, Ended::Budget, 6).samples.into_iter();
    changing.samples.extend(later.map(|sample| Sample { block: sample.block + 100, ..sample }));
    let caveat = |cell| {
        let trial = trial(Quantity::NanosecondsPerOperation, vec![cell]);
        answers(|_| whole_epoch, &Machine::unobserved("a test"), &trial).remove(0).caveat
    };
    let sentence = caveat(changing).unwrap();
    assert!(sentence.contains("2.3") && sentence.contains("1.3"), "{sentence}");
    let alarms = (0..500).filter(|&seed| caveat(cell(100, 1.5, 0.02, Ended::Budget, seed)).is_some()).count();
    assert_eq!(alarms, 0);
}

fn evidence(low: f64, ratio: f64, high: f64) -> tenbin_model::Evidence {
    tenbin_model::Evidence {
        left: "one".into(),
        right: "other".into(),
        ratio,
        interval: tenbin_model::Interval { low, high },
        family_level: 0.01,
        family: 1,
        level: 0.01,
        blocks: 200,
        detectable: 0.05,
        margin: 0.02,
        regimes: Vec::new(),
    }
}

#[test]
fn a_table_says_which_side_is_dearer_and_by_how_much() {
    let cost = |low, ratio, high| {
        let evidence = evidence(low, ratio, high);
        let quantity = Quantity::NanosecondsPerOperation;
        (sentence::briefly(quantity, &evidence).unwrap(), sentence::range(quantity, &evidence))
    };
    let words = |how: &str, range: &str| (how.to_owned(), range.to_owned());
    assert_eq!(cost(0.166, 0.17, 0.174), words("5.9x dearer", "5.7 to 6.1"));
    assert_eq!(cost(5.7, 5.9, 6.1), words("5.9x cheaper", "5.7 to 6.1"));
    assert_eq!(cost(0.9960, 0.9969, 0.9981), words("0.31 % dearer", "0.19 to 0.41 %"));
    assert_eq!(cost(0.99, 1.0, 1.01).0, "the same");
    assert_eq!(cost(0.5, 0.77, 1.4), words("1.3x dearer?", "0.7 to 2.0"));
    // What may be the other way round has an end below 0.
    assert_eq!(cost(0.9985, 1.0004, 1.0022), words("0.04 % cheaper?", "-0.16 to 0.22 %"));
    assert_eq!(cost(0.9985, 0.9996, 1.0022), words("0.04 % dearer?", "-0.22 to 0.16 %"));
    let rate = |ratio| sentence::range(Quantity::BytesPerSecond, &evidence(0.98, ratio, 1.03));
    assert_eq!([rate(1.01), rate(0.99)], ["-2.0 to 3.0 %", "-3.0 to 2.0 %"]);
    assert_eq!(sentence::briefly(Quantity::BytesPerSecond, &evidence(2.0, 2.4, 2.6)), None);
}

/// A ratio of two times is never 0, and its other end may be a thousand times as large.
#[test]
fn no_ratio_is_said_to_be_0() {
    use proptest::prelude::*;
    assert_eq!(outward(tenbin_model::Interval { low: 0.0312, high: 27.3 }), "0.0312 to 28");
    assert_eq!(show(0.0419, tenbin_model::Interval { low: 0.0312, high: 27.3 }), "0.0419");
    proptest!(|(low in -9.0..9.0_f64, width in 0.0..12.0_f64, at in 0.0..=1.0_f64)| {
        let (low, ratio, high) = (low.exp(), (low + at * width).exp(), (low + width).exp());
        let evidence = evidence(low, ratio, high);
        let mut texts = vec![outward(evidence.interval), show(ratio, evidence.interval)];
        for quantity in [Quantity::NanosecondsPerOperation, Quantity::BytesPerSecond, Quantity::Lateness] {
            // In percent an end may be 0: then that is a difference and no ratio.
            let all = [sentence::difference(quantity, &evidence), sentence::range(quantity, &evidence)];
            let brief = sentence::briefly(quantity, &evidence);
            texts.extend(all.into_iter().chain(brief).filter(|it| !it.contains('%')));
        }
        for text in texts {
            for figure in text.split([' ', 'x']).filter_map(|word| word.parse::<f64>().ok()) {
                prop_assert!(figure > 0.0, "{}", text);
            }
        }
        let outward = outward(evidence.interval);
        let (floor, ceiling) = outward.split_once(" to ").unwrap();
        prop_assert!(floor.parse::<f64>().unwrap() <= low * 1.000_001, "{}", outward);
        prop_assert!(ceiling.parse::<f64>().unwrap() >= high * 0.999_999, "{}", outward);
    });
}

/// A percentage above this is one that nobody can use.
const MOST_IN_PERCENT: f64 = 1000.0;

/// The first figure of a text that nobody can use: a ratio of 0, or thousands of per cent.
fn unusable(text: &str) -> Option<String> {
    let words: Vec<&str> =
        text.split_whitespace().map(|word| word.trim_matches(['(', ')', ',', ';', '.'])).collect();
    words.windows(4).find_map(|window| {
        let figure: f64 = window[0].trim_end_matches('x').parse().ok()?;
        let percent = window[1] == "%" || window[1] == "to" && window[3] == "%";
        let is_ratio = window[0].ends_with('x') || window[1] == "to" && !percent;
        let wrong = if percent { figure.abs() > MOST_IN_PERCENT } else { is_ratio && figure == 0.0 };
        wrong.then(|| window.join(" "))
    })
}

/// Whatever was measured: sides that are thousands of times apart, and noise of which nothing can be seen.
#[test]
fn no_sentence_of_a_comparison_says_an_unusable_figure() {
    use proptest::prelude::*;
    for text in [
        "it is 0.00x dearer (0.002 to 27)",
        "costs from 0 to 27 times what",
        "lies 3 to 33739 % off the line",
    ] {
        assert!(unusable(text).is_some(), "{text}");
    }
    for text in
        ["the same within 0 to 2 % of it", "it is 0.01x as late as the other", "after 0 blocks of the cell"]
    {
        assert_eq!(unusable(text), None);
    }
    proptest!(ProptestConfig::with_cases(48), |(
        ratio in -8.0..8.0_f64,
        noise in 0.0..12.0_f64,
        blocks in 4_u32..80,
        seed in 0_u64..1000,
    )| {
        for quantity in [Quantity::NanosecondsPerOperation, Quantity::BytesPerSecond] {
            let cell = cell(blocks, ratio.exp(), noise, Ended::Budget, seed);
            let trial = trial(quantity, vec![cell]);
            for answer in answers(|_| whole_epoch, &Machine::unobserved("a test"), &trial) {
                prop_assert_eq!(unusable(&answer.sentence), None, "{}", answer.sentence);
            }
        }
    });
}
