//! Pinning that is read back.

use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_getaffinity, sched_getcpu, sched_setaffinity};
use tenbin_model::{Cpu, order};

use crate::fault::Fault;

/// The calling thread, held on one CPU until this is dropped; then its old affinity returns.
#[derive(Debug)]
pub struct Pin {
    before: CpuSet,
}

impl Pin {
    /// Pins the calling thread to `cpu` and reads back that it runs there.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel refuses the CPU (offline, outside the cpuset),
    /// [`Fault::PinNotHeld`] when it agreed and the thread runs elsewhere all the same.
    pub fn hold(cpu: Cpu) -> Result<Self, Fault> {
        let only = only(cpu).map_err(|error| {
            let most = CpuSet::MAX_CPU - 1;
            Fault::system(format!("pin to {cpu} (at most CPU {most} can be named)"), error)
        })?;
        let before = sched_getaffinity(None)
            .map_err(|error| Fault::system("sched_getaffinity of this thread", error))?;
        sched_setaffinity(None, &only)
            .map_err(|error| Fault::system(format!("sched_setaffinity to {cpu}"), error))?;
        let pin = Self { before };
        let actual = current_cpu();
        if actual != cpu {
            return Err(Fault::PinNotHeld { worker: 0, wanted: cpu, actual });
        }
        Ok(pin)
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        // Nothing can be done if the old set is gone (CPUs taken offline meanwhile):
        // the kernel then keeps the thread where it may still run.
        let _ = sched_setaffinity(None, &self.before);
    }
}

/// The CPU that the calling thread runs on at this moment.
pub fn current_cpu() -> Cpu {
    Cpu(sched_getcpu() as u32)
}

/// The CPUs that this thread may run on, in ascending order.
///
/// # Errors
/// [`Fault::System`] when the kernel does not say.
pub fn allowed_cpus() -> Result<Vec<Cpu>, Fault> {
    let set =
        sched_getaffinity(None).map_err(|error| Fault::system("sched_getaffinity of this thread", error))?;
    Ok((0..CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).map(|cpu| Cpu(cpu as u32)).collect())
}

/// The set of these CPUs, without those that no set can hold.
pub(crate) fn set_of(cpus: &[Cpu]) -> CpuSet {
    let mut set = CpuSet::new();
    let numbers = cpus.iter().map(|cpu| cpu.0 as usize);
    numbers.filter(|&number| number < CpuSet::MAX_CPU).for_each(|number| set.set(number));
    set
}

/// The set of this one. It allocates nothing.
///
/// # Errors
/// `EINVAL` where no set can hold it.
pub(crate) fn only(cpu: Cpu) -> Result<CpuSet, Errno> {
    if (cpu.0 as usize) < CpuSet::MAX_CPU { Ok(set_of(&[cpu])) } else { Err(Errno::INVAL) }
}

/// Whether no CPU is named twice.
pub(crate) fn are_different(cpus: &[Cpu]) -> bool {
    order::set(cpus).len() == cpus.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pin_holds_and_gives_the_old_affinity_back() {
        let before = allowed_cpus().unwrap();
        let last = *before.last().unwrap();
        {
            let _pin = Pin::hold(last).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [last]);
            assert_eq!(current_cpu(), last);
        }
        assert_eq!(allowed_cpus().unwrap(), before);
    }

    #[test]
    fn a_cpu_that_does_not_exist_is_named() {
        let absent = Cpu(CpuSet::MAX_CPU as u32 - 1);
        let message = Pin::hold(absent).unwrap_err().to_string();
        assert!(message.contains("CPU 1023"), "{message}");
        assert!(Pin::hold(Cpu(70_000)).unwrap_err().to_string().contains("CPU 70000"));
    }
}
