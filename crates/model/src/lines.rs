//! Which line of source the machine code at an address comes from.
//!
//! Only the line tables are read, `.debug_line` and the strings that it refers to: they say all that is asked
//! here, and an assembler writes them too.
//!
//! Source: DWARF Debugging Information Format, version 5, section 6.2 "Line Number Information".

use crate::Order;
use gimli::{AttributeValue, DebugLine, DebugLineOffset, DebugLineStr, DebugStr, LineProgramHeader};
use gimli::{EndianSlice, LittleEndian, Section as _};

use crate::elf::{Elf, numbers::SHF_COMPRESSED};

type Bytes<'a> = EndianSlice<'a, LittleEndian>;

/// Ranges that are kept at most. A kernel has some hundred thousands; a file that is damaged could have any
/// number.
const MOST: usize = 1 << 22;

/// The lines of an executable.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lines {
    /// Names without their folders.
    files: Vec<String>,
    /// By their first address.
    ranges: Vec<Range>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Range {
    begin: u64,
    end: u64,
    file: u32,
    line: u32,
}

impl Lines {
    /// What the bytes of an ELF file say. Nothing where they do not say it, or not readably: a file without
    /// lines can be examined as well as one with them. Compressed sections are not read.
    #[must_use]
    pub fn read(file: &[u8]) -> Self {
        let mut lines = Self::default();
        // Whatever was read before the damage is right.
        let _ = lines.collect(file);
        lines.ranges.order();
        lines
    }

    /// The file, without its folders, and the line, from 1, of the instruction at this address.
    #[must_use]
    pub fn of(&self, address: u64) -> Option<(&str, u32)> {
        let after = self.ranges.partition_point(|range| range.begin <= address);
        let range = self.ranges.get(after.checked_sub(1)?)?;
        let file = self.files.get(usize::try_from(range.file).ok()?)?;
        (address < range.end).then_some((file.as_str(), range.line))
    }

    /// Reads one table after the other. `None` where one cannot be read.
    fn collect(&mut self, file: &[u8]) -> Option<()> {
        let sections = Sections {
            lines: DebugLine::from(section(file, gimli::DebugLine::<Bytes<'_>>::section_name())?),
            line_strings: DebugLineStr::from(section(file, ".debug_line_str").unwrap_or_default()),
            strings: DebugStr::from(section(file, ".debug_str").unwrap_or_default()),
        };
        let mut offset = 0;
        while offset < sections.lines.reader().len() {
            let program = sections.lines.program(DebugLineOffset(offset), 8, None, None).ok()?;
            let header = program.header();
            // The length of a table is not counted in it.
            let prefix = usize::from(header.format().initial_length_size());
            offset = offset.checked_add(prefix)?.checked_add(header.unit_length())?;
            let base = self.files.len();
            self.name_files(header, &sections)?;
            let mut rows = program.rows();
            let mut last: Option<(u64, u64, u64)> = None;
            while let Some((_, row)) = rows.next_row().ok()? {
                // Of several rows at one address the last one is that of the instruction there.
                if let Some((begin, file, line)) = last
                    && begin < row.address()
                    && line != 0
                {
                    self.ranges.push(Range {
                        begin,
                        end: row.address(),
                        file: u32::try_from(base).ok()?.checked_add(u32::try_from(file).ok()?)?,
                        line: u32::try_from(line).ok()?,
                    });
                }
                let line = row.line().map_or(0, std::num::NonZero::get);
                last = (!row.end_sequence()).then_some((row.address(), row.file_index(), line));
                if self.ranges.len() >= MOST {
                    return None;
                }
            }
        }
        Some(())
    }

    /// Appends the names of a table's files, so that the file of number n stands n places behind the first.
    fn name_files(&mut self, header: &LineProgramHeader<Bytes<'_>>, sections: &Sections<'_>) -> Option<()> {
        // Before version 5 the first file has the number 1.
        if header.version() < 5 {
            self.files.push(String::new());
        }
        for file in header.file_names() {
            let name = match file.path_name() {
                AttributeValue::String(name) => name,
                AttributeValue::DebugLineStrRef(offset) => sections.line_strings.get_str(offset).ok()?,
                AttributeValue::DebugStrRef(offset) => sections.strings.get_str(offset).ok()?,
                _ => return None,
            };
            let name = String::from_utf8_lossy(name.slice());
            self.files.push(name.rsplit('/').next().unwrap_or_default().to_owned());
        }
        Some(())
    }
}

struct Sections<'a> {
    lines: DebugLine<Bytes<'a>>,
    line_strings: DebugLineStr<Bytes<'a>>,
    strings: DebugStr<Bytes<'a>>,
}

fn section<'a>(file: &'a [u8], name: &str) -> Option<Bytes<'a>> {
    let section = Elf::parse(file).ok()?.section(name).ok()??;
    (!section.flags.contains(SHF_COMPRESSED)).then(|| EndianSlice::new(section.bytes, LittleEndian))
}
