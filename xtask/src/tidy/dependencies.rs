//! Manifests, and the document that says why each dependency is there.

use super::manifest::{self, Entry};
use super::tree::{Tree, Violation};

const ROOT: &str = "Cargo.toml";
const DOCUMENT: &str = "docs/dependencies.md";
const INHERITED: &[&str] = &["version", "edition", "rust-version", "license", "publish"];

pub(super) fn inherited(tree: &Tree) -> Vec<Violation> {
    let mut violations = Vec::new();
    for (path, entries) in members(tree) {
        for key in INHERITED {
            let wanted = format!("{key}.workspace");
            if !entries.iter().any(|it| it.table == "package" && it.key == wanted) {
                violations.push(Violation::new(
                    path,
                    1,
                    format!("`{wanted} = true` is missing in [package]"),
                ));
            }
        }
        // Where `unsafe` may stand; and exported symbols, which a lint takes for the same.
        let free = path.starts_with("crates/metal/") || path.starts_with("arena/");
        let lints = |it: &Entry| match it.table.as_str() {
            "lints" => it.key == "workspace" && it.value == "true",
            table => table == "lints.rust" && it.key == "unsafe_code" && it.value == "\"forbid\"",
        };
        if !free && !entries.iter().any(lints) {
            let message = "it neither takes the workspace's lints nor forbids unsafe_code";
            violations.push(Violation::new(path, 1, message));
        }
        for entry in entries.iter().filter(|it| is_dependency_table(&it.table)) {
            let plain = entry.key.ends_with(".workspace") && entry.value == "true";
            if !plain && !entry.value.contains("workspace = true") {
                let message = format!("the dependency {} is not taken from the workspace", entry.key);
                violations.push(Violation::new(path, entry.line, message));
            }
        }
    }
    violations
}

pub(super) fn pinned(tree: &Tree) -> Vec<Violation> {
    let used = members(tree).flat_map(|(_, entries)| entries).filter(|it| is_dependency_table(&it.table));
    let used = used.map(|it| it.key.trim_end_matches(".workspace").to_owned()).collect::<Vec<_>>();
    let mut violations = Vec::new();
    for entry in third_party(tree) {
        let version = manifest::version(&entry.value);
        if !version.is_some_and(|version| version.starts_with('=')) {
            violations.push(Violation::new(
                ROOT,
                entry.line,
                format!("{} is not pinned with `=`", entry.key),
            ));
        }
        if !used.contains(&entry.key) {
            violations.push(Violation::new(ROOT, entry.line, format!("stale: no crate uses {}", entry.key)));
        }
    }
    violations
}

pub(super) fn documented(tree: &Tree) -> Vec<Violation> {
    let Some(document) = tree.file(DOCUMENT) else {
        return vec![Violation::new(DOCUMENT, 1, "the document does not exist")];
    };
    let licences = match &tree.licences {
        Ok(licences) => licences,
        Err(reason) => {
            return vec![Violation::new("Cargo.lock", 1, format!("no licence is known: {reason}"))];
        }
    };
    let rows = document.lines().filter_map(|(line, text)| Some((line, Row::read(text)?))).collect::<Vec<_>>();
    let manifest = third_party(tree);
    let mut violations = Vec::new();
    for entry in &manifest {
        let version = manifest::version(&entry.value).unwrap_or_default().trim_start_matches('=');
        let Some((line, row)) = rows.iter().find(|(_, row)| row.name == entry.key) else {
            violations.push(Violation::new(DOCUMENT, 1, format!("{} {version} is not listed", entry.key)));
            continue;
        };
        let licence = licences.get(&(entry.key.clone(), version.to_owned()));
        let licence = licence.map_or("nothing", String::as_str);
        let facts = [("version", row.version, version), ("licence", row.licence, licence)];
        for (what, written, fact) in facts.into_iter().filter(|(_, written, fact)| written != fact) {
            let message =
                format!("the {what} of {} is said to be {written}, and cargo says {fact}", row.name);
            violations.push(Violation::new(DOCUMENT, *line, message));
        }
        if row.reason.is_empty() {
            violations.push(Violation::new(DOCUMENT, *line, format!("nobody says why {} is used", row.name)));
        }
    }
    for (line, row) in rows.iter().filter(|(_, row)| !manifest.iter().any(|entry| entry.key == row.name)) {
        violations.push(Violation::new(DOCUMENT, *line, format!("stale: {} is not a dependency", row.name)));
    }
    violations
}

/// A line of the table in the document: `| name | version | licence | reason |`.
struct Row<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
    reason: &'a str,
}

impl<'a> Row<'a> {
    fn read(line: &'a str) -> Option<Self> {
        let cells = line.trim().strip_prefix('|')?.split('|').map(str::trim).collect::<Vec<_>>();
        match cells[..] {
            [name, version, licence, reason, ""] if version.starts_with(|it: char| it.is_ascii_digit()) => {
                Some(Self { name, version, licence, reason })
            }
            _ => None,
        }
    }
}

