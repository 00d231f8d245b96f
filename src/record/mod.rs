//! Recording: a program, running processes or the whole machine become a perf.data file.
//!
//! ```text
//! Request ──► sampler::plan ──► sampler::record ──► perf.data ──► collapse::perf_data
//! what        how, and what     the kernel's        which perf
//!             if refused        records, as is      reads too
//! ```
//! Other profilers can make the recording too: [`backend`].
//!
//! The built-in sampler needs nothing installed: it asks the kernel itself, by `perf_event_open`.
//! When the system refuses, the sampler takes the next best way, or ends with one line that says what
//! to do ([`refusal`]). The sampler, `check` and `root` are for Linux only. The other profilers run on
//! any Unix.

#[cfg(target_os = "linux")]
pub mod alloc;
pub mod backend;
#[cfg(all(feature = "cli", target_os = "linux"))]
pub(crate) mod bundle;
pub mod cargo;
pub mod check;
pub mod facts;
pub mod program;
#[cfg(target_os = "linux")]
pub(crate) mod python;
pub mod refusal;
pub mod request;
pub mod sys;
pub mod trigger;

#[cfg(target_os = "linux")]
pub mod root;
#[cfg(target_os = "linux")]
pub mod sampler;
#[cfg(target_os = "linux")]
pub mod system;

/// True if the built-in sampler is part of this program.
pub const HAS_SAMPLER: bool = cfg!(target_os = "linux");
