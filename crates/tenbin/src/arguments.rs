//! The command line, declared once: parser, help, man page and completions derive from it.

mod check;
mod replay;
mod wrong;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::num::NonZero;
use std::path::PathBuf;

pub use check::Check;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
pub use replay::Replay;
use tenbin_boot::axiomatic::Model;
use tenbin_boot::request::Size;
use tenbin_model::{Architecture, Descriptor};
use tenbin_reach::{Accelerator, Module};
use tenbin_store::{Label, NotALabel};

use crate::output::Trouble;

/// Weigh two ways of doing a thing at the bottom of this Linux machine.
///
/// Without a command: every question that this machine can answer, quickly; one sentence each, with
/// its interval, or why there is none. Nothing on the machine is changed. Takes 40 to 60 seconds; each
/// answer is written as soon as it is known.
#[derive(Debug, Parser)]
#[command(name = "tenbin", version, args_conflicts_with_subcommands = true, after_help = EXIT_STATUS)]
pub struct Arguments {
    /// What to do.
    #[command(subcommand)]
    pub command: Option<Command>,

    /// How to measure when no command is given.
    #[command(flatten)]
    pub measure: Measure,
}

impl Arguments {
    /// The whole command line, with what the experiments say about themselves in the help of `run`.
    pub fn whole(experiments: &[Descriptor]) -> clap::Command {
        let mut about = String::from("Experiments, and what --set turns:\n");
        for descriptor in experiments {
            about.push_str(&format!("  {:9} {}\n", descriptor.name, descriptor.question));
            for parameter in &descriptor.parameters {
                about.push_str(&format!("{:12}{}={}\n", "", parameter.name, parameter.default));
                about.push_str(&format!("{:14}{}\n", "", parameter.what));
            }
        }
        // A number below 0 is wrong in most places, and never an option.
        fn with_negative_numbers(command: clap::Command) -> clap::Command {
            command
                .mut_args(|argument| match argument.get_action().takes_values() {
                    true => argument.allow_negative_numbers(true),
                    false => argument,
                })
                .mut_subcommands(with_negative_numbers)
        }
        with_negative_numbers(Self::command()).mut_subcommand("run", |run| run.after_help(about))
    }

    /// Reads the command line.
    ///
    /// # Errors
    /// A usage error in clap's words.
    pub fn read(experiments: &[Descriptor]) -> Result<Request, Trouble> {
        let words: Vec<OsString> = std::env::args_os().collect();
        if let Some(form) = kernels(words.get(1..).unwrap_or_default()) {
            return Ok(Request::Kernels(form));
        }
        let mut command = Self::whole(experiments);
        let matches = command.try_get_matches_from_mut(&words);
        match matches.and_then(|matches| Self::from_arg_matches(&matches)) {
            Ok(arguments) => Ok(Request::Do(Box::new(arguments))),
            Err(error) if error.use_stderr() => {
                Err(Trouble::usage(wrong::in_words(error, &mut command, &words)))
            }
            // The help or the version.
            Err(answer) => {
                let text = answer.render();
                let styled = std::io::stdout().is_terminal()
                    && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
                    && std::env::var_os("TERM").is_some_and(|terminal| terminal != "dumb");
                let text = if styled { text.ansi().to_string() } else { text.to_string() };
                Ok(Request::Say(text.trim_end().to_owned() + "\n"))
            }
        }
    }
}

/// What is asked for.
pub enum Request {
    /// What the arguments say.
    Do(Box<Arguments>),
    /// This text: the help, or the version.
    Say(String),
    /// The machine-code kernels of this binary.
    Kernels(Form),
}

/// `tenbin kernels [--json]`, which chores ask. It is no command of a user's, so neither help nor completions
/// nor a tip name it.
fn kernels(words: &[OsString]) -> Option<Form> {
    match words {
        [command] if command == "kernels" => Some(Form { json: false }),
        [command, json] if command == "kernels" && json == "--json" => Some(Form { json: true }),
        _ => None,
    }
}

