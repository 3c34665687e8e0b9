//! `edit`: what it costs to save a file as an editor does, with and without fsync.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use tenbin_metal::{Fault, Lap, Task, Team};
use tenbin_model::{
    Arrangement, Comparison, Descriptor, Finding, Parameter, Picoseconds, Source, Variant, VariantIndex,
};

use super::lap_with_failures;
use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use crate::workload::command::{Tally, once};
use crate::workload::place::{Places, folder};
use crate::workload::sources::{self, Revision};
use crate::workload::{FOLDER, diary};

const SYNCED: VariantIndex = VariantIndex(0);
const RENAMED: VariantIndex = VariantIndex(1);
const IN_MEMORY: VariantIndex = VariantIndex(2);
const CUT_OFF: VariantIndex = VariantIndex(3);

const FILES: u32 = 100;

/// The line that an edit changes: the first, with a number of eight digits.
const DIGITS: usize = 8;

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    folder(request)?;
    let expected = "a number of files from 1 to 100000";
    let files = request.settings.one("files", FILES, expected, |files| (1..=100_000).contains(files))?;
    let arrangement = Arrangement {
        label: format!("with {files} files"),
        parameters: vec![("files".into(), files.to_string())],
        cpus: request.cpus[..1].to_vec(),
        epoch: describe().epoch,
        variants: vec![SYNCED, RENAMED, IN_MEMORY],
        comparisons: Comparison::of([(RENAMED, SYNCED), (RENAMED, IN_MEMORY)]),
        headline: true,
        ..Arrangement::default()
    };
    let open = once(move |arrangement: &Arrangement, request: &Request<'_>| {
        Editing::open(arrangement, request, files)
    });
    Ok(Plan { cells: vec![PlannedCell::new(arrangement, open)], ..Plan::default() })
}

/// Files of one place, edited one after the other, round and round.
struct Desk {
    paths: Vec<PathBuf>,
    /// Edits that each file has behind it.
    edits: Vec<u32>,
    next: usize,
    /// What went wrong first.
    wrong: Option<String>,
}

impl Desk {
    fn new(root: &Path, files: u32) -> Result<Self, Fault> {
        let path = |number| root.join(sources::path(number, Revision::From));
        let desk = Self {
            paths: (0..files).map(path).collect(),
            edits: vec![0; files as usize],
            next: 0,
            wrong: None,
        };
        for (number, path) in (0..).zip(&desk.paths) {
            let made = path.parent().map_or(Ok(()), fs::create_dir_all);
            made.and_then(|()| fs::write(path, edited(number, 0)))
                .map_err(|error| Fault::system(format!("write {}", path.display()), error))?;
        }
        Ok(desk)
    }

    /// Opens the next file, reads it, changes its first line, writes it to a new file, and renames that: what
    /// an editor does that loses neither the old text nor the new one. Whether it was as the last edit had
    /// left it.
    fn edit(&mut self, how: VariantIndex) -> bool {
        let place = self.next;
        self.next = (place + 1) % self.paths.len();
        let outcome = self.saved(place, how);
        let is_fine = matches!(outcome, Ok(true));
        if !is_fine && self.wrong.is_none() {
            let path = self.paths[place].display();
            self.wrong = Some(match outcome {
                Err(error) => format!("{path}: {error}"),
                _ => format!("{path} is not as it was left"),
            });
        }
        is_fine
    }

    fn saved(&mut self, place: usize, how: VariantIndex) -> io::Result<bool> {
        let (path, edits) = (&self.paths[place], &mut self.edits[place]);
        let mut text = Vec::new();
        File::open(path)?.read_to_end(&mut text)?;
        let was = text.starts_with(head(*edits).as_bytes());
        *edits = (*edits + 1) % 10_u32.pow(DIGITS as u32);
        let new = head(*edits);
        if text.len() >= new.len() {
            text[..new.len()].copy_from_slice(new.as_bytes());
        }
        if how == CUT_OFF {
            text.pop();
        }
        let beside = path.with_extension("new");
        let mut file = File::create(&beside)?;
        file.write_all(&text)?;
        if how == SYNCED {
            file.sync_all()?;
        }
        drop(file);
        fs::rename(&beside, path)?;
        Ok(was)
    }

    /// What is wrong with the file that was edited last, if anything is.
    fn last_wrong(&self) -> Option<String> {
        let place = (self.next + self.paths.len() - 1) % self.paths.len();
        let path = &self.paths[place];
        match fs::read(path) {
            Ok(text) if text == edited(place as u32, self.edits[place]).as_bytes() => None,
            Ok(_) => Some(format!("{} is not as it was left", path.display())),
            Err(error) => Some(format!("{}: {error}", path.display())),
        }
    }

