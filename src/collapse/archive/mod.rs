//! Zip and tar archives of recordings: what a CI job keeps, what a colleague sends.
//!
//! The recordings in an archive are one profile, as if each had been named on the command line. Their formats
//! are told one by one; files that are no recordings are left out and said. An archive within an archive is
//! opened as well. Members are read as they stream by, from pipes too, and none is held in memory. The programs
//! of a bundle ([`programs`]) come before its recordings.

#[cfg_attr(not(feature = "perf-data"), path = "no_programs.rs")]
mod programs;
#[cfg(feature = "perf-data")]
mod unpacked;

use self::programs::Programs;
use crate::collapse::formats::very_sleepy;
use crate::collapse::kit::archive::{Members, is_packed};
use crate::collapse::{
    Certainty, CollapseOptions, Collapser, FormatInfo, Reading, Report, Sink, Tested, collapse_input,
};
use crate::error::{Error, ErrorKind, Position, Result, some_of};
use crate::input::{Input, known_folder};
use crate::profile::Facts;
use crate::weight::Weight;

/// The name of the format.
pub const NAME: &str = "archive";

const INFO: FormatInfo = FormatInfo {
    name: NAME,
    producer: "zip, tar: archives of recordings in any of these formats",
    tested: Tested::Seen("Info-ZIP 3.0, GNU tar 1.34, Python's zipfile and tarfile"),
    values: "the recordings'",
    unit: "the recordings'",
};

/// Archives within archives: a CI's zip of a tar of a zip is three.
const DEEPEST: usize = 4;

/// The most files of an archive. A compressed one of empty files stays small.
const MOST: u64 = 100_000;

/// Collapses the recordings in an archive.
pub struct Archive;

impl Collapser for Archive {
    fn info(&self) -> &'static FormatInfo {
        &INFO
    }

    fn detect(&self, head: &[u8]) -> Certainty {
        Certainty::of_magic(is_archive(head))
    }

    fn collapse(
        &self,
        input: Input,
        reading: &Reading<'_>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        *report = collapse_members(input, None, reading, sink)?;
        Ok(())
    }
}

/// Returns whether the first bytes are those of an archive of recordings; a zip archive may be a recording itself.
pub fn is_archive(head: &[u8]) -> bool {
    is_packed(head) && !very_sleepy::is_capture(head)
}

/// Collapses the recordings in an archive, whose format is told by content, or named.
///
/// # Errors
/// A damaged archive, one without any recording, and the errors of reading a recording.
pub fn collapse_members(
    input: Input,
    format: Option<&'static dyn Collapser>,
    reading: &Reading<'_>,
    sink: &mut dyn Sink,
) -> Result<Report> {
    let mut report = Report::default();
    let place = Position::file(input.name().clone());
    let mut recordings = Recordings {
        format,
        reading,
        files: 0,
        found: 0,
        left_out: Vec::new(),
        refusal: None,
        programs: Programs::default(),
    };
    recordings.programs.count(&input);
    let mut parts = Vec::new();
    recordings.read(input, 1, &mut parts, sink, &mut report)?;
    let Recordings { found, left_out, refusal, programs, .. } = recordings;
    if found == 0 {
        let what = match programs.is_empty() {
            true => "no recordings in the archive".to_owned(),
            false => "files of programs, and no recording; unpack them, and name their folder with --symfs"
                .to_owned(),
        };
        if let Some(known) = left_out.iter().find_map(|member| known_folder(member)) {
            return Err(Error::new(known, place));
        }
        return Err(refusal.unwrap_or_else(|| Error::new(ErrorKind::Empty { what }, place)));
    }
    programs.notes().into_iter().for_each(|note| report.note(note));
    if !left_out.is_empty() {
        let noun = if left_out.len() == 1 { "file in the archive is" } else { "files in the archive are" };
        report.note(format!("{} {noun} no recording: {}", left_out.len(), some_of(&left_out)));
    }
    report.merge_facts(&parts);
    Ok(report)
}

/// The recordings of an archive, and of those within it.
struct Recordings<'o> {
    format: Option<&'static dyn Collapser>,
    reading: &'o Reading<'o>,
    files: u64,
    found: usize,
    /// The names of files that are no recordings.
    left_out: Vec<String>,
    /// The error of the first file that is known, but not read, or else of the first that is not known.
    refusal: Option<Error>,
    /// The files that name the recordings' code.
    programs: Programs,
}

