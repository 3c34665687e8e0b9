//! What a command line that cannot be read is told: clap's words, without the tips that are wrong here.

use std::ffi::OsString;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tenbin_lab::survey::names;
use tenbin_model::words::comma;

/// The error in words, for the command line `words`.
pub fn in_words(mut error: clap::Error, command: &mut clap::Command, words: &[OsString]) -> String {
    let (below, path) = deepest(command, words);
    let commands: Vec<String> = below
        .get_subcommands()
        .filter(|command| !command.is_hide_set())
        .map(|command| command.get_name().to_owned())
        .collect();
    match error.kind() {
        // clap shows the help, which does not say what is wrong.
        ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            return format!(
                "`{path}` does nothing by itself; it has the commands {}, and `{path} --help` says what they do",
                comma(commands.iter().filter(|name| *name != "help"))
            );
        }
        ErrorKind::InvalidSubcommand => {
            error.remove(ContextKind::Suggested);
            if let Some(ContextValue::String(word)) = error.get(ContextKind::InvalidSubcommand) {
                if path == command.get_name() && names().contains(word) {
                    return format!(
                        "`{word}` is a question: `{path} run {word}` asks it, and `{path} show {word}` says how"
                    );
                }
                let near = near(word, &commands);
                match near.is_empty() {
                    true => error.remove(ContextKind::SuggestedSubcommand),
                    false => error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(near)),
                };
            }
        }
        // "Use '-- -x'" is right only where words may follow that are none of ours, and do not yet.
        ErrorKind::UnknownArgument
            if words.iter().any(|word| word == "--")
                || !below.get_positionals().any(clap::Arg::is_last_set) =>
        {
            if let Some(ContextValue::StyledStrs(tips)) = error.remove(ContextKind::Suggested) {
                let other: Vec<_> =
                    tips.into_iter().filter(|tip| !tip.to_string().contains("as a value")).collect();
                if !other.is_empty() {
                    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(other));
                }
            }
        }
        _ => {}
    }
    let text = error.format(command).render().to_string();
    text.trim_start_matches("error: ").trim_end().to_owned()
}

/// The command that the words lead to, and how it is called.
fn deepest<'a>(command: &'a clap::Command, words: &[OsString]) -> (&'a clap::Command, String) {
    let (mut below, mut path) = (command, command.get_name().to_owned());
    for word in words.iter().skip(1) {
        match below.find_subcommand(word) {
            Some(next) => {
                below = next;
                path.push_str(&format!(" {}", next.get_name()));
            }
            // Only the words of the command itself may stand between it and the next one, and it has none but
            // options.
            None if word.to_string_lossy().starts_with('-') => {}
            None => break,
        }
    }
    (below, path)
}

/// The commands that may have been meant by `word`, nearest first: those that one mistake in three letters
/// turns into it, or one in a short word.
fn near(word: &str, commands: &[String]) -> Vec<String> {
    let mut near: Vec<(usize, &String)> = commands
        .iter()
        .map(|name| (strsim::osa_distance(word, name), name))
        .filter(|(distance, name)| *distance <= (name.chars().count() / 3).max(1))
        .collect();
    near.sort();
    near.into_iter().map(|(_, name)| name.clone()).collect()
}
