//! The file in which a project keeps its questions and claims.

use std::fmt;
use std::marker::PhantomData;
use std::num::NonZero;
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use tenbin_model::words::comma;
use tenbin_model::{CheckedQuestion, Picoseconds, Quantity, Refusal, Trial};
use toml::Spanned;

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
        let sections = match toml::from_str::<Sections>(self.text) {
            Ok(sections) => sections.weigh.0,
            Err(error) => {
                let place = error.span().unwrap_or_default();
                return Err(self.wrong(&place, error.message()));
            }
        };
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
        let claims = section.claims.0.iter();
        let claims = claims.map(|(name, text)| (name.get_ref().clone(), text.get_ref().clone())).collect();
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
        let commands = &section.commands.0;
        let lists: Vec<(String, String)> = section
            .parameters
            .0
            .iter()
            .map(|(name, values)| {
                if values.is_empty() {
                    return Err(Unfit::Usage(format!("the parameter {} has no value", name.get_ref())));
                }
                let values = values.iter().map(|value| value.0.replace('\\', "\\\\").replace(',', "\\,"));
                Ok((name.get_ref().clone(), values.collect::<Vec<_>>().join(",")))
            })
            .collect::<Result<_, _>>()?;
        let parameters = Parameters { lists, ..Parameters::default() };
        let keys: Vec<String> = commands.iter().map(|(key, _)| key.get_ref().clone()).collect();
        let each = |hook: &Option<Hook>, word: &str| -> Result<Vec<String>, Unfit> {
            match hook {
                None => Ok(Vec::new()),
                Some(Hook::Same(line)) => Ok(vec![line.clone()]),
                Some(Hook::Each(lines)) => {
                    let names: Vec<&str> = lines.iter().map(|(name, _)| name.as_str()).collect();
                    if names.len() != keys.len() || !keys.iter().all(|key| names.contains(&key.as_str())) {
                        return Err(Unfit::Usage(format!(
                            "{word} names {}; it is one command for all, or one for each of {}",
                            comma(&names),
                            comma(&keys)
                        )));
                    }
                    let of = |key: &String| lines.iter().find(|(name, _)| name == key);
                    Ok(keys.iter().filter_map(of).map(|(_, line)| line.clone()).collect())
                }
            }
        };
        let place = |key: &String| Place { name: key.clone(), folder: self.folder.to_owned() };
        Ok(Question {
            commands: commands.iter().map(|(_, line)| line.get_ref().clone()).collect(),
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
            ignored: section.ignore_failure.clone().map(|Ignoring(ignored)| ignored).unwrap_or_default(),
            input: section.input.as_ref().map(|input| self.folder.join(input)),
            outputs: match section.output.as_deref().map(Output::named).transpose()? {
                Some(Output::File(path)) => vec![Output::File(self.folder.join(path))],
                output => output.into_iter().collect(),
            },
            cpus: section.cpus.as_deref().map_or(Ok(Vec::new()), |list| cpus(Some(list)))?,
            warmup: section.warmup.unwrap_or(0),
            least_runs: section.runs.map(NonZero::get),
            most_runs: section.runs.map(NonZero::get),
            within: section.within.as_ref().map(|time| time.0),
            quantities: section.metrics.iter().map(|metric| metric.0).collect(),
            margin: section.margin.as_ref().map(|margin| margin.0),
            level: section.level.as_ref().map(|level| level.0),
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
        let lines = |sides: &Listed<Spanned<String>>| -> Vec<String> {
            sides.0.iter().map(|(_, line)| line.get_ref().clone()).collect()
        };
        let keys = |sides: &Listed<Spanned<String>>| -> Vec<String> {
            sides.0.iter().map(|(key, _)| key.get_ref().clone()).collect()
        };
        let (sides, names) = if !section.workers.0.is_empty() {
            let lines = lines(&section.workers);
            let folder = Some(self.folder.to_owned());
            (Sides::Workers { lines, kept: section.keep_workers, folder }, keys(&section.workers))
        } else if !section.instructions.0.is_empty() {
            let (lines, init) = (lines(&section.instructions), section.init.clone().unwrap_or_default());
            let names = Instructions::names(&keys(&section.instructions)).map_err(Unfit::Usage)?;
            (Sides::Instructions(Instructions { lines, init }), names)
        } else {
            (Sides::Functions(functions), keys(&section.functions))
        };
        let cpus = section.cpus.as_deref().map_or(Ok(Vec::new()), |list| cpus(Some(list)))?;
        let runs = section.runs.map(NonZero::get);
        Ok(workers::Question {
            sides,
            names: names.clone(),
            together: None,
            within: section.within.as_ref().map(|time| time.0),
            margin: section.margin.as_ref().map(|margin| margin.0),
            level: section.level.as_ref().map(|level| level.0),
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

/// The file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Sections {
    weigh: Listed<Section>,
}

/// A question.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct Section {
    #[serde(default)]
    commands: Listed<Spanned<String>>,
    #[serde(default)]
    functions: Listed<Spanned<String>>,
    #[serde(default)]
    workers: Listed<Spanned<String>>,
    #[serde(default)]
    instructions: Listed<Spanned<String>>,
    init: Option<String>,
    threads: Option<NonZero<u16>>,
    #[serde(default)]
    call: Vec<PathBuf>,
    cflags: Option<String>,
    #[serde(default)]
    one_layout: bool,
    #[serde(default)]
    keep_workers: bool,
    prepare: Option<Hook>,
    conclude: Option<Hook>,
    setup: Option<String>,
    cleanup: Option<String>,
    shell: Option<String>,
    check: Option<String>,
    #[serde(default)]
    same_output: bool,
    within: Option<Within>,
    margin: Option<Margin>,
    level: Option<Level>,
    runs: Option<NonZero<u64>>,
    warmup: Option<u64>,
    ignore_failure: Option<Ignoring>,
    input: Option<PathBuf>,
    output: Option<String>,
    cpus: Option<String>,
    #[serde(default)]
    metrics: Vec<Metric>,
    #[serde(default)]
    parameters: Listed<Vec<Value>>,
    #[serde(default)]
    claims: Listed<Spanned<String>>,
}

impl Section {
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
        let claims = self.claims.0.iter();
        Claims {
            question: name.get_ref().clone(),
            commands: names,
            claims: claims.map(|(name, text)| (name.get_ref().clone(), text.get_ref().clone())).collect(),
        }
    }
}

/// A table in the order in which it is written.
struct Listed<T>(Vec<(Spanned<String>, T)>);

impl<T> Default for Listed<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Listed<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Rows<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Rows<T> {
            type Value = Listed<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Listed<T>, A::Error> {
                let mut rows = Vec::new();
                while let Some(row) = map.next_entry()? {
                    rows.push(row);
                }
                Ok(Listed(rows))
            }
        }
        deserializer.deserialize_map(Rows(PhantomData))
    }
}

