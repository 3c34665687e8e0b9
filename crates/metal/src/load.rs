//! Load that is made on purpose: threads that keep CPUs busy beside what is measured.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use rustix::thread::sched_setaffinity;
use tenbin_model::Cpu;

use crate::fault::Fault;
use crate::kernels;
use crate::pin::set_of;

/// Threads that always want a CPU, until this is dropped. They die with the process, whatever ends it.
///
/// Each goes from one stretch of work to the next: computing, walking through memory that does not fit a
/// second-level cache, system calls. Kinds and lengths are drawn from the seed, 50 µs to 20 ms, so that what
/// is measured meets neighbours of all kinds in no rhythm. The scheduler places them: only the set of CPUs is
/// given.
#[derive(Debug)]
pub struct Load {
    stop: Arc<AtomicBool>,
    stretches: Arc<AtomicU64>,
    threads: Vec<JoinHandle<()>>,
}

/// Memory that a thread walks through, unless there are so many that all of it together would be [`ALL`].
const BUFFER: usize = 8 << 20;

/// The most memory for all threads.
const ALL: usize = 512 << 20;

/// Most lines of a cache are 64 bytes; what matters is that no line is touched twice in a row.
const WORDS_PER_LINE: usize = 8;

/// The shortest stretch.
const SHORTEST: Duration = Duration::from_micros(50);

/// The longest stretch is 2 to this power times the shortest: 20 ms.
const LONGEST_OCTAVE: f64 = 8.6;

impl Load {
    /// Starts `count` threads on `cpus`.
    ///
    /// # Errors
    /// [`Fault::System`] when a thread cannot be started.
    pub fn start(count: usize, cpus: &[Cpu], seed: u64) -> Result<Self, Fault> {
        let bytes = BUFFER.min(ALL / count.max(1)).max(4096);
        let load = Self { stop: Arc::default(), stretches: Arc::default(), threads: Vec::new() };
        let set = set_of(cpus);
        (0..count).try_fold(load, |mut load, index| {
            let (stop, stretches) = (Arc::clone(&load.stop), Arc::clone(&load.stretches));
            let mut random = Pcg64Mcg::seed_from_u64(seed.wrapping_add(index as u64));
            let life = move || {
                // Whoever starts this may be pinned to one CPU, and a thread begins where its parent is.
                // Where the set is refused, the load stays there: less spread, and as much of it.
                let _ = sched_setaffinity(None, &set);
                let mut memory = vec![1_u64; bytes / size_of::<u64>()];
                while !stop.load(Ordering::Relaxed) {
                    stretch(&mut random, &mut memory, &stop);
                    stretches.fetch_add(1, Ordering::Relaxed);
                }
            };
            let thread = thread::Builder::new().name(format!("load-{index}")).spawn(life);
            load.threads.push(thread.map_err(|error| Fault::system("start a thread of load", error))?);
            Ok(load)
        })
    }

    /// How many threads there are.
    pub fn threads(&self) -> usize {
        self.threads.len()
    }

    /// How many stretches they have worked through, all together.
    pub fn stretches(&self) -> u64 {
        self.stretches.load(Ordering::Relaxed)
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            // A thread of load that panicked has done no harm but to be missing.
            let _ = thread.join();
        }
    }
}

/// One stretch of work, of a kind and a length that are drawn; long ones are as frequent as short ones in
/// every octave.
fn stretch(random: &mut Pcg64Mcg, memory: &mut [u64], stop: &AtomicBool) {
    let kind = random.random_range(0..3);
    let end = Instant::now() + SHORTEST.mul_f64(random.random_range(0.0..LONGEST_OCTAVE).exp2());
    let mut place = random.random_range(0..memory.len());
    while Instant::now() < end && !stop.load(Ordering::Relaxed) {
        match kind {
            0 => drop(std::hint::black_box(kernels::dependent_additions(100))),
            1 => drop(std::hint::black_box(kernels::parent_process(20))),
            _ => {
                for _ in 0..64 {
                    memory[place] = memory[place].wrapping_add(1);
                    place = (place + WORDS_PER_LINE) % memory.len();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin::allowed_cpus;

    #[test]
    fn load_works_until_it_is_dropped() {
        let load = Load::start(3, &allowed_cpus().unwrap(), 7).unwrap();
        assert_eq!(load.threads(), 3);
        while load.stretches() < 20 {
            thread::yield_now();
        }
        let stretches = Arc::clone(&load.stretches);
        drop(load);
        // The threads were joined, so nobody else holds the count any more.
        assert_eq!(Arc::strong_count(&stretches), 1);
    }
}
