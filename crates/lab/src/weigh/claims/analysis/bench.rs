//! One cell, and every claim held against it.

use tenbin_analysis::verdict::{self, Time, calls};
use tenbin_document::words::{counted, percent};
use tenbin_model::words::{capitalised, comma, semicolon};
use tenbin_model::{
    Bytes, Cell, ClaimFigure, ClaimOutcome, Comparison, Descriptor, Evidence, Interval, JudgedClaim,
    Picoseconds, Quantity, Sample, VariantIndex,
};
use tenbin_stats::order::Ordered;
use tenbin_stats::sequential::Plan;
use tenbin_stats::sign;

use super::figures::{contradicted, ends, exactly, figure, further, in_words, of_interval};
use super::{ENOUGH_RUNS, groups, pairs, variants};
use crate::weigh::analysis::{COLUMN, least_peak, uncounted};
use crate::weigh::claims::Vocabulary;
use crate::weigh::claims::grammar::{Bounds, Claim, Kind};

/// What claims are held against.
pub(super) struct Bench<'a> {
    pub(super) descriptor: &'a Descriptor,
    pub(super) cell: &'a Cell,
    pub(super) family: usize,
}

/// A claim at one combination of values, and of one quantity.
pub(super) struct Part {
    pub(super) outcome: ClaimOutcome,
    /// What was reached, as a clause.
    pub(super) reached: String,
    pub(super) needs: Option<String>,
    pub(super) figures: Vec<ClaimFigure>,
}

impl Part {
    pub(super) fn undecided(reached: String, needs: String) -> Self {
        Self { outcome: ClaimOutcome::NotDecided, reached, needs: Some(needs), figures: Vec::new() }
    }
}

