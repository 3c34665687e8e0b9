//! One descriptor that a text goes to, and the system calls that may carry it there.
//!
//! A buffer of a pipe is a reference to memory, and need not be one page. What was sent through a stream
//! socket of the family `AF_UNIX` lies in pieces of up to 32 KiB (`UNIX_SKB_FRAGS_SZ` in Linux's
//! `net/unix/af_unix.c`), and `splice(2)` moves each piece into a pipe as one buffer (`__splice_segment` in
//! `net/core/skbuff.c`). A pipe that was filled so is the source; `tee(2)` gives the outlet's pipe further
//! references to its buffers, eight times as many bytes for each place in the pipe as pages have. Nothing is
//! written into that memory again, so a reader that keeps a buffer keeps what was sent.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;

use rustix::fs::{FileType, OFlags};
use rustix::pipe::{
    IoSliceRaw, PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee,
    vmsplice,
};

/// What kind of thing a text goes to, as far as it decides which calls are tried, and with how much at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pipe or a named pipe, open for writing.
    Pipe,
    /// A socket: it may keep the borders between writes.
    Socket,
    /// A file, a terminal, a device.
    Other,
}

/// How memory comes into the source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Load {
    /// Through a stream socket: a piece of up to 32 KiB becomes one buffer.
    Socket,
    /// By `write(2)`: every page becomes one buffer.
    Write,
}

/// A descriptor, and beside it the pipe whose buffers are handed out.
#[derive(Debug)]
pub struct Outlet<F> {
    output: F,
    kind: Kind,
    source: Option<Source>,
}

/// Two pipes that hold one text between them. What was handed out moves from the front to the spare one.
#[derive(Debug)]
struct Source {
    /// What goes into the source passes through it first, if there is one.
    socket: Option<(UnixStream, UnixStream)>,
    front: Ends,
    spare: Ends,
    /// Where the source is looked at.
    glass: Ends,
}

#[derive(Debug)]
struct Ends {
    input: OwnedFd,
    output: OwnedFd,
}

impl Ends {
    /// A pipe that never waits to be filled, with `places` for buffers if the kernel grants that many.
    fn new(places: usize) -> io::Result<Self> {
        let (output, input) = pipe_with(PipeFlags::CLOEXEC)?;
        // Not the end that is read: `tee` from one that does not wait does not wait for its other pipe
        // either.
        rustix::fs::fcntl_setfl(&input, OFlags::NONBLOCK)?;
        // Fewer places are no fault: what does not fit is found out when the pipe is filled.
        let _ = fcntl_setpipe_size(&input, places * rustix::param::page_size());
        Ok(Self { input, output })
    }
}

impl<F: AsFd> Outlet<F> {
    /// An outlet to `output`.
    ///
    /// # Errors
    /// `fstat(2)`'s and `fcntl(2)`'s: the descriptor is closed.
    pub fn new(output: F) -> io::Result<Self> {
        let mode = rustix::fs::fstat(&output)?.st_mode;
        let reading_end = rustix::fs::fcntl_getfl(&output)? & OFlags::RWMODE == OFlags::RDONLY;
        let kind = match FileType::from_raw_mode(mode) {
            FileType::Fifo if !reading_end => Kind::Pipe,
            FileType::Socket => Kind::Socket,
            _ => Kind::Other,
        };
        Ok(Self { output, kind, source: None })
    }

    /// What the descriptor is.
    pub fn kind(&self) -> Kind {
        self.kind
    }

    /// Asks for so many places in the output's pipe. A kernel that refuses leaves it as it was, and one that
    /// is longer stays so.
    pub fn lengthen(&self, places: usize) {
        let bytes = places * rustix::param::page_size();
        if fcntl_getpipe_size(&self.output).is_ok_and(|there| there < bytes) {
            let _ = fcntl_setpipe_size(&self.output, bytes);
        }
    }

