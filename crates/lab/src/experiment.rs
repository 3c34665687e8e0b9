//! What an experiment is: a description, a plan, and an apparatus for each cell of the plan.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::str::FromStr;

use tenbin_analysis::{Analysis, Comparisons};
use tenbin_metal::{Clock, Fault, Lap};
use tenbin_model::words::comma;
use tenbin_model::{
    Arrangement, Cpu, Descriptor, Effort, Finding, Gauge, Machine, Missing, Picoseconds, Refusal, Sizes,
    Variant, VariantIndex,
};

use crate::published::{Format, Table};

/// An experiment. The last item of its file, and the one line in the list of experiments; or made of what a
/// user gave.
#[derive(Clone, Copy)]
pub struct Experiment<'a> {
    /// What it says about itself.
    pub describe: &'a dyn Fn() -> Descriptor,
    /// The cells to measure for a request.
    pub plan: &'a dyn Fn(&Request<'_>) -> Result<Plan, Unfit>,
    /// How what was measured becomes answers.
    pub analysis: &'static dyn Analysis,
    /// What others measured and published about it.
    pub published: &'static [Table],
    /// The forms in which tables of figures about it are read: those that were published, and a user's.
    pub formats: &'static [Format],
    /// Whether it is asked where nobody names a question: it needs no program of the machine's, and seconds.
    pub is_surveyed: bool,
    /// What its figures depend on, beside how fast a core runs.
    pub aspects: &'static [Aspect],
}

/// What a figure may depend on, beside how fast a core runs: which noise matters to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Aspect {
    /// Pages: their size, their place, whether they are there.
    Memory,
    /// How soon what sleeps runs again.
    Wakes,
    /// The way into the kernel and back.
    Calls,
    /// Files, and what is behind them.
    Storage,
}

impl Aspect {
    /// All of them: for programs of which nobody knows what they do.
    pub const ALL: &[Self] = &[Self::Memory, Self::Wakes, Self::Calls, Self::Storage];
}

impl<'a> Experiment<'a> {
    /// An experiment that is answered by comparisons, and about which nothing was published.
    pub const fn new(
        describe: &'a dyn Fn() -> Descriptor,
        plan: &'a dyn Fn(&Request<'_>) -> Result<Plan, Unfit>,
    ) -> Self {
        Self {
            describe,
            plan,
            analysis: &Comparisons,
            published: &[],
            formats: &[],
            is_surveyed: true,
            aspects: &[],
        }
    }

    /// The same, whose figures depend on these too.
    pub const fn depends_on(self, aspects: &'static [Aspect]) -> Self {
        Self { aspects, ..self }
    }

    /// The same, asked only where it is named.
    pub const fn by_name(self) -> Self {
        Self { is_surveyed: false, ..self }
    }
}

/// The cells to measure, and the variants that they measure where those depend on the machine.
#[derive(Debug, Default)]
pub struct Plan {
    /// The variants here, planted faults included; the description's own if none are given.
    pub variants: Option<Vec<Variant>>,
    /// The cells, in order.
    pub cells: Vec<PlannedCell>,
    /// What can be found by looking, beside any cell; asked once, after them. None for most.
    pub look: Option<Look>,
    /// The time for each cell, where it is not that of the effort.
    pub time: Option<Allowance>,
}

/// Time for a cell that a user gave, or that what he asks about needs.
#[derive(Clone, Copy, Debug)]
pub struct Allowance {
    /// The time in which a cell is to be decided.
    pub time: Picoseconds,
    /// Whether nothing may take longer, all stretches and checks together. Else a cell has as long as it
    /// takes to be judged at all.
    pub firm: bool,
}

