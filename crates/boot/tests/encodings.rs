//! Bits, texts and meanings of instructions, held against GNU binutils.
//!
//! `fixtures/isa/encodings.txt` was written by the ignored test here, which asks objdump again and compares;
//! with `INSTA_UPDATE=always` it writes the file anew. The ignored tests also ask about far more than the
//! file holds.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Command;

use tenbin_boot::isa::decode::{Kind, decode};
use tenbin_boot::isa::{Accesses, Arithmetic, Instruction, Register, assembly, csr};

/// A small generator (Knuth's MMIX constants), so that the words are the same everywhere.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 32) as u32
    }
}

/// Words whose opcodes are those of the supported instructions, with everything else random; `rounds` of
/// each.
fn words(rounds: usize) -> Vec<u32> {
    let mut numbers = Numbers(7);
    let mut words = Vec::new();
    let csrs = csr::names().collect::<Vec<_>>();
    for _ in 0..rounds {
        for opcode in [0x03, 0x0f, 0x13, 0x17, 0x1b, 0x23, 0x2f, 0x33, 0x37, 0x3b, 0x63, 0x67, 0x6f, 0x73] {
            let random = numbers.next() & !0x7f | opcode;
            // Fields that have few legal values are mostly given one of those.
            words.push(match opcode {
                0x13 | 0x1b if random >> 12 & 3 == 1 => random & 0x43ff_ffff,
                0x33 | 0x3b => random & 0x01ff_ffff | [0, 0, 0x4000_0000, 0x0200_0000][random as usize >> 30],
                0x2f => random & 0x9eff_8fff | 0x2000 | random & 0x6700_1000,
                0x0f => random & 0x0ff0_0000 | 0x0f,
                0x67 => random & !0x7000,
                0x73 => u32::from(csrs[random as usize % csrs.len()].0) << 20 | random & 0xf_ffff,
                _ => random,
            });
        }
    }
    words.extend([0x0000_0073, 0x0010_0073, 0x1050_0073, 0x3020_0073, 0x8330_000f, 0x0000_100f, 0x0ff0_000f]);
    words.extend([0x0000_0013, 0x0000_8067, 0xc000_1073, 0x0100_000f, 0xfff5_4513, 0x0ff5_7513, 0x0015_3513]);
    words
}

/// All 16-bit values that are not the beginning of something longer.
fn halves() -> impl Iterator<Item = u32> {
    (0..=0xffff).filter(|half| half & 3 != 3)
}

/// What objdump makes of these encodings, one after the other from address 0 on.
fn ask_objdump(encodings: &[u32], aliases: bool) -> Vec<String> {
    let bytes = encodings
        .iter()
        .flat_map(|bits| bits.to_le_bytes().into_iter().take(if bits & 3 == 3 { 4 } else { 2 }))
        .collect::<Vec<_>>();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("encodings");
    std::fs::write(&file, bytes).unwrap();
    let options = if aliases { "priv-spec=1.12" } else { "priv-spec=1.12,no-aliases" };
    let options = ["-D", "-z", "-b", "binary", "-m", "riscv:rv64", "-M", options];
    let output = run(Command::new("riscv64-linux-gnu-objdump").args(options).arg(&file));
    let text = String::from_utf8(output).unwrap();
    let lines = text.lines().filter(|line| line.starts_with(' '));
    let texts = lines.map(|line| {
        let text = line.splitn(3, '\t').nth(2).unwrap();
        text.split(" #").next().unwrap().trim().replace('\t', " ")
    });
    let texts = texts.collect::<Vec<_>>();
    assert_eq!(texts.len(), encodings.len(), "objdump sees other instructions");
    texts
}

/// The name and what follows, so that an encoding that neither side knows is told from one that only we do
/// not.
fn is_ours(text: &str) -> bool {
    let text = match text.rsplit_once("0x") {
        Some((front, _)) if text.starts_with('b') || text.starts_with('j') => format!("{front}.+8"),
        _ => text.to_owned(),
    };
    assembly::parse(&text, |_| None).is_ok()
}

