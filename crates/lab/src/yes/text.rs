//! A line that repeats, laid out so that pieces of it can be handed to system calls.

use std::ops::Deref;

use tenbin_metal::Fault;
use tenbin_metal::pages::{PageKind, Pages};

/// What is handed over at once, unless one line is longer: whole lines within this many bytes.
const CHUNK: usize = 128 << 10;

/// One line, over and over, in pages that are written once.
#[derive(Debug)]
pub struct Text {
    pages: Pages,
    line: usize,
    chunk: usize,
}

impl Text {
    /// The longest piece that [`Text::piece`] gives.
    pub const PIECE: usize = 32 << 10;

    /// `line`, its newline included, over and over.
    ///
    /// # Errors
    /// [`Fault::System`] when there is no memory for a line and a piece.
    ///
    /// # Panics
    /// If the line is empty.
    pub fn new(line: &[u8]) -> Result<Self, Fault> {
        assert!(!line.is_empty(), "a line has at least its newline");
        let chunk = whole(CHUNK, line.len());
        let mut pages = Pages::map(chunk + Self::PIECE, PageKind::Base)?;
        fill(&mut pages, line);
        Ok(Self { pages, line: line.len(), chunk })
    }

    /// Length of a line, its newline included.
    pub fn line(&self) -> usize {
        self.line
    }

    /// Whole lines, as many as fit into `room` bytes, and at least one.
    pub fn lines(&self, room: usize) -> &[u8] {
        &self.pages[..whole(room.min(self.chunk), self.line)]
    }

    /// `length` bytes from byte `phase` of a line on.
    ///
    /// # Panics
    /// If `phase` lies beyond the line, or `length` beyond [`Text::PIECE`].
    pub fn piece(&self, phase: usize, length: usize) -> &[u8] {
        assert!(phase < self.line && length <= Self::PIECE);
        &self.pages[phase..phase + length]
    }
}

/// The length of the whole lines that fit into `room` bytes; of one line if none fits.
pub(super) fn whole(room: usize, line: usize) -> usize {
    (room / line).max(1) * line
}

/// Fills `bytes` with `line`, over and over: each copy doubles what is there.
pub(super) fn fill(bytes: &mut [u8], line: &[u8]) {
    let mut filled = line.len().min(bytes.len());
    bytes[..filled].copy_from_slice(&line[..filled]);
    while filled < bytes.len() {
        let more = filled.min(bytes.len() - filled);
        let (there, free) = bytes.split_at_mut(filled);
        free[..more].copy_from_slice(&there[..more]);
        // What is there is a whole number of lines until the end is reached.
        filled += more;
    }
}

impl Deref for Text {
    type Target = [u8];

    /// All of it, in whole pages; the end may lie within a line.
    fn deref(&self) -> &[u8] {
        &self.pages
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_piece_continues_the_line() {
        for length in [1, 2, 3, 4095, 4096, 4097, 32_767, 32_768, 32_769, 70_000, 300_000] {
            let line: Vec<u8> = (0..length).map(|byte| (byte % 251) as u8).collect();
            let text = Text::new(&line).unwrap();
            assert_eq!(text.lines(0), line);
            assert_eq!(text.lines(usize::MAX).len() % length, 0);
            assert!(text.lines(usize::MAX).len() + length > CHUNK);
            assert_eq!(text.as_ptr() as usize % 4096, 0, "pages are given whole");
            for phase in [0, length / 3, length - 1] {
                let expected = (phase..phase + Text::PIECE).map(|byte| (byte % length % 251) as u8);
                assert!(text.piece(phase, Text::PIECE).iter().copied().eq(expected), "{length} {phase}");
            }
        }
    }
}
