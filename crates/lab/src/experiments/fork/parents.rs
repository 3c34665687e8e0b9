//! A process that makes children: a crew of one, whose memory is a buffer of a known size and little else.

use std::io;
use std::ops::Range;
use std::sync::Arc;

use tenbin_metal::spawn::{Footprint, Spawner, Tally, Watched, Way, footprint};
use tenbin_metal::touch::{Advised, Region, huge_bytes_of, page};
use tenbin_metal::{Clock, Crew, Fault, Lap, Task};
use tenbin_model::Cpu;

/// Every way that a task can be told of.
const WAYS: [Way; 9] = [
    Way::Fork,
    Way::ForkExec,
    Way::Vfork,
    Way::PosixSpawn,
    Way::Clone3,
    Way::Clone3Shared,
    Way::Thread,
    Way::ForkThatShares,
    Way::ForkWithAnotherStatus,
];

/// What is done with a way; the number of a task is that of the way among these, times their number, and
/// this.
const REPEAT: usize = 0;
const REPEAT_WRITTEN: usize = 1;
const WATCH: usize = 2;
const DEEDS: usize = 3;

/// Tasks that are no way's.
const FILL: usize = WAYS.len() * DEEDS;
const GIVE_ONE_BACK: usize = FILL + 1;
const COUNT: usize = FILL + 2;

/// What a task answers that could not do its work.
const FAILED: u64 = u64::MAX;

/// A process with its buffer, held on a CPU. It sleeps while it is not asked, and ends when it is dropped or
/// whoever forked it is gone.
pub(super) struct Parent {
    crew: Crew,
    /// Pages of the buffer that are to be resident.
    pages: usize,
    /// Where the buffer lies, in that process alone.
    addresses: Range<u64>,
    spawner: Arc<Spawner>,
    clock: Clock,
}

impl Parent {
    /// Forks it, with room for so many pages of this kind (of none: a page that nobody touches), and lets it
    /// fill them.
    ///
    /// The process that forks gives its own copy of the room up again: parents that are forked later have no
    /// more and no other mappings, and so differ in what is resident alone.
    ///
    /// # Errors
    /// [`Fault`] when there is no room, or it cannot be forked or pinned.
    pub(super) fn fork(
        clock: Clock,
        cpu: Cpu,
        (pages, huge): (usize, bool),
        spawner: &Arc<Spawner>,
    ) -> Result<Self, Fault> {
        let advised = if huge { Advised::Huge } else { Advised::Base };
        let region = Arc::new(Region::map(pages.max(1) * page(), advised)?);
        let addresses = region.addresses();
        // All of them run in a child that was forked: none allocates, locks or panics.
        let mut tasks: Vec<Task> = Vec::with_capacity(COUNT + 1);
        for way in WAYS {
            let (one, other, third) = (Arc::clone(spawner), Arc::clone(spawner), Arc::clone(spawner));
            let region = Arc::clone(&region);
            tasks.push(Arc::new(move |_, children| {
                one.repeat(way, &clock, children, || {});
                0
            }));
            tasks.push(Arc::new(move |_, children| {
                other.repeat(way, &clock, children, || fill(&region, pages));
                0
            }));
            tasks.push(Arc::new(move |_, word| {
                third.watch(way, word);
                0
            }));
        }
        let on_region = |work: fn(&Region, usize) -> u64| -> Task {
            let region = Arc::clone(&region);
            Arc::new(move |_, pages| work(&region, pages as usize))
        };
        tasks.push(on_region(|region, pages| {
            fill(region, pages);
            0
        }));
        tasks.push(on_region(|region, page| u64::from(region.try_discard(page..page + 1).is_err())));
        tasks.push(on_region(|region, pages| {
            region.try_present(0..pages).map_or(FAILED, |present| present as u64)
        }));
        let mut crew = Crew::gather(clock, &[cpu], tasks)?;
        crew.lap(FILL, pages as u64)?;
        Ok(Self { crew, pages, addresses, spawner: Arc::clone(spawner), clock })
    }

    /// Makes so many children, after writing to each page before each of them if that is asked for.
    pub(super) fn repeat(&mut self, way: Way, written: bool, children: u64) -> Result<(Lap, Tally), Fault> {
        let deed = if written { REPEAT_WRITTEN } else { REPEAT };
        let lap = self.crew.lap(number(way, deed), children)?;
        Ok((lap, self.spawner.tally(&self.clock)))
    }

    /// Makes one child that leaves word of itself.
    pub(super) fn watch(&mut self, way: Way, word: u64) -> Result<Watched, Fault> {
        self.crew.lap(number(way, WATCH), word)?;
        self.spawner.watched(way)
    }

    pub(super) fn asked(&self) -> usize {
        self.pages
    }

    /// Pages of the buffer that are resident, by the kernel's count in that process.
    pub(super) fn resident(&mut self) -> Result<usize, Fault> {
        let lap = self.crew.lap(COUNT, self.pages.max(1) as u64)?;
        // A worker alone has no share where its answer was 0.
        match lap.shares.first().map_or(0, |share| share.failures) {
            FAILED => Err(Fault::system("mincore in a child", io::Error::other("it could not count"))),
            pages => Ok(pages as usize),
        }
    }

    /// Bytes of the buffer that lie in huge pages; none where the kernel does not say.
    pub(super) fn huge_bytes(&self) -> Option<u64> {
        huge_bytes_of(self.process(), self.addresses.clone()).ok()
    }

    pub(super) fn footprint(&self) -> Result<Footprint, Fault> {
        footprint(self.process())
    }

    fn process(&self) -> u32 {
        // A crew has a worker at least.
        self.crew.processes().first().copied().unwrap_or(0)
    }

    /// Lets the last page of the buffer be missing, or be there again.
    pub(super) fn miss_last_page(&mut self, missing: bool) -> Result<(), Fault> {
        let pages = self.pages as u64;
        let lap = match missing {
            true => self.crew.lap(GIVE_ONE_BACK, pages - 1)?,
            false => self.crew.lap(FILL, pages)?,
        };
        match lap.shares.first() {
            Some(share) if share.failures > 0 => {
                Err(Fault::system("madvise(MADV_DONTNEED) in a child", io::Error::other("it was refused")))
            }
            _ => Ok(()),
        }
    }

    pub(super) fn shift_stack(&mut self, layout: u32) {
        self.crew.shift_stack(layout);
    }
}

fn number(way: Way, deed: usize) -> usize {
    let place = WAYS.iter().position(|&other| other == way).unwrap_or(0);
    place * DEEDS + deed
}

/// Writes a word to each of the first pages.
fn fill(region: &Region, pages: usize) {
    (0..pages).for_each(|page| region.touch(page, &[0]));
}
