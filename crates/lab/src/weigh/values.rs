//! Values that a user writes about a question, on a command line or in a file: times, percentages, what is
//! weighed, failures that are none.

use tenbin_model::{Picoseconds, Quantity};

use super::Ignored;

/// A time with its unit, like `90s`; seconds where it has none.
///
/// # Errors
/// What it has to be.
pub fn time(text: &str) -> Result<Picoseconds, String> {
    let digits = text.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let scale = match unit.trim() {
        "ms" => 1e-3,
        "s" | "" => 1.0,
        "min" | "m" => 60.0,
        "h" => 3600.0,
        _ => return Err("it is a number with ms, s, min or h, like 90s".into()),
    };
    let seconds = number.parse::<f64>().ok().map(|number| number * scale);
    let accepted = seconds.filter(|seconds| (1e-3..=7.0 * 86_400.0).contains(seconds));
    accepted
        .map(|seconds| Picoseconds::from_nanos((seconds * 1e9) as u64))
        .ok_or_else(|| "it is a time from 1ms to 168h, like 90s or 2min".into())
}

/// A number of percent in these bounds, as a fraction.
fn percent(text: &str, (least, most): (f64, f64)) -> Result<f64, String> {
    let number: Option<f64> = text.strip_suffix('%').unwrap_or(text).trim().parse().ok();
    number
        .filter(|number| (least..=most).contains(number))
        .map(|number| number / 100.0)
        .ok_or_else(|| format!("it is a percentage from {least} to {most}"))
}

/// A level of error in percent, as a fraction.
///
/// # Errors
/// What it has to be.
pub fn level(text: &str) -> Result<f64, String> {
    percent(text, (0.01, 20.0))
}

/// A margin of equivalence in percent, as a fraction.
///
/// # Errors
/// What it has to be.
pub fn margin(text: &str) -> Result<f64, String> {
    percent(text, (0.01, 100.0))
}

/// What is weighed of commands.
///
/// # Errors
/// What it has to be.
pub fn metric(text: &str) -> Result<Quantity, String> {
    Ok(match text {
        "wall" => Quantity::WallTime,
        "user" => Quantity::UserTime,
        "system" => Quantity::KernelTime,
        "cpu" => Quantity::CpuTime,
        "memory" => Quantity::PeakMemory,
        "faults" => Quantity::PageFaults,
        "switches" => Quantity::ContextSwitches,
        "instructions" => Quantity::Instructions,
        "cycles" => Quantity::Cycles,
        _ => {
            return Err(
                "it is wall, user, system, cpu, memory, faults, switches, instructions or cycles".into()
            );
        }
    })
}

/// Failures that are none: a list of statuses, or all.
///
/// # Errors
/// What it has to be.
pub fn ignored(text: &str) -> Result<Ignored, String> {
    if text.is_empty() || text == "all-non-zero" {
        return Ok(Ignored::All);
    }
    let statuses = text.split(',').map(|status| status.trim().parse());
    let statuses = statuses.collect::<Result<_, _>>();
    statuses.map(Ignored::These).map_err(|_| "it is a list of statuses like 1,2, or all-non-zero".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_read_with_their_units() {
        assert_eq!(time("90s"), Ok(Picoseconds::from_millis(90_000)));
        assert_eq!(time("1.5 min"), Ok(Picoseconds::from_millis(90_000)));
        assert!(time("0s").is_err() && time("1 year").is_err());
        assert_eq!((level("1%"), margin("0.5 %")), (Ok(0.01), Ok(0.005)));
        assert!(level("0").is_err() && margin("200%").is_err());
        assert_eq!(metric("memory"), Ok(Quantity::PeakMemory));
        assert_eq!((ignored("1, 2"), ignored("")), (Ok(Ignored::These(vec![1, 2])), Ok(Ignored::All)));
        assert!(ignored("a").is_err() && metric("speed").is_err());
    }
}
