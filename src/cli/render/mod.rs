//! `fg-render`: folded stacks become pictures, tables, and files for other viewers.

mod args;
mod explicit_options;
mod outputs;
mod picture_args;
mod settings;
mod terminal;
#[cfg(feature = "tui")]
mod tui;
mod values;

use std::io::{IsTerminal, stderr};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Parser;

use super::labels::LabelArgs;
use super::reading::ReadingArgs;
use super::terminal as person;
use super::{Exit, GenerateArgs, InputArgs, Tool, browser, say, say_not_understood};
use crate::collapse::Report;
use crate::error::{Error, ErrorKind, Position};
use crate::folded::{Columns, WalkSummary};
use crate::input::Source;
use crate::profile::Label;
use crate::reading::{ExchangeParts, Opened, ReadOptions, are_exchanged, open};
use crate::render::compare::Widths;
use crate::render::exchange::direct::ReadTables;
use crate::render::format::takes;
use crate::render::formats::{exchange_parts, exchanges};
use crate::render::{FORMATS, Format, Settings, Written};
#[cfg(feature = "perf-data")]
pub use args::ProgramArgs;
pub use args::{
    ChangeArgs, ColourArgs, FileArgs, InputFormatArgs, OutputArgs, Rows, SizeArgs, SourceArgs, StackArgs,
    TableArgs, TalkArgs, TerminalArgs, TextArgs,
};
pub use explicit_options::ExplicitOptions;
pub(crate) use picture_args::write_tables_file;
pub use picture_args::{PictureArgs, write_files};
#[cfg(feature = "tui")]
pub use tui::show;
#[cfg(all(feature = "tui", feature = "record", target_os = "linux"))]
pub use tui::{LiveView, Wish};

/// Draw folded stacks as a flame graph, or write them for another viewer
///
/// Reads folded text (`main;parse;lex 42`), writes an SVG to open in a browser: click to zoom,
/// Ctrl-F to search; or text, tables, and files for other viewers, several of them in one run,
/// as --format or the endings of the outputs say. Input in frame order, as fg-collapse writes it, is streamed; other input is
/// sorted first. Two weights on each line draw a differential graph: as wide as after, orange
/// where a frame and all it calls grew, blue where they shrank, grey where that may be noise.
#[derive(Parser, Debug)]
#[command(
    name = "fg-render",
    version,
    after_help = "\
Examples:
  perf script | fg-collapse | fg-render > out.svg
  fg-render out.folded               # on a terminal: in letters
  fg-render --title 'after the fix' --colors rust -o out.svg out.folded
  fg-render -o out.html out.folded   # a page with all of it, to explore
  fg-render -o out.svg -o top.md -o out.speedscope.json out.folded
  fg-render --format text out.folded
  fg-render --reverse --base malloc out.folded > who-allocates.svg
  fg-render --list '^parse' perf.data    # its source lines, with weights

Also taken: options of flamegraph.pl and inferno that change nothing here, or that few
people need: --hash --deterministic --truncate-text-right --truncate-text-left --kernel
--jit --inline --skip-after --total --factor --countname --subtitle --notes --nametype
--nameattr --height --fonttype --fontsize --fontwidth --bgcolors --random --cp --negate
--colordiffusion --search-color --uicolor --stroke-color --upright --encoding --pretty-xml.

Exit status: 0, 1 when --peek or --list matches nothing, 2 for trouble. Without
stacks 2, and an output that is as valid as any."
)]
pub struct Render {
    /// The options that were given; before all others.
    #[command(flatten)]
    pub given: ExplicitOptions,
    /// The input files.
    #[command(flatten)]
    pub input: InputArgs,
    /// The output files.
    #[command(flatten)]
    pub output: OutputArgs,
    /// About the program itself.
    #[command(flatten)]
    pub generate: GenerateArgs,
    /// The format of the input.
    #[command(flatten)]
    pub reading: InputFormatArgs,
    /// The look of a picture.
    #[command(flatten)]
    pub picture: PictureArgs,
    /// Differential input.
    #[command(flatten)]
    pub change: ChangeArgs,
    /// The rows of tables, and the frames of trees.
    #[command(flatten)]
    pub table: TableArgs,
    /// The terminal.
    #[command(flatten)]
    pub terminal: TerminalArgs,
    /// The file it is.
    #[command(flatten)]
    pub file: FileArgs,
    /// The program that a profile for compilers is of.
    #[cfg(feature = "perf-data")]
    #[command(flatten)]
    pub program: ProgramArgs,
    /// The messages on standard error.
    #[command(flatten)]
    pub talk: TalkArgs,
    /// Labels as frames and as weights.
    #[command(flatten)]
    pub labels: LabelArgs,
    /// Reading of recordings.
    #[command(flatten)]
    pub recording: ReadingArgs,
}

impl Tool for Render {
    const NAME: &'static str = "fg-render";

