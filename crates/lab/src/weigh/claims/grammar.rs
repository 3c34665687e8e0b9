//! The language of claims: a few forms, each read exactly, so that no claim means what nobody meant.

use tenbin_model::words::{and, or};
use tenbin_model::{Bytes, Order, Picoseconds, Quantity};

use super::Vocabulary;

/// A claim that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Claim {
    /// Its name.
    pub name: String,
    /// The sentence.
    pub text: String,
    pub(super) kind: Kind,
}

/// What is claimed. Commands are places in the list of commands.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Kind {
    /// What `one` needs over what `other` needs lies in these bounds.
    Ratio { one: usize, other: usize, quantities: Vec<Quantity>, allowed: Bounds },
    /// What a command needs grows with a parameter to this power.
    Growth { command: usize, parameter: String, power: f64, quantities: Vec<Quantity> },
    /// No run has more memory resident.
    Memory { command: usize, most: Bytes },
    /// The median run takes no longer; shown in this unit, of so many picoseconds.
    Time { command: usize, most: Picoseconds, unit: (&'static str, f64) },
}

/// What a figure is claimed to lie in; none is no bound.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Bounds {
    pub(super) least: Option<f64>,
    pub(super) most: Option<f64>,
}

/// The forms of a claim, as an error shows them.
const FORMS: &str = "A claim is one of these, of commands A and B and a parameter P:
  A is at most N % slower than B           (also: at least, faster, and Nx in place of N %)
  A and B are the same within N %          (without `within N %`: within the margin of the question)
  A needs at most N % more memory than B   (also: at least, less, and user time, system time, CPU time,
                                            page faults, context switches, instructions, cycles)
  A is linear in P                         (also: constant, quadratic)
  A uses at most N MiB                     (also: KiB, GiB)
  A takes at most N ms                     (also: s, us, ns, and of instructions cycles)";

impl Claim {
    /// What has to be measured for it.
    pub(super) fn quantities(&self) -> &[Quantity] {
        match &self.kind {
            Kind::Ratio { quantities, .. } | Kind::Growth { quantities, .. } => quantities,
            Kind::Memory { .. } => &[Quantity::PeakMemory],
            Kind::Time { .. } => &[Quantity::WallTime],
        }
    }

    /// Reads a claim.
    ///
    /// # Errors
    /// What is not understood, and what would be.
    pub fn read(name: &str, text: &str, words: &Vocabulary) -> Result<Self, String> {
        let split: Vec<&str> = text.split_whitespace().collect();
        match kind(&split, words) {
            Ok(kind) => Ok(Self { name: name.into(), text: text.into(), kind }),
            Err(Wrong::Form) => Err(format!("`{text}` is not understood. {FORMS}")),
            Err(Wrong::Word(why)) => Err(format!("`{text}`: {why}")),
        }
    }
}

enum Wrong {
    Form,
    /// It has one of them, and this in it is wrong.
    Word(String),
}

