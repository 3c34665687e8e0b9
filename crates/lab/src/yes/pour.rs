//! A text without end into an outlet, by the fastest way that the kernel lets it go.
//!
//! The ways, fastest first: `tee(2)` from a pipe of large buffers, `tee(2)` from a pipe of pages,
//! `vmsplice(2)` of pages that are never written again, `write(2)`. A way that fails, at its start or in the
//! middle, is left for the next one, which goes on at the very byte; only the last one's failure is a
//! failure. Two errors end everything at once, because every way would meet them: the reader has left, and an
//! output that must not be waited for is full.
//!
//! `tee` always begins at the front of the source and may stop at the border of any buffer. So it is not
//! enough that the source repeats: what was handed out has to go from the front unless it was whole lines. It
//! moves to a spare pipe by `splice(2)`, which moves references, and when all of it has gone the two change
//! places. How memory arrived in the source, in how many buffers of which length, therefore does not matter
//! to what is written, only to how fast.

use std::io::{self, ErrorKind};
use std::os::fd::AsFd;

use tenbin_metal::outlet::{Kind, Load, Outlet};

use super::text::{Text, whole};

/// Places that are asked for in the pipe of the output: what Linux allows everybody (`fs.pipe-max-size`).
const OUTPUT_PLACES: usize = 256;

/// Places in a source's pipe at the least; Linux gives as many without being asked.
const PLACES: usize = 16;

/// Pieces in the source that goes through a socket, where lines are short: 256 KiB, which a second-level
/// cache holds.
const PIECES: usize = 8;

/// Pages that are counted on for a source filled by `write`, where lines are short.
const WRITTEN: usize = 64 << 10;

/// Below this a piece through a socket no longer comes as one buffer: the socket keeps up to
/// `SKB_MAX_HEAD(0)` bytes, which is less than a page of 4 KiB, beside the large ones, and a piece that is
/// short by a page is put together anew.
const SHORTEST_PIECE: usize = Text::PIECE - (3 << 10);

/// What one write carries: whole lines within this many bytes.
const WRITE: usize = 64 << 10;

/// What one write into a socket carries, where writes may be messages; GNU's `yes` writes as much.
const MESSAGE: usize = 8 << 10;

/// The system calls that carry a text; [`Outlet`] makes them, and tests stand in for it.
pub trait Kernel {
    /// What the outlet is.
    fn kind(&self) -> Kind;
    /// Asks for so many places in the output's pipe.
    fn lengthen(&self, places: usize);
    /// Makes an empty source with so many places.
    ///
    /// # Errors
    /// Those of the system call, here and below.
    fn open(&mut self, load: Load, places: usize) -> io::Result<()>;
    /// Copies a piece to the end of the source; returns what there was room for.
    ///
    /// # Errors
    /// `WouldBlock` when there is none.
    fn load(&mut self, piece: &[u8]) -> io::Result<usize>;
    /// Copies out what the front begins with and leaves it there.
    fn look(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Hands references to the front's buffers to the output.
    fn tee(&mut self) -> io::Result<usize>;
    /// Moves up to `bytes` bytes from the front to the spare pipe.
    fn turn(&mut self, bytes: usize) -> io::Result<usize>;
    /// Throws away bytes from the front, which must hold some.
    fn drop_front(&mut self, into: &mut [u8]) -> io::Result<usize>;
    /// Front and spare pipe change places.
    fn swap(&mut self);
    /// Gives the pages of bytes that are never written again to the output.
    fn give(&mut self, bytes: &[u8]) -> io::Result<usize>;
    /// Copies bytes to the output.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize>;
}

impl<F: AsFd> Kernel for Outlet<F> {
    fn kind(&self) -> Kind {
        self.kind()
    }
    fn lengthen(&self, places: usize) {
        self.lengthen(places);
    }
    fn open(&mut self, load: Load, places: usize) -> io::Result<()> {
        self.open(load, places)
    }
    fn load(&mut self, piece: &[u8]) -> io::Result<usize> {
        self.load(piece)
    }
    fn look(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.look(into)
    }
    fn tee(&mut self) -> io::Result<usize> {
        self.tee()
    }
    fn turn(&mut self, bytes: usize) -> io::Result<usize> {
        self.turn(bytes)
    }
    fn drop_front(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.drop_front(into)
    }
    fn swap(&mut self) {
        self.swap();
    }
    fn give(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.give(bytes)
    }
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.write(bytes)
    }
}

/// Writes the text until that is no longer possible, and returns why.
pub fn pour(kernel: &mut impl Kernel, text: &Text) -> io::Error {
    // The byte of the line that comes next; whatever way is taken leaves it right.
    let mut phase = 0;
    if kernel.kind() == Kind::Pipe {
        kernel.lengthen(OUTPUT_PLACES);
        for load in [Load::Socket, Load::Write] {
            let Ok(bytes) = fill(kernel, text, load, phase) else { continue };
            if let Some(end) = tee(kernel, text.line(), bytes, &mut phase) {
                return end;
            }
        }
        let error = send(text.lines(usize::MAX), text.line(), &mut phase, |bytes| kernel.give(bytes));
        if is_the_end(&error) {
            return error;
        }
    }
    let most = if kernel.kind() == Kind::Socket { MESSAGE } else { WRITE };
    send(text.lines(most), text.line(), &mut phase, |bytes| kernel.write(bytes))
}