/// A label that no experiment bears: `tenbin show` would take it for that one.
fn label(text: &str) -> Result<Label, String> {
    if crate::measurement::descriptors().iter().any(|descriptor| descriptor.name == text) {
        return Err(format!(
            "`{text}` is an experiment, which `tenbin show {text}` describes; choose another word"
        ));
    }
    text.parse().map_err(|error: NotALabel| error.to_string())
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

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Measure experiments and show everything about them
    ///
    /// Each is shown as soon as it is known, and of several a sentence each at the end. An interrupt (Ctrl-C)
    /// ends it early: what is finished is shown and kept; a second one ends it at once. All experiments take
    /// about 80 seconds with --quick, 200 seconds without, and up to half an hour with --thorough; one takes
    /// 2 to 40 seconds.
    Run {
        /// Their names, as `tenbin list` has them; all of them if none is given
        #[arg(value_name = "EXPERIMENT")]
        experiments: Vec<String>,
        /// Turn a knob of an experiment (see `tenbin show EXPERIMENT`)
        #[arg(long = "set", value_name = "KEY=VALUE")]
        settings: Vec<String>,
        /// Judge what somebody else published instead of measuring
        #[arg(long, value_enum, conflicts_with_all = ["settings", "quick", "thorough", "seed", "cpus", "label", "processes"])]
        from: Option<Origin>,
        /// Measure in so many processes, one after the other, and answer over them: quickly in each, unless
        /// --thorough is given. What a process has by chance is then in the interval; 8 answer one
        /// comparison, 13 answer 40
        #[arg(long, value_name = "N", value_parser = processes)]
        processes: Option<NonZero<u32>>,
        #[command(flatten)]
        measure: Measure,
    },
    /// Measure how often this instrument errs on this machine
    ///
    /// Weighs pairs whose truth is known: equals, sides that differ by a known part, copies of one
    /// function elsewhere, ratios that are whole numbers. Says how often it was wrong and which effect it
    /// finds, with exact intervals; keeps it, and shows it beside every later verdict. Takes five minutes; an
    /// interrupt (Ctrl-C) ends it early, and what was weighed by then is shown and kept.
    Calibrate(Calibrate),
    /// Say whose fault it is: the caller's, the implementation's, the specification's or nobody's
    ///
    /// Holds a function of a shared library against its contract: calls it with all small inputs and with
    /// random ones in a process that may be lost, and shows the smallest input of each fault. With two
    /// libraries, what changed from one to the other; with a program, which of its calls break what a
    /// caller must see to; without either, whether the specification is in order. The library runs with
    /// your rights: this is no sandbox. Takes a second or two for a library, if none of its calls hangs.
    Blame(Blame),
    /// List the experiments, a question each
    List {
        #[command(flatten)]
        form: Form,
    },
    /// Show an experiment's description, a run's answers, computed again from its samples, or a calibration
    Show {
        /// An experiment's name, an id or the start of one, a label, `latest` (run) or `calibration` (of this
        /// machine)
        what: String,
        #[command(flatten)]
        form: Form,
    },
    /// List the runs in the store; label or remove some
    ///
    /// RUN is the start of an id, `latest`, or a label, which means every run that bears it; several may
    /// stand with commas between them.
    Runs(Runs),
    /// Compare runs, one or several a side: first whether their machines are comparable, then ratio by ratio
    ///
    /// What changes between runs no run shows, so two runs that differ say little: with one run a side they
    /// are held against the other runs of the same that the store has, and mostly refused. With several a
    /// side (five, or more where an experiment makes many comparisons), taken in turns, a change is told from
    /// that. The status is 3 where everything was refused.
    Compare {
        /// The start of a run's id, `latest`, or a label, which means every run that bears it; several with
        /// commas between them
        #[arg(value_name = "RUN[,RUN...]")]
        first: String,
        /// The other side
        #[arg(value_name = "RUN[,RUN...]")]
        second: String,
        #[command(flatten)]
        form: Form,
    },
    /// Write runs to a file of their own
    Export(Export),
    /// Take the runs of a file into the store; what is there already stays as it is
    Import {
        /// A file that `tenbin export` wrote, or another machine's store
        file: PathBuf,
    },
    /// Take the runs of several files into the store, all or none of each
    ///
    /// A file that cannot be taken in is named, with status 2, and keeps no other out.
    Merge {
        /// Files that `tenbin export` wrote, or other machines' stores
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Write a line again and again, as GNU's `yes` does, as fast as the machine lets it
    ///
    /// The same arguments, messages and exit statuses (1 for whatever fails); a link to tenbin that is named
    /// `yes` is one. With --verify in the first place it reads such lines instead, says how many are right,
    /// and names the first that is not (4); 3 if nothing came.
    #[command(disable_help_flag = true)]
    Yes {
        /// `--verify [--lines N|all]`, then the strings of the line; `y` if there is none
        #[arg(value_name = "STRING", trailing_var_arg = true, allow_hyphen_values = true)]
        words: Vec<OsString>,
    },
    /// Print a Fibonacci number, exactly
    ///
    /// F(0) is 0 and F(1) is 1. In decimal, of any size: F(1000000) has 208988 digits and takes less than a
    /// second, the largest one that may be asked for has 20898764 and takes minutes.
    Fib {
        /// Which one
        #[arg(value_name = "N", value_parser = clap::value_parser!(u64).range(..=100_000_000))]
        n: u64,
        /// In hexadecimal, which takes no division
        #[arg(long)]
        hex: bool,
        /// Only how many decimal digits it has, and the first and the last K of them
        #[arg(long, value_name = "K", conflicts_with = "hex", value_parser = clap::value_parser!(u32).range(1..))]
        digits: Option<u32>,
    },
    /// Work in a guest: a machine in QEMU that is booted, runs one command and is gone
    #[command(subcommand)]
    Guest(Guest),
    /// Say what the machine code of several RISC-V harts can do together
    #[command(subcommand)]
    Boot(Boot),
    /// Print the JSON schema of what --json or `export --format json` prints
    Schema {
        /// Of which answer
        #[arg(value_enum, default_value_t = Shape::Report)]
        what: Shape,
    },
    /// Print completions for a shell
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Print the manual page of tenbin or of a command
    Man {
        /// The command, like `run` or `guest run`
        #[arg(value_name = "COMMAND")]
        command: Vec<String>,
    },
}

fn processes(number: &str) -> Result<NonZero<u32>, String> {
    let count = number.parse().ok().filter(|count| (2..=100).contains(count));
    count.and_then(NonZero::new).ok_or_else(|| "it is a number from 2 to 100".into())
}

/// Which runs to list, label or remove.
#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("change").args(["rm", "keep", "unlabel"]))]
pub struct Runs {
    /// Only these; with --label, --unlabel and --rm, the ones that are meant
    #[arg(value_name = "RUN")]
    pub runs: Vec<String>,
    /// Give RUN this label; without RUN, list the runs that bear it
    #[arg(long, value_name = "NAME", value_parser = label, conflicts_with = "change")]
    pub label: Option<Label>,
    /// Take this label from RUN, or from all runs that bear it
    #[arg(long, value_name = "NAME", value_parser = label)]
    pub unlabel: Option<Label>,
    /// Remove RUN for good, samples and all; a calibration too, by its id
    #[arg(long, requires = "runs")]
    pub rm: bool,
    /// Remove all runs for good that bear no label, but for the newest N of them
    #[arg(long, value_name = "N", conflicts_with = "runs")]
    pub keep: Option<usize>,
    /// List the newest N
    #[arg(long, value_name = "N", conflicts_with = "change")]
    pub last: Option<usize>,
    /// List runs of this experiment
    #[arg(long, value_name = "NAME", conflicts_with = "change")]
    pub experiment: Option<String>,
    /// List runs of machines whose architecture or processor is called something with TEXT in it
    #[arg(long, value_name = "TEXT", conflicts_with = "change")]
    pub machine: Option<String>,
    #[command(flatten)]
    pub form: Form,
}

impl Runs {
    /// Whether only some of the runs are asked for.
    pub fn is_filter(&self) -> bool {
        !self.runs.is_empty()
            || self.label.is_some()
            || self.last.is_some()
            || self.experiment.is_some()
            || self.machine.is_some()
    }
}

/// What to export, and as what.
#[derive(Args, Clone, Debug)]
pub struct Export {
    /// Ids of runs, starts of ids, labels, or `latest`
    #[arg(required_unless_present = "intact", value_name = "RUN")]
    pub runs: Vec<String>,
    /// Write every run and calibration that is not damaged, and say which are
    #[arg(long, conflicts_with = "runs")]
    pub intact: bool,
    /// The file to write; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: PathBuf,
    /// What to write: another store, or what the neighbours' tools read (one run)
    #[arg(long, value_enum, default_value_t = Format::Store)]
    pub format: Format,
    /// Replace the file if it exists
    #[arg(long)]
    pub force: bool,
}

/// How to measure.
#[derive(Args, Clone, Debug)]
pub struct Measure {
    /// Two seconds a cell, and only the cells that answer the question (what `tenbin` alone does)
    #[arg(long, conflicts_with = "thorough")]
    pub quick: bool,
    /// Fifteen seconds a cell
    #[arg(long)]
    pub thorough: bool,
    /// Seed of every random choice; the time of day if not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// CPUs to place workers on, in this order (like 0,2-3)
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Measure without keeping the run
    #[arg(long)]
    pub no_store: bool,
    /// Keep the run under a label of yours, which then names it
    #[arg(long, value_name = "NAME", value_parser = label, conflicts_with = "no_store")]
    pub label: Option<Label>,
    #[command(flatten)]
    pub form: Form,
    /// Write the answer to a file, replacing it; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What to calibrate, and how long.
#[derive(Args, Clone, Debug)]
pub struct Calibrate {
    /// 100 rounds: 400 pairs of equals and 100 of each effect for each work (15 minutes to an hour)
    #[arg(long)]
    pub thorough: bool,
    /// So many pairs of each kind, however long that takes
    #[arg(long, value_name = "N", conflicts_with = "thorough", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub pairs: Option<u32>,
    /// Share the pairs among so many processes, one after the other (with --pairs: so many pairs in each):
    /// says how far processes lie apart
    #[arg(long, value_name = "N", conflicts_with = "thorough", value_parser = processes)]
    pub processes: Option<NonZero<u32>>,
    /// The time for all pairs, in seconds
    #[arg(long, hide = true, conflicts_with_all = ["thorough", "pairs", "processes"], value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub within: Option<u64>,
    /// Threads of load to make for each CPU, on top of what the machine does anyway
    #[arg(long, value_name = "0|1|2", default_value_t = 0, value_parser = clap::value_parser!(u32).range(0..=2))]
    pub load: u32,
    /// What to weigh: alu, call, atomic, pipe, chase, layout, truth; all of it if not given
    #[arg(long, value_name = "LIST")]
    pub works: Option<String>,
    /// Effects to plant, in per cent (like 0,0.2,1)
    #[arg(long, value_name = "LIST")]
    pub effects: Option<String>,
    /// The time for a verdict, in seconds; twice as much where too few blocks for one fit into it
    #[arg(long, value_name = "S", default_value_t = 0.5)]
    pub seconds: f64,
    /// Seed of every random choice; the time of day if not given
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// CPUs to use: pairs are weighed on the first, load is made on all (like 0,2-3)
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<String>,
    /// Calibrate without keeping it
    #[arg(long)]
    pub no_store: bool,
    #[command(flatten)]
    pub form: Form,
    /// Write the answer to a file, replacing it; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// What to do with a guest.
#[derive(Debug, Subcommand)]
pub enum Guest {
    /// Boot a guest, run one command in it, and pass on its output and its exit status
    ///
    /// The guest has a busybox, this tenbin (/bin/tenbin, if it is here for that architecture), what is
    /// carried, no disk and no network. Its CPU is emulated, unless --accel says otherwise. Its kernel is
    /// fetched from Debian once and kept in a folder of its own; nothing else here changes. Takes about ten
    /// seconds and what the command takes, the first time for a kernel also its download.
    #[command(after_help = GUEST_STATUS)]
    Run(GuestRun),
    /// Build tenbin's kernel modules for a guest's kernel
    ///
    /// They are stop_machine, oneshot_timer and fibdrv, compiled from the sources in this program. The
    /// headers are fetched from Debian once, in the version of the kernel's image, and kept beside it.
    /// Nothing is loaded here.
    Modules(GuestModules),
}

const GUEST_STATUS: &str = "\
Exit status: that of the command, 127 if the guest has no such command. If there is none,
standard error begins with `tenbin guest:` and says why: 1 the guest could not be made, 4 it hung,
panicked or broke off, 5 something is missing on this machine. 2 is a usage error, told as ever.";

/// How to boot a guest, and what to do in it.
#[derive(Args, Clone, Debug)]
pub struct GuestRun {
    /// x86_64, aarch64 or riscv64; this machine's if not given
    #[arg(long, value_name = "ARCHITECTURE")]
    pub arch: Option<Architecture>,
    /// bookworm (Linux 6.1), backports or trixie (Linux 6.12), host, or a kernel's image; bookworm, but for
    /// riscv64
    #[arg(long, value_name = "bookworm|backports|trixie|host|FILE")]
    pub kernel: Option<PathBuf>,
    /// Carry a kernel module of tenbin's, built for that kernel, as /modules/NAME.ko; COMMAND may load it
    #[arg(long, value_name = "stop_machine|oneshot_timer|fibdrv")]
    pub module: Vec<Module>,
    /// Carry a file; it lies in /tmp, where the command runs, unless a place is given
    #[arg(long, value_name = "FILE[:/PLACE]")]
    pub carry: Vec<OsString>,
    /// Lay all of a folder over the guest's root
    #[arg(long, value_name = "FOLDER")]
    pub carry_tree: Vec<PathBuf>,
    /// Bring back a file or a folder of the guest
    #[arg(long, value_name = "/PLACE", requires = "into")]
    pub bring: Vec<String>,
    /// Where to put what is brought back: its path in the guest, below this folder
    #[arg(long, value_name = "FOLDER", requires = "bring")]
    pub into: Option<PathBuf>,
    /// How long the guest may take, its boot of about ten seconds counted in; fetching a kernel is not
    #[arg(long, value_name = "N", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// CPUs of the guest
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub cpus: u32,
    /// Memory nodes of the guest, among which its CPUs and memory are divided; no more than CPUs
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=8))]
    pub nodes: u32,
    /// tcg emulates the CPUs; kvm takes this machine's, if a short guest shows first that it works
    #[arg(long, value_name = "tcg|kvm", default_value = "tcg")]
    pub accel: Accelerator,
    /// Let the guest's clock count instructions, a nanosecond each: one CPU, emulated
    #[arg(long)]
    pub count_instructions: bool,
    /// Show the guest's console on standard error while it runs, each line with the time since the start
    #[arg(long)]
    pub console: bool,
    /// A word for the kernel's command line
    #[arg(long, value_name = "WORD")]
    pub append: Vec<String>,
    /// Where kernels are kept; tenbin/guest under the XDG folder of caches if not given
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
    /// The command and its words, after --
    #[arg(required = true, last = true, value_name = "COMMAND")]
    pub command: Vec<OsString>,
}

