//! Native code by address: which function, which inlined functions, which line.
//!
//! A recording holds addresses and the files they were mapped from. [`Search`] finds those files
//! again (in place, below `--symfs`, by build id, separate debug files too), an [`Object`] is one
//! of them, opened, and a [`Symbolizer`] turns its addresses into frames. Everything is read when
//! an address needs it and not before, can be shared by threads, and is as hostile as the file it
//! comes from: sizes are checked, work is bounded, nothing is mapped.
//!
//! Unwinding is left to others; [`Object::section`] has what they need.
//!
//! ```no_run
//! use fg_tools::symbolize::{Module, Search, Symbolizer, SymbolizerOptions};
//!
//! let module = Module { path: b"/bin/true".to_vec(), build_id: None };
//! let object = Search::default().open(&module).unwrap();
//! let symbolizer = Symbolizer::new(&object, SymbolizerOptions::default());
//! let mut frames = Vec::new();
//! symbolizer.resolve(0x1234, false, &mut frames);
//! ```

mod build_id;
#[cfg_attr(not(all(feature = "cli", feature = "record", target_os = "linux")), allow(dead_code))]
pub(crate) mod bundle;
mod code_map;
mod content;
mod data;
mod debuginfod;
mod dwarf;
mod elf;
pub(crate) mod frame_entries;
mod go;
mod image;
mod intervals;
pub mod jit;
pub mod kernel;
mod list;
mod object;
mod opening;
mod owned;
mod path;
mod place;
mod plt;
mod search;
mod symbolizer;
mod symbols;
mod unpack;
mod xz;

pub(crate) use build_id::build_id_from_hex;
pub(crate) use code_map::CodeMap;
pub use content::Bytes;
#[cfg(all(feature = "cli", feature = "record", target_os = "linux"))]
pub(crate) use content::Content;
pub(crate) use debuginfod::Answered;
pub use debuginfod::Debuginfod;
pub(crate) use dwarf::{DebugFunction, Site};
pub(crate) use go::{GoFrame, GoFrames};
pub use object::{Contents, Language, Machine, Object, Segment};
pub use owned::{NotBelieved, Owners};
pub(crate) use path::path_of;
pub use place::Place;
pub use search::{Missing, Module, Search};
pub use symbolizer::{ResolvedFrame, Symbolizer, SymbolizerOptions};