/// The manifests of our crates with their entries.
fn members(tree: &Tree) -> impl Iterator<Item = (&str, Vec<Entry>)> {
    let manifests = tree.files.iter().filter(|file| file.path != ROOT && file.name() == ROOT);
    manifests.map(|file| (file.path.as_str(), manifest::entries(file.text.as_deref().unwrap_or_default())))
}

/// The dependencies of the workspace that are not ours.
fn third_party(tree: &Tree) -> Vec<Entry> {
    let text = tree.file(ROOT).and_then(|file| file.text.as_deref()).unwrap_or_default();
    let ours = |entry: &Entry| manifest::string(&entry.value, "path").is_some();
    let entries = manifest::entries(text).into_iter();
    entries.filter(|it| it.table.starts_with("workspace.dependencies") && !ours(it)).collect()
}

/// `dependencies`, `dev-dependencies`, `build-dependencies`, for all targets or for one.
fn is_dependency_table(table: &str) -> bool {
    table.split('.').any(|part| part.ends_with("dependencies"))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMBER: &str = "[package]\nversion.workspace = true\nedition.workspace = true\n\
        rust-version.workspace = true\nlicense.workspace = true\npublish.workspace = true\n\
        [lints]\nworkspace = true\n[dependencies]\nclap.workspace = true\nlow.workspace = true\nserde = { workspace = true }\n";
    const WORKSPACE: &str = "[workspace.dependencies]\nlow = { path = \"crates/low\" }\nclap = { version = \"=4.6.7\" }\nserde = \"=1.0.1\"\n";
    const TABLE: &str = "| name | version | licence | reason |\n|---|---|---|---|\n| clap | 4.6.7 | MIT | the command line |\n| serde | 1.0.1 | MIT | JSON |\n";

    fn tree(root: &str, member: &str, document: &str) -> Tree {
        let files = [("Cargo.toml", root), ("crates/a/Cargo.toml", member), (DOCUMENT, document)];
        let mut tree = Tree::planted(&files);
        let licence = |name: &str, version: &str| ((name.into(), version.into()), "MIT".into());
        tree.licences = Ok([licence("clap", "4.6.7"), licence("serde", "1.0.1")].into());
        tree
    }

    #[test]
    fn manifests_and_document_that_agree_pass() {
        let tree = tree(WORKSPACE, MEMBER, TABLE);
        for check in [inherited, pinned, documented] {
            assert_eq!(check(&tree), []);
        }
    }

    #[test]
    fn a_version_or_dependency_of_one_crate_s_own_is_found() {
        let own = MEMBER.replace("version.workspace = true\nedition", "version = \"1.0.0\"\nedition");
        assert_eq!(inherited(&tree(WORKSPACE, &own, TABLE)).len(), 1);
        let own = MEMBER.replace("clap.workspace = true", "clap = \"=4.6.7\"");
        assert_eq!(inherited(&tree(WORKSPACE, &own, TABLE))[0].line, 10);
    }

    #[test]
    fn a_crate_without_lints_may_be_unsafe_and_is_found() {
        let none = MEMBER.replace("[lints]\nworkspace = true\n", "");
        assert_eq!(inherited(&tree(WORKSPACE, &none, TABLE)).len(), 1);
        let own = format!("{none}[lints.rust]\nunsafe_code = \"forbid\"\n");
        assert_eq!(inherited(&tree(WORKSPACE, &own, TABLE)), []);
    }

    #[test]
    fn a_loose_version_and_an_unused_dependency_are_found() {
        assert_eq!(pinned(&tree(&WORKSPACE.replace("\"=4", "\"4"), MEMBER, TABLE)).len(), 1);
        let git = WORKSPACE.replace("version = \"=4.6.7\"", "git = \"https://example.org\"");
        assert_eq!(pinned(&tree(&git, MEMBER, TABLE)).len(), 1);
        let unused = MEMBER.replace("clap.workspace = true\n", "");
        assert!(pinned(&tree(WORKSPACE, &unused, TABLE))[0].message.starts_with("stale"));
    }

    #[test]
    fn a_document_that_disagrees_is_found() {
        let cases = [
            ("4.6.7", "4.6.6", "the version of clap"),
            ("MIT", "GPL-2.0", "the licence of clap"),
            ("the command line", "", "nobody says why"),
            ("| clap |", "| other |", "clap 4.6.7 is not listed"),
        ];
        for (from, to, message) in cases {
            let violations = documented(&tree(WORKSPACE, MEMBER, &TABLE.replace(from, to)));
            assert!(violations.iter().any(|it| it.message.starts_with(message)), "{message}: {violations:?}");
        }
        let extra = format!("{TABLE}| gone | 1.0.0 | MIT | - |\n");
        assert!(documented(&tree(WORKSPACE, MEMBER, &extra))[0].message.starts_with("stale: gone"));
    }
}