    fn run(self) -> anyhow::Result<Exit> {
        #[cfg(feature = "tui")]
        if self.terminal.tui {
            let takes = |option: &str| tui::TAKES.iter().any(|group| group.contains(&option));
            self.given.check("--tui", takes)?;
            let settings = self.settings()?;
            let written = show(&self.open(&self.input.sources(), &[])?, &settings, |summary| {
                self.say_left_out(summary)
            })?;
            return match written.is_empty() {
                true => Err(self.no_stacks(&written.summary).into()),
                false => Ok(Exit::Yes),
            };
        }
        let to_person = self.output.goes_to_person() && !self.output.open;
        let unnamed = match (&self.table.peek, &self.table.list) {
            (Some(_), _) => "peek",
            (None, Some(_)) => "list",
            _ if to_person => LETTERS,
            _ => FORMATS[0].name,
        };
        let mut chosen = self.output.choose(unnamed)?;
        let own_page = self.own_page(&chosen)?;
        if let Some((path, format)) = &own_page {
            // Nothing else was asked for than to see it.
            chosen.retain(|(path, _)| path.is_some());
            chosen.push((Some(path), format));
        }
        let formats: Vec<&Format> = chosen.iter().map(|(_, format)| *format).collect();
        if to_person && let Some(format) = formats.iter().find(|format| !is_readable(format)) {
            let name = format.name;
            bail!(
                "{name} is not for a terminal: -o FILE writes it into a file, -o - writes it here all the same"
            );
        }
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        let checked = self
            .given
            .check(&names.join(" and "), |option| formats.iter().any(|format| format.takes(option)));
        if to_person && self.output.format.is_none() {
            checked.context("letters are drawn on a terminal, a picture by -o out.svg")?;
        } else {
            checked?;
        }
        let settings = self.settings()?;
        let written = self.write(&chosen, &settings)?;
        self.say_left_out(&written.summary);
        if written.is_empty() {
            return Err(self.no_stacks(&written.summary).into());
        }
        if settings.keep_colours && written.summary.columns == Columns::Two {
            self.say("colours show changes in a differential graph; --cp keeps none");
        }
        self.say_no_change(&written.summary);
        self.say_drawn(&written);
        written.outputs.iter().flat_map(|finished| &finished.notes).for_each(|note| self.say(note));
        if to_person && formats[0].name == LETTERS && self.output.format.is_none() && stderr().is_terminal() {
            self.say("drawn in letters; -o out.svg draws a picture, -o out.html a page to explore");
        }
        if let Some(path) = browser::preferred(&chosen).filter(|_| self.output.open)
            && browser::open(Self::NAME, path)
            && own_page.is_some()
        {
            self.say(format_args!("opened {}; -o FILE writes it elsewhere", path.display()));
        }
        let nothing_selected = written.outputs.iter().any(|finished| finished.nothing_selected);
        Ok(if nothing_selected { Exit::No } else { Exit::Yes })
    }
}

/// The picture for a terminal.
const LETTERS: &str = "text";

/// Returns true if a person can read a format as it is.
fn is_readable(format: &Format) -> bool {
    !["svg", "html", "png", "pprof", "autofdo", "autofdo-1", "parquet"].contains(&format.name)
}

