//! The commands: each turns arguments into an answer or says why it has none.

mod about;
mod archive;
mod blame;
mod boot;
mod calibrate;
mod check;
mod compare;
mod fibonacci;
mod guest;
mod keep;
mod measure;
mod modules;
mod processes;
mod replay;
mod runs;
pub mod yes;

use tenbin_model::Effort;

use crate::arguments::{Boot, Command, Guest, Origin, Request};
use crate::output::{Answer, Trouble};

/// Runs the command that was asked for.
///
/// # Errors
/// Whatever kept it from an answer, with the status to exit with.
pub fn run(request: Request) -> Result<Answer, Trouble> {
    let arguments = match request {
        Request::Do(arguments) => *arguments,
        Request::Say(text) => return Ok(Answer::text(text)),
        Request::Kernels(form) => return about::kernels(form),
    };
    match arguments.command {
        None => measure::survey(&arguments.measure),
        Some(Command::Run { experiments, settings, from: None, processes: Some(count), measure }) => {
            processes::run(&experiments, &settings, &measure, count)
        }
        Some(Command::Run { experiments, settings, from: None, processes: None, measure }) => {
            measure::run(&experiments, &settings, &measure, Effort::Normal)
        }
        Some(Command::Run { experiments, from: Some(Origin::Published), measure, .. }) => {
            measure::published(&experiments, &measure)
        }
        Some(Command::Calibrate(arguments)) => calibrate::calibrate(&arguments),
        Some(Command::Blame(arguments)) => blame::blame(&arguments),
        Some(Command::Boot(Boot::Litmus(arguments))) => boot::litmus(&arguments),
        Some(Command::Boot(Boot::Check(arguments))) => check::check(&arguments),
        Some(Command::Boot(Boot::Replay(arguments))) => replay::replay(&arguments),
        Some(Command::List { form }) => about::list(form),
        Some(Command::Show { what, form }) => match about::experiment(&what, form) {
            Some(answer) => Ok(answer),
            None => archive::show(&what, form),
        },
        Some(Command::Runs(arguments)) => runs::runs(&arguments),
        Some(Command::Compare { first, second, form }) => compare::compare([&first, &second], form),
        Some(Command::Export(arguments)) => archive::export(&arguments),
        Some(Command::Import { file }) => archive::import(&[file]),
        Some(Command::Merge { files }) => archive::import(&files),
        Some(Command::Guest(Guest::Run(arguments))) => guest::run(arguments),
        Some(Command::Guest(Guest::Modules(arguments))) => modules::modules(&arguments),
        Some(Command::Schema { what }) => about::schema(what),
        Some(Command::Completions { shell }) => about::completions(shell),
        // Asked for before this parser is; it is declared for help, manual and completions.
        Some(Command::Yes { words }) => {
            let exit = yes::Invocation::of_tenbin(words).run();
            Ok(Answer { exit, ..Answer::text(String::new()) })
        }
        Some(Command::Fib { n, hex, digits }) => Ok(fibonacci::fibonacci(n, hex, digits)),
        Some(Command::Man { command }) => about::manual(&command),
    }
}

/// A value as indented JSON with a newline at its end.
fn json(value: &impl serde::Serialize) -> Result<String, Trouble> {
    serde_json::to_string_pretty(value)
        .map(|text| text + "\n")
        .map_err(|error| Trouble::internal(format!("write JSON: {error}")))
}
