//! Recordings of Java's Flight Recorder: `.jfr` files of the JDK and of async-profiler, and what `jfr print`
//! makes of them, as text or as JSON.
//!
//! [`events`] is common to all three. A recording is read without a Java virtual machine: [`chunk`] finds its
//! chunks, [`metadata`] reads the types that each describes, [`layout`] takes values of such types apart,
//! [`constants`] holds what events refer to, and [`recording`] makes samples of the events.
//! [`old`] reads the version before all that by itself.

mod chunk;
mod constants;
mod cursor;
mod events;
mod json;
mod layout;
mod metadata;
mod old;
mod recording;
mod text;

pub use json::JfrJson;
pub use recording::Jfr;
pub use text::JfrText;
