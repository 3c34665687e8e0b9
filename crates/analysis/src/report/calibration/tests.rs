//! What `tenbin calibrate` prints, whole.

use super::calibration as shown;
use crate::calibration::rates;
use crate::calibration::specimen::{calibration, commands, cut_short, full, functions, unsound};

#[test]
fn a_calibration_is_answered_first_and_shown_in_tables_after() {
    let full = full();
    insta::assert_snapshot!(shown(&full, &rates(&full)).text(100));
}

#[test]
fn one_that_was_cut_short_says_how_little_it_knows() {
    let short = cut_short();
    insta::assert_snapshot!(shown(&short, &rates(&short)).text(100));
    let nothing = calibration(Vec::new());
    insta::assert_snapshot!(shown(&nothing, &rates(&nothing)).text(100));
}

#[test]
fn an_instrument_that_is_wrong_says_so_itself() {
    let unsound = unsound();
    insta::assert_snapshot!(shown(&unsound, &rates(&unsound)).text(80));
}

#[test]
fn commands_and_functions_stand_below_works_or_alone() {
    let both = calibration([full().series, commands(), functions()].concat());
    insta::assert_snapshot!(shown(&both, &rates(&both)).text(100));
    let alone = calibration(commands());
    insta::assert_snapshot!(shown(&alone, &rates(&alone)).text(100));
}
