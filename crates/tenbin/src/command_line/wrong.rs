//! What a command line that is wrong is told: clap's words, without the tips that are wrong here, and what is
//! to be typed instead where that is obvious ([`HINTS`]).

use std::ffi::OsString;
use std::path::Path;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use tenbin_lab::survey::names;
use tenbin_model::words::comma;

use crate::spelling::near;

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
        ErrorKind::ArgumentConflict if error.get(ContextKind::InvalidSubcommand).is_some() => {
            if let Some(right) = options_last(command, words) {
                return format!("options stand behind the command: `{right}`");
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

/// The command line with the options that stand before a command, or before the name of a question,
/// behind it.
fn options_last(command: &clap::Command, words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().skip(1).filter_map(|word| word.to_str()).collect();
    let questions = names();
    let is_question = |word: &&str| questions.iter().any(|name| name == word);
    let is_first = |word: &&str| is_question(word) || command.find_subcommand(word).is_some();
    let first = words.iter().position(is_first)?;
    let (before, behind) = words.split_at(first);
    let verb: &[&str] = if is_question(behind.first()?) { &["run"] } else { &[] };
    Some([&[command.get_name()], verb, behind, before].concat().join(" "))
}

/// A mistake that people make, and what they mean by it.
struct Hint {
    verb: &'static str,
    /// A part of the message; any will do where it is empty.
    message: &'static str,
    /// Whether this is it: the word before it, and the word.
    is_it: fn(&str, &str) -> bool,
    /// What to type instead; `BEFORE` and `WORD` stand for the two.
    instead: &'static str,
}

/// Those that are known, with the one that is looked for first before others of its verb.
const HINTS: [Hint; 10] = [
    Hint {
        verb: "weigh",
        message: "unexpected argument",
        is_it: |_, word| word == "--quick",
        instead: "`--within 5s` says how long it may take",
    },
    Hint {
        verb: "weigh",
        message: "",
        is_it: |before, word| is_file(before, word) && [".json", ".csv"].iter().any(|it| word.ends_with(it)),
        instead: "`tenbin weigh --from WORD` judges what another tool measured",
    },
    Hint {
        verb: "weigh",
        message: "command not found",
        is_it: |before, word| is_file(before, word) && !word.contains('/'),
        instead: "the file in this folder is executed as `./WORD`, and as an argument it stands in quotes with its command: \
                  'COMMAND WORD'",
    },
    Hint { verb: "weigh", message: "unexpected argument", is_it: is_option_of_command, instead: QUOTES },
    Hint { verb: "weigh", message: "one command alone", is_it: is_option_of_command, instead: QUOTES },
    Hint {
        verb: "check",
        message: "",
        is_it: |before, word| is_plain(before) && word.ends_with(".toml"),
        instead: "`tenbin check --file WORD` reads that file",
    },
    Hint {
        verb: "compare",
        message: "unexpected argument",
        is_it: |_, word| word.starts_with("-o") || word.starts_with("--output"),
        instead: "`tenbin report RUN RUN -o FILE` writes a file with both",
    },
    Hint {
        verb: "boot",
        message: "unrecognized subcommand",
        is_it: |_, word| word.contains(['.', '/']) || Path::new(word).is_file(),
        instead: "`tenbin boot check WORD` examines a file",
    },
    Hint {
        verb: "man",
        message: "there is no command",
        is_it: |_, word| names().iter().any(|name| name == word),
        instead: "`WORD` is a question, which `tenbin show WORD` describes",
    },
    Hint {
        verb: "include",
        message: "unexpected argument",
        is_it: |_, word| word.to_lowercase().contains("rust") || word.starts_with("--lang"),
        instead: "`tenbin include --rust` prints the crate for Rust, and `tenbin include` the header for C",
    },
];

const QUOTES: &str = "a command is one word, in quotes with its options: 'BEFORE WORD …'";

/// Whether a word is no option; what follows one may belong to it.
fn is_plain(word: &str) -> bool {
    !word.starts_with('-')
}

fn is_file(before: &str, word: &str) -> bool {
    is_plain(before) && Path::new(word).is_file()
}

fn is_option_of_command(before: &str, word: &str) -> bool {
    is_plain(before) && before != "weigh" && !is_plain(word)
}

/// A usage error's message with what to type instead, for the command line `words`.
pub fn with_hint(message: String, words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().skip(1).map(|word| word.to_string_lossy()).collect();
    let Some(verb) = words.iter().position(|word| is_plain(word)) else { return message };
    let known = HINTS.iter().filter(|hint| hint.verb == words[verb] && message.contains(hint.message));
    let instead = known.into_iter().find_map(|hint| {
        let mut pairs = words[verb..].windows(2);
        let pair = pairs.find(|pair| (hint.is_it)(&pair[0], &pair[1]))?;
        Some(hint.instead.replace("BEFORE", &pair[0]).replace("WORD", &pair[1]))
    });
    match (instead, message.lines().next()) {
        // It says more than the usage and the help below clap's words.
        (Some(instead), Some(first)) => format!("{first}; {instead}"),
        _ => message,
    }
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
