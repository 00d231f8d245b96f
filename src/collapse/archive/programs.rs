//! The programs in an archive: a bundle of a recording and of what names its code, as `fg-record --bundle`
//! writes it.
//!
//! They are unpacked into a temporary folder, which stands for the root of the recorded system while the
//! recordings behind them are read. An archive without a folder `.build-id` is no bundle, and its programs are
//! left alone.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::Options;
use super::unpacked::Unpacked;
use crate::error::{Error, Position, Result, some_of};
use crate::input::Input;
use crate::symbolize::bundle::{CACHE, LARGEST, cached_place, place_by_path};

/// The programs of an archive.
#[derive(Default)]
pub(super) struct Programs {
    folder: Option<Unpacked>,
    is_bundle: bool,
    /// The number of files, and of those behind the first recording.
    files: usize,
    late: usize,
    has_recording: bool,
    bytes: u64,
    too_large: Vec<String>,
}

impl Programs {
    /// Returns true if there were none.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// The folder that stands for the root of the recorded system.
    pub fn symfs(&self) -> Option<&Path> {
        self.folder.as_ref().map(Unpacked::path)
    }

    /// A recording is read: what comes behind it is too late.
    pub fn begin_recording(&mut self) {
        self.has_recording = true;
    }

    /// Unpacks a file that names code; gives back any other.
    ///
    /// # Errors
    /// A damaged archive, and errors of the system.
    pub fn take(&mut self, member: &str, input: Input, options: &Options) -> Result<Option<Input>> {
        let cached = cached_place(member);
        self.is_bundle |= cached.is_some() || member.split('/').any(|part| part == CACHE);
        let place = match cached {
            None if self.is_bundle && names_code(member, input.head()) => place_by_path(Path::new(member)),
            None if self.is_bundle && is_explanation(member) => return Ok(None),
            Some(place) => place,
            None => return Ok(Some(input)),
        };
        self.files += 1;
        self.late += usize::from(self.has_recording);
        // Whoever names a folder wants the files that are in it.
        if options.symfs.is_none() && !self.has_recording {
            self.unpack(member, &place, input)?;
        }
        Ok(None)
    }

    fn unpack(&mut self, member: &str, place: &Path, input: Input) -> Result<()> {
        let name = input.name().clone();
        let failed = |e| Error::io("unpack it", e).or_at(|| Position::file(name.clone()));
        let folder = match &mut self.folder {
            Some(folder) => folder,
            none => none.insert(Unpacked::new("fg-bundle-").map_err(failed)?),
        };
        let Some(mut file) = folder.create(place).map_err(failed)? else { return Ok(()) };
        let left = LARGEST - self.bytes;
        let copied = io::copy(&mut input.into_reader().take(left + 1), &mut file).map_err(failed)?;
        if copied > left {
            fs::remove_file(folder.path().join(place)).map_err(failed)?;
            self.too_large.push(member.to_owned());
        } else {
            self.bytes += copied;
        }
        Ok(())
    }

    /// The notes of what was not used.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        if self.late > 0 {
            notes.push(format!(
                "files of programs come behind the recording in the archive, and name nothing ({}); unpack it, and \
                 name its folder with --symfs",
                self.late
            ));
        }
        if !self.too_large.is_empty() {
            let gigabytes = LARGEST >> 30;
            notes.push(format!(
                "the archive's programs are larger than {gigabytes} GB; left out: {}",
                some_of(&self.too_large)
            ));
        }
        notes
    }
}

/// Returns true for a program or library, and for a file in which a process has described code it made.
fn names_code(member: &str, head: &[u8]) -> bool {
    let file = member.rsplit('/').next().unwrap_or(member);
    let is_of_process = |before: &str, behind: &str| {
        let pid = file.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind));
        pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|b| b.is_ascii_digit()))
    };
    head.starts_with(b"\x7fELF") || is_of_process("perf-", ".map") || is_of_process("jit-", ".dump")
}

/// Returns true for the text that explains a bundle.
fn is_explanation(member: &str) -> bool {
    Path::new(member).ends_with(Path::new(CACHE).join("README"))
}

#[cfg(test)]
mod tests {
    use super::super::Archive;
    use super::*;
    use crate::collapse::kit::archive::tests::tar;
    use crate::collapse::tests::collapse_bytes;

    const PLACE: &str = ".build-id/8a/2f00112233445566778899aabbccddeeff0011/elf";

    fn taken(programs: &mut Programs, member: &str, content: &[u8], options: &Options) -> bool {
        let input = Input::new(member, Box::new(io::Cursor::new(content.to_vec()))).unwrap();
        programs.take(member, input, options).unwrap().is_none()
    }

    #[test]
    fn files_of_a_bundle_are_unpacked_and_stay_in_their_folder() {
        let (mut programs, options) = (Programs::default(), Options::default());
        assert!(!taken(&mut programs, "app", b"\x7fELF", &options), "it is no bundle yet");
        assert!(!taken(&mut programs, "tmp/perf-7.map", b"1 2 f", &options));
        assert!(programs.is_empty() && programs.symfs().is_none());
        assert!(taken(&mut programs, ".build-id/README", b"text", &options));
        for (member, content) in [
            (PLACE, &b"first"[..]),
            (PLACE, b"second"),
            ("../../home/app", b"\x7fELF"),
            ("/tmp/perf-7.map", b"1 2 f"),
        ] {
            assert!(taken(&mut programs, member, content, &options), "{member}");
        }
        for member in ["perf.data", "home/app.c", "tmp/perf-.map", "jit-x.dump"] {
            assert!(!taken(&mut programs, member, b"PERFILE2", &options), "{member}");
        }
        let symfs = programs.symfs().unwrap();
        let read = |place: &str| fs::read(symfs.join(place)).unwrap();
        assert_eq!((read(PLACE), read("home/app")), (b"first".to_vec(), b"\x7fELF".to_vec()));
        assert_eq!(read("tmp/perf-7.map"), b"1 2 f");
        assert!(programs.notes().is_empty());
        let folder = symfs.to_owned();
        drop(programs);
        assert!(!folder.exists());
    }

    #[test]
    fn what_is_not_used_is_told() {
        let (mut programs, options) = (Programs::default(), Options::default());
        programs.bytes = LARGEST - 4;
        assert!(taken(&mut programs, PLACE, b"12345", &options));
        assert!(!programs.symfs().unwrap().join(PLACE).exists(), "one byte too many");
        assert!(programs.notes()[0].contains(PLACE), "{:?}", programs.notes());
        programs.begin_recording();
        assert!(taken(&mut programs, PLACE, b"1", &options));
        assert!(programs.notes()[0].contains("name nothing (1)"), "{:?}", programs.notes());
        // The user's folder goes before.
        let (mut programs, options) =
            (Programs::default(), Options { symfs: Some("/".into()), ..Options::default() });
        assert!(taken(&mut programs, PLACE, b"1", &options) && programs.symfs().is_none());
        let error = collapse_bytes(&Archive, tar(&[(PLACE, b"1")]), &Options::default()).unwrap_err();
        assert!(error.to_string().contains("name their folder with --symfs"), "{error}");
    }
}
