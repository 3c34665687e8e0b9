//! Instructions: lines of assembler, each many times in a loop. As they are typed, so that one waits for the
//! other where it reads what it writes (latency); and with the register that is written replaced by others
//! from copy to copy, so that none waits (throughput).
//!
//! Both are times of a dependent addition of the same run, which takes one cycle on every CPU that runs
//! Linux. So they are cycles, without counters, privileges or a fixed clock. The method is that of nanoBench
//! (Abel and Reineke, "nanoBench: A Low-Overhead Tool for Running Microbenchmarks on x86 Systems", 2020) and
//! of llvm-exegesis, but for this unit.

use tenbin_model::architecture::Architecture;

/// Copies of a line in the loop: what the loop itself takes is less than a hundredth of them.
pub(super) const COPIES: usize = 512;

/// How the copies of a line stand to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As typed.
    InChain,
    /// With the written register replaced by another in each.
    Apart,
}

/// What an instruction set needs to be taken so.
struct Dialect {
    /// The file around the copies, with `{init}` and `{body}`.
    frame: &'static str,
    /// A line that takes one cycle, and reads what it writes.
    addition: &'static str,
    /// Registers of one kind, in spellings that belong together; those with numbers in braces come in as
    /// many.
    kinds: &'static [Kind],
}

/// Registers that can stand for each other, a line of names for each spelling: one register's stand at the
/// same place of all.
struct Kind(&'static [&'static str]);

impl Kind {
    fn spellings(&self) -> Vec<Vec<&'static str>> {
        self.0.iter().map(|names| names.split(' ').collect()).collect()
    }
}

const X86_64: Dialect = Dialect {
    frame: include_str!("instructions/x86_64.S"),
    addition: "add rax, rbx",
    kinds: &[
        Kind(&[
            "rax rcx rdx rbx rbp r8 r9 r10 r11 r12 r13",
            "eax ecx edx ebx ebp r8d r9d r10d r11d r12d r13d",
            "ax cx dx bx bp r8w r9w r10w r11w r12w r13w",
            "al cl dl bl bpl r8b r9b r10b r11b r12b r13b",
        ]),
        Kind(&[
            "xmm0 xmm1 xmm2 xmm3 xmm4 xmm5 xmm6 xmm7 xmm8 xmm9 xmm10 xmm11 xmm12 xmm13",
            "ymm0 ymm1 ymm2 ymm3 ymm4 ymm5 ymm6 ymm7 ymm8 ymm9 ymm10 ymm11 ymm12 ymm13",
            "zmm0 zmm1 zmm2 zmm3 zmm4 zmm5 zmm6 zmm7 zmm8 zmm9 zmm10 zmm11 zmm12 zmm13",
        ]),
        Kind(&["mm0 mm1 mm2 mm3 mm4 mm5 mm6 mm7"]),
    ],
};

const AARCH64: Dialect = Dialect {
    frame: include_str!("instructions/aarch64.S"),
    addition: "add x0, x0, x1",
    kinds: &[
        Kind(&[
            "x0 x1 x2 x3 x4 x5 x6 x7 x8 x9 x10 x11 x12 x13 x14 x15",
            "w0 w1 w2 w3 w4 w5 w6 w7 w8 w9 w10 w11 w12 w13 w14 w15",
        ]),
        Kind(&[
            "v0 v1 v2 v3 v4 v5 v6 v7 v16 v17 v18 v19 v20 v21 v22 v23",
            "q0 q1 q2 q3 q4 q5 q6 q7 q16 q17 q18 q19 q20 q21 q22 q23",
            "d0 d1 d2 d3 d4 d5 d6 d7 d16 d17 d18 d19 d20 d21 d22 d23",
            "s0 s1 s2 s3 s4 s5 s6 s7 s16 s17 s18 s19 s20 s21 s22 s23",
        ]),
    ],
};

const RISCV64: Dialect = Dialect {
    frame: include_str!("instructions/riscv64.S"),
    addition: "add a0, a0, a1",
    kinds: &[
        Kind(&["a0 a1 a2 a3 a4 a5 a6 a7 t0 t1 t2 t3 t4 t5 t6"]),
        Kind(&["fa0 fa1 fa2 fa3 fa4 fa5 fa6 fa7 ft0 ft1 ft2 ft3 ft4 ft5"]),
    ],
};

fn dialect(architecture: Architecture) -> &'static Dialect {
    match architecture {
        Architecture::X86_64 => &X86_64,
        Architecture::Aarch64 => &AARCH64,
        Architecture::Riscv64 => &RISCV64,
    }
}