/// Where we print otherwise than objdump 2.40, for a reason.
fn excused(bits: u32, text: &str) -> bool {
    let Ok(decoded) = decode(bits) else { return false };
    match decoded.instruction {
        // objdump has no text for a fence that orders nothing on one side.
        Instruction::Fence { before, after } => {
            (before == Accesses::NONE || after == Accesses::NONE) && text.contains("unknown")
        }
        // Fields of fence.i that the manual reserves, and asks to be ignored.
        Instruction::FenceI => bits != 0x100f && text.starts_with('.'),
        // The manual expands c.mv to an add.
        Instruction::Registers { op: Arithmetic::Add, word: false, rd, left: Register::ZERO, right }
            if decoded.length == 2 && text == format!("mv {rd},{right}") =>
        {
            true
        }
        // objdump leaves letters out that the operands tell, as in `add a0,a0,1`; hints it writes compressed.
        instruction => {
            let text = long_hint(text).unwrap_or_else(|| text.to_owned());
            bits == 0xc000_1073 && text == "unimp" || assembly::parse(&text, |_| None) == Ok(instruction)
        }
    }
}

/// The long form of a compressed hint.
fn long_hint(text: &str) -> Option<String> {
    let (name, operands) = text.strip_prefix("c.")?.split_once(' ')?;
    let (first, second) = operands.split_once(',').unwrap_or((operands, "0"));
    Some(match name {
        "nop" => format!("addi zero,zero,{operands}"),
        "mv" => format!("add {first},zero,{second}"),
        "add" | "slli" => format!("{name} {first},{first},{second}"),
        "slli64" | "srli64" | "srai64" => format!("{} {first},{first},0", &name[..4]),
        _ => format!("{name} {operands}"),
    })
}

/// Compares one encoding with objdump's text at `pc`; says what differs.
fn difference(bits: u32, pc: u64, text: &str, aliases: bool) -> Option<String> {
    let ours = match decode(bits) {
        Ok(decoded) if aliases => decoded.instruction.at(pc).to_string(),
        Ok(decoded) => format!("{:#}", decoded.instruction.at(pc)),
        Err(_) if text.starts_with('.') || !is_ours(text) => return None,
        // Both say that it is none, one by a name.
        Err(error) if error.kind == Kind::Illegal && text == "unimp" => return None,
        Err(error) => error.to_string(),
    };
    (ours != text && !excused(bits, text)).then(|| format!("{bits:08x}: objdump `{text}`, ours `{ours}`"))
}

fn differences(encodings: &[u32], texts: &[String], aliases: bool) -> Vec<String> {
    let mut pc = 0;
    let mut unlike = Vec::new();
    for (&bits, text) in encodings.iter().zip(texts) {
        unlike.extend(difference(bits, pc, text, aliases));
        pc += if bits & 3 == 3 { 4 } else { 2 };
    }
    unlike
}

fn assert_none(unlike: &[String], all: usize) {
    assert!(unlike.is_empty(), "{} of {all}: {:#?}", unlike.len(), &unlike[..unlike.len().min(40)]);
}

/// What a program of binutils prints.
fn run(command: &mut Command) -> Vec<u8> {
    let output = command.output().expect("missing: apt-get install binutils-riscv64-linux-gnu");
    assert!(output.status.success(), "{command:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn fixture() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/isa/encodings.txt")
}

/// Some encodings: random long ones, each operation at least twice, and every 37th compressed one.
fn sample() -> Vec<u32> {
    let mut numbers = Numbers(13);
    let mut sample = words(24);
    // Registers, and for the rest what tells operations apart: funct3, and funct7 or the five bits of atomic
    // ones.
    let mut add = |opcode: u32, funct3: u32, funct7: u32| {
        let registers = numbers.next() & 0x01ff_8f80;
        sample.push(funct7 << 25 | funct3 << 12 | registers | opcode);
    };
    for _ in 0..2 {
        for funct3 in 0..8 {
            for funct7 in [0, 1, 0x20] {
                add(0x33, funct3, funct7);
                add(0x3b, funct3, funct7);
                add(0x13, funct3, funct7);
                add(0x1b, funct3, funct7);
            }
        }
        for operation in 0..32 {
            for (width, ordering) in [(2, 1), (3, 2)] {
                add(0x2f, width, operation << 2 | ordering);
            }
        }
    }
    // A row of the tables that shares its bits with c.lui, and has only one register.
    let adds_to_sp = halves().filter(|half| half & 0xef83 == 0x6101 && half & 0x107c != 0);
    sample.into_iter().chain(halves().step_by(37)).chain(adds_to_sp).collect()
}

