//! A folder of results, so that the work is done once for each recording.
//!
//! An entry is folded text in frame order, and behind it one comment line of JSON:
//!
//! ```text
//! main;parse 42
//! # fg-collapse-cache: {"key":"…","length":14,"crc32":2166136261,"facts":"# unit: ns\n",…}
//! ```
//! The name of an entry is a hash of its key, and the key stands in it in full: the program and its options, the
//! path of the recording, its size, its times. Length and check sum tell a whole entry from the beginning of one.
//! Entries are made under another name and renamed, so that several programs can share a folder. Nothing in
//! it is needed: an entry that is missing, damaged or of another version is made again.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io::{self, BufWriter, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

use serde_json::{Map, Value as Json, json};

use crate::collapse::{Report, Value, ValueTotal};
use crate::error::{Error, Position, Result};
use crate::input::Source;
use crate::profile::header;
use crate::weight::Weight;

/// The version of the entries, in their keys.
const VERSION: u32 = 2;
/// The beginning of the line behind the stacks.
const MARK: &str = "# fg-collapse-cache: ";
/// The longest such line.
const LONGEST_LINE: u64 = 1 << 20;
/// The names of entries that are being made.
const UNFINISHED: &str = ".fg-";
/// A recording that was changed so shortly ago may change again and keep its time.
const SETTLED: Duration = Duration::from_secs(1);
/// An unfinished entry of this age was left by a program that was killed.
const LEFT: Duration = Duration::from_secs(24 * 60 * 60);
/// The room that a file takes at least.
const FILE: u64 = 4096;

/// The folder.
pub(crate) struct Cache {
    folder: PathBuf,
    /// The most bytes that entries may take together.
    limit: u64,
    /// The program, its version and its options.
    maker: String,
    has_new: AtomicBool,
    /// The first error of writing.
    trouble: Mutex<Option<Error>>,
}

/// The facts of a result beside its stacks.
#[derive(Debug, Default)]
pub(crate) struct Saved {
    /// Of a recording that was read without complaint.
    pub report: Report,
    /// The labels that were asked for and that its samples have.
    pub known: Vec<String>,
    /// The number of samples without a number to weigh them by.
    pub left_out: u64,
}

impl Cache {
    /// Opens a folder, or makes it. `options` describes everything that the result depends on beside the
    /// recording.
    ///
    /// # Errors
    /// The system's, with the folder's name.
    pub(crate) fn open(folder: &Path, limit: u64, options: &str) -> Result<Cache> {
        fs::create_dir_all(folder)
            .map_err(|e| Error::io("make the folder", e).at(Position::file(folder.to_string_lossy())))?;
        // Two builds of one version may read differently.
        let program = std::env::current_exe().and_then(fs::metadata).ok();
        let program = program.map(|kind| (kind.len(), kind.modified().ok().map(nanos)));
        let version = env!("CARGO_PKG_VERSION");
        Ok(Cache {
            folder: folder.to_owned(),
            limit,
            maker: format!("{VERSION} {version} {program:?} {options}"),
            has_new: AtomicBool::new(false),
            trouble: Mutex::new(None),
        })
    }

    /// The key of a recording as it is now, read with these particulars. `None` if it cannot have an entry:
    /// it is no plain file, or was changed just now.
    pub(crate) fn key(&self, path: &Path, particulars: &str) -> Option<String> {
        let path = path.canonicalize().ok()?;
        let kind = fs::metadata(&path).ok().filter(fs::Metadata::is_file)?;
        let modified = kind.modified().ok()?;
        if !modified.elapsed().is_ok_and(|age| age >= SETTLED) {
            return None;
        }
        let path = path.as_os_str().as_encoded_bytes().escape_ascii();
        let (size, modified) = (kind.len(), nanos(modified));
        Some(format!("{} {particulars} {size} {modified} {:?} {path}", self.maker, identity(&kind)))
    }

    fn path(&self, key: &str) -> PathBuf {
        let hash = |salt: u8| {
            let mut hasher = DefaultHasher::new();
            (salt, key).hash(&mut hasher);
            hasher.finish()
        };
        let name = format!("{:016x}{:016x}.folded", hash(0), hash(1));
        self.folder.join(&name[..2]).join(name)
    }

