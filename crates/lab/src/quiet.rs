//! Noise kept away from a command for as long as it runs, and everything put back then.
//!
//! A remedy is a function and a line in the list of its file: what it would switch on this machine, or why it
//! cannot. What the kernel undoes by itself when the process ends is an attribute of the process; the rest is
//! under a guardian and a journal ([`tenbin_metal::knobs`]).

mod devices;
pub mod effects;
mod kernel;
mod processor;
#[cfg(test)]
mod tests;

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

use tenbin_metal::Fault;
use tenbin_metal::attributes::Attribute;
use tenbin_metal::knobs::{self, Overridden, Switch, Switched};
use tenbin_metal::machine::{Reading, Root, cpu_list};
use tenbin_model::noise::{Remedies, Remedy, RemedyState};
use tenbin_model::words::{comma, counted};
use tenbin_model::{Cpu, Order, Refusal};

use crate::experiment::Unfit;
use crate::weigh::seen_program;

/// The word for all remedies that are taken where none is named.
pub const USUAL: &str = "usual";

/// Something that keeps noise away.
struct Kind {
    name: &'static str,
    does: &'static str,
    /// Whether it is taken where none is named.
    is_usual: bool,
    plan: Planner,
}

type Planner = fn(&Place<'_>) -> Reading<Planned>;

#[derive(Clone, Debug, PartialEq, Eq)]
enum Action {
    /// A setting of the machine, or a control group, with the value that is written.
    Switch(Switch, String),
    /// A file of a control group that goes with the group.
    Inside { path: String, value: String, reads: String },
    /// An attribute of this process.
    Attribute(Attribute),
}

/// What a remedy would do.
#[derive(Debug, Default, PartialEq, Eq)]
struct Planned {
    /// In this order; none where it is so already.
    actions: Vec<Action>,
    /// What it comes to.
    words: String,
}

impl Planned {
    fn already(words: impl Into<String>) -> Self {
        Self { actions: Vec::new(), words: words.into() }
    }

    fn attribute(attribute: Attribute, words: impl Into<String>) -> Self {
        Self { actions: vec![Action::Attribute(attribute)], words: words.into() }
    }

    /// These files are set to these values, those that are not so already.
    fn settings(place: &Place<'_>, settings: Vec<(String, String)>) -> Reading<Self> {
        let mut planned = Self::default();
        let mut before = Vec::new();
        let wanted: Vec<&str> = settings.iter().map(|(_, value)| value.as_str()).collect();
        let wanted = each_once(wanted);
        for (path, value) in settings {
            let now = place.chosen(&path)?;
            if now != value {
                planned.actions.push(Action::Switch(Switch::setting(place.root.path(&path), &value), value));
                before.push(now);
            }
        }
        let before = each_once(before.iter().map(String::as_str).collect());
        planned.words = match planned.actions.len() {
            0 => wanted,
            1 => format!("{wanted} instead of {before}"),
            files => format!("{wanted} instead of {before}, in {}", counted(files, "file")),
        };
        Ok(planned)
    }
}

/// Words in the order in which they come first, each once.
fn each_once(words: Vec<&str>) -> String {
    let mut once: Vec<&str> = Vec::new();
    for word in words {
        if !once.contains(&word) {
            once.push(word);
        }
    }
    comma(once)
}

/// The machine, and what was asked for.
struct Place<'a> {
    root: Root<'a>,
    /// The CPUs that the command is to have, ascending.
    cpus: Option<&'a [Cpu]>,
}

impl Place<'_> {
    fn cpus(&self) -> Reading<&[Cpu]> {
        self.cpus.ok_or_else(|| "it needs to know for which CPUs: --cpus LIST".into())
    }

    /// The CPUs that are left to everybody else.
    fn others(&self) -> Reading<Vec<Cpu>> {
        let cpus = self.cpus()?;
        let online = self.root.parsed("/sys/devices/system/cpu/online", cpu_list)?;
        let others: Vec<Cpu> = online.into_iter().filter(|cpu| !cpus.contains(cpu)).collect();
        if others.is_empty() { Err("the command has every CPU".into()) } else { Ok(others) }
    }

    /// A setting: its word, or the one in brackets.
    fn chosen(&self, path: &str) -> Reading<String> {
        let text = self.root.text(path)?;
        let bracketed = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        Ok(bracketed.map_or(text.as_str(), |(word, _)| word).to_owned())
    }

    /// The folders of this name in this one, with the file of this name in them.
    fn files(&self, folder: &str, begins: &str, file: &str) -> Reading<Vec<String>> {
        let names = self.root.names(folder)?;
        let paths = names.iter().filter(|name| name.starts_with(begins));
        let paths: Vec<String> = paths
            .map(|name| format!("{folder}/{name}/{file}"))
            .filter(|path| self.root.exists(path))
            .collect();
        if paths.is_empty() { Err(format!("{folder}/{begins}*/{file}: no such file")) } else { Ok(paths) }
    }
}

