//! The bytes between tenbin and its C programs: 32-bit words as the machine has them, and plain bytes.

#[derive(Debug, Default)]
pub(super) struct Writer(pub(super) Vec<u8>);

impl Writer {
    pub(super) fn word(mut self, word: i32) -> Self {
        self.0.extend_from_slice(&word.to_ne_bytes());
        self
    }

    pub(super) fn words(self, words: &[i32]) -> Self {
        words.iter().fold(self, |writer, &word| writer.word(word))
    }

    pub(super) fn bytes(mut self, bytes: &[u8]) -> Self {
        self.0.extend_from_slice(bytes);
        self
    }
}

/// Bytes that came, read from their beginning.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reader<'a>(pub(super) &'a [u8]);

impl<'a> Reader<'a> {
    pub(super) fn word(&mut self) -> Option<i32> {
        let (word, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(i32::from_ne_bytes(*word))
    }

    /// The next `count` words, if there are so many.
    pub(super) fn words(&mut self, count: usize) -> Option<Vec<i32>> {
        // Asked before anything is taken: a count that came over the wire may be anything.
        (self.0.len() / 4 >= count).then_some(())?;
        (0..count).map(|_| self.word()).collect()
    }

    /// The next `count` bytes, if there are so many.
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (bytes, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(bytes)
    }

    /// Something, if nothing is left.
    pub(super) fn end(self) -> Option<()> {
        self.0.is_empty().then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_what_is_not_there_is_none() {
        let bytes = Writer::default().word(-7).words(&[1, 2]).bytes(b"xy").0;
        let mut reader = Reader(&bytes);
        assert_eq!((reader.word(), reader.words(2)), (Some(-7), Some(vec![1, 2])));
        assert_eq!((reader.words(usize::MAX), reader.word(), reader.end()), (None, None, None));
        assert_eq!((reader.bytes(3), reader.bytes(2)), (None, Some(&b"xy"[..])));
        assert_eq!(reader.end(), Some(()));
    }
}
