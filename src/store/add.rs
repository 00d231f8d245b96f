//! Adds a folder of recordings to a store.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, SystemTime};

use regex::bytes::Regex;
use sha2::{Digest, Sha256};

use super::commit::Staged;
use super::known::{FileState, Known};
use super::tables::{DECIMALS, Files, Origin, Partition, PathLabels, text};
use crate::collapse::{Listener, Progress};
use crate::descriptors;
use crate::error::{Error, ErrorKind, Position, Result};
use crate::folded::Columns;
use crate::number::hex_of;
use crate::profile::{Label, Profile};
use crate::reading::ReadOptions;
use crate::reading::folder::{PathPattern, Recording};
use crate::render::parquet::table::DIGITS;
use crate::threads;

/// The descriptors of a thread: its recording, programs with their debug information, temporary files.
const DESCRIPTORS: usize = 20;

/// The wishes.
pub(crate) struct Request {
    /// The options of reading a recording.
    pub reading: ReadOptions,
    /// The pattern that every path has to fit, whose names are labels.
    pub pattern: Option<PathPattern>,
    /// The labels that are taken from the recordings themselves.
    pub recorded: Vec<Label>,
    /// The listener that is told how many recordings have been read.
    pub progress: Option<Listener>,
}

/// The result.
#[derive(Default)]
pub(crate) struct Added {
    /// The number of recordings that were added.
    pub added: usize,
    /// The number of those that were there before, and of copies.
    pub there: usize,
    /// The names of those without samples, which are noted and not read again.
    pub empty: Vec<String>,
    /// Files that could not be read and were not known as such, in the order of days, services and paths.
    pub rejects: Vec<Error>,
    /// The number of files that could not be read before either, and have not changed.
    pub known_rejects: usize,
}

/// A file, and what its path tells.
struct Planned<'r> {
    recording: &'r Recording,
    state: FileState,
    labels: PathLabels,
    service: Option<String>,
    day: String,
    /// Its path does not fit the pattern.
    misfit: Option<String>,
}

/// A recording that was read.
enum Outcome {
    /// It is in the store.
    There,
    /// Its values, and what identifies it.
    Read { values: Box<Values>, content: String, message: Option<String> },
    /// It cannot be read.
    Reject(Error),
}

/// The values of a recording, the default first; none without samples.
#[derive(Default)]
struct Values {
    /// As they were read.
    read: Option<Profile>,
    /// With the labels that were asked for.
    labelled: Vec<Profile>,
}

impl Values {
    fn each(&self) -> impl Iterator<Item = &Profile> {
        let others = self.read.iter().flat_map(Profile::other_values);
        self.read.iter().chain(others).chain(&self.labelled)
    }
}

/// A store, which remembers what it has from one addition to the next.
pub(crate) struct Store {
    root: PathBuf,
    known: Known,
}

impl Store {
    /// The store in a folder, which is made when something is added.
    pub(crate) fn new(root: &Path) -> Store {
        Store { root: root.to_owned(), known: Known::default() }
    }

    /// Adds the recordings that are not in the store yet as one run.
    ///
    /// # Errors
    /// The system's in the folder of the store.
    pub(crate) fn add(&mut self, recordings: &[Recording], request: &Request) -> Result<Added> {
        loop {
            self.known.update(&self.root)?;
            if let Some(added) = try_add(&self.root, recordings, request, &mut self.known)? {
                return Ok(added);
            }
            // Another program has added a run meanwhile, and its recordings may be the same.
        }
    }
}

/// Adds a run. `None` if it was written in vain: the store has changed.
fn try_add(
    root: &Path,
    recordings: &[Recording],
    request: &Request,
    known: &mut Known,
) -> Result<Option<Added>> {
    let mut planned: Vec<Planned<'_>> = recordings.iter().map(|one| plan(one, request)).collect();
    planned.sort_by(|a, b| (&a.day, &a.service, &a.state.0).cmp(&(&b.day, &b.service, &b.state.0)));
    let mut run = Run {
        staged: Staged::begin(root)?,
        files: None,
        partition: None,
        contents: HashSet::new(),
        name: Sha256::new(),
        added: Added::default(),
    };
    let threads = threads::count(request.reading.collapse.threads);
    let workers = threads.min(descriptors::share(1, DESCRIPTORS)).clamp(1, planned.len().max(1));
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let result = threads::in_order(
        workers,
        planned.len(),
        |at| {
            let outcome = read(&planned[at], request, known);
            if let Some(listener) = &request.progress {
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                listener.tell(Progress::Files(done as u64, planned.len() as u64));
            }
            outcome
        },
        &mut |outcome| run.take(&planned[next.fetch_add(1, Ordering::Relaxed)], outcome, known),
    );
    result?;
    run.finish(root, known)
}

