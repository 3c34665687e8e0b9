//! Figures that a source derives from others of its own, computed again.
//!
//! A printed figure may be off by half a unit of its last place, and the bounds of a [`Figure`] carry that
//! through a formula. A claim that lies outside them contradicts the figures that it was made of, whatever
//! they were before they were rounded.

use std::ops::{Add, Div, Mul, Sub};

use tenbin_model::words::{counted, semicolon};
use tenbin_model::{Finding, Rows};

/// What a formula of printed figures comes to.
#[derive(Clone, Debug)]
pub struct Figure {
    value: f64,
    /// Where it lies, whatever the figures in it were before they were rounded.
    low: f64,
    high: f64,
    /// The formula, with the figures as they were printed.
    formula: String,
    last: Last,
}

/// What a formula did last: by it, parentheses are needed or not.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
enum Last {
    Sum,
    Product,
    Nothing,
}

impl Figure {
    /// A figure as it was printed.
    ///
    /// # Panics
    /// It is no number. Tables are part of this program, and a test computes every claim.
    pub fn printed(text: &str) -> Self {
        let value: f64 = text.parse().expect("a published figure is a number");
        let half = half_unit(text);
        Self { value, low: value - half, high: value + half, formula: text.into(), last: Last::Nothing }
    }

    /// A number that is exact: a unit, a count.
    pub fn exact(value: f64) -> Self {
        Self { value, low: value, high: value, formula: value.to_string(), last: Last::Nothing }
    }

    /// The figure in this column of the first row with these texts.
    ///
    /// # Panics
    /// There is none. Tables are part of this program, and a test computes every claim.
    pub fn at(rows: &Rows, column: &str, row: &[(&str, &str)]) -> Self {
        let row = rows.find(row).unwrap_or_else(|| panic!("no row {row:?}"));
        Self::printed(row.text(column))
    }

    /// The same of what was counted, and so is exact.
    pub fn count(rows: &Rows, column: &str, row: &[(&str, &str)]) -> Self {
        let Self { value, .. } = Self::at(rows, column, row);
        Self::exact(value)
    }

    fn with(self, sign: &str, other: Self, apply: fn(f64, f64) -> f64) -> Self {
        let ends =
            [(self.low, other.low), (self.low, other.high), (self.high, other.low), (self.high, other.high)];
        let ends = ends.map(|(one, other)| apply(one, other));
        let last = if ["+", "-"].contains(&sign) { Last::Sum } else { Last::Product };
        let part = |figure: &Self, is_loose: bool| {
            if figure.last < last || is_loose && figure.last == last {
                format!("({})", figure.formula)
            } else {
                figure.formula.clone()
            }
        };
        // What is taken away, or divided by, is one thing.
        let formula = format!("{} {sign} {}", part(&self, false), part(&other, ["-", "/"].contains(&sign)));
        Self {
            value: apply(self.value, other.value),
            low: ends.into_iter().fold(f64::INFINITY, f64::min),
            high: ends.into_iter().fold(f64::NEG_INFINITY, f64::max),
            formula,
            last,
        }
    }

    /// The formula and its value, to a digit more than `printed` has and to three at least.
    fn in_words(&self, printed: &str) -> String {
        let to_three = if self.value == 0.0 { 0.0 } else { 2.0 - self.value.abs().log10().floor() };
        let places = (decimals(printed) + 1).max(to_three.clamp(0.0, 6.0) as usize);
        format!("{} = {}", self.formula, digits(self.value, places))
    }
}

impl Add for Figure {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        self.with("+", other, |one, other| one + other)
    }
}

impl Sub for Figure {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        self.with("-", other, |one, other| one - other)
    }
}

impl Mul for Figure {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        self.with("*", other, |one, other| one * other)
    }
}

/// Where the divisor may be 0, nothing is known of the quotient.
impl Div for Figure {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        let is_open = other.low <= 0.0 && other.high >= 0.0;
        let quotient = self.with("/", other, |one, other| one / other);
        if is_open { Self { low: f64::NEG_INFINITY, high: f64::INFINITY, ..quotient } } else { quotient }
    }
}

