//! Functions: two files, compiled, linked anew for each block, and weighed by all of `tenbin weigh a.c b.c`.
//!
//! Both sides are one text but for a number that they read while they run. So equals are one function that is
//! linked twice: whatever differs between them is where it came to lie.

use std::fs;

use tenbin_metal::Fault;
use tenbin_model::{Cpu, Picoseconds};

use super::{MARGIN, NAMES, Question, Subject, unneeded};
use crate::compiled::Workshop;
use crate::engine;
use crate::experiment::Unfit;
use crate::weigh::Weighing;
use crate::workers::{self, Functions, Sides};

const WORK: &str = "function";

/// Turns of an operation of the left side.
const TURNS: f64 = 1000.0;

/// Branches that depend on data, and calls of functions that lie wherever they were linked: what layouts
/// change the cost of. Before it come the turns.
const TEXT: &str = include_str!("function.c");

/// Two functions, by the turns of an operation of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pair {
    turns: [u64; 2],
}

/// The questions about pairs with every one of these effects; why they cannot be asked where nothing
/// compiles.
pub(super) fn questions(effects: &[f64]) -> Vec<Question> {
    let missing = Workshop::open("functions are compiled here").err().map(engine::in_words);
    effects.iter().map(|&effect| question(effect, missing.clone())).collect()
}

fn question(effect: f64, missing: Option<String>) -> Question {
    Question {
        subject: Subject::Function(Pair::new(effect)),
        work: WORK,
        what: "a function of C, linked again for each block".into(),
        effect,
        margin: MARGIN,
        refused: missing.or_else(|| unneeded(effect)),
    }
}

impl Pair {
    fn new(effect: f64) -> Self {
        Self { turns: [TURNS, TURNS * (1.0 + effect)].map(|turns| turns.round() as u64) }
    }

    /// The ratio of an operation of the right side to one of the left.
    pub(super) fn truth(self) -> f64 {
        self.turns[1] as f64 / self.turns[0] as f64
    }

    /// Turns of the left side.
    pub(super) fn operations(self) -> u64 {
        self.turns[0]
    }

    /// What `tenbin weigh --within LIMIT` makes of it, compiled; and the folder of its sources, which
    /// nobody needs any more.
    ///
    /// # Errors
    /// As [`workers::Question::read`]; a fault where the sources cannot be written.
    pub(super) fn read(self, cpu: Cpu, limit: Picoseconds) -> Result<(Weighing, Workshop), Unfit> {
        let workshop = Workshop::open("functions are compiled here")?;
        let mut sides = Vec::new();
        for (number, turns) in self.turns.into_iter().enumerate() {
            let file = workshop.path().join(format!("{number}.c"));
            fs::write(&file, format!("#define TURNS {turns}\n{TEXT}"))
                .map_err(|error| Fault::system(format!("write {}", file.display()), error))?;
            sides.push(vec![file]);
        }
        let question = workers::Question {
            sides: Sides::Functions(Functions { sides, ..Functions::default() }),
            // Those that are refused for one reason are counted together.
            names: NAMES.map(String::from).to_vec(),
            together: None,
            within: Some(limit),
            margin: None,
            level: None,
            least_runs: None,
            most_runs: None,
            cpus: vec![cpu],
            claims: None,
        };
        Ok((question.read()?, workshop))
    }
}

#[cfg(test)]
mod tests {
    use tenbin_metal::allowed_cpus;

    use super::*;

    #[test]
    fn an_effect_is_so_many_more_turns() {
        assert_eq!((Pair::new(0.0).turns, Pair::new(0.0).truth()), ([1000; 2], 1.0));
        assert_eq!((Pair::new(0.02).turns, Pair::new(0.02).truth()), ([1000, 1020], 1.02));
    }

    #[test]
    fn what_need_not_be_found_or_compiles_nowhere_is_not_asked_for() {
        let refused = |effect, missing: Option<&str>| question(effect, missing.map(String::from)).refused;
        assert_eq!([0.0, 0.005, 0.01].map(|effect| refused(effect, None).is_some()), [false, true, false]);
        assert_eq!(refused(0.0, Some("there is no compiler")).as_deref(), Some("there is no compiler"));
    }

    #[test]
    fn a_pair_becomes_two_measured_sides_and_a_planted_fault() {
        let (weighing, _folder) =
            Pair::new(0.02).read(allowed_cpus().unwrap()[0], Picoseconds::from_millis(1_000)).unwrap();
        let names: Vec<&str> =
            weighing.descriptor.variants.iter().map(|variant| variant.name.as_str()).collect();
        assert_eq!(names, [NAMES[0], NAMES[1], "the left side: short"]);
    }
}