    /// The entry of a key: its stacks, which are folded text in frame order, and what else is known.
    pub(crate) fn load(&self, key: &str) -> Option<(Source, Saved)> {
        let path = self.path(key);
        let mut file = File::open(&path).ok()?;
        let saved = read_entry(&mut file, key)?;
        // Those that are used are removed last. Once a day is exact enough, and costs little.
        let age = file.metadata().and_then(|kind| kind.modified()).ok()?.elapsed();
        if age.is_ok_and(|age| age > LEFT) {
            let touched = File::options().append(true).open(&path);
            let _ = touched.and_then(|file| file.set_modified(SystemTime::now()));
        }
        Some((Source::path(path), saved))
    }

    /// Makes the entry of a key; `write` writes its stacks. A folder that cannot be written to is only slow.
    pub(crate) fn store(&self, key: &str, saved: &Saved, write: impl FnOnce(&mut dyn Write) -> Result<()>) {
        match self.try_store(key, saved, write) {
            Ok(()) => self.has_new.store(true, Ordering::Relaxed),
            Err(e) => {
                self.trouble.lock().expect("no thread panics").get_or_insert(e);
            }
        }
    }

    fn try_store(
        &self,
        key: &str,
        saved: &Saved,
        write: impl FnOnce(&mut dyn Write) -> Result<()>,
    ) -> Result<()> {
        let path = self.path(key);
        let folder = path.parent().unwrap_or(&self.folder);
        let failed = |e| Error::io("write the cache", e).at(Position::file(self.folder.to_string_lossy()));
        fs::create_dir_all(folder).map_err(failed)?;
        let file = tempfile::Builder::new().prefix(UNFINISHED).tempfile_in(folder).map_err(failed)?;
        let mut out = Checked { out: BufWriter::new(&file), crc: flate2::Crc::new(), length: 0 };
        write(&mut out)?;
        let line = format!("{MARK}{}\n", saved.to_json(key, out.length, out.crc.sum()));
        if line.len() as u64 > LONGEST_LINE {
            return Ok(());
        }
        out.out.write_all(line.as_bytes()).map_err(failed)?;
        out.out.flush().map_err(failed)?;
        drop(out);
        file.persist(path).map_err(|e| failed(e.error))?;
        Ok(())
    }

    /// Removes the entries that were not used for the longest time, until the others are within the limit.
    /// Returns the first error of writing entries.
    pub(crate) fn finish(&self) -> Option<Error> {
        if self.has_new.load(Ordering::Relaxed) {
            self.trim();
        }
        self.trouble.lock().expect("no thread panics").take()
    }

    fn trim(&self) {
        let mut entries: Vec<(SystemTime, PathBuf, u64)> = Vec::new();
        let folders = fs::read_dir(&self.folder).into_iter().flatten().flatten();
        for folder in folders.filter(|folder| folder.file_name().len() == 2) {
            for entry in fs::read_dir(folder.path()).into_iter().flatten().flatten() {
                let Ok(kind) = entry.metadata() else { continue };
                let Ok(used) = kind.modified() else { continue };
                let name = entry.file_name();
                let name = name.to_string_lossy();
                if name.starts_with(UNFINISHED) {
                    if used.elapsed().is_ok_and(|age| age > LEFT) {
                        let _ = fs::remove_file(entry.path());
                    }
                } else if name.ends_with(".folded") {
                    entries.push((used, entry.path(), kind.len().max(FILE)));
                }
            }
        }
        entries.sort();
        let mut size: u64 = entries.iter().map(|(.., size)| size).sum();
        for (_, path, own) in entries {
            if size <= self.limit {
                break;
            }
            // Another program may have been faster.
            let _ = fs::remove_file(path);
            size -= own;
        }
    }
}

/// Nanoseconds since 1970; times before that are equal.
fn nanos(time: SystemTime) -> u128 {
    time.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_nanos()
}

/// The numbers that tell a file from another one of the same name, size and time.
#[cfg(unix)]
fn identity(kind: &fs::Metadata) -> impl std::fmt::Debug {
    use std::os::unix::fs::MetadataExt;
    (kind.dev(), kind.ino(), kind.ctime(), kind.ctime_nsec())
}

