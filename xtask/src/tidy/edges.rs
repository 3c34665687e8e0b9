//! Which of our crates may use which. This table is the wall between the rooms.

use serde_json::Value;

use super::tree::{Tree, Violation};

/// One crate's edges.
struct Room {
    /// Name of the crate.
    name: &'static str,
    /// Ours that it uses.
    uses: &'static [&'static str],
    /// Ours that only its tests use.
    tests_use: &'static [&'static str],
}

const ROOMS: &[Room] = &[
    Room { name: "tenbin-model", uses: &[], tests_use: &[] },
    Room { name: "tenbin-bignum", uses: &[], tests_use: &[] },
    Room { name: "tenbin-boot", uses: &["tenbin-model"], tests_use: &[] },
    Room { name: "tenbin-metal", uses: &["tenbin-model"], tests_use: &[] },
    Room {
        name: "tenbin-lab",
        uses: &[
            "tenbin-analysis",
            "tenbin-bignum",
            "tenbin-document",
            "tenbin-metal",
            "tenbin-model",
            "tenbin-stats",
        ],
        // With the runs that are made up.
        tests_use: &["tenbin-analysis"],
    },
    Room { name: "tenbin-stats", uses: &["tenbin-model"], tests_use: &[] },
    Room { name: "tenbin-document", uses: &["tenbin-model", "tenbin-stats"], tests_use: &[] },
    Room {
        name: "tenbin-analysis",
        uses: &["tenbin-document", "tenbin-model", "tenbin-stats"],
        tests_use: &[],
    },
    Room { name: "tenbin-store", uses: &["tenbin-model"], tests_use: &[] },
    Room { name: "tenbin-reach", uses: &["tenbin-boot", "tenbin-metal", "tenbin-model"], tests_use: &[] },
    Room {
        name: "tenbin",
        uses: &[
            "tenbin-analysis",
            "tenbin-bignum",
            "tenbin-boot",
            "tenbin-lab",
            "tenbin-metal",
            "tenbin-model",
            "tenbin-reach",
            "tenbin-stats",
            "tenbin-store",
        ],
        tests_use: &[],
    },
    Room { name: "xtask", uses: &["tenbin-metal", "tenbin-model"], tests_use: &[] },
];

pub(super) fn check(tree: &Tree) -> Vec<Violation> {
    compare(&tree.metadata, ROOMS)
}

fn compare(metadata: &Value, rooms: &[Room]) -> Vec<Violation> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours = packages.iter().filter_map(|package| package["name"].as_str()).collect::<Vec<_>>();
    let mut violations = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let path = manifest(metadata, package);
        let Some(room) = rooms.iter().find(|room| room.name == name) else {
            violations.push(Violation::new(
                &path,
                1,
                format!("the crate {name} is not in the table of edges"),
            ));
            continue;
        };
        for (kind, allowed) in [(Kind::Normal, room.uses), (Kind::Test, room.tests_use)] {
            let used = edges(package, kind, &ours);
            for other in used.iter().filter(|other| !allowed.contains(other)) {
                let message = format!("{name} {} {other}, which the table does not allow", kind.verb());
                violations.push(Violation::new(&path, 1, message));
            }
            for other in allowed.iter().filter(|other| !used.contains(other)) {
                let message =
                    format!("stale: the table says that {name} {} {other}, but it does not", kind.verb());
                violations.push(Violation::new(&path, 1, message));
            }
        }
    }
    for room in rooms.iter().filter(|room| !ours.contains(&room.name)) {
        let message = format!("stale: the table has the crate {}, which does not exist", room.name);
        violations.push(Violation::new("xtask/src/tidy/edges.rs", 1, message));
    }
    violations
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// For building, build scripts counted in.
    Normal,
    /// For tests and benchmarks only.
    Test,
}

impl Kind {
    fn verb(self) -> &'static str {
        match self {
            Self::Normal => "uses",
            Self::Test => "tests with",
        }
    }
}

fn edges<'a>(package: &'a Value, kind: Kind, ours: &[&str]) -> Vec<&'a str> {
    let dependencies = package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default();
    let of_kind =
        dependencies.iter().filter(|it| (it["kind"].as_str() == Some("dev")) == (kind == Kind::Test));
    of_kind.filter_map(|it| it["name"].as_str()).filter(|name| ours.contains(name)).collect()
}

/// The package's manifest, relative to the root.
fn manifest(metadata: &Value, package: &Value) -> String {
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let path = package["manifest_path"].as_str().unwrap_or_default();
    path.strip_prefix(root).unwrap_or(path).trim_start_matches('/').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TWO: &[Room] = &[
        Room { name: "low", uses: &[], tests_use: &[] },
        Room { name: "high", uses: &["low"], tests_use: &[] },
    ];

    fn planted(low: Value, high: Value) -> Vec<String> {
        let metadata = json!({"workspace_root": "/w", "packages": [
            {"name": "low", "manifest_path": "/w/low/Cargo.toml", "dependencies": low},
            {"name": "high", "manifest_path": "/w/high/Cargo.toml", "dependencies": high},
        ]});
        compare(&metadata, TWO).into_iter().map(|it| format!("{}: {}", it.path, it.message)).collect()
    }

    #[test]
    fn the_table_passes_and_foreign_crates_do_not_count() {
        let low = json!([{"name": "serde", "kind": null}]);
        assert_eq!(planted(low, json!([{"name": "low", "kind": null}])), Vec::<String>::new());
    }

    #[test]
    fn an_edge_that_is_not_in_the_table_is_found() {
        let messages =
            planted(json!([{"name": "high", "kind": null}]), json!([{"name": "low", "kind": null}]));
        assert_eq!(messages, ["low/Cargo.toml: low uses high, which the table does not allow"]);
    }

    #[test]
    fn an_edge_of_tests_is_another_edge() {
        let messages = planted(json!([]), json!([{"name": "low", "kind": "dev"}]));
        assert_eq!(messages.len(), 2, "{messages:?}");
        assert!(messages[0].contains("stale: the table says that high uses low"), "{messages:?}");
        assert!(messages[1].contains("high tests with low"), "{messages:?}");
    }

    #[test]
    fn unlisted_crates_and_rooms_without_a_crate_are_violations() {
        let metadata = json!({"workspace_root": "/w", "packages": [
            {"name": "new", "manifest_path": "/w/new/Cargo.toml", "dependencies": []},
        ]});
        assert_eq!(compare(&metadata, TWO).len(), 3);
    }
}