fn decimals(text: &str) -> usize {
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// Half a unit of the last place.
fn half_unit(text: &str) -> f64 {
    0.5 * 10_f64.powi(-(decimals(text) as i32))
}

/// So many decimals, less the zeros behind, and three digits of what they would not show.
fn digits(value: f64, decimals: usize) -> String {
    let shown = format!("{value:.decimals$}");
    match shown.parse::<f64>() {
        Ok(0.0) if value != 0.0 => format!("{value:.2e}"),
        _ if shown.contains('.') => shown.trim_end_matches('0').trim_end_matches('.').to_owned(),
        _ => shown,
    }
}

/// What a source says of its own figures.
#[derive(Clone, Debug)]
pub struct Claim {
    /// In words, with its figure.
    says: String,
    printed: &'static str,
    relation: Relation,
    figure: Figure,
    /// What gives the printed figure instead, and what that is made of.
    instead: Option<(&'static str, Figure)>,
}

#[derive(Clone, Copy, Debug)]
enum Relation {
    /// It is the printed figure, rounded.
    Is,
    /// It is more.
    Over,
    /// It is no more.
    AtMost,
    /// It has the same power of ten.
    Order,
    /// It is a whole number, as counts are.
    Whole,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Holds,
    /// By the figures as they were printed it does not; before they were rounded it may have.
    Rounded,
    Fails,
}

impl Claim {
    fn new(says: impl Into<String>, printed: &'static str, relation: Relation, figure: Figure) -> Self {
        Self { says: says.into(), printed, relation, figure, instead: None }
    }

    /// That the figure is the `printed` one.
    pub fn is(says: impl Into<String>, printed: &'static str, figure: Figure) -> Self {
        Self::new(says, printed, Relation::Is, figure)
    }

    /// That the figure is more than the `printed` one.
    pub fn over(says: impl Into<String>, printed: &'static str, figure: Figure) -> Self {
        Self::new(says, printed, Relation::Over, figure)
    }

    /// That the figure is no more than the `printed` one.
    pub fn at_most(says: impl Into<String>, printed: &'static str, figure: Figure) -> Self {
        Self::new(says, printed, Relation::AtMost, figure)
    }

    /// That the figure is of the order of the `printed` one.
    pub fn order(says: impl Into<String>, printed: &'static str, figure: Figure) -> Self {
        Self::new(says, printed, Relation::Order, figure)
    }

    /// That the figure is a whole number of what it is counted in.
    pub fn whole(says: impl Into<String>, printed: &'static str, figure: Figure) -> Self {
        Self::new(says, printed, Relation::Whole, figure)
    }

    /// What gives the printed figure, where the claim does not hold.
    pub fn instead(self, what: &'static str, figure: Figure) -> Self {
        Self { instead: Some((what, figure)), ..self }
    }

    fn outcome(&self) -> Outcome {
        let Figure { value, low, high, .. } = self.figure;
        let printed: f64 = self.printed.parse().unwrap_or(f64::NAN);
        // What is computed in floating point may be off by its own last place.
        let half = half_unit(self.printed) * (1.0 + 1e-9);
        let holds = match self.relation {
            Relation::Is => (value - printed).abs() <= half,
            Relation::Over => value > printed,
            Relation::AtMost => value <= printed,
            Relation::Order => (value.log10() - printed.log10()).abs() < 0.5,
            Relation::Whole => (value - value.round()).abs() < 1e-6,
        };
        let may_hold = match self.relation {
            Relation::Is => low <= printed + half && high >= printed - half,
            Relation::Over => high > printed,
            Relation::AtMost => low <= printed,
            Relation::Order | Relation::Whole => false,
        };
        match (holds, may_hold) {
            (true, _) => Outcome::Holds,
            (false, true) => Outcome::Rounded,
            (false, false) => Outcome::Fails,
        }
    }

    fn in_words(&self) -> String {
        let computed = self.figure.in_words(self.printed);
        match self.outcome() {
            Outcome::Holds => computed,
            Outcome::Rounded => {
                let end = |end| digits(end, decimals(self.printed) + 2);
                let (low, high) = (end(self.figure.low), end(self.figure.high));
                format!("Within rounding: {}: {computed}, before rounding {low} to {high}.", self.says)
            }
            Outcome::Fails => {
                let instead = self.instead.as_ref().map_or_else(String::new, |(what, figure)| {
                    format!(" {what} {}.", figure.in_words(self.printed))
                });
                format!("Does not hold: {}: {computed}.{instead}", self.says)
            }
        }
    }
}

/// What these claims come to: a line for each that does not follow, and the others together. None of none.
pub(super) fn finding(experiment: &str, source: &str, claims: &[Claim]) -> Option<Finding> {
    let of = |outcome: Outcome| claims.iter().filter(move |claim| claim.outcome() == outcome);
    let [holds, rounded, fails] = [Outcome::Holds, Outcome::Rounded, Outcome::Fails].map(|it| of(it).count());
    let rounded = if rounded > 0 { format!(", {rounded} may have before rounding") } else { String::new() };
    let fails = if fails > 0 {
        format!("{fails} {}", if fails == 1 { "does not" } else { "do not" })
    } else {
        "none contradicts them".into()
    };
    let mut lines: Vec<String> =
        of(Outcome::Fails).chain(of(Outcome::Rounded)).map(Claim::in_words).collect();
    if holds > 0 {
        lines.push(format!("As printed: {}.", semicolon(of(Outcome::Holds).map(Claim::in_words))));
    }
    (!claims.is_empty()).then(|| Finding {
        experiment: experiment.into(),
        sentence: format!(
            "{source}: of {} about figures of its own, {holds} {} from them as printed{rounded}, and {fails}.",
            counted(claims.len(), "statement"),
            if holds == 1 { "follows" } else { "follow" }
        ),
        evidence: lines.join("\n"),
        confidence: "computed from the figures as they were printed; each may be off by half a unit of its last place"
            .into(),
    })
}

#[cfg(test)]
mod tests;
