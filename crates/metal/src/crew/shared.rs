//! Memory that a process and the children it forks see alike.

use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64};

use rustix::mm::{MapFlags, ProtFlags};

use crate::fault::Fault;
use crate::pages::Mapping;

/// What may lie in memory that several processes write.
///
/// # Safety
/// All zero bytes are a value of it. Everything that can be done by a shared reference is an atomic access to
/// a whole word. It holds no address, owns nothing, and is aligned to a page at most.
pub unsafe trait Atomics: Sync {}

// SAFETY: an atomic word; 0 is a value.
unsafe impl Atomics for AtomicU32 {}
// SAFETY: an atomic word; 0 is a value.
unsafe impl Atomics for AtomicU64 {}

/// A slice in a shared anonymous mapping (`MAP_SHARED`), all zeros at first: a child that is forked later has
/// it at the same address, and what one writes the others read.
#[derive(Debug)]
pub struct Shared<T: Atomics> {
    start: NonNull<T>,
    length: usize,
    mapping: Mapping,
}

// SAFETY: the mapping belongs to this value alone in this process, and `T` can be used by any thread.
unsafe impl<T: Atomics> Send for Shared<T> {}
// SAFETY: shared access is to a slice of `T`, which is `Sync`.
unsafe impl<T: Atomics> Sync for Shared<T> {}

impl<T: Atomics> Shared<T> {
    /// Maps room for `length` of them.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room.
    pub fn zeroed(length: usize) -> Result<Self, Fault> {
        let mapped =
            length.saturating_mul(size_of::<T>()).max(1).next_multiple_of(rustix::param::page_size());
        let mapping = Mapping::new(mapped, ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED)?;
        Ok(Self { start: mapping.start().cast(), length, mapping })
    }

    /// Keeps it from children that are forked from here on (`MADV_DONTFORK`); those that have it keep it.
    pub(super) fn keep_from_later_children(&self) {
        self.mapping.keep_from_later_children();
    }
}

impl<T: Atomics> Deref for Shared<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the mapping holds `length` of them, aligned as a page is, and stays until `self` is
        // dropped, which the returned lifetime excludes. It began as zeros and is only written by atomic
        // accesses, of any process: so `T` promises.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}
