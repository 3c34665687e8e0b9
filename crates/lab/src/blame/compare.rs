//! Two libraries: in what they differ with inputs of which neither breaks the specification.

use tenbin_model::Attributed;

use super::contract::{Input, Outcome};
use super::examine::{Examination, Examiner, defined};
use crate::experiment::Unfit;

impl<I: Input, O: Outcome> Examiner<'_, I, O> {
    /// What changed from `one` to `other`: the first difference of each named aspect, and the first that has
    /// no name. Only inputs count with which neither broke the specification.
    pub(super) fn changes(
        &self,
        one: &Examination<'_, O>,
        other: &Examination<'_, O>,
    ) -> Result<Vec<Attributed>, Unfit> {
        let mut firsts: Vec<(Option<usize>, usize)> = Vec::new();
        for place in 0..self.inputs.all.len() {
            let (Some(before), Some(after)) = (one.tried[place].kept(), other.tried[place].kept()) else {
                continue;
            };
            let Some(aspect) = self.difference(&self.inputs.all[place], before, after) else { continue };
            if !firsts.iter().any(|(known, _)| *known == aspect) {
                firsts.push((aspect, place));
            }
        }
        let mut changes = Vec::new();
        for (aspect, place) in firsts {
            changes.extend(self.change(one, other, aspect, place)?);
        }
        Ok(changes)
    }

    /// In which aspect two outcomes differ, by its number (none within where it has no name); none where they
    /// do not.
    fn difference(&self, input: &I, before: &O, after: &O) -> Option<Option<usize>> {
        let differ = before != after;
        differ.then(|| self.contract.aspects.iter().position(|aspect| (aspect.covers)(input, before, after)))
    }

    fn change(
        &self,
        one: &Examination<'_, O>,
        other: &Examination<'_, O>,
        aspect: Option<usize>,
        place: usize,
    ) -> Result<Option<Attributed>, Unfit> {
        let smallest = self.inputs.shrink(place, |input| {
            let Some(before) = self.kept_alone(one.library, input)? else { return Ok(None) };
            let Some(after) = self.kept_alone(other.library, input)? else { return Ok(None) };
            let shows = self.difference(input, &before, &after) == Some(aspect);
            Ok(shows.then_some((before, after)))
        })?;
        // What does not come again in fresh processes is no change from one library to the other.
        let Some((input, (before, after))) = smallest else { return Ok(None) };
        let aspect = aspect.and_then(|place| self.contract.aspects.get(place));
        let answers = aspect.and_then(|it| (it.answer)(&input, &before).zip((it.answer)(&input, &after)));
        let (name, what) = match (aspect, answers) {
            (Some(aspect), Some((was, is))) if was != is => {
                (aspect.name, format!("{} changed from {was} to {is}", aspect.name))
            }
            (Some(aspect), _) => (aspect.name, format!("{} changed", aspect.name)),
            (None, _) => ("no name", "something unnamed in the contract changed".into()),
        };
        let why = if self.judged(&input) {
            "With this input both keep the specification"
        } else if self.possible(&input) {
            "The specification leaves open what comes of such an input"
        } else {
            "No outcome of such an input keeps the specification, which contradicts itself"
        };
        let (shown, show) = ((self.contract.show_input)(&input), self.contract.show_outcome);
        let (before, after) = (show(&input, &before), show(&input, &after));
        let (was, is) = (one.library.display(), other.library.display());
        let mut sentence = format!(
            "Implementation-defined: {what} from {was} to {is}. Smallest input: {shown}; before: {before}; after: {after}. \
             {why}, so nobody is at fault for it."
        );
        for library in [one, other].into_iter().filter(|library| library.breaks()) {
            let name = library.library.display();
            sentence
                .push_str(&format!(" Elsewhere {name} breaks the specification, as its own findings say."));
        }
        let subject = format!("{was} and {is}");
        Ok(Some(Attributed {
            input: Some(shown),
            got: Some(format!("before: {before}; after: {after}")),
            ..defined(subject, name, sentence)
        }))
    }
}
