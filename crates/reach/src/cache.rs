//! A folder of kernels, each fetched from Debian once, with what was built for them.
//!
//! A kernel has a folder, `SUITE-ARCHITECTURE`: `image`, `busybox`, `modules` (those of Debian that a guest
//! needs), `origin` (the packages they are from). When modules of ours are first asked for, `headers` of the
//! image's version are put there, and `built-KEY` for each state of the sources. A kernel of the user's own
//! has `own-KEY` alone.
//!
//! Whatever gets its name there is whole: it was made in a folder beside it, by whoever held the lock.

#![expect(
    clippy::disallowed_methods,
    reason = "another process that fetches is waited for, but not for ever"
)]

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use tenbin_model::Architecture;

use crate::apt::{Apt, dependency};
use crate::error::Error;
use crate::folder::{copied, listed};
use crate::headers::{self, Image};
use crate::kbuild::{self, Build};
use crate::kernel::{Kernel, Suite, insist_image, module_folders, modules_in, own_release};
use crate::module::{self, Module};
use crate::process::lacking;

const UNFINISHED: &str = ".fetching-";

/// How the names of folders begin that modules of ours were built into.
const BUILT: [&str; 2] = ["built-", "own-"];

/// How much older than a new folder of modules another one may be that is kept beside it.
const MONTH: Duration = Duration::from_secs(30 * 24 * 60 * 60);

/// What to do about a cache whose path make cannot handle.
const ELSEWHERE: &str = "name another folder with --cache";

/// How long to wait for another process that writes into a cache. Each of its programs has ten minutes.
const PATIENCE: Duration = Duration::from_secs(3600);

const LOOK: Duration = Duration::from_millis(100);

/// A folder of kernels. Several processes can use one at a time.
#[derive(Clone, Debug)]
pub struct Cache {
    folder: PathBuf,
    /// Told of the folder when somebody else writes there.
    waits: fn(&Path),
}

/// The right to write into a cache, and a folder in it for what is not finished. Both end with this.
struct Turn {
    scratch: tempfile::TempDir,
    _lock: fs::File,
}

