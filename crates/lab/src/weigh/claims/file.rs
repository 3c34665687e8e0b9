//! The file in which a project keeps its questions and claims.

use std::num::NonZero;
use std::ops::Range;
use std::path::Path;
use std::str::FromStr;

use tenbin_model::words::comma;
use tenbin_model::{CheckedQuestion, Picoseconds, Quantity, Refusal, Trial};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::analysis::unmeasured_question;
use super::{Claims, Vocabulary, judged};
use crate::experiment::Unfit;
use crate::survey::cpus;
use crate::weigh::{Ignored, Output, Parameters, Place, Question, Shell, Weighing, values};
use crate::workers::{self, Functions, Instructions, Sides};

/// A question of a project.
pub struct AskedQuestion {
    /// Its name.
    pub name: String,
    /// The claims: name and sentence of each.
    pub claims: Vec<(String, String)>,
    /// What is measured, or why that is not possible here.
    pub weighing: Result<Weighing, Refusal>,
}

impl AskedQuestion {
    /// What became of it where it was not measured, for the reason `why`.
    pub fn unmeasured(&self, why: &str) -> CheckedQuestion {
        self.refused(&Refusal {
            reached: why.into(),
            needs: "a measurement".into(),
            remedy: "check it again".into(),
        })
    }

    /// What became of it where it is refused as a whole.
    pub fn refused(&self, refusal: &Refusal) -> CheckedQuestion {
        let descriptor = match &self.weighing {
            Ok(weighing) => weighing.describe(),
            Err(_) => return unmeasured_question(&self.name, &self.claims, refusal),
        };
        let refusal = Some(refusal.clone());
        judged(&Trial { descriptor, refusal, cells: Vec::new(), findings: Vec::new() })
    }
}

/// A file as it was read, and where it stands.
pub struct File<'a> {
    /// How it is named to the user.
    pub shown: &'a str,
    /// Its text.
    pub text: &'a str,
    /// The folder in which its commands run.
    pub folder: &'a Path,
}

