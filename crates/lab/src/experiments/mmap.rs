//! `mmap`: is a file that is in memory read at less cost by read(2) or through a mapping, and from which size
//! on?

mod analysis;

use std::sync::{Arc, Mutex, PoisonError};

use tenbin_analysis::Analysis;
use tenbin_metal::{Access, CachedFile, Fault, Lap, Task, Team, kernels};
use tenbin_model::{
    Arrangement, Bytes, Comparison, Descriptor, Effort, Order, Parameter, Picoseconds, Source, Variant,
    VariantIndex,
};

use self::analysis::{Crossover, size_parameter};
use super::lap_with_failures;
use crate::experiment::{
    Apparatus, Aspect, Experiment, Failure, Opened, Plan, PlannedCell, Request, Seen, Unfit,
};
use crate::memory::{self, within_allowance};

const MAPPED: VariantIndex = VariantIndex(0);
const READ: VariantIndex = VariantIndex(1);
const POPULATED: VariantIndex = VariantIndex(2);
const KEPT: VariantIndex = VariantIndex(3);
const CUT_OFF: VariantIndex = VariantIndex(4);

/// Sizes of the file in KiB, and those of a survey.
const SIZES_KIB: [u64; 7] = [4, 16, 64, 256, 1 << 10, 4 << 10, 16 << 10];
const SIZES_KIB_QUICKLY: [u64; 4] = [4, 64, 1 << 10, 16 << 10];

/// The buffer of who reads: what cat(1) and cp(1) of coreutils take or more, and small enough for most L2
/// caches.
const BUFFER: usize = 128 << 10;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let usual: &[u64] = if request.effort == Effort::Quick { &SIZES_KIB_QUICKLY } else { &SIZES_KIB };
    let expected = "a number of KiB from 1 to 1048576";
    let mut sizes = request.settings.list("size", usual, expected, |kib| (1..=1 << 20).contains(kib))?;
    sizes.order();
    let cells = sizes.iter().enumerate().map(|(number, &kib)| {
        let size = Bytes::from_kib(kib);
        let arrangement = Arrangement {
            label: format!("with {size}"),
            parameters: vec![size_parameter(size)],
            cpus: request.cpus[..1].to_vec(),
            epoch: describe().epoch,
            least_iterations: 2,
            variants: vec![MAPPED, READ, POPULATED, KEPT],
            comparisons: Comparison::of([(MAPPED, READ), (POPULATED, MAPPED), (KEPT, READ)]),
            headline: number == 0,
            ..Arrangement::default()
        };
        PlannedCell::new(arrangement, move |arrangement, request| open(arrangement, request, size))
    });
    Ok(Plan { cells: cells.collect(), ..Plan::default() })
}

fn open(arrangement: &Arrangement, request: &Request<'_>, size: Bytes) -> Opened {
    // The contents are made once and then lie in the file.
    let taken = |bytes: u64| Bytes(2 * bytes + BUFFER as u64);
    within_allowance(request.machine, taken(size.0), &format!("a file of {size}"), |room| {
        let fits = |kib: u64| taken(kib << 10) <= room;
        Some(format!("size={}", memory::largest(1, size.0 >> 10, fits)?))
    })?;
    // No word of it is 0, so that none can be left out without a trace.
    let contents: Vec<u8> = (0..size.0).map(|place| (place.wrapping_mul(0x9e37) >> 8) as u8 | 1).collect();
    let expected = kernels::sum_of_words(&contents);
    let file = Arc::new(CachedFile::new(&contents)?);
    drop(contents);
    let kept = Arc::new(file.map(true)?);
    let buffer = Arc::new(Mutex::new(vec![0; BUFFER]));
    let task = |variant: VariantIndex| -> Task {
        let (file, kept, buffer) = (Arc::clone(&file), Arc::clone(&kept), Arc::clone(&buffer));
        Arc::new(move |_, iterations| {
            let mut buffer = buffer.lock().unwrap_or_else(PoisonError::into_inner);
            let access = match variant {
                MAPPED => Access::Mapped,
                POPULATED => Access::Populated,
                KEPT => Access::Standing(kept.bytes()),
                CUT_OFF => Access::Standing(&kept.bytes()[..kept.bytes().len() - WORD]),
                _ => Access::Read(&mut buffer),
            };
            file.wrong_sums(access, iterations, expected)
        })
    };
    let team = Team::gather(request.clock, &arrangement.cpus)?;
    Ok(Box::new(Reading { team, tasks: (MAPPED.0..=CUT_OFF.0).map(VariantIndex).map(task).collect() }))
}

const WORD: usize = size_of::<u64>();

struct Reading {
    team: Team,
    tasks: Vec<Task>,
}

impl Apparatus for Reading {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        const TIMES: u64 = 2;
        Ok(match lap_with_failures(&mut self.team, &self.tasks[variant], TIMES)? {
            (_, 0) => Seen::Met(format!("the sum of all words was right {TIMES} of {TIMES} times")),
            (_, wrong) => Seen::Broken(format!("the sum of all words was wrong {wrong} of {TIMES} times")),
        })
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        match lap_with_failures(&mut self.team, &self.tasks[variant], iterations)? {
            (lap, 0) => Ok(lap),
            (_, wrong) => Err(Failure::Wrong(format!("{wrong} sums of {iterations} were wrong"))),
        }
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "mmap".into(),
        question: "Is it cheaper to read a file in memory by read or through a mapping, and from which size on?"
            .into(),
        requirement: "a mapping saves the copy and pays for every page it enters; which is less has long been argued about"
            .into(),
        specification: "the sum of all words of the file comes out, whoever brings them".into(),
        subject: "A file in memory".into(),
        analysis: Crossover.name().into(),
        variants: vec![
            Variant::measured("a mapping", "mmap(2), every word added up, munmap(2)"),
            Variant::measured("read", "pread(2) into one buffer of 128 KiB, every word added up, until the end"),
            Variant::measured("a populated mapping", "the same with MAP_POPULATE: the kernel enters all pages at once"),
            Variant::measured("a mapping that stays", "every word added up through a mapping that was made before"),
            Variant::sabotage("the last word left out", "all of it but eight bytes are added up"),
        ],
        parameters: vec![Parameter::new(
            "size",
            "4,16,64,256,1024,4096,16384 (4,64,1024,16384 with --quick)",
            "sizes of the file in KiB, 1 to 1048576",
        )],
        margin: 0.05,
        // A fault in a guest goes through the host's tables as well, and these are as near as the host's
        // caches.
        sway: 0.15,
        epoch: Picoseconds::from_micros(500),
        sources: vec![
            Source::new(
                "Linux, mm/filemap.c, filemap_map_pages",
                "a fault enters up to 16 pages around it that are cached (fault_around_bytes)",
            ),
            Source::new("mmap(2), memfd_create(2), fcntl(2) F_ADD_SEALS", "a file that nobody can change while it is mapped"),
            Source::new(
                "Crotty, Leis and Pavlo, \"Are You Sure You Want to Use MMAP in Your Database Management System?\", 2022",
                "what a mapping costs besides the copy that it saves",
            ),
        ],
        ..Descriptor::default()
    }
}

/// The mmap experiment.
pub const EXPERIMENT: Experiment<'static> = Experiment {
    analysis: &Crossover,
    ..Experiment::new(&describe, &plan).depends_on(&[Aspect::Memory, Aspect::Calls])
};
