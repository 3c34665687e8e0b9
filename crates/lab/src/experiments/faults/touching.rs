//! One cell of `faults`, set up: the memory, the workers, and how a lap goes.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use tenbin_metal::touch::{self, Advised, Region, page};
use tenbin_metal::{Fault, Lap, Task, Team, Usage};
use tenbin_model::words::semicolon;
use tenbin_model::{Bytes, Cpu, Effort, Finding, Gauge, Machine, Reading};

use super::processes::Processes;
use super::{
    Act, By, HUGE_IN_ORDER, POPULATED, WAYS, Way, counted, finding, here, sampled, span, system_share,
};
use crate::experiment::{Apparatus, Failure, Request, Seen};
use crate::repeated::every_time;

/// Iterations of the pass that is checked, and of each of the passes that are counted.
pub(super) const CHECKED: u64 = 2;
pub(super) const COUNTED: u64 = 4;
const COUNTED_LAPS: usize = 12;

/// Iterations' worth of pages that are touched again and again, however many iterations there are: they must
/// be filled before each epoch.
const KEPT: usize = 4;

pub(super) struct Touching {
    pub(super) team: Team,
    /// Base pages, then huge ones. All workers share each mapping, and have a part of it each.
    pub(super) regions: Arc<[Region; 2]>,
    /// Workers that are processes, on the same CPUs, if they were asked for.
    processes: Option<Processes>,
    /// Pages of a worker's part.
    pub(super) part: usize,
    pub(super) layout: u32,
    seed: u64,
    /// The order in which pages were last touched, with what it was made for: the act, the pages, the layout.
    order: (Act, usize, u32, Arc<[u32]>),
    machine: Machine,
    effort: Effort,
}

/// Where each worker touches in one lap: so many pages, from this one of its part on.
#[derive(Clone, Copy)]
pub(super) struct Window {
    first: usize,
    pub(super) pages: usize,
    part: usize,
}

impl Window {
    pub(super) fn of(self, worker: usize) -> Range<usize> {
        let start = worker * self.part + self.first;
        start..start + self.pages
    }
}

impl Touching {
    /// Workers on these CPUs, each with a part of so many pages; processes as well if they are wanted.
    pub(super) fn of(
        request: &Request<'_>,
        cpus: &[Cpu],
        part: usize,
        with_processes: bool,
    ) -> Result<Self, Fault> {
        let map = |advised| Region::map(part * cpus.len() * page(), advised);
        let fork = || Processes::fork(request.clock, cpus, part);
        Ok(Self {
            // First, so that the children inherit neither the threads' memory nor the first thread's CPU.
            processes: with_processes.then(fork).transpose()?,
            team: Team::gather(request.clock, cpus)?,
            regions: Arc::new([map(Advised::Base)?, map(Advised::Huge)?]),
            part,
            layout: 0,
            seed: request.seed,
            order: (Act::Again, 0, 0, Arc::new([])),
            machine: request.machine.clone(),
            effort: request.effort,
        })
    }

    /// Whether a page that was given back is gone: an emulator may take the request for a hint.
    pub(super) fn gives_pages_back(&self) -> Result<bool, Fault> {
        let region = &self.regions[0];
        region.touch(0, &[0]);
        region.discard(0..1)?;
        Ok(region.present(0..1)? == 0)
    }

