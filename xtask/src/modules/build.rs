//! The modules against real kernels: built by the command that users have, and read by sparse.

use std::fs;
use std::path::Path;

use super::FOLDER;
use super::sources::copy;
use crate::architecture::Architecture;
use crate::command::{Command, Output, status_in_words};
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::step::Outcome;
use crate::workspace::{Profile, Workspace};
use tenbin_model::words::{comma, semicolon};

/// A kernel that modules are built for: an architecture by our name, and a suite by tenbin's.
struct Kernel {
    architecture: &'static str,
    suite: &'static str,
    /// What Debian calls it, for whoever reads the output.
    words: &'static str,
    /// Why sparse cannot read with its headers; empty where it can.
    unread: &'static str,
}

const KERNELS: &[Kernel] = &[
    Kernel { architecture: "x86_64", suite: "bookworm", words: "Linux 6.1, amd64", unread: "" },
    Kernel { architecture: "aarch64", suite: "bookworm", words: "Linux 6.1, arm64", unread: "" },
    Kernel { architecture: "x86_64", suite: "backports", words: "Linux 6.12, amd64", unread: "" },
    Kernel {
        architecture: "riscv64",
        suite: "trixie",
        words: "Linux 6.12, riscv64",
        unread: "sparse 0.6.4, which is bookworm's, does not know -march=..._zicsr_zifencei",
    },
];

impl Kernel {
    /// Whether it is of this machine's architecture.
    fn own(&self) -> bool {
        self.architecture == std::env::consts::ARCH
    }

    /// What the names of its compiler and linker begin with.
    fn tools(&self) -> String {
        format!("{}-linux-gnu", self.architecture)
    }
}

/// The modules, each a folder of its name and a file of its name in it.
const MODULES: &[&str] = &["stop_machine", "oneshot_timer", "fibdrv"];

/// What sparse must find: a pointer to user space that is read as if it were the kernel's, and a null pointer
/// that is written as a number.
const PLANTED: &str = "\nstatic int __user *planted = 0;\nint planted_read(void);\nint planted_read(void)\n{\n\treturn *planted;\n}\n";

/// What sparse says of it.
const SAID_OF_PLANTED: &str = "dereference of noderef expression";

/// What building needs. Whatever else is needed, kernels and headers, is fetched by tenbin.
pub(crate) fn needs() -> Vec<Requirement> {
    let elf = format!("/usr/lib/{}-linux-gnu/libelf.so.1", std::env::consts::ARCH);
    let mut needs = vec![
        Requirement::program("make", "make"),
        Requirement::program("apt", "apt-get"),
        Requirement::program("dpkg", "dpkg-deb"),
        Requirement::file("debian-archive-keyring", "/usr/share/keyrings/debian-archive-keyring.gpg"),
        // objtool, which comes with the headers, is linked with it.
        Requirement::file("libelf1", &elf),
    ];
    for kernel in KERNELS {
        let tools = kernel.tools();
        let need = if kernel.own() {
            Requirement::program("gcc-12", "gcc-12")
        } else {
            Requirement::program(&format!("gcc-12-{}", tools.replace('_', "-")), &format!("{tools}-gcc-12"))
        };
        // Two kernels may be built by one compiler.
        if !needs.contains(&need) {
            needs.push(need);
        }
    }
    needs
}

/// What reading by sparse needs.
pub(crate) fn sparse_needs() -> Vec<Requirement> {
    let mut needs = needs();
    needs.push(Requirement::program("sparse", "sparse"));
    needs
}

/// What `tenbin` says where lists of packages contradict each other on Debian's server.
pub(crate) const UNSYNCED: &str = "Debian's archive serves lists that do not fit together";

