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

mod id_table;
mod interner;
mod line;
mod order;
mod place;
mod reader;
mod replay_buffer;
mod sort;
mod table;
mod walk;

pub(crate) use id_table::{IdTable, KeyedHasher};
pub(crate) use interner::Interner;
pub(crate) use line::trim_stack;
pub use line::{Columns, Line, Weights, is_comment, parse_line, sanitize_frame, split_weight};
pub(crate) use order::cmp_at;
pub use order::{cmp_stacks, common_prefix};
pub use place::{Kind, Place, Places};
pub(crate) use reader::{Header, settle_columns};
pub use reader::{Lines, NotUnderstood};
pub(crate) use replay_buffer::Rereadable;
pub use table::{Batch, FrameId, StackTable};
pub(crate) use walk::walk_profile;
pub use walk::{Frame, Known, Order, Rewrite, Visitor, WalkSummary, walk, walk_table};
