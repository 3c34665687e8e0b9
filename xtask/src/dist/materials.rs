//! What is inside of a binary: every crate that it is built of and what those bring along, as a bill of
//! materials (CycloneDX 1.6) and with the texts of their licences.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::architecture::Architecture;
use crate::failure::Failure;
use crate::files::{cannot, read};
use crate::workspace::Workspace;
use tenbin_model::words::comma;

/// The licence of the C library, as Debian has it.
pub(super) const LGPL: &str = "/usr/share/common-licenses/LGPL-2.1";

/// A crate, or what is compiled into the binary beside crates.
#[derive(Default)]
struct Part {
    name: String,
    version: String,
    licence: String,
    authors: Vec<String>,
    /// Of crates.io, not one of ours or no crate.
    fetched: bool,
    /// Where its licences lie.
    folder: Option<PathBuf>,
    /// The references of what it uses.
    uses: BTreeSet<String>,
}

/// What all of them are built of, by its reference in the bill.
pub(super) struct Materials {
    parts: BTreeMap<String, Part>,
    root: PathBuf,
}

/// What crates bring along in C or JavaScript.
struct Brought {
    name: &'static str,
    licence: &'static str,
    /// The crate that does.
    by: &'static str,
    /// Where its version stands: a file of that crate, and what comes before it.
    version: (&'static str, &'static str),
}

const BROUGHT: [Brought; 3] = [
    Brought {
        name: "sqlite",
        licence: "blessing",
        by: "libsqlite3-sys",
        version: ("sqlite3/sqlite3.h", "#define SQLITE_VERSION        \""),
    },
    Brought { name: "zstd", licence: "BSD-3-Clause", by: "zstd-sys", version: ("Cargo.toml", "+zstd.") },
    Brought {
        name: "uplot",
        licence: "MIT",
        by: "tenbin-document",
        version: ("src/html/uplot/uPlot.iife.min.js", "uPlot (v"),
    },
];

/// What `architectures` are built of.
pub(super) fn of(workspace: &Workspace, architectures: &[Architecture]) -> Result<Materials, Failure> {
    let mut parts = BTreeMap::new();
    for architecture in architectures {
        let metadata = workspace.metadata(&["--filter-platform", architecture.names().target])?;
        gather(&metadata, &mut parts);
    }
    for brought in BROUGHT {
        let Some((by, part)) = parts.iter_mut().find(|(_, part)| part.name == brought.by) else { continue };
        let file = part.folder.as_deref().unwrap_or(workspace.root()).join(brought.version.0);
        let text = read(&file)?;
        let after = text.split_once(brought.version.1).map_or("", |(_, after)| after);
        let version = after.chars().take_while(|it| it.is_ascii_digit() || *it == '.').collect::<String>();
        let reference = format!("pkg:generic/{}@{version}", brought.name);
        part.uses.insert(reference.clone());
        println!("{} {version} comes with {by}", brought.name);
        let (name, licence) = (brought.name.into(), brought.licence.into());
        parts.insert(reference, Part { name, version, licence, ..Part::default() });
    }
    Ok(Materials { parts, root: workspace.root().into() })
}

/// The crates that tenbin is linked of, as `cargo metadata` has them for one target: neither what only builds
/// need, nor what only tests do.
fn gather(metadata: &Value, parts: &mut BTreeMap<String, Part>) {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let packages = list(&metadata["packages"]);
    let packages = packages.iter().map(|package| (text(&package["id"]), package)).collect::<BTreeMap<_, _>>();
    let nodes = list(&metadata["resolve"]["nodes"]);
    let nodes = nodes.iter().map(|node| (text(&node["id"]), node)).collect::<BTreeMap<_, _>>();
    let mut waiting = packages.iter().filter(|(_, it)| it["name"] == "tenbin").map(|(id, _)| id.clone());
    let mut waiting = waiting.by_ref().collect::<Vec<_>>();
    let reference = |id: &str| {
        let package = packages.get(id)?;
        Some(format!("pkg:cargo/{}@{}", text(&package["name"]), text(&package["version"])))
    };
    while let Some(id) = waiting.pop() {
        let (Some(package), Some(own)) = (packages.get(&id), reference(&id)) else { continue };
        let linked = |it: &&Value| list(&it["dep_kinds"]).iter().any(|kind| kind["kind"].is_null());
        let below = nodes.get(&id).map(|node| list(&node["deps"])).unwrap_or_default();
        let below = below.iter().filter(linked).map(|it| text(&it["pkg"])).collect::<Vec<_>>();
        let manifest = PathBuf::from(text(&package["manifest_path"]));
        let new = !parts.contains_key(&own);
        let part = parts.entry(own).or_insert_with(|| Part {
            name: text(&package["name"]),
            version: text(&package["version"]),
            // Some manifests have the slash that SPDX knew once.
            licence: text(&package["license"]).replace('/', " OR "),
            authors: list(&package["authors"]).iter().map(text).collect(),
            fetched: package["source"].is_string(),
            folder: manifest.parent().map(Path::to_path_buf),
            uses: BTreeSet::new(),
        });
        let known = part.uses.len();
        part.uses.extend(below.iter().filter_map(|id| reference(id)));
        if new || part.uses.len() > known {
            waiting.extend(below);
        }
    }
}

