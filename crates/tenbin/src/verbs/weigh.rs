//! `tenbin weigh`: commands of a user's, weighed.

mod exports;
mod from;
mod sides;
mod why;

use std::num::NonZero;
use std::path::PathBuf;

use clap::Args;
use tenbin_analysis::profile::difference::document;
use tenbin_lab::survey::{Selection, cpus};
use tenbin_lab::weigh::values::{ignored, level, margin, metric, time};
use tenbin_lab::weigh::{Ignored, Output, Parameters, Place, Question, Shell, Weighing};
use tenbin_lab::workers::Adopted;
use tenbin_lab::{Experiment, Request, Unfit, weigh};
use tenbin_model::{Effort, Picoseconds, Quantity, Verdict};
use tenbin_reach::Repository;
use tenbin_store::Label;

use super::{Ending, Form, Measure, Outlet, Schema, Verb, Work, answered, detail, json, label};
use crate::measurement;
use crate::output::{Answer, Exit, Trouble};
use crate::terminal::{self, Progress};
use exports::Exports;

/// Weigh commands or functions: which takes less time, and by how much
///
/// Two commands or more, or one with a parameter. All of them are run in random blocks, one run after the
/// other, until what they need is known to differ, or known to be the same within --margin; or until half a
/// minute is over, or --within. Each command is started without a shell, unless one of them needs a shell or
/// --shell names one. Every option of hyperfine 1.20 is one here, with its meaning; what differs says so.
///
/// Files that end with .c, .S, .rs, .o or .so are no commands: the function tenbin_run() in each is weighed
/// (`tenbin include` prints its header), linked anew in each block, so that the answer is over layouts of the
/// code and not of one.
///
/// An interrupt (Ctrl-C) ends it: what was measured is judged as far as that goes. The status is 0 where
/// something was answered, 3 where everything was refused, 4 where a command did not do what it must.
#[derive(Args)]
pub struct Weigh {
    /// Commands, each in one word (in quotes); {NAME} stands for the value of a parameter, {seed} for a
    /// number that changes from block to block and is the same for all commands in one
    #[arg(required_unless_present_any = ["from", "worker"], value_name = "COMMAND|FILE")]
    commands: Vec<String>,
    /// Judge what another tool measured instead: JSON of hyperfine, Google Benchmark, pyperf or criterion,
    /// Go's benchmark text, or CSV with a title over each column. Given again, what is in several files is
    /// weighed. Nothing is measured or kept
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_MEASURING.concat())]
    from: Vec<PathBuf>,

    /// Weigh this worker: a program that is asked for work on standard input and answers with the time that
    /// it took (`tenbin include --protocol`). Given twice or more
    #[arg(long, value_name = "CMD", conflicts_with_all = NOT_OF_WORKERS.concat(), help_heading = FUNCTIONS)]
    worker: Vec<String>,
    /// Start each worker once, and not for each block: for what takes long to start, or to become fast. The
    /// answer holds for those processes
    #[arg(long, conflicts_with_all = ["commands", "from"], help_heading = FUNCTIONS)]
    keep_workers: bool,
    /// What is given are no commands but instructions of this machine, a line of assembler each (on x86-64 in
    /// Intel's syntax): how many cycles each takes, in a chain and apart
    #[arg(long, requires = "commands", conflicts_with_all = NOT_OF_INSTRUCTIONS, help_heading = FUNCTIONS)]
    asm: bool,
    /// Assembler that is executed before the instructions, so that operands are what they have to be
    #[arg(long, value_name = "ASM", requires = "asm", default_value = "", hide_default_value = true, help_heading = FUNCTIONS)]
    init: String,
    /// A file of functions that is part of every side: a small program that calls what the libraries hold
    #[arg(long, value_name = "FILE", requires = "commands", help_heading = FUNCTIONS)]
    call: Vec<PathBuf>,
    /// Options for the C compiler (-O2 comes before them): given once for all sides, or once for each
    #[arg(long, value_name = "OPTIONS", allow_hyphen_values = true, requires = "commands", help_heading = FUNCTIONS)]
    cflags: Vec<String>,
    /// The files are those of another project, and are run as they stand: test cases of will-it-scale, or
    /// headers of lockhammer
    #[arg(long, value_name = "PROJECT", value_parser = Adopted::NAMES.map(|(name, _)| name), requires = "commands", help_heading = FUNCTIONS)]
    adopt: Option<String>,
    /// Do the operations in so many threads at once, a CPU for each: each thread does as many, and the time
    /// is from the first start to the last end. One if not given
    #[arg(long, value_name = "NUMBER", requires = "commands", help_heading = FUNCTIONS)]
    threads: Option<NonZero<u16>>,
    /// Link once: the answer holds for that layout, and comes sooner; --one-layout=7 is another one
    #[arg(
        long,
        value_name = "NUMBER",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "0",
        requires = "commands",
        help_heading = FUNCTIONS
    )]
    one_layout: Option<u32>,

    /// Weigh this revision of the repository that you stand in: given twice or more, each is checked out in
    /// the cache and built once, and the commands run in each; `.` is what is not committed
    #[arg(long, value_name = "REVISION", help_heading = REVISIONS)]
    rev: Vec<String>,
    /// How a revision is built, by a shell in its folder
    #[arg(long, value_name = "CMD", help_heading = REVISIONS)]
    build: Option<String>,
    /// For `git bisect run`: weigh HEAD against --rev, or against the revision that was first called good.
    /// The status is 0 if it is no worse, 1 if it is worse in any command, value or metric, 125 if that is
    /// not known, it does not build or lacks what is to be run, and 255 for whatever is wrong otherwise,
    /// which ends the bisection
    #[arg(long, help_heading = REVISIONS)]
    bisect: bool,

    /// Run each command so often before the first run that counts
    #[arg(short, long, value_name = "NUM", default_value_t = 0, help_heading = RUNS)]
    warmup: u64,
    /// Run each command so often at least; as often as the answer needs if not given (hyperfine: 10)
    #[arg(short, long, value_name = "NUM", help_heading = RUNS)]
    min_runs: Option<u64>,
    /// Run each command so often at most
    #[arg(short = 'M', long, value_name = "NUM", help_heading = RUNS)]
    max_runs: Option<u64>,
    /// Run each command exactly so often
    #[arg(short, long, value_name = "NUM", conflicts_with_all = ["min_runs", "max_runs"], help_heading = RUNS)]
    runs: Option<u64>,
    /// Answer with what can be known in this time (like 90s or 2min); half a minute if not given, and as
    /// long as slow commands need to be judged at all
    #[arg(long, value_name = "TIME", value_parser = time, help_heading = RUNS)]
    within: Option<Picoseconds>,
    /// The probability of any false "different", of all comparisons together; more than the usual 1% needs
    /// fewer runs
    #[arg(long, value_name = "PERCENT", value_parser = level, help_heading = RUNS)]
    level: Option<f64>,
    /// Commands whose difference is below this are the same; 1% if not given
    #[arg(long, value_name = "PERCENT", value_parser = margin, help_heading = RUNS)]
    margin: Option<f64>,

    /// What is weighed: wall, user, system, cpu, memory, faults, switches, instructions or cycles (those
    /// where hardware counts them); several with commas between them, each with a verdict of its own
    #[arg(
        long,
        value_name = "NAME",
        value_delimiter = ',',
        default_value = "wall",
        value_parser = metric,
        help_heading = WHAT
    )]
    metric: Vec<Quantity>,
    /// Say why: after the verdict both commands are profiled, in turns, and the difference of their wall
    /// times is shared out among system calls, page faults, user code and waits (`tenbin profile` has the
    /// method). It needs the rights of `tenbin profile`
    #[arg(long, conflicts_with_all = NOT_EXPLAINED, help_heading = WHAT)]
    why: bool,
    /// All commands have to write the same to standard output; the first difference is a fault
    #[arg(long, help_heading = WHAT)]
    same_output: bool,
    /// Standard output of each command has to satisfy this command, which reads it as its input
    #[arg(long, value_name = "CMD", help_heading = WHAT)]
    check: Option<String>,
    /// A status other than 0 is no failure: any, or one of a list (-i=1,2)
    #[arg(
        short,
        long,
        value_name = "CODES",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "all-non-zero",
        value_parser = ignored,
        help_heading = WHAT
    )]
    ignore_failure: Option<Ignored>,
    /// Weigh every other command against this one
    #[arg(long, value_name = "CMD", conflicts_with_all = ["rev", "bisect"], help_heading = WHAT)]
    reference: Option<String>,
    /// Its name
    #[arg(long, value_name = "NAME", requires = "reference", help_heading = WHAT)]
    reference_name: Option<String>,
    /// Weigh what the commands need above this one, a start-up say: what it needed in the same block is
    /// subtracted. Nothing is, without it
    #[arg(long, value_name = "CMD", conflicts_with_all = ["rev", "bisect", "from"], help_heading = WHAT)]
    above: Option<String>,

    /// A parameter and its values; given again, every combination is weighed
    #[arg(
        short = 'L',
        long,
        num_args = 2,
        value_names = ["NAME", "VALUES"],
        allow_hyphen_values = true,
        conflicts_with_all = ["parameter_scan", "parameter_step_size"],
        help_heading = PARAMETERS
    )]
    parameter_list: Vec<String>,
    /// A parameter and its first and last value
    #[arg(
        short = 'P',
        long,
        num_args = 3,
        value_names = ["NAME", "MIN", "MAX"],
        allow_hyphen_values = true,
        help_heading = PARAMETERS
    )]
    parameter_scan: Option<Vec<String>>,
    /// The distance between two values of --parameter-scan; 1 if not given
    #[arg(short = 'D', long, value_name = "DELTA", requires = "parameter_scan", help_heading = PARAMETERS)]
    parameter_step_size: Option<String>,

    /// Run this once before all runs of a command
    #[arg(short, long, value_name = "CMD", help_heading = AROUND)]
    setup: Option<String>,
    /// Run this before each run; given once for all commands, or once for each
    #[arg(short, long, value_name = "CMD", help_heading = AROUND)]
    prepare: Vec<String>,
    /// Run this after each run, likewise
    #[arg(short = 'C', long, value_name = "CMD", help_heading = AROUND)]
    conclude: Vec<String>,
    /// Run this once after all runs of a command
    #[arg(short, long, value_name = "CMD", help_heading = AROUND)]
    cleanup: Option<String>,
    /// The shell that reads the commands: a shell with its arguments, `default` (sh), or `none`. Without
    /// this sh reads all of them where one needs it; what a shell costs is in every figure (hyperfine
    /// subtracts an estimate of it)
    #[arg(short = 'S', long, value_name = "SHELL", help_heading = AROUND)]
    shell: Option<String>,
    /// No shell: the same as --shell=none
    #[arg(short = 'N', conflicts_with = "shell", help_heading = AROUND)]
    no_shell: bool,
    /// Where commands read from: null (/dev/null), or a file
    #[arg(long, value_name = "WHERE", help_heading = AROUND)]
    input: Option<PathBuf>,
    /// Where commands write to: null (/dev/null), pipe (into one that is read), inherit, or a path with a
    /// slash in it; given once for all commands, or once for each
    #[arg(long, value_name = "WHERE", conflicts_with = "show_output", help_heading = AROUND)]
    output: Vec<String>,
    /// Show what commands write: the same as --output=inherit
    #[arg(long, help_heading = AROUND)]
    show_output: bool,
    /// CPUs that commands may use (like 0,2-3); all if not given
    #[arg(long, value_name = "LIST", help_heading = AROUND)]
    cpus: Option<String>,

    /// A name for a command; given once for each, or once for all that a parameter makes
    #[arg(short = 'n', long, value_name = "NAME", help_heading = SHOWN)]
    command_name: Vec<String>,
    /// The unit of times in tables
    #[arg(short = 'u', long, value_name = "UNIT", value_parser = ["microsecond", "millisecond", "second"], help_heading = SHOWN)]
    time_unit: Option<String>,
    /// The order of tables: of the commands (auto, command), or by time (mean-time)
    #[arg(long, value_name = "METHOD", value_parser = ["auto", "command", "mean-time"], default_value = "auto", hide_default_value = true, help_heading = SHOWN)]
    sort: String,
    /// What is shown: everything, no bar that moves (basic), or nothing (none). Nothing is coloured
    #[arg(long, value_name = "TYPE", value_parser = ["auto", "basic", "full", "nocolor", "color", "none"], help_heading = SHOWN)]
    style: Option<String>,
    #[command(flatten)]
    form: Form,
    /// Write the answer to a file, replacing it, in JSON if its name ends in .json, as a page if it ends in
    /// .html or .md; - is standard output
    #[arg(short = 'o', value_name = "FILE", help_heading = SHOWN)]
    to: Option<PathBuf>,

    #[command(flatten)]
    exports: Exports,

    /// Seed of every random choice; the time of day if not given
    #[arg(long, value_name = "N", help_heading = KEPT)]
    seed: Option<u64>,
    /// Measure without keeping the run
    #[arg(long, help_heading = KEPT)]
    no_store: bool,
    /// Keep the run under a label of yours, which then names it
    #[arg(long, value_name = "NAME", value_parser = label, conflicts_with = "no_store", help_heading = KEPT)]
    label: Option<Label>,
}

