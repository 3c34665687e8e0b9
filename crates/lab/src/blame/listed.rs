//! Lists that may be long, in words.

use tenbin_model::words::comma;

/// How many are shown of a list that is longer than this.
const SHOWN: usize = 12;

/// The longest list that is shown whole.
const WHOLE: usize = 20;

/// "[1, 2, 3]"; of more than twenty only the first: "[1, 2, … and 198 more]".
pub(super) fn listed(items: impl ExactSizeIterator<Item = String>) -> String {
    let count = items.len();
    let shown = if count > WHOLE { SHOWN } else { count };
    let words = comma(items.take(shown));
    if count > shown { format!("[{words}, … and {} more]", count - shown) } else { format!("[{words}]") }
}

#[cfg(test)]
mod tests {
    use super::listed;

    #[test]
    fn a_long_list_ends_with_how_many_more_there_are() {
        let numbers = |count: usize| listed((0..count).map(|it| it.to_string()));
        assert_eq!((numbers(0), numbers(2)), ("[]".into(), "[0, 1]".into()));
        assert!(numbers(20).ends_with(", 18, 19]"));
        assert_eq!(numbers(200), "[0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, … and 188 more]");
    }
}
