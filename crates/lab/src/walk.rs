//! What a walk through a chase must be: one cycle.

use tenbin_metal::Chase;

use crate::experiment::Seen;

/// Whether the walk comes back after every line and not before.
pub(crate) fn comes_back(chase: &Chase) -> Seen {
    let (length, lines) = (chase.cycle_length(), chase.lines());
    let seen = format!("the walk returns after {length} of {lines} lines");
    if length == lines { Seen::Met(seen) } else { Seen::Broken(seen) }
}

#[cfg(test)]
mod tests {
    use tenbin_metal::pages::PageKind;

    use super::*;

    #[test]
    fn one_cycle_is_met_and_two_are_broken_with_both_figures() {
        let whole = Chase::new(4096, 64, PageKind::Base, |bound| bound / 2).unwrap();
        assert_eq!(comes_back(&whole), Seen::Met("the walk returns after 64 of 64 lines".into()));
        let broken = Chase::two_cycles(4096, 64, PageKind::Base, |bound| bound / 2).unwrap();
        assert!(matches!(comes_back(&broken), Seen::Broken(seen) if seen.ends_with("of 64 lines")));
    }
}
