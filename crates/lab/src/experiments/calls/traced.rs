//! What a call becomes: the part of `calls` that is looked at and not timed.

use tenbin_model::words::comma;
use tenbin_model::{Effort, Finding};

use crate::experiment::{Request, Unfit};
use crate::trace::{self, Asked, Function};

/// Whether nothing but a trace is asked for.
///
/// # Errors
/// A usage error for a function that cannot be traced, for a probe that cannot be one, and for a probe where
/// nothing is traced.
pub(super) fn alone(request: &Request<'_>) -> Result<bool, Unfit> {
    let asked = asked(request)?;
    let alone = request.settings.given("trace").is_some();
    if let Some(probe) = &asked.probe {
        if request.effort == Effort::Quick && !alone {
            return Err(Unfit::Usage(format!(
                "--set probe={}: with --quick nothing is traced without --set trace=FUNCTION",
                probe.display()
            )));
        }
        trace::check(&asked)?;
    }
    Ok(alone)
}

fn asked(request: &Request<'_>) -> Result<Asked, Unfit> {
    let probe = request.settings.given("probe").map(Into::into);
    let expected = format!("one of {}", comma(trace::known()));
    let functions = request.settings.list("trace", &Function::usual(), &expected, |_| true)?;
    Ok(Asked { probe, ..Asked::new("calls", functions) })
}

pub(super) fn findings(request: &Request<'_>) -> Result<Vec<Finding>, Unfit> {
    trace::findings(&asked(request)?)
}