impl File<'_> {
    /// Reads the file; of its questions those that are `named`, or all.
    ///
    /// # Errors
    /// A usage error that names the line, the word that is wrong and what is known.
    pub fn read(&self, named: &[String]) -> Result<Vec<AskedQuestion>, Unfit> {
        let sections = self.sections().map_err(|(place, why)| self.wrong(&place, &why))?;
        if sections.is_empty() {
            return Err(Unfit::Usage(format!("{}: it has no question: no [weigh.NAME]", self.shown)));
        }
        let known: Vec<&str> = sections.iter().map(|(name, _)| name.get_ref().as_str()).collect();
        if let Some(unknown) = named.iter().find(|name| !known.contains(&name.as_str())) {
            let known = comma(known);
            return Err(Unfit::Usage(format!("{} has no question `{unknown}`; it has: {known}", self.shown)));
        }
        // All of them are read, so that what is wrong in any is known before one is measured.
        let questions = sections.iter().map(|(name, section)| self.question(name, section));
        let questions = questions.collect::<Result<Vec<_>, _>>()?;
        let wanted = |question: &AskedQuestion| named.is_empty() || named.contains(&question.name);
        Ok(questions.into_iter().filter(wanted).collect())
    }

    fn sections(&self) -> Result<Vec<(Spanned<String>, Section)>, Wrong> {
        let file = DeTable::parse(self.text)
            .map_err(|error| (error.span().unwrap_or_default(), error.message().to_owned()))?;
        let mut keys = Keys::of(file.get_ref());
        let sections = keys.take("weigh", |table| listed(table, Section::read))?;
        keys.end()?;
        sections.map(|sections| sections.0).ok_or_else(|| (0..0, "missing field `weigh`".into()))
    }

    fn question(&self, name: &Spanned<String>, section: &Section) -> Result<AskedQuestion, Unfit> {
        let at_name = |unfit: Unfit| match unfit {
            // Options are keys here.
            Unfit::Usage(message) => self.wrong(&name.span(), message.strip_prefix("--").unwrap_or(&message)),
            other => other,
        };
        let sides = section.sides().map_err(|why| self.wrong(&name.span(), &why))?;
        for (command, _) in &sides.0 {
            let allowed = |letter: char| letter.is_alphanumeric() || "_-.+".contains(letter);
            if command.get_ref().is_empty() || !command.get_ref().chars().all(allowed) {
                let why = format!(
                    "the command's name `{}` is not one word of letters, digits, `-`, `_`, `.` and `+`, as claims name it",
                    command.get_ref()
                );
                return Err(self.wrong(&command.span(), &why));
            }
        }
        if sides.0.is_empty() {
            return Err(self.wrong(&name.span(), "it has no commands, functions, workers or instructions"));
        }
        if section.claims.0.is_empty() {
            let why = format!("nothing is claimed: [weigh.{}.claims] has no line", name.get_ref());
            return Err(self.wrong(&name.span(), &why));
        }
        let weighing = if section.commands.0.is_empty() {
            self.asked_of_functions(name, section).and_then(|asked| asked.read())
        } else {
            self.asked(name, section).and_then(|asked| asked.read())
        };
        let claims = section.claims.pairs();
        let weighing = match weighing {
            Ok(weighing) => weighing,
            // What cannot be measured here leaves the other questions alone.
            Err(Unfit::Refused(refusal)) => {
                return Ok(AskedQuestion { name: name.get_ref().clone(), claims, weighing: Err(refusal) });
            }
            Err(unfit) => return Err(at_name(unfit)),
        };
        let words = Vocabulary::of(&weighing.descriptor);
        for (claim, text) in &section.claims.0 {
            let wrong = |why: &str| self.wrong(&text.span(), &format!("claim `{}`: {why}", claim.get_ref()));
            let read =
                super::Claim::read(claim.get_ref(), text.get_ref(), &words).map_err(|why| wrong(&why))?;
            if section.commands.0.is_empty()
                && let Some(other) =
                    read.quantities().iter().find(|quantity| **quantity != Quantity::WallTime)
            {
                let noun = other.of_command().unwrap_or_default();
                return Err(wrong(&format!("{noun} is known for commands; for functions only time is")));
            }
        }
        Ok(AskedQuestion { name: name.get_ref().clone(), claims, weighing: Ok(weighing) })
    }

    /// What `tenbin weigh` would be given.
    fn asked(&self, name: &Spanned<String>, section: &Section) -> Result<Question, Unfit> {
        let (keys, commands) = section.commands.parted();
        let lists: Vec<(String, String)> = section
            .parameters
            .0
            .iter()
            .map(|(name, values)| {
                if values.is_empty() {
                    return Err(Unfit::Usage(format!("the parameter {} has no value", name.get_ref())));
                }
                let values = values.iter().map(|value| value.replace('\\', "\\\\").replace(',', "\\,"));
                Ok((name.get_ref().clone(), values.collect::<Vec<_>>().join(",")))
            })
            .collect::<Result<_, _>>()?;
        let parameters = Parameters { lists, ..Parameters::default() };
        let each = |hook: &Option<Hook>, word: &str| -> Result<Vec<String>, Unfit> {
            match hook {
                None => Ok(Vec::new()),
                Some(Hook::Same(line)) => Ok(vec![line.clone()]),
                Some(Hook::Each(lines)) => {
                    let names: Vec<&str> = lines.iter().map(|(name, _)| name.get_ref().as_str()).collect();
                    if names.len() != keys.len() || !keys.iter().all(|key| names.contains(&key.as_str())) {
                        return Err(Unfit::Usage(format!(
                            "{word} names {}; it is one command for all, or one for each of {}",
                            comma(&names),
                            comma(&keys)
                        )));
                    }
                    let of = |key: &String| lines.iter().find(|(name, _)| name.get_ref() == key);
                    Ok(keys.iter().filter_map(of).map(|(_, line)| line.clone()).collect())
                }
            }
        };
        let place = |key: &String| Place { name: key.clone(), folder: self.folder.to_owned() };
        Ok(Question {
            commands,
            places: keys.iter().map(place).collect(),
            parameters,
            shell: match &section.shell {
                None => Shell::WhereNeeded,
                Some(shell) => Shell::named(shell)?,
            },
            setup: section.setup.clone(),
            cleanup: section.cleanup.clone(),
            prepare: each(&section.prepare, "prepare")?,
            conclude: each(&section.conclude, "conclude")?,
            ignored: section.ignore_failure.clone().unwrap_or_default(),
            input: section.input.as_ref().map(|input| self.folder.join(input)),
            outputs: match section.output.as_deref().map(Output::named).transpose()? {
                Some(Output::File(path)) => vec![Output::File(self.folder.join(path))],
                output => output.into_iter().collect(),
            },
            cpus: section.cpus.as_deref().map_or(Ok(Vec::new()), |list| cpus(Some(list)))?,
            warmup: section.warmup.unwrap_or(0),
            least_runs: section.runs.map(NonZero::get),
            most_runs: section.runs.map(NonZero::get),
            within: section.within,
            quantities: section.metrics.clone(),
            margin: section.margin,
            level: section.level,
            same_output: section.same_output,
            check: section.check.clone(),
            claims: Some(section.claims_of(name, keys)),
            ..Question::default()
        })
    }

    /// What `tenbin weigh` would be given, where it is no commands that are weighed.
    fn asked_of_functions(
        &self,
        name: &Spanned<String>,
        section: &Section,
    ) -> Result<workers::Question, Unfit> {
        let functions = Functions {
            sides: section
                .functions
                .0
                .iter()
                .map(|(_, files)| files.get_ref().split_whitespace().map(|it| self.folder.join(it)).collect())
                .collect(),
            folders: vec![self.folder.to_owned(); section.functions.0.len()],
            callers: section.call.iter().map(|file| self.folder.join(file)).collect(),
            flags: section.cflags.clone().into_iter().collect(),
            layout: section.one_layout.then_some(0),
            adopted: None,
            threads: section.threads,
        };
        let (sides, names) = if !section.workers.0.is_empty() {
            let (names, lines) = section.workers.parted();
            let folder = Some(self.folder.to_owned());
            (Sides::Workers { lines, kept: section.keep_workers, folder }, names)
        } else if !section.instructions.0.is_empty() {
            let (names, lines) = section.instructions.parted();
            let names = Instructions::names(&names).map_err(Unfit::Usage)?;
            let init = section.init.clone().unwrap_or_default();
            (Sides::Instructions(Instructions { lines, init }), names)
        } else {
            (Sides::Functions(functions), section.functions.parted().0)
        };
        let cpus = section.cpus.as_deref().map_or(Ok(Vec::new()), |list| cpus(Some(list)))?;
        let runs = section.runs.map(NonZero::get);
        Ok(workers::Question {
            sides,
            names: names.clone(),
            together: None,
            within: section.within,
            margin: section.margin,
            level: section.level,
            least_runs: runs,
            most_runs: runs,
            cpus,
            claims: Some(section.claims_of(name, names)),
        })
    }

    /// A usage error about a place in the file: the line and the word that stands there.
    fn wrong(&self, place: &Range<usize>, why: &str) -> Unfit {
        let before = self.text.get(..place.start).unwrap_or_default();
        let line = before.matches('\n').count() + 1;
        Unfit::Usage(format!("{}:{line}: {why}", self.shown))
    }
}

