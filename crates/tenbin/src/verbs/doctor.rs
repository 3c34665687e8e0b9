//! `tenbin doctor`: what makes figures vary on this machine.

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::experiment::Experiment;
use tenbin_lab::noise;
use tenbin_lab::quiet::effects;
use tenbin_lab::survey::{Selection, cpus, names};
use tenbin_model::{Diagnosis, Effort};

use super::{Ending, Form, Measure, Outlet, Schema, Verb, Work, answered, detail};
use crate::measurement;
use crate::output::{Answer, Trouble};

/// Say what disturbs measurements on this machine, and what to do
///
/// Every source of noise that can be seen: settings of processor and kernel, who else uses the CPUs,
/// interrupts, the host, limits. Counters are watched for a tenth of a second. Nothing is changed, and no
/// privileges are needed; with them more can be seen.
///
/// With --measure it says instead what each remedy does here: a loop and a sleep with it and without it, in
/// turns. Settings are switched then, and put back (`tenbin quiet`).
#[derive(Args)]
pub struct Doctor {
    /// The questions to be measured; all of them if not given
    questions: Vec<String>,
    /// The CPUs that they are to be measured on, like 0,2-3; all that this process may use if not given
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
    /// Weigh what each remedy does, on the first of these CPUs
    #[arg(long, conflicts_with = "questions")]
    measure: bool,
    #[command(flatten)]
    form: Form,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<Diagnosis>("diagnosis", "Sources of noise: `doctor`")],
    words: &[("questions", names)],
    ..Verb::of::<Doctor>("doctor")
};

impl Work for Doctor {
    fn run(self) -> Result<Answer, Trouble> {
        if self.measure {
            return self.effects();
        }
        let cpus = cpus(self.cpus.as_deref())?;
        let machine = tenbin_metal::machine::observe_this();
        let diagnosis = noise::examine(&machine, &cpus, &self.questions)?;
        self.form
            .text(&diagnosis, |diagnosis, width| report::diagnosis(diagnosis).text(width))
            .map(Answer::text)
    }
}

impl Doctor {
    fn effects(self) -> Result<Answer, Trouble> {
        let outlet = Outlet { form: self.form, output: None };
        let measure = Measure { cpus: self.cpus, outlet, ..Measure::default() };
        let experiment =
            Experiment { analysis: effects::EFFECTS, ..Experiment::new(&effects::describe, &effects::plan) };
        let survey = measurement::of(Selection::of(experiment), &measure, Effort::Normal)?;
        Ok(answered(&survey, &measure, &detail, Ending::None)?.answer)
    }
}
