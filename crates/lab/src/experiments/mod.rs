//! The experiments, a file each. To add one, write its file and add its line here.

use crate::experiment::Experiment;

/// Declares the modules and the list from one line each.
macro_rules! experiments {
    ($($name:ident),* $(,)?) => {
        $(pub mod $name;)*

        /// Every experiment, in the order in which a survey runs them.
        pub const EXPERIMENTS: &[Experiment] = &[$($name::EXPERIMENT),*];
    };
}

experiments! {
    null,
    pipe,
    atomics,
}

#[cfg(test)]
mod tests;
