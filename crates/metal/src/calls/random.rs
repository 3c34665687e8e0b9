//! The state that `getrandom` of the vDSO draws from, which the caller keeps.
//!
//! How it is asked for, mapped and handed over is in `include/vdso/getrandom.h`, `lib/vdso/getrandom.c` and
//! `tools/testing/selftests/vDSO/vdso_test_getrandom.c` of the kernel: called with an opaque length of all
//! ones the function describes what it needs, and a state is good for one caller at a time.

use std::ptr::{self, NonNull};

use rustix::mm::munmap;

use crate::kernels::calls;

/// `struct vgetrandom_opaque_params`.
#[repr(C)]
#[derive(Default)]
struct Wanted {
    /// Bytes of one state.
    state: u32,
    /// How its memory is to be mapped: protection and flags of `mmap(2)`.
    protection: u32,
    flags: u32,
    reserved: [u32; 13],
}

/// A state, alone in memory of its own.
#[derive(Debug)]
pub(super) struct State {
    start: NonNull<u8>,
    mapped: usize,
    length: usize,
}

// SAFETY: the memory is this value's own; nothing of it is tied to a thread, as long as one at a time uses
// it.
unsafe impl Send for State {}

impl State {
    /// A state for the function at `entry`, which is `getrandom` of the vDSO; none where it will not say what
    /// it needs.
    pub(super) fn of(entry: usize) -> Option<Self> {
        let mut wanted = Wanted::default();
        let arguments = [0, 0, 0, &raw mut wanted as usize, usize::MAX];
        // SAFETY: with this length the function writes its description to the fourth argument and nothing
        // else.
        let answer = unsafe { calls::function(1, entry, &arguments) };
        let length = wanted.state as usize;
        // One state in one page: it may not lie on the border of two.
        let mapped = rustix::param::page_size();
        if answer != 0 || length == 0 || length > mapped {
            return None;
        }
        // SAFETY: new memory where the kernel likes, of the kind that it asked for itself.
        let start = unsafe {
            libc::mmap(ptr::null_mut(), mapped, wanted.protection as i32, wanted.flags as i32, -1, 0)
        };
        if start == libc::MAP_FAILED {
            return None;
        }
        NonNull::new(start.cast()).map(|start| Self { start, mapped, length })
    }

    /// Its address and its length, as the function takes them.
    pub(super) fn place(&self) -> (usize, usize) {
        (self.start.as_ptr() as usize, self.length)
    }
}

impl Drop for State {
    fn drop(&mut self) {
        // SAFETY: mapped by `of`, as long as this value lives, and used by nobody else.
        let _ = unsafe { munmap(self.start.as_ptr().cast(), self.mapped) };
    }
}
