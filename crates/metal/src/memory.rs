//! The heap: the C library's, and a sentence where it has nothing left.
//!
//! Where memory runs out the standard library ends the process by `SIGABRT`, as a fault of the program would.
//! A limit that the user set (`ulimit -v`) is none: it is told, and the process ends with the status of a
//! failure.

use std::alloc::{GlobalAlloc, Layout, System};

/// The exit status of "tenbin failed".
const FAILED: i32 = 1;

/// The allocator of the C library. A request that it cannot meet ends the process with a sentence on standard
/// error.
#[derive(Clone, Copy, Debug)]
pub struct Heap;

// SAFETY: every method hands its arguments on to `System`, whose contract is the same, and what comes back is
// what it gave; it is null never, which the contract allows.
unsafe impl GlobalAlloc for Heap {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        // SAFETY: the caller keeps the contract of this method, which is that of `System`'s.
        there(unsafe { System.alloc(layout) }, layout.size())
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        // SAFETY: as above.
        there(unsafe { System.alloc_zeroed(layout) }, layout.size())
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as above; `pointer` came from `System`.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        // SAFETY: as above; `pointer` came from `System`.
        there(unsafe { System.realloc(pointer, layout, size) }, size)
    }
}

/// `pointer`, if there is one.
fn there(pointer: *mut u8, size: usize) -> *mut u8 {
    if pointer.is_null() {
        exhausted(size);
    }
    pointer
}

/// Says that `size` bytes cannot be had, and ends the process. Nothing is allocated.
#[cold]
fn exhausted(size: usize) -> ! {
    let mut digits = [0; 20];
    let digits = decimal(size, &mut digits);
    let parts: [&[u8]; 3] = [
        b"tenbin: allocate ",
        digits,
        b" bytes: there is no memory left; free some, raise the limit that is set (ulimit -v), or ask for less\n",
    ];
    for part in parts {
        // SAFETY: the bytes are live, and as many as the length says. A standard error that is closed is no
        // reason to fail.
        let _ = unsafe { libc::write(libc::STDERR_FILENO, part.as_ptr().cast(), part.len()) };
    }
    // SAFETY: it takes a number and does not return; no destructor is run, which could allocate.
    unsafe { libc::_exit(FAILED) }
}

/// A number in decimal, at the end of `digits`.
fn decimal(mut number: usize, digits: &mut [u8; 20]) -> &[u8] {
    let mut first = digits.len();
    loop {
        first -= 1;
        digits[first] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            return &digits[first..];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_in_decimal() {
        for number in [0, 7, 10, 41_943_040, usize::MAX] {
            assert_eq!(decimal(number, &mut [0; 20]), number.to_string().as_bytes());
        }
    }
}
