//! The memory of one cell of `faults`, the workers, and how a lap goes.

use std::ops::Range;
use std::sync::{Arc, Mutex, PoisonError};

use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_pcg::Pcg64Mcg;
use tenbin_metal::touch::{Advised, Region, page};
use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::{Cpu, Effort, Machine, VariantIndex};

use super::processes::Processes;
use super::{Act, By, WAYS, Way, span};
use crate::experiment::Request;

/// Iterations' worth of pages that are touched again and again, however many iterations there are: they must
/// be filled before each epoch.
const KEPT: usize = 4;

pub(super) struct Touching {
    pub(super) team: Team,
    /// Base pages, then huge ones. All workers share each mapping, and have a part of it each.
    pub(super) regions: Arc<[Region; 2]>,
    processes: Option<Processes>,
    /// Pages of a worker's part.
    pub(super) part: usize,
    pub(super) layout: u32,
    pub(super) seed: u64,
    /// The order in which pages were last touched, with what it was made for: the act, the pages, the layout.
    order: (Act, usize, u32, Arc<[u32]>),
    pub(super) machine: Machine,
    pub(super) effort: Effort,
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

    pub(super) fn shift(&mut self, layout: u32) {
        self.layout = layout;
        self.team.shift_stack(layout);
        if let Some(processes) = &mut self.processes {
            processes.shift_stack(layout);
        }
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
    pub(super) fn lap<T>(
        &mut self,
        variant: VariantIndex,
        iterations: u64,
        look: impl FnOnce(&mut Sight<'_>) -> Result<T, Fault>,
    ) -> Result<(Lap, T), Fault> {
        let Way { huge, act, by } = WAYS[variant];
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
        // Whole passes over the pages, and how many pages of one more.
        let touching = |passes: usize, rest: usize| -> Task {
            let (regions, order) = (Arc::clone(&self.regions), Arc::clone(&order));
            Arc::new(move |worker, _| {
                let (region, first) = (&regions[usize::from(huge)], window.of(worker).start);
                for _ in 0..passes {
                    region.touch(first, &order);
                }
                region.touch(first, &order[..rest]);
                0
            })
        };
        let work = match act {
            Act::Populate => each(Region::populate),
            // Around and around, as every page stays.
            Act::Again => touching(asked / window.pages, asked % window.pages),
            _ => touching(1, 0),
        };
        let (filling, giving_back) = (touching(1, 0), each(Region::discard));
        self.team.lap(&filling, 1)?;
        if act != Act::Again {
            self.team.lap(&giving_back, 1)?;
        }
        let lap = self.team.lap(&work, 1);
        let workers = self.team.size();
        let region = &self.regions[usize::from(huge)];
        let sight = look(&mut Sight::OfThreads { region, window, workers });
        self.team.lap(&giving_back, 1)?;
        match failed.lock().unwrap_or_else(PoisonError::into_inner).take() {
            Some(fault) => Err(fault),
            None => Ok((lap?, sight?)),
        }
    }

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
        let sight = look(&mut Sight::OfProcesses { processes, window });
        processes.give_back(window.pages)?;
        Ok((lap?, sight?))
    }
}

/// The memory as it is after a lap, before the pages are given back.
pub(super) enum Sight<'a> {
    OfThreads { region: &'a Region, window: Window, workers: usize },
    OfProcesses { processes: &'a mut Processes, window: Window },
}

impl Sight<'_> {
    /// How many pages of all windows are there.
    pub(super) fn present(&mut self) -> Result<usize, Fault> {
        match self {
            Self::OfThreads { region, window, workers } => {
                (0..*workers).map(|worker| region.present(window.of(worker))).sum()
            }
            Self::OfProcesses { processes, window } => processes.present(window.pages),
        }
    }

    /// How many pages are there in and beside the windows.
    pub(super) fn present_anywhere(&mut self) -> Result<usize, Fault> {
        match self {
            Self::OfThreads { region, .. } => region.present(0..region.pages()),
            Self::OfProcesses { processes, .. } => processes.present_anywhere(),
        }
    }

    /// How many bytes lie in huge pages; none where the kernel does not say.
    pub(super) fn huge_bytes(&self) -> Option<u64> {
        match self {
            Self::OfThreads { region, .. } => region.huge_bytes().ok(),
            Self::OfProcesses { processes, .. } => processes.huge_bytes(),
        }
    }

    pub(super) fn asked(&self, workers: usize) -> usize {
        let (Self::OfThreads { window, .. } | Self::OfProcesses { window, .. }) = self;
        window.pages * workers
    }
}
