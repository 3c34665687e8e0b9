//! `build`: what a build by make and a C compiler costs, in a file system and in parallel.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use tenbin_metal::{Fault, Lap};
use tenbin_model::{
    Arrangement, Comparison, Descriptor, Effort, Finding, Parameter, Picoseconds, Source, Variant,
    VariantIndex,
};

use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use crate::workload::command::{Runner, Step, Tally, lap, once, program, seen, together};
use crate::workload::place::{Places, folder};
use crate::workload::sources::{self, Revision};
use crate::workload::{FOLDER, diary};

const PARALLEL: VariantIndex = VariantIndex(0);
const IN_MEMORY: VariantIndex = VariantIndex(1);
const ALONE: VariantIndex = VariantIndex(2);
const OLD: VariantIndex = VariantIndex(3);

const FILES: u32 = 24;
const FILES_QUICKLY: u32 = 8;

/// The word that the program begins with.
const WORD: u32 = 1;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let needed = "it builds the sources";
    let make = program("make", needed, "make")?;
    let compiler = program("cc", needed, "gcc libc6-dev")?;
    folder(request)?;
    let settings = request.settings;
    let usual = if request.effort == Effort::Quick { FILES_QUICKLY } else { FILES };
    let files = settings
        .one("files", usual, "a number of files from 1 to 10000", |files| (1..=10_000).contains(files))?;
    let all = request.cpus.len() as u64;
    let jobs =
        settings.one("jobs", all, "a number of jobs from 1 to 1024", |jobs| (1..=1024).contains(jobs))?;
    // One job beside itself is nothing to compare.
    let (mut variants, mut pairs) = (vec![PARALLEL, IN_MEMORY], vec![(PARALLEL, IN_MEMORY)]);
    if jobs > 1 {
        variants.push(ALONE);
        pairs.push((PARALLEL, ALONE));
    }
    let arrangement = Arrangement {
        label: format!("with {files} files and {jobs} at once"),
        parameters: vec![("files".into(), files.to_string()), ("jobs".into(), jobs.to_string())],
        cpus: request.cpus.to_vec(),
        at_once: Some(jobs as u32),
        work: files.into(),
        epoch: Picoseconds(0),
        once: true,
        variants,
        comparisons: Comparison::of(pairs),
        headline: true,
        ..Arrangement::default()
    };
    let open = once(move |_, request: &Request<'_>| Building::open(request, [&make, &compiler], files, jobs));
    Ok(Plan { cells: vec![PlannedCell::new(arrangement, open)], ..Plan::default() })
}

struct Building {
    /// In the order of the variants that are measured: how it is built, and where.
    ways: [(Step, PathBuf); 3],
    files: u32,
    jobs: u64,
    runner: Runner,
    tally: Tally,
    places: Places,
}

impl Building {
    fn open(
        request: &Request<'_>,
        [make, compiler]: [&Path; 2],
        files: u32,
        jobs: u64,
    ) -> Result<Self, Unfit> {
        let places = Places::open(request)?;
        let folders = [places.here.path(), places.memory.path()].map(|folder| folder.join("work"));
        for folder in &folders {
            sources::write(folder, files, Revision::To).map_err(crate::shortage::unfit)?;
            for (name, text) in [("main.c", main(files)), ("Makefile", makefile(files))] {
                let path = folder.join(name);
                fs::write(&path, text).map_err(|error| {
                    crate::shortage::unfit(Fault::system(format!("write {}", path.display()), error))
                })?;
            }
        }
        let way = |folder: &PathBuf, jobs: u64| -> Result<(Step, PathBuf), Fault> {
            let [jobs, chosen] = [format!("-j{jobs}"), format!("CC={}", compiler.display())];
            let words = ["-s", "-r", &jobs, &chosen].map(OsStr::new);
            // A make around this one has words for it in the environment.
            let none =
                ["MAKEFLAGS", "MFLAGS", "GNUMAKEFLAGS", "MAKEFILES"].map(|name| (name, OsStr::new("")));
            let variables = [&none[..], &[("TMPDIR", folder.as_os_str())]].concat();
            Ok((Step::new(make, &words, folder, &variables)?, folder.clone()))
        };
        let [here, memory] = &folders;
        let ways = [way(here, jobs)?, way(memory, jobs)?, way(here, 1)?];
        let runner = Runner::start(request.cpus)?;
        Ok(Self { ways, files, jobs, runner, tally: Tally::default(), places })
    }

    /// Builds it anew.
    fn built(&mut self, place: usize) -> Result<Lap, Failure> {
        let (step, folder) = &self.ways[place];
        let out = folder.join("out");
        match fs::remove_dir_all(&out) {
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(removed(&out, error)),
            _ => {}
        }
        fs::create_dir(&out).map_err(|error| removed(&out, error))?;
        Ok(lap(&self.runner.run(step)?))
    }

