//! What stands between this program and the hardware, and whether its time means anything.
//!
//! The order is the order of certainty: who executes this very program, then what the processor
//! says, then what the board says. A name alone (firmware says `QEMU`) tells a hypervisor from
//! bare metal, but not one that runs instructions on the hardware (KVM) from one that reads them
//! (TCG): where no sign tells them apart, the words say so.

use tenbin_model::machine::{Virtualisation, Wsl};

use super::facts::{Facts, hypervisor_vendors};
use super::formats::{field, fields, hexadecimal};
use super::processor::board;
use super::root::{Reading, Root};

/// Vendor strings of CPUID leaf 0x40000000, without the padding, and who writes them.
const VENDORS: &[(&str, &str)] = &[
    ("KVMKVMKVM", "KVM"),
    ("Linux KVM Hv", "KVM"),
    ("Microsoft Hv", "Microsoft Hyper-V"),
    ("VMwareVMware", "VMware"),
    ("VBoxVBoxVBox", "VirtualBox"),
    ("XenVMMXenVMM", "Xen"),
    ("bhyve bhyve", "bhyve"),
    ("ACRNACRNACRN", "ACRN"),
    ("prl hyperv", "Parallels"),
    ("lrpepyh vr", "Parallels"),
    ("SRESRESRESRE", "Lockheed Martin LMHS"),
    ("QNXQVMBSQG", "QNX"),
    ("___ NVMM ___", "NVMM"),
];

/// QEMU's translator writes this since 2017 (`target/i386/cpu.c`).
const TRANSLATOR: &str = "TCGTCGTCGTCG";

/// The generic timer's frequency that QEMU's translator invents for arm64 models older than 2024;
/// KVM shows the host's (`target/arm/internals.h`, `GTIMER_BACKCOMPAT_HZ`).
const TRANSLATOR_TIMER_HERTZ: u64 = 62_500_000;

/// What stands between, by every sign that can be read under `root` and by `facts`.
pub(super) fn virtualisation(root: &Root, facts: &Facts) -> Virtualisation {
    if let Some(emulator) = facts.interpreter.known().and_then(Option::as_ref) {
        return Virtualisation::Emulated(format!("user-mode emulation: {emulator}"));
    }
    let cpuinfo = root.text("/proc/cpuinfo").unwrap_or_default();
    let firmware = Firmware::read(root);
    let by_instruction = match facts.architecture.as_str() {
        "x86_64" => x86(&cpuinfo, facts, &firmware),
        "aarch64" => arm(&cpuinfo, root, facts, &firmware),
        "riscv64" => riscv(&cpuinfo, &firmware),
        _ => None,
    };
    by_instruction.or_else(|| by_name(root, &firmware)).unwrap_or(Virtualisation::None)
}

/// Whether the processor says that QEMU translates what it executes.
pub(crate) fn is_translated() -> bool {
    hypervisor_vendors().is_ok_and(|vendors| vendors.iter().any(|vendor| vendor == TRANSLATOR))
}

/// CPUID is decisive where a hypervisor announces itself there.
fn x86(cpuinfo: &str, facts: &Facts, firmware: &Firmware) -> Option<Virtualisation> {
    let model = field(cpuinfo, "model name").unwrap_or_default();
    let vendors = facts.hypervisor_vendors.known().map_or(&[][..], Vec::as_slice);
    if vendors.iter().any(|vendor| vendor == TRANSLATOR) {
        return Some(Virtualisation::Emulated(format!("QEMU TCG: CPUID leaf 0x40000000 says {TRANSLATOR}")));
    }
    if model.starts_with("QEMU TCG CPU") {
        return Some(Virtualisation::Emulated(format!("QEMU TCG: the processor calls itself `{model}`")));
    }
    if cpuinfo.contains("VirtualApple") {
        return Some(Virtualisation::Emulated("Rosetta: the processor calls itself VirtualApple".into()));
    }
    let named: Vec<String> = vendors.iter().map(|vendor| named(vendor)).collect();
    if !named.is_empty() {
        return Some(Virtualisation::Hypervisor(join(&named.join(" under "), firmware.name())));
    }
    if model.starts_with("QEMU Virtual CPU") {
        return Some(Virtualisation::Emulated(format!(
            "QEMU: the processor calls itself `{model}`, and CPUID names no hypervisor that would run it"
        )));
    }
    // The kernel's flags repeat CPUID. They are asked only where CPUID was not: the first Windows
    // Subsystem writes this file itself, hypervisor or not.
    let flags = fields(cpuinfo, "flags");
    let flagged = flags.iter().any(|flags| flags.split(' ').any(|flag| flag == "hypervisor"));
    (flagged && facts.hypervisor_vendors.known().is_none()).then(|| {
        let unnamed = "a hypervisor (the processor's flags in /proc/cpuinfo)";
        Virtualisation::Hypervisor(join(unnamed, firmware.name()))
    })
}

