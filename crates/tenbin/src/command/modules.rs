//! `tenbin guest modules`, and which kernel a guest's words name.

use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tenbin_model::Architecture;
use tenbin_model::words::comma;
use tenbin_reach::{Cache, Error, Kernel, Module, Suite, host_image};

use super::guest::trouble;
use crate::arguments::GuestModules;
use crate::output::{Answer, Trouble, can_be_written, say, write_whole};
use crate::terminal::Progress;

/// The word for the kernel that runs here.
const HOST: &str = "host";

/// Builds the modules and puts them where they are wanted, or says where the headers are.
///
/// # Errors
/// A usage error, or what kept them from being built.
pub(super) fn modules(arguments: &GuestModules) -> Result<Answer, Trouble> {
    let choice = Choice::of(arguments.arch, arguments.kernel.as_deref(), arguments.cache.as_deref())?;
    let mut remarks = Vec::new();
    let progress = Progress::new();
    progress.doing("fetching and building kernel modules");
    let text = match &arguments.into {
        Some(folder) => built(&choice, folder, &mut remarks),
        None => choice.headers(&mut remarks).map(|folder| format!("{}\n", folder.display())),
    };
    progress.finish();
    match text {
        Ok(text) => Ok(Answer { remark: told(&remarks), ..Answer::text(text) }),
        Err(trouble) => Err(remarked(trouble, &remarks)),
    }
}

/// Builds all modules, puts them into `folder`, and names the files, one a line.
fn built(choice: &Choice, folder: &Path, remarks: &mut Vec<String>) -> Result<String, Trouble> {
    let destination = Destination::new(folder)?;
    let built = choice.modules(&Module::ALL, remarks)?;
    Module::ALL.into_iter().zip(built).map(|(module, from)| destination.put(module, &from)).collect()
}

/// The folder that modules are put into.
struct Destination {
    folder: PathBuf,
    /// The folders that were made for it, the innermost first.
    made: Vec<PathBuf>,
}

impl Destination {
    /// Makes the folder, and finds out whether all modules can be put there.
    ///
    /// # Errors
    /// A usage error.
    fn new(folder: &Path) -> Result<Self, Trouble> {
        if folder.exists() && !folder.is_dir() {
            return Err(Trouble::usage(format!("--into {}: it is there and is no folder", folder.display())));
        }
        let absent = folder.ancestors().take_while(|it| !it.as_os_str().is_empty() && !it.exists());
        let it = Self { folder: folder.to_owned(), made: absent.map(Path::to_owned).collect() };
        fs::create_dir_all(folder)
            .map_err(|error| Trouble::usage(format!("write {}: {error}", folder.display())))?;
        for module in Module::ALL {
            let path = folder.join(module.file());
            if path.exists() && !path.is_file() {
                return Err(Trouble::usage(format!("write {}: it is there and is no file", path.display())));
            }
            can_be_written(&path)?;
        }
        Ok(it)
    }

    /// Copies a module that was built at `from`, whole or not at all, and says so in a line.
    fn put(&self, module: Module, from: &Path) -> Result<String, Trouble> {
        let to = self.folder.join(module.file());
        let content =
            fs::read(from).map_err(|error| Trouble::internal(format!("read {}: {error}", from.display())))?;
        write_whole(&to, |out| out.write_all(&content))?;
        Ok(format!("{}\n", to.display()))
    }
}

