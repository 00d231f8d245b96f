//! The reading of a changed recording: what the oracles of this folder compare.

use fg_tools::collapse::{CollapseOptions, Report, collapse, registry};
use fg_tools::folded::StackTable;
use fg_tools::input::Source;

use super::fixtures::Case;

/// The findings of a reading.
pub struct Reading {
    pub folded: String,
    pub report: Report,
}

impl Reading {
    /// Returns true if the user is told of something that the reading of the whole recording does not say: a note with
    /// the same words and other numbers says nothing of its own.
    pub fn says_more_than(&self, whole: &Reading) -> bool {
        let words = |note: &str| note.replace(|c: char| c.is_ascii_digit() || c == ',', "");
        self.says_anew(|note| !whole.report.notes.iter().any(|known| words(known) == words(note)))
    }

    /// Returns true if the user is told of something that the reading of one recording does not say: "4 snapshots" where
    /// that says "2 snapshots", too.
    pub fn says_other_than(&self, one: &Reading) -> bool {
        self.says_anew(|note| one.report.notes.iter().all(|known| known != note))
    }

    fn says_anew(&self, is_new: impl Fn(&str) -> bool) -> bool {
        let lines = &self.report.not_understood;
        lines.count > 0
            || !lines.doubts.is_empty()
            || lines.ends_within.is_some()
            || lines.ends_within_record.is_some()
            || self.report.notes.iter().any(|note| is_new(note))
    }
}

/// Reads texts as one profile, with the options of a case: as its format, if the case names it.
pub fn read(case: &Case, inputs: &[&[u8]]) -> Result<Reading, String> {
    read_as(case.named.as_deref(), &case.options, inputs)
}

/// Reads texts as one profile.
pub fn read_as(format: Option<&str>, options: &CollapseOptions, inputs: &[&[u8]]) -> Result<Reading, String> {
    let format = format.map(|name| registry::by_name(name).expect("the test names a format"));
    let sources: Vec<Source> = inputs.iter().map(|bytes| Source::bytes(bytes.to_vec())).collect();
    let mut table = StackTable::default();
    // One thread is enough, and leaves the other processors to other tests.
    let options = CollapseOptions { threads: 1, ..options.clone() };
    let report = collapse(&sources, format, &options, &mut table).map_err(|e| e.to_string())?;
    let mut out = Vec::new();
    table.write(&mut out).map_err(|e| e.to_string())?;
    Ok(Reading { folded: String::from_utf8_lossy(&out).into_owned(), report })
}

/// The first stacks in which two folded texts differ.
pub fn difference(found: &str, expected: &str) -> String {
    let pair = found.lines().map(Some).chain([None]).zip(expected.lines().map(Some).chain([None]));
    match pair.into_iter().find(|(found, expected)| found != expected) {
        Some((found, expected)) => format!("{found:?} instead of {expected:?}"),
        None => "more or fewer stacks".to_owned(),
    }
}