fn named(vendor: &str) -> String {
    if vendor.is_empty() {
        return "a hypervisor that CPUID shows but does not name".into();
    }
    match VENDORS.iter().find(|(string, _)| *string == vendor) {
        Some((_, name)) => format!("{name} (CPUID says {vendor})"),
        None => format!("a hypervisor that CPUID calls {vendor}"),
    }
}

/// MIDR_EL1 of KVM is the host's. Implementer 0 is reserved for software, and QEMU's `max` is its
/// part 0x051 (`target/arm/tcg/cpu64.c`); imitated models have the MIDR of the real ones, but not
/// their timer.
fn arm(cpuinfo: &str, root: &Root, facts: &Facts, firmware: &Firmware) -> Option<Virtualisation> {
    let number = |key: &str| field(cpuinfo, key).and_then(|text| hexadecimal(text).ok());
    if (number("CPU implementer"), number("CPU part")) == (Some(0), Some(0x051)) {
        return Some(Virtualisation::Emulated(
            "QEMU TCG: MIDR_EL1 has implementer 0, part 0x051, the translator's own model".into(),
        ));
    }
    let qemu = firmware.is_qemu();
    if !qemu && !firmware.is_virtual_board() {
        return None;
    }
    if has_kvm_clock(root) {
        return Some(Virtualisation::Hypervisor(join("KVM (it offers its clock)", firmware.name())));
    }
    if qemu && facts.counter_frequency.known() == Some(&TRANSLATOR_TIMER_HERTZ) {
        return Some(Virtualisation::Emulated(
            "QEMU TCG: a QEMU board whose timer runs at 62.5 MHz, the translator's own frequency".into(),
        ));
    }
    let who = if qemu {
        "QEMU: KVM or TCG, nothing seen here tells them apart"
    } else {
        "a virtual board of an unnamed monitor"
    };
    Some(Virtualisation::Hypervisor(join(who, firmware.name())))
}

/// KVM's clock for arm64 and x86-64 guests (`drivers/ptp/ptp_kvm_common.c`); TCG has none.
fn has_kvm_clock(root: &Root) -> bool {
    let clocks = root.names("/sys/class/ptp").unwrap_or_default();
    clocks.iter().any(|clock| {
        root.text(&format!("/sys/class/ptp/{clock}/clock_name")).is_ok_and(|name| name.starts_with("KVM"))
    })
}

/// On QEMU's riscv64 board the translator has mvendorid 0, where KVM shows the host's. The letter
/// `h`, hypervisor mode inside the guest, is one that KVM's guests do not have.
fn riscv(cpuinfo: &str, firmware: &Firmware) -> Option<Virtualisation> {
    if field(cpuinfo, "uarch") == Some("qemu") {
        return Some(Virtualisation::Emulated("QEMU: the processor calls itself `qemu`".into()));
    }
    if !firmware.is_qemu() {
        return None;
    }
    let vendor = field(cpuinfo, "mvendorid").and_then(|text| hexadecimal(text).ok());
    let letters = field(cpuinfo, "isa").map(|isa| isa.split('_').next().unwrap_or_default());
    let nested = letters.is_some_and(|letters| letters.trim_start_matches("rv64").contains('h'));
    let name = firmware.name().unwrap_or_default();
    Some(match vendor {
        Some(vendor) if vendor != 0 && !nested => Virtualisation::Hypervisor(format!(
            "{name}: KVM, or TCG that imitates the processor of vendor {vendor:#x}; nothing seen here tells them apart"
        )),
        Some(0) => Virtualisation::Emulated(format!("{name}: mvendorid is 0 as under TCG")),
        Some(_) => {
            Virtualisation::Emulated(format!("{name}: the isa line has h, which TCG offers and KVM does not"))
        }
        None => Virtualisation::Emulated(format!("{name}, and no sign of KVM")),
    })
}

/// The signs that do not depend on the instruction set.
fn by_name(root: &Root, firmware: &Firmware) -> Option<Virtualisation> {
    if let Ok(kind) = root.word("/sys/hypervisor/type") {
        return Some(Virtualisation::Hypervisor(join(
            &format!("{kind} (/sys/hypervisor/type)"),
            firmware.name(),
        )));
    }
    for path in
        ["/proc/device-tree/hypervisor/compatible", "/sys/firmware/devicetree/base/hypervisor/compatible"]
    {
        if let Ok(kind) = root.word(path) {
            return Some(Virtualisation::Hypervisor(format!("{kind} ({path})")));
        }
    }
    // gVisor answers system calls itself, and its version is a constant (`pkg/sentry/kernel/version.go`).
    const GVISOR_BUILD: &str = "#1 SMP Sun Jan 10 15:06:54 PST 2016";
    let version = root.text("/proc/version").unwrap_or_default();
    if version.contains("gvisor") || version.ends_with(GVISOR_BUILD) {
        return Some(Virtualisation::Hypervisor(
            "gVisor, which answers the system calls (/proc/version)".into(),
        ));
    }
    let (true, Some(name)) = (firmware.is_virtual_machine(), firmware.name()) else { return None };
    Some(Virtualisation::Hypervisor(format!("{name}; whether it emulates instructions cannot be told")))
}