/// The line that takes one cycle.
pub(super) fn addition(architecture: Architecture) -> &'static str {
    dialect(architecture).addition
}

/// A file of assembler with a function that does `line` [`COPIES`] times for an operation, after `init`.
pub(super) fn assembler(architecture: Architecture, line: &str, init: &str, order: Order) -> String {
    let dialect = dialect(architecture);
    let copies = match order {
        Order::InChain => vec![line.to_owned()],
        Order::Apart => renamed(dialect, line),
    };
    let body: String = copies.iter().cycle().take(COPIES).map(|copy| format!("\t{copy}\n")).collect();
    dialect.frame.replace("{init}", &format!("\t{init}")).replace("{body}", &body)
}

/// Whether no other register can be written in the place of the one that is: then copies of it are as they
/// were typed, whatever they are to be.
pub(super) fn is_alone(architecture: Architecture, line: &str) -> bool {
    renamed(dialect(architecture), line).len() == 1
}

/// Instructions of x86-64 whose only operand, where there is one, is read and not written.
const READ_ONE: [&str; 4] = ["div", "idiv", "mul", "imul"];

/// The line once for each register that can be written in the place of the one that is; as it stands where
/// none is.
fn renamed(dialect: &Dialect, typed: &str) -> Vec<String> {
    // Assemblers know registers by either case.
    let line = &typed.to_ascii_lowercase();
    let names = || line.split(|letter: char| !letter.is_ascii_alphanumeric()).filter(|name| !name.is_empty());
    // `add rax, rbx`: the name behind the mnemonic, before the first comma.
    let (mnemonic, operands) = line.trim_start().split_once(char::is_whitespace).unwrap_or((line, ""));
    if READ_ONE.contains(&mnemonic) && !operands.contains([',', ';']) {
        return vec![typed.to_owned()];
    }
    let first = operands.split([',', ';']).next().unwrap_or_default().trim();
    let first = first.split(['.', '{']).next().unwrap_or_default().trim();
    let place = dialect.kinds.iter().find_map(|kind| {
        let spellings = kind.spellings();
        let own = spellings.iter().position(|names| names.contains(&first))?;
        Some((spellings, own))
    });
    let Some((spellings, own)) = place else { return vec![typed.to_owned()] };
    let number =
        |name: &str| spellings.iter().find_map(|names| names.iter().position(|known| *known == name));
    // A register that is read in another name stays what it is for all of them.
    let read: Vec<usize> = names().filter(|name| *name != first).filter_map(number).collect();
    if number(first).is_some_and(|own| read.contains(&own)) {
        return vec![typed.to_owned()];
    }
    let others = spellings[own].iter().enumerate().filter(|(number, _)| !read.contains(number));
    others.map(|(_, name)| replaced(line, first, name)).collect()
}

