//! The rules of the house that a program can check, each with a planted violation below.

mod circles;
mod links;
mod optimization;
mod sentences;
mod tree;

use std::collections::BTreeSet;

use serde_json::Value;

use crate::failure::Failure;
use crate::workspace::Workspace;
use tenbin_model::words::counted;
use tree::{File, Line, Tree, Violation, has_word, is_word, module, violation};

struct Rule {
    name: &'static str,
    /// What must hold.
    sentence: &'static str,
    /// What to do where it does not.
    remedy: &'static str,
    check: Check,
}

enum Check {
    /// What is wrong with a line.
    Line(fn(&Tree, &File, &Line) -> Option<String>),
    Tree(fn(&Tree) -> Vec<Violation>),
}

const RULES: &[Rule] = &[
    Rule {
        name: "crate-edges",
        sentence: "The edges between our crates equal the table of rooms in ARCHITECTURE.md.",
        remedy: "remove the dependency, or change the table and say why there",
        check: Check::Tree(crate_edges),
    },
    Rule {
        name: "circles",
        sentence: "No files of a crate name each other in a circle, but those of a module and of the modules in it.",
        remedy: "move what both name to a file of its own, or to the one that names nothing of the other",
        check: Check::Tree(circles::check),
    },
    Rule {
        name: "optimization",
        sentence: "Nothing that cargo build --release optimizes takes generic code of what it does not.",
        remedy: "take the crate out of the table, or put the one that builds on it there, at 0, 2 or 3",
        check: Check::Tree(optimization::check),
    },
    Rule {
        name: "paths-exist",
        sentence: "Every path in backticks of a document leads to a file of this repository.",
        remedy: "correct it, or create the file",
        check: Check::Line(paths_exist),
    },
    Rule {
        name: "links",
        sentence: "Every relative link of a document leads to a file of this repository, and where it names a head to that; others have the form of an address.",
        remedy: "correct it",
        check: Check::Line(links::wrong),
    },
    Rule {
        name: "pages-listed",
        sentence: "Every page of the root and of docs is in docs/SUMMARY.md.",
        remedy: "add it there, at the place where a reader would look for it",
        check: Check::Tree(links::unlisted),
    },
    Rule {
        name: "purity",
        sentence: "No analysis of a question names hardware, clocks, files or processes; nothing that measures names statistics.",
        remedy: "let the plan hand it over as a sample, a point or a parameter",
        check: Check::Line(purity),
    },
    Rule {
        name: "nothing-unfinished",
        sentence: "No file holds a mark of unfinished work.",
        remedy: "finish it, or say in a document that it is missing",
        check: Check::Line(nothing_unfinished),
    },
    Rule {
        name: "names-of-files",
        sentence: "No file or folder is named after a drawer (utils, helpers, misc, common) or without its noun (found, said).",
        remedy: "name it after what it holds",
        check: Check::Tree(names_of_files),
    },
    Rule {
        name: "names-in-code",
        sentence: "No name in code is a participle without its noun (found, said, told, came, looked), and no function's has more than 60 letters.",
        remedy: "name the thing; say the property in fewer words",
        check: Check::Line(names_in_code),
    },
    Rule {
        name: "file-length",
        sentence: "No Rust file outside tests is longer than one reading holds.",
        remedy: "split it",
        check: Check::Tree(file_length),
    },
    Rule {
        name: "formatted",
        sentence: "Every Rust file of a crate is reached by `mod` lines, so that `cargo fmt` sees it.",
        remedy: "declare it by a `mod` line that no macro hides, or remove it",
        check: Check::Tree(formatted),
    },
    Rule {
        name: "width",
        sentence: "No line of Rust is wider than max_width of rustfmt.toml, and none of a document wider than 120 letters, but for what a string holds, rows of tables and text that stands as it is.",
        remedy: "wrap it",
        check: Check::Line(width),
    },
    Rule {
        name: "lists-in-one-place",
        sentence: "What is listed in words is joined by crates/model/src/words.rs alone.",
        remedy: "use tenbin_model::words",
        check: Check::Line(lists_in_one_place),
    },
    Rule {
        name: "no-machine-paths",
        sentence: "No file names an absolute path of somebody's machine.",
        remedy: "make the path relative, or take it from the environment",
        check: Check::Line(no_machine_paths),
    },
    Rule {
        name: "white-space",
        sentence: "No line ends in white space, and every text file ends in one newline.",
        remedy: "remove what is too much, and make the last line end in a newline",
        check: Check::Tree(white_space),
    },
    Rule {
        name: "manifest-inherits",
        sentence: "Every crate takes version, edition, licence, dependencies and lints from its workspace.",
        remedy: "write `.workspace = true`, on one line",
        check: Check::Tree(manifest_inherits),
    },
    Rule {
        name: "dependencies",
        sentence: "Every third-party dependency is pinned to one version, used by a crate, and listed in docs/dependencies.md with its version, licence and reason.",
        remedy: "make Cargo.toml (version = \"=x.y.z\", on one line), the crates and the table in docs/dependencies.md agree",
        check: Check::Tree(dependencies),
    },
    Rule {
        name: "sentences",
        sentence: "Every sentence that tenbin can say stands in fixtures/sentences.txt.",
        remedy: "`cargo xtask tidy --sentences` writes the file: read the difference as a reader would",
        check: Check::Tree(sentences::check),
    },
];

