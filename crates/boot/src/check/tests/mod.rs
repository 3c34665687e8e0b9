//! Small boots that are written down as assembly, and random ones: what is found in them must be there, and
//! must be found.

mod assembled;
mod planted;
mod random;
