//! Files of text, with what to do where one cannot be written.

use std::path::Path;

use xtask::failure::Failure;

pub(crate) fn write(path: &Path, text: &str, remedy: &str) -> Result<(), Failure> {
    std::fs::write(path, text)
        .map_err(|error| Failure::new(format!("write {}", path.display()), error, remedy))
}