/// What is for commands or files of functions, and not for workers.
const NOT_OF_WORKERS: [&[&str]; 3] = [
    &["commands", "from"],
    &["asm", "init", "call", "cflags", "adopt", "threads", "one_layout"],
    &["rev", "build", "bisect"],
];

/// What is for commands, workers or files of functions, and not for instructions.
const NOT_OF_INSTRUCTIONS: [&str; 10] =
    ["worker", "from", "call", "cflags", "adopt", "one_layout", "threads", "rev", "build", "bisect"];

/// Options that say what is measured and how; what was measured elsewhere stays what it is.
const OF_MEASURING: [&[&str]; 7] = [
    &["commands", "rev", "build", "bisect"],
    &["asm", "init", "call", "cflags", "adopt", "threads", "one_layout"],
    &["runs", "min_runs", "max_runs", "within", "label", "warmup"],
    &["metric", "same_output", "check", "ignore_failure", "reference"],
    &["parameter_list", "parameter_scan"],
    &[
        "setup",
        "prepare",
        "conclude",
        "cleanup",
        "shell",
        "no_shell",
        "input",
        "output",
        "show_output",
        "cpus",
    ],
    &["command_name", "time_unit", "sort", "style", "seed"],
];

/// What --why does not go with: one difference of two commands is explained.
const NOT_EXPLAINED: [&str; 5] = ["from", "bisect", "worker", "asm", "cpus"];

