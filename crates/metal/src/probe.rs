//! A look at the CPUs of a cell between two blocks: what may tell why they were in another state before.
//!
//! On a virtual machine the host decides where CPUs run and how much of the time, and says nothing when it
//! decides otherwise. Three things show it from inside: the time that it took (`steal` in `proc_stat(5)`),
//! the time of instructions that depend on nothing but the clock of the core, and the time that a line takes
//! from one CPU to another.
//!
//! A look takes some hundred microseconds and leaves nothing behind: its threads and its pins are gone when
//! it returns.

use std::sync::Arc;

use rustix::process::getpid;
use tenbin_model::{Cpu, Picoseconds, Probe};

use crate::clock::Clock;
use crate::descendants;
use crate::exchange::{Exchange, Protocol};
use crate::fault::Fault;
use crate::kernels;
use crate::team::{Task, Team};

/// Turns of the loop of additions: 32 000 of them, some 10 µs.
const TURNS: u64 = 500;

/// Rounds of a line there and back: some tens of microseconds where CPUs share a cache.
const ROUNDS: u64 = 100;

/// Turns of a wait for the other CPU after which it is taken for stopped: some milliseconds.
const PATIENCE: u64 = 1 << 22;

/// How often each is timed. The shortest counts: an interruption can only lengthen it.
const TIMES: usize = 3;

const STAT: &str = "/proc/stat";

/// Looks at `cpus`, of which the first two are timed. What could not be had is left out; block and running
/// time are the caller's to fill in.
pub fn probe(clock: Clock, cpus: &[Cpu]) -> Probe {
    let mut unique: Vec<Cpu> = Vec::new();
    for &cpu in cpus {
        if !unique.contains(&cpu) {
            unique.push(cpu);
        }
    }
    let stat = std::fs::read_to_string(STAT).ok();
    let own = descendants::ticks(getpid().as_raw_nonzero().get());
    let ticks = rustix::param::clock_ticks_per_second();
    let stolen = stat.as_ref().and_then(|text| stolen(text, &unique, ticks));
    let others = stat.as_ref().zip(own).and_then(|(text, own)| others(text, own, ticks));
    unique.truncate(2);
    let (spins, line) = timed(clock, &unique).unwrap_or_default();
    Probe { stolen, others, spins, line, ..Probe::default() }
}

/// Time of the loop on each of these CPUs, one or two; and of a line between them.
fn timed(clock: Clock, cpus: &[Cpu]) -> Result<(Vec<Picoseconds>, Option<Picoseconds>), Fault> {
    if cpus.is_empty() {
        return Ok((Vec::new(), None));
    }
    let mut team = Team::gather(clock, cpus)?;
    let spin: Task = Arc::new(|_, turns| {
        std::hint::black_box(kernels::dependent_additions(turns));
        0
    });
    let mut spins = vec![Picoseconds(u64::MAX); cpus.len()];
    for _ in 0..TIMES {
        let lap = team.lap(&spin, TURNS)?;
        for (place, shortest) in spins.iter_mut().enumerate() {
            let own = lap.shares.get(place).map_or(lap.elapsed, |share| share.elapsed);
            *shortest = own.min(*shortest);
        }
    }
    if cpus.len() < 2 {
        return Ok((spins, None));
    }
    let exchange = Arc::new(Exchange::new()?.with_patience(PATIENCE));
    let partners = Arc::clone(&exchange);
    let hand_over: Task = Arc::new(move |worker, rounds| {
        let done = match worker {
            0 => partners.lead(Protocol::Flags, 0, rounds),
            _ => partners.follow(Protocol::Flags, 0, rounds),
        };
        rounds - done
    });
    let mut line: Option<Picoseconds> = None;
    for _ in 0..TIMES {
        let lap = team.lap(&hand_over, ROUNDS)?;
        // The other CPU did not run in time: how long a line takes is not known, and to ask again would take
        // as long.
        if lap.shares.iter().any(|share| share.failures > 0) {
            break;
        }
        let round = Picoseconds(lap.elapsed.0 / ROUNDS);
        line = Some(line.map_or(round, |shortest| shortest.min(round)));
    }
    Ok((spins, line))
}

