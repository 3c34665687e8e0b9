//! Documents must not name what does not exist.

use super::tree::{File, Tree, Violation};

/// A word with one of these endings is taken for a path, whatever it begins with.
const ENDINGS: &[&str] = &[".rs", ".md", ".toml", ".sh", ".py"];

pub(super) fn paths_exist(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| is_document(&file.path)) {
        for (line, words) in prose(file) {
            for word in code_spans(words) {
                if let Some(path) = path_in(word, tree)
                    && !resolves(path, tree)
                {
                    violations.push(Violation::new(&file.path, line, format!("`{path}` does not exist")));
                }
            }
        }
    }
    violations
}

pub(super) fn links_resolve(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for file in tree.files.iter().filter(|file| file.path.ends_with(".md")) {
        for (line, words) in prose(file) {
            for link in links(words) {
                let target = link.split('#').next().unwrap_or(link);
                let relative =
                    !target.is_empty() && !target.contains("://") && !target.starts_with("mailto:");
                if relative && target_of(&file.path, target).is_none_or(|path| !tree.exists(&path)) {
                    violations.push(Violation::new(
                        &file.path,
                        line,
                        format!("the link to {target} leads nowhere"),
                    ));
                }
            }
        }
    }
    violations
}

fn is_document(path: &str) -> bool {
    let in_docs = path.strip_prefix("docs/").is_some_and(|name| !name.contains('/') && name.ends_with(".md"));
    in_docs || ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&path)
}

/// The lines outside of fenced blocks.
fn prose(file: &File) -> impl Iterator<Item = (usize, &str)> {
    let mut fenced = false;
    file.lines().filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        fenced ^= fence;
        !fence && !fenced
    })
}

/// What stands between backticks in `line`.
fn code_spans(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2)
}

/// The targets of the links in `line`: `[text](target)` and `[name]: target`.
fn links(line: &str) -> Vec<&str> {
    let mut targets = Vec::new();
    // Between backticks nothing is a link.
    for words in line.split('`').step_by(2) {
        let ends = |letter: char| letter == ')' || letter.is_whitespace();
        targets.extend(words.split("](").skip(1).filter_map(|rest| rest.split(ends).next()));
    }
    if let Some((_, target)) = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")) {
        targets.extend(target.split_whitespace().next());
    }
    targets
}

/// The path that `word` names, if it looks like one of this repository.
fn path_in<'a>(word: &'a str, tree: &Tree) -> Option<&'a str> {
    let foreign = |letter: char| letter.is_whitespace() || "{}$<>|\"'()=,;~…".contains(letter);
    if word.contains(foreign) || word.contains("://") || word.starts_with('/') || word.contains("..") {
        return None;
    }
    let path = word.trim_start_matches("./").trim_end_matches('/');
    let path = match path.rsplit_once(':') {
        Some((path, line)) if line.chars().all(|letter| letter.is_ascii_digit()) => path,
        _ => path,
    };
    let named = path.split_once('/').is_some_and(|(first, _)| tree.is_top_level(first));
    (named || ENDINGS.iter().any(|ending| path.ends_with(ending))).then_some(path)
}

/// Whether `path` is there: from the root, or as the end of the path of a file.
fn resolves(path: &str, tree: &Tree) -> bool {
    if path.contains('*') {
        return tree.files.iter().any(|file| matches(path, &file.path));
    }
    let from_root = path.split_once('/').is_some_and(|(first, _)| tree.is_top_level(first));
    let ending = format!("/{path}");
    tree.exists(path) || (!from_root && tree.files.iter().any(|file| file.path.ends_with(&ending)))
}

/// Whether `path` or a folder above it matches `pattern`, in which `*` is any part of a name.
fn matches(pattern: &str, path: &str) -> bool {
    let mut names = path.split('/');
    pattern.split('/').all(|pattern| {
        let Some(name) = names.next() else { return false };
        match pattern.split_once('*') {
            Some((start, end)) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            None => name == pattern,
        }
    })
}

/// The path from the root that `target` names, seen from `document`; `None` if it leaves the root.
pub(super) fn target_of(document: &str, target: &str) -> Option<String> {
    let mut parts = document.split('/').collect::<Vec<_>>();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILES: &[(&str, &str)] =
        &[("crates/lab/src/experiments/mod.rs", ""), ("fixtures/a.csv", ""), (".ci/run", "")];

    fn messages(check: fn(&Tree) -> Vec<Violation>, path: &str, text: &str) -> Vec<String> {
        let mut files = FILES.to_vec();
        files.push((path, text));
        check(&Tree::planted(&files)).into_iter().map(|it| it.message).collect()
    }

    #[test]
    fn paths_that_exist_and_words_that_are_no_paths_pass() {
        let text = "`crates/lab/`, `experiments/mod.rs`, `mod.rs:12`, `fixtures/*.csv`, `.ci/run`, `crates/*`,\n\
                    `read/write`, `/proc/self`, `tenbin/store.db`, `kernel/sched/core.c`, `cargo run`\n\
                    ```\n`crates/none.rs`\n```\n";
        assert_eq!(messages(paths_exist, "docs/a.md", text), Vec::<String>::new());
    }

    #[test]
    fn a_path_that_does_not_exist_is_found_in_documents_only() {
        for path in ["crates/none", "fixtures/*.json", "none.rs", "docs/none.md", ".ci/none"] {
            let text = format!("See `{path}`.\n");
            assert_eq!(messages(paths_exist, "README.md", &text), [format!("`{path}` does not exist")]);
            assert_eq!(messages(paths_exist, "fixtures/a.md", &text), Vec::<String>::new());
        }
    }

    #[test]
    fn links_that_resolve_pass() {
        let text = "[a](../fixtures/a.csv), [b](https://example.org/x), [c](#c), [d](./a.md#d) `[e](none)`\n\
                    [f]: ../.ci/run\n";
        assert_eq!(messages(links_resolve, "docs/a.md", text), Vec::<String>::new());
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        for text in
            ["[a](none.md)\n", "[a]: none.md\n", "[a](../../fixtures/a.csv \"title\")\n", "![a](a.png)\n"]
        {
            assert_eq!(messages(links_resolve, "docs/a.md", text).len(), 1, "{text}");
        }
    }
}
