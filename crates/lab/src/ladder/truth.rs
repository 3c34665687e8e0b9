//! Truths: ratios that are whole numbers whatever the clock rate.
//!
//! A chain of instructions, each waiting for the one before, takes a whole number of cycles for each of
//! them. So the ratio of two chains is known beforehand, though nobody knows how long a cycle is now.

use std::sync::Arc;

use super::{Question, RIGHT, SHORT, Subject};
use crate::experiment::{Apparatus, Failure, Seen};
use tenbin_metal::{Fault, Lap, Task, Team, kernels};
use tenbin_model::VariantIndex;

/// Margin of equivalence, to which a ratio is measured.
const MARGIN: f64 = 0.000_5;

/// A ratio that is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// Twice as many additions.
    Double,
    /// Multiplications for additions.
    Multiplication,
}

impl Known {
    /// Cost of the right side over cost of the left.
    pub(super) fn ratio(self) -> f64 {
        match self {
            Self::Double => 2.0,
            Self::Multiplication => LATENCY.unwrap_or(f64::NAN),
        }
    }
}

/// Cycles of a dependent multiplication of 32 bits for one of an addition, where cores agree on it: on x86-64
/// Intel since Nehalem (2008), small cores since Silvermont (2013), and AMD since Zen (2017), by Agner Fog's
/// instruction tables. Cores of other architectures take two to five.
const LATENCY: Option<f64> = if cfg!(target_arch = "x86_64") { Some(3.0) } else { None };

pub(super) fn questions() -> [Question; 2] {
    let ask = |known, work, what: &str| Question {
        subject: Subject::Truth(known),
        work,
        what: what.into(),
        effect: 0.0,
        margin: MARGIN,
        refused: None,
    };
    let unknown = "cores of this architecture differ in how long a multiplication takes";
    [
        ask(Known::Double, "double", "2n : n dependent additions"),
        Question {
            // Never weighed where the ratio is not known.
            refused: if LATENCY.is_some() { None } else { Some(unknown.into()) },
            ..ask(Known::Multiplication, "multiplication", "dependent multiplications : additions")
        },
    ]
}

/// From turns to a number that shows that they were made.
type Chain = fn(u64) -> u64;

pub(super) struct Truth<'a> {
    team: &'a mut Team,
    right: Chain,
    /// What `right` returns for a number of turns, if it does its work.
    expected: Chain,
    tasks: [Task; 2],
}

impl<'a> Truth<'a> {
    pub(super) fn new(team: &'a mut Team, known: Known) -> Self {
        let (right, expected): (Chain, Chain) = match known {
            Known::Double => {
                (|turns| kernels::dependent_additions(2 * turns), |turns| 2 * kernels::CHAIN * turns)
            }
            Known::Multiplication => (kernels::dependent_multiplications, kernels::product_of_threes),
        };
        Self { team, right, expected, tasks: [task(kernels::dependent_additions), task(right)] }
    }
}

fn task(chain: Chain) -> Task {
    Arc::new(move |_, turns| {
        std::hint::black_box(chain(turns));
        0
    })
}

impl Apparatus for Truth<'_> {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        const TURNS: u64 = 10;
        let turns = if variant == SHORT { TURNS - 1 } else { TURNS };
        let (result, expected) = if variant == RIGHT {
            ((self.right)(turns), (self.expected)(TURNS))
        } else {
            (kernels::dependent_additions(turns), kernels::CHAIN * TURNS)
        };
        let seen = format!("{result} after {TURNS} turns");
        Ok(if result == expected { Seen::Met(seen) } else { Seen::Broken(seen) })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        Ok(self.team.lap(&self.tasks[usize::from(variant == RIGHT)], iterations)?)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}
