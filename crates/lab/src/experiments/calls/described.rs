//! What `calls` says about itself.

use tenbin_model::{Descriptor, Parameter, Source, Variant};

use super::rungs::RUNGS;
use crate::trace;

pub(super) fn describe() -> Descriptor {
    let variants = RUNGS.iter().map(|rung| match rung.plant {
        None => Variant::measured(rung.name, rung.what),
        Some(_) => Variant::sabotage(rung.name, rung.what),
    });
    Descriptor {
        name: "calls".into(),
        question: "What does a call cost, and what does it become?".into(),
        requirement: "an API says what is called and an ABI how; only the last step is a system call, and \
                      what each step costs decides where it matters"
            .into(),
        specification:
            "every call answers what the plain system call answers: clocks between two of its answers, \
                        the parent's number, the CPU that is held, ENOSYS; a sum is the number of its calls"
                .into(),
        subject: "Calls".into(),
        variants: variants.collect(),
        parameters: vec![
            Parameter::new(
                "trace",
                &format!("{} (none with --quick)", trace::USUAL.join(",")),
                "functions of the C library to follow down to the system call, besides the figures; given \
                 with --set, only they are followed and nothing is timed",
            ),
            Parameter::new(
                "probe",
                "compiled here",
                "a program that makes the call, compiled elsewhere (docs/trace.md)",
            ),
        ],
        margin: 0.02,
        // As `atomics`: different instructions on a core that another guest's thread may share.
        sway: 0.15,
        privileges: "for the figures none; for the trace a C compiler and permission to ptrace".into(),
        sources: Source::list(&[
            (
                "S. Takeuchi, \"APIs, ABIs and system calls\" (in Japanese)",
                "the question, and the sum that is called",
            ),
            ("vdso(7)", "names and versions of the functions by architecture"),
            (
                "Linux, tools/testing/selftests/vDSO/vdso_test_correctness.c",
                "a time of the vDSO lies between two of the kernel's",
            ),
            (
                "System V ABI, AMD64 supplement; ELF for the Arm 64-bit Architecture; RISC-V ELF psABI",
                "the stub of a linkage table, and the registers of a call",
            ),
            ("Linux, Documentation/admin-guide/hw-vuln", "which mitigations work at each system call"),
        ]),
        ..Descriptor::default()
    }
}
