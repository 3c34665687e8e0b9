//! The machine that steps against the axioms, on random litmus tests; and what a window that is too small
//! does.

use std::collections::BTreeSet;

use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::outcomes;
use crate::axiomatic::{self, Limits, Model, NoAnswer};
use crate::litmus::random::{self, Step};
use crate::litmus::{Outcome, Test};

/// A window that no random test fills.
const WHOLE: u32 = 16;

fn show(test: &Test, states: &BTreeSet<Outcome>) -> String {
    states.iter().map(|state| format!("\n  {}", test.outcome(state))).collect()
}

/// Compares both models on one test, under all memory orders.
fn compare(harts: &[Vec<Step>], most: usize) -> Result<(), TestCaseError> {
    let (text, test) = random::test(harts, most)?;
    for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
        let fail = |error: NoAnswer| TestCaseError::fail(format!("{model}: {error}\n{text}"));
        let axioms = axiomatic::outcomes(&test, model, Limits::default()).map_err(fail)?;
        let steps = outcomes(&test, model, WHOLE, Limits::default()).map_err(fail)?;
        prop_assert!(!steps.cut && !axioms.cut, "{model}: cut\n{text}");
        prop_assert!(!axioms.states.is_empty(), "{model}: no outcome\n{text}");
        prop_assert!(
            axioms.states == steps.states,
            "{model}\n{text}only the axioms allow{}\nonly the machine reaches{}",
            show(&test, &(&axioms.states - &steps.states)),
            show(&test, &(&steps.states - &axioms.states))
        );
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn two_harts_end_as_the_axioms_say(one in random::hart(4), other in random::hart(4)) {
        compare(&[one, other], 4)?;
    }

    #[test]
    fn three_harts_end_as_the_axioms_say(
        one in random::hart(3), two in random::hart(2), three in random::hart(2),
    ) {
        compare(&[one, two, three], 3)?;
    }

    #[test]
    fn a_small_window_gives_a_part_and_says_so(one in random::hart(4), other in random::hart(4)) {
        let (text, test) = random::test(&[one, other], 4)?;
        for model in [Model::Sc, Model::Tso, Model::Rvwmo] {
            let outcomes_within = |window| outcomes(&test, model, window, Limits::default());
            let fail = |error: NoAnswer| TestCaseError::fail(format!("{model}: {error}\n{text}"));
            let mut larger = outcomes_within(WHOLE).map_err(fail)?.states;
            let whole = larger.clone();
            for window in (1..=6).rev() {
                let small = outcomes_within(window).map_err(fail)?;
                prop_assert!(small.states.is_subset(&larger), "{model}, {window}\n{text}");
                prop_assert!(small.cut || small.states == whole, "{model}, {window}: not said\n{text}");
                // What every machine does, this one does too.
                prop_assert!(!small.states.is_empty(), "{model}, {window}\n{text}");
                larger = small.states;
            }
        }
    }
}

/// The random tests are worth something only if they tell the memory orders from one another.
#[test]
fn random_tests_tell_the_models_apart() {
    let mut runner = TestRunner::deterministic();
    let (mut strong, mut weak) = (0, 0);
    for _ in 0..200 {
        let harts =
            [random::hart(4), random::hart(4)].map(|hart| hart.new_tree(&mut runner).unwrap().current());
        let (_, test) = random::test(&harts, 4).unwrap();
        let [sc, tso, rvwmo] = [Model::Sc, Model::Tso, Model::Rvwmo]
            .map(|model| outcomes(&test, model, WHOLE, Limits::default()).unwrap().states);
        assert!(sc.is_subset(&tso) && tso.is_subset(&rvwmo), "{test:?}");
        strong += u32::from(sc != tso);
        weak += u32::from(tso != rvwmo);
    }
    assert!(strong >= 5 && weak >= 20, "{strong} {weak}");
}

const STORES: &str = "RISCV stores\n{ 0:x6=x; 0:x7=y; 0:x5=1; 1:x6=x; 1:x7=y; }
 P0 | P1 ;
 sw x5,0(x6) | lw x8,0(x7) ;
 sw x5,0(x7) | lw x9,0(x6) ;
exists (1:x8=1 /\\ 1:x9=0)";

#[test]
fn a_window_of_one_keeps_the_order_of_the_program() {
    let test = Test::read(STORES).unwrap();
    let sc = outcomes(&test, Model::Sc, WHOLE, Limits::default()).unwrap();
    let one = outcomes(&test, Model::Rvwmo, 1, Limits::default()).unwrap();
    assert_eq!((sc.states.len(), sc.cut), (3, false));
    assert!(one.cut);
    assert!(sc.states.is_subset(&one.states));
    let whole = outcomes(&test, Model::Rvwmo, WHOLE, Limits::default()).unwrap();
    assert_eq!((whole.states.len(), whole.cut), (4, false));
}

#[test]
fn too_few_steps_give_no_set_at_all() {
    let test = Test::read(STORES).unwrap();
    let whole = outcomes(&test, Model::Rvwmo, WHOLE, Limits::default()).unwrap();
    for steps in 0..whole.steps {
        let refused = outcomes(&test, Model::Rvwmo, WHOLE, Limits { steps, ..Limits::default() });
        assert!(matches!(refused, Err(NoAnswer::NotFinished { .. })), "{steps}: {refused:?}");
    }
    let limits = Limits { steps: whole.steps, ..Limits::default() };
    assert_eq!(outcomes(&test, Model::Rvwmo, WHOLE, limits), Ok(whole));
}
