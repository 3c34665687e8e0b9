//! Which of the instructions that this program asks about some bytes are: the atomic ones, and those that
//! clear memory. No disassembler: what is not in the tables has no name here.

/// A named instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Named {
    /// Its mnemonic, without operands.
    pub name: &'static str,
    /// Its length in bytes.
    pub length: usize,
}

/// The instruction that begins `code`, on the architecture of that name in Rust's words.
pub fn beginning(architecture: &str, code: &[u8]) -> Option<Named> {
    let name = match architecture {
        "x86_64" => return x86_64(code),
        "aarch64" => aarch64(word(code)?)?,
        "riscv64" => riscv64(word(code)?)?,
        _ => return None,
    };
    Some(Named { name, length: 4 })
}

/// The instruction that ends with the last byte of `code`.
///
/// A sample taken by an interrupt names the instruction that comes next: the one that took the time is often
/// the one before it. Where instructions have no fixed length, the bytes before an address can be read in
/// more than one way; a named one that ends exactly there is hardly ever a coincidence, and never a proof.
pub fn ending(architecture: &str, code: &[u8]) -> Option<Named> {
    let lengths = if architecture == "x86_64" { 2..=15 } else { 4..=4 };
    // The longest first: a prefix that is left out still leaves an instruction.
    lengths.rev().find_map(|length| {
        let start = code.len().checked_sub(length)?;
        beginning(architecture, &code[start..]).filter(|named| named.length == length)
    })
}

fn word(code: &[u8]) -> Option<u32> {
    Some(u32::from_le_bytes(code.get(..4)?.try_into().ok()?))
}

/// RISC-V unprivileged ISA, chapters "A" (load-reserved, store-conditional, AMO) and "Zacas": opcode
/// `0101111`, width in `funct3`, operation in the upper five bits.
fn riscv64(word: u32) -> Option<&'static str> {
    let double = match (word & 0x7f, word >> 12 & 7) {
        (0x2f, 2) => false,
        (0x2f, 3) => true,
        _ => return None,
    };
    let (narrow, wide) = match word >> 27 {
        0b00010 if word >> 20 & 0x1f == 0 => ("lr.w", "lr.d"),
        0b00011 => ("sc.w", "sc.d"),
        0b00001 => ("amoswap.w", "amoswap.d"),
        0b00000 => ("amoadd.w", "amoadd.d"),
        0b00100 => ("amoxor.w", "amoxor.d"),
        0b01100 => ("amoand.w", "amoand.d"),
        0b01000 => ("amoor.w", "amoor.d"),
        0b10000 => ("amomin.w", "amomin.d"),
        0b10100 => ("amomax.w", "amomax.d"),
        0b11000 => ("amominu.w", "amominu.d"),
        0b11100 => ("amomaxu.w", "amomaxu.d"),
        0b00101 => ("amocas.w", "amocas.d"),
        _ => return None,
    };
    Some(if double { wide } else { narrow })
}

/// Arm Architecture Reference Manual (DDI 0487), section C4.1, "Loads and Stores": exclusive, compare and
/// swap, atomic memory operations; and `DC ZVA`, which clears memory (C5.3).
fn aarch64(word: u32) -> Option<&'static str> {
    let bit = |place: u32| word >> place & 1 == 1;
    Some(if word & 0xffff_ffe0 == 0xd50b_7420 {
        "dc zva"
    } else if word & 0x3fa0_7c00 == 0x08a0_7c00 {
        "cas"
    } else if word & 0xbfa0_7c00 == 0x0820_7c00 {
        "casp"
    } else if word & 0x3f80_0000 == 0x0800_0000 {
        // Bit 22 loads, bit 21 has a pair, bit 15 orders.
        match (bit(22), bit(21), bit(15)) {
            (true, false, false) => "ldxr",
            (true, false, true) => "ldaxr",
            (false, false, false) => "stxr",
            (false, false, true) => "stlxr",
            (true, true, false) => "ldxp",
            (true, true, true) => "ldaxp",
            (false, true, false) => "stxp",
            (false, true, true) => "stlxp",
        }
    } else if word & 0x3f20_0c00 == 0x3820_0000 {
        match word >> 12 & 0xf {
            0 => "ldadd",
            1 => "ldclr",
            2 => "ldeor",
            3 => "ldset",
            4 => "ldsmax",
            5 => "ldsmin",
            6 => "ldumax",
            7 => "ldumin",
            8 => "swp",
            _ => return None,
        }
    } else {
        return None;
    })
}

