//! `tenbin machine`: this machine, as tenbin sees it.

use std::path::PathBuf;

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::survey::cpus;

use super::{Form, Schema, Verb, Work};
use crate::measurement::observed;
use crate::output::{Answer, Trouble, can_be_written};

/// Say what this machine is: CPUs, caches, memory nodes, kernel, clock, settings
///
/// Everything that can change what is measured here, as far as a program without privileges can see it;
/// where it cannot, why. Every run keeps this of its machine, and `compare` compares it. Nothing is timed but
/// the clock that epochs are read from.
#[derive(Args)]
pub struct Machine {
    #[command(flatten)]
    form: Form,
    /// Write it as a card for a README, in SVG, to this file; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "json")]
    card: Option<PathBuf>,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<tenbin_model::Machine>("machine", "This machine: `machine`")],
    ..Verb::of::<Machine>("machine")
};

impl Work for Machine {
    fn run(self) -> Result<Answer, Trouble> {
        if let Some(file) = &self.card {
            can_be_written(file)?;
        }
        let (machine, _) = observed(&cpus(None)?)?;
        if self.card.is_some() {
            return Ok(Answer { to: self.card, ..Answer::text(report::machine_card(&machine)) });
        }
        self.form.text(&machine, |machine, width| report::machine(machine).text(width)).map(Answer::text)
    }
}