/// Write down every sentence that tenbin can say.
pub(crate) fn write_sentences(workspace: &Workspace) -> Result<(), Failure> {
    let path = workspace.root().join(sentences::FILE);
    let text = sentences::listed(&Tree::read(workspace)?);
    std::fs::write(&path, text)
        .map_err(|error| Failure::new(format!("write {}", path.display()), error, "make room there"))
}

/// Check every rule on the tree, and print what breaks one.
pub(crate) fn run(workspace: &Workspace) -> Result<(), Failure> {
    let tree = Tree::read(workspace)?;
    let broken =
        RULES.iter().flat_map(|rule| describe(rule, &tree)).inspect(|text| println!("{text}")).count();
    let violations = counted(broken, "violation");
    println!("tidy: {} rules, {} files, {violations}", RULES.len(), tree.files.len());
    if broken == 0 {
        return Ok(());
    }
    Err(Failure::new("approve the tree", violations, "correct each place named above"))
}

/// Print the rules.
pub(crate) fn list() {
    for rule in RULES {
        println!("{:<20} {}", rule.name, rule.sentence);
    }
}

fn describe(rule: &Rule, tree: &Tree) -> Vec<String> {
    let Rule { name, sentence, remedy, check } = rule;
    let violations = match check {
        Check::Tree(check) => check(tree),
        Check::Line(check) => tree
            .files
            .iter()
            .flat_map(|file| {
                let wrong =
                    move |(number, line)| Some(violation(&file.path, number, check(tree, file, line)?));
                file.numbered().filter_map(wrong)
            })
            .collect(),
    };
    let describe = |Violation { path, line, message }| {
        format!("{path}:{line}: {message}\n  rule {name}: {sentence}\n  what to do: {remedy}")
    };
    violations.into_iter().map(describe).collect()
}

/// A table of the rooms: `| room | holds | must not | may use |`. It is the wall between them.
fn crate_edges(tree: &Tree) -> Vec<Violation> {
    const TABLE: &str = "ARCHITECTURE.md";
    let rooms = tree.lines(TABLE).filter_map(|(number, line)| {
        let cells = line.code.split('|').map(str::trim).collect::<Vec<_>>();
        let ["", room, _, _, uses, ""] = cells[..] else { return None };
        let uses = if uses == "nothing of ours" { "" } else { uses };
        let uses = uses.split(", ").filter(|name| !name.is_empty()).collect::<BTreeSet<_>>();
        Some((number, room.strip_prefix('`')?.strip_suffix('`')?, uses))
    });
    let mut rooms = rooms.collect::<Vec<_>>();
    let root = tree.metadata["workspace_root"].as_str().unwrap_or_default();
    let mut violations = Vec::new();
    for package in items(&tree.metadata["packages"]).filter(|package| package["source"].is_null()) {
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/');
        let room = manifest.trim_end_matches("/Cargo.toml");
        let mut wrong = |message: String| violations.push(violation(manifest, 1, message));
        let Some(at) = rooms.iter().position(|(_, name, _)| *name == room) else {
            wrong(format!("{room} is not in the table of rooms"));
            continue;
        };
        let (_, _, allowed) = rooms.remove(at);
        let ours = |tests: bool| {
            let edges = items(&package["dependencies"]).filter(|edge| edge["path"].is_string());
            let edges = edges.filter(move |edge| (edge["kind"] == "dev") == tests);
            let names = edges.filter_map(|edge| Some(edge["name"].as_str()?.trim_start_matches("tenbin-")));
            names.collect::<BTreeSet<_>>()
        };
        for (used, verb) in [(ours(false), "uses"), (ours(true), "tests with")] {
            for other in used.difference(&allowed) {
                wrong(format!("{room} {verb} {other}, which the table does not allow"));
            }
        }
        for other in allowed.difference(&ours(false)) {
            wrong(format!("stale: the table says that {room} uses {other}, but it does not"));
        }
    }
    let stale = rooms.iter().map(|(number, room, _)| {
        violation(TABLE, *number, format!("stale: the table has {room}, which is no crate"))
    });
    violations.extend(stale);
    violations
}

fn items(array: &Value) -> impl Iterator<Item = &Value> {
    array.as_array().into_iter().flatten()
}

fn paths_exist(tree: &Tree, file: &File, line: &Line) -> Option<String> {
    if !file.path.ends_with(".md") {
        return None;
    }
    let mut spans = line.code.split('`').skip(1).step_by(2).filter_map(|word| path_in(word, tree));
    let is_ours = file.path.starts_with("docs/")
        || ["README.md", "ARCHITECTURE.md", "CONTRIBUTING.md"].contains(&file.path.as_str());
    let absent = |path: &&str| is_ours && !resolves(path, tree);
    let path = spans.find(absent)?;
    Some(format!("`{path}` does not exist"))
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
    let is_file = [".rs", ".md", ".toml", ".sh", ".py"].iter().any(|ending| path.ends_with(ending));
    (is_file || tree.is_from_root(path)).then_some(path)
}

