//! In which order questions are asked.

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64;

/// A question by number: which tool, which work, which effect.
pub(super) type Task = [usize; 3];

/// Rounds without end. Each holds every question once, in an order that `seed` decides.
pub(super) fn rounds(seed: u64, counts: [usize; 3]) -> impl Iterator<Item = Vec<Task>> {
    let mut generator = Pcg64::seed_from_u64(seed);
    std::iter::repeat_with(move || {
        let mut tasks = all(counts);
        tasks.shuffle(&mut generator);
        tasks
    })
}

fn all([tools, works, effects]: [usize; 3]) -> Vec<Task> {
    let pairs =
        move |tool| (0..works).flat_map(move |work| (0..effects).map(move |effect| [tool, work, effect]));
    (0..tools).flat_map(pairs).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const COUNTS: [usize; 3] = [3, 2, 2];

    fn first(seed: u64) -> Vec<Vec<Task>> {
        rounds(seed, COUNTS).take(3).collect()
    }

    #[test]
    fn a_seed_means_the_same_order_always() {
        assert_eq!(first(1), first(1));
        assert_ne!(first(1), first(2));
        // As it was when this test was written: the generator promises it for ever.
        assert_eq!(first(1)[0][..3], [[0, 1, 1], [2, 1, 1], [0, 0, 0]]);
    }

    #[test]
    fn every_round_asks_everything_once_in_an_order_of_its_own() {
        let rounds = first(1);
        for round in &rounds {
            let mut sorted = round.clone();
            sorted.sort();
            assert_eq!(sorted, all(COUNTS));
        }
        assert_ne!(rounds[0], rounds[1]);
    }

    #[test]
    fn where_there_is_no_tool_there_is_no_question() {
        assert_eq!(rounds(1, [0, 2, 2]).next(), Some(Vec::new()));
    }
}