/// Every remedy there is, in the order in which they are taken. They are undone in the reverse one.
fn kinds() -> impl Iterator<Item = &'static Kind> {
    [processor::KINDS, devices::KINDS, kernel::KINDS].into_iter().flatten()
}

/// The names of all remedies.
pub fn names() -> Vec<String> {
    kinds().map(|kind| kind.name.to_owned()).collect()
}

/// Remedies that are to be taken on this machine.
#[derive(Debug)]
pub struct Plan {
    cpus: Option<Vec<Cpu>>,
    steps: Vec<Step>,
}

#[derive(Debug)]
struct Step {
    remedy: Remedy,
    actions: Vec<Action>,
    is_named: bool,
}

/// What is in force.
#[derive(Debug)]
pub struct Quiet {
    switched: Option<Switched>,
    /// Files that are held open.
    _held: Vec<File>,
    /// What became of each remedy.
    pub remedies: Remedies,
}

impl Plan {
    /// What the remedies of these names, or the usual ones where there are none, would do on this machine.
    /// Nothing is changed.
    ///
    /// # Errors
    /// A usage error: there is no remedy of a name.
    pub fn new(cpus: Option<Vec<Cpu>>, what: &[String]) -> Result<Self, Unfit> {
        Self::under(Root::new(Path::new("/")), cpus, what)
    }

    fn under(root: Root<'_>, cpus: Option<Vec<Cpu>>, what: &[String]) -> Result<Self, Unfit> {
        let known = names();
        if let Some(unknown) = what.iter().find(|word| *word != USUAL && !known.contains(word)) {
            let message =
                format!("--what {unknown}: there is no such remedy; there are {USUAL}, {}", comma(known));
            return Err(Unfit::Usage(message));
        }
        let mut cpus = cpus;
        if let Some(cpus) = &mut cpus {
            cpus.order();
        }
        let place = Place { root, cpus: cpus.as_deref() };
        let usual = what.is_empty() || what.iter().any(|word| word == USUAL);
        let mut steps = Vec::new();
        for kind in kinds() {
            let is_named = what.iter().any(|word| word == kind.name);
            if is_named || (usual && kind.is_usual) {
                steps.push(kind.step(&place, is_named));
            }
        }
        Ok(Self { cpus, steps })
    }

    /// What there is to say of it.
    pub fn remedies(&self) -> Remedies {
        Remedies {
            cpus: self.cpus.clone(),
            remedies: self.steps.iter().map(|step| step.remedy.clone()).collect(),
        }
    }

    /// Has this process and the machine be so, until it is undone.
    ///
    /// # Errors
    /// Refused where a remedy that was asked for by name cannot be taken; nothing is changed then. A fault
    /// where settings cannot be switched at all, because somebody else has some switched, say.
    pub fn take(self) -> Result<Quiet, Unfit> {
        self.take_with(Path::new(knobs::JOURNAL))
    }

    fn take_with(mut self, journal: &Path) -> Result<Quiet, Unfit> {
        self.refuse()?;
        let switches = self.steps.iter().flat_map(|step| &step.actions).filter_map(|action| match action {
            Action::Switch(switch, _) => Some(switch.clone()),
            _ => None,
        });
        let switches: Vec<Switch> = switches.collect();
        let switched = if switches.is_empty() { None } else { Some(Switched::guard(switches, journal)?) };
        let mut held = Vec::new();
        for step in self.steps.iter_mut().filter(|step| step.remedy.state == RemedyState::Possible) {
            step.take(switched.as_ref(), &mut held);
        }
        // What was set is put back when it is dropped.
        self.refuse()?;
        Ok(Quiet { switched, _held: held, remedies: self.remedies() })
    }

    /// Refuses where something was asked for by name that cannot be had.
    fn refuse(&self) -> Result<(), Unfit> {
        let lacking =
            self.steps.iter().find(|step| step.is_named && step.remedy.state == RemedyState::Impossible);
        match lacking {
            None => Ok(()),
            Some(Step { remedy, .. }) => Err(Unfit::Refused(Refusal {
                reached: format!("{}: {}; the command was not run", remedy.name, remedy.words),
                needs: "whatever is named by --what".into(),
                remedy: format!("leave {} out, or run it as root where it can be had", remedy.name),
            })),
        }
    }
}

