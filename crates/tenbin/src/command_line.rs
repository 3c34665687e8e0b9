//! The command line: parser, help, manual and completions derive from it, and it from the verbs.

#[cfg(test)]
mod pages;
mod wrong;

use std::ffi::OsString;
use std::io::IsTerminal;

use clap::{Command, CommandFactory, FromArgMatches, Parser};

use crate::kernels;
use crate::output::{Answer, Exit, Trouble};
use crate::verbs::{self, Measure, VERBS, Verb};

/// Weigh two ways of doing a thing at the bottom of this Linux machine.
///
/// Without a command: every question that this machine can answer, quickly; a line each, with
/// its interval, or why there is none. Nothing on the machine is changed. Takes 40 to 60 seconds; each
/// answer is written as soon as it is known.
#[derive(Parser)]
#[command(name = "tenbin", version, args_conflicts_with_subcommands = true, after_help = EXIT_STATUS)]
struct Survey {
    #[command(flatten)]
    measure: Measure,
}

const EXIT_STATUS: &str = "\
Exit status: 0 answered, 1 tenbin failed (an answer may stand all the same: then its run could
not be kept), 2 usage error, 3 the one thing asked was refused, 4 a fault was found in what was
examined, 5 something is missing on this machine, 130 interrupted (129 and 143 by a hang-up and by
SIGTERM): what was finished is answered and kept.
`yes` ends as GNU's does, 1 for whatever fails; `yes --verify` as above: 3 nothing came, 4 a line
is wrong. `guest run` ends with the status of its command.
A path that cannot be written is 2, a disk that is full 1; a reader that leaves early is no error.
The store is $TENBIN_STORE, else tenbin/store.db under the XDG data folder.";

/// The whole command line.
pub fn whole() -> Command {
    // A number below 0 is wrong in most places, and never an option.
    fn with_negative_numbers(command: Command) -> Command {
        command
            .mut_args(|argument| match argument.get_action().takes_values() {
                true => argument.allow_negative_numbers(true),
                false => argument,
            })
            .mut_subcommands(with_negative_numbers)
    }
    with_negative_numbers(Survey::command().subcommands(VERBS.iter().map(Verb::command)))
}

/// Reads the command line and does what it says.
///
/// # Errors
/// A usage error in clap's words, or whatever kept a verb from an answer.
pub fn run() -> Result<Answer, Trouble> {
    let words: Vec<OsString> = std::env::args_os().collect();
    if let Some(as_json) = kernels::asked(words.get(1..).unwrap_or_default()) {
        return kernels::kernels(as_json);
    }
    let mut command = whole();
    match command.try_get_matches_from_mut(&words) {
        Ok(matches) => verbs::run(VERBS, &matches)
            .unwrap_or_else(|| {
                let survey = Survey::from_arg_matches(&matches);
                verbs::survey(&survey.map_err(|error| Trouble::internal(error.to_string()))?.measure)
            })
            .map_err(|trouble| match trouble.exit {
                Exit::Usage => Trouble::usage(wrong::with_hint(trouble.message, &words)),
                _ => trouble,
            }),
        Err(error) if error.use_stderr() => {
            let message = wrong::in_words(error, &mut command, &words);
            let trouble = Trouble::usage(wrong::with_hint(message, &words));
            Err(if verbs::weigh::bisects(&words) { verbs::weigh::in_bisection(trouble) } else { trouble })
        }
        // The help or the version.
        Err(answer) => {
            let text = answer.render();
            let styled = std::io::stdout().is_terminal()
                && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                && std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
            let text = if styled { text.ansi().to_string() } else { text.to_string() };
            Ok(Answer::text(text.trim_end().to_owned() + "\n"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What help is wrapped at.
    const WIDEST: usize = 100;

    /// Runs `visit` on the command and on all below it, each with its path.
    fn each(command: &mut clap::Command, path: &str, visit: &mut impl FnMut(&mut clap::Command, &str)) {
        let path = format!("{path} {}", command.get_name());
        visit(command, &path);
        for below in command.get_subcommands_mut() {
            each(below, &path, visit);
        }
    }

    fn hold(text: &str, path: &str) {
        for line in text.lines() {
            assert!(line.chars().count() <= WIDEST, "{path}: {line}");
        }
    }

    #[test]
    fn no_line_of_help_is_too_wide() {
        let mut visited = 0;
        each(&mut whole(), "", &mut |command, path| {
            let mut command = command.clone().term_width(WIDEST);
            hold(&command.render_help().to_string(), path);
            hold(&command.render_long_help().to_string(), path);
            visited += 1;
        });
        assert!(visited > 15, "{visited}");
    }

    /// What is broken into lines by hand would be broken a second time. The list below `run` is left to the
    /// parser.
    #[test]
    fn no_line_that_was_broken_by_hand_is_broken_again() {
        let mut held = 0;
        each(&mut whole(), "", &mut |command, path| {
            if path == " tenbin run" {
                return;
            }
            for text in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
                hold(&text.to_string(), path);
                held += 1;
            }
        });
        assert!(held >= 2, "{held}");
    }
}