    /// Whether all files are as their edits left them, and nothing else is there; and puts right what is not.
    fn held(&mut self) -> Seen {
        let mut wrong = self.wrong.take();
        for (number, (path, &edits)) in (0..).zip(self.paths.iter().zip(&self.edits)) {
            let expected = edited(number, edits);
            if fs::read(path).is_ok_and(|text| text == expected.as_bytes()) {
                continue;
            }
            wrong.get_or_insert_with(|| format!("{} is not as it was left", path.display()));
            if let Err(error) = fs::write(path, expected) {
                wrong = Some(format!("{}: {error}", path.display()));
            }
        }
        match wrong {
            Some(wrong) => Seen::Broken(wrong),
            None => Seen::Met(format!("{0} of {0} files are as they were left", self.paths.len())),
        }
    }
}

fn head(edits: u32) -> String {
    format!("/* edited {edits:0DIGITS$} times */\n")
}

/// A file after so many edits.
fn edited(number: u32, edits: u32) -> String {
    head(edits) + &sources::text(number, Revision::From)
}

struct Editing {
    /// In the file system that is asked about, and in memory.
    desks: [Arc<Mutex<Desk>>; 2],
    team: Team,
    tally: Tally,
    places: Places,
}

impl Editing {
    fn open(arrangement: &Arrangement, request: &Request<'_>, files: u32) -> Result<Self, Unfit> {
        let places = Places::open(request)?;
        let desk = |folder: &Path| -> Result<Arc<Mutex<Desk>>, Unfit> {
            let desk = Desk::new(folder, files).map_err(crate::shortage::unfit)?;
            Ok(Arc::new(Mutex::new(desk)))
        };
        let desks = [desk(places.here.path())?, desk(places.memory.path())?];
        let team = Team::gather(request.clock, &arrangement.cpus)?;
        Ok(Self { desks, team, tally: Tally::default(), places })
    }

    fn desk(&self, variant: VariantIndex) -> &Arc<Mutex<Desk>> {
        &self.desks[usize::from(variant == IN_MEMORY)]
    }

    fn lap(&mut self, variant: VariantIndex, edits: u64) -> Result<(Lap, u64), Fault> {
        let desk = Arc::clone(self.desk(variant));
        let task: Task = Arc::new(move |_, edits| {
            let mut desk = desk.lock().unwrap_or_else(PoisonError::into_inner);
            (0..edits).filter(|_| !desk.edit(variant)).count() as u64
        });
        lap_with_failures(&mut self.team, &task, edits)
    }
}

impl Apparatus for Editing {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        self.lap(variant, 2)?;
        let mut desk = self.desk(variant).lock().unwrap_or_else(PoisonError::into_inner);
        Ok(desk.held())
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let (lap, wrong) = self.lap(variant, iterations)?;
        let mut desk = self.desk(variant).lock().unwrap_or_else(PoisonError::into_inner);
        // Not all of them: what an epoch leaves is read again by a later one.
        if let Some(first) = desk.wrong.take().or_else(|| desk.last_wrong()) {
            return Err(Failure::Wrong(format!(
                "{} of {iterations} edits went wrong ({first})",
                wrong.max(1)
            )));
        }
        drop(desk);
        self.tally.count(variant, iterations, &lap);
        Ok(lap)
    }

    fn shift(&mut self, layout: u32) {
        self.team.shift_stack(layout);
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = ["fsync and rename", "a rename alone", "a rename in memory"].map(|name| (name, 1));
        let taken = self.tally.findings("edit", "A file", &names);
        Ok([self.places.finding("edit")].into_iter().chain(taken).collect())
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "edit".into(),
        question: "What does it cost to save a file as an editor does?".into(),
        requirement:
            "an editor that loses nothing writes a new file and renames it, and whether it waits for the \
                      disk in between decides what a user feels"
                .into(),
        specification: "each file is as its last edit left it, and is read so by the next one".into(),
        subject: "A file saved".into(),
        variants: Variant::list(
            &[
                (
                    "fsync and rename",
                    "read, written to a new file, fsync(2), rename(2), in the file system asked about",
                ),
                ("a rename alone", "the same without fsync(2)"),
                ("a rename in memory", "without fsync(2), in a file system in memory (/dev/shm)"),
            ],
            &[("a file cut off", "the last byte is not written")],
        ),
        parameters: Parameter::list(&[
            ("files", "100", "files to be edited in turn, of some 3 kB each, 1 to 100000"),
            FOLDER,
        ]),
        margin: 0.05,
        // What a disk takes is as others leave it.
        sway: 0.15,
        epoch: Picoseconds::from_millis(2),
        sources: vec![
            diary("reading and writing of sources, which was judged there by how it felt"),
            Source::new(
                "fsync(2), rename(2)",
                "what is on the disk when they return, and what is there at every moment",
            ),
            Source::new("Vim, src/bufwrite.c", "a file is written anew, with fsync, unless 'nofsync' is set"),
        ],
        ..Descriptor::default()
    }
}

/// The edit experiment.
pub const EXPERIMENT: Experiment<'static> =
    Experiment::new(&describe, &plan).depends_on(Aspect::ALL).by_name();
