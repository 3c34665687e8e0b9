//! `tenbin run --processes N`: the same question in several processes of tenbin, and the answer over them.

use std::num::NonZero;

use tenbin_analysis::processes::processes;
use tenbin_analysis::report;
use tenbin_lab::analyses;
use tenbin_lab::survey::descriptors;
use tenbin_model::{Effort, Report, Verdict};

use super::Run;
use crate::measurement::survey;
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::Progress;
use crate::{again, store};

/// Measures in `count` processes, one after the other, each an ordinary run that is kept like any.
pub fn run(asked: &Run, count: NonZero<u32>) -> Result<Answer, Trouble> {
    let Run { experiments, settings, measure, .. } = asked;
    // What is wrong with the request is found here, and not by the first process.
    survey(experiments, settings, measure, Effort::Quick)?;
    measure.outlet.can_be_written()?;
    if !measure.no_store {
        store::open()?;
    }
    let progress = Progress::new();
    let (mut reports, mut faulty) = (Vec::new(), false);
    for number in 0..count.get() {
        progress.processes(number, count.get());
        let (report, exit) = one(asked, number).map_err(|trouble| {
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
    let over = processes(&analyses(), &reports, &descriptors());
    let text = measure.outlet.form().text(&over, |over, width| report::over_processes(over).text(width))?;
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
            store::path_shown()
        )
    });
    Ok(Answer { text, to: measure.outlet.output.clone(), remarks: Vec::from_iter(remark), exit })
}

/// One process: this program again, which dies with this one.
fn one(asked: &Run, number: u32) -> Result<(Report, Exit), Trouble> {
    let Run { experiments, settings, measure, .. } = asked;
    let mut words: Vec<String> = vec!["run".into(), "--json".into()];
    words.extend(settings.iter().flat_map(|setting| ["--set".into(), setting.clone()]));
    words.push(if measure.thorough { "--thorough" } else { "--quick" }.into());
    if let Some(cpus) = &measure.cpus {
        words.extend(["--cpus".into(), cpus.clone()]);
    }
    if measure.no_store {
        words.push("--no-store".into());
    }
    if let Some(seed) = measure.seed {
        // Each its own, and the same for the same seed.
        words.extend(["--seed".into(), seed.wrapping_add(u64::from(number)).to_string()]);
    }
    words.extend(experiments.iter().cloned());
    again::answer(&words)
}
