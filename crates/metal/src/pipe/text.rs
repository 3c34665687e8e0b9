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

    /// The longest line, without its newline: what `out_one[256]` of the published program holds.
    pub const LONGEST: usize = 254;

    /// This line, again and again.
    ///
    /// # Panics
    /// If it is empty, longer than [`Self::LONGEST`], or not one line of a C string.
    pub fn of(line: &str) -> Self {
        assert!(Self::is_line(line), "it is a line of 1 to {} bytes", Self::LONGEST);
        Self { bytes: format!("{line}\n").into_bytes(), line: line.len() + 1 }
    }

    /// Whether [`of`](Self::of) takes it.
    pub fn is_line(line: &str) -> bool {
        (1..=Self::LONGEST).contains(&line.len()) && !line.contains(['\n', '\0'])
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

    /// Bytes of whole lines that fit into a pipe of `capacity` bytes if no line crosses a page: what every
    /// way sends at a time. `capacity` is in whole pages.
    pub fn pipeful(&self, capacity: usize) -> usize {
        let page = rustix::param::page_size();
        capacity / page * self.within(page)
    }

    /// Bytes of whole lines that fit into `room` bytes.
    pub(super) fn within(&self, room: usize) -> usize {
        room / self.line * self.line
    }

    /// As many whole lines as fit in `room` bytes, from the start of the text.
    pub(super) fn lines_within(&self, room: usize) -> Vec<u8> {
        let mut bytes = vec![0; self.within(room)];
        self.fill(&mut bytes, 0);
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pipeful_is_whole_lines_of_which_none_crosses_a_page() {
        let page = rustix::param::page_size();
        assert_eq!(Text::of("y").pipeful(16 * page), 16 * page);
        assert_eq!(Text::of("no").pipeful(16 * page), 16 * (page / 3 * 3));
        for (line, taken) in [("", false), ("two\nlines", false), ("nul\0", false), ("a b", true)] {
            assert_eq!(Text::is_line(line), taken, "{line:?}");
        }
        assert!(Text::is_line(&"x".repeat(254)) && !Text::is_line(&"x".repeat(255)));
    }

    #[test]
    fn the_text_goes_on_from_any_position() {
        let text = Text::numbered(3);
        let mut buffer = [0; 14];
        text.fill(&mut buffer, 3 * 8 + 13);
        assert_eq!(&buffer, b"01\n0000002\n000");
    }
}
