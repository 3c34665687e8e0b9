//! A child of a crew allocates nothing, whatever it is told to do: an allocator that counts is the witness.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use tenbin_metal::crew::Shared;
use tenbin_metal::spawn::Way;
use tenbin_metal::touch::{Advised, Region, forbid_huge_pages, page};
use tenbin_metal::{Clock, Crew, Spawner, Task, allowed_cpus};

/// The system's allocator, counted. Each process has its own count, and inherits that of its parent at the
/// fork.
struct Counting;

static ALLOCATIONS: AtomicU64 = AtomicU64::new(0);

// SAFETY: every request goes to the system's allocator as it came, which keeps the contract.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: the memory came from `alloc` above, and so from `System`, with this layout: the caller's
        // promise.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_child_allocates_nothing_while_it_waits_works_and_reports() {
    const PAGES: usize = 64;
    let region = Arc::new(Region::map(PAGES * page(), Advised::Base).unwrap());
    let order: Arc<Shared<AtomicU32>> = Arc::new(Shared::zeroed(PAGES).unwrap());
    let work: Task = Arc::new(move |_, pages| {
        let pages = pages as usize;
        region.touch(0, &[1, 0]);
        region.touch_as_noted(0, &order[..pages]);
        let refused = forbid_huge_pages().is_err();
        let present = region.try_present(0..pages).unwrap_or(0);
        let lost = region.try_discard(0..pages).is_err();
        // A kernel without huge pages refuses; that must not allocate either.
        std::hint::black_box(refused);
        u64::from(lost || present == 0)
    });
    let count: Task = Arc::new(|_, _| ALLOCATIONS.load(Ordering::Relaxed));
    let allocate: Task = Arc::new(|_, _| *std::hint::black_box(Box::new(0)));
    let cpu = allowed_cpus().unwrap()[0];
    let mut crew = Crew::gather(Clock::kernel(), &[cpu; 2], vec![work, count, allocate]).unwrap();
    let count = |crew: &mut Crew| -> Vec<u64> {
        crew.lap(1, 0).unwrap().shares.iter().map(|share| share.failures).collect()
    };
    let before = count(&mut crew);
    for layout in 0..20 {
        crew.shift_stack(layout);
        let lap = crew.lap(0, PAGES as u64).unwrap();
        assert!(lap.shares.iter().all(|share| share.failures == 0));
    }
    let after = count(&mut crew);
    assert_eq!((before.len(), &before), (2, &after));
    crew.lap(2, 0).unwrap();
    let seen: Vec<u64> = after.iter().map(|count| count + 1).collect();
    assert_eq!(count(&mut crew), seen, "an allocation is counted");
}

/// And so it is for one that makes children itself.
#[test]
fn a_child_that_makes_children_allocates_nothing() {
    let spawner = Arc::new(Spawner::new().unwrap());
    let all =
        [Way::Fork, Way::ForkExec, Way::Vfork, Way::PosixSpawn, Way::Clone3, Way::Clone3Shared, Way::Thread];
    let ways: Vec<Way> = all.into_iter().filter(|&way| spawner.missing(way).is_none()).collect();
    assert!(ways.contains(&Way::Fork));
    let (makes, clock) = (Arc::clone(&spawner), Clock::kernel());
    let make: Task = Arc::new(move |_, children| {
        let before = ALLOCATIONS.load(Ordering::Relaxed);
        for &way in &ways {
            makes.watch(way, 1);
            makes.repeat(way, &clock, children, || {});
        }
        ALLOCATIONS.load(Ordering::Relaxed) - before
    });
    let mut crew = Crew::gather(clock, &allowed_cpus().unwrap()[..1], vec![make]).unwrap();
    // A worker alone has no share where its answer was 0.
    assert_eq!(crew.lap(0, 3).unwrap().shares, []);
    assert_eq!(spawner.tally(&clock).wrong, 0);
}
