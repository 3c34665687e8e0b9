//! `tags`: what an index of source files costs in a file system, by ctags and by cscope.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tenbin_metal::child::{self, Bounds};
use tenbin_metal::{Fault, Lap};
use tenbin_model::{
    Arrangement, Comparison, Descriptor, Effort, Finding, Parameter, Picoseconds, Source, Variant,
    VariantIndex, order,
};

use crate::ending;
use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use crate::workload::command::{DEADLINE, Runner, Step, Tally, lap, once, program, seen, together};
use crate::workload::place::{Places, folder};
use crate::workload::sources::{self, Revision};
use crate::workload::{FOLDER, diary};

const CTAGS: VariantIndex = VariantIndex(0);
const CTAGS_IN_MEMORY: VariantIndex = VariantIndex(1);
const CSCOPE: VariantIndex = VariantIndex(2);
const CSCOPE_IN_MEMORY: VariantIndex = VariantIndex(3);
const ONE_MISSING: VariantIndex = VariantIndex(4);

const FILES: u32 = 200;
const FILES_QUICKLY: u32 = 50;

/// What each makes; cscope adds what is not its own to find symbols quickly by.
const INDEX_OF_CTAGS: &str = "tags";
const INDEX_OF_CSCOPE: &str = "cscope.out";

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let needed = "it makes an index of sources";
    let ctags = program("ctags", needed, "universal-ctags")?;
    let cscope = program("cscope", needed, "cscope")?;
    folder(request)?;
    let usual = if request.effort == Effort::Quick { FILES_QUICKLY } else { FILES };
    let expected = "a number of files from 1 to 100000";
    let files = request.settings.one("files", usual, expected, |files| (1..=100_000).contains(files))?;
    let arrangement = Arrangement {
        label: format!("with {files} files"),
        parameters: vec![("files".into(), files.to_string())],
        cpus: request.cpus.to_vec(),
        at_once: Some(1),
        work: files.into(),
        epoch: Picoseconds(0),
        once: true,
        variants: vec![CTAGS, CTAGS_IN_MEMORY, CSCOPE, CSCOPE_IN_MEMORY],
        comparisons: Comparison::of([(CTAGS, CTAGS_IN_MEMORY), (CSCOPE, CSCOPE_IN_MEMORY)]),
        headline: true,
        ..Arrangement::default()
    };
    let open = once(move |_, request: &Request<'_>| Indexing::open(request, [&ctags, &cscope], files));
    Ok(Plan { cells: vec![PlannedCell::new(arrangement, open)], ..Plan::default() })
}

/// One program in one place.
struct Way {
    step: Step,
    /// The folder of its index, beside the sources.
    folder: PathBuf,
    index: &'static str,
}

struct Indexing {
    /// In the order of the variants that are measured.
    ways: Vec<Way>,
    files: u32,
    cscope: PathBuf,
    runner: Runner,
    tally: Tally,
    places: Places,
}

impl Indexing {
    fn open(request: &Request<'_>, [ctags, cscope]: [&Path; 2], files: u32) -> Result<Self, Unfit> {
        let places = Places::open(request)?;
        let folders = [places.here.path().to_owned(), places.memory.path().to_owned()];
        for folder in &folders {
            sources::write(&folder.join("work"), files, Revision::From).map_err(crate::shortage::unfit)?;
        }
        let mut ways = Vec::new();
        for (program, index) in [(ctags, INDEX_OF_CTAGS), (cscope, INDEX_OF_CSCOPE)] {
            for folder in &folders {
                let path = folder.join(index);
                // No configuration of a user's, no header of the machine's.
                let words: &[&str] = match index {
                    INDEX_OF_CTAGS => &["--options=NONE", "--languages=C", "-R", "-f"],
                    _ => &["-b", "-q", "-k", "-R", "-f"],
                };
                let mut words: Vec<&OsStr> = words.iter().map(OsStr::new).collect();
                words.push(path.as_os_str());
                if index == INDEX_OF_CTAGS {
                    words.push(OsStr::new("."));
                }
                // cscope writes elsewhere before; a folder of ours vanishes with it.
                let variables = [
                    ("TMPDIR", folder.as_os_str()),
                    ("CSCOPEOPTIONS", OsStr::new("")),
                    ("SOURCEDIRS", OsStr::new("")),
                ];
                let step = Step::new(program, &words, &folder.join("work"), &variables)?;
                ways.push(Way { step, folder: folder.clone(), index });
            }
        }
        let runner = Runner::start(request.cpus)?;
        Ok(Self { ways, files, cscope: cscope.into(), runner, tally: Tally::default(), places })
    }

