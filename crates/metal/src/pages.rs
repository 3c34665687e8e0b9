//! Memory in whole pages, as the kernel gives it.

use std::ops::{Deref, DerefMut, Range};
use std::ptr::NonNull;
use std::sync::OnceLock;

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::fault::Fault;

/// What kind of pages to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Base pages, with transparent huge pages advised against.
    Base,
    /// Transparent huge pages, where the kernel grants them; advice, not a promise. Base pages where it has
    /// none, or none of a modest size; see [`modest_huge_page`].
    Huge,
}

/// An anonymous mapping that belongs to this value alone, in this process, and is unmapped on drop.
#[derive(Debug)]
pub(crate) struct Mapping {
    start: NonNull<u8>,
    length: usize,
}

impl Mapping {
    pub(crate) fn new(length: usize, access: ProtFlags, flags: MapFlags) -> Result<Self, Fault> {
        // SAFETY: a null hint lets the kernel choose, so no existing mapping is replaced.
        let start =
            unsafe { mmap_anonymous(std::ptr::null_mut(), length, access, flags) }.map_err(|error| {
                let shared = if flags.contains(MapFlags::SHARED) { " shared" } else { "" };
                Fault::system(format!("mmap {length}{shared} bytes"), error)
            })?;
        let start = NonNull::new(start.cast::<u8>())
            .ok_or_else(|| Fault::system("mmap answered address 0", Errno::NOMEM))?;
        Ok(Self { start, length })
    }

    pub(crate) fn start(&self) -> NonNull<u8> {
        self.start
    }

    /// Keeps it from children that are forked from here on (`MADV_DONTFORK`); those that have it keep it.
    pub(crate) fn keep_from_later_children(&self) {
        // SAFETY: the range is this mapping, and what the advice changes is what a later child has; none of
        // them is told of it, or runs code of its owner's.
        let advised = unsafe { madvise(self.start.as_ptr().cast(), self.length, Advice::LinuxDontFork) };
        debug_assert!(advised.is_ok(), "madvise of own mapping");
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `new` with this start and length, and no reference to it outlives
        // the owner of `self`. Pages that a pipe still holds stay alive by the kernel's own references, and
        // in other processes it stays.
        let unmapped = unsafe { munmap(self.start.as_ptr().cast(), self.length) };
        debug_assert!(unmapped.is_ok(), "munmap of own mapping");
    }
}

/// Private anonymous memory, page-aligned, zeroed, unmapped on drop.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    length: usize,
    mapping: Mapping,
}

// SAFETY: the mapping is private to this value and plain memory; a thread may take it over whole.
unsafe impl Send for Pages {}
// SAFETY: shared access is read-only through `Deref`.
unsafe impl Sync for Pages {}

/// The largest huge page that is asked for. With base pages of 4 KiB a huge one has 2 MiB, with 16 KiB 32 MiB
/// and with 64 KiB 512 MiB: the last is more than most buffers, and clearing one takes longer than most
/// epochs.
const LARGEST_HUGE: usize = 32 << 20;

/// The size of a transparent huge page, by the kernel's word; none where it has none.
pub fn huge_page() -> Option<usize> {
    static SIZE: OnceLock<Option<usize>> = OnceLock::new();
    *SIZE.get_or_init(|| {
        let text = std::fs::read_to_string("/sys/kernel/mm/transparent_hugepage/hpage_pmd_size").ok()?;
        text.trim().parse().ok().filter(|&size: &usize| size.is_power_of_two())
    })
}

/// The size of a transparent huge page where that is worth asking for: none where one has more than 32 MiB.
pub fn modest_huge_page() -> Option<usize> {
    modest(huge_page(), rustix::param::page_size())
}

fn modest(huge: Option<usize>, page: usize) -> Option<usize> {
    huge.filter(|huge| (page..=LARGEST_HUGE).contains(huge))
}

impl Pages {
    /// Bytes that become resident at the most when `length` bytes of this kind are touched: a single one in
    /// huge pages takes a whole huge page.
    pub fn most_resident(length: u64, kind: PageKind) -> u64 {
        let huge = if kind == PageKind::Huge { modest_huge_page() } else { None };
        let whole = huge.unwrap_or_else(rustix::param::page_size) as u64;
        length.max(1).div_ceil(whole).saturating_mul(whole)
    }

    /// Maps at least `length` bytes, in whole pages.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room, or refuses advice on base pages.
    pub fn map(length: usize, kind: PageKind) -> Result<Self, Fault> {
        let page = rustix::param::page_size();
        let length = length.max(1).next_multiple_of(page);
        let huge = if kind == PageKind::Huge { modest_huge_page() } else { None };
        // Room to align by hand: mmap promises a base page's alignment only.
        let mapped = huge.map_or(length, |huge| length.next_multiple_of(huge) + huge);
        let mapping = Mapping::new(mapped, ProtFlags::READ | ProtFlags::WRITE, MapFlags::PRIVATE)?;
        let base = mapping.start();
        let offset = huge.map_or(0, |huge| base.align_offset(huge));
        // SAFETY: `offset` is 0, or below the huge page by which the mapping was made longer than `length`.
        let start = unsafe { base.add(offset) };
        let pages = Self { start, length, mapping };
        let (advice, room) = match huge {
            Some(huge) => (Advice::LinuxHugepage, length.next_multiple_of(huge)),
            None => (Advice::LinuxNoHugepage, length),
        };
        // SAFETY: the range lies inside the mapping, and both pieces of advice leave contents alone.
        let advised = unsafe { madvise(pages.start.as_ptr().cast(), room, advice) };
        match advised {
            // A kernel without transparent huge pages: base pages are all there is.
            Ok(()) | Err(Errno::INVAL) => Ok(pages),
            Err(error) => Err(Fault::system(format!("madvise {room} bytes"), error)),
        }
    }
}

