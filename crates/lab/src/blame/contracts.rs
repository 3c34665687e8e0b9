//! The contracts, a file each. To add one, write its file and add its line here.

use super::Examined;

/// Declares the modules and the list from one line each.
macro_rules! contracts {
    ($($name:ident),* $(,)?) => {
        $(pub(super) mod $name;)*

        /// Every contract.
        pub const CONTRACTS: &[&dyn Examined] = &[$(&&$name::CONTRACT),*];
    };
}

contracts! {
    sort,
    memcpy,
}