/// Types that are written as a text and read by a function of `values`.
macro_rules! read_from_text {
    ($($name:ident($inner:ty) by $read:path, $like:literal;)*) => {$(
        struct $name($inner);

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Quoted;
                impl Visitor<'_> for Quoted {
                    type Value = $inner;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($like)
                    }
                    fn visit_str<E: Error>(self, text: &str) -> Result<$inner, E> {
                        $read(text).map_err(|why| E::custom(format!("`{text}`: {why}")))
                    }
                }
                deserializer.deserialize_str(Quoted).map(Self)
            }
        }
    )*};
}

read_from_text! {
    Within(Picoseconds) by values::time, "a time in quotes, like \"8s\"";
    Margin(f64) by values::margin, "a percentage in quotes, like \"2 %\"";
    Level(f64) by values::level, "a percentage in quotes, like \"5 %\"";
    Metric(Quantity) by values::metric, "a metric in quotes, like \"memory\"";
}

/// What is run around each run: the same for all commands, or a table with one for each.
enum Hook {
    Same(String),
    Each(Vec<(String, String)>),
}

impl<'de> Deserialize<'de> for Hook {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Lines;
        impl<'de> Visitor<'de> for Lines {
            type Value = Hook;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a command, or a table with one for each command")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Hook, E> {
                Ok(Hook::Same(text.into()))
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Hook, A::Error> {
                let mut lines = Vec::new();
                while let Some(line) = map.next_entry()? {
                    lines.push(line);
                }
                Ok(Hook::Each(lines))
            }
        }
        deserializer.deserialize_any(Lines)
    }
}

/// Failures that are none: `true` for all, a status, or a list of them.
#[derive(Clone)]
struct Ignoring(Ignored);

impl<'de> Deserialize<'de> for Ignoring {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Statuses;
        impl<'de> Visitor<'de> for Statuses {
            type Value = Ignoring;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false, or a list of statuses like [1, 2]")
            }
            fn visit_bool<E: Error>(self, all: bool) -> Result<Ignoring, E> {
                Ok(Ignoring(if all { Ignored::All } else { Ignored::Nothing }))
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Ignoring, A::Error> {
                let mut statuses = Vec::new();
                while let Some(status) = list.next_element::<u8>()? {
                    statuses.push(i32::from(status));
                }
                Ok(Ignoring(Ignored::These(statuses)))
            }
        }
        deserializer.deserialize_any(Statuses)
    }
}

/// A value of a parameter: a text or a number.
struct Value(String);

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Text;
        impl Visitor<'_> for Text {
            type Value = Value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a number")
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
                Ok(Value(text.into()))
            }
            fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
                Ok(Value(number.to_string()))
            }
            fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
                Ok(Value(number.to_string()))
            }
        }
        deserializer.deserialize_any(Text)
    }
}
