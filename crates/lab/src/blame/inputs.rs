//! The inputs of an examination: all small ones, some large ones, then random ones that can be made smaller
//! again.

use proptest::strategy::{BoxedStrategy, Strategy, ValueTree};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use super::contract::{Contract, Input};
use crate::experiment::Unfit;

/// Steps after which making an input smaller has gone far enough.
const MOST_STEPS: u32 = 2_000;

/// Inputs, numbered: the small ones first, from the smallest on, then the large ones, then the random ones.
pub(super) struct Inputs<I> {
    pub(super) all: Vec<I>,
    small: usize,
    chosen: usize,
    any: fn() -> BoxedStrategy<I>,
    smaller: fn(&I) -> Vec<I>,
    seed: u64,
}

impl<I: Input> Inputs<I> {
    /// All small and large inputs of the contract and `cases` random ones. The seed decides those.
    pub(super) fn new<O>(contract: &Contract<I, O>, seed: u64, cases: u32) -> Self {
        let mut all = (contract.small)();
        let small = all.len();
        all.extend((contract.large)());
        let chosen = all.len();
        let (mut runner, strategy) = (runner(seed), (contract.any)());
        all.extend((0..cases).filter_map(|_| Some(strategy.new_tree(&mut runner).ok()?.current())));
        Self { all, small, chosen, any: contract.any, smaller: contract.smaller, seed }
    }

    /// The smallest input that can be reached from the one at `place` and of which `shows` shows something,
    /// and what that is; none where it shows nothing even of that one. A small input is the smallest already:
    /// smaller ones were tried before it. Of a random one the library for properties takes the large steps;
    /// then no single step of the contract leads on.
    pub(super) fn shrink<T>(
        &self,
        place: usize,
        mut shows: impl FnMut(&I) -> Result<Option<T>, Unfit>,
    ) -> Result<Option<(I, T)>, Unfit> {
        let Some(input) = self.all.get(place) else { return Ok(None) };
        let Some(shown) = shows(input)? else { return Ok(None) };
        let mut smallest = (input.clone(), shown);
        if place < self.small {
            return Ok(Some(smallest));
        }
        let mut steps = 0;
        if let Some(mut tree) = self.tree(place) {
            let mut going_on = tree.simplify();
            while going_on && steps < MOST_STEPS {
                steps += 1;
                let now = tree.current();
                going_on = if let Some(shown) = shows(&now)? {
                    smallest = (now, shown);
                    tree.simplify()
                } else {
                    tree.complicate()
                };
            }
        }
        'smaller: loop {
            for next in (self.smaller)(&smallest.0) {
                if steps == MOST_STEPS {
                    break 'smaller;
                }
                steps += 1;
                if let Some(shown) = shows(&next)? {
                    smallest = (next, shown);
                    continue 'smaller;
                }
            }
            break;
        }
        Ok(Some(smallest))
    }

    /// The random input at `place` with all that it can become, made again from the seed.
    fn tree(&self, place: usize) -> Option<Box<dyn ValueTree<Value = I>>> {
        let before = place.checked_sub(self.chosen)?;
        let (mut runner, strategy) = (runner(self.seed), (self.any)());
        for _ in 0..before {
            strategy.new_tree(&mut runner).ok()?;
        }
        strategy.new_tree(&mut runner).ok()
    }
}

/// A runner whose sequence is the seed's alone.
fn runner(seed: u64) -> TestRunner {
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(Config::default(), TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}
