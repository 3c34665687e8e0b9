//! Workers that are processes: each touches its own copy of one mapping, in an address space of its own.

use std::io;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use tenbin_metal::crew::Shared;
use tenbin_metal::touch::{Advised, Region, forbid_huge_pages, page};
use tenbin_metal::{Clock, Crew, Fault, Lap, Task};
use tenbin_model::Cpu;

/// The numbers of the tasks. The iterations of a touch are the pages of the order, those of the others the
/// pages of the window.
const TOUCH: usize = 0;
const GIVE_BACK: usize = 1;
const COUNT: usize = 2;
const COUNT_ALL: usize = 3;
const FORBID_HUGE: usize = 4;

/// What a child does with its region and what was noted for it, in the order of the numbers above.
type Work = fn(&Region, &[AtomicU32], usize) -> u64;
const TASKS: [Work; 5] = [touch, give_back, count, count_all, forbid_huge];

const UNCOUNTED: u64 = u64::MAX;

/// A crew whose children have a part of the memory each.
///
/// Their region is mapped before the fork and was never touched there, so each child has it as its own from
/// the first page on: no page is copied from the parent, and none of the kernel's records of the pages is
/// shared with anybody.
pub(super) struct Processes {
    crew: Crew,
    /// As the children have it; the parent's own copy stays empty.
    region: Arc<Region>,
    /// The first page of the window, then the order in which its pages are touched.
    noted: Arc<Shared<AtomicU32>>,
}

impl Processes {
    /// Forks a child for each of `cpus`, each with a part of so many pages.
    ///
    /// # Errors
    /// [`Fault`] when there is no memory, or a child cannot be forked or pinned.
    pub(super) fn fork(clock: Clock, cpus: &[Cpu], part: usize) -> Result<Self, Fault> {
        let region = Arc::new(Region::map(part * page(), Advised::Base)?);
        let noted: Arc<Shared<AtomicU32>> = Arc::new(Shared::zeroed(1 + part)?);
        // They run in children that were forked: none of them allocates, locks or panics.
        let task = |work: Work| -> Task {
            let (region, noted) = (Arc::clone(&region), Arc::clone(&noted));
            Arc::new(move |_, pages| work(&region, &noted, pages as usize))
        };
        let mut crew = Crew::gather(clock, cpus, TASKS.map(task).into())?;
        // A kernel that has none refuses. Whether the pages are base pages is seen where a variant is
        // checked.
        crew.lap(FORBID_HUGE, 0)?;
        Ok(Self { crew, region, noted })
    }

    pub(super) fn shift_stack(&mut self, layout: u32) {
        self.crew.shift_stack(layout);
    }

    /// From which page on and in which order the children touch from here on.
    pub(super) fn note(&self, first: usize, order: &[u32]) {
        let words = std::iter::once(first as u32).chain(order.iter().copied());
        self.noted.iter().zip(words).for_each(|(noted, word)| noted.store(word, Ordering::Relaxed));
    }

    /// Has every child touch the first `pages` of the order.
    pub(super) fn touch(&mut self, pages: usize) -> Result<Lap, Fault> {
        self.crew.lap(TOUCH, pages as u64)
    }

    /// Lets every child give `pages` of its window back: it alone can, as the pages are in its address space.
    pub(super) fn give_back(&mut self, pages: usize) -> Result<(), Fault> {
        let lap = self.crew.lap(GIVE_BACK, pages as u64)?;
        let Some(share) = lap.shares.iter().find(|share| share.failures != 0) else { return Ok(()) };
        let error = io::Error::from_raw_os_error(share.failures as i32);
        Err(Fault::system(format!("madvise(MADV_DONTNEED) of {pages} pages in a child"), error))
    }

    /// How many pages of all windows are there, by the children's count: of `pages` in each.
    pub(super) fn present(&mut self, pages: usize) -> Result<usize, Fault> {
        self.counted(COUNT, pages)
    }

    pub(super) fn present_anywhere(&mut self) -> Result<usize, Fault> {
        self.counted(COUNT_ALL, self.region.pages())
    }

    fn counted(&mut self, task: usize, pages: usize) -> Result<usize, Fault> {
        // A lap of one worker has no share where its answer was 0.
        let lap = self.crew.lap(task, pages as u64)?;
        if lap.shares.iter().any(|share| share.failures == UNCOUNTED) {
            let error = io::Error::other("a child could not count them");
            return Err(Fault::system(format!("mincore of {pages} pages"), error));
        }
        Ok(lap.shares.iter().map(|share| share.failures as usize).sum())
    }

    /// Bytes of all children's regions that lie in huge pages; none where the kernel does not say.
    pub(super) fn huge_bytes(&self) -> Option<u64> {
        self.crew.processes().into_iter().map(|process| self.region.huge_bytes_of(process).ok()).sum()
    }
}

/// So many pages from the one that is noted.
fn window(noted: &[AtomicU32], pages: usize) -> Range<usize> {
    let first = noted[0].load(Ordering::Relaxed) as usize;
    first..first + pages
}

fn touch(region: &Region, noted: &[AtomicU32], pages: usize) -> u64 {
    region.touch_as_noted(window(noted, pages).start, &noted[1..=pages]);
    0
}

fn give_back(region: &Region, noted: &[AtomicU32], pages: usize) -> u64 {
    let discarded = region.try_discard(window(noted, pages));
    discarded.map_or_else(|error| error.raw_os_error().map_or(1, |number| number as u64), |()| 0)
}

fn count(region: &Region, noted: &[AtomicU32], pages: usize) -> u64 {
    region.try_present(window(noted, pages)).map_or(UNCOUNTED, |pages| pages as u64)
}

fn count_all(region: &Region, _noted: &[AtomicU32], pages: usize) -> u64 {
    region.try_present(0..pages).map_or(UNCOUNTED, |pages| pages as u64)
}

fn forbid_huge(_region: &Region, _noted: &[AtomicU32], _pages: usize) -> u64 {
    u64::from(forbid_huge_pages().is_err())
}
