//! What the processor calls itself.

use super::formats::{field, fields, hexadecimal};
use super::root::{Reading, Root};
use tenbin_model::words::comma;

const CPUINFO: &str = "/proc/cpuinfo";

/// The processor's name, and on boards the board's.
///
/// x86-64 prints a name; arm64 prints numbers of the register MIDR_EL1; riscv64 prints the
/// microarchitecture of the device tree or the numbers of the vendor (`arch/*/kernel/cpu*.c`).
pub(super) fn model(root: &Root, architecture: &str) -> Reading<String> {
    let text = root.text(CPUINFO)?;
    let processor = match architecture {
        "x86_64" => x86(&text),
        "aarch64" => arm(&text),
        "riscv64" => riscv(&text),
        other => return Err(format!("{CPUINFO}: the lines of {other} are not known")),
    };
    let board = board(root);
    match (processor, board) {
        (Ok(processor), Some(board)) => Ok(format!("{processor} on {board}")),
        (Ok(processor), None) => Ok(processor),
        (Err(why), _) => Err(format!("{CPUINFO}: {why}")),
    }
}

/// The microcode revision, `microcode` in `/proc/cpuinfo`. Only x86 has the line.
pub(super) fn microcode(root: &Root) -> Reading<String> {
    let text = root.text(CPUINFO)?;
    let revisions = counted(fields(&text, "microcode").into_iter().map(str::to_owned));
    if revisions.is_empty() { Err(format!("{CPUINFO}: no line `microcode`")) } else { Ok(revisions) }
}

/// The board as the device tree names it; `None` on machines that have none.
pub(super) fn board(root: &Root) -> Option<String> {
    root.word("/proc/device-tree/model").or_else(|_| root.word("/sys/firmware/devicetree/base/model")).ok()
}

/// A hypervisor may show a family name only ("AMD EPYC"): the numbers say which processor it is.
fn x86(text: &str) -> Reading<String> {
    let name = field(text, "model name").ok_or("no line `model name`")?;
    let numbers = ["cpu family", "model", "stepping"].map(|key| field(text, key));
    match numbers {
        [Some(family), Some(model), Some(stepping)] => {
            Ok(format!("{name} (family {family}, model {model}, stepping {stepping})"))
        }
        _ => Ok(name.to_owned()),
    }
}

/// One name for each kind of core, with their count where the kinds differ.
fn arm(text: &str) -> Reading<String> {
    let [implementers, parts, variants, revisions] =
        ["CPU implementer", "CPU part", "CPU variant", "CPU revision"].map(|key| fields(text, key));
    if implementers.is_empty() {
        return Err("no line `CPU implementer`".into());
    }
    if parts.len() != implementers.len() {
        return Err("not every `CPU implementer` has a `CPU part`".into());
    }
    let names = implementers.iter().zip(&parts).enumerate().map(|(at, (implementer, part))| {
        let stepping = match (variants.get(at).map(|text| hexadecimal(text)), revisions.get(at)) {
            (Some(Ok(variant)), Some(revision)) => format!(" r{variant}p{revision}"),
            _ => String::new(),
        };
        let name = match (hexadecimal(implementer), hexadecimal(part)) {
            (Ok(implementer), Ok(part)) => arm_core(implementer, part),
            _ => None,
        };
        let name = name.map_or_else(|| format!("implementer {implementer} part {part}"), str::to_owned);
        format!("{name}{stepping}")
    });
    Ok(counted(names))
}

fn riscv(text: &str) -> Reading<String> {
    let numbers = ["uarch", "mvendorid", "marchid", "mimpid"].map(|key| fields(text, key));
    // Newer kernels print `isa` for what all harts have and `hart isa` for each.
    let isas = fields(text, "isa");
    let harts = fields(text, "processor").len();
    let names = (0..harts).map(|hart| {
        let words = ["", "mvendorid ", "marchid ", "mimpid "].iter().zip(&numbers);
        let mut words: Vec<String> = words
            .filter_map(|(label, values)| values.get(hart).map(|value| format!("{label}{value}")))
            .collect();
        if let Some(vendor) = numbers[1].get(hart).and_then(|id| riscv_vendor(hexadecimal(id).ok()?)) {
            words.insert(0, vendor.to_owned());
        }
        words.extend(isas.get(hart).map(|isa| (*isa).to_owned()));
        comma(&words)
    });
    let names = counted(names.filter(|name| !name.is_empty()));
    if names.is_empty() { Err("no line `uarch`, `mvendorid` or `isa`".into()) } else { Ok(names) }
}

