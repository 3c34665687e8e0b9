//! Folders and files, with errors that name them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tenbin_model::Order;

use crate::error::Error;

/// Copies a file, and says which of the two was at fault.
pub(crate) fn copied(from: &Path, to: &Path) -> Result<(), Error> {
    fs::File::open(from).map_err(Error::file("read", from))?;
    fs::copy(from, to).map(|_| ()).map_err(Error::file("write", to))
}

pub(crate) fn listed(folder: &Path) -> Result<Vec<PathBuf>, Error> {
    let entries = fs::read_dir(folder).map_err(Error::file("read", folder))?;
    let paths = entries.map(|entry| entry.map(|entry| entry.path())).collect::<io::Result<Vec<_>>>();
    let mut paths = paths.map_err(Error::file("read", folder))?;
    paths.order();
    Ok(paths)
}