    /// Makes an empty source of `places` buffers, in the place of one that may have been there.
    ///
    /// # Errors
    /// Of `pipe(2)` or `socketpair(2)`.
    pub fn open(&mut self, load: Load, places: usize) -> io::Result<()> {
        self.source = None;
        let socket = match load {
            Load::Socket => {
                let (ours, theirs) = UnixStream::pair()?;
                ours.set_nonblocking(true)?;
                theirs.set_nonblocking(true)?;
                Some((ours, theirs))
            }
            Load::Write => None,
        };
        let (front, spare) = (Ends::new(places)?, Ends::new(places)?);
        self.source = Some(Source { socket, front, spare, glass: Ends::new(places)? });
        Ok(())
    }

    fn source(&self) -> io::Result<&Source> {
        self.source.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Copies `piece` to the end of the source and returns how much of it there was room for.
    ///
    /// # Errors
    /// The system calls' own. `WouldBlock` when there is no room at all.
    pub fn load(&mut self, piece: &[u8]) -> io::Result<usize> {
        let Source { socket, front, .. } = self.source()?;
        let Some((ours, theirs)) = socket else {
            return Ok(rustix::io::write(&front.input, piece)?);
        };
        let sent = io::Write::write(&mut &*ours, piece)?;
        let mut moved = 0;
        while moved < sent {
            match splice(theirs, None, &front.input, None, sent - moved, SpliceFlags::NONBLOCK) {
                Ok(0) => break,
                Ok(bytes) => moved += bytes,
                Err(rustix::io::Errno::INTR) => {}
                // What stays behind in the socket goes with it: the text ends where the pipe is full.
                Err(_) if moved > 0 => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(moved)
    }

    /// Hands references to the front's buffers to the outlet, from the first on, and returns their bytes.
    ///
    /// # Errors
    /// `tee(2)`'s.
    pub fn tee(&mut self) -> io::Result<usize> {
        Ok(tee(&self.source()?.front.output, &self.output, usize::MAX >> 1, SpliceFlags::empty())?)
    }

    /// Copies out what the front begins with, without taking it, and returns how much that is.
    ///
    /// # Errors
    /// The system calls' own.
    pub fn look(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let Source { front, glass, .. } = self.source()?;
        let seen = tee(&front.output, &glass.input, into.len(), SpliceFlags::NONBLOCK)?;
        let mut copied = 0;
        while copied < seen {
            match rustix::io::read(&glass.output, &mut into[copied..seen])? {
                0 => break,
                bytes => copied += bytes,
            }
        }
        Ok(copied)
    }

    /// Moves up to `bytes` bytes from the beginning of the front to the end of the spare pipe, without
    /// copying.
    ///
    /// # Errors
    /// `splice(2)`'s.
    pub fn turn(&mut self, bytes: usize) -> io::Result<usize> {
        let Source { front, spare, .. } = self.source()?;
        Ok(splice(&front.output, None, &spare.input, None, bytes, SpliceFlags::NONBLOCK)?)
    }

    /// Throws away up to `into.len()` bytes from the beginning of the front, and returns how many.
    ///
    /// # Errors
    /// `read(2)`'s. An empty front is waited for, so this is for bytes that were loaded.
    pub fn drop_front(&mut self, into: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::io::read(&self.source()?.front.output, into)?)
    }

    /// The spare pipe becomes the front and the front the spare one.
    pub fn swap(&mut self) {
        if let Some(source) = &mut self.source {
            std::mem::swap(&mut source.front, &mut source.spare);
        }
    }

    /// Gives the pages of `bytes` to the outlet's pipe, and returns how many bytes that were.
    ///
    /// Whoever writes into `bytes` later writes into what a reader may still hold.
    ///
    /// # Errors
    /// `vmsplice(2)`'s.
    pub fn give(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // At a pipe's reading end the same call would write into the slice.
        if self.kind != Kind::Pipe {
            return Err(rustix::io::Errno::BADF.into());
        }
        let slices = [IoSliceRaw::from_slice(bytes)];
        // SAFETY: the slice is live during the call, and the kernel only reads from it: `new` found a pipe
        // that is open for writing, which does not change while a descriptor is open, and whoever gave the
        // descriptor gives the same one every time.
        let given = unsafe { vmsplice(&self.output, &slices, SpliceFlags::empty()) };
        Ok(given?)
    }

    /// Copies `bytes` to the outlet, and returns how many of them were taken.
    ///
    /// # Errors
    /// `write(2)`'s.
    pub fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(rustix::io::write(&self.output, bytes)?)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::Read;

    use super::*;

    fn outlet() -> (Outlet<OwnedFd>, File) {
        let (output, input) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        (Outlet::new(input).unwrap(), output.into())
    }

    #[test]
    fn what_was_loaded_is_handed_out_in_order_however_it_is_turned() {
        let piece: Vec<u8> = (0..32_768_u32).map(|byte| (byte % 251) as u8).collect();
        for load in [Load::Socket, Load::Write] {
            let (mut outlet, mut reader) = outlet();
            outlet.open(load, 16).unwrap();
            assert_eq!(outlet.load(&piece).unwrap(), piece.len(), "{load:?}");
            let mut seen = vec![0; 2 * piece.len()];
            assert_eq!(outlet.look(&mut seen).unwrap(), piece.len());
            assert_eq!(seen[..piece.len()], piece);
            for round in 0..3 {
                let mut received = vec![0; outlet.tee().unwrap()];
                reader.read_exact(&mut received).unwrap();
                assert_eq!(received, piece[..received.len()], "{load:?}, round {round}");
                assert_eq!(outlet.turn(received.len()).unwrap(), received.len());
                let mut rest = vec![0; piece.len() - received.len()];
                if !rest.is_empty() {
                    assert_eq!(outlet.drop_front(&mut rest).unwrap(), rest.len());
                    assert_eq!(rest, piece[received.len()..]);
                    break;
                }
                outlet.swap();
            }
        }
    }

    #[test]
    fn a_full_source_says_so_and_takes_no_more() {
        for load in [Load::Socket, Load::Write] {
            let (mut outlet, _reader) = outlet();
            outlet.open(load, 1).unwrap();
            let piece = [7; 4096];
            let loads = (0..10_000).find_map(|_| outlet.load(&piece).err());
            assert_eq!(loads.map(|error| error.kind()), Some(io::ErrorKind::WouldBlock), "{load:?}");
        }
    }

    #[test]
    fn pages_are_given_only_to_the_writing_end_of_a_pipe() {
        let (mut writing, mut reader) = outlet();
        assert_eq!(writing.kind(), Kind::Pipe);
        assert_eq!(writing.give(b"given").unwrap(), 5);
        let mut received = [0; 5];
        reader.read_exact(&mut received).unwrap();
        assert_eq!(&received, b"given");
        // Into a slice that was given at the reading end the kernel would write.
        let (output, input) = pipe_with(PipeFlags::CLOEXEC).unwrap();
        rustix::io::write(&input, b"other").unwrap();
        let mut reading = Outlet::new(output).unwrap();
        assert_eq!(reading.kind(), Kind::Other);
        let kept = *b"mine.";
        let refused = reading.give(&kept).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(rustix::io::Errno::BADF.raw_os_error()));
        assert_eq!(&kept, b"mine.");
        let (ours, _theirs) = UnixStream::pair().unwrap();
        assert_eq!(Outlet::new(ours).unwrap().kind(), Kind::Socket);
    }

    #[test]
    fn a_pipe_is_made_longer_and_never_shorter() {
        let (outlet, _reader) = outlet();
        let page = rustix::param::page_size();
        outlet.lengthen(32);
        let longer = fcntl_getpipe_size(&outlet.output).unwrap();
        assert!(longer >= 16 * page);
        outlet.lengthen(1);
        assert_eq!(fcntl_getpipe_size(&outlet.output).unwrap(), longer);
    }
}