struct Section {
    commands: Listed<Spanned<String>>,
    functions: Listed<Spanned<String>>,
    workers: Listed<Spanned<String>>,
    instructions: Listed<Spanned<String>>,
    init: Option<String>,
    threads: Option<NonZero<u16>>,
    call: Vec<String>,
    cflags: Option<String>,
    one_layout: bool,
    keep_workers: bool,
    prepare: Option<Hook>,
    conclude: Option<Hook>,
    setup: Option<String>,
    cleanup: Option<String>,
    shell: Option<String>,
    check: Option<String>,
    same_output: bool,
    within: Option<Picoseconds>,
    margin: Option<f64>,
    level: Option<f64>,
    runs: Option<NonZero<u64>>,
    warmup: Option<u64>,
    ignore_failure: Option<Ignored>,
    input: Option<String>,
    output: Option<String>,
    cpus: Option<String>,
    metrics: Vec<Quantity>,
    parameters: Listed<Vec<String>>,
    claims: Listed<Spanned<String>>,
}

impl Section {
    fn read(value: &Value<'_>) -> Result<Self, Wrong> {
        let DeValue::Table(table) = value.get_ref() else { return Err(not(value, "a table")) };
        let mut keys = Keys::of(table);
        let metric = of_text("a metric in quotes, like \"memory\"", values::metric);
        let section = Self {
            commands: keys.take("commands", texts)?.unwrap_or_default(),
            functions: keys.take("functions", texts)?.unwrap_or_default(),
            workers: keys.take("workers", texts)?.unwrap_or_default(),
            instructions: keys.take("instructions", texts)?.unwrap_or_default(),
            init: keys.take("init", text)?,
            threads: keys.take("threads", number)?,
            call: keys.take("call", list("a list of files", text))?.unwrap_or_default(),
            cflags: keys.take("cflags", text)?,
            one_layout: keys.take("one-layout", flag)?.unwrap_or(false),
            keep_workers: keys.take("keep-workers", flag)?.unwrap_or(false),
            prepare: keys.take("prepare", Hook::read)?,
            conclude: keys.take("conclude", Hook::read)?,
            setup: keys.take("setup", text)?,
            cleanup: keys.take("cleanup", text)?,
            shell: keys.take("shell", text)?,
            check: keys.take("check", text)?,
            same_output: keys.take("same-output", flag)?.unwrap_or(false),
            within: keys.take("within", of_text("a time in quotes, like \"8s\"", values::time))?,
            margin: keys.take("margin", of_text("a percentage in quotes, like \"2 %\"", values::margin))?,
            level: keys.take("level", of_text("a percentage in quotes, like \"5 %\"", values::level))?,
            runs: keys.take("runs", number)?,
            warmup: keys.take("warmup", number)?,
            ignore_failure: keys.take("ignore-failure", failures)?,
            input: keys.take("input", text)?,
            output: keys.take("output", text)?,
            cpus: keys.take("cpus", text)?,
            metrics: keys.take("metrics", list("a list of metrics", metric))?.unwrap_or_default(),
            parameters: keys
                .take("parameters", |value| listed(value, list("a list of values", word)))?
                .unwrap_or_default(),
            claims: keys.take("claims", texts)?.unwrap_or_default(),
        };
        keys.end()?;
        Ok(section)
    }