/// What was made for nothing goes again: a folder that is empty.
impl Drop for Destination {
    fn drop(&mut self) {
        for folder in &self.made {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}

/// An error with the remarks behind it: what was fetched before it is kept all the same.
pub(super) fn remarked(trouble: Trouble, remarks: &[String]) -> Trouble {
    let message = std::iter::once(trouble.message).chain(told(remarks)).collect::<Vec<_>>().join("\n");
    Trouble { message, ..trouble }
}

/// Remarks as standard error shows them; none if there are none.
pub(super) fn told(remarks: &[String]) -> Option<String> {
    let remark = remarks.iter().map(|remark| format!("tenbin: {remark}")).collect::<Vec<_>>().join("\n");
    (!remark.is_empty()).then_some(remark)
}

/// A kernel that was asked for.
enum Wanted {
    Suite(Suite),
    Image(PathBuf),
}

/// A word for a kernel that is neither a suite's nor a file's.
fn unknown(name: &Path) -> Trouble {
    let known = comma(Suite::ALL);
    Trouble::usage(format!(
        "{} is no kernel, and there is no such file: use {known}, {HOST} or an image's path",
        name.display()
    ))
}

/// Which kernel a guest's words name, and where kernels are kept.
pub(super) struct Choice {
    pub(super) architecture: Architecture,
    wanted: Wanted,
    cache: Cache,
}

impl Choice {
    /// What `--arch`, `--kernel` and `--cache` say.
    ///
    /// # Errors
    /// A usage error.
    pub(super) fn of(
        arch: Option<Architecture>,
        kernel: Option<&Path>,
        cache: Option<&Path>,
    ) -> Result<Self, Trouble> {
        let host = || Trouble::usage("guests have no architecture like this machine's: name one with --arch");
        let architecture = arch.map_or_else(|| Architecture::host().ok_or_else(host), Ok)?;
        let cache = cache.map_or_else(Cache::usual, |folder| Ok(Cache::new(folder))).map_err(trouble)?;
        let waits = |folder: &Path| {
            say(&format!("tenbin: waiting for another tenbin that writes in {}", folder.display()));
        };
        let cache = cache.telling(waits);
        let wanted = match kernel {
            None => Wanted::Suite(Suite::usual(architecture)),
            Some(name) => match name.to_str().unwrap_or_default() {
                HOST => Wanted::Image(host_image(architecture).map_err(trouble)?),
                word => match word.parse() {
                    Ok(suite) => Wanted::Suite(suite),
                    Err(_) if name.exists() || name.as_os_str().as_bytes().contains(&b'/') => {
                        Wanted::Image(name.to_owned())
                    }
                    Err(_) => return Err(unknown(name)),
                },
            },
        };
        Ok(Self { architecture, wanted, cache })
    }

    /// Whether the kernel, or what else is fetched for it, was fetched before.
    pub(super) fn is_here(&self) -> bool {
        self.cache.has(self.architecture, self.fetched())
    }

    /// The suite whose kernel, or whose busybox, is fetched.
    fn fetched(&self) -> Suite {
        match self.wanted {
            Wanted::Suite(suite) => suite,
            Wanted::Image(_) => Suite::usual(self.architecture),
        }
    }

    /// The kernel.
    pub(super) fn kernel(&self, remarks: &mut Vec<String>) -> Result<Kernel, Trouble> {
        let (architecture, suite) = (self.architecture, self.fetched());
        let was_here = self.cache.has(architecture, suite);
        let kernel = match &self.wanted {
            Wanted::Suite(suite) => self.cache.kernel(architecture, *suite),
            Wanted::Image(image) => self.cache.own_kernel(architecture, image),
        };
        // What was fetched is kept, also where something failed after it.
        if !was_here && self.cache.has(architecture, suite) {
            remarks.push(fetched_kernel(architecture, suite));
        }
        kernel.map_err(trouble)
    }

    /// The modules built for it, in the order asked for.
    pub(super) fn modules(
        &self,
        modules: &[Module],
        remarks: &mut Vec<String>,
    ) -> Result<Vec<PathBuf>, Trouble> {
        match &self.wanted {
            Wanted::Image(image) => {
                self.cache.own_modules(self.architecture, image, modules).map_err(trouble)
            }
            Wanted::Suite(_) if modules.is_empty() => Ok(Vec::new()),
            Wanted::Suite(suite) => {
                self.with_headers(*suite, remarks, |cache| cache.modules(self.architecture, *suite, modules))
            }
        }
    }

    /// The folder that modules are built with.
    fn headers(&self, remarks: &mut Vec<String>) -> Result<PathBuf, Trouble> {
        match &self.wanted {
            Wanted::Image(image) => self.cache.own_headers(image).map_err(trouble),
            Wanted::Suite(suite) => {
                self.with_headers(*suite, remarks, |cache| cache.headers(self.architecture, *suite))
            }
        }
    }

    /// Does what may fetch headers, and remarks what was fetched for it.
    fn with_headers<T>(
        &self,
        suite: Suite,
        remarks: &mut Vec<String>,
        work: impl FnOnce(&Cache) -> Result<T, Error>,
    ) -> Result<T, Trouble> {
        let (cache, architecture) = (&self.cache, self.architecture);
        let was_here = cache.has(architecture, suite);
        let (had, before) = (cache.has_headers(architecture, suite), cache.version(architecture, suite));
        let result = work(cache);
        // What was fetched is kept, also where something failed after it.
        if !had && cache.has_headers(architecture, suite) {
            let version = cache.version(architecture, suite).unwrap_or_default();
            let of = format!("Debian's {suite} for {architecture}, version {version}");
            remarks.push(match before {
                Some(before) if before == version => format!("fetched the headers of {of}, which are kept"),
                Some(before) => format!(
                    "fetched kernel and headers of {of}, which are kept: the archive has no headers of {before}, \
                     whose kernel is gone"
                ),
                None => format!("fetched kernel and headers of {of}, which are kept"),
            });
        } else if !was_here && cache.has(architecture, suite) {
            remarks.push(fetched_kernel(architecture, suite));
        }
        result.map_err(trouble)
    }
}

/// The remark that a kernel was fetched.
fn fetched_kernel(architecture: Architecture, suite: Suite) -> String {
    format!("fetched the kernel of Debian's {suite} for {architecture}, which is kept")
}
