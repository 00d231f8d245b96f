//! The programs in an archive: a bundle of a recording and of what names its code, as `fg-record --bundle`
//! writes it.
//!
//! They are unpacked into a temporary folder, which stands for the root of the recorded system while the
//! recordings behind them are read. An archive without a folder `.build-id` is no bundle, and its programs are
//! left alone.

use std::fs;
use std::io::{self, Read};
use std::path::Path;

use super::CollapseOptions;
use super::unpacked::Unpacked;
use crate::error::{Error, Position, Result, some_of};
use crate::input::{Input, StoredBytes};
use crate::symbolize::bundle::{CACHE, LARGEST, cached_place, place_by_path};

/// Programs shrink to a tenth of their size at most, without holes: more than that of zeros would only fill the disk.
const RATIO: u64 = 32;
/// The bytes that are unpacked at once.
const PIECE: u64 = 1 << 20;
/// The bytes that any archive may unpack to.
const ANY: u64 = 16 << 20;

/// The programs of an archive.
#[derive(Default)]
pub(super) struct Programs {
    /// The bytes of the archive that were read.
    stored: StoredBytes,
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
    /// Counts the bytes of the archive itself by this.
    pub fn count(&mut self, archive: &Input) {
        self.stored = archive.stored();
    }

    /// Returns true if there were none.
    pub fn is_empty(&self) -> bool {
        self.files == 0
    }

    /// The folder that stands for the root of the recorded system.
    pub fn symfs(&self) -> Option<&Path> {
        self.folder.as_ref().map(Unpacked::path)
    }

    /// A recording has been read: a program behind it comes too late.
    pub fn begin_recording(&mut self) {
        self.has_recording = true;
    }

    /// Unpacks a file that names code; gives back any other.
    ///
    /// # Errors
    /// A damaged archive, and errors of the system.
    pub fn take(&mut self, member: &str, input: Input, options: &CollapseOptions) -> Result<Option<Input>> {
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
        let mut reader = input.into_reader();
        let mut copied = 0;
        // The archive is read as the program is unpacked: the room grows with it.
        while copied <= left(&self.stored, self.bytes) {
            let piece = io::copy(&mut (&mut reader).take(PIECE), &mut file).map_err(failed)?;
            copied += piece;
            if piece < PIECE {
                break;
            }
        }
        let left = left(&self.stored, self.bytes);
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
                "the archive's programs are larger than {gigabytes} GB, or than {RATIO} times the archive; left out: {}; \
                 unpack it, and name its folder with --symfs",
                some_of(&self.too_large)
            ));
        }
        notes
    }
}

/// The bytes that programs may still take, of an archive of which so much was read.
fn left(stored: &StoredBytes, unpacked: u64) -> u64 {
    LARGEST.min(ANY + RATIO * stored.get()).saturating_sub(unpacked)
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

    fn taken(programs: &mut Programs, member: &str, content: &[u8], options: &CollapseOptions) -> bool {
        let input = Input::new(member, Box::new(io::Cursor::new(content.to_vec()))).unwrap();
        programs.take(member, input, options).unwrap().is_none()
    }

    #[test]
    fn files_of_a_bundle_are_unpacked_and_stay_in_their_folder() {
        let (mut programs, options) = (Programs::default(), CollapseOptions::default());
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

    /// A bundle of a hundred kilobytes wrote hundreds of megabytes to the folder for temporary files.
    #[test]
    fn a_small_archive_fills_no_disk() {
        use std::io::Write;
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        packed.write_all(&tar(&[(PLACE, &vec![0; 3 * ANY as usize])])).unwrap();
        let packed = packed.finish().unwrap();
        let archive = Input::new("a.tar.gz", Box::new(io::Cursor::new(packed.clone()))).unwrap();
        let mut programs = Programs::default();
        programs.count(&archive);
        let mut members = crate::collapse::kit::archive::Members::new(archive);
        let (member, input) = members.next().unwrap().unwrap();
        assert!(programs.take(&member, input, &CollapseOptions::default()).unwrap().is_none());
        assert!(ANY + RATIO * (packed.len() as u64) < 2 * ANY, "{}", packed.len());
        assert!(programs.bytes == 0 && !programs.symfs().unwrap().join(PLACE).exists());
        assert!(programs.notes()[0].contains("than 32 times the archive"), "{:?}", programs.notes());
    }

    #[test]
    fn what_is_not_used_is_told() {
        let (mut programs, options) = (Programs::default(), CollapseOptions::default());
        programs.bytes = ANY - 4;
        assert!(taken(&mut programs, PLACE, b"12345", &options));
        assert!(!programs.symfs().unwrap().join(PLACE).exists(), "one byte too many");
        assert!(programs.notes()[0].contains(PLACE), "{:?}", programs.notes());
        programs.begin_recording();
        assert!(taken(&mut programs, PLACE, b"1", &options));
        assert!(programs.notes()[0].contains("name nothing (1)"), "{:?}", programs.notes());
        // The user's folder goes before.
        let (mut programs, options) =
            (Programs::default(), CollapseOptions { symfs: Some("/".into()), ..CollapseOptions::default() });
        assert!(taken(&mut programs, PLACE, b"1", &options) && programs.symfs().is_none());
        let error = collapse_bytes(&Archive, tar(&[(PLACE, b"1")]), &CollapseOptions::default()).unwrap_err();
        assert!(error.to_string().contains("name their folder with --symfs"), "{error}");
    }
}
