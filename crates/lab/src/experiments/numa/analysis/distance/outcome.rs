//! The decision: from one table to an outcome.

use tenbin_model::{Cpu, Interval, Order};

use super::contrast::{self, Contrast, between, critical, errors, needed};
use super::groups::{self, Division};
use super::middle::median;
use super::polish::{Table, polish};
use super::repeated::Repeated;
use super::{
    COARSEST, Distances, Gap, LEAST_BLOCKS, LEAST_HOMES, LEAST_READERS, MAD, Observation, Outcome, Why,
};
use tenbin_stats::LEVEL;
use tenbin_stats::detectable::normal_quantile;

/// Judges `observations`: do all readers reach all homes alike?
///
/// The order of the observations has no influence. Blocks in which a pair is missing are left out, and
/// so are buffers whose home is no reader.
pub(crate) fn judge(observations: &[Observation]) -> Distances {
    let repeated = Repeated::of(observations);
    let homes_own: Vec<usize> =
        repeated.homes.iter().filter_map(|home| repeated.readers.binary_search(home).ok()).collect();
    let mut distances = Distances {
        outcome: Outcome::Undecided(Why::TooFewBlocks),
        groups: vec![repeated.readers.clone()],
        unplaced: vec![],
        gap: None,
        deviation: 0.0,
        spread: 0.0,
        repeat: 0.0,
        detectable: f64::INFINITY,
        blocks: repeated.blocks.len(),
        skipped: repeated.skipped,
        readers: repeated.readers.clone(),
        homes: repeated.homes.clone(),
    };
    if repeated.blocks.len() < LEAST_BLOCKS || repeated.homes.is_empty() {
        if repeated.homes.is_empty() || repeated.readers.len() < LEAST_READERS {
            distances.outcome = Outcome::Undecided(Why::TooFewCpus);
        }
        return distances;
    }
    let table = Decision { table: repeated.table(), noise: repeated.noise(), own: homes_own };
    table.judge(&repeated.readers, &mut distances);
    distances
}

/// A table with all that a decision rests on.
struct Decision {
    table: Table,
    noise: f64,
    own: Vec<usize>,
}

/// A division with its weakest pair of groups.
struct Candidate {
    division: Division,
    weakest: Contrast,
    changes_sign: bool,
    deviation: f64,
    critical: f64,
    two_of_each: bool,
}

impl Candidate {
    fn needed(&self) -> f64 {
        needed(self.deviation, self.weakest.errors, self.critical)
    }

    fn stands_out(&self) -> bool {
        self.weakest.gap > 0.0 && self.weakest.gap >= self.needed()
    }

    fn is_distant(&self) -> bool {
        self.stands_out() && self.changes_sign && self.two_of_each
    }

    fn gap(&self) -> Gap {
        Gap::of(self.weakest.gap, self.weakest.errors * self.deviation / MAD)
    }
}

impl Decision {
    fn judge(&self, readers: &[Cpu], distances: &mut Distances) {
        let interaction = polish(&self.table);
        let (rows, columns) = (self.table.rows(), self.table.columns);
        distances.spread = interaction.spread().exp_m1();
        distances.repeat = self.explained().exp_m1();
        // The median absolute deviation, where no groups are known.
        let flat = self.no_less(median(interaction.cells.iter().map(|cell| cell.abs())));
        distances.deviation = flat.exp_m1();
        if rows < LEAST_READERS || columns < LEAST_HOMES {
            self.of_few(distances);
            return;
        }
        distances.detectable = self.detectable(flat).exp_m1();

        let most = columns.min(rows / 2);
        let mut best: Option<Candidate> = None;
        for homes in groups::of_homes(&self.table, &self.own, most) {
            let Some(candidate) = self.candidate(&interaction, &homes) else { continue };
            if candidate.is_distant() {
                distances.outcome = Outcome::Distant;
                distances.gap = Some(candidate.gap());
                distances.deviation = candidate.deviation.exp_m1();
                distances.detectable = self.detectable(candidate.deviation).exp_m1();
                let cpus =
                    |group| candidate.division.rows(group).into_iter().map(|row| readers[row]).collect();
                distances.groups = (0..candidate.division.groups).map(cpus).collect();
                distances.groups.order();
                let none = |row: &usize| candidate.division.readers[*row].is_none();
                distances.unplaced = (0..rows).filter(none).map(|row| readers[row]).collect();
                return;
            }
            let ratio = |of: &Candidate| of.weakest.gap / of.needed();
            if best.as_ref().is_none_or(|best| ratio(&candidate) > ratio(best)) {
                best = Some(candidate);
            }
        }
        distances.gap = best.as_ref().map(Candidate::gap);
        distances.outcome = match best {
            Some(best) if best.stands_out() && !best.two_of_each => Outcome::Undecided(Why::LoneCpu),
            Some(best) if best.stands_out() => Outcome::Undecided(Why::NoSignChange),
            Some(best) if distances.spread > distances.repeat => {
                Outcome::Undecided(Why::Between { needed: best.needed().exp_m1() })
            }
            None if distances.spread > distances.repeat => {
                Outcome::Undecided(Why::Between { needed: distances.detectable })
            }
            _ if distances.detectable > COARSEST => Outcome::Undecided(Why::TooCoarse),
            _ => Outcome::Alike,
        };
    }

