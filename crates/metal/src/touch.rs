//! Memory to be touched for the first time, again and again: what a page fault costs, and how many there are.

pub mod host;

use std::io;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MprotectFlags, ProtFlags, madvise, mprotect};

use crate::fault::Fault;
use crate::pages::{self, Mapping, modest_huge_page};

/// What the kernel is told about the pages of a region.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Advised {
    /// Base pages only (`MADV_NOHUGEPAGE`).
    Base,
    /// Huge pages, please (`MADV_HUGEPAGE`); advice, not a promise. Base pages where no huge one is modest;
    /// see [`modest_huge_page`].
    Huge,
    /// Nothing: the system's setting decides, as it does for most programs.
    Nothing,
}

/// A private anonymous mapping that the threads of this process share, none of which is there until it is
/// touched.
///
/// That is the memory of vm-scalability's `usemem --prealloc`: it maps `/dev/zero` privately once, which the
/// kernel makes anonymous, and its threads share the address space.
///
/// Every access is an atomic one to a word, so any number of threads may touch, discard and populate at once.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    pages: usize,
    page: usize,
    _mapping: Mapping,
}

// SAFETY: the mapping belongs to this value alone and is plain memory that any thread may use.
unsafe impl Send for Region {}
// SAFETY: everything that can be done by shared reference is an atomic access or a system call that the
// kernel serialises; no reference to the memory's bytes as plain data is ever handed out.
unsafe impl Sync for Region {}

impl Region {
    /// Maps `bytes` in whole pages, at the start of a huge page, and gives the kernel this advice.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel has no room or refuses the advice.
    pub fn map(bytes: usize, advised: Advised) -> Result<Self, Fault> {
        let page = rustix::param::page_size();
        let pages = bytes.max(1).div_ceil(page);
        let length = pages * page;
        let huge = modest_huge_page().unwrap_or(page);
        // Room to align by hand, as mmap promises a base page's alignment only; and a rim at both ends that
        // may not be accessed, so that the kernel does not merge this mapping with a neighbour and count the
        // two as one.
        let mapped = length.next_multiple_of(huge) + 2 * huge;
        let mapping = Mapping::new(mapped, ProtFlags::empty(), MapFlags::PRIVATE | MapFlags::NORESERVE)?;
        let base = mapping.start();
        let offset = match base.align_offset(huge) {
            0 => huge,
            offset => offset,
        };
        // SAFETY: the mapping was made longer than `length` by two huge pages, and `offset` is one at most.
        let start = unsafe { base.add(offset) };
        let region = Self { start, pages, page, _mapping: mapping };
        // SAFETY: the range lies inside the mapping just made, which nobody else knows of.
        unsafe { mprotect(start.as_ptr().cast(), length, MprotectFlags::READ | MprotectFlags::WRITE) }
            .map_err(|error| Fault::system(format!("mprotect {length} bytes"), error))?;
        let advice = match advised {
            Advised::Base => Advice::LinuxNoHugepage,
            Advised::Huge if modest_huge_page().is_none() => Advice::LinuxNoHugepage,
            Advised::Huge => Advice::LinuxHugepage,
            Advised::Nothing => return Ok(region),
        };
        match region.advise(0..pages, advice) {
            // A kernel without transparent huge pages: base pages are all there is.
            Ok(()) | Err(Errno::INVAL) => Ok(region),
            Err(error) => Err(Fault::system(format!("madvise {length} bytes"), error)),
        }
    }

    /// How many base pages it has.
    pub fn pages(&self) -> usize {
        self.pages
    }

    /// Writes one word to each of the pages numbered `base + page` for each `page` of `order`, in that order.
    ///
    /// The loop is an ordinary one and no kernel in assembler: a fault costs hundreds of nanoseconds and the
    /// loop about one, and what it does cost is measured by touching pages that are there.
    ///
    /// # Panics
    /// If a number is that of no page.
    pub fn touch(&self, base: usize, order: &[u32]) {
        self.touch_each(base, order.iter().copied());
    }

