//! `tenbin guest`: its commands, and which kernel a guest's words name.

mod run;
mod modules;

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use tenbin_model::Architecture;
use tenbin_model::words::comma;
use tenbin_reach::{Cache, Error, Kernel, Module, Suite, host_image};

use super::Verb;
use crate::output::{Trouble, prefixed, say};

include!(concat!(env!("OUT_DIR"), "/guest.rs"));

pub const VERB: Verb = Verb::group(
    "guest",
    |word| word.about("Work in a guest: a machine in QEMU that is booted, runs one command and is gone"),
    GUEST,
);

const HOST: &str = "host";

/// What a shell may offer as an architecture.
fn architectures() -> Vec<String> {
    Architecture::ALL.iter().map(|one| one.name().to_owned()).collect()
}

/// An error with the remarks behind it: what was fetched before it is kept all the same.
pub fn remarked(trouble: Trouble, remarks: &[String]) -> Trouble {
    let message = std::iter::once(trouble.message).chain(prefixed(remarks)).collect::<Vec<_>>().join("\n");
    Trouble { message, ..trouble }
}

enum Wanted {
    Suite(Suite),
    Image(PathBuf),
}

/// A word for a kernel that is neither a suite's nor a file's.
fn unknown(name: &Path) -> Trouble {
    let known = comma(Suite::ALL);
    Trouble::usage(format!(
        "{} is not a kernel, and there is no such file: use {known}, {HOST} or an image's path",
        name.display()
    ))
}

/// Which kernel a guest's words name, and where kernels are kept.
pub struct Choice {
    pub architecture: Architecture,
    wanted: Wanted,
    cache: Cache,
}

impl Choice {
    /// What `--arch`, `--kernel` and `--cache` say.
    ///
    /// # Errors
    /// A usage error.
    pub fn of(
        arch: Option<Architecture>,
        kernel: Option<&Path>,
        cache: Option<&Path>,
    ) -> Result<Self, Trouble> {
        let host = || Trouble::usage("no guest has this machine's architecture: name one with --arch");
        let architecture = arch.map_or_else(|| Architecture::host().ok_or_else(host), Ok)?;
        let cache = cache.map_or_else(Cache::usual, |folder| Ok(Cache::new(folder)))?;
        let waits = |folder: &Path| {
            say(&format!("tenbin: waiting for another tenbin that is writing in {}", folder.display()));
        };
        let cache = cache.telling(waits);
        let wanted = match kernel {
            None => Wanted::Suite(Suite::usual(architecture)),
            Some(name) => match name.to_str().unwrap_or_default() {
                HOST => Wanted::Image(host_image(architecture)?),
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
    pub fn is_here(&self) -> bool {
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
    pub fn kernel(&self, remarks: &mut Vec<String>) -> Result<Kernel, Trouble> {
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
        kernel.map_err(Trouble::from)
    }

    /// The modules built for it, in the order asked for.
    pub fn modules(&self, modules: &[Module], remarks: &mut Vec<String>) -> Result<Vec<PathBuf>, Trouble> {
        match &self.wanted {
            Wanted::Image(image) => {
                self.cache.own_modules(self.architecture, image, modules).map_err(Trouble::from)
            }
            Wanted::Suite(_) if modules.is_empty() => Ok(Vec::new()),
            Wanted::Suite(suite) => {
                self.with_headers(*suite, remarks, |cache| cache.modules(self.architecture, *suite, modules))
            }
        }
    }

    fn headers(&self, remarks: &mut Vec<String>) -> Result<PathBuf, Trouble> {
        match &self.wanted {
            Wanted::Image(image) => self.cache.own_headers(image).map_err(Trouble::from),
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
        result.map_err(Trouble::from)
    }
}

fn fetched_kernel(architecture: Architecture, suite: Suite) -> String {
    format!("fetched the kernel of Debian's {suite} for {architecture}, which is kept")
}
