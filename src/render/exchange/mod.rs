//! Formats of exchange, which hold a profile whole: pprof and OTLP.
//!
//! Both know the same things by other numbers, so that [`Tables`] are filled once, and each format is the
//! encoding of them.

pub(super) mod encoding;
mod message;
mod otlp;
pub(super) mod otlp_writer;
pub(super) mod pprof;
mod rounding;
mod tables;

pub(super) use tables::Tables;

/// The formats that write everything a profile holds, if its reader keeps it.
pub(super) const NAMES: &[&str] =
    &[super::pprof::FORMAT.name, otlp_writer::FORMAT.name, otlp_writer::JSON.name];
