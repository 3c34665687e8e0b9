//! Memory in whole pages, as the kernel gives it.

use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use rustix::mm::{Advice, MapFlags, ProtFlags, madvise, mmap_anonymous, munmap};

use crate::fault::Fault;

/// What kind of pages to ask for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PageKind {
    /// Base pages, with transparent huge pages advised against.
    Base,
    /// Transparent huge pages, where the kernel grants them; advice, not a promise.
    Huge,
}

/// Private anonymous memory, page-aligned, zeroed, unmapped on drop.
#[derive(Debug)]
pub struct Pages {
    start: NonNull<u8>,
    length: usize,
    mapped: usize,
    base: NonNull<u8>,
}

// SAFETY: the mapping is private to this value and plain memory; a thread may take it over whole.
unsafe impl Send for Pages {}
// SAFETY: shared access is read-only through `Deref`.
unsafe impl Sync for Pages {}

/// The size of a huge page that alignment is made for: 2 MiB on x86-64, arm64 and riscv64 with 4 KiB base pages.
const HUGE: usize = 2 << 20;

impl Pages {
    /// Bytes that become resident at the most when `length` bytes of this kind are touched: a single one in huge pages
    /// takes a whole huge page.
    pub fn most_resident(length: u64, kind: PageKind) -> u64 {
        let whole = match kind {
            PageKind::Base => rustix::param::page_size() as u64,
            PageKind::Huge => HUGE as u64,
        };
        length.max(1).div_ceil(whole).saturating_mul(whole)
    }

    /// Maps at least `length` bytes, in whole pages.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room, or refuses advice on base pages.
    pub fn map(length: usize, kind: PageKind) -> Result<Self, Fault> {
        let page = rustix::param::page_size();
        let length = length.max(1).next_multiple_of(page);
        // Room to align by hand: mmap promises a base page's alignment only.
        let mapped = if kind == PageKind::Huge { length.next_multiple_of(HUGE) + HUGE } else { length };
        // SAFETY: a null hint lets the kernel choose, so no existing mapping is replaced.
        let base = unsafe {
            mmap_anonymous(
                std::ptr::null_mut(),
                mapped,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        }
        .map_err(|error| Fault::system(format!("mmap {mapped} bytes"), error))?;
        let base = NonNull::new(base.cast::<u8>())
            .ok_or_else(|| Fault::system("mmap answered address 0", rustix::io::Errno::NOMEM))?;
        let offset = if kind == PageKind::Huge { base.align_offset(HUGE) } else { 0 };
        // SAFETY: the mapping was made longer than `length` by HUGE, and `offset` is below HUGE.
        let start = unsafe { base.add(offset) };
        let pages = Self { start, length, mapped, base };
        let (advice, room) = match kind {
            PageKind::Huge => (Advice::LinuxHugepage, length.next_multiple_of(HUGE)),
            PageKind::Base => (Advice::LinuxNoHugepage, length),
        };
        // SAFETY: the range lies inside the mapping, and both pieces of advice leave contents alone.
        let advised = unsafe { madvise(pages.start.as_ptr().cast(), room, advice) };
        match advised {
            // A kernel without transparent huge pages: base pages are all there is.
            Ok(()) | Err(rustix::io::Errno::INVAL) => Ok(pages),
            Err(error) => Err(Fault::system(format!("madvise {room} bytes"), error)),
        }
    }
}

impl Pages {
    /// How much of this memory the kernel keeps in huge pages, by its own word in
    /// `/proc/self/smaps` (`AnonHugePages`, `Documentation/filesystems/proc.rst`).
    ///
    /// # Errors
    /// [`Fault::System`] when the file cannot be read or does not name this mapping.
    pub fn huge_bytes(&self) -> Result<u64, Fault> {
        const PATH: &str = "/proc/self/smaps";
        let smaps =
            std::fs::read_to_string(PATH).map_err(|error| Fault::system(format!("read {PATH}"), error))?;
        let address = self.start.as_ptr() as u64;
        let holds = |line: &str| {
            let (first, rest) = line.split_once('-')?;
            let last = rest.split_whitespace().next()?;
            let number = |text| u64::from_str_radix(text, 16).ok();
            Some((number(first)?..number(last)?).contains(&address))
        };
        let mut lines = smaps.lines().skip_while(|line| holds(line) != Some(true)).skip(1);
        let kib = lines.find_map(|line| line.strip_prefix("AnonHugePages:")?.trim().strip_suffix(" kB"));
        let kib: Option<u64> = kib.and_then(|text| text.trim().parse().ok());
        kib.map(|kib| kib << 10).ok_or_else(|| {
            let error = std::io::Error::other("it does not say AnonHugePages for this mapping");
            Fault::system(format!("read {PATH}"), error)
        })
    }
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

impl Drop for Pages {
    fn drop(&mut self) {
        // SAFETY: this mapping was made by `map` with this base and length, and no reference to it
        // outlives `self`. Pages that a pipe still holds stay alive by the kernel's own references.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.mapped) };
        debug_assert!(unmapped.is_ok(), "munmap of an own mapping");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_whole_aligned_and_zeroed() {
        let page = rustix::param::page_size();
        for (kind, alignment) in [(PageKind::Base, page), (PageKind::Huge, HUGE)] {
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
}
