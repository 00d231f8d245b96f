//! Folded text: the grammar, frame order, the table that adds up, the reader and the call tree.
//!
//! ```text
//! profile   = { line "\n" }
//! line      = stack SP weight            one column
//!           | stack SP weight SP weight  two columns: before, after
//!           | "# " …                     a comment
//! stack     = frame { ";" frame }        root first
//! weight    = ["-"] digits ["." digits]
//! ```
//!
//! Bytes, not characters: a frame is any bytes but `;` and newline. CRLF and a missing last
//! newline are accepted. A file has two columns only if all its lines have.

mod line;
mod order;
mod reader;
mod slots;
mod sort;
mod spool;
mod table;
mod walk;

pub use line::{Columns, Line, Weights, is_comment, parse_line, sanitize_frame, split_weight};
pub(crate) use order::cmp_at;
pub use order::{cmp_stacks, common_prefix};
pub use reader::{Lines, NotUnderstood, guess_columns};
pub(crate) use slots::{KeyedHasher, Slots};
pub(crate) use spool::Rereadable;
pub use table::{Batch, FrameId, StackTable};
pub use walk::{Frame, Order, Rewrite, Visitor, WalkSummary, walk, walk_table};
