//! On which CPU the runs of a block begin.
//!
//! Each CPU has neighbours of its own, so the runs of a block share one, and blocks go from CPU to CPU. One
//! that was idle is slow to begin with, its caches and its clock, so they stay for a while: beside a run of
//! many seconds that is nothing, and each block has another CPU.

use tenbin_model::{Cpu, Picoseconds};

/// How long runs begin on a CPU before it is another's turn.
const STAY: Picoseconds = Picoseconds::from_millis(20);

/// The CPUs on which runs begin, in turns.
#[derive(Debug, Default)]
pub(super) struct Starts {
    cpus: Vec<Cpu>,
    turn: usize,
    /// What runs have taken in this turn.
    taken: Picoseconds,
    /// The block of the latest run.
    block: Option<u32>,
}

impl Starts {
    pub(super) fn on(cpus: Vec<Cpu>) -> Self {
        Self { cpus, ..Self::default() }
    }

    /// Where a run of this block begins; none where there is no choice.
    pub(super) fn of(&mut self, block: u32) -> Option<Cpu> {
        if self.cpus.len() < 2 {
            return None;
        }
        if self.block.is_some_and(|latest| latest != block) && self.taken >= STAY {
            (self.turn, self.taken) = ((self.turn + 1) % self.cpus.len(), Picoseconds(0));
        }
        self.block = Some(block);
        Some(self.cpus[self.turn])
    }

    pub(super) fn count(&mut self, elapsed: Picoseconds) {
        self.taken += elapsed;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Where the two runs of each of so many blocks begin.
    fn begun(cpus: &[u32], millis: u64, blocks: u32) -> Vec<Option<u32>> {
        let mut starts = Starts::on(cpus.iter().map(|&cpu| Cpu(cpu)).collect());
        let mut run = |block| {
            let cpu = starts.of(block);
            starts.count(Picoseconds::from_millis(millis));
            cpu.map(|cpu| cpu.0)
        };
        (0..blocks)
            .map(|block| {
                let (one, other) = (run(block), run(block));
                assert_eq!(one, other, "block {block}");
                one
            })
            .collect()
    }

    #[test]
    fn a_block_stays_on_its_cpu_and_short_runs_for_longer() {
        assert_eq!(begun(&[3, 5, 7], 1000, 5), [3, 5, 7, 3, 5].map(Some));
        assert_eq!(begun(&[3, 5], 5, 6), [3, 3, 5, 5, 3, 3].map(Some));
        assert_eq!(begun(&[3], 5, 2), [None, None]);
        assert_eq!(begun(&[], 5, 2), [None, None]);
    }
}
