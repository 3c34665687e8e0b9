//! Names of files, and how long they may be.

use super::tree::{File, Tree, Violation};

/// A reader should hold a file in one reading: so many lines of code, comments and tests not counted.
const LONGEST: usize = 500;

/// Files that may be longer, because their units are uniform. An entry that is not needed fails.
const UNIFORM: &[&str] = &[];

/// Names that say nothing about what is inside.
const DRAWERS: &[&str] =
    &["utils", "util", "utilities", "utility", "helpers", "helper", "misc", "common", "commons"];

pub(super) fn no_drawers(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in &tree.files {
        let stems = file.path.split('/').map(|part| part.split('.').next().unwrap_or(part));
        if let Some(stem) = stems.into_iter().find(|stem| DRAWERS.contains(&stem.to_lowercase().as_str())) {
            violations.push(Violation::new(&file.path, 1, format!("`{stem}` is the name of a drawer")));
        }
    }
    violations
}

pub(super) fn file_length(tree: &Tree) -> Vec<Violation> {
    too_long(tree, UNIFORM)
}

fn too_long(tree: &Tree, uniform: &[&str]) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| !uniform.contains(&file.path.as_str())) {
        let length = length(file);
        if length > LONGEST {
            let message = format!("{length} lines of code; {LONGEST} are the most");
            violations.push(Violation::new(&file.path, 1, message));
        }
    }
    for path in uniform {
        if tree.file(path).is_none_or(|file| length(file) <= LONGEST) {
            let message = "stale: the list of long files names it, but it is not long, or not there";
            violations.push(Violation::new(path, 1, message));
        }
    }
    violations
}

/// Lines that hold code, tests left out.
fn length(file: &File) -> usize {
    file.product_lines().filter(|(_, line)| !line.trim().is_empty()).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drawer_is_found_whether_file_or_folder() {
        let bad = ["crates/lab/src/utils.rs", "xtask/helpers/a.rs", "bpf/common.h", "docs/misc.md"];
        for path in bad {
            assert_eq!(no_drawers(&Tree::planted(&[(path, "")])).len(), 1, "{path}");
        }
        for path in ["crates/lab/src/commons_law.rs", "docs/utilisation.md"] {
            assert_eq!(no_drawers(&Tree::planted(&[(path, "")])), [], "{path}");
        }
    }

    #[test]
    fn a_long_file_is_found_and_comments_and_tests_do_not_count() {
        let code = "fn a() {}\n".repeat(LONGEST + 1);
        let comments = "// a\n\n".repeat(LONGEST + 1);
        let tests = format!("#[cfg(test)]\nmod tests {{\n{code}}}\n");
        let found = |path: &str, text: &str| too_long(&Tree::planted(&[(path, text)]), &[]).len();
        assert_eq!(found("crates/lab/src/a.rs", &code), 1);
        assert_eq!(found("crates/lab/src/a.rs", &comments), 0);
        assert_eq!(found("crates/lab/src/a.rs", &tests), 0);
        assert_eq!(found("crates/lab/tests/a.rs", &code), 0);
    }

    #[test]
    fn an_exception_is_heeded_and_a_stale_one_is_found() {
        let code = "fn a() {}\n".repeat(LONGEST + 1);
        assert_eq!(too_long(&Tree::planted(&[("a.rs", &code)]), &["a.rs"]), []);
        assert_eq!(too_long(&Tree::planted(&[("a.rs", "fn a() {}\n")]), &["a.rs"]).len(), 1);
        assert_eq!(too_long(&Tree::planted(&[]), &["a.rs"]).len(), 1);
    }
}
