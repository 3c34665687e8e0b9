//! Calibrations that are made up, so that every rate of them is known.

use tenbin_model::{
    Calibration, Interval, Load, Machine, MeasuredRatio, Pair, Picoseconds, Provenance, Purpose, Series,
    Verdict,
};

/// A calibration of a machine of which nothing was observed, at a level of 1 %.
pub(crate) fn calibration(series: Vec<Series>) -> Calibration {
    Calibration {
        provenance: Provenance {
            version: "0.1.0".into(),
            started: "2026-11-21T08:15:00Z".into(),
            seed: 1,
            arguments: vec!["calibrate".into()],
            ..Provenance::default()
        },
        machine: Machine::unobserved("a test"),
        load: Load { per_cpu: 0, threads: 0, average: [Some(0.31), Some(1.08)] },
        level: 0.01,
        time: Picoseconds::from_millis(500),
        series,
    }
}

pub(crate) fn ladder(work: &str, effect: f64, pairs: Vec<Pair>) -> Series {
    let what = match work {
        "alu" => "dependent additions in registers",
        "pipe" => "4 KiB written to a pipe and read back",
        _ => "made up",
    };
    series(Purpose::Ladder, work, what, effect, pairs)
}

pub(crate) fn series(purpose: Purpose, work: &str, what: &str, effect: f64, pairs: Vec<Pair>) -> Series {
    Series { purpose, work: work.into(), what: what.into(), effect, margin: 0.01, refused: None, pairs }
}

/// A series of which nothing was weighed.
pub(crate) fn unweighed(series: Series) -> Series {
    Series { refused: Some("the effect is less than two whole operations".into()), ..series }
}

/// `count` pairs that came out alike: the ratio found is `measured`, its interval a thousandth on either
/// side, the verdict what that interval says at a margin of a hundredth.
pub(crate) fn pairs(count: usize, truth: f64, measured: f64) -> Vec<Pair> {
    let interval = Interval { low: measured - 0.001, high: measured + 0.001 };
    let verdict =
        if interval.low > 1.0 || interval.high < 1.0 { Verdict::Different } else { Verdict::Equivalent };
    let pair = Pair {
        truth,
        verdict,
        measured: Some(MeasuredRatio { ratio: measured, interval }),
        why: None,
        blocks: 40,
        operations: 10_000,
        took: Picoseconds::from_millis(200),
        layout: None,
        process: None,
    };
    vec![pair; count]
}

/// `count` pairs that were refused, with an interval that is too wide or with none.
pub(crate) fn refused(count: usize, truth: f64, measured: Option<Interval>) -> Vec<Pair> {
    let measured =
        measured.map(|interval| MeasuredRatio { ratio: interval.low.midpoint(interval.high), interval });
    let why = if measured.is_some() { None } else { Some("a worker was elsewhere".to_owned()) };
    let (verdict, took) = (Verdict::Refused, Picoseconds::from_millis(500));
    vec![Pair { verdict, measured, why, took, ..pairs(1, truth, truth).remove(0) }; count]
}

pub(crate) fn in_layout(layout: u32, pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.into_iter().map(|pair| Pair { layout: Some(layout), ..pair }).collect()
}

/// Nothing wrong with it: two works, 400 pairs of equals with one alarm, effects, layouts, ratios.
pub(crate) fn full() -> Calibration {
    let wide = Interval { low: 0.98, high: 1.03 };
    let steps = |work: &str, effects: [(f64, usize); 3]| {
        let step = move |(effect, right): (f64, usize)| {
            let truth = 1.0 + effect;
            let missed = refused(100 - right, truth, Some(wide));
            ladder(work, effect, [pairs(right, truth, truth), missed].concat())
        };
        effects.map(step)
    };
    let mut all = vec![
        ladder("alu", 0.0, [pairs(199, 1.0, 1.0002), pairs(1, 1.0, 0.998)].concat()),
        unweighed(ladder("alu", 0.001, Vec::new())),
    ];
    all.extend(steps("alu", [(0.002, 97), (0.01, 100), (0.05, 100)]));
    all.push(ladder("pipe", 0.0, [pairs(190, 1.0, 0.9999), refused(10, 1.0, Some(wide))].concat()));
    all.extend(steps("pipe", [(0.002, 8), (0.01, 71), (0.05, 98)]));
    let layouts = (0..8).map(|layout| {
        let alarms = usize::from(layout == 3) * 2;
        in_layout(layout, [pairs(10 - alarms, 1.0, 1.0), pairs(alarms, 1.0, 1.004)].concat())
    });
    let layouts = layouts.collect::<Vec<_>>().concat();
    all.push(series(Purpose::Layout, "copies", "a loop that sums", 0.0, layouts));
    let products = [pairs(12, 3.0, 2.9998), pairs(8, 3.0, 3.0011)].concat();
    all.push(series(Purpose::Truth, "ratio", "multiplication : addition", 2.0, products));
    all.push(series(Purpose::Truth, "twice", "2n : n additions", 1.0, pairs(20, 2.0, 2.0000)));
    calibration(all)
}

/// Whole commands, weighed beside everything else or, without it, alone: one alarm of 40, no wrong sign.
pub(crate) fn commands() -> Vec<Series> {
    let command = |work: &str, effect, pairs| {
        series(Purpose::Command, work, "a process that counts down", effect, pairs)
    };
    // An interval beside what an estimate of the start makes of the truth is no error of the interval.
    let longer = pairs(20, 1.05, 1.047);
    let wide = Interval { low: 0.99, high: 1.02 };
    vec![
        command("run-1ms", 0.0, [pairs(12, 1.0, 1.0), refused(8, 1.0, Some(wide))].concat()),
        command("run-1ms", 0.05, longer),
        command("run-10ms", 0.0, [pairs(19, 1.0, 1.0), pairs(1, 1.0, 1.01)].concat()),
        command("run-10ms", 0.01, pairs(20, 1.01, 1.01)),
        unweighed(command("run-10ms", 0.002, Vec::new())),
    ]
}

/// Functions over layouts: no alarm of 30, every effect found.
pub(crate) fn functions() -> Vec<Series> {
    let function = |effect, pairs| {
        series(Purpose::Function, "function", "a function of C, linked anew for each block", effect, pairs)
    };
    vec![function(0.0, pairs(30, 1.0, 1.0)), function(0.02, pairs(10, 1.02, 1.0203))]
}

/// Stopped by the user after its third pair.
pub(crate) fn cut_short() -> Calibration {
    calibration(vec![
        ladder("alu", 0.0, pairs(2, 1.0, 1.0)),
        ladder("alu", 0.01, pairs(1, 1.01, 1.01)),
        ladder("pipe", 0.0, Vec::new()),
    ])
}

/// An instrument that is wrong too often: 40 of 400 equals, 3 signs, and intervals beside the truth;
/// measured under load.
pub(crate) fn unsound() -> Calibration {
    let mut unsound = calibration(vec![
        ladder("alu", 0.0, [pairs(360, 1.0, 1.0), pairs(40, 1.0, 1.01)].concat()),
        ladder("alu", 0.01, [pairs(97, 1.01, 1.01), pairs(3, 1.01, 0.99)].concat()),
        unweighed(ladder("pipe", 0.0, Vec::new())),
        unweighed(ladder("pipe", 0.01, Vec::new())),
    ]);
    unsound.load = Load { per_cpu: 2, threads: 4, average: [Some(0.4), Some(5.25)] };
    unsound
}
