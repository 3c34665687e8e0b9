//! All states that a machine can reach, and which of them are wrong.
//!
//! States are found breadth first, so the first way that is found to a state is a shortest one among those
//! that are looked at. Not all orders of steps are looked at: [`reduce`] leaves out those that lead to
//! nothing new. [`graph`] says which states can still reach the goal, and where a run can go round for ever.

mod graph;
mod reduce;
mod search;

pub(crate) use search::{Described, Extent, Search, Spent, Unfinished};
