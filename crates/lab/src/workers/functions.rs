//! Functions in files: compiled once, linked anew for every layout, each in a process of its own.
//!
//! Nothing of one is in the process of another. So two builds of one library do not meet (they would share
//! names, and one would be called for both), whoever crashes or scribbles does it to himself, and a file that
//! is given twice is there twice: were both sides the same pages, they would be equal by that alone.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;
use std::{env, fs, mem, thread};

use rand::{RngExt, SeedableRng};
use rand_pcg::Pcg64Mcg;
use tenbin_metal::Fault;
use tenbin_metal::child::{self, Bounds, End};
use tenbin_model::elf::{self, Elf};
use tenbin_model::words::semicolon;
use tenbin_model::{Cpu, Missing};

use super::layout::{self, Object};
use super::members::Source;
use super::worker::Worker;
use crate::compiled::{self, Kind, Workshop};
use crate::experiment::{Failure, Unfit};
use crate::shortage;
use crate::source::source;

/// The page that files of a user's include.
pub const HEADER: &str = include_str!("tenbin.h");

/// The crate that files of Rust use.
pub const CRATE: &str = include_str!("tenbin.rs");

/// What is weighed of a user's files: what `tenbin weigh a.c b.c` was given.
#[derive(Clone, Debug, Default)]
pub struct Functions {
    /// The files of each side.
    pub sides: Vec<Vec<PathBuf>>,
    /// The folder of each side, in which it is compiled and runs; the current one if there are none.
    pub folders: Vec<PathBuf>,
    /// Files that call what the sides hold: part of every side.
    pub callers: Vec<PathBuf>,
    /// Options for the compiler: none, one text for all, or one for each side.
    pub flags: Vec<String>,
    /// The number of the one layout that the answer is for; none where each block has another.
    pub layout: Option<u32>,
    /// Whose files they are, where they are not written for tenbin.
    pub adopted: Option<Adopted>,
    /// In how many threads the operations are done at once, a CPU for each; one where none are asked for.
    pub threads: Option<NonZero<u16>>,
}

/// Projects whose files are run as they stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Adopted {
    /// <https://github.com/antonblanchard/will-it-scale>, `tests/*.c`: a task is a thread.
    WillItScale,
    /// <https://github.com/ARM-software/synchronization-benchmarks>, the headers of lockhammer.
    Lockhammer,
}

impl Adopted {
    /// All of them, by the names that a user gives.
    pub const NAMES: [(&str, Self); 2] =
        [("will-it-scale", Self::WillItScale), ("lockhammer", Self::Lockhammer)];

    /// What stands between their functions and ours.
    fn adapter(self) -> (&'static str, String) {
        match self {
            Self::WillItScale => ("will_it_scale.c", source!("will_it_scale.c")),
            Self::Lockhammer => ("lockhammer.c", source!("lockhammer.c")),
        }
    }

    /// The files of a side that are compiled beside the adapter, and options of the compiler for both.
    ///
    /// # Errors
    /// A usage error where a file does not stand where that project has it.
    fn side(self, files: &[PathBuf]) -> Result<(Vec<PathBuf>, Vec<String>), Unfit> {
        if self == Self::WillItScale {
            return Ok((files.to_vec(), Vec::new()));
        }
        // A header, which the adapter includes, in a tree with the headers that it includes itself.
        let [file] = files else { return Err(Unfit::Usage("a side of lockhammer is one header".into())) };
        let fault = |error| Fault::system(format!("find {}", file.display()), error);
        let file = fs::canonicalize(file).map_err(|error| shortage::unfit(fault(error)))?;
        let root = file.ancestors().find(|folder| folder.join(LOCKHAMMER_HEADERS[1]).is_dir());
        let root = root.ok_or_else(|| {
            Unfit::Usage(format!(
                "{}: there is no {} in any folder above it, where the project has its headers",
                file.display(),
                LOCKHAMMER_HEADERS[1]
            ))
        })?;
        let mut options: Vec<String> =
            LOCKHAMMER_HEADERS.iter().map(|folder| format!("-I{}", root.join(folder).display())).collect();
        options.push(format!("-DATOMIC_TEST=\"{}\"", file.display()));
        // As that project's makefile has it on x86-64. What it declares inline is there all the same where
        // the compiler does not put it in.
        options.extend(["-DNDEBUG", "-DRELAX_IS_PAUSE", "-fgnu89-inline", "-w"].map(String::from));
        Ok((Vec::new(), options))
    }
}

