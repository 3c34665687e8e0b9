//! What instructions compute, held against QEMU.
//!
//! `fixtures/isa/results.txt` was written by the ignored test here, which has QEMU compute it again and
//! compares; with `INSTA_UPDATE=always` it writes the file anew. It also asks about many more operands than
//! the file holds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use tenbin_boot::isa::execute::{AccessKind, Action, execute};
use tenbin_boot::isa::{Arithmetic, Atomic, Condition, Decoded, Register, Width, assembly};

/// Lines of assembly joined by `;`, which compute a0 from a1, a2 and eight bytes of memory at a3, and may
/// change those.
struct Case {
    code: String,
    /// In a1, and in memory.
    left: u64,
    /// In a2.
    right: u64,
}

type Results = (u64, u64);

const BEFORE: u64 = 0xabc;

struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let word = self.0 ^ (self.0 >> 29);
        word.wrapping_mul(0xbf58_476d_1ce4_e5b9) >> 1 ^ word
    }

    /// Edges as often as anything.
    fn operand(&mut self) -> u64 {
        const EDGES: [u64; 12] = [
            0,
            1,
            u64::MAX,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            0xffff_ffff_8000_0000,
            0x1_0000_0000,
            0x7fff_ffff_ffff_ffff,
            0x8000_0000_0000_0000,
            0x80,
            0x8000,
        ];
        let choice = self.next();
        match choice % 4 {
            0 | 1 => EDGES[(choice >> 8) as usize % EDGES.len()],
            2 => self.next() >> (choice >> 8 & 63),
            _ => self.next(),
        }
    }
}

/// Every operation, with `rounds` pairs of operands.
fn cases(rounds: usize) -> Vec<Case> {
    let mut numbers = Numbers(11);
    let mut cases = Vec::new();
    for _ in 0..rounds {
        let mut add = |code: String, numbers: &mut Numbers| {
            let (left, right) = (numbers.operand(), numbers.operand());
            let right = if numbers.next().is_multiple_of(8) { left } else { right };
            cases.push(Case { code, left, right });
        };
        for op in Arithmetic::ALL {
            for word in ["", "w"].into_iter().take(1 + usize::from(op.has_word())) {
                add(format!("{}{word} a0,a1,a2", op.mnemonic()), &mut numbers);
                let Some(name) = op.immediate_mnemonic() else { continue };
                let random = numbers.next();
                let value = match (op.is_shift(), word) {
                    (true, "w") => (random & 31) as i64,
                    (true, _) => (random & 63) as i64,
                    _ => (random & 0xfff) as i64 - 2048,
                };
                add(format!("{name}{word} a0,a1,{value}"), &mut numbers);
            }
        }
        for when in Condition::ALL {
            add(format!("{} a1,a2,.+8;li a0,5", when.mnemonic()), &mut numbers);
        }
        add(format!("lui a0,0x{:x}", numbers.next() & 0xf_ffff), &mut numbers);
        // Where code lies is not known, but how far apart two places of it are.
        add("auipc a1,0x80000;auipc a0,0x7f123;sub a0,a0,a1".to_owned(), &mut numbers);
        add("jal a1,.+8;li a0,5;auipc a0,0;sub a0,a0,a1".to_owned(), &mut numbers);
        add("auipc a1,0;jalr a0,17(a1);li a2,3;li a2,4;sub a0,a0,a1;add a0,a0,a2".to_owned(), &mut numbers);
        for name in ["lb", "lbu", "lh", "lhu", "lw", "lwu", "ld"] {
            let bytes = 1_u64 << "bhwd".find(&name[1..2]).unwrap();
            add(format!("{name} a0,{}(a3)", numbers.next() % (8 / bytes) * bytes), &mut numbers);
            if !name.ends_with('u') {
                let place = numbers.next() % (8 / bytes) * bytes;
                add(format!("s{} a2,{place}(a3)", &name[1..]), &mut numbers);
            }
        }
        for width in ["w", "d"] {
            for op in Atomic::ALL {
                add(format!("{}.{width} a0,a2,(a3)", op.mnemonic()), &mut numbers);
            }
            add(format!("lr.{width} a0,(a3)"), &mut numbers);
            add(format!("lr.{width} a4,(a3);sc.{width} a0,a2,(a3)"), &mut numbers);
        }
    }
    cases
}

/// What we compute: one hart, eight bytes of memory at 4096, code at 0x10000.
fn ours(case: &Case) -> Results {
    const PLACE: u64 = 4096;
    const CODE: u64 = 0x10000;
    let code = case.code.split(';').map(|line| assembly::parse(line, |_| None).unwrap()).collect::<Vec<_>>();
    let mut memory = case.left.to_le_bytes();
    let mut registers = [0_u64; 32];
    let [a0, a1, a2, a3] = ["a0", "a1", "a2", "a3"].map(|name| Register::named(name).unwrap().index());
    (registers[a0], registers[a1], registers[a2], registers[a3]) = (BEFORE, case.left, case.right, PLACE);
    let mut pc = CODE;
    while pc != CODE + 4 * code.len() as u64 {
        let decoded = Decoded { instruction: code[(pc - CODE) as usize / 4], length: 4 };
        let effect = execute(&decoded, pc, |register| registers[register.index()]);
        let mut write = |register: Register, value| registers[register.index()] = value;
        match effect.action {
            Action::Nothing => {}
            Action::Write(register, value) => write(register, value),
            Action::Memory(access) => {
                assert!(access.is_aligned());
                let start = (access.address - PLACE) as usize;
                let held = &mut memory[start..start + access.width.bytes() as usize];
                let mut old = [0; 8];
                old[..held.len()].copy_from_slice(held);
                let old = u64::from_le_bytes(old);
                let mut store = |value: u64| held.copy_from_slice(&value.to_le_bytes()[..held.len()]);
                match access.kind {
                    AccessKind::Load { .. } | AccessKind::LoadReserved { .. } => {}
                    AccessKind::Store { value } => store(value),
                    AccessKind::StoreConditional { rd, value } => {
                        store(value);
                        write(rd, 0);
                    }
                    AccessKind::Amo { op, operand, .. } => store(op.apply(access.width, old, operand)),
                }
                if let Some((register, value)) = access.loaded(old) {
                    write(register, value);
                }
            }
            other => panic!("{}: {other:?}", case.code),
        }
        pc = effect.next;
    }
    (registers[a0], u64::from_le_bytes(memory))
}

