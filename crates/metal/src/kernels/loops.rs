//! Loops that do one thing a known number of times.

use super::{calls, exchange, lines};
use crate::stack;

#[cfg_attr(target_arch = "aarch64", path = "loops/aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "loops/riscv64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "loops/x86_64.rs")]
mod architecture;

/// A loop, as a test of the binary has to know it.
#[derive(Debug)]
pub struct Counted {
    /// The function's symbol in the binary.
    pub symbol: &'static str,
    /// What it does, in a few words.
    pub name: &'static str,
    /// Mnemonics that its disassembly must hold, as `llvm-objdump` prints them. What would be forbidden in a
    /// kernel (a system call, the stack) may stand in one whose purpose it is, and is then named here.
    pub instruction: &'static [&'static str],
    /// Where its code begins. A loop that nothing calls yet is in the binary for this, and is read there.
    pub code: *const (),
}

/// A [`Counted`] whose symbol is the name of its function.
macro_rules! counted {
    ($module:ident::$symbol:ident, $name:literal, $instruction:expr) => {
        Counted {
            symbol: stringify!($symbol),
            name: $name,
            instruction: $instruction,
            code: $module::$symbol as *const (),
        }
    };
}

/// Every loop of this architecture.
pub const LOOPS: &[Counted] = &[
    counted!(architecture::tenbin_kernel_empty_loop, "empty loop", &[]),
    counted!(architecture::tenbin_kernel_empty_loop_one_short, "empty loop, one turn short", &[]),
    counted!(architecture::tenbin_kernel_hints, "hints to the CPU", &[super::HINT]),
    counted!(architecture::tenbin_kernel_dependent_additions, "dependent additions", &[]),
    counted!(
        architecture::tenbin_kernel_dependent_multiplications,
        "dependent multiplications",
        architecture::MULTIPLICATION
    ),
    counted!(architecture::tenbin_kernel_parent_process, "getppid", architecture::SYSTEM_CALL),
    counted!(architecture::tenbin_kernel_chase, "chase of pointers", &[]),
    counted!(architecture::tenbin_kernel_sum_of_words, "sum of words", &[]),
    counted!(architecture::tenbin_kernel_copies, "copies of one loop", architecture::STACK_STORE),
    counted!(architecture::tenbin_kernel_on_lower_stack, "call on a lower stack", architecture::STACK_MOVE),
    counted!(lines::tenbin_kernel_store_lines, "stores, one a line", lines::STORE),
    counted!(lines::tenbin_kernel_load_lines, "loads, one a line", lines::LOAD),
    counted!(exchange::tenbin_kernel_swaps, "exchange by swaps", exchange::SWAPS),
    counted!(exchange::tenbin_kernel_flags_lead, "exchange by flags, leading", exchange::FLAGS),
    counted!(exchange::tenbin_kernel_flags_follow, "exchange by flags, following", exchange::FLAGS),
    counted!(calls::tenbin_kernel_call_inlined, "sum, inlined", &[]),
    counted!(calls::tenbin_kernel_call_direct, "sum, called", calls::DIRECT),
    counted!(calls::tenbin_kernel_call_table, "sum, called through a table", calls::TABLE),
    counted!(calls::tenbin_kernel_call_function, "call of a function", calls::FUNCTION),
    counted!(calls::tenbin_kernel_call_system, "call of the system", architecture::SYSTEM_CALL),
];

/// Instructions in one turn of [`dependent_additions`] and of [`dependent_multiplications`].
pub const CHAIN: u64 = 64;

/// Instructions in one turn of [`empty_loop`] on this architecture.
pub const TURN: u64 = architecture::TURN;

/// Regions of memory that hold copies of the loop that [`copy_on_lower_stack`] runs.
pub const REGIONS: usize = 8;

/// Copies in each region, at different offsets from the lines of caches and decoders.
pub const PLACES: usize = 32;

/// Distance between two copies, before each is moved by its own offset.
const COPY_SPACING: usize = 256;

/// Counts to `n` in a register, one dependent addition an iteration, and returns the count.
///
/// The work of the `null` experiment. The step is added from a register: recent x86 cores compute additions
/// of small immediates while renaming (Intel since Alder Lake), which would leave nothing to measure.
pub fn empty_loop(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the loop touches its own registers only; it ends because `n` is not 0, checked above.
    unsafe { architecture::tenbin_kernel_empty_loop(n) }
}

/// The planted fault of the `null` experiment: as [`empty_loop`], but stops one short of `n`.
pub fn empty_loop_one_short(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the loop touches its own registers only; it ends because `n` is not 0, checked above.
    unsafe { architecture::tenbin_kernel_empty_loop_one_short(n) }
}

