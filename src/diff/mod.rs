//! Before and after: two profiles become one of two columns, a table, or a verdict.
//!
//! [`Pair::open`] reads every file once, so that trouble shows before anything is written.
//! [`Pair::join`] then merges the sides stack by stack; a [`Plan`] does the same for what nearly
//! all files are, in a fraction of the time. For tables a [`Tally`] adds up what each
//! function weighs in each run, a [`Report`] says what changed and whether that is more than
//! noise, an output form writes it, and a [`Gate`] judges it.
//!
//! ```
//! use fg_tools::diff::Pair;
//! use fg_tools::input::Source;
//!
//! # let folder = tempfile::tempdir().unwrap();
//! # let (before, after) = (folder.path().join("before"), folder.path().join("after"));
//! std::fs::write(&before, "main;parse 40\nmain;read 2\n").unwrap();
//! std::fs::write(&after, "main;parse 44\nmain;write 3\n").unwrap();
//! let (before, after) = ([Source::new(before)], [Source::new(after)]);
//! let mut lines = Vec::new();
//! Pair::open(&before, &after, None, false)?.join(None, &mut |stack, weights| {
//!     lines.push(format!("{} {} {}", String::from_utf8_lossy(stack), weights.before, weights.value));
//!     Ok(())
//! })?;
//! assert_eq!(lines, ["main;parse 40 44", "main;read 2 0", "main;write 0 3"]);
//! # Ok::<(), fg_tools::Error>(())
//! ```

pub mod form;
mod fuzzy;
mod gate;
mod join;
mod names;
mod normalize;
mod plan;
mod report;
mod side;
mod tally;

pub use fuzzy::CallGraph;
pub use gate::{Gate, Tripped, parse_file};
pub use join::{EachLine, Pair, Rename};
pub use names::Names;
pub use normalize::{Normalize, Ratio, Scale, decimals_for};
pub use plan::Plan;
pub use report::{Change, Presence, Report, Row, Sampling, Settings, Sort};
pub use side::{Side, Stacks, Survey};
pub use tally::Tally;

pub use crate::tally::{Cell, GROUPS, Group, module_of, thread_of};
