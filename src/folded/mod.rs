//! Folded text: the grammar, frame order, the table that adds up, the reader and the call tree.
//!
//! ```text
//! profile   = { header line } { line "\n" }
//! line      = { label ";" } stack SP weight            one column
//!           | { label ";" } stack SP weight SP weight  two columns: before, after
//!           | "#" …                                    comment, when the line starts with "# "
//! label     = key "=" value                            a root frame, as declared by `# labels: …`
//! stack     = frame { ";" frame }                      root first
//! weight    = ["-"] digits ["." digits]
//! ```
//! - Bytes, not characters: a frame is any bytes but `;` and newline. CRLF and a missing last
//!   newline are accepted. A file has two columns only if all its lines have.
//! - *Frame order* compares stacks frame by frame, each frame by its bytes; a stack that begins
//!   another comes first. A file in frame order is a call tree in pre-order.
//! - The lines of the header are those of [`profile::header`](crate::facts::header).
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

mod frame_id;
mod heavy;
mod id_table;
mod interner;
mod line;
#[cfg(feature = "cli")]
mod merge;
mod order;
mod parts;
mod pass;
mod place;
mod reader;
mod replay_buffer;
mod sort;
#[cfg(feature = "diff")]
mod stack_list;
mod table;
mod visitor;
mod walk;

pub use crate::facts::header::is_comment;
pub use frame_id::FrameId;
pub(crate) use id_table::{IdTable, KeyedHasher};
pub(crate) use interner::Interner;
#[cfg(feature = "cli")]
pub(crate) use line::LineWriter;
pub use line::{Columns, Line, Weights, parse_line, sanitize_frame, split_weight};
#[cfg(feature = "diff")]
pub(crate) use line::{leading_digits, split_digits};
pub(crate) use line::{put_stack, trim_stack};
#[cfg(feature = "cli")]
pub(crate) use merge::{Survey, merge, survey};
pub(crate) use order::cmp_at;
pub use order::{cmp_stacks, common_prefix};
pub use place::{Kind, Place, Places};
pub(crate) use reader::{Header, guess_columns, settle_columns};
pub use reader::{Lines, NotUnderstood};
pub(crate) use replay_buffer::Rereadable;
#[cfg(feature = "diff")]
pub(crate) use stack_list::{StackCursor, StackList};
#[cfg(feature = "diff")]
pub(crate) use table::NameList;
pub use table::{Batch, StackTable};
pub use visitor::{ForkedVisitor, Frame, Known, Order, Rewrite, Visitor, WalkSummary};
pub(crate) use walk::walk_profile;
pub use walk::{walk, walk_on, walk_table};

/// The name of what weighed too little to be kept: a stack of fg-filter, a frame of a large page.
pub(crate) const OTHER: &[u8] = b"[other]";
/// The frame of processor time that no sample stands for: a sum of remainders, and no function.
#[cfg(any(feature = "diff", feature = "collapse"))]
pub(crate) const NOT_SAMPLED: &[u8] = b"[not sampled]";
