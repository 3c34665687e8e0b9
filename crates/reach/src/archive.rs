//! The archive that a kernel unpacks as its first root: cpio, the "newc" kind.
//!
//! The format is that of the kernel's `Documentation/driver-api/early-userspace/buffer-format.rst`: a
//! header of 110 bytes in hexadecimal digits, the name with a zero at its end, the content; name and
//! content each filled up to a multiple of 4 bytes; at the end an entry that is called `TRAILER!!!`.

use std::io::{self, Write};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Folder,
    File,
    /// The content is where it points.
    Link,
    Device {
        major: u32,
        minor: u32,
    },
}

impl Kind {
    fn bits(self) -> u32 {
        match self {
            Self::Folder => 0o040_000,
            Self::File => 0o100_000,
            Self::Link => 0o120_000,
            Self::Device { .. } => 0o020_000,
        }
    }
}

pub(crate) struct Archive<W> {
    out: W,
    entries: u32,
}

impl<W: Write> Archive<W> {
    pub(crate) fn new(out: W) -> Self {
        Self { out, entries: 0 }
    }

    /// Adds an entry. `name` has no slash in front; `mode` is the permission bits; everything belongs to
    /// root and is as old as the epoch.
    pub(crate) fn add(&mut self, name: &[u8], kind: Kind, mode: u32, content: &[u8]) -> io::Result<()> {
        let too_large = |_| io::Error::new(io::ErrorKind::FileTooLarge, "4 GiB or more");
        let size = u32::try_from(content.len()).map_err(too_large)?;
        let length = u32::try_from(name.len() + 1).map_err(too_large)?;
        let (major, minor) = match kind {
            Kind::Device { major, minor } => (major, minor),
            _ => (0, 0),
        };
        self.entries += 1;
        // The kernel takes entries with more than one link and the same number for one file.
        let links = if kind == Kind::Folder { 2 } else { 1 };
        let fields =
            [self.entries, kind.bits() | mode & 0o7777, 0, 0, links, 0, size, 0, 0, major, minor, length, 0];
        self.out.write_all(b"070701")?;
        for field in fields {
            write!(self.out, "{field:08x}")?;
        }
        self.out.write_all(name)?;
        self.out.write_all(b"\0")?;
        // The header's 110 bytes are 2 more than a multiple of 4.
        self.fill(2 + name.len() + 1)?;
        self.out.write_all(content)?;
        self.fill(content.len())
    }

    /// Writes the last entry and gives back what was written to.
    pub(crate) fn finish(mut self) -> io::Result<W> {
        self.add(b"TRAILER!!!", Kind::File, 0, b"")?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn fill(&mut self, length: usize) -> io::Result<()> {
        self.out.write_all(&[0; 3][..length.wrapping_neg() % 4])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// An entry as a reader finds it: name, mode, content.
    type Entry = (Vec<u8>, u32, Vec<u8>);

    /// A reader of its own, from the same description.
    fn read(mut bytes: &[u8]) -> Vec<Entry> {
        let mut entries = Vec::new();
        let whole = bytes.len();
        loop {
            let field = |bytes: &[u8], index: usize| {
                let digits = std::str::from_utf8(&bytes[6 + 8 * index..14 + 8 * index]).unwrap();
                u32::from_str_radix(digits, 16).unwrap()
            };
            assert_eq!(&bytes[..6], b"070701");
            let (mode, size, length) = (field(bytes, 1), field(bytes, 6) as usize, field(bytes, 11) as usize);
            let name = bytes[110..110 + length - 1].to_vec();
            assert_eq!(bytes[110 + length - 1], 0);
            let start = (110 + length).next_multiple_of(4);
            let content = bytes[start..start + size].to_vec();
            bytes = &bytes[(start + size).next_multiple_of(4)..];
            assert_eq!((whole - bytes.len()) % 4, 0);
            if name == b"TRAILER!!!" {
                assert!(bytes.is_empty());
                return entries;
            }
            entries.push((name, mode, content));
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(
            entries in prop::collection::vec(
                (prop::collection::vec(1_u8.., 1..40), prop::collection::vec(any::<u8>(), 0..40)),
                0..10,
            )
        ) {
            let mut archive = Archive::new(Vec::new());
            for (name, content) in &entries {
                archive.add(name, Kind::File, 0o640, content).unwrap();
            }
            let expected = entries.into_iter()
                .map(|(name, content)| (name, 0o100_640, content)).collect::<Vec<_>>();
            prop_assert_eq!(read(&archive.finish().unwrap()), expected);
        }
    }

    #[test]
    fn every_kind_has_the_bits_that_a_mode_has_for_it() {
        let mut archive = Archive::new(Vec::new());
        let kinds = [
            (Kind::Folder, 0o040_755),
            (Kind::File, 0o100_755),
            (Kind::Link, 0o120_755),
            (Kind::Device { major: 5, minor: 1 }, 0o020_755),
        ];
        for (kind, _) in kinds {
            archive.add(b"x", kind, 0o755, b"").unwrap();
        }
        let bytes = archive.finish().unwrap();
        // Fields 9 and 10 of the fourth header are the numbers of the device.
        assert_eq!(&bytes[3 * 112 + 6 + 72..3 * 112 + 6 + 88], b"0000000500000001");
        let modes = read(&bytes).into_iter().map(|(_, mode, _)| mode).collect::<Vec<_>>();
        assert_eq!(modes, kinds.map(|(_, mode)| mode));
    }
}
