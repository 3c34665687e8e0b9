//! `pipe`: four kibibytes written to a pipe and read back by the same thread.

use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::Fault;
use tenbin_metal::pipe::Pipe;
use tenbin_model::Picoseconds;

use super::{Labour, Work};

const BYTES: usize = 4096;

struct Echo {
    pipe: Pipe,
    /// Locked once an epoch and never contended.
    buffer: Mutex<Vec<u8>>,
}

impl Labour for Echo {
    /// A pipe that fails moves fewer bytes than it was asked to, which is what is seen of it.
    fn work(&self, operations: u64) -> u64 {
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        self.pipe.echo(&mut buffer, operations).map_or(0, |bytes| bytes / BYTES as u64)
    }
}

fn prepare(_seed: u64) -> Result<Arc<dyn Labour>, Fault> {
    Ok(Arc::new(Echo { pipe: Pipe::new(BYTES)?, buffer: Mutex::new(vec![b'y'; BYTES]) }))
}

pub(super) const WORK: Work = Work {
    name: "pipe",
    what: "4 KiB written to a pipe and read back",
    margin: 0.005,
    epoch: Picoseconds::from_micros(100),
    prepare,
};