impl Bench<'_> {
    /// What became of a claim: it holds where it does at every combination of values, and is refuted where it
    /// is at any.
    pub(super) fn judged(&self, claim: &Claim) -> JudgedClaim {
        let parts = self.parts(claim);
        let worst = [ClaimOutcome::Refuted, ClaimOutcome::NotDecided]
            .into_iter()
            .find(|&outcome| parts.iter().any(|part| part.outcome == outcome))
            .filter(|_| !parts.is_empty());
        let outcome = worst.unwrap_or(ClaimOutcome::Holds);
        let telling: Vec<&Part> = parts.iter().filter(|part| part.outcome == outcome).collect();
        const SHOWN: usize = 2;
        let clauses: Vec<&str> = telling.iter().take(SHOWN).map(|part| part.reached.as_str()).collect();
        let more = match telling.len().saturating_sub(SHOWN) {
            0 => String::new(),
            more => format!("; and so in {more} more"),
        };
        let among = match (outcome, parts.len()) {
            (_, 1) | (ClaimOutcome::Holds, _) => String::new(),
            (_, all) => format!(" ({} of {all} parts of the claim)", telling.len()),
        };
        JudgedClaim {
            name: claim.name.clone(),
            claim: claim.text.clone(),
            outcome,
            sentence: format!("{}{among}: {}{more}.", capitalised(outcome.in_words()), semicolon(clauses)),
            needs: telling.iter().find_map(|part| part.needs.clone()),
            figures: parts.into_iter().flat_map(|part| part.figures).collect(),
        }
    }

    fn parts(&self, claim: &Claim) -> Vec<Part> {
        match &claim.kind {
            Kind::Ratio { one, other, quantities, allowed } => {
                let pairs = pairs(self.descriptor, *one, *other);
                let all = pairs.iter().flat_map(|pair| quantities.iter().map(move |&it| (pair, it)));
                all.map(|(pair, quantity)| self.ratio(pair, quantity, *allowed)).collect()
            }
            Kind::Growth { command, parameter, power, quantities } => {
                let groups = groups(self.descriptor, *command, parameter);
                let all = groups.iter().flat_map(|group| quantities.iter().map(move |&it| (group, it)));
                all.map(|(group, quantity)| self.growth(group, quantity, (parameter, *power))).collect()
            }
            Kind::Memory { command, most } => {
                let all = variants(self.descriptor, *command).into_iter();
                all.map(|variant| self.memory(variant, *most)).collect()
            }
            Kind::Time { command, most, unit } => {
                let all = variants(self.descriptor, *command).into_iter();
                all.map(|variant| self.time(variant, *most, *unit)).collect()
            }
        }
    }

    /// What claims call the command that a variant was made of.
    pub(super) fn command(&self, variant: VariantIndex) -> String {
        let place = self.descriptor[variant].coordinate(COLUMN).unwrap_or(0) as usize;
        Vocabulary::of(self.descriptor).commands.get(place).cloned().unwrap_or_default()
    }

    pub(super) fn name(&self, variant: VariantIndex) -> &str {
        &self.descriptor[variant].name
    }

    /// Takes what is measured of a command or, of a function, the time that its ratios are of: of whole
    /// epochs as long as it is not known what a function does seldom.
    fn read(&self, quantity: Quantity) -> Time {
        match quantity {
            Quantity::WallTime if calls::are_known(self.descriptor, self.cell) => calls::time(self.cell),
            other => verdict::of_command(other),
        }
    }

    /// The ratio of a pair, with the description that it is judged by.
    fn evidence(&self, pair: &Comparison, quantity: Quantity) -> (Descriptor, Option<Evidence>) {
        let descriptor = Descriptor { quantity, ..self.descriptor.clone() };
        let read = self.read(quantity);
        let evidence = verdict::evidence(read, &descriptor, self.family, self.cell, pair);
        (descriptor, evidence)
    }

    /// Whether what became of a claim would be another one at another time.
    pub(super) fn depends(&self, claim: &Claim) -> bool {
        let Kind::Ratio { one, other, quantities, allowed } = &claim.kind else { return false };
        let pairs = pairs(self.descriptor, *one, *other);
        pairs.iter().any(|pair| {
            quantities.iter().any(|&quantity| {
                let (_, evidence) = self.evidence(pair, quantity);
                evidence.is_some_and(|evidence| contradicted(&evidence.regimes, *allowed))
            })
        })
    }

    fn ratio(&self, pair: &Comparison, quantity: Quantity, allowed: Bounds) -> Part {
        let noun = quantity.of_command().unwrap_or_default();
        let (one, other) = (self.name(pair.right), self.name(pair.left));
        let (descriptor, evidence) = self.evidence(pair, quantity);
        if let Some(refusal) = uncounted(&descriptor, self.cell, pair) {
            let needs = format!("It needs {}; claim something of commands that run longer.", refusal.needs);
            return Part::undecided(refusal.reached, needs);
        }
        let Some(evidence) = evidence else {
            let blocks = self.blocks();
            return Part::undecided(
                format!("`{one}` and `{other}` were compared in only {}", counted(blocks, "block")),
                self.too_few("blocks", verdict::votes(self.descriptor.level, self.family) as usize),
            );
        };
        let verb = if quantity == Quantity::WallTime { "took" } else { "needed" };
        let mut reached = format!(
            "`{one}` {verb} {} times the {noun} of `{other}` (claimed: {}; {})",
            ends(evidence.interval, allowed),
            in_words(allowed),
            counted(evidence.blocks, "block")
        );
        let outcome = of_interval(evidence.interval, allowed);
        let depends = contradicted(&evidence.regimes, allowed);
        if depends {
            let regimes = evidence.regimes.iter().map(|regime| {
                format!("{} in {}", ends(regime.interval, allowed), counted(regime.blocks, "block"))
            });
            reached.push_str(&format!(", and it depends on when: {}", comma(regimes)));
        }
        let needs = (outcome == ClaimOutcome::NotDecided).then(|| {
            if depends {
                "It needs a machine that does not change meanwhile.".into()
            } else {
                further(evidence.interval, allowed, (evidence.blocks, "blocks"))
            }
        });
        let what = format!("{noun} of `{one}` over that of `{other}`");
        let (level, count) = (Some(evidence.level), evidence.blocks);
        let figures = vec![figure(what, "1", evidence.interval, allowed, level, count)];
        Part { outcome, reached, needs, figures }
    }

    fn blocks(&self) -> usize {
        self.cell.samples.last().map_or(0, |sample| sample.block as usize + 1)
    }

    fn too_few(&self, what: &str, needed: usize) -> String {
        let had_all = self.blocks() as u64 >= u64::from(self.cell.arrangement.most_blocks);
        format!(
            "It needs at least {needed} {what}, with {} at a level of {}: {}.",
            counted(self.family, "interval"),
            percent(self.descriptor.level),
            if had_all { "allow more runs (runs)" } else { "give it more time (within)" }
        )
    }

    /// The median of what a command needs and where it lies, with the level and the number of values. None
    /// where there are too few.
    pub(super) fn median(&self, variant: VariantIndex, quantity: Quantity) -> Option<(Interval, f64, usize)> {
        let read = self.read(quantity);
        let own: Vec<&Sample> = self.cell.samples.iter().filter(|sample| sample.variant == variant).collect();
        // An iteration of instructions is many of them.
        let work = self.cell.arrangement.work as f64;
        let values = Ordered::new(verdict::by_block(&own, |sample| read(sample) / work))?;
        let plan = Plan::new(self.descriptor.level, self.family.max(1))?;
        let level = plan.level_after(self.cell.ended?, self.blocks())?;
        let quantile = sign::interval(&values, level)?;
        Some((quantile.interval, quantile.ranks.level, values.count()))
    }

    /// Runs that an interval of a median needs at the end.
    fn least_runs(&self) -> usize {
        let plan = Plan::new(self.descriptor.level, self.family.max(1));
        plan.and_then(|plan| plan.least_blocks()).unwrap_or(usize::MAX)
    }

    pub(super) fn too_few_runs(&self, variant: VariantIndex) -> Part {
        let own: Vec<&Sample> = self.cell.samples.iter().filter(|sample| sample.variant == variant).collect();
        if self.cell.arrangement.once {
            let reached = format!("`{}` was run only {} times", self.name(variant), own.len());
            return Part::undecided(reached, self.too_few("runs", self.least_runs()));
        }
        let blocks = verdict::by_block(&own, verdict::whole_epoch).len();
        let reached = format!("`{}` was measured in only {blocks} blocks", self.name(variant));
        Part::undecided(reached, self.too_few("blocks", self.least_runs()))
    }

    fn time(&self, variant: VariantIndex, most: Picoseconds, (unit, scale): (&str, f64)) -> Part {
        let Some((interval, level, runs)) = self.median(variant, Quantity::WallTime) else {
            return self.too_few_runs(variant);
        };
        let name = self.name(variant);
        let (what, noun) = if self.cell.arrangement.once { ("run", "run") } else { ("operation", "block") };
        let allowed = Bounds::one(most.0 as f64 / scale, true);
        let scaled = Interval { low: interval.low / scale, high: interval.high / scale };
        let outcome = of_interval(scaled, allowed);
        let reached = format!(
            "the median {what} of `{name}` took {} {unit} (claimed: {} {unit}; {})",
            ends(scaled, allowed),
            in_words(allowed),
            counted(runs, noun)
        );
        let needs = (outcome == ClaimOutcome::NotDecided).then(|| {
            further(scaled, allowed, (runs, if self.cell.arrangement.once { "runs" } else { "blocks" }))
        });
        let seconds = Interval { low: interval.low / 1e12, high: interval.high / 1e12 };
        let what = format!("median time of `{name}`");
        let figures =
            vec![figure(what, "s", seconds, Bounds::one(most.as_seconds(), true), Some(level), runs)];
        Part { outcome, reached, needs, figures }
    }

    fn memory(&self, variant: VariantIndex, most: Bytes) -> Part {
        let name = self.name(variant);
        let own = self.cell.samples.iter().filter(|sample| sample.variant == variant);
        let peaks: Vec<u64> = own.filter_map(|sample| sample.peak_memory).collect();
        let (Some(&least), Some(&highest)) = (peaks.iter().min(), peaks.iter().max()) else {
            return Part::undecided(
                format!("the peak memory of `{name}` is not known"),
                "It needs a kernel that counts it.".into(),
            );
        };
        // What is not above the least that can be seen may have needed less.
        let seen = least_peak(self.cell);
        let above = peaks.iter().enumerate().find(|(_, peak)| **peak > most.0.max(seen));
        if seen > most.0 && above.is_none() {
            return Part::undecided(
                format!("`{name}` needs {} at most, and that is the least that can be seen", Bytes(seen)),
                "It needs a claim of more than the process that starts commands has itself.".into(),
            );
        }
        let (outcome, reached) = match above {
            Some((place, &peak)) => (
                ClaimOutcome::Refuted,
                format!(
                    "run {} of `{name}` had {} resident (claimed: at most {most})",
                    place + 1,
                    exactly(peak, most)
                ),
            ),
            None => {
                let enough = peaks.len() >= ENOUGH_RUNS;
                let outcome = if enough { ClaimOutcome::Holds } else { ClaimOutcome::NotDecided };
                let seen = format!(
                    "in {} `{name}` had {} resident at most (claimed: at most {most}); that is what was \
                     seen, and no bound on other runs",
                    counted(peaks.len(), "run"),
                    exactly(highest, most)
                );
                (outcome, seen)
            }
        };
        let needs = (outcome == ClaimOutcome::NotDecided)
            .then(|| format!("It needs {ENOUGH_RUNS} runs: give it more time (within) or more runs."));
        let interval = Interval { low: least as f64, high: highest as f64 };
        let allowed = Bounds::one(most.0 as f64, true);
        let what = format!("peak memory of `{name}`");
        let figures = vec![figure(what, "B", interval, allowed, None, peaks.len())];
        Part { outcome, reached, needs, figures }
    }
}
