//! Names of files, and how long they may be.

use super::documents::target_of;
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

pub(super) fn line_width(tree: &Tree) -> Vec<Violation> {
    let settings = tree.file("rustfmt.toml").and_then(|file| file.text.as_deref()).unwrap_or_default();
    let width = settings.lines().find_map(|line| line.strip_prefix("max_width = ")?.parse().ok());
    let Some(width) = width else {
        return vec![Violation::new("rustfmt.toml", 1, "it does not say max_width")];
    };
    let mut violations = Vec::new();
    for file in &tree.files {
        let code = file.code.as_deref().unwrap_or_default().lines();
        for ((number, line), code) in file.lines().zip(code) {
            let comment = line.trim_start().starts_with("//");
            // What a string holds is blank in `code`, where its first line, or its last one, has its mark.
            let in_string = !comment && (code.contains('"') || code.trim().is_empty());
            violations.extend(wider(&file.path, number, line, width).filter(|_| !in_string));
        }
    }
    violations
}

/// Letters of a line of a document.
const WIDEST: usize = 120;

/// Rows of tables and text that stands as it is may be wider: they cannot be wrapped.
pub(super) fn document_width(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        let mut is_fenced = false;
        for (number, line) in file.lines() {
            is_fenced ^= line.trim_start().starts_with("```");
            let fixed = is_fenced || line.starts_with("    ") || line.trim_start().starts_with('|');
            violations.extend(wider(&file.path, number, line, WIDEST).filter(|_| !fixed));
        }
    }
    violations
}

/// The violation of a line that has more letters than `width`.
fn wider(path: &str, number: usize, line: &str, width: usize) -> Option<Violation> {
    let length = line.chars().count();
    let message = format!("it has {length} letters; {width} are the most");
    (length > width).then(|| Violation::new(path, number, message))
}

/// A file that is a crate's root, or that a `mod` line of one that is reached names.
pub(super) fn formatted(tree: &Tree) -> Vec<Violation> {
    let rust = || tree.files.iter().filter(|file| file.path.ends_with(".rs"));
    let mut reached = rust().filter(|file| is_root(&file.path)).collect::<Vec<_>>();
    let mut place = 0;
    while let Some(file) = reached.get(place).copied() {
        place += 1;
        let folder = submodules(&file.path);
        let modules = file.code.as_deref().unwrap_or_default().lines().filter_map(module);
        let mut paths = modules
            .flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")])
            .collect::<Vec<_>>();
        let elsewhere =
            file.lines().filter_map(|(_, line)| line.strip_prefix("#[path = \"")?.strip_suffix("\"]"));
        paths.extend(elsewhere.filter_map(|target| target_of(&file.path, target)));
        for named in rust().filter(|named| paths.contains(&named.path)) {
            if !reached.iter().any(|file| file.path == named.path) {
                reached.push(named);
            }
        }
    }
    let lost = rust().filter(|file| !reached.iter().any(|reached| reached.path == file.path));
    lost.map(|file| Violation::new(&file.path, 1, "no plain `mod` line leads to it")).collect()
}

/// Whether cargo begins here: `src/lib.rs`, `src/main.rs`, `build.rs`, or a file or `main.rs` in `tests`,
/// `benches` or `examples` beside `src`.
fn is_root(path: &str) -> bool {
    let parts = path.split('/').rev().collect::<Vec<_>>();
    match parts[..] {
        ["lib.rs" | "main.rs", "src", ..] | ["build.rs", ..] => true,
        [_, "tests" | "benches" | "examples", ..] => !parts.contains(&"src"),
        ["main.rs", _, "tests" | "benches" | "examples", ..] => !parts.contains(&"src"),
        _ => false,
    }
}

/// The folder of the modules that a file declares.
fn submodules(path: &str) -> &str {
    let (folder, name) = path.rsplit_once('/').unwrap_or((".", path));
    match name {
        _ if is_root(path) || name == "mod.rs" => folder,
        _ => path.trim_end_matches(".rs"),
    }
}

