//! What a kernel's machine code must hold and must not hold.
//!
//! A kernel is timed. It must not call, enter the operating system, or use the stack, and it
//! must not leave its own bytes but by its return: whatever it did there would be timed with it.
//! A kernel whose purpose is one of these names the instruction in the table.

use std::ops::Range;

use super::listing::Instruction;

/// What an architecture calls the things that are forbidden.
struct Words {
    /// Mnemonics, whole.
    forbidden: &'static [&'static str],
    /// Mnemonics that begin so.
    forbidden_stems: &'static [&'static str],
    /// Names of the stack pointer.
    stack: &'static [&'static str],
    /// Jumps, conditional ones counted in.
    jumps: fn(&str) -> bool,
    /// A proper end.
    returns: &'static [&'static str],
}

const X86_64: Words = Words {
    forbidden: &["syscall", "sysenter", "int", "int3", "ud2", "enter", "leave", "leaveq", "iretq"],
    forbidden_stems: &["call", "push", "pop"],
    stack: &["rsp", "esp", "rbp", "ebp"],
    jumps: |mnemonic| mnemonic.starts_with('j') || mnemonic.starts_with("loop"),
    returns: &["ret", "retq"],
};

const AARCH64: Words = Words {
    forbidden: &["bl", "blr", "br", "svc", "hvc", "smc", "brk", "udf"],
    forbidden_stems: &["blra", "bra"],
    stack: &["sp", "wsp"],
    jumps: |mnemonic| {
        mnemonic == "b"
            || ["b.", "bc.", "cbz", "cbnz", "tbz", "tbnz"].iter().any(|it| mnemonic.starts_with(it))
    },
    returns: &["ret"],
};

const RISCV64: Words = Words {
    forbidden: &["ecall", "ebreak", "unimp", "jal", "jalr", "jr", "call", "tail"],
    forbidden_stems: &["c.jal", "c.jr"],
    stack: &["sp"],
    jumps: |mnemonic| mnemonic == "j" || RISCV64_BRANCHES.iter().any(|it| mnemonic.starts_with(it)),
    returns: &["ret"],
};

/// Bit instructions begin with a `b` too, so branches are told by their stems.
const RISCV64_BRANCHES: &[&str] = &["beq", "bne", "blt", "bge", "bgt", "ble"];

/// Everything that is wrong with a kernel that lies at `bytes`.
pub(super) fn faults(
    architecture: &str,
    kernel: &tenbin_model::Kernel,
    listing: &[Instruction],
    bytes: Range<u64>,
) -> Vec<String> {
    let words = match architecture {
        "x86_64" => &X86_64,
        "aarch64" => &AARCH64,
        "riscv64" => &RISCV64,
        _ => return vec![format!("nobody wrote down what {architecture} must not contain")],
    };
    let mut faults = missing(kernel, listing);
    for instruction in listing {
        let Instruction { address, mnemonic, operands } = instruction;
        let named = kernel.instructions.iter().any(|it| it.split_whitespace().any(|word| word == mnemonic));
        if named {
            continue;
        }
        if let Some(reason) = forbidden(words, instruction, &bytes) {
            faults.push(format!("at {address:#x} `{mnemonic} {operands}` {reason}"));
        }
    }
    if !listing.iter().any(|it| words.returns.contains(&it.mnemonic.as_str())) {
        faults.push("it does not return".into());
    }
    faults
}

/// Why `instruction` may not be in a kernel.
fn forbidden(words: &Words, instruction: &Instruction, bytes: &Range<u64>) -> Option<&'static str> {
    let mnemonic = instruction.mnemonic.as_str();
    if mnemonic.starts_with(['.', '<', '(']) {
        return Some("is not an instruction that the disassembler knows");
    }
    if words.forbidden.contains(&mnemonic) || words.forbidden_stems.iter().any(|it| mnemonic.starts_with(it))
    {
        return Some("calls, enters the operating system, or uses the stack");
    }
    let mut registers = instruction.operands.split(|letter: char| !letter.is_alphanumeric());
    if registers.any(|register| words.stack.contains(&register)) {
        return Some("uses the stack");
    }
    if (words.jumps)(mnemonic) && !instruction.target().is_some_and(|target| bytes.contains(&target)) {
        return Some("jumps out of the kernel");
    }
    None
}

