use tenbin_model::calibration::{Proportion, Rates, Unanswered, WorkRates};
use tenbin_model::machine::Observed;
use tenbin_model::{Bytes, Interval, Pair, Picoseconds, Verdict};

use super::specimen::{
    calibration, commands, cut_short, full, functions, in_layout, ladder, pairs, refused, series, unsound,
};
use super::*;

/// Count, of how many, and the ends of the interval to six decimals.
fn shown(proportion: Proportion) -> (u64, u64, String) {
    let ends = proportion
        .interval
        .map_or_else(|| "none".to_owned(), |Interval { low, high }| format!("{low:.6} {high:.6}"));
    (proportion.count, proportion.of, ends)
}

fn counted(proportion: Proportion) -> (u64, u64) {
    (proportion.count, proportion.of)
}

fn by_work(works: &[WorkRates], read: fn(&WorkRates) -> Proportion) -> Vec<(u64, u64)> {
    works.iter().map(|work| counted(read(work))).collect()
}

#[test]
fn an_alarm_is_an_equal_called_different_on_either_side() {
    let rates = rates(&full());
    // The ends solve their equations; found by bisection of the sum of binomial probabilities.
    assert_eq!(shown(rates.alarms), (1, 400, "0.000013 0.018427".into()));
    assert_eq!(by_work(&rates.works, |work| work.alarms), [(1, 200), (0, 200)]);
    let unsound = super::rates(&unsound());
    assert_eq!(counted(unsound.alarms), (40, 400));
    assert!(unsound.alarms.interval.unwrap().low > 0.01);
}

#[test]
fn copies_at_other_addresses_are_no_equals_of_the_ladder() {
    let alarmed = || pairs(3, 1.0, 1.004);
    let rates = rates(&calibration(vec![
        ladder("alu", 0.0, pairs(5, 1.0, 1.0)),
        series(Purpose::Layout, "copies", "", 0.0, [in_layout(4, alarmed()), alarmed()].concat()),
        series(Purpose::Truth, "twice", "", 0.0, alarmed()),
    ]));
    assert_eq!(counted(rates.alarms), (0, 5));
    assert_eq!(counted(rates.wrong_signs), (0, 0));
    assert_eq!(counted(rates.layout.different), (6, 6));
    assert_eq!(rates.layout.layouts.len(), 1);
    assert_eq!((rates.layout.layouts[0].layout, counted(rates.layout.layouts[0].different)), (4, (3, 3)));
}

#[test]
fn a_wrong_sign_is_an_effect_called_different_the_wrong_way() {
    let rates = rates(&unsound());
    assert_eq!(counted(rates.wrong_signs), (3, 100));
    let step = rates.works[0].steps[0];
    assert_eq!((step.effect, counted(step.detected)), (0.01, (97, 100)));
    // An interval beside 1 is no wrong sign as long as nothing was claimed from it.
    let below = Interval { low: 0.98, high: 0.99 };
    let claimed = |verdict| {
        let pair = Pair { verdict, ..refused(1, 1.01, Some(below)).remove(0) };
        counted(super::rates(&calibration(vec![ladder("alu", 0.01, vec![pair])])).wrong_signs)
    };
    assert_eq!(claimed(Verdict::Refused), (0, 1));
    assert_eq!(claimed(Verdict::Different), (1, 1));
}

#[test]
fn an_end_rounded_to_1_keeps_its_side_and_small_truths_turn() {
    let pair = |truth, low, high| {
        let interval = Interval { low, high };
        Pair { verdict: Verdict::Different, ..refused(1, truth, Some(interval)).remove(0) }
    };
    let pairs = vec![pair(1.01, 1.0, 1.02), pair(1.01, 0.98, 1.0), pair(0.99, 0.98, 0.995)];
    let rates = rates(&calibration(vec![ladder("alu", 0.01, pairs)]));
    assert_eq!(counted(rates.wrong_signs), (1, 3));
    assert_eq!(counted(rates.works[0].steps[0].detected), (2, 3));
}

#[test]
fn coverage_counts_intervals_and_their_ends() {
    let exactly = Interval { low: 1.0, high: 1.0 };
    let rates = rates(&calibration(vec![
        ladder("alu", 0.0, [pairs(4, 1.0, 1.0005), pairs(1, 1.0, 1.0015)].concat()),
        ladder("alu", 0.01, [pairs(2, 1.01, 1.0095), refused(3, 1.01, None)].concat()),
        ladder("pipe", 0.0, refused(1, 1.0, Some(exactly))),
    ]));
    assert_eq!(counted(rates.covered), (7, 8));
    assert_eq!(by_work(&rates.works, |work| work.covered), [(6, 7), (1, 1)]);
}

