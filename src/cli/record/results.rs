//! The results of a recording: the formats that a profile is written in, and where.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};

use clap::Args;

use super::{Record, ending};
use crate::cli::hidden::Hidden;
use crate::cli::output::Output;
use crate::cli::render::{ExplicitOptions, PictureArgs, write_files};
#[cfg(feature = "tui")]
use crate::cli::render::{OutputArgs, TerminalArgs, show};
use crate::cli::{Tool, browser};
use crate::collapse::CollapseOptions;
use crate::error::{Error, ErrorKind};
use crate::profile::{Facts, Profile};
use crate::reading::{Opened, ReadOptions};
use crate::render::{Format, Settings};

/// The page that `--open` shows when no picture was asked for.
const PAGE: &str = "fg-record.html";

/// The files and formats of the results.
#[derive(Args, Debug, Default)]
#[command(next_help_heading = "Results")]
pub struct ResultArgs {
    /// Write to FILE in the format of its ending: .svg, .html, .pb.gz, .json, .folded and all
    /// others of fg-render, which draws with more options; without an ending, or for -, folded text.
    /// Repeatable. COMMAND then keeps its standard output, which otherwise goes to standard error
    #[arg(short, long, value_name = "FILE")]
    pub output: Vec<PathBuf>,

    /// Draw a flame graph into FILE, whatever its ending: the old name of -o FILE.svg
    #[arg(long, hide = true, value_name = "FILE")]
    pub svg: Option<PathBuf>,

    /// Write a page to explore the profile in to FILE, whatever its ending: the old name of -o FILE.html
    #[arg(long, hide = true, value_name = "FILE")]
    pub html: Option<PathBuf>,

    /// Open the page or picture in the browser; without one, write fg-record.html and open that
    #[arg(long)]
    pub open: bool,

    /// Explore the profile here in the terminal: a flame graph, a table, callers and callees
    #[cfg(feature = "tui")]
    #[arg(long, conflicts_with_all = ["output", "svg", "html", "open"])]
    pub tui: bool,

    /// Leave out the header: comments such as `# command: ./app`
    #[arg(long)]
    pub no_header: bool,

    /// The options that were given: before the group that has them.
    #[command(flatten)]
    pub given: ExplicitOptions,

    /// The options for pictures; last, as their headings hold for all that follows.
    #[command(flatten)]
    pub picture: Hidden<PictureArgs>,
}

/// The use of the profile of a recording.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    /// It is written as the options say.
    Write,
    /// It is compared with others.
    Compare,
}

/// An output: its file, or standard output, and its format.
pub(super) type Destination<'a> = (Option<&'a Path>, &'static Format);

/// The format of folded text.
fn folded() -> &'static Format {
    Format::by_ending("a.folded").expect("folded text has this ending")
}

