//! Names in code: a noun for each thing, and a sentence of bounded length for each test.

use super::scan::has_word;
use super::tree::{Tree, Violation};

/// Participles that keep back what they are about.
const NOUNLESS: &[&str] =
    &["found", "said", "told", "came", "looked", "Found", "Said", "Told", "Came", "FOUND", "SAID", "TOLD"];

/// Folders whose names wait for their nouns. An entry that is not needed fails. What `model` calls so is
/// named in files and schemas.
const UNNAMED: &[&str] = &[
    "crates/analysis/",
    "crates/bignum/",
    "crates/lab/",
    "crates/model/src/calibration.rs",
    "crates/model/src/lib.rs",
    "crates/reach/",
    "crates/store/",
    "crates/tenbin/",
    "eval/",
];

/// Letters of a function's name, and so of a test's.
const LONGEST: usize = 60;

/// Folders whose tests wait for shorter names. An entry that is not needed fails.
const LONG: &[&str] = &[
    "crates/analysis/",
    "crates/bignum/",
    "crates/lab/",
    "crates/reach/",
    "crates/store/",
    "crates/tenbin/",
    "eval/",
];

pub(super) fn nouns(tree: &Tree) -> Vec<Violation> {
    outside(tree, UNNAMED, |code| {
        let word = NOUNLESS.iter().find(|word| has_word(code, word))?;
        Some(format!("`{word}` names no thing"))
    })
}

pub(super) fn lengths(tree: &Tree) -> Vec<Violation> {
    outside(tree, LONG, |code| {
        let name = code.trim_start().strip_prefix("fn ")?.split('(').next()?;
        let letters = name.chars().count();
        (letters > LONGEST).then(|| format!("`{name}` has {letters} letters; {LONGEST} are the most"))
    })
}

/// What is wrong with lines of code outside of these folders, and which of these have nothing of the kind.
fn outside(tree: &Tree, excepted: &[&str], wrong: impl Fn(&str) -> Option<String>) -> Vec<Violation> {
    let mut violations = Vec::new();
    let mut needed = vec![false; excepted.len()];
    for file in &tree.files {
        for (index, code) in file.code.as_deref().unwrap_or_default().lines().enumerate() {
            let Some(message) = wrong(code) else { continue };
            match excepted.iter().position(|start| file.path.starts_with(start)) {
                Some(place) => needed[place] = true,
                None => violations.push(Violation::new(&file.path, index + 1, message)),
            }
        }
    }
    for (start, _) in excepted.iter().zip(needed).filter(|(_, needed)| !needed) {
        violations.push(Violation::new(start, 1, "stale: it is listed as an exception, and there is none"));
    }
    violations
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_without_a_noun_is_a_violation() {
        let text = "let found = 1;\n// found\nlet a = \"found\";\nlet founded = Told::One;\n";
        let tree = Tree::planted(&[("a.rs", text), ("b.md", "found\n")]);
        let lines = |excepted| {
            let wrong =
                |code: &str| NOUNLESS.iter().find(|word| has_word(code, word)).map(ToString::to_string);
            outside(&tree, excepted, wrong).into_iter().map(|it| it.line).collect::<Vec<_>>()
        };
        assert_eq!(lines(&[]), [1, 4]);
        assert_eq!(lines(&["a.rs"]), [0; 0]);
        assert_eq!(lines(&["a.rs", "c/"]), [1], "a stale entry");
    }

    #[test]
    fn a_long_name_is_a_violation() {
        let text = format!("fn {}() {{}}\n    fn {}() {{}}\n", "a".repeat(60), "b".repeat(61));
        let at = lengths(&Tree::planted(&[("a.rs", &text)])).into_iter().find(|it| it.path == "a.rs");
        assert_eq!(at.map(|it| it.line), Some(2));
    }
}
