//! What the rules look at: the files that git would keep, and what cargo says of the crates.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::architecture::Architecture;
use crate::command::Command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The repository as the rules see it.
pub(super) struct Tree {
    pub(super) files: Vec<File>,
    pub(super) metadata: Value,
}

pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    /// None where it is no text; else the last is what follows the last newline.
    pub(super) lines: Vec<Line>,
}

pub(super) struct Line {
    pub(super) text: String,
    /// In Rust the text with comments and the insides of literals made blank; in a document the prose.
    pub(super) code: String,
    /// In Rust the code with what is built for tests only made blank too.
    pub(super) product: String,
}

pub(super) struct Violation {
    pub(super) path: String,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

pub(super) fn violation(path: &str, line: usize, message: impl Into<String>) -> Violation {
    Violation { path: path.into(), line, message: message.into() }
}

impl Tree {
    pub(super) fn read(workspace: &Workspace) -> Result<Self, Failure> {
        let listing = Command::new("git")
            .arguments(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .directory(workspace.root())
            .remedy("run it in a git checkout")
            .read()?;
        let mut files = Vec::new();
        for path in listing.split('\0').filter(|path| !path.is_empty()).collect::<BTreeSet<_>>() {
            let full = workspace.root().join(path);
            // A file may be deleted and not yet committed as such; and what a link leads to is listed itself.
            if !full.symlink_metadata().is_ok_and(|it| it.is_file()) {
                continue;
            }
            let bytes = std::fs::read(&full).map_err(|error| {
                Failure::new(format!("read {}", full.display()), error, "make the file readable")
            })?;
            let text = if bytes.contains(&0) { None } else { String::from_utf8(bytes).ok() };
            files.push((path.to_owned(), text.unwrap_or_default()));
        }
        let host = Architecture::HERE.names().target;
        let metadata = workspace.metadata(&["--locked", "--filter-platform", host])?;
        Ok(Self::new(files, metadata))
    }

    pub(super) fn new(texts: Vec<(String, String)>, metadata: Value) -> Self {
        let mut files = texts.into_iter().map(|(path, text)| File::new(path, &text)).collect::<Vec<_>>();
        // Files that are tests as a whole have no product: by their folder, or by who declares them.
        let declared = files.iter().flat_map(File::test_modules).collect::<Vec<_>>();
        for file in &mut files {
            let is_test = |part| ["tests", "benches", "tests.rs"].contains(&part);
            if file.path.split('/').any(is_test) || declared.iter().any(|start| file.path.starts_with(start))
            {
                file.lines.iter_mut().for_each(|line| line.product.clear());
            }
        }
        Self { files, metadata }
    }

    /// The lines of the file at `path`; none where it is not there.
    pub(super) fn lines(&self, path: &str) -> impl Iterator<Item = (usize, &Line)> {
        self.files.iter().filter(move |file| file.path == path).flat_map(File::numbered)
    }

    /// Whether there is a file or a folder at `path`.
    pub(super) fn exists(&self, path: &str) -> bool {
        let below = |rest: &str| rest.is_empty() || rest.starts_with('/');
        self.files.iter().any(|file| file.path.strip_prefix(path).is_some_and(below))
    }

    /// Whether `path` begins with a folder of the root.
    pub(super) fn is_from_root(&self, path: &str) -> bool {
        path.split_once('/').is_some_and(|(first, _)| self.exists(first))
    }
}

impl File {
    fn new(path: String, text: &str) -> Self {
        let (is_rust, is_document) = (path.ends_with(".rs"), path.ends_with(".md"));
        let code = if is_rust { code_only(text) } else { text.to_owned() };
        let (mut lines, mut is_fenced, mut test_item) = (Vec::new(), false, None);
        for (text, code) in text.split('\n').zip(code.split('\n')) {
            let (trimmed, indent) = (code.trim(), code.len() - code.trim_start().len());
            if is_test_attribute(trimmed) {
                test_item = Some(indent);
            }
            let is_fence = is_document && trimmed.starts_with("```");
            is_fenced ^= is_fence;
            let is_code = is_rust || is_document && !is_fence && !is_fenced;
            let code = if is_code { code } else { "" };
            let product = if is_rust && test_item.is_none() { code } else { "" };
            lines.push(Line { text: text.into(), code: code.into(), product: product.into() });
            // rustfmt has the end of an item stand where its beginning does.
            if test_item == Some(indent) && trimmed.ends_with([';', '}', ',']) {
                test_item = None;
            }
        }
        Self { path, lines }
    }

    pub(super) fn numbered(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }

    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or_default()
    }

    pub(super) fn is_rust(&self) -> bool {
        self.path.ends_with(".rs")
    }

    /// Whether cargo begins here: `src/lib.rs`, `src/main.rs`, `build.rs`, or a file or `main.rs` in `tests`,
    /// `benches` or `examples` beside `src`.
    pub(super) fn is_root(&self) -> bool {
        let parts = self.path.split('/').rev().collect::<Vec<_>>();
        match parts[..] {
            ["lib.rs" | "main.rs", "src", ..] | ["build.rs", ..] => true,
            [_, "tests" | "benches" | "examples", ..] => !parts.contains(&"src"),
            ["main.rs", _, "tests" | "benches" | "examples", ..] => !parts.contains(&"src"),
            _ => false,
        }
    }

    /// The folder of the modules that it declares.
    pub(super) fn submodules(&self) -> &str {
        match self.path.rsplit_once('/') {
            Some((folder, name)) if self.is_root() || name == "mod.rs" => folder,
            _ => self.path.trim_end_matches(".rs"),
        }
    }