    /// What is weighed: commands, functions, workers or instructions.
    fn sides(&self) -> Result<&Listed<Spanned<String>>, String> {
        let all = [
            (&self.commands, "commands"),
            (&self.functions, "functions"),
            (&self.workers, "workers"),
            (&self.instructions, "instructions"),
        ];
        let mut given = all.into_iter().filter(|(sides, _)| !sides.0.is_empty());
        let (sides, word) = given.next().unwrap_or(all[0]);
        if let Some((_, other)) = given.next() {
            return Err(format!("it has {word} and {other}: one kind is weighed in a question"));
        }
        let keys = [
            (self.prepare.is_some(), "prepare", "commands"),
            (self.conclude.is_some(), "conclude", "commands"),
            (self.setup.is_some(), "setup", "commands"),
            (self.cleanup.is_some(), "cleanup", "commands"),
            (self.shell.is_some(), "shell", "commands"),
            (self.check.is_some(), "check", "commands"),
            (self.same_output, "same-output", "commands"),
            (self.warmup.is_some(), "warmup", "commands"),
            (self.ignore_failure.is_some(), "ignore-failure", "commands"),
            (self.input.is_some(), "input", "commands"),
            (self.output.is_some(), "output", "commands"),
            (!self.metrics.is_empty(), "metrics", "commands"),
            (!self.parameters.0.is_empty(), "parameters", "commands"),
            (!self.call.is_empty(), "call", "functions"),
            (self.cflags.is_some(), "cflags", "functions"),
            (self.one_layout, "one-layout", "functions"),
            (self.threads.is_some(), "threads", "functions"),
            (self.keep_workers, "keep-workers", "workers"),
            (self.init.is_some(), "init", "instructions"),
        ];
        match keys.iter().find(|(given, _, kind)| *given && *kind != word) {
            Some((_, key, kind)) => Err(format!("{key} is for {kind}, and this weighs {word}")),
            None => Ok(sides),
        }
    }

    /// What is claimed, of sides with these names.
    fn claims_of(&self, name: &Spanned<String>, names: Vec<String>) -> Claims {
        Claims { question: name.get_ref().clone(), commands: names, claims: self.claims.pairs() }
    }
}

/// A table in the order in which it is written.
struct Listed<T>(Vec<(Spanned<String>, T)>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl Listed<Spanned<String>> {
    fn pairs(&self) -> Vec<(String, String)> {
        self.0.iter().map(|(key, text)| (key.get_ref().clone(), text.get_ref().clone())).collect()
    }

    /// The keys, and what stands behind them.
    fn parted(&self) -> (Vec<String>, Vec<String>) {
        self.pairs().into_iter().unzip()
    }
}

/// What is run around each run: the same for all commands, or a table with one for each.
enum Hook {
    Same(String),
    Each(Vec<(Spanned<String>, String)>),
}

impl Hook {
    fn read(value: &Value<'_>) -> Result<Self, Wrong> {
        match value.get_ref() {
            DeValue::String(line) => Ok(Self::Same(line.to_string())),
            DeValue::Table(_) => listed(value, text).map(|lines| Self::Each(lines.0)),
            _ => Err(not(value, "a command, or a table with one for each command")),
        }
    }
}

type Value<'a> = Spanned<DeValue<'a>>;

type Wrong = (Range<usize>, String);

/// A table of which one key after the other is taken.
struct Keys<'a> {
    table: &'a DeTable<'a>,
    known: Vec<&'static str>,
}

