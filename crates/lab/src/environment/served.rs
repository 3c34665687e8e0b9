//! The process that does work where it was put: it answers lines with lines (`workers/protocol.txt`).

use std::fs;
use std::os::unix::fs::MetadataExt;

use tenbin_metal::Fault;
use tenbin_model::{Descriptor, Role, Variant, VariantIndex};

use crate::engine::in_words;
use crate::experiment::{self, Apparatus, Failure, Seen, Unfit};
use crate::survey::{self, Survey};

/// Checked, this number says in which file system temporary files are: what is the same here and there is the
/// same one.
pub(super) const PLACE: usize = 1000;

/// One kind of work, set up.
pub struct Served {
    descriptor: Descriptor,
    apparatus: Box<dyn Apparatus>,
}

/// Whether a kind of work has the parameter that `KEY=VALUE` sets.
pub(super) fn has(work: &str, setting: &str) -> bool {
    let key = setting.split('=').next().unwrap_or_default();
    survey::descriptors().iter().any(|known| known.name == work && experiment::has(known, key))
}

impl Served {
    /// Sets up what is asked for.
    ///
    /// # Errors
    /// As the experiment has them.
    pub fn open(survey: &Survey<'_>) -> Result<Self, Unfit> {
        let (descriptor, apparatus) = survey.open()?;
        Ok(Self { descriptor, apparatus })
    }

    /// The answer to a line; none where it is no question.
    ///
    /// # Errors
    /// A fault of the machine, and work that came out wrong while it was timed, in words.
    pub fn answer(&mut self, question: &str) -> Result<Option<String>, String> {
        let words: Vec<&str> = question.split_whitespace().collect();
        let variants = &self.descriptor.variants;
        let variant = |number: &str| {
            number.parse().ok().filter(|it: &usize| *it < variants.len()).map(VariantIndex::from)
        };
        Ok(match words.as_slice() {
            ["variants"] => {
                let name = |variant: &Variant| match variant.role {
                    Role::Sabotage => format!("!{}", variant.name.replace(' ', "-")),
                    _ => variant.name.replace(' ', "-"),
                };
                Some(variants.iter().map(name).collect::<Vec<_>>().join(" "))
            }
            ["check", number] if *number == PLACE.to_string() => Some(format!("ok {}", place())),
            ["check", number] => match variant(number) {
                Some(variant) => Some(match self.apparatus.check(variant).map_err(text)? {
                    Seen::Met(word) => format!("ok {word}"),
                    Seen::Broken(wrong) => format!("wrong {wrong}"),
                }),
                None => None,
            },
            ["run", number, count] => match (variant(number), count.parse()) {
                (Some(variant), Ok(count)) => match self.apparatus.epoch(variant, count) {
                    Ok(lap) => Some(format!("{}", lap.elapsed.0 as f64 / 1e3)),
                    Err(Failure::Machine(fault)) => return Err(text(fault)),
                    Err(Failure::Wrong(wrong)) => return Err(wrong),
                },
                _ => None,
            },
            _ => None,
        })
    }
}

/// The file system of temporary files, told from those of other kernels: its device, and the boot.
fn place() -> String {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let device = fs::metadata(std::env::temp_dir()).map(|folder| folder.dev()).unwrap_or_default();
    format!("{device} {}", boot.trim())
}

fn text(fault: Fault) -> String {
    in_words(fault.into())
}
