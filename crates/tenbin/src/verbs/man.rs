//! `tenbin man`: the manual, a page a command.

use std::io;
use std::path::{Path, PathBuf};

use clap::Args;
use clap_mangen::roff::{Roff, bold, roman};
use tenbin_model::words::comma;

use super::{VERBS, Verb, Work};
use crate::command_line;
use crate::output::{Answer, Trouble, write_whole};

/// Print the manual page of tenbin or of a command
#[derive(Args)]
pub struct Man {
    /// The command, like `run` or `guest run`
    #[arg(value_name = "COMMAND")]
    command: Vec<String>,
    /// Write the pages of all commands into this folder, as tenbin.1, tenbin-run.1 and so on
    #[arg(long, value_name = "FOLDER", conflicts_with = "command")]
    into: Option<PathBuf>,
}

pub const VERB: Verb = Verb {
    words: &[("command", || VERBS.iter().map(|verb| verb.name.to_owned()).collect())],
    ..Verb::of::<Man>("man")
};

impl Work for Man {
    fn run(self) -> Result<Answer, Trouble> {
        let mut whole = command_line::whole();
        // Gives every command the name under which its page is referred to.
        whole.build();
        if let Some(folder) = self.into {
            let mut count = 0;
            write_below(&whole, "tenbin", &folder, &mut count)?;
            return Ok(Answer::text(format!("{count} pages in {}\n", folder.display())));
        }
        let mut command = &whole;
        for word in &self.command {
            command = command.find_subcommand(word).ok_or_else(|| {
                let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
                Trouble::usage(match known.is_empty() {
                    true => format!("`{}` has no commands below it", command.get_name()),
                    false => format!("there is no command `{word}`; there are: {}", comma(&known)),
                })
            })?;
        }
        rendered(command, self.command.is_empty()).map(Answer::text)
    }
}

/// Writes the page of `command`, which is called `name` there, and those of all commands below it. `help` has
/// every command below it again.
fn write_below(command: &clap::Command, name: &str, folder: &Path, count: &mut usize) -> Result<(), Trouble> {
    let page = rendered(command, *count == 0)?;
    write_whole(&folder.join(format!("{name}.1")), |out| out.write_all(page.as_bytes()))?;
    *count += 1;
    let below = command.get_subcommands().filter(|_| command.get_name() != "help");
    for below in below {
        write_below(below, &format!("{name}-{}", below.get_name()), folder, count)?;
    }
    Ok(())
}

fn rendered(command: &clap::Command, is_whole: bool) -> Result<String, Trouble> {
    let mut text = Vec::new();
    page(command, is_whole, &mut text)
        .map_err(|error| Trouble::internal(format!("render the manual page: {error}")))?;
    let page = Answer::generated(text)?.text;
    // Each part comes with the definition of the apostrophe; once is enough.
    let without = page.replace(APOSTROPHE, "");
    Ok(APOSTROPHE.to_owned() + &without)
}

/// What the crate `roff` begins with: an apostrophe that stays one.
const APOSTROPHE: &str = ".ie \\n(.g .ds Aq \\(aq\n.el .ds Aq '\n";

/// Writes a page. Its heads are those of man-pages(7); clap_mangen knows no synopsis with values and no heads
/// of ours.
fn page(command: &clap::Command, is_whole: bool, out: &mut Vec<u8>) -> io::Result<()> {
    let man = clap_mangen::Man::new(command.clone()).source(format!("tenbin {}", env!("CARGO_PKG_VERSION")));
    man.render_title(out)?;
    man.render_name_section(out)?;
    let mut roff = Roff::new();
    roff.control("SH", ["SYNOPSIS"]);
    roff.text([bold(command.get_bin_name().unwrap_or("tenbin")), roman(synopsis(command))]);
    roff.to_writer(out)?;
    man.render_description_section(out)?;
    if command.get_arguments().any(|argument| !argument.is_hide_set()) {
        man.render_options_section(out)?;
    }
    if command.has_subcommands() {
        man.render_subcommands_section(out)?;
    }
    let mut roff = Roff::new();
    if let Some(after) = command.get_after_help() {
        let after = after.to_string();
        let (head, after) = match after.split_once("Exit status: ") {
            Some(("", rest)) => ("EXIT STATUS", rest),
            _ => ("NOTES", after.as_str()),
        };
        verbatim(&mut roff, head, after);
    }
    if is_whole {
        verbatim(&mut roff, "ENVIRONMENT", ENVIRONMENT);
        verbatim(&mut roff, "FILES", FILES);
        verbatim(&mut roff, "EXAMPLES", EXAMPLES);
    } else {
        roff.control("SH", ["SEE ALSO"]);
        roff.text([bold("tenbin"), roman("(1)")]);
    }
    roff.to_writer(out)
}

/// Options with their values, then the words, as man-pages(7) has them.
fn synopsis(command: &clap::Command) -> String {
    let value = |argument: &clap::Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    let optional = |argument: &clap::Arg, word: &str| match argument.is_required_set() {
        true => format!(" {word}"),
        false => format!(" [{word}]"),
    };
    let is_shown = |argument: &&clap::Arg| !argument.is_hide_set();
    let flags = command.get_arguments().filter(|it| !it.is_positional() && !it.get_action().takes_values());
    let mut text = String::new();
    for argument in command.get_opts().chain(flags).filter(is_shown) {
        let short = argument.get_short().map(|short| format!("-{short}"));
        let names = short.into_iter().chain(argument.get_long().map(|long| format!("--{long}")));
        let mut option = names.collect::<Vec<_>>().join("|");
        if argument.get_action().takes_values() {
            option.push_str(&format!(" {}", value(argument)));
        }
        text.push_str(&optional(argument, &option));
    }
    for argument in command.get_positionals().filter(is_shown) {
        let mut word = value(argument);
        if matches!(argument.get_action(), clap::ArgAction::Append) {
            word.push_str("...");
        }
        if argument.is_last_set() {
            word = format!("-- {word}");
        }
        text.push_str(&optional(argument, &word));
    }
    if command.has_subcommands() {
        text.push_str(if command.is_subcommand_required_set() { " COMMAND" } else { " [COMMAND]" });
    }
    text
}

/// A section whose lines stand as they are.
fn verbatim(roff: &mut Roff, head: &str, text: &str) {
    roff.control("SH", [head]);
    roff.control("nf", []);
    for line in text.lines() {
        roff.text([roman(line)]);
    }
    roff.control("fi", []);
}

const ENVIRONMENT: &str = "\
TENBIN_STORE        the file that runs are kept in
TENBIN_STORE_LIMIT  what unlabelled runs measured here may take in it, in MiB; 1024 if not set
XDG_DATA_HOME       where the store lies otherwise
XDG_CACHE_HOME      where kernels of guests are kept
CC                  the compiler for what must meet the machine's own C library; cc if not set
NO_COLOR            help without styles";

const FILES: &str = "\
~/.local/share/tenbin/store.db  the store, where neither TENBIN_STORE nor XDG_DATA_HOME is set
~/.cache/tenbin/guest           kernels of guests, where XDG_CACHE_HOME is not set";

const EXAMPLES: &str = "\
tenbin                                      every question, quickly
tenbin run atomics --set threads=2          one experiment, with a knob turned
tenbin run fib --label before               keep the run under a name of yours
tenbin compare before latest                has it changed since?
tenbin runs --last 10                       what was measured last
tenbin export before -o before.db           a run for another machine's store
tenbin show before --json | jq .answers     what a program reads";
