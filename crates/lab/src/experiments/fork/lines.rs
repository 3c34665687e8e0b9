//! The lines of `fork`: each way of making a child, over all sizes of memory.

use tenbin_metal::Fault;
use tenbin_metal::pages::modest_huge_page;
use tenbin_metal::spawn::{Spawner, Way};
use tenbin_metal::touch::{self, page};
use tenbin_model::{Axis, Bytes, Comparison, Effort, Variant, VariantIndex, order};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Timed {
    /// From the call until the child has ended and was waited for.
    Life,
    /// From the call until the parent goes on.
    Call,
}

/// A way over all sizes: what becomes a law.
pub(super) struct WayLine {
    pub(super) name: &'static str,
    pub(super) what: &'static str,
    pub(super) way: Way,
    pub(super) huge: bool,
    pub(super) timed: Timed,
    /// Every page is written to before each child, outside of its time.
    pub(super) written: bool,
    /// Its number among the ways: the same for base pages and for huge ones.
    pub(super) number: u64,
    /// It is measured with `--quick` as well.
    pub(super) quickly: bool,
    /// The largest size in MiB, where more would take most of the time and say little.
    pub(super) most: u64,
}

pub(super) const FORK: usize = 0;
pub(super) const VFORK: usize = 4;
pub(super) const POSIX_SPAWN: usize = 5;
pub(super) const FORK_AND_EXEC: usize = 6;
pub(super) const CLONE3: usize = 7;
pub(super) const CLONE3_SHARED: usize = 8;
pub(super) const THREAD: usize = 9;

/// MiB for a way that says the same as `fork` of what grows, or writes to every page before each child.
const LITTLE: u64 = 64;

/// What most lines are.
const fn line(name: &'static str, what: &'static str) -> WayLine {
    WayLine {
        name,
        what,
        way: Way::Fork,
        huge: false,
        timed: Timed::Life,
        written: false,
        number: 0,
        quickly: true,
        most: u64::MAX,
    }
}

/// In the order of tables. The first answers for the experiment.
pub(super) const LINES: [WayLine; 11] = [
    line(
        "fork",
        "clone(CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID | SIGCHLD), the system call of glibc's fork()",
    ),
    WayLine { huge: true, ..line("fork in huge pages", "the same call where the memory lies in huge pages") },
    WayLine {
        timed: Timed::Call,
        number: 1,
        ..line("the call of fork alone", "the same call, until the parent goes on")
    },
    WayLine {
        written: true,
        number: 2,
        quickly: false,
        most: LITTLE,
        ..line(
            "fork of written pages",
            "the same call after every page was written to: the kernel must write-protect each again",
        )
    },
    WayLine {
        way: Way::Vfork,
        number: 3,
        ..line(
            "vfork",
            "clone(CLONE_VM | CLONE_VFORK | SIGCHLD): the child borrows the memory while the parent waits",
        )
    },
    WayLine {
        way: Way::PosixSpawn,
        number: 4,
        ..line(
            "posix_spawn and exec",
            "the C library's posix_spawn() of a program of three instructions in memory",
        )
    },
    WayLine {
        way: Way::ForkExec,
        number: 5,
        most: LITTLE,
        ..line("fork and exec", "the call of fork(), then execveat() of the same program")
    },
    WayLine {
        way: Way::Clone3,
        number: 6,
        quickly: false,
        most: LITTLE,
        ..line("clone3", "clone3() with the flags of fork()")
    },
    WayLine {
        way: Way::Clone3Shared,
        number: 7,
        ..line(
            "clone3 with shared memory",
            "clone3(CLONE_VM): a process that runs beside its parent in the same memory",
        )
    },
    WayLine {
        way: Way::Thread,
        number: 8,
        ..line("a thread", "clone() with the flags of pthread_create(), on a stack that is there")
    },
    WayLine {
        huge: true,
        timed: Timed::Call,
        number: 1,
        quickly: false,
        ..line(
            "the call of fork alone in huge pages",
            "the call, until the parent goes on, where the memory lies in huge pages",
        )
    },
];

/// The axes of its variants: the line by its way and its kind of page (1 for huge ones), and resident pages.
pub(super) const WAY: Axis = Axis::new("way");
pub(super) const HUGE: Axis = Axis::new("huge");
pub(super) const PAGES: Axis = Axis::new("pages");

/// What is weighed at the smallest size and at the largest that both have.
pub(super) const COMPARISONS: [(usize, usize); 4] =
    [(VFORK, FORK), (POSIX_SPAWN, FORK_AND_EXEC), (CLONE3, FORK), (THREAD, CLONE3_SHARED)];

/// The planted faults, behind the measured variants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Planted {
    Shares,
    AnotherStatus,
    PageMissing,
}

/// A variant: a line at a size, or a planted fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Place {
    Measured { line: usize, mib: u64 },
    Planted(Planted),
}