const FUNCTIONS: &str = "Functions, instructions and workers";
const REVISIONS: &str = "Revisions";
const RUNS: &str = "How often";
const WHAT: &str = "What is asked";
const PARAMETERS: &str = "Parameters";
const AROUND: &str = "Around each run";
const SHOWN: &str = "What is shown";
const KEPT: &str = "What is kept";

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<why::Explained<'_>>("weigh-why", "A verdict and why: `weigh --why`")],
    ..Verb::of::<Weigh>("weigh")
};

impl Work for Weigh {
    fn run(self) -> Result<Answer, Trouble> {
        if !self.from.is_empty() {
            return from::answer(&self);
        }
        if !self.bisect {
            return self.weighed().map(|weighed| weighed.answer);
        }
        let status = |status| Exit::PassedOn(status);
        match self.weighed() {
            Ok(Weighed { answer, worse }) => Ok(Answer {
                exit: match (answer.exit, worse) {
                    (Exit::Answered | Exit::Refused, Some(worse)) => status(u8::from(worse)),
                    (Exit::Answered | Exit::Refused | Exit::Fault, _) => status(CANNOT_BE_TESTED),
                    _ => status(NO_BISECTION),
                },
                ..answer
            }),
            // One that does not build, or has not what is to be run.
            Err(trouble) if trouble.exit == Exit::Fault => {
                Err(Trouble { exit: status(CANNOT_BE_TESTED), ..trouble })
            }
            Err(trouble) => Err(Trouble { exit: status(NO_BISECTION), ..trouble }),
        }
    }
}

