//! The branches of a module that no kernel here compiles, checked by their types.
//!
//! `kmod/compat/stubs` holds a few headers for each of some kernels, written for this. A compiler that sees
//! no other header reads the module with them. That says nothing of the real kernel but that names and types
//! are as they were described, and every line that is printed says so.

use std::fs;
use std::path::Path;

use super::FOLDER;
use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::Requirement;
use crate::workspace::Workspace;

const COMPILER: &str = "gcc-12";

/// Where the headers are, below [`super::FOLDER`].
const STUBS: &str = "compat/stubs";

/// The headers that all kernels share.
const UNCHANGED: &str = "unchanged";

/// What is read with the stubs, each as far back as it is written for.
const SOURCES: &[Source] = &[
    Source { file: "oneshot_timer/oneshot_timer.c", kernels: &["4.4", "4.14", "6.16"], planted: TIMERS },
    Source { file: USE_OF_HRTIMERS, kernels: &["4.14", "6.16"], planted: HRTIMERS },
];

/// It stands for `stop_machine`, which would need stubs of half a kernel.
const USE_OF_HRTIMERS: &str = "compat/stubs/hrtimer.c";

/// A file that is written for some of the kernels that there are stubs of.
struct Source {
    file: &'static str,
    kernels: &'static [&'static str],
    planted: &'static [Fault],
}

/// A kernel that there are stubs of.
struct Kernel {
    /// Its version, and the name of its folder.
    version: &'static str,
    /// The dialect of C that it was built in: GNU's of C89 until 5.17, of C11 from 5.18 on (e8c07082a810).
    standard: &'static str,
}

const KERNELS: &[Kernel] = &[
    Kernel { version: "4.4", standard: "gnu89" },
    Kernel { version: "4.14", standard: "gnu89" },
    Kernel { version: "6.16", standard: "gnu11" },
];

/// Headers, the branch of a kernel that does not fit them, and a name that the compiler must miss then.
type Fault = (&'static str, &'static str, &'static str);

/// Each is a mistake that a module would make with one limit in `compat/timer.h` set wrong.
const TIMERS: &[Fault] = &[
    ("4.4", "4.14", "from_timer"),
    ("4.4", "4.15", "timer_setup"),
    ("4.14", "6.2", "timer_delete_sync"),
    ("4.14", "6.16", "timer_container_of"),
    ("6.16", "4.14", "init_timer"),
    ("6.16", "6.1", "del_timer_sync"),
    ("6.16", "6.12", "from_timer"),
];

/// Likewise for `compat/hrtimer.h`.
const HRTIMERS: &[Fault] = &[("4.14", "6.15", "hrtimer_setup"), ("6.16", "6.14", "hrtimer_init")];

/// What reading them needs.
pub(crate) fn needs() -> Vec<Requirement> {
    vec![Requirement::program("gcc-12", COMPILER)]
}

/// Check every file of [`SOURCES`] with the headers of its kernels, and that a wrong branch is found.
pub(crate) fn check(workspace: &Workspace) -> Result<(), Failure> {
    let folder = workspace.root().join(FOLDER);
    let mut faults = unlisted(&folders(&folder.join(STUBS))?);
    for Source { file, kernels, planted } in SOURCES {
        for version in *kernels {
            let output = compile(&folder, file, kernel(version)?, version)?;
            let verdict = if output.code == Some(0) { "its types fit" } else { "DOES NOT FIT" };
            println!("{file}: {verdict} the stubs of Linux {version}; not built against a real kernel");
            if output.code != Some(0) {
                print!("{}", output.diagnostics);
                faults.push(format!("{file} does not fit the stubs of Linux {version}"));
            }
        }
        for (headers, branch, name) in *planted {
            let output = compile(&folder, file, kernel(headers)?, branch)?;
            let is_missed =
                output.code != Some(0) && output.diagnostics.lines().any(|line| misses(line, name));
            println!(
                "{file}: the branch of Linux {branch} with the stubs of {headers}: `{name}` is {}",
                if is_missed { "missed, as it must be" } else { "NOT MISSED" }
            );
            if !is_missed {
                faults.push(format!("nobody misses {name} in Linux {headers}: {}", output.diagnostics));
            }
        }
    }
    Failure::judge("approve the branches for other kernels", &faults, "correct kmod/compat, or the module")
}

/// The kernel of that version.
fn kernel(version: &str) -> Result<&'static Kernel, Failure> {
    let kernel = KERNELS.iter().find(|kernel| kernel.version == version);
    kernel
        .ok_or_else(|| Failure::new("find stubs", format!("there are none of Linux {version}"), "list them"))
}