/// The time stolen from these CPUs, by the text of `/proc/stat` that counts in this many ticks a second. None
/// where one of them is not listed, or the kernel has no such column.
fn stolen(text: &str, cpus: &[Cpu], ticks_per_second: u64) -> Option<Picoseconds> {
    let of = |cpu: &Cpu| -> Option<u64> {
        let name = format!("cpu{}", cpu.0);
        let line = text.lines().find(|line| line.split(' ').next() == Some(name.as_str()))?;
        // user nice system idle iowait irq softirq steal, behind the name.
        line.split_ascii_whitespace().nth(8)?.parse().ok()
    };
    Some(time(cpus.iter().map(of).sum::<Option<u64>>()?, ticks_per_second))
}

/// The time that the machine's CPUs worked, by the text of `/proc/stat`, less these ticks.
fn others(text: &str, own: u64, ticks_per_second: u64) -> Option<Picoseconds> {
    let line = text.lines().find_map(|line| line.strip_prefix("cpu "))?;
    let columns: Vec<u64> = line.split_ascii_whitespace().map_while(|column| column.parse().ok()).collect();
    // user nice system idle iowait irq softirq steal.
    let [user, nice, system, _, _, irq, softirq, ..] = columns[..] else { return None };
    Some(time((user + nice + system + irq + softirq).saturating_sub(own), ticks_per_second))
}

fn time(ticks: u64, ticks_per_second: u64) -> Picoseconds {
    let tick = Picoseconds::from_millis(1_000).0 / ticks_per_second.max(1);
    Picoseconds(ticks.saturating_mul(tick))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pin::allowed_cpus;

    #[test]
    fn stolen_time_is_that_of_the_cpus_asked_for() {
        let text = "cpu  9 0 9 9 0 0 0 1200 0 0\ncpu0 1 0 1 1 0 0 0 300 0 0\ncpu1 1 0 1 1 0 0 0 700 0 0\n\
                    cpu10 1 0 1 1 0 0 0 200 0 0\nintr 5 1\n";
        let seconds = |cpus: &[u32]| {
            let cpus: Vec<Cpu> = cpus.iter().copied().map(Cpu).collect();
            stolen(text, &cpus, 100).map(Picoseconds::as_seconds)
        };
        assert_eq!((seconds(&[0, 1]), seconds(&[10]), seconds(&[2])), (Some(10.0), Some(2.0), None));
        assert_eq!(stolen("cpu0 1 2 3 4\n", &[Cpu(0)], 100), None);
    }

    #[test]
    fn time_of_others_is_what_is_left_of_the_time_that_cpus_worked() {
        let text = "cpu  900 50 700 99999 99999 30 20 1200 0 0\ncpu0 1 0 1 1 0 0 0 300 0 0\n";
        assert_eq!(others(text, 700, 100).map(Picoseconds::as_seconds), Some(10.0));
        assert_eq!(others(text, 9_999, 100), Some(Picoseconds(0)));
        assert_eq!(others("cpu  1 2 3 4\n", 0, 100), None);
    }

    #[test]
    fn a_look_times_each_cpu_and_leaves_the_caller_where_it_may_run() {
        let cpus = allowed_cpus().unwrap();
        let looked_at: Vec<Cpu> = cpus.iter().take(2).flat_map(|&cpu| [cpu, cpu]).collect();
        let seen = probe(Clock::kernel(), &looked_at);
        assert_eq!(seen.spins.len(), cpus.len().min(2));
        assert!(seen.spins.iter().all(|spin| spin.0 > 0));
        assert!(seen.line.is_none_or(|line| cpus.len() > 1 && line.0 > 0));
        assert_eq!(allowed_cpus().unwrap(), cpus);
        assert_eq!(probe(Clock::kernel(), &[]).spins, []);
    }
}
