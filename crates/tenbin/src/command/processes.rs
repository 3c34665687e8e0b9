//! `tenbin run --processes N`: the same question in several processes of tenbin, and the answer over them.

use std::num::NonZero;
use std::process::{Command, Stdio};
use std::time::Duration;

use tenbin_analysis::{report, verdict};
use tenbin_metal::child::{self, Bounds, End};
use tenbin_model::{Effort, Report, Verdict};

use super::{archive, json};
use crate::arguments::Measure;
use crate::measurement::{Order, descriptors};
use crate::output::{Answer, Exit, Trouble, can_be_written};
use crate::terminal::{self, Progress};

/// The longest that one process may measure: more than everything takes, thoroughly.
const LONGEST: Duration = Duration::from_secs(4 * 3600);

/// The most that one process may say. A report has no samples.
const MOST: usize = 256 << 20;

/// Measures in `count` processes, one after the other, each an ordinary run that is kept like any.
pub fn run(
    experiments: &[String],
    settings: &[String],
    measure: &Measure,
    count: NonZero<u32>,
) -> Result<Answer, Trouble> {
    // What is wrong with the request is found here, and not by the first process.
    Order::new(experiments, settings, measure, Effort::Quick)?;
    if let Some(path) = &measure.output {
        can_be_written(path)?;
    }
    if !measure.no_store {
        archive::open()?;
    }
    let progress = Progress::new();
    let (mut reports, mut faulty) = (Vec::new(), false);
    for number in 0..count.get() {
        progress.processes(number, count.get());
        let (report, exit) = one(experiments, settings, measure, number).map_err(|trouble| {
            progress.finish();
            let kept = if measure.no_store { "" } else { ", and their runs are kept" };
            let message =
                format!("process {} of {count}: {}; {number} were done{kept}", number + 1, trouble.message);
            Trouble { message, ..trouble }
        })?;
        faulty |= exit == Exit::Fault;
        reports.push(report);
    }
    progress.finish();
    let over = verdict::processes(&reports, &descriptors());
    let text =
        if measure.form.json { json(&over)? } else { report::over_processes(&over, terminal::width()) };
    let refused = over.answers.iter().all(|answer| answer.verdict == Verdict::Refused);
    let exit = match (faulty, refused && over.not_ratios.is_empty()) {
        (true, _) => Exit::Fault,
        (false, true) => Exit::Refused,
        (false, false) => Exit::Answered,
    };
    let names: Vec<&str> = over.runs.iter().map(|id| &id[..12.min(id.len())]).collect();
    let remark = (!names.is_empty()).then(|| {
        format!(
            "Kept as runs {} in {}; they are one side of a `tenbin compare`.",
            names.join(","),
            archive::path_shown()
        )
    });
    Ok(Answer { text, to: measure.output.clone(), remark, exit })
}

/// One process: this program again, which dies with this one.
fn one(
    experiments: &[String],
    settings: &[String],
    measure: &Measure,
    number: u32,
) -> Result<(Report, Exit), Trouble> {
    // By this name it is this very program, also after another one was put in its place.
    let mut command = Command::new("/proc/self/exe");
    command.arg("run").args(experiments).arg("--json").stdin(Stdio::null());
    command.args(settings.iter().flat_map(|setting| ["--set", setting.as_str()]));
    command.arg(if measure.thorough { "--thorough" } else { "--quick" });
    if let Some(cpus) = &measure.cpus {
        command.args(["--cpus", cpus]);
    }
    if measure.no_store {
        command.arg("--no-store");
    }
    if let Some(seed) = measure.seed {
        // Each its own, and the same for the same seed.
        command.args(["--seed", &seed.wrapping_add(u64::from(number)).to_string()]);
    }
    let bounds = Bounds { output: MOST, ..Bounds::within(LONGEST) };
    let finished = child::run(command, bounds).map_err(|fault| Trouble::internal(fault.to_string()))?;
    let why = || String::from_utf8_lossy(&finished.stderr).trim_end().to_owned();
    let exit = match finished.end {
        End::Exited(0) => Exit::Answered,
        End::Exited(3) => Exit::Refused,
        End::Exited(4) => Exit::Fault,
        End::Exited(5) => return Err(Trouble { exit: Exit::Missing, message: why() }),
        End::Exited(status) => {
            return Err(Trouble::internal(format!("it ended with status {status}: {}", why())));
        }
        End::Signalled(signal) => return Err(Trouble::internal(format!("signal {signal} ended it"))),
        End::OutOfTime => {
            return Err(Trouble::internal(format!(
                "it still measured after {} s and was ended",
                LONGEST.as_secs()
            )));
        }
    };
    let report = serde_json::from_slice(&finished.stdout);
    let report = report.map_err(|error| Trouble::internal(format!("its report cannot be read: {error}")))?;
    Ok((report, exit))
}
