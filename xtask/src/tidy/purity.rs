//! What measures and what judges stand in one crate, a folder a question, and stay apart in it.

use super::scan::has_word;
use super::tree::{File, Tree, Violation};

/// Where questions stand.
const QUESTIONS: &str = "crates/lab/src/experiments/";

/// What no analysis touches: hardware, clocks, files, processes.
const IMPURE: &[&str] = &["tenbin_metal", "Instant", "SystemTime", "fs", "process", "env"];

/// What nothing does that measures.
const STATISTICS: &[&str] = &["tenbin_stats"];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let questions = tree.files.iter().filter(|file| file.path.starts_with(QUESTIONS));
    let (judging, measuring): (Vec<_>, Vec<_>) = questions.partition(|file| is_analysis(file));
    let rest = tree
        .files
        .iter()
        .filter(|file| file.path.starts_with("crates/lab/src/") && !file.path.starts_with(QUESTIONS));
    let judging = judging.into_iter().flat_map(|file| naming(file, IMPURE));
    judging.chain(measuring.into_iter().chain(rest).flat_map(|file| naming(file, STATISTICS))).collect()
}

/// Whether a file is an analysis, or stands in the folder of one.
fn is_analysis(file: &File) -> bool {
    file.path.ends_with("/analysis.rs") || file.path.contains("/analysis/")
}

/// The lines of the product that name one of `words`.
fn naming(file: &File, words: &[&str]) -> Vec<Violation> {
    let lines = file.product_lines();
    let named = lines.filter_map(|(line, text)| {
        let word = words.iter().find(|word| has_word(text, word))?;
        Some(Violation::new(&file.path, line, format!("it names `{word}`")))
    });
    named.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_in_an_analysis_and_statistics_beside_one_are_seen() {
        let both = "use tenbin_metal::Clock;\nuse tenbin_stats::sign;\n";
        let lines = |path: &str| {
            let tree = Tree::planted(&[(path, both)]);
            check(&tree).into_iter().map(|violation| violation.line).collect::<Vec<_>>()
        };
        assert_eq!(lines("crates/lab/src/experiments/a/analysis.rs"), [1]);
        assert_eq!(lines("crates/lab/src/experiments/a/analysis/b.rs"), [1]);
        assert_eq!(lines("crates/lab/src/experiments/a.rs"), [2]);
        assert_eq!(lines("crates/lab/src/engine/a.rs"), [2]);
        assert_eq!(lines("crates/stats/src/a.rs"), [0; 0]);
    }
}