/// For which kernel to build modules, and where to put them.
#[derive(Args, Clone, Debug)]
#[command(group = clap::ArgGroup::new("result").required(true))]
pub struct GuestModules {
    /// x86_64, aarch64 or riscv64; this machine's if not given
    #[arg(long, value_name = "ARCHITECTURE")]
    pub arch: Option<Architecture>,
    /// As of `guest run`
    #[arg(long, value_name = "bookworm|backports|trixie|host|FILE")]
    pub kernel: Option<PathBuf>,
    /// Put the three modules here, as NAME.ko
    #[arg(long, value_name = "FOLDER", group = "result")]
    pub into: Option<PathBuf>,
    /// Build nothing: print the folder of the kernel's headers, which `make -C` takes
    #[arg(long, group = "result")]
    pub headers: bool,
    /// Where kernels are kept; tenbin/guest under the XDG folder of caches if not given
    #[arg(long, value_name = "FOLDER")]
    pub cache: Option<PathBuf>,
}

/// What to ask of machine code.
#[derive(Debug, Subcommand)]
pub enum Boot {
    /// Say what litmus tests in herd's format for RISC-V may end with
    ///
    /// Of one test all outcomes, as herd prints them, and whether what the condition says can happen. Of
    /// several a line each; --json has all their outcomes. A set of outcomes is whole, or there is none.
    #[command(after_help = LITMUS_STATUS)]
    Litmus(Litmus),
    /// Say whether every hart always boots, whatever memory holds and whoever is late
    ///
    /// Examines firmware for RV64 as it will run: every order in which the harts can step, everything that
    /// memory may hold where the file does not say, every reordering that the memory model allows. Of what
    /// goes wrong it shows the shortest run. A file whose symbols have the names below needs no options; for
    /// another one --arrived says where a hart is up.
    #[command(after_help = CHECK_STATUS)]
    Check(Box<Check>),
    /// Have QEMU do what `boot check` found, step by step
    ///
    /// Follows every run that ends in a fault: the same file in QEMU, its harts stepped through a debugger's
    /// port in the run's order, every access compared. After a hang all harts run freely for a while, and
    /// still do not all arrive.
    #[command(after_help = REPLAY_STATUS)]
    Replay(Replay),
}

