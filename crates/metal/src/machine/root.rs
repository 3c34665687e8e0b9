//! Reading `/proc` and `/sys` under a root folder.
//!
//! A failed reading is a sentence that names the path as the machine itself knows it, without the
//! folder that stands in for its root.

use std::fs::DirEntry;
use std::io;
use std::path::{Path, PathBuf};

use tenbin_model::Order;
use tenbin_model::machine::Observed;

/// The folder of the CPUs (`Documentation/ABI/testing/sysfs-devices-system-cpu`).
pub const CPUS: &str = "/sys/devices/system/cpu";

/// A value that was read, or the sentence that says why not.
pub type Reading<T> = Result<T, String>;

pub(super) fn observed<T>(reading: Reading<T>) -> Observed<T> {
    match reading {
        Ok(value) => Observed::Known(value),
        Err(why) => Observed::NotObservable(why),
    }
}

/// The folder that stands for `/`.
#[derive(Clone, Copy, Debug)]
pub struct Root<'a>(&'a Path);

impl<'a> Root<'a> {
    /// The machine whose `/` is the folder at `path`.
    pub const fn new(path: &'a Path) -> Self {
        Self(path)
    }

    fn place(&self, path: &str) -> PathBuf {
        self.0.join(path.trim_start_matches('/'))
    }

    /// The path of a file as this process has to name it.
    pub fn path(&self, path: &str) -> String {
        self.place(path).to_string_lossy().into_owned()
    }

    /// Whether there is a file or a folder.
    pub fn exists(&self, path: &str) -> bool {
        self.place(path).exists()
    }

    /// The content of a file.
    ///
    /// # Errors
    /// The path and why it cannot be read; so with all that follow.
    pub fn bytes(&self, path: &str) -> Reading<Vec<u8>> {
        std::fs::read(self.place(path)).map_err(|error| refused(path, &error))
    }

    /// The content without the white space and the NUL bytes around it. Strings of the device tree
    /// end in NUL, and a list of them has NUL between: those become `, `.
    ///
    /// # Errors
    /// As [`Self::bytes`].
    pub fn text(&self, path: &str) -> Reading<String> {
        let bytes = self.bytes(path)?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.trim_matches(|c: char| c.is_whitespace() || c == '\0').replace('\0', ", "))
    }

    /// [`Self::text`], and an empty file counts as nothing said.
    ///
    /// # Errors
    /// As [`Self::bytes`], and of an empty file.
    pub fn word(&self, path: &str) -> Reading<String> {
        let text = self.text(path)?;
        if text.is_empty() { Err(format!("{path}: empty")) } else { Ok(text) }
    }

    /// [`Self::text`] through `parse`, whose complaint is prefixed with the path.
    ///
    /// # Errors
    /// As [`Self::bytes`], and what `parse` has against the text.
    pub fn parsed<T>(&self, path: &str, parse: impl FnOnce(&str) -> Reading<T>) -> Reading<T> {
        parse(&self.text(path)?).map_err(|why| format!("{path}: {why}"))
    }

    /// The names in a folder, sorted.
    ///
    /// # Errors
    /// As [`Self::bytes`].
    pub fn names(&self, path: &str) -> Reading<Vec<String>> {
        self.listed(path, |_| true)
    }

    /// The names of the folders in a folder, sorted. Links are left out, so that a walk ends.
    pub(super) fn folders(&self, path: &str) -> Reading<Vec<String>> {
        self.listed(path, |entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
    }

    fn listed(&self, path: &str, wanted: fn(&DirEntry) -> bool) -> Reading<Vec<String>> {
        let entries = std::fs::read_dir(self.place(path)).map_err(|error| refused(path, &error))?;
        let names = entries.flatten().filter(wanted).filter_map(|entry| entry.file_name().into_string().ok());
        let mut names: Vec<String> = names.collect();
        names.order();
        Ok(names)
    }
}

fn refused(path: &str, error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => format!("{path}: no such file"),
        io::ErrorKind::PermissionDenied => format!("{path}: permission denied"),
        _ => format!("{path}: {error}"),
    }
}
