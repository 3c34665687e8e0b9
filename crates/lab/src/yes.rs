//! `yes`: one line without end, as fast as a machine carries it, and the test of such lines.
//!
//! What is asked is read by [`read()`], which agrees with GNU's `yes` 9.1 to the letter of its messages. The
//! line becomes a [`Text`], [`pour()`] carries it to an outlet until that takes no more, and [`verify()`]
//! looks at what came out on the other side. `docs/yes.md` has the method and what it reaches.

mod pour;
mod text;
mod verify;
mod words;

pub use pour::{Kernel, pour};
pub use text::Text;
pub use verify::{Halt, Report, Wrong, verify};
pub use words::{Asked, Lines, Placement, Test, read, read_test};
