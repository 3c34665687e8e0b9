//! tenbin weighs two ways of doing a thing at the bottom of a Linux machine.
//!
//! This crate is the command line, the wiring and the terminal. It holds no logic of its own:
//! measuring is `tenbin_lab`'s, judging `tenbin_analysis`'s, keeping `tenbin_store`'s.

mod again;
mod arguments;
mod calibration;
mod command;
mod measurement;
mod output;
mod terminal;

use std::process::ExitCode;

#[global_allocator]
static HEAP: tenbin_metal::memory::Heap = tenbin_metal::memory::Heap;

fn main() -> ExitCode {
    tenbin_metal::inherited::keep_children_until_waited_for();
    if let Some(invocation) = command::yes::Invocation::among(std::env::args_os()) {
        return invocation.run().into();
    }
    tenbin_metal::inherited::hand_on_default_signals();
    let result = arguments::Arguments::read(&measurement::descriptors()).and_then(command::run);
    output::deliver(result).into()
}
