//! The one error type of the library: a kind, and a place in an input.
//!
//! ```
//! use fg_tools::{ErrorKind, Profile};
//!
//! let error = Profile::from_path("no such file").unwrap_err();
//! assert!(matches!(error.kind(), ErrorKind::Io { doing: "open", .. }));
//! assert_eq!(error.to_string(), "no such file: cannot open: no such file or directory");
//! ```
//!
//! "Not my format" ([`ErrorKind::Unrecognised`]) and "my format, but broken"
//! ([`ErrorKind::Malformed`]) are different kinds. Every message is one line, lower case, and
//! names the file and the line or byte, so that a program can print it as it is.

use std::fmt;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use crate::spelling::near;

/// The result of the library's fallible functions.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// A place in an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The file's path as it was given, or `standard input`.
    pub file: Option<Arc<str>>,
    /// The line, counted from 1, after decompression.
    pub line: Option<u64>,
    /// The byte, counted from 0, after decompression, in inputs that have no lines.
    pub byte: Option<u64>,
}

impl Position {
    /// A whole file.
    pub fn file(name: impl Into<Arc<str>>) -> Self {
        Position { file: Some(name.into()), line: None, byte: None }
    }

    /// A line of a file, counted from 1.
    pub fn line(name: impl Into<Arc<str>>, line: u64) -> Self {
        Position { line: Some(line), ..Position::file(name) }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        if let Some(file) = &self.file {
            write!(f, "{file}")?;
            separator = ":";
        }
        if let Some(line) = self.line {
            write!(f, "{separator}{line}")?;
            separator = ":";
        }
        if let Some(byte) = self.byte {
            write!(f, "{separator} byte {byte}")?;
        }
        Ok(())
    }
}

/// The kinds of errors; their texts are the messages, without a place.
#[derive(Debug)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed.
    Io {
        /// The operation that failed: `read`, `write`, `open`.
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A compressed input ends early or is damaged.
    Compression {
        /// `gzip` or `zstd`.
        codec: &'static str,
        /// The decoder's error.
        source: io::Error,
    },
    /// No collapser recognised the input.
    Unrecognised,
    /// The input is a known kind of file that is no profile, or a profile that is not read.
    KnownUnsupported {
        /// The kind of file.
        what: &'static str,
        /// A command that turns it into something that is read.
        instead: &'static str,
    },
    /// There is no format of this name.
    UnknownFormat {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The input is of the expected format, but broken.
    Malformed {
        /// A description of what belongs at this place.
        expected: String,
        /// The text at this place, shortened and quoted by [`excerpt`].
        found: String,
    },
    /// The input is empty, or holds no samples.
    Empty {
        /// The message: what is missing, and what to do.
        what: String,
    },
    /// A sum left the range of exact weights, about 1.7e38 without fractions.
    Overflow,
    /// The input goes beyond one of the [`Limits`](crate::limits::Limits) of the reading.
    Limit(Limit),
    /// One line or sample is larger than any real one.
    TooLong {
        /// The largest size accepted, in bytes.
        limit: usize,
    },
    /// `--strict`: lines were not understood.
    NotUnderstood {
        /// The number of these lines.
        count: u64,
        /// The first of them, shortened and quoted by [`excerpt`].
        first: String,
    },
    /// `--strict`: the input contradicts itself, or ends early.
    Doubtful {
        /// The message: both numbers, or what is missing.
        what: String,
    },
    /// A setting that cannot be used, such as a regular expression with a mistake.
    Setting {
        /// The message: the setting, what is wrong with it, and what to write instead.
        what: String,
    },
}

impl fmt::Display for ErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ErrorKind::Io { doing, source } => write!(f, "cannot {doing}: {}", plain(source)),
            ErrorKind::Compression { codec, source } => {
                let why = plain(source);
                write!(f, "damaged {codec} data ({why}); it may have been cut short, fetch it again")
            }
            ErrorKind::Unrecognised => {
                f.write_str("not a format known here; fg-collapse --list-formats shows those that are")
            }
            ErrorKind::KnownUnsupported { what, instead } => write!(f, "not read here: {what}; {instead}"),
            ErrorKind::UnknownFormat { name, known } => {
                write!(f, "there is no format {name:?}; ")?;
                match &near(name, known.split(", "))[..] {
                    [] => write!(f, "the formats are {known}"),
                    [others @ .., last] => match others.is_empty() {
                        true => write!(f, "is it {last}?"),
                        false => write!(f, "is it {} or {last}?", others.join(", ")),
                    },
                }
            }
            ErrorKind::Malformed { expected, found } => write!(f, "expected {expected}, found {found}"),
            ErrorKind::Empty { what } | ErrorKind::Doubtful { what } | ErrorKind::Setting { what } => {
                f.write_str(what)
            }
            ErrorKind::Overflow => {
                f.write_str("the weights add up to more than can be held exactly; scale them down")
            }
            ErrorKind::Limit(limit) => write!(f, "{limit}, the limit that was set"),
            ErrorKind::TooLong { limit } => {
                write!(f, "a line or sample of more than {limit} bytes; this is not such a text")
            }
            ErrorKind::NotUnderstood { count, first } => {
                write!(f, "{count} line(s) not understood, the first is {first}")
            }
        }
    }
}

