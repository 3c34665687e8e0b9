//! Commands of a user's on the pans: an experiment that nobody knew of when tenbin was built.
//!
//! What the user gives ([`Question`]) becomes variants, one cell and an apparatus, like any other
//! experiment's. The engine runs them in mirrored random blocks of all commands; an epoch is one run of one
//! command, from just before it is started until its end is known.

mod above;
mod analysis;
pub mod claims;
mod fixture;
mod foreign;
mod inputs;
mod parameters;
mod program;
mod starts;
pub mod values;
mod workshop;
mod written;

use std::cell::RefCell;
use std::fs::{self, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use tenbin_analysis::Analysis;
use tenbin_model::{
    Arrangement, Comparison, Cpu, Descriptor, Parameter, Picoseconds, Profile, Quantity, Refusal, Role,
    Source, Variant, VariantIndex,
};

pub(crate) use analysis::{COLUMN, ROW};
pub use analysis::{COMMANDS, is_worse, so_far};
pub use claims::{CLAIMS, CLAIMS_OF_FUNCTIONS, CLAIMS_OF_INSTRUCTIONS, Claims};
pub use foreign::UNORDERED;
pub use parameters::Parameters;
pub use program::Shell;
pub(crate) use program::{in_path, seen_program, words};
pub use workshop::Ignored;

use crate::experiment::{Allowance, Opened, Plan, PlannedCell, Request, Shared, Unfit};
use crate::profile::kernel::Unprofiled;
use parameters::{Values, filled, unnamed};
use workshop::{Prepared, Workshop};

/// The name of the experiment.
pub const NAME: &str = "weigh";

/// The planted fault: it ends with another status than 0.
pub(crate) const FAILING: &str = "a command that fails";

/// The commands of a question, and how they are run: what `tenbin weigh` was given.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// The commands as they were typed, with `{NAME}` for the value of a parameter.
    pub commands: Vec<String>,
    /// Names for them, in their order: none, one for all, or one for each.
    pub names: Vec<String>,
    /// The place in which each command runs: none, or one for each.
    pub places: Vec<Place>,
    /// What every other command is weighed against.
    pub reference: Option<String>,
    /// A name for that.
    pub reference_name: Option<String>,
    /// The command that is subtracted from all others.
    pub above: Option<String>,
    /// Parameters and their values.
    pub parameters: Parameters,
    /// Who reads the commands.
    pub shell: Shell,
    /// What is run once before and once after all runs of a command.
    pub setup: Option<String>,
    /// See `setup`.
    pub cleanup: Option<String>,
    /// What is run before each run: none, one for all, or one for each command.
    pub prepare: Vec<String>,
    /// What is run after each run, likewise.
    pub conclude: Vec<String>,
    /// Which failures are none.
    pub ignored: Ignored,
    /// The file that is each command's standard input; none for `/dev/null`.
    pub input: Option<PathBuf>,
    /// Where standard output goes: one for all, or one for each command.
    pub outputs: Vec<Output>,
    /// Runs of each command before the first that counts.
    pub warmup: u64,
    /// Runs of each command, at least.
    pub least_runs: Option<u64>,
    /// Runs of each command, at most.
    pub most_runs: Option<u64>,
    /// The time for all of it.
    pub within: Option<Picoseconds>,
    /// What is weighed, the first before the others. Wall time if none is given.
    pub quantities: Vec<Quantity>,
    /// The ratio of two commands lies within 1 ± this where they are called the same.
    pub margin: Option<f64>,
    /// The probability of any false "different".
    pub level: Option<f64>,
    /// Whether all commands have to write the same to standard output.
    pub same_output: bool,
    /// A command that every command's standard output has to satisfy.
    pub check: Option<String>,
    /// The CPUs that commands may use; none for all.
    pub cpus: Vec<Cpu>,
    /// The unit of times in tables; that which fits each if none is given.
    pub unit: Option<String>,
    /// The order of tables: that of the commands, or by time.
    pub by_time: bool,
    /// What is claimed of them. Then claims are judged, and else every pair.
    pub claims: Option<Claims>,
}

