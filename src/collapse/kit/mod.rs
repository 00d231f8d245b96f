//! The parts that formats are made of. A format imports these, `profile`, `folded` and what is below
//! them, and never another format: what two formats share is a part of the kit.

pub(crate) mod archive;
pub(crate) mod base64;
pub mod clean_symbol;
pub(crate) mod csv;
pub(crate) mod driver;
pub(crate) mod edges;
pub(crate) mod events;
pub(crate) mod folded_detection;
pub(crate) mod forest;
pub(crate) mod java_frame;
#[cfg(feature = "collapse")]
pub(crate) mod json;
pub(crate) mod launches;
pub(crate) mod leaf_first;
pub(crate) mod mapped;
pub(crate) mod maps;
pub(crate) mod names;
pub(crate) mod naming;
pub(crate) mod native_frame;
pub(crate) mod perf_command;
pub(crate) mod pprof_model;
pub(crate) mod printed;
pub(crate) mod protobuf;
pub(crate) mod sample_count;
pub(crate) mod spans;
pub(crate) mod text;
pub(crate) mod threads;
pub(crate) mod times;
pub(crate) mod tracepoint;
pub(crate) mod trie;
pub(crate) mod valgrind;
pub mod values;
