//! Twins: two functions of the same code. Whatever differs between them is where they lie.
//!
//! A layout that is kept is part of what is measured: the same loop can cost a third more at another address,
//! on one build and not on the next (Mytkowicz et al., "Producing Wrong Data Without Doing Anything Obviously
//! Wrong!", 2009). So here it is not kept. For each block, each side is laid anew: a place for its code, a
//! place for its stack, both drawn from the same places. Layout is then noise between blocks, a random effect
//! that the interval covers.
//!
//! That both sides draw from the same places matters. Were each moved about places of its own, the places
//! would differ by a little for ever, and enough blocks would find that: 60 of 400 pairs, when it was tried.

use std::sync::Arc;

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::{Fault, Lap, Task, Team, kernels, stack};
use tenbin_model::VariantIndex;

use super::{Question, RIGHT, SHORT, Subject};
use crate::experiment::{Apparatus, Failure, Seen};

/// Margin of equivalence: layout is a large noise, and a verdict has half a second.
const MARGIN: f64 = 0.05;

#[derive(Clone, Copy)]
struct Layout {
    region: usize,
    place: usize,
    stack: usize,
}

pub(super) struct Twins<'a> {
    team: &'a mut Team,
    random: Pcg64Mcg,
    sides: [Layout; 2],
    tasks: [Task; 2],
}

impl<'a> Twins<'a> {
    pub(super) fn new(team: &'a mut Team, region: u32, seed: u64) -> Self {
        let region = region as usize % kernels::REGIONS;
        let at = |place| Layout { region, place, stack: 0 };
        let sides = [at(0), at(1)];
        Self { team, random: Pcg64Mcg::seed_from_u64(seed), sides, tasks: sides.map(task) }
    }
}

pub(super) fn question(region: u32) -> Question {
    Question {
        subject: Subject::Twins(region),
        work: "layout",
        what: "a loop and its twin, at addresses drawn again for each block".into(),
        effect: 0.0,
        margin: MARGIN,
        refused: None,
    }
}

fn task(Layout { region, place, stack }: Layout) -> Task {
    Arc::new(move |_, turns| {
        std::hint::black_box(kernels::copy_on_lower_stack(turns, region, place, stack));
        0
    })
}

impl Apparatus for Twins<'_> {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        const TURNS: u64 = 100;
        let Layout { region, place, stack } = self.sides[usize::from(variant == RIGHT)];
        let asked = if variant == SHORT { TURNS - 1 } else { TURNS };
        let turns = kernels::copy_on_lower_stack(asked, region, place, stack);
        let seen = format!("{turns} turns of {TURNS}");
        Ok(if turns == TURNS { Seen::Met(seen) } else { Seen::Broken(seen) })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        Ok(self.team.lap(&self.tasks[usize::from(variant == RIGHT)], iterations)?)
    }

    fn shift(&mut self, _block: u32) {
        let left = self.random.random_range(0..kernels::PLACES);
        // Any other place: two functions cannot lie in one.
        let right = (left + self.random.random_range(1..kernels::PLACES)) % kernels::PLACES;
        for (side, place) in self.sides.iter_mut().zip([left, right]) {
            *side = Layout { place, stack: self.random.random_range(0..stack::SPAN), ..*side };
        }
        self.tasks = self.sides.map(task);
    }
}
