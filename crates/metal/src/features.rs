//! What this CPU can do beyond the base instruction set of its architecture.
//!
//! Only the kernel is asked, since only it knows that *every* CPU has the feature and that user mode may
//! use it. Where the kernel does not know the question the answer is "no": a variant that is left out is
//! named in the report, and one that dies of an illegal instruction takes the report with it.

use std::sync::OnceLock;

/// Something that not every CPU of an architecture has and that a kernel of [`crate::kernels`] needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Feature {
    /// arm64: the Large System Extensions of Armv8.1, among them CASAL, LDADDAL and STADDL.
    Lse,
    /// arm64: the kernel lets the timer send an event about every 100 µs, which bounds every WFE.
    EventStream,
    /// riscv64: compare-and-swap in one instruction, `amocas`.
    Zacas,
    /// riscv64: waiting for a reservation set to be written, `wrs.sto`.
    Zawrs,
}

impl Feature {
    /// Every feature, of every architecture.
    pub const ALL: [Self; 4] = [Self::Lse, Self::EventStream, Self::Zacas, Self::Zawrs];

    /// The name that the architecture or the kernel gives it.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Lse => "LSE",
            Self::EventStream => "event stream",
            Self::Zacas => "Zacas",
            Self::Zawrs => "Zawrs",
        }
    }

    /// Where the answer of [`has`] comes from; the end of the sentence "this CPU has no LSE, says …".
    pub const fn witness(self) -> &'static str {
        match self {
            Self::Lse => "the kernel (HWCAP_ATOMICS in AT_HWCAP)",
            Self::EventStream => "the kernel (HWCAP_EVTSTRM in AT_HWCAP)",
            Self::Zacas => "the kernel (riscv_hwprobe, RISCV_HWPROBE_EXT_ZACAS, answered since Linux 6.8)",
            Self::Zawrs => "the kernel (riscv_hwprobe, RISCV_HWPROBE_EXT_ZAWRS, answered since Linux 6.11)",
        }
    }
}

/// Whether the kernel says that every CPU here has `feature`.
///
/// A feature of another architecture is never present. The kernel is asked once; later calls read memory,
/// so this makes no system call inside an epoch once it was called before.
pub fn has(feature: Feature) -> bool {
    static WORD: OnceLock<u64> = OnceLock::new();
    let word = *WORD.get_or_init(kernel::feature_word);
    kernel::mask(feature).is_some_and(|mask| word & mask == mask)
}

/// The hardware capability word of arm64.
///
/// Source: `arch/arm64/include/uapi/asm/hwcap.h` and `Documentation/arch/arm64/elf_hwcaps.rst` in Linux.
#[cfg(target_arch = "aarch64")]
mod kernel {
    use super::Feature;

    pub(super) fn feature_word() -> u64 {
        // SAFETY: `getauxval` takes any number and only reads the vector that the kernel put on the stack;
        // the C library guarantees that it may be called at any time, from any thread.
        unsafe { libc::getauxval(libc::AT_HWCAP) }
    }

    pub(super) fn mask(feature: Feature) -> Option<u64> {
        match feature {
            Feature::Lse => Some(libc::HWCAP_ATOMICS),
            Feature::EventStream => Some(libc::HWCAP_EVTSTRM),
            Feature::Zacas | Feature::Zawrs => None,
        }
    }
}

/// The answer of `riscv_hwprobe` to its key for extensions.
///
/// Source: `Documentation/arch/riscv/hwprobe.rst` and `arch/riscv/include/uapi/asm/hwprobe.h` in Linux.
#[cfg(target_arch = "riscv64")]
mod kernel {
    use super::Feature;

    /// `__NR_riscv_hwprobe`: the first of the numbers that are left to each architecture, 244, plus 14.
    const RISCV_HWPROBE: libc::c_long = 258;
    /// `RISCV_HWPROBE_KEY_IMA_EXT_0`: which extensions of the base set every CPU has.
    const KEY_IMA_EXT_0: i64 = 4;
    /// `RISCV_HWPROBE_EXT_ZACAS`.
    const EXT_ZACAS: u64 = 1 << 34;
    /// `RISCV_HWPROBE_EXT_ZAWRS`.
    const EXT_ZAWRS: u64 = 1 << 48;

    /// `struct riscv_hwprobe`.
    #[repr(C)]
    struct Pair {
        key: i64,
        value: u64,
    }

    pub(super) fn feature_word() -> u64 {
        let mut pair = Pair { key: KEY_IMA_EXT_0, value: 0 };
        // No set of CPUs: the question is about all that are online.
        let (pairs, cpus_size, cpus, flags) = (1_usize, 0_usize, std::ptr::null_mut::<u8>(), 0_u32);
        // SAFETY: the call reads and writes as many pairs at its first argument as its second argument says,
        // which is the one that lives on this stack frame; a kernel without the call answers ENOSYS.
        let answer = unsafe { libc::syscall(RISCV_HWPROBE, &raw mut pair, pairs, cpus_size, cpus, flags) };
        // A kernel that does not know the key sets it to -1.
        if answer == 0 && pair.key == KEY_IMA_EXT_0 { pair.value } else { 0 }
    }

    pub(super) fn mask(feature: Feature) -> Option<u64> {
        match feature {
            Feature::Zacas => Some(EXT_ZACAS),
            Feature::Zawrs => Some(EXT_ZAWRS),
            Feature::Lse | Feature::EventStream => None,
        }
    }
}

/// Every instruction of the kernels for x86-64 is in its base set.
#[cfg(target_arch = "x86_64")]
mod kernel {
    use super::Feature;

    pub(super) fn feature_word() -> u64 {
        0
    }

    pub(super) fn mask(_: Feature) -> Option<u64> {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_cpu_has_a_feature_of_another_architecture() {
        let foreign: &[Feature] = match std::env::consts::ARCH {
            "aarch64" => &[Feature::Zacas, Feature::Zawrs],
            "riscv64" => &[Feature::Lse, Feature::EventStream],
            _ => &Feature::ALL,
        };
        for feature in foreign {
            assert!(!has(*feature), "{}", feature.name());
        }
    }

    /// The kernel's other word for the same thing: the line of names in `/proc/cpuinfo`.
    #[cfg(target_arch = "aarch64")]
    #[test]
    fn the_capability_word_agrees_with_the_standard_library() {
        assert_eq!(has(Feature::Lse), std::arch::is_aarch64_feature_detected!("lse"));
    }
}
