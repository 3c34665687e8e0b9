//! Fetching packages of Debian.
//!
//! The machine's own apt fetches and checks, with a state, sources and settings of its own (apt.conf(5)):
//! another architecture and another release than the machine's, and nothing of the machine changes.
//! Signatures are checked by the keys of the package debian-archive-keyring.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tenbin_model::Architecture;
use tenbin_model::words::comma;

use crate::error::Error;
use crate::folder::listed;
use crate::kernel::Suite;
use crate::process::{Program, missing};
use crate::sources::{self, Mirrors};

/// How long one program may take that fetches or unpacks.
const PATIENCE: Duration = Duration::from_secs(600);

const KEYS: &str = "/usr/share/keyrings/debian-archive-keyring.gpg";

/// Where newer kernels for bookworm are.
const BACKPORTS: &str = "bookworm-backports";

pub(crate) struct Apt {
    folder: PathBuf,
    architecture: Architecture,
    /// What went wrong when the lists of packages were fetched.
    flaw: Option<Error>,
}

impl Apt {
    /// Fetches the lists of the packages of `suite` for `architecture` into `folder`, which is made.
    ///
    /// A mirror that is being brought up to date serves lists that do not fit together. apt then goes on
    /// with those that do, and so do we: only if a package is not in them, that was the reason.
    ///
    /// # Errors
    /// [`Error::Missing`] without Debian's tools or keys, [`Error::File`] where the folder cannot be written.
    pub(crate) fn prepare(folder: &Path, architecture: Architecture, suite: Suite) -> Result<Self, Error> {
        if !Path::new(KEYS).is_file() {
            return Err(missing(format!("the file {KEYS}"), "debian-archive-keyring"));
        }
        let mut it = Self { folder: folder.to_owned(), architecture, flaw: None };
        for path in ["state/lists/partial", "cache/archives/partial", "packages"] {
            let path = folder.join(path);
            fs::create_dir_all(&path).map_err(Error::file("write", &path))?;
        }
        let inherited = it.apt("apt-config").words(["dump"]).read("apt's settings", PATIENCE)?;
        let files = [
            ("state/status", String::new()),
            ("sources.list", source_lines(&sources::mirrors(), architecture, suite)),
            ("preferences", preferences(suite)),
            ("apt.conf", settings(folder, architecture, &inherited)),
        ];
        for (name, text) in files {
            let path = folder.join(name);
            fs::write(&path, text).map_err(Error::file("write", &path))?;
        }
        match it.own("apt-get").words(["update"]).read("the list of packages", PATIENCE) {
            Err(Error::Fetch { what, cause }) => it.flaw = Some(flaw(what, cause)),
            other => drop(other?),
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

    /// What the lists say of `package`, or of one version of it: `NAME=VERSION`.
    ///
    /// # Errors
    /// [`Error::Fetch`] where it is not in them.
    pub(crate) fn record(&mut self, package: &str) -> Result<String, Error> {
        let cause = || "it is not in Debian's lists of packages".to_owned();
        let record = self.shown(package)?;
        record.ok_or_else(|| self.reason(Error::Fetch { what: package.to_owned(), cause: cause() }))
    }

    /// Why something is not in the lists: because they could not be fetched, else `error`.
    pub(crate) fn reason(&mut self, error: Error) -> Error {
        self.flaw.take().unwrap_or(error)
    }

    /// Whether the lists have `package`, or one version of it: `NAME=VERSION`. Lists of which some could not
    /// be fetched say yes, and never no.
    ///
    /// # Errors
    /// What kept lists from being fetched, where it is not in the others.
    pub(crate) fn has(&mut self, package: &str) -> Result<bool, Error> {
        match self.shown(package)? {
            Some(_) => Ok(true),
            None => self.whole().map(|()| false),
        }
    }

    /// Whether the lists are all that there is.
    ///
    /// # Errors
    /// What kept one from being fetched.
    pub(crate) fn whole(&mut self) -> Result<(), Error> {
        self.flaw.take().map_or(Ok(()), Err)
    }

    /// What apt shows of a package, if it is in the lists. Of a version that is not, while the name is, apt
    /// says nothing and calls that a success; of a name that is not, it fails.
    fn shown(&self, package: &str) -> Result<Option<String>, Error> {
        let shown = self.own("apt-cache").words(["--no-all-versions", "show", package]);
        match shown.read(package, PATIENCE) {
            Ok(text) => Ok(text.lines().any(|line| line.starts_with("Version:")).then_some(text)),
            Err(Error::Fetch { .. }) => Ok(None),
            Err(other) => Err(other),
        }
    }

    /// The names of all packages that begin with `beginning`.
    ///
    /// # Errors
    /// [`Error::Fetch`] where apt fails, [`Error::Missing`] where it is not here.
    pub(crate) fn names(&self, beginning: &str) -> Result<Vec<String>, Error> {
        let names = self.own("apt-cache").words(["pkgnames", beginning]).read(beginning, PATIENCE)?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Fetches `packages`, each a name or `NAME=VERSION`, unpacks them below `into`, and gives the names of
    /// their files, which tell versions.
    ///
    /// # Errors
    /// [`Error::Fetch`] where one cannot be brought.
    pub(crate) fn unpack(&self, packages: &[&str], into: &Path) -> Result<Vec<String>, Error> {
        self.own("apt-get").words(["download"]).words(packages).read(&comma(packages), PATIENCE)?;
        fs::create_dir_all(into).map_err(Error::file("write", into))?;
        let mut names = Vec::new();
        for path in listed(&self.folder.join("packages"))? {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            let unpack =
                Program::new("dpkg-deb", "dpkg").words(["-x".as_ref(), path.as_os_str(), into.as_os_str()]);
            unpack.read(&format!("{name} (unpack)"), PATIENCE)?;
            fs::remove_file(&path).map_err(Error::file("write", &path))?;
            names.push(name);
        }
        Ok(names)
    }

    /// Debian's name of the architecture that packages are fetched for.
    pub(crate) fn architecture(&self) -> &'static str {
        self.architecture.names().debian
    }
}

/// Why lists could not be fetched, by what apt said: whether the archive contradicts itself, or could not be
/// asked.
fn flaw(what: String, cause: String) -> Error {
    // apt-pkg/acquire-item.cc: a list of another size or hash than the signed file says.
    let contradicts =
        ["Mirror sync in progress", "Hash Sum mismatch"].iter().any(|words| cause.contains(words));
    if contradicts { Error::Unsynced { what, cause } } else { Error::Fetch { what, cause } }
}

/// The package in a record's dependencies whose name begins with `beginning`.
pub(crate) fn dependency<'a>(record: &'a str, beginning: &str) -> Option<&'a str> {
    let depends = record.lines().find_map(|line| line.strip_prefix("Depends:"))?;
    let words = depends.split([' ', ',', '(', ')', '|']);
    words.into_iter().find(|word| word.starts_with(beginning))
}