impl ResultArgs {
    /// The outputs, none of them opened yet.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`] for an ending that no format has, and for a file that is named twice.
    fn destinations(&self) -> Result<Vec<Destination<'_>>, Error> {
        let setting = |what: String| Err(Error::setting(what));
        let mut all: Vec<Destination<'_>> = Vec::new();
        for path in &self.output {
            all.push(match path {
                path if path == Path::new("-") => (None, folded()),
                path => (Some(path), format_of(path)?),
            });
        }
        for (path, name) in [(self.svg.as_deref(), "svg"), (self.html.as_deref(), "html")] {
            if let Some(path) = path {
                all.push((Some(path), Format::by_name(name)?));
            }
        }
        if self.open && browser::preferred(&all).is_none() {
            all.push((Some(Path::new(PAGE)), Format::by_name("html")?));
        }
        if all.is_empty() {
            all.push((None, folded()));
        }
        for (n, (path, _)) in all.iter().enumerate() {
            if all[..n].iter().any(|(other, _)| other == path) {
                let name = path.map_or_else(|| "standard output".into(), Path::to_string_lossy);
                return setting(format!("the output {name} is named twice"));
            }
        }
        Ok(all)
    }

    /// The options for reading a recording that is collapsed with `options`.
    pub(super) fn reading(&self, options: CollapseOptions, profile: Use) -> ReadOptions {
        let destinations = self.destinations().unwrap_or_default();
        let formats = destinations.iter().map(|(_, format)| *format);
        let samples = self.picture.needs_samples(formats) || profile == Use::Compare;
        ReadOptions::default().collapse(options).samples(samples)
    }

    /// Returns true if folded text goes to standard output.
    pub(super) fn use_stdout(&self) -> bool {
        !self.names_files() || self.output.iter().any(|path| path == Path::new("-"))
    }

    /// Returns true if the profile is wanted in a file, in the browser, or in the terminal.
    pub(super) fn names_files(&self) -> bool {
        let named = [self.svg.is_some(), self.html.is_some(), self.open, self.is_shown_here()];
        !self.output.is_empty() || named.contains(&true)
    }

    /// Checks that all outputs can be written, before there is something to lose; `are_dated` if their names and
    /// folders are made later.
    ///
    /// # Errors
    /// Those of the outputs.
    pub(super) fn check(&self, are_dated: bool) -> Result<(), Error> {
        if self.is_shown_here() {
            if !std::io::stdout().is_terminal() {
                let what = "--tui needs a terminal to draw in; -o out.txt does not".to_owned();
                return Err(Error::setting(what));
            }
            return Ok(());
        }
        let destinations = self.destinations()?;
        let formats: Vec<&Format> = destinations.iter().map(|(_, format)| *format).collect();
        self.given.check_picture(&formats)?;
        if are_dated {
            return Ok(());
        }
        // A device or a pipe may be opened once only.
        let is_plain = |path: &Path| path.metadata().map_or(true, |kind| kind.is_file() || kind.is_dir());
        let plain = destinations.iter().filter_map(|(path, _)| path.filter(|path| is_plain(path)));
        let outputs = plain.map(|path| Output::new(Some(path))).collect::<Result<Vec<_>, _>>()?;
        Output::refuse_same_file(&outputs)
    }

    /// Writes a profile to all outputs, or shows it, and opens the page or picture in the browser.
    pub(super) fn write(
        &self,
        profile: Profile,
        on_failure: OnFailure,
        end: End,
        talk: &mut dyn FnMut(String),
    ) -> anyhow::Result<()> {
        let mut settings = self.picture.settings(&mut |error| {
            talk(format!("{error}; left out"));
            Ok(())
        })?;
        settings.header = !self.no_header;
        let facts = profile.facts().clone();
        let input = Opened::Profile(Box::new(profile), Box::default());
        let wants_stdout = |error: &anyhow::Error| {
            let kind = error.downcast_ref::<Error>().map(Error::kind);
            self.use_stdout() && matches!(kind, Some(ErrorKind::Io { .. }))
        };
        match self.write_opened(&input, &settings, end, &facts) {
            Err(error)
                if on_failure == OnFailure::Keep || on_failure == OnFailure::Save && wants_stdout(&error) =>
            {
                Err(save(&input, &settings, error))
            }
            written => written,
        }
    }

    fn write_opened(
        &self,
        input: &Opened,
        settings: &Settings,
        end: End,
        facts: &Facts,
    ) -> anyhow::Result<()> {
        if self.is_shown_here() {
            return self.show(input, settings.clone());
        }
        let destinations = self.destinations()?;
        // Folded text is not for a terminal, unless -o - asks for it.
        let to_person = !self.names_files() && std::io::stdout().is_terminal();
        let written = match to_person {
            true => ending::table(input, settings)?,
            false => write_files(input, &destinations, settings)?,
        };
        if written.is_empty() {
            anyhow::bail!(match self.picture.stacks.base.is_empty() {
                true => "there is nothing to draw: all frames are too narrow",
                false => "no stacks with the frame that --base names",
            });
        }
        let is_watched = std::io::stdout().is_terminal();
        if end == End::Summary && (is_watched || self.names_files() && !self.use_stdout()) {
            if is_watched && !to_person && !self.use_stdout() {
                ending::table(input, settings)?;
            }
            let files: Vec<&Path> = destinations.iter().filter_map(|(path, _)| *path).collect();
            ending::say_sum(facts, &files);
        }
        if let Some(path) = browser::preferred(&destinations).filter(|_| self.open) {
            browser::open(Record::NAME, path);
        }
        Ok(())
    }

    /// Returns true if the profile is shown in the terminal.
    pub(super) fn is_shown_here(&self) -> bool {
        #[cfg(feature = "tui")]
        return self.tui;
        #[cfg(not(feature = "tui"))]
        false
    }

    #[cfg(feature = "tui")]
    fn show(&self, input: &Opened, mut settings: Settings) -> anyhow::Result<()> {
        settings.terminal = TerminalArgs::default().find(&OutputArgs::default());
        show(input, &settings, |_| {})?;
        Ok(())
    }

    #[cfg(not(feature = "tui"))]
    fn show(&self, _: &Opened, _: Settings) -> anyhow::Result<()> {
        Ok(())
    }
}

