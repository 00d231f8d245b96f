//! The one list of input formats. `--input-format`, `--list-formats`, detection, the documentation and
//! the fixture tests all read it.

use super::known_unsupported;
use super::{Certainty, Collapser, folded};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::input::Input;

/// All formats, the most particular first: among equally sure ones the first wins.
#[cfg(feature = "collapse")]
pub static FORMATS: &[&dyn Collapser] = &{
    const OTHERS: &[&dyn Collapser] = super::formats::FORMATS;
    // An archive and folded text are read by the parts that stand above formats.
    let mut all: [&dyn Collapser; OTHERS.len() + 2] = [&folded::Folded; OTHERS.len() + 2];
    all[0] = &super::archive::Archive;
    let mut at = 0;
    while at < OTHERS.len() {
        all[at + 1] = OTHERS[at];
        at += 1;
    }
    all
};

/// Folded text alone: the feature `collapse` adds the formats of others.
#[cfg(not(feature = "collapse"))]
pub static FORMATS: &[&dyn Collapser] = &[&folded::Folded];

/// The name of folded text.
pub const FOLDED: &str = "folded";

/// The format of this name.
///
/// # Errors
/// [`ErrorKind::UnknownFormat`].
pub fn by_name(name: &str) -> Result<&'static dyn Collapser> {
    let found = FORMATS.iter().find(|format| format.name() == name);
    found.copied().ok_or_else(|| ErrorKind::UnknownFormat { name: name.to_owned(), known: names() }.into())
}

/// The format of an input, told by its first bytes.
///
/// # Errors
/// [`ErrorKind::Unrecognised`], [`ErrorKind::KnownUnsupported`] for what is known, but not read, and
/// [`ErrorKind::Empty`] for an input without bytes.
pub fn detect(input: &Input) -> Result<&'static dyn Collapser> {
    let at = || Position::file(input.name().clone());
    if input.head().is_empty() {
        return Err(Error::new(ErrorKind::Empty { what: "empty input".into() }, at()));
    }
    // Our header says so, whatever the names below it look like: those of Python are py-spy's, too.
    if folded::Folded.detect(input.head()) == Certainty::Yes {
        return Ok(&folded::Folded);
    }
    let mut best: Option<(Certainty, &'static dyn Collapser)> = None;
    for &format in FORMATS {
        let verdict = format.detect(input.head());
        if verdict > best.map_or(Certainty::No, |(verdict, _)| verdict) {
            best = Some((verdict, format));
        }
    }
    let known = match best {
        Some((Certainty::Magic, format)) => return Ok(format),
        // A text inside may look like another format.
        Some((_, format)) => match known_unsupported::recognise_magic(input.head()) {
            Some(known) => known,
            None => return Ok(format),
        },
        None => match known_unsupported::recognise(input.head()) {
            Some(known) => known,
            None => return Err(Error::new(ErrorKind::Unrecognised, at())),
        },
    };
    Err(Error::new(known.error(), at()))
}

fn names() -> String {
    FORMATS.iter().map(|format| format.name()).collect::<Vec<_>>().join(", ")
}
