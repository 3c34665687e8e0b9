//! A folder of kernels, each fetched from Debian once.
//!
//! The machine's own apt fetches and checks, with a state, sources and settings of its own (apt.conf(5)):
//! another architecture and another release than the machine's, and nothing of the machine changes.
//! Signatures are checked by the keys of the package debian-archive-keyring.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::architecture::Architecture;
use crate::error::Error;
use crate::kernel::{Kernel, Suite, module_folders, modules_in};
use crate::process::{Program, missing};
use crate::sources::{self, Mirrors};

/// How long one program may take that fetches or unpacks.
const PATIENCE: Duration = Duration::from_secs(600);

/// The keys that Debian signs with.
const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// How the name of a folder begins that is not finished.
const UNFINISHED: &str = ".fetching-";

/// A folder of kernels. Several processes can use one at a time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cache {
    folder: PathBuf,
}

impl Cache {
    /// The cache in `folder`, which need not exist.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self { folder: folder.into() }
    }

    /// The user's: `tenbin/guest` under the XDG folder of caches.
    ///
    /// # Errors
    /// [`Error::Request`] where the environment names neither that folder nor a home.
    pub fn usual() -> Result<Self, Error> {
        let absolute = |name| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let caches = absolute("XDG_CACHE_HOME").or_else(|| Some(absolute("HOME")?.join(".cache")));
        let caches = caches
            .ok_or_else(|| Error::Request("kernels need a folder: set XDG_CACHE_HOME or HOME".to_owned()))?;
        Ok(Self::new(caches.join("tenbin/guest")))
    }

    /// Whether [`Cache::kernel`] needs no network.
    pub fn has(&self, architecture: Architecture, suite: Suite) -> bool {
        self.place(architecture, suite).is_dir()
    }

    /// The kernel of `suite` for `architecture`, fetched now if it is not here yet (50 to 120 MB, of which a
    /// part is kept).
    ///
    /// # Errors
    /// [`Error::Missing`] without Debian's tools or keys, [`Error::Request`] for a pair that does not exist,
    /// [`Error::Fetch`] where the archive cannot be reached or a package is not as it was signed,
    /// [`Error::File`] where the folder cannot be written.
    pub fn kernel(&self, architecture: Architecture, suite: Suite) -> Result<Kernel, Error> {
        suite.insist(architecture)?;
        let place = self.place(architecture, suite);
        if !place.is_dir() {
            self.fetch(architecture, suite, &place)?;
        }
        let modules = modules_in(&[place.join("modules")])?;
        Ok(Kernel { image: place.join("image"), busybox: place.join("busybox"), modules })
    }

    /// A kernel of the user's own, with the busybox of the usual suite. If the file is called
    /// `vmlinuz-VERSION` or `vmlinux-VERSION` and lies in a folder beside `lib/modules/VERSION`, as in `/boot`,
    /// modules are taken from there.
    ///
    /// # Errors
    /// [`Error::Request`] where `image` is no file; and as [`Cache::kernel`].
    pub fn own_kernel(&self, architecture: Architecture, image: &Path) -> Result<Kernel, Error> {
        if !image.is_file() {
            let why = format!("{} is no kernel: there is no such file", image.display());
            return Err(Error::Request(why));
        }
        let image = fs::canonicalize(image).map_err(Error::file("read", image))?;
        let busybox = self.kernel(architecture, Suite::usual(architecture))?.busybox;
        let name = image.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let version = name.strip_prefix("vmlinuz-").or_else(|| name.strip_prefix("vmlinux-"));
        let root = image.parent().and_then(Path::parent);
        let modules = match (version, root) {
            (Some(version), Some(root)) => {
                modules_in(&module_folders(&root.join("lib/modules").join(version)))?
            }
            _ => Vec::new(),
        };
        Ok(Kernel { image, busybox, modules })
    }

    fn place(&self, architecture: Architecture, suite: Suite) -> PathBuf {
        self.folder.join(format!("{suite}-{architecture}"))
    }

    /// Fetches into a folder beside `place`, which gets that name when all is there.
    fn fetch(&self, architecture: Architecture, suite: Suite, place: &Path) -> Result<(), Error> {
        let writing = |path: &Path| Error::file("write", path);
        fs::create_dir_all(&self.folder).map_err(writing(&self.folder))?;
        let lock = self.folder.join("lock");
        let held = fs::File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let held = held.map_err(Error::file("lock", &lock))?;
        if place.is_dir() {
            return Ok(());
        }
        self.clear().map_err(writing(&self.folder))?;
        let folder = tempfile::Builder::new().prefix(UNFINISHED).tempdir_in(&self.folder);
        let folder = folder.map_err(writing(&self.folder))?;
        let archive = Apt::prepare(folder.path(), architecture, suite)?;
        let whole = folder.path().join("whole");
        fs::create_dir(&whole).map_err(writing(&whole))?;
        archive.fetch(&whole)?;
        fs::rename(&whole, place).map_err(writing(place))?;
        drop(held);
        Ok(())
    }

    /// Removes what a process left that was killed while it fetched. Only who holds the lock may.
    fn clear(&self) -> io::Result<()> {
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            if entry.file_name().to_string_lossy().starts_with(UNFINISHED) {
                fs::remove_dir_all(entry.path())?;
            }
        }
        Ok(())
    }
}

