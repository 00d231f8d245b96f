//! Folded stacks, from whatever a profiler wrote to a picture one can act on.
//!
//! A *folded* file has one call stack on each line, root first, frames joined by `;`, and a
//! weight: `main;parse;lex 42`. Sorted in *frame order* it is a call tree written in pre-order,
//! so each program here writes it sorted and reads it as a tree while it streams by.
//!
//! ```text
//!             input            collapse                     folded (sorted)
//! bytes ──► open, gunzip ──► detect, parse ──► intern, add up ──► write
//!                                                                   │
//!        ┌──────────────────────────────────────────────────────────┘
//!        ▼
//! folded::walk (in frame order): exit(frame, start, self, total)
//!        ├─► filter: select, rewrite
//!        ├─► diff: merge-join of two
//!        └─► render: every output's sink
//! ```
//!
//! The programs `fg-collapse`, `fg-filter`, `fg-diff` and `fg-render` are thin shells around this
//! library; what they share as programs (options, exit status, output files) is in `cli`, behind the
//! feature of that name.
//!
//! ```
//! use fg_tools::folded::StackTable;
//!
//! let mut table = StackTable::default();
//! for line in ["main;parse;lex 40", "main 1", "main;parse;lex 2"] {
//!     table.add_line(line.as_bytes())?;
//! }
//! let mut out = Vec::new();
//! table.write(&mut out)?;
//! assert_eq!(out, b"main 1\nmain;parse;lex 42\n");
//! # Ok::<(), fg_tools::Error>(())
//! ```

#[cfg(feature = "cli")]
pub mod cli;
pub mod collapse;
pub mod diff;
pub mod error;
pub mod filter;
pub mod folded;
pub mod input;
pub mod printable;
pub mod profile;
#[cfg(all(feature = "record", unix))]
pub mod record;
pub mod render;
pub mod significance;
pub mod symbol;
#[cfg(feature = "perf-data")]
pub mod symbolize;
pub mod tally;
pub mod weight;

pub use error::{Error, ErrorKind, Position, Result};
pub use input::Source;
pub use profile::{Facts, Profile};
pub use weight::Weight;