    /// How the paths of modules begin that it declares in other files for tests only.
    fn test_modules(&self) -> Vec<String> {
        let pairs = self.lines.windows(2).filter(|pair| is_test_attribute(pair[0].code.trim()));
        let names = pairs.filter_map(|pair| module(&pair[1].code));
        names.flat_map(|name| [".rs", "/"].map(|end| format!("{}/{name}{end}", self.submodules()))).collect()
    }
}

fn is_test_attribute(code: &str) -> bool {
    code.starts_with("#[cfg(test)]") || code.starts_with("#[cfg(all(test,")
}

/// The module that a line declares in another file.
pub(super) fn module(line: &str) -> Option<&str> {
    // In a macro's call it would be indented.
    let declared = line.strip_suffix(';')?.strip_prefix("mod ").or_else(|| {
        let (visibility, declared) = line.strip_suffix(';')?.split_once(" mod ")?;
        (visibility.starts_with("pub") || visibility.starts_with("#[")).then_some(declared)
    })?;
    Some(declared.trim_start_matches("r#"))
}

/// `text` with comments and the insides of literals made blank. Lines keep their numbers.
fn code_only(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(letter) = rest.chars().next() {
        let lengths = hidden(rest, code.ends_with(is_word)).unwrap_or((letter.len_utf8(), 0, 0));
        let (opening, tail) = rest.split_at(lengths.0);
        let (inside, tail) = tail.split_at(lengths.1);
        let (closing, tail) = tail.split_at(lengths.2.min(tail.len()));
        code.push_str(opening);
        code.extend(inside.chars().map(|letter| if letter == '\n' { '\n' } else { ' ' }));
        code.push_str(closing);
        rest = tail;
    }
    code
}

/// Lengths of the opening, the inside and the closing mark of what is no code, where `rest` begins with such.
fn hidden(rest: &str, in_word: bool) -> Option<(usize, usize, usize)> {
    if rest.starts_with("//") {
        return Some((0, rest.find('\n').unwrap_or(rest.len()), 0));
    }
    if rest.starts_with("/*") {
        return Some((0, rest.find("*/").map_or(rest.len(), |at| at + 2), 0));
    }
    if let Some(inside) = rest.strip_prefix('"') {
        let mut escaped = false;
        let end = inside.find(|letter| {
            let ends = letter == '"' && !escaped;
            escaped = letter == '\\' && !escaped;
            ends
        });
        return Some((1, end.unwrap_or(inside.len()), 1));
    }
    if let Some(inside) = rest.strip_prefix('\'') {
        let end = match inside.chars().next()? {
            '\\' => 2 + inside.get(2..)?.find('\'')?,
            letter => letter.len_utf8(),
        };
        // Else it is a lifetime.
        return inside[end..].starts_with('\'').then_some((1, end, 1));
    }
    let raw = rest.strip_prefix(['b', 'c']).unwrap_or(rest).strip_prefix('r').filter(|_| !in_word)?;
    let inside = raw.trim_start_matches('#');
    let end = format!("\"{}", "#".repeat(raw.len() - inside.len()));
    let inside = inside.strip_prefix('"')?;
    Some((rest.len() - inside.len(), inside.find(&end).unwrap_or(inside.len()), 1))
}

pub(super) fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

/// Whether `line` holds `word` with no letter of a word on either side.
pub(super) fn has_word(line: &str, word: &str) -> bool {
    line.split(|letter| !is_word(letter)).any(|other| other == word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_for_tests_only_is_no_product() {
        let c =
            "#[cfg(test)]\nmod d;\nfn c() {}\n#[cfg(test)]\nmod tests {\n    fn e() {\n    }\n}\nfn f() {}\n";
        let files = [
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod b;\nmod c;\n"),
            ("crates/a/src/b.rs", "fn b() {}\n"),
            ("crates/a/src/c.rs", c),
            ("crates/a/src/c/d.rs", "fn d() {}\n"),
            ("crates/a/tests/e.rs", "fn e() {}\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.to_owned()));
        let tree = Tree::new(files.into(), Value::Null);
        let lines = tree.files.iter().flat_map(|file| &file.lines).map(|line| line.product.as_str());
        assert_eq!(lines.filter(|line| line.contains("fn ")).collect::<Vec<_>>(), ["fn c() {}", "fn f() {}"]);
    }

    #[test]
    fn comments_and_literals_are_blank_and_code_stays() {
        let cases = [
            ("a // unsafe\nb", "a          \nb"),
            ("a /* x y */ b", "a           b"),
            (r#"f("unsafe \" x") g"#, r#"f("           ") g"#),
            (r##"f(r#"un"safe"#) g"##, r##"f(r#"       "#) g"##),
            (r#"f(br"a\") g"#, r#"f(br"  ") g"#),
            (r#"f("", ' ', "b")"#, r#"f("", ' ', " ")"#),
            (r##"f(r"", r#""#, b'"') g"##, r##"f(r"", r#""#, b' ') g"##),
            (r"'{' '\'' '\u{7b}' &'a str", r"' ' '  ' '      ' &'a str"),
            ("r#type for bar", "r#type for bar"),
            ("/// text\ncode", "        \ncode"),
        ];
        for (text, expected) in cases {
            assert_eq!(code_only(text), expected, "{text}");
        }
    }

    #[test]
    fn a_word_is_whole() {
        assert!(has_word("an unsafe block", "unsafe") && !has_word("forbid(unsafe_code)", "unsafe"));
    }
}