#[test]
fn ninety_per_cent_power_must_hold_at_every_larger_step() {
    let step = |effect: f64, right: usize, missed: usize| {
        let truth = 1.0 + effect;
        ladder("alu", effect, [pairs(right, truth, truth), refused(missed, truth, None)].concat())
    };
    let ninety = |steps: Vec<Series>| {
        rates(&calibration(steps)).works[0].ninety.map(|step| (step.effect, counted(step.detected)))
    };
    // In no order, and with a hole at 1 %.
    let hole = vec![step(0.05, 10, 0), step(0.005, 10, 0), step(0.01, 8, 2), step(0.02, 9, 1)];
    assert_eq!(ninety(hole), Some((0.02, (9, 10))));
    assert_eq!(ninety(vec![step(0.02, 10, 0), step(0.05, 8, 2)]), None);
    // A step that was not weighed is no hole.
    assert_eq!(ninety(vec![step(0.01, 9, 1), step(0.02, 0, 0), step(0.05, 9, 0)]), Some((0.01, (9, 10))));
    // Several series of one step are one step.
    assert_eq!(ninety(vec![step(0.02, 10, 0), step(0.02, 8, 2)]), Some((0.02, (18, 20))));
    assert_eq!(ninety(vec![step(0.02, 0, 0)]), None);
}

#[test]
fn an_interval_beside_1_counts_whatever_the_verdict() {
    let mut beside = pairs(2, 1.0, 1.004);
    beside[0].verdict = Verdict::Equivalent;
    let rates = rates(&calibration(vec![ladder("alu", 0.0, [pairs(8, 1.0, 1.0), beside].concat())]));
    assert_eq!((counted(rates.alarms), counted(rates.excluded)), ((1, 10), (2, 10)));
}

#[test]
fn a_pair_without_an_interval_makes_no_rate_of_error_smaller() {
    let unanswered = refused(5, 1.0, None);
    let rates = rates(&calibration(vec![ladder("alu", 0.0, [pairs(10, 1.0, 1.0), unanswered].concat())]));
    assert_eq!((counted(rates.alarms), counted(rates.undecided)), ((0, 10), (5, 15)));
    let [Unanswered { why, count: 5 }] = rates.unanswered.as_slice() else {
        panic!("{:?}", rates.unanswered)
    };
    assert_eq!(why, "a worker was elsewhere");
}

#[test]
fn refusals_are_counted_of_equals_and_of_everything() {
    let rates = rates(&full());
    assert_eq!(counted(rates.undecided), (10, 400));
    assert_eq!(by_work(&rates.works, |work| work.undecided), [(0, 200), (10, 200)]);
    // 3 of alu's effects, 92 + 29 + 2 of the pipe's, its 10 equals; of 400 + 600 + 80 + 40 pairs.
    assert_eq!(counted(rates.refused), (136, 1120));
    let [unweighed] = rates.unweighed.as_slice() else { panic!("one series was refused as a whole") };
    assert_eq!((unweighed.work.as_str(), unweighed.effect), ("alu", 0.001));
    assert_eq!(shown(rates.works[0].steps[0].detected), (0, 0, "none".into()));
}

#[test]
fn a_bias_is_the_median_s_error_and_the_worst_keeps_its_sign() {
    let measured = [pairs(3, 3.0, 3.03), pairs(2, 3.0, 2.7), refused(4, 3.0, None)].concat();
    let silent = series(Purpose::Truth, "silent", "", 1.0, refused(4, 2.0, None));
    let rates = rates(&calibration(vec![series(Purpose::Truth, "ratio", "", 2.0, measured), silent]));
    let [bias] = rates.biases.as_slice() else { panic!("one series found a ratio") };
    assert_eq!((bias.truth, bias.runs, bias.median), (3.0, 5, 3.03));
    assert!((bias.error - 0.01).abs() < 1e-12 && (bias.worst + 0.1).abs() < 1e-12, "{bias:?}");
}

#[test]
fn the_time_of_a_verdict_is_that_of_the_ladder_alone() {
    let mut quick = ladder("alu", 0.0, pairs(11, 1.0, 1.0));
    for (place, pair) in quick.pairs.iter_mut().enumerate() {
        pair.took = Picoseconds::from_millis(100 + 10 * place as u64);
    }
    let slow = series(Purpose::Truth, "alu", "", 1.0, refused(50, 2.0, None));
    let rates = rates(&calibration(vec![quick, slow]));
    let took = rates.took.unwrap();
    assert_eq!(took.median, Picoseconds::from_millis(150));
    assert_eq!(took.ninetieth, Picoseconds::from_millis(190));
    assert_eq!(rates.works[0].took, Some(took));
}