impl Functions {
    /// The files that a word of a command line names, with white space between them; none where it is no word
    /// of such files, but a command. Where it is known to be no command, any file is one.
    pub fn files_in(word: &str, is_no_command: bool) -> Option<Vec<PathBuf>> {
        let files: Vec<PathBuf> = word.split_whitespace().map(PathBuf::from).collect();
        let known = is_no_command || files.iter().all(|file| Form::of(file).is_some());
        (!files.is_empty() && known).then_some(files)
    }

    /// What each side is called: its files, without those that all sides have where every side has others.
    pub(super) fn names(&self) -> Vec<String> {
        let joined = |files: Vec<&PathBuf>| {
            files.into_iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(" ")
        };
        let is_own = |file: &&PathBuf| !self.sides.iter().all(|side| side.contains(file));
        let own: Vec<String> =
            self.sides.iter().map(|side| joined(side.iter().filter(is_own).collect())).collect();
        if own.iter().all(|name| !name.is_empty()) {
            return own;
        }
        self.sides.iter().map(|side| joined(side.iter().collect())).collect()
    }

    /// That what is asked of the compiler can be asked, whatever the files of the sides hold.
    pub(super) fn check_options(&self) -> Result<(), Unfit> {
        if self.flags.len() > 1 && self.flags.len() != self.sides.len() {
            return Err(Unfit::Usage(format!(
                "--cflags is given {} times; it is given once for all sides, or once for each of the {}",
                self.flags.len(),
                self.sides.len()
            )));
        }
        let is_compiled = |side: &Vec<PathBuf>| {
            self.adopted.is_some()
                || self.callers.iter().chain(side).any(|file| Form::of(file) == Some(Form::Source))
        };
        let is_used = |(flags, side): (&String, bool)| flags.trim().is_empty() || side;
        let are_used = match self.flags.as_slice() {
            [all] => is_used((all, self.sides.iter().any(is_compiled))),
            each => each.iter().zip(self.sides.iter().map(is_compiled)).all(is_used),
        };
        if !are_used {
            return Err(Unfit::Usage(
                "--cflags is for the C compiler, and nothing here is compiled by it".into(),
            ));
        }
        self.flags.iter().try_for_each(|flags| words_of(flags).map(drop))
    }

    /// Whether the code of a side is in a library that is finished, and so lies as it does.
    pub(super) fn is_finished(&self) -> bool {
        self.sides.iter().flatten().any(|file| Form::of(file) == Some(Form::Library))
    }
}

/// Options of a compiler, one by one.
fn words_of(flags: &str) -> Result<Vec<String>, Unfit> {
    shell_words::split(flags).map_err(|error| Unfit::Usage(format!("--cflags {flags}: {error}")))
}

/// Where lockhammer has its headers, seen from the root of its repository.
const LOCKHAMMER_HEADERS: [&str; 8] = [
    "benchmarks/lockhammer",
    "benchmarks/lockhammer/include",
    "ext/pagemap/include",
    "ext/mysql/include",
    "ext/linux/include",
    "ext/sms/base",
    "ext/jvm/include",
    "ext/tbb/include",
];

/// What a file is, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// C or assembler, for the C compiler.
    Source,
    /// Rust, for `rustc`.
    Rust,
    /// An object file.
    Object,
    /// A shared library.
    Library,
}

impl Form {
    fn of(path: &Path) -> Option<Self> {
        let name = path.file_name()?.to_str()?;
        // libz.so.1.2.13
        if name.contains(".so.") {
            return Some(Self::Library);
        }
        match path.extension()?.to_str()? {
            "c" | "S" | "s" => Some(Self::Source),
            "rs" => Some(Self::Rust),
            "o" => Some(Self::Object),
            "so" => Some(Self::Library),
            _ => None,
        }
    }
}

