//! Reading a folder of `fixtures/machines` and unpacking it. Its README has the format.
//!
//! Two tests use this file, of this crate and of the binary. So it takes what it observes with from
//! the module above it.

use std::fs;
use std::path::{Path, PathBuf};

use tenbin_model::machine::{Machine, Observed};
use tenbin_model::{Bytes, Cpu};

use super::{Facts, cpus_in_order, observe};

/// A machine in text: files with their content, and facts.
pub(super) struct Fixture {
    pub(super) folder: PathBuf,
    /// Path and content; a path that ends in `/` is a folder.
    pub(super) files: Vec<(String, Vec<u8>)>,
    pub(super) facts: Facts,
}

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/machines")
}

pub(super) fn all() -> Vec<Fixture> {
    let entries = fs::read_dir(home()).unwrap().map(|entry| entry.unwrap().path());
    let mut folders: Vec<PathBuf> = entries.filter(|path| path.is_dir()).collect();
    folders.sort_unstable();
    folders.into_iter().map(Fixture::read).collect()
}

impl Fixture {
    pub(super) fn named(name: &str) -> Self {
        Self::read(home().join(name))
    }

    fn read(folder: PathBuf) -> Self {
        let path = folder.join("machine.txt");
        let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let (facts, tree) = text.split_once("\n/").unwrap();
        Self { folder, files: files(&format!("/{tree}")), facts: self::facts(facts) }
    }

    pub(super) fn unpack(&self, root: &Path) {
        for (path, content) in &self.files {
            let place = root.join(path.trim_start_matches('/'));
            if path.ends_with('/') {
                fs::create_dir_all(place).unwrap();
            } else {
                fs::create_dir_all(place.parent().unwrap()).unwrap();
                fs::write(place, content).unwrap();
            }
        }
    }

    pub(super) fn observe(&self) -> Machine {
        let root = tempfile::tempdir().unwrap();
        self.unpack(root.path());
        observe(root.path(), &self.facts)
    }
}

/// Lines before the first path: `name: value`. What is absent is not observable.
fn facts(text: &str) -> Facts {
    let lines = || text.lines().filter(|line| !line.starts_with('#'));
    let fact = |name: &str| {
        let value = lines().filter_map(|line| line.split_once(':')).find(|(key, _)| *key == name);
        value.map(|(_, value)| value.trim().to_owned())
    };
    let silent = |name: &str| format!("the fixture gives no {name}");
    fn known<T>(value: Option<T>, why: String) -> Observed<T> {
        value.map_or(Observed::NotObservable(why), Observed::Known)
    }
    let vendors = fact("hypervisor").map(|text| match text.as_str() {
        "none" => vec![],
        vendors => vendors.split(',').map(|vendor| vendor.trim().to_owned()).collect(),
    });
    let leaves = fact("cache leaves").map(|text| {
        let leaf = |text: &str| {
            let registers: Vec<u32> = text.split_whitespace().map(number).collect();
            registers.try_into().unwrap_or_else(|_| panic!("`{text}` is not four registers"))
        };
        text.split(',').map(leaf).collect()
    });
    let vector = fact("cache vector").map(|text| {
        let entry = |text: &str| {
            let (key, value) = text.split_once('=').unwrap();
            (u64::from(number(key.trim())), u64::from(number(value.trim())))
        };
        text.split(',').map(entry).collect()
    });
    Facts {
        architecture: fact("architecture").unwrap(),
        allowed: known(fact("allowed").map(|text| cpus_in_order(&text).unwrap()), silent("allowed")),
        page_size: Bytes(fact("page size").unwrap().parse().unwrap()),
        hypervisor_vendors: known(vendors, silent("hypervisor")),
        cache_leaves: known(leaves, silent("cache leaves")),
        cache_vector: known(vector, silent("cache vector")),
        counter_frequency: known(
            fact("counter frequency").map(|text| text.parse().unwrap()),
            silent("counter frequency"),
        ),
        interpreter: Observed::Known(None),
        counters: match fact("counters") {
            Some(word) if word == "counters" => Observed::Known(word),
            other => Observed::NotObservable(other.unwrap_or_else(|| silent("counters"))),
        },
    }
}

/// The blocks that begin with a path, with the braces of path and value unfolded side by side.
fn files(text: &str) -> Vec<(String, Vec<u8>)> {
    let mut files: Vec<(String, Vec<u8>)> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        if let Some(content) = line.strip_prefix('|') {
            let (_, file) = files.last_mut().unwrap();
            file.extend(content.strip_prefix(' ').unwrap_or(content).bytes());
            file.push(b'\n');
        } else if let Some((path, value)) = line.split_once(" = ") {
            let value = value.replace("\\0", "\0");
            let paths = unfolded(path);
            let values = unfolded(&value);
            for (at, path) in paths.iter().enumerate() {
                let value = if values.len() == 1 { &values[0] } else { &values[at] };
                files.push((path.clone(), content(value)));
            }
        } else {
            files.extend(unfolded(line).into_iter().map(|path| (path, Vec::new())));
        }
    }
    files
}

/// A line of text; or cells, as a source of a device tree has them: `<64 0x8000>`.
fn content(value: &str) -> Vec<u8> {
    match value.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')) {
        Some(cells) => cells.split_whitespace().flat_map(|cell| number(cell).to_be_bytes()).collect(),
        None => format!("{value}\n").into_bytes(),
    }
}

/// Decimal, or hexadecimal after `0x`.
fn number(text: &str) -> u32 {
    let hexadecimal = text.strip_prefix("0x").map(|digits| u32::from_str_radix(digits, 16));
    hexadecimal.unwrap_or_else(|| text.parse()).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// `cpu{0-2}` to `cpu0`, `cpu1`, `cpu2`. Several braces advance together. A number may repeat.
fn unfolded(text: &str) -> Vec<String> {
    let Some((before, rest)) = text.split_once('{') else { return vec![text.to_owned()] };
    let (list, after) = rest.split_once('}').unwrap();
    let numbers: Vec<Cpu> = list.split(',').flat_map(|range| cpus_in_order(range).unwrap()).collect();
    let rest = unfolded(after);
    assert!(rest.len() == 1 || rest.len() == numbers.len(), "uneven braces in {text}");
    let tail = |at: usize| if rest.len() == 1 { &rest[0] } else { &rest[at] };
    numbers.iter().enumerate().map(|(at, cpu)| format!("{before}{}{}", cpu.0, tail(at))).collect()
}
