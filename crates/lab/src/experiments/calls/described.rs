//! What `calls` says about itself.

use tenbin_model::{Descriptor, Parameter, Picoseconds, Quantity, Source, Variant};

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
        quantity: Quantity::NanosecondsPerOperation,
        variants: variants.collect(),
        parameters: vec![
            Parameter::new(
                "trace",
                &format!("{} (none with --quick)", trace::USUAL.join(",")),
                "functions of the C library to follow down to the system call, beside the figures; given by --set, only \
                 they are followed and nothing is timed",
            ),
            Parameter::new(
                "probe",
                "compiled here",
                "a program that makes the call, compiled elsewhere (docs/trace.md)",
            ),
        ],
        margin: 0.02,
        epoch: Picoseconds::from_micros(100),
        privileges: "for the figures none; for the trace a C compiler and permission to ptrace".into(),
        touches: "none".into(),
        sources: vec![
            Source::new(
                "S. Takeuchi, \"APIs, ABIs and system calls\" (in Japanese)",
                "the question, and the sum that is called",
            ),
            Source::new("vdso(7)", "names and versions of the functions by architecture"),
            Source::new(
                "Linux, tools/testing/selftests/vDSO/vdso_test_correctness.c",
                "a time of the vDSO lies between two of the kernel's",
            ),
            Source::new(
                "System V ABI, AMD64 supplement; ELF for the Arm 64-bit Architecture; RISC-V ELF psABI",
                "the stub of a linkage table, and the registers of a call",
            ),
            Source::new(
                "Linux, Documentation/admin-guide/hw-vuln",
                "which mitigations work at each system call",
            ),
        ],
        ..Descriptor::default()
    }
}