const CHECK_STATUS: &str = "\
Exit status: 0 all of it is sound; 2 a file is no executable for RV64, or lacks what is named
(nothing is examined then); 3 a machine was refused or not finished, and none is faulty;
4 something can go wrong on at least one.";

const REPLAY_STATUS: &str = "\
Exit status: 0 every run that can be replayed was shown; 2 the answer or an executable cannot be
read; 3 no run can be replayed; 4 the emulator departed from a run: then tenbin was wrong, or it;
5 QEMU is missing.";

const LITMUS_STATUS: &str = "\
Exit status: 0 answered, whatever the answer is; 2 a file cannot be read or is no such test (the
others are answered); 3 not one test could be answered: refused, or not finished.";

/// Which litmus tests, and by which model.
#[derive(Args, Clone, Debug)]
pub struct Litmus {
    /// Tests, and folders: of those every file below whose name ends in .litmus, in the order of names
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The memory model: sequential consistency, total store order, or RISC-V's own
    #[arg(long, value_name = "sc|tso|rvwmo", default_value = "rvwmo")]
    pub memory: Model,
    /// How much memory all of them may take; a test that its share is too small for is tried again alone
    #[arg(long, value_name = "BYTES", default_value = "4GiB")]
    pub limit: Size,
    /// How long a test may take
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub seconds: u64,
    /// How often each instruction of a hart is executed at most
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=64))]
    pub unroll: u32,
    #[command(flatten)]
    pub form: Form,
}

