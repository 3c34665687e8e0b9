//! Ways to put lines into a pipe. `puts`, `write` of 8 KiB and `vmsplice` of two buffers are those of "Making
//! `yes` faster (pipes only)" in the diary Kognosuke, 2023-11-06, line by line.

use std::ffi::CString;
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, IntoRawFd, OwnedFd};
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::ptr::NonNull;
use std::sync::{Mutex, PoisonError};

use rustix::fs::{MemfdFlags, memfd_create};
use rustix::pipe::{IoSliceRaw, SpliceFlags, splice, tee, vmsplice};

use super::{Pipe, Text, uninterrupted};
use crate::fault::Fault;
use crate::pages::{PageKind, Pages};

/// A way to put lines into a pipe.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// One `puts(3)` a line, through the C library's buffer: what gcc makes of the published
    /// `printf("%s\n", line)`.
    Puts,
    /// `write(2)` of the whole lines that this many bytes hold.
    Write {
        /// At most so many bytes at once; [`PUBLISHED_WRITE`] is the published one.
        room: usize,
    },
    /// The published `vmsplice(2)`: lines are copied into one of two buffers of the pipe's size, and
    /// each full buffer's pages are given to the pipe. `gift` adds `SPLICE_F_GIFT`.
    TwoBuffers {
        /// Whether the pages are declared a gift, which does not protect them.
        gift: bool,
    },
    /// `vmsplice(2)` of pages that are written once and never again.
    Constant {
        /// Whether to ask for a huge page behind them.
        huge: bool,
    },
    /// A pipe filled once, whose pages `tee(2)` duplicates into the output.
    Tee,
    /// The same with buffers of [`LARGE`] bytes in place of pages.
    TeeLarge,
    /// `splice(2)` from a file in memory that is written once.
    Splice,
}

/// The published `CHUNKSIZE` of 8 KiB, and its loop's condition: at least two bytes stay free.
pub const PUBLISHED_WRITE: usize = 2 * 4096 - 2;

/// Bytes of a large buffer: what a stream socket of `AF_UNIX` allocates in one piece (`UNIX_SKB_FRAGS_SZ`,
/// net/unix/af_unix.c), and what `splice(2)` then moves into one place of a pipe.
pub const LARGE: usize = 32 << 10;

/// Puts lines into a pipe; knows its place in the endless text.
pub trait Writer: Send {
    /// Sends the next `bytes` bytes, all of them.
    ///
    /// # Errors
    /// The system call's own; a reader that has left is `BrokenPipe`.
    fn send(&mut self, bytes: usize) -> io::Result<()>;
}

/// A writer of `text` into `input`, the end of a pipe of `capacity` bytes.
///
/// `send` takes multiples of [`Text::pipeful`] only. Ways that give the same memory again and again
/// ([`How::Constant`], [`How::Splice`], [`How::Tee`], [`How::TeeLarge`]) begin the text anew after any whole
/// line, so its period must be one line, or divide a page.
///
/// # Errors
/// [`Fault::System`] when memory, a huge page, a file or a stream cannot be had.
pub fn writer(how: How, input: OwnedFd, capacity: usize, text: &Text) -> Result<Box<dyn Writer>, Fault> {
    let length = text.pipeful(capacity);
    Ok(match how {
        How::Puts => Box::new(Puts::new(input, text)?),
        How::Write { room } => Box::new(Write::new(input, text, room)),
        How::TwoBuffers { gift } => Box::new(TwoBuffers::new(input, length, text, gift)?),
        How::Constant { huge } => Box::new(Constant::new(input, length, text, huge)?),
        How::Tee => Box::new(Tee { input, master: filled(capacity, text)? }),
        How::TeeLarge => Box::new(Tee { input, master: filled_with_large(capacity, text)? }),
        How::Splice => Box::new(Splice::new(input, length, text)?),
    })
}

/// Whether `how` works here at all: seccomp filters block calls, kernels refuse them.
///
/// # Errors
/// [`Fault::System`] with the first call that failed.
pub fn probe(how: How) -> Result<(), Fault> {
    let bytes = if how == How::TeeLarge { LARGE } else { rustix::param::page_size() };
    let pipe = Pipe::new(bytes)?;
    let mut sender = writer(how, pipe.input, bytes, &Text::of("y"))?;
    // They fit into an empty pipe, so this cannot wait; the reading end is open until it is done.
    let sent = sender.send(bytes).map_err(|error| Fault::system(format!("send {bytes} B by {how:?}"), error));
    drop(pipe.output);
    sent
}

