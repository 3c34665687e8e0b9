//! `tenbin weigh --from`: what another tool measured, judged.

use tenbin_analysis::report;
use tenbin_lab::analyses;
use tenbin_model::Verdict;
use tenbin_store::neighbours::reading;

use super::Weigh;
use crate::output::{Answer, Exit, Trouble};
use crate::verbs::detail;

/// The answer to what the files hold. Nothing is measured or kept.
pub fn answer(asked: &Weigh) -> Result<Answer, Trouble> {
    asked.exports.is_not_asked_for(
        "with --from nothing is measured that could be written; the file that was read holds it",
    )?;
    // What is wrong with a file is the request's fault, and so is a file that is not there.
    let mut run = reading::read(&asked.from).map_err(|wrong| Trouble::usage(wrong.to_string()))?;
    for trial in &mut run.trials {
        let descriptor = &mut trial.descriptor;
        descriptor.margin = asked.margin.unwrap_or(descriptor.margin);
        descriptor.level = asked.level.unwrap_or(descriptor.level);
    }
    let reported = analyses().report(&run, None);
    let outlet = asked.measure().outlet;
    let text = match outlet.page() {
        Some(render) => render(&report::as_page(&analyses(), &run, &reported, false)),
        None => outlet.form().text(&reported.report, |_, width| detail(&reported, width))?,
    };
    let is_refused = reported.report.answers.iter().all(|answer| answer.verdict == Verdict::Refused);
    let exit = if is_refused { Exit::Refused } else { Exit::Answered };
    Ok(Answer { to: asked.to.clone(), exit, ..Answer::text(text) })
}