#[test]
fn nothing_weighed_has_rates_of_nothing() {
    for nothing in [Vec::new(), vec![ladder("alu", 0.0, Vec::new()), ladder("alu", 0.01, Vec::new())]] {
        let rates = rates(&calibration(nothing));
        for proportion in
            [rates.alarms, rates.excluded, rates.undecided, rates.wrong_signs, rates.covered, rates.refused]
        {
            assert_eq!(proportion, Proportion { count: 0, of: 0, interval: None });
        }
        assert_eq!(rates.took, None);
        assert!(rates.works.iter().all(|work| work.ninety.is_none() && work.took.is_none()));
    }
}

#[test]
fn rates_survive_their_own_json() {
    let rates = rates(&full());
    let json = serde_json::to_string(&rates).unwrap();
    let read: Rates = serde_json::from_str(&json).unwrap();
    // The last bit of a number may be lost in JSON; nothing else may.
    assert_eq!((read.alarms.count, read.took, read.unweighed), (1, rates.took, rates.unweighed));
    assert_eq!(read.works.len(), rates.works.len());
}

#[test]
fn the_remark_says_alarms_signs_date_and_load() {
    let quiet = Calibration { provenance: cut_short().provenance, ..full() };
    let mut nothing = calibration(vec![ladder("alu", 0.0, pairs(400, 1.0, 1.0))]);
    nothing.load.per_cpu = 1;
    let remarks = [
        remark(&quiet, Purpose::Ladder, "0.1.0"),
        remark(&unsound(), Purpose::Ladder, "0.2.0"),
        remark(&nothing, Purpose::Ladder, "0.1.0"),
        remark(&cut_short(), Purpose::Ladder, "0.1.0"),
        remark(&calibration(Vec::new()), Purpose::Ladder, "0.1.0"),
    ];
    insta::assert_snapshot!(remarks.join("\n"));
    let own = calibration([commands(), functions()].concat());
    insta::assert_snapshot!("of_commands", remark(&own, Purpose::Command, "0.1.0"));
    insta::assert_snapshot!("of_functions", remark(&own, Purpose::Function, "0.1.0"));
}

#[test]
fn ranges_are_rounded_outward_and_show_their_side_of_the_aim() {
    let shown_range = |low: f64, high: f64| range(Interval { low, high });
    assert_eq!(shown_range(0.0, 0.018_45), "0 to 1.9 %");
    assert_eq!(shown_range(0.000_012, 0.018_45), "0 to 1.9 %");
    assert_eq!(shown_range(0.0, 0.000_123), "0 to 0.013 %");
    assert_eq!(shown_range(0.974_3, 1.0), "97.4 to 100 %");
    assert_eq!(shown_range(0.997_43, 0.999_98), "99.74 to 100 %");
    assert_eq!(shown_range(0.211, 0.652), "21 to 66 %");
    assert_eq!(shown_range(0.064, 0.146), "6.4 to 14.6 %");
    assert_eq!(shown_range(0.0, 1.0), "0 to 100 %");
    let aimed = |low: f64, high: f64| against(Interval { low, high }, 0.01);
    assert_eq!(aimed(0.010_04, 0.041), "1.004 to 4.100 %");
    assert_eq!(aimed(0.0, 0.009_99), "0 to 0.999 %");
    assert_eq!(aimed(0.0, 0.01), "0 to 1.0 %");
}

/// A machine of which the processor and the kernel are known.
fn machine() -> Machine {
    Machine {
        cpu_model: Observed::Known("AMD EPYC".into()),
        kernel: Observed::Known("Linux version 6.1".into()),
        load: Observed::Known(0.1),
        memory_available: Observed::Known(Bytes(7 << 30)),
        ..Machine::unobserved("a test")
    }
}

#[test]
fn a_calibration_holds_under_other_load_and_no_other_kernel() {
    let ours = Calibration { machine: machine(), ..full() };
    assert!(holds_for(&ours, &machine()));
    let busy = Machine {
        load: Observed::Known(16.0),
        memory_available: Observed::Known(Bytes(1 << 30)),
        ..machine()
    };
    assert!(holds_for(&ours, &busy));
    let upgraded = Machine { kernel: Observed::Known("Linux version 6.12".into()), ..machine() };
    assert!(!holds_for(&ours, &upgraded));
    let other = Machine { cpu_model: Observed::Known("Neoverse-V2".into()), ..machine() };
    assert!(!holds_for(&ours, &other));
    // The governor was not observed then; nobody knows whether it is the same now.
    let observed = Machine { governor: Observed::Known("powersave".into()), ..machine() };
    assert!(!holds_for(&ours, &observed));
}