#[test]
fn encodings_are_what_the_table_says() {
    let table = std::fs::read_to_string(fixture()).unwrap();
    let mut legal = 0;
    let mut unlike = Vec::new();
    for line in table.lines().filter(|line| !line.starts_with('#')) {
        let columns = line.split('\t').collect::<Vec<_>>();
        let [bits, pc, text, plain] = columns.as_slice() else { panic!("{line}") };
        let [bits, pc] = [bits, pc].map(|digits| u64::from_str_radix(digits, 16).unwrap());
        let bits = bits as u32;
        legal += usize::from(decode(bits).is_ok());
        unlike.extend(difference(bits, pc, text, true));
        if bits & 3 == 3 {
            unlike.extend(difference(bits, pc, plain, false));
        }
    }
    assert_eq!(unlike, [""; 0]);
    assert!(legal > 800, "only {legal} encodings of the table are legal");
}

#[test]
#[ignore = "needs riscv64-linux-gnu-objdump"]
fn the_table_is_what_objdump_says() {
    let sample = sample();
    let (short, plain) = (ask_objdump(&sample, true), ask_objdump(&sample, false));
    let mut table = "# What GNU objdump 2.40 says of these bits: bits, address, text, text without aliases.\n\
        # Written by crates/boot/tests/encodings.rs: INSTA_UPDATE=always cargo test -p tenbin-boot -- --ignored\n"
        .to_owned();
    let mut pc = 0;
    for ((bits, short), plain) in sample.iter().zip(&short).zip(&plain) {
        writeln!(table, "{bits:x}\t{pc:x}\t{short}\t{plain}").unwrap();
        pc += if bits & 3 == 3 { 4 } else { 2 };
    }
    if std::env::var_os("INSTA_UPDATE").is_some_and(|value| value == "always") {
        std::fs::write(fixture(), &table).unwrap();
    }
    assert_eq!(std::fs::read_to_string(fixture()).unwrap(), table);
}

#[test]
#[ignore = "needs riscv64-linux-gnu-objdump"]
fn encodings_are_what_objdump_says() {
    let halves = halves().collect::<Vec<_>>();
    let mut unlike = differences(&halves, &ask_objdump(&halves, true), true);
    // c.addi16sp of 0: the manual reserves it, and objdump is lenient.
    unlike.retain(|difference| !difference.starts_with("00006101"));
    assert_none(&unlike, halves.len());
    let words = words(4000);
    for aliases in [true, false] {
        assert_none(&differences(&words, &ask_objdump(&words, aliases), aliases), words.len());
    }
}

#[test]
#[ignore = "needs riscv64-linux-gnu-as"]
fn the_assembler_reads_what_is_printed() {
    let instructions = words(300)
        .into_iter()
        .filter_map(|bits| Some(decode(bits).ok()?.instruction))
        .filter(|instruction| {
            // The assembler has no word for an empty side of a fence.
            let text = format!("{instruction:#}");
            !text.contains("fence 0") && !text.ends_with(",0") || !text.starts_with("fence")
        })
        .collect::<Vec<_>>();
    for aliases in [true, false] {
        let line = |it: &Instruction| if aliases { format!("{it}\n") } else { format!("{it:#}\n") };
        let assembled =
            assemble(&format!(".option norvc\n{}", instructions.iter().map(line).collect::<String>()));
        assert_eq!(assembled.len(), instructions.len());
        for (bits, instruction) in assembled.into_iter().zip(&instructions) {
            assert_eq!(decode(bits).unwrap().instruction, *instruction, "{instruction}");
        }
    }
}

fn assemble(text: &str) -> Vec<u32> {
    let folder = tempfile::tempdir().unwrap();
    let [source, object, binary] = ["a.s", "a.o", "a.bin"].map(|name| folder.path().join(name));
    std::fs::write(&source, text).unwrap();
    let march = "-march=rv64imac_zicsr_zifencei_zihintpause";
    let options = [march, "-mpriv-spec=1.12", "-mno-relax", "-o"];
    run(Command::new("riscv64-linux-gnu-as").args(options).args([&object, &source]));
    let options = ["-O", "binary", "-j", ".text"];
    run(Command::new("riscv64-linux-gnu-objcopy").args(options).args([&object, &binary]));
    let bytes = std::fs::read(binary).unwrap();
    bytes.chunks_exact(4).map(|word| u32::from_le_bytes(word.try_into().unwrap())).collect()
}

