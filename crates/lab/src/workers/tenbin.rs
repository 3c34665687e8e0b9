//! What `tenbin weigh a.rs b.rs` needs of a file of Rust. `tenbin include --rust` prints this page.
//!
//! ```ignore
//! fn setup() -> Vec<u64> {
//!     (0..1000).collect()
//! }
//!
//! fn run(table: &mut Vec<u64>, n: u64) -> u64 {
//!     (0..n).map(|i| table[i as usize % table.len()]).fold(0, u64::wrapping_add)
//! }
//!
//! tenbin::export!(setup: setup, run: run);
//! ```
//!
//! `run` does `n` operations, one after the other, and returns evidence: a number made of all that was
//! computed. So no compiler can leave work out, and files whose evidence for the same operations differs are
//! not weighed. What needs no state is `fn run(n: u64) -> u64`, and `tenbin::export!(run: run)`. Two more may
//! follow, in this order:
//!
//! - `check: fn(&State) -> Result<(), String>` is called before anything is timed, after a few operations,
//!   and says what is wrong.
//! - `fault: fn(&mut State)` makes the state wrong on purpose. `check`, or the evidence from there on, has to
//!   show it.
//!
//! With `tenbin weigh --threads` each thread has a state of its own, by `setup`, and [`thread`] is its
//! number; what threads share is in statics. `check` then has a state of its own too.
//!
//! While tenbin compiles, this crate is there. For an editor, keep the page as `src/lib.rs` of a crate of
//! this name.
//!
//! SPDX-License-Identifier: MIT OR Apache-2.0

use std::any::Any;
use std::cell::{Cell, RefCell};
use std::ffi::{CString, c_char};
use std::ptr;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static NUMBER: Cell<u32> = const { Cell::new(0) };
    static STATE: RefCell<Option<Box<dyn Any>>> = const { RefCell::new(None) };
    static IS_FAULTY: Cell<bool> = const { Cell::new(false) };
    static HAS_DONE: Cell<bool> = const { Cell::new(false) };
}

/// Whether states are to be wrong.
static FAULT: AtomicBool = AtomicBool::new(false);

/// The number of this thread among those that do operations, from 0.
pub fn thread() -> u32 {
    NUMBER.get()
}

/// Makes functions the ones that tenbin calls; the page of the crate says which.
#[macro_export]
macro_rules! export {
    (run: $run:expr $(, check: $check:expr)? $(, fault: $fault:expr)? $(,)?) => {
        $crate::export!(
            setup: || (),
            run: |_: &mut (), n: u64| -> u64 { $run(n) }
            $(, check: $check)?
            $(, fault: $fault)?
        );
    };
    (setup: $setup:expr, run: $run:expr $(, check: $check:expr)? $(,)?) => {
        $crate::export!(@export $setup, $run, |_| () $(, $check)?);
    };
    (setup: $setup:expr, run: $run:expr $(, check: $check:expr)?, fault: $fault:expr $(,)?) => {
        $crate::export!(@export $setup, $run, $fault $(, $check)?);

        #[unsafe(no_mangle)]
        extern "C" fn tenbin_fault(_: *mut u8) {
            $crate::make_faulty();
        }
    };
    (@export $setup:expr, $run:expr, $fault:expr $(, $check:expr)?) => {
        #[unsafe(no_mangle)]
        extern "C" fn tenbin_thread(_: *mut u8, number: u32) -> *mut u8 {
            $crate::begin(number, $setup, |state, n| $run(state, n))
        }

        #[unsafe(no_mangle)]
        extern "C" fn tenbin_run(_: *mut u8, n: u64) -> u64 {
            $crate::with($setup, $fault, |state| $crate::done($run(state, n)))
        }

        $(
            #[unsafe(no_mangle)]
            extern "C" fn tenbin_check(_: *mut u8) -> *const ::std::ffi::c_char {
                $crate::in_words($crate::with($setup, $fault, |state| {
                    // Of several threads this is another one.
                    if !$crate::is_done() {
                        $run(state, 5);
                    }
                    $check(state)
                }))
            }
        )?
    };
}

/// A thread begins, and has its state before anything is timed: what `run` works on.
#[doc(hidden)]
pub fn begin<T: Any>(number: u32, setup: fn() -> T, _run: fn(&mut T, u64) -> u64) -> *mut u8 {
    NUMBER.set(number);
    with(setup, |_| (), |_| ());
    ptr::null_mut()
}

/// What comes of this thread's state, which is made, and made wrong, where that is to be done.
#[doc(hidden)]
pub fn with<T: Any, R>(setup: fn() -> T, fault: fn(&mut T), used: impl FnOnce(&mut T) -> R) -> R {
    STATE.with_borrow_mut(|state| {
        let state = state.get_or_insert_with(|| Box::new(setup()));
        let state = state.downcast_mut().expect("a file exports its functions once");
        if FAULT.load(Ordering::Relaxed) && !IS_FAULTY.replace(true) {
            fault(state);
        }
        used(state)
    })
}

/// Remembers that this thread has done operations, of which this came.
#[doc(hidden)]
pub fn done(evidence: u64) -> u64 {
    HAS_DONE.set(true);
    evidence
}

/// Whether this thread has done operations.
#[doc(hidden)]
pub fn is_done() -> bool {
    HAS_DONE.get()
}

/// Has each thread make its state wrong, before it uses it again.
#[doc(hidden)]
pub fn make_faulty() {
    FAULT.store(true, Ordering::Relaxed);
}

/// What is wrong, as a string of C, and null where nothing is.
#[doc(hidden)]
pub fn in_words(checked: Result<(), String>) -> *const c_char {
    match checked {
        Ok(()) => ptr::null(),
        Err(wrong) => CString::new(wrong.replace(['\0', '\n'], " ")).unwrap_or_default().into_raw(),
    }
}
