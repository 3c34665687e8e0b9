//! The verdict on each level, in words.

use tenbin_model::{Bytes, Refusal, Verdict};

use super::rise::{LEAST_RISE, Rise, Shape};
use super::{AGREE, Capacities, Level, Stated, agree};
use tenbin_analysis::verdict::refused_in_words;

/// Pages above this size are huge: no architecture here has base pages that are larger.
const LARGEST_BASE_PAGE: Bytes = Bytes::from_kib(64);

pub(super) fn is_huge(page: Bytes) -> bool {
    page > LARGEST_BASE_PAGE
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum LevelOutcome<'a> {
    /// The firmware's size and the knee are within a factor of [`AGREE`].
    Agree(Bytes, &'a Rise),
    Differ(Bytes, &'a Rise),
    /// The firmware's size is beyond where loads take memory's time already, and no knee tells where it ends.
    Ended(Bytes, Bytes),
    /// The firmware states no size to compare with the knee.
    Alone(&'a Rise),
    Undecided(&'a Refusal),
}

impl LevelOutcome<'_> {
    /// As the verdict on a comparison of the firmware's word with the knee. None if there was nothing to
    /// compare with: then the knee is a finding.
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        match self {
            Self::Agree(..) => Some(Verdict::Equivalent),
            Self::Differ(..) | Self::Ended(..) => Some(Verdict::Different),
            Self::Alone(_) => None,
            Self::Undecided(_) => Some(Verdict::Refused),
        }
    }
}

impl Level {
    pub(crate) fn outcome(&self) -> LevelOutcome<'_> {
        match (&self.rise, self.stated) {
            (Ok(rise), Some(stated)) if agree(stated, rise.knee) => LevelOutcome::Agree(stated, rise),
            (Ok(rise), Some(stated)) => LevelOutcome::Differ(stated, rise),
            (Ok(rise), None) => LevelOutcome::Alone(rise),
            (Err(refusal), stated) => match stated.zip(self.ended_by) {
                Some((stated, by)) => LevelOutcome::Ended(stated, by),
                None => LevelOutcome::Undecided(refusal),
            },
        }
    }
}

impl Capacities {
    /// What `level`, one of these, came to, in a sentence. `witness` says who measured, as in `by CPU 3 in
    /// pages of 2 MiB`; it may be empty.
    pub(crate) fn sentence(&self, level: &Level, witness: &str) -> String {
        let name = format!("L{}", level.level);
        let witness = if witness.is_empty() { String::new() } else { format!(", measured {witness}") };
        match level.outcome() {
            LevelOutcome::Agree(stated, rise) => {
                format!("Firmware says {name} is {stated} and the measured knee is at {}{witness}.", at(rise))
            }
            LevelOutcome::Differ(stated, rise) => {
                // Of a cache that ends before it should, one sees best where it no longer helps at all.
                let flat = self.flat_from.filter(|flat| self.is_last(level) && !agree(stated, *flat));
                match flat {
                    Some(flat) if flat < stated => format!(
                        "Firmware says {name} is {stated}; loads stop getting slower at {flat}{witness}: sizes \
                         that build on it use the measured knee of {}.",
                        rise.knee
                    ),
                    _ => format!(
                        "Firmware says {name} is {stated}; the measured knee is at {}{witness}: sizes that build \
                         on it use the measured knee.",
                        at(rise)
                    ),
                }
            }
            LevelOutcome::Ended(stated, by) => format!(
                "Firmware says {name} is {stated}; loads stop getting slower at {by}{witness}, with no knee of its \
                 own before: nothing is built on it."
            ),
            LevelOutcome::Alone(rise) => {
                let says = match level.shared_by {
                    Some(_) => format!("Firmware states no size of {name}"),
                    None => format!("Firmware states no {name}"),
                };
                let doubt = if is_huge(self.page) {
                    String::new()
                } else {
                    format!("; in pages of {} it may be the address translation's", self.page)
                };
                format!("{says}; there is a knee at {}{witness}{doubt}.", at(rise))
            }
            LevelOutcome::Undecided(refusal) => refused_in_words(refusal),
        }
    }

    /// Whether `level` is the last that a knee was found for.
    fn is_last(&self, level: &Level) -> bool {
        let last = self.levels.iter().rfind(|level| level.rise.is_ok());
        last.is_some_and(|last| last.level == level.level)
    }
}

fn at(rise: &Rise) -> String {
    format!("{} (between {} and {})", rise.knee, rise.low, rise.high)
}

/// Whether a cache of `stated` size could end beyond the largest size measured, as one without a size could.
pub(super) fn reaches_past(shape: &Shape, stated: Option<Bytes>) -> bool {
    stated.is_none_or(|stated| stated.0 as f64 * AGREE > shape.largest().0 as f64)
}

/// Why a cache has no knee in `shape`. It may have a rise there that is `unfinished`.
pub(super) fn unseen(shape: &Shape, cache: &Stated, unfinished: bool) -> Refusal {
    let (smallest, largest) = (shape.smallest(), shape.largest());
    let (name, stated) = (format!("L{}", cache.level), cache.size);
    let named = stated.map_or_else(|| name.clone(), |stated| format!("the {stated} stated for {name}"));
    let pages = format!("loads in pages of {}", shape.page);
    // Beyond what was measured in any case: to measure the same again would show the same.
    let wanted = stated.map_or(0, |stated| stated.0.saturating_mul(4)).max(largest.0.saturating_mul(2));
    // 64 GiB is the most that `caches` walks through.
    let wanted = Bytes(wanted.min(64 << 30));
    let further = format!(
        "measure sizes up to {wanted} (`tenbin run caches --set largest={}`)",
        wanted.0.div_ceil(1 << 20)
    );
    let rise = format!("a rise of at least {LEAST_RISE}x");
    match (shape.unfinished.filter(|_| unfinished), stated) {
        (Some(rise), _) => Refusal {
            reached: format!(
                "{pages} get slower from {} on, as where {name} ends, and still do at {largest}",
                rise.low
            ),
            needs: "a plateau of an octave after the knee".into(),
            remedy: further,
        },
        _ if reaches_past(shape, stated) => {
            let from = shape.rises.last().map_or(smallest, |rise| rise.high);
            Refusal {
                reached: format!(
                    "{name} has no knee up to {largest}: {pages} are equally fast from {from} on"
                ),
                needs: format!("{rise}, which {named} may make beyond that"),
                remedy: further,
            }
        }
        (None, Some(stated)) if stated < smallest => Refusal {
            reached: format!("the smallest size measured is {smallest}"),
            needs: format!("sizes below {named}"),
            remedy: format!("measure sizes from {} on", Bytes(stated.0 / 4)),
        },
        _ => {
            let remedy = if is_huge(shape.page) {
                "measure more sizes around it, on a quieter machine (--thorough)".into()
            } else {
                "allow huge pages, in which neighbouring knees do not run together".into()
            };
            Refusal {
                reached: format!("no knee of {pages} fits {named}"),
                needs: format!("{rise} of its own"),
                remedy,
            }
        }
    }
}