/// An apt of our own in a folder.
struct Apt {
    folder: PathBuf,
    architecture: Architecture,
}

impl Apt {
    fn prepare(folder: &Path, architecture: Architecture, suite: Suite) -> Result<Self, Error> {
        if !Path::new(KEYS).is_file() {
            return Err(missing(format!("the file {KEYS}"), "debian-archive-keyring"));
        }
        let it = Self { folder: folder.to_owned(), architecture };
        for path in ["state/lists/partial", "cache/archives/partial", "packages", "unpacked"] {
            let path = folder.join(path);
            fs::create_dir_all(&path).map_err(Error::file("write", &path))?;
        }
        let inherited = it.apt("apt-config").words(["dump"]).read("apt's settings", PATIENCE)?;
        let files = [
            ("state/status", String::new()),
            ("sources.list", source_lines(&sources::mirrors(), architecture, suite)),
            ("apt.conf", settings(folder, architecture, &inherited)),
        ];
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Error::file("write", &path))?;
        }
        Ok(it)
    }

    fn apt(&self, name: &'static str) -> Program {
        Program::new(name, "apt").folder(&self.folder.join("packages"))
    }

    /// A program of apt's that sees only what is ours.
    fn own(&self, name: &'static str) -> Program {
        self.apt(name).variable("APT_CONFIG", self.folder.join("apt.conf"))
    }

    /// Fetches kernel and busybox, and puts what a guest needs of them into `into`.
    fn fetch(&self, into: &Path) -> Result<(), Error> {
        let updated = self.own("apt-get").words(["update"]).read("the list of packages", PATIENCE);
        let meta = format!("linux-image-{}", self.architecture.debian());
        let shown = self.own("apt-cache").words(["--no-all-versions", "show", &meta]);
        let package = shown.read(&meta, PATIENCE).and_then(|record| {
            let said = || Error::Fetch { what: meta.clone(), said: "it names no kernel".to_owned() };
            kernel_of(&record).map(str::to_owned).ok_or_else(said)
        });
        // A mirror that is being brought up to date serves lists that do not fit together. apt then goes on
        // with those that do, and so do we: only if the package is not in them, that was the reason.
        let package = package.map_err(|error| updated.err().unwrap_or(error))?;
        let download = self.own("apt-get").words(["download", &package, "busybox-static"]);
        download.read(&package, PATIENCE)?;
        let packages = listed(&self.folder.join("packages"))?;
        let mut origin = String::new();
        let unpacked = self.folder.join("unpacked");
        for path in packages.iter().filter(|path| path.extension().is_some_and(|ending| ending == "deb")) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let unpack = Program::new("dpkg-deb", "dpkg").words([
                "-x".as_ref(),
                path.as_os_str(),
                unpacked.as_os_str(),
            ]);
            unpack.read(&format!("{name} (unpack)"), PATIENCE)?;
            let _ = writeln!(origin, "{name}");
        }
        let text = into.join("origin");
        fs::write(&text, origin).map_err(Error::file("write", &text))?;
        take(&unpacked, into)
    }
}