/// Whether `path` is there: from the root, or as the end of the path of a file. `*` is any part of a name.
fn resolves(path: &str, tree: &Tree) -> bool {
    let matches = |file: &File| {
        let mut names = file.path.split('/');
        path.split('/').all(|pattern| match (names.next(), pattern.split_once('*')) {
            (Some(name), Some((start, end))) => {
                name.len() >= start.len() + end.len() && name.starts_with(start) && name.ends_with(end)
            }
            (name, _) => name == Some(pattern),
        })
    };
    let ending = format!("/{path}");
    let is_ending = |file: &File| !tree.is_from_root(path) && file.path.ends_with(&ending);
    tree.files.iter().any(|file| matches(file) || is_ending(file))
}

/// The path from the root that `target` names, seen from `document`; `None` if it leaves the root.
fn target_of(document: &str, target: &str) -> Option<String> {
    let mut parts = document.split('/').collect::<Vec<_>>();
    parts.pop();
    for part in target.trim_end_matches('/').split('/') {
        match part {
            "." => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

/// What measures and what judges stand in one crate, a folder a question, and stay apart in it.
fn purity(_: &Tree, file: &File, line: &Line) -> Option<String> {
    let in_lab = file.path.strip_prefix("crates/lab/src/")?;
    let judges = ["/analysis.rs", "/analysis/"].iter().any(|it| in_lab.contains(it));
    let impure = ["tenbin_metal", "Instant", "SystemTime", "fs", "process", "env"];
    let words = if judges { &impure[..] } else { &["tenbin_stats"] };
    Some(format!("it names `{}`", words.iter().find(|word| has_word(&line.product, word))?))
}

/// Macros that stand for what is missing are clippy's to find.
fn nothing_unfinished(_: &Tree, _: &File, line: &Line) -> Option<String> {
    // Written in two halves, so that this file does not break its own rule.
    let marks = [concat!("TO", "DO"), concat!("FIX", "ME")];
    Some(format!("the mark {}", marks.iter().find(|mark| has_word(&line.text, mark))?))
}

/// Participles that keep back what they are about.
const NOUNLESS: &[&str] = &["found", "said", "told", "came", "looked"];

/// Names that say nothing about what is inside.
const DRAWERS: &[&str] =
    &["utils", "util", "utilities", "utility", "helpers", "helper", "misc", "common", "commons"];

fn names_of_files(tree: &Tree) -> Vec<Violation> {
    let wrong = |file: &File| {
        let mut stems =
            file.path.split('/').map(|part| part.split('.').next().unwrap_or(part).to_lowercase());
        let stem = stems.find(|stem| DRAWERS.iter().chain(NOUNLESS).any(|name| name == stem))?;
        Some(violation(&file.path, 1, format!("`{stem}` does not say what is inside")))
    };
    tree.files.iter().filter_map(wrong).collect()
}

fn names_in_code(_: &Tree, file: &File, line: &Line) -> Option<String> {
    let mut words = line.code.split(|letter| !is_word(letter)).filter(|_| file.is_rust());
    if let Some(word) = words.find(|word| NOUNLESS.contains(&word.to_lowercase().as_str())) {
        return Some(format!("`{word}` names no thing"));
    }
    let name = line.code.trim_start().split_once("fn ").filter(|_| file.is_rust())?.1;
    let letters = name.chars().take_while(|letter| is_word(*letter)).count();
    (letters > 60).then(|| format!("`{}` has {letters} letters; 60 are the most", &name[..letters]))
}

/// Lines that hold code, tests left out.
fn file_length(tree: &Tree) -> Vec<Violation> {
    const LONGEST: usize = 500;
    let wrong = |file: &File| {
        let length = file.lines.iter().filter(|line| !line.product.trim().is_empty()).count();
        let message = format!("{length} lines of code; {LONGEST} are the most");
        (length > LONGEST).then(|| violation(&file.path, 1, message))
    };
    tree.files.iter().filter_map(wrong).collect()
}

fn formatted(tree: &Tree) -> Vec<Violation> {
    let declared = |file: &File| {
        let modules = file.lines.iter().filter_map(|line| module(&line.code));
        let named = modules
            .flat_map(|name| [".rs", "/mod.rs"].map(|end| format!("{}/{name}{end}", file.submodules())));
        let elsewhere = file.lines.iter().filter_map(|line| {
            let (_, target) = line.text.strip_prefix("#[")?.split_once("path = \"")?;
            target_of(&file.path, target.strip_suffix("\")]").or(target.strip_suffix("\"]"))?)
        });
        named.chain(elsewhere).collect::<Vec<_>>()
    };
    let declared =
        tree.files.iter().filter(|file| file.is_rust()).flat_map(declared).collect::<BTreeSet<_>>();
    let lost =
        tree.files.iter().filter(|file| file.is_rust() && !file.is_root() && !declared.contains(&file.path));
    lost.map(|file| violation(&file.path, 1, "no plain `mod` line leads to it")).collect()
}

fn width(_: &Tree, file: &File, line: &Line) -> Option<String> {
    let trimmed = line.text.trim_start();
    // What a string holds is blank in `code`, where its first line, or its last one, has its mark.
    let in_string = !trimmed.starts_with("//") && (line.code.contains('"') || line.code.trim().is_empty());
    let width = match file.path.rsplit('.').next() {
        Some("rs") if !in_string => 110,
        Some("md")
            if !line.code.starts_with("    ") && !trimmed.starts_with('|') && !line.code.is_empty() =>
        {
            120
        }
        _ => return None,
    };
    let length = line.text.chars().count();
    (length > width).then(|| format!("it has {length} letters; {width} are the most"))
}

fn lists_in_one_place(_: &Tree, file: &File, line: &Line) -> Option<String> {
    // Build scripts come before every crate of ours.
    let is_free = file.path == "crates/model/src/words.rs" || file.name() == "build.rs";
    // The product has what is code, and the text what a literal holds.
    let joins = ["\", \"", "\"; \"", "\" and \"", "\" or \""]
        .iter()
        .any(|it| line.text.contains(&format!(".join({it})")));
    (!is_free && joins && line.product.contains(".join(")).then(|| "a list is joined here".into())
}

/// Beginnings of paths that exist on one machine only. Written so that this file passes.
const MACHINE_PATHS: &[&str] = &[
    concat!("/", "home/"),
    concat!("/", "root/"),
    concat!("/", "work/"),
    concat!("/", "Users/"),
    concat!("/", "tmp-"),
];

fn no_machine_paths(_: &Tree, _: &File, line: &Line) -> Option<String> {
    let begins = |start: &&&str| {
        let inside = |letter: char| letter.is_alphanumeric() || "._-/*}>)".contains(letter);
        line.text.match_indices(**start).any(|(at, _)| !line.text[..at].ends_with(inside))
    };
    Some(format!("a path that begins with {}", MACHINE_PATHS.iter().find(begins)?))
}

fn white_space(tree: &Tree) -> Vec<Violation> {
    let wrong = |file: &File| {
        // A carriage return counts too.
        let ends = file.numbered().filter(|(_, line)| line.text.ends_with(char::is_whitespace));
        let mut wrong =
            ends.map(|(number, _)| (number, "white space at the end of the line")).collect::<Vec<_>>();
        match &file.lines[..] {
            [.., last] if !last.text.is_empty() => {
                wrong.push((file.lines.len(), "no newline at the end of the file"))
            }
            [.., before, _] if before.text.is_empty() => {
                wrong.push((file.lines.len() - 1, "an empty line at the end of the file"));
            }
            _ => {}
        }
        wrong.into_iter().map(|(number, message)| violation(&file.path, number, message)).collect::<Vec<_>>()
    };
    // What strace wrote stands as it wrote it.
    tree.files.iter().filter(|file| !file.path.starts_with("fixtures/strace/")).flat_map(wrong).collect()
}

/// A line `key = value` of a manifest.
struct Entry<'a> {
    line: usize,
    /// Without brackets.
    table: &'a str,
    /// All of it: `version.workspace`, `clap`.
    key: &'a str,
    /// As written.
    value: &'a str,
}

impl<'a> Entry<'a> {
    fn all(file: &'a File) -> Vec<Self> {
        let mut table = "";
        let read = |(line, text): (usize, &'a Line)| {
            if text.text.starts_with('[') {
                table = text.text.trim_matches(['[', ']']);
            }
            let (key, value) = text.text.split_once(" = ").filter(|(key, _)| !key.starts_with('#'))?;
            Some(Self { line, table, key, value })
        };
        file.numbered().filter_map(read).collect()
    }

    /// For all targets or for one; for building, tests or the build script.
    fn is_dependency(&self) -> bool {
        self.table.split('.').any(|part| part.ends_with("dependencies"))
    }

    /// The version that it is pinned to.
    fn version(&self) -> Option<&'a str> {
        self.value.split_once("\"=")?.1.split('"').next()
    }
}

const ROOT: &str = "Cargo.toml";

/// The manifests of our crates, and the one that has no crate.
fn manifests(tree: &Tree) -> impl Iterator<Item = (&str, Vec<Entry<'_>>)> {
    tree.files.iter().filter(|file| file.name() == ROOT).map(|file| (file.path.as_str(), Entry::all(file)))
}

fn manifest_inherits(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, entries) in manifests(tree).filter(|(path, _)| *path != ROOT) {
        let inherits = |key: &str| {
            entries.iter().any(|it| it.table == "package" && it.key.strip_suffix(".workspace") == Some(key))
        };
        for key in ["version", "edition", "rust-version", "license"].iter().filter(|key| !inherits(key)) {
            violations.push(violation(path, 1, format!("`{key}.workspace = true` is missing in [package]")));
        }
        // Where `unsafe` may stand; and exported symbols, which a lint takes for the same.
        let free = path.starts_with("crates/metal/") || path.starts_with("arena/");
        let lints = |it: &Entry<'_>| {
            (it.table, it.key, it.value) == ("lints", "workspace", "true")
                || (it.table, it.key, it.value) == ("lints.rust", "unsafe_code", "\"forbid\"")
        };
        if !free && !entries.iter().any(lints) {
            let message = "it neither takes the workspace's lints nor forbids unsafe_code";
            violations.push(violation(path, 1, message));
        }
        for entry in entries.iter().filter(|it| it.is_dependency()) {
            let plain = entry.key.ends_with(".workspace") && entry.value == "true";
            if !plain && !entry.value.contains("workspace = true") {
                let message = format!("the dependency {} is not taken from the workspace", entry.key);
                violations.push(violation(path, entry.line, message));
            }
        }
    }
    violations
}

