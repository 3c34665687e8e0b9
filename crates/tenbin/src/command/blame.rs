//! `tenbin blame`: whose fault it is.

use std::time::Duration;

use tenbin_analysis::report;
use tenbin_lab::Unfit;
use tenbin_lab::blame::{self, CONTRACTS, Examined, Request};
use tenbin_model::Contracted;

use super::json;
use crate::arguments::Blame;
use crate::output::{Answer, Exit, Trouble, can_be_written};
use crate::terminal::{self, Progress};

/// The shortest time that `--within` can give: the helper counts milliseconds.
const SHORTEST: Duration = Duration::from_millis(1);

/// The longest.
const LONGEST: Duration = Duration::from_secs(86_400);

/// Examines what is asked, or lists the contracts.
pub fn blame(arguments: &Blame) -> Result<Answer, Trouble> {
    if let Some(path) = &arguments.output {
        can_be_written(path)?;
    }
    let (text, exit) = match &arguments.contract {
        Some(name) => examined(name, arguments)?,
        None => (list(arguments)?, Exit::Answered),
    };
    Ok(Answer { text, to: arguments.output.clone(), remark: None, exit })
}

fn examined(name: &str, arguments: &Blame) -> Result<(String, Exit), Trouble> {
    let within = arguments.within.map(Duration::try_from_secs_f64).transpose();
    let within =
        within.ok().filter(|within| within.is_none_or(|within| (SHORTEST..=LONGEST).contains(&within)));
    let request = Request {
        libraries: arguments.libraries.clone(),
        specification: arguments.specification.clone(),
        seed: arguments.seed,
        cases: arguments.cases,
        within: within.ok_or_else(|| Trouble::usage("--within: a time from 0.001 s to 86400 s, a day"))?,
        program: arguments.program.clone(),
        output_aside: arguments.form.json && arguments.output.is_none(),
    };
    let contract = blame::contract(name).map_err(trouble)?;
    let progress = Progress::new();
    let told = |what: Option<&str>| match what {
        Some(what) => progress.doing(what),
        None => progress.finish(),
    };
    let found = contract.examine(&request, &told);
    progress.finish();
    let found = found.map_err(trouble)?;
    let exit = if found.is_fault() { Exit::Fault } else { Exit::Answered };
    let text =
        if arguments.form.json { json(&found)? } else { report::blame(&found).text(terminal::width()) };
    Ok((text, exit))
}

fn list(arguments: &Blame) -> Result<String, Trouble> {
    let described = |contract: &&dyn Examined| contract.described(None).map_err(trouble);
    let contracts: Vec<Contracted> = CONTRACTS.iter().map(described).collect::<Result<_, _>>()?;
    if arguments.form.json {
        return json(&contracts);
    }
    Ok(report::contracts(&contracts).text(terminal::width()))
}

fn trouble(unfit: Unfit) -> Trouble {
    match unfit {
        Unfit::Usage(message) => Trouble::usage(message),
        Unfit::Missing(missing) => Trouble::missing(&missing),
        Unfit::Refused(refusal) => {
            Trouble { exit: Exit::Refused, message: tenbin_analysis::verdict::refused_in_words(&refusal) }
        }
        Unfit::Fault(fault) => Trouble::internal(fault.to_string()),
        Unfit::Stopped => Trouble::internal("it was interrupted"),
    }
}
