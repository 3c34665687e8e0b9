//! The name by which programs in the kernel know the thread that starts a command.

use std::io;
use std::process::id;

use rustix::thread::{name, set_name};

use crate::fault::Fault;

/// Letters of a thread's name, with the zero that ends it.
pub(crate) const NAME: usize = 16;

/// The name of a thread that starts a command, padded as the kernel has it.
pub(crate) fn starter() -> (String, [u8; NAME]) {
    let starter = format!("tenbin-{:x}", id() & 0xff_ffff);
    let mut padded = [0_u8; NAME];
    padded[..starter.len()].copy_from_slice(starter.as_bytes());
    (starter, padded)
}

/// Does something while this thread has that name.
pub(crate) fn named<T>(starter: &str, work: impl FnOnce() -> T) -> Result<T, Fault> {
    let fault = |what: &str, error: rustix::io::Errno| Fault::system(what, io::Error::from(error));
    let was = name().map_err(|error| fault("read this thread's name", error))?;
    let starter = std::ffi::CString::new(starter).unwrap_or_default();
    set_name(&starter).map_err(|error| fault("name this thread", error))?;
    let done = work();
    set_name(&was).map_err(|error| fault("name this thread", error))?;
    Ok(done)
}