fn kind(split: &[&str], words: &Vocabulary) -> Result<Kind, Wrong> {
    let command = |name: &str| named(name, "command", &words.commands);
    match split {
        [one, "is", "at", side @ ("most" | "least"), rest @ ..] => {
            let (number, unit, rest) = number(rest)?;
            let ([way @ ("slower" | "faster"), "than", other], "%" | "x") = (rest, unit) else {
                return Err(Wrong::Form);
            };
            let factor = if unit == "%" { 1.0 + number / 100.0 } else { number };
            if factor < 1.0 {
                return Err(Wrong::Word(format!("{number}x is below 1x; swap `slower` and `faster`")));
            }
            // What is N % faster does N % more in the same time: the opposite of what is N % slower.
            let (bound, most) = match *way {
                "slower" => (factor, *side == "most"),
                _ => (1.0 / factor, *side == "least"),
            };
            pair(command(one)?, command(other)?, vec![Quantity::WallTime], Bounds::one(bound, most))
        }
        [one, "and", other, "are", "the", "same", rest @ ..] => {
            let margin = match rest {
                [] => words.margin,
                ["within", rest @ ..] => match number(rest)? {
                    (percent, "%", []) if percent > 0.0 => percent / 100.0,
                    _ => return Err(Wrong::Form),
                },
                _ => return Err(Wrong::Form),
            };
            let allowed = Bounds { least: Some(1.0 / (1.0 + margin)), most: Some(1.0 + margin) };
            pair(command(one)?, command(other)?, words.quantities.clone(), allowed)
        }
        [one, "needs", "at", side @ ("most" | "least"), rest @ ..] => {
            let (percent, "%", [way @ ("more" | "less"), rest @ ..]) = number(rest)? else {
                return Err(Wrong::Form);
            };
            let [noun @ .., "than", other] = rest else { return Err(Wrong::Form) };
            let quantity = quantity(&noun.join(" "))?;
            let (bound, most) = match *way {
                "more" => (1.0 + percent / 100.0, *side == "most"),
                _ if percent < 100.0 => (1.0 - percent / 100.0, *side == "least"),
                _ => return Err(Wrong::Word(format!("{percent} % less than anything is nothing"))),
            };
            pair(command(one)?, command(other)?, vec![quantity], Bounds::one(bound, most))
        }
        [one, "is", law @ ("constant" | "linear" | "quadratic"), "in", parameter] => {
            let power = match *law {
                "constant" => 0.0,
                "linear" => 1.0,
                _ => 2.0,
            };
            let names: Vec<String> = words.parameters.iter().map(|(name, _)| name.clone()).collect();
            let place = named(parameter, "parameter", &names)?;
            let values = &words.parameters[place].1;
            if let Some(value) = values.iter().find(|value| positive(value).is_none()) {
                return Err(Wrong::Word(format!(
                    "`{value}`, a value of `{parameter}`, is not a number above 0, with which anything could grow"
                )));
            }
            let mut numbers: Vec<f64> = values.iter().filter_map(|value| positive(value)).collect();
            numbers.order_by(f64::total_cmp);
            numbers.dedup();
            if numbers.len() < 2 || numbers[numbers.len() - 1] < 2.0 * numbers[0] {
                return Err(Wrong::Word(format!(
                    "the values of `{parameter}` have to span at least a factor of 2, to show how anything grows with it"
                )));
            }
            let (parameter, quantities) = ((*parameter).to_owned(), words.quantities.clone());
            Ok(Kind::Growth { command: command(one)?, parameter, power, quantities })
        }
        [one, "uses", "at", "most", rest @ ..] => {
            let (number, unit, []) = number(rest)? else { return Err(Wrong::Form) };
            let scale: u64 = match unit {
                "KiB" => 1 << 10,
                "MiB" => 1 << 20,
                "GiB" => 1 << 30,
                _ => return Err(Wrong::Form),
            };
            Ok(Kind::Memory { command: command(one)?, most: Bytes((number * scale as f64) as u64) })
        }
        [one, "takes", "at", "most", rest @ ..] => {
            let (number, unit, []) = number(rest)? else { return Err(Wrong::Form) };
            let unit = match unit {
                "cycle" | "cycles" => {
                    let cycle = words
                        .cycle
                        .ok_or_else(|| Wrong::Word("cycles are known only for instructions".into()))?;
                    return pair(command(one)?, cycle, vec![Quantity::WallTime], Bounds::one(number, true));
                }
                "ns" => ("ns", 1e3),
                "us" | "µs" => ("µs", 1e6),
                "ms" => ("ms", 1e9),
                "s" => ("s", 1e12),
                _ => return Err(Wrong::Form),
            };
            let most = Picoseconds((number * unit.1) as u64);
            Ok(Kind::Time { command: command(one)?, most, unit })
        }
        _ => Err(Wrong::Form),
    }
}

fn pair(one: usize, other: usize, quantities: Vec<Quantity>, allowed: Bounds) -> Result<Kind, Wrong> {
    if one == other {
        return Err(Wrong::Word("it names one command twice".into()));
    }
    Ok(Kind::Ratio { one, other, quantities, allowed })
}

impl Bounds {
    /// Only a most, or only a least.
    pub(super) fn one(bound: f64, most: bool) -> Self {
        if most {
            Self { most: Some(bound), ..Self::default() }
        } else {
            Self { least: Some(bound), ..Self::default() }
        }
    }
}

/// A number and its unit, which may touch, and what follows them.
fn number<'a>(words: &'a [&'a str]) -> Result<(f64, &'a str, &'a [&'a str]), Wrong> {
    let [first, rest @ ..] = words else { return Err(Wrong::Form) };
    let end = first.find(|letter: char| !letter.is_ascii_digit() && letter != '.').unwrap_or(first.len());
    let (digits, unit) = first.split_at(end);
    let number = digits.parse::<f64>().map_err(|_| Wrong::Form)?;
    match (unit, rest) {
        ("", [unit, rest @ ..]) => Ok((number, unit, rest)),
        ("", []) => Err(Wrong::Form),
        (unit, rest) => Ok((number, unit, rest)),
    }
}

/// A value of a parameter as a number above 0.
pub(super) fn positive(value: &str) -> Option<f64> {
    value.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0)
}

fn named(name: &str, kind: &str, names: &[String]) -> Result<usize, Wrong> {
    names.iter().position(|known| known == name).ok_or_else(|| {
        let quoted = names.iter().map(|name| format!("`{name}`"));
        Wrong::Word(match names {
            [] => format!("there is no {kind} `{name}`; this question has no {kind}s"),
            [_] => format!("there is no {kind} `{name}`; there is {}", and(quoted)),
            _ => format!("there is no {kind} `{name}`; there are {}", and(quoted)),
        })
    })
}

/// What commands need, beside time.
const QUANTITIES: [(&str, Quantity); 8] = [
    ("memory", Quantity::PeakMemory),
    ("user time", Quantity::UserTime),
    ("system time", Quantity::KernelTime),
    ("CPU time", Quantity::CpuTime),
    ("page faults", Quantity::PageFaults),
    ("context switches", Quantity::ContextSwitches),
    ("instructions", Quantity::Instructions),
    ("cycles", Quantity::Cycles),
];

fn quantity(noun: &str) -> Result<Quantity, Wrong> {
    let known = QUANTITIES.iter().find(|(known, _)| *known == noun);
    known.map(|&(_, quantity)| quantity).ok_or_else(|| {
        let nouns = or(QUANTITIES.iter().map(|(noun, _)| noun));
        Wrong::Word(format!("`{noun}` is nothing that commands need; it is {nouns}"))
    })
}
