//! Choosing stacks and changing them: folded text in, folded text out.
//!
//! [`select()`] has grep's manners: it streams folded files and copies the lines whose stack a
//! [`Pattern`] matches, or does not match. It never looks at weights but to take them off, so a
//! pattern for `42` finds a frame and not a number of samples.
//!
//! A [`Pipeline`] does what a line filter cannot: it knows frames, so it can hide them, rename
//! them and keep the totals honest. Its operations are those of [`OPERATIONS`]; they are applied
//! in the order in which they are given.

mod annotation;
mod frames;
mod merged;
mod op;
mod operation;
mod pattern;
mod pipeline;
mod scan;
mod select;

pub use operation::{
    Example, Group, OPERATIONS, Operation, Reweigh, Rewrite, Select, Settings, Stage, Whole,
};
pub use pattern::{Extent, Pattern, PatternOptions};
pub use pipeline::{Filtered, Pipeline, StepReport};
pub use select::{Selected, Selection, Tally, select};