    /// The division of `homes` with its readers, and its weakest pair. None if a group has nothing to
    /// compare.
    fn candidate(&self, interaction: &Table, homes: &[usize]) -> Option<Candidate> {
        let division = groups::with_readers(interaction, &self.own, homes, self.noise);
        let deviation = self.no_less(division.deviation(interaction));
        let pairs = (0..division.groups).flat_map(|two| (0..two).map(move |one| (one, two)));
        let contrasts: Vec<Contrast> =
            pairs.map(|(one, two)| between(&self.table, interaction, &division, one, two)).collect();
        let critical = critical(self.table.rows(), division.groups);
        let strength = |of: &Contrast| of.gap - needed(deviation, of.errors, critical);
        let weakest = contrasts.iter().min_by(|one, two| strength(one).total_cmp(&strength(two))).copied()?;
        Some(Candidate {
            weakest,
            changes_sign: contrasts.iter().all(|of| of.changes_sign),
            deviation,
            critical,
            two_of_each: (0..division.groups).all(|group| division.rows(group).len() >= 2),
            division,
        })
    }

    /// `deviation`, but no less than repetition alone explains: few cells can agree by chance.
    fn no_less(&self, deviation: f64) -> f64 {
        deviation.max(MAD * self.noise)
    }

    /// The spread of the interaction that repetition alone explains, but for one time in a hundred.
    ///
    /// Both ends of n·m normal cells stay within z(1 − level/2nm) standard deviations (Bonferroni); a
    /// cell that was freed of its row and column has √((n−1)(m−1)/nm) of the deviation it had.
    fn explained(&self) -> f64 {
        let (rows, columns) = (self.table.rows() as f64, self.table.columns as f64);
        let freed = ((rows - 1.0) * (columns - 1.0) / (rows * columns)).sqrt();
        let end = -normal_quantile(LEVEL / (2.0 * rows * columns));
        2.0 * end * freed * self.noise
    }

    /// The smallest gap that would have been found nine times of ten, were two readers and one home apart
    /// from the rest: the groups that are the hardest to find.
    fn detectable(&self, deviation: f64) -> f64 {
        let (rows, columns) = (self.table.rows(), self.table.columns);
        let errors = errors([2, rows.saturating_sub(2).max(1)], [1, columns.saturating_sub(1).max(1)]);
        let free = (rows * columns).saturating_sub(rows + 2 * (columns - 1));
        contrast::detectable(deviation, errors, critical(rows, 2), free)
    }

    /// The figures of a question that is too small to be answered: the largest swap, and what would have
    /// shown.
    fn of_few(&self, distances: &mut Distances) {
        distances.outcome = Outcome::Undecided(Why::TooFewCpus);
        let homes = self.own.len();
        let pairs = (0..homes).flat_map(|two| (0..two).map(move |one| (one, two)));
        let swap = |(one, two): (usize, usize)| {
            groups::swap(&self.table, (self.own[one], one), (self.own[two], two))
        };
        let Some(largest) = pairs.map(swap).max_by(|one, two| one.abs().total_cmp(&two.abs())) else {
            return;
        };
        let deviation = MAD * self.noise;
        distances.gap = Some(Gap::of(largest, errors([1, 1], [1, 1]) * self.noise));
        let cells = self.table.rows() * self.table.columns;
        distances.detectable =
            contrast::detectable(deviation, errors([1, 1], [1, 1]), critical(self.table.rows(), 2), cells)
                .exp_m1();
    }
}

impl Gap {
    /// From a gap in logarithms and its standard error. The interval is at [`LEVEL`] for a known error; as
    /// that is an estimate from few cells, it is promised to cover 19 times of 20 only.
    fn of(gap: f64, error: f64) -> Self {
        let half = -normal_quantile(LEVEL / 2.0) * error;
        Self {
            relative: gap.exp_m1(),
            interval: Interval { low: (gap - half).exp_m1(), high: (gap + half).exp_m1() },
        }
    }
}