#[test]
fn the_newest_that_holds_and_says_something_is_taken() {
    let of = |machine: Machine, calibration: Calibration| Calibration { machine, ..calibration };
    let elsewhere = of(Machine::unobserved("a test"), unsound());
    let stopped = of(machine(), calibration(vec![ladder("alu", 0.0, Vec::new())]));
    let (newer, older) = (of(machine(), cut_short()), of(machine(), full()));
    let of_purpose = |purpose, all: &[&Calibration]| {
        of_machine(&machine(), purpose, all.iter().copied().cloned(), |it| it)
    };
    let chosen = |all: &[&Calibration]| of_purpose(Purpose::Ladder, all);
    assert_eq!(chosen(&[&elsewhere, &stopped]), None);
    // Three pairs that were weighed for a look do not hide what a whole calibration knows.
    assert_eq!(chosen(&[&elsewhere, &stopped, &newer, &older]), Some(older.clone()));
    assert_eq!(chosen(&[&elsewhere, &newer]), Some(newer.clone()));
    // Of two that know as much, the newer one.
    let mut again = older.clone();
    again.provenance.started = "2026-11-22T08:15:00Z".into();
    assert_eq!(chosen(&[&again, &older]), Some(again.clone()));
    // Many pairs of one work know less than some of each.
    let one_work = of(machine(), calibration(vec![ladder("alu", 0.0, pairs(10_000, 1.0, 1.0))]));
    assert_eq!(chosen(&[&one_work, &older]), Some(older.clone()));
    // Two pairs of each work, weighed for a look, know less than many of one.
    let few = |work| ladder(work, 0.0, pairs(2, 1.0, 1.0));
    let look = of(machine(), calibration(["alu", "call", "pipe", "chase"].map(few).to_vec()));
    assert_eq!(chosen(&[&look, &one_work]), Some(one_work.clone()));
    assert_eq!(chosen(&[&look, &newer]), Some(look.clone()));
    // What is known of commands says nothing of works, and the other way round.
    let of_commands = of(machine(), calibration(commands()));
    assert_eq!(chosen(&[&of_commands, &older]), Some(older.clone()));
    assert_eq!(of_purpose(Purpose::Command, &[&older, &of_commands]), Some(of_commands));
    assert_eq!(of_purpose(Purpose::Command, &[&older]), None);
}

#[test]
fn commands_have_rates_of_their_own() {
    let both = calibration([full().series, commands()].concat());
    let (rates, without) = (rates(&both), rates(&full()));
    assert_eq!((rates.alarms, rates.covered, rates.works.len()), (without.alarms, without.covered, 2));
    let of_commands = rates.commands.unwrap();
    assert_eq!((counted(of_commands.alarms), counted(of_commands.wrong_signs)), ((1, 40), (0, 40)));
    let covered = by_work(&of_commands.works, |work| work.covered);
    assert_eq!(covered, [(20, 20), (19, 20)], "of equals only");
    assert_eq!((without.commands, without.functions), (None, None));
}

#[test]
fn functions_have_rates_of_their_own_and_a_truth_that_is_known() {
    let rates = rates(&calibration([commands(), functions()].concat()));
    let of_functions = rates.functions.unwrap();
    assert_eq!((counted(of_functions.alarms), counted(of_functions.wrong_signs)), ((0, 30), (0, 10)));
    assert_eq!(counted(of_functions.works[0].covered), (40, 40), "of pairs that differ too");
}

#[test]
fn processes_with_other_ratios_are_counted_by_intervals() {
    let in_process = |process, measured| -> Vec<Pair> {
        pairs(4, 1.0, measured).into_iter().map(|pair| Pair { process: Some(process), ..pair }).collect()
    };
    let of = |series| rates(&calibration(vec![series])).between;
    // Intervals are a thousandth on either side: only those of the third process lie elsewhere.
    let series = ladder("alu", 0.0, [in_process(0, 1.0), in_process(1, 1.001), in_process(2, 1.01)].concat());
    let between = of(series.clone()).remove(0);
    assert_eq!((between.processes, counted(between.disjoint)), (3, (32, 48)));
    assert!((between.apart - 1.01).abs() < 1e-12);
    let whole = calibration(vec![series]);
    let text = crate::report::calibration(&whole, &rates(&whole)).text(200);
    assert!(text.contains("3 processes") && text.contains("32 of 48"), "{text}");
    assert_eq!(of(ladder("alu", 0.0, in_process(0, 1.0))), []);
    assert_eq!(of(ladder("alu", 0.0, pairs(8, 1.0, 1.0))), []);
}