/// What `git bisect run` takes for a revision that cannot be tested (git-bisect(1)).
const CANNOT_BE_TESTED: u8 = 125;

/// What ends `git bisect run`: any status from 128 on.
const NO_BISECTION: u8 = 255;

/// Whether these words of a command line are part of a bisection, which must not take a usage error for a bad
/// revision.
pub fn bisects(words: &[std::ffi::OsString]) -> bool {
    ["weigh", "--bisect"].iter().all(|wanted| words.iter().any(|word| word == wanted))
}

/// What `git bisect run` takes for "ends here" in the place of `exit`.
pub fn in_bisection(trouble: Trouble) -> Trouble {
    Trouble { exit: Exit::PassedOn(NO_BISECTION), ..trouble }
}

/// An answer, and what it means for a bisection.
struct Weighed {
    answer: Answer,
    /// Whether a command is worse at the second revision than at the first; none where that is not known.
    worse: Option<bool>,
}

impl Weigh {
    fn weighed(&self) -> Result<Weighed, Trouble> {
        if self.build.is_some() && self.rev.is_empty() && !self.bisect {
            return Err(Trouble::usage("--build is how a revision is built: name them (--rev, --bisect)"));
        }
        let sides = self.sides()?;
        // What is wrong with the request is known before anything is checked out.
        let question = match &sides {
            Some(_) => self.not_for_commands().map(|()| None)?,
            None => Some(self.question()?),
        };
        // It removes what it checked out when it is dropped.
        let revisions = (self.bisect || !self.rev.is_empty()).then(|| self.check_out()).transpose()?;
        let several = self.commands.len() > 1;
        let mut placed: Vec<(String, Place)> = Vec::new();
        for command in &self.commands {
            for place in revisions.iter().flat_map(|revisions| &revisions.places) {
                let name = if several { format!("{command} at {}", place.name) } else { place.name.clone() };
                placed.push((command.clone(), Place { name, ..place.clone() }));
            }
        }
        let remarks = revisions.iter().filter_map(|revisions| revisions.remark.clone()).collect();
        let weighing = match (sides, question) {
            (Some(sides), _) => {
                let question = self.question_of(sides, &placed)?;
                question.check_options()?;
                question.read().map_err(|unfit| match unfit {
                    // What a revision holds does not compile.
                    Unfit::Usage(message) if !placed.is_empty() => Trouble { exit: Exit::Fault, message },
                    unfit => unfit.into(),
                })?
            }
            (None, question) => {
                let mut question = question.unwrap_or_default();
                if !placed.is_empty() {
                    (question.commands, question.places) = placed.into_iter().unzip();
                }
                question.read().map_err(|unfit| match unfit {
                    // What a revision holds cannot be run.
                    Unfit::Refused(_) => Trouble { exit: Exit::Fault, ..Trouble::from(unfit) },
                    unfit => unfit.into(),
                })?
            }
        };
        self.answer(&weighing, remarks)
    }