#[cfg(not(unix))]
fn identity(_: &fs::Metadata) -> impl std::fmt::Debug {}

/// A writer that knows the length and the check sum of what it wrote.
struct Checked<W> {
    out: W,
    crc: flate2::Crc,
    length: u64,
}

impl<W: Write> Write for Checked<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.crc.update(&bytes[..count]);
        self.length += count as u64;
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads an entry and checks it from its first byte to its last.
fn read_entry(file: &mut File, key: &str) -> Option<Saved> {
    let end = file.metadata().ok()?.len();
    let from = end.saturating_sub(LONGEST_LINE);
    file.seek(SeekFrom::Start(from)).ok()?;
    let mut tail = Vec::new();
    Read::by_ref(file).take(LONGEST_LINE).read_to_end(&mut tail).ok()?;
    let line = tail.strip_suffix(b"\n")?;
    let start = memchr::memrchr(b'\n', line).map_or(0, |at| at + 1);
    let length = from + start as u64;
    let line: Json = serde_json::from_slice(line[start..].strip_prefix(MARK.as_bytes())?).ok()?;
    if line["key"] != key || line["length"] != length {
        return None;
    }
    let mut crc = flate2::Crc::new();
    if from == 0 {
        crc.update(&tail[..start]);
    } else {
        file.rewind().ok()?;
        let mut rest = Read::by_ref(file).take(length);
        let mut block = vec![0; 128 * 1024];
        loop {
            match rest.read(&mut block).ok()? {
                0 => break,
                count => crc.update(&block[..count]),
            }
        }
    }
    if line["crc32"] != crc.sum() {
        return None;
    }
    Saved::from_json(&line)
}

impl Saved {
    fn to_json(&self, key: &str, length: u64, crc: u32) -> Json {
        let Report { values, order, first_value, facts, notes, details, .. } = &self.report;
        let value = |(value, total): (&Value, &ValueTotal)| {
            json!([value.name, value.unit, total.samples, total.weight.to_string(), total.kept])
        };
        let mut line = Map::new();
        for (name, json) in [
            ("key", json!(key)),
            ("length", json!(length)),
            ("crc32", json!(crc)),
            ("facts", json!(header::write(facts))),
            ("values", values.iter().map(value).collect()),
            ("order", json!(order)),
            ("first", json!(first_value)),
            ("notes", json!(notes)),
            ("details", json!(details)),
            ("known", json!(self.known)),
            ("left_out", json!(self.left_out)),
        ] {
            line.insert(name.into(), json);
        }
        Json::Object(line)
    }

    fn from_json(line: &Json) -> Option<Saved> {
        let bytes = |json: &Json| {
            let numbers = json.as_array()?.iter();
            numbers.map(|byte| u8::try_from(byte.as_u64()?).ok()).collect::<Option<Vec<u8>>>()
        };
        let texts = |json: &Json| {
            let texts = json.as_array()?.iter();
            texts.map(|text| Some(text.as_str()?.to_owned())).collect::<Option<Vec<String>>>()
        };
        let value = |json: &Json| {
            let unit = match &json[1] {
                Json::Null => None,
                unit => Some(unit.as_str()?.to_owned().into()),
            };
            let weight = Weight::parse(json[3].as_str()?.as_bytes())?;
            let total = ValueTotal { samples: json[2].as_u64()?, weight, kept: json[4].as_bool()? };
            Some((Value { name: bytes(&json[0])?, unit }, total))
        };
        let values: Option<BTreeMap<Value, ValueTotal>> =
            line["values"].as_array()?.iter().map(value).collect();
        let first_value = match &line["first"] {
            Json::Null => None,
            first => Some(bytes(first)?),
        };
        let report = Report {
            values: values?,
            order: line["order"].as_array()?.iter().map(bytes).collect::<Option<_>>()?,
            first_value,
            facts: header::read(line["facts"].as_str()?.as_bytes()).ok()?,
            notes: texts(&line["notes"])?,
            details: texts(&line["details"])?,
            ..Report::default()
        };
        Some(Saved { report, known: texts(&line["known"])?, left_out: line["left_out"].as_u64()? })
    }
}