/// Runs the instruction [`super::HINT`] `n` times, exactly as a wait does, and returns `n`.
///
/// Timing this gives the length of one hint here, which a [`super::Backoff`] in nanoseconds needs.
pub fn hints(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the loop touches its own registers only, and the hint is one that every CPU of the
    // architecture executes, by its manual; it ends because `n` is not 0, checked above.
    unsafe { architecture::tenbin_kernel_hints(n) }
}

/// Adds 1 to a register [`CHAIN`] times in each of `n` turns and returns the sum, [`CHAIN`] · `n`.
///
/// Each addition waits for the one before it, so a turn takes [`CHAIN`] times the latency of an addition,
/// which is one cycle on every core that Linux runs on at speed; what counts the turns runs beside the chain.
pub fn dependent_additions(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the loop touches its own registers only; it ends because `n` is not 0, checked above.
    unsafe { architecture::tenbin_kernel_dependent_additions(n) }
}

/// Multiplies a register by 3 [`CHAIN`] times in each of `n` turns and returns the product, which is
/// [`product_of_threes`].
///
/// As [`dependent_additions`], with the latency of a multiplication: three cycles for 32 bits on x86-64
/// (Intel since Nehalem, AMD since Zen; Agner Fog, "Instruction tables"), a whole number elsewhere.
pub fn dependent_multiplications(n: u64) -> u64 {
    if n == 0 {
        return 1;
    }
    // SAFETY: the loop touches its own registers only; it ends because `n` is not 0, checked above.
    unsafe { architecture::tenbin_kernel_dependent_multiplications(n) }
}

/// What [`dependent_multiplications`] returns if it does its work, computed without it: 3 to the power of
/// [`CHAIN`] · `n`, as wide as this architecture's chain multiplies.
pub fn product_of_threes(n: u64) -> u64 {
    let product = (0..CHAIN * n).fold(1_u64, |product, _| product.wrapping_mul(3));
    product & (u64::MAX >> (u64::BITS - architecture::PRODUCT_BITS))
}

/// Asks the kernel `n` times for the number of the parent process, and returns the last answer.
///
/// The cheapest call that does some work; no library stands in between, so nothing can be remembered.
pub fn parent_process(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: getppid takes no argument, writes to no memory of the caller and cannot fail; the registers
    // that a system call changes are ones that a C function may change; it ends because `n` is not 0.
    unsafe { architecture::tenbin_kernel_parent_process(n) }
}

/// Follows `n` pointers from `start` on and returns the last one read; `start` itself if `n` is 0.
///
/// # Safety
///
/// Whatever can be reached from `start` in `n` steps is the address of a pointer-sized word, aligned, that
/// may be read and that nobody writes meanwhile.
pub unsafe fn chase(start: usize, n: u64) -> usize {
    if n == 0 {
        return start;
    }
    // SAFETY: the caller guarantees every load; the loop ends because `n` is not 0, checked above.
    unsafe { architecture::tenbin_kernel_chase(n, start) as usize }
}

/// The sum of all words of `bytes`, modulo 2⁶⁴; what does not fill a word counts by the byte.
///
/// Four words a turn, of which none waits for another: a reader that does next to nothing with what it reads.
pub fn sum_of_words(bytes: &[u8]) -> u64 {
    const WORD: usize = size_of::<u64>();
    let (turns, rest) = bytes.as_chunks::<{ 4 * WORD }>();
    let sum = match turns.len() as u64 {
        0 => 0,
        // SAFETY: the kernel loads four words a turn from the first on, all of them borrowed; a program may
        // load from any address on these architectures (on RISC-V the kernel sees to it); it ends because the
        // count is not 0.
        n => unsafe { architecture::tenbin_kernel_sum_of_words(n, turns.as_ptr().addr()) },
    };
    let (words, rest) = rest.as_chunks::<WORD>();
    let words = words.iter().map(|&word| u64::from_ne_bytes(word));
    words.chain(rest.iter().map(|&byte| u64::from(byte))).fold(sum, u64::wrapping_add)
}

