//! Short names of common uses (`ret`, `beqz`), and the instructions that they stand for: the assembler reads
//! them, and objdump prints them.

/// In what a name stands for, `$` and a digit are its operand of that number; `@` says that this must be a
/// register. Of several that fit an instruction, the first is printed.
const PRINTED: &[(&str, &str)] = &[
    ("nop", "addi zero,zero,0"),
    ("li", "addi $0,zero,$1"),
    ("mv", "addi $0,$1,0"),
    ("sext.w", "addiw $0,$1,0"),
    ("not", "xori $0,$1,-1"),
    ("zext.b", "andi $0,$1,255"),
    ("seqz", "sltiu $0,$1,1"),
    ("neg", "sub $0,zero,$1"),
    ("negw", "subw $0,zero,$1"),
    ("snez", "sltu @0,zero,@1"),
    ("sltz", "slt $0,$1,zero"),
    ("sgtz", "slt @0,zero,@1"),
    ("j", "jal zero,$0"),
    ("jal", "jal ra,$0"),
    ("ret", "jalr zero,ra"),
    ("jr", "jalr zero,$0"),
    ("jalr", "jalr ra,$0"),
    ("beqz", "beq $0,zero,$1"),
    ("bnez", "bne $0,zero,$1"),
    ("blez", "bge zero,$0,$1"),
    ("bgez", "bge $0,zero,$1"),
    ("bltz", "blt $0,zero,$1"),
    ("bgtz", "blt zero,$0,$1"),
    ("fence", "fence iorw,iorw"),
    ("pause", "fence w,0"),
    ("rdcycle", "csrrs $0,cycle,zero"),
    ("rdtime", "csrrs $0,time,zero"),
    ("rdinstret", "csrrs $0,instret,zero"),
    ("csrr", "csrrs $0,$1,zero"),
    // The assembler's way to an instruction that no machine has: to write a counter that is read only.
    ("unimp", "csrrw zero,cycle,zero"),
    ("csrw", "csrrw zero,$0,$1"),
    ("csrs", "csrrs zero,$0,$1"),
    ("csrc", "csrrc zero,$0,$1"),
    ("csrwi", "csrrwi zero,$0,$1"),
    ("csrsi", "csrrsi zero,$0,$1"),
    ("csrci", "csrrci zero,$0,$1"),
];

/// Those that are only read.
const READ: &[(&str, &str)] = &[
    ("move", "addi $0,$1,0"),
    ("sgt", "slt @0,@2,@1"),
    ("sgtu", "sltu @0,@2,@1"),
    ("bgt", "blt $1,$0,$2"),
    ("ble", "bge $1,$0,$2"),
    ("bgtu", "bltu $1,$0,$2"),
    ("bleu", "bgeu $1,$0,$2"),
    ("scall", "ecall"),
    ("sbreak", "ebreak"),
];

/// What a name stands for: an instruction's name, and its operands.
pub(super) fn named(name: &str) -> impl Iterator<Item = (&'static str, Vec<&'static str>)> {
    PRINTED.iter().chain(READ).filter(move |(short, _)| *short == name).map(|(_, long)| split(long))
}

/// Which operand of the short name this one of the long name is.
pub(super) fn slot(part: &str) -> Option<usize> {
    part.strip_prefix(['$', '@'])?.parse().ok()
}

/// The short form of an instruction that is written in full.
pub(super) fn shortened(full: &str) -> Option<String> {
    let (name, operands) = split(full);
    PRINTED.iter().find_map(|&(short, long)| {
        let (other, parts) = split(long);
        let pairs = || parts.iter().zip(&operands);
        let fits = pairs().all(|(part, operand)| slot(part).is_some() || part == operand);
        let kept = pairs().filter(|(part, _)| slot(part).is_some()).map(|(_, &operand)| operand);
        let kept = kept.collect::<Vec<_>>().join(",");
        let text = if kept.is_empty() { short.to_owned() } else { format!("{short} {kept}") };
        (name == other && parts.len() == operands.len() && fits).then_some(text)
    })
}

fn split(text: &str) -> (&str, Vec<&str>) {
    let (name, operands) = text.split_once(' ').unwrap_or((text, ""));
    (name, operands.split(',').filter(|operand| !operand.is_empty()).collect())
}