/// Equal names once; different ones with their counts, in the order of appearance.
fn counted(names: impl Iterator<Item = String>) -> String {
    let mut kinds: Vec<(String, usize)> = Vec::new();
    for name in names {
        match kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => kinds.push((name, 1)),
        }
    }
    match kinds.as_slice() {
        [(name, _)] => name.clone(),
        _ => comma(kinds.iter().map(|(name, count)| format!("{count} x {name}"))),
    }
}

/// Names of well-known cores by implementer and part of MIDR_EL1
/// (Linux, `arch/arm64/include/asm/cputype.h`).
fn arm_core(implementer: u64, part: u64) -> Option<&'static str> {
    Some(match (implementer, part) {
        (0x41, 0xd03) => "Arm Cortex-A53",
        (0x41, 0xd04) => "Arm Cortex-A35",
        (0x41, 0xd05) => "Arm Cortex-A55",
        (0x41, 0xd07) => "Arm Cortex-A57",
        (0x41, 0xd08) => "Arm Cortex-A72",
        (0x41, 0xd09) => "Arm Cortex-A73",
        (0x41, 0xd0a) => "Arm Cortex-A75",
        (0x41, 0xd0b) => "Arm Cortex-A76",
        (0x41, 0xd0c) => "Arm Neoverse-N1",
        (0x41, 0xd0d) => "Arm Cortex-A77",
        (0x41, 0xd40) => "Arm Neoverse-V1",
        (0x41, 0xd41) => "Arm Cortex-A78",
        (0x41, 0xd44) => "Arm Cortex-X1",
        (0x41, 0xd46) => "Arm Cortex-A510",
        (0x41, 0xd47) => "Arm Cortex-A710",
        (0x41, 0xd48) => "Arm Cortex-X2",
        (0x41, 0xd49) => "Arm Neoverse-N2",
        (0x41, 0xd4d) => "Arm Cortex-A715",
        (0x41, 0xd4e) => "Arm Cortex-X3",
        (0x41, 0xd4f) => "Arm Neoverse-V2",
        (0x41, 0xd80) => "Arm Cortex-A520",
        (0x41, 0xd81) => "Arm Cortex-A720",
        (0x41, 0xd82) => "Arm Cortex-X4",
        (0x41, 0xd84) => "Arm Neoverse-V3",
        (0x41, 0xd8e) => "Arm Neoverse-N3",
        (0x43, 0x0a1) => "Cavium ThunderX",
        (0x43, 0x0af) => "Cavium ThunderX2",
        (0x46, 0x001) => "Fujitsu A64FX",
        (0x48, 0xd01) => "HiSilicon TSV110",
        (0x4e, 0x004) => "NVIDIA Carmel",
        (0x51, 0x001) => "Qualcomm Oryon",
        (0x51, 0xc00) => "Qualcomm Falkor",
        (0x61, 0x022) => "Apple M1 Icestorm",
        (0x61, 0x023) => "Apple M1 Firestorm",
        (0x61, 0x032) => "Apple M2 Blizzard",
        (0x61, 0x033) => "Apple M2 Avalanche",
        (0x6d, 0xd49) => "Microsoft Azure Cobalt 100",
        (0xc0, 0xac3) => "Ampere-1",
        (0xc0, 0xac4) => "Ampere-1a",
        _ => return None,
    })
}

/// Vendors by mvendorid, the JEDEC number
/// (Linux, `arch/riscv/include/asm/vendorid_list.h`).
fn riscv_vendor(id: u64) -> Option<&'static str> {
    Some(match id {
        0x31e => "Andes",
        0x489 => "SiFive",
        0x5b7 => "T-Head",
        0x61f => "Ventana",
        0x710 => "SpacemiT",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn an_unknown_part_keeps_its_numbers() {
        let text = "CPU implementer\t: 0x41\nCPU variant\t: 0x1\nCPU part\t: 0xfff\nCPU revision\t: 2\n";
        assert_eq!(arm(text).unwrap(), "implementer 0x41 part 0xfff r1p2");
        assert!(arm("model name : AMD EPYC").unwrap_err().contains("CPU implementer"));
    }

    #[test]
    fn x86_without_numbers_is_its_name() {
        assert_eq!(x86("model name : Some CPU").unwrap(), "Some CPU");
        assert!(x86("CPU implementer : 0x41").is_err());
    }

    proptest! {
        #[test]
        fn odd_text_never_panics(text in "(CPU implementer|CPU part|uarch|mvendorid|processor|isa|[ :x0-9a-f\n\\PC]){0,40}") {
            let _ = (x86(&text), arm(&text), riscv(&text));
        }
    }
}
