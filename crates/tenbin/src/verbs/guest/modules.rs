//! `tenbin guest modules`: kernel modules of tenbin's, built for a guest's kernel.

use std::fs;
use std::path::{Path, PathBuf};

use clap::Args;
use tenbin_model::Architecture;
use tenbin_reach::Module;

use super::{Choice, architectures, remarked};
use crate::output::{Answer, Trouble, can_be_written, prefixed, write_whole};
use crate::terminal::Progress;
use crate::verbs::{Verb, Work};

/// Build tenbin's kernel modules for a guest's kernel
///
/// They are stop_machine, oneshot_timer and fibdrv, compiled from the sources in this program. The
/// headers are fetched from Debian once, in the version of the kernel's image, and kept beside it.
/// Nothing is loaded here.
#[derive(Args)]
#[command(group = clap::ArgGroup::new("result").required(true))]
pub struct Modules {
    /// x86_64, aarch64 or riscv64; this machine's if not given
    #[arg(long, value_name = "ARCHITECTURE")]
    arch: Option<Architecture>,
    /// As of `guest run`
    #[arg(long, value_name = "bookworm|backports|trixie|host|FILE")]
    kernel: Option<PathBuf>,
    /// Put the three modules here, as NAME.ko
    #[arg(long, value_name = "FOLDER", group = "result")]
    into: Option<PathBuf>,
    /// Build nothing: print the folder of the kernel's headers, which `make -C` takes
    #[arg(long, group = "result")]
    headers: bool,
    /// Where kernels are kept; tenbin/guest under the XDG folder of caches if not given
    #[arg(long, value_name = "FOLDER")]
    cache: Option<PathBuf>,
}

pub const VERB: Verb = Verb { words: &[("arch", architectures)], ..Verb::of::<Modules>("modules") };

impl Work for Modules {
    fn run(self) -> Result<Answer, Trouble> {
        let choice = Choice::of(self.arch, self.kernel.as_deref(), self.cache.as_deref())?;
        let mut remarks = Vec::new();
        let progress = Progress::new();
        progress.doing("fetching and building kernel modules");
        let text = match &self.into {
            Some(folder) => built(&choice, folder, &mut remarks),
            None => choice.headers(&mut remarks).map(|folder| format!("{}\n", folder.display())),
        };
        progress.finish();
        match text {
            Ok(text) => Ok(Answer { remarks: prefixed(&remarks), ..Answer::text(text) }),
            Err(trouble) => Err(remarked(trouble, &remarks)),
        }
    }
}

/// Builds all modules, puts them into `folder`, and names the files, one a line.
fn built(choice: &Choice, folder: &Path, remarks: &mut Vec<String>) -> Result<String, Trouble> {
    let destination = Destination::new(folder)?;
    let built = choice.modules(&Module::ALL, remarks)?;
    Module::ALL.into_iter().zip(built).map(|(module, from)| destination.put(module, &from)).collect()
}

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
            let why = format!("--into {}: it exists and is not a folder", folder.display());
            return Err(Trouble::usage(why));
        }
        let absent = folder.ancestors().take_while(|it| !it.as_os_str().is_empty() && !it.exists());
        let it = Self { folder: folder.to_owned(), made: absent.map(Path::to_owned).collect() };
        fs::create_dir_all(folder)
            .map_err(|error| Trouble::usage(format!("write {}: {error}", folder.display())))?;
        for module in Module::ALL {
            let path = folder.join(module.file());
            if path.exists() && !path.is_file() {
                return Err(Trouble::usage(format!("write {}: it exists and is not a file", path.display())));
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