/// Build all modules for every kernel by `tenbin guest modules`; warnings are errors.
///
/// A kernel that Debian's archive cannot serve, as its lists contradict each other, is left out aloud.
pub(crate) fn check(workspace: &Workspace) -> Result<Outcome, Failure> {
    let tenbin = workspace.build(Architecture::HERE, Profile::Dev)?;
    let mut faults = strict(&workspace.root().join(FOLDER));
    let mut unserved = Vec::new();
    for kernel in KERNELS {
        let Kernel { architecture, suite, words, .. } = kernel;
        let into = workspace.scratch(&format!("modules-{suite}-{architecture}"))?;
        let output = modules(&tenbin, kernel).argument("--into").argument(&into).capture()?;
        print!("{}{}", output.text, output.diagnostics);
        let missing = MODULES.iter().filter(|name| !into.join(format!("{name}.ko")).is_file());
        let missing = missing.copied().collect::<Vec<_>>();
        if output.code == Some(0) && missing.is_empty() {
            println!("built for {words}: {}", comma(MODULES));
        } else {
            println!("NOT BUILT for {words}");
            let why = output.diagnostics.lines().last().unwrap_or("it says nothing").to_owned();
            let fault = format!("not built for {words}: {} ({why})", comma(missing));
            if why.contains(UNSYNCED) { unserved.push(fault) } else { faults.push(fault) }
        }
    }
    Failure::judge("build the modules", &faults, "run the command that is printed above")?;
    Ok(if unserved.is_empty() { Outcome::Passed } else { Outcome::Skipped(semicolon(unserved)) })
}

/// Modules that make errors of warnings themselves, or that nobody reads. A compiler or a kernel that is
/// newer than those here warns of something else, and whoever has it shall have the module all the same. Here
/// and in `crates/reach/src/kbuild.rs`, make is told to.
fn strict(folder: &Path) -> Vec<String> {
    let files = MODULES.iter().map(|name| format!("{name}/Kbuild"));
    files.filter_map(|file| demand(&file, fs::read_to_string(folder.join(&file)))).collect()
}

/// What is wrong with what was read of `file`.
fn demand(file: &str, text: std::io::Result<String>) -> Option<String> {
    match text {
        Ok(text) if text.contains("-Werror") => Some(format!("{FOLDER}/{file} asks for -Werror")),
        Ok(_) => None,
        Err(error) => Some(format!("{FOLDER}/{file}: {error}")),
    }
}

/// `tenbin guest modules` for `kernel`.
fn modules(tenbin: &Path, kernel: &Kernel) -> Command {
    let Kernel { architecture, suite, .. } = kernel;
    Command::new(tenbin).arguments(["guest", "modules", "--arch", architecture, "--kernel", suite])
}

/// Have sparse read every module with the headers of every kernel where it can, and a fault that it must
/// find.
pub(crate) fn sparse(workspace: &Workspace) -> Result<(), Failure> {
    let tenbin = workspace.build(Architecture::HERE, Profile::Dev)?;
    let mut faults = Vec::new();
    for kernel in KERNELS {
        let Kernel { architecture, suite, words, unread: reason } = kernel;
        if !reason.is_empty() {
            println!("sparse, {words}: NOT READ, only built: {reason}");
            continue;
        }
        let headers = modules(&tenbin, kernel).argument("--headers").read()?;
        let headers = headers.trim_end();
        let tree = workspace.scratch(&format!("sparse-{suite}-{architecture}"))?;
        copy(&workspace.root().join(FOLDER), &tree)?;
        let output = read(kernel, headers, &tree)?;
        let mut faults_of_build = remarks(&output);
        faults_of_build.extend(unread(&output.text, &tree));
        if output.code != Some(0) {
            print!("{}{}", output.text, output.diagnostics);
            faults_of_build.push(format!("kbuild: {}", status_in_words(output.code)));
        }
        plant(&tree)?;
        if !remarks(&read(kernel, headers, &tree)?).iter().any(|remark| remark.contains(SAID_OF_PLANTED)) {
            faults_of_build.push("a planted fault is not found".into());
        }
        println!(
            "sparse, {words}: {}",
            if faults_of_build.is_empty() { "nothing but the planted fault" } else { "FAULTS" }
        );
        faults_of_build.iter().for_each(|fault| println!("  {fault}"));
        faults.extend(faults_of_build.into_iter().map(|fault| format!("{words}: {fault}")));
    }
    Failure::judge("approve the modules with sparse", &faults, "correct what sparse names above")
}

/// Appends the fault to a module.
fn plant(tree: &Path) -> Result<(), Failure> {
    let victim = tree.join("oneshot_timer/oneshot_timer.c");
    let planted = fs::read_to_string(&victim).and_then(|text| fs::write(&victim, text + PLANTED));
    planted.map_err(|error| {
        Failure::new(format!("plant a fault in {}", victim.display()), error, "name another file here")
    })
}

