//! The judge of transfers: what a line costs to move between two CPUs, and whether classes of pairs differ.
//!
//! The figures are said in any case: what a line costs is the question. What the verdict is about depends on
//! the classes that the pairs fall into by what their CPUs share. With several, it is whether the farthest is
//! farther than the nearest (`gap`). With one there is nothing to be near or far, so it is which protocol is
//! cheaper between the CPUs of the first pair that was timed: the answer of that very pair. Where that
//! comparison was refused so is the headline, and its sentence says the figures and that.

mod gap;
mod pair;
mod picture;
mod relabelings;
mod view;

use tenbin_model::topology::shared;
use tenbin_model::unit::three_digits;
use tenbin_model::{
    Answer, Cell, Cpu, Descriptor, Figure, Machine, Refusal, Role, Trial, VariantIndex, Verdict, order,
};

use self::gap::{Gap, GapSize, Outcome, Why};
use self::pair::{Class, Drift, Pair, Spread, classes, drift};
use self::picture::{ByClass, by_class, figures, grids};
use self::relabelings::{Labels, Relabelings, Timed};
use tenbin_analysis::verdict::comparisons::{self, empty};
use tenbin_analysis::verdict::{caveat, sentence, whole_epoch};
use tenbin_analysis::{Analysis, Basis, Judged};
use tenbin_document::interval::{outward, show};
use tenbin_document::words::{comma, percent};
use tenbin_stats::LEVEL;
use tenbin_stats::paired::as_ratios;

/// A control pair whose median moves by more than this factor says that the machine changed meanwhile.
const STEADY: f64 = 1.25;

/// Times by pair of CPUs, and the classes that the pairs fall into.
#[derive(Debug)]
pub(super) struct Transfers;

impl Analysis for Transfers {
    fn name(&self) -> &'static str {
        "transfers"
    }

    fn basis(&self) -> Basis {
        Basis::Blocks
    }

    /// The pairs of CPUs stand in a map.
    fn is_summary(&self, answer: &Answer, _: bool) -> bool {
        answer.headline
    }

    fn judge(&self, machine: &Machine, trial: &Trial) -> Judged {
        // Controls too.
        let pairs: Vec<Pair> = trial.cells.iter().filter_map(|cell| Pair::of(machine, cell)).collect();
        let classes = by_class(trial, &pairs);
        let answers = answers(machine, trial, &pairs, &classes);
        Judged { view: view::view(&classes, &answers), answers, findings: Vec::new() }
    }
}

/// The answer for the experiment first, then each pair's own.
fn answers(machine: &Machine, trial: &Trial, pairs: &[Pair], by_class: &[ByClass]) -> Vec<Answer> {
    let own = |cell: &Cell| {
        let answers = comparisons::of_cell(whole_epoch, machine, trial, cell);
        answers.into_iter().map(|answer| Answer { headline: false, ..answer })
    };
    let mut each: Vec<Answer> = trial.cells.iter().flat_map(own).collect();
    let measured: Vec<&Pair> = pairs.iter().filter(|pair| !pair.control).collect();
    if measured.is_empty() {
        // Nothing was timed: the first refusal stands for all.
        if let Some(first) = each.first_mut() {
            first.headline = true;
        }
        return each;
    }
    let drift = drift(pairs);
    let classes = classes(&measured);
    let mut headline = match classes.as_slice() {
        [only] => one_class(trial, only, &each, drift.as_ref()),
        several => several_classes(machine, trial, several, drift.as_ref()),
    };
    let placement = trial.cells.iter().find_map(|cell| caveat::placement(machine, cell));
    let caveats = headline.caveat.into_iter().chain(placement);
    headline.caveat = caveats.reduce(|one, other| format!("{one} {other}"));
    headline.figures.extend(drift.map(|drift| Figure::new("drift of the control pair", drift.factor, "1")));
    headline.figures.extend(figures(by_class));
    headline.grids = grids(&trial.descriptor, &measured);
    std::iter::once(headline).chain(each).collect()
}