/// What to examine, and against what.
#[derive(Args, Clone, Debug)]
pub struct Blame {
    /// The contract, as --list has them
    #[arg(value_name = "CONTRACT", required_unless_present = "list")]
    pub contract: Option<String>,
    /// A shared library that exports the function, and another one to compare it with
    #[arg(value_name = "LIBRARY", num_args = 0..=2)]
    pub libraries: Vec<PathBuf>,
    /// A program and its arguments, whose calls of the function are watched and forwarded to LIBRARY
    #[arg(last = true, value_name = "PROGRAM")]
    pub program: Vec<OsString>,
    /// Which specification of the contract; the one that is right if not given
    #[arg(long, value_name = "NAME")]
    pub specification: Option<String>,
    /// List the contracts and their specifications
    #[arg(long, conflicts_with_all = ["contract", "libraries", "program", "specification", "within"])]
    pub list: bool,
    /// Seed of every random input: of a library that does the same each time, the same seed says the same
    /// words
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub seed: u64,
    /// Random inputs to try, beside all small ones
    #[arg(long, value_name = "N", default_value_t = 500, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    pub cases: u32,
    /// Seconds that a call may take: 10 if not given, 300 if PROGRAM makes it, which itself may take twice as
    /// long
    #[arg(long, value_name = "S")]
    pub within: Option<f64>,
    #[command(flatten)]
    pub form: Form,
    /// Write the answer to a file, replacing it; - is standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
}

