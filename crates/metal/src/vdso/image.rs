//! Reading the image of a shared object as it lies in memory: which functions it offers, under which version.
//!
//! Nothing but the dynamic section is trusted to be there: section headers are for linkers, and a kernel may
//! leave them out. Everything is looked up inside the bytes that were handed over, so an image that lies
//! about itself is an error and never a reading elsewhere. Sources: System V ABI, chapters 4 and 5; for
//! `DT_GNU_HASH` and versions the Linux Standard Base, Core, "Symbol Versioning"; and
//! `tools/testing/selftests/vDSO/parse_vdso.c` of the kernel for what a vDSO promises.

use std::fmt;
use std::ops::Range;

/// A function that the image defines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Its name, without the version.
    pub name: String,
    /// The version under which it is offered; none where the image has no versions.
    pub version: Option<String>,
    /// Bytes from the start of the image to its code.
    pub offset: usize,
}

/// What is wrong with an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Malformed(pub(super) String);

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

type Read<T> = Result<T, Malformed>;

/// Bytes of the file header, of a program header and of a symbol, in a 64-bit object.
const HEADER: usize = 64;
const PROGRAM_HEADER: usize = 56;
const SYMBOL: usize = 24;

/// Program headers.
const PT_LOAD: u32 = 1;
const PT_DYNAMIC: u32 = 2;
const PF_X: u32 = 1;

/// Entries of the dynamic section.
const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_GNU_HASH: u64 = 0x6fff_fef5;
const DT_VERSYM: u64 = 0x6fff_fff0;
const DT_VERDEF: u64 = 0x6fff_fffc;

/// More symbols than any such object has: the end of a search in one that lies.
const MOST_SYMBOLS: usize = 4096;

/// Bytes that the image takes in memory, read from its first page.
///
/// # Errors
/// What is wrong with the headers.
pub(super) fn extent(first_page: &[u8]) -> Read<usize> {
    Ok(Image::open(first_page)?.length)
}

/// The functions that the image offers, in the order of its table.
///
/// # Errors
/// What is wrong with it.
pub(super) fn functions(bytes: &[u8]) -> Read<Vec<Symbol>> {
    let image = Image::open(bytes)?;
    let dynamic = image.dynamic()?;
    let versions = dynamic.versions(&image)?;
    let mut found = Vec::new();
    for index in 1..dynamic.symbols(&image)? {
        let at = add(dynamic.symbol_table, index * SYMBOL)?;
        let (kind, section, value) =
            (image.byte(add(at, 4)?)?, image.half(add(at, 6)?)?, image.double(add(at, 8)?)?);
        // A function, global or weak, that is defined here.
        if kind & 0xf != 2 || !matches!(kind >> 4, 1 | 2) || section == 0 {
            continue;
        }
        let offset = image.offset(value)?;
        if !image.code.contains(&offset) {
            return malformed(format!("symbol {index} is a function outside the code"));
        }
        let name = image.text(add(dynamic.strings, image.word(at)? as usize)?)?;
        let version = match dynamic.version_of_symbol {
            None => None,
            Some(table) => {
                let number = image.half(add(table, index * 2)?)? & 0x7fff;
                versions.iter().find(|(known, _)| *known == number).map(|(_, name)| name.clone())
            }
        };
        found.push(Symbol { name, version, offset });
    }
    Ok(found)
}

fn malformed<T>(why: impl Into<String>) -> Read<T> {
    Err(Malformed(why.into()))
}

fn add(one: usize, other: usize) -> Read<usize> {
    one.checked_add(other).ok_or_else(|| Malformed("an offset beyond every address".into()))
}

/// An image whose program headers were read.
struct Image<'a> {
    bytes: &'a [u8],
    /// What an address in its tables is to be lowered by to be an offset into the image.
    base: u64,
    /// Bytes of its segment.
    length: usize,
    /// Where code may lie.
    code: Range<usize>,
    /// Where the dynamic section lies.
    dynamic: Range<usize>,
}

/// What the dynamic section names, as offsets into the image.
#[derive(Default)]
struct Dynamic {
    symbol_table: usize,
    strings: usize,
    hash: Option<usize>,
    gnu_hash: Option<usize>,
    version_of_symbol: Option<usize>,
    versions: Option<usize>,
}

impl<'a> Image<'a> {
    fn open(bytes: &'a [u8]) -> Read<Self> {
        // 64 bits, least significant byte first, and the version of the format that there is.
        if bytes.len() < HEADER || bytes[..7] != *b"\x7fELF\x02\x01\x01" {
            return malformed("it does not begin as a 64-bit ELF object of this byte order");
        }
        let mut image = Self { bytes, base: 0, length: 0, code: 0..0, dynamic: 0..0 };
        let headers = usize::try_from(image.double(32)?).unwrap_or(usize::MAX);
        let (size, count) = (image.half(54)? as usize, image.half(56)? as usize);
        if size != PROGRAM_HEADER {
            return malformed(format!("its program headers are {size} bytes long"));
        }
        let mut dynamic = None;
        for index in 0..count {
            let at = add(headers, index * PROGRAM_HEADER)?;
            let (kind, flags) = (image.word(at)?, image.word(add(at, 4)?)?);
            let (offset, address) = (image.double(add(at, 8)?)?, image.double(add(at, 16)?)?);
            let length = image.double(add(at, 32)?)?;
            match kind {
                // The kernel maps a vDSO by one segment that begins with the file.
                PT_LOAD if offset == 0 && image.length == 0 => {
                    image.base = address;
                    image.length = usize::try_from(length).unwrap_or(usize::MAX);
                    image.code = if flags & PF_X == 0 { 0..0 } else { 0..image.length };
                }
                PT_DYNAMIC => dynamic = Some((address, length)),
                _ => {}
            }
        }
        if image.length == 0 {
            return malformed("no segment begins with the file");
        }
        let Some((address, length)) = dynamic else { return malformed("it has no dynamic section") };
        let start = image.offset(address)?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        image.dynamic = start..start.saturating_add(length).min(image.length);
        Ok(image)
    }