impl Kind {
    /// One that is taken where none is named.
    const fn usual(name: &'static str, does: &'static str, plan: Planner) -> Self {
        Self { name, does, is_usual: true, plan }
    }

    /// One that is taken only by its name.
    const fn named(name: &'static str, does: &'static str, plan: Planner) -> Self {
        Self { is_usual: false, ..Self::usual(name, does, plan) }
    }

    fn step(&self, place: &Place<'_>, is_named: bool) -> Step {
        let planned = (self.plan)(place).and_then(|planned| {
            for action in &planned.actions {
                action.is_allowed()?;
            }
            Ok(planned)
        });
        let (state, Planned { actions, words }) = match planned {
            Ok(planned) if planned.actions.is_empty() => (RemedyState::AlreadySo, planned),
            Ok(planned) => (RemedyState::Possible, planned),
            Err(why) => (RemedyState::Impossible, Planned::already(why)),
        };
        let (name, does) = (self.name.to_owned(), self.does.to_owned());
        Step { remedy: Remedy { name, does, is_usual: self.is_usual, state, words }, actions, is_named }
    }
}

impl Action {
    /// Whether this process may do it, as far as that can be asked.
    fn is_allowed(&self) -> Reading<()> {
        match self {
            Self::Switch(Switch::Setting { path, .. } | Switch::Group { back: path, .. }, _) => {
                knobs::can_be_set(path)
            }
            // Its group is not there yet.
            Self::Attribute(Attribute::Group(_)) | Self::Inside { .. } => return Ok(()),
            Self::Attribute(attribute) => attribute.can_be_set(),
        }
        .map_err(|fault| fault.to_string())
    }

    fn take(&self, switched: Option<&Switched>, held: &mut Vec<File>) -> Result<(), Fault> {
        match self {
            Self::Switch(switch, value) => switched.map_or(Ok(()), |it| it.set(switch.path(), value)),
            Self::Inside { path, value, reads } => {
                let fault = |error| Fault::system(format!("write {value} to {path}"), error);
                fs::write(path, value).map_err(fault)?;
                let now = fs::read_to_string(path).map_err(fault)?;
                let now = now.trim();
                if now == reads {
                    Ok(())
                } else {
                    Err(fault(std::io::Error::other(format!("it says {now}"))))
                }
            }
            Self::Attribute(attribute) => {
                held.extend(attribute.set()?);
                Ok(())
            }
        }
    }
}

impl Step {
    /// Does what it can. Of several settings the kernel may keep some as they are, as it does with interrupts
    /// that are bound to a CPU; one that all depends on comes first.
    fn take(&mut self, switched: Option<&Switched>, held: &mut Vec<File>) {
        let mut first = None;
        let mut failures = 0;
        for action in &self.actions {
            if let Err(fault) = action.take(switched, held) {
                failures += 1;
                first = first.or(Some(fault.to_string()));
                if !matches!(action, Action::Switch(Switch::Setting { .. }, _)) {
                    failures = self.actions.len();
                    break;
                }
            }
        }
        self.remedy.state = match first {
            Some(why) if failures == self.actions.len() => {
                self.remedy.words = why;
                RemedyState::Impossible
            }
            Some(_) => {
                self.remedy.words += &format!("; {failures} of them the kernel keeps as they are");
                RemedyState::InForce
            }
            None => RemedyState::InForce,
        };
    }
}

/// The command of these words, which is there.
///
/// # Errors
/// A usage error: no such program, or nobody may execute it.
pub fn command(words: &[String]) -> Result<Command, Unfit> {
    let mut command = Command::new(seen_program(&words[0], None)?);
    command.arg0(&words[0]).args(&words[1..]);
    Ok(command)
}

impl Quiet {
    /// Puts everything back. Gives what somebody else has set meanwhile, which stays.
    ///
    /// # Errors
    /// A fault that names what could not be put back.
    pub fn restore(self) -> Result<Vec<Overridden>, Fault> {
        self.switched.map_or(Ok(Vec::new()), Switched::restore)
    }
}

/// CPUs as the kernel's lists have them, as a mask in the shape of this one: digits of 16, in groups of
/// eight.
fn mask(cpus: &[Cpu], shape: &str) -> String {
    let digits = shape.chars().filter(|c| *c != ',').count();
    let digit = |place: usize| {
        let bits = (0..4).filter(|bit| cpus.contains(&Cpu((4 * place + bit) as u32)));
        let value = bits.fold(0_u32, |value, bit| value | 1 << bit);
        char::from_digit(value, 16).unwrap_or('0')
    };
    let mut places = (0..digits).rev();
    shape.chars().map(|c| if c == ',' { c } else { places.next().map_or(c, digit) }).collect()
}
