//! Choosing stacks: grep's manners on folded text.
//!
//! [`select()`] streams folded files and copies the lines whose stack a [`Pattern`] matches, or
//! does not match. It never looks at weights but to take them off, so a pattern for `42` finds a
//! frame and not a number of samples.

mod pattern;
mod select;

pub use pattern::{Extent, Pattern, PatternOptions};
pub use select::{Selected, Selection, Tally, select};
