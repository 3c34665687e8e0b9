//! Names of control and status registers.
//!
//! Source: The RISC-V Instruction Set Manual, volume II, "CSR Listing"; those that unprivileged code and
//! machine mode have.

/// The name of this register, if it has one here.
#[must_use]
pub fn name(number: u16) -> Option<&'static str> {
    names().find(|(each, _)| *each == number).map(|(_, name)| name)
}

/// The name of this register, or its number where it has none here.
pub(crate) fn label(number: &u16) -> String {
    name(*number).map_or_else(|| format!("{number:#x}"), str::to_owned)
}

/// The number of the register of this name.
#[must_use]
pub fn number(name: &str) -> Option<u16> {
    names().find(|(_, each)| *each == name).map(|(number, _)| number)
}

/// Every register that has a name here, by number.
pub fn names() -> impl Iterator<Item = (u16, &'static str)> {
    NAMES.iter().flat_map(|(first, names)| (*first..).zip(names.iter().copied()))
}

/// Names of registers whose numbers follow one another, with the first number.
const NAMES: &[(u16, &[&str])] = &[
    (0x300, &["mstatus", "misa", "medeleg", "mideleg", "mie", "mtvec", "mcounteren"]),
    (0x30a, &["menvcfg"]),
    (0x320, &["mcountinhibit"]),
    (0x340, &["mscratch", "mepc", "mcause", "mtval", "mip"]),
    (0x34a, &["mtinst", "mtval2"]),
    (0x3a0, &["pmpcfg0"]),
    (0x3a2, &["pmpcfg2"]),
    (0x3b0, &["pmpaddr0", "pmpaddr1", "pmpaddr2", "pmpaddr3", "pmpaddr4", "pmpaddr5", "pmpaddr6"]),
    (0x3b7, &["pmpaddr7", "pmpaddr8", "pmpaddr9", "pmpaddr10", "pmpaddr11", "pmpaddr12", "pmpaddr13"]),
    (0x3be, &["pmpaddr14", "pmpaddr15"]),
    (0x747, &["mseccfg"]),
    (0xb00, &["mcycle"]),
    (0xb02, &["minstret"]),
    (0xc00, &["cycle", "time", "instret"]),
    (0xf11, &["mvendorid", "marchid", "mimpid", "mhartid", "mconfigptr"]),
];
