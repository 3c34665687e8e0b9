//! The kernels as the machine sees them: what must be in their bytes, and what must not.
//!
//! The table of kernels is tenbin's own: the binary prints it (`tenbin kernels --json`), and the
//! symbols are looked up in the same binary. A kernel without an entry fails, and an entry
//! without a kernel fails too.

mod judgement;
mod listing;
mod table;

use std::path::Path;

use object::{Object, ObjectSymbol};

use crate::architecture::{self, Architecture, Target};
use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::{self, Requirement};
use crate::workspace::{Profile, Workspace};

/// Every kernel's symbol begins with this.
const PREFIX: &str = "tenbin_kernel_";

/// Where a kernel lies in memory.
struct Place {
    symbol: String,
    address: u64,
    size: u64,
}

/// What reading the kernels of `architecture` needs.
pub(crate) fn needs(architecture: Architecture) -> Vec<Requirement> {
    let mut needs = architecture.to_run();
    needs.push(requirement::disassembler());
    needs
}

/// Check the architecture called `name`, or all of them.
pub(crate) fn run(workspace: &Workspace, name: Option<&str>) -> Result<(), Failure> {
    let chosen = architecture::chosen(name)?;
    let needs = chosen.iter().flat_map(|&architecture| needs(architecture)).collect::<Vec<_>>();
    requirement::insist(&needs)?;
    chosen.into_iter().try_for_each(|architecture| check(workspace, architecture))
}

/// Build tenbin for `architecture` as it is shipped, and check each of its kernels.
pub(crate) fn check(workspace: &Workspace, architecture: Architecture) -> Result<(), Failure> {
    examine(architecture, &workspace.build(architecture, Profile::Dist)?)
}

/// Check each kernel of `binary`, which was built for `architecture`.
pub(crate) fn examine(architecture: Architecture, binary: &Path) -> Result<(), Failure> {
    let remedy = "make `tenbin kernels --json` print the table of kernels";
    let text = architecture.command(binary).arguments(["kernels", "--json"]).remedy(remedy).read()?;
    let kernels = table::parse(&text)?;
    let places = places(binary)?;
    let mut faults = table::differences(&kernels, places.iter().map(|place| place.symbol.as_str()));
    let disassembler = requirement::disassembler_path()?;
    let (mut read, mut instructions) = (0, 0);
    for place in &places {
        let Some(kernel) = kernels.iter().find(|kernel| kernel.symbol == place.symbol) else { continue };
        let text = disassemble(&disassembler, architecture, binary, place)?;
        let listing = listing::parse(&text);
        read += 1;
        instructions += listing.len();
        let end = place.address + place.size;
        let faults_here = judgement::faults(architecture.name(), kernel, &listing, place.address..end);
        if !faults_here.is_empty() {
            println!("{}\n{}", place.symbol, text.trim_end());
        }
        faults.extend(faults_here.into_iter().map(|fault| format!("{}: {fault}", place.symbol)));
    }
    for fault in &faults {
        println!("{}: {fault}", architecture.name());
    }
    println!(
        "disassembly {}: {read} kernels, {instructions} instructions, {} faults",
        architecture.name(),
        faults.len()
    );
    let remedy = "correct the kernel in crates/metal/src/kernels, or its entry in the table there";
    Failure::judge(format!("approve the kernels of {}", architecture.name()), &faults, remedy)
}

/// Every kernel of `binary`, in the order of the addresses.
fn places(binary: &Path) -> Result<Vec<Place>, Failure> {
    let tried = format!("read the symbols of {}", binary.display());
    let failure =
        |reason: &dyn std::fmt::Display| Failure::new(&*tried, reason, "build it again, not stripped");
    let bytes = std::fs::read(binary).map_err(|error| failure(&error))?;
    let file = object::File::parse(&*bytes).map_err(|error| failure(&error))?;
    let mut places = file
        .symbols()
        .filter(|symbol| symbol.is_definition())
        .filter_map(|symbol| {
            let name = symbol.name().ok().filter(|name| name.starts_with(PREFIX))?;
            Some(Place { symbol: name.into(), address: symbol.address(), size: symbol.size() })
        })
        .collect::<Vec<_>>();
    places.sort_by_key(|place| place.address);
    if let Some(Place { symbol, .. }) = places.iter().find(|place| place.size == 0) {
        return Err(failure(&format!("the symbol {symbol} has no size; give it one with `.size`")));
    }
    Ok(places)
}

/// Exactly the bytes of one kernel, as text.
fn disassemble(
    disassembler: &Path,
    architecture: Architecture,
    binary: &Path,
    place: &Place,
) -> Result<String, Failure> {
    let mut command = Command::new(disassembler)
        .arguments(["--disassemble", "--no-show-raw-insn"])
        .argument(format!("--start-address={:#x}", place.address))
        .argument(format!("--stop-address={:#x}", place.address + place.size));
    // What the disassembler must be told to know every instruction that a kernel may use.
    let features = match architecture {
        Architecture::X86_64 => None,
        Architecture::Aarch64 => Some("+all"),
        Architecture::Riscv64 => {
            Some("+zacas,+zawrs,+zihintpause,+zihintntl,+zicbom,+zicboz,+zicbop,+zba,+zbb,+zbs")
        }
    };
    if let Some(features) = features {
        command = command.argument(format!("--mattr={features}"));
    }
    command.argument(binary).remedy("run `rustup component add llvm-tools`").read()
}

/// A kernel with the given expectations, for tests.
#[cfg(test)]
fn kernel(instructions: &[&str]) -> tenbin_model::Kernel {
    let instructions = instructions.iter().map(|&word| word.into()).collect();
    tenbin_model::Kernel { symbol: "tenbin_kernel_x".into(), name: "x".into(), instructions, available: true }
}
