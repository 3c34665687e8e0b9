//! The requests of ptrace(2), with types.

use std::ffi::{c_uint, c_void};
use std::io;
use std::mem::size_of;
use std::ptr;

use rustix::process::WaitOptions;

use super::registers::{Registers, WORDS};
use super::{Stop, Thread};

/// A system call at its entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Entered {
    /// Its number on this architecture.
    pub number: u64,
    /// Of which architecture that number is, as the kernel's audit numbers them (linux/audit.h): a 64-bit
    /// kernel runs programs of 32 bits too.
    pub architecture: u32,
    /// Its argument registers, in the order of the kernel's convention.
    pub arguments: [u64; 6],
    /// Where the thread stands: behind the instruction that entered the kernel.
    pub instruction: u64,
    /// The stack pointer.
    pub stack: u64,
}

/// The general registers, as a set (elf.h).
const NT_PRSTATUS: usize = 1;

/// What `PTRACE_GET_SYSCALL_INFO` says a stop is (linux/ptrace.h).
const ENTRY: u8 = 1;
const EXIT: u8 = 2;

/// What is followed of a thread, and that its end is that of its tracees.
const FOLLOWED: libc::c_int = libc::PTRACE_O_EXITKILL
    | libc::PTRACE_O_TRACESYSGOOD
    | libc::PTRACE_O_TRACEFORK
    | libc::PTRACE_O_TRACEVFORK
    | libc::PTRACE_O_TRACECLONE
    | libc::PTRACE_O_TRACEEXEC;

/// Waits for threads too (`__WALL`), but for none that another thread of this process started
/// (`__WNOTHREAD`).
pub(crate) fn threads_too() -> WaitOptions {
    WaitOptions::from_bits_retain((libc::__WALL | libc::__WNOTHREAD).cast_unsigned())
}

/// Makes the caller a tracee of its parent. Allocates nothing.
pub(super) fn trace_me() -> io::Result<()> {
    // SAFETY: the request takes no address.
    unsafe { ask(libc::PTRACE_TRACEME, 0, 0, ptr::null_mut()) }
}

/// Has children and threads of a stopped thread traced too, and all of them killed when their tracer ends.
pub(super) fn follow(thread: Thread) -> io::Result<()> {
    let options = (FOLLOWED | libc::PTRACE_O_TRACEVFORKDONE).cast_unsigned();
    let options = ptr::without_provenance_mut(options as usize);
    // SAFETY: what is passed as the data is a number to this request.
    unsafe { ask(libc::PTRACE_SETOPTIONS, thread, 0, options) }
}

/// Lets a stopped thread go on, to its next system call or to an event.
pub(crate) fn resume(thread: Thread, to_system_call: bool, signal: i32) -> io::Result<()> {
    let request = if to_system_call { libc::PTRACE_SYSCALL } else { libc::PTRACE_CONT };
    let signal = ptr::without_provenance_mut(signal.unsigned_abs() as usize);
    // SAFETY: what is passed as the data is a number to these requests.
    unsafe { ask(request, thread, 0, signal) }
}

/// Traces a process that runs, without stopping it: its children and threads too, and all of them are killed
/// when their tracer ends. Stops of job control are told from signals then.
pub(crate) fn seize(process: Thread) -> io::Result<()> {
    let options = ptr::without_provenance_mut(FOLLOWED.cast_unsigned() as usize);
    // SAFETY: what is passed as the data is a number to this request.
    unsafe { ask(libc::PTRACE_SEIZE, process, 0, options) }
}

/// Stops a seized thread that runs.
pub(crate) fn interrupt(thread: Thread) -> io::Result<()> {
    // SAFETY: the request takes no address.
    unsafe { ask(libc::PTRACE_INTERRUPT, thread, 0, ptr::null_mut()) }
}

/// Leaves a seized thread that job control stopped as it is, and has it tell when that ends.
pub(crate) fn listen(thread: Thread) -> io::Result<()> {
    // SAFETY: the request takes no address.
    unsafe { ask(libc::PTRACE_LISTEN, thread, 0, ptr::null_mut()) }
}

