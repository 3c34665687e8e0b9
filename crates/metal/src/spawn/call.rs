//! The system call that makes a child, and all that the child does, in one piece of assembler.
//!
//! The child never leaves that piece: no instruction of a compiler's runs in it, so it needs no stack,
//! returns nowhere and cannot run anything of its parent's by accident. It uses registers, and memory only if
//! it is watched.
//!
//! Order of the arguments of `clone(2)`: flags, stack, parent's word; then on x86-64 the child's word and its
//! thread pointer, on arm64 and RISC-V the other way round.

use std::ffi::c_char;

use libc::c_long;

#[derive(Clone, Copy)]
pub(super) struct Call {
    number: c_long,
    arguments: [u64; 5],
}

/// `clone` with these flags and this stack, 0 for the parent's own; `thread` is both words for the child's
/// number.
pub(super) fn clone(flags: u64, stack: u64, thread: *mut u32) -> Call {
    let word = thread.addr() as u64;
    let arguments = if cfg!(target_arch = "x86_64") {
        [flags, stack, word, word, 0]
    } else {
        [flags, stack, word, 0, word]
    };
    Call { number: libc::SYS_clone, arguments }
}

pub(super) fn clone3(arguments: &Clone3) -> Call {
    let address = std::ptr::from_ref(arguments).expose_provenance() as u64;
    Call { number: libc::SYS_clone3, arguments: [address, size_of::<Clone3>() as u64, 0, 0, 0] }
}

/// `struct clone_args` in its first version (Linux 5.3, `include/uapi/linux/sched.h`).
#[derive(Default)]
#[repr(C)]
pub(super) struct Clone3 {
    pub(super) flags: u64,
    pub(super) pidfd: u64,
    pub(super) child_tid: u64,
    pub(super) parent_tid: u64,
    pub(super) exit_signal: u64,
    pub(super) stack: u64,
    pub(super) stack_size: u64,
    pub(super) tls: u64,
}

/// Where a child that is watched leaves word. The assembler knows the order.
#[repr(C)]
pub(super) struct Note {
    /// The child reads it.
    pub(super) answer: *mut u64,
    /// The child writes there what it read: in its own memory, whoever else has that.
    pub(super) heard: *mut u64,
    /// The child writes the same there, in memory that all processes share.
    pub(super) read: *mut u64,
    /// The child adds 1 there, in memory that all processes share.
    pub(super) runs: *mut u64,
}

/// What a child executes (`execveat` of an open file, Linux 3.19). The assembler knows the order.
#[repr(C)]
pub(super) struct Program {
    pub(super) file: u64,
    pub(super) path: *const c_char,
    pub(super) arguments: *const *const c_char,
    pub(super) environment: *const *const c_char,
}

/// How a child is made and what it does: it leaves word if it has a note, executes a program if it has one,
/// and ends with a status.
pub(super) struct Birth<'a> {
    pub(super) call: Call,
    pub(super) note: Option<&'a Note>,
    pub(super) program: Option<&'a Program>,
    pub(super) status: i32,
    /// It is a thread, and ends alone.
    pub(super) thread: bool,
}

