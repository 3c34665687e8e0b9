//! A kernel of the binary: a function in machine code, and what must stand in it.

use serde::{Deserialize, Serialize};

/// A row of what `tenbin kernels --json` prints.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Kernel {
    /// Its symbol in the binary.
    pub symbol: String,
    /// What the user sees.
    pub name: String,
    /// What must stand in its machine code, each a mnemonic or some in a row (`lock xaddq`).
    pub instructions: Vec<String>,
    /// Whether this CPU has what it needs.
    pub available: bool,
}