impl Render {
    /// Reads the input, and writes all outputs.
    fn write(
        &self,
        chosen: &[(Option<&Path>, &'static Format)],
        settings: &Settings,
    ) -> anyhow::Result<Written> {
        let formats: Vec<&Format> = chosen.iter().map(|(_, format)| *format).collect();
        let mut sources = self.input.sources();
        // What is written as it was read needs no profile in between.
        let is_plain = self.labels_at_the_root().is_empty() && self.labels.weight_by.is_none();
        if let [(path, format)] = chosen
            && exchanges(format)
            && settings.shows_all()
            && is_plain
        {
            let reading = self.read_options(&formats);
            person::say_waiting(Self::NAME, &sources);
            let (looked_at, are_exchanged) = are_exchanged(&sources, &reading)?;
            if are_exchanged {
                let (read, report) = ReadTables::read(&looked_at, &reading, settings)?;
                self.say_of_recording(&report);
                return Ok(write_tables_file(read, (*path, format), settings)?);
            }
            sources = looked_at;
        }
        let input = self.open(&sources, &formats)?;
        Ok(write_files(&input, chosen, settings)?)
    }

    /// The options of reading for outputs of some formats.
    fn read_options(&self, formats: &[&Format]) -> ReadOptions {
        let samples = self.picture.needs_samples(formats.iter().copied());
        let mut reading = self.recording.read_options(self.talk.quiet).samples(samples);
        reading.format = self.reading.input_format.clone();
        // A page has a menu of all values of a recording, and a table of rows has all of them.
        let is_any = |names: &[&str]| formats.iter().any(|format| names.contains(&format.name));
        reading
            .exchange(exchange_parts(formats))
            .other_values(is_any(&["html", "parquet"]))
            .each_source(self.reading.each && is_any(&["html"]))
    }

    /// Opens the input for outputs of some formats, and says what there is to say of a recording.
    fn open(&self, sources: &[Source], formats: &[&Format]) -> anyhow::Result<Opened> {
        let reading = self.read_options(formats);
        person::say_waiting(Self::NAME, sources);
        let labels = self.labels_at_the_root();
        let input = if labels.is_empty() && self.labels.weight_by.is_none() {
            open(sources, &reading)?
        } else {
            self.refuse_labels_beside(formats)?;
            if self.reading.each {
                bail!("--each does not go with --label, --weight-by and --by LABEL");
            }
            let (profile, report) =
                crate::reading::read(sources, &reading.samples(true).other_values(false))?;
            let (mut profile, note) = self.labels.weigh(profile)?;
            note.iter().for_each(|note| self.say(note));
            if !labels.is_empty() {
                profile = profile.labelled_with_samples(&labels)?;
            }
            Opened::Profile(Box::new(profile), Box::new(report))
        };
        match &input {
            Opened::Profile(_, report) => self.say_of_recording(report),
            Opened::Folded(sources) => {
                for source in sources.iter().filter(|_| self.talk.verbose) {
                    self.say(format_args!("{}: read as folded", source.name()));
                }
            }
        }
        Ok(input)
    }

    fn say_of_recording(&self, report: &Report) {
        report.notes.iter().for_each(|note| self.say(note));
        report.details.iter().filter(|_| self.talk.verbose).for_each(|detail| self.say(detail));
    }

    /// The labels that become the first frames of stacks: that of `--by` in front of those of `--label`.
    fn labels_at_the_root(&self) -> Vec<Label> {
        let mut labels = self.labels.label.clone();
        if let Some(by) = self.rows_by_label()
            && !labels.iter().any(|label| label.key() == by.key())
        {
            labels.insert(0, by.clone());
        }
        labels
    }

    /// Refuses labels as frames and as weights in formats that keep labels and values as they are.
    fn refuse_labels_beside(&self, formats: &[&Format]) -> anyhow::Result<()> {
        let keeps = |format: &&&Format| exchange_parts(&[format]) != ExchangeParts::Nothing;
        match formats.iter().find(keeps) {
            Some(format) => bail!(
                "--label and --weight-by mean nothing to {}, which keeps all labels and values",
                format.name
            ),
            None => Ok(()),
        }
    }

    /// The page or picture that `--open` shows where no output is one.
    fn own_page(
        &self,
        chosen: &[(Option<&Path>, &'static Format)],
    ) -> anyhow::Result<Option<(PathBuf, &'static Format)>> {
        if !self.output.open || browser::preferred(chosen).is_some() {
            return Ok(None);
        }
        let format = match &self.output.format {
            Some(name) if browser::SHOWN.contains(&&**name) => Format::by_name(name)?,
            Some(name) if self.output.output.is_empty() => {
                bail!("a browser does not show {name}: --open goes with {}", browser::SHOWN.join(", "))
            }
            _ => Format::by_name(browser::SHOWN[0])?,
        };
        let path = browser::own_page(&self.input.files, format.name);
        Ok(Some((path.context("no folder for the page that --open shows; -o FILE names one")?, format)))
    }

    fn no_stacks(&self, summary: &WalkSummary) -> Error {
        let sources = self.input.sources();
        let what = match summary {
            s if !s.total.before.is_zero() => "no stacks are left after: all weights there are 0",
            s if s.not_understood.count > 0 => {
                "no stacks; expected lines such as main;parse 42, run a collapser first"
            }
            s if s.negative > 0 => "no stacks with a weight above 0",
            s if s.columns == Columns::One && self.change.widths == Some(Widths::Before) => {
                "no weights before: each stack has one weight; fg-diff writes two"
            }
            _ if !self.picture.stacks.base.is_empty() => "no stacks with the frame that --base names",
            s if !s.total.value.is_zero() => "all frames are too narrow to be drawn; --minwidth 0 draws them",
            _ => "no stacks in the input: nothing was recorded, or the program before this one failed",
        };
        let error = Error::from(ErrorKind::Empty { what: what.to_owned() });
        match &sources[..] {
            [source] => error.or_at(|| Position::file(source.name())),
            _ => error,
        }
    }

    fn say(&self, message: impl std::fmt::Display) {
        if !self.talk.quiet {
            say(Self::NAME, message);
        }
    }

    fn say_left_out(&self, summary: &WalkSummary) {
        if !self.talk.quiet {
            say_not_understood(Self::NAME, &summary.not_understood);
        }
        if summary.negative > 0 {
            let count = summary.negative;
            self.say(format_args!(
                "{count} line(s) with a negative weight left out: nothing can be drawn for them"
            ));
        }
    }

    /// Names the options for a change that were given for input that tells of none.
    fn say_no_change(&self, summary: &WalkSummary) {
        let mut given = self.given.among(takes::CHANGE);
        given.extend(self.given.among(&["widths"]));
        if summary.columns == Columns::One && !given.is_empty() {
            self.say(format_args!(
                "{} changed nothing: each stack has one weight; fg-diff writes two",
                given.join(" and ")
            ));
        }
    }

    fn say_drawn(&self, written: &Written) {
        if self.talk.verbose {
            for drawn in written.outputs.iter().filter_map(|finished| finished.drawn) {
                self.say(format_args!(
                    "{} frames drawn, {} too narrow; total {}",
                    drawn.frames, drawn.left_out, drawn.total
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_declared_well() {
        <Render as clap::CommandFactory>::command().debug_assert();
    }
}