/// A folder in which a command runs, in the place of another one.
#[derive(Clone, Debug)]
pub struct Place {
    /// What the command is called that runs there.
    pub name: String,
    /// The folder.
    pub folder: PathBuf,
}

/// Where standard output of a command goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// To `/dev/null`, with standard error.
    #[default]
    Null,
    /// Through a pipe whose reader drops everything, with standard error.
    Pipe,
    /// Where this process's own goes, with standard error.
    Inherit,
    /// Into a file; standard error goes to `/dev/null`.
    File(PathBuf),
}

impl Output {
    /// What `--output` is given.
    ///
    /// # Errors
    /// A usage error where it is neither a known word nor a path with a slash in it.
    pub fn named(text: &str) -> Result<Self, Unfit> {
        match text {
            "null" => Ok(Self::Null),
            "pipe" => Ok(Self::Pipe),
            "inherit" => Ok(Self::Inherit),
            path if path.contains('/') => Ok(Self::File(path.into())),
            other => Err(Unfit::Usage(format!(
                "--output {other}: it is null, pipe, inherit, or a path with a slash in it (./{other})"
            ))),
        }
    }
}

/// Time in which a question is decided where nobody says otherwise. A command that takes longer gets as much
/// as it needs to be judged at all.
const USUAL: Picoseconds = Picoseconds::from_millis(30_000);

/// Every pair of so many commands is weighed; of more each against the first.
const ALL_PAIRS: usize = 4;

/// A run of a command is ended after this time, unless the question has less: nobody waits for ever.
const LONGEST_RUN: Picoseconds = Picoseconds::from_millis(3_600_000);