/// What QEMU computes: a program that goes through a table of operands, puts the results into it and writes
/// it out.
fn ask_qemu(cases: &[Case]) -> Vec<Results> {
    let mut source = ".option norvc\n.globl _start\n_start:\nla s0,table\n".to_owned();
    let mut table = ".data\n.balign 8\ntable:\n".to_owned();
    for case in cases {
        let code = case.code.replace(';', "\n");
        writeln!(source, "li a0,{BEFORE}\nld a1,8(s0)\nld a2,0(s0)\naddi a3,s0,8").unwrap();
        writeln!(source, "{code}\nsd a0,0(s0)\naddi s0,s0,16").unwrap();
        writeln!(table, ".dword 0x{:x},0x{:x}", case.right, case.left).unwrap();
    }
    let length = 16 * cases.len();
    writeln!(source, "la s1,table\nli s2,{length}\n1: li a0,1\nmv a1,s1\nmv a2,s2\nli a7,64\necall").unwrap();
    writeln!(source, "blez a0,2f\nadd s1,s1,a0\nsub s2,s2,a0\nbnez s2,1b\n2: li a0,0\nli a7,93\necall")
        .unwrap();
    source.push_str(&table);
    let folder = tempfile::tempdir().unwrap();
    let [text, object, program] = ["a.s", "a.o", "a"].map(|name| folder.path().join(name));
    std::fs::write(&text, source).unwrap();
    let march = "-march=rv64ima_zicsr_zifencei";
    run(Command::new("riscv64-linux-gnu-as").args([march, "-mno-relax", "-o"]).args([&object, &text]));
    run(Command::new("riscv64-linux-gnu-ld").arg("-o").args([&program, &object]));
    let output = run(Command::new("timeout").args(["60", "qemu-riscv64-static"]).arg(&program));
    let number = |bytes: &[u8]| u64::from_le_bytes(bytes.try_into().unwrap());
    let results = output.chunks_exact(16).map(|pair| (number(&pair[..8]), number(&pair[8..])));
    let results = results.collect::<Vec<_>>();
    assert_eq!(results.len(), cases.len());
    results
}

fn run(command: &mut Command) -> Vec<u8> {
    let missing = "missing: apt-get install binutils-riscv64-linux-gnu qemu-user-static";
    let output = command.output().expect(missing);
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/isa/results.txt")
}

#[test]
fn results_are_what_the_table_says() {
    let table = std::fs::read_to_string(fixture()).unwrap();
    let mut compared = 0;
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let [code, numbers @ ..] = &line.split('\t').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let numbers = numbers.iter().map(|digits| u64::from_str_radix(digits, 16).unwrap());
        let [left, right, result, memory] = numbers.collect::<Vec<_>>()[..] else { panic!("{line}") };
        let case = Case { code: (*code).to_owned(), left, right };
        assert_eq!(ours(&case), (result, memory), "{line}");
        compared += 1;
    }
    assert!(compared > 700, "only {compared} lines");
}

#[test]
#[ignore = "needs qemu-riscv64-static and riscv64-linux-gnu-as"]
fn the_table_is_what_qemu_says() {
    let cases = cases(10);
    let mut table = "# What QEMU 7.2 (user mode) computes: code, a1 and memory at a3 before, a2, then a0 and memory after (hexadecimal).\n\
        # Written by crates/boot/tests/execution.rs: INSTA_UPDATE=always cargo test -p tenbin-boot -- --ignored\n"
        .to_owned();
    for (case, (result, memory)) in cases.iter().zip(ask_qemu(&cases)) {
        let Case { code, left, right } = case;
        writeln!(table, "{code}\t{left:x}\t{right:x}\t{result:x}\t{memory:x}").unwrap();
    }
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(fixture(), &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(fixture()).unwrap(), table);
}

#[test]
#[ignore = "needs qemu-riscv64-static and riscv64-linux-gnu-as"]
fn many_results_are_what_qemu_says() {
    let cases = cases(400);
    for (case, theirs) in cases.iter().zip(ask_qemu(&cases)) {
        let Case { code, left, right } = case;
        assert_eq!(ours(case), theirs, "{code} of {left:x} and {right:x}");
    }
}

/// Values to store, and operands, are cut; what is loaded is extended.
#[test]
fn widths_cut_and_extend() {
    let value = 0x8877_6655_8483_8281;
    let cases = [
        (Width::Byte, 0x81, 0xffff_ffff_ffff_ff81),
        (Width::Half, 0x8281, 0xffff_ffff_ffff_8281),
        (Width::Word, 0x8483_8281, 0xffff_ffff_8483_8281),
        (Width::Double, value, value),
    ];
    for (width, cut, extended) in cases {
        assert_eq!(width.truncate(value), cut);
        assert_eq!(width.extend(value, true), extended);
    }
}