/// Counts of the legal ones and hints of each row (two low bits and three high ones) of the tables of RV64C,
/// made by hand from the manual. All others of a row are floating point, where it is that, or reserved.
#[test]
fn compressed_encodings_are_as_many_as_the_tables_have() {
    const ROW: usize = 2048;
    let tables = [
        // c.addi4spn without its 8 zeros; c.fld; c.lw, c.ld; 100 is reserved; c.fsd; c.sw, c.sd.
        [ROW - 8, 0, ROW, ROW, 0, 0, ROW, ROW],
        // c.addi; c.addiw not to x0; c.li; c.lui and c.addi16sp not of 0; c.srli, c.srai and c.andi, then six
        // operations of eight; c.j, c.beqz, c.bnez.
        [ROW, ROW - 64, ROW, ROW - 32, 3 * 512 + 6 * 64, ROW, ROW, ROW],
        // c.slli; c.fldsp; c.lwsp and c.ldsp not to x0; c.jr not by x0, c.mv, c.ebreak, c.jalr, c.add;
        // c.fsdsp; c.swsp; c.sdsp.
        [ROW, 0, ROW - 64, ROW - 64, ROW - 1, 0, ROW, ROW],
    ];
    let mut counts = [[[0; 3]; 8]; 3];
    for half in halves() {
        let kind = match decode(half).map_err(|error| error.kind) {
            Ok(decoded) => {
                assert_eq!(decoded.length, 2);
                0
            }
            Err(Kind::FloatingPoint) => 1,
            Err(Kind::Unknown | Kind::Illegal) => 2,
            Err(kind) => panic!("{half:04x} is {kind:?}"),
        };
        counts[(half & 3) as usize][(half >> 13) as usize][kind] += 1;
    }
    for (table, (rows, counts)) in tables.iter().zip(counts).enumerate() {
        for (row, (&legal, counts)) in rows.iter().zip(counts).enumerate() {
            let float = if table != 1 && row % 4 == 1 { ROW } else { 0 };
            assert_eq!(counts, [legal, float, ROW - legal - float], "table {table}, row {row}");
        }
    }
    assert_eq!(tables.as_flattened().iter().sum::<usize>(), 38_551);
}

#[test]
fn what_is_not_supported_is_named() {
    let cases = [
        (0x0000_0000, 2, Kind::Illegal),
        (0xffff_ffff, 4, Kind::Illegal),
        (0x0000_2007, 4, Kind::FloatingPoint),
        (0x0000_0053, 4, Kind::FloatingPoint),
        (0x0000_2000, 2, Kind::FloatingPoint),
        (0x0000_0057, 4, Kind::Vector),
        (0x0000_000b, 4, Kind::Custom),
        (0x1020_0073, 4, Kind::Privileged),
        (0x1200_0073, 4, Kind::Privileged),
        (0x0000_001f, 6, Kind::Long),
        (0x2000_0033, 4, Kind::Unknown),
        (0x0000_8000, 2, Kind::Unknown),
    ];
    for (bits, length, kind) in cases {
        let error = decode(bits).unwrap_err();
        assert_eq!((error.bits, error.length, error.kind), (bits, length, kind), "{bits:08x}");
    }
    let sret = decode(0x1020_0073).unwrap_err().to_string();
    assert_eq!(
        sret,
        "0x10200073 is a privileged instruction other than mret and wfi, which is not supported"
    );
    // Only the lower half of a compressed instruction is looked at, and named.
    assert_eq!(decode(0xdead_8000).unwrap_err().bits, 0x8000);
    assert_eq!(decode(0xdead_0001), decode(0x0001));
}

/// What the manual reserves for finer fences, and asks to be taken for normal ones.
#[test]
fn reserved_fences_are_fences() {
    let cases = [
        (0x0330_000f, "fence rw,rw"),
        (0x0338_8f8f, "fence rw,rw"),
        (0x7330_000f, "fence rw,rw"),
        (0x8330_000f, "fence.tso"),
        (0x8130_000f, "fence w,rw"),
        (0x0010_000f, "fence 0,w"),
        (0xfff5_9f8f, "fence.i"),
    ];
    for (bits, text) in cases {
        assert_eq!(decode(bits).unwrap().instruction.to_string(), text, "{bits:08x}");
    }
}
