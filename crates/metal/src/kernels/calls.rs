//! One call a turn, in the forms that it takes on the way down: what [`crate::calls`] runs.
//!
//! The first three do the same work, the sum of two words, and differ in how they come to it: written into
//! the loop, as a function that is called, and as a function of a library that is called through the
//! procedure linkage table (PLT). The stub is the one that each architecture's ABI gives for it, with its
//! slot of the global offset table (GOT) filled in before the program starts, as linkers do by default today
//! (`-z now`). The other two call what they are told: a function by its address, and the kernel by a number.
//!
//! Registers that carry arguments may be changed by whoever is called, so each turn loads what it needs anew.

#[cfg_attr(target_arch = "aarch64", path = "calls/aarch64.rs")]
#[cfg_attr(target_arch = "riscv64", path = "calls/riscv64.rs")]
#[cfg_attr(target_arch = "x86_64", path = "calls/x86_64.rs")]
mod architecture;

pub(super) use architecture::{
    tenbin_kernel_call_direct, tenbin_kernel_call_function, tenbin_kernel_call_inlined,
    tenbin_kernel_call_system, tenbin_kernel_call_table,
};

/// What leaves the ordinary path on purpose, as `llvm-objdump` prints it.
pub(super) const DIRECT: &[&str] = architecture::DIRECT;
pub(super) const TABLE: &[&str] = architecture::TABLE;
pub(super) const FUNCTION: &[&str] = architecture::FUNCTION;

/// Arguments of a call, in the order of the ABI; those that the callee does not take are ignored by it.
pub(crate) type Arguments = [usize; 5];

/// Adds 1 to a sum `n` times, in the loop, and returns the sum.
pub(crate) fn inlined(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the loop touches its own registers only; it ends because `n` is not 0, checked above.
    unsafe { tenbin_kernel_call_inlined(n) }
}

/// Adds 1 to a sum by a function that is called `n` times, and returns the sum.
pub(crate) fn direct(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the function called is the kernel's own and touches registers; the stack holds the way back, as
    // the ABI allows every function; it ends because `n` is not 0, checked above.
    unsafe { tenbin_kernel_call_direct(n) }
}

/// As [`direct`], through an entry of a linkage table.
pub(crate) fn table(n: u64) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: as for `direct`; the slot that the stub loads is the kernel's own, filled when the program was
    // loaded.
    unsafe { tenbin_kernel_call_table(n) }
}

/// Calls the function at `entry` `n` times with `arguments` and returns its last answer; 0 if `n` is 0.
///
/// # Safety
///
/// At `entry` is a function of the C ABI that takes at most five words, returns one, does not unwind, and is
/// sound to call with `arguments` `n` times in a row.
pub(crate) unsafe fn function(n: u64, entry: usize, arguments: &Arguments) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller vouches for every call; the arguments are borrowed until the kernel is back, and it
    // ends because `n` is not 0.
    unsafe { tenbin_kernel_call_function(n, entry, arguments.as_ptr()) }
}

/// Makes the system call `number` `n` times with the first three of `arguments` and returns its last answer,
/// which is minus the error number where it failed; 0 if `n` is 0.
///
/// # Safety
///
/// The call is sound to make with `arguments` `n` times in a row, takes at most three, and does come back.
pub(crate) unsafe fn system(n: u64, number: usize, arguments: &Arguments) -> u64 {
    if n == 0 {
        return 0;
    }
    // SAFETY: the caller vouches for every call; the arguments are borrowed until the kernel is back, and it
    // ends because `n` is not 0.
    unsafe { tenbin_kernel_call_system(n, number, arguments.as_ptr()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What it is given, as digits: an argument in the wrong register changes the answer.
    extern "C" fn digits(one: usize, two: usize, three: usize, four: usize, five: usize) -> usize {
        [one, two, three, four, five].into_iter().fold(0, |number, digit| number * 10 + digit)
    }

    /// Counts the calls in the memory that it is given, and spoils every register that a function may.
    extern "C" fn count(counter: *mut u64) -> u64 {
        let spoiled: f64 = std::hint::black_box([1.5, 2.5]).iter().sum();
        // SAFETY: the test hands over a word of its own.
        unsafe { *counter += u64::from(spoiled == 4.0) };
        // SAFETY: the same word.
        unsafe { *counter }
    }

    #[test]
    fn every_form_makes_as_many_calls_as_it_is_asked_for() {
        for n in [0, 1, 2, 3, 1000] {
            for form in [inlined, direct, table] {
                assert_eq!(form(n), n);
            }
            let mut calls = 0_u64;
            let arguments = [&raw mut calls as usize, 0, 0, 0, 0];
            // SAFETY: `count` is a C function that adds to the word that it is given, which lives until
            // after.
            let last = unsafe { function(n, count as *const () as usize, &arguments) };
            assert_eq!((last, calls), (n, n));
        }
    }

    #[test]
    fn arguments_arrive_in_the_order_of_the_abi() {
        // SAFETY: `digits` takes five words and touches no memory.
        let number = unsafe { function(3, digits as *const () as usize, &[1, 2, 3, 4, 5]) };
        assert_eq!(number, 12_345);
    }

    #[test]
    fn the_kernel_gets_its_three_arguments_and_its_number() {
        let (path, missing) = (c"/", c"/there is no such file");
        for (path, expected) in [(path, 0), (missing, -i64::from(libc::ENOENT))] {
            // AT_FDCWD, the path, and whether it exists.
            let arguments = [libc::AT_FDCWD as usize, path.as_ptr() as usize, libc::F_OK as usize, 0, 0];
            // SAFETY: faccessat takes three arguments, reads a path that ends in NUL and lives on, and writes
            // nothing.
            let answer = unsafe { system(3, libc::SYS_faccessat as usize, &arguments) };
            assert_eq!(answer as i64, expected, "{path:?}");
        }
    }
}
