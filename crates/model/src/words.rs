//! Lists, counts, fractions and folded lines: how they are said, in one place.

use std::fmt::Display;

use crate::unit::three_digits;

/// `a, b and c`; of nothing nothing.
pub fn and(items: impl IntoIterator<Item = impl Display>) -> String {
    joined(items, " and ")
}

/// `a, b or c`; of nothing nothing.
pub fn or(items: impl IntoIterator<Item = impl Display>) -> String {
    joined(items, " or ")
}

/// `a, b, and c`: clauses, which may hold lists of their own; of nothing nothing.
pub fn clauses(items: impl IntoIterator<Item = impl Display>) -> String {
    joined(items, ", and ")
}

/// `a, b, c`; of nothing nothing.
pub fn comma(items: impl IntoIterator<Item = impl Display>) -> String {
    strings(items).join(", ")
}

/// `a; b; c`, of parts that may hold commas; of nothing nothing.
pub fn semicolon(items: impl IntoIterator<Item = impl Display>) -> String {
    strings(items).join("; ")
}

/// The first `most` of these as `a, b, c`, and how many more there are: `a, b and 3 more`.
pub fn first(items: impl IntoIterator<Item = impl Display>, most: usize) -> String {
    let items = strings(items);
    let shown = items[..items.len().min(most)].join(", ");
    match items.len().saturating_sub(most) {
        0 => shown,
        more => format!("{shown} and {more} more"),
    }
}

/// `1 run`, `2 runs`: a count with its noun, whose plural ends in s.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {}", plural(count, noun))
}

/// `run` or `runs`: the noun that a count asks for, whose plural ends in s.
pub fn plural(count: usize, noun: &str) -> String {
    format!("{noun}{}", if count == 1 { "" } else { "s" })
}

/// A fraction in percent with up to three digits: `1 %`, `0.25 %`, `14.5 %`.
pub fn percent(fraction: f64) -> String {
    let digits = three_digits(fraction * 100.0);
    let trimmed =
        if digits.contains('.') { digits.trim_end_matches('0').trim_end_matches('.') } else { &digits };
    format!("{trimmed} %")
}

/// The text with its first letter as a sentence begins.
pub fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

/// Bytes of memory in mebibytes or gibibytes, with one decimal: `1.5 GiB`.
pub fn memory(bytes: u64) -> String {
    let (power, unit) = if bytes >> 30 > 0 { (30, "GiB") } else { (20, "MiB") };
    format!("{:.1} {unit}", bytes as f64 / f64::from(1 << power))
}

/// `text` folded between words so that no line is wider than `width`, indented by `indent`.
pub fn folded(text: &str, indent: usize, width: usize) -> String {
    let room = width.saturating_sub(indent).max(20);
    let mut lines: Vec<String> = vec![String::new()];
    for word in unbroken(text) {
        let line = lines
            .last_mut()
            .filter(|line| line.is_empty() || line.chars().count() + 1 + word.chars().count() <= room);
        match line {
            Some(line) => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(&word);
            }
            None => lines.push(word),
        }
    }
    let margin = " ".repeat(indent);
    lines.iter().map(|line| format!("{margin}{line}\n")).collect()
}

/// The words of `text`; a per cent sign stays with its figure.
fn unbroken(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(figure) if word.starts_with('%') => {
                figure.push(' ');
                figure.push_str(word);
            }
            _ => words.push(word.into()),
        }
    }
    words
}

fn joined(items: impl IntoIterator<Item = impl Display>, before_last: &str) -> String {
    match strings(items).as_slice() {
        [all @ .., last] if !all.is_empty() => format!("{}{before_last}{last}", all.join(", ")),
        all => all.concat(),
    }
}

fn strings(items: impl IntoIterator<Item = impl Display>) -> Vec<String> {
    items.into_iter().map(|item| item.to_string()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_of_any_length_are_said() {
        for (items, listed) in
            [(&[][..], ""), (&["a"], "a"), (&["a", "b"], "a and b"), (&["a", "b", "c"], "a, b and c")]
        {
            assert_eq!(and(items), listed);
            assert_eq!(or(items), listed.replace("and", "or"));
        }
        assert_eq!(clauses(["a and b", "c"]), "a and b, and c");
        assert_eq!(comma([1, 2, 3]), "1, 2, 3");
        assert_eq!(semicolon(["1, 2", "3"]), "1, 2; 3");
        assert_eq!(first(["a", "b", "c", "d"], 2), "a, b and 2 more");
        assert_eq!(first(["a", "b"], 2), "a, b");
    }

    #[test]
    fn a_count_has_the_noun_that_it_asks_for() {
        assert_eq!([0, 1, 2].map(|count| counted(count, "run")), ["0 runs", "1 run", "2 runs"]);
    }

    #[test]
    fn a_fraction_has_at_most_three_digits_of_a_percentage() {
        assert_eq!([0.01, 0.0025, 0.145, 1.0].map(percent), ["1 %", "0.25 %", "14.5 %", "100 %"]);
    }

    #[test]
    fn text_is_folded_between_words() {
        assert_eq!(folded("from twenty words 5 % (9)", 0, 20), "from twenty words\n5 % (9)\n");
        assert_eq!(folded("a-word-longer-than-any-line-here", 2, 10), "  a-word-longer-than-any-line-here\n");
    }

    #[test]
    fn a_sentence_begins_with_a_capital() {
        assert_eq!([capitalised("give it time"), capitalised("")], ["Give it time", ""]);
    }
}
