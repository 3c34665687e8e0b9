//! What only an instruction or a system call of this very machine can say.

use tenbin_model::machine::Observed;
use tenbin_model::{Bytes, Cpu};

use super::interpreter;
use super::root::{Reading, Root, observed};
use crate::counters::Counters;

/// What no file under a root folder says. A fixture gives these as values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// The instruction set: `x86_64`, `aarch64` or `riscv64`.
    pub architecture: String,
    /// The CPUs that this process may run on, ascending, by `sched_getaffinity(2)`.
    pub allowed: Observed<Vec<Cpu>>,
    /// The size of a page, from the auxiliary vector (`AT_PAGESZ`).
    pub page_size: Bytes,
    /// Vendor strings of the CPUID leaves 0x40000000 and 0x40000100; empty where no hypervisor
    /// announces itself, and an empty string for one that gives no name. Not observable on other
    /// instruction sets than x86-64.
    pub hypervisor_vendors: Observed<Vec<String>>,
    /// What CPUID says of each cache of the CPU that was asked: `eax`, `ebx`, `ecx` and `edx` of the
    /// subleaves of leaf 4, or of 0x8000001D on AMD's processors. Only on x86-64.
    pub cache_leaves: Observed<Vec<[u32; 4]>>,
    /// Entries 40 to 47 of the auxiliary vector, which describe caches: key and value. Only some
    /// kernels give them, among them riscv64's.
    pub cache_vector: Observed<Vec<(u64, u64)>>,
    /// Frequency of the generic timer in hertz, register `CNTFRQ_EL0`. Only on arm64.
    pub counter_frequency: Observed<u64>,
    /// The user-mode emulator that executes this process, and how that was seen; `None` where the
    /// kernel runs this program itself.
    pub interpreter: Observed<Option<String>>,
    /// `counters` where `perf_event_open(2)` counts instructions; else why it does not.
    pub counters: Observed<String>,
}

impl Facts {
    /// The facts of the process that calls.
    pub fn of_this_process() -> Self {
        Self {
            architecture: std::env::consts::ARCH.into(),
            allowed: observed(crate::pin::allowed_cpus().map_err(|fault| fault.to_string())),
            page_size: Bytes(rustix::param::page_size() as u64),
            hypervisor_vendors: observed(hypervisor_vendors()),
            cache_leaves: observed(cache_leaves()),
            cache_vector: observed(cache_vector()),
            counter_frequency: observed(counter_frequency()),
            interpreter: observed(interpreter::find()),
            counters: observed(count_instructions()),
        }
    }
}

/// The hypervisor vendors that CPUID names.
///
/// A guest of KVM that imitates Hyper-V shows Microsoft's string first and its own at 0x40000100,
/// hence two leaves (Linux, `arch/x86/include/asm/cpuid.h`, `hypervisor_cpuid_base`).
#[cfg(target_arch = "x86_64")]
pub(super) fn hypervisor_vendors() -> Reading<Vec<String>> {
    use std::arch::x86_64::__cpuid;

    const HYPERVISOR_PRESENT: u32 = 1 << 31;
    let leaf = |number| __cpuid(number);
    // Without the bit these leaves are not reserved for hypervisors, and Intel's processors answer
    // with the data of their highest leaf.
    if leaf(1).ecx & HYPERVISOR_PRESENT == 0 {
        return Ok(Vec::new());
    }
    let vendors = [0x4000_0000, 0x4000_0100].map(|number| {
        let answer = leaf(number);
        let bytes = [answer.ebx, answer.ecx, answer.edx].map(u32::to_le_bytes).concat();
        String::from_utf8_lossy(&bytes).trim_matches(|c: char| c == '\0' || c == ' ').to_owned()
    });
    // A leaf that does not exist answers with zeros or with noise; a vendor is printable.
    let printable = |vendor: &String| vendor.len() >= 4 && vendor.chars().all(|c| (' '..='~').contains(&c));
    let mut vendors: Vec<String> = vendors.into_iter().filter(printable).collect();
    vendors.dedup();
    if vendors.is_empty() {
        vendors.push(String::new());
    }
    Ok(vendors)
}

#[cfg(not(target_arch = "x86_64"))]
pub(super) fn hypervisor_vendors() -> Reading<Vec<String>> {
    Err("CPUID is an instruction of x86 only".into())
}