/// The labels, the day and the service that the path of a recording tells.
fn plan<'r>(recording: &'r Recording, request: &Request) -> Planned<'r> {
    let place = recording.path.as_deref().map(|path| std::path::absolute(path).unwrap_or(path.to_owned()));
    let shown = place.as_deref().unwrap_or(Path::new("-")).as_os_str().as_encoded_bytes();
    let owned = |bytes: &[u8]| String::from_utf8_lossy(&text(bytes)).into_owned();
    let kind = place.as_deref().and_then(|place| fs::metadata(place).ok());
    let modified = kind.as_ref().and_then(|kind| kind.modified().ok());
    let nanos = modified.and_then(|at| at.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
    let size = kind.map_or(0, |kind| kind.len());
    let state = (owned(shown), size as i64, i64::try_from(nanos.as_nanos()).unwrap_or_default());
    let labels = match &request.pattern {
        Some(pattern) => pattern.labels(&recording.relative),
        None => Ok(Vec::new()),
    };
    let (labels, misfit) = match labels {
        Ok(labels) => (labels, None),
        Err(error) => (Vec::new(), Some(error.to_string())),
    };
    let labels: PathLabels = labels.into_iter().map(|(key, value)| (key, owned(&value))).collect();
    let find = |wanted: &str| labels.iter().find(|(key, _)| key == wanted).map(|(_, value)| value.clone());
    let service = ["service", "service.name", "service_name"].iter().find_map(|key| find(key));
    let day = find("day").and_then(|day| day_in(day.as_bytes())).or_else(|| day_in(shown));
    let day = day.unwrap_or_else(|| day_of(nanos));
    Planned { recording, state, labels, service, day, misfit }
}

/// A date in a path, as `2026-11-21`: `2026-11-21`, `2026/11/21` or `20261121`.
fn day_in(path: &[u8]) -> Option<String> {
    static DAY: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?-u)(?:\A|[^0-9])(20\d\d)[-/]?(0[1-9]|1[0-2])[-/]?(0[1-9]|[12]\d|3[01])(?:[^0-9]|\z)")
            .expect("it is one")
    });
    let found = DAY.captures(path)?;
    let part = |at| String::from_utf8_lossy(&found[at]).into_owned();
    Some(format!("{}-{}-{}", part(1), part(2), part(3)))
}

fn day_of(since_1970: Duration) -> String {
    let shown = humantime::format_rfc3339_seconds(SystemTime::UNIX_EPOCH + since_1970).to_string();
    shown.split('T').next().unwrap_or_default().to_owned()
}

/// Reads one recording.
fn read(planned: &Planned<'_>, request: &Request, known: &Known) -> Outcome {
    if known.files.contains(&planned.state) {
        return Outcome::There;
    }
    let position = || Position::file(planned.recording.source.name());
    match read_values(planned, request, known) {
        Ok(outcome) => outcome,
        Err(error) => Outcome::Reject(error.or_at(position)),
    }
}

fn read_values(planned: &Planned<'_>, request: &Request, known: &Known) -> Result<Outcome> {
    if let Some(what) = planned.misfit.clone() {
        return Err(Error::setting(what));
    }
    let content = content(planned)?;
    if known.contents.contains(&content) {
        return Ok(Outcome::There);
    }
    let mut options = request.reading.clone();
    options.collapse.threads = 1;
    let sources = [planned.recording.source.clone()];
    let (profile, report) = match crate::reading::read(&sources, &options.other_values(true)) {
        Ok(read) => read,
        Err(error) if matches!(error.kind(), ErrorKind::Empty { .. }) => {
            let message = Some("no samples in it".to_owned());
            return Ok(Outcome::Read { values: Box::default(), content, message });
        }
        Err(error) => return Err(error),
    };
    if profile.columns() == Columns::Two {
        let what = "a differential profile, with two weights on each line, is no recording".to_owned();
        return Err(Error::setting(what));
    }
    let mut values = Values::default();
    if request.recorded.is_empty() {
        values.read = Some(profile);
    } else {
        for value in std::iter::once(&profile).chain(profile.other_values()) {
            values.labelled.push(value.labelled_where_known(&request.recorded)?);
        }
    }
    for value in values.each() {
        let twice =
            value.facts().labels.iter().find(|key| planned.labels.iter().any(|(known, _)| known == *key));
        if let Some(key) = twice {
            let what = format!("the label {key} is in the path and in the recording");
            return Err(Error::setting(what));
        }
        for (_, weights) in value.stacks().stacks() {
            let steps = weights.value.in_steps(DECIMALS)?;
            if steps.unsigned_abs() >= 10u128.pow(DIGITS) {
                return Err(ErrorKind::Overflow.into());
            }
        }
    }
    let message = (!report.notes.is_empty()).then(|| report.notes.join("\n"));
    Ok(Outcome::Read { values: Box::new(values), content, message })
}