    /// An address in the image's own tables as an offset into it.
    fn offset(&self, address: u64) -> Read<usize> {
        let offset = usize::try_from(address.wrapping_sub(self.base)).unwrap_or(usize::MAX);
        if offset < self.length {
            Ok(offset)
        } else {
            malformed(format!("address {address:#x} lies outside the image"))
        }
    }

    fn array<const N: usize>(&self, at: usize) -> Read<[u8; N]> {
        let bytes = at.checked_add(N).and_then(|end| self.bytes.get(at..end));
        let bytes = bytes.and_then(|bytes| bytes.try_into().ok());
        bytes.ok_or_else(|| Malformed(format!("it ends before its byte {at:#x}")))
    }

    fn byte(&self, at: usize) -> Read<u8> {
        self.array::<1>(at).map(|[byte]| byte)
    }

    fn half(&self, at: usize) -> Read<u16> {
        self.array(at).map(u16::from_le_bytes)
    }

    fn word(&self, at: usize) -> Read<u32> {
        self.array(at).map(u32::from_le_bytes)
    }

    fn double(&self, at: usize) -> Read<u64> {
        self.array(at).map(u64::from_le_bytes)
    }

    /// The text that begins here and ends with NUL.
    fn text(&self, at: usize) -> Read<String> {
        let rest = self.bytes.get(at..).unwrap_or_default();
        match rest.iter().position(|&byte| byte == 0) {
            Some(end) => Ok(String::from_utf8_lossy(&rest[..end]).into_owned()),
            None => malformed(format!("the name at byte {at:#x} has no end")),
        }
    }

    fn dynamic(&self) -> Read<Dynamic> {
        let mut dynamic = Dynamic::default();
        for at in self.dynamic.clone().step_by(16) {
            let (tag, value) = (self.double(at)?, self.double(add(at, 8)?)?);
            match tag {
                0 => break,
                DT_HASH => dynamic.hash = Some(self.offset(value)?),
                DT_STRTAB => dynamic.strings = self.offset(value)?,
                DT_SYMTAB => dynamic.symbol_table = self.offset(value)?,
                DT_GNU_HASH => dynamic.gnu_hash = Some(self.offset(value)?),
                DT_VERSYM => dynamic.version_of_symbol = Some(self.offset(value)?),
                DT_VERDEF => dynamic.versions = Some(self.offset(value)?),
                _ => {}
            }
        }
        if dynamic.symbol_table == 0 || dynamic.strings == 0 {
            return malformed("its dynamic section names no symbols");
        }
        Ok(dynamic)
    }
}

impl Dynamic {
    /// How many symbols there are, which only a hash table says.
    fn symbols(&self, image: &Image<'_>) -> Read<usize> {
        let count = match (self.hash, self.gnu_hash) {
            (Some(table), _) => image.word(add(table, 4)?)? as usize,
            (None, Some(table)) => gnu_symbols(image, table)?,
            (None, None) => {
                return malformed("it has no hash table, which alone says how many symbols there are");
            }
        };
        if count > MOST_SYMBOLS {
            return malformed(format!("it claims {count} symbols"));
        }
        Ok(count)
    }

    /// The versions that the image defines, by number. The first names the object itself, and no symbol has
    /// it.
    fn versions(&self, image: &Image<'_>) -> Read<Vec<(u16, String)>> {
        let mut versions = Vec::new();
        let Some(mut at) = self.versions else { return Ok(versions) };
        loop {
            let (flags, number) = (image.half(add(at, 2)?)?, image.half(add(at, 4)?)?);
            let (name, next) = (image.word(add(at, 12)?)?, image.word(add(at, 16)?)?);
            if flags & 1 == 0 {
                let name = image.word(add(at, name as usize)?)?;
                versions.push((number & 0x7fff, image.text(add(self.strings, name as usize)?)?));
            }
            if next == 0 {
                return Ok(versions);
            }
            // Always forward, so that it ends, with the image at the latest.
            at = add(at, next as usize)?;
        }
    }
}

/// One more than the last symbol in any chain of a GNU hash table.
fn gnu_symbols(image: &Image<'_>, table: usize) -> Read<usize> {
    let (buckets, first) = (image.word(table)? as usize, image.word(add(table, 4)?)? as usize);
    let filter = image.word(add(table, 8)?)? as usize;
    if buckets > MOST_SYMBOLS || filter > MOST_SYMBOLS || first > MOST_SYMBOLS {
        return malformed("its hash table is larger than any of its kind");
    }
    let start = add(table, 16 + filter * 8)?;
    let mut last = 0;
    for bucket in 0..buckets {
        last = last.max(image.word(add(start, bucket * 4)?)? as usize);
    }
    if last < first {
        // Every bucket is empty: no symbol can be looked up.
        return Ok(first);
    }
    let chains = add(start, buckets * 4)?;
    while last <= MOST_SYMBOLS {
        // The lowest bit ends a chain.
        if image.word(add(chains, (last - first) * 4)?)? & 1 == 1 {
            return Ok(last + 1);
        }
        last += 1;
    }
    malformed("a chain of its hash table does not end")
}

#[cfg(test)]
mod tests;