/// One side, compiled.
#[derive(Debug, Default)]
struct Side {
    objects: Vec<Object>,
    /// What the linker is given after them.
    libraries: Vec<PathBuf>,
    /// Libraries that are loaded before any other.
    loaded: Vec<PathBuf>,
    /// Everything that each file of Rust may need.
    archives: Vec<PathBuf>,
    /// What is used of those, which then stands in their place.
    gathered: Option<PathBuf>,
    /// Where it runs; in the current folder where none is given.
    folder: Option<PathBuf>,
}

/// All sides, compiled, and what links and starts them.
pub(super) struct Linked {
    workshop: Workshop,
    sides: Vec<Side>,
    /// The programs that are there: which side, in which layout.
    programs: Vec<(usize, u64)>,
    /// Whether each block has a link and processes of its own.
    layouts: Layouts,
    /// One for each thread.
    cpus: Vec<Cpu>,
    within: Duration,
}

/// Layouts that are linked at once, at the most: no verdict has fewer.
const AHEAD: usize = 8;

/// How often what is weighed is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Layouts {
    /// Linked and started for each block.
    Each,
    /// Linked once, in the layout of this number, started for each block.
    One(u32),
    /// Linked and started once.
    Kept,
}

impl Linked {
    /// No side yet, but what calls them.
    ///
    /// # Errors
    /// What is missing where there is no compiler; a fault where no folder can be made.
    pub(super) fn new(layouts: Layouts, cpus: &[Cpu], within: Duration) -> Result<Self, Unfit> {
        let workshop = Workshop::open("what calls the functions is compiled here")?;
        let linked =
            Self { workshop, sides: Vec::new(), programs: Vec::new(), layouts, cpus: cpus.to_vec(), within };
        linked.write("tenbin.h", HEADER)?;
        linked.workshop.compile("runner.o", &source!("runner.c"), Kind::Object, &[])?;
        Ok(linked)
    }

    /// All sides of these functions.
    ///
    /// # Errors
    /// As [`new`](Self::new), and a usage error with the compiler's words where a file does not compile, or
    /// is for another machine.
    pub(super) fn of(functions: &Functions, cpus: &[Cpu], within: Duration) -> Result<Self, Unfit> {
        let layouts = functions.layout.map_or(Layouts::Each, Layouts::One);
        functions.check_options()?;
        let mut linked = Self::new(layouts, cpus, within)?;
        let adapter = functions.adopted.map(|adopted| {
            let (name, text) = adopted.adapter();
            linked.write(name, &text)
        });
        let adapter = adapter.transpose()?;
        for (place, side) in functions.sides.iter().enumerate() {
            let flags =
                if functions.flags.len() > 1 { functions.flags.get(place) } else { functions.flags.first() };
            let flags = words_of(flags.map_or("", String::as_str))?;
            let (own, mut options) = match functions.adopted {
                Some(adopted) => adopted.side(side)?,
                None => (side.clone(), Vec::new()),
            };
            options.extend(flags);
            let files: Vec<PathBuf> = adapter.iter().chain(&functions.callers).chain(&own).cloned().collect();
            linked.add(&files, &options, functions.folders.get(place).map(PathBuf::as_path))?;
        }
        Ok(linked)
    }

    /// Writes a file of ours beside what is compiled.
    pub(super) fn write(&self, name: &str, text: &str) -> Result<PathBuf, Unfit> {
        let path = self.workshop.path().join(name);
        let fault = |error| Fault::system(format!("write {}", path.display()), error);
        fs::write(&path, text).map_err(|error| shortage::unfit(fault(error)))?;
        Ok(path)
    }

