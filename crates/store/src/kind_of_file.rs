//! What a file is, by its first bytes.

use std::fs::File;
use std::io::Read;
use std::path::Path;

/// The first bytes of every SQLite database.
pub(crate) const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The header of an SQLite database (<https://sqlite.org/fileformat.html>, section 1.3).
pub(crate) const HEADER: usize = 100;

/// What a file is that is no store; it ends "it is …".
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Foreign {
    /// It holds nothing: no bytes, or an SQLite database without a table.
    #[error("empty")]
    Empty,
    /// An SQLite database with this application id; 0 means that the application set none.
    #[error("an SQLite database of another application{}", named(*.0))]
    Application(i32),
    /// Something else, named as well as its first bytes allow.
    #[error("{0}")]
    Other(&'static str),
}

fn named(application: i32) -> String {
    if application == 0 { String::new() } else { format!(" (application id {application:#010x})") }
}

/// What a file is that SQLite does not take for a database, as far as its first bytes say. Nothing
/// where they are those of a database.
pub(crate) fn of(path: &Path) -> Option<Foreign> {
    let mut header = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEADER as u64).read_to_end(&mut header));
    match read {
        Ok(0) => Some(Foreign::Empty),
        Ok(_) if header.starts_with(MAGIC) => None,
        Ok(_) => Some(Foreign::Other(what_begins_with(&header))),
        Err(_) => Some(Foreign::Other("not an SQLite database")),
    }
}

pub(crate) fn what_begins_with(header: &[u8]) -> &'static str {
    const KNOWN: [(&[u8], &str); 9] = [
        (b"\x1f\x8b", "a gzip archive (unpack it first)"),
        (b"\x28\xb5\x2f\xfd", "a zstd archive (unpack it first)"),
        (b"\xfd7zXZ", "an xz archive (unpack it first)"),
        (b"PK\x03\x04", "a zip archive (unpack it first)"),
        (b"\x7fELF", "a program"),
        (b"{", "a JSON document"),
        (b"[", "a JSON document"),
        (b"%PDF", "a PDF document"),
        (b"<", "an HTML or XML document"),
    ];
    let known = KNOWN.iter().find(|(magic, _)| header.starts_with(magic)).map(|(_, what)| *what);
    let is_text = header.iter().all(|byte| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0x80..));
    known.unwrap_or(if is_text { "a text" } else { "not an SQLite database" })
}