    /// The same with an order that a process shares with others. It does not allocate.
    ///
    /// # Panics
    /// If a number is that of no page.
    pub fn touch_as_noted(&self, base: usize, order: &[AtomicU32]) {
        self.touch_each(base, order.iter().map(|page| page.load(Ordering::Relaxed)));
    }

    #[inline(always)]
    fn touch_each(&self, base: usize, order: impl Iterator<Item = u32>) {
        for page in order {
            self.word((base + page as usize) * (self.page / size_of::<u64>())).store(1, Ordering::Relaxed);
        }
    }

    /// Writes `writes` words, each at a place drawn from the whole region: `usemem --random`.
    ///
    /// `state` is the generator's: xorshift64*, whose upper bits are scaled to the number of words (Vigna,
    /// "An experimental exploration of Marsaglia's xorshift generators, scrambled", 2016). It must not be 0,
    /// and where to go on from is returned.
    pub fn write_at_random(&self, mut state: u64, writes: u64) -> u64 {
        let words = (self.pages * self.page / size_of::<u64>()) as u64;
        for _ in 0..writes {
            state ^= state >> 12;
            state ^= state << 25;
            state ^= state >> 27;
            let drawn = state.wrapping_mul(0x2545_f491_4f6c_dd1d);
            let word = (u128::from(drawn) * u128::from(words)) >> 64;
            self.word(word as usize).store(word as u64, Ordering::Relaxed);
        }
        state
    }

    /// Gives these pages back: the next touch of each is its first again.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel refuses.
    pub fn discard(&self, pages: Range<usize>) -> Result<(), Fault> {
        let count = pages.len();
        self.try_discard(pages)
            .map_err(|error| Fault::system(format!("madvise(MADV_DONTNEED) of {count} pages"), error))
    }

    /// The same for a task of a [`crate::Crew`]: nothing is allocated, not even when it fails.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn try_discard(&self, pages: Range<usize>) -> io::Result<()> {
        Ok(self.advise(pages, Advice::LinuxDontNeed)?)
    }

    /// Lets the kernel provide these pages in one call (`MADV_POPULATE_WRITE`, Linux 5.14): what a fault
    /// costs apart from the exception is in it, allocating and clearing above all.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel refuses; see [`can_populate`].
    pub fn populate(&self, pages: Range<usize>) -> Result<(), Fault> {
        let count = pages.len();
        self.advise(pages, Advice::LinuxPopulateWrite)
            .map_err(|error| Fault::system(format!("madvise(MADV_POPULATE_WRITE) of {count} pages"), error))
    }

    /// How many of these pages are there, by the kernel's word (`mincore(2)`). It misses what was swapped
    /// out.
    ///
    /// # Errors
    /// [`Fault::System`] when the kernel does not say.
    pub fn present(&self, pages: Range<usize>) -> Result<usize, Fault> {
        let count = pages.len();
        self.try_present(pages).map_err(|error| Fault::system(format!("mincore of {count} pages"), error))
    }

    /// The same for a task of a [`crate::Crew`]: nothing is allocated, not even when it fails.
    ///
    /// # Errors
    /// What the kernel said.
    pub fn try_present(&self, pages: Range<usize>) -> io::Result<usize> {
        const AT_ONCE: usize = 1024;
        let mut present = 0;
        for first in pages.clone().step_by(AT_ONCE) {
            let some = first..pages.end.min(first + AT_ONCE);
            let (start, count) = (self.address(&some), some.len());
            let mut seen = [0_u8; AT_ONCE];
            // SAFETY: `seen` has a byte for each page of the range, which is no longer than it, and it is all
            // that is written.
            let status = unsafe { libc::mincore(start.cast(), count * self.page, seen.as_mut_ptr()) };
            if status != 0 {
                return Err(io::Error::last_os_error());
            }
            // The other bits are reserved.
            present += seen[..count].iter().filter(|&&byte| byte & 1 == 1).count();
        }
        Ok(present)
    }

    /// How much of this memory the kernel keeps in huge pages, by its own word in `/proc/self/smaps`
    /// (`AnonHugePages`, `Documentation/filesystems/proc.rst`).
    ///
    /// # Errors
    /// [`Fault::System`] when the file cannot be read or does not say.
    pub fn huge_bytes(&self) -> Result<u64, Fault> {
        pages::huge_bytes("/proc/self/smaps", self.addresses())
    }

    /// The same of the copy that a child of this process has (`/proc/PID/smaps`).
    ///
    /// # Errors
    /// [`Fault::System`] when the file cannot be read or does not say.
    pub fn huge_bytes_of(&self, process: u32) -> Result<u64, Fault> {
        huge_bytes_of(process, self.addresses())
    }

    /// Where it lies, in this process and in those that were forked while it was there.
    pub fn addresses(&self) -> Range<u64> {
        let start = self.start.as_ptr() as u64;
        start..start + (self.pages * self.page) as u64
    }

    /// The first address of a range of pages.
    ///
    /// # Panics
    /// If the range reaches beyond the region.
    fn address(&self, pages: &Range<usize>) -> *mut u8 {
        assert!(pages.start <= pages.end && pages.end <= self.pages, "pages {pages:?} of {}", self.pages);
        // SAFETY: the offset is at most the region's length, by the line above.
        unsafe { self.start.as_ptr().add(pages.start * self.page) }
    }

    fn advise(&self, pages: Range<usize>, advice: Advice) -> Result<(), Errno> {
        let (start, bytes) = (self.address(&pages), pages.len() * self.page);
        // SAFETY: the range lies inside this mapping. Its contents may become zeros, which is a value that
        // every atomic access may meet; nothing else refers to them.
        unsafe { madvise(start.cast(), bytes, advice) }
    }

    fn word(&self, word: usize) -> &AtomicU64 {
        assert!(word < self.pages * self.page / size_of::<u64>(), "there is no word {word}");
        // SAFETY: the word is inside the region, by the line above.
        let place = unsafe { self.start.as_ptr().add(word * size_of::<u64>()) };
        // SAFETY: aligned, as a page's start is and every eighth byte after it; mapped until `self` is
        // dropped, which the returned lifetime excludes; and every access of any thread is an atomic one to a
        // whole word.
        unsafe { AtomicU64::from_ptr(place.cast()) }
    }
}