/// A question that was read: an experiment of one cell, made of what a user gave.
pub struct Weighing {
    pub(crate) descriptor: Descriptor,
    pub(crate) arrangement: Arrangement,
    pub(crate) allowance: Allowance,
    /// How what is measured becomes answers.
    pub analysis: &'static dyn Analysis,
    /// Sets the cell up.
    pub(crate) open: Rc<dyn Fn(&Request<'_>) -> Opened>,
    /// Cleans up after all of it, and says what went wrong with that.
    pub close: Rc<dyn Fn() -> Vec<String>>,
    /// Profiles a run of the variant at a place. None for what is no command.
    pub profile: Option<Profiling>,
}

/// What profiles a run of a command.
pub type Profiling = Rc<dyn Fn(usize) -> Result<Profile, Unprofiled>>;

/// Whether a file can be written to, or made where there is none; nothing is left of it then.
fn can_be_written(path: &Path) -> io::Result<()> {
    match path.metadata() {
        // What is no file, a pipe say, may wait for its other end.
        Ok(there) if !there.is_file() => Ok(()),
        Ok(_) => OpenOptions::new().append(true).open(path).map(drop),
        // Where a link leads nowhere the file is made there.
        Err(_) => OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .map(drop)
            .and_then(|()| fs::canonicalize(path).and_then(fs::remove_file)),
    }
}

/// Names of which no two are the same: those that are get numbers.
fn told_apart(names: Vec<String>) -> Vec<String> {
    let count = |names: &[String], name: &String| names.iter().filter(|other| *other == name).count();
    let number = |(place, name): (usize, &String)| match count(&names, name) {
        2.. => format!("{name} ({})", count(&names[..=place], name)),
        _ => name.clone(),
    };
    names.iter().enumerate().map(number).collect()
}

/// The comparisons of so many variants: every pair of a few, and of more each with the first; only those
/// where the first is a reference.
pub(crate) fn pairs(count: usize, with_reference: bool) -> Vec<(usize, usize)> {
    let firsts = if with_reference || count > ALL_PAIRS { count.min(1) } else { count };
    (0..firsts).flat_map(|one| (one + 1..count).map(move |other| (one, other))).collect()
}

impl Question {
    /// Reads the question.
    ///
    /// # Errors
    /// A usage error that names the word that is wrong: a command that is not there, a list of the wrong
    /// length, a value that is none.
    pub fn read(&self) -> Result<Weighing, Unfit> {
        let usage = |message: String| Err(Unfit::Usage(message));
        let combinations = self.parameters.combinations()?;
        let mut typed: Vec<&String> = self.commands.iter().collect();
        if let Some(reference) = &self.reference {
            typed.insert(0, reference);
        }
        let mut commands = Vec::new();
        let nothing = Values::new();
        for (row, values) in combinations.iter().enumerate() {
            for (column, &command) in typed.iter().enumerate() {
                // The reference is one command, whatever the others are made with.
                let is_reference = self.reference.is_some() && column == 0;
                if is_reference && row > 0 {
                    continue;
                }
                commands.push(Typed {
                    text: command,
                    row,
                    column,
                    values: if is_reference { &nothing } else { values },
                });
            }
        }
        // Of one command alone something can be claimed.
        if commands.len() < 2 && self.claims.is_none() {
            return usage(
                "one command alone cannot be weighed: give two, or a parameter with several values (-L NAME a,b)".into(),
            );
        }
        let weighed = commands.len();
        // It stands behind all others, so lists that are given once for each command leave it alone.
        let below = self.above.iter();
        commands.extend(below.map(|text| Typed { text, row: 0, column: typed.len(), values: &nothing }));
        let own = self.commands.len() * combinations.len();
        for (count, option) in [
            (self.prepare.len(), "--prepare"),
            (self.conclude.len(), "--conclude"),
            (self.outputs.len(), "--output"),
        ] {
            if count > 1 && count != typed.len() && count != weighed {
                let each = if weighed > typed.len() {
                    format!("{} (or of the {weighed} that they make with their values)", typed.len())
                } else {
                    typed.len().to_string()
                };
                return usage(format!(
                    "{option} is given {count} times; it is given once for all commands, or once for each of the {each}",
                ));
            }
        }
        if self.names.len() > 1
            && self.names.len() != own
            && !(combinations.len() == 1 && self.names.len() < own)
        {
            return usage(format!(
                "--command-name is given {} times; it is given once for all, or once for each of the {own} commands",
                self.names.len()
            ));
        }
        let names = self.named(&commands, combinations.len());
        let lines: Vec<String> =
            commands.iter().map(|command| filled(command.text, command.values)).collect();
        let shell = self.shell_for(&lines);
        let mut prepared = Vec::new();
        for (place, (command, line)) in commands.iter().zip(&lines).enumerate() {
            // Given once for all, for each that was typed, or for each that comes of it.
            let own = |count: usize| match count {
                0 | 1 => 0,
                count if count == typed.len() => command.column,
                _ => place,
            };
            let each = |list: &[String]| list.get(own(list.len())).map(|text| filled(text, command.values));
            let folder = self.places.get(command.column).map(|place| place.folder.clone());
            let output = self.outputs.get(own(self.outputs.len()));
            prepared.push(Prepared {
                line: line.clone(),
                words: match &shell {
                    None => program::words(line)?,
                    Some(shell) => program::read_by(shell, line),
                },
                setup: self.setup.as_deref().map(|text| filled(text, command.values)),
                cleanup: self.cleanup.as_deref().map(|text| filled(text, command.values)),
                prepare: each(&self.prepare),
                conclude: each(&self.conclude),
                output: output.cloned().unwrap_or_default(),
                folder,
                is_weighed: prepared.len() < weighed,
            });
        }
        self.has_programs(&commands, &prepared)?;
        if let Some(input) = &self.input
            && let Err(error) = File::open(input)
        {
            let why = match error.kind() {
                ErrorKind::NotFound => "there is no such file".into(),
                _ => error.to_string(),
            };
            return usage(format!("--input {}: {why}", input.display()));
        }
        for output in &self.outputs {
            let Output::File(path) = output else { continue };
            let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
            let folder = folder.unwrap_or(Path::new("."));
            let why = if path.is_dir() {
                "it is a folder".into()
            } else if !folder.is_dir() {
                "there is no such folder".into()
            } else if let Err(error) = can_be_written(path) {
                error.to_string()
            } else {
                continue;
            };
            return usage(format!("--output {}: {why}", path.display()));
        }
        if let (Some(least), Some(most)) = (self.least_runs, self.most_runs)
            && least > most
        {
            return usage(format!("--min-runs {least} is more than --max-runs {most}"));
        }
        let descriptor = self.described(&commands, &names, &lines, shell.as_ref());
        let arrangement = self.arranged(&commands[..weighed], &descriptor);
        let allowance = Allowance { time: self.within.unwrap_or(USUAL), firm: self.within.is_some() };
        let longest = self.within.unwrap_or(LONGEST_RUN);
        let mut asked = Claims::quantities(&descriptor);
        asked.extend(&self.quantities);
        let workshop = Rc::new(RefCell::new(Workshop::new(self, prepared, shell, longest, &asked)));
        let (opened, profiled) = (Rc::clone(&workshop), Rc::clone(&workshop));
        let open = move |_: &Request<'_>| -> Opened {
            opened.borrow_mut().open()?;
            Ok(Box::new(Shared(Rc::clone(&opened))))
        };
        Ok(Weighing {
            descriptor,
            arrangement,
            allowance,
            analysis: self.analysis(),
            open: Rc::new(open),
            close: Rc::new(move || workshop.borrow_mut().clean_up()),
            profile: Some(Rc::new(move |place| profiled.borrow_mut().profile(place))),
        })
    }