impl<'a> Keys<'a> {
    fn of(table: &'a DeTable<'a>) -> Self {
        Self { table, known: Vec::new() }
    }

    /// What stands behind a key; none where the table does not have it.
    fn take<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(&Value<'_>) -> Result<T, Wrong>,
    ) -> Result<Option<T>, Wrong> {
        self.known.push(key);
        let value = self.table.iter().find(|(name, _)| name.get_ref() == key);
        value.map(|(_, value)| read(value)).transpose()
    }

    /// Nothing else may stand in it.
    fn end(&self) -> Result<(), Wrong> {
        let unknown = self.table.keys().find(|name| !self.known.contains(&name.get_ref().as_ref()));
        unknown.map_or(Ok(()), |name| {
            let one_of = if self.known.len() > 1 { "one of " } else { "" };
            let known = comma(self.known.iter().map(|key| format!("`{key}`")));
            Err((name.span(), format!("unknown field `{}`, expected {one_of}{known}", name.get_ref())))
        })
    }
}

fn not(value: &Value<'_>, like: &str) -> Wrong {
    let it = match value.get_ref() {
        DeValue::String(text) => format!("string {text:?}"),
        DeValue::Integer(number) => format!("integer `{number}`"),
        DeValue::Float(number) => format!("float `{number}`"),
        DeValue::Boolean(flag) => format!("boolean `{flag}`"),
        other => other.type_str().into(),
    };
    (value.span(), format!("invalid type: {it}, expected {like}"))
}

fn text(value: &Value<'_>) -> Result<String, Wrong> {
    value.get_ref().as_str().map(str::to_owned).ok_or_else(|| not(value, "a text in quotes"))
}

fn flag(value: &Value<'_>) -> Result<bool, Wrong> {
    value.get_ref().as_bool().ok_or_else(|| not(value, "true or false"))
}

fn number<T: FromStr>(value: &Value<'_>) -> Result<T, Wrong> {
    let number = value.get_ref().as_integer().ok_or_else(|| not(value, "a whole number"))?;
    let decimal = i64::from_str_radix(number.as_str(), number.radix()).map(|number| number.to_string());
    let read = decimal.ok().and_then(|decimal| decimal.parse().ok());
    read.ok_or_else(|| (value.span(), format!("{number} is too large or too small here")))
}

/// Takes a text that a function of `values` reads.
fn of_text<T>(like: &str, read: fn(&str) -> Result<T, String>) -> impl Fn(&Value<'_>) -> Result<T, Wrong> {
    move |value| {
        let text = value.get_ref().as_str().ok_or_else(|| not(value, like))?;
        read(text).map_err(|why| (value.span(), format!("`{text}`: {why}")))
    }
}

/// A value of a parameter: a text or a number.
fn word(value: &Value<'_>) -> Result<String, Wrong> {
    match value.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Integer(_) => number::<i64>(value).map(|number| number.to_string()),
        DeValue::Float(number) => Ok(number.to_string()),
        _ => Err(not(value, "a text or a number")),
    }
}

/// Failures that are none: `true` for all, or a list of statuses.
fn failures(value: &Value<'_>) -> Result<Ignored, Wrong> {
    const LIKE: &str = "true, false, or a list of statuses like [1, 2]";
    match value.get_ref() {
        DeValue::Boolean(true) => Ok(Ignored::All),
        DeValue::Boolean(false) => Ok(Ignored::Nothing),
        _ => {
            let statuses = list(LIKE, number::<u8>)(value)?;
            Ok(Ignored::These(statuses.into_iter().map(i32::from).collect()))
        }
    }
}

fn list<T>(
    like: &str,
    each: impl Fn(&Value<'_>) -> Result<T, Wrong>,
) -> impl Fn(&Value<'_>) -> Result<Vec<T>, Wrong> {
    move |value| value.get_ref().as_array().ok_or_else(|| not(value, like))?.iter().map(&each).collect()
}

fn listed<T>(
    value: &Value<'_>,
    mut each: impl FnMut(&Value<'_>) -> Result<T, Wrong>,
) -> Result<Listed<T>, Wrong> {
    let table = value.get_ref().as_table().ok_or_else(|| not(value, "a table"))?;
    let rows = table
        .iter()
        .map(|(name, value)| Ok((Spanned::new(name.span(), name.get_ref().to_string()), each(value)?)));
    rows.collect::<Result<_, _>>().map(Listed)
}

fn texts(value: &Value<'_>) -> Result<Listed<Spanned<String>>, Wrong> {
    listed(value, |value| Ok(Spanned::new(value.span(), text(value)?)))
}
