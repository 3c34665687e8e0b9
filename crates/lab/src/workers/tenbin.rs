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
    static HAS_RUN: Cell<bool> = const { Cell::new(false) };
    static WRONG: Cell<*const c_char> = const { Cell::new(ptr::null()) };
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
    (@export $setup:expr, $run:expr, $fault:expr) => {
        $crate::export!(@functions $setup, $run, $fault, |_| Ok(()));
    };
    (@export $setup:expr, $run:expr, $fault:expr, $check:expr) => {
        $crate::export!(@functions $setup, $run, $fault, $check);

        #[unsafe(no_mangle)]
        extern "C" fn tenbin_check(_: *mut u8) -> *const ::std::ffi::c_char {
            tenbin_asked($crate::Asked::Check);
            $crate::wrong()
        }
    };
    (@functions $setup:expr, $run:expr, $fault:expr, $check:expr) => {
        // All of them together say what the state is.
        fn tenbin_asked(asked: $crate::Asked) -> u64 {
            $crate::answer(asked, $setup, |state, n| $run(state, n), $fault, |state| $check(state))
        }

        #[unsafe(no_mangle)]
        extern "C" fn tenbin_thread(_: *mut u8, number: u32) -> *mut u8 {
            tenbin_asked($crate::Asked::Begin(number));
            ::std::ptr::null_mut()
        }

        #[unsafe(no_mangle)]
        extern "C" fn tenbin_run(_: *mut u8, n: u64) -> u64 {
            tenbin_asked($crate::Asked::Run(n))
        }
    };
}

/// What a file is asked for.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub enum Asked {
    /// That this thread begins, as the one of this number, and has its state before anything is timed.
    Begin(u32),
    /// So many operations.
    Run(u64),
    /// What is wrong.
    Check,
}

/// Does what is asked, and gives the evidence of operations.
#[doc(hidden)]
pub fn answer<T: Any>(
    asked: Asked,
    setup: fn() -> T,
    run: fn(&mut T, u64) -> u64,
    fault: fn(&mut T),
    check: fn(&T) -> Result<(), String>,
) -> u64 {
    if let Asked::Begin(number) = asked {
        NUMBER.set(number);
    }
    STATE.with_borrow_mut(|state| {
        let state = state.get_or_insert_with(|| Box::new(setup()));
        let Some(state) = state.downcast_mut() else { return 0 };
        if FAULT.load(Ordering::Relaxed) && !IS_FAULTY.replace(true) {
            fault(state);
        }
        match asked {
            Asked::Begin(_) => 0,
            Asked::Run(n) => {
                HAS_RUN.set(true);
                run(state, n)
            }
            Asked::Check => {
                // Of several threads this is another one.
                if !HAS_RUN.replace(true) {
                    run(state, 5);
                }
                WRONG.set(in_words(check(state)));
                0
            }
        }
    })
}

/// Has each thread make its state wrong, before it uses it again.
#[doc(hidden)]
pub fn make_faulty() {
    FAULT.store(true, Ordering::Relaxed);
}

/// What the latest check has said is wrong, as a string of C, and null where nothing is.
#[doc(hidden)]
pub fn wrong() -> *const c_char {
    WRONG.get()
}

/// That stays where it is for ever.
fn in_words(checked: Result<(), String>) -> *const c_char {
    match checked {
        Ok(()) => ptr::null(),
        Err(wrong) => CString::new(wrong.replace(['\0', '\n'], " ")).unwrap_or_default().into_raw(),
    }
}
