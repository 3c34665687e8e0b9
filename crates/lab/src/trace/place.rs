//! Which file's code an address of a process belongs to (`/proc/PID/maps`, proc(5)).

use std::fs;
use std::io::ErrorKind;

use tenbin_metal::Fault;
use tenbin_metal::tracee::{Thread, Trouble};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Mapping {
    pub(super) start: u64,
    pub(super) end: u64,
    /// Where in the file it begins.
    pub(super) offset: u64,
    /// The file, or what the kernel calls it; empty where it is neither.
    pub(super) path: String,
}

pub(super) fn mappings(thread: Thread) -> Result<Vec<Mapping>, Trouble> {
    let path = format!("/proc/{thread}/maps");
    let text = fs::read_to_string(&path).map_err(|error| match error.kind() {
        // Killed meanwhile, by the end of its process.
        ErrorKind::NotFound => Trouble::Gone(thread),
        _ => Fault::system(format!("read {path}"), error).into(),
    })?;
    Ok(text.lines().filter_map(mapping).collect())
}

pub(super) fn at(mappings: &[Mapping], address: u64) -> Option<&Mapping> {
    mappings.iter().find(|mapping| (mapping.start..mapping.end).contains(&address))
}

/// One line: `start-end rights offset device inode path`, with spaces before the path, which may hold some.
fn mapping(line: &str) -> Option<Mapping> {
    let mut fields = line.splitn(6, ' ');
    let (start, end) = fields.next()?.split_once('-')?;
    let offset = fields.nth(1)?;
    let path = fields.nth(2).unwrap_or_default().trim_start();
    let number = |text| u64::from_str_radix(text, 16).ok();
    Some(Mapping { start: number(start)?, end: number(end)?, offset: number(offset)?, path: path.into() })
}

/// The last part of a path, or all of what is none.
pub(super) fn short(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, name)| name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_maps_are_read_whatever_the_path_is() {
        let table = [
            (
                "7f00-7f10 r-xp 00001000 fe:00 42                 /usr/lib/libc.so.6",
                "/usr/lib/libc.so.6",
                0x1000,
            ),
            (
                "7f10-7f20 r--p 00000000 fe:00 42   /opt/a folder/lib.so (deleted)",
                "/opt/a folder/lib.so (deleted)",
                0,
            ),
            ("7f20-7f30 rw-p 00000000 00:00 0 ", "", 0),
            ("7f30-7f40 r-xp 00000000 00:00 0                          [vdso]", "[vdso]", 0),
        ];
        let mappings: Vec<Mapping> = table.iter().filter_map(|(line, ..)| mapping(line)).collect();
        assert_eq!(mappings.len(), table.len());
        for (read, (_, path, offset)) in mappings.iter().zip(table) {
            assert_eq!((read.path.as_str(), read.offset), (path, offset));
        }
        assert_eq!(at(&mappings, 0x7f30).unwrap().path, "[vdso]");
        assert_eq!(at(&mappings, 0x7f0f).unwrap().path, "/usr/lib/libc.so.6");
        assert_eq!(at(&mappings, 0x7f40), None);
        assert_eq!(mapping("nonsense"), None);
        assert_eq!((short("/usr/lib/libc.so.6"), short("[vdso]")), ("libc.so.6", "[vdso]"));
    }
}
