//! Who belongs together: homes by the swap of their own two cores, then the other readers by their profile.

use super::middle::median;
use super::polish::Table;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Division {
    pub(super) groups: usize,
    pub(super) homes: Vec<usize>,
    /// The group of each reader; `None` for one that is like no group.
    pub(super) readers: Vec<Option<usize>>,
    /// The middle profile of each group: interaction by home.
    profiles: Vec<Vec<f64>>,
}

impl Division {
    pub(super) fn rows(&self, group: usize) -> Vec<usize> {
        (0..self.readers.len()).filter(|&row| self.readers[row] == Some(group)).collect()
    }

    pub(super) fn columns(&self, group: usize) -> Vec<usize> {
        (0..self.homes.len()).filter(|&column| self.homes[column] == group).collect()
    }

    /// The median absolute deviation of the interaction from the middle of its group, a constant for each
    /// reader aside.
    ///
    /// The middles were fitted to the same cells and lie too near to them. So it is raised by √(cells/free),
    /// where a constant for each reader and a profile for each group are not free, as for a standard
    /// deviation.
    pub(super) fn deviation(&self, interaction: &Table) -> f64 {
        let placed: Vec<(usize, usize)> =
            self.readers.iter().enumerate().filter_map(|(row, group)| Some((row, (*group)?))).collect();
        let cells = placed.len() * self.homes.len();
        let fitted = placed.len() + self.groups * self.homes.len().saturating_sub(1);
        let raised = (cells as f64 / cells.saturating_sub(fitted).max(1) as f64).sqrt();
        raised
            * median(
                placed
                    .iter()
                    .flat_map(|&(row, group)| distances(interaction.row(row), &self.profiles[group])),
            )
    }
}

/// By how much the readers `first` and `second`, each the home of a buffer (`row` and `column`), reach
/// their own sooner: half of what the swap leaves. It holds neither the cores' speed nor the buffers'.
pub(super) fn swap(table: &Table, first: (usize, usize), second: (usize, usize)) -> f64 {
    let far = table.at(first.0, second.1) + table.at(second.0, first.1);
    let near = table.at(first.0, first.1) + table.at(second.0, second.1);
    0.5 * (far - near)
}

/// The divisions of the homes that average linkage gives, from `most` groups down to two: the group
/// of each home. `own` is the row of each home.
///
/// R. R. Sokal & C. D. Michener, "A Statistical Method for Evaluating Systematic Relationships" (1958).
pub(super) fn of_homes(table: &Table, own: &[usize], most: usize) -> Vec<Vec<usize>> {
    let between: Vec<Vec<f64>> = (0..own.len())
        .map(|one| (0..own.len()).map(|two| swap(table, (own[one], one), (own[two], two))).collect())
        .collect();
    let average = |one: &[usize], two: &[usize]| {
        let sum: f64 =
            one.iter().flat_map(|&a| two.iter().map(move |&b| (a, b))).map(|(a, b)| between[a][b]).sum();
        sum / (one.len() * two.len()) as f64
    };
    let mut clusters: Vec<Vec<usize>> = (0..own.len()).map(|home| vec![home]).collect();
    let mut divisions = Vec::new();
    loop {
        if (2..=most).contains(&clusters.len()) {
            let group = |home: usize| clusters.iter().position(|of| of.contains(&home)).unwrap_or(0);
            divisions.push((0..own.len()).map(group).collect());
        }
        let pairs = (0..clusters.len()).flat_map(|two| (0..two).map(move |one| (one, two)));
        let nearest = pairs
            .map(|(one, two)| (average(&clusters[one], &clusters[two]), one, two))
            .min_by(|left, right| left.0.total_cmp(&right.0));
        let Some((_, one, two)) = nearest else { return divisions };
        let joined = clusters.remove(two);
        clusters[one].extend(joined);
    }
}

/// Rounds after which the assignment ends, whether or not a reader still moves.
const ROUNDS: usize = 10;

/// Gives each reader to the group whose middle profile it is nearest to; the cores of homes stay with their
/// home.
///
/// `noise` is the standard deviation of one value. A reader that is like no group, by more than noise
/// and by more than a quarter of the distance between groups, is given to none: so look the cores of a
/// node none of whose memory was tried, which lie halfway.
pub(super) fn with_readers(interaction: &Table, own: &[usize], homes: &[usize], noise: f64) -> Division {
    let groups = homes.iter().max().map_or(0, |last| last + 1);
    let mut fixed = vec![None; interaction.rows()];
    for (column, &row) in own.iter().enumerate() {
        fixed[row] = Some(homes[column]);
    }
    let mut readers = fixed.clone();
    let mut profiles = middles(interaction, &readers, groups);
    for _ in 0..ROUNDS {
        let place = |row: usize| fixed[row].or_else(|| nearest(interaction.row(row), &profiles, noise));
        let next: Vec<_> = (0..readers.len()).map(place).collect();
        let settled = next == readers;
        readers = next;
        profiles = middles(interaction, &readers, groups);
        if settled {
            break;
        }
    }
    Division { groups, homes: homes.to_vec(), readers, profiles }
}

/// The group whose profile `row` is nearest to; None if it is like none of them.
fn nearest(row: &[f64], profiles: &[Vec<f64>], noise: f64) -> Option<usize> {
    let apart = |one: &[f64], other: &[f64]| distances(one, other).sum::<f64>();
    let by_misfit = profiles.iter().enumerate().map(|(group, profile)| (apart(row, profile), group));
    let (misfit, group) = by_misfit.min_by(|one, two| one.0.total_cmp(&two.0))?;
    let others = profiles.iter().enumerate().filter(|(other, _)| *other != group);
    let next = others.map(|(_, other)| apart(other, &profiles[group])).fold(f64::INFINITY, f64::min);
    // A profile of one reader is as noisy as the row.
    let by_chance = 2.0_f64.sqrt() * super::DEVIATIONS * super::MAD * noise * row.len() as f64;
    (misfit <= 0.25 * next || misfit <= by_chance).then_some(group)
}

fn middles(interaction: &Table, readers: &[Option<usize>], groups: usize) -> Vec<Vec<f64>> {
    let middle = |group: usize, column: usize| {
        let rows = (0..readers.len()).filter(|&row| readers[row] == Some(group));
        median(rows.map(|row| interaction.at(row, column)))
    };
    (0..groups).map(|group| (0..interaction.columns).map(|column| middle(group, column)).collect()).collect()
}

/// How far two profiles are from each other at each home, once a constant is taken from one of them.
fn distances<'a>(one: &'a [f64], other: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    let shift = median(one.iter().zip(other).map(|(one, other)| one - other));
    one.iter().zip(other).map(move |(one, other)| (one - other - shift).abs())
}