/// Intel 64 Software Developer's Manual, volume 2, chapter 2 (prefixes, ModR/M, SIB) and the pages of LOCK,
/// CMPXCHG, CMPXCHG16B, XADD, XCHG, PAUSE and REP.
fn x86_64(code: &[u8]) -> Option<Named> {
    let (mut lock, mut repeat, mut narrow, mut place) = (false, false, false, 0);
    loop {
        match code.get(place)? {
            0xf0 => lock = true,
            0xf3 => repeat = true,
            0x66 => narrow = true,
            0x2e | 0x36 | 0x3e | 0x26 | 0x64 | 0x65 => {}
            _ => break,
        }
        place += 1;
    }
    let wide = code.get(place).is_some_and(|&byte| byte & 0xf8 == 0x48);
    if code.get(place)? & 0xf0 == 0x40 {
        place += 1;
    }
    let opcode = *code.get(place)?;
    place += 1;
    let short = match opcode {
        0x90 if repeat => Some("pause"),
        0xaa | 0xab if repeat => Some("rep stos"),
        0xa4 | 0xa5 if repeat => Some("rep movs"),
        _ => None,
    };
    if let Some(name) = short {
        return Some(Named { name, length: place });
    }
    let second = if opcode == 0x0f { Some(*code.get(place)?) } else { None };
    place += usize::from(second.is_some());
    let operand = *code.get(place)?;
    // All of these are about memory; a register as the operand cannot be locked.
    if operand >> 6 == 3 {
        return None;
    }
    let long = if narrow { 2 } else { 4 };
    let (name, immediate) = match (opcode, second, operand >> 3 & 7) {
        (_, Some(0xb0 | 0xb1), _) => (if lock { "lock cmpxchg" } else { "cmpxchg" }, 0),
        (_, Some(0xc0 | 0xc1), _) => (if lock { "lock xadd" } else { "xadd" }, 0),
        (_, Some(0xc7), 1) if wide => (if lock { "lock cmpxchg16b" } else { "cmpxchg16b" }, 0),
        (_, Some(0xc7), 1) => (if lock { "lock cmpxchg8b" } else { "cmpxchg8b" }, 0),
        (_, Some(0xba), 5..=7) if lock => ("lock bts", 1),
        (_, Some(0xab | 0xb3 | 0xbb), _) if lock => ("lock bts", 0),
        // It locks without being told.
        (0x86 | 0x87, None, _) => ("xchg", 0),
        (0x80 | 0x83, None, 0..=6) if lock => ("lock add", 1),
        (0x81, None, 0..=6) if lock => ("lock add", long),
        (0xfe | 0xff, None, 0 | 1) if lock => ("lock inc", 0),
        (0..=0x31, None, _) if lock && opcode & 7 < 2 => ("lock add", 0),
        _ => return None,
    };
    place += 1;
    let (mode, base) = (operand >> 6, operand & 7);
    let scaled = base == 4;
    let index_base = if scaled { code.get(place)? & 7 } else { base };
    place += usize::from(scaled);
    place += match mode {
        0 if index_base == 5 => 4,
        0 => 0,
        1 => 1,
        _ => 4,
    };
    place += immediate;
    (place <= code.len()).then_some(Named { name, length: place })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        text.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect()
    }

    /// What GNU as makes of each line.
    const X86: &[(&str, Option<&str>)] = &[
        ("f0 48 0f b1 0a", Some("lock cmpxchg")),
        ("f0 48 0f b1 8c 9a 78 56 34 12", Some("lock cmpxchg")),
        ("f0 48 0f c1 05 10 00 00 00", Some("lock xadd")),
        ("f0 0f c1 47 08", Some("lock xadd")),
        ("f0 ff 00", Some("lock inc")),
        ("f0 83 07 01", Some("lock add")),
        ("f0 48 0f c7 0e", Some("lock cmpxchg16b")),
        ("48 87 07", Some("xchg")),
        ("f3 48 ab", Some("rep stos")),
        ("f3 aa", Some("rep stos")),
        ("f3 90", Some("pause")),
        ("f0 48 0f ba 2b 00", Some("lock bts")),
        ("f0 80 48 04 01", Some("lock add")),
        ("f0 ff 4c 24 f8", Some("lock inc")),
        ("f0 48 81 2f 00 10 00 00", Some("lock add")),
        ("93", None),
        ("48 89 07", None),
        ("90", None),
        ("48 87 c3", None),
    ];

    const ARM: &[(u32, Option<&str>)] = &[
        (0xc85f_7c20, Some("ldxr")),
        (0xc85f_fc20, Some("ldaxr")),
        (0x085f_fc20, Some("ldaxr")),
        (0xc802_7c20, Some("stxr")),
        (0xc802_fc20, Some("stlxr")),
        (0xc87f_8c20, Some("ldaxp")),
        (0xc822_8c20, Some("stlxp")),
        (0xc8e0_fc41, Some("cas")),
        (0x88e0_7c41, Some("cas")),
        (0x4860_fc82, Some("casp")),
        (0xf8e0_0041, Some("ldadd")),
        (0xf820_005f, Some("ldadd")),
        (0xf8e0_8041, Some("swp")),
        (0xb820_1041, Some("ldclr")),
        (0xb820_3041, Some("ldset")),
        (0xf820_2041, Some("ldeor")),
        (0xd50b_7420, Some("dc zva")),
        (0xc8df_fc20, None),
        (0xc89f_fc20, None),
        (0xf940_0020, None),
        (0x38bf_c020, None),
    ];

    const RISC_V: &[(u32, Option<&str>)] = &[
        (0x1004_b62f, Some("lr.d")),
        (0x1404_a62f, Some("lr.w")),
        (0x18d4_b5af, Some("sc.d")),
        (0x1ad4_a5af, Some("sc.w")),
        (0x00b6_352f, Some("amoadd.d")),
        (0x0cb6_252f, Some("amoswap.w")),
        (0x40b6_352f, Some("amoor.d")),
        (0x00f6_1063, None),
        (0x0005_b503, None),
    ];

    #[test]
    fn instructions_are_named_as_an_assembler_names_them() {
        for (text, expected) in X86 {
            let code = bytes(text);
            let named_instruction = beginning("x86_64", &code);
            assert_eq!(named_instruction.map(|named| named.name), *expected, "{text}");
            assert!(
                named_instruction.is_none_or(|named| named.length == code.len()),
                "{text}: {named_instruction:?}"
            );
        }
        for (architecture, words) in [("aarch64", ARM), ("riscv64", RISC_V)] {
            for (word, expected) in words {
                let named_instruction = beginning(architecture, &word.to_le_bytes());
                assert_eq!(named_instruction.map(|named| named.name), *expected, "{architecture} {word:08x}");
            }
        }
    }

    #[test]
    fn an_instruction_is_recognised_by_where_it_ends() {
        for (text, expected) in X86.iter().filter(|(_, expected)| expected.is_some()) {
            let code = [bytes("48 89 07 48 89 07"), bytes(text)].concat();
            assert_eq!(ending("x86_64", &code).map(|named| named.name), *expected, "{text}");
        }
        // The seed's place: the branch after the load-reserved.
        let code = [0x0005_b503_u32.to_le_bytes(), 0x1004_b62f_u32.to_le_bytes()].concat();
        assert_eq!(ending("riscv64", &code).map(|named| named.name), Some("lr.d"));
        assert_eq!(ending("riscv64", &code[..4]), None);
    }

    #[test]
    fn too_few_bytes_and_foreign_architectures_have_no_name() {
        for (text, expected) in X86 {
            let code = bytes(text);
            if expected.is_some() {
                assert_eq!(beginning("x86_64", &code[..code.len() - 1]), None, "{text}");
            }
        }
        assert_eq!(beginning("riscv64", &[0x2f, 0xb6]), None);
        assert_eq!(beginning("s390x", &[0; 16]), None);
        for architecture in ["x86_64", "aarch64", "riscv64"] {
            assert_eq!(beginning(architecture, &[]), None);
            assert_eq!(ending(architecture, &[]), None);
        }
    }
}
