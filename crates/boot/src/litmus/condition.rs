//! Conditions: what may be asked of an outcome.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::scan::{Token, Tokens};
use super::{Location, Outcome, ReadError, ValueType};
use crate::isa::Register;

/// Something whose last value an outcome tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[expect(missing_docs, reason = "variants say it")]
pub enum Observable {
    /// A register of a hart.
    Register { thread: usize, register: Register },
    /// A location in memory, by its index in the test's places.
    Memory { place: usize },
}

/// A proposition about an outcome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Proposition {
    /// Always so, or never.
    Constant(bool),
    /// The observable has this value.
    Equal(Observable, u64),
    /// The two have the same value.
    Same(Observable, Observable),
    /// The other is false.
    Not(Box<Self>),
    /// All are true; none are, too.
    All(Vec<Self>),
    /// One is true at least.
    Any(Vec<Self>),
}

impl Proposition {
    /// Whether it is true of an outcome of these observables, where locations have these types. What it
    /// speaks of must be among the observables.
    #[must_use]
    pub fn holds(&self, observed: &[Observable], kinds: &[ValueType], outcome: &Outcome) -> bool {
        self.is_true(kinds, &|observable| {
            let index = observed.iter().position(|&each| each == observable);
            index.map_or(0, |index| outcome[index])
        })
    }

    /// Whether it is true where observables have the values that `value` says. A location is compared with a
    /// number as its type has it, so that -1 and 0xffff are the same of 16 bits, and with another observable
    /// as the narrower of the two has it.
    #[must_use]
    pub fn is_true(&self, kinds: &[ValueType], value: &dyn Fn(Observable) -> u64) -> bool {
        let kind = |observable| match observable {
            Observable::Memory { place } => kinds.get(place).copied(),
            Observable::Register { .. } => None,
        };
        let cut = |kind: Option<ValueType>, value| kind.map_or(value, |kind| kind.width.truncate(value));
        match self {
            Self::Constant(constant) => *constant,
            Self::Equal(observable, expected) => {
                cut(kind(*observable), value(*observable)) == cut(kind(*observable), *expected)
            }
            Self::Same(left, right) => {
                let narrower =
                    kind(*left).into_iter().chain(kind(*right)).min_by_key(|kind| kind.width.bytes());
                cut(narrower, value(*left)) == cut(narrower, value(*right))
            }
            Self::Not(other) => !other.is_true(kinds, value),
            Self::All(all) => all.iter().all(|each| each.is_true(kinds, value)),
            Self::Any(any) => any.iter().any(|each| each.is_true(kinds, value)),
        }
    }

    /// Adds to `observed` what it speaks of and is not yet there.
    pub(super) fn collect(&self, observed: &mut Vec<Observable>) {
        match self {
            Self::Constant(_) => {}
            Self::Equal(observable, _) => add(observed, *observable),
            Self::Same(left, right) => {
                add(observed, *left);
                add(observed, *right);
            }
            Self::Not(other) => other.collect(observed),
            Self::All(several) | Self::Any(several) => several.iter().for_each(|each| each.collect(observed)),
        }
    }
}

pub(super) fn add(observed: &mut Vec<Observable>, observable: Observable) {
    if !observed.contains(&observable) {
        observed.push(observable);
    }
}

/// How the condition of a litmus test is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Quantifier {
    /// Some outcome has it.
    Exists,
    /// No outcome has it.
    NotExists,
    /// Every outcome has it.
    ForAll,
    /// Nothing is asked.
    Observed,
}

/// What a test asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    /// Of which outcomes.
    pub quantifier: Quantifier,
    /// Whether they have it.
    pub proposition: Proposition,
}

/// What the names of a condition stand for.
pub(super) struct Scope<'a> {
    pub(super) places: &'a [Location],
    pub(super) threads: usize,
}

impl Scope<'_> {
    fn place(&self, name: &str, words: &Tokens) -> Result<usize, ReadError> {
        let place = self.places.iter().position(|place| place.name == name);
        place.ok_or_else(|| words.error(format!("the test has no location `{name}`")))
    }
}

/// Reads a condition: `~` binds closest, then `/\`, then `\/`, then `=>`.
pub(super) fn proposition(words: &mut Tokens, names: &Scope<'_>) -> Result<Proposition, ReadError> {
    let left = disjunction(words, names)?;
    if words.accept("=>") {
        let right = words.inside(|words| proposition(words, names))?;
        return Ok(Proposition::Any(vec![Proposition::Not(Box::new(left)), right]));
    }
    Ok(left)
}

fn disjunction(words: &mut Tokens, names: &Scope<'_>) -> Result<Proposition, ReadError> {
    joined(words, ["\\/", "||"], Proposition::Any, |words| {
        joined(words, ["/\\", "&&"], Proposition::All, |words| atom(words, names))
    })
}

/// One part, or several with one of these signs between them.
fn joined(
    words: &mut Tokens,
    signs: [&str; 2],
    several: fn(Vec<Proposition>) -> Proposition,
    part: impl Fn(&mut Tokens) -> Result<Proposition, ReadError>,
) -> Result<Proposition, ReadError> {
    let mut parts = vec![part(words)?];
    while signs.iter().any(|sign| words.accept(sign)) {
        parts.push(part(words)?);
    }
    Ok(if parts.len() == 1 { parts.remove(0) } else { several(parts) })
}

fn atom(words: &mut Tokens, names: &Scope<'_>) -> Result<Proposition, ReadError> {
    if words.accept("~") || words.accept("!") || words.accept_name("not") {
        return Ok(Proposition::Not(Box::new(words.inside(|words| atom(words, names))?)));
    }
    if words.accept("(") {
        let inner = words.inside(|words| proposition(words, names))?;
        words.expect(")")?;
        return Ok(inner);
    }
    if words.accept_name("true") {
        return Ok(Proposition::Constant(true));
    }
    if words.accept_name("false") {
        return Ok(Proposition::Constant(false));
    }
    let left = observable(words, names)?;
    let different = words.accept("<>") || words.accept("!=");
    if !different && !words.accept("=") {
        words.expect("==")?;
    }
    let equal = match (words.peek().cloned(), words.second()) {
        (Some(Token::Number(number)), second) if second != Some(&Token::Sign(":")) => {
            words.take();
            Proposition::Equal(left, number as u64)
        }
        // A bare name on the right is a location's address; its contents are written in brackets.
        (Some(Token::Name(name)), _) => {
            let place = names.place(&name, words)?;
            words.take();
            Proposition::Equal(left, names.places[place].address)
        }
        _ => Proposition::Same(left, observable(words, names)?),
    };
    Ok(if different { Proposition::Not(Box::new(equal)) } else { equal })
}

/// Reads `1:x5`, `x`, `[x]` or `*x`.
pub(super) fn observable(words: &mut Tokens, names: &Scope<'_>) -> Result<Observable, ReadError> {
    let bracket = words.accept("[");
    let star = !bracket && words.accept("*");
    match words.peek().cloned() {
        Some(Token::Number(number)) if !bracket && !star => {
            let thread = usize::try_from(number).ok().filter(|&thread| thread < names.threads);
            let thread = thread.ok_or_else(|| words.error(format!("the test has no hart {number}")))?;
            words.take();
            words.expect(":")?;
            Ok(Observable::Register { thread, register: words.register()? })
        }
        Some(Token::Name(name)) => {
            let place = names.place(&name, words)?;
            words.take();
            if bracket {
                words.expect("]")?;
            }
            Ok(Observable::Memory { place })
        }
        _ => Err(words.error("a register (`0:x5`) or a location is expected")),
    }
}
