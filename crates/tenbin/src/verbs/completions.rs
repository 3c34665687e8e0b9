//! `tenbin completions`: what a shell completes.

use clap::Args;
use clap::builder::PossibleValuesParser;
use clap_complete::Shell;

use super::{VERBS, Verb, Work};
use crate::command_line;
use crate::output::{Answer, Trouble};

/// Print completions for a shell
#[derive(Args)]
pub struct Completions {
    /// The shell
    shell: Shell,
}

pub const VERB: Verb = Verb::of::<Completions>("completions");

impl Work for Completions {
    fn run(self) -> Result<Answer, Trouble> {
        let mut text = Vec::new();
        let mut command = with_words(command_line::whole(), VERBS);
        clap_complete::generate(self.shell, &mut command, "tenbin", &mut text);
        Answer::generated(text)
    }
}

/// The command line with the words that a shell may offer where any word is taken. Only for completions: it
/// reads no command line.
fn with_words(command: clap::Command, verbs: &[Verb]) -> clap::Command {
    verbs.iter().fold(command, |command, verb| {
        command.mut_subcommand(verb.name, |below| {
            // `mut_arg` would put the argument behind the others, which changes what stands first.
            let offered = verb.words.iter().fold(below, |below, (argument, words)| {
                below.mut_args(|known| match known.get_id() == argument {
                    true => known.value_parser(PossibleValuesParser::new(words())),
                    false => known,
                })
            });
            with_words(offered, verb.below)
        })
    })
}
