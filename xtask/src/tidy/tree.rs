//! What the rules look at: the files that git would keep, and what cargo says of the crates.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::scan;
use crate::command::Command;
use crate::failure::Failure;
use crate::workspace::Workspace;

/// The repository as the rules see it.
pub(super) struct Tree {
    /// Every file, in the order of its path.
    pub(super) files: Vec<File>,
    /// What `cargo metadata --no-deps` says.
    pub(super) metadata: Value,
    /// The licence of each package by name and version, or why cargo could not tell.
    pub(super) licences: Result<BTreeMap<(String, String), String>, String>,
}

/// One file.
pub(super) struct File {
    /// Relative to the root, with `/`.
    pub(super) path: String,
    /// The contents; `None` where they are no text.
    pub(super) text: Option<String>,
    /// In Rust: the text with comments and the insides of literals made blank.
    pub(super) code: Option<String>,
    /// In Rust: the code with what is built for tests only made blank too.
    pub(super) product: Option<String>,
}

/// A place where a rule does not hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Violation {
    pub(super) path: String,
    /// Counted from 1.
    pub(super) line: usize,
    pub(super) message: String,
}

impl Violation {
    pub(super) fn new(path: &str, line: usize, message: impl Into<String>) -> Self {
        Self { path: path.into(), line, message: message.into() }
    }
}

impl File {
    fn new(path: String, text: Option<String>) -> Self {
        let code = if path.ends_with(".rs") { text.as_deref().map(scan::code_only) } else { None };
        Self { path, text, product: code.as_deref().map(scan::without_tests), code }
    }

    /// The lines of the text with their numbers.
    pub(super) fn lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(self.text.as_deref())
    }

    /// The lines of the code that is not for tests, with their numbers.
    pub(super) fn product_lines(&self) -> impl Iterator<Item = (usize, &str)> {
        numbered(self.product.as_deref())
    }

    /// Name without folder.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

impl Tree {
    /// Read the repository.
    pub(super) fn read(workspace: &Workspace) -> Result<Self, Failure> {
        let listing = Command::new("git")
            .arguments(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .directory(workspace.root())
            .remedy("run it in a git checkout")
            .read()?;
        let paths = listing.split('\0').filter(|path| !path.is_empty()).collect::<BTreeSet<_>>();
        let mut files = Vec::new();
        for path in paths {
            let full = workspace.root().join(path);
            // A file may be deleted and not yet committed as such.
            if !full.is_file() {
                continue;
            }
            let bytes = std::fs::read(&full).map_err(|error| {
                Failure::new(format!("read {}", full.display()), error, "make the file readable")
            })?;
            let text = if bytes.contains(&0) { None } else { String::from_utf8(bytes).ok() };
            files.push(File::new(path.into(), text));
        }
        let metadata = workspace.metadata(&["--no-deps"])?;
        let host = crate::architecture::Architecture::HERE.names().target;
        let full = workspace.metadata(&["--locked", "--filter-platform", host]);
        let licences = full.map(|metadata| licences(&metadata)).map_err(|failure| failure.to_string());
        mark_tests(&mut files);
        Ok(Self { files, metadata, licences })
    }

    /// The file at `path`.
    pub(super) fn file(&self, path: &str) -> Option<&File> {
        self.files.iter().find(|file| file.path == path)
    }

    /// Whether there is a file or a folder at `path`.
    pub(super) fn exists(&self, path: &str) -> bool {
        self.files.iter().any(|file| {
            file.path.strip_prefix(path).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        })
    }

    /// Whether `name` is a file or a folder of the root.
    pub(super) fn is_top_level(&self, name: &str) -> bool {
        self.files.iter().any(|file| file.path.split('/').next() == Some(name))
    }

    /// A tree that holds exactly `files`, for tests.
    #[cfg(test)]
    pub(super) fn planted(files: &[(&str, &str)]) -> Self {
        let files = files.iter().map(|(path, text)| File::new((*path).into(), Some((*text).into())));
        let mut files = files.collect::<Vec<_>>();
        mark_tests(&mut files);
        Self { files, metadata: Value::Null, licences: Ok(BTreeMap::new()) }
    }
}

/// Take the product away from files that are tests as a whole: by their folder, or by their parent.
fn mark_tests(files: &mut [File]) {
    let mut tests = BTreeSet::new();
    for file in &*files {
        let parts = file.path.split('/').collect::<Vec<_>>();
        if parts.iter().any(|part| ["tests", "benches", "tests.rs"].contains(part)) {
            tests.insert(file.path.clone());
        }
        let owner =
            ["/mod.rs", "/lib.rs", "/main.rs", ".rs"].iter().find_map(|end| file.path.strip_suffix(end));
        for name in file.code.as_deref().map(scan::test_modules).unwrap_or_default() {
            tests.extend(owner.map(|owner| format!("{owner}/{name}.rs")));
        }
    }
    for file in files.iter_mut().filter(|file| tests.contains(&file.path)) {
        file.product = None;
    }
}

fn numbered(text: Option<&str>) -> impl Iterator<Item = (usize, &str)> {
    text.unwrap_or_default().lines().enumerate().map(|(index, line)| (index + 1, line))
}

fn licences(metadata: &Value) -> BTreeMap<(String, String), String> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    packages
        .iter()
        .map(|package| ((word(&package["name"]), word(&package["version"])), word(&package["license"])))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_a_test_has_no_product() {
        let tree = Tree::planted(&[
            ("crates/a/src/lib.rs", "#[cfg(test)]\nmod b;\nmod c;\n"),
            ("crates/a/src/b.rs", "fn b() {}\n"),
            ("crates/a/src/c.rs", "#[cfg(test)]\nmod d;\nfn c() {}\n"),
            ("crates/a/src/c/d.rs", "fn d() {}\n"),
            ("crates/a/tests/e.rs", "fn e() {}\n"),
        ]);
        let has_product = |file: &File| file.product_lines().any(|(_, line)| line.contains("fn "));
        let with = tree.files.iter().filter(|file| has_product(file)).map(|file| file.path.as_str());
        assert_eq!(with.collect::<Vec<_>>(), ["crates/a/src/c.rs"]);
    }
}
