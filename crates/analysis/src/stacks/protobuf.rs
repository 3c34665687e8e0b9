//! Messages in the wire format of protocol buffers (protobuf.dev, "Encoding").

/// The fields of a message, written one after the other.
#[derive(Default)]
pub(crate) struct Message {
    pub(crate) bytes: Vec<u8>,
}

impl Message {
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.bytes.push(value as u8);
    }

    /// A number; 0 is what a field is that does not stand there.
    pub(crate) fn number(&mut self, field: u32, value: u64) -> &mut Self {
        if value != 0 {
            self.varint(u64::from(field) << 3);
            self.varint(value);
        }
        self
    }

    /// Text, bytes or a packed list.
    pub(crate) fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Self {
        self.varint(u64::from(field) << 3 | 2);
        self.varint(value.len() as u64);
        self.bytes.extend_from_slice(value);
        self
    }

    /// A message within this one.
    pub(crate) fn message(&mut self, field: u32, value: &Self) -> &mut Self {
        self.bytes(field, &value.bytes)
    }

    /// Numbers, packed.
    pub(crate) fn numbers(&mut self, field: u32, values: impl IntoIterator<Item = u64>) -> &mut Self {
        let mut list = Self::default();
        values.into_iter().for_each(|value| list.varint(value));
        self.message(field, &list)
    }
}

/// A message made at once.
pub(crate) fn message(fill: impl FnOnce(&mut Message)) -> Message {
    let mut message = Message::default();
    fill(&mut message);
    message
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_specification_are_written_as_there() {
        let bytes = |fill: &dyn Fn(&mut Message)| message(fill).bytes;
        assert_eq!(
            bytes(&|it| {
                it.number(1, 150);
            }),
            [0x08, 0x96, 0x01]
        );
        assert_eq!(
            bytes(&|it| {
                it.bytes(2, b"testing");
            }),
            *b"\x12\x07testing"
        );
        assert_eq!(
            bytes(&|it| {
                it.numbers(6, [3, 270, 86942]);
            }),
            *b"\x32\x06\x03\x8e\x02\x9e\xa7\x05"
        );
        let inner = message(|it| {
            it.number(1, 150);
        });
        assert_eq!(
            bytes(&|it| {
                it.message(3, &inner);
            }),
            [0x1a, 0x03, 0x08, 0x96, 0x01]
        );
    }
}
