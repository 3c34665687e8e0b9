//! What commands need above another one: the work beyond a start-up.
//!
//! By itself tenbin subtracts nothing. Who names a command has what that one needed subtracted from what each
//! of the others needed in the same block, so that what drifts falls on both. Of the two runs in a block the
//! lesser one counts on all sides: a run that was held up would otherwise leave less than nothing. Commands
//! that are equal stay exchangeable, so the sign test's level holds.

use std::borrow::Cow;
use std::collections::BTreeMap;

use tenbin_analysis::verdict::{self, Time};
use tenbin_document::words::counted;
use tenbin_model::{
    Answer, Arrangement, Cell, Comparison, Descriptor, Picoseconds, Refusal, Sample, VariantIndex,
};

/// The parameter that names the command which the others are weighed above.
pub(super) const ABOVE: &str = "above";

/// What stands for a need that was no greater than that of the command below: next to nothing, which is the
/// far end of any ratio.
const NEXT_TO_NOTHING: Picoseconds = Picoseconds(1);

/// The command that the others are weighed above.
pub(super) fn below(descriptor: &Descriptor, arrangement: &Arrangement) -> Option<VariantIndex> {
    let name = arrangement.parameter(ABOVE)?;
    let place = descriptor.variants.iter().position(|variant| variant.name == name)?;
    Some(VariantIndex::from(place))
}

/// How the quantity of a description is read, and of which samples.
pub(super) fn samples<'a>(
    descriptor: &Descriptor,
    arrangement: &Arrangement,
    samples: &'a [Sample],
) -> (Time, Cow<'a, [Sample]>) {
    let read = verdict::of_command(descriptor.quantity);
    let Some(below) = below(descriptor, arrangement) else { return (read, Cow::Borrowed(samples)) };
    let mut least: BTreeMap<(u32, VariantIndex), f64> = BTreeMap::new();
    for sample in samples {
        let known = least.entry((sample.block, sample.variant)).or_insert(f64::INFINITY);
        *known = known.min(read(sample));
    }
    let above = |sample: &Sample| {
        let needed = least.get(&(sample.block, sample.variant))? - least.get(&(sample.block, below))?;
        Some(Sample {
            elapsed: Picoseconds(needed as u64).max(NEXT_TO_NOTHING),
            iterations: 1,
            ..sample.clone()
        })
    };
    (
        verdict::whole_epoch,
        samples.iter().filter(|sample| sample.variant != below).filter_map(above).collect(),
    )
}

/// The same for a cell.
pub(super) fn cell<'a>(descriptor: &Descriptor, cell: &'a Cell) -> (Time, Cow<'a, Cell>) {
    match samples(descriptor, &cell.arrangement, &cell.samples) {
        (read, Cow::Borrowed(_)) => (read, Cow::Borrowed(cell)),
        (read, Cow::Owned(samples)) => (read, Cow::Owned(Cell { samples, ..cell.clone() })),
    }
}

/// The refusal where a side of a comparison needed no more than the command below in too many blocks: one in
/// twenty changes no median.
pub(super) fn nothing_left(descriptor: &Descriptor, cell: &Cell, comparison: &Comparison) -> Option<Refusal> {
    let below = &descriptor[below(descriptor, &cell.arrangement)?].name;
    let noun = descriptor.quantity.of_command()?;
    [comparison.left, comparison.right].into_iter().find_map(|variant| {
        let runs = || cell.samples.iter().filter(|sample| sample.variant == variant);
        let nothing = runs().filter(|sample| sample.elapsed == NEXT_TO_NOTHING).count();
        (nothing * 20 > runs().count()).then(|| Refusal {
            reached: format!(
                "`{}` needed no more {noun} than `{below}` in {} of {}",
                descriptor[variant].name,
                nothing / 2,
                counted(runs().count() / 2, "block")
            ),
            needs: "commands that need more than what they are weighed above".into(),
            remedy: "weigh them on more input, or on a quieter machine".into(),
        })
    })
}

pub(super) fn qualify(arrangement: &Arrangement, answer: &mut Answer) {
    let Some(below) = arrangement.parameter(ABOVE) else { return };
    match &mut answer.refusal {
        Some(refusal) => {
            refusal.reached = format!("above `{below}`, {}", refusal.reached);
            answer.sentence = verdict::refused_in_words(refusal);
        }
        None => answer.sentence = format!("Above `{below}`, {}", answer.sentence),
    }
}

#[cfg(test)]
mod tests;
