//! One library held against one specification.

use std::path::Path;

use tenbin_model::{Attributed, Attribution, Called};

use super::contract::{Aspect, Contract, Input, Outcome, Specification};
use super::ending::{Broken, Ending, How, breach, deed, judge};
use super::harness::{self, Guard, Harness};
use super::inputs::Inputs;
use crate::experiment::Unfit;

/// Times that an input which does not return is tried again to make it smaller: each takes all its time.
const MOST_LATE: u32 = 6;

/// What a library is held against, and how it is called.
pub(super) struct Examiner<'a, I: 'static, O: 'static> {
    pub(super) contract: &'static Contract<I, O>,
    pub(super) specification: &'static Specification<I, O>,
    /// Whether that contradicts itself: then only inputs of which it can be met are judged.
    pub(super) contradictory: bool,
    pub(super) harness: &'a Harness<I, O>,
    pub(super) inputs: &'a Inputs<I>,
}

/// What came of an input, in both arrangements of memory.
pub(super) struct Tried<O> {
    /// With the guard pages behind and in front; none where it was not called any more.
    pub(super) endings: [Option<Ending<O>>; 2],
    /// In which of them which line was broken, if one was.
    pub(super) broken: Option<(Guard, Broken)>,
}

impl<O> Tried<O> {
    /// What was returned with the guard pages behind, where nothing was broken.
    pub(super) fn kept(&self) -> Option<&O> {
        match (&self.endings[0], &self.broken) {
            (Some(Ending::Returned { outcome, .. }), None) => Some(outcome),
            _ => None,
        }
    }

    fn printed(&self) -> i32 {
        let printed = |ending: &Option<Ending<O>>| match ending {
            Some(Ending::Returned { printed, .. }) => *printed,
            _ => 0,
        };
        self.endings.iter().map(printed).max().unwrap_or(0)
    }
}

pub(super) struct Examination<'a, O> {
    /// Its path, as it was given.
    pub(super) library: &'a Path,
    /// What came of the inputs, in their order.
    pub(super) tried: Vec<Tried<O>>,
}

impl<O> Examination<'_, O> {
    /// Whether the library broke the specification with any input.
    pub(super) fn breaks(&self) -> bool {
        self.tried.iter().any(|tried| tried.broken.is_some())
    }
}

