//! The frames of GDB's remote protocol: `$payload#checksum`.
//!
//! Source: *Debugging with GDB*, appendix "GDB Remote Serial Protocol", section "Overview": the checksum is
//! the sum of the payload's bytes modulo 256 in two hexadecimal digits; `}` escapes the next byte, which is
//! XORed with 0x20; `*` repeats the byte before it as often as the next byte says, less 29.

/// What a stream begins with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Received {
    /// Too little to say.
    Part,
    /// An acknowledgement. It takes one byte.
    Acknowledged,
    /// A request to send the last packet again. It takes one byte.
    Again,
    /// A packet with this payload, and how many bytes of the stream it takes.
    Packet(Vec<u8>, usize),
    /// What no packet is, in words.
    Broken(String),
}

/// More than any packet of ours or QEMU's has (it announces 4096 of payload), escapes included. In bytes.
const LONGEST: usize = 1 << 16;

/// The packet with this payload.
pub(super) fn framed(payload: &[u8]) -> Vec<u8> {
    let mut frame = vec![b'$'];
    for &byte in payload {
        match byte {
            b'$' | b'#' | b'}' | b'*' => frame.extend([b'}', byte ^ 0x20]),
            _ => frame.push(byte),
        }
    }
    let sum = sum(&frame[1..]);
    frame.extend(format!("#{sum:02x}").into_bytes());
    frame
}

/// What `stream` begins with.
pub(super) fn received(stream: &[u8]) -> Received {
    match stream.first() {
        None => return Received::Part,
        Some(b'+') => return Received::Acknowledged,
        Some(b'-') => return Received::Again,
        Some(b'$') => {}
        Some(other) => return Received::Broken(format!("a packet begins with {:?}", char::from(*other))),
    }
    let Some(end) = stream.iter().position(|&byte| byte == b'#') else {
        return match stream.len() {
            0..LONGEST => Received::Part,
            _ => Received::Broken(format!("a packet of more than {LONGEST} bytes")),
        };
    };
    let Some(digits) = stream.get(end + 1..end + 3) else { return Received::Part };
    let payload = &stream[1..end];
    let checksum = std::str::from_utf8(digits).ok().and_then(|digits| u8::from_str_radix(digits, 16).ok());
    if checksum != Some(sum(payload)) {
        let digits = String::from_utf8_lossy(digits);
        return Received::Broken(format!(
            "a packet with the checksum {digits}, where {:02x} is right",
            sum(payload)
        ));
    }
    match plain(payload) {
        Some(plain) => Received::Packet(plain, end + 3),
        None => Received::Broken("a packet that ends within an escape, or repeats nothing".to_owned()),
    }
}

fn sum(bytes: &[u8]) -> u8 {
    bytes.iter().fold(0, |sum, &byte| sum.wrapping_add(byte))
}

/// The payload without escapes and repetitions; `None` where one of them lacks its other half.
fn plain(payload: &[u8]) -> Option<Vec<u8>> {
    let mut plain = Vec::new();
    let mut bytes = payload.iter();
    while let Some(&byte) = bytes.next() {
        match byte {
            b'}' => plain.push(bytes.next()? ^ 0x20),
            b'*' => {
                let count = bytes.next()?.checked_sub(29)?;
                let last = *plain.last()?;
                plain.extend(std::iter::repeat_n(last, usize::from(count)));
            }
            _ => plain.push(byte),
        }
    }
    Some(plain)
}

/// Bytes as hexadecimal digits, two each.
pub(super) fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The bytes that hexadecimal digits say; `None` where they do not.
pub(super) fn bytes(digits: &[u8]) -> Option<Vec<u8>> {
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let pair = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(pair).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn frames_are_as_the_protocol_has_them() {
        let cases: &[(&[u8], &[u8])] = &[
            (b"", b"$#00"),
            (b"OK", b"$OK#9a"),
            (b"vCont;s:p1.2", b"$vCont;s:p1.2#f3"),
            (b"a#b", b"$a}\x03b#43"),
            (b"}", b"$}]#da"),
        ];
        for (payload, frame) in cases {
            assert_eq!(framed(payload), *frame, "{}", String::from_utf8_lossy(payload));
        }
    }

    #[test]
    fn what_is_received_is_told_apart() {
        let packet = |payload: &[u8], taken| Received::Packet(payload.to_vec(), taken);
        assert_eq!(received(b""), Received::Part);
        assert_eq!(received(b"+$OK#9a"), Received::Acknowledged);
        assert_eq!(received(b"-"), Received::Again);
        for part in [&b"$"[..], b"$O", b"$OK#", b"$OK#9"] {
            assert_eq!(received(part), Received::Part);
        }
        assert_eq!(received(b"$OK#9a$"), packet(b"OK", 6));
        assert_eq!(received(b"$OK#9A"), packet(b"OK", 6));
        // The manual's own example of a repetition: four zeros.
        assert_eq!(received(b"$0* #7a"), packet(b"0000", 7));
    }

    #[test]
    fn what_is_no_packet_is_refused() {
        let broken: &[&[u8]] = &[b"OK", b"$OK#9b", b"$OK#zz", b"$}#7d", b"$*#2a", b"$* #4a", b"$0*\x1c#76"];
        for stream in broken {
            let received = received(stream);
            assert!(
                matches!(received, Received::Broken(_)),
                "{}: {received:?}",
                String::from_utf8_lossy(stream)
            );
        }
        let endless = [b"$".to_vec(), vec![b'x'; LONGEST]].concat();
        assert!(matches!(received(&endless), Received::Broken(_)));
    }

    #[test]
    fn digits_that_are_none_say_no_bytes() {
        for wrong in [&b"0"[..], b"0g", b"+1", b"E01"] {
            assert_eq!(bytes(wrong), None);
        }
    }

    proptest! {
        #[test]
        fn what_is_framed_is_received(
            payload in prop::collection::vec(any::<u8>(), 0..200),
            cut in any::<prop::sample::Index>(),
        ) {
            let frame = framed(&payload);
            prop_assert_eq!(received(&frame), Received::Packet(payload.clone(), frame.len()));
            prop_assert_eq!(received(&frame[..cut.index(frame.len())]), Received::Part);
            prop_assert_eq!(bytes(digits(&payload).as_bytes()), Some(payload));
        }

        #[test]
        fn one_flipped_bit_of_a_payload_is_noticed(
            payload in prop::collection::vec(b'a'..=b'y', 1..40),
            at in any::<prop::sample::Index>(),
        ) {
            let mut frame = framed(&payload);
            let at = 1 + at.index(payload.len());
            frame[at] ^= 1;
            prop_assert!(matches!(received(&frame), Received::Broken(_)));
        }
    }
}
