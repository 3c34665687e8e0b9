//! What may be written where in Rust.

use super::scan::{has_word, lines_with_word};
use super::tree::{File, Tree, Violation};

/// The one folder where `unsafe` may stand.
const METAL: &str = "crates/metal/";

pub(super) fn unsafe_in_metal(tree: &Tree) -> Vec<Violation> {
    let elsewhere = tree.files.iter().filter(|file| !file.path.starts_with(METAL));
    elsewhere.flat_map(|file| words(file, file.code_lines(), &["unsafe"])).collect()
}

/// Tests may print: a test that is skipped says so.
pub(super) fn printing(tree: &Tree) -> Vec<Violation> {
    let may_print = |file: &File| {
        let printer = ["crates/tenbin/", "xtask/"].iter().any(|folder| file.path.starts_with(folder));
        printer || file.name() == "build.rs"
    };
    let prints = ["print!", "println!", "eprint!", "eprintln!", "dbg!"];
    let silent = tree.files.iter().filter(|file| !may_print(file));
    silent.flat_map(|file| words(file, file.product_lines(), &prints)).collect()
}

pub(super) fn exit_in_main(tree: &Tree) -> Vec<Violation> {
    let others = tree.files.iter().filter(|file| file.name() != "main.rs");
    others.flat_map(|file| words(file, file.product_lines(), &["process::exit", "process::abort"])).collect()
}

pub(super) fn ignored_with_reason(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        for (line, text) in file.code_lines() {
            if ignores_without_reason(text) {
                violations.push(Violation::new(&file.path, line, "a test is ignored, and nobody says why"));
            }
        }
    }
    violations
}

pub(super) fn nothing_unfinished(tree: &Tree) -> Vec<Violation> {
    // Written in two halves, so that this file does not break its own rule.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    let mut violations = Vec::new();
    for file in &tree.files {
        violations.extend(words(file, file.code_lines(), &["todo!", "unimplemented!"]));
        for mark in marks {
            for line in lines_with_word(file.lines(), mark) {
                violations.push(Violation::new(&file.path, line, format!("the mark {mark}")));
            }
        }
    }
    violations
}

/// Every use of one of `words` in `lines`, which are some of the lines of `file`.
fn words<'a>(file: &File, lines: impl Iterator<Item = (usize, &'a str)>, words: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (line, text) in lines {
        for word in words.iter().filter(|word| has_word(text, word)) {
            violations.push(Violation::new(&file.path, line, format!("`{word}` is not allowed here")));
        }
    }
    violations
}

fn ignores_without_reason(line: &str) -> bool {
    let Some(start) = line.find("#[") else { return false };
    let attribute = line[start + 2..].trim_start();
    let rest = if let Some(rest) = attribute.strip_prefix("ignore") {
        rest
    } else if attribute.starts_with("cfg_attr") && has_word(attribute, "ignore") {
        attribute.rsplit("ignore").next().unwrap_or_default()
    } else {
        return false;
    };
    match rest.trim_start().strip_prefix('=') {
        Some(reason) => reason.trim_start().starts_with("\"\""),
        None => !rest.starts_with(|letter: char| letter.is_alphanumeric() || letter == '_'),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Check = fn(&Tree) -> Vec<Violation>;

    fn lines(check: Check, path: &str, text: &str) -> Vec<usize> {
        check(&Tree::planted(&[(path, text)])).into_iter().map(|it| it.line).collect()
    }

    #[test]
    fn unsafe_is_found_outside_metal_only() {
        let text = "// unsafe\nfn a() { unsafe { b() } }\n#![forbid(unsafe_code)]\nlet c = \"unsafe\";";
        assert_eq!(lines(unsafe_in_metal, "crates/lab/src/a.rs", text), [2]);
        assert_eq!(lines(unsafe_in_metal, "crates/metal/src/a.rs", text), [0; 0]);
    }

    #[test]
    fn printing_is_found_outside_the_terminal_s_crates() {
        let text = "println!();\n// println!()\nstd::eprint!(\"print!\");\nmy_print();";
        assert_eq!(lines(printing, "crates/lab/src/a.rs", text), [1, 3]);
        assert_eq!(
            lines(printing, "crates/lab/src/a.rs", "#[cfg(test)]\nmod tests {\nprintln!();\n}\ndbg!()"),
            [5]
        );
        for path in ["crates/tenbin/src/a.rs", "xtask/src/a.rs", "crates/metal/build.rs"] {
            assert_eq!(lines(printing, path, text), [0; 0], "{path}");
        }
    }

    #[test]
    fn only_main_may_exit() {
        let text = "fn a() {\n    std::process::exit(1)\n}\nuse std::process::ExitCode;";
        assert_eq!(lines(exit_in_main, "crates/tenbin/src/terminal.rs", text), [2]);
        assert_eq!(lines(exit_in_main, "crates/tenbin/src/main.rs", text), [0; 0]);
    }

    #[test]
    fn an_ignored_test_gives_its_reason() {
        let cases = [
            ("#[ignore]", true),
            ("#[ ignore ]", true),
            ("#[ignore = \"\"]", true),
            ("#[cfg_attr(miri, ignore)]", true),
            ("#[ignore = \"needs two nodes\"]", false),
            ("#[cfg_attr(miri, ignore = \"slow\")]", false),
            ("#[ignored_by_us]", false),
            ("// #[ignore]", false),
        ];
        for (text, found) in cases {
            assert_eq!(!lines(ignored_with_reason, "a.rs", text).is_empty(), found, "{text}");
        }
    }

    #[test]
    fn unfinished_work_is_found_in_code_comments_and_documents() {
        let mark = concat!("TO", "DO");
        assert_eq!(lines(nothing_unfinished, "a.rs", "todo!()\n\"todo!\"\nunimplemented!();"), [1, 3]);
        assert_eq!(lines(nothing_unfinished, "a.rs", &format!("a\n// {mark}: b")), [2]);
        assert_eq!(lines(nothing_unfinished, "docs/a.md", &format!("{mark}\nMASTO{mark}N")), [1]);
    }
}
