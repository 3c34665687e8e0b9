//! What is carried into a guest.

use std::path::PathBuf;

/// Something that is carried into a guest. Places in the guest are paths from its root; a slash in front
/// makes no difference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cargo {
    /// One file.
    File {
        /// Where it is here.
        from: PathBuf,
        /// Where it shall be there.
        to: PathBuf,
        /// Its permission bits there; those that it has here if none are given.
        mode: Option<u32>,
    },
    /// A file with this content.
    Bytes {
        /// Where it shall be there.
        to: PathBuf,
        /// Its permission bits there.
        mode: u32,
        /// What is in it.
        content: Vec<u8>,
    },
    /// All of a folder, laid over the root: files, folders and links as links. What is none of these
    /// (a socket, a device) is a wrong request.
    Tree(PathBuf),
}
