//! What holds for every text file.

use super::scan::has_word;
use super::tree::{Tree, Violation};

/// Beginnings of paths that exist on one machine only. Written so that this file passes.
const MACHINE_PATHS: &[&str] = &[
    concat!("/", "home/"),
    concat!("/", "root/"),
    concat!("/", "work/"),
    concat!("/", "Users/"),
    concat!("/", "tmp-"),
];

pub(super) fn no_machine_paths(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        for (number, line) in file.lines() {
            if let Some(path) = MACHINE_PATHS.iter().find(|path| begins_a_path(line, path)) {
                violations.push(Violation::new(
                    &file.path,
                    number,
                    format!("a path that begins with {path}"),
                ));
            }
        }
    }
    violations
}

/// Where lists are joined; build scripts come before every crate of ours.
const LISTS: &str = "crates/model/src/words.rs";

/// Between the members of a list in words.
const BETWEEN: &[&str] = &["\", \"", "\"; \"", "\" and \"", "\" or \""];

pub(super) fn lists_in_one_place(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| file.path != LISTS && file.name() != "build.rs") {
        // The product has what is code, and the text what a literal holds.
        for ((number, code), (_, line)) in file.product_lines().zip(file.lines()) {
            let list = BETWEEN.iter().any(|between| line.contains(&format!(".join({between})")));
            if list && code.contains(".join(") {
                violations.push(Violation::new(&file.path, number, "a list is joined here"));
            }
        }
    }
    violations
}

/// Macros that stand for what is missing are clippy's to find.
pub(super) fn nothing_unfinished(tree: &Tree) -> Vec<Violation> {
    // Written in two halves, so that this file does not break its own rule.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let mut violations = Vec::new();
    for file in &tree.files {
        for (line, text) in file.lines() {
            let marks = marks.iter().filter(|mark| has_word(text, mark));
            violations.extend(marks.map(|mark| Violation::new(&file.path, line, format!("the mark {mark}"))));
        }
    }
    violations
}

pub(super) fn trailing_whitespace(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        // A carriage return at the end counts too: `lines` would hide it.
        let text = file.text.as_deref().unwrap_or_default();
        for (index, line) in text.split('\n').enumerate() {
            if line.ends_with(char::is_whitespace) {
                violations.push(Violation::new(&file.path, index + 1, "white space at the end of the line"));
            }
        }
    }
    violations
}

pub(super) fn final_newline(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        let text = file.text.as_deref().unwrap_or_default();
        let last = text.lines().count().max(1);
        if !text.is_empty() && !text.ends_with('\n') {
            violations.push(Violation::new(&file.path, last, "no newline at the end of the file"));
        } else if text.ends_with("\n\n") {
            violations.push(Violation::new(&file.path, last, "an empty line at the end of the file"));
        }
    }
    violations
}

/// Whether `start` stands in `line` where a path begins, and not inside of one.
fn begins_a_path(line: &str, start: &str) -> bool {
    line.match_indices(start).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        !before.is_some_and(|letter| letter.is_alphanumeric() || "._-/*}>)".contains(letter))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_that_is_joined_elsewhere_is_found() {
        let text = "a.join(\", \");\nb.join(\"/\");\n// c.join(\", \")\nd.join(\" and \");\n";
        let violations = |path: &str| lists_in_one_place(&Tree::planted(&[(path, text)])).len();
        assert_eq!(
            [violations("crates/a/src/lib.rs"), violations(LISTS), violations("crates/a/build.rs")],
            [2, 0, 0]
        );
        assert_eq!(violations("crates/a/tests/b.rs"), 0);
    }

    fn count(check: fn(&Tree) -> Vec<Violation>, text: &str) -> usize {
        check(&Tree::planted(&[("a.txt", text)])).len()
    }

    #[test]
    fn a_path_of_one_machine_is_found() {
        for start in MACHINE_PATHS {
            assert_eq!(count(no_machine_paths, &format!("see `{start}x`\n")), 1, "{start}");
            assert_eq!(count(no_machine_paths, &format!("see target{start}x\n")), 0, "{start}");
            assert_eq!(count(no_machine_paths, &format!("see $HOME/..{start}x\n")), 0, "{start}");
        }
    }

    #[test]
    fn unfinished_work_is_found_in_code_comments_and_documents() {
        let mark = concat!("TO", "DO");
        assert_eq!(count(nothing_unfinished, &format!("a\n// {mark}: b\n{mark}\nMASTO{mark}N\n")), 2);
    }

    #[test]
    fn white_space_at_the_end_of_a_line_is_found() {
        assert_eq!(count(trailing_whitespace, "a \nb\t\nc\r\nd\n"), 3);
        assert_eq!(count(trailing_whitespace, " a b\n\nc\n"), 0);
    }

    #[test]
    fn a_missing_newline_is_found_and_one_too_many() {
        assert_eq!(count(final_newline, "a"), 1);
        assert_eq!(count(final_newline, "a\n\n"), 1);
        assert_eq!(count(final_newline, "a\n"), 0);
        assert_eq!(count(final_newline, ""), 0);
    }
}