/// The hash of a recording's bytes and labels: a copy under another name is no other recording.
fn content(planned: &Planned<'_>) -> Result<String> {
    let mut hash = Sha256::new();
    if let Some(path) = planned.recording.path.as_deref().filter(|path| path.is_file()) {
        let mut file = File::open(path).map_err(|e| Error::io("open", e))?;
        let mut block = vec![0; 1 << 16];
        loop {
            let read = file.read(&mut block).map_err(|e| Error::io("read", e))?;
            if read == 0 {
                break;
            }
            hash.update(&block[..read]);
        }
    } else {
        // The folder of `perf record --threads`, or standard input.
        hash.update(format!("{:?}", planned.state));
    }
    for (key, value) in &planned.labels {
        hash.update(format!("\0{key}={value}"));
    }
    Ok(hex_of(&hash.finalize()))
}

/// A run that is being written.
struct Run {
    staged: Staged,
    files: Option<Files>,
    /// The day and service whose files are open.
    partition: Option<(String, Option<String>, Partition)>,
    /// The hashes of the recordings that this run has added.
    contents: HashSet<String>,
    name: Sha256,
    added: Added,
}

impl Run {
    fn take(&mut self, planned: &Planned<'_>, outcome: Outcome, known: &Known) -> Result<()> {
        let (path, size, modified) = &planned.state;
        let mut origin = Origin {
            day: &planned.day,
            service: planned.service.as_deref(),
            labels: &planned.labels,
            path,
            size: *size,
            modified: *modified,
            content: "",
            message: None,
        };
        match outcome {
            Outcome::There => self.added.there += 1,
            Outcome::Reject(_) if known.rejects.contains(&planned.state) => self.added.known_rejects += 1,
            Outcome::Reject(error) => {
                self.name.update(format!("{:?}", planned.state));
                let message = error.to_string();
                self.files()?.reject(&origin, &String::from_utf8_lossy(&text(message.as_bytes())))?;
                self.added.rejects.push(error);
            }
            Outcome::Read { content, .. } if self.contents.contains(&content) => self.added.there += 1,
            Outcome::Read { values, content, message } => {
                self.name.update(&content);
                origin.content = &content;
                origin.message = message.as_deref();
                if values.each().next().is_none() {
                    self.added.empty.push(planned.recording.source.name().to_string());
                    self.files()?.add(&Profile::builder().finish()?, &origin)?;
                } else {
                    self.added.added += 1;
                }
                for value in values.each() {
                    self.partition(planned)?.add(value, &origin)?;
                    self.files()?.add(value, &origin)?;
                }
                self.contents.insert(content);
            }
        }
        Ok(())
    }

    fn files(&mut self) -> Result<&mut Files> {
        if self.files.is_none() {
            self.files = Some(Files::begin(&self.staged)?);
        }
        Ok(self.files.as_mut().expect("it was begun"))
    }

    /// The files of a day and service. Recordings come in this order.
    fn partition(&mut self, planned: &Planned<'_>) -> Result<&mut Partition> {
        let is_open = self
            .partition
            .as_ref()
            .is_some_and(|(day, service, _)| (day, service) == (&planned.day, &planned.service));
        if !is_open {
            if let Some((.., before)) = self.partition.take() {
                before.finish()?;
            }
            let begun = Partition::begin(&self.staged, &planned.day, planned.service.as_deref())?;
            self.partition = Some((planned.day.clone(), planned.service.clone(), begun));
        }
        Ok(&mut self.partition.as_mut().expect("it was begun").2)
    }

    /// Ends the files, and moves the run into its place.
    fn finish(mut self, root: &Path, known: &mut Known) -> Result<Option<Added>> {
        if let Some((.., partition)) = self.partition.take() {
            partition.finish()?;
        }
        let Some(files) = self.files.take() else { return Ok(Some(self.added)) };
        files.finish()?;
        let name = hex_of(&self.name.finalize())[..16].to_owned();
        let is_done = self.staged.commit(&name, || Ok(!known.update(root)?))?;
        Ok(is_done.then_some(self.added))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_date_in_a_path_is_its_day() {
        for path in ["a/2026-11-21/x", "a/2026/11/21/x", "a/x-20261121.pb.gz", "2026-11-21"] {
            assert_eq!(day_in(path.as_bytes()).as_deref(), Some("2026-11-21"), "{path}");
        }
        for path in ["a/2026-13-21/x", "a/120261121", "a/202611211", "a"] {
            assert_eq!(day_in(path.as_bytes()), None, "{path}");
        }
        assert_eq!(day_of(Duration::from_secs(86_400 * 365)), "1971-01-01");
    }
}
