//! The counter of the architecture: its name, those by which the kernel keeps time by it, and a read of it.

#[cfg(target_arch = "x86_64")]
pub(super) const NAME: &str = "tsc";
#[cfg(target_arch = "x86_64")]
pub(super) const KERNEL_NAMES: &[&str] = &["tsc", "hyperv_clocksource_tsc_page", "kvm-clock"];

/// LFENCE on both sides, as Intel's SDM (volume 2, RDTSC) asks for ordering; AMD's LFENCE
/// serialises dispatch on every kernel since 4.15.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
pub(crate) fn read() -> u64 {
    let (low, high): (u32, u32);
    // SAFETY: RDTSC and LFENCE are in every x86-64 CPU and touch the named registers only. User mode may
    // execute RDTSC: the vDSO does, and a process that forbade it itself (PR_SET_TSC) gets a signal.
    unsafe {
        std::arch::asm!("lfence", "rdtsc", "lfence", out("eax") low, out("edx") high, options(nostack));
    }
    u64::from(high) << 32 | u64::from(low)
}

#[cfg(target_arch = "aarch64")]
pub(super) const NAME: &str = "cntvct";
#[cfg(target_arch = "aarch64")]
pub(super) const KERNEL_NAMES: &[&str] = &["arch_sys_counter"];

/// ISB on both sides: the Arm ARM (D12, self-synchronised reads) lets CNTVCT_EL0 be read early.
#[cfg(target_arch = "aarch64")]
#[inline(always)]
pub(crate) fn read() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read CNTVCT_EL0 (the vDSO does); nothing else is touched.
    unsafe {
        std::arch::asm!("isb", "mrs {ticks}, cntvct_el0", "isb", ticks = out(reg) ticks, options(nostack));
    }
    ticks
}

#[cfg(target_arch = "riscv64")]
pub(super) const NAME: &str = "rdtime";
#[cfg(target_arch = "riscv64")]
pub(super) const KERNEL_NAMES: &[&str] = &["riscv_clocksource"];

/// FENCE orders memory before and after; RISC-V has no unprivileged instruction barrier for CSR reads.
#[cfg(target_arch = "riscv64")]
#[inline(always)]
pub(crate) fn read() -> u64 {
    let ticks: u64;
    // SAFETY: Linux lets user space read TIME (the vDSO does); nothing else is touched.
    unsafe {
        std::arch::asm!("fence", "rdtime {ticks}", "fence", ticks = out(reg) ticks, options(nostack));
    }
    ticks
}
