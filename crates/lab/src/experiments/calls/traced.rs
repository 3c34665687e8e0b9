//! What a call becomes: the part of `calls` that is looked at and not timed.

use tenbin_model::Finding;

use crate::experiment::{Request, Unfit};
use crate::trace::{self, Asked};

/// Whether nothing but a trace is asked for.
///
/// # Errors
/// A usage error for a function that cannot be traced.
pub(super) fn asked(request: &Request<'_>) -> Result<bool, Unfit> {
    functions(request).map(|_| request.settings.given("trace").is_some())
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
    let mut asked = Asked::new("calls", &[]);
    asked.functions = functions(request)?;
    asked.probe = request.settings.given("probe").map(Into::into);
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
