//! The general registers of a stopped thread, and which of them the calling convention of functions uses.

/// Where the registers of an architecture lie in its set `NT_PRSTATUS`, counted in words of 8 bytes.
///
/// Sources: `struct user_regs_struct` of sys/user.h and asm/ptrace.h; the System V AMD64 ABI, AAPCS64 and the
/// RISC-V ELF psABI for the roles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Layout {
    /// Words in the set.
    pub words: usize,
    /// The registers of a function's first arguments that are integers or pointers, in order.
    pub arguments: &'static [usize],
    /// The register of its result.
    pub result: usize,
    /// The register of its return address; none where it lies on the stack.
    pub link: Option<usize>,
    /// The stack pointer.
    pub stack: usize,
    /// The instruction pointer.
    pub instruction: usize,
    /// The instruction of a breakpoint: as short as one can be, so that it spoils one instruction only.
    pub breakpoint: &'static [u8],
    /// How far behind a breakpoint the instruction pointer stands when it was hit.
    pub behind: u64,
}

impl Layout {
    /// x86-64: rdi, rsi, rdx, rcx, r8, r9; `int3`.
    pub const X86_64: Self = Self {
        words: 27,
        arguments: &[14, 13, 12, 11, 9, 8],
        result: 10,
        link: None,
        stack: 19,
        instruction: 16,
        breakpoint: &[0xcc],
        behind: 1,
    };
    /// arm64: x0 to x7, x30; `brk #0`.
    pub const AARCH64: Self = Self {
        words: 34,
        arguments: &[0, 1, 2, 3, 4, 5, 6, 7],
        result: 0,
        link: Some(30),
        stack: 31,
        instruction: 32,
        breakpoint: &[0x00, 0x00, 0x20, 0xd4],
        behind: 0,
    };
    /// riscv64: a0 to a7, ra; `c.ebreak`.
    pub const RISCV64: Self = Self {
        words: 32,
        arguments: &[10, 11, 12, 13, 14, 15, 16, 17],
        result: 10,
        link: Some(1),
        stack: 2,
        instruction: 0,
        breakpoint: &[0x02, 0x90],
        behind: 0,
    };
    /// Of the machine that this was built for.
    #[cfg(target_arch = "x86_64")]
    pub const HERE: Self = Self::X86_64;
    /// Of the machine that this was built for.
    #[cfg(target_arch = "aarch64")]
    pub const HERE: Self = Self::AARCH64;
    /// Of the machine that this was built for.
    #[cfg(target_arch = "riscv64")]
    pub const HERE: Self = Self::RISCV64;
}

/// Words in the set of this architecture.
pub(super) const WORDS: usize = Layout::HERE.words;

/// The instruction of a breakpoint, as an array.
pub(super) const BREAK: [u8; Layout::HERE.breakpoint.len()] = {
    let mut bytes = [0; Layout::HERE.breakpoint.len()];
    bytes.copy_from_slice(Layout::HERE.breakpoint);
    bytes
};

/// The general registers of a stopped thread of this architecture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Registers {
    pub(super) words: [u64; WORDS],
}

impl Registers {
    /// The argument `number`, from 0, of the function whose entry the thread stands at; none where it is not
    /// passed in a register.
    pub fn argument(&self, number: usize) -> Option<u64> {
        Layout::HERE.arguments.get(number).map(|&word| self.words[word])
    }

    /// The result of the function that the thread has just returned from.
    pub fn result(&self) -> u64 {
        self.words[Layout::HERE.result]
    }

    /// The return address of the function whose entry the thread stands at; none where the stack holds it.
    pub fn link(&self) -> Option<u64> {
        Layout::HERE.link.map(|word| self.words[word])
    }

    /// The stack pointer.
    pub fn stack(&self) -> u64 {
        self.words[Layout::HERE.stack]
    }

    /// The instruction pointer.
    pub fn instruction(&self) -> u64 {
        self.words[Layout::HERE.instruction]
    }

    /// Where the breakpoint stands that the thread has just met.
    pub(super) fn trapped_at(&self) -> u64 {
        self.instruction().wrapping_sub(Layout::HERE.behind)
    }

    pub(super) fn set_instruction(&mut self, at: u64) {
        self.words[Layout::HERE.instruction] = at;
    }
}
