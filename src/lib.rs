//! Profiles: read the recordings of some seventy profilers, filter, compare and draw them.
//!
//! From a file of any format to a picture:
//!
//! ```
//! use fg_tools::{Profile, Weight};
//! # #[cfg(all(feature = "collapse", feature = "render"))] {
//! use fg_tools::render::SvgOptions;
//! # let recording = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/perf-script/cpp-fp/input.txt.gz");
//!
//! let profile = Profile::from_path(recording)?;
//! assert_eq!(profile.facts().unit.as_deref(), Some("ns"));
//! assert_eq!(profile.total()?.value, Weight::new(975_951_896));
//!
//! let mut picture = Vec::new();
//! profile.svg(&SvgOptions::default().title("calc"), &mut picture)?;
//! # assert!(picture.starts_with(b"<?xml"));
//! # }
//! # Ok::<(), fg_tools::Error>(())
//! ```
//!
//! # One profile in the middle
//! ```text
//!  any file, bytes,          ┌──────────── Profile ────────────┐
//!  reader, samples in  ────► │ facts    unit, period, samples, │ ────► filter ──► Profile
//!  memory                    │          command, host, date,   │ ────► diff(Profile, Profile)
//!  (every Collapser          │          duration, event, notes │ ────► svg, html, tables, pprof,
//!   fills a Sink)            │ stacks   interned, weighed      │       speedscope, firefox, folded
//!                            │ samples  time, thread, labels   │
//!                            │ places   file, line, module     │
//!                            └─────────────────────────────────┘
//!  folded text, sorted ────► streams: walked, never a table, constant memory
//! ```
//! - A [`Profile`] is made [from a path](Profile::from_path), [bytes](Profile::from_bytes),
//!   [a reader](Profile::from_reader), [lines](Profile::from_lines), or
//!   [sample by sample](Profile::builder). Its [`Facts`] are shown by every output.
//! - [`collapse`] reads formats. A [`Collapser`](collapse::Collapser) pushes samples into a
//!   [`Sink`](profile::Sink), which may be one of your own.
//! - [`filter`] selects stacks and rewrites frames.
//! - `diff` compares two profiles, reports the changes with a test of whether each is more than
//!   noise, and judges them by gates.
//! - `render` draws flame graphs, and writes tables and files for other viewers.
//! - `flamegraph`, `differential` and [`folder`] have the functions and options of inferno's modules: replacing
//!   `inferno::flamegraph` by `fg_tools::flamegraph` moves a program here.
//!
//! # What stays
//! [`Profile`], [`ReadOptions`], [`Limits`], [`filter::Op`], `diff::Diff`, the outputs of a profile, `flamegraph` and
//! [`folder`] are the stable core: a change of them is a new major version. Traits and modules for formats and sinks
//! of your own may change in a minor one; whatever is hidden here, at any time.
//!
//! # Folded text
//! A *folded* file has one call stack on each line, root first, frames joined by `;`, and a weight:
//! `main;parse;lex 42`. Sorted in *frame order* it is a call tree in pre-order, which the programs
//! `fg-collapse`, `fg-filter`, `fg-diff` and `fg-render` hand from one to the next and read as a
//! tree while it streams by: see [`folded`]. Facts are lines `# key: value` before the stacks: see
//! [`profile::header`].
//!
//! # Features
//! | feature | adds |
//! | --- | --- |
//! | `collapse` | every input format but folded text, which is always read |
//! | `diff` | [`Profile`]s compared: reports, gates, differential folded text, the module `differential` |
//! | `render` | pictures, pages, tables, other viewers' formats, the module `flamegraph` |
//! | `inferno` | DTrace, sample, Visual Studio and GHC, read by inferno's collapsers |
//! | `perf-data` | perf.data itself, and the symbols of native code |
//! | `record` | recording: the built-in sampler on Linux, and other profilers |
//! | `cli` | the five programs |
//! | `png` | pictures in pixels |
//! | `tui` | a view in a terminal, in the programs |
//! | `parquet` | rows for data bases, read and written |
//!
//! The default is `cli`, `inferno`, `perf-data` and `record`, with what they need; `package` is what releases are
//! built with. A program that only draws takes
//! `default-features = false, features = ["render"]`, which builds 24 other crates.

// Helpers shared by several parts have no user in a build with only one of them. The full build
// finds those that nobody needs.
#![cfg_attr(
    not(all(feature = "cli", feature = "inferno", feature = "perf-data", feature = "record")),
    allow(dead_code, unused_imports)
)]

#[cfg(all(unix, any(feature = "cli", feature = "perf-data")))]
mod abandoned;
#[cfg(feature = "perf-data")]
mod allocation_trigger;
pub(crate) mod bytes;
// The programs' options and `main` functions: public for the binaries only.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod collapse;
#[cfg(feature = "cli")]
mod descriptors;
#[cfg(feature = "diff")]
pub mod diff;
#[cfg(feature = "diff")]
pub mod differential;
pub mod error;
pub(crate) mod facts;
pub mod filter;
#[cfg(feature = "render")]
pub mod flamegraph;
pub mod folded;
pub mod folder;
pub(crate) mod front_coded;
pub mod input;
#[cfg(any(feature = "diff", feature = "render"))]
#[cfg_attr(not(all(feature = "diff", feature = "render")), allow(dead_code))]
pub(crate) mod json_text;
pub mod limits;
pub(crate) mod number;
pub(crate) mod printable;
pub mod profile;
#[cfg(any(feature = "cli", all(feature = "record", unix)))]
pub(crate) mod quantity;
pub mod reading;
#[cfg(all(feature = "record", unix))]
#[doc(hidden)]
pub mod record;
#[cfg(feature = "render")]
pub mod render;
pub(crate) mod scan;
pub(crate) mod search;
#[doc(hidden)]
pub mod significance;
pub(crate) mod spelling;
#[cfg(all(feature = "cli", feature = "parquet"))]
mod store;
#[doc(hidden)]
pub mod symbol;
#[cfg(feature = "perf-data")]
#[doc(hidden)]
pub mod symbolize;
pub(crate) mod tally;
#[cfg(all(unix, any(feature = "cli", feature = "perf-data")))]
pub(crate) mod temporary;
pub(crate) mod threads;
pub(crate) mod unique;
pub mod weight;

pub use error::{Error, ErrorKind, Position, Result};
pub use input::Source;
pub use limits::Limits;
pub use profile::{Facts, Profile};
pub use reading::ReadOptions;
pub use weight::Weight;

/// Compiles the example of README.md.
#[cfg(all(doctest, feature = "cli"))]
#[doc = include_str!("../README.md")]
struct Readme;