/// Copies image, busybox and modules out of unpacked packages.
fn take(unpacked: &Path, into: &Path) -> Result<(), Error> {
    let lacking =
        |what: &str| Error::Fetch { what: what.to_owned(), said: "the package has none".to_owned() };
    let copy = |from: &Path, name: &str| {
        let to = into.join(name);
        fs::copy(from, &to).map(|_| ()).map_err(Error::file("write", &to))
    };
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

/// What is in a folder, by name.
fn listed(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::file("read", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = paths.map_err(Error::file("read", folder))?;
    paths.sort();
    Ok(paths)
}

/// The package that a record of the metapackage depends on.
fn kernel_of(record: &str) -> Option<&str> {
    let depends = record.lines().find_map(|line| line.strip_prefix("Depends:"))?;
    let words = depends.split([' ', ',', '(', ')', '|']);
    words.into_iter().find(|word| word.starts_with("linux-image-"))
}

/// The sources: the release and its security updates, signed by Debian.
fn source_lines(mirrors: &Mirrors, architecture: Architecture, suite: Suite) -> String {
    let options = format!("[arch={} signed-by={KEYS}]", architecture.debian());
    let Mirrors { main, security } = mirrors;
    format!("deb {options} {main} {suite} main\ndeb {options} {security} {suite}-security main\n")
}

/// The settings of our own apt. Of the machine's, which `inherited` lists, it takes how to reach
/// archives (proxies, retries) and nothing else: its hooks would run commands.
fn settings(folder: &Path, architecture: Architecture, inherited: &str) -> String {
    let wanted = |line: &&str| {
        line.starts_with("Acquire::")
            && !["Acquire::IndexTargets", "Acquire::Languages"].iter().any(|other| line.starts_with(other))
    };
    let mut text = inherited.lines().filter(wanted).fold(String::new(), |text, line| text + line + "\n");
    let path = |name: &str| folder.join(name).display().to_string();
    let (nothing, debian) = ("/dev/null".to_owned(), architecture.debian().to_owned());
    let own = [
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "3".to_owned()),
        // The downloader changes to a user who may not enter our folder; as ourselves it need not.
        ("APT::Sandbox::User", "root".to_owned()),
        ("APT::Architecture", debian.clone()),
        ("APT::Architectures", debian),
        ("Dir::Cache", path("cache")),
        ("Dir::Etc::main", nothing.clone()),
        ("Dir::Etc::parts", nothing.clone()),
        ("Dir::Etc::preferences", nothing.clone()),
        ("Dir::Etc::preferencesparts", nothing.clone()),
        ("Dir::Etc::sourcelist", path("sources.list")),
        ("Dir::Etc::sourceparts", nothing.clone()),
        ("Dir::Etc::trusted", nothing.clone()),
        ("Dir::Etc::trustedparts", nothing),
        ("Dir::Log", path("log")),
        ("Dir::State", path("state")),
        ("Dir::State::status", path("state/status")),
    ];
    for (name, value) in own {
        let _ = writeln!(text, "{name} \"{value}\";");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_metapackage_names_its_kernel() {
        let record =
            "Package: linux-image-amd64\nVersion: 6.1\nDepends: linux-image-6.1.0-9-amd64 (= 6.1.1-1)\n";
        assert_eq!(kernel_of(record), Some("linux-image-6.1.0-9-amd64"));
        assert_eq!(
            kernel_of("Depends: linux-base, linux-image-6.12.1+deb13-riscv64 | x\n"),
            Some("linux-image-6.12.1+deb13-riscv64")
        );
        for wrong in ["", "Package: linux-image-amd64", "Depends: linux-base"] {
            assert_eq!(kernel_of(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn of_the_machine_s_settings_only_the_way_to_archives_is_taken() {
        let inherited = "APT::Update::Post-Invoke:: \"rm -rf x\";\nAcquire::http::Proxy \"http://proxy:1\";\n\
                         Acquire::IndexTargets::deb::DEP-11 \"\";\nDPkg::Post-Invoke:: \"x\";\nAcquire::Languages \"de\";\n";
        let text = settings("/f".as_ref(), Architecture::Riscv64, inherited);
        assert!(
            text.starts_with("Acquire::http::Proxy \"http://proxy:1\";\nAcquire::Languages \"none\";\n"),
            "{text}"
        );
        for unwanted in ["Invoke", "DEP-11", "\"de\""] {
            assert!(!text.contains(unwanted), "{unwanted} in {text}");
        }
        for wanted in
            ["APT::Architecture \"riscv64\";", "Dir::State \"/f/state\";", "Dir::Etc::parts \"/dev/null\";"]
        {
            assert!(text.contains(wanted), "{wanted} not in {text}");
        }
    }

    #[test]
    fn every_source_is_held_against_debian_s_keys() {
        let mirrors = Mirrors { main: "http://m".into(), security: "http://s".into() };
        let text = source_lines(&mirrors, Architecture::Aarch64, Suite::Bookworm);
        let lines = text.lines().collect::<Vec<_>>();
        assert_eq!(lines.len(), 2);
        assert!(lines.iter().all(|line| {
            line.contains("[arch=arm64 signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]")
        }));
        assert!(
            lines[0].ends_with("http://m bookworm main")
                && lines[1].ends_with("http://s bookworm-security main")
        );
    }

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
        let kernel = cache.own_kernel(Architecture::Riscv64, &root.join("boot/vmlinuz-6.1")).unwrap();
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
}
