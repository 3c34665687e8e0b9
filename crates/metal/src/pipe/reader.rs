//! Ways to take lines out of a pipe: to a buffer, to nowhere, to be verified, to be held.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::OwnedFd;

use rustix::pipe::{SpliceFlags, splice, tee};

use super::{Pipe, Text, uninterrupted};
use crate::fault::Fault;

/// Takes lines out of a pipe.
pub trait Reader: Send {
    /// Takes the next `bytes` bytes, all of them.
    ///
    /// # Errors
    /// `UnexpectedEof` when the writer has left, else the system call's own.
    fn take(&mut self, bytes: usize) -> io::Result<()>;
}

fn no_end(taken: usize) -> io::Result<usize> {
    if taken == 0 { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(taken) }
}

/// `read(2)` into one buffer of 128 KiB, the size that coreutils uses: the bytes are copied.
#[derive(Debug)]
pub struct Keep {
    output: OwnedFd,
    buffer: Vec<u8>,
}

impl Keep {
    /// A reader of `output`.
    pub fn new(output: OwnedFd) -> Self {
        Self { output, buffer: vec![0; 128 << 10] }
    }

    /// Reads once and returns what came.
    fn some(&mut self, at_most: usize) -> io::Result<&[u8]> {
        let room = at_most.min(self.buffer.len());
        let Self { output, buffer } = self;
        let taken = no_end(uninterrupted(|| rustix::io::read(&*output, &mut buffer[..room]))?)?;
        Ok(&self.buffer[..taken])
    }
}

impl Reader for Keep {
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            left -= self.some(left)?.len();
        }
        Ok(())
    }
}

/// `splice(2)` to `/dev/null`: the pages are let go without being looked at.
#[derive(Debug)]
pub struct Discard {
    output: OwnedFd,
    null: File,
}

impl Discard {
    /// A reader of `output`.
    ///
    /// # Errors
    /// [`Fault::System`] when `/dev/null` cannot be opened.
    pub fn new(output: OwnedFd) -> Result<Self, Fault> {
        let null = OpenOptions::new()
            .write(true)
            .open("/dev/null")
            .map_err(|error| Fault::system("open /dev/null", error))?;
        Ok(Self { output, null })
    }
}

impl Reader for Discard {
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let taken =
                uninterrupted(|| splice(&self.output, None, &self.null, None, left, SpliceFlags::empty()))?;
            left -= no_end(taken)?;
        }
        Ok(())
    }
}

/// Reads and compares every byte with what should come; remembers the first wrong line.
#[derive(Debug)]
pub struct Verify {
    reader: Keep,
    expected: Text,
    at: usize,
    verdict: Result<u64, Wrong>,
}

/// The first line that was not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// Its number, from 0.
    pub line: u64,
    /// What should have come.
    pub expected: String,
    /// What came.
    pub actual: String,
}

impl Verify {
    /// A reader of `output` that expects `expected` from its start.
    pub fn new(output: OwnedFd, expected: Text) -> Self {
        Self { reader: Keep::new(output), expected, at: 0, verdict: Ok(0) }
    }

    /// How many whole lines came, all right, or the first that was wrong.
    ///
    /// # Errors
    /// The first wrong line.
    pub fn verdict(&self) -> Result<u64, Wrong> {
        self.verdict.clone().map(|_| (self.at / self.expected.line()) as u64)
    }
}

impl Reader for Verify {
    fn take(&mut self, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let actual = self.reader.some(left)?;
            left -= actual.len();
            let mut expected = vec![0; actual.len()];
            self.expected.fill(&mut expected, self.at);
            if self.verdict.is_ok()
                && let Some(place) =
                    expected.iter().zip(actual).position(|(expected, actual)| expected != actual)
            {
                let line = self.expected.line();
                // The line's start may lie in an earlier read: show what this read has of it.
                let from = place - ((self.at + place) % line).min(place);
                let to = (from + line).min(actual.len());
                let shown = |bytes: &[u8]| String::from_utf8_lossy(&bytes[from..to]).trim_end().to_owned();
                self.verdict = Err(Wrong {
                    line: ((self.at + place) / line) as u64,
                    expected: shown(&expected),
                    actual: shown(actual),
                });
            }
            self.at += actual.len();
        }
        Ok(())
    }
}

/// What a reader that held on to pages saw when it looked at them later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// Lines that were held.
    pub lines: u64,
    /// Lines that were no longer what they had been when they were sent.
    pub changed: u64,
}

/// Duplicates the first pipeful by `tee(2)`, takes `rounds` pipefuls, and only then looks at the
/// duplicate: a reader that keeps pages instead of copying bytes, as `tee`-based programs do.
///
/// The writer must give whole pages. One that fills pages in part needs more places in the second
/// pipe than there are, and a `tee` into a full pipe waits for a reader that is this very thread.
///
/// # Errors
/// [`Fault::System`] from a system call.
pub fn hold(output: OwnedFd, capacity: usize, rounds: usize, text: &Text) -> Result<Held, Fault> {
    let failed = |error: io::Error| Fault::system("hold a pipe's pages", error);
    let side = Pipe::new(capacity)?;
    let mut reader = Keep::new(output);
    let mut kept = 0;
    while kept < capacity {
        let duplicated =
            uninterrupted(|| tee(&reader.output, &side.input, capacity - kept, SpliceFlags::empty()))
                .and_then(no_end)
                .map_err(failed)?;
        // `tee` does not consume: take what was duplicated, so that the writer goes on.
        reader.take(duplicated).map_err(failed)?;
        kept += duplicated;
    }
    reader.take(rounds * capacity - kept).map_err(failed)?;

    let mut expected = vec![0; capacity];
    text.fill(&mut expected, 0);
    let mut received = vec![0; capacity];
    let mut at = 0;
    while at < capacity {
        at += uninterrupted(|| rustix::io::read(&side.output, &mut received[at..]))
            .and_then(no_end)
            .map_err(failed)?;
    }
    let lines = expected.chunks_exact(text.line()).zip(received.chunks_exact(text.line()));
    let changed = lines.filter(|(expected, received)| expected != received).count() as u64;
    Ok(Held { lines: (capacity / text.line()) as u64, changed })
}
