//! Reading and writing of a chunk's bytes. A reader never trusts a length.

/// What is wrong with a chunk, in a few words.
pub(crate) type Flaw = &'static str;

/// Seven bits a byte, lowest first, the top bit set on all but the last: LEB128.
pub(crate) fn put_number(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// A chunk's bytes from front to back.
pub(crate) struct Reader<'a> {
    rest: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Self { rest: bytes }
    }

    /// The next `count` bytes.
    pub(crate) fn take(&mut self, count: usize) -> Result<&'a [u8], Flaw> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or("the chunk ends early")?;
        self.rest = rest;
        Ok(taken)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Flaw> {
        Ok(self.take(1)?[0])
    }

    /// The next eight bytes, little endian.
    pub(crate) fn word(&mut self) -> Result<u64, Flaw> {
        let mut word = [0; 8];
        word.copy_from_slice(self.take(8)?);
        Ok(u64::from_le_bytes(word))
    }

    /// A number written by [`put_number`].
    pub(crate) fn number(&mut self) -> Result<u64, Flaw> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if shift == 63 && bits > 1 {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err("a number has more than 64 bits")
    }

    /// Nothing may be left over.
    pub(crate) fn finish(self) -> Result<(), Flaw> {
        if self.rest.is_empty() { Ok(()) } else { Err("bytes are left over after the chunk") }
    }
}

/// Signed differences as small unsigned numbers: 0, −1, 1, −2 become 0, 1, 2, 3.
pub(crate) fn fold(difference: u64) -> u64 {
    let signed = difference as i64;
    ((signed << 1) ^ (signed >> 63)) as u64
}

/// The inverse of [`fold`].
pub(crate) fn unfold(folded: u64) -> u64 {
    (folded >> 1) ^ (folded & 1).wrapping_neg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_differences_come_back() {
        for value in [0, 1, 127, 128, 16_383, 16_384, u64::MAX >> 1, u64::MAX] {
            let mut bytes = Vec::new();
            put_number(&mut bytes, value);
            let mut reader = Reader::new(&bytes);
            assert_eq!(reader.number(), Ok(value));
            assert_eq!(reader.finish(), Ok(()));
            assert_eq!(unfold(fold(value)), value);
        }
        assert_eq!([0, u64::MAX, 1].map(fold), [0, 1, 2]);
    }

    #[test]
    fn a_number_that_does_not_fit_or_end_is_an_error() {
        assert!(Reader::new(&[0xff; 10]).number().is_err());
        assert!(Reader::new(&[0x80; 3]).number().is_err());
        assert!(Reader::new(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x02]).number().is_err());
    }
}
