//! Machines that are made up, with distances that are known.

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_analysis::specimen::normal;
use tenbin_model::Cpu;
use tenbin_model::machine::Node;

use super::{Observation, Outcome, judge};

#[derive(Clone, Debug)]
pub(super) struct Made {
    pub(super) group: Vec<usize>,
    pub(super) homes: Vec<usize>,
    /// Time of a group's readers at a group's homes, where 1 is the fastest.
    pub(super) distance: Vec<Vec<f64>>,
    /// The slowest core takes so many times what the fastest takes.
    pub(super) cores: f64,
    /// The same of the buffers.
    pub(super) buffers: f64,
    /// Standard deviation of the logarithm of one measurement.
    pub(super) noise: f64,
    /// The same, of what belongs to one pair and never changes.
    pub(super) lasting: f64,
    /// The share of measurements that take 1.2 to 3 times as long.
    pub(super) preempted: f64,
    pub(super) blocks: u32,
    pub(super) tries: usize,
    /// Standard deviation of the step of the whole machine's speed from block to block.
    pub(super) drift: f64,
}

impl Made {
    /// `groups` of so many readers each, all of them homes; distance `far` between any two.
    pub(super) fn of(groups: &[usize], far: f64) -> Self {
        let group: Vec<usize> =
            groups.iter().enumerate().flat_map(|(group, &size)| vec![group; size]).collect();
        let near = |one: usize, two: usize| if one == two { 1.0 } else { far };
        Self {
            homes: (0..group.len()).collect(),
            group,
            distance: (0..groups.len())
                .map(|one| (0..groups.len()).map(|two| near(one, two)).collect())
                .collect(),
            cores: 1.0,
            buffers: 1.0,
            noise: 0.02,
            lasting: 0.0,
            preempted: 0.0,
            blocks: 8,
            tries: 1,
            drift: 0.01,
        }
    }

    pub(super) fn groups(&self) -> Vec<Vec<Cpu>> {
        let cpus = |group| (0..self.group.len()).filter(|&of| self.group[of] == group).map(cpu).collect();
        (0..self.distance.len()).map(cpus).collect()
    }

    pub(super) fn measured(&self, seed: u64) -> Vec<Observation> {
        let mut chance = Pcg64Mcg::seed_from_u64(seed);
        let factor = |chance: &mut Pcg64Mcg, most: f64| most.powf(chance.random::<f64>());
        let cores: Vec<f64> = self.group.iter().map(|_| factor(&mut chance, self.cores)).collect();
        let buffers: Vec<f64> = self.homes.iter().map(|_| factor(&mut chance, self.buffers)).collect();
        let mut truth = vec![];
        for (reader, core) in cores.iter().enumerate() {
            for (&home, buffer) in self.homes.iter().zip(&buffers) {
                let distance = self.distance[self.group[reader]][self.group[home]];
                let lasting = (self.lasting * normal(&mut chance)).exp();
                truth.push((reader, home, 90.0 * core * buffer * distance * lasting));
            }
        }
        let mut observations = Vec::with_capacity(truth.len() * self.blocks as usize * self.tries);
        let mut speed: f64 = 0.0;
        for block in 0..self.blocks {
            speed += self.drift * normal(&mut chance);
            for &(reader, home, time) in &truth {
                for _ in 0..self.tries {
                    let preempted = chance.random::<f64>() < self.preempted;
                    let longer = if preempted { 1.2 + 1.8 * chance.random::<f64>() } else { 1.0 };
                    let time = time * longer * (speed + self.noise * normal(&mut chance)).exp();
                    observations.push(Observation { reader: cpu(reader), home: cpu(home), block, time });
                }
            }
        }
        observations
    }
}

/// What the firmware says of a node that is made up.
pub(crate) fn node(node: u32, cpus: std::ops::Range<u32>) -> Node {
    Node { node, cpus: cpus.map(Cpu).collect(), distances: vec![] }
}

pub(super) fn cpu(number: usize) -> Cpu {
    Cpu(number as u32)
}

/// What became of many machines of one kind.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counts {
    pub(super) runs: u32,
    pub(super) distant: u32,
    /// Distant, with exactly the groups that were put in.
    pub(super) right: u32,
    pub(super) alike: u32,
    /// Intervals of a gap that hold the true one, of those with the right groups.
    pub(super) covered: u32,
}

/// Judges `runs` machines like `made`, whose smallest gap is `gap`.
pub(super) fn count(made: &Made, gap: f64, runs: u32) -> Counts {
    let mut counts = Counts { runs, ..Counts::default() };
    for run in 0..runs {
        let distances = judge(&made.measured(u64::from(run)));
        match distances.outcome {
            Outcome::Distant => {
                counts.distant += 1;
                if distances.groups == made.groups() {
                    counts.right += 1;
                    let covers = |of: super::Gap| of.interval.low <= gap && gap <= of.interval.high;
                    counts.covered += u32::from(distances.gap.is_some_and(covers));
                }
            }
            Outcome::Alike => counts.alike += 1,
            Outcome::Undecided(_) => {}
        }
    }
    counts
}
