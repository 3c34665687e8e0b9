//! Lines of assembly and instructions, both ways.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use proptest::prelude::*;
use tenbin_boot::isa::assembly::{Error, assemble, load_immediate, parse};
use tenbin_boot::isa::execute::{Action, Uses, execute};
use tenbin_boot::isa::{
    Accesses, Arithmetic, Atomic, Condition, CsrChange, CsrOperand, Decoded, Instruction, Register, Width,
};

fn register() -> impl Strategy<Value = Register> {
    // x0, ra and sp have short names of their own, so they come more often.
    prop_oneof![0_u8..3, 0_u8..32].prop_map(|number| Register::new(number).unwrap())
}

fn any_of<T: Clone + std::fmt::Debug + 'static>(all: impl Into<Vec<T>>) -> impl Strategy<Value = T> {
    prop::sample::select(all.into())
}

fn accesses() -> impl Strategy<Value = Accesses> {
    (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>())
        .prop_map(|(input, output, read, write)| Accesses { input, output, read, write })
}

fn upper() -> impl Strategy<Value = i64> {
    any::<i32>().prop_map(|value| i64::from(value & !0xfff))
}

/// Numbers near the ones that have short names, and all others.
fn twelve_bits() -> impl Strategy<Value = i64> {
    prop_oneof![-2_i64..3, Just(255), -2048_i64..2048]
}

fn immediate() -> impl Strategy<Value = Instruction> {
    let ops = Arithmetic::ALL.into_iter().filter(|op| op.immediate_mnemonic().is_some()).collect::<Vec<_>>();
    (any_of(ops), any::<bool>(), register(), register(), twelve_bits()).prop_map(
        |(op, word, rd, left, value)| {
            let word = word && op.has_word();
            let value = if op.is_shift() { value & if word { 31 } else { 63 } } else { value };
            Instruction::Immediate { op, word, rd, left, value }
        },
    )
}

fn memory() -> impl Strategy<Value = Instruction> {
    let widths = || any_of([Width::Byte, Width::Half, Width::Word, Width::Double]);
    let large = || any_of([Width::Word, Width::Double]);
    let bits = || (any::<bool>(), any::<bool>());
    prop_oneof![
        (widths(), any::<bool>(), register(), register(), twelve_bits()).prop_map(
            |(width, signed, rd, base, offset)| {
                let signed = signed || width == Width::Double;
                Instruction::Load { width, signed, rd, base, offset }
            }
        ),
        (widths(), register(), register(), twelve_bits())
            .prop_map(|(width, source, base, offset)| Instruction::Store { width, source, base, offset }),
        (large(), register(), register(), bits()).prop_map(|(width, rd, address, (acquire, release))| {
            Instruction::LoadReserved { width, rd, address, acquire, release }
        }),
        (large(), register(), register(), register(), bits()).prop_map(
            |(width, rd, source, address, (acquire, release))| {
                Instruction::StoreConditional { width, rd, source, address, acquire, release }
            }
        ),
        (any_of(Atomic::ALL), large(), register(), register(), register(), bits()).prop_map(
            |(op, width, rd, source, address, (acquire, release))| {
                Instruction::Amo { op, width, rd, source, address, acquire, release }
            }
        ),
    ]
}

fn csr() -> impl Strategy<Value = Instruction> {
    let operand =
        prop_oneof![register().prop_map(CsrOperand::Register), (0_u8..32).prop_map(CsrOperand::Immediate)];
    let number = prop_oneof![Just(0x300_u16), 0xc00_u16..0xc03, 0_u16..4096];
    (any_of(CsrChange::ALL), register(), number, operand)
        .prop_map(|(change, rd, csr, operand)| Instruction::Csr { change, rd, csr, operand })
}

