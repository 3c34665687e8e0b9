//! Files that name each other in a circle: whoever reads one of them has to read all.

use std::collections::{BTreeMap, BTreeSet};

use tenbin_model::words::comma;

use super::tree::{File, Tree, Violation, is_word, violation};

/// A violation for each circle. A file and those of its own modules are one room, and no circle.
pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    let files: BTreeMap<String, &File> =
        tree.files.iter().filter_map(|file| Some((module(file)?, file))).collect();
    let named: BTreeMap<&str, BTreeSet<&str>> =
        files.iter().map(|(own, file)| (own.as_str(), named(own, file, &files))).collect();
    let reached = named.iter().map(|(from, next)| {
        let (mut reached, mut left) = (BTreeSet::new(), Vec::from_iter(next));
        while let Some(module) = left.pop() {
            if reached.insert(*module) {
                left.extend(&named[module]);
            }
        }
        (*from, reached)
    });
    let reached: BTreeMap<&str, BTreeSet<&str>> = reached.collect();
    let circle = |(from, to): (&&str, &BTreeSet<&str>)| {
        let circle: Vec<&str> = to.iter().filter(|other| reached[**other].contains(from)).copied().collect();
        // Each is named at its first file.
        let first = circle.first().filter(|first| *first == from)?;
        let paths = circle.iter().map(|module| files[*module].path.as_str());
        Some(violation(&files[*first].path, 1, format!("a circle: {}", comma(paths))))
    };
    reached.iter().filter_map(circle).collect()
}

/// The module that a file of a crate holds: its crate's folder, and the path there.
fn module(file: &File) -> Option<String> {
    let (folder, path) = file.path.strip_suffix(".rs")?.split_once("/src/")?;
    let path = [path.strip_suffix("/mod").unwrap_or(path)];
    let path =
        path.into_iter().filter(|path| !["lib", "main"].contains(path)).map(|it| it.replace('/', "::"));
    Some([folder.to_owned()].into_iter().chain(path).collect::<Vec<_>>().join("::"))
}

/// The module above.
fn above(module: &str) -> &str {
    module.rsplit_once("::").map_or(module, |(above, _)| above)
}

/// The modules of other files that this one names, by a path from its crate or from a module above it.
fn named<'a>(own: &str, file: &File, files: &'a BTreeMap<String, &File>) -> BTreeSet<&'a str> {
    let text: Vec<&str> = file.lines.iter().map(|line| line.product.as_str()).collect();
    let text = text.join("\n");
    let tokens = tokens(&text);
    let mut paths = Vec::new();
    for (at, token) in tokens.iter().enumerate() {
        let base = match *token {
            "crate" => own.split("::").next().unwrap_or(own),
            // Behind another one it was followed with that.
            "super" if at == 0 || tokens[at - 1] != "::" => above(own),
            _ => continue,
        };
        follow(&tokens[at + 1..], base.to_owned(), &mut paths);
    }
    let is_within = |inner: &str, outer: &str| {
        inner.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
    };
    let modules = paths.iter().filter_map(|path| {
        let above = std::iter::successors(Some(path.as_str()), |path| Some(path.rsplit_once("::")?.0));
        above.filter_map(|path| files.get_key_value(path)).map(|(module, _)| module.as_str()).next()
    });
    modules.filter(|other| !is_within(other, own) && !is_within(own, other)).collect()
}

/// Adds the paths that begin with `base` and go on with these tokens; gives how many of them they are.
fn follow(tokens: &[&str], base: String, paths: &mut Vec<String>) -> usize {
    match tokens {
        ["::", "super", rest @ ..] => 2 + follow(rest, above(&base).to_owned(), paths),
        ["::", "{", rest @ ..] => {
            let mut at = 0;
            while let Some(token) = rest.get(at).filter(|token| **token != "}") {
                at += 1;
                if *token != "," {
                    at += follow(&rest[at..], format!("{base}::{token}"), paths);
                }
            }
            at + 3
        }
        ["::", name, rest @ ..] if name.starts_with(is_word) => {
            2 + follow(rest, format!("{base}::{name}"), paths)
        }
        _ => {
            paths.push(base);
            0
        }
    }
}

/// Words, and the marks between them; `::` is one.
fn tokens(text: &str) -> Vec<&str> {
    let (mut tokens, mut rest) = (Vec::new(), text.trim_start());
    while let Some(first) = rest.chars().next() {
        let length = match first {
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            _ => first.len_utf8(),
        };
        tokens.push(&rest[..length]);
        rest = rest[length..].trim_start();
    }
    tokens
}
