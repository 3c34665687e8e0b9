//! tenbin weighs two ways of doing a thing at the bottom of a Linux machine.
//!
//! This crate is the command line, the wiring and the terminal. It holds no logic of its own:
//! measuring is `tenbin_lab`'s, judging `tenbin_analysis`'s, keeping `tenbin_store`'s.
//!
//! All of it is a library, which cargo compiles while the machine code of `tenbin_lab` is still being made. A
//! program would wait for that.

mod again;
mod ascii;
mod command_line;
mod kernels;
mod measurement;
mod output;
mod sampling;
mod spelling;
mod store;
mod terminal;
mod verbs;

use std::process::ExitCode;

#[global_allocator]
static HEAP: tenbin_metal::memory::Heap = tenbin_metal::memory::Heap;

/// Does what the command line of this process says, and gives the status to exit with.
pub fn main() -> ExitCode {
    tenbin_metal::inherited::keep_children_until_waited_for();
    if let Some(invocation) = verbs::yes::Invocation::among(std::env::args_os()) {
        return invocation.run().into();
    }
    tenbin_metal::inherited::hand_on_default_signals();
    output::deliver(command_line::run()).into()
}