/// All pairs are alike by what they share: the protocols are what can be weighed.
fn one_class(trial: &Trial, class: &Class<'_>, each: &[Answer], drift: Option<&Drift>) -> Answer {
    let first = class.pairs[0];
    let name = |variant: VariantIndex| trial.variant(variant).map_or("?", |one| &one.name);
    let by = |time: fn(&Spread) -> String| -> Vec<String> {
        first.spreads.iter().map(|spread| format!("{} by {}", time(spread), name(spread.variant))).collect()
    };
    let brief = comma(by(|spread| format!("{} ns", three_digits(spread.median))));
    let weighed = each.iter().find(|answer| answer.cell == first.label);
    let apart = weighed.map(|answer| match (&answer.evidence, &answer.refusal) {
        (_, Some(refusal)) => {
            let reason = sentence::refusal(refusal);
            format!(". Which protocol is cheaper was refused: {}", reason.trim_start_matches("Refused: "))
        }
        (Some(evidence), None) => {
            let (times, range) = (show(evidence.ratio, evidence.interval), outward(evidence.interval));
            let alike = match answer.verdict {
                Verdict::Equivalent => format!(", the same within {}", percent(evidence.margin)),
                _ => String::new(),
            };
            format!("; {} takes {times}x what {} takes ({range}){alike}.", evidence.right, evidence.left)
        }
        (None, None) => ".".into(),
    });
    let others = match class.pairs.len() {
        1 => "One pair says what a line costs there; which pairs are near takes 3 CPUs or more.".to_owned(),
        count => format!("All {count} pairs share the same, so none is known to be near."),
    };
    let (one, other) = first.cpus;
    Answer {
        verdict: weighed.map_or(Verdict::Refused, |answer| answer.verdict),
        evidence: weighed.and_then(|answer| answer.evidence.clone()),
        brief: format!("{brief}, within {}", class.shared),
        refusal: weighed.and_then(|answer| answer.refusal.clone()),
        sentence: format!(
            "Between {one} and {other}, which share {}, a line moves in {}{} {others}",
            class.shared,
            by(Spread::in_words).join(" and in "),
            apart.unwrap_or_else(|| ".".into()),
        ),
        caveat: match drift {
            None => Some(
                "Whether it changed meanwhile is not known: no control pair was measured twice.".to_owned(),
            ),
            Some(drift) => (drift.factor > STEADY).then(|| unsteady(drift)),
        },
        ..empty(&trial.descriptor, "", true)
    }
}

fn unsteady(drift: &Drift) -> String {
    let Drift { cpus: (one, other), factor } = drift;
    format!("{one} and {other} took {}x as long at one time as at another.", three_digits(*factor))
}