impl Cache {
    /// The cache in `folder`, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into(), waits: |_| {} }
    }

    /// The same cache, which calls `waits` with its folder, once, when it has to wait because another process
    /// writes there. After an hour it waits no longer, and that is an [`Error::File`].
    pub fn telling(self, waits: fn(&Path)) -> Self {
        Self { waits, ..self }
    }

    /// The user's: `tenbin/guest` under the XDG folder of caches.
    ///
    /// # Errors
    /// [`Error::Request`] where the environment names neither that folder nor a home.
    pub fn usual() -> Result<Self, Error> {
        Self::folder_of("guest").map(Self::new)
    }

    /// The folder called `name` in `tenbin` under the XDG folder of caches. It need not exist.
    pub(crate) fn folder_of(name: &str) -> Result<PathBuf, Error> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        let caches = caches.ok_or_else(|| {
            Error::Request("there is no cache folder: set XDG_CACHE_HOME or HOME".to_owned())
        })?;
        Ok(caches.join("tenbin").join(name))
    }

    /// Whether [`Cache::kernel`] needs no network.
    pub fn has(&self, architecture: Architecture, suite: Suite) -> bool {
        self.place(architecture, suite).is_dir()
    }

    /// Whether [`Cache::headers`] and [`Cache::modules`] need no network.
    pub fn has_headers(&self, architecture: Architecture, suite: Suite) -> bool {
        self.place(architecture, suite).join("headers").is_dir()
    }

    /// The version of the package that the kernel here came with, if there is one and it is known.
    pub fn version(&self, architecture: Architecture, suite: Suite) -> Option<String> {
        Some(image_in(&self.place(architecture, suite))?.version)
    }

    /// The kernel of `suite` for `architecture`, fetched now if it is not here yet (60 to 120 MB, of which 10
    /// to 45 are kept).
    ///
    /// # Errors
    /// [`Error::Missing`] without Debian's tools or keys, [`Error::Request`] for a pair that does not exist,
    /// [`Error::Fetch`] where the archive cannot be reached or a package is not as it was signed,
    /// [`Error::File`] where the folder cannot be written.
    pub fn kernel(&self, architecture: Architecture, suite: Suite) -> Result<Kernel, Error> {
        suite.insist(architecture)?;
        let place = self.place(architecture, suite);
        self.make(&place, |turn| {
            let mut apt = Apt::prepare(&turn.folder("apt"), architecture, suite)?;
            let whole = turn.folder("whole");
            fetch_kernel(&mut apt, &turn.folder("unpacked"), &whole)?;
            name(&whole, &place)
        })?;
        let modules = modules_in(&[place.join("modules")])?;
        Ok(Kernel { image: place.join("image"), busybox: place.join("busybox"), modules })
    }

    /// The folder that modules for that kernel are built with, a path from the root: `make -C` it. Fetched
    /// now if it is not here yet (15 MB, which are up to 95 MB when they are unpacked), and the kernel too.
    ///
    /// Headers are of the version of the image. If the archive has none of that version any more, the kernel
    /// is fetched anew together with its headers, and replaces the old one: [`Cache::version`] tells.
    ///
    /// # Errors
    /// As [`Cache::kernel`]; and [`Error::Request`] where there are no tools for this machine.
    pub fn headers(&self, architecture: Architecture, suite: Suite) -> Result<PathBuf, Error> {
        self.kernel(architecture, suite)?;
        let place = self.place(architecture, suite);
        let unpacked = place.join("headers");
        self.make(&unpacked, |turn| complete(turn, architecture, suite, &place))?;
        headers::folder(&std::path::absolute(&unpacked).map_err(Error::file("read", &unpacked))?)
    }

    /// The modules built for that suite's kernel, in the order asked for; built once per source and kernel,
    /// kept in the cache.
    ///
    /// # Errors
    /// As [`Cache::headers`]; [`Error::Request`] also where the cache's path holds what make cannot handle (a
    /// space, a colon); [`Error::Missing`] also without make, a compiler or a library that the kernel's
    /// tools need, and [`Error::Build`] where they do not build.
    pub fn modules(
        &self,
        architecture: Architecture,
        suite: Suite,
        modules: &[Module],
    ) -> Result<Vec<PathBuf>, Error> {
        suite.insist(architecture)?;
        if modules.is_empty() {
            return Ok(Vec::new());
        }
        kbuild::insist_plain(&self.folder, ELSEWHERE)?;
        let headers = self.headers(architecture, suite)?;
        let build = Build::of_debian(architecture, headers)?;
        let key = module::key(&build.parts().collect::<Vec<_>>())?;
        let built = self.place(architecture, suite).join(format!("built-{key}"));
        self.build(&build, &built, modules)
    }

    /// As [`Cache::modules`], for a kernel of the user's own, as [`Cache::own_kernel`] has it: built with
    /// `lib/modules/VERSION/build`.
    ///
    /// # Errors
    /// [`Error::Request`] where the image does not tell its version by its name; [`Error::Missing`] without
    /// its headers; and as [`Cache::modules`].
    pub fn own_modules(
        &self,
        architecture: Architecture,
        image: &Path,
        modules: &[Module],
    ) -> Result<Vec<PathBuf>, Error> {
        if modules.is_empty() {
            return Ok(Vec::new());
        }
        kbuild::insist_plain(&self.folder, ELSEWHERE)?;
        let headers = self.own_headers(image)?;
        kbuild::insist_plain(&headers, "move it")?;
        let build = Build::of_own(architecture, headers.clone())?;
        // What modules depend on of a kernel that is being changed: its symbols, its settings, its name.
        let states = ["Module.symvers", ".config", "include/config/kernel.release"]
            .map(|name| fs::read(headers.join(name)).unwrap_or_default());
        let path = headers.as_os_str().as_encoded_bytes();
        let parts = build.parts().chain(states.iter().map(Vec::as_slice)).chain([path]);
        let built = self.folder.join(format!("own-{}", module::key(&parts.collect::<Vec<_>>())?));
        self.build(&build, &built, modules)
    }

    /// A kernel of the user's own, with the busybox of the usual suite. If the file is called
    /// `vmlinuz-VERSION` or `vmlinux-VERSION` and lies in a folder beside `lib/modules/VERSION`, as in
    /// `/boot`, modules are taken from there.
    ///
    /// # Errors
    /// [`Error::Request`] where `image` is no file, or no image of a kernel for `architecture`; and as
    /// [`Cache::kernel`].
    pub fn own_kernel(&self, architecture: Architecture, image: &Path) -> Result<Kernel, Error> {
        let (image, own) = own_release(image)?;
        insist_image(&image, architecture)?;
        let busybox = self.kernel(architecture, Suite::usual(architecture))?.busybox;
        let modules = match own {
            Some((_, folder)) => modules_in(&module_folders(&folder))?,
            None => Vec::new(),
        };
        Ok(Kernel { image, busybox, modules })
    }

    /// The folder that modules for a kernel of the user's own are built with: `lib/modules/VERSION/build`.
    ///
    /// # Errors
    /// As [`Cache::own_modules`].
    pub fn own_headers(&self, image: &Path) -> Result<PathBuf, Error> {
        let (image, own) = own_release(image)?;
        let Some((release, modules)) = own else {
            let why = format!(
                "modules for {}: its name must be vmlinuz-VERSION, to tell which headers are its own",
                image.display()
            );
            return Err(Error::Request(why));
        };
        let link = modules.join("build");
        fs::canonicalize(&link).ok().filter(|folder| folder.is_dir()).ok_or_else(|| {
            let what = format!("the folder {}", link.display());
            lacking(what, "modules are built with it", &format!("linux-headers-{release}"))
        })
    }

    fn place(&self, architecture: Architecture, suite: Suite) -> PathBuf {
        self.folder.join(format!("{suite}-{architecture}"))
    }

    /// The modules in the folder `built`, where they are put now if it is not there.
    fn build(&self, build: &Build, built: &Path, modules: &[Module]) -> Result<Vec<PathBuf>, Error> {
        self.make(built, |turn| {
            build.run(&turn.folder("kmod"), &turn.folder("whole"))?;
            name(&turn.folder("whole"), built)?;
            forget(built).map_err(Error::file("write", built))
        })?;
        Ok(modules.iter().map(|module| built.join(module.file())).collect())
    }

    /// Makes a folder in a turn, unless it is there, or somebody else makes it meanwhile.
    fn make(&self, folder: &Path, made: impl FnOnce(&Turn) -> Result<(), Error>) -> Result<(), Error> {
        if folder.is_dir() {
            return Ok(());
        }
        let turn = self.turn()?;
        if folder.is_dir() { Ok(()) } else { made(&turn) }
    }

    /// Waits until nobody else writes here, and removes what a process left that was killed while it did.
    fn turn(&self) -> Result<Turn, Error> {
        let writing = |path: &Path| Error::file("write", path);
        fs::create_dir_all(&self.folder).map_err(writing(&self.folder))?;
        let held = self.lock(PATIENCE)?;
        self.clear().map_err(writing(&self.folder))?;
        // Programs are started in other folders, so that a path from here would mislead them.
        let folder = std::path::absolute(&self.folder).map_err(writing(&self.folder))?;
        let scratch = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(folder);
        Ok(Turn { scratch: scratch.map_err(writing(&self.folder))?, _lock: held })
    }

    /// The lock of those who write here, as long as this file is open.
    fn lock(&self, patience: Duration) -> Result<fs::File, Error> {
        let path = self.folder.join("lock");
        let trouble = || Error::file("lock", &path);
        let file = fs::File::create(&path).map_err(trouble())?;
        let mut since = None;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(fs::TryLockError::Error(error)) => return Err(trouble()(error)),
                Err(fs::TryLockError::WouldBlock) => {}
            }
            let since = since.get_or_insert_with(|| {
                (self.waits)(&self.folder);
                Instant::now()
            });
            if since.elapsed() >= patience {
                let why = format!("another process is still writing there after {} s", patience.as_secs());
                return Err(trouble()(io::Error::new(io::ErrorKind::TimedOut, why)));
            }
            sleep(LOOK);
        }
    }

    /// Removes what is not finished. Only who holds the lock may.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                remove(&entry.path())?;
            }
        }
        Ok(())
    }
}