impl Materials {
    /// The bill of materials.
    pub(super) fn bill(&self) -> String {
        let component = |(reference, part): (&String, &Part)| {
            let kind = if part.name == "tenbin" { "application" } else { "library" };
            json!({
                "type": kind,
                "bom-ref": reference,
                "name": part.name,
                "version": part.version,
                "licenses": [{ "expression": part.licence }],
                "purl": reference,
            })
        };
        let (own, others): (Vec<_>, Vec<_>) = self.parts.iter().partition(|(_, part)| part.name == "tenbin");
        let dependency =
            |(reference, part): (&String, &Part)| json!({ "ref": reference, "dependsOn": part.uses });
        let bill = json!({
            "bomFormat": "CycloneDX",
            "specVersion": "1.6",
            "version": 1,
            "metadata": { "component": own.into_iter().map(component).next() },
            "components": others.into_iter().map(component).collect::<Vec<_>>(),
            "dependencies": self.parts.iter().map(dependency).collect::<Vec<_>>(),
        });
        format!("{bill:#}\n")
    }

    /// The texts of all licences, each once, with whose it is.
    pub(super) fn licences(&self) -> Result<String, Failure> {
        let mut texts = BTreeMap::<String, Vec<String>>::new();
        let mut list = String::new();
        for part in self.parts.values() {
            let own = match &part.folder {
                Some(folder) => texts_below(folder)?,
                None => Vec::new(),
            };
            let whose = format!("{} {}", part.name, part.version);
            let mut line = format!("{whose}: {}", part.licence);
            if part.fetched && own.is_empty() && !part.authors.is_empty() {
                line += &format!("; by {}", comma(&part.authors));
            }
            list += &format!("  {line}\n");
            own.into_iter().for_each(|text| texts.entry(text).or_default().push(whose.clone()));
        }
        for (name, whose) in
            [("LICENSE-MIT", "tenbin"), ("LICENSE-APACHE", "tenbin, and crates without a text of their own")]
        {
            let text = read(&self.root.join(name))?;
            texts.entry(text.trim().into()).or_default().push(whose.into());
        }
        texts.entry(read(Path::new(LGPL))?.trim().into()).or_default().push("the GNU C library".into());
        let rule = "=".repeat(80);
        let texts =
            texts.iter().map(|(text, whose)| format!("{rule}\n{}\n{rule}\n\n{text}\n\n", fold(whose)));
        Ok(format!("{HEAD}{list}\n{}", texts.collect::<String>()))
    }
}

const HEAD: &str = "\
tenbin is linked statically. This is what is in it, and under which licences.

  the GNU C library: LGPL-2.1-or-later. Whoever wants to link tenbin with another one builds it from its
    source, which is whole and free: `cargo build --release`.
  libgcc: GPL-3.0-or-later WITH GCC-exception-3.1
  the standard library of Rust: MIT OR Apache-2.0
";

/// Names, as many in a line as there is room for.
fn fold(names: &[String]) -> String {
    let mut text = String::new();
    let mut width = 0;
    for name in names {
        if width > 0 && width + name.len() > 78 {
            text.push_str(",\n");
            width = 0;
        } else if width > 0 {
            text.push_str(", ");
        }
        text.push_str(name);
        width += name.len() + 2;
    }
    text
}

/// The licences in a folder of sources, and in the folders of it that hold somebody else's.
fn texts_below(folder: &Path) -> Result<Vec<String>, Failure> {
    let mut texts = Vec::new();
    for place in ["", "LICENSES", "zstd", "src/html/uplot"].map(|name| folder.join(name)) {
        let Ok(entries) = fs::read_dir(&place) else { continue };
        let paths = entries.map(|entry| entry.map(|it| it.path())).collect::<Result<BTreeSet<_>, _>>();
        for path in paths.map_err(|error| cannot("read", &place, &error))? {
            let name = path.file_name().map(|it| it.to_string_lossy().to_uppercase()).unwrap_or_default();
            let begins = ["LICENSE", "LICENCE", "COPYRIGHT", "NOTICE", "UNLICENSE"].iter();
            let is_text = place.ends_with("LICENSES") || begins.into_iter().any(|it| name.starts_with(it));
            if is_text && path.is_file() {
                texts.push(read(&path)?.trim().to_owned());
            }
        }
    }
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_linked_is_listed_and_nothing_else() {
        let workspace = Workspace::find().expect("the test runs in the repository");
        let bill = of(&workspace, &[Architecture::HERE]).expect("cargo knows its crates").bill();
        let bill: Value = serde_json::from_str(&bill).expect("it is JSON");
        let components = bill["components"].as_array().expect("it has components");
        let names = components.iter().filter_map(|it| it["name"].as_str()).collect::<BTreeSet<_>>();
        for name in ["clap", "sqlite", "zstd", "uplot", "tenbin-metal"] {
            assert!(names.contains(name), "{name} is missing");
        }
        for name in ["insta", "cc", "tenbin", "windows-sys", "xtask"] {
            assert!(!names.contains(name), "{name} is listed");
        }
        assert_eq!(bill["metadata"]["component"]["name"], "tenbin");
        for component in components {
            let version = component["version"].as_str().unwrap_or_default();
            assert!(version.starts_with(|it: char| it.is_ascii_digit()), "{component}");
            assert_ne!(component["licenses"][0]["expression"], "", "{component}");
        }
    }

    #[test]
    fn a_licence_that_lies_with_another_s_sources_is_read() {
        let workspace = Workspace::find().expect("the test runs in the repository");
        let texts = texts_below(&workspace.root().join("crates/document")).expect("it can be read");
        assert!(texts.iter().any(|text| text.contains("Leon Sorokin")), "{texts:?}");
    }

    #[test]
    fn names_are_folded_and_none_is_lost() {
        let names = (0..40).map(|number| format!("crate-{number} 1.0.0")).collect::<Vec<_>>();
        let text = fold(&names);
        assert!(text.lines().count() > 1 && text.lines().all(|line| line.len() <= 80), "{text}");
        assert_eq!(text.replace(",\n", ", ").split(", ").collect::<Vec<_>>(), names);
    }
}