impl Pages {
    /// Keeps them from children that are forked from here on (`MADV_DONTFORK`): what a child has in common,
    /// the next write copies, and whoever holds the page by the kernel's own reference keeps the old one.
    pub(crate) fn keep_from_later_children(&self) {
        self.mapping.keep_from_later_children();
    }

    /// How much of this memory the kernel keeps in huge pages, by its own word in
    /// `/proc/self/smaps` (`AnonHugePages`, `Documentation/filesystems/proc.rst`).
    ///
    /// # Errors
    /// [`Fault::System`] when the file cannot be read or does not say.
    pub fn huge_bytes(&self) -> Result<u64, Fault> {
        let start = self.start.as_ptr() as u64;
        huge_bytes("/proc/self/smaps", start..start + self.length as u64)
    }
}

/// How many bytes the kernel keeps in huge pages in the mappings that overlap `addresses`, by the `smaps` at
/// `path`.
///
/// # Errors
/// [`Fault::System`] when the file cannot be read or does not say.
pub(crate) fn huge_bytes(path: &str, addresses: Range<u64>) -> Result<u64, Fault> {
    let smaps =
        std::fs::read_to_string(path).map_err(|error| Fault::system(format!("read {path}"), error))?;
    huge_bytes_by(&smaps, addresses).ok_or_else(|| {
        let error = std::io::Error::other("it does not say AnonHugePages for this mapping");
        Fault::system(format!("read {path}"), error)
    })
}

impl Deref for Pages {
    type Target = [u8];
    fn deref(&self) -> &[u8] {
        // SAFETY: `length` bytes from `start` are mapped, initialised (zeroed by the kernel) and
        // live until drop; writers need `&mut self`.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.length) }
    }
}

impl DerefMut for Pages {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as for `deref`, and `&mut self` makes this the only access.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.length) }
    }
}

/// The sum of `AnonHugePages` over the mappings in the text of an `smaps` that overlap `addresses`. Advice
/// can split a mapping in several, and two neighbours can be merged into one.
fn huge_bytes_by(smaps: &str, addresses: Range<u64>) -> Option<u64> {
    let mapping = |line: &str| {
        let (first, rest) = line.split_once('-')?;
        let last = rest.split_whitespace().next()?;
        let number = |text| u64::from_str_radix(text, 16).ok();
        Some(number(first)?..number(last)?)
    };
    let mut inside = false;
    let mut sum = None;
    for line in smaps.lines() {
        if let Some(mapped) = mapping(line) {
            inside = mapped.start < addresses.end && addresses.start < mapped.end;
        } else if inside && let Some(rest) = line.strip_prefix("AnonHugePages:") {
            let kib: u64 = rest.trim().strip_suffix(" kB")?.trim().parse().ok()?;
            sum = Some(sum.unwrap_or(0) + (kib << 10));
        }
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_aligned_and_zeroed() {
        let page = rustix::param::page_size();
        let huge = modest_huge_page().unwrap_or(page);
        for (kind, alignment) in [(PageKind::Base, page), (PageKind::Huge, huge)] {
            let mut pages = Pages::map(page + 1, kind).unwrap();
            assert_eq!(pages.len(), 2 * page);
            assert_eq!(pages.as_ptr() as usize % alignment, 0);
            assert!(pages.iter().all(|&byte| byte == 0));
            pages[2 * page - 1] = 7;
            assert_eq!(pages[2 * page - 1], 7);
            // An emulator's kernel may not say; where it does, base pages are base pages.
            let huge = pages.huge_bytes();
            assert!(kind == PageKind::Huge || huge.unwrap_or(0) == 0);
        }
    }

    #[test]
    fn huge_pages_have_the_kernels_size_up_to_32_mib() {
        let cases: [(Option<usize>, usize, Option<usize>); 6] = [
            (Some(2 << 20), 4 << 10, Some(2 << 20)),
            (Some(32 << 20), 16 << 10, Some(32 << 20)),
            (Some(2 << 20), 64 << 10, Some(2 << 20)),
            (Some(512 << 20), 64 << 10, None),
            (Some(2 << 10), 4 << 10, None),
            (None, 4 << 10, None),
        ];
        for (huge, page, expected) in cases {
            assert_eq!(modest(huge, page), expected, "{huge:?} with pages of {page}");
        }
        assert!(modest_huge_page().is_none_or(|modest| Some(modest) == huge_page()));
    }

    #[test]
    fn huge_bytes_are_those_of_the_mappings_that_the_region_touches() {
        const SMAPS: &str = "\
7f0000000000-7f0000200000 rw-p 00000000 00:00 0 \nSize: 2048 kB\nAnonHugePages:      2048 kB\nVmFlags: rd wr
7f0000200000-7f0000600000 rw-p 00000000 00:00 0 \nAnonHugePages:      4096 kB
7f0000800000-7f0000a00000 rw-p 00000000 00:00 0 [anon: x]\nAnonHugePages:         0 kB
7f0000c00000-7f0000e00000 rw-p 00000000 00:00 0 \nRss: 4 kB\n";
        let cases: &[(Range<u64>, Option<u64>)] = &[
            (0x7f00_0000_0000..0x7f00_0020_0000, Some(2 << 20)),
            (0x7f00_0010_0000..0x7f00_0030_0000, Some(6 << 20)),
            (0x7f00_0080_0000..0x7f00_0080_1000, Some(0)),
            (0x7f00_0060_0000..0x7f00_0080_0000, None),
            (0x7f00_00c0_0000..0x7f00_00c0_1000, None),
        ];
        for (addresses, expected) in cases {
            assert_eq!(huge_bytes_by(SMAPS, addresses.clone()), *expected, "{addresses:x?}");
        }
    }
}
