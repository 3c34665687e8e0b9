//! What building for an architecture, and running that here, needs.

use std::fs;
use std::path::Path;

pub use tenbin_model::Architecture;

use crate::command::Command;
use crate::failure::Failure;
use crate::requirement::Requirement;
use tenbin_model::words::comma;

/// The architecture called `name`, or all of them.
pub(crate) fn chosen(name: Option<&str>) -> Result<Vec<Architecture>, Failure> {
    let Some(name) = name else { return Ok(Architecture::ALL.to_vec()) };
    let architecture = name.parse().map_err(|_| {
        let known = comma(Architecture::ALL.map(Architecture::name));
        let tried = format!("find the architecture {name}");
        Failure::new(tried, "there is no such name", format!("use one of {known}"))
    })?;
    Ok(vec![architecture])
}

/// All but the one that xtask runs on.
pub fn foreign() -> impl Iterator<Item = Architecture> {
    Architecture::ALL.into_iter().filter(|architecture| architecture.foreign())
}

/// An architecture that is built for.
pub trait Target: Copy {
    /// Whether it is another one than this machine's.
    fn foreign(self) -> bool;

    /// What building for it needs.
    fn to_build(self) -> Vec<Requirement>;

    /// What building for it and running the result needs.
    fn to_run(self) -> Vec<Requirement>;

    /// The variables that make cargo link and run for it.
    fn cargo_variables(self) -> Vec<(String, String)>;

    /// `binary`, run here: by the emulator if need be.
    fn command(self, binary: &Path) -> Command;

    /// Compiles the C file `source` into a dynamic program `to`, and lays what it needs to run into
    /// `tree/lib`.
    fn compile_dynamic(self, source: &Path, to: &Path, tree: &Path) -> Result<(), Failure>;
}

impl Target for Architecture {
    fn foreign(self) -> bool {
        self != Self::HERE
    }

    fn to_build(self) -> Vec<Requirement> {
        let mut needs = vec![Requirement::target(self.names().target)];
        if self.foreign() {
            let ((compiler, compiler_package), (library, package)) =
                (self.cross_compiler(), self.cross_library());
            needs.push(Requirement::program(&compiler_package, &compiler));
            needs.push(Requirement::file(&package, &library));
        }
        needs
    }

    fn to_run(self) -> Vec<Requirement> {
        let mut needs = self.to_build();
        if self.foreign() {
            needs.push(Requirement::program("qemu-user-static", &self.program_emulator()));
        }
        needs
    }

    fn cargo_variables(self) -> Vec<(String, String)> {
        if !self.foreign() {
            return Vec::new();
        }
        let prefix = format!("CARGO_TARGET_{}", self.names().target.to_uppercase().replace('-', "_"));
        vec![
            (format!("{prefix}_LINKER"), self.cross_compiler().0),
            (format!("{prefix}_RUNNER"), self.program_emulator()),
        ]
    }

    fn command(self, binary: &Path) -> Command {
        if self.foreign() {
            Command::new(self.program_emulator()).argument(binary)
        } else {
            Command::new(binary)
        }
    }

    fn compile_dynamic(self, source: &Path, to: &Path, tree: &Path) -> Result<(), Failure> {
        let here = format!("lay the C library for {self} into {}", tree.display());
        let failure =
            |error: std::io::Error| Failure::new(here.clone(), error.to_string(), "see the path above");
        let libraries = tree.join("lib");
        fs::create_dir_all(&libraries).map_err(failure)?;
        for file in [self.names().loader, "libc.so.6"] {
            let from = format!("/usr/{}/lib/{file}", self.names().tools);
            fs::copy(from, libraries.join(file)).map_err(failure)?;
        }
        Command::new(self.cross_compiler().0)
            .arguments(["-O2", "-fno-builtin", "-fno-optimize-sibling-calls", "-pthread", "-o"])
            .arguments([to, source])
            .run()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_needs_no_emulator_and_the_others_do() {
        for architecture in Architecture::ALL {
            let emulated = architecture.to_run().len() > architecture.to_build().len();
            assert_eq!(emulated, architecture.foreign(), "{architecture}");
        }
    }

    #[test]
    fn an_unknown_name_is_answered_with_the_known_ones() {
        let failure = chosen(Some("vax")).expect_err("no such architecture");
        assert!(failure.to_string().contains("x86_64, aarch64, riscv64"), "{failure}");
    }
}
