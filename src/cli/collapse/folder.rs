//! `-r`: folders of recordings.

use std::fs::Metadata;
use std::io::{BufWriter, Seek, Write};
#[cfg(feature = "parquet")]
use std::path::Path;
use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use super::{Collapse, size};
use crate::cli::render::write_files;
use crate::cli::{Exit, Tool, progress, say};
use crate::collapse::CollapseOptions;
use crate::error::{Error, ErrorKind, Position, some_of};
use crate::input::Source;
use crate::profile::{Label, header};
use crate::reading::Opened;
use crate::reading::folder::{self, Cache, Folders, Found, PathPattern, Request};
use crate::reading::merge::Merged;
use crate::render::Settings;
use crate::weight::Weight;

/// The options of folders.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Folders")]
pub struct FolderArgs {
    /// Read all recordings in the folders FILE, of any formats, as one profile; without FILE those in the
    /// current folder
    ///
    /// A file that cannot be read is named and left out, and the exit status is 1; `--strict` stops at the
    /// first one. Weights in another unit than those of the first file are left out likewise. Links, and
    /// names that begin with a dot, are passed over. Several files are read at the same time; the result
    /// does not depend on how many.
    #[arg(short, long, conflicts_with_all = ["list_values", "list_labels"])]
    pub recursive: bool,

    /// Take labels from the path below FILE, where `--label` asks for them:
    /// `--label service,host --path-pattern '{service}/*/{host}/*.pb.gz'`
    ///
    /// `{name}` is one or more characters between two slashes, `*` any characters between them, `**/` any
    /// number of folders. A file whose path does not fit is named and left out. Labels of the path
    /// come before those of the recording.
    #[arg(long, value_name = "PATTERN", requires = "recursive")]
    pub path_pattern: Option<String>,

    /// Add the recordings to a fleet's store of Parquet in DIR: a row for each stack of each value; writes no stacks
    ///
    /// A recording that is there already is passed over, so that the command can be repeated as recordings come.
    /// Labels are those of --path-pattern, and of recordings those that --label asks for; the day is the label
    /// `day`, a date in the path, or that of the last change. A file that cannot be read is named once, until it
    /// changes, and the exit status is 1 then; with --strict each time. `fg-fleet` asks the store: see docs/fleet.md.
    #[cfg(feature = "parquet")]
    #[arg(long, value_name = "DIR", requires = "recursive", conflicts_with_all = ["output", "cache", "weight_by", "scale", "all_values", "value"])]
    pub store: Option<PathBuf>,

    /// Keep the result for each file in DIR, and read a file again only if it or the options changed
    ///
    /// Symbols are looked up once: remove DIR after debug information was installed.
    #[arg(long, value_name = "DIR", requires = "recursive")]
    pub cache: Option<PathBuf>,

    /// Remove results that were not used for the longest time from --cache beyond SIZE
    #[arg(long, value_name = "SIZE", default_value = "10G", value_parser = size)]
    pub cache_size: usize,
}

