//! Files that profilers write and that are not read here, each with the command that makes of it
//! one that is.
//!
//! Whoever recorded with NYTProf wants to hear of `nytprofcalls`, not that the format is unknown. What
//! stands in the [`table`] is looked at when no format claims the input, and a [magic number](Sign::Magic) also when
//! a text inside looks like another format's.

mod rules;
mod table;
#[cfg(test)]
mod tests;

use memchr::memmem::find;

use crate::error::ErrorKind;

/// A kind of file that is known, but not read.
#[derive(Debug)]
pub struct KnownUnsupported {
    /// Its description: `a recording of Java's Flight Recorder`.
    pub what: &'static str,
    /// The way to a format that is read.
    pub instead: &'static str,
    sign: Sign,
}

impl KnownUnsupported {
    /// The error of an input of this kind.
    pub(crate) fn error(&self) -> ErrorKind {
        ErrorKind::KnownUnsupported { what: self.what, instead: self.instead }
    }
}

/// The bytes in which the heading of a report stands, behind what its program says first.
const START: usize = 2048;

/// The bytes that tell a kind of file.
#[derive(Debug)]
enum Sign {
    /// It begins with one of these, as no text does: whatever is inside, it is of no other format.
    Magic(&'static [&'static [u8]]),
    /// It begins with one of these.
    Starts(&'static [&'static [u8]]),
    /// One of these stands among the first bytes, of which this is the number.
    Shows(usize, &'static [&'static [u8]]),
    /// One of these stands in all that is looked at.
    Holds(&'static [&'static [u8]]),
    /// It has all of these signs.
    All(&'static [Sign]),
    /// It has one of these signs.
    Any(&'static [Sign]),
    /// This says so.
    Rule(fn(&[u8]) -> bool),
}

impl Sign {
    fn is_of(&self, head: &[u8]) -> bool {
        match self {
            Sign::Magic(starts) | Sign::Starts(starts) => starts.iter().any(|start| head.starts_with(start)),
            Sign::Shows(bytes, parts) => {
                let start = &head[..head.len().min(*bytes)];
                parts.iter().any(|part| find(start, part).is_some())
            }
            Sign::Holds(parts) => parts.iter().any(|part| find(head, part).is_some()),
            Sign::All(signs) => signs.iter().all(|sign| sign.is_of(head)),
            Sign::Any(signs) => signs.iter().any(|sign| sign.is_of(head)),
            Sign::Rule(rule) => rule(head),
        }
    }

    /// Returns whether a magic number tells it.
    fn is_magic_of(&self, head: &[u8]) -> bool {
        match self {
            Sign::Magic(_) => self.is_of(head),
            Sign::Any(signs) => signs.iter().any(|sign| sign.is_magic_of(head)),
            Sign::All(signs) => self.is_of(head) && signs.iter().any(|sign| sign.is_magic_of(head)),
            Sign::Starts(_) | Sign::Shows(..) | Sign::Holds(_) | Sign::Rule(_) => false,
        }
    }
}

/// Recognises an input that no format claims.
pub fn recognise(head: &[u8]) -> Option<&'static KnownUnsupported> {
    table::TABLE.iter().find(|known| known.sign.is_of(head))
}

/// Recognises an input by its magic number, whatever text is in it.
pub fn recognise_magic(head: &[u8]) -> Option<&'static KnownUnsupported> {
    table::TABLE.iter().find(|known| known.sign.is_magic_of(head))
}