/// The subleaves that describe a cache, as the processor answers.
///
/// Leaf 4 is Intel's (Software Developer's Manual, volume 2, CPUID); AMD's processors reserve it and
/// have 0x8000001D with the same fields (Architecture Programmer's Manual, volume 3, appendix E).
#[cfg(target_arch = "x86_64")]
fn cache_leaves() -> Reading<Vec<[u32; 4]>> {
    use std::arch::x86_64::{__cpuid, __cpuid_count};

    /// More than any processor has: a hypervisor that answers every subleaf alike must not hold us.
    const MOST: u32 = 16;
    const TOPOLOGY_EXTENSIONS: u32 = 1 << 22;
    let leaves = |leaf: u32| -> Vec<[u32; 4]> {
        let answers = (0..MOST).map(|subleaf| __cpuid_count(leaf, subleaf));
        let registers = answers.map(|answer| [answer.eax, answer.ebx, answer.ecx, answer.edx]);
        // Type 0, in the lowest five bits: no more caches.
        registers.take_while(|[eax, ..]| eax & 0x1f != 0).collect()
    };
    let mut caches = Vec::new();
    if __cpuid(0).eax >= 4 {
        caches = leaves(4);
    }
    if caches.is_empty()
        && __cpuid(0x8000_0000).eax >= 0x8000_001d
        && __cpuid(0x8000_0001).ecx & TOPOLOGY_EXTENSIONS != 0
    {
        caches = leaves(0x8000_001d);
    }
    if caches.is_empty() { Err("CPUID lists no cache".into()) } else { Ok(caches) }
}

#[cfg(not(target_arch = "x86_64"))]
fn cache_leaves() -> Reading<Vec<[u32; 4]>> {
    Err("CPUID is an instruction of x86 only".into())
}

/// `AT_L1I_CACHESIZE` to `AT_L3_CACHEGEOMETRY` (Linux, `arch/riscv/include/uapi/asm/auxvec.h`). x86 and
/// arm64 have no such entries and use these numbers for nothing else.
fn cache_vector() -> Reading<Vec<(u64, u64)>> {
    let entry = |key: u64| {
        // SAFETY: getauxval only looks its argument up in the vector that the kernel put on this
        // process's stack; the C library found it before `main`, and any key is allowed.
        let value = unsafe { libc::getauxval(key as libc::c_ulong) };
        (key, value as u64)
    };
    let entries: Vec<(u64, u64)> = (40..=47).map(entry).filter(|&(_, value)| value != 0).collect();
    if entries.is_empty() { Err("the auxiliary vector has no entry for a cache".into()) } else { Ok(entries) }
}

#[cfg(target_arch = "aarch64")]
fn counter_frequency() -> Reading<u64> {
    let hertz: u64;
    // SAFETY: the instruction reads one register and touches neither memory nor flags. Linux lets
    // user space read CNTFRQ_EL0 on every arm64 machine: either CNTKCTL_EL1.EL0VCTEN is set, or
    // the access traps and the kernel answers (arch/arm64/kernel/traps.c, cntfrq_read_handler).
    unsafe {
        std::arch::asm!("mrs {}, cntfrq_el0", out(reg) hertz, options(nomem, nostack, preserves_flags));
    }
    Ok(hertz)
}

#[cfg(not(target_arch = "aarch64"))]
fn counter_frequency() -> Reading<u64> {
    Err("CNTFRQ_EL0 is a register of arm64 only".into())
}

/// Opens counters in user space for this thread and looks whether the one of instructions moves.
///
/// Opening is not enough: some hypervisors accept the event and count nothing.
fn count_instructions() -> Reading<String> {
    let counted = Counters::hardware().and_then(|mut counters| counters.around(|| ()));
    match counted {
        Ok((_, counts)) if counts.iter().any(|&(name, count)| name == "instructions" && count > 0) => {
            Ok("counters".into())
        }
        Ok(_) => Err("perf_event_open succeeds, but the instruction counter stays at 0".into()),
        Err(error) => {
            let meaning = match error.raw_os_error() {
                Some(libc::ENOENT | libc::ENODEV | libc::EOPNOTSUPP) => {
                    "the kernel has no hardware counter to offer here"
                }
                Some(libc::EACCES | libc::EPERM) => "not permitted",
                Some(libc::ENOSYS) => "this kernel has no such call",
                _ => "refused",
            };
            let level = Root::new(std::path::Path::new("/")).text("/proc/sys/kernel/perf_event_paranoid");
            let level = level.map_or_else(|why| why, |level| format!("perf_event_paranoid is {level}"));
            Err(format!("perf_event_open for instructions: {meaning} ({error}); {level}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_has_facts() {
        let facts = Facts::of_this_process();
        assert!(!facts.allowed.known().unwrap().is_empty());
        assert!(facts.page_size.0.is_power_of_two() && facts.page_size.0 >= 4096);
        assert_eq!(facts.hypervisor_vendors.known().is_some(), cfg!(target_arch = "x86_64"));
        assert_eq!(facts.counter_frequency.known().is_some(), cfg!(target_arch = "aarch64"));
        assert!(facts.cache_leaves.known().is_none_or(|leaves| !leaves.is_empty()));
        assert!(cfg!(target_arch = "x86_64") || facts.cache_leaves.known().is_none());
        assert!(facts.cache_vector.known().is_none_or(|entries| !entries.is_empty()));
        match &facts.counters {
            Observed::Known(word) => assert_eq!(word, "counters"),
            Observed::NotObservable(why) => assert!(why.contains("perf_event_open"), "{why}"),
        }
    }
}
