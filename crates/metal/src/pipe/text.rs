//! The lines that are sent.

/// Lines of one length that repeat for ever.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    bytes: Vec<u8>,
    line: usize,
}

impl Text {
    /// Length of a numbered line, its newline included.
    pub const NUMBERED: usize = 8;

    /// The seed's text: `y` on every line.
    pub fn yes() -> Self {
        Self { bytes: b"y\n".to_vec(), line: 2 }
    }

    /// Lines `0000000`, `0000001`, …, beginning again after `count`: a changing pattern, so that
    /// a lost, repeated or late line shows.
    ///
    /// # Panics
    /// If `count` is 0 or needs more than seven digits.
    pub fn numbered(count: usize) -> Self {
        assert!((1..=10_000_000).contains(&count), "seven digits number at most ten million lines");
        let bytes = (0..count).flat_map(|number| format!("{number:07}\n").into_bytes()).collect();
        Self { bytes, line: Self::NUMBERED }
    }

    /// The same text with one byte of line `line` changed: a planted fault.
    pub fn damaged_at(&self, line: usize) -> Self {
        let mut damaged = self.clone();
        damaged.bytes[line * self.line] ^= 1;
        damaged
    }

    /// Length of a line, its newline included.
    pub fn line(&self) -> usize {
        self.line
    }

    /// One period.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Fills `buffer` with the text, from position `at` of the endless text.
    pub fn fill(&self, buffer: &mut [u8], at: usize) {
        let mut at = at % self.bytes.len();
        let mut rest = buffer;
        while !rest.is_empty() {
            let piece = rest.len().min(self.bytes.len() - at);
            let (now, later) = rest.split_at_mut(piece);
            now.copy_from_slice(&self.bytes[at..at + piece]);
            at = (at + piece) % self.bytes.len();
            rest = later;
        }
    }

    /// As many whole lines as fit in `room` bytes, from the start of the text.
    pub(super) fn lines_within(&self, room: usize) -> Vec<u8> {
        let mut bytes = vec![0; room / self.line * self.line];
        self.fill(&mut bytes, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_goes_on_from_any_position() {
        let text = Text::numbered(3);
        let mut buffer = [0; 14];
        text.fill(&mut buffer, 3 * 8 + 13);
        assert_eq!(&buffer, b"01\n0000002\n000");
    }
}