/// How much of what a process has at these addresses the kernel keeps in huge pages; see
/// [`Region::huge_bytes`].
///
/// # Errors
/// [`Fault::System`] when the file cannot be read or does not say.
pub fn huge_bytes_of(process: u32, addresses: Range<u64>) -> Result<u64, Fault> {
    pages::huge_bytes(&format!("/proc/{process}/smaps"), addresses)
}

/// The size of a base page.
pub fn page() -> usize {
    rustix::param::page_size()
}

/// Forbids this process and its later children huge pages, whatever is advised (`PR_SET_THP_DISABLE`, Linux
/// 3.15). For a task of a [`crate::Crew`]: nothing is allocated.
///
/// # Errors
/// What the kernel said: one without transparent huge pages does not know it.
pub fn forbid_huge_pages() -> io::Result<()> {
    let unused: libc::c_ulong = 0;
    // SAFETY: this option takes four numbers and no address, and changes no memory that is mapped.
    let status = unsafe { libc::prctl(libc::PR_SET_THP_DISABLE, 1 as libc::c_ulong, unused, unused, unused) };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Whether a huge page of a modest size can be had here now: asks for one, and looks.
///
/// # Errors
/// [`Fault::System`] when there is no room even to ask.
pub fn huge_pages_are_granted() -> Result<bool, Fault> {
    let Some(huge) = modest_huge_page() else { return Ok(false) };
    let region = Region::map(huge, Advised::Huge)?;
    region.touch(0, &[0]);
    // A kernel that does not say has not been seen to grant one.
    Ok(region.huge_bytes().is_ok_and(|bytes| bytes > 0))
}

/// Whether this kernel can populate: Linux 5.14 and later. An emulator or an older kernel calls it an invalid
/// argument.
///
/// # Errors
/// [`Fault::System`] when it fails for another reason.
pub fn can_populate() -> Result<bool, Fault> {
    let region = Region::map(1, Advised::Base)?;
    match region.advise(0..1, Advice::LinuxPopulateWrite) {
        Ok(()) => Ok(region.present(0..1)? == 1),
        Err(Errno::INVAL | Errno::NOSYS) => Ok(false),
        Err(error) => Err(Fault::system("madvise(MADV_POPULATE_WRITE) of 1 page", error)),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::usage::Usage;

    #[test]
    fn a_page_is_there_once_it_is_touched_and_until_it_is_discarded() {
        let page = rustix::param::page_size();
        let region = Region::map(64 * page - 1, Advised::Base).unwrap();
        assert_eq!((region.pages(), region.present(0..64).unwrap()), (64, 0));
        region.touch(8, &[3, 0, 3]);
        assert_eq!(region.present(0..64).unwrap(), 2);
        assert_eq!((region.present(8..9).unwrap(), region.present(11..12).unwrap()), (1, 1));
        region.discard(8..9).unwrap();
        assert_eq!((region.present(8..9).unwrap(), region.present(11..12).unwrap()), (0, 1));
        if can_populate().unwrap() {
            region.populate(32..40).unwrap();
            assert_eq!((region.present(0..64).unwrap(), region.present(32..40).unwrap()), (9, 8));
        } else {
            eprintln!("skipped: this kernel cannot populate");
        }
        region.discard(0..64).unwrap();
        assert_eq!(region.present(0..64).unwrap(), 0);
    }

    #[test]
    fn only_the_first_touch_of_a_base_page_is_a_fault() {
        const PAGES: usize = 200;
        let region = Region::map(PAGES * rustix::param::page_size(), Advised::Base).unwrap();
        let order: Vec<u32> = (0..PAGES as u32).rev().collect();
        let charged = || {
            let before = Usage::of_this_thread();
            region.touch(0, &order);
            Usage::of_this_thread().since(&before).minor_faults
        };
        let (first, second) = (charged(), charged());
        assert!(first >= PAGES as u64, "{first} faults for {PAGES} pages");
        assert!(second < PAGES as u64 / 2, "{second} faults for pages that are there");
    }

    #[test]
    fn pages_have_the_size_asked_for_where_it_is_granted() {
        let Some(huge) = modest_huge_page() else {
            eprintln!("skipped: this kernel has no transparent huge pages of a modest size");
            return;
        };
        let touched = |advised| {
            let region = Region::map(2 * huge, advised).unwrap();
            assert_eq!(region.address(&(0..1)).addr() % huge, 0);
            region.touch(0, &[0]);
            region.huge_bytes()
        };
        // An emulator's kernel may not say.
        assert_eq!(touched(Advised::Base).unwrap_or(0), 0);
        let granted = || huge_pages_are_granted().unwrap();
        let (before, bytes, after) = (granted(), touched(Advised::Huge), granted());
        if before && after {
            assert_eq!(bytes.unwrap(), huge as u64);
        } else {
            eprintln!("skipped: no huge page was granted");
        }
    }

    #[test]
    fn random_writes_reach_the_whole_region_and_continue() {
        const PAGES: usize = 32;
        let region = Region::map(PAGES * rustix::param::page_size(), Advised::Base).unwrap();
        // Thirty times as many as there are pages: one that is left out has odds of e^-30.
        let state = region.write_at_random(7, 15 * PAGES as u64);
        let state = region.write_at_random(state, 15 * PAGES as u64);
        assert_eq!(region.present(0..PAGES).unwrap(), PAGES);
        assert_eq!(state, region.write_at_random(7, 30 * PAGES as u64));
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(32))]
        #[test]
        fn as_many_pages_are_there_as_different_ones_were_touched(
            order in prop::collection::vec(0_u32..48, 0..96),
        ) {
            let region = Region::map(48 * rustix::param::page_size(), Advised::Base).unwrap();
            region.touch(0, &order);
            let different: std::collections::BTreeSet<u32> = order.iter().copied().collect();
            prop_assert_eq!(region.present(0..48).unwrap(), different.len());
        }
    }
}
