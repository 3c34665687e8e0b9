//! The commands that describe: list, show an experiment, schema, completions, man, kernels.

use std::io;

use clap::builder::PossibleValuesParser;
use clap_complete::Shell;
use clap_mangen::roff::{Roff, bold, roman};
use serde_json::json as value;
use tenbin_analysis::across::Across;
use tenbin_analysis::processes::Processes;
use tenbin_analysis::report;
use tenbin_boot::litmus::Litmus;
use tenbin_boot::{Boot, BootReplay};
use tenbin_lab::blame::CONTRACTS;
use tenbin_metal::kernels;
use tenbin_model::words::comma;
use tenbin_model::{Architecture, Blame, CalibrationReport, Descriptor, ExportedRun, Report};
use tenbin_reach::Module;

use super::{json, runs};
use crate::arguments::{Arguments, Form, Shape};
use crate::measurement::descriptors;
use crate::output::{Answer, Trouble};
use crate::terminal;

pub fn list(form: Form) -> Result<Answer, Trouble> {
    let descriptors = descriptors();
    let text =
        if form.json { json(&descriptors)? } else { report::listed(&descriptors).text(terminal::width()) };
    Ok(Answer::text(text))
}

/// The experiment of this name, if there is one.
pub fn experiment(name: &str, form: Form) -> Option<Answer> {
    let descriptor = descriptors().into_iter().find(|descriptor| descriptor.name == name)?;
    let text = if form.json {
        json(&descriptor).ok()?
    } else {
        report::described(&descriptor).text(terminal::width())
    };
    Some(Answer::text(text))
}

/// Checks that there is an experiment of this name.
///
/// # Errors
/// A usage error that names those that there are.
pub fn known(name: &str) -> Result<(), Trouble> {
    let names: Vec<String> = descriptors().into_iter().map(|descriptor| descriptor.name).collect();
    if names.iter().any(|known| known == name) {
        return Ok(());
    }
    Err(Trouble::usage(format!("there is no experiment `{name}`; there are: {}", comma(&names))))
}

pub fn schema(what: Shape) -> Result<Answer, Trouble> {
    let schema = match what {
        Shape::Report => schemars::schema_for!(Report),
        Shape::Calibration => schemars::schema_for!(CalibrationReport),
        Shape::Boot => schemars::schema_for!(Boot),
        Shape::Litmus => schemars::schema_for!(Litmus),
        Shape::Replay => schemars::schema_for!(BootReplay),
        Shape::Blame => schemars::schema_for!(Blame),
        Shape::Compare => schemars::schema_for!(Across),
        Shape::Processes => schemars::schema_for!(Processes),
        Shape::List => schemars::schema_for!(Vec<Descriptor>),
        Shape::Runs => schemars::schema_for!(Vec<runs::Element>),
        Shape::Run => schemars::schema_for!(ExportedRun<'_>),
    };
    Ok(Answer::text(json(&schema)?))
}

pub fn completions(shell: Shell) -> Result<Answer, Trouble> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut with_words(Arguments::whole(&descriptors())), "tenbin", &mut text);
    written(text)
}

/// The command line with the words that a shell may offer where any word is taken. Only for completions: it
/// reads no command line.
fn with_words(command: clap::Command) -> clap::Command {
    // `mut_arg` would put the argument behind the others, which changes what stands first.
    fn offer(command: clap::Command, argument: &str, words: Vec<String>) -> clap::Command {
        command.mut_args(|known| match known.get_id() == argument {
            true => known.value_parser(PossibleValuesParser::new(words.clone())),
            false => known,
        })
    }
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<String>>();
    let experiments: Vec<String> = descriptors().into_iter().map(|descriptor| descriptor.name).collect();
    let shown = [experiments.clone(), names(&["latest", "calibration"])].concat();
    let architectures: Vec<String> = Architecture::ALL.iter().map(|one| one.name().to_owned()).collect();
    let modules: Vec<String> = Module::ALL.iter().map(|module| module.name().to_owned()).collect();
    let contracts: Vec<String> = CONTRACTS.iter().map(|contract| contract.name().to_owned()).collect();
    let commands: Vec<String> =
        command.get_subcommands().map(|command| command.get_name().to_owned()).collect();
    command
        .mut_subcommand("run", |run| offer(run, "experiments", experiments.clone()))
        .mut_subcommand("runs", |runs| offer(runs, "experiment", experiments))
        .mut_subcommand("show", |show| offer(show, "what", shown))
        .mut_subcommand("export", |export| offer(export, "runs", names(&["latest"])))
        .mut_subcommand("blame", |blame| offer(blame, "contract", contracts))
        .mut_subcommand("man", |man| offer(man, "command", commands))
        .mut_subcommand("guest", |guest| {
            guest
                .mut_subcommand("run", |run| {
                    offer(offer(run, "arch", architectures.clone()), "module", modules)
                })
                .mut_subcommand("modules", |modules| offer(modules, "arch", architectures))
        })
}

