//! The rules of the house that a program can check.
//!
//! A rule is a function from the tree to its violations. All rules run before the chore fails.
//! Every rule has a test with a planted violation, beside it.

mod dependencies;
mod documents;
mod edges;
mod layout;
mod manifest;
mod names;
mod purity;
mod scan;
mod text;
mod tree;

use crate::failure::Failure;
use crate::workspace::Workspace;
use tree::{Tree, Violation};

/// One rule.
struct Rule {
    /// What it is called in a message.
    name: &'static str,
    /// What must hold.
    sentence: &'static str,
    /// What to do where it does not.
    remedy: &'static str,
    /// The places where it does not hold.
    check: fn(&Tree) -> Vec<Violation>,
}

/// Every rule. Adding one is a block here and a function in a module.
const RULES: &[Rule] = &[
    Rule {
        name: "crate-edges",
        sentence: "The edges between our crates equal the table in xtask/src/tidy/edges.rs.",
        remedy: "remove the dependency, or change the table and say why in ARCHITECTURE.md",
        check: edges::check,
    },
    Rule {
        name: "paths-exist",
        sentence: "Every path of this repository that a document names in backticks exists.",
        remedy: "correct the path, or create the file",
        check: documents::paths_exist,
    },
    Rule {
        name: "links-resolve",
        sentence: "Every relative link in Markdown leads to a file of this repository.",
        remedy: "correct the link",
        check: documents::links_resolve,
    },
    Rule {
        name: "purity",
        sentence: "No analysis of a question names hardware, clocks, files or processes; nothing that measures names statistics.",
        remedy: "let the plan hand it over as a sample, a point or a parameter",
        check: purity::check,
    },
    Rule {
        name: "nothing-unfinished",
        sentence: "No file holds a mark of unfinished work.",
        remedy: "finish it, or say in a document that it is missing",
        check: text::nothing_unfinished,
    },
    Rule {
        name: "no-drawers",
        sentence: "No file or folder is named after a drawer (utils, helpers, misc, common).",
        remedy: "name it after what it holds",
        check: layout::no_drawers,
    },
    Rule {
        name: "file-length",
        sentence: "No Rust file outside tests is longer than one reading holds; the exceptions are listed.",
        remedy: "split it, or list it in xtask/src/tidy/layout.rs if its units are uniform",
        check: layout::file_length,
    },
    Rule {
        name: "formatted",
        sentence: "Every Rust file of a crate is reached by `mod` lines, so that `cargo fmt` sees it.",
        remedy: "declare it by a `mod` line that no macro hides, or remove it",
        check: layout::formatted,
    },
    Rule {
        name: "line-width",
        sentence: "No line of Rust is wider than max_width of rustfmt.toml, but for what a string holds.",
        remedy: "wrap it",
        check: layout::line_width,
    },
    Rule {
        name: "document-width",
        sentence: "No line of a document is wider than 120 letters, but for rows of tables and text that stands as it is.",
        remedy: "wrap it",
        check: layout::document_width,
    },
    Rule {
        name: "nouns-in-names",
        sentence: "No name in code is a participle without its noun (found, said, told, came, looked).",
        remedy: "name the thing, or list the folder in xtask/src/tidy/names.rs",
        check: names::nouns,
    },
    Rule {
        name: "short-test-names",
        sentence: "No function, and so no test, has a name of more than 60 letters.",
        remedy: "say the property in fewer words",
        check: names::lengths,
    },
    Rule {
        name: "lists-in-one-place",
        sentence: "What is listed in words is joined by crates/model/src/words.rs alone.",
        remedy: "use tenbin_model::words",
        check: text::lists_in_one_place,
    },
    Rule {
        name: "no-machine-paths",
        sentence: "No file names an absolute path of somebody's machine.",
        remedy: "make the path relative, or take it from the environment",
        check: text::no_machine_paths,
    },
    Rule {
        name: "trailing-whitespace",
        sentence: "No line ends in white space.",
        remedy: "remove it",
        check: text::trailing_whitespace,
    },
    Rule {
        name: "final-newline",
        sentence: "Every text file ends in one newline.",
        remedy: "make the last line end in a newline, and let no empty line follow",
        check: text::final_newline,
    },
    Rule {
        name: "manifest-inherits",
        sentence: "Every crate takes version, edition, licence, dependencies and lints from its workspace.",
        remedy: "write `.workspace = true`",
        check: dependencies::inherited,
    },
    Rule {
        name: "dependencies-pinned",
        sentence: "Every third-party dependency is pinned to one version, and used by a crate.",
        remedy: "write version = \"=x.y.z\" in [workspace.dependencies], or remove the line",
        check: dependencies::pinned,
    },
    Rule {
        name: "dependencies-documented",
        sentence: "docs/dependencies.md lists every third-party dependency with its version, licence and reason.",
        remedy: "make the table in docs/dependencies.md agree with Cargo.toml",
        check: dependencies::documented,
    },
];

/// Check every rule on the tree, and print what breaks one.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let tree = Tree::read(workspace)?;
    let mut broken = 0;
    for rule in RULES {
        for violation in (rule.check)(&tree) {
            broken += 1;
            println!("{}", describe(rule, &violation));
        }
    }
    println!("tidy: {} rules, {} files, {broken} violations", RULES.len(), tree.files.len());
    if broken == 0 {
        return Ok(());
    }
    Err(Failure::new("find the tree tidy", format!("{broken} violations"), "correct each place named above"))
}

/// Print the rules.
pub(crate) fn list() {
    for rule in RULES {
        println!("{:<24} {}", rule.name, rule.sentence);
    }
}

fn describe(rule: &Rule, violation: &Violation) -> String {
    let Violation { path, line, message } = violation;
    format!(
        "{path}:{line}: {message}\n  rule {}: {}\n  what to do: {}",
        rule.name, rule.sentence, rule.remedy
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_violation_names_place_rule_and_remedy() {
        let tree = Tree::planted(&[("crates/lab/src/utils.rs", "")]);
        let rule = RULES.iter().find(|rule| rule.name == "no-drawers").expect("the rule is listed");
        let violations = (rule.check)(&tree);
        let text = describe(rule, &violations[0]);
        assert!(text.starts_with("crates/lab/src/utils.rs:1: "), "{text}");
        assert!(text.contains("rule no-drawers") && text.contains("what to do: name it"), "{text}");
    }

    #[test]
    fn names_are_unique_and_sentences_end() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(rule.sentence.ends_with('.'), "{}", rule.name);
            assert!(RULES[..index].iter().all(|other| other.name != rule.name), "{}", rule.name);
        }
    }
}
