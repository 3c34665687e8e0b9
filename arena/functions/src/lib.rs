//! Pairs of functions for other people's benchmark tools: each tool's program is an example here, to cargo,
//! and includes the source of a pair that `ARENA_PAIR` names while it is compiled.

#![forbid(unsafe_code)]

pub mod pair;
