//! Files of text, with what to do where one cannot be read or written.

use std::fs;
use std::path::Path;

use crate::failure::Failure;

pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| cannot("read", path, &error))
}

/// Puts `text` at `path`, with the folders above it.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), Failure> {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| cannot("write", path, &error))
}

pub(crate) fn cannot(verb: &str, path: &Path, error: &std::io::Error) -> Failure {
    let remedy = "look whether it is there and there is room, and make it readable and writable";
    Failure::new(format!("{verb} {}", path.display()), error, remedy)
}