impl<I: Input, O: Outcome> Examiner<'_, I, O> {
    pub(super) fn examine<'a>(&self, library: &'a Path) -> Result<Examination<'a, O>, Unfit> {
        let inputs = &self.inputs.all;
        let cases: Vec<_> = inputs.iter().flat_map(|input| Guard::BOTH.map(|guard| (input, guard))).collect();
        let mut all = self.harness.call(library, &cases)?.into_iter();
        let tried = inputs.iter().map(|input| {
            let endings = [all.next().flatten(), all.next().flatten()];
            let broken = self.broken(input, &endings);
            Tried { endings, broken }
        });
        Ok(Examination { library, tried: tried.collect() })
    }

    /// What is broken, the trespass before what came of it: it says where.
    fn broken(&self, input: &I, endings: &[Option<Ending<O>>; 2]) -> Option<(Guard, Broken)> {
        let both = Guard::BOTH.into_iter().zip(endings);
        let broken = both.filter_map(|(guard, ending)| Some((guard, self.judge(input, ending.as_ref()?)?)));
        broken.min_by_key(|(_, broken)| !matches!(broken.how, How::Trespassed(_)))
    }

    /// The line that was broken, if the specification can be met at all.
    pub(super) fn judge(&self, input: &I, ending: &Ending<O>) -> Option<Broken> {
        let judge = || judge(self.specification, input, ending, self.harness.within);
        self.possible(input).then(judge).flatten()
    }

    /// Whether some outcome of `input` keeps the specification.
    pub(super) fn possible(&self, input: &I) -> bool {
        !self.contradictory || self.contract.can_meet(self.specification, input) == Some(true)
    }

    /// What comes of one input in a process of its own.
    pub(super) fn alone(&self, library: &Path, input: &I, guard: Guard) -> Result<Option<Ending<O>>, Unfit> {
        Ok(self.harness.call(library, &[(input, guard)])?.pop().flatten())
    }

    /// What one input returns in a process of its own, where that keeps the specification.
    pub(super) fn kept_alone(&self, library: &Path, input: &I) -> Result<Option<O>, Unfit> {
        let ending = self.alone(library, input, Guard::Behind)?;
        Ok(ending.filter(|ending| self.judge(input, ending).is_none()).and_then(Ending::outcome))
    }

    /// Whether anything of what comes of `input` is held against the specification.
    pub(super) fn judged(&self, input: &I) -> bool {
        self.specification.speaks_of(input) && self.possible(input)
    }

    /// How many inputs were called, and of how many the specification was kept.
    pub(super) fn counted(&self, examined: &Examination<'_, O>) -> Called {
        let pairs = || self.inputs.all.iter().zip(&examined.tried);
        let called: Vec<_> = pairs().filter(|(_, tried)| tried.endings.iter().any(Option::is_some)).collect();
        let kept = |judged: bool| {
            let counts =
                |(input, tried): &&(&I, &Tried<O>)| tried.broken.is_none() && self.judged(input) == judged;
            called.iter().filter(counts).count() as u64
        };
        let largest = called.iter().map(|(input, _)| (self.contract.size)(input)).max().unwrap_or(0);
        let late =
            |tried: &Tried<O>| tried.endings.iter().filter(|ending| **ending == Some(Ending::Late)).count();
        let late: usize = examined.tried.iter().map(late).sum();
        let uncalled = examined.tried.len() - called.len();
        let cut = (uncalled > 0).then(|| match late {
            harness::MOST_LATE.. => format!("{late} calls did not return"),
            _ => "the program that calls it was ended".into(),
        });
        Called {
            library: examined.library.display().to_string(),
            inputs: called.len() as u64,
            met: kept(true),
            unjudged: kept(false),
            uncalled: uncalled as u64,
            cut,
            largest: format!("{largest} {}", self.contract.sized),
        }
    }

    /// Every way in which the specification is broken, with the smallest input of each.
    pub(super) fn errors(&self, examined: &Examination<'_, O>) -> Result<Vec<Attributed>, Unfit> {
        let mut seen: Vec<&Broken> = Vec::new();
        let mut findings = Vec::new();
        for (place, tried) in examined.tried.iter().enumerate() {
            let Some((guard, broken)) = &tried.broken else { continue };
            // What ends a process ends it whatever was promised: it is one fault, whichever line it breaks.
            let same =
                |other: &&Broken| *other == broken || other.how == broken.how && broken.how != How::Outcome;
            if seen.iter().any(same) {
                continue;
            }
            seen.push(broken);
            findings.push(self.error(examined, place, *guard, broken)?);
        }
        Ok(findings)
    }

    fn error(
        &self,
        examined: &Examination<'_, O>,
        place: usize,
        guard: Guard,
        broken: &Broken,
    ) -> Result<Attributed, Unfit> {
        let mut late = 0;
        let smallest = self.inputs.shrink(place, |input| {
            if late >= MOST_LATE {
                return Ok(None);
            }
            let Some(ending) = self.alone(examined.library, input, guard)? else { return Ok(None) };
            late += u32::from(ending == Ending::Late);
            Ok((self.judge(input, &ending).as_ref() == Some(broken)).then_some(ending))
        })?;
        let alone = smallest.is_some();
        let (input, ending) = match smallest {
            Some((input, ending)) => (input, Some(ending)),
            None => {
                let first = &examined.tried[place].endings[usize::from(guard == Guard::InFront)];
                (self.inputs.all[place].clone(), first.clone())
            }
        };
        let got = match &ending {
            Some(Ending::Returned { outcome, .. }) => (self.contract.show_outcome)(&input, outcome),
            Some(other) => format!("it {}", deed(other, self.harness.within)),
            None => "nothing".into(),
        };
        let circumstance = if alone { self.circumstance(examined, broken) } else { None };
        let when = match (alone, circumstance) {
            (false, _) if self.comes_again(examined.library, place, guard, broken)? => {
                "; alone it does not, only after other calls in the same process".into()
            }
            (false, _) => "; that was seen once, and not again".into(),
            (true, Some(text)) => format!(" when {text}"),
            (true, None) => String::new(),
        };
        let clause = self.specification.clauses[broken.clause].text;
        let (library, broke) = (examined.library.display(), broken.deed(self.specification));
        let shown = (self.contract.show_input)(&input);
        let smallest = if alone { "Smallest input" } else { "Input" };
        let sentence = format!(
            "Implementation error: {}() of {library} breaks the specification: it {broke}{when}. \
             {smallest}: {shown}; expected: {clause}; got: {got}. It was called within {}.",
            self.contract.symbol,
            harness::BOUNDS
        );
        let (attribution, subject) = (Attribution::ImplementationError, library.to_string());
        Ok(breach(attribution, subject, sentence, clause, shown, Some(got)))
    }

    /// Whether the same fault shows where all calls up to that one are made again in their order.
    fn comes_again(
        &self,
        library: &Path,
        place: usize,
        guard: Guard,
        broken: &Broken,
    ) -> Result<bool, Unfit> {
        let inputs = self.inputs.all.get(..=place).unwrap_or_default();
        let mut cases: Vec<_> =
            inputs.iter().flat_map(|input| Guard::BOTH.map(|guard| (input, guard))).collect();
        // Behind comes before in front.
        if guard == Guard::Behind {
            cases.pop();
        }
        let ending = self.harness.call(library, &cases)?.pop().flatten();
        let again = ending.and_then(|ending| self.judge(inputs.last()?, &ending));
        Ok(again.as_ref() == Some(broken))
    }

    /// What holds of every input that shows a fault and of none that the same line speaks of and that shows
    /// none.
    fn circumstance(&self, examined: &Examination<'_, O>, broken: &Broken) -> Option<&'static str> {
        // Of an examination that was cut short too much is unknown.
        if examined.tried.iter().any(|tried| tried.endings.contains(&None)) {
            return None;
        }
        let clause = &self.specification.clauses[broken.clause];
        let pairs = || self.inputs.all.iter().zip(&examined.tried);
        let called = || pairs().filter(|(input, tried)| tried.endings[0].is_some() && clause.promises(input));
        let showing = |tried: &Tried<O>| tried.broken.as_ref().is_some_and(|(_, it)| it == broken);
        let (faulty, sound): (Vec<_>, Vec<_>) =
            called().filter(|(_, it)| it.broken.is_none() || showing(it)).partition(|(_, it)| showing(it));
        let tells = |holds: fn(&I) -> bool| {
            faulty.iter().all(|(input, _)| holds(input)) && !sound.iter().any(|(input, _)| holds(input))
        };
        // Two sound ones at least: of a single one almost anything is true.
        let mut fitting = self.contract.circumstances.iter().filter(|it| sound.len() >= 2 && tells(it.holds));
        fitting.next().map(|condition| condition.text)
    }

    /// What the library makes of everything that the specification leaves to it.
    pub(super) fn aspects(&self, examined: &Examination<'_, O>) -> Result<Vec<Attributed>, Unfit> {
        let mut findings = Vec::new();
        for aspect in self.contract.aspects {
            findings.extend(self.aspect(examined, aspect)?);
        }
        findings.extend(self.output(examined));
        Ok(findings)
    }

    fn aspect(
        &self,
        examined: &Examination<'_, O>,
        aspect: &Aspect<I, O>,
    ) -> Result<Option<Attributed>, Unfit> {
        let inputs = &self.inputs.all;
        let answer = |place: usize| (aspect.answer)(&inputs[place], examined.tried[place].kept()?);
        let answers = (0..inputs.len()).filter_map(|place| Some((place, answer(place)?)));
        let answers: Vec<(usize, &'static str)> = answers.collect();
        let library = examined.library.display().to_string();
        let Some(&(place, other)) = answers.iter().find(|(_, answer)| *answer != aspect.claim) else {
            let sentence = format!(
                "Implementation-defined: {} of {library}: {} in {} that could tell.",
                aspect.name,
                aspect.claim,
                if answers.len() == 1 {
                    "the one case".into()
                } else {
                    format!("all {} cases", answers.len())
                }
            );
            return Ok((!answers.is_empty()).then(|| defined(library, aspect.name, sentence)));
        };
        let smallest = self.inputs.shrink(place, |input| {
            let outcome = self.kept_alone(examined.library, input)?;
            Ok(outcome.filter(|outcome| (aspect.answer)(input, outcome) == Some(other)))
        })?;
        let first = || Some((inputs[place].clone(), examined.tried[place].kept()?.clone()));
        let Some((input, outcome)) = smallest.or_else(first) else { return Ok(None) };
        let (shown, got) =
            ((self.contract.show_input)(&input), (self.contract.show_outcome)(&input, &outcome));
        let sentence = format!(
            "Implementation-defined: {} of {library}: {other}. Smallest input: {shown}; got: {got}. \
             The specification does not say; nobody is at fault for it.",
            aspect.name
        );
        let finding = defined(library, aspect.name, sentence);
        Ok(Some(Attributed { input: Some(shown), got: Some(got), ..finding }))
    }

    /// Whether it prints: no specification of a function says that it does.
    fn output(&self, examined: &Examination<'_, O>) -> Option<Attributed> {
        let place = examined.tried.iter().position(|tried| tried.printed() > 0)?;
        let bytes = examined.tried[place].printed();
        let input = (self.contract.show_input)(&self.inputs.all[place]);
        let library = examined.library.display().to_string();
        let sentence = format!(
            "Implementation-defined: output of {library}: it writes to standard output or standard error. \
             Smallest input: {input}; {bytes} bytes."
        );
        let finding = defined(library, "output", sentence);
        Some(Attributed { input: Some(input), got: Some(format!("{bytes} bytes")), ..finding })
    }
}

pub(super) fn defined(subject: String, aspect: &str, sentence: String) -> Attributed {
    Attributed {
        attribution: Attribution::ImplementationDefined,
        subject,
        sentence,
        clause: None,
        aspect: Some(aspect.into()),
        input: None,
        expected: None,
        got: None,
    }
}
