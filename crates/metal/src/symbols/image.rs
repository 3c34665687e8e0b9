//! The bytes of the kernel's code: from the running kernel (`/proc/kcore`), else from the file it was started
//! from.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use tenbin_model::elf::{self, Elf, Malformed, Segment};
use tenbin_model::words::semicolon;

/// How many bytes are read on either side of an address: the longest x86 instruction has 15.
pub const REACH: u64 = 16;

/// Bytes of the header of an ELF file of 64 bits.
const HEADER: usize = 64;

/// Program headers are read that end within so many bytes: those of `/proc/kcore` lie in the first few
/// thousand.
const LONGEST_HEADERS: u64 = 8 << 20;

/// What lies around an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Code {
    /// The bytes before the address, up to [`REACH`] of them.
    pub before: Vec<u8>,
    /// The bytes from the address on.
    pub from: Vec<u8>,
    /// Where they were read, and what that means.
    pub source: String,
}

/// The code around `address` of the running kernel, whose text begins at `text` by its own symbols (`_text`).
///
/// # Errors
/// Why it cannot be read, in words: what was tried, on which files.
pub fn around(address: u64, text: Option<u64>) -> Result<Code, String> {
    const RUNNING: &str = "/proc/kcore";
    let mut tried = Vec::new();
    match File::open(RUNNING).and_then(|file| read(&file, address)) {
        Ok((before, from)) => return Ok(Code { before, from, source: RUNNING.into() }),
        Err(error) => tried.push(format!("{RUNNING}: {error}")),
    }
    let release = rustix::system::uname().release().to_string_lossy().into_owned();
    let folders = [
        format!("/boot/vmlinux-{release}"),
        format!("/usr/lib/debug/boot/vmlinux-{release}"),
        format!("/usr/lib/debug/lib/modules/{release}/vmlinux"),
    ];
    for path in folders {
        match File::open(&path).and_then(|file| linked(&file, address, text)) {
            Ok((before, from)) => {
                let source = format!("{path}, as it was linked: the running kernel may have patched it");
                return Ok(Code { before, from, source });
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tried.push(format!("{path}: {error}")),
        }
    }
    if tried.len() == 1 {
        tried.push(format!("no vmlinux of {release} below /boot or /usr/lib/debug"));
    }
    Err(semicolon(&tried))
}

/// The same from an image that was linked for other addresses: its lowest segment begins where the text did.
fn linked(file: &File, address: u64, text: Option<u64>) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let text =
        text.ok_or_else(|| io::Error::other("the running kernel does not say where its text begins"))?;
    let lowest = segments(file)?.iter().map(|segment| segment.address).min();
    let lowest = lowest.ok_or_else(|| io::Error::other("it has no segments"))?;
    read(file, address.wrapping_sub(text).wrapping_add(lowest))
}

/// The loaded segments of a little-endian ELF file of 64 bits.
fn segments(file: &File) -> io::Result<Vec<Segment>> {
    let unreadable = |why| match why {
        Malformed::Damaged(how) => io::Error::other(how),
        Malformed::NotElf | Malformed::Class(_) => {
            io::Error::other("it is not an uncompressed 64-bit ELF file")
        }
    };
    let mut bytes = vec![0; HEADER];
    file.read_exact_at(&mut bytes, 0)?;
    let identity = elf::identify(&bytes).map_err(unreadable)?;
    if identity.big_endian {
        return Err(unreadable(Malformed::NotElf));
    }
    let length = identity.headers;
    if length > LONGEST_HEADERS {
        return Err(io::Error::other("its program headers lie too far in"));
    }
    bytes.resize(HEADER.max(length as usize), 0);
    file.read_exact_at(&mut bytes, 0)?;
    Ok(Elf::parse(&bytes).map_err(unreadable)?.loaded().collect())
}

/// The bytes before `address` and from it on, of the segment that it lies in.
fn read(file: &File, address: u64) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let segments = segments(file)?;
    let holds =
        |segment: &&Segment| address.checked_sub(segment.address).is_some_and(|at| at < segment.length);
    let segment = segments
        .iter()
        .find(holds)
        .ok_or_else(|| io::Error::other(format!("no segment holds address {address:#x}")))?;
    let at = address - segment.address;
    let (before, after) = (at.min(REACH), (segment.length - at).min(REACH));
    let mut bytes = vec![0_u8; (before + after) as usize];
    file.read_exact_at(&mut bytes, segment.offset.saturating_add(at) - before)?;
    let from = bytes.split_off(before as usize);
    Ok((bytes, from))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// An ELF file with a note and two segments, of 64 and of 40 bytes that count up from 0 and from 100.
    fn image() -> File {
        let mut bytes = vec![0_u8; 64];
        bytes[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        bytes[32..40].copy_from_slice(&64_u64.to_le_bytes());
        bytes[54..56].copy_from_slice(&56_u16.to_le_bytes());
        bytes[56..58].copy_from_slice(&3_u16.to_le_bytes());
        let entries = [
            (4_u32, 0_u64, 0_u64, 8_u64),
            (1, 0xffff_ffff_8100_0000, 232, 64),
            (1, 0xffff_ffff_8200_0000, 296, 40),
        ];
        for (kind, address, offset, length) in entries {
            let mut entry = [0_u8; 56];
            entry[..4].copy_from_slice(&kind.to_le_bytes());
            entry[8..16].copy_from_slice(&offset.to_le_bytes());
            entry[16..24].copy_from_slice(&address.to_le_bytes());
            entry[32..40].copy_from_slice(&length.to_le_bytes());
            bytes.extend(entry);
        }
        bytes.extend(0..64_u8);
        bytes.extend(100..140_u8);
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&bytes).unwrap();
        file
    }

    #[test]
    fn bytes_are_those_of_the_segment_that_holds_the_address() {
        let file = image();
        let (before, from) = read(&file, 0xffff_ffff_8100_0020).unwrap();
        assert_eq!((before, from), ((16..32).collect(), (32..48).collect()));
        let (before, from) = read(&file, 0xffff_ffff_8200_0003).unwrap();
        assert_eq!((before, from), (vec![100, 101, 102], (103..119).collect()));
        let (before, from) = read(&file, 0xffff_ffff_8200_0027).unwrap();
        assert_eq!((before, from), ((123..139).collect(), vec![139]));
        for outside in [0, 0xffff_ffff_8100_0040, u64::MAX] {
            assert!(read(&file, outside).unwrap_err().to_string().contains("no segment"), "{outside:x}");
        }
    }

    #[test]
    fn an_image_is_moved_to_where_the_text_really_begins() {
        let file = image();
        let (_, from) = linked(&file, 0xffff_ffff_9a20_0008, Some(0xffff_ffff_9a20_0000)).unwrap();
        assert_eq!(from[0], 8);
        assert!(linked(&file, 0xffff_ffff_9a20_0008, None).is_err());
    }

    #[test]
    fn what_is_no_elf_file_is_told_so() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(&[0x1f; 128]).unwrap();
        assert!(read(&file, 0).unwrap_err().to_string().contains("not an uncompressed 64-bit ELF"));
        assert!(read(&tempfile::tempfile().unwrap(), 0).is_err(), "an empty file");
    }
}
