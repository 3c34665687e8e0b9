//! What a user reads of each machine in `fixtures/machines`.
//!
//! This test stands here because only the binary's crate may use both the room that observes a
//! machine and the room that puts it into words.

#![allow(clippy::unwrap_used)]

use std::fs;

use tenbin_analysis::topology::sentences;
use tenbin_metal::machine::{Facts, cpus_in_order, observe};

#[path = "../../metal/src/machine/tests/fixture.rs"]
#[allow(dead_code)] // What it has for the tests of the other crate is not all used here.
mod fixture;

/// Every fixture's shape in sentences is compared with its `sentences.txt`. With `TENBIN_BLESS=1`
/// the file is written instead; read the difference before you keep it.
#[test]
fn each_fixture_is_put_into_words_as_written() {
    let fixtures = fixture::all();
    assert!(fixtures.len() >= 15, "only {} fixtures", fixtures.len());
    let mut wrong = Vec::new();
    for fixture in fixtures {
        let sentences = sentences(&fixture.observe());
        let actual: String = sentences.iter().flat_map(|sentence| [sentence, "\n"]).collect();
        let path = fixture.folder.join("sentences.txt");
        if std::env::var_os("TENBIN_BLESS").is_some() {
            fs::write(&path, &actual).unwrap();
        }
        let expected = fs::read_to_string(&path).unwrap_or_default();
        if expected != actual {
            wrong.push(format!("{}: expected\n{expected}said\n{actual}", path.display()));
        }
        assert!((3..=6).contains(&sentences.len()), "{}: {actual}", path.display());
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
