//! Where `tenbin guest` is tested without Debian's archive: scripts stand in the place of programs.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// A folder with a cache that holds a kernel for x86_64, and a path that holds some programs of every Debian.
pub struct Desk(TempDir);

impl Desk {
    pub fn new(programs: &[&str]) -> Self {
        let desk = Self(tempfile::tempdir().unwrap());
        for folder in ["cache/bookworm-x86_64/modules", "programs"] {
            fs::create_dir_all(desk.path(folder)).unwrap();
        }
        for name in ["image", "busybox"] {
            fs::write(desk.path(&format!("cache/bookworm-x86_64/{name}")), name).unwrap();
        }
        for program in programs {
            let folders = ["/usr/bin", "/bin"].map(|folder| PathBuf::from(folder).join(program));
            let real = folders.into_iter().find(|path| path.is_file());
            let real = real.expect("the programs of every Debian are here");
            symlink(real, desk.path("programs").join(program)).unwrap();
        }
        desk
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Puts a script into the path.
    pub fn program(&self, name: &str, script: &str) {
        let path = self.path("programs").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    }

    /// `tenbin guest VERB WORDS`, with the cache of this desk and its architecture if the words name none.
    pub fn command(&self, verb: &str, words: &[&str]) -> Command {
        let mut tenbin = Command::new(env!("CARGO_BIN_EXE_tenbin"));
        tenbin.args(["guest", verb]);
        for (option, value) in [("--cache", "cache"), ("--arch", "x86_64")] {
            if !words.contains(&option) {
                tenbin.args([option, value]);
            }
        }
        tenbin.args(words).env("PATH", self.path("programs")).current_dir(self.0.path()).stdin(Stdio::null());
        tenbin
    }
}
