//! The image of a vDSO as it lies in memory: which functions it offers, under which version.
//!
//! The kernel maps it whole, by one segment that begins with the file, so it is read like one. Source:
//! `tools/testing/selftests/vDSO/parse_vdso.c` of the kernel, for what a vDSO promises.

use std::fmt;

use tenbin_model::elf::{self, Elf, Segment, numbers};

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

impl From<elf::Malformed> for Malformed {
    fn from(why: elf::Malformed) -> Self {
        Self(why.to_string())
    }
}

fn malformed<T>(why: &str) -> Result<T, Malformed> {
    Err(Malformed(why.into()))
}

/// Bytes that the image takes in memory, read from its first page.
///
/// # Errors
/// What is wrong with the headers.
pub(super) fn extent(first_page: &[u8]) -> Result<usize, Malformed> {
    let segment = segment(&Elf::parse(first_page)?)?;
    Ok(usize::try_from(segment.length).unwrap_or(usize::MAX))
}

/// The functions that the image offers, in the order of its table.
///
/// # Errors
/// What is wrong with it.
pub(super) fn functions(bytes: &[u8]) -> Result<Vec<Symbol>, Malformed> {
    let image = Elf::parse(bytes)?;
    let segment = segment(&image)?;
    let Some(dynamic) = image.dynamic()? else { return malformed("it has no dynamic section") };
    let offered = |it: &elf::Symbol<'_>| it.kind == numbers::STT_FUNC && !it.local && !it.is_undefined();
    let function = |it: elf::Symbol<'_>| {
        let offset = it.address.wrapping_sub(segment.address);
        if !segment.flags.contains(numbers::PF_X) || offset >= segment.length {
            return malformed("one of its functions lies outside the code");
        }
        let version = it.version.map(|version| version.name.into_owned());
        Ok(Symbol { name: it.name.into_owned(), version, offset: offset as usize })
    };
    dynamic.symbols.into_iter().filter(offered).map(function).collect()
}

/// The one that the kernel maps.
fn segment(image: &Elf<'_>) -> Result<Segment, Malformed> {
    let segment = image.loaded().find(|segment| segment.offset == 0 && segment.length > 0);
    segment.map_or_else(|| malformed("no segment begins with the file"), Ok)
}

#[cfg(test)]
mod tests;
