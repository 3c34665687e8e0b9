//! Where the repository is, and what cargo knows about it.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::architecture::{Architecture, Target};
use crate::command::Command;
use crate::failure::Failure;

/// The root of the repository and cargo's target folder.
pub struct Workspace {
    root: PathBuf,
    target: PathBuf,
}

/// Which of cargo's profiles a binary was built with.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Profile {
    Dev,
    Dist,
}

/// What holds of x86-64 alone, whose linker is LLVM's. The program has a fixed address, as arm64's and
/// riscv64's have: addresses are shorter in code. Functions of the same instructions are there once and have
/// one address, which nothing here asks for, and SQLite only for functions that have no equal. What several
/// functions have in common is a function where that saves a dozen bytes or more, as it is for arm64 and
/// riscv64 without being asked for; wherever it saves any, `boot` takes 1.2 times as long (docs/figures.md).
const X86_64: &str = "target.x86_64-unknown-linux-gnu.rustflags=\
                      ['-Crelocation-model=static', '-Clink-arg=-Wl,--icf=all', \
                       '-Cllvm-args=-enable-machine-outliner=always -outliner-benefit-threshold=12']";

/// The same for what is written in C, SQLite and zstd: smaller by 12 kB than with `-Os`, which is cargo's.
const X86_64_C: (&str, &str) = ("CFLAGS_x86_64_unknown_linux_gnu", "-Oz -fno-pic");

/// Where cargo keeps what it fetched.
pub fn cargo_home() -> PathBuf {
    let named = env::var_os("CARGO_HOME").map(PathBuf::from);
    named.or_else(|| Some(env::home_dir()?.join(".cargo"))).unwrap_or_default()
}

impl Workspace {
    /// The workspace of the current folder.
    pub fn find() -> Result<Self, Failure> {
        let start = match env::var_os("CARGO_MANIFEST_DIR") {
            Some(folder) => PathBuf::from(folder),
            None => env::current_dir().map_err(|error| {
                Failure::new("find the current folder", error, "change to a folder that exists")
            })?,
        };
        let root = start.ancestors().find(|folder| folder.join("xtask/Cargo.toml").is_file());
        let root = root.ok_or_else(|| {
            Failure::new(
                "find the root of the repository",
                format!("no folder above {} holds xtask/Cargo.toml", start.display()),
                "run `cargo xtask` inside the repository",
            )
        })?;
        let mut workspace = Self { root: root.to_path_buf(), target: PathBuf::new() };
        let metadata = workspace.metadata(&["--no-deps"])?;
        workspace.target = metadata["target_directory"].as_str().unwrap_or("target").into();
        Ok(workspace)
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Cargo's target folder, wherever the environment puts it.
    pub fn target(&self) -> &Path {
        &self.target
    }

    /// Cargo of the pinned toolchain, in the root of the workspace.
    pub fn cargo(&self) -> Command {
        let program = env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Command::new(program).directory(&self.root)
    }

    /// What `cargo metadata` says, called with `arguments`.
    pub fn metadata(&self, arguments: &[&str]) -> Result<Value, Failure> {
        let text = self
            .cargo()
            .arguments(["metadata", "--format-version", "1"])
            .arguments(arguments.iter().copied())
            .remedy("correct the manifest that cargo names")
            .read()?;
        serde_json::from_str(&text).map_err(|error| {
            Failure::new("read the output of `cargo metadata`", error, "report it: this should not happen")
        })
    }

    /// Build tenbin for `architecture` and give the binary's path.
    pub fn build(&self, architecture: Architecture, profile: Profile) -> Result<PathBuf, Failure> {
        self.build_all(&[architecture], profile)?;
        let folder = if profile == Profile::Dist { "dist" } else { "debug" };
        Ok(self.target.join(architecture.names().target).join(folder).join("tenbin"))
    }

    /// Build tenbin for all of `architectures` at once: one CPU links each, for minutes if it is shipped.
    pub fn build_all(&self, architectures: &[Architecture], profile: Profile) -> Result<(), Failure> {
        let mut command = self.cargo().argument("build");
        command = match profile {
            Profile::Dist => command.arguments(["--package", "tenbin"]),
            // With a test, and of the whole workspace: then what it depends on is what the tests depend on,
            // and is not built once more with other features.
            Profile::Dev => command.arguments(["--workspace", "--bin", "tenbin", "--test", "wire"]),
        };
        for architecture in architectures {
            command = command.arguments(["--target", architecture.names().target]);
            command = command.variables(architecture.cargo_variables());
        }
        if profile == Profile::Dist {
            command = command.arguments(["--profile", "dist", "--config"]).argument(self.flags());
            command = command.arguments(["--config", X86_64]);
            command = command.variable(X86_64_C.0, X86_64_C.1);
        }
        command.remedy("correct what the compiler names above").run()
    }

    /// What a binary that is shipped is built with beside its profile: no tables for unwinding, as a panic
    /// aborts; and no path of this machine, so that another one builds the same.
    fn flags(&self) -> String {
        let remapped = |path: &Path, name| format!("--remap-path-prefix={}={name}", path.display());
        let flags = [
            "-Cforce-unwind-tables=no".to_owned(),
            "-Clink-arg=-Wl,--no-eh-frame-hdr,-z,pack-relative-relocs,-T,xtask/src/dist/no-unwind.ld"
                .to_owned(),
            remapped(&self.root, "tenbin"),
            remapped(&cargo_home().join("registry/src"), "crates"),
        ];
        format!("target.'cfg(all(target_os = \"linux\", target_env = \"gnu\"))'.rustflags={flags:?}")
    }

    /// A program of crates.io in this version, which stays below the target folder. Compiled without
    /// optimization it is there after a minute or two of two CPUs, and is quick enough for its use.
    pub fn tool(&self, name: &str, version: &str, features: &[&str]) -> Result<PathBuf, Failure> {
        let root = self.target.join("tools");
        let program = root.join("bin").join(name);
        let is_version = |printed: String| printed.trim().ends_with(version);
        if !program.exists() || !Command::new(&program).argument("--version").read().is_ok_and(is_version) {
            let built = self.scratch("tool-built")?;
            let command = self.cargo().arguments(["install", "--locked", "--debug", name]);
            let command = command.arguments(["--version", &format!("={version}")]);
            let command = command.arguments(features.iter().copied()).argument("--root").argument(&root);
            let command = command.argument("--target-dir").argument(&built);
            let command = command.variable("CARGO_PROFILE_DEV_DEBUG", "0").variable("CARGO_INCREMENTAL", "0");
            command.remedy("look whether crates.io can be reached").run()?;
            fs::remove_dir_all(&built).map_err(|error| {
                Failure::new(format!("remove {}", built.display()), error, "remove it by hand")
            })?;
        }
        Ok(program)
    }

    /// An empty folder of our own below the target folder, for files that a step leaves.
    pub fn scratch(&self, name: &str) -> Result<PathBuf, Failure> {
        let folder = self.target.join("xtask").join(name);
        let failure = |error| {
            Failure::new(
                format!("prepare the folder {}", folder.display()),
                error,
                "make room there, or point CARGO_TARGET_DIR at a folder that can be written",
            )
        };
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(failure)?;
        }
        fs::create_dir_all(&folder).map_err(failure)?;
        Ok(folder)
    }
}
