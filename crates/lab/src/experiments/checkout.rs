//! `checkout`: what going from one revision of a repository to another costs in a file system.

use std::fs;
use std::path::{Path, PathBuf};

use tenbin_metal::{Fault, Lap};
use tenbin_model::{
    Arrangement, Bytes, Comparison, Descriptor, Effort, Finding, Parameter, Picoseconds, Source, Variant,
    VariantIndex,
};

use crate::experiment::{Apparatus, Aspect, Experiment, Failure, Plan, PlannedCell, Request, Seen, Unfit};
use crate::memory::{largest, within_allowance};
use crate::workload::command::{Runner, Step, Tally, lap, once, seen, together, unfit};
use crate::workload::place::{Places, folder};
use crate::workload::repository::{Lent, Origin, Repository, git};
use crate::workload::sources::{self, Revision};
use crate::workload::{FOLDER, diary};

const HERE: VariantIndex = VariantIndex(0);
const MEMORY: VariantIndex = VariantIndex(1);
const LEFT: VariantIndex = VariantIndex(2);

/// Files of the repository, unless set; and at most: a checkout of them is to end.
const FILES: u32 = 1000;
const FILES_QUICKLY: u32 = 200;
const MOST_FILES: u32 = 100_000;

/// Bytes in memory that a file takes at the most, with its objects and its place in the index.
const FILE: u64 = 12 << 10;

/// What is checked out.
struct Subject {
    origin: Origin,
    /// Paths that differ.
    differing: u64,
    /// One of them, a regular file where it is one.
    first: PathBuf,
}

