//! Compares profiles before and after a change: a profile of two columns, a report, or a verdict.
//!
//! [`Diff`] compares [profiles](crate::Profile) in memory. Its [`Report`] says what changed and
//! whether that is more than noise, a [`Gate`] judges the report, and [`ReportFormat`] writes it.
//! [`join_folded`] joins two folded texts while they stream by, in constant memory.
//!
//! ```
//! use fg_tools::Profile;
//! use fg_tools::diff::{Diff, ReportFormat};
//!
//! let before = Profile::from_bytes("# unit: ns\nmain;parse 400000\nmain;read 20000\n")?;
//! let after = Profile::from_bytes("# unit: ns\nmain;parse 440000\nmain;write 30000\n")?;
//! let diff = Diff::new(&before, &after);
//!
//! let mut table = Vec::new();
//! diff.report()?.write(ReportFormat::Table, &mut table)?;
//! assert!(String::from_utf8_lossy(&table).contains("whole 420 → 470 µs  ~ (+12%)"));
//!
//! let verdict = diff.gate("self>2pp")?;
//! println!("{verdict}");
//!
//! let mut folded = Vec::new();
//! diff.profile()?.write_folded(&mut folded)?;
//! assert!(folded.starts_with(b"# columns: before, after\n# unit: ns\nmain;parse 400000 440000\n"));
//! # Ok::<(), fg_tools::Error>(())
//! ```

mod assumption;
mod blocks;
mod change;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
pub(crate) mod columns;
mod detectable;
mod escape;
mod format;
mod fuzzy;
mod gate;
mod headline;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
pub(crate) mod history;
mod interrupts;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
mod jit;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
pub(crate) mod join;
mod judge;
mod markdown_name;
mod net;
mod normalize;
mod notes;
mod numbers;
mod options;
mod plain_lines;
pub(crate) mod plan;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
pub(crate) mod prepared;
mod profiles;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
pub(crate) mod recording;
mod renamer;
mod report;
mod roots;
mod run_spread;
mod run_weights;
mod sampling;
pub(crate) mod side;
pub(crate) mod stream;
mod survey;
#[cfg_attr(not(feature = "cli"), allow(dead_code))]
mod trend_page;
mod verdict;
mod whole;

pub use change::{Change, Presence, Row};
pub use detectable::Detectable;
pub use format::{FormatOptions, ReportFormat};
pub use gate::Gate;
pub use normalize::Normalize;
pub use notes::{Note, NoteKind};
pub use options::{Interrupts, ReportOptions, Sort};
pub use profiles::Diff;
pub use report::Report;
pub use run_spread::RunSpread;
pub use sampling::{Sampling, Spread};
pub use stream::join_folded;
pub use verdict::{Outcome, Verdict};

pub use crate::tally::{GROUPS, RowKind};