impl Collapse {
    /// Collapses folders of recordings.
    pub(super) fn run_folder(&self) -> anyhow::Result<Exit> {
        #[cfg(feature = "parquet")]
        if let Some(store) = &self.folder.store {
            return self.add_to_store(store);
        }
        let format = self.output.exchange_format();
        // A place that cannot be written to is an error before anything is read.
        let output = format.is_none().then(|| self.output.open_folded()).transpose()?;
        let request = self.folder_request()?;
        let mut found = self.find_recordings();
        let sources = found.recordings.iter().map(|recording| recording.source.clone()).collect();
        for (recording, source) in found.recordings.iter_mut().zip(self.scale.apply(sources)?) {
            recording.source = source;
        }
        if self.strict && !found.errors.is_empty() {
            return Err(found.errors.swap_remove(0).into());
        }
        let read = folder::read(&found.recordings, &request);
        progress::end();
        let read = read?;
        for (reject, others) in by_reason(found.errors.iter().chain(&read.rejects)) {
            match others {
                0 => say(Self::NAME, reject),
                others => say(Self::NAME, format_args!("{reject}; {others} more like it")),
            }
        }
        if !self.quiet {
            self.describe(&read.sums.report);
            self.describe_folder(&found, &read);
        }
        if !read.has_samples {
            let what = match read.rejects.len() {
                0 => "no samples in it".to_owned(),
                rejects => format!("no samples in it: none of {rejects} files could be read"),
            };
            let root =
                self.input.files.first().map_or("the current folder".into(), |root| root.to_string_lossy());
            return Err(Error::new(ErrorKind::Empty { what }, Position::file(&*root)).into());
        }
        let stacks = match (output, format) {
            (Some(mut output), _) => {
                let stacks = write(&read.sums, !self.no_header, &mut output)?;
                output.finish()?;
                stacks
            }
            (None, format) => {
                // The sums may be larger than memory, and writers of other formats read folded text.
                let mut file = tempfile::tempfile().map_err(|e| Error::io("make a temporary file", e))?;
                let mut text = BufWriter::new(&mut file);
                let stacks = write(&read.sums, true, &mut text)?;
                text.flush().map_err(|e| Error::io("write a temporary file", e))?;
                drop(text);
                file.rewind().map_err(|e| Error::io("read a temporary file", e))?;
                let input = Opened::Folded(vec![Source::file("the sums", file)]);
                let files: Vec<_> =
                    format.into_iter().map(|format| (self.output.output.as_deref(), format)).collect();
                write_files(&input, &files, &Settings::default())?;
                stacks
            }
        };
        if let Some(trouble) = request.cache.as_ref().and_then(Cache::finish)
            && !self.quiet
        {
            say(Self::NAME, trouble);
        }
        if self.verbose {
            let kept = read.sums.report.values.values().filter(|total| total.kept).map(|total| total.weight);
            let total = kept.into_iter().try_fold(Weight::ZERO, Weight::checked_add)?;
            say(Self::NAME, format_args!("{stacks} stacks, total weight {total}"));
        }
        let is_whole = read.rejects.is_empty() && found.errors.is_empty();
        Ok(if is_whole { Exit::Yes } else { Exit::No })
    }

    /// Adds folders of recordings to a store.
    #[cfg(feature = "parquet")]
    fn add_to_store(&self, root: &Path) -> anyhow::Result<Exit> {
        use crate::store;
        let pattern = self.folder.path_pattern.as_deref().map(PathPattern::parse).transpose()?;
        let is_recorded = |label: &&Label| !pattern.as_ref().is_some_and(|pattern| pattern.has(label.key()));
        let recorded: Vec<Label> = self.labels.label.iter().filter(is_recorded).cloned().collect();
        let mut reading = self.options.read_options(true).samples(!recorded.is_empty());
        reading = reading.time_frames(recorded.is_empty());
        reading.format.clone_from(&self.input_format);
        let progress = reading.collapse.progress.take();
        let found = self.find_recordings();
        let request = store::Request { reading, pattern, recorded, progress };
        let added = store::Store::new(root).add(&found.recordings, &request);
        progress::end();
        let added = added?;
        for reject in found.errors.iter().chain(&added.rejects) {
            say(Self::NAME, reject);
        }
        if !self.quiet {
            let (new, there, left_out) =
                (added.added, added.there, added.rejects.len() + added.known_rejects);
            let empty = match added.empty.len() {
                0 => String::new(),
                count => format!(", {count} without samples ({})", some_of(&added.empty)),
            };
            let place = root.to_string_lossy();
            let line =
                format!("{place}: added {new} recordings, {there} there before, {left_out} left out{empty}");
            say(Self::NAME, line);
        }
        let is_bad = !found.errors.is_empty() || !added.rejects.is_empty();
        Ok(if is_bad || self.strict && added.known_rejects > 0 { Exit::No } else { Exit::Yes })
    }

    fn folder_request(&self) -> anyhow::Result<Request> {
        let pattern = self.folder.path_pattern.as_deref().map(PathPattern::parse).transpose()?;
        if let Some(label) = twice(&self.labels.label) {
            bail!("the label {label:?} was asked for twice");
        }
        let is_of_path = |label: &&Label| pattern.as_ref().is_some_and(|pattern| pattern.has(label.key()));
        let (of_path, recorded): (Vec<&Label>, Vec<&Label>) = self.labels.label.iter().partition(is_of_path);
        if let Some(pattern) = &pattern
            && of_path.is_empty()
        {
            match self.labels.label.is_empty() {
                true => bail!("--path-pattern needs --label: it has the labels {}", pattern.names()),
                false => bail!(
                    "--path-pattern has none of the labels that --label asks for, but {}",
                    pattern.names()
                ),
            }
        }
        let samples = !recorded.is_empty() || self.labels.weight_by.is_some();
        let mut reading = self.options.read_options(self.quiet).places(false).samples(samples);
        reading = reading.time_frames(!samples);
        reading.format.clone_from(&self.input_format);
        let progress = reading.collapse.progress.take();
        let options = CollapseOptions { threads: 0, ..reading.collapse.clone() };
        let cache = self.folder.cache.as_deref().map(|folder| {
            let options =
                format!("{:?} {options:?} {recorded:?} {:?}", self.input_format, self.labels.weight_by);
            Cache::open(folder, self.folder.cache_size as u64, &options)
        });
        Ok(Request {
            reading,
            path_keys: of_path.into_iter().map(|label| label.key().to_owned()).collect(),
            recorded: recorded.into_iter().cloned().collect(),
            pattern,
            weight_by: self.labels.weight_by.clone(),
            memory: self.memory,
            is_strict: self.strict,
            cache: cache.transpose()?,
            progress,
        })
    }

