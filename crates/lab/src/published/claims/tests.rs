//! Claims of which it is known what they come to.

use proptest::prelude::*;

use super::*;

fn rows() -> Rows {
    Rows::read("side,s,count\na,11.095,3\nb,511.031,4\nc,0.50,0\n").unwrap()
}

fn of(side: &str) -> Figure {
    Figure::at(&rows(), "s", &[("side", side)])
}

fn times() -> Figure {
    of("b") / of("a")
}

fn sentence(claims: &[Claim]) -> (String, String) {
    let finding = finding("pipe", "A. Uthor, undated", claims).unwrap();
    (finding.sentence, finding.evidence)
}

#[test]
fn a_contradiction_shows_the_recomputation_and_its_cause() {
    let wrong = Claim::is("writes are x44.0", "44.0", times()).instead("Of another it is", of("b") / of("a"));
    let (sentence, evidence) = sentence(&[wrong, Claim::is("writes are x46.1", "46.1", times())]);
    assert_eq!(
        sentence,
        "A. Uthor, undated: of 2 statements about figures of its own, 1 follows from them as printed, and 1 does not."
    );
    assert_eq!(
        evidence,
        "Does not hold: writes are x44.0: 511.031 / 11.095 = 46.06. Of another it is 511.031 / 11.095 = 46.06.\n\
         As printed: 511.031 / 11.095 = 46.06."
    );
}

#[test]
fn what_rounding_explains_is_no_contradiction() {
    let text = |text| Figure::printed(text);
    let wait = || text("5.35") - text("3.59") - text("1.78");
    assert_eq!(Claim::is("", "-0.01", wait()).outcome(), Outcome::Rounded);
    assert_eq!(Claim::is("", "-0.02", wait()).outcome(), Outcome::Holds);
    assert_eq!(Claim::is("", "0.00", wait()).outcome(), Outcome::Rounded);
    assert_eq!(Claim::is("", "0.01", wait()).outcome(), Outcome::Fails);
    let core = || text("281") - (text("604") + text("905")) / Figure::exact(8.0);
    assert_eq!(Claim::is("", "92.3", core()).outcome(), Outcome::Rounded);
    // What was counted was not rounded.
    let quotient = || Figure::exact(1035.0) / Figure::exact(24.0);
    assert_eq!(Claim::is("", "43.148", quotient()).outcome(), Outcome::Fails);
    assert_eq!(Claim::is("", "43.125", quotient()).outcome(), Outcome::Holds);
}

#[test]
fn other_relations_hold_and_fail() {
    let outcome = |claim: Claim| claim.outcome();
    for (claim, expected) in [
        (Claim::over("", "46", times()), Outcome::Holds),
        (Claim::over("", "47", times()), Outcome::Fails),
        (Claim::over("", "0.50", of("c")), Outcome::Rounded),
        (Claim::at_most("", "47", times()), Outcome::Holds),
        (Claim::at_most("", "46", times()), Outcome::Fails),
        (Claim::order("", "100", times()), Outcome::Holds),
        (Claim::order("", "1000", times()), Outcome::Fails),
        (Claim::whole("", "511.031", of("b") * Figure::exact(1000.0)), Outcome::Holds),
        (Claim::whole("", "511.031", of("b") * Figure::exact(100.0)), Outcome::Fails),
    ] {
        let words = format!("{claim:?}");
        assert_eq!(outcome(claim), expected, "{words}");
    }
    // Where the divisor may be 0 nothing is refuted.
    let open = of("b") / Figure::at(&rows(), "count", &[("side", "c")]);
    assert_eq!(Claim::is("", "7", open).outcome(), Outcome::Rounded);
}

#[test]
fn formulas_keep_what_belongs_together() {
    let [a, b, c] = ["1", "2", "4"].map(Figure::printed);
    let of = |figure: Figure| figure.in_words("1");
    assert_eq!(of(a.clone() / (b.clone() / c.clone())), "1 / (2 / 4) = 2");
    assert_eq!(of(a.clone() / b.clone() / c.clone()), "1 / 2 / 4 = 0.125");
    assert_eq!(of(c.clone() - (b.clone() + a.clone())), "4 - (2 + 1) = 1");
    assert_eq!(of((c - b.clone()) * a / b), "(4 - 2) * 1 / 2 = 1");
    assert_eq!(of(Figure::exact(37.3) / Figure::exact(1e9)), "37.3 / 1000000000 = 3.73e-8");
}

#[test]
fn without_claims_nothing_is_said() {
    assert_eq!(finding("pipe", "A. Uthor", &[]), None);
}

proptest! {
    /// Whatever figures were before they were rounded, what they made lies within the bounds.
    #[test]
    fn what_was_true_before_rounding_is_within_the_bounds(
        parts in prop::array::uniform3(1.0_f64..1000.0), places in 0_usize..4
    ) {
        let printed = parts.map(|part| Figure::printed(&format!("{part:.places$}")));
        let [a, b, c] = printed;
        for (figure, truth) in [
            (a.clone() / b.clone() - c.clone(), parts[0] / parts[1] - parts[2]),
            ((a.clone() + b.clone()) * c.clone(), (parts[0] + parts[1]) * parts[2]),
            (a / (b - c), parts[0] / (parts[1] - parts[2])),
        ] {
            let slack = 1e-9 * truth.abs();
            prop_assert!(figure.low - slack <= truth && truth <= figure.high + slack, "{:?} {}", figure, truth);
        }
    }

    /// A figure that was rounded from what it is made of never contradicts it; one that is off by more than
    /// all rounding does.
    #[test]
    fn a_planted_error_is_seen_and_rounding_is_not(one in 10.0_f64..1000.0, other in 10.0_f64..1000.0) {
        let [one, other] = [one, other].map(|part| format!("{part:.3}"));
        let quotient = Figure::printed(&one) / Figure::printed(&other);
        let printed: &'static str = format!("{:.2}", quotient.value).leak();
        prop_assert_eq!(Claim::is("", printed, quotient.clone()).outcome(), Outcome::Holds);
        let planted: &'static str = format!("{:.2}", quotient.high + 0.02).leak();
        prop_assert_eq!(Claim::is("", planted, quotient).outcome(), Outcome::Fails);
    }
}
