//! `tenbin guest modules`, and which kernel a guest's words name.

use std::fs;
use std::path::{Path, PathBuf};

use tenbin_reach::{Architecture, Cache, Error, Kernel, Module, Suite, host_image};

use super::guest::trouble;
use crate::arguments::GuestModules;
use crate::output::{Answer, Trouble};

/// The word for the kernel that runs here.
const HOST: &str = "host";

/// Builds the modules and puts them where they are wanted, or says where the headers are.
///
/// # Errors
/// A usage error, or what kept them from being built.
pub(super) fn modules(arguments: &GuestModules) -> Result<Answer, Trouble> {
    let choice = Choice::of(arguments.arch, arguments.kernel.as_deref(), arguments.cache.as_deref())?;
    let mut remarks = Vec::new();
    let text = match &arguments.into {
        Some(folder) => {
            let built = choice.modules(&Module::ALL, &mut remarks)?;
            Module::ALL.into_iter().zip(built).map(|(module, from)| put(module, &from, folder)).collect()
        }
        None => choice.headers(&mut remarks).map(|folder| format!("{}\n", folder.display())),
    }?;
    let remark = told(&remarks);
    Ok(Answer { remark, ..Answer::text(text) })
}

/// Copies a module that was built at `from` into `folder`, and says so in a line.
fn put(module: Module, from: &Path, folder: &Path) -> Result<String, Trouble> {
    let to = folder.join(module.file());
    let copied = fs::create_dir_all(folder).and_then(|()| fs::copy(from, &to));
    copied.map_err(|error| Trouble::usage(format!("write {}: {error}", to.display())))?;
    Ok(format!("{}\n", to.display()))
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
        let wanted = match kernel {
            None => Wanted::Suite(Suite::usual(architecture)),
            Some(name) => match name.to_str().unwrap_or_default() {
                HOST => Wanted::Image(host_image(architecture).map_err(trouble)?),
                word => word.parse().map_or_else(|_| Wanted::Image(name.to_owned()), Wanted::Suite),
            },
        };
        Ok(Self { architecture, wanted, cache })
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
        if !self.cache.has(architecture, suite) {
            remarks.push(format!("fetched the kernel of Debian's {suite} for {architecture}, which is kept"));
        }
        match &self.wanted {
            Wanted::Suite(suite) => self.cache.kernel(architecture, *suite),
            Wanted::Image(image) => self.cache.own_kernel(architecture, image),
        }
        .map_err(trouble)
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
        let (had, before) = (cache.has_headers(architecture, suite), cache.version(architecture, suite));
        let result = work(cache).map_err(trouble)?;
        if !had {
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
        }
        Ok(result)
    }
}