    /// Measures what was read.
    fn answer(&self, weighing: &Weighing, remarks: Vec<String>) -> Result<Weighed, Trouble> {
        let (describe, plan) = (|| weighing.describe(), |request: &Request<'_>| weighing.plan(request));
        let experiment = Experiment { analysis: weighing.analysis, ..Experiment::new(&describe, &plan) };
        let measure = self.measure();
        let survey = measurement::of(Selection::of(experiment), &measure, Effort::Normal)?;
        let silent = self.style.as_deref() == Some("none");
        let text = |reported: &tenbin_analysis::Reported, width: usize| {
            if silent { String::new() } else { detail(reported, width) }
        };
        self.exports.can_be_written(self.to.as_deref())?;
        if self.why {
            measure.outlet.can_be_written()?;
        }
        let profiling = self.why.then(|| why::can_be_asked(weighing)).transpose()?;
        let outcome = answered(&survey, &measure, &text, Ending::None)?;
        let mut answer = outcome.answer;
        let refused = outcome.report.answers.iter().all(|answer| answer.verdict == Verdict::Refused);
        if answer.exit == Exit::Answered && refused {
            answer.exit = Exit::Refused;
        }
        // Where something is wrong with a command there is nothing to explain.
        let profiling = profiling.filter(|_| matches!(answer.exit, Exit::Answered | Exit::Refused));
        let explained = profiling.map(|profiling| why::explanation(&profiling, &weighing.names()));
        match explained.transpose().map(Option::flatten) {
            Ok(Some(why)) if measure.outlet.form().json => {
                answer.text = json(&why::Explained { report: &outcome.report, why: &why })?;
            }
            Ok(Some(why)) => {
                let why = document(&why, Some("why")).text(terminal::width());
                answer.text.push_str(&format!("\n{why}"));
                answer.remarks.push("Why is not kept with the run; -o FILE.json keeps both.".into());
            }
            // The verdict stands.
            Err(trouble) => {
                answer.exit = trouble.exit;
                answer.remarks.push(trouble.to_string());
            }
            Ok(None) => {}
        }
        answer.remarks.extend(remarks);
        answer.remarks.extend((weighing.close)().iter().map(|wrong| format!("tenbin: {wrong}")));
        self.exports.write(&outcome.run, &mut answer);
        let worse: Vec<_> = outcome.report.answers.iter().map(weigh::is_worse).collect();
        let worse = if worse.contains(&Some(true)) {
            Some(true)
        } else {
            (!worse.is_empty() && !worse.contains(&None)).then_some(false)
        };
        Ok(Weighed { answer, worse })
    }

    /// Checks revisions out and builds them.
    fn check_out(&self) -> Result<Revisions, Trouble> {
        let repository = Repository::here()?;
        let named = self.rev.iter().map(|name| repository.resolve(name)).collect::<Result<Vec<_>, _>>();
        let mut revisions = named?;
        if self.bisect {
            match revisions.len() {
                0 => revisions.push(repository.first_good()?),
                1 => {}
                _ => return Err(Trouble::usage("--bisect: it takes one --rev, the one to compare with")),
            }
            revisions.push(repository.resolve("HEAD")?);
        } else if revisions.len() < 2 {
            return Err(Trouble::usage("--rev: give two or more, `.` for what is not committed"));
        }
        let progress = Progress::new();
        let mut places = Vec::new();
        for (number, revision) in revisions.iter().enumerate() {
            progress.doing(&format!("checking out {} ({})", revision.name, revision.short()));
            let folder = repository.check_out(revision, number)?;
            if let Some(command) = &self.build {
                progress.doing(&format!("building {} ({})", revision.name, revision.short()));
                repository.build(revision, &folder, command)?;
            }
            let beyond = if revision.uncommitted { " and what is not committed" } else { "" };
            places.push(Place { name: format!("{} ({}{beyond})", revision.name, revision.short()), folder });
        }
        progress.finish();
        let left_out = !self.bisect
            && !revisions.iter().any(|revision| revision.uncommitted)
            && repository.is_dirty()?;
        const LEFT_OUT: &str =
            "What is not committed in the working tree was not weighed; `--rev .` is the tree with it.";
        let remark = left_out.then(|| LEFT_OUT.to_owned());
        Ok(Revisions { places, remark, _repository: repository })
    }

    fn question(&self) -> Result<Question, Trouble> {
        let shell = match (&self.shell, self.no_shell) {
            (_, true) => Shell::Never,
            (Some(name), false) => Shell::named(name)?,
            (None, false) => Shell::WhereNeeded,
        };
        let outputs = if self.show_output {
            vec![Output::Inherit]
        } else {
            self.output.iter().map(|output| Output::named(output)).collect::<Result<_, _>>()?
        };
        let lists = self.parameter_list.chunks_exact(2).map(|pair| (pair[0].clone(), pair[1].clone()));
        let scan =
            self.parameter_scan.as_deref().and_then(|words| <[String; 3]>::try_from(words.to_vec()).ok());
        Ok(Question {
            commands: self.commands.clone(),
            names: self.command_name.clone(),
            places: Vec::new(),
            reference: self.reference.clone(),
            reference_name: self.reference_name.clone(),
            above: self.above.clone(),
            parameters: Parameters { lists: lists.collect(), scan, step: self.parameter_step_size.clone() },
            shell,
            setup: self.setup.clone(),
            cleanup: self.cleanup.clone(),
            prepare: self.prepare.clone(),
            conclude: self.conclude.clone(),
            ignored: self.ignore_failure.clone().unwrap_or_default(),
            input: self.input.clone().filter(|input| input.as_os_str() != "null"),
            outputs,
            warmup: self.warmup,
            least_runs: self.runs.or(self.min_runs),
            most_runs: self.runs.or(self.max_runs),
            within: self.within,
            quantities: self.metric.clone(),
            margin: self.margin,
            level: self.level,
            same_output: self.same_output,
            check: self.check.clone(),
            cpus: self.cpus.as_deref().map_or(Ok(Vec::new()), |list| cpus(Some(list)))?,
            unit: self.time_unit.clone(),
            by_time: self.sort == "mean-time",
            claims: None,
        })
    }

    fn measure(&self) -> Measure {
        let (label, outlet) = (self.label.clone(), Outlet { form: self.form, output: self.to.clone() });
        Measure { seed: self.seed, no_store: self.no_store, label, outlet, ..Measure::default() }
    }
}

/// Revisions that were checked out and built; they are gone when this is dropped.
struct Revisions {
    places: Vec<Place>,
    remark: Option<String>,
    _repository: Repository,
}
