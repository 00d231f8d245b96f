//! Selects and changes stacks: profiles in, profiles out.
//!
//! [`Profile::filter`](crate::Profile::filter) applies typed operations ([`Op`]) to a profile in
//! memory. They know frames, so they can hide them, rename them and keep the totals honest. A
//! [`Pipeline`] is the engine behind it and behind `fg-filter`: it writes folded text, and streams
//! where it reads folded text. A [`Pattern`] has grep's manners: it searches whole stacks and never
//! looks at weights, so that a pattern for `42` finds a frame and not a number of samples.
//!
//! All operations are listed in [`OPERATIONS`].

mod annotation;
mod frames;
mod in_memory;
mod merged;
mod named_stacks;
mod op;
mod operation;
mod pattern;
mod pipeline;
mod profile;
mod registry;
mod run;
mod scan;
mod select;
mod step;
mod stream;

pub use crate::search::Case;
pub use operation::{Example, Operation, OperationGroup};
pub(crate) use operation::{OpOptions, Rewrite, Stage};
pub use pattern::{Extent, Pattern, PatternOptions};
pub use pipeline::Pipeline;
pub use registry::{OPERATIONS, Op};
pub use run::{Filtered, RunOptions, StackCount, StepReport};