/// Whether the compiler says in `line` that there is no function called `name`.
fn misses(line: &str, name: &str) -> bool {
    line.contains(&format!("implicit declaration of function ‘{name}’"))
        || line.contains(&format!("implicit declaration of function '{name}'"))
}

/// Reads `file` with the headers of `kernel`, as the kernel of version `branch` would.
fn compile(
    folder: &Path,
    file: &str,
    kernel: &Kernel,
    branch: &str,
) -> Result<crate::command::Output, Failure> {
    let include = |name: &str| format!("-I{STUBS}/{name}");
    let (major, minor) = branch.split_once('.').unwrap_or((branch, "0"));
    Command::new(COMPILER)
        .arguments(["-fsyntax-only", "-nostdinc", "-D__KERNEL__", "-DMODULE"])
        .arguments(["-Wall", "-Wextra", "-Wstrict-prototypes", "-Wmissing-prototypes", "-Werror"])
        // The kernel asks for the one and not for the other.
        .arguments(["-Wdeclaration-after-statement", "-Wno-unused-parameter"])
        .argument(format!("-std={}", kernel.standard))
        .arguments([include(kernel.version), include(UNCHANGED)])
        .argument(format!("-DLINUX_VERSION_CODE=KERNEL_VERSION({major},{minor},0)"))
        .argument(file)
        .variable("LC_ALL", "C")
        .directory(folder)
        .capture_quietly()
}

/// The names of the folders of stubs.
fn folders(stubs: &Path) -> Result<Vec<String>, Failure> {
    let failure = |error| {
        Failure::new(format!("read the folder {}", stubs.display()), error, "run it in the repository")
    };
    let mut names = Vec::new();
    for entry in fs::read_dir(stubs).map_err(failure)? {
        let entry = entry.map_err(failure)?;
        if entry.file_type().map_err(failure)?.is_dir() {
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    Ok(names)
}

/// Folders of stubs that no kernel of the table names.
fn unlisted(folders: &[String]) -> Vec<String> {
    let known = |name: &str| name == UNCHANGED || KERNELS.iter().any(|kernel| kernel.version == name);
    let folders = folders.iter().filter(|name| !known(name));
    folders.map(|name| format!("{STUBS}/{name} is in no table, so nothing is checked with it")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_missing_function_is_missed() {
        let line = "timer.h:66:9: error: implicit declaration of function ‘from_timer’; did you mean ‘x’?";
        assert!(misses(line, "from_timer"));
        assert!(misses("implicit declaration of function 'from_timer' [-W]", "from_timer"));
        for other in ["timer.h:66:9: error: ‘from_timer’ undeclared", "from_timer", ""] {
            assert!(!misses(other, "from_timer"), "{other}");
        }
        assert!(!misses(line, "timer_setup"));
    }

    #[test]
    fn a_folder_that_nobody_checks_is_found() {
        let faults = unlisted(&["4.4", "unchanged", "5.10"].map(str::to_owned));
        assert_eq!(faults, ["compat/stubs/5.10 is in no table, so nothing is checked with it"]);
    }

    #[test]
    fn every_kernel_has_a_fault_planted_in_it() {
        for Source { file, kernels, planted } in SOURCES {
            for version in *kernels {
                assert!(kernel(version).is_ok(), "{file} {version}");
                assert!(planted.iter().any(|(headers, _, _)| headers == version), "{file} {version}");
            }
            for (headers, _, _) in *planted {
                assert!(kernels.contains(headers), "{file} {headers}");
            }
        }
        for kernel in KERNELS {
            assert!(
                SOURCES.iter().any(|source| source.kernels.contains(&kernel.version)),
                "{}",
                kernel.version
            );
        }
    }
}