/// Whether no other way of writing would get further.
fn is_the_end(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::BrokenPipe | ErrorKind::WouldBlock)
}

/// Hands out whole lines over and over by `call`, from byte `phase` on; returns its error.
fn send(
    lines: &[u8],
    line: usize,
    phase: &mut usize,
    mut call: impl FnMut(&[u8]) -> io::Result<usize>,
) -> io::Error {
    let mut at = *phase;
    loop {
        match call(&lines[at..]) {
            Ok(0) => return ErrorKind::WriteZero.into(),
            Ok(sent) => at = if at + sent == lines.len() { 0 } else { at + sent },
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => {
                *phase = at % line;
                return error;
            }
        }
    }
}

/// Hands out the source of `bytes` bytes, which begins at byte `phase` of a line and holds whole lines, over
/// and over. Returns why everything ends, or nothing if only this way does.
fn tee(kernel: &mut impl Kernel, line: usize, bytes: usize, phase: &mut usize) -> Option<io::Error> {
    let mut turned = 0;
    loop {
        let sent = match kernel.tee() {
            Ok(sent) => sent,
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            Err(error) => return is_the_end(&error).then_some(error),
        };
        *phase = (*phase + sent) % line;
        // Whole lines from an untouched source: its front still is what comes next.
        if turned == 0 && sent % line == 0 && sent > 0 {
            continue;
        }
        if sent == 0 || sent > bytes - turned || turn(kernel, sent).is_err() {
            return None;
        }
        turned += sent;
        if turned == bytes {
            kernel.swap();
            turned = 0;
        }
    }
}

/// Moves exactly `bytes` bytes from the front to the spare pipe.
fn turn(kernel: &mut impl Kernel, bytes: usize) -> io::Result<()> {
    let mut turned = 0;
    while turned < bytes {
        match kernel.turn(bytes - turned) {
            Ok(0) => return Err(ErrorKind::UnexpectedEof.into()),
            Ok(moved) => turned += moved,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// Makes a source that begins at byte `phase` of a line, holds whole lines and was looked at; returns its
/// bytes.
fn fill(kernel: &mut impl Kernel, text: &Text, load: Load, phase: usize) -> io::Result<usize> {
    let line = text.line();
    let lines_in_a_piece = whole(Text::PIECE, line);
    let piece = match load {
        Load::Socket if (SHORTEST_PIECE..=Text::PIECE).contains(&lines_in_a_piece) => lines_in_a_piece,
        _ => Text::PIECE,
    };
    let (wanted, places) = match load {
        Load::Socket => {
            let wanted = whole(PIECES * piece, line);
            // Where the kernel has no large blocks at hand a piece comes in several buffers.
            (wanted, 4 * wanted.div_ceil(piece))
        }
        Load::Write => (whole(WRITTEN, line), whole(WRITTEN, line) / 4096 + 1),
    };
    kernel.open(load, places.max(PLACES))?;
    let mut loaded = 0;
    while loaded < wanted {
        let length = piece.min(wanted - loaded);
        match kernel.load(text.piece((phase + loaded) % line, length)) {
            Ok(taken) => {
                loaded += taken;
                if taken < length {
                    break;
                }
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) if error.kind() == ErrorKind::WouldBlock => break,
            Err(error) => return Err(error),
        }
    }
    let bytes = loaded / line * line;
    if bytes == 0 {
        return Err(ErrorKind::StorageFull.into());
    }
    if bytes < loaded {
        cut(kernel, bytes, loaded - bytes)?;
    }
    look(kernel, text, phase, bytes)?;
    Ok(bytes)
}

/// Keeps the first `kept` bytes of the source and throws away the last `lost` ones.
fn cut(kernel: &mut impl Kernel, kept: usize, lost: usize) -> io::Result<()> {
    turn(kernel, kept)?;
    let mut sink = vec![0; lost];
    let mut gone = 0;
    while gone < lost {
        match kernel.drop_front(&mut sink[gone..])? {
            0 => return Err(ErrorKind::UnexpectedEof.into()),
            bytes => gone += bytes,
        }
    }
    kernel.swap();
    Ok(())
}

/// Compares the whole source with the text, once, before anything is written from it.
fn look(kernel: &mut impl Kernel, text: &Text, phase: usize, bytes: usize) -> io::Result<()> {
    // Room for all of it: a look that ended within a buffer would split the buffer when it is turned.
    let mut seen = vec![0; bytes];
    let mut at = 0;
    while at < bytes {
        let bytes_seen = kernel.look(&mut seen[at..])?;
        if bytes_seen == 0 {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        if bytes_seen == bytes {
            break;
        }
        turn(kernel, bytes_seen)?;
        at += bytes_seen;
        if at == bytes {
            kernel.swap();
        }
    }
    let mut pieces = seen.chunks(Text::PIECE).enumerate();
    let same = pieces.all(|(number, piece)| {
        piece == text.piece((phase + number * Text::PIECE) % text.line(), piece.len())
    });
    if same { Ok(()) } else { Err(ErrorKind::InvalidData.into()) }
}

#[cfg(test)]
mod tests;