/// The module that a line declares in another file.
fn module(line: &str) -> Option<&str> {
    // In a macro's call it would be indented.
    let declared = line.strip_suffix(';')?.strip_prefix("mod ").or_else(|| {
        let (visibility, declared) = line.strip_suffix(';')?.split_once(" mod ")?;
        (visibility.starts_with("pub") || visibility.starts_with("#[")).then_some(declared)
    })?;
    Some(declared.trim_start_matches("r#"))
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
        let violations = |path: &str, text: &str| too_long(&Tree::planted(&[(path, text)]), &[]).len();
        assert_eq!(violations("crates/lab/src/a.rs", &code), 1);
        assert_eq!(violations("crates/lab/src/a.rs", &comments), 0);
        assert_eq!(violations("crates/lab/src/a.rs", &tests), 0);
        assert_eq!(violations("crates/lab/tests/a.rs", &code), 0);
    }

    #[test]
    fn a_wide_line_is_found_and_what_a_string_holds_does_not_count() {
        let wide = "x".repeat(40);
        let text = format!("// {wide}\nlet a = {wide};\nlet b = \"{wide}\";\nlet c = \"\n{wide}\n\";\n");
        let tree = Tree::planted(&[("rustfmt.toml", "max_width = 30\n"), ("a.rs", &text), ("b.md", &wide)]);
        let lines = line_width(&tree).into_iter().map(|it| it.line).collect::<Vec<_>>();
        assert_eq!(lines, [1, 2]);
        assert_eq!(line_width(&Tree::planted(&[])).len(), 1, "no width");
    }

    #[test]
    fn a_wide_line_of_a_document_is_found_and_a_table_is_let_be() {
        let wide = "x ".repeat(80);
        let text = format!("{wide}\n| {wide}\n    {wide}\n```\n{wide}\n```\n- {wide}\n");
        let lines = document_width(&Tree::planted(&[("a.md", &text), ("a.rs", &wide)]));
        assert_eq!(lines.into_iter().map(|it| it.line).collect::<Vec<_>>(), [1, 7]);
    }

    #[test]
    fn a_file_that_no_plain_line_declares_is_found() {
        let lib = "mod a;\n#[path = \"f/../g.rs\"]\nmod f;\npub(crate) mod b;\n#[cfg(test)]\nmod c;\nlist! {\n    mod hidden;\n}\n";
        let files = [
            ("crates/x/src/lib.rs", lib),
            ("crates/x/src/a.rs", "mod d;\n"),
            ("crates/x/src/a/d.rs", ""),
            ("crates/x/src/b/mod.rs", "pub mod e;\n"),
            ("crates/x/src/b/e.rs", ""),
            ("crates/x/src/c.rs", ""),
            ("crates/x/src/g.rs", ""),
            ("crates/x/src/hidden.rs", ""),
            ("crates/x/tests/t.rs", "mod place;\n"),
            ("crates/x/tests/place/mod.rs", ""),
            ("crates/x/tests/u/main.rs", "mod v;\n"),
            ("crates/x/tests/u/v.rs", ""),
            ("crates/x/tests/u/w.rs", ""),
        ];
        let lost = formatted(&Tree::planted(&files)).into_iter().map(|it| it.path).collect::<Vec<_>>();
        assert_eq!(lost, ["crates/x/src/hidden.rs", "crates/x/tests/u/w.rs"]);
    }

    #[test]
    fn an_exception_is_heeded_and_a_stale_one_is_found() {
        let code = "fn a() {}\n".repeat(LONGEST + 1);
        assert_eq!(too_long(&Tree::planted(&[("a.rs", &code)]), &["a.rs"]), []);
        assert_eq!(too_long(&Tree::planted(&[("a.rs", "fn a() {}\n")]), &["a.rs"]).len(), 1);
        assert_eq!(too_long(&Tree::planted(&[]), &["a.rs"]).len(), 1);
    }
}
