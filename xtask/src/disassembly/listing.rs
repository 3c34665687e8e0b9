//! What llvm-objdump prints, as instructions.

/// One instruction. A prefix that is printed alone (`lock`) counts as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Instruction {
    pub(super) address: u64,
    pub(super) mnemonic: String,
    pub(super) operands: String,
}

impl Instruction {
    /// The address that it names and the disassembler resolved: `0x10` of `a0, 0x10 <symbol>`.
    pub(super) fn target(&self) -> Option<u64> {
        let before = self.operands.split(" <").next()?;
        let number = before.rsplit([' ', ',']).next()?.strip_prefix("0x")?;
        u64::from_str_radix(number, 16).ok()
    }
}

/// The instructions in `text`, in order.
pub(super) fn parse(text: &str) -> Vec<Instruction> {
    text.lines().filter_map(line).flatten().collect()
}

/// `  1f:      \tlock\t\txaddq\t%rax, (%rdi) # note`
fn line(line: &str) -> Option<Vec<Instruction>> {
    let (address, rest) = line.split_once(':')?;
    let address = u64::from_str_radix(address.trim(), 16).ok()?;
    let code = rest.split_once('\t')?.1;
    // A note names a symbol or repeats a number. It is no operand.
    let code = code
        .split([';', '#'])
        .next()
        .filter(|_| code.contains(" # ") || code.contains(" ; "))
        .unwrap_or(code);
    let mut fields = code.split('\t').map(str::trim).filter(|field| !field.is_empty());
    let mut instructions = Vec::new();
    let mut mnemonic = fields.next()?;
    let mut operands = fields.collect::<Vec<_>>();
    while is_prefix(mnemonic) && !operands.is_empty() {
        instructions.push(Instruction { address, mnemonic: mnemonic.into(), operands: String::new() });
        mnemonic = operands.remove(0);
    }
    instructions.push(Instruction { address, mnemonic: mnemonic.into(), operands: operands.join(" ") });
    Some(instructions)
}

/// Prefixes of x86 that may stand before an instruction on the same line.
fn is_prefix(mnemonic: &str) -> bool {
    ["lock", "rep", "repe", "repne", "notrack", "xacquire", "xrelease", "data16"].contains(&mnemonic)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(text: &str) -> Vec<(u64, String, String)> {
        parse(text).into_iter().map(|it| (it.address, it.mnemonic, it.operands)).collect()
    }

    #[test]
    fn headings_are_no_instructions_and_prefixes_are() {
        let text = "\n/x/tenbin:\tfile format elf64-x86-64\n\nDisassembly of section .text:\n\n\
                    0000000000000000 <tenbin_kernel_x>:\n\
                    \x20      0:      \tlock\n\
                    \x20      1:      \txaddq\t%rax, (%rdi)\n\
                    \x20      a:      \trep\t\tmovsb\t(%rsi), %es:(%rdi)\n\
                    \x20     11:      \tmovq\t0x9(%rip), %rax # 0x21 <foo>\n\
                    \x20     20:      \tretq\n";
        let expected = [
            (0x0, "lock", ""),
            (0x1, "xaddq", "%rax, (%rdi)"),
            (0xa, "rep", ""),
            (0xa, "movsb", "(%rsi), %es:(%rdi)"),
            (0x11, "movq", "0x9(%rip), %rax"),
            (0x20, "retq", ""),
        ];
        let expected =
            expected.map(|(address, mnemonic, operands)| (address, mnemonic.into(), operands.into()));
        assert_eq!(shape(text), expected);
    }

    #[test]
    fn an_immediate_of_arm_is_no_note_and_data_is_shown_as_data() {
        let text = "      1c:      \tsubs\tx1, x1, #0x1\n      2c: 01 00 00 00  \t.word\t0x00000001\n";
        assert_eq!(shape(text)[0].2, "x1, x1, #0x1");
        assert_eq!(shape(text)[1].1, ".word");
    }

    #[test]
    fn targets_are_resolved() {
        let target = |line: &str| parse(line)[0].target();
        assert_eq!(target("  10: \tb.ne\t0x1c <a>"), Some(0x1c));
        assert_eq!(target("  10: \tbeq\ta1, a0, 0x8 <a+0x8>"), Some(0x8));
        assert_eq!(target("  10: \tcbnz\tx1, 0x4"), Some(0x4));
        assert_eq!(target("  10: \tjmpq\t*%rax"), None);
    }
}