    /// Compiles one side, in this folder or the current one, and links it once: what is missing is known
    /// before anything else is done.
    pub(super) fn add(
        &mut self,
        files: &[PathBuf],
        flags: &[String],
        folder: Option<&Path>,
    ) -> Result<(), Unfit> {
        let mut side = Side { folder: folder.map(Path::to_owned), ..Side::default() };
        for (number, file) in files.iter().enumerate() {
            side.add(&self.workshop, file, &format!("{}-{number}", self.sides.len()), flags, folder)?;
        }
        side.gather(&self.workshop, self.sides.len())?;
        let is_gathered = side.gathered.is_some();
        self.sides.push(side);
        let place = self.sides.len() - 1;
        let mut linked = self.link(place, 0);
        if linked.is_err() && is_gathered {
            // What the archives take from the file itself (an allocator) would be there twice.
            self.sides[place].gathered = None;
            linked = self.link(place, 0);
        }
        linked.map_err(|fault| {
            let names: Vec<String> = files.iter().map(|file| file.display().to_string()).collect();
            let (names, fault) = (names.join(" "), fault.to_string());
            let is_missing = fault.contains("undefined") && fault.contains("tenbin_run");
            Unfit::Usage(match is_missing {
                true => format!(
                    "{names}: there is no function `tenbin_run`, which is what is weighed; `tenbin include` prints the header that \
                     says what it has to do"
                ),
                false => format!("{names}: {fault}"),
            })
        })
    }

    /// Where the program of a side is, linked in the layout of this number.
    fn program(&self, place: usize, layout: u64) -> PathBuf {
        self.workshop.path().join(format!("side-{place}-{layout:x}"))
    }

    /// The number by which a side is laid out in a block whose layout is this.
    fn drawn(&self, place: usize, layout: u32) -> u64 {
        match self.layouts {
            Layouts::Each => own(place, layout),
            // Both sides are laid out by draws of their own: it is no merit of a side where it came to lie.
            // Of one layout that would be all that there is, so there they lie alike.
            Layouts::One(number) => own(0, number),
            Layouts::Kept => own(place, 0),
        }
    }

    /// Links all sides in this layout, and in the next ones as far as there are CPUs that can do it at once,
    /// while nothing is measured: linking takes most of a block.
    fn link_from(&mut self, layout: u32) -> Result<(), Fault> {
        for (place, layout) in mem::take(&mut self.programs) {
            // What is still executed cannot be written to. What was not removed goes with the folder.
            let _ = fs::remove_file(self.program(place, layout));
        }
        let (cpus, sides) = (thread::available_parallelism().map_or(1, NonZero::get), self.sides.len());
        let layouts = if self.layouts == Layouts::Each { (cpus / sides).clamp(1, AHEAD) } else { 1 };
        let layouts = (0..layouts as u32).map(|ahead| layout.wrapping_add(ahead));
        let wanted: Vec<(usize, u64)> = layouts
            .flat_map(|layout| (0..sides).map(move |place| (place, layout)))
            .map(|(place, layout)| (place, self.drawn(place, layout)))
            .collect();
        for programs in wanted.chunks(cpus) {
            let this = &*self;
            thread::scope(|scope| {
                let link = |&(place, layout)| scope.spawn(move || this.link(place, layout));
                let links: Vec<_> = programs.iter().map(link).collect();
                let ended = |link: thread::ScopedJoinHandle<'_, _>| {
                    link.join().unwrap_or_else(|panic| resume_unwind(panic))
                };
                links.into_iter().try_for_each(ended)
            })?;
        }
        self.programs = wanted;
        Ok(())
    }

    /// Links one side in the layout of this number.
    fn link(&self, place: usize, layout: u64) -> Result<(), Fault> {
        let side = &self.sides[place];
        let folder = self.workshop.path();
        let program = self.program(place, layout);
        let script = program.with_extension("ld");
        fs::write(&script, layout::script(&side.objects, layout))
            .map_err(|error| Fault::system(format!("write {}", script.display()), error))?;
        let mut words: Vec<OsString> =
            vec!["-o".into(), program.clone().into(), folder.join("runner.o").into()];
        words.extend(side.objects.iter().map(|object| folder.join(&object.name).into()));
        match &side.gathered {
            Some(gathered) => words.push(gathered.clone().into()),
            None => words.extend(side.archives.iter().map(|archive| archive.clone().into())),
        }
        words.extend(side.libraries.iter().map(|library| library.clone().into()));
        words.extend(["-lm", "-lpthread", "-ldl", "-Wl,-T"].map(OsString::from));
        words.push(script.clone().into());
        self.workshop.ask(None, "link with", &words)?;
        fs::remove_file(&script).map_err(|error| Fault::system(format!("remove {}", script.display()), error))
    }
}