    /// Whether what starts each command is there.
    ///
    /// # Errors
    /// A usage error where it is nowhere, and a refusal where some of the places of a command have it.
    fn has_programs(&self, commands: &[Typed<'_>], prepared: &[Prepared]) -> Result<(), Unfit> {
        let seen = |command: &Prepared| program::program(&command.words[0], command.folder.as_deref());
        for (command, own) in commands.iter().zip(prepared) {
            let Err(missing) = seen(own) else { continue };
            let is_same = |other: &Typed<'_>| (other.text, other.row) == (command.text, command.row);
            let mut others = commands.iter().zip(prepared).filter(|(other, _)| is_same(other));
            let (Unfit::Usage(message), Some(place), true) =
                (&missing, self.places.get(command.column), others.any(|(_, other)| seen(other).is_ok()))
            else {
                return Err(missing);
            };
            return Err(Unfit::Refused(Refusal {
                reached: format!("at {}, {message}", place.name),
                needs: "a command that is there wherever it is weighed".into(),
                remedy: "have --build make it, or name revisions that have it".into(),
            }));
        }
        Ok(())
    }

    /// How what is measured becomes answers.
    fn analysis(&self) -> &'static dyn Analysis {
        if self.claims.is_some() { CLAIMS } else { COMMANDS }
    }