/// What the table promises and the listing does not hold.
fn missing(kernel: &tenbin_model::Kernel, listing: &[Instruction]) -> Vec<String> {
    let mnemonics = listing.iter().map(|it| it.mnemonic.as_str()).collect::<Vec<_>>();
    let holds = |wanted: &str| {
        let wanted = wanted.split_whitespace().collect::<Vec<_>>();
        !wanted.is_empty() && mnemonics.windows(wanted.len()).any(|window| window == wanted)
    };
    let absent = kernel.instructions.iter().filter(|wanted| !holds(wanted));
    absent.map(|wanted| format!("`{wanted}` is not there; it holds {}", mnemonics.join(" "))).collect()
}

#[cfg(test)]
mod tests {
    use super::super::{kernel, listing};
    use super::*;

    /// Faults of a listing whose instructions are one byte long each and begin at 0.
    fn faults_of(architecture: &str, expected: &[&str], code: &[&str]) -> Vec<String> {
        let lines =
            code.iter().enumerate().map(|(at, code)| format!("  {at:x}: \t{}\n", code.replace('|', "\t")));
        let listing = listing::parse(&lines.collect::<String>());
        faults(architecture, &kernel(expected), &listing, 0..code.len() as u64)
    }

    #[test]
    fn good_kernels_pass() {
        let x86 = ["lock", "xaddq|%rax, (%rdi)", "decq|%rsi", "jne|0x0 <k>", "retq"];
        assert_eq!(faults_of("x86_64", &["lock xaddq"], &x86), Vec::<String>::new());
        let arm = ["ldaddal|x0, x1, [x2]", "subs|x1, x1, #0x1", "b.ne|0x0 <k>", "bic|x0, x0, x1", "ret"];
        assert_eq!(faults_of("aarch64", &["ldaddal"], &arm), Vec::<String>::new());
        let riscv = ["lr.d.aq|a0, (a1)", "bset|a0, a0, a1", "bnez|a1, 0x0 <k>", "j|0x1 <k+0x1>", "ret"];
        assert_eq!(faults_of("riscv64", &["lr.d.aq"], &riscv), Vec::<String>::new());
    }

    #[test]
    fn an_instruction_that_was_promised_must_be_there_as_promised() {
        let code = ["xaddq|%rax, (%rdi)", "lock", "decq|%rsi", "retq"];
        for wanted in ["lock xaddq", "cmpxchgq", "addq", "xadd", ""] {
            let faults = faults_of("x86_64", &[wanted], &code);
            assert!(faults.len() == 1 && faults[0].contains("is not there"), "{wanted}: {faults:?}");
        }
    }

    #[test]
    fn what_is_forbidden_is_found() {
        let planted = [
            ("x86_64", "callq|0x21 <foo>"),
            ("x86_64", "syscall"),
            ("x86_64", "pushq|%rax"),
            ("x86_64", "movq|%rax, -0x8(%rsp)"),
            ("x86_64", "jmp|0x21 <foo>"),
            ("x86_64", "jmpq|*%rax"),
            ("x86_64", "<unknown>"),
            ("aarch64", "bl|0x2c <foo>"),
            ("aarch64", "svc|#0"),
            ("aarch64", "str|x0, [sp, #-0x10]!"),
            ("aarch64", "b.ne|0x2c <foo>"),
            ("aarch64", ".word|0x00000001"),
            ("riscv64", "ecall"),
            ("riscv64", "jal|0x3a <foo>"),
            ("riscv64", "jalr|ra <foo>"),
            ("riscv64", "sd|a0, 0x8(sp)"),
            ("riscv64", "beqz|a0, 0x3a <foo>"),
        ];
        for (architecture, code) in planted {
            assert_eq!(faults_of(architecture, &[], &[code, "ret"]).len(), 1, "{architecture}: {code}");
        }
    }

    #[test]
    fn what_the_table_names_is_allowed_and_a_kernel_must_end() {
        assert_eq!(faults_of("x86_64", &["syscall"], &["syscall", "ret"]), Vec::<String>::new());
        assert_eq!(faults_of("riscv64", &[], &["nop"]), ["it does not return"]);
        assert_eq!(faults_of("vax", &[], &["ret"]).len(), 1);
    }
}