impl Source for Linked {
    fn start(&mut self, place: usize, layout: u32) -> Result<Worker, Failure> {
        let drawn = self.drawn(place, layout);
        if !self.programs.contains(&(place, drawn)) {
            self.link_from(layout)?;
        }
        let moved = moved(own(place, layout));
        let mut command = Command::new(self.program(place, drawn));
        if let Some(folder) = &self.sides[place].folder {
            command.current_dir(folder);
        }
        command.arg((moved >> 32).to_string());
        if self.cpus.len() > 1 {
            command.args(self.cpus.iter().map(|cpu| cpu.0.to_string()));
        }
        // As long as the layout says: what lies on the stack above a program moves it (Mytkowicz et al.
        // 2009).
        let padding = (moved >> 20) % 4096;
        command.env("TENBIN_LAYOUT", "x".repeat(padding as usize));
        let loaded: Vec<String> =
            self.sides[place].loaded.iter().map(|path| path.to_string_lossy().into_owned()).collect();
        if !loaded.is_empty() {
            command.env("LD_PRELOAD", loaded.join(":"));
        }
        Ok(Worker::start(command, self.cpus.first().copied(), self.within)?)
    }

    fn is_laid_anew(&self) -> bool {
        self.layouts != Layouts::Kept
    }

    fn is_runner(&self) -> bool {
        true
    }
}

impl Side {
    /// Compiles a file, or copies it, under a name that no other has.
    fn add(
        &mut self,
        workshop: &Workshop,
        file: &Path,
        name: &str,
        flags: &[String],
        folder: Option<&Path>,
    ) -> Result<(), Unfit> {
        let usage = |message: String| Unfit::Usage(format!("{}: {message}", file.display()));
        if !file.is_file() {
            return Err(usage("there is no such file".into()));
        }
        let object = workshop.path().join(format!("{name}.o"));
        match Form::of(file) {
            Some(Form::Source) => {
                let mut words: Vec<&OsStr> =
                    ["-O2", "-ffunction-sections", "-I"].map(OsStr::new).into_iter().collect();
                words.push(workshop.path().as_os_str());
                words.extend(flags.iter().map(OsStr::new));
                // Its own words, without a picture of the place.
                words.push("-fno-diagnostics-show-caret".as_ref());
                // The compiler may stand elsewhere.
                let file = std::path::absolute(file).map_err(|error| usage(error.to_string()))?;
                words.extend(["-c".as_ref(), "-o".as_ref(), object.as_os_str(), file.as_os_str()]);
                let compiled = workshop.ask(folder, "compile it with", &words);
                compiled.map_err(|fault| usage(fault.to_string()))?;
            }
            Some(Form::Rust) => self.rust(workshop, file, name, &object)?,
            Some(Form::Object) => copy(file, &object)?,
            Some(Form::Library) => {
                sections(workshop, file, file)?;
                // What is loaded first stands in a list that knows no quotes (ld.so(8), LD_PRELOAD).
                if workshop.path().to_string_lossy().contains([' ', ':']) {
                    return Err(usage(format!(
                        "it is loaded from {}, and the name of that folder has a space or a colon in it: choose another TMPDIR",
                        workshop.path().display()
                    )));
                }
                let library = workshop.path().join(format!("{name}.so"));
                copy(file, &library)?;
                self.libraries.push(library.clone());
                self.loaded.push(library);
                return Ok(());
            }
            None => return Err(usage("its name ends with none of .c, .S, .rs, .o and .so".into())),
        }
        let sections = sections(workshop, &object, file)?;
        self.objects.push(Object { name: format!("{name}.o"), sections });
        Ok(())
    }

