//! The one error type of the library: what went wrong, and where in which input.
//!
//! "Not my format" ([`ErrorKind::Unrecognised`]) and "my format, but broken"
//! ([`ErrorKind::Malformed`]) are different kinds. Every message is one line, lower case, and
//! names the file and the line or byte, so that a program can print it as it is.

use std::fmt;
use std::io;
use std::sync::Arc;

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

/// What went wrong.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// Reading or writing failed.
    #[error("cannot {doing}: {}", plain(source))]
    Io {
        /// What was being done: `read`, `write`, `open`.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A compressed input ends early or is damaged.
    #[error("damaged {codec} data ({}); it may have been cut short, fetch it again", plain(source))]
    Compression {
        /// `gzip` or `zstd`.
        codec: &'static str,
        /// What the decoder said.
        source: io::Error,
    },
    /// No collapser recognised the input.
    #[error("not a format known here; --list-formats shows those that are, --format names one")]
    Unrecognised,
    /// The input is of another tool, and not read here.
    #[error("not read here: {what}; {instead}")]
    KnownUnsupported {
        /// What it is.
        what: &'static str,
        /// The command that makes of it what is read.
        instead: &'static str,
    },
    /// There is no collapser of this name.
    #[error("there is no format {name:?}; the formats are {known}")]
    UnknownFormat {
        /// The name that was asked for.
        name: String,
        /// The names that exist.
        known: String,
    },
    /// The input is of the expected format, but broken.
    #[error("expected {expected}, found {found}")]
    Malformed {
        /// What should stand there.
        expected: String,
        /// What stands there, shortened and quoted by [`excerpt`].
        found: String,
    },
    /// The input is empty, or holds no samples.
    #[error("{what}")]
    Empty {
        /// What there is none of, and what to do.
        what: String,
    },
    /// A sum left the range of exact weights, about 1.7e38 without fractions.
    #[error("the weights add up to more than can be held exactly; scale them down")]
    Overflow,
    /// One line or sample is larger than any real one.
    #[error("a line or sample of more than {limit} bytes; this is not such a text")]
    TooLong {
        /// The largest size accepted, in bytes.
        limit: usize,
    },
    /// `--strict`: lines were not understood.
    #[error("{count} line(s) not understood, the first is {first}")]
    NotUnderstood {
        /// How many.
        count: u64,
        /// The first of them, shortened and quoted by [`excerpt`].
        first: String,
    },
    /// A setting that cannot be used, such as a regular expression with a mistake.
    #[error("{what}")]
    Setting {
        /// The setting, what is wrong with it, and what to write instead.
        what: String,
    },
}

/// The system's words without the trailing `(os error 2)`.
fn plain(error: &io::Error) -> String {
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

    /// What went wrong.
    pub fn kind(&self) -> &ErrorKind {
        &self.inner.0
    }

    /// Where it went wrong; empty when no place is known.
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

    /// The same error; what the input was taken for stands behind a [`ErrorKind::Malformed`].
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

    /// Input of the right format with a mistake in it.
    pub fn malformed(expected: impl Into<String>, found: &[u8]) -> Self {
        ErrorKind::Malformed { expected: expected.into(), found: excerpt(found) }.into()
    }

    /// Whether the reader of our output went away, which is no error for a filter.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self.kind(), ErrorKind::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }
}

impl From<ErrorKind> for Error {
    fn from(kind: ErrorKind) -> Self {
        Error::new(kind, Position::default())
    }
}

/// Failed writes are the only bare I/O errors: reads are given their place by `input`.
impl From<io::Error> for Error {
    fn from(source: io::Error) -> Self {
        Error::io("write", source)
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

/// The message holds what the system said: a source beside it would be printed twice.
impl std::error::Error for Error {}

/// Hostile bytes as a short quoted text that is safe on a terminal.
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