/// Builds the modules in `tree` with `headers`, each file read by sparse before.
fn read(kernel: &Kernel, headers: &str, tree: &Path) -> Result<Output, Failure> {
    let prefix = if kernel.own() { String::new() } else { format!("{}-", kernel.tools()) };
    Command::new("make")
        .argument("-C")
        .argument(tree)
        .arguments([
            format!("KDIR={headers}"),
            format!("CC={prefix}gcc-12"),
            format!("CROSS_COMPILE={prefix}"),
        ])
        // As in `crates/reach/src/kbuild.rs`, which says why.
        .arguments(["C=2", "CONFIG_CC_HAS_MIN_FUNCTION_ALIGNMENT=", "KCFLAGS=-Werror"])
        .variable("LC_ALL", "C")
        .capture()
}

/// What sparse, and the compiler, had to say.
fn remarks(output: &Output) -> Vec<String> {
    let lines = output.diagnostics.lines().chain(output.text.lines());
    lines.filter(|line| line.contains(": warning:") || line.contains(": error:")).map(str::to_owned).collect()
}

/// Modules of which kbuild had no file read by sparse.
fn unread(output: &str, tree: &Path) -> Vec<String> {
    let skipped = |name: &&&str| !output.lines().any(|line| is_check(line, &tree.join(name)));
    MODULES.iter().filter(skipped).map(|name| format!("sparse read nothing of {name}")).collect()
}

/// Whether kbuild says in `line` that it has a file below `folder` checked.
fn is_check(line: &str, folder: &Path) -> bool {
    let file = line.trim_start().strip_prefix("CHECK ");
    file.is_some_and(|file| Path::new(file.trim_start()).starts_with(folder))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_had_no_file_checked_is_found() {
        assert!(is_check("  CHECK   /t/a/a.c", Path::new("/t/a")));
        for other in ["  CC [M]  /t/a/a.c", "  CHECK   /t/ab/a.c", "CHECKED /t/a/a.c", ""] {
            assert!(!is_check(other, Path::new("/t/a")), "{other}");
        }
        let output =
            "  CHECK   /t/stop_machine/a.c\n  CC [M]  /t/fibdrv/a.c\n  CHECK   /t/oneshot_timer/b.c\n";
        assert_eq!(unread(output, Path::new("/t")), ["sparse read nothing of fibdrv"]);
    }

    #[test]
    fn a_folder_that_forbids_warnings_is_found() {
        assert_eq!(strict(Path::new("/nonexistent")).len(), MODULES.len());
        assert_eq!(demand("x/Kbuild", Ok("obj-m := x.o\n".into())), None);
        let strict = demand("x/Kbuild", Ok("ccflags-y := -Werror\n".into()));
        assert_eq!(strict.as_deref(), Some("kmod/x/Kbuild asks for -Werror"));
    }

    #[test]
    fn warnings_are_remarks_and_progress_is_none() {
        let output = Output {
            code: Some(0),
            text: "  CHECK   /t/a.c\n".into(),
            diagnostics: "/t/a.c:3:1: warning: symbol 'x' was not declared\nmake: entering\n".into(),
            ..Output::default()
        };
        assert_eq!(remarks(&output), ["/t/a.c:3:1: warning: symbol 'x' was not declared"]);
    }

    #[test]
    fn sparse_reads_with_the_headers_of_6_1_at_least() {
        assert!(KERNELS.iter().any(|it| it.suite == "bookworm" && it.unread.is_empty()));
        assert!(KERNELS.iter().all(|it| it.unread.is_empty() || it.architecture == "riscv64"));
    }

    #[test]
    fn every_compiler_is_named_once_and_as_debian_does() {
        let text = crate::requirement::in_words(&needs());
        let names = text.strip_prefix("missing: ").expect("it is a list").split(", ").collect::<Vec<_>>();
        let compilers = KERNELS.iter().map(|kernel| match kernel.own() {
            true => "gcc-12".to_owned(),
            false => format!("gcc-12-{}-linux-gnu", kernel.architecture.replace('_', "-")),
        });
        for name in compilers.chain(["make", "libelf1"].map(str::to_owned)) {
            assert_eq!(names.iter().filter(|other| **other == name).count(), 1, "{name} in {text}");
        }
        assert!(!text.contains('_'), "{text}");
    }
}
