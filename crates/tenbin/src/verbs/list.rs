//! `tenbin list`: the experiments.

use clap::Args;
use tenbin_analysis::report;
use tenbin_lab::survey::descriptors;
use tenbin_model::Descriptor;

use super::{Form, Schema, Verb, Work};
use crate::output::{Answer, Trouble};

/// List the experiments, a question each
#[derive(Args)]
pub struct List {
    #[command(flatten)]
    form: Form,
}

pub const VERB: Verb = Verb {
    schemas: &[Schema::of::<Vec<Descriptor>>("list", "The experiments: `list`")],
    ..Verb::of::<List>("list")
};

impl Work for List {
    fn run(self) -> Result<Answer, Trouble> {
        self.form.text(&descriptors(), |listed, width| report::listed(listed).text(width)).map(Answer::text)
    }
}
