//! An environment on the pans: what its start costs, and what work costs inside it beside the same work
//! outside.
//!
//! An environment is whatever a command puts a command into: a chroot, a container, another user's session.
//! What the user gives ([`Question`]) becomes an experiment of a cell for the start and one for each kind of
//! work. Work is done by a process on each side that is the same program: inside, it is copied through the
//! standard input of the command that starts the environment. Both speak the protocol of workers and time
//! themselves, so that work on the two sides is done in turns and the way in is in no figure.

mod analysis;
mod beside;
mod served;
mod start;

use tenbin_metal::child::monotonic;
use tenbin_model::words::comma;
use tenbin_model::{
    Arrangement, Comparison, Descriptor, Effort, Finding, Picoseconds, Quantity, Source, Variant,
    VariantIndex,
};

pub use analysis::ENVIRONMENT;
pub(crate) use analysis::median;
pub use served::Served;

use crate::experiment::{Allowance, Plan, PlannedCell, Request, Unfit};
use crate::survey;
use crate::workload::command::{Runner, Step, once};
use beside::Beside;
use start::Start;

/// The name of the experiment.
pub const NAME: &str = "environment";

/// The questions whose work is done in an environment, by their names.
pub const WORK: [&str; 4] = ["checkout", "tags", "build", "edit"];

const HERE: VariantIndex = VariantIndex(0);
const INSIDE: VariantIndex = VariantIndex(1);
const HERE_IN_MEMORY: VariantIndex = VariantIndex(2);
const INSIDE_IN_MEMORY: VariantIndex = VariantIndex(3);

/// What runs of the same thing are held against each other in a cell of work.
const PAIRS: [(VariantIndex, VariantIndex); 2] = [(HERE, INSIDE), (HERE_IN_MEMORY, INSIDE_IN_MEMORY)];

/// The gauge that says whether work is done in the same file system on both sides: 1 where it is.
const SAME_FILE_SYSTEM: &str = "in the file system of the work here";

/// Time in which a cell is decided.
const fn time(effort: Effort) -> Picoseconds {
    Picoseconds::from_millis(match effort {
        Effort::Quick => 3_000,
        Effort::Normal => 15_000,
        Effort::Thorough => 60_000,
    })
}

/// The environment and what is done in it: what `tenbin environment` was given.
#[derive(Clone, Debug)]
pub struct Question {
    /// The command that puts into the environment whatever command follows it.
    pub start: Vec<String>,
    /// Whether that command gives its words to a shell, as ssh does.
    pub is_quoted: bool,
    /// Names of [`WORK`].
    pub work: Vec<String>,
    /// `KEY=VALUE`, as `tenbin run` takes them for that work.
    pub settings: Vec<String>,
    /// What makes the environment: run once, and timed, before anything else.
    pub setup: Option<String>,
    /// What removes it again, once all is measured.
    pub cleanup: Option<String>,
}

/// A question that was read.
pub struct Environment {
    question: Question,
    /// What making the environment took; none where nobody said how.
    setup: Option<Finding>,
}

impl Question {
    /// The words that run a command inside.
    fn inside(&self, words: &[&str]) -> Vec<String> {
        let words = if self.is_quoted {
            vec![shell_words::join(words)]
        } else {
            words.iter().map(|&word| word.to_owned()).collect()
        };
        [self.start.clone(), words].concat()
    }

    /// Reads the question, and makes the environment where that was asked for.
    ///
    /// # Errors
    /// A usage error that names the word that is wrong; a refusal where the environment cannot be made.
    pub fn read(self) -> Result<Environment, Unfit> {
        if let Some(unknown) = self.work.iter().find(|name| !WORK.contains(&name.as_str())) {
            return Err(Unfit::Usage(format!("--work {unknown}: the kinds of work are {}", comma(WORK))));
        }
        // What is set is wrong for both sides or for none.
        survey::Selection::new(&self.work, &self.settings)?;
        let setup = match &self.setup {
            None => None,
            Some(line) => {
                let before = monotonic();
                shell(line, "--setup")?;
                let took = monotonic().saturating_sub(before);
                let took = Picoseconds::from_nanos(u64::try_from(took.as_nanos()).unwrap_or(u64::MAX));
                Some(Finding {
                    experiment: NAME.into(),
                    sentence: format!("Making it took {took}."),
                    evidence: format!("`{line}`, run once"),
                    confidence: "one run, which says nothing of how far others vary".into(),
                })
            }
        };
        Ok(Environment { question: self, setup })
    }
}