impl Place {
    pub(super) fn is_measured(&self) -> bool {
        matches!(self, Self::Measured { .. })
    }

    /// The process that it needs: how many MiB, in which kind of page.
    /// `smallest` is the least memory that is any.
    pub(super) fn parent(self, smallest: u64) -> (u64, bool) {
        match self {
            Self::Measured { line, mib } => (mib, LINES[line].huge),
            Self::Planted(Planted::PageMissing) => (smallest, false),
            Self::Planted(_) => (0, false),
        }
    }

    pub(super) fn variant(self) -> Variant {
        match self {
            Self::Measured { line, mib } => {
                let WayLine { name, what, huge, number, .. } = LINES[line];
                // A line is called what its variant with the least memory is called.
                let name = if mib == 0 { name.into() } else { format!("{name} with {}", Bytes(mib << 20)) };
                let pages = (mib << 20) / page() as u64;
                Variant::measured(&name, what).at(&[(PAGES, pages), (HUGE, u64::from(huge)), (WAY, number)])
            }
            Self::Planted(Planted::Shares) => Variant::sabotage(
                "a fork that shares the memory",
                "clone(CLONE_VM | SIGCHLD) in place of fork",
            ),
            Self::Planted(Planted::AnotherStatus) => Variant::sabotage(
                "a child that ends otherwise",
                "its status is not the one that was asked for",
            ),
            Self::Planted(Planted::PageMissing) => {
                Variant::sabotage("a page that is not there", "fork with one page less resident than stated")
            }
        }
    }
}

/// The lines that are asked about with this effort.
pub(super) fn asked(effort: Effort) -> impl Iterator<Item = usize> {
    (0..LINES.len()).filter(move |&line| LINES[line].quickly || effort != Effort::Quick)
}

/// The lines that this kernel has now.
pub(super) struct Here {
    pub(super) lines: Vec<usize>,
    /// Whether a process can be made that runs beside its parent in the same memory.
    pub(super) shares: bool,
}

impl Here {
    /// Asks the kernel, by making a child each way; the ways for which there is time, if there is little.
    ///
    /// # Errors
    /// [`Fault`] when there is no memory even to ask.
    pub(super) fn ask(spawner: &Spawner, effort: Effort) -> Result<Self, Fault> {
        let huge = touch::huge_pages_are_granted()?;
        let has = |&line: &usize| (huge || !LINES[line].huge) && spawner.missing(LINES[line].way).is_none();
        let shares = spawner.missing(Way::ForkThatShares).is_none();
        Ok(Self { lines: asked(effort).filter(has).collect(), shares })
    }
}

/// Every variant of these lines over these sizes in MiB: the lines one after the other, then the planted
/// faults, of which the one that shares memory is the last.
pub(super) fn places(lines: impl Iterator<Item = usize>, sizes: &[u64]) -> Vec<Place> {
    let at = |line: usize| {
        // Where so few are small enough that no law would come of them, all sizes are.
        let few = sizes.iter().filter(|&&mib| mib <= LINES[line].most).count() <= 2;
        let stands = move |&&mib: &&u64| match &LINES[line] {
            line if mib > line.most && !few => false,
            WayLine { huge: true, .. } => {
                modest_huge_page().is_some_and(|huge| (mib << 20).is_multiple_of(huge as u64))
            }
            _ => true,
        };
        sizes.iter().filter(stands).map(move |&mib| Place::Measured { line, mib })
    };
    let planted = [Planted::AnotherStatus, Planted::PageMissing, Planted::Shares].map(Place::Planted);
    lines.flat_map(at).chain(planted).collect()
}

/// The processes that these variants need, each once: how many MiB, in which kind of page.
pub(super) fn parents_of<'a>(places: impl IntoIterator<Item = &'a Place>, smallest: u64) -> Vec<(u64, bool)> {
    order::distinct(places.into_iter().map(|place| place.parent(smallest)))
}

/// What is weighed among the variants of these lines, by their places.
pub(super) fn comparisons(places: &[Place], lines: &[usize], sizes: &[u64]) -> Vec<Comparison> {
    let find = |line: usize, mib: u64| {
        let wanted = Place::Measured { line, mib };
        let place = places.iter().position(|&place| place == wanted)?;
        lines.contains(&line).then(|| VariantIndex::from(place))
    };
    let pair = |(left, right): (usize, usize), mib: &u64| Some((find(left, *mib)?, find(right, *mib)?));
    let smallest = COMPARISONS.into_iter().filter_map(|lines| sizes.iter().find_map(|mib| pair(lines, mib)));
    let largest =
        COMPARISONS.into_iter().filter_map(|lines| sizes.iter().rev().find_map(|mib| pair(lines, mib)));
    Comparison::of(smallest.chain(largest))
}
