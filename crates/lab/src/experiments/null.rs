//! `null`: the same thing under two names. A template, a self-test, and the price of an epoch.

use std::sync::Arc;

use tenbin_metal::{Fault, Lap, Task, Team, kernels};
use tenbin_model::{Arrangement, Comparison, Descriptor, Source, Variant, VariantIndex};

use crate::experiment::{Apparatus, Experiment, Failure, Opened, Plan, Request, Seen, Unfit};

const LEFT: VariantIndex = VariantIndex(0);
const RIGHT: VariantIndex = VariantIndex(1);

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let cell = Arrangement {
        label: "in an empty loop".into(),
        cpus: request.cpus[..1].to_vec(),
        epoch: describe().epoch,
        variants: vec![LEFT, RIGHT],
        comparisons: Comparison::of([(LEFT, RIGHT)]),
        headline: true,
        doubling: true,
        ..Arrangement::default()
    };
    Ok(Plan::new([cell], open))
}

fn open(arrangement: &Arrangement, request: &Request<'_>) -> Opened {
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    let task: Task = Arc::new(|_, iterations| {
        std::hint::black_box(kernels::empty_loop(iterations));
        0
    });
    Ok(Box::new(EmptyLoop { team, task }))
}

struct EmptyLoop {
    team: Team,
    /// One task for both names: were there two, they could differ by where the compiler put them.
    task: Task,
}

impl Apparatus for EmptyLoop {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        let turn = if variant <= RIGHT { kernels::empty_loop } else { kernels::empty_loop_one_short };
        for iterations in [1, 2, 1_000] {
            let counted = turn(iterations);
            if counted != iterations {
                return Ok(Seen::Broken(format!("{counted} turns of {iterations}")));
            }
        }
        Ok(Seen::Met("1000 turns of 1000".into()))
    }

    fn epoch(&mut self, _variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        Ok(self.team.lap(&self.task, iterations)?)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "null".into(),
        question: "Does the instrument find a difference where there is none?".into(),
        requirement:
            "whoever says \"different\" must be seen to say \"equivalent\" when both sides are the same"
                .into(),
        specification: "a loop asked for n turns makes n turns".into(),
        subject: "The same empty loop under two names".into(),
        variants: vec![
            Variant::measured("the left one", "a counted loop of dependent register additions"),
            Variant::measured("the right one", "the same code at the same address"),
            Variant::sabotage("one turn short", "stops before the last turn"),
        ],
        margin: 0.005,
        sources: vec![
            Source::new("fio, engines/null.c", "ship a null unit: template, self-test and overhead at once"),
            Source::new(
                "Mytkowicz et al., \"Producing Wrong Data Without Doing Anything Obviously Wrong!\", 2009",
                "identical code must not differ by where it lies, so both names share one address",
            ),
        ],
        ..Descriptor::default()
    }
}

/// The null experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment::new(&describe, &plan);
