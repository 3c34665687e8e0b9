//! Names of control and status registers.
//!
//! Source: The RISC-V Instruction Set Manual, volume II, "CSR Listing"; those that unprivileged code and
//! machine mode have.

/// The name of this register, if it has one here.
#[must_use]
pub fn name(number: u16) -> Option<&'static str> {
    NAMES.iter().find(|(each, _)| *each == number).map(|(_, name)| *name)
}

/// The name of this register, or its number where it has none here.
pub(crate) fn label(number: &u16) -> String {
    name(*number).map_or_else(|| format!("{number:#x}"), str::to_owned)
}

/// The number of the register of this name.
#[must_use]
pub fn number(name: &str) -> Option<u16> {
    NAMES.iter().find(|(_, each)| *each == name).map(|(number, _)| *number)
}

/// Every register that has a name here, by number.
pub const NAMES: &[(u16, &str)] = &[
    (0x300, "mstatus"),
    (0x301, "misa"),
    (0x302, "medeleg"),
    (0x303, "mideleg"),
    (0x304, "mie"),
    (0x305, "mtvec"),
    (0x306, "mcounteren"),
    (0x30a, "menvcfg"),
    (0x320, "mcountinhibit"),
    (0x340, "mscratch"),
    (0x341, "mepc"),
    (0x342, "mcause"),
    (0x343, "mtval"),
    (0x344, "mip"),
    (0x34a, "mtinst"),
    (0x34b, "mtval2"),
    (0x3a0, "pmpcfg0"),
    (0x3a2, "pmpcfg2"),
    (0x3b0, "pmpaddr0"),
    (0x3b1, "pmpaddr1"),
    (0x3b2, "pmpaddr2"),
    (0x3b3, "pmpaddr3"),
    (0x3b4, "pmpaddr4"),
    (0x3b5, "pmpaddr5"),
    (0x3b6, "pmpaddr6"),
    (0x3b7, "pmpaddr7"),
    (0x3b8, "pmpaddr8"),
    (0x3b9, "pmpaddr9"),
    (0x3ba, "pmpaddr10"),
    (0x3bb, "pmpaddr11"),
    (0x3bc, "pmpaddr12"),
    (0x3bd, "pmpaddr13"),
    (0x3be, "pmpaddr14"),
    (0x3bf, "pmpaddr15"),
    (0x747, "mseccfg"),
    (0xb00, "mcycle"),
    (0xb02, "minstret"),
    (0xc00, "cycle"),
    (0xc01, "time"),
    (0xc02, "instret"),
    (0xf11, "mvendorid"),
    (0xf12, "marchid"),
    (0xf13, "mimpid"),
    (0xf14, "mhartid"),
    (0xf15, "mconfigptr"),
];