fn instruction() -> impl Strategy<Value = Instruction> {
    let words = Arithmetic::ALL;
    let plain = [
        Instruction::FenceTso,
        Instruction::FenceI,
        Instruction::Ecall,
        Instruction::Ebreak,
        Instruction::Wfi,
        Instruction::Mret,
    ];
    prop_oneof![
        (register(), upper()).prop_map(|(rd, value)| Instruction::Lui { rd, value }),
        (register(), upper()).prop_map(|(rd, value)| Instruction::Auipc { rd, value }),
        (register(), -(1_i64 << 19)..1 << 19)
            .prop_map(|(rd, half)| Instruction::Jal { rd, offset: 2 * half }),
        (register(), register(), twelve_bits()).prop_map(|(rd, base, offset)| Instruction::Jalr {
            rd,
            base,
            offset
        }),
        (any_of(Condition::ALL), register(), register(), twelve_bits()).prop_map(
            |(when, left, right, half)| { Instruction::Branch { when, left, right, offset: 2 * half } }
        ),
        immediate(),
        (any_of(words), any::<bool>(), register(), register(), register()).prop_map(
            |(op, word, rd, left, right)| {
                Instruction::Registers { op, word: word && op.has_word(), rd, left, right }
            }
        ),
        prop_oneof![accesses(), Just(Accesses::ALL), Just(Accesses::WRITE)].prop_flat_map(|before| {
            prop_oneof![accesses(), Just(Accesses::ALL), Just(Accesses::NONE)]
                .prop_map(move |after| Instruction::Fence { before, after })
        }),
        memory(),
        csr(),
        any_of(plain),
    ]
}

/// Runs straight code; what `register` holds in the end.
fn compute(code: &[Instruction], register: Register) -> u64 {
    let mut registers = [0_u64; 32];
    for &instruction in code {
        let decoded = Decoded { instruction, length: 4 };
        if let Action::Write(rd, value) = execute(&decoded, 0, |register| registers[register.index()]).action
        {
            registers[rd.index()] = value;
        }
    }
    registers[register.index()]
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(5000) })]

    #[test]
    fn what_is_printed_is_read_back(instruction in instruction()) {
        for text in [instruction.to_string(), format!("{instruction:#}")] {
            prop_assert_eq!(parse(&text, |_| None), Ok(instruction), "{}", text);
        }
    }

    #[test]
    fn li_gives_the_number(value in prop_oneof![
        any::<i64>(),
        any::<i32>().prop_map(i64::from),
        (any::<i64>(), 0_u32..64).prop_map(|(value, shift)| value >> shift),
        (any::<i64>(), 0_u32..64).prop_map(|(value, shift)| value << shift),
        (0_u32..64, -1_i64..2).prop_map(|(shift, near)| (1_i64 << shift).wrapping_add(near)),
    ]) {
        let a0 = Register::named("a0").unwrap();
        let code = load_immediate(a0, value);
        prop_assert_eq!(compute(&code, a0) as i64, value);
        prop_assert!(code.len() <= 8, "{} instructions", code.len());
        prop_assert_eq!(assemble(&format!("li a0,{value}"), |_| None), Ok(code));
    }

    #[test]
    fn no_line_panics(line in "[a-z.]{1,8} ?[a-z0-9,.() +-]{0,16}") {
        drop(assemble(&line, |_| None));
    }

    /// What is executed reads and writes no register that is not told.
    #[test]
    fn registers_are_told(instruction in instruction()) {
        let uses = Uses::of(&instruction);
        let read = std::cell::RefCell::new(Vec::new());
        let effect = execute(&Decoded { instruction, length: 4 }, 0, |register| {
            read.borrow_mut().push(register);
            8
        });
        let mut read = read.into_inner();
        let mut named = uses.address.into_iter().chain(uses.values.into_iter().flatten()).collect::<Vec<_>>();
        for list in [&mut read, &mut named] {
            list.sort();
            list.dedup();
        }
        prop_assert_eq!(read, named);
        if let Action::Write(register, _) = effect.action {
            prop_assert_eq!(uses.written, Some(register));
        }
    }
}