unsafe extern "C" {
    /// Where the C library's `puts` writes: a variable of the program, which may be set ("The GNU C Library
    /// Reference Manual", section 12.2).
    static mut stdout: *mut libc::FILE;

    /// Chooses who locks a stream (`__fsetlocking(3)`).
    fn __fsetlocking(stream: *mut libc::FILE, kind: libc::c_int) -> libc::c_int;
}

/// `FSETLOCKING_BYCALLER` of `<stdio_ext.h>`: a call does not lock the stream.
const LOCKED_BY_CALLER: libc::c_int = 2;

/// Who may set `stdout` and call `puts`: nothing else in this program uses the C library's standard output.
static PUTS: Mutex<()> = Mutex::new(());

/// The first published program: `printf("%s\n", line)` for every line, which gcc -O3 compiles to
/// `puts(line)`.
///
/// Its process had one thread, so that locking its stream took no atomic instruction; here there are several,
/// and the stream is locked by this value.
struct Puts {
    stream: NonNull<libc::FILE>,
    lines: Vec<CString>,
    line: usize,
    next: usize,
}

// SAFETY: the stream is this value's own, and it is used with `PUTS` held or by whoever has the value alone.
unsafe impl Send for Puts {}

impl Puts {
    fn new(input: OwnedFd, text: &Text) -> Result<Self, Fault> {
        let lines = text
            .bytes()
            .chunks_exact(text.line())
            .map(|line| CString::new(&line[..line.len() - 1]))
            .collect::<Result<_, _>>()
            .map_err(|error| Fault::system("put a line with a zero byte", io::Error::from(error)))?;
        // SAFETY: the descriptor is open and owned; the stream takes it over, and `drop` closes both.
        let stream = unsafe { libc::fdopen(input.into_raw_fd(), c"w".as_ptr()) };
        let stream =
            NonNull::new(stream).ok_or_else(|| Fault::system("fdopen a pipe", io::Error::last_os_error()))?;
        // SAFETY: the stream is open and no other thread knows it; whoever has `self` alone uses it.
        unsafe { __fsetlocking(stream.as_ptr(), LOCKED_BY_CALLER) };
        Ok(Self { stream, lines, line: text.line(), next: 0 })
    }

    /// Puts so many lines into the stream that `puts` writes to.
    fn put(&mut self, lines: usize) -> io::Result<()> {
        for _ in 0..lines {
            let line = &self.lines[self.next];
            // SAFETY: `stdout` is an open stream, which `send` has set, and `line` is a C string.
            if unsafe { libc::puts(line.as_ptr()) } < 0 {
                return Err(io::Error::last_os_error());
            }
            self.next = if self.next + 1 == self.lines.len() { 0 } else { self.next + 1 };
        }
        // SAFETY: the stream is open.
        match unsafe { libc::fflush(self.stream.as_ptr()) } {
            0 => Ok(()),
            _ => Err(io::Error::last_os_error()),
        }
    }
}

impl Writer for Puts {
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        let _alone = PUTS.lock().unwrap_or_else(PoisonError::into_inner);
        let place = &raw mut stdout;
        // SAFETY: only this function names the variable, with `PUTS` held, so that nobody else reads or
        // writes it meanwhile. The stream outlives the call, and what was there is put back before `PUTS` is
        // given up: `put` does not unwind, as its index is within `lines`.
        let before = unsafe { std::ptr::replace(place, self.stream.as_ptr()) };
        let put = self.put(bytes / self.line);
        // SAFETY: as above.
        unsafe { place.write(before) };
        put
    }
}

impl Drop for Puts {
    fn drop(&mut self) {
        // SAFETY: the stream is open, owned, and not used again.
        unsafe { libc::fclose(self.stream.as_ptr()) };
    }
}

/// The second published program, also with buffers of other sizes: whole lines, written at once.
struct Write {
    input: OwnedFd,
    text: Vec<u8>,
    room: usize,
    at: usize,
}

impl Write {
    fn new(input: OwnedFd, text: &Text, room: usize) -> Self {
        let room = text.within(room);
        // Whole periods of the text, so that it goes on at the buffer's beginning; of one line, a buffer's
        // worth.
        let text = text.bytes().repeat(room.div_ceil(text.bytes().len()));
        Self { input, text, room, at: 0 }
    }
}