    /// A name for each command; no two are the same.
    fn named(&self, commands: &[Typed<'_>], combinations: usize) -> Vec<String> {
        let reference = usize::from(self.reference.is_some());
        let mut own = 0;
        let mut names: Vec<String> = Vec::new();
        for command in commands {
            let of_reference = reference == 1 && command.column == 0;
            let given = if of_reference {
                self.reference_name.as_ref()
            } else if command.column == reference + self.commands.len() {
                // The one that all are weighed above.
                None
            } else {
                let place = own;
                own += 1;
                // One name stands for all that parameters make of it.
                self.names
                    .get(place)
                    .or(self.names.first().filter(|_| self.names.len() == 1 && combinations > 1))
            };
            let place = self.places.get(command.column).map(|place| &place.name);
            let text = given.or(place).map_or(command.text.as_str(), String::as_str);
            names.push(filled(text, command.values) + &unnamed(text, command.values));
        }
        told_apart(names)
    }

    /// The shell that all commands are read by, if any.
    fn shell_for(&self, lines: &[String]) -> Option<Vec<String>> {
        match &self.shell {
            Shell::Never => None,
            Shell::Always(words) => Some(words.clone()),
            Shell::WhereNeeded => {
                let needed = lines.iter().any(|line| program::needs_shell(line));
                needed.then(|| vec![Shell::USUAL.to_owned()])
            }
        }
    }

    fn described(
        &self,
        commands: &[Typed<'_>],
        names: &[String],
        lines: &[String],
        shell: Option<&Vec<String>>,
    ) -> Descriptor {
        let mut variants: Vec<Variant> = Vec::new();
        for ((command, name), line) in commands.iter().zip(names).zip(lines) {
            variants.push(Variant {
                parameters: command.values.clone(),
                ..Variant::measured(name, line)
                    .at(&[(analysis::COLUMN, command.column as u64), (analysis::ROW, command.row as u64)])
            });
        }
        if self.ignored == Ignored::Nothing {
            variants.push(Variant::sabotage(FAILING, "it ends with a status other than 0"));
        }
        let mut quantities = self.quantities.clone();
        let quantity = if quantities.is_empty() { Quantity::WallTime } else { quantities.remove(0) };
        let mut specification = match &self.ignored {
            Ignored::Nothing => {
                let option = if self.claims.is_some() { "ignore-failure" } else { "--ignore-failure" };
                format!("each command ends with status 0 ({option} for others)")
            }
            Ignored::These(_) => "each command ends with status 0 or one that is ignored".into(),
            Ignored::All => "each command ends by itself".into(),
        };
        if self.same_output {
            specification.push_str(", and writes what the first one writes");
        }
        if self.check.is_some() {
            specification.push_str(", and its output passes the check that was given");
        }
        let how = match shell {
            None => "each is started directly, without a shell".to_owned(),
            Some(words) => {
                format!("each is started by `{} -c`, whose start is in every figure", words.join(" "))
            }
        };
        let mut parameters = vec![Parameter::new("start", &how, "what reads the commands")];
        if commands.iter().any(|command| command.row > 0) {
            let typed: Vec<&Typed<'_>> = commands.iter().filter(|command| command.row == 0).collect();
            // Where revisions are weighed they are what tells one command from itself.
            let of_place = |command: &&Typed<'_>| match self.places.get(command.column) {
                Some(place) if self.claims.is_none() => place.name.clone(),
                _ => command.text.to_owned(),
            };
            let titles = told_apart(typed.iter().map(of_place).collect());
            parameters.extend(typed.iter().zip(titles).map(|(command, title)| {
                Parameter::new(&analysis::typed(command.column as u64), &title, "as it was typed")
            }));
        }
        if let Some(unit) = &self.unit {
            parameters.push(Parameter::new(Parameter::TIME_UNIT, unit, "the unit of times in tables"));
        }
        if self.by_time {
            parameters.push(Parameter::new(Parameter::ORDER, "time", "the order of tables"));
        }
        if let Some(reference) = variants.first().filter(|_| self.reference.is_some()) {
            let what = "what all others are weighed against";
            parameters.push(Parameter::new(Parameter::REFERENCE, &reference.name, what));
        }
        parameters.extend(self.claims.iter().flat_map(Claims::parameters));
        Descriptor {
            name: NAME.into(),
            question: match (&self.claims, quantity) {
                (Some(claims), _) => format!("Does what is claimed of `{}` hold?", claims.question),
                (None, Quantity::WallTime) => "Which of these commands takes less time?".into(),
                (None, other) => {
                    format!("Which of these commands needs less {}?", other.of_command().unwrap_or_default())
                }
            },
            requirement: "whoever changes a program wants to know whether it became faster".into(),
            specification,
            quantity,
            further: quantities,
            level: self.level.unwrap_or(0.01),
            analysis: self.analysis().name().into(),
            variants,
            parameters,
            margin: self.margin.unwrap_or(0.01),
            epoch: Picoseconds(0),
            sources: Source::list(&[
                ("hyperfine, src/cli.rs", "the options, and what each means"),
                (
                    "Mytkowicz et al., \"Producing Wrong Data Without Doing Anything Obviously Wrong!\", 2009",
                    "the size of the environment moves a program's stack, so it varies from block to block",
                ),
            ]),
            ..Descriptor::default()
        }
    }

    fn arranged(&self, commands: &[Typed<'_>], descriptor: &Descriptor) -> Arrangement {
        let count = commands.len();
        let place = VariantIndex::from;
        let columns = commands.iter().map(|command| command.column).max().unwrap_or(0) + 1;
        let rows = commands.iter().map(|command| command.row).max().unwrap_or(0) + 1;
        let (mut pairs, mut named) = (Vec::new(), Vec::new());
        if self.claims.is_some() {
            pairs = claims::comparisons(descriptor);
        } else {
            // Each value of the parameters by itself, and each command at one revision and at another.
            let by_value = rows > 1 && columns > 1 && self.reference.is_none();
            let kind = |place: usize| {
                let Typed { text, row, .. } = &commands[place];
                (by_value.then_some(row), (!self.places.is_empty()).then_some(text))
            };
            let mut rest: Vec<usize> = (0..count).collect();
            while let Some(&first) = rest.first() {
                let (alike, others) = rest.into_iter().partition::<Vec<_>, _>(|&it| kind(it) == kind(first));
                let pairs = self::pairs(alike.len(), self.reference.is_some());
                named.extend(pairs.into_iter().map(|(one, other)| (alike[one], alike[other])));
                rest = others;
            }
        }
        pairs.extend(named.into_iter().map(|(one, other)| (place(one), place(other))));
        // What is above another command is the lesser of two runs in a block.
        let once = self.above.is_none();
        let blocks = |runs: u64| {
            u32::try_from(if once { runs } else { runs.div_ceil(2) })
                .unwrap_or(Arrangement::UNBOUNDED_BLOCKS - 1)
        };
        let measured = descriptor.variants.iter().filter(|variant| variant.name != FAILING).count();
        let below = self.above.as_ref().map(|_| descriptor.variants[measured - 1].name.clone());
        Arrangement {
            parameters: below.map(|name| (above::ABOVE.into(), name)).into_iter().collect(),
            cpus: self.cpus.clone(),
            epoch: Picoseconds(0),
            most_iterations: 1,
            most_blocks: self.most_runs.map_or(Arrangement::UNBOUNDED_BLOCKS, blocks),
            once,
            half_block: !once && self.most_runs.is_some_and(|runs| runs % 2 == 1),
            least_blocks: self.least_runs.map_or(0, blocks),
            variants: VariantIndex::range(0..measured),
            comparisons: Comparison::of(pairs),
            headline: true,
            ..Arrangement::default()
        }
    }
}

/// A command as it was typed, and which of them it is.
struct Typed<'a> {
    text: &'a String,
    row: usize,
    /// Which command of those that were typed.
    column: usize,
    values: &'a Values,
}

impl Weighing {
    /// What the experiment says about itself.
    pub fn describe(&self) -> Descriptor {
        self.descriptor.clone()
    }

    /// The names of what is weighed.
    pub fn names(&self) -> Vec<String> {
        let weighed = self.descriptor.variants.iter().filter(|variant| variant.role == Role::Measured);
        weighed.map(|variant| variant.name.clone()).collect()
    }

    /// Its one cell.
    ///
    /// # Errors
    /// None; the signature is that of any plan.
    pub fn plan(&self, _request: &Request<'_>) -> Result<Plan, Unfit> {
        let open = Rc::clone(&self.open);
        let open = move |_: &Arrangement, request: &Request<'_>| open(request);
        let cells = vec![PlannedCell::new(self.arrangement.clone(), open)];
        Ok(Plan { cells, time: Some(self.allowance), ..Plan::default() })
    }
}

#[cfg(test)]
mod tests;
