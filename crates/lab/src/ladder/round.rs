//! In which order pairs are weighed: every kind of pair in each round, in random order.
//!
//! A machine has good and bad minutes. Rounds spread each kind over all of them, so that no kind is judged
//! by a minute of its own.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use tenbin_model::{Picoseconds, Purpose};

use super::commands::is_of_round;
use super::{Order, Question};
use crate::engine::cell_seed;

/// What is still unknown after so many rounds, more of them would hardly tell.
pub const MOST_ROUNDS: u32 = 100;

/// How many pairs are weighed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    /// As many rounds as fit into this time, and no more than [`MOST_ROUNDS`].
    Time(Picoseconds),
    /// So many rounds.
    Rounds(u32),
    /// So many pairs of each kind.
    Pairs(u32),
}

impl Extent {
    /// How many of `questions` are asked in all, unless time decides that.
    pub fn pairs(self, questions: &[Question], order: &Order) -> Option<usize> {
        let rounds = match self {
            Self::Time(_) => return None,
            Self::Rounds(rounds) | Self::Pairs(rounds) => rounds,
        };
        Some((0..rounds).map(|number| of(questions, number, order).len()).sum())
    }

    /// Whether `rounds` whole rounds are enough.
    pub(super) fn is_reached(self, rounds: u32) -> bool {
        match self {
            Self::Time(_) => rounds >= MOST_ROUNDS,
            Self::Rounds(most) | Self::Pairs(most) => rounds >= most,
        }
    }

    /// Whether the time is over after `spent`.
    pub(super) fn is_spent(self, spent: Picoseconds) -> bool {
        matches!(self, Self::Time(limit) if spent >= limit)
    }
}

/// Equals in a round of each work: false alarms are rare, so it takes more pairs to know their rate.
const EQUALS: usize = 4;

/// Rounds in which truths are weighed, and how often in each: 20 runs are enough for a median.
const TRUTHS: (u32, usize) = (10, 2);

/// The questions of round `number`, as indices into `questions`, in the order of weighing.
pub(super) fn of(questions: &[Question], number: u32, order: &Order) -> Vec<usize> {
    // A pair of functions takes as long as twenty others: an effect of them a round.
    let of_functions =
        |question: &&Question| question.purpose() == Purpose::Function && question.effect > 0.0;
    let steps: Vec<f64> =
        questions.iter().filter(of_functions).filter(|it| it.refused.is_none()).map(|it| it.effect).collect();
    let turn = steps.get(number as usize % steps.len().max(1)).copied();
    let times = |question: &Question| match (order.extent, question.purpose()) {
        _ if question.refused.is_some() => 0,
        (Extent::Pairs(_), _) => 1,
        (_, Purpose::Ladder) if question.effect == 0.0 => EQUALS,
        (_, Purpose::Ladder) => 1,
        // Half of the layouts in one round, half in the next: as many pairs as one work has equals.
        (_, Purpose::Layout) => usize::from(question.layout().is_some_and(|layout| layout % 2 == number % 2)),
        (_, Purpose::Command) if !is_of_round(question.work, number) => 0,
        (_, Purpose::Command) => 1 + usize::from(question.effect == 0.0),
        (_, Purpose::Function) => usize::from(question.effect == 0.0 || Some(question.effect) == turn),
        (_, Purpose::Truth) if number < TRUTHS.0 => TRUTHS.1,
        (_, Purpose::Truth) => 0,
    };
    let mut round: Vec<usize> = questions
        .iter()
        .enumerate()
        .flat_map(|(index, question)| std::iter::repeat_n(index, times(question)))
        .collect();
    round.shuffle(&mut Pcg64Mcg::seed_from_u64(cell_seed(order.seed, "round", number as usize)));
    round
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ladder::tests::order;
    use crate::ladder::{Subject, truth, twins};

    fn questions() -> Vec<Question> {
        let rung = |effect, refused: Option<&str>| Question {
            subject: Subject::Work(0),
            work: "alu",
            effect,
            refused: refused.map(str::to_owned),
            ..twins::question(0)
        };
        let rungs = [rung(0.0, None), rung(0.01, None), rung(0.001, Some("too small"))];
        rungs.into_iter().chain((0..8).map(twins::question)).chain(truth::questions()).collect()
    }

    fn counted(extent: Extent, rounds: u32) -> Vec<usize> {
        let questions = questions();
        let mut counts = vec![0; questions.len()];
        for number in 0..rounds {
            of(&questions, number, &order(extent)).into_iter().for_each(|index| counts[index] += 1);
        }
        counts
    }

    #[test]
    fn a_hundred_rounds_are_four_hundred_equals_and_as_many_twins() {
        let counts = counted(Extent::Rounds(100), 100);
        assert_eq!(counts[..3], [400, 100, 0]);
        assert_eq!(counts[3..11], [50; 8]);
        assert_eq!(counts[11], 20);
        let order = order(Extent::Rounds(100));
        assert_eq!(order.extent.pairs(&questions(), &order), Some(counts.iter().sum()));
        assert_eq!(Extent::Time(Picoseconds(1)).pairs(&questions(), &order), None);
    }

    #[test]
    fn a_number_of_pairs_is_that_many_of_each_kind() {
        let counts = counted(Extent::Pairs(3), 3);
        assert_eq!(counts[..3], [3, 3, 0]);
        assert_eq!(counts[3..12], [3; 9]);
    }

    #[test]
    fn rounds_are_shuffled_and_repeatable() {
        let questions = questions();
        let order = order(Extent::Rounds(2));
        assert_eq!(of(&questions, 0, &order), of(&questions, 0, &order));
        assert_ne!(of(&questions, 0, &order), of(&questions, 2, &order));
    }

    #[test]
    fn time_ends_between_pairs_and_rounds_end_by_count() {
        let second = Picoseconds::from_millis(1_000);
        assert!(Extent::Time(second).is_spent(second) && !Extent::Time(second).is_reached(99));
        assert!(Extent::Rounds(2).is_reached(2) && !Extent::Rounds(2).is_spent(second));
    }
}
