//! Recording: a program, running processes or the whole machine become a perf.data file.
//!
//! ```text
//! Request ──► sampler::plan ──► sampler::record ──► perf.data ──► collapse::perf_data
//! what        how, and what     the kernel's        which perf
//!             if refused        records, as is      reads too
//! ```
//! Or another profiler makes the recording: [`backend`].
//!
//! The built-in sampler needs nothing installed: it asks the kernel itself, by `perf_event_open`.
//! What the system refuses is answered with the next best way, or with one line that says what to
//! do ([`refusal`]).

pub mod backend;
pub mod cargo;
pub mod check;
pub mod refusal;
pub mod request;
pub mod root;
pub mod sampler;
pub mod sys;
pub mod system;