/// The last words of a recording on a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// A line that sums up, and on a terminal a table of functions.
    Summary,
    /// None: something else follows, or nothing is to be said.
    Silent,
}

/// The action after a profile could not be written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OnFailure {
    /// Save it in a file.
    Save,
    /// Save it in a file, whatever it was wanted for: there is no recording from which it could be made
    /// again.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    Keep,
    /// Report the error: somebody else has the recording, the recorder that runs as root on Linux.
    #[cfg_attr(not(target_os = "linux"), allow(dead_code))]
    Report,
}

/// The error of a profile that was saved elsewhere than where it was wanted.
#[derive(Debug)]
pub(super) struct Saved {
    why: String,
    path: PathBuf,
}

impl std::fmt::Display for Saved {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}; it is saved in {}", self.why, self.path.display())
    }
}

impl std::error::Error for Saved {}

/// Saves a profile that could not be written to standard output, and returns the error that says so.
fn save(input: &Opened, settings: &Settings, error: anyhow::Error) -> anyhow::Error {
    let why = match error.downcast_ref::<Error>().is_some_and(Error::is_broken_pipe) {
        true => "nobody reads the profile any more".to_owned(),
        false => format!("{error:#}"),
    };
    for folder in [PathBuf::new(), std::env::temp_dir()] {
        let path = unused(&folder, "folded");
        if write_files(input, &[(Some(&path), folded())], settings).is_ok() {
            return Saved { why, path }.into();
        }
    }
    anyhow::anyhow!("{why}, and it could not be saved in another file")
}

/// A name in a folder that no file has: `fg-record-PID.folded`.
pub(super) fn unused(folder: &Path, ending: &str) -> PathBuf {
    let name = format!("fg-record-{}", std::process::id());
    let names = std::iter::once(format!("{name}.{ending}"));
    let mut paths = names.chain((2..).map(|n| format!("{name}-{n}.{ending}"))).map(|name| folder.join(name));
    paths.find(|path| path.symlink_metadata().is_err()).expect("numbers do not end")
}

/// The format of a file by its ending; without an ending folded text.
pub(super) fn format_of(path: &Path) -> Result<&'static Format, Error> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let ending = match (Format::by_ending(&name), path.extension()) {
        (Some(format), _) => return Ok(format),
        (None, None) => return Ok(folded()),
        // A device has no format of its own.
        (None, Some(_)) if path.metadata().is_ok_and(|it| !it.is_file()) => return Ok(folded()),
        (None, Some(ending)) => ending.to_string_lossy(),
    };
    let what = match &*ending {
        "data" => "no format has files that end in .data; --raw writes the recording itself".to_owned(),
        ending => Format::no_such_ending(ending),
    };
    Err(Error::setting(what))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_that_is_taken_gets_a_number() {
        let folder = tempfile::tempdir().expect("a folder");
        let first = unused(folder.path(), "out");
        std::fs::write(&first, "x").expect("a file");
        let second = unused(folder.path(), "out");
        let number = std::process::id();
        assert_eq!(first, folder.path().join(format!("fg-record-{number}.out")));
        assert_eq!(second, folder.path().join(format!("fg-record-{number}-2.out")));
    }
}