fn plan(request: &Request<'_>) -> Result<Plan, Unfit> {
    let settings = request.settings;
    let git = git()?;
    folder(request)?;
    let usual = if request.effort == Effort::Quick { FILES_QUICKLY } else { FILES };
    let expected = "a number of files from 10 to 100000";
    let files = settings.one("files", usual, expected, |files| (10..=MOST_FILES).contains(files))?;
    let [repo, from, to] = ["repo", "from", "to"].map(|key| settings.given(key));
    let (subject, label, parameters) = match (repo, from, to) {
        (None, None, None) => {
            let subject = Subject {
                origin: Origin::Own(files),
                differing: sources::differing(files),
                first: sources::path(0, Revision::From).into(),
            };
            (subject, format!("with {files} files"), vec![("files".to_owned(), files.to_string())])
        }
        (Some(repo), Some(from), Some(to)) => {
            if settings.given("files").is_some() {
                return Err(Unfit::Usage("--set files: the repository given has its own".into()));
            }
            let Lent { objects, pair, differing, first } = Lent::of(&git, repo, [from, to])?;
            let subject = Subject { origin: Origin::Lent { objects, pair }, differing, first };
            let parameters = vec![("from".to_owned(), from.to_owned()), ("to".to_owned(), to.to_owned())];
            (subject, format!("between {from} and {to}"), parameters)
        }
        _ => {
            return Err(Unfit::Usage(
                "--set repo, from and to belong together: a repository and two of its revisions".into(),
            ));
        }
    };
    let arrangement = Arrangement {
        label,
        parameters,
        cpus: request.cpus.to_vec(),
        at_once: Some(1),
        // There and back again.
        work: 2 * subject.differing,
        epoch: Picoseconds(0),
        once: true,
        variants: vec![HERE, MEMORY],
        comparisons: Comparison::of([(HERE, MEMORY)]),
        headline: true,
        ..Arrangement::default()
    };
    let open = once(move |_, request: &Request<'_>| Checkouts::open(request, &git, &subject));
    Ok(Plan { cells: vec![PlannedCell::new(arrangement, open)], ..Plan::default() })
}

/// A repository in each place.
struct Checkouts {
    /// In the file system that is asked about, and in memory: each with the ways there and back.
    sides: [(Repository, [Step; 2]); 2],
    /// A path that differs.
    first: PathBuf,
    runner: Runner,
    tally: Tally,
    places: Places,
}

impl Checkouts {
    fn open(request: &Request<'_>, git: &Path, subject: &Subject) -> Result<Self, Unfit> {
        if let Origin::Own(files) = subject.origin {
            let taken = |files: u64| Bytes(files * FILE);
            within_allowance(request.machine, taken(files.into()), "a work tree in memory", |room| {
                Some(format!("files={}", largest(10, files.into(), |files| taken(files) <= room)?))
            })?;
        }
        let places = Places::open(request)?;
        let side = |folder: &Path| -> Result<(Repository, [Step; 2]), Failure> {
            let repository = Repository::make(git, folder, &subject.origin)?;
            let ways =
                [repository.checkout(&repository.pair.to)?, repository.checkout(&repository.pair.from)?];
            Ok((repository, ways))
        };
        let sides = [side(places.here.path()).map_err(unfit)?, side(places.memory.path()).map_err(unfit)?];
        let runner = Runner::start(request.cpus)?;
        Ok(Self { sides, first: subject.first.clone(), runner, tally: Tally::default(), places })
    }

    /// There and back, with each work tree held against its revision.
    fn examined(&mut self, variant: VariantIndex) -> Result<Seen, Failure> {
        let place = if variant == MEMORY { 1 } else { 0 };
        let (repository, [there, back]) = &self.sides[place];
        let planted = repository.root().join(&self.first);
        // None where it is in the second revision only.
        let before = fs::read(&planted).ok();
        self.runner.run(there)?;
        if variant == LEFT {
            let restored = match &before {
                Some(before) => {
                    let made = planted.parent().map_or(Ok(()), fs::create_dir_all);
                    made.and_then(|()| fs::write(&planted, before))
                }
                None => fs::remove_file(&planted),
            };
            restored.map_err(|error| Fault::system(format!("write {}", planted.display()), error))?;
        }
        let there = repository.holds(Revision::To)?;
        if variant == LEFT {
            repository.ask(&["checkout", "-q", "-f", "--detach", &repository.pair.from], None)?;
            repository.ask(&["clean", "-q", "-f", "-d", "-x"], None)?;
        } else {
            self.runner.run(back)?;
        }
        Ok(match (there, repository.holds(Revision::From)?) {
            (Ok(_), Ok(held)) => Seen::Met(format!("{held}, there and back")),
            (Err(wrong), _) | (_, Err(wrong)) => Seen::Broken(wrong),
        })
    }
}

impl Apparatus for Checkouts {
    fn check(&mut self, variant: VariantIndex) -> Result<Seen, Fault> {
        seen(self.examined(variant))
    }

    fn epoch(&mut self, variant: VariantIndex, iterations: u64) -> Result<Lap, Failure> {
        let (_, ways) = &self.sides[variant.place()];
        let runs = (0..iterations).flat_map(|_| ways).map(|way| self.runner.run(way));
        let lap = together(&runs.map(|run| Ok(lap(&run?))).collect::<Result<Vec<_>, Failure>>()?);
        self.tally.count(variant, iterations, &lap);
        Ok(lap)
    }

    fn findings(&mut self) -> Result<Vec<Finding>, Fault> {
        let names = [("git checkout", 1), ("git checkout in memory", 1)];
        let taken = self.tally.findings("checkout", "There and back", &names);
        Ok([self.places.finding("checkout")].into_iter().chain(taken).collect())
    }
}

fn describe() -> Descriptor {
    Descriptor {
        name: "checkout".into(),
        question: "What does a git checkout cost in this file system?".into(),
        requirement:
            "whoever goes from one revision to another waits for every file that differs: a file system \
                      that is emulated or lies behind another system makes seconds of it minutes"
                .into(),
        specification: "the work tree is that of the revision, every file and no other, there and back"
            .into(),
        subject: "A path that differs".into(),
        variants: Variant::list(
            &[
                (
                    "git checkout",
                    "from the first revision to the second and back, in the file system asked about",
                ),
                ("git checkout in memory", "the same in a file system in memory (/dev/shm)"),
            ],
            &[("a file left as it was", "a path that differs is put back as it was before the checkout")],
        ),
        parameters: Parameter::list(&[
            (
                "files",
                "1000 (200 with --quick)",
                "files of the repository that is made, 10 to 100000; of ten five are changed, and one moves",
            ),
            ("repo", "one that is made", "a repository of yours, which is only read; with from and to"),
            ("from", "its first tag", "the revision of yours to go from"),
            ("to", "its second tag", "the revision of yours to go to, and from there back"),
            FOLDER,
        ]),
        margin: 0.05,
        sway: 0.15,
        epoch: Picoseconds(0),
        privileges: "none; git".into(),
        sources: vec![
            diary(
                "a checkout took 50 times as long in one environment as in the other; real, user, system, waiting",
            ),
            Source::new(
                "git-fast-import(1)",
                "how a repository of many files is made in seconds, with dates that are given",
            ),
            Source::new(
                "gitrepository-layout(5), objects/info/alternates",
                "a user's objects are read where they are",
            ),
            Source::new("tmpfs(5)", "the file system that the other is held against"),
        ],
        ..Descriptor::default()
    }
}

/// The checkout experiment.
pub const EXPERIMENT: Experiment<'static> =
    Experiment::new(&describe, &plan).depends_on(Aspect::ALL).by_name();