impl Writer for Write {
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let piece = left.min(self.room).min(self.text.len() - self.at);
            let sent =
                uninterrupted(|| rustix::io::write(&self.input, &self.text[self.at..self.at + piece]))?;
            left -= sent;
            self.at = (self.at + sent) % self.text.len();
        }
        Ok(())
    }
}

/// The third published program: two buffers, filled in turn by copying, given page by page.
struct TwoBuffers {
    input: OwnedFd,
    buffers: [Pages; 2],
    current: usize,
    filled: usize,
    chunk: usize,
    text: Vec<u8>,
    at: usize,
    flags: SpliceFlags,
}

impl TwoBuffers {
    /// The published `output[2048]`, and its loop's condition: at least two bytes stay free.
    const PIECE: usize = 2048 - 2;

    fn new(input: OwnedFd, chunk: usize, text: &Text, gift: bool) -> Result<Self, Fault> {
        // One page more than the chunk: the last piece may reach beyond it.
        let page = rustix::param::page_size();
        let buffer = || Pages::map(chunk.next_multiple_of(page) + 4096.max(page), PageKind::Base);
        let one_piece = text.lines_within(Self::PIECE);
        let text = if text.bytes().len() < one_piece.len() { one_piece } else { text.bytes().to_vec() };
        let flags = if gift { SpliceFlags::GIFT } else { SpliceFlags::empty() };
        let buffers = [buffer()?, buffer()?];
        // A reader that holds a page sees what is written to it, also where something else of this process
        // forks meanwhile.
        buffers.iter().for_each(Pages::keep_from_later_children);
        Ok(Self { input, buffers, current: 0, filled: 0, chunk, text, at: 0, flags })
    }
}

impl Writer for TwoBuffers {
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            let piece = Self::PIECE.min(self.text.len() - self.at);
            let from = &self.text[self.at..self.at + piece];
            self.buffers[self.current][self.filled..self.filled + piece].copy_from_slice(from);
            self.filled += piece;
            self.at = (self.at + piece) % self.text.len();
            if self.filled >= self.chunk {
                give(&self.input, &self.buffers[self.current][..self.chunk], self.flags)?;
                left = left.saturating_sub(self.chunk);
                let beyond = self.filled - self.chunk;
                let [first, second] = &mut self.buffers;
                let (full, empty) = if self.current == 0 { (first, second) } else { (second, first) };
                empty[..beyond].copy_from_slice(&full[self.chunk..self.filled]);
                self.current = 1 - self.current;
                self.filled = beyond;
            }
        }
        Ok(())
    }
}

/// Pages that never change once they are filled, given again and again: no copy, and no hazard.
struct Constant {
    input: OwnedFd,
    pages: Pages,
    length: usize,
}

impl Constant {
    fn new(input: OwnedFd, length: usize, text: &Text, huge: bool) -> Result<Self, Fault> {
        let whole = length.next_multiple_of(rustix::param::page_size());
        let mut pages = Pages::map(whole, if huge { PageKind::Huge } else { PageKind::Base })?;
        text.fill(&mut pages, 0);
        // A huge page is advice: what was granted decides what this way may be called.
        if huge && pages.huge_bytes()? == 0 {
            let error = io::Error::new(io::ErrorKind::Unsupported, "the kernel granted none");
            return Err(Fault::system("get a transparent huge page", error));
        }
        Ok(Self { input, pages, length })
    }
}

impl Writer for Constant {
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        (0..bytes / self.length)
            .try_for_each(|_| give(&self.input, &self.pages[..self.length], SpliceFlags::empty()))
    }
}

/// A pipe that was filled once; `tee` duplicates references to its buffers and consumes nothing.
struct Tee {
    input: OwnedFd,
    master: Pipe,
}

/// A pipe whose places each hold the whole lines of a page, from the text's beginning.
fn filled(capacity: usize, text: &Text) -> Result<Pipe, Fault> {
    let master = Pipe::new(capacity)?;
    let page = rustix::param::page_size();
    let bytes = text.lines_within(page);
    for _ in 0..capacity / page {
        // What the place before has left is less than a line, so each write gets a place of its own.
        let written = uninterrupted(|| rustix::io::write(&master.input, &bytes))
            .map_err(|error| Fault::system("fill the pipe to tee from", error))?;
        whole(written, bytes.len())?;
    }
    Ok(master)
}

