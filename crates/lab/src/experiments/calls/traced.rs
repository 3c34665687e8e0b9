//! What a call becomes: the part of `calls` that is looked at and not timed.

use tenbin_model::{Effort, Finding};

use crate::experiment::{Request, Unfit};
use crate::trace::{self, Asked};

/// Whether nothing but a trace is asked for.
///
/// # Errors
/// A usage error for a function that cannot be traced, for a probe that cannot be one, and for a probe where nothing is
/// traced.
pub(super) fn alone(request: &Request<'_>) -> Result<bool, Unfit> {
    let asked = asked(request)?;
    let alone = request.settings.given("trace").is_some();
    if let Some(probe) = &asked.probe {
        if request.effort == Effort::Quick && !alone {
            return Err(Unfit::Usage(format!(
                "--set probe={}: with --quick nothing is traced, but by --set trace=FUNCTION",
                probe.display()
            )));
        }
        trace::check(&asked)?;
    }
    Ok(alone)
}

/// What is to be traced.
fn asked(request: &Request<'_>) -> Result<Asked, Unfit> {
    let (functions, probe) = (functions(request)?, request.settings.given("probe").map(Into::into));
    Ok(Asked { functions, probe, ..Asked::new("calls", &[]) })
}

/// The functions to trace.
fn functions(request: &Request<'_>) -> Result<Vec<String>, Unfit> {
    let usual: Vec<String> = trace::USUAL.iter().map(|&name| name.into()).collect();
    let known: Vec<&str> = trace::known().collect();
    let expected = format!("one of {}", known.join(", "));
    request.settings.list("trace", &usual, &expected, |name| known.contains(&name.as_str()))
}

/// Traces what was asked for. What keeps the usual list from being traced is a finding; it was not what was asked.
pub(super) fn findings(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    let asked = asked(request)?;
    let named = request.settings.given("trace").is_some();
    match trace::findings(&asked) {
        Err(Unfit::Missing(missing)) if !named => Ok(vec![untraced(missing.to_string())]),
        Err(Unfit::Refused(refusal)) if !named => {
            Ok(vec![untraced(format!("{}; {}", refusal.reached, refusal.remedy))])
        }
        other => other,
    }
}

/// That there is no trace, and why.
fn untraced(why: String) -> Finding {
    Finding {
        experiment: "calls".into(),
        sentence: "What calls of the C library become was not traced.".into(),
        evidence: why,
        confidence: "it was tried".into(),
    }
}