/// The manual page of tenbin, or of the command that the words name.
pub fn manual(words: &[String]) -> Result<Answer, Trouble> {
    let mut whole = Arguments::whole(&descriptors());
    // Gives every command the name under which its page is referred to.
    whole.build();
    let mut command = &whole;
    for word in words {
        command = command.find_subcommand(word).ok_or_else(|| {
            let known: Vec<&str> = command.get_subcommands().map(clap::Command::get_name).collect();
            Trouble::usage(match known.is_empty() {
                true => format!("`{}` has no commands below it", command.get_name()),
                false => format!("there is no command `{word}`; there are: {}", comma(&known)),
            })
        })?;
    }
    let mut text = Vec::new();
    page(command, words.is_empty(), &mut text)
        .map_err(|error| Trouble::internal(format!("render the manual page: {error}")))?;
    let page = written(text)?.text;
    // Each part comes with the definition of the apostrophe; once is enough.
    let without = page.replace(APOSTROPHE, "");
    Ok(Answer::text(APOSTROPHE.to_owned() + &without))
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
    let mut text = String::new();
    let value = |argument: &clap::Arg| {
        let names = argument.get_value_names().unwrap_or_default();
        names.iter().map(ToString::to_string).collect::<Vec<_>>().join(" ")
    };
    for argument in command.get_opts().chain(
        command
            .get_arguments()
            .filter(|argument| !argument.is_positional() && !argument.get_action().takes_values()),
    ) {
        if argument.is_hide_set() {
            continue;
        }
        let mut names: Vec<String> =
            argument.get_short().map(|short| format!("-{short}")).into_iter().collect();
        names.extend(argument.get_long().map(|long| format!("--{long}")));
        let mut option = names.join("|");
        if argument.get_action().takes_values() {
            option.push_str(&format!(" {}", value(argument)));
        }
        text.push_str(&if argument.is_required_set() {
            format!(" {option}")
        } else {
            format!(" [{option}]")
        });
    }
    for argument in command.get_positionals().filter(|argument| !argument.is_hide_set()) {
        let mut word = value(argument);
        if matches!(argument.get_action(), clap::ArgAction::Append) {
            word.push_str("...");
        }
        if argument.is_last_set() {
            word = format!("-- {word}");
        }
        text.push_str(&if argument.is_required_set() { format!(" {word}") } else { format!(" [{word}]") });
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

fn written(text: Vec<u8>) -> Result<Answer, Trouble> {
    String::from_utf8(text)
        .map(Answer::text)
        .map_err(|error| Trouble::internal(format!("generated text is not UTF-8: {error}")))
}

/// The kernels of this binary: symbol, name, what the machine code must contain.
pub fn kernels(form: Form) -> Result<Answer, Trouble> {
    let additions = kernels::additions().iter().chain([kernels::lost_update()]);
    let mut rows: Vec<serde_json::Value> = additions
        .map(|addition| {
            value!({
                "symbol": addition.symbol, "name": addition.name,
                "instructions": addition.instruction, "available": addition.is_supported(),
            })
        })
        .collect();
    rows.extend(kernels::LOOPS.iter().map(|counted| {
        value!({
            "symbol": counted.symbol, "name": counted.name,
            "instructions": counted.instruction, "available": true,
        })
    }));
    if form.json {
        return Ok(Answer::text(json(&rows)?));
    }
    let lines = rows.iter().map(|row| {
        let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
        format!("{:40}{}\n", text("symbol"), text("name"))
    });
    Ok(Answer::text(lines.collect()))
}