fn shell(line: &str, option: &str) -> Result<(), Unfit> {
    let words = ["/bin/sh".to_owned(), "-c".into(), line.into()];
    let run = Step::of(&words).and_then(|step| {
        let mut runner = Runner::start(&[])?;
        runner.run(&step).map(drop).map_err(crate::workload::command::unfit)
    });
    run.map_err(|unfit| match unfit {
        Unfit::Refused(refusal) => Unfit::Refused(tenbin_model::Refusal {
            reached: format!("{option}: {}", refusal.reached),
            needs: "a command that ends with status 0".into(),
            remedy: format!("see what `{line}` says by itself"),
        }),
        other => other,
    })
}

impl Environment {
    /// What the experiment says about itself.
    pub fn describe(&self) -> Descriptor {
        let start = self.question.start.join(" ");
        Descriptor {
            name: NAME.into(),
            question: format!("What does the environment of `{start}` cost?"),
            requirement:
                "whoever works in a container, a chroot or another system's subsystem pays for it with \
                          every start and every command"
                    .into(),
            specification: "what is started ends with status 0, and work comes out as it has to".into(),
            quantity: Quantity::WallTime,
            analysis: ENVIRONMENT.name().into(),
            variants: Variant::list(
                &[
                    ("here", "outside of the environment, in the file system of temporary files"),
                    ("inside", &format!("where `{start}` puts it, likewise")),
                    ("here in memory", "outside of the environment, in a file system in memory (/dev/shm)"),
                    ("inside in memory", "inside, likewise"),
                ],
                &[("wrong on purpose", "the start of a command that fails, or work that is left undone")],
            ),
            margin: 0.05,
            epoch: Picoseconds(0),
            sources: vec![
                crate::workload::diary("two environments by the times that work takes in each"),
                Source::new("POSIX.1-2017, sh and dd", "how the program gets in through standard input"),
            ],
            ..Descriptor::default()
        }
    }

    /// A cell for the start, and one for each kind of work.
    ///
    /// # Errors
    /// None; the signature is that of any plan.
    pub fn plan(&self, request: &Request<'_>) -> Result<Plan, Unfit> {
        let cell = |label: String, pairs: &[(VariantIndex, VariantIndex)], headline| Arrangement {
            label,
            cpus: request.cpus.to_vec(),
            epoch: Picoseconds(0),
            once: true,
            variants: pairs.iter().flat_map(|&(here, inside)| [here, inside]).collect(),
            comparisons: Comparison::of(pairs.to_vec()),
            headline,
            ..Arrangement::default()
        };
        let (question, setup) = (self.question.clone(), self.setup.clone());
        let open = once(move |_, request: &Request<'_>| Start::open(request, &question, setup.clone()));
        let mut cells =
            vec![PlannedCell::new(cell("for the start of `true`".into(), &PAIRS[..1], true), open)];
        for work in &self.question.work {
            let (question, work) = (self.question.clone(), work.clone());
            let label = format!("for {work}");
            let open = once(move |_, _: &Request<'_>| Beside::open(&question, &work));
            cells.push(PlannedCell::new(cell(label, &PAIRS, false), open));
        }
        Ok(Plan {
            cells,
            time: Some(Allowance { time: time(request.effort), firm: false }),
            ..Plan::default()
        })
    }

    /// Removes the environment where that was asked for.
    ///
    /// # Errors
    /// What kept it from that.
    pub fn close(&self) -> Result<(), Unfit> {
        self.question.cleanup.as_deref().map_or(Ok(()), |line| shell(line, "--cleanup"))
    }
}