fn join(who: &str, firmware: Option<String>) -> String {
    match firmware {
        Some(firmware) => format!("{who}, {firmware}"),
        None => who.to_owned(),
    }
}

struct Firmware {
    /// `sys_vendor` and `product_name` of DMI (`Documentation/ABI/testing/sysfs-firmware-dmi-tables`).
    dmi: Option<String>,
    board: Option<String>,
    /// The device tree has a node of QEMU's `fw_cfg` (`docs/specs/fw_cfg.rst` in QEMU).
    fw_cfg: bool,
    /// Firecracker, by the author of an ACPI table that only root may read, or by the command line.
    firecracker: Option<&'static str>,
}

impl Firmware {
    fn read(root: &Root) -> Self {
        let dmi = |name: &str| root.word(&format!("/sys/class/dmi/id/{name}")).ok();
        let words: Vec<String> = ["sys_vendor", "product_name"].into_iter().filter_map(dmi).collect();
        let nodes = root.names("/proc/device-tree").unwrap_or_default();
        let says = |path: &str, word: &str| root.text(path).is_ok_and(|text| text.contains(word));
        Self {
            dmi: (!words.is_empty()).then(|| words.join(" ")),
            board: board(root),
            fw_cfg: nodes.iter().any(|name| name.starts_with("fw-cfg@")),
            firecracker: if says("/sys/firmware/acpi/tables/FACP", "FIRECK") {
                Some("Firecracker by its ACPI tables")
            } else if says("/proc/cmdline", "firecracker") {
                Some("Firecracker by the kernel's command line")
            } else {
                None
            },
        }
    }

    /// QEMU's own words, wherever it writes them.
    fn is_qemu(&self) -> bool {
        let says = |words: &Option<String>| words.as_ref().is_some_and(|words| words.contains("QEMU"));
        says(&self.dmi) || self.fw_cfg || self.board.as_ref().is_some_and(|board| board.contains("qemu"))
    }

    /// `linux,dummy-virt` is the board of several monitors: QEMU, Firecracker, crosvm, kvmtool.
    fn is_virtual_board(&self) -> bool {
        self.board.as_deref() == Some("linux,dummy-virt")
    }

    /// Vendors whose machines are virtual. A cloud's name alone is not enough: some rent out metal,
    /// and on x86-64 CPUID has been asked before.
    fn is_virtual_machine(&self) -> bool {
        const VIRTUAL: &[&str] = &[
            "QEMU",
            "VMware",
            "innotek GmbH",
            "VirtualBox",
            "Xen",
            "Bochs",
            "Parallels",
            "BHYVE",
            "KubeVirt",
            "OpenStack",
            "Apple Virtualization",
            "Microsoft Corporation Virtual Machine",
        ];
        let virtual_name = |words: &String| VIRTUAL.iter().any(|name| words.contains(name));
        self.dmi.as_ref().is_some_and(virtual_name)
            || self.is_qemu()
            || self.is_virtual_board()
            || self.firecracker.is_some()
    }

    fn name(&self) -> Option<String> {
        let dmi = self.dmi.as_ref().map(|words| format!("{words} by DMI"));
        let board = || self.board.as_ref().map(|board| format!("{board} by the device tree"));
        self.firecracker.map(str::to_owned).or(dmi).or_else(board)
    }
}

/// Whether this is Windows Subsystem for Linux, and which.
///
/// Version 1 says `…-Microsoft` with a capital, version 2 `…-microsoft-standard…`. A kernel that
/// its user built for version 2 may say neither, but still finds what the subsystem's `/init` puts
/// there; version 1 has no kernel to build (github.com/microsoft/WSL, issues 423 and 4555).
pub(super) fn wsl(root: &Root) -> Reading<Wsl> {
    let version = root.text("/proc/version")?;
    if version.contains("-Microsoft") {
        return Ok(Wsl::One);
    }
    let marks =
        ["/run/WSL", "/proc/sys/fs/binfmt_misc/WSLInterop", "/proc/sys/fs/binfmt_misc/WSLInterop-late"];
    let two = version.contains("microsoft")
        || version.contains("WSL2")
        || marks.iter().any(|mark| root.exists(mark));
    Ok(if two { Wsl::Two } else { Wsl::No })
}
