//! Formats of exchange, which hold a profile whole: pprof and OTLP.
//!
//! Both know the same things by other numbers, so that [`Tables`] are filled once, and each format is the
//! encoding of them.

#[cfg(feature = "cli")]
pub(crate) mod direct;
pub(super) mod encoding;
pub(super) mod facts;
mod filler;
mod message;
mod otlp;
pub(super) mod otlp_writer;
pub(super) mod pprof;
mod rounding;
mod samples;
mod tables;

pub(super) use tables::Tables;