/// Looks without timing, also where times mean nothing.
pub type Look = fn(&Request<'_>) -> Result<Vec<Finding>, Unfit>;

impl Plan {
    /// Cells of the variants that the description names, all of them set up by `open`.
    pub fn new(cells: impl IntoIterator<Item = Arrangement>, open: Open) -> Self {
        let cells = cells.into_iter().map(|arrangement| PlannedCell::new(arrangement, open));
        Self { cells: cells.collect(), ..Self::default() }
    }
}

/// A cell to measure, with what sets it up: whatever the plan knows of it beyond its arrangement, no one has
/// to find out again.
pub struct PlannedCell {
    /// Where its workers stand, and what they do.
    pub arrangement: Arrangement,
    open: Box<Opener>,
}

type Opener = dyn Fn(&Arrangement, &Request<'_>) -> Opened;

/// Sets up a cell of this arrangement, ready to be checked and timed.
pub type Open = fn(&Arrangement, &Request<'_>) -> Opened;

impl PlannedCell {
    /// The cell of this arrangement, which `open` sets up: once for every stretch of time in which it is
    /// measured.
    pub fn new(
        arrangement: Arrangement,
        open: impl Fn(&Arrangement, &Request<'_>) -> Opened + 'static,
    ) -> Self {
        Self { arrangement, open: Box::new(open) }
    }

    /// Sets it up, ready to be checked and timed.
    ///
    /// # Errors
    /// As its experiment has them.
    pub fn open(&self, request: &Request<'_>) -> Opened {
        (self.open)(&self.arrangement, request)
    }
}

impl fmt::Debug for PlannedCell {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.arrangement.fmt(f)
    }
}

/// A cell, set up, or why it cannot be.
pub type Opened = Result<Box<dyn Apparatus>, Unfit>;

/// What the user asked for, and what there is to do it with.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The machine, observed.
    pub machine: &'a Machine,
    /// The clock to time by.
    pub clock: Clock,
    /// The CPUs to place workers on, in order of preference.
    pub cpus: &'a [Cpu],
    /// How much time to spend.
    pub effort: Effort,
    /// What is known of the caches' sizes: the firmware's word, or the measured knee.
    pub sizes: &'a Sizes,
    /// What `--set` gave, checked against the descriptor.
    pub settings: &'a Settings,
    /// Seed of every random choice.
    pub seed: u64,
}

impl Request<'_> {
    /// Whether there are two CPUs to use, for the reason `why`.
    ///
    /// # Errors
    /// A refusal where there is one.
    pub fn two_cpus(&self, why: &str) -> Result<(), Unfit> {
        if self.cpus.len() >= 2 {
            return Ok(());
        }
        Err(Unfit::Refused(Refusal {
            reached: "there is 1 CPU to use".into(),
            needs: format!("2 CPUs: {why}"),
            remedy: "run where the process may use more CPUs".into(),
        }))
    }
}

/// Why a plan or a cell cannot be had.
#[derive(Debug)]
pub enum Unfit {
    /// The request is wrong: a usage error.
    Usage(String),
    /// The machine cannot answer.
    Refused(Refusal),
    /// Something is missing that could be installed.
    Missing(Missing),
    /// The bottom failed.
    Fault(Fault),
    /// It was asked to stop before anything was finished.
    Stopped,
}

impl From<Fault> for Unfit {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

/// A cell, set up: its variants can be checked, and timed epoch by epoch.
pub trait Apparatus {
    /// Runs `variant` on a pass that is not timed and holds the outcome against the specification.
    ///
    /// # Errors
    /// A fault of the machine. A broken specification is not an error but [`Seen::Broken`].
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault>;

    /// Runs one epoch of `variant` and returns what was measured.
    ///
    /// # Errors
    /// A fault of the machine, a pin that did not hold above all; or work that came out wrong.
    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure>;

    /// A new block begins: whatever must not decide the outcome by where it lies is laid anew.
    ///
    /// Every variant of a block meets the same layout; the next block meets another one. So layout is
    /// noise that the interval covers, and no constant that a run hides (Mytkowicz et al. 2009). Layouts
    /// are numbered: from a start that the run's seed decides, one more for each block.
    fn shift(&mut self, _layout: u32) {}

    /// Figures of `variant` that need a pass of their own.
    ///
    /// # Errors
    /// A fault of the machine.
    fn gauges(&mut self, _variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        Ok(Vec::new())
    }

    /// What can be found here by looking; asked once per trial, of its headline cell.
    ///
    /// # Errors
    /// A fault of the machine.
    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        Ok(Vec::new())
    }

    /// What was noticed so far while the variants were checked and timed and is no fault; asked after each
    /// stretch.
    fn remarks(&mut self) -> Vec<Finding> {
        Vec::new()
    }
}

/// An apparatus that is set up once for all stretches.
pub(crate) struct Shared<A>(pub(crate) Rc<RefCell<A>>);

impl<A: Apparatus> Apparatus for Shared<A> {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        self.0.borrow_mut().check(variant)
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        self.0.borrow_mut().epoch(variant, iterations)
    }

    fn shift(&mut self, layout: u32) {
        self.0.borrow_mut().shift(layout);
    }

    fn gauges(&mut self, variant: VariantIndex) -> Result<Vec<Gauge>, Fault> {
        self.0.borrow_mut().gauges(variant)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        self.0.borrow_mut().findings()
    }

    fn remarks(&mut self) -> Vec<Finding> {
        self.0.borrow_mut().remarks()
    }
}

