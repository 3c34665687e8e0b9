//! Messages in the wire format of protocol buffers (protobuf.dev, "Encoding").

/// The fields of a message, written one after the other.
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    /// One without a field.
    pub(crate) const fn new() -> Self {
        Self { bytes: Vec::new() }
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A number; 0 is what a field is that does not stand there.
    pub(crate) fn number(mut self, field: u32, value: impl Into<u64>) -> Self {
        let value = value.into();
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
        self
    }

    /// Text, bytes or a packed list.
    pub(crate) fn bytes(mut self, field: u32, value: impl AsRef<[u8]>) -> Self {
        self.push(field, value.as_ref());
        self
    }

    /// A message within this one.
    pub(crate) fn message(self, field: u32, value: &Self) -> Self {
        self.bytes(field, &value.bytes)
    }

    /// The same to one that grows.
    pub(crate) fn add(&mut self, field: u32, value: &Self) {
        self.push(field, &value.bytes);
    }

    fn push(&mut self, field: u32, value: &[u8]) {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
    }

    /// Numbers, packed.
    pub(crate) fn numbers(self, field: u32, values: impl IntoIterator<Item = u64>) -> Self {
        let mut list = Self::new();
        values.into_iter().for_each(|value| list.varint(value));
        self.message(field, &list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_written_as_there() {
        let number = Message::new().number(1, 150_u64);
        assert_eq!(number.bytes, [0x08, 0x96, 0x01]);
        assert_eq!(Message::new().bytes(2, "testing").bytes, *b"\x12\x07testing");
        assert_eq!(Message::new().numbers(6, [3, 270, 86942]).bytes, *b"\x32\x06\x03\x8e\x02\x9e\xa7\x05");
        assert_eq!(Message::new().message(3, &number).bytes, [0x1a, 0x03, 0x08, 0x96, 0x01]);
    }
}