/// A pipe whose places each hold the whole lines of a large buffer, from the text's beginning.
fn filled_with_large(capacity: usize, text: &Text) -> Result<Pipe, Fault> {
    let fault = |error: io::Error| Fault::system("fill a pipe with large buffers", error);
    let master = Pipe::new(capacity)?;
    // What comes from a socket is counted as if every place held a page, so it lands where there is room for
    // that. Between pipes whole buffers move: what goes through a pipe with one place is one.
    let (landing, one) = (Pipe::new(LARGE)?, Pipe::new(rustix::param::page_size())?);
    let (near, far) = UnixStream::pair().map_err(fault)?;
    let lines = text.within(LARGE);
    let mut bytes = vec![0; LARGE];
    text.fill(&mut bytes, 0);
    for _ in 0..capacity / LARGE {
        whole(uninterrupted(|| rustix::io::write(&near, &bytes)).map_err(fault)?, LARGE)?;
        let hops = [
            (far.as_fd(), &landing.input, LARGE),
            (landing.output.as_fd(), &one.input, lines),
            (one.output.as_fd(), &master.input, lines),
        ];
        for (from, to, length) in hops {
            let moved = uninterrupted(|| splice(from, None, to, None, length, SpliceFlags::NONBLOCK));
            whole(moved.map_err(fault)?, length)?;
        }
        // The part of a line that the buffer ended with.
        let rest = &mut bytes[..LARGE - lines];
        if !rest.is_empty() {
            whole(
                uninterrupted(|| rustix::io::read(&landing.output, &mut *rest)).map_err(fault)?,
                LARGE - lines,
            )?;
            text.fill(&mut bytes, 0);
        }
    }
    Ok(master)
}

/// Whether all bytes went in at once.
fn whole(written: usize, wanted: usize) -> Result<(), Fault> {
    if written == wanted {
        return Ok(());
    }
    let error = io::Error::other(format!("{written} of {wanted} bytes fitted"));
    Err(Fault::system("fill the pipe to tee from", error))
}

impl Writer for Tee {
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        let mut left = bytes;
        while left > 0 {
            left -= uninterrupted(|| tee(&self.master.output, &self.input, left, SpliceFlags::empty()))?;
        }
        Ok(())
    }
}

/// A file in memory that was written once; `splice` moves references to its page-cache pages.
struct Splice {
    input: OwnedFd,
    file: File,
    length: usize,
}

impl Splice {
    fn new(input: OwnedFd, length: usize, text: &Text) -> Result<Self, Fault> {
        let file = memfd_create(c"tenbin-lines", MemfdFlags::CLOEXEC)
            .map_err(|error| Fault::system("make a file in memory", error))?;
        let mut bytes = vec![0; length];
        text.fill(&mut bytes, 0);
        let file = File::from(file);
        file.write_all_at(&bytes, 0).map_err(|error| Fault::system("fill a file in memory", error))?;
        Ok(Self { input, file, length })
    }
}

impl Writer for Splice {
    fn send(&mut self, bytes: usize) -> io::Result<()> {
        for _ in 0..bytes / self.length {
            let mut offset = 0_u64;
            while (offset as usize) < self.length {
                let left = self.length - offset as usize;
                uninterrupted(|| {
                    splice(&self.file, Some(&mut offset), &self.input, None, left, SpliceFlags::empty())
                })?;
            }
        }
        Ok(())
    }
}

/// Gives all of `bytes` to the pipe without copying them.
fn give(input: impl AsFd, bytes: &[u8], flags: SpliceFlags) -> io::Result<()> {
    let mut rest = bytes;
    while !rest.is_empty() {
        let given = uninterrupted(|| {
            // SAFETY: `input` is the write end of a pipe in every caller, so the kernel only reads
            // the slice, which is live during the call; afterwards it holds the pages by its own
            // references. What is given as a gift is page-aligned and in whole pages (`Pages`, chunk
            // of a pipe's size); that it is written again is the hazard that this crate shows, and a
            // hazard for readers of the pipe, not for this program's memory.
            unsafe { vmsplice(&input, &[IoSliceRaw::from_slice(rest)], flags) }
        })?;
        rest = &rest[given..];
    }
    Ok(())
}
