//! A calibration in one sentence, and the figures of one in words.

use tenbin_model::calibration::Proportion;
use tenbin_model::{Calibration, Interval, Purpose};

use super::rates;
use tenbin_document::words::percent;

/// The one sentence that stands beside every later verdict of the machine, on whole commands or functions
/// where `purpose` is theirs: false alarms, wrong signs, when, and under which load if one was made.
/// `version` is that of the tenbin which shows it: the one that calibrated is named if it was another.
pub fn remark(calibration: &Calibration, purpose: Purpose, version: &str) -> String {
    let rates = rates(calibration);
    let (of, alarms_of, signs_of) = match rates.of(purpose) {
        Some(own) => (subjects(purpose), own.alarms, own.wrong_signs),
        None => (subjects(Purpose::Ladder), rates.alarms, rates.wrong_signs),
    };
    let alarms = match alarms_of.interval {
        None => "no pair of equals was weighed".to_owned(),
        Some(interval) => {
            let (range, level) = (against(interval, calibration.level), percent(1.0 - rates.level));
            let aim = percent(calibration.level);
            format!("{} ({range}, {level} interval; the rule aims at {aim})", alarms(alarms_of))
        }
    };
    let by = &calibration.provenance.version;
    let by = if by == version { String::new() } else { format!(" with tenbin {by}") };
    let load = made_load(calibration).map_or_else(String::new, |load| format!(" {load}"));
    let date = date(calibration);
    format!("On a machine like this, {of}, {alarms}, {}: calibrated {date}{by}{load}.", signs(signs_of))
}

/// Of what pairs for a purpose are, as a sentence begins to say it.
pub(crate) fn subjects(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Command => "of whole commands",
        Purpose::Function => "of functions over layouts",
        Purpose::Ladder | Purpose::Layout | Purpose::Truth => "on one CPU",
    }
}

/// `1 of 400 pairs of equals was called different`.
pub(crate) fn alarms(alarms: Proportion) -> String {
    let Proportion { count, of, .. } = alarms;
    let pairs = if of == 1 { "pair" } else { "pairs" };
    match count {
        0 => format!("none of {of} {pairs} of equals was called different"),
        1 => format!("1 of {of} {pairs} of equals was called different"),
        _ => format!("{count} of {of} {pairs} of equals were called different"),
    }
}

/// `no sign of 600 was wrong`.
pub(crate) fn signs(signs: Proportion) -> String {
    match signs {
        Proportion { of: 0, .. } => "no known effect was weighed".into(),
        Proportion { count: 0, of, .. } => format!("no sign of {of} was wrong"),
        Proportion { count: 1, of, .. } => format!("1 sign of {of} was wrong"),
        Proportion { count, of, .. } => format!("{count} signs of {of} were wrong"),
    }
}

/// The day on which the calibration began, as ISO 8601 has it.
pub(crate) fn date(calibration: &Calibration) -> &str {
    let started = calibration.provenance.started.as_str();
    started.get(..10).unwrap_or(started)
}

/// `under a load of 2 threads a CPU`. None if no load was made.
pub(crate) fn made_load(calibration: &Calibration) -> Option<String> {
    match calibration.load.per_cpu {
        0 => None,
        1 => Some("under a load of 1 thread per CPU".into()),
        threads => Some(format!("under a load of {threads} threads per CPU")),
    }
}

/// An interval of a proportion in per cent, rounded outward: `0 to 1.9 %`.
pub(crate) fn range(interval: Interval) -> String {
    let least = decimals(interval);
    percentages(interval, least)
}

/// The same with so many digits that `mark`, a fraction, lies outside if it does.
pub(crate) fn against(interval: Interval, mark: f64) -> String {
    let least = decimals(interval);
    let apart = |decimals: &usize| {
        let (low, high) = rounded(interval, *decimals);
        let mark = mark * 100.0;
        (interval.low * 100.0 <= mark || low > mark) && (interval.high * 100.0 >= mark || high < mark)
    };
    percentages(interval, (least..=MOST_DECIMALS).find(apart).unwrap_or(MOST_DECIMALS))
}

const MOST_DECIMALS: usize = 6;

/// Two digits of what the interval leaves open at the end of the scale that it lies at, 0 or 100 %.
fn decimals(interval: Interval) -> usize {
    let open = 100.0 * interval.high.min(1.0 - interval.low);
    let digits = if open > 0.0 { 1 - open.log10().floor() as i32 } else { 0 };
    // Between 10 and 20 a whole per cent would be too coarse for the end nearer to the scale's.
    let least = i32::from(open < 20.0);
    digits.clamp(least, MOST_DECIMALS as i32) as usize
}

fn percentages(interval: Interval, decimals: usize) -> String {
    let end = |value: f64| {
        if value == 0.0 || value == 100.0 { value.to_string() } else { format!("{value:.decimals$}") }
    };
    let (low, high) = rounded(interval, decimals);
    format!("{} to {} %", end(low), end(high))
}

/// Both ends in per cent. A value that lies on the grid up to its last bits is not pushed off it.
fn rounded(interval: Interval, decimals: usize) -> (f64, f64) {
    let scale = 10_f64.powi(decimals as i32);
    let low = (interval.low * 100.0 * scale + 1e-9).floor() / scale;
    let high = (interval.high * 100.0 * scale - 1e-9).ceil() / scale;
    (low.max(0.0), high.min(100.0))
}
