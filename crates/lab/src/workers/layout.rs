//! Where code lies, drawn anew: a script for the linker that puts the functions of a file in a random order,
//! with random gaps between them, and moves its data and its constants.
//!
//! The script adds to the linker's own (GNU ld, "Implicit Linker Scripts" and `INSERT`); what it does not
//! name lies where it always does.

use std::fmt::Write as _;

use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// Gaps are a multiple of this: no compiler aligns a function to less.
const UNIT: u64 = 16;

/// The first function begins at one of so many places, which are a page together; so does the data.
const PLACES: u64 = 4096 / UNIT;

/// The gap between two functions is less than so many units.
const GAPS: u64 = 16;

/// A file to be linked, and its sections that hold code.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// The file's name, which is that of no other file.
    pub(super) name: String,
    /// In their order.
    pub(super) sections: Vec<String>,
}

pub(super) fn script(objects: &[Object], number: u64) -> String {
    let mut random = Pcg64Mcg::seed_from_u64(number);
    let mut sections: Vec<(&str, &str)> = Vec::new();
    for object in objects {
        sections.extend(object.sections.iter().map(|section| (object.name.as_str(), section.as_str())));
    }
    sections.shuffle(&mut random);
    let mut units = |bound: u64| random.random_range(0..bound) * UNIT;
    let (data, zeros, constants) = (units(PLACES), units(PLACES), units(PLACES));
    // That a text can be written to is no question. A section that begins with a gap would be one that
    // programs may write to, so that of the constants begins with one of the runner's.
    let mut text = format!("SECTIONS {{ .rodata.tenbin : {{ *runner.o(.rodata.tenbin) . += {constants};");
    for object in objects {
        let _ = write!(text, " *{}(.rodata .rodata.*)", object.name);
    }
    let _ = write!(
        text,
        " }} }} INSERT AFTER .rodata;\n\
         SECTIONS {{ .data.tenbin : {{ . += {data}; }} }} INSERT BEFORE .data;\n\
         SECTIONS {{ .bss.tenbin (NOLOAD) : {{ . += {zeros}; }} }} INSERT BEFORE .bss;\n"
    );
    // A section of nothing but a gap would be one of data among the code.
    if sections.is_empty() {
        return text;
    }
    let _ = write!(text, "SECTIONS {{ .text.tenbin : {{ . += {};", units(PLACES));
    for (object, section) in sections {
        let _ = write!(text, " *{object}({section}) . += {};", units(GAPS));
    }
    text + " } } INSERT AFTER .text;\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_number_has_an_order_of_its_own_and_every_section() {
        let object = |name: &str, sections: &[&str]| Object {
            name: name.into(),
            sections: sections.iter().map(|&section| section.into()).collect(),
        };
        let objects = [object("0-0.o", &[".text", ".text.f"]), object("0-1.o", &[".text.g"])];
        let scripts: Vec<String> = (0..50).map(|number| script(&objects, number)).collect();
        assert_eq!(scripts[7], script(&objects, 7));
        for text in &scripts {
            for section in ["*0-0.o(.text)", "*0-0.o(.text.f)", "*0-1.o(.text.g)"] {
                assert_eq!(text.matches(section).count(), 1, "{text}");
            }
        }
        let first = |section: &str| {
            let is_first = |text: &&String| {
                let at = text.find(section);
                ["*0-0.o(.text)", "*0-0.o(.text.f)", "*0-1.o(.text.g)"]
                    .iter()
                    .all(|other| text.find(other) >= at)
            };
            scripts.iter().filter(is_first).count()
        };
        assert!(
            ["*0-0.o(.text)", "*0-0.o(.text.f)", "*0-1.o(.text.g)"].iter().all(|section| first(section) > 5)
        );
    }
}