/// Why an epoch does not count.
#[derive(Debug)]
pub enum Failure {
    /// The machine failed.
    Machine(Fault),
    /// The variant did wrong work while it was timed: what was seen.
    Wrong(String),
}

impl From<Fault> for Failure {
    fn from(fault: Fault) -> Self {
        Self::Machine(fault)
    }
}

/// What a check saw.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// The specification was met; the figure that shows it.
    Met(String),
    /// It was broken; the first violation.
    Broken(String),
}

/// Whether there is a parameter of this name.
pub(crate) fn has(descriptor: &Descriptor, key: &str) -> bool {
    descriptor.parameters.iter().any(|parameter| parameter.name == key)
}

/// The names of all parameters.
pub(crate) fn parameters(descriptor: &Descriptor) -> String {
    let names = comma(descriptor.parameters.iter().map(|parameter| &parameter.name));
    if names.is_empty() { "none".into() } else { names }
}

/// The values of `--set KEY=VALUE`.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    given: BTreeMap<String, String>,
}

impl Settings {
    /// Takes the settings for one experiment.
    ///
    /// # Errors
    /// A usage error that names the key when `descriptor` has no such parameter.
    pub fn new(given: BTreeMap<String, String>, descriptor: &Descriptor) -> Result<Self, Unfit> {
        for key in given.keys() {
            if !has(descriptor, key) {
                return Err(Unfit::Usage(format!(
                    "experiment `{}` has no parameter `{key}`; it has: {}",
                    descriptor.name,
                    parameters(descriptor)
                )));
            }
        }
        Ok(Self { given })
    }

    /// The text given for `key`, if any.
    pub fn given(&self, key: &str) -> Option<&str> {
        self.given.get(key).map(String::as_str)
    }

    /// The one value given for `key`, or `otherwise`.
    ///
    /// # Errors
    /// As [`list`](Self::list), and where several are given.
    pub fn one<T: FromStr + Clone + PartialEq>(
        &self,
        key: &str,
        otherwise: T,
        expected: &str,
        accepted: impl Fn(&T) -> bool,
    ) -> Result<T, Unfit> {
        let values = self.list(key, std::slice::from_ref(&otherwise), expected, accepted)?;
        match values.as_slice() {
            [value] => Ok(value.clone()),
            several => Err(Unfit::Usage(format!("--set {key}: one value, not {}", several.len()))),
        }
    }

    /// The comma-separated values given for `key`, or `otherwise`.
    ///
    /// # Errors
    /// A usage error that names key, value and `expected` when one does not parse, is
    /// not accepted or is given twice.
    pub fn list<T: FromStr + Clone + PartialEq>(
        &self,
        key: &str,
        otherwise: &[T],
        expected: &str,
        accepted: impl Fn(&T) -> bool,
    ) -> Result<Vec<T>, Unfit> {
        let Some(text) = self.given(key) else { return Ok(otherwise.to_vec()) };
        let values: Vec<T> =
            text.split(',')
                .map(|item| {
                    item.trim().parse().ok().filter(|value| accepted(value)).ok_or_else(|| {
                        Unfit::Usage(format!("--set {key}={text}: `{item}` is not {expected}"))
                    })
                })
                .collect::<Result<_, _>>()?;
        if values.iter().enumerate().any(|(place, value)| values[..place].contains(value)) {
            return Err(Unfit::Usage(format!("--set {key}={text}: a value is given twice")));
        }
        Ok(values)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rehearsal::usage;

    #[test]
    fn several_values_for_one_are_a_usage_error_with_the_key() {
        let with = |text: &str| Settings { given: [("size".into(), text.into())].into() };
        let one = |settings: &Settings| settings.one("size", 7_u32, "a number from 1", |&size| size > 0);
        assert_eq!(one(&Settings::default()).unwrap(), 7);
        assert_eq!(one(&with("3")).unwrap(), 3);
        for (text, reason) in
            [("3,4", "--set size: one value, not 2"), ("0", "is not a number from 1"), ("", "is not")]
        {
            let message = usage(one(&with(text)));
            assert!(message.contains(reason), "{text}: {message}");
        }
    }
}
