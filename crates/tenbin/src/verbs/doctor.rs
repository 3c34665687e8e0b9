//! `tenbin doctor`: what makes figures vary on this machine.

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::noise;
use tenbin_lab::survey::{cpus, names};
use tenbin_model::Diagnosis;

use super::{Form, Schema, Verb, Work};
use crate::output::{Answer, Trouble};

/// Say what disturbs measurements on this machine, and what to do
///
/// Every source of noise that can be seen: settings of processor and kernel, who else uses the CPUs,
/// interrupts, the host, limits. Counters are watched for a tenth of a second. Nothing is changed, and no
/// privileges are needed; with them more can be seen.
#[derive(Args)]
pub struct Doctor {
    /// The questions to be measured; all of them if not given
    questions: Vec<String>,
    /// The CPUs that they are to be measured on, like 0,2-3; all that this process may use if not given
    #[arg(long, value_name = "LIST")]
    cpus: Option<String>,
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
        let cpus = cpus(self.cpus.as_deref())?;
        let machine = tenbin_metal::machine::observe_this();
        let diagnosis = noise::examine(&machine, &cpus, &self.questions)?;
        self.form
            .text(&diagnosis, |diagnosis, width| report::diagnosis(diagnosis).text(width))
            .map(Answer::text)
    }
}