/// Lets a stopped thread go for good, with a signal or none (0).
pub(crate) fn detach(thread: Thread, signal: i32) -> io::Result<()> {
    let signal = ptr::without_provenance_mut(signal.unsigned_abs() as usize);
    // SAFETY: what is passed as the data is a number to this request.
    unsafe { ask(libc::PTRACE_DETACH, thread, 0, signal) }
}

/// The number that belongs to the event a thread stopped for: of a birth, the child's.
pub(crate) fn message(thread: Thread) -> io::Result<u64> {
    let mut message: libc::c_ulong = 0;
    // SAFETY: the kernel writes one unsigned long to the data, which is one and lives until the call returns.
    unsafe { ask(libc::PTRACE_GETEVENTMSG, thread, 0, ptr::from_mut(&mut message).cast()) }?;
    Ok(message)
}

pub(super) fn registers(thread: Thread) -> io::Result<Registers> {
    let mut registers = Registers { words: [0; WORDS] };
    let mut part = part(&mut registers);
    // SAFETY: the data describes `registers`, which lives until the call returns; the kernel writes no more
    // than the length that stands there.
    unsafe { ask(libc::PTRACE_GETREGSET, thread, NT_PRSTATUS, ptr::from_mut(&mut part).cast()) }?;
    if part.iov_len == size_of::<[u64; WORDS]>() {
        return Ok(registers);
    }
    Err(io::Error::other("it has the registers of another architecture"))
}

pub(super) fn set_registers(thread: Thread, registers: &Registers) -> io::Result<()> {
    let mut registers = *registers;
    let mut part = part(&mut registers);
    // SAFETY: the data describes `registers`, which lives until the call returns; the kernel reads no more
    // than the length that stands there.
    unsafe { ask(libc::PTRACE_SETREGSET, thread, NT_PRSTATUS, ptr::from_mut(&mut part).cast()) }
}

fn part(registers: &mut Registers) -> libc::iovec {
    let words: *mut [u64; WORDS] = &mut registers.words;
    libc::iovec { iov_base: words.cast(), iov_len: size_of::<[u64; WORDS]>() }
}

/// What the system call is that a thread stopped at; none where the kernel says that it stands at none.
pub(crate) fn system_call(thread: Thread) -> io::Result<Option<Stop>> {
    // `struct ptrace_syscall_info` of ptrace(2) as words: 0 what it is and the architecture, 1 the
    // instruction pointer, 2 the stack pointer; at an entry 3 the number and 4 to 9 the arguments; at an exit
    // 3 the result.
    let mut words = [0_u64; 11];
    let size = size_of_val(&words);
    // SAFETY: the kernel writes at most as many bytes to the data as the address says, which is its size.
    unsafe { ask(libc::PTRACE_GET_SYSCALL_INFO, thread, size, words.as_mut_ptr().cast()) }?;
    let [first, instruction, stack, number, a, b, c, d, e, f, _] = words;
    let [what, _, _, _, architecture @ ..] = first.to_ne_bytes();
    let (architecture, arguments) = (u32::from_ne_bytes(architecture), [a, b, c, d, e, f]);
    Ok(match what {
        ENTRY => Some(Stop::Entered(Entered { number, architecture, arguments, instruction, stack })),
        EXIT => Some(Stop::Left { result: number.cast_signed() }),
        _ => None,
    })
}

/// One request.
///
/// # Safety
/// Where `request` has the kernel read or write memory of the caller, `data` must point to as much as it
/// reads or writes.
unsafe fn ask(request: c_uint, thread: Thread, address: usize, data: *mut c_void) -> io::Result<()> {
    let address: *mut c_void = ptr::without_provenance_mut(address);
    // SAFETY: the caller vouches for the data; the address is a number to every request that is made here.
    match unsafe { libc::ptrace(request, thread, address, data) } {
        -1 => Err(io::Error::last_os_error()),
        _ => Ok(()),
    }
}