/// Runs one loop for `n` turns and returns `n`: the copy number `place` of those in `region`, on a stack that
/// begins `lower` bytes below this one. Copies differ in addresses and in nothing else.
///
/// A turn adds to a register, stores the sum on the stack, and branches on three bits of the count: how
/// branches share lines with each other is what predictors and decoders are sensitive to. `lower` is rounded
/// up to 16, as stacks are.
///
/// # Panics
///
/// If there is no such copy, or `lower` is a page or more: guard pages are not jumped over.
pub fn copy_on_lower_stack(n: u64, region: usize, place: usize, lower: usize) -> u64 {
    assert!(region < REGIONS && place < PLACES, "there is no copy {place} in region {region}");
    if n == 0 {
        return 0;
    }
    let first = (architecture::tenbin_kernel_copies as *const () as usize).next_multiple_of(COPY_SPACING);
    let entry = first + (region * PLACES + place) * COPY_SPACING + place * architecture::COPY_STEP;
    // SAFETY: `entry` is the first instruction of a copy, by the layout that the assembler was told and that
    // a test holds against every copy; each has the signature of a counted loop.
    let copy = unsafe { std::mem::transmute::<usize, extern "C" fn(u64) -> u64>(entry) };
    // SAFETY: the copy stores one word in the room that is made for it, and ends because `n` is not 0.
    unsafe { on_lower_stack(copy, n, lower) }
}

/// Calls `entry` with `argument` on a stack that begins at least `lower` bytes below this one, and returns
/// what it returns. There is room for one word of the callee's where its stack begins.
///
/// # Safety
///
/// `entry` does what it does soundly when it is given `argument`, and does not unwind.
///
/// # Panics
///
/// If `lower` is a page or more: guard pages are not jumped over.
pub(crate) unsafe fn on_lower_stack(entry: extern "C" fn(u64) -> u64, argument: u64, lower: usize) -> u64 {
    assert!(lower < stack::SPAN, "a stack {lower} bytes lower may lie beyond its guard page");
    let lower = lower.max(16).next_multiple_of(16);
    // SAFETY: `entry` is a function, called as its ABI says: aligned, on this thread's own stack, and with
    // what the caller vouches for. The stack is what it was when it returns.
    unsafe { architecture::tenbin_kernel_on_lower_stack(argument, entry as usize, lower) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loops_return_the_count_that_they_made() {
        for n in [0, 1, 2, 3, 1000] {
            assert_eq!(empty_loop(n), n);
            assert_eq!(empty_loop_one_short(n), n.saturating_sub(1));
            assert_eq!(hints(n), n);
        }
    }

    #[test]
    fn chains_do_every_operation() {
        for n in [0, 1, 2, 3, 1000] {
            assert_eq!(dependent_additions(n), CHAIN * n);
            assert_eq!(dependent_multiplications(n), product_of_threes(n));
        }
    }

    #[test]
    fn every_loop_begins_on_a_boundary_of_64_bytes() {
        for counted in LOOPS {
            assert_eq!(counted.code.addr() % 64, 0, "{}", counted.symbol);
        }
    }

    #[test]
    fn the_kernel_names_the_parent_process() {
        let parent = u64::from(std::os::unix::process::parent_id());
        assert_eq!(parent_process(1), parent);
        assert_eq!(parent_process(1000), parent);
        assert_eq!(parent_process(0), 0);
    }

    #[test]
    fn a_chase_follows_every_pointer_once() {
        let mut ring = vec![0_usize; 5];
        let base = ring.as_ptr() as usize;
        for (place, next) in [(0, 3), (3, 1), (1, 4), (4, 2), (2, 0)] {
            ring[place] = base + next * size_of::<usize>();
        }
        for (n, place) in [(0, 0), (1, 3), (2, 1), (3, 4), (4, 2), (5, 0), (12, 1)] {
            // SAFETY: each word holds the address of another one of the ring, which is alive and not written.
            let end = unsafe { chase(base, n) };
            assert_eq!(end, base + place * size_of::<usize>(), "{n} steps");
        }
        drop(ring);
    }

    #[test]
    fn a_sum_has_every_word_and_every_byte_behind_them() {
        let bytes: Vec<u8> = (0..200_u64).map(|place| ((place * 0x9e37) >> 3) as u8).collect();
        for (from, to) in [(0, 0), (0, 7), (0, 8), (0, 9), (0, 64), (3, 3 + 40), (1, 200)] {
            let (words, rest) = bytes[from..to].as_chunks::<8>();
            let words = words.iter().fold(0_u64, |sum, word| sum.wrapping_add(u64::from_ne_bytes(*word)));
            let expected = rest.iter().fold(words, |sum, &byte| sum.wrapping_add(u64::from(byte)));
            assert_eq!(sum_of_words(&bytes[from..to]), expected, "bytes {from} to {to}");
        }
    }

    #[test]
    fn every_copy_counts_on_every_stack() {
        for (region, place) in (0..REGIONS).flat_map(|region| (0..PLACES).map(move |place| (region, place))) {
            for lower in [0, 1, 16, 2_000, 4_095] {
                for n in [0, 1, 2, 100] {
                    let counted = copy_on_lower_stack(n, region, place, lower);
                    assert_eq!(counted, n, "copy {place} in region {region}, {lower} bytes lower");
                }
            }
        }
    }
}