impl Recordings<'_> {
    fn read(
        &mut self,
        input: Input,
        depth: usize,
        parts: &mut Vec<Facts>,
        sink: &mut dyn Sink,
        report: &mut Report,
    ) -> Result<()> {
        let name = input.name().clone();
        if depth > DEEPEST {
            let expected = format!("at most {DEEPEST} archives within each other");
            return Err(Error::malformed(expected, b"more").at(Position::file(name)));
        }
        let mut members = Members::new(input);
        while let Some((member, input)) = members.next()? {
            self.files += 1;
            if self.files > MOST {
                let expected = format!("at most {MOST} files in an archive");
                return Err(Error::malformed(expected, b"more").at(Position::file(name)));
            }
            if is_clutter(&member) {
                continue;
            }
            if is_archive(input.head()) {
                self.read(input, depth + 1, parts, sink, report)?;
                continue;
            }
            let Some(input) = self.programs.take(&member, input, self.reading)? else { continue };
            let told = match self.format {
                Some(_) if input.head().is_empty() => Err(ErrorKind::Empty { what: "empty".into() }.into()),
                Some(format) => Ok(format),
                None => super::format_of(&input),
            };
            if let Err(refusal) = told {
                let is_known = |error: &Error| matches!(error.kind(), ErrorKind::KnownUnsupported { .. });
                if self.refusal.as_ref().is_none_or(|before| !is_known(before) && is_known(&refusal)) {
                    self.refusal = Some(refusal);
                }
                self.left_out.push(member);
                continue;
            }
            let place = input.name().clone();
            self.programs.begin_recording();
            let own;
            let options = match self.programs.symfs() {
                Some(symfs) => {
                    own = CollapseOptions { symfs: Some(symfs.to_owned()), ..self.reading.options.clone() };
                    &own
                }
                None => self.reading.options,
            };
            let first_value = report.first_value.clone().or_else(|| self.reading.first_value.clone());
            let is_one_of_several = self.reading.is_one_of_several || self.found > 0;
            let reading = Reading { options, first_value, is_one_of_several };
            let of_this = collapse_input(input, self.format, &reading, sink)?;
            report.take_part(of_this, parts, (place, Weight::ONE), options)?;
            self.found += 1;
        }
        Ok(())
    }
}

/// Returns whether a file is one that a system adds to archives unasked.
fn is_clutter(member: &str) -> bool {
    let name = member.rsplit('/').next().unwrap_or(member);
    member.starts_with("__MACOSX/") || name.starts_with("._") || name == ".DS_Store"
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;
    use crate::collapse::kit::archive::tests::{tar, zip_of};
    use crate::collapse::tests::{collapse_bytes, fold};

    #[test]
    fn the_recordings_of_an_archive_are_one_profile() {
        let inner = tar(&[("deep/c.txt", b"main;h 4\n")]);
        let files: &[(&str, &[u8])] = &[
            ("a.txt", b"main;f 1\n"),
            ("README", b"hello there\n"),
            ("__MACOSX/._a", b"main;f 9\n"),
            ("b/inner.tar", &inner),
        ];
        let zipped = zip_of(files);
        for archive in [tar(files), zipped] {
            assert_eq!(Archive.detect(&archive), Certainty::Magic);
            let (out, report) = collapse_bytes(&Archive, &archive, &CollapseOptions::default()).unwrap();
            assert_eq!(out, "main;f 1\nmain;h 4\n");
            assert_eq!(report.notes, ["1 file in the archive is no recording: README"]);
        }
    }

    #[test]
    fn an_archive_without_recordings_says_why() {
        let error = |files: &[(&str, &[u8])]| {
            collapse_bytes(&Archive, tar(files), &CollapseOptions::default()).unwrap_err().to_string()
        };
        let memray = error(&[("README", b"hello there\n"), ("x.bin", b"memray\0\0\0\0")]);
        assert!(memray.contains("test/x.bin") && memray.contains("memray"), "{memray}");
        assert!(error(&[]).contains("no recordings in the archive"));
        let instruments =
            error(&[("app.trace/form.template", b"bplist00"), ("app.trace/Trace1.run/x", b"y")]);
        assert!(
            instruments.contains("Instruments") && instruments.contains("xctrace export"),
            "{instruments}"
        );
        let mut nested = tar(&[("a", b"main;f 1\n")]);
        for _ in 0..DEEPEST {
            nested = tar(&[("x\n.tar", &nested)]);
        }
        let error = collapse_bytes(&Archive, &nested, &CollapseOptions::default()).unwrap_err().to_string();
        assert!(error.contains("at most 4 archives") && !error.contains('\n'), "{error}");
    }

    #[test]
    fn a_named_format_is_that_of_the_recordings() {
        let archive = tar(&[("a", b"1 2\n")]);
        let input = Input::new("test", Box::new(io::Cursor::new(archive))).unwrap();
        let mut table = crate::folded::StackTable::default();
        let folded = crate::collapse::registry::by_name("folded").unwrap();
        collapse_input(input, Some(folded), &Reading::alone(&CollapseOptions::default()), &mut table)
            .unwrap();
        assert_eq!(table.len(), 1);
        assert_eq!(fold(&Archive, tar(&[("a", b"a;b 2\n")]), &CollapseOptions::default()), "a;b 2\n");
    }
}
