//! The C sources that work is done on: made by arithmetic, so that they are the same everywhere, in two
//! revisions.
//!
//! Of ten files that follow each other five have other contents in the second revision, one lies elsewhere in
//! it, and four are as they were. So a checkout writes, removes and makes files. Each file compiles by
//! itself, and what its functions compute is known here as well: a program that is linked of them shows
//! whether it was built of the right ones.

use std::fs;
use std::path::Path;

use tenbin_metal::Fault;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Revision {
    From,
    To,
}

/// Functions of a file besides the one that calls them all.
pub(crate) const FUNCTIONS: u32 = 12;

/// Files of a folder.
const FOLDER: u32 = 100;

/// Whether this file's contents differ between the revisions.
pub(crate) fn is_changed(number: u32) -> bool {
    number % 10 < 5
}

/// Whether this file lies elsewhere in the second revision.
pub(crate) fn is_moved(number: u32) -> bool {
    number % 10 == 5
}

/// Paths that differ between the revisions of so many files: one that was moved was removed here and made
/// there.
pub(crate) fn differing(files: u32) -> u64 {
    (0..files).map(|number| u64::from(is_changed(number)) + 2 * u64::from(is_moved(number))).sum()
}

/// Where a file lies, from the root of the sources.
pub(crate) fn path(number: u32, revision: Revision) -> String {
    let moved = if is_moved(number) && revision == Revision::To { "moved/" } else { "" };
    format!("part{:04}/{moved}file{number:06}.c", number / FOLDER)
}

/// The function of a file that calls its others.
pub(crate) fn function(number: u32) -> String {
    format!("file_{number:06}")
}

/// One step of a file: a multiplier, an addend, a shift and how often.
struct Mix {
    factor: u32,
    addend: u32,
    shift: u32,
    rounds: u32,
}

impl Mix {
    fn of(number: u32, place: u32, revision: Revision) -> Self {
        let salt = u32::from(is_changed(number) && revision == Revision::To);
        let seed = scattered(number.wrapping_mul(64).wrapping_add(place * 2 + salt));
        Self {
            factor: scattered(seed) | 1,
            addend: scattered(seed ^ 0x5bd1_e995),
            shift: 1 + seed % 30,
            rounds: 2 + (seed >> 8) % 6,
        }
    }

    fn done(&self, word: u32) -> u32 {
        (0..self.rounds).fold(word, |word, _| {
            word.wrapping_mul(self.factor).wrapping_add(self.addend) ^ (word >> self.shift)
        })
    }
}

/// A word that looks like no other one (the finalizer of MurmurHash3).
fn scattered(word: u32) -> u32 {
    let word = (word ^ (word >> 16)).wrapping_mul(0x85eb_ca6b);
    let word = (word ^ (word >> 13)).wrapping_mul(0xc2b2_ae35);
    word ^ (word >> 16)
}

/// What the function of a file makes of a word.
pub(crate) fn value(number: u32, revision: Revision, word: u32) -> u32 {
    (0..FUNCTIONS).fold(word, |word, place| Mix::of(number, place, revision).done(word))
}

/// A file.
pub(crate) fn text(number: u32, revision: Revision) -> String {
    let name = function(number);
    let mut text =
        format!("/* {name}: of the sources that tenbin works on. */\n\nunsigned {name}(unsigned word);\n");
    for place in 0..FUNCTIONS {
        let Mix { factor, addend, shift, rounds } = Mix::of(number, place, revision);
        text.push_str(&format!(
            "\nstatic unsigned mix_{number:06}_{place}(unsigned word)\n{{\n\tunsigned round;\n\n\
             \tfor (round = 0; round < {rounds}; round++)\n\
             \t\tword = (word * {factor}u + {addend}u) ^ (word >> {shift});\n\treturn word;\n}}\n"
        ));
    }
    text.push_str(&format!("\nunsigned {name}(unsigned word)\n{{\n"));
    for place in 0..FUNCTIONS {
        text.push_str(&format!("\tword = mix_{number:06}_{place}(word);\n"));
    }
    text.push_str("\treturn word;\n}\n");
    text
}

/// Writes so many files of a revision below a folder.
///
/// # Errors
/// A fault where they cannot be written.
pub(crate) fn write(root: &Path, files: u32, revision: Revision) -> Result<(), Fault> {
    for number in 0..files {
        let path = root.join(path(number, revision));
        let folder = path.parent().unwrap_or(root);
        let written = fs::create_dir_all(folder).and_then(|()| fs::write(&path, text(number, revision)));
        written.map_err(|error| Fault::system(format!("write {}", path.display()), error))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sources_are_the_same_everywhere() {
        let sum = |revision| {
            (0..100).fold(0_u32, |sum, number| {
                let named = path(number, revision) + &text(number, revision);
                named.bytes().fold(sum, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)))
            })
        };
        assert_eq!([sum(Revision::From), sum(Revision::To)], [4_140_330_785, 572_248_319]);
    }

    #[test]
    fn half_of_the_files_differ_and_a_tenth_moves() {
        let differs = |&number: &u32| text(number, Revision::From) != text(number, Revision::To);
        let moves = |&number: &u32| path(number, Revision::From) != path(number, Revision::To);
        assert_eq!((0..1000).filter(differs).count(), 500);
        assert_eq!((0..1000).filter(moves).count(), 100);
        assert!(!(0..1000).any(|number| differs(&number) && moves(&number)));
        assert_eq!(differing(1000), 700);
    }
}