    /// The window of the block: it begins elsewhere in each.
    pub(super) fn window(&self, pages: usize) -> Window {
        // Knuth's multiplicative hashing (TAOCP volume 3, section 6.4): neighbours lie far apart.
        let mixed = (u64::from(self.layout).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize;
        let places = (self.part - pages) / span() + 1;
        Window { first: mixed % places * span(), pages, part: self.part }
    }

    /// The pages of a window in the order in which `act` touches them. Every act runs the same loop over such
    /// a list.
    pub(super) fn order(&mut self, act: Act, pages: usize) -> Arc<[u32]> {
        let made_for = (act, pages, self.layout);
        if (self.order.0, self.order.1, self.order.2) != made_for {
            let mut order: Vec<u32> = (0..pages as u32).collect();
            match act {
                Act::AtRandom => {
                    let seed = self.seed ^ u64::from(self.layout) << 32;
                    order.shuffle(&mut Pcg64Mcg::seed_from_u64(seed));
                }
                Act::LeaveOneOut => order.truncate(pages - 1),
                Act::OneTwice => order[pages - 1] = order[0],
                Act::InOrder | Act::Populate | Act::Again => {}
            }
            self.order = (act, pages, self.layout, order.into());
        }
        Arc::clone(&self.order.3)
    }

    /// Runs `iterations` of `variant` on pages that are not there, lets `look` see what came of it, and gives
    /// the pages back. Only the touching is in the lap.
    ///
    /// The pages are touched once before and given back at once, so that the kernel has as many at hand and,
    /// in a guest, the host has provided them: one that takes free pages back needs several times as long for
    /// a page as the guest's kernel does, and only for some of them.
    fn lap<T>(
        &mut self,
        variant: u32,
        iterations: u64,
        look: impl FnOnce(&mut Sight<'_>) -> Result<T, Fault>,
    ) -> Result<(Lap, T), Fault> {
        let Way { huge, act, by } = WAYS[variant as usize];
        let asked = usize::try_from(iterations).unwrap_or(usize::MAX).saturating_mul(span());
        if act != Act::Again && asked > self.part {
            let error =
                std::io::Error::other("that is more than there are: --set bytes asks for more memory");
            return Err(Fault::system(format!("touch {asked} fresh pages of {}", self.part), error));
        }
        let window = self.window(if act == Act::Again { asked.min(KEPT * span()) } else { asked });
        let order = self.order(act, window.pages);
        if by == By::Processes {
            return self.lap_of_processes(window, &order, look);
        }
        let failed = Arc::new(Mutex::new(None));
        // Workers cannot return a fault of their own.
        let each = |work: fn(&Region, Range<usize>) -> Result<(), Fault>| -> Task {
            let (regions, failed) = (Arc::clone(&self.regions), Arc::clone(&failed));
            Arc::new(move |worker, _| {
                if let Err(fault) = work(&regions[usize::from(huge)], window.of(worker)) {
                    *failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(fault);
                }
                0
            })
        };
        let touching = |passes: Passes| -> Task {
            let (regions, order) = (Arc::clone(&self.regions), Arc::clone(&order));
            Arc::new(move |worker, _| {
                let (region, first) = (&regions[usize::from(huge)], window.of(worker).start);
                for _ in 0..passes.whole {
                    region.touch(first, &order);
                }
                region.touch(first, &order[..passes.rest]);
                0
            })
        };
        let once = Passes { whole: 1, rest: 0 };
        let work = match act {
            Act::Populate => each(Region::populate),
            // Around and around, as every page stays.
            Act::Again => touching(Passes { whole: asked / window.pages, rest: asked % window.pages }),
            _ => touching(once),
        };
        let (filling, giving_back) = (touching(once), each(Region::discard));
        self.team.lap(&filling, 1)?;
        if act != Act::Again {
            self.team.lap(&giving_back, 1)?;
        }
        let lap = self.team.lap(&work, 1);
        let workers = self.team.size();
        let looked =
            look(&mut Sight::OfThreads { region: &self.regions[usize::from(huge)], window, workers });
        self.team.lap(&giving_back, 1)?;
        match failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(fault) => Err(fault),
            None => Ok((lap?, looked?)),
        }
    }

    /// The same by processes, each in its own memory.
    fn lap_of_processes<T>(
        &mut self,
        window: Window,
        order: &[u32],
        look: impl FnOnce(&mut Sight<'_>) -> Result<T, Fault>,
    ) -> Result<(Lap, T), Fault> {
        let Some(processes) = &mut self.processes else {
            let error = std::io::Error::other("they were not asked for: --set as=processes");
            return Err(Fault::system("touch pages by processes", error));
        };
        processes.note(window.first, order);
        processes.touch(order.len())?;
        processes.give_back(window.pages)?;
        let lap = processes.touch(order.len());
        let looked = look(&mut Sight::OfProcesses { processes, window });
        processes.give_back(window.pages)?;
        Ok((lap?, looked?))
    }
}

/// The memory as it is after a lap, before the pages are given back.
pub(super) enum Sight<'a> {
    /// A mapping that all workers share.
    OfThreads { region: &'a Region, window: Window, workers: usize },
    /// A mapping of each worker's own.
    OfProcesses { processes: &'a mut Processes, window: Window },
}

impl Sight<'_> {
    /// How many pages of all windows are there.
    fn present(&mut self) -> Result<usize, Fault> {
        match self {
            Self::OfThreads { region, window, workers } => {
                (0..*workers).map(|worker| region.present(window.of(worker))).sum()
            }
            Self::OfProcesses { processes, window } => processes.present(window.pages),
        }
    }

    /// How many pages are there in and beside the windows.
    fn present_anywhere(&mut self) -> Result<usize, Fault> {
        match self {
            Self::OfThreads { region, .. } => region.present(0..region.pages()),
            Self::OfProcesses { processes, .. } => processes.present_anywhere(),
        }
    }

    /// How many bytes lie in huge pages; none where the kernel does not say.
    fn huge_bytes(&self) -> Option<u64> {
        match self {
            Self::OfThreads { region, .. } => region.huge_bytes().ok(),
            Self::OfProcesses { processes, .. } => processes.huge_bytes(),
        }
    }

    /// How many pages were to be touched.
    fn asked(&self, workers: usize) -> usize {
        let (Self::OfThreads { window, .. } | Self::OfProcesses { window, .. }) = self;
        window.pages * workers
    }
}

/// How often a worker goes through its pages.
#[derive(Clone, Copy)]
struct Passes {
    whole: usize,
    rest: usize,
}

/// Ten times the bytes in huge pages from which on pages count as huge: nine tenths of what is asked for
/// where huge ones are, and a single one where they are not.
fn least_huge(huge: bool, asked: usize) -> u64 {
    if huge { (asked * page()) as u64 * 9 } else { 1 }
}

impl Touching {
    /// One pass that is not timed, held against the specification.
    fn checked(&mut self, variant: u32) -> Result<Seen, Fault> {
        let Way { huge, act, .. } = WAYS[variant as usize];
        let workers = self.team.size();
        let asked = CHECKED as usize * span() * workers;
        let (lap, (inside, all, kept)) = self.lap(variant, CHECKED, |sight| {
            Ok((sight.present()?, sight.present_anywhere()?, sight.huge_bytes()))
        })?;
        let (faults, kept) = (lap.usage.minor_faults, kept.map(Bytes));
        let there = format!("{inside} of {asked} pages are there");
        let emulated = !self.machine.virtualisation.timing_can_be_trusted();
        let is_huge = kept.is_some_and(|kept| kept.0 * 10 >= least_huge(huge, asked));
        Ok(if inside != asked || all != inside {
            Seen::Broken(format!("{there}, and {} that were not asked for", all.saturating_sub(inside)))
        } else if huge && !is_huge {
            return Err(Fault::NoHugePages { asked: Bytes((asked * page()) as u64), granted: kept });
        } else if let (false, true, Some(kept)) = (huge, is_huge, kept) {
            Seen::Broken(format!("{there}, which should be base pages: {kept} of them lies in huge ones"))
        } else if !huge && !emulated && act != Act::Again && faults < asked as u64 {
            Seen::Broken(format!("{there} after {faults} faults: some were there before"))
        } else {
            Seen::Met(format!("{there} after {faults} faults"))
        })
    }
}

impl Apparatus for Touching {
    fn check(&mut self, variant: u32) -> Result<Seen, Fault> {
        // Pages may be taken back, or put together, while they are counted.
        every_time(|| self.checked(variant))
    }

    fn epoch(&mut self, variant: u32, iterations: u64) -> Result<Lap, Failure> {
        let workers = self.team.size();
        let mut last = None;
        // A lap whose pages were taken back before they were counted is void, and made again.
        let seen = every_time(|| {
            let (lap, (present, asked)) =
                self.lap(variant, iterations, |sight| Ok((sight.present()?, sight.asked(workers))))?;
            last = Some(lap);
            let seen = format!("{present} of {asked} pages are there");
            Ok(if present == asked { Seen::Met(seen) } else { Seen::Broken(seen) })
        })?;
        match (seen, last) {
            (Seen::Met(_), Some(lap)) => Ok(lap),
            (Seen::Met(seen) | Seen::Broken(seen), _) => Err(Failure::Wrong(seen)),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.layout = layout;
        self.team.shift_stack(layout);
        if let Some(processes) = &mut self.processes {
            processes.shift_stack(layout);
        }
    }

    fn gauges(&mut self, variant: u32) -> Result<Vec<Gauge>, Fault> {
        let mut usage = Usage::default();
        for _ in 0..COUNTED_LAPS {
            let (lap, ()) = self.lap(variant, COUNTED, |_| Ok(()))?;
            usage = usage.plus(&lap.usage);
        }
        let pages = COUNTED_LAPS as u64 * COUNTED * (span() * self.team.size()) as u64;
        let gauge = |name: &str, count| Gauge { variant, name: name.into(), reading: Reading::Count(count) };
        let faults = usage.minor_faults as f64 / pages as f64;
        Ok([gauge("faults/page", faults)]
            .into_iter()
            .chain(system_share(&usage).map(|share| gauge("system share", share)))
            .collect())
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let mut findings = counted::look(&mut self.team, &self.machine, self.effort, self.seed)?;
        findings.push(sampled::look(self)?);
        let has = |variant| here().is_ok_and(|variants| variants.contains(&variant));
        let missing: Vec<&str> = [
            (HUGE_IN_ORDER, "huge pages: this kernel grants none, or they are too large for an epoch"),
            (POPULATED, "one call: this kernel has no MADV_POPULATE_WRITE, which came with Linux 5.14"),
        ]
        .into_iter()
        .filter_map(|(variant, why)| (!has(variant)).then_some(why))
        .collect();
        if touch::host::takes_free_pages() == Some(true) {
            findings.push(finding(
                "The host takes free memory of this guest back and must provide it again: the first touch of a page \
                 that has been free for some time costs more than is shown here."
                    .into(),
                "virtio's balloon has free page reporting; what was timed was touched and given back just before".into(),
                "the device's word; how much more was not measured",
            ));
        }
        if !missing.is_empty() {
            findings.push(finding(
                "Not every way of touching was tested here.".into(),
                semicolon(&missing),
                "asked of the kernel and seen",
            ));
        }
        Ok(findings)
    }
}