/// The limit that a reading has reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Limit {
    /// [`Limits::bytes`](crate::Limits::bytes).
    Bytes(u64),
    /// [`Limits::stacks`](crate::Limits::stacks).
    Stacks(u64),
    /// [`Limits::frames`](crate::Limits::frames).
    Frames(u64),
    /// [`Limits::depth`](crate::Limits::depth).
    Depth(u64),
    /// [`Limits::memory`](crate::Limits::memory).
    Memory(u64),
    /// [`Limits::time`](crate::Limits::time).
    Time(Duration),
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = |bytes: u64| match bytes {
            _ if bytes > 0 && bytes.is_multiple_of(1 << 30) => format!("{} GiB", bytes >> 30),
            _ if bytes > 0 && bytes.is_multiple_of(1 << 20) => format!("{} MiB", bytes >> 20),
            _ => format!("{bytes} bytes"),
        };
        match *self {
            Limit::Bytes(most) => write!(f, "more than {} when decompressed", size(most)),
            Limit::Stacks(most) => write!(f, "more than {most} different stacks"),
            Limit::Frames(most) => write!(f, "more than {most} names of frames"),
            Limit::Depth(most) => write!(f, "a stack of more than {most} frames"),
            Limit::Memory(most) => write!(f, "reading takes more than {} of memory", size(most)),
            Limit::Time(most) => write!(f, "reading takes longer than {most:?}"),
        }
    }
}

/// The system's message without the trailing `(os error 2)`.
pub(crate) fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.find(" (os error") {
        Some(end) => text[..end].to_lowercase(),
        None => text,
    }
}

/// An [`ErrorKind`] and where it happened.
#[derive(Debug)]
pub struct Error {
    // Boxed: results travel through every hot loop and must stay small.
    inner: Box<(ErrorKind, Position, Option<String>)>,
}

impl Error {
    /// An error at a place.
    pub fn new(kind: ErrorKind, position: Position) -> Self {
        Error { inner: Box::new((kind, position, None)) }
    }

    /// The kind of error.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.0
    }

    /// The place of the error; empty when no place is known.
    pub fn position(&self) -> &Position {
        &self.inner.1
    }

    /// The same error at a place, if it has none yet.
    pub fn or_at(mut self, position: impl FnOnce() -> Position) -> Self {
        if self.inner.1 == Position::default() {
            self.inner.1 = position();
        }
        self
    }

    /// The same error at another place.
    pub fn at(mut self, position: Position) -> Self {
        self.inner.1 = position;
        self
    }

    /// Appends the format that the input was read as to the message of an [`ErrorKind::Malformed`].
    pub(crate) fn read_as(mut self, what: impl FnOnce() -> String) -> Self {
        if matches!(self.kind(), ErrorKind::Malformed { .. }) {
            self.inner.2 = Some(what());
        }
        self
    }

    /// A failed system call.
    pub fn io(doing: &'static str, source: io::Error) -> Self {
        ErrorKind::Io { doing, source }.into()
    }

    /// A setting that cannot be used: the setting, what is wrong with it, and what to write instead.
    pub(crate) fn setting(what: impl Into<String>) -> Self {
        ErrorKind::Setting { what: what.into() }.into()
    }

    /// Input of the right format with a mistake in it.
    pub fn malformed(expected: impl Into<String>, found: &[u8]) -> Self {
        ErrorKind::Malformed { expected: expected.into(), found: excerpt(found) }.into()
    }

    /// Returns true if the reader of our output went away, which is no error for a filter.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self.kind(), ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error::new(kind, Position::default())
    }
}

/// Failed writes are the only bare I/O errors: reads are given their place by `input`. An [`Error`]
/// inside, from a writer that knows its place, comes out again.
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        source.downcast::<Error>().unwrap_or_else(|source| Error::io("write", source))
    }
}

/// For callers whose functions return [`io::Result`]. The kind is the system's where the system
/// failed, and [`io::ErrorKind::InvalidData`] for everything else.
impl From<Error> for io::Error {
    fn from(error: Error) -> io::Error {
        let kind = match error.kind() {
            ErrorKind::Io { source, .. } => source.kind(),
            _ => io::ErrorKind::InvalidData,
        };
        io::Error::new(kind, error)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.position() != &Position::default() {
            write!(f, "{}: ", self.position())?;
        }
        write!(f, "{}", self.kind())?;
        match &self.inner.2 {
            Some(what) => write!(f, " (read as {what})"),
            None => Ok(()),
        }
    }
}

/// The system's message is part of ours: a source beside it would be printed twice.
impl std::error::Error for Error {}

/// Shortens and quotes hostile bytes, so that they are safe on a terminal.
///
/// ```
/// assert_eq!(fg_tools::error::excerpt(b"a\x1b[31m"), r#""a\u{1b}[31m""#);
/// ```
pub fn excerpt(bytes: &[u8]) -> String {
    const LONGEST: usize = 60;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(4 * LONGEST)]);
    let mut short: String = text.chars().take(LONGEST).collect();
    let cut = short.len() < text.len() || bytes.len() > 4 * LONGEST;
    if cut {
        short.push('…');
    }
    format!("{short:?}")
}

/// The first of many names, and the number of the others.
pub(crate) fn some_of(names: &[String]) -> String {
    /// More are not read.
    const SHOWN: usize = 5;
    match names.len().checked_sub(SHOWN) {
        // "1 more" would take as much room as the name.
        None | Some(0 | 1) => names.join(", "),
        Some(more) => format!("{} and {more} more", names[..SHOWN].join(", ")),
    }
}