/// Other ways to write an instruction, and what is printed of it.
#[test]
fn other_spellings_are_read() {
    let label = |name: &str| (name == "LC00").then_some(-8);
    let cases = [
        ("  ADDI x5, x0, 1 ", "li t0,1"),
        ("add a0,a0,1", "addi a0,a0,1"),
        ("ori x5,x6,0x7f", "ori t0,t1,127"),
        ("mv x5,x6", "mv t0,t1"),
        ("lw x5,0(x6)", "lw t0,0(t1)"),
        ("lw x5,(x6)", "lw t0,0(t1)"),
        ("sd fp, -16 (sp)", "sd s0,-16(sp)"),
        ("amoswap.w.aq.rl x5,x6,(x7)", "amoswap.w.aqrl t0,t1,(t2)"),
        ("lr.d.aq x5,0(x6)", "lr.d.aq t0,(t1)"),
        ("fence wr,r", "fence rw,r"),
        ("bne x5,x0,LC00", "bnez t0,.-8"),
        ("bgt a0,a1,LC00", "blt a1,a0,.-8"),
        ("bleu a0,a1,. + 4", "bgeu a1,a0,.+4"),
        ("j LC00", "j .-8"),
        ("jal LC00", "jal .-8"),
        ("jalr a0,a1,4", "jalr a0,4(a1)"),
        ("sgt a0,a1,a2", "slt a0,a2,a1"),
        ("csrw 0x305,a0", "csrw mtvec,a0"),
        ("csrrs a0,mstatus,8", "csrrsi a0,mstatus,8"),
        ("csrr a0,0x7c0", "csrr a0,0x7c0"),
        ("unimp", "unimp"),
    ];
    for (line, printed) in cases {
        assert_eq!(
            parse(line, label).map(|instruction| instruction.to_string()),
            Ok(printed.to_owned()),
            "{line}"
        );
    }
    let code = assemble("zext.w a0,a1", label).unwrap();
    assert_eq!(
        code.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["slli a0,a1,0x20", "srli a0,a0,0x20"]
    );
}

#[test]
fn what_is_not_understood_is_named() {
    let cases = [
        ("", "there is no instruction"),
        ("fadd.s fa0,fa0,fa1", "`fadd.s` is not a supported instruction"),
        ("lw.aq a0,(a1)", "`lw.aq` is not a supported instruction"),
        ("addi a0,a0", "`addi` does not take 2 operands"),
        ("addi a0,a0,2048", "2048 does not fit: it must be -2048 to 2047"),
        ("slliw a0,a0,32", "32 does not fit: it must be 0 to 31"),
        ("addi a0,x32,1", "`x32` is not a register"),
        ("addi a0,x05,1", "`x05` is not a register"),
        ("addi a0,a0,010", "`010` is not a number"),
        ("mul a0,a1,3", "`3` is not a register"),
        ("lw a0,a1", "`a1` is not a place in memory, like 8(a0)"),
        ("lr.w a0,4(a1)", "`4(a1)` is not a place without an offset, like (a0)"),
        ("lr.b a0,(a1)", "`lr.b` is not a supported instruction"),
        ("fence x,w", "`x` is not a set of i, o, r and w"),
        ("beqz a0,nowhere", "there is no label `nowhere`"),
        ("beqz a0,.+3", "the offset 3 is odd"),
        ("beqz a0,.+4096", "4096 does not fit: it must be -4096 to 4094"),
        ("csrr a0,mnothing", "`mnothing` is not a control and status register"),
        ("csrri a0,mstatus", "`csrri` is not a supported instruction"),
        ("li a0,0x12345678", "the line stands for 2 instructions"),
    ];
    for (line, message) in cases {
        let error = parse(line, |_| None).unwrap_err();
        assert_eq!(error.to_string(), message, "{line}");
    }
    assert_eq!(parse("nop nop", |_| None), Err(Error::Operands { mnemonic: "nop".to_owned(), given: 1 }));
}

#[test]
fn an_instruction_at_an_address_says_where_it_goes() {
    let branch = parse("bnez a0,.-8", |_| None).unwrap();
    assert_eq!(branch.at(0x8000_0010).to_string(), "bnez a0,0x80000008");
    assert_eq!(format!("{:#}", branch.at(0x8000_0010)), "bne a0,zero,0x80000008");
}
