//! The vDSO: a shared object of the kernel's that lies in every process, and what it offers.
//!
//! Its functions answer from memory that the kernel keeps up to date, so asking for the time need not enter
//! the kernel. Where it lies is told to each program at its start (`AT_SYSINFO_EHDR`), and what it holds is
//! in its own table of symbols. Sources: vdso(7) for the names and versions by architecture;
//! `Documentation/ABI/stable/vdso` of the kernel.

mod image;

use std::fmt;

pub use image::{Malformed, Symbol};
use image::{extent, functions};

/// The version under which this architecture's functions are offered.
#[cfg(target_arch = "x86_64")]
pub const VERSION: &str = "LINUX_2.6";
/// The version under which this architecture's functions are offered.
#[cfg(target_arch = "aarch64")]
pub const VERSION: &str = "LINUX_2.6.39";
/// The version under which this architecture's functions are offered.
#[cfg(target_arch = "riscv64")]
pub const VERSION: &str = "LINUX_4.15";

/// What stands before the name of a function.
#[cfg(target_arch = "aarch64")]
const PREFIX: &str = "__kernel_";
#[cfg(not(target_arch = "aarch64"))]
const PREFIX: &str = "__vdso_";

/// Bytes that are there at the least, since the kernel maps whole pages.
const LEAST_PAGE: usize = 4096;

/// More bytes than any vDSO has: one that claims more is not believed.
const LONGEST: usize = 1 << 20;

/// The vDSO of this process.
#[derive(Clone, Debug)]
pub struct Vdso {
    base: usize,
    functions: Vec<Symbol>,
}

/// Why there is no vDSO to call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NoVdso {
    /// The kernel gave none: it was started without (`vdso=0`), or an emulator has none.
    NotGiven,
    /// It cannot be read: what is wrong with it.
    Unreadable(Malformed),
}

impl fmt::Display for NoVdso {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotGiven => f.write_str("the kernel gave this process no vDSO (no AT_SYSINFO_EHDR)"),
            Self::Unreadable(why) => write!(f, "the vDSO cannot be read: {why}"),
        }
    }
}

impl Vdso {
    /// Finds and reads it.
    ///
    /// # Errors
    /// Why there is none.
    pub fn of_this_process() -> Result<Self, NoVdso> {
        // SAFETY: reads a value that the kernel left for this process; every key may be asked for.
        let base = unsafe { libc::getauxval(libc::AT_SYSINFO_EHDR) } as usize;
        if base == 0 {
            return Err(NoVdso::NotGiven);
        }
        // SAFETY: the kernel mapped its image there for as long as the process lives, at least a page of it,
        // readable; nobody writes to it, and nothing in this program unmaps it.
        let first = unsafe { std::slice::from_raw_parts(base as *const u8, LEAST_PAGE) };
        let length = extent(first).map_err(NoVdso::Unreadable)?;
        if length > LONGEST {
            return Err(NoVdso::Unreadable(Malformed(format!("it claims {length} bytes"))));
        }
        // SAFETY: as above, for the whole segment, which the kernel mapped as its header says.
        let bytes = unsafe { std::slice::from_raw_parts(base as *const u8, length) };
        let functions = functions(bytes).map_err(NoVdso::Unreadable)?;
        Ok(Self { base, functions })
    }

    /// What it offers, in the order of its table.
    pub fn functions(&self) -> &[Symbol] {
        &self.functions
    }

    /// The name that `call` (as in `clock_gettime`) has in the vDSO of this architecture.
    pub fn name_of(call: &str) -> String {
        format!("{PREFIX}{call}")
    }

    /// Where the code of `call` lies in this process; none where this kernel's vDSO does not offer it under
    /// the version that this architecture's ABI names.
    pub(crate) fn address_of(&self, call: &str) -> Option<usize> {
        let name = Self::name_of(call);
        let offered = |symbol: &&Symbol| {
            symbol.name == name && symbol.version.as_deref().is_none_or(|version| version == VERSION)
        };
        self.functions.iter().find(offered).map(|symbol| self.base + symbol.offset)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The vDSO of this process; none, said aloud, where there is none.
    fn here() -> Option<Vdso> {
        match Vdso::of_this_process() {
            Ok(vdso) => Some(vdso),
            Err(NoVdso::NotGiven) => {
                eprintln!("skipped: {}", NoVdso::NotGiven);
                None
            }
            Err(broken) => panic!("{broken}"),
        }
    }

    #[test]
    fn this_vdso_offers_the_clock_under_the_abis_version() {
        let Some(vdso) = here() else { return };
        let clock = vdso.functions().iter().find(|symbol| symbol.name == Vdso::name_of("clock_gettime"));
        let clock = clock.unwrap_or_else(|| panic!("no clock in {:?}", vdso.functions()));
        assert_eq!(clock.version.as_deref(), Some(VERSION));
        assert_eq!(vdso.address_of("clock_gettime"), Some(vdso.base + clock.offset));
        assert_eq!(vdso.address_of("no such call"), None);
    }

    /// What the kernel says of its own mappings, where it says so.
    #[test]
    fn every_function_lies_in_the_mapping_that_the_kernel_names() {
        let Some(vdso) = here() else { return };
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let Some(line) = maps.lines().find(|line| line.ends_with("[vdso]")) else {
            eprintln!("skipped: /proc/self/maps names no [vdso]");
            return;
        };
        let (start, end) = line.split(' ').next().unwrap().split_once('-').unwrap();
        let [start, end] = [start, end].map(|text| usize::from_str_radix(text, 16).unwrap());
        assert_eq!(vdso.base, start);
        assert!(vdso.functions().iter().all(|symbol| symbol.offset < end - start), "{:?}", vdso.functions());
    }
}