/// Makes a child. What the parent was answered: the child's number, or less than 0.
///
/// # Safety
/// The addresses in the note and in the program are those of live words, of which `heard`, `read` and `runs`
/// are only accessed as atomics; the program's path is an empty string and its lists end with a null. All of
/// that, and what the call's arguments point to, lives until the child has ended, which the caller has to
/// wait for. A stack that the call names belongs to the child until then; where it names none and the memory
/// is shared, the call holds the parent until the child has ended.
pub(super) unsafe fn make(birth: &Birth<'_>) -> i64 {
    let Call { number, arguments: [first, second, third, fourth, fifth] } = birth.call;
    let note = birth.note.map_or(std::ptr::null(), std::ptr::from_ref);
    let program = birth.program.map_or(std::ptr::null(), std::ptr::from_ref);
    let end = if birth.thread { libc::SYS_exit } else { libc::SYS_exit_group };
    let status = i64::from(birth.status);
    let answer: i64;
    #[cfg(target_arch = "x86_64")]
    // SAFETY: the parent goes from the call to the end and changes what is listed. The child, for whom the
    // call answers 0, never gets there: it ends, or becomes another program. What it accesses is alive, by
    // what the caller promises, and it touches no stack.
    unsafe {
        std::arch::asm!(
            "syscall",
            "test rax, rax",
            "jnz 6f",
            "test r12, r12",
            "jz 3f",
            "mov rax, [r12]",
            "mov rax, [rax]",
            "mov rcx, [r12 + 8]",
            "mov [rcx], rax",
            "mov rcx, [r12 + 16]",
            "mov [rcx], rax",
            "mov rcx, [r12 + 24]",
            "lock inc qword ptr [rcx]",
            "3:",
            "test r13, r13",
            "jz 4f",
            "mov rdi, [r13]",
            "mov rsi, [r13 + 8]",
            "mov rdx, [r13 + 16]",
            "mov r10, [r13 + 24]",
            "mov r8d, 0x1000", // AT_EMPTY_PATH
            "mov eax, 322", // execveat
            "syscall",
            "mov r14d, 127", // it came back: no program
            "4:",
            "mov rdi, r14",
            "mov rax, r15",
            "syscall",
            "ud2",
            "6:",
            inlateout("rax") number => answer,
            in("rdi") first,
            in("rsi") second,
            in("rdx") third,
            in("r10") fourth,
            in("r8") fifth,
            in("r12") note,
            in("r13") program,
            in("r14") status,
            in("r15") end,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    #[cfg(target_arch = "aarch64")]
    // SAFETY: as for x86-64.
    unsafe {
        std::arch::asm!(
            "svc #0",
            "cbnz x0, 6f",
            "cbz x9, 3f",
            "ldr x1, [x9]",
            "ldr x1, [x1]",
            "ldr x2, [x9, #8]",
            "str x1, [x2]",
            "ldr x2, [x9, #16]",
            "str x1, [x2]",
            "ldr x2, [x9, #24]",
            "5:",
            "ldxr x3, [x2]",
            "add x3, x3, #1",
            "stxr w4, x3, [x2]",
            "cbnz w4, 5b",
            "3:",
            "cbz x10, 4f",
            "ldr x0, [x10]",
            "ldr x1, [x10, #8]",
            "ldr x2, [x10, #16]",
            "ldr x3, [x10, #24]",
            "mov x4, #0x1000", // AT_EMPTY_PATH
            "mov x8, #281", // execveat
            "svc #0",
            "mov x11, #127", // it came back: no program
            "4:",
            "mov x0, x11",
            "mov x8, x12",
            "svc #0",
            "brk #1",
            "6:",
            inlateout("x0") first => answer,
            in("x1") second,
            in("x2") third,
            in("x3") fourth,
            in("x4") fifth,
            in("x8") number,
            in("x9") note,
            in("x10") program,
            in("x11") status,
            in("x12") end,
            options(nostack),
        );
    }
    #[cfg(target_arch = "riscv64")]
    // SAFETY: as for x86-64.
    unsafe {
        std::arch::asm!(
            "ecall",
            "bnez a0, 6f",
            "beqz t0, 3f",
            "ld a1, 0(t0)",
            "ld a1, 0(a1)",
            "ld a2, 8(t0)",
            "sd a1, 0(a2)",
            "ld a2, 16(t0)",
            "sd a1, 0(a2)",
            "ld a2, 24(t0)",
            "li a3, 1",
            "amoadd.d zero, a3, (a2)",
            "3:",
            "beqz t1, 4f",
            "ld a0, 0(t1)",
            "ld a1, 8(t1)",
            "ld a2, 16(t1)",
            "ld a3, 24(t1)",
            "li a4, 0x1000", // AT_EMPTY_PATH
            "li a7, 281", // execveat
            "ecall",
            "li t2, 127", // it came back: no program
            "4:",
            "mv a0, t2",
            "mv a7, t3",
            "ecall",
            "ebreak",
            "6:",
            inlateout("a0") first => answer,
            in("a1") second,
            in("a2") third,
            in("a3") fourth,
            in("a4") fifth,
            in("a7") number,
            in("t0") note,
            in("t1") program,
            in("t2") status,
            in("t3") end,
            options(nostack),
        );
    }
    answer
}