/// Removes a folder, or as much of it as can be while somebody still writes there: a program whose tenbin was
/// killed a moment ago. The rest is left to the next turn.
fn remove(folder: &Path) -> io::Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if [io::ErrorKind::DirectoryNotEmpty, io::ErrorKind::NotFound].contains(&error.kind()) => {
            Ok(())
        }
        other => other,
    }
}

impl Turn {
    /// A place for something that is not finished. Nothing is there until somebody makes it.
    fn folder(&self, name: &str) -> PathBuf {
        self.scratch.path().join(name)
    }
}

/// Gives a folder that is whole the name that it is found by.
fn name(whole: &Path, place: &Path) -> Result<(), Error> {
    fs::rename(whole, place).map_err(Error::file("write", place))
}

/// Removes the modules beside the new ones in `built` that are a month older: of sources that a tenbin had
/// then. Whoever still has that one builds them again. Only who holds the lock may.
fn forget(built: &Path) -> io::Result<()> {
    let Some(oldest) = fs::metadata(built)?.modified()?.checked_sub(MONTH) else { return Ok(()) };
    for entry in fs::read_dir(built.parent().unwrap_or(built))? {
        let entry = entry?;
        let name = entry.file_name();
        let modules = BUILT.iter().any(|beginning| name.to_string_lossy().starts_with(beginning));
        if modules && entry.metadata()?.modified()? < oldest {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

fn image_in(place: &Path) -> Option<Image> {
    Image::among(&fs::read_to_string(place.join("origin")).ok()?)
}

/// Puts headers beside the image in `place`: those of its version, else both anew.
fn complete(turn: &Turn, architecture: Architecture, suite: Suite, place: &Path) -> Result<(), Error> {
    let mut apt = Apt::prepare(&turn.folder("apt"), architecture, suite)?;
    // Lists that are not whole are no reason to replace a kernel: it may be the one that is missing in them.
    let image = match image_in(place) {
        Some(image) => apt.has(&image.headers())?.then_some(image),
        None => apt.whole().map(|()| None)?,
    };
    if let Some(image) = image {
        let headers = turn.folder("headers");
        headers::fetch(&mut apt, &image, &turn.folder("tools"), &headers)?;
        return name(&headers, &place.join("headers"));
    }
    let whole = turn.folder("whole");
    fetch_kernel(&mut apt, &turn.folder("unpacked"), &whole)?;
    let cause = || "no package of it holds an image".to_owned();
    let image = image_in(&whole)
        .ok_or_else(|| Error::Fetch { what: format!("{suite}-{architecture}"), cause: cause() })?;
    headers::fetch(&mut apt, &image, &turn.folder("tools"), &whole.join("headers"))?;
    replace(&whole, place, &turn.folder("old"))
}

/// Puts the folder `whole` in the place of the folder `place`, which then is `whole`, or `old`: both go with
/// the turn.
///
/// Whoever found the old kernel and has not opened all of it yet finds the new one under the same names; of a
/// module that is not there any more it says so. So a guest may get an image and modules of two versions: the
/// kernel refuses what was not built for it, and the next guest has one version again.
fn replace(whole: &Path, place: &Path, old: &Path) -> Result<(), Error> {
    match renameat_with(CWD, whole, CWD, place, RenameFlags::EXCHANGE) {
        Ok(()) => Ok(()),
        // Not every file system can exchange. Who is killed between the two leaves no kernel, and the next
        // one fetches it.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => {
            name(place, old)?;
            name(whole, place)
        }
        Err(error) => Err(Error::file("write", place)(error.into())),
    }
}

/// Fetches kernel and busybox, unpacks them into one folder, and puts what a guest needs of them into
/// another; both are made.
fn fetch_kernel(apt: &mut Apt, unpacked: &Path, into: &Path) -> Result<(), Error> {
    let meta = format!("linux-image-{}", apt.architecture());
    let record = apt.record(&meta)?;
    let unnamed = || Error::Fetch { what: meta.clone(), cause: "it names no kernel".to_owned() };
    let package = dependency(&record, "linux-image-").ok_or_else(unnamed)?;
    let files = apt.unpack(&[package, "busybox-static"], unpacked)?;
    fs::create_dir(into).map_err(Error::file("write", into))?;
    let origin = into.join("origin");
    fs::write(&origin, files.join("\n") + "\n").map_err(Error::file("write", &origin))?;
    take(unpacked, into)
}

fn take(unpacked: &Path, into: &Path) -> Result<(), Error> {
    let lacking =
        |what: &str| Error::Fetch { what: what.to_owned(), cause: "the package has none".to_owned() };
    let copy = |from: &Path, name: &str| copied(from, &into.join(name));
    let boot = listed(&unpacked.join("boot"))?;
    let image = boot.iter().find(|path| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("vmlinuz-") || name.starts_with("vmlinux-")
    });
    copy(image.ok_or_else(|| lacking("a kernel's image"))?, "image")?;
    // Since trixie, what was in /bin and /lib is below /usr.
    let roots = [unpacked.to_owned(), unpacked.join("usr")];
    let busybox = roots.iter().map(|root| root.join("bin/busybox")).find(|path| path.is_file());
    copy(&busybox.ok_or_else(|| lacking("a static busybox"))?, "busybox")?;
    let modules = into.join("modules");
    fs::create_dir(&modules).map_err(Error::file("write", &modules))?;
    for root in roots.iter().map(|root| root.join("lib/modules")).filter(|root| root.is_dir()) {
        let folders = listed(&root)?.iter().flat_map(|version| module_folders(version)).collect::<Vec<_>>();
        for module in modules_in(&folders)? {
            let name = module.file_name().unwrap_or_default().to_string_lossy().into_owned();
            copy(&module, &format!("modules/{name}"))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use super::*;

    /// A folder as two packages leave it that were unpacked into it.
    fn unpacked(files: &[&str]) -> tempfile::TempDir {
        let scratch = tempfile::tempdir().unwrap();
        for file in files {
            let path = scratch.path().join("unpacked").join(file);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, file).unwrap();
        }
        fs::create_dir(scratch.path().join("into")).unwrap();
        scratch
    }

    #[test]
    fn a_guest_s_needs_are_taken_from_either_layout() {
        for usr in ["", "usr/"] {
            let busybox = format!("{usr}bin/busybox");
            let module = format!("{usr}lib/modules/6.1/kernel/drivers/char/virtio_console.ko");
            let other = format!("{usr}lib/modules/6.1/kernel/drivers/char/other.ko");
            let scratch = unpacked(&["boot/config-6.1", "boot/vmlinuz-6.1", &busybox, &module, &other]);
            let into = scratch.path().join("into");
            take(&scratch.path().join("unpacked"), &into).unwrap();
            let read = |name: &str| fs::read_to_string(into.join(name)).unwrap();
            assert_eq!(read("image"), "boot/vmlinuz-6.1");
            assert_eq!(read("busybox"), busybox);
            assert_eq!(read("modules/virtio_console.ko"), module);
            assert_eq!(listed(&into.join("modules")).unwrap().len(), 1);
        }
    }

    #[test]
    fn a_package_without_a_kernel_or_a_busybox_is_no_kernel() {
        for (files, expected) in [
            (&["boot/config-6.1", "bin/busybox"][..], "image"),
            (&["boot/vmlinuz-6.1", "usr/bin/other"], "busybox"),
        ] {
            let scratch = unpacked(files);
            let error = take(&scratch.path().join("unpacked"), &scratch.path().join("into")).unwrap_err();
            assert!(error.to_string().contains(expected), "{error}");
        }
    }

    #[test]
    fn what_is_in_the_cache_is_taken_without_asking_anybody() {
        let scratch = tempfile::tempdir().unwrap();
        let cache = Cache::new(scratch.path());
        assert!(!cache.has(Architecture::Riscv64, Suite::Trixie));
        fs::create_dir_all(scratch.path().join("trixie-riscv64/modules")).unwrap();
        assert!(cache.has(Architecture::Riscv64, Suite::Trixie));
        let kernel = cache.kernel(Architecture::Riscv64, Suite::Trixie).unwrap();
        assert_eq!(kernel.image, scratch.path().join("trixie-riscv64/image"));
        assert_eq!(kernel.modules, Vec::<PathBuf>::new());
    }

    #[test]
    fn a_kernel_of_one_s_own_brings_the_modules_that_lie_beside_it() {
        let scratch =
            unpacked(&["boot/vmlinuz-6.1", "lib/modules/6.1/kernel/drivers/char/virtio_console.ko"]);
        fs::create_dir(scratch.path().join("trixie-riscv64")).unwrap();
        let cache = Cache::new(scratch.path());
        let root = fs::canonicalize(scratch.path()).unwrap().join("unpacked");
        let path = root.join("boot/vmlinuz-6.1");
        let own = |architecture| cache.own_kernel(architecture, &path);
        // What is no image is refused before anything is fetched for it, and so is another architecture's.
        let error = own(Architecture::Riscv64).unwrap_err().to_string();
        assert!(error.contains("vmlinuz-6.1 is not a kernel"), "{error}");
        let mut image = vec![0; 0x40];
        image[0x38..0x3c].copy_from_slice(b"RSC\x05");
        fs::write(&path, &image).unwrap();
        let error = own(Architecture::X86_64).unwrap_err().to_string();
        assert!(error.contains("image for riscv64, and the guest is x86_64"), "{error}");
        let kernel = own(Architecture::Riscv64).unwrap();
        assert_eq!(kernel.image, root.join("boot/vmlinuz-6.1"));
        assert_eq!(kernel.modules, [root.join("lib/modules/6.1/kernel/drivers/char/virtio_console.ko")]);
        let error = cache.own_kernel(Architecture::Riscv64, &root.join("boot/none")).unwrap_err();
        assert!(matches!(error, Error::Request(_)));
    }

    #[test]
    fn what_a_killed_process_left_is_removed_and_nothing_else() {
        let scratch = tempfile::tempdir().unwrap();
        for name in [".fetching-x", "bookworm-x86_64", "other"] {
            fs::create_dir(scratch.path().join(name)).unwrap();
        }
        Cache::new(scratch.path()).clear().unwrap();
        let left = listed(scratch.path()).unwrap();
        assert_eq!(left, ["bookworm-x86_64", "other"].map(|name| scratch.path().join(name)));
    }

    #[test]
    fn what_somebody_still_writes_to_stops_nobody() {
        let scratch = tempfile::tempdir().unwrap();
        let busy = scratch.path().join(".fetching-x");
        let over = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for number in 0_u64.. {
                    let deep = busy.join(format!("{}/deep", number % 8));
                    let _ = fs::create_dir_all(&deep).and_then(|()| fs::write(deep.join("file"), "x"));
                    if over.load(Ordering::Relaxed) {
                        break;
                    }
                }
            });
            // Until removing by itself has failed: then the writer is one that disturbs.
            let mut disturbed = 0;
            while disturbed < 2 {
                Cache::new(scratch.path()).clear().unwrap();
                let failed = fs::remove_dir_all(&busy).map_err(|error| error.kind());
                disturbed += usize::from(failed == Err(io::ErrorKind::DirectoryNotEmpty));
            }
            over.store(true, Ordering::Relaxed);
        });
        Cache::new(scratch.path()).clear().unwrap();
        assert!(!busy.exists());
        // Whatever else keeps a folder from being removed is told: here, that it is none.
        fs::write(scratch.path().join(".fetching-y"), "").unwrap();
        assert!(Cache::new(scratch.path()).clear().is_err());
    }

    #[test]
    fn who_waits_too_long_is_told_for_whom() {
        static WAITED: AtomicUsize = AtomicUsize::new(0);
        let scratch = tempfile::tempdir().unwrap();
        let cache = Cache::new(scratch.path()).telling(|_| {
            WAITED.fetch_add(1, Ordering::Relaxed);
        });
        let held = cache.lock(Duration::ZERO).unwrap();
        assert_eq!(WAITED.load(Ordering::Relaxed), 0);
        let error = cache.lock(Duration::ZERO).unwrap_err().to_string();
        assert!(
            error.starts_with("lock ") && error.contains("another process is still writing there"),
            "{error}"
        );
        assert_eq!(WAITED.load(Ordering::Relaxed), 1);
        drop(held);
        cache.lock(Duration::ZERO).unwrap();
        assert_eq!(WAITED.load(Ordering::Relaxed), 1);
    }

    #[test]
    fn a_folder_is_replaced_as_a_whole() {
        let scratch = tempfile::tempdir().unwrap();
        let [whole, place, old] = ["whole", "place", "old"].map(|name| scratch.path().join(name));
        for folder in [&whole, &place] {
            fs::create_dir(folder).unwrap();
            fs::write(folder.join("image"), folder.as_os_str().as_encoded_bytes()).unwrap();
        }
        replace(&whole, &place, &old).unwrap();
        assert_eq!(fs::read(place.join("image")).unwrap(), whole.as_os_str().as_encoded_bytes());
        assert!(replace(&scratch.path().join("none"), &place, &old).is_err());
        assert!(place.is_dir());
    }

    #[test]
    fn modules_of_long_ago_go_when_new_ones_come() {
        let scratch = tempfile::tempdir().unwrap();
        let make = |name: &str, days: u64| {
            let folder = scratch.path().join(name);
            fs::create_dir(&folder).unwrap();
            let now = fs::metadata(scratch.path()).unwrap().modified().unwrap();
            let age = Duration::from_secs(days * 24 * 60 * 60);
            fs::File::open(&folder).unwrap().set_modified(now - age).unwrap();
            folder
        };
        for (name, days) in [("built-old", 31), ("own-old", 400), ("built-young", 29), ("headers", 400)] {
            make(name, days);
        }
        forget(&make("built-new", 0)).unwrap();
        let left = ["built-new", "built-young", "headers"].map(|name| scratch.path().join(name));
        assert_eq!(listed(scratch.path()).unwrap(), left);
    }

    #[test]
    fn a_copy_that_fails_names_the_side_that_failed() {
        let scratch = tempfile::tempdir().unwrap();
        let [here, gone] = ["here", "gone/file"].map(|name| scratch.path().join(name));
        fs::write(&here, "").unwrap();
        let error = copied(&here, &gone).unwrap_err().to_string();
        assert!(error.starts_with(&format!("write {}: ", gone.display())), "{error}");
        let error = copied(&gone, &here).unwrap_err().to_string();
        assert!(error.starts_with(&format!("read {}: ", gone.display())), "{error}");
    }

    /// A cache that holds a kernel and its headers, as far as they are looked at.
    fn with_headers() -> (tempfile::TempDir, Cache) {
        let scratch = tempfile::tempdir().unwrap();
        let place = scratch.path().join("trixie-riscv64");
        fs::create_dir_all(place.join("modules")).unwrap();
        fs::create_dir_all(place.join("headers/usr/src/linux-headers-6.12.1-riscv64")).unwrap();
        fs::write(place.join("headers/usr/src/linux-headers-6.12.1-riscv64/Module.symvers"), "").unwrap();
        fs::write(place.join("origin"), "linux-image-6.12.1-riscv64_6.12.1-1_riscv64.deb\n").unwrap();
        let cache = Cache::new(scratch.path());
        (scratch, cache)
    }

    #[test]
    fn headers_that_are_here_are_taken_without_asking_anybody() {
        let (scratch, cache) = with_headers();
        let (architecture, suite) = (Architecture::Riscv64, Suite::Trixie);
        assert!(cache.has_headers(architecture, suite));
        assert_eq!(cache.version(architecture, suite).as_deref(), Some("6.12.1-1"));
        let expected = scratch.path().join("trixie-riscv64/headers/usr/src/linux-headers-6.12.1-riscv64");
        assert_eq!(cache.headers(architecture, suite).unwrap(), expected);
        assert!(!cache.has_headers(Architecture::X86_64, suite));
        assert_eq!(cache.version(Architecture::X86_64, suite), None);
        assert!(cache.modules(architecture, suite, &[]).unwrap().is_empty());
        let wrong = cache.modules(architecture, Suite::Backports, &[]);
        assert!(matches!(wrong, Err(Error::Request(_))), "{wrong:?}");
    }

    #[test]
    fn built_modules_come_in_the_order_asked_for() {
        let (scratch, cache) = with_headers();
        let build = Build::plain("/nowhere".into());
        let place = scratch.path().join("built-x");
        fs::create_dir(&place).unwrap();
        let paths = cache.build(&build, &place, &[Module::Fibdrv, Module::StopMachine]).unwrap();
        assert_eq!(paths, ["fibdrv.ko", "stop_machine.ko"].map(|name| place.join(name)));
    }

    #[test]
    fn headers_of_an_own_kernel_are_beside_it_or_are_named() {
        let scratch = unpacked(&["boot/vmlinuz-6.1", "boot/kernel", "lib/modules/6.1/build/Module.symvers"]);
        let (cache, root) = (Cache::new(scratch.path()), scratch.path().join("unpacked"));
        let headers = cache.own_headers(&root.join("boot/vmlinuz-6.1")).unwrap();
        assert_eq!(headers, fs::canonicalize(root.join("lib/modules/6.1/build")).unwrap());
        let error = cache.own_headers(&root.join("boot/kernel")).unwrap_err();
        assert!(matches!(&error, Error::Request(why) if why.contains("vmlinuz-VERSION")), "{error}");
        fs::remove_dir_all(root.join("lib")).unwrap();
        let error = cache.own_headers(&root.join("boot/vmlinuz-6.1")).unwrap_err();
        let Error::Missing(missing) = &error else { panic!("{error}") };
        assert_eq!(missing.install, "apt-get install linux-headers-6.1");
        assert!(cache.own_headers(&root.join("none")).is_err());
    }
}