/// The sources: the release, its security updates and, if asked for, its backports, signed by Debian.
fn source_lines(mirrors: &Mirrors, architecture: Architecture, suite: Suite) -> String {
    let options = format!("[arch={} signed-by={KEYS}]", architecture.names().debian);
    let (Mirrors { main, security }, release) = (mirrors, suite.release());
    let mut text =
        format!("deb {options} {main} {release} main\ndeb {options} {security} {release}-security main\n");
    if suite == Suite::Backports {
        let _ = writeln!(text, "deb {options} {main} {BACKPORTS} main");
    }
    text
}

/// Which of several versions is taken (apt_preferences(5)). Backports are taken only where somebody says so.
fn preferences(suite: Suite) -> String {
    match suite {
        Suite::Backports => format!("Package: linux-*\nPin: release n={BACKPORTS}\nPin-Priority: 990\n"),
        Suite::Bookworm | Suite::Trixie => String::new(),
    }
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
    let (nothing, debian) = ("/dev/null".to_owned(), architecture.names().debian.to_owned());
    let own = [
        ("Acquire::Languages", "none".to_owned()),
        ("Acquire::Retries", "3".to_owned()),
        // The downloader changes to a user who may not enter our folder; as ourselves it need not.
        ("APT::Sandbox::User", "root".to_owned()),
        // Else a list that could not be fetched is a warning, and nobody learns why a package is not in it.
        ("APT::Update::Error-Mode", "any".to_owned()),
        ("APT::Architecture", debian.clone()),
        ("APT::Architectures", debian),
        ("Dir::Cache", path("cache")),
        ("Dir::Etc::main", nothing.clone()),
        ("Dir::Etc::parts", nothing.clone()),
        ("Dir::Etc::preferences", path("preferences")),
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
        assert_eq!(dependency(record, "linux-image-"), Some("linux-image-6.1.0-9-amd64"));
        assert_eq!(
            dependency("Depends: linux-base, linux-image-6.12.1+deb13-riscv64 | x\n", "linux-image-"),
            Some("linux-image-6.12.1+deb13-riscv64")
        );
        for wrong in ["", "Package: linux-image-amd64", "Depends: linux-base"] {
            assert_eq!(dependency(wrong, "linux-image-"), None, "{wrong}");
        }
    }

    #[test]
    fn an_archive_that_contradicts_itself_is_not_out_of_reach() {
        let flaw = |cause: &str| flaw("the list of packages".into(), cause.into());
        let stale = flaw(
            "E: Failed to fetch http://m/Packages.xz  File has unexpected size (9 != 8). Mirror sync in progress?",
        );
        assert!(matches!(&stale, Error::Unsynced { .. }), "{stale}");
        assert!(stale.to_string().contains("lists that do not fit together"), "{stale}");
        assert!(matches!(flaw("E: Packages.xz Hash Sum mismatch"), Error::Unsynced { .. }));
        assert!(matches!(flaw("E: Could not resolve 'm'"), Error::Fetch { .. }));
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

    #[test]
    fn backports_come_with_their_release_and_give_linux_only() {
        let mirrors = Mirrors { main: "http://m".into(), security: "http://s".into() };
        let text = source_lines(&mirrors, Architecture::X86_64, Suite::Backports);
        for wanted in
            ["http://m bookworm main", "http://s bookworm-security main", "http://m bookworm-backports main"]
        {
            assert!(text.contains(wanted), "{wanted} not in {text}");
        }
        assert!(
            preferences(Suite::Backports)
                .starts_with("Package: linux-*\nPin: release n=bookworm-backports\n")
        );
        assert_eq!(preferences(Suite::Trixie), "");
    }
}