    /// Compiles a file of Rust to an object, and to a library with whatever it needs beside that.
    fn rust(&mut self, workshop: &Workshop, file: &Path, name: &str, object: &Path) -> Result<(), Unfit> {
        let folder = workshop.path();
        let (source, used) = (folder.join("tenbin.rs"), folder.join("libtenbin.rlib"));
        if !used.is_file() {
            fs::write(&source, CRATE).map_err(|error| {
                shortage::unfit(Fault::system(format!("write {}", source.display()), error))
            })?;
            let emitted = format!("--emit=link={}", used.display());
            rustc(&["--crate-type=rlib", "--crate-name=tenbin", &emitted], &source, folder)?;
        }
        let library = folder.join(format!("{name}.a"));
        let emitted = format!("--emit=obj={},link={}", object.display(), library.display());
        let with = format!("--extern=tenbin={}", used.display());
        let mut words = vec!["--crate-type=staticlib", "-Ccodegen-units=1", &emitted, &with];
        if file.file_stem() == Some("tenbin".as_ref()) {
            // It would have the name of the crate.
            words.push("--crate-name=side");
        }
        rustc(&words, file, folder)?;
        self.archives.push(library);
        Ok(())
    }

    /// Puts what is used of the archives into one object, without what only a debugger reads: each has all of
    /// Rust's library, and a link with that takes four times as long. A linker that cannot do that is given
    /// the archives.
    fn gather(&mut self, workshop: &Workshop, place: usize) -> Result<(), Unfit> {
        if self.archives.is_empty() {
            return Ok(());
        }
        let (mut used, mut own) = (BTreeSet::new(), BTreeSet::new());
        for object in &self.objects {
            let path = workshop.path().join(&object.name);
            let unread = |why: String| Unfit::Usage(format!("{}: {why}", path.display()));
            let bytes = fs::read(&path).map_err(|error| unread(error.to_string()))?;
            let elf = Elf::parse(&bytes).map_err(|why| unread(why.to_string()))?;
            for symbol in elf.symbols().map_err(|why| unread(why.to_string()))? {
                let names = if symbol.is_undefined() { &mut used } else { &mut own };
                if !symbol.local && !symbol.name.is_empty() {
                    names.insert(OsString::from(symbol.name.as_ref()));
                }
            }
        }
        let gathered = workshop.path().join(format!("used-{place}.o"));
        let mut words: Vec<OsString> =
            ["-r", "-nostdlib", "-Wl,-S", "-Wl,--gc-sections", "-o"].map(OsString::from).into();
        words.push(gathered.clone().into());
        for name in used.difference(&own) {
            words.extend(["-Xlinker", "-u", "-Xlinker"].map(OsString::from));
            words.push(name.clone());
        }
        words.extend(self.archives.iter().map(|archive| archive.clone().into()));
        self.gathered = workshop.ask(None, "gather with", &words).is_ok().then_some(gathered);
        Ok(())
    }
}

/// Compiles a file of Rust, as these options say; what it writes meanwhile goes into `folder`, which
/// vanishes.
fn rustc(options: &[&str], file: &Path, folder: &Path) -> Result<(), Unfit> {
    let program = env::var_os("RUSTC").filter(|name| !name.is_empty()).unwrap_or_else(|| "rustc".into());
    let mut command = Command::new(&program);
    command.args(["--edition=2024", "-Copt-level=3", "-Cpanic=abort"]).args(options);
    command.arg(file).env("TMPDIR", folder).stdin(Stdio::null());
    let finished = child::run(command, Bounds::within(compiled::DEADLINE)).map_err(|fault| match &fault {
        Fault::System { error, .. } if error.kind() == ErrorKind::NotFound => Unfit::Missing(Missing {
            what: format!("a Rust compiler (`{}`)", program.to_string_lossy()),
            needed: format!("{} is compiled here", file.display()),
            install: "see https://rustup.rs".into(),
        }),
        _ => Unfit::Fault(fault),
    })?;
    if finished.end == End::Exited(0) {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&finished.stderr);
    let words = semicolon(words.lines().map(str::trim).filter(|line| !line.is_empty()).take(5));
    Err(Unfit::Usage(format!("{}: rustc does not compile it: {words}", file.display())))
}