    /// Makes an index anew: what is there would spare the work.
    fn indexed(&mut self, place: usize) -> Result<Lap, Failure> {
        let Way { step, folder, index } = &self.ways[place];
        for ending in ["", ".in", ".po"] {
            let path = folder.join(format!("{index}{ending}"));
            match fs::remove_file(&path) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    return Err(Fault::system(format!("remove {}", path.display()), error).into());
                }
                _ => {}
            }
        }
        Ok(lap(&self.runner.run(step)?))
    }

    fn examined(&mut self, variant: VariantIndex) -> Result<Seen, Failure> {
        let place = if variant == ONE_MISSING { 0 } else { variant.place() };
        let last = self.ways[place].folder.join("work").join(sources::path(self.files - 1, Revision::From));
        let fault = |error| Fault::system(format!("write {}", last.display()), error);
        if variant == ONE_MISSING {
            fs::remove_file(&last).map_err(fault)?;
        }
        let indexed = self.indexed(place);
        if variant == ONE_MISSING {
            fs::write(&last, sources::text(self.files - 1, Revision::From)).map_err(fault)?;
        }
        indexed?;
        let named = self.defined(place)?;
        let is_named = |number: &u32| named.contains(&sources::function(*number));
        Ok(match (0..self.files).find(|number| !is_named(number)) {
            None => Seen::Met(format!("functions of {0} of {0} files are in it", self.files)),
            Some(number) => Seen::Broken(format!("`{}` is not in it", sources::function(number))),
        })
    }

    /// The functions that an index says are defined: what ctags begins a line with, and cscope answers.
    fn defined(&self, place: usize) -> Result<BTreeSet<String>, Failure> {
        let Way { folder, index, .. } = &self.ways[place];
        let path = folder.join(index);
        let text = if *index == INDEX_OF_CTAGS {
            fs::read(&path).map_err(|error| Fault::system(format!("read {}", path.display()), error))?
        } else {
            let mut ask = Command::new(&self.cscope);
            ask.args(["-d", "-q", "-L", "-1", "file_.*", "-f"]).arg(&path).current_dir(folder.join("work"));
            ask.stdin(Stdio::null());
            let bounds = Bounds { output: 64 << 20, ..Bounds::within(DEADLINE) };
            let answer = child::run(ask, bounds)?;
            if !answer.end.success() {
                let ended = format!("`cscope` answered with {}", answer.end);
                return Err(Failure::Wrong(ended + &ending::last_words(&answer.stderr)));
            }
            answer.stdout
        };
        let text = String::from_utf8_lossy(&text);
        let name = |line: &str| match *index {
            INDEX_OF_CTAGS => line.split('\t').next().map(str::to_owned),
            // "part0000/file000000.c file_.* 5 unsigned file_000000(unsigned word)": a line with its file.
            _ => line.split_once(" unsigned ")?.1.split('(').next().map(str::to_owned),
        };
        Ok(order::set(text.lines().filter_map(name)))
    }
}

impl Apparatus for Indexing {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        seen(self.examined(variant))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let laps = (0..iterations).map(|_| self.indexed(variant.place())).collect::<Result<Vec<_>, _>>()?;
        let lap = together(&laps);
        self.tally.count(variant, iterations, &lap);
        Ok(lap)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = ["ctags", "ctags in memory", "cscope", "cscope in memory"].map(|name| (name, 1));
        let taken = self.tally.findings("tags", "An index of all files", &names);
        Ok([self.places.finding("tags")].into_iter().chain(taken).collect())
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "tags".into(),
        question: "What does an index of source files cost in this file system?".into(),
        requirement:
            "an editor that jumps to a definition needs an index, and whoever makes one reads every \
                      file"
                .into(),
        specification:
            "the function that each file defines for others is in the index as one that is defined".into(),
        subject: "A file in an index".into(),
        variants: Variant::list(
            &[
                ("ctags", "ctags -R over the sources, in the file system asked about"),
                ("ctags in memory", "the same in a file system in memory (/dev/shm)"),
                ("cscope", "cscope -b -q -k -R over the sources, in the file system asked about"),
                ("cscope in memory", "the same in a file system in memory"),
            ],
            &[("a file too few", "the last file is away while ctags reads")],
        ),
        parameters: Parameter::list(&[
            ("files", "200 (50 with --quick)", "files to be read, of some 3 kB each, 1 to 100000"),
            FOLDER,
        ]),
        margin: 0.05,
        sway: 0.15,
        epoch: Picoseconds(0),
        privileges: "none; ctags and cscope".into(),
        sources: vec![
            diary(
                "a file of tags took twice as long in one environment as in the other, and ten times for few files",
            ),
            Source::new(
                "ctags(1), cscope(1)",
                "the options: neither a user's configuration nor the machine's headers",
            ),
        ],
        ..Descriptor::default()
    }
}

/// The tags experiment.
pub const EXPERIMENT: Experiment<'static> =
    Experiment::new(&describe, &plan).depends_on(Aspect::ALL).by_name();