fn dependencies(tree: &Tree) -> Vec<Violation> {
    const DOCUMENT: &str = "docs/dependencies.md";
    let (root, members): (Vec<_>, Vec<_>) = manifests(tree).partition(|(path, _)| *path == ROOT);
    let used = members.into_iter().flat_map(|(_, entries)| entries).filter(Entry::is_dependency);
    let used = used.map(|it| it.key.trim_end_matches(".workspace")).collect::<BTreeSet<_>>();
    // `| name | version | licence | reason |`
    let row = |(number, line): (usize, &'_ Line)| {
        let cells = line.text.split('|').map(|cell| cell.trim().to_owned()).collect::<Vec<_>>();
        let is_row = cells.len() == 6 && cells[2].starts_with(|letter: char| letter.is_ascii_digit());
        is_row.then_some((number, cells))
    };
    let mut rows = tree.lines(DOCUMENT).filter_map(row).collect::<Vec<_>>();
    let mut violations = Vec::new();
    let mut wrong = |path: &str, line, message| violations.push(violation(path, line, message));
    let third_party = |it: &Entry<'_>| it.is_dependency() && !it.value.contains("path = ");
    for entry in root.into_iter().flat_map(|(_, entries)| entries).filter(third_party) {
        let key = entry.key;
        let version = entry.version().unwrap_or_default();
        if version.is_empty() {
            wrong(ROOT, entry.line, format!("{key} is not pinned with `=`"));
        }
        if !used.contains(key) {
            wrong(ROOT, entry.line, format!("stale: no crate uses {key}"));
        }
        let Some(at) = rows.iter().position(|(_, cells)| cells[1] == key) else {
            wrong(DOCUMENT, 1, format!("{key} {version} is not listed"));
            continue;
        };
        let (line, cells) = rows.remove(at);
        let mut packages = items(&tree.metadata["packages"]);
        // What follows a plus sign says how a version was built, and no requirement can name it.
        let is = |package: &Value| {
            package["version"].as_str().and_then(|it| it.split('+').next()) == Some(version)
        };
        let package = packages.find(|package| package["name"] == key && is(package));
        let licence = package.and_then(|package| package["license"].as_str()).unwrap_or("nothing");
        for (what, written, fact) in [("version", &cells[2], version), ("licence", &cells[3], licence)] {
            if written != fact {
                wrong(
                    DOCUMENT,
                    line,
                    format!("the {what} of {key} is said to be {written}, and cargo says {fact}"),
                );
            }
        }
        if cells[4].is_empty() {
            wrong(DOCUMENT, line, format!("nobody says why {key} is used"));
        }
    }
    for (line, cells) in rows {
        wrong(DOCUMENT, line, format!("stale: {} is not a dependency", cells[1]));
    }
    violations
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn planted(files: &[(&str, &str)], metadata: Value) -> Tree {
        Tree::new(files.iter().map(|(path, text)| ((*path).into(), (*text).into())).collect(), metadata)
    }

    /// Where `rule` does not hold, as `path:line: message`.
    fn broken(rule: &str, tree: &Tree) -> Vec<String> {
        let rule = RULES.iter().find(|it| it.name == rule).expect("the rule is listed");
        let texts = describe(rule, tree).into_iter();
        texts.map(|text| text.lines().next().unwrap_or_default().to_owned()).collect()
    }

    /// The lines of a file at `path` with `text` at which `rule` does not hold.
    fn lines(rule: &str, path: &str, text: &str) -> Vec<usize> {
        let number = |place: String| place.split(':').nth(1)?.parse().ok();
        broken(rule, &planted(&[(path, text)], Value::Null)).into_iter().filter_map(number).collect()
    }

    #[test]
    fn a_violation_names_place_rule_and_remedy() {
        let rule = RULES.iter().find(|rule| rule.name == "names-of-files").expect("the rule is listed");
        let text = describe(rule, &planted(&[("crates/lab/src/utils.rs", "")], Value::Null)).concat();
        assert!(text.starts_with("crates/lab/src/utils.rs:1: "), "{text}");
        assert!(
            text.contains("rule names-of-files: No file") && text.contains("what to do: name it"),
            "{text}"
        );
    }

    #[test]
    fn names_are_unique_and_sentences_end() {
        for (index, rule) in RULES.iter().enumerate() {
            assert!(rule.sentence.ends_with('.'), "{}", rule.name);
            assert!(RULES[..index].iter().all(|other| other.name != rule.name), "{}", rule.name);
        }
    }

    #[test]
    fn a_planted_line_breaks_its_rule_and_others_do_not() {
        let (mark, wide, long) = (concat!("TO", "DO"), "x ".repeat(80), "x".repeat(120));
        let both = "use tenbin_metal::Clock;\nuse tenbin_stats::sign;\n";
        let joins = "a.join(\", \");\nb.join(\"/\");\n// c.join(\", \")\nd.join(\" and \");\n";
        let lets = format!("// {long}\nlet a = {long};\nlet b = \"{long}\";\nlet c = \"\n{long}\n\";\n");
        let names = format!("fn {}() {{}}\n    pub fn {}() {{}}\n", "a".repeat(60), "b".repeat(61));
        let cases: &[(&str, &str, &str, &[usize])] = &[
            ("purity", "crates/lab/src/experiments/a/analysis.rs", both, &[1]),
            ("purity", "crates/lab/src/experiments/a/analysis/b.rs", both, &[1]),
            ("purity", "crates/lab/src/experiments/a.rs", both, &[2]),
            ("purity", "crates/lab/src/engine/a.rs", both, &[2]),
            ("purity", "crates/stats/src/a.rs", both, &[]),
            ("nothing-unfinished", "a.txt", &format!("a\n// {mark}: b\n{mark}\nMASTO{mark}N\n"), &[2, 3]),
            ("names-of-files", "crates/lab/src/utils.rs", "", &[1]),
            ("names-of-files", "xtask/helpers/a.rs", "", &[1]),
            ("names-of-files", "bpf/common.h", "", &[1]),
            ("names-of-files", "docs/misc.md", "", &[1]),
            ("names-of-files", "crates/lab/src/looked.rs", "", &[1]),
            ("names-of-files", "crates/lab/src/commons_law.rs", "", &[]),
            ("names-of-files", "docs/utilisation.md", "", &[]),
            (
                "names-in-code",
                "a.rs",
                "let found = 1;\n// found\nlet a = \"found\";\nlet founded = Told::One;\n",
                &[1, 4],
            ),
            ("names-in-code", "a.md", "found\n", &[]),
            ("names-in-code", "a.rs", &names, &[2]),
            ("width", "a.rs", &lets, &[1, 2]),
            (
                "width",
                "a.md",
                &format!("{wide}\n| {wide}\n    {wide}\n```\n{wide}\n```\n- {wide}\n"),
                &[1, 7],
            ),
            ("lists-in-one-place", "crates/a/src/lib.rs", joins, &[1, 4]),
            ("lists-in-one-place", "crates/model/src/words.rs", joins, &[]),
            ("lists-in-one-place", "crates/a/build.rs", joins, &[]),
            ("lists-in-one-place", "crates/a/tests/b.rs", joins, &[]),
            ("white-space", "a.txt", "a \nb\t\nc\r\nd\n", &[1, 2, 3]),
            ("white-space", "a.txt", " a b\n\nc\n", &[]),
            ("white-space", "a.txt", "a", &[1]),
            ("white-space", "a.txt", "a\n\n", &[2]),
            ("white-space", "a.txt", "", &[]),
        ];
        for (rule, path, text, expected) in cases {
            assert_eq!(lines(rule, path, text), *expected, "{rule}, {path}: {text}");
        }
        for start in MACHINE_PATHS {
            let text = format!("see target{start}x\nsee $HOME/..{start}x\nsee `{start}x`\n");
            assert_eq!(lines("no-machine-paths", "a.txt", &text), [3], "{start}");
        }
    }

    #[test]
    fn the_width_is_rustfmt_s() {
        assert!(include_str!("../../rustfmt.toml").contains("max_width = 110\n"));
    }

    #[test]
    fn a_long_file_is_seen_and_comments_and_tests_do_not_count() {
        let code = "fn a() {}\n".repeat(501);
        let tests = format!("#[cfg(test)]\nmod tests {{\n    {code}}}\n");
        for (path, text, expected) in [
            ("crates/lab/src/a.rs", &code, 1),
            ("crates/lab/src/a.rs", &"// a\n\n".repeat(501), 0),
            ("crates/lab/src/a.rs", &tests, 0),
            ("crates/lab/tests/a.rs", &code, 0),
        ] {
            assert_eq!(lines("file-length", path, text).len(), expected, "{path}");
        }
    }

    #[test]
    fn a_circle_is_named_once_at_its_first_file() {
        let files = |third: &'static str| {
            let files = [
                ("crates/a/src/lib.rs", "mod one;\nmod three;\nmod two;\nuse one::One;\n"),
                ("crates/a/src/one.rs", "mod inner;\nuse crate::{two::{self as second, Two}, zero};\n"),
                ("crates/a/src/one/inner.rs", "use super::One;\n"),
                ("crates/a/src/two/mod.rs", "pub(crate) fn two() {\n    super::three::deep::er();\n}\n"),
                ("crates/a/src/three/deep.rs", third),
                ("crates/b/src/one.rs", "use crate::two::Two;\n"),
            ];
            broken("circles", &planted(&files, Value::Null))
        };
        let none: [&str; 0] = [];
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::one::One;\n}\n// crate::one\n";
        assert_eq!(files(tests), none);
        let circle = "crates/a/src/one.rs:1: a circle: crates/a/src/one.rs, crates/a/src/three/deep.rs, \
                      crates/a/src/two/mod.rs";
        for third in ["use super::super::one::One;\n", "fn deep(one: crate::one::One) {}\n"] {
            assert_eq!(files(third), [circle]);
        }
    }

    #[test]
    fn edges_are_those_of_the_table() {
        let table = "| room | holds | must not | may use |\n|---|---|---|---|\n\
                     | `crates/low` | | | nothing of ours |\n| `crates/high` | | | low |\n";
        let messages = |low: Value, high: Value| {
            let serde = json!({"name": "serde", "kind": null, "path": null});
            let package = |name: &str, mut edges: Value| {
                edges.as_array_mut().expect("a list").push(serde.clone());
                json!({"name": format!("tenbin-{name}"), "source": null, "dependencies": edges,
                    "manifest_path": format!("/w/crates/{name}/Cargo.toml")})
            };
            let packages =
                json!([package("low", low), package("high", high), {"name": "serde", "source": "x"}]);
            let metadata = json!({"workspace_root": "/w", "packages": packages});
            broken("crate-edges", &planted(&[("ARCHITECTURE.md", table)], metadata))
        };
        let edge =
            |name: &str, kind: Value| json!([{"name": format!("tenbin-{name}"), "kind": kind, "path": "/w"}]);
        let (none, to_low) = (json!([]), edge("low", Value::Null));
        assert_eq!(messages(none.clone(), to_low.clone()), [""; 0]);
        assert_eq!(
            messages(edge("high", Value::Null), to_low.clone()),
            ["crates/low/Cargo.toml:1: crates/low uses high, which the table does not allow"]
        );
        let tests = messages(edge("high", "dev".into()), to_low);
        assert_eq!(
            tests,
            ["crates/low/Cargo.toml:1: crates/low tests with high, which the table does not allow"]
        );
        let stale = messages(none, edge("low", "dev".into()));
        assert_eq!(stale.len(), 1);
        assert!(stale[0].contains("stale: the table says that crates/high uses low"), "{stale:?}");
    }

    #[test]
    fn what_is_optimized_takes_nothing_of_what_is_not() {
        let links = |name: &str, on: &[&str]| {
            let deps = on.iter().map(|on| json!({"pkg": on, "dep_kinds": [{"kind": null}]}));
            json!({"id": name, "deps": deps.collect::<Vec<_>>()})
        };
        let names = ["tenbin", "high", "middle", "low"];
        let packages = names.map(|name| json!({"id": name, "name": name, "version": "1.2.3", "targets": []}));
        let nodes = [
            links("tenbin", &["high"]),
            links("high", &["middle"]),
            links("middle", &["low"]),
            links("low", &[]),
        ];
        let metadata = json!({"packages": packages, "resolve": {"nodes": nodes}});
        let broken = |levels: &str| {
            let manifest =
                format!("[profile.release.package]\n{levels}\n[profile.dist]\nhigh.opt-level = 0\n");
            broken("optimization", &planted(&[("Cargo.toml", &manifest)], metadata.clone()))
        };
        assert_eq!(broken("tenbin.opt-level = 0\nhigh.opt-level = 3"), [""; 0]);
        assert_eq!(
            broken("tenbin.opt-level = 0\nhigh.opt-level = 0\nmiddle.opt-level = 2\nlow.opt-level = 0"),
            [""; 0]
        );
        for low in ["low", "\"low@1.2.3\""] {
            assert_eq!(
                broken(&format!("tenbin.opt-level = 0\nhigh.opt-level = 0\n{low}.opt-level = 0")),
                ["Cargo.toml:4: middle is optimized and builds on it"]
            );
        }
        assert_eq!(broken("low.opt-level = 0").len(), 1);
        assert_eq!(broken("high.opt-level = \"s\"\nmiddle.opt-level = 0").len(), 1);
    }

    #[test]
    fn a_crate_and_a_room_must_have_each_other() {
        let new = json!({"name": "new", "source": null, "manifest_path": "/w/new/Cargo.toml"});
        let metadata = json!({"workspace_root": "/w", "packages": [new]});
        let table = "| `crates/low` | | | nothing of ours |\n";
        let messages = broken("crate-edges", &planted(&[("ARCHITECTURE.md", table)], metadata));
        assert_eq!(
            messages,
            [
                "new/Cargo.toml:1: new is not in the table of rooms",
                "ARCHITECTURE.md:1: stale: the table has crates/low, which is no crate"
            ]
        );
    }

    #[test]
    fn a_path_that_does_not_exist_is_seen_in_documents_only() {
        let messages = |path: &str, text: &str| {
            let files = [
                ("crates/lab/src/experiments/mod.rs", ""),
                ("fixtures/a.csv", ""),
                (".ci/run", ""),
                (path, text),
            ];
            broken("paths-exist", &planted(&files, Value::Null))
        };
        let good = "`crates/lab/`, `experiments/mod.rs`, `mod.rs:12`, `fixtures/*.csv`, `.ci/run`, `crates/*`,\n\
                    `read/write`, `/proc/self`, `tenbin/store.db`, `kernel/sched/core.c`, `cargo run`\n\
                    ```\n`crates/none.rs`\n```\n";
        assert_eq!(messages("docs/a.md", good), [""; 0]);
        for path in ["crates/none", "fixtures/*.json", "none.rs", "docs/none.md", ".ci/none"] {
            let text = format!("See `{path}`.\n");
            assert_eq!(messages("README.md", &text), [format!("README.md:1: `{path}` does not exist")]);
            assert_eq!(messages("fixtures/a.md", &text), [""; 0]);
        }
    }

    #[test]
    fn a_file_that_no_plain_line_declares_is_seen() {
        let lib = "mod a;\n#[path = \"f/../g.rs\"]\nmod f;\n#[cfg_attr(unix, path = \"h/i.rs\")]\nmod h;\npub(crate) mod b;\n#[cfg(test)]\nmod c;\nlist! {\n    mod hidden;\n}\n";
        let files = [
            ("crates/x/src/lib.rs", lib),
            ("crates/x/src/a.rs", "mod d;\n"),
            ("crates/x/src/a/d.rs", ""),
            ("crates/x/src/b/mod.rs", "pub mod e;\n"),
            ("crates/x/src/b/e.rs", ""),
            ("crates/x/src/c.rs", ""),
            ("crates/x/src/g.rs", ""),
            ("crates/x/src/h/i.rs", ""),
            ("crates/x/src/hidden.rs", ""),
            ("crates/x/tests/t.rs", "mod place;\n"),
            ("crates/x/tests/place/mod.rs", ""),
            ("crates/x/tests/u/main.rs", "mod v;\n"),
            ("crates/x/tests/u/v.rs", ""),
            ("crates/x/tests/u/w.rs", ""),
        ];
        let lost = broken("formatted", &planted(&files, Value::Null));
        let paths = lost.iter().map(|place| place.split(':').next().unwrap_or_default()).collect::<Vec<_>>();
        assert_eq!(paths, ["crates/x/src/hidden.rs", "crates/x/tests/u/w.rs"]);
    }

    const MEMBER: &str = "[package]\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n\
        [lints]\nworkspace = true\n[dependencies]\nclap.workspace = true\nlow.workspace = true\nserde = { workspace = true }\n";
    const WORKSPACE: &str = "[workspace.dependencies]\nlow = { path = \"crates/low\" }\nclap = { version = \"=4.6.7\" }\nserde = \"=1.0.1\"\n";
    const TABLE: &str = "| name | version | licence | reason |\n|---|---|---|---|\n| clap | 4.6.7 | MIT | the command line |\n| serde | 1.0.1 | MIT | JSON |\n";

    /// What both rules of manifests say where, in one of the three files, `from` is `to`.
    fn replaced(from: &str, to: &str) -> Vec<String> {
        let texts = [WORKSPACE, MEMBER, TABLE].map(|text| text.replacen(from, to, 1));
        let paths = ["Cargo.toml", "crates/a/Cargo.toml", "docs/dependencies.md"];
        let files = [0, 1, 2].map(|file| (paths[file], texts[file].as_str()));
        let package = |name: &str, version: &str| json!({"name": name, "version": version, "license": "MIT"});
        let packages = [package("clap", "4.6.7"), package("serde", "1.0.1")];
        let tree = planted(&files, json!({ "packages": packages }));
        ["manifest-inherits", "dependencies"].iter().flat_map(|rule| broken(rule, &tree)).collect()
    }

    #[test]
    fn manifests_and_the_document_of_dependencies_agree() {
        assert_eq!(replaced("same", "same"), [""; 0]);
        let cases = [
            ("version.workspace = true\nedition", "version = \"1.0.0\"\nedition", "crates/a/Cargo.toml:1: "),
            ("clap.workspace = true", "clap = \"=4.6.7\"", "crates/a/Cargo.toml:10: the dependency clap"),
            ("[lints]\nworkspace = true\n", "", "crates/a/Cargo.toml:1: it neither"),
            ("\"=4", "\"4", "Cargo.toml:3: clap is not pinned"),
            ("version = \"=4.6.7\"", "git = \"https://example.org\"", "Cargo.toml:3: clap is not pinned"),
            ("clap.workspace = true\n", "", "Cargo.toml:3: stale: no crate uses clap"),
            (" 4.6.7 |", " 4.6.6 |", "docs/dependencies.md:3: the version of clap"),
            ("| MIT", "| GPL-2.0", "docs/dependencies.md:3: the licence of clap"),
            ("the command line", "", "docs/dependencies.md:3: nobody says why"),
            ("| clap |", "| other |", "docs/dependencies.md:1: clap 4.6.7 is not listed"),
            ("| JSON |\n", "| JSON |\n| gone | 1.0.0 | MIT | - |\n", "docs/dependencies.md:5: stale: gone"),
        ];
        for (from, to, message) in cases {
            let broken = replaced(from, to);
            assert!(broken.iter().any(|it| it.starts_with(message)), "{message}: {broken:?}");
        }
        assert_eq!(
            replaced("[lints]\nworkspace = true\n", "[lints.rust]\nunsafe_code = \"forbid\"\n"),
            [""; 0]
        );
    }
}