fn replaced(line: &str, name: &str, by: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(at) = rest.find(name) {
        let end = at + name.len();
        let is_whole = !rest[..at].ends_with(|letter: char| letter.is_ascii_alphanumeric())
            && !rest[end..].starts_with(|letter: char| letter.is_ascii_alphanumeric());
        text.push_str(&rest[..at]);
        text.push_str(if is_whole { by } else { name });
        rest = &rest[end..];
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use tenbin_metal::child::{Bounds, Dialogue, Reply};

    use super::*;

    #[test]
    fn the_register_that_is_written_is_another_one_in_each_copy() {
        let of = |architecture, line| renamed(dialect(architecture), line);
        let copies = of(Architecture::X86_64, "imul rax, rbx");
        assert_eq!(copies[..3], ["imul rax, rbx", "imul rcx, rbx", "imul rdx, rbx"]);
        // Ten others, and itself; rbx is read by all.
        assert_eq!((copies.len(), copies.contains(&"imul rbx, rbx".to_owned())), (10, false));
        assert_eq!(of(Architecture::X86_64, "vaddpd ymm1, ymm1, ymm2")[1], "vaddpd ymm1, ymm1, ymm2");
        assert_eq!(of(Architecture::X86_64, "vaddpd ymm1, ymm1, ymm2")[0], "vaddpd ymm0, ymm0, ymm2");
        assert_eq!(of(Architecture::Aarch64, "fadd v1.2d, v1.2d, v2.2d")[0], "fadd v0.2d, v0.2d, v2.2d");
        assert_eq!(of(Architecture::Riscv64, "mul t0, t0, a1")[0], "mul a0, a0, a1");
        assert_eq!(of(Architecture::X86_64, "IMUL RAX, RBX"), copies);
        // Nothing is written that could be another: the flags, memory, a register that is read as a part.
        for line in ["cmc", "mov [r14], rax", "movzx eax, al", "nop", "div rbx", "MUL R8"] {
            assert_eq!(of(Architecture::X86_64, line), [line]);
        }
    }

    #[test]
    fn every_spelling_of_a_kind_has_all_registers() {
        for architecture in Architecture::ALL {
            let Dialect { frame, kinds, .. } = dialect(architecture);
            assert!(frame.contains("{init}") && frame.contains("{body}"));
            for kind in *kinds {
                let spellings = kind.spellings();
                assert!(spellings.iter().all(|it| it.len() == spellings[0].len()), "{architecture:?}");
            }
        }
    }

    #[test]
    fn a_name_is_replaced_whole() {
        assert_eq!(replaced("add r8, r8d; mov r8, r18", "r8", "r9"), "add r9, r8d; mov r9, r18");
    }

    /// Lines of each architecture that every one of its CPUs has.
    const LINES: [(Architecture, &[&str]); 3] = [
        (
            Architecture::X86_64,
            &["imul rax, rbx", "mov r14, [r14]", "addpd xmm0, xmm1", "xor edx, edx; div rbx", "div rbx"],
        ),
        (
            Architecture::Aarch64,
            &["mul x0, x0, x1", "ldr x27, [x27]", "fadd v0.2d, v0.2d, v1.2d", "udiv w2, w2, w3"],
        ),
        (
            Architecture::Riscv64,
            &["mul a0, a0, a1", "ld s10, 0(s10)", "fadd.d fa0, fa0, fa1", "divu t0, t0, t1"],
        ),
    ];

    /// Here by itself, elsewhere under an emulator of programs: it does what it is asked, and answers.
    fn runs(architecture: Architecture) {
        let names = architecture.names();
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        std::fs::write(path("tenbin.h"), crate::workers::HEADER).unwrap();
        std::fs::write(path("runner.c"), include_str!("runner.c")).unwrap();
        let here = architecture == Architecture::HERE;
        let compiler = if here { "cc".to_owned() } else { format!("{}-gcc", names.tools) };
        let (_, lines) = LINES.iter().find(|(known, _)| *known == architecture).unwrap();
        for line in *lines {
            for order in [Order::InChain, Order::Apart] {
                std::fs::write(path("side.s"), assembler(architecture, line, "nop", order)).unwrap();
                let mut build = Command::new(&compiler);
                build.args(["-static", "-o"]).arg(path("side")).args([path("runner.c"), path("side.s")]);
                assert!(build.status().unwrap().success(), "{line}");
                let mut command = Command::new(path("side"));
                if !here {
                    command = Command::new(format!("qemu-{}-static", names.name));
                    command.arg(path("side"));
                }
                let within = std::time::Duration::from_secs(600);
                let mut dialogue = Dialogue::start(command, Bounds::within(within)).unwrap();
                let mut ask = |question: &str| match dialogue.ask(question, within).unwrap().0 {
                    Reply::Line(line) => line,
                    other => panic!("{line}, {question}: {other:?}"),
                };
                assert_eq!(ask("variants"), "run !short");
                assert_eq!(ask("check 0"), "ok");
                let answer = ask("run 0 1000");
                let (time, evidence) = answer.split_once(' ').unwrap();
                assert!(time.parse::<u64>().unwrap() > 0 && evidence == "1000", "{line}: {answer}");
                // Counted from the first such question on, where hardware counts.
                let [none, counts] = ["", "run 0 1000"].map(|question| {
                    if !question.is_empty() {
                        ask(question);
                    }
                    ask("counts")
                });
                assert_eq!(none, "-1 -1");
                let counts: Vec<i64> = counts.split(' ').map(|count| count.parse().unwrap()).collect();
                assert!(counts.len() == 2 && (counts[0] == -1 || counts[0] > 1000), "{line}: {counts:?}");
            }
        }
    }

    #[test]
    fn instructions_of_this_machine_run() {
        runs(Architecture::HERE);
    }

    #[test]
    #[ignore = "it needs cross compilers and an emulator: the steps `assembler ...` of `cargo xtask test` run it"]
    fn instructions_of_aarch64_run() {
        runs(Architecture::Aarch64);
    }

    #[test]
    #[ignore = "as that of aarch64"]
    fn instructions_of_riscv64_run() {
        runs(Architecture::Riscv64);
    }
}