    fn examined(&mut self, variant: VariantIndex) -> Result<Seen, Failure> {
        let place = if variant == OLD { 0 } else { variant.place() };
        let source = self.ways[place].1.join(sources::path(0, Revision::To));
        let fault = |error| Fault::system(format!("write {}", source.display()), error);
        if variant == OLD {
            fs::write(&source, sources::text(0, Revision::From)).map_err(fault)?;
        }
        let built = self.built(place);
        if variant == OLD {
            fs::write(&source, sources::text(0, Revision::To)).map_err(fault)?;
        }
        built?;
        let folder = &self.ways[place].1;
        let program = Step::new(&folder.join("out/program"), &[], folder, &[])?;
        Ok(match self.runner.run(&program) {
            Ok(_) => Seen::Met(format!("the program computes what {0} of {0} files say", self.files)),
            Err(Failure::Wrong(_)) => Seen::Broken("the program computes something else".into()),
            Err(other) => return Err(other),
        })
    }
}

fn removed(path: &Path, error: io::Error) -> Failure {
    Fault::system(format!("empty {}", path.display()), error).into()
}

/// The program: it ends with 0 where all files together make of a word what they should.
fn main(files: u32) -> String {
    let declared: String = (0..files)
        .map(|number| format!("unsigned {}(unsigned word);\n", sources::function(number)))
        .collect();
    let called: String =
        (0..files).map(|number| format!("\tword = {}(word);\n", sources::function(number))).collect();
    let expected = (0..files).fold(WORD, |word, number| sources::value(number, Revision::To, word));
    format!(
        "{declared}\nint main(void)\n{{\n\tunsigned word = {WORD};\n\n{called}\treturn word != {expected}u;\n}}\n"
    )
}

/// How it is built: each file by itself, and a program of them.
fn makefile(files: u32) -> String {
    let object = |number: u32| format!("out/{}.o", sources::function(number));
    let objects: String = (0..files).map(|number| format!(" \\\n\t{}", object(number))).collect();
    let rules: String = (0..files)
        .map(|number| {
            let source = sources::path(number, Revision::To);
            format!("{0}: {source}\n\t$(CC) -O1 -c -o {0} {source}\n", object(number))
        })
        .collect();
    format!(
        "OBJECTS = out/main.o{objects}\n\nout/program: $(OBJECTS)\n\t$(CC) -o $@ $(OBJECTS)\n\
         out/main.o: main.c\n\t$(CC) -O1 -c -o $@ main.c\n{rules}"
    )
}

impl Apparatus for Building {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        seen(self.examined(variant))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let laps = (0..iterations).map(|_| self.built(variant.place())).collect::<Result<Vec<_>, _>>()?;
        let lap = together(&laps);
        self.tally.count(variant, iterations, &lap);
        Ok(lap)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = [("make -j", self.jobs), ("make -j in memory", self.jobs), ("make -j1", 1)];
        let taken = self.tally.findings("build", "A build", &names);
        Ok([self.places.finding("build")].into_iter().chain(taken).collect())
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "build".into(),
        question: "What does a build cost in this file system, and what do more jobs save?".into(),
        requirement:
            "whoever changes a program waits for its build, which starts thousands of processes and \
                      reads and writes as many files"
                .into(),
        specification: "the program that was built computes what the sources say".into(),
        subject: "A file built".into(),
        variants: Variant::list(
            &[
                ("make -j", "make with as many jobs as asked for, in the file system asked about"),
                ("make -j in memory", "the same in a file system in memory (/dev/shm)"),
                ("make -j1", "make with one job, in the file system asked about"),
            ],
            &[("an old file", "one file is built as it was before it was changed")],
        ),
        parameters: Parameter::list(&[
            ("files", "24 (8 with --quick)", "C files of some 3 kB each to be built, 1 to 10000"),
            ("jobs", "the CPUs to use", "jobs of a parallel build, 1 to 1024"),
            FOLDER,
        ]),
        margin: 0.05,
        sway: 0.15,
        epoch: Picoseconds(0),
        privileges: "none; make and a C compiler".into(),
        sources: vec![
            diary("a build took three times as long in one environment as in the other, the kernel 18 times"),
            Source::new("make(1), -j and -r", "how many at once, and without rules that nobody wrote here"),
        ],
        ..Descriptor::default()
    }
}

/// The build experiment.
pub const EXPERIMENT: Experiment<'static> =
    Experiment::new(&describe, &plan).depends_on(Aspect::ALL).by_name();