/// Whether the nearest class is nearer than the farthest, by the last protocol: flags need the fewest
/// instructions.
fn several_classes(machine: &Machine, trial: &Trial, classes: &[Class<'_>], drift: Option<&Drift>) -> Answer {
    let descriptor = &trial.descriptor;
    let (way, variant) = last_protocol(descriptor, classes);
    let by_class: Vec<String> = classes.iter().filter_map(|class| class.in_words(variant)).collect();
    let reached = format!("a line moves by {way} in {}", by_class.join(", in "));
    let refused = |beside: &str, needs: String, remedy: &str| {
        let refusal = Refusal { reached: format!("{reached}{beside}"), needs, remedy: remedy.into() };
        comparisons::refused(descriptor, "", true, &refusal)
    };
    match drift {
        None => {
            let needs =
                "two or more measurements of a control pair, to tell distance from a change meanwhile";
            return refused("", needs.into(), "measure again: the control was refused or left out");
        }
        Some(drift) if drift.factor > STEADY => {
            let factor = three_digits(drift.factor);
            let needs =
                format!("a control pair that stays within {STEADY}x of itself, and it moved by {factor}x");
            let answer = refused("", needs, "a quieter machine, or CPUs that stay where they are");
            return Answer { caveat: Some(unsteady(drift)), ..answer };
        }
        Some(_) => {}
    }
    let weighed = weighed(machine, descriptor, classes, variant);
    let answer = match weighed.outcome {
        Outcome::Undecided(why) => {
            let (beside, needs, remedy) = undecided(why, &weighed);
            refused(&beside, needs, remedy)
        }
        outcome => {
            let alike = outcome == Outcome::Alike;
            let verdict = if alike { Verdict::Equivalent } else { Verdict::Different };
            let within = if alike {
                format!(", the same within {}", percent(descriptor.margin))
            } else {
                String::new()
            };
            let far = weighed.size.map_or_else(String::new, |size| {
                let shows = in_percent(size.detectable);
                format!("{}{within}; a gap of {shows} would show", from_nearest(&size))
            });
            Answer {
                verdict,
                sentence: format!("A line moves by {way} in {}. {far}.", by_class.join(", in ")),
                brief: format!(
                    "{}, by {way}",
                    comma(classes.iter().filter_map(|class| class.brief(variant)))
                ),
                ..empty(descriptor, "", true)
            }
        }
    };
    Answer { figures: sizes(&weighed), ..answer }
}

/// The last protocol that was timed, and its number: what was described, not what stands last in the list of
/// variants.
fn last_protocol(descriptor: &Descriptor, classes: &[Class<'_>]) -> (String, VariantIndex) {
    let pairs = classes.iter().flat_map(|class| &class.pairs);
    let timed = pairs.flat_map(|pair| &pair.spreads).filter_map(|spread| {
        let variant = descriptor.variants.get(spread.variant.place())?;
        (variant.role == Role::Measured).then(|| (variant.name.clone(), spread.variant))
    });
    let none = || ("no known protocol".into(), VariantIndex(u32::MAX));
    timed.max_by_key(|(_, variant)| *variant).unwrap_or_else(none)
}

fn weighed(machine: &Machine, descriptor: &Descriptor, classes: &[Class<'_>], variant: VariantIndex) -> Gap {
    let measured = classes.iter().flat_map(|class| &class.pairs);
    let cpus = order::distinct(measured.flat_map(|pair| [pair.cpus.0, pair.cpus.1]));
    let place = |cpu: Cpu| cpus.binary_search(&cpu).ok();
    let timed = |class: usize, pair: &Pair| {
        let log = pair.spread(variant)?.median.ln();
        Some(Timed { one: place(pair.cpus.0)?, other: place(pair.cpus.1)?, class, log })
    };
    let of_class = |(class, of): (usize, &Class<'_>)| -> Vec<Timed> {
        of.pairs.iter().filter_map(|pair| timed(class, pair)).collect()
    };
    let pairs: Vec<Timed> = classes.iter().enumerate().flat_map(of_class).collect();
    let labels = Labels::new(cpus.len(), |one, other| {
        let shared = shared(machine, cpus[one], cpus[other]);
        classes.iter().position(|class| class.shared == shared)
    });
    let farthest = classes.len().saturating_sub(1);
    gap::judge(&pairs, farthest, &Relabelings::of(labels), descriptor.margin.ln_1p())
}

/// A gap in logarithms, in percent while that reads well.
fn in_percent(gap: f64) -> String {
    let more = gap.exp_m1();
    if more < 1.0 { percent(more) } else { format!("{}x", three_digits(1.0 + more)) }
}

fn from_nearest(size: &GapSize) -> String {
    let interval = as_ratios(size.interval);
    let times = show(size.gap.exp(), interval);
    format!(
        "From the nearest class to the farthest it is {times}x ({}), each CPU's own speed aside",
        outward(interval)
    )
}

/// What was reached beside the classes' times, what is needed, and the remedy.
fn undecided(why: Why, weighed: &Gap) -> (String, String, &'static str) {
    const MORE: &str = "measure all pairs (without --quick), or use more CPUs of each group";
    let size = weighed.size.as_ref();
    let beside = size.map_or_else(String::new, |size| format!(". {}", from_nearest(size)));
    match why {
        Why::SlowOrFar => (
            beside,
            "CPUs with near partners and far ones, 3 of them in each of two groups, since otherwise a slow CPU and a far one \
             look the same"
                .into(),
            MORE,
        ),
        Why::LonePair => {
            (beside, "3 CPUs in each of two groups: half of the answer rests on one pair of them".into(), MORE)
        }
        Why::TooSmall => {
            let (needed, shows) =
                size.map(|size| (in_percent(size.needed), in_percent(size.detectable))).unwrap_or_default();
            let needs = format!(
                "the farthest class to be dearer by {needed}, as these pairs vary ({shows} shows nine times in ten)"
            );
            (beside, needs, MORE)
        }
        Why::Chance => {
            let part = percent(weighed.relabeled.unwrap_or(1.0));
            let needs = format!(
                "a gap that less than {} of all ways to deal the CPUs to classes show, and {part} show as much",
                percent(LEVEL)
            );
            (beside, needs, MORE)
        }
    }
}

fn sizes(weighed: &Gap) -> Vec<Figure> {
    let factor = |name: &str, log: f64| {
        let value = log.exp();
        value.is_finite().then(|| Figure::new(&format!("nearest class to farthest: {name}"), value, "1"))
    };
    let of_size = weighed.size.into_iter().flat_map(|size| {
        [
            factor("factor", size.gap),
            factor("factor, low end", size.interval.low),
            factor("factor, high end", size.interval.high),
            factor("smallest factor that would have shown", size.detectable),
            factor("deviation within classes", size.deviation),
        ]
    });
    let relabeled = weighed
        .relabeled
        .map(|part| Figure::new("share of relabellings of CPUs that show as large a gap", part, "1"));
    of_size.flatten().chain(relabeled).collect()
}

#[cfg(test)]
mod tests;