/// Where figures come from that are not measured now.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Origin {
    /// The diaries that tenbin grew out of
    Published,
}

/// Which answer a schema is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Shape {
    /// Measurements: `tenbin`, `run`, `show RUN`
    Report,
    /// A calibration: `calibrate`, `show calibration`
    Calibration,
    /// What litmus tests may end with: `boot litmus`
    Litmus,
    /// What can go wrong with boots: `boot check`
    Boot,
    /// How runs went in an emulator: `boot replay`
    Replay,
    /// The experiments: `list`
    List,
    /// The runs of the store: `runs`
    Runs,
    /// A whole run with its samples: `export --format json`
    Run,
    /// What `blame` found; its part `Contracted` is each element of `blame --list`
    Blame,
    /// Runs of two sides: `compare`
    Compare,
    /// One question in several processes: `run --processes`
    Processes,
}

/// In which form to answer.
#[derive(Args, Clone, Copy, Debug)]
pub struct Form {
    /// Answer in JSON
    #[arg(long)]
    pub json: bool,
}

/// What `export` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A store of its own, for `import` and `merge`
    Store,
    /// The whole run as JSON
    Json,
    /// One row an epoch
    Csv,
    /// Go's benchmark format, for benchstat
    Go,
    /// Google Benchmark's JSON, for its compare.py
    GoogleBenchmark,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::measurement::descriptors;

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
        each(&mut Arguments::whole(&descriptors()), "", &mut |command, path| {
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
        each(&mut Arguments::command(), "", &mut |command, path| {
            for text in [command.get_after_help(), command.get_after_long_help()].into_iter().flatten() {
                hold(&text.to_string(), path);
                held += 1;
            }
        });
        assert!(held >= 2, "{held}");
    }
}