    /// Finds the recordings, and neither the output nor the cache.
    fn find_recordings(&self) -> Found {
        let here = [PathBuf::from(".")];
        let roots = if self.input.files.is_empty() { &here[..] } else { &self.input.files };
        let own = [
            self.output.output.as_deref(),
            self.folder.cache.as_deref(),
            #[cfg(feature = "parquet")]
            self.folder.store.as_deref(),
        ];
        let own: Vec<PathBuf> =
            own.into_iter().flatten().filter_map(|path| path.canonicalize().ok()).collect();
        let stdout = stdout_file();
        folder::find(roots, &|path, kind| {
            stdout.as_ref().is_some_and(|stdout| is_same(stdout, kind))
                || (own.iter().any(|own| own.file_name() == path.file_name())
                    && path.canonicalize().is_ok_and(|path| own.contains(&path)))
        })
    }

    fn describe_folder(&self, found: &Found, read: &Folders) {
        let rejects = read.rejects.len() + found.errors.len();
        if rejects > 0 {
            let all = read.read + rejects as u64;
            say(Self::NAME, format_args!("left out {rejects} of {all} files"));
        }
        if read.left_out > 0
            && let Some(key) = &self.labels.weight_by
        {
            say(Self::NAME, format_args!("left out {} samples without a number as {key}", read.left_out));
        }
        if !read.empty.is_empty() {
            let (count, names) = (read.empty.len(), some_of(&read.empty));
            say(Self::NAME, format_args!("{count} of {} files have no samples: {names}", read.read));
        }
        if self.verbose {
            let (passed, cached) = (found.passed_over, read.from_cache);
            say(Self::NAME, format_args!("passed over {passed} links, special files and names with a dot"));
            say(Self::NAME, format_args!("read {} files, {cached} of them from the cache", read.read));
        }
    }
}

/// The errors; of those that several files have for the same reason the first, with the number of the others.
fn by_reason<'e>(errors: impl Iterator<Item = &'e Error>) -> Vec<(&'e Error, usize)> {
    let mut found: Vec<(&Error, usize)> = Vec::new();
    for error in errors {
        let is_setting = matches!(error.kind(), ErrorKind::Setting { .. });
        let reason = error.kind().to_string();
        match found.iter_mut().find(|(first, _)| is_setting && first.kind().to_string() == reason) {
            Some((_, others)) => *others += 1,
            None => found.push((error, 0)),
        }
    }
    found
}

/// Writes the sums as folded text, and returns the number of stacks.
fn write(sums: &Merged, has_header: bool, out: &mut dyn Write) -> crate::Result<usize> {
    if has_header {
        out.write_all(header::write(&sums.report.facts).as_bytes()).map_err(Error::from)?;
    }
    sums.write(out)
}

/// A label that is given twice.
fn twice(labels: &[Label]) -> Option<&str> {
    let keys: Vec<&str> = labels.iter().map(Label::key).collect();
    keys.iter().enumerate().find(|(at, key)| keys[..*at].contains(key)).map(|(_, key)| *key)
}

/// The file that standard output goes to.
#[cfg(unix)]
fn stdout_file() -> Option<Metadata> {
    use std::os::fd::AsFd;
    let stdout = std::fs::File::from(std::io::stdout().as_fd().try_clone_to_owned().ok()?);
    stdout.metadata().ok().filter(Metadata::is_file)
}

#[cfg(not(unix))]
fn stdout_file() -> Option<Metadata> {
    None
}

#[cfg(unix)]
fn is_same(a: &Metadata, b: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

#[cfg(not(unix))]
fn is_same(_: &Metadata, _: &Metadata) -> bool {
    false
}
