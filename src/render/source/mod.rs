//! Source code beside the weights of its lines, for `list` and the page.
//!
//! [`lines`] adds up the lines of each function from a recording that knows them, [`files`] finds the
//! source files on this machine, [`own`] says which of them a page holds unasked, and [`excerpt`] chooses
//! the lines that are shown.

pub mod excerpt;
pub mod files;
pub mod lines;
pub mod own;

pub use files::SourceFiles;
pub use lines::{FunctionLines, LineWeights, SourceLines};
pub use own::SourceHere;
