//! `fg-diff --history`: a run is judged by the runs before it, and added to them.

use std::collections::BTreeSet;
use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;

use super::{Diff, expect_one_stdin};
use crate::cli::progress;
use crate::diff::ReportOptions;
use crate::diff::history::{Entry, History};
use crate::error::{Error, Position};
use crate::input::Source;
use crate::reading;
use crate::render::Format;

/// The file in the folder.
const FILE: &str = "history.tsv";

/// The options of a history.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "History")]
pub struct HistoryArgs {
    /// Compare the runs FILE with those in DIR/history.tsv since their last lasting change, by functions
    ///
    /// The file has a line for each function of each run, and grows: git can keep and merge it.
    #[arg(long, value_name = "DIR", conflicts_with_all = ["before", "after", "before_time", "after_time", "label", "weight_by", "by"])]
    pub history: Option<PathBuf>,
    /// Add the runs to the history, as those of commit ID
    #[arg(long, value_name = "ID", requires = "history")]
    pub commit: Option<String>,
    /// The machine of the runs, which are compared with those of the same one if there are three
    /// (default: the host that the recording names)
    #[arg(long, value_name = "NAME", requires = "history")]
    pub machine: Option<String>,
    /// List the commits at which the whole or a function changed for good; with -o FILE.html, draw them in a page
    #[arg(long, requires = "history", conflicts_with_all = ["files", "form", "gate", "gate_file", "commit"])]
    pub trend: bool,
}

/// The two sides of a comparison with a history.
pub(super) struct Sides {
    pub before: Vec<Source>,
    pub after: Vec<Source>,
    /// The lines to add when the comparison is done.
    pub addition: Addition,
}

/// Lines for the history.
pub(super) struct Addition {
    path: PathBuf,
    lines: Option<String>,
}

impl Addition {
    /// Adds them, if a commit was named.
    pub(super) fn write(self) -> anyhow::Result<()> {
        let Some(lines) = self.lines else { return Ok(()) };
        let add = || {
            self.path.parent().map_or(Ok(()), fs::create_dir_all)?;
            let mut file = OpenOptions::new().create(true).append(true).open(&self.path)?;
            let header = History::header(file.metadata()?.len());
            // In one write, so that two programs do not mix their lines.
            file.write_all(format!("{header}{lines}").as_bytes())
        };
        let place = || Position::file(self.path.to_string_lossy());
        add().map_err(|e| Error::io("add to the history", e).at(place()).into())
    }
}

impl Diff {
    /// The sides: runs of the history, and those of the files.
    pub(super) fn sides_of_history(&self, folder: &Path) -> anyhow::Result<Sides> {
        let path = folder.join(FILE);
        let history = read(&path)?;
        if self.files.is_empty() {
            bail!("no runs to judge: give their recordings, or --trend (see --help)");
        }
        let reading = self.reading.read_options(self.quiet).places(false);
        let sources: Vec<Source> = self.files.iter().map(Source::new).collect();
        expect_one_stdin(&sources)?;
        let mut profiles = Vec::with_capacity(sources.len());
        for (source, file) in sources.into_iter().zip(&self.files) {
            let read = reading::read(&[source], &reading);
            progress::end();
            let (profile, report) = read?;
            self.judge_not_understood(&report.not_understood)?;
            report.notes.iter().for_each(|note| self.say_note(Some(&format!("{}: {note}", file.display()))));
            profiles.push(profile);
        }
        let new = Entry::of(&profiles, self.history.commit.as_deref().unwrap_or_default(), self.machine())?;
        let like = history.like(&new.unit, &new.machine);
        let before = like.since_change(self.options().alpha);
        let known: BTreeSet<Vec<u8>> =
            before.iter().chain([&new]).flat_map(|entry| entry.weights.keys().cloned()).collect();
        let source = |entry: &Entry| -> crate::Result<Source> {
            Ok(Source::bytes(entry.folded(&known)?).named(format!("{} {}", entry.commit, entry.time)))
        };
        let after = profiles.iter().zip(&self.files).map(|(profile, file)| {
            let entry = Entry::of(std::slice::from_ref(profile), "", self.machine())?;
            Ok(Source::bytes(entry.folded(&known)?).named(file.to_string_lossy().into_owned()))
        });
        let lines = self.history.commit.is_some().then(|| new.lines());
        Ok(Sides {
            before: before.iter().map(source).collect::<crate::Result<_>>()?,
            after: after.collect::<crate::Result<_>>()?,
            addition: Addition { path, lines },
        })
    }

    fn machine(&self) -> Option<&str> {
        self.history.machine.as_deref()
    }

    /// Says that there is nothing to compare with yet.
    pub(super) fn say_first(&self, folder: &Path) {
        let added = match self.history.commit {
            Some(_) => "it has these now",
            None => "--commit ID adds these",
        };
        self.say_note(Some(&format!(
            "{}: no runs like these to compare with; {added}",
            folder.join(FILE).display()
        )));
    }

    /// Writes the changes for good.
    pub(super) fn write_trend(&self, folder: &Path) -> anyhow::Result<()> {
        let path = folder.join(FILE);
        let all = read(&path)?;
        if all.entries.is_empty() {
            bail!(
                "{}: no runs in it; fg-diff --history {} --commit ID FILE adds some",
                path.display(),
                folder.display()
            );
        }
        let ReportOptions { alpha, min_effect, .. } = self.options();
        let format =
            self.output.output.as_deref().and_then(|path| Format::by_ending(&path.to_string_lossy()));
        if format.is_some_and(|format| format.name == "html") {
            let mut output = self.output.open()?;
            output.write_all(all.trend_page(alpha, min_effect / 100.0)?.as_bytes()).map_err(Error::from)?;
            output.finish()?;
            return Ok(());
        }
        let mut output = self.output.open()?.showing_controls();
        let lines = all.trend_lines(alpha, min_effect / 100.0)?;
        for line in &lines {
            writeln!(output, "{line}").map_err(Error::from)?;
        }
        output.finish()?;
        if lines.is_empty() {
            let runs = all.entries.len();
            self.say_note(Some(&format!("{}: no lasting change in {runs} entries", path.display())));
        }
        Ok(())
    }
}

fn read(path: &Path) -> anyhow::Result<History> {
    let text = match fs::read_to_string(path) {
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => String::new(),
        text => text.map_err(|e| Error::io("read", e).at(Position::file(path.to_string_lossy())))?,
    };
    Ok(History::read(&text, &path.to_string_lossy())?)
}
