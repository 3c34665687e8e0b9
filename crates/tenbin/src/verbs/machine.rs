//! `tenbin machine`: this machine, as tenbin sees it.

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::survey::cpus;

use super::{Form, Schema, Verb, Work};
use crate::measurement::observed;
use crate::output::{Answer, Trouble};

/// Say what this machine is: CPUs, caches, memory nodes, kernel, clock, settings
///
/// Everything that can change what is measured here, as far as a program without privileges can see it;
/// where it cannot, why. Every run keeps this of its machine, and `compare` compares it. Nothing is timed but
/// the clock that epochs are read from.
#[derive(Args)]
pub struct Machine {
    #[command(flatten)]
    form: Form,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<tenbin_model::Machine>("machine", "This machine: `machine`")],
    ..Verb::of::<Machine>("machine")
};

impl Work for Machine {
    fn run(self) -> Result<Answer, Trouble> {
        let (machine, _) = observed(&cpus(None)?)?;
        self.form.text(&machine, |machine, width| report::machine(machine).text(width)).map(Answer::text)
    }
}