/// The number of a side's own draws for a block whose layout is this.
fn own(place: usize, layout: u32) -> u64 {
    u64::from(layout) << 16 | place as u64
}

/// Where stack, heap and environment of a side come to lie in the layout of this number.
fn moved(number: u64) -> u64 {
    Pcg64Mcg::seed_from_u64(!number).random()
}

/// How the names of sections begin whose code the linker is to make (GCC, "LTO object file layout").
const LATER: &[u8] = b".gnu.lto_";

/// The names of the sections of a file that hold code, where it is a file for the machine that this is.
fn sections(workshop: &Workshop, of: &Path, file: &Path) -> Result<Vec<String>, Unfit> {
    let usage = |message: String| Unfit::Usage(format!("{}: {message}", file.display()));
    let read = |path: &Path| fs::read(path).map_err(|error| usage(error.to_string()));
    let (own, bytes) = (read(&workshop.path().join("runner.o"))?, read(of)?);
    let [own, elf] = [&own, &bytes].map(|bytes| Elf::parse(bytes).map_err(|why| usage(why.to_string())));
    let (own, elf) = (own?, elf?);
    if own.identity.machine != elf.identity.machine {
        let of = |bytes: &[u8]| elf::architecture(bytes).unwrap_or_else(|_| "another machine".into());
        return Err(usage(format!("it is for {}, not for this machine", of(&bytes))));
    }
    let names = elf.code().map_err(|why| usage(why.to_string()))?;
    // The names of its sections are text in it.
    if bytes.windows(LATER.len()).any(|part| part == LATER) {
        return Err(usage(
            "it is for optimisation by the linker (-flto), which would lay it out: compile it without".into(),
        ));
    }
    Ok(names.into_iter().map(|name| name.into_owned()).collect())
}

fn copy(from: &Path, to: &Path) -> Result<(), Unfit> {
    let fault = |error| Fault::system(format!("copy {} to {}", from.display(), to.display()), error);
    fs::copy(from, to).map(drop).map_err(|error| shortage::unfit(fault(error)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_side_is_called_by_what_others_have_not() {
        for (sides, names) in [
            (["a.c", "b.c"], ["a.c", "b.c"]),
            (["a.c table.c", "b.c table.c"], ["a.c", "b.c"]),
            (["a.c", "a.c more.c"], ["a.c", "a.c more.c"]),
            (["a.c table.c", "a.c table.c"], ["a.c table.c", "a.c table.c"]),
        ] {
            let sides = sides.map(|words| Functions::files_in(words, false).unwrap()).to_vec();
            assert_eq!(Functions { sides, ..Functions::default() }.names(), names);
        }
    }

    #[test]
    fn options_of_the_compiler_have_to_be_used() {
        for (sides, flags, is_used) in [
            (["a.c", "b.rs"], &["-O3"][..], true),
            (["a.rs", "b.rs"], &["-O3"], false),
            (["a.rs", "b.rs"], &[" "], true),
            (["a.c", "b.o"], &["-O3", ""], true),
            (["a.c", "b.o"], &["-O3", "-O2"], false),
        ] {
            let sides = sides.map(|words| Functions::files_in(words, false).unwrap()).to_vec();
            let flags = flags.iter().map(|&flags| flags.into()).collect();
            let functions = Functions { sides, flags, ..Functions::default() };
            assert_eq!(functions.check_options().is_ok(), is_used, "{functions:?}");
        }
    }

    #[test]
    fn sides_are_moved_by_draws_of_their_own() {
        let distance = |layout| moved(own(0, layout)).wrapping_sub(moved(own(1, layout))) >> 32;
        let distances: std::collections::BTreeSet<u64> = (0..100).map(distance).collect();
        assert_eq!(distances.len(), 100);
    }
}
