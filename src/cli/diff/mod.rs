//! `fg-diff`: its options, and what it says on standard error.

mod args;
mod history;

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Parser;

pub use args::{FormArgs, GateArgs, Gates, NameArgs, ScaleArgs, SortKey, TestArgs};
pub use history::HistoryArgs;

use super::labels::LabelArgs;
use super::output::{Output, OutputArgs};
use super::reading::ReadingArgs;
use super::render::write_files;
use super::{Exit, GenerateArgs, Tool, progress, say, say_not_understood, signals, terminal};
use crate::diff::plan::Plan;
use crate::diff::prepared::Prepared;
use crate::diff::recording::{Recording, SidePart};
use crate::diff::side::Side;
use crate::diff::stream::write_line;
use crate::diff::{
    FormatOptions, Gate, Interrupts, Normalize, Note, NoteKind, Outcome, Report, ReportFormat, ReportOptions,
    Verdict,
};
use crate::error::Error;
use crate::folded::NotUnderstood;
use crate::input::Source;
use crate::printable::printable;
use crate::profile::{Facts, Profile, TimeRange, header, units};
use crate::reading::Opened;
use crate::render::compare::Comparison;
use crate::render::{Format, Settings};
use crate::weight::Weight;

/// Totals that differ by more than this ratio are worth a warning.
const UNLIKE: f64 = 1.2;
/// The help of the output, which says more than that of tools that only write one format.
const OUTPUT_HELP: &str = "Write to FILE instead of standard output, complete or not at all. Its ending says \
    the format, as for fg-render: .svg, .html, .md, .json; .folded, .txt and unknown ones are stacks. Reports \
    such as --table are themselves whatever the ending";
/// The size of a write; a pipe holds that much.
const FULL: usize = 64 * 1024;

/// Compare profiles before and after a change
///
/// Reads every format that fg-collapse reads, folded stacks too. Writes each stack with its weights
/// before and after, for fg-render to draw; a picture or a page, as the ending of -o says; a table of
/// the changes of each function, with a test of whether they are more than noise; or judges the
/// changes by gates.
#[derive(Parser, Debug)]
#[command(
    name = "fg-diff",
    version,
    mut_arg("output", |arg| arg.help(OUTPUT_HELP)),
    override_usage = "fg-diff [OPTIONS] BEFORE AFTER\n       fg-diff [OPTIONS] --before FILE... --after FILE...\n       fg-diff [OPTIONS] --before-time RANGE --after-time RANGE FILE",
    after_help = "\
Examples:
  fg-diff before.folded after.folded -o diff.html
  fg-diff before.folded after.folded | fg-render > diff.svg
  fg-diff before.perf.data after.perf.data --table
  fg-diff --normalize monday.pb.gz tuesday.pb.gz --markdown
  fg-diff --markdown --before b1.folded b2.folded --after a1.folded a2.folded
  fg-diff --before-time 0s..5s --after-time 5s..10s --table perf.data
  fg-diff --by endpoint --table before.pb.gz after.pb.gz
  fg-diff --gate 'slower>5%' --before b1.folded b2.folded --after a1.folded a2.folded
  fg-diff --history perf --commit $(git rev-parse --short HEAD) run1.folded run2.folded
  fg-diff --history perf --trend

Exit status: 0, 1 when a gate tripped, 2 on trouble, 3 with --require-power when no
gate tripped and one would not have seen a change of its size."
)]
pub struct Diff {
    /// Two recordings of any format, before and after; `-` is standard input, for one
    /// of them. With --history, the runs to compare
    #[arg(value_name = "FILE", num_args = 0.., conflicts_with_all = ["before", "after"])]
    pub files: Vec<PathBuf>,
    /// Recordings before the change, one file for each run
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "after")]
    pub before: Vec<PathBuf>,
    /// Recordings after the change, one file for each run
    #[arg(long, value_name = "FILE", num_args = 1.., requires = "before")]
    pub after: Vec<PathBuf>,
    /// Compare this range of time of the recordings before: 0s..5s. With ranges for both
    /// sides and one FILE, both are of that
    #[arg(long, value_name = "RANGE", value_parser = time_range)]
    pub before_time: Option<TimeRange>,
    /// Compare this range of time of the recordings after: 5s..10s
    #[arg(long, value_name = "RANGE", value_parser = time_range)]
    pub after_time: Option<TimeRange>,
    /// The output file.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Leave out the header: comments such as `# unit: ns` before the stacks
    #[arg(long)]
    pub no_header: bool,
    /// Fail if a line is not understood
    #[arg(long)]
    pub strict: bool,
    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,
    /// Man page and completions.
    #[command(flatten)]
    pub generate: GenerateArgs,
    /// The format of a report.
    #[command(flatten)]
    pub form: FormArgs,
    /// The scale of the two sides.
    #[command(flatten)]
    pub scale: ScaleArgs,
    /// Names that are taken for the same.
    #[command(flatten)]
    pub names: NameArgs,
    /// The limits of a significant change.
    #[command(flatten)]
    pub test: TestArgs,
    /// Conditions on changes.
    #[command(flatten)]
    pub gate: GateArgs,
    /// The runs of earlier commits.
    #[command(flatten)]
    pub history: HistoryArgs,
    /// Labels as frames and as weights.
    #[command(flatten)]
    pub labels: LabelArgs,
    /// The reading of other formats; last, as its heading holds for all that follows.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

impl Tool for Diff {
    const NAME: &'static str = "fg-diff";

    fn run(self) -> anyhow::Result<Exit> {
        let gates = self.gate.gates()?;
        let mut format = self.form.format();
        let (before, after, addition) = match &self.history.history {
            Some(folder) if self.history.trend => return self.write_trend(folder).map(|()| Exit::Yes),
            Some(folder) => {
                let sides = self.sides_of_history(folder)?;
                if sides.before.is_empty() {
                    sides.addition.write()?;
                    self.say_first(folder);
                    return Ok(Exit::Yes);
                }
                format = format.or(Some(ReportFormat::Table).filter(|_| gates.is_empty()));
                (sides.before, sides.after, Some(sides.addition))
            }
            None => {
                let (before, after) = self.sources()?;
                (before, after, None)
            }
        };
        let options = self.options();
        let is_report = format.is_some() || !gates.is_empty();
        if self.form.picture.is_some() && format != Some(ReportFormat::Markdown) {
            bail!("--picture is for --markdown: no other report points to one");
        }
        if is_report && !self.labels.label.is_empty() {
            bail!("--label is for stacks; in a report --by KEY makes a row of each value");
        }
        let part = |time| SidePart {
            time,
            by: self.form.label(),
            unlabelled: is_report,
            labels: self.labels.label.clone(),
            weight_by: self.labels.weight_by.clone(),
        };
        let before = self.open(&before, &part(self.before_time))?;
        let after = self.open(&after, &part(self.after_time))?;
        let drawing = self.drawing().filter(|_| !is_report);
        if !is_report && drawing.is_none() && self.write_planned(&before, &after, &options)? {
            return Ok(Exit::Yes);
        }
        let mut prepared = Prepared::new(&before, &after, &options, is_report)?;
        self.judge_lines(&prepared)?;
        self.say_note(prepared.unit_note());
        if !is_report {
            if options.normalize_by.is_none() {
                let totals = (prepared.total(Side::Before)?, prepared.total(Side::After)?);
                self.warn_of_unlike(totals.0, totals.1, prepared.facts());
            }
            self.say_notes(&prepared.notes(&options));
            prepared.judge(&options)?;
            match drawing {
                Some((path, format)) => self.draw(prepared.profile(&options)?, path, format)?,
                None => self.write_joined(prepared, &options)?,
            }
            return Ok(Exit::Yes);
        }
        let report = prepared.report(&options)?;
        self.say_notes(&report.notes);
        let exit = self.write_report(&report, format, &gates)?;
        if let Some(addition) = addition {
            addition.write()?;
        }
        Ok(exit)
    }
}

impl Diff {
    fn sources(&self) -> anyhow::Result<(Vec<Source>, Vec<Source>)> {
        let list = |paths: &[PathBuf]| paths.iter().map(Source::new).collect::<Vec<_>>();
        let (before, after) = match &self.files[..] {
            [before, after] => (vec![Source::new(before)], vec![Source::new(after)]),
            [one] if self.before_time.is_some() && self.after_time.is_some() => {
                if Source::new(one).is_stdin() {
                    bail!("two ranges of standard input cannot be compared: give a file");
                }
                (vec![Source::new(one)], vec![Source::new(one)])
            }
            [] if !self.before.is_empty() => (list(&self.before), list(&self.after)),
            [] => bail!(
                "nothing to compare: give BEFORE and AFTER, or --before FILE... --after FILE... (see --help)"
            ),
            [one] => bail!(
                "{}: nothing to compare it with: fg-diff BEFORE AFTER takes two files; fg-render draws one",
                printable(one.as_os_str().as_encoded_bytes())
            ),
            several => bail!(
                "{} files: give one BEFORE and one AFTER, or the runs of each side: --before FILE... --after FILE...",
                several.len()
            ),
        };
        let all: Vec<Source> = before.iter().chain(&after).cloned().collect();
        expect_one_stdin(&all)?;
        Ok((before, after))
    }

    /// Opens the files of a side. Folded text is left to be streamed. Changes are judged by the times of
    /// samples, where a file has them.
    fn open(&self, sources: &[Source], part: &SidePart) -> anyhow::Result<Vec<Recording>> {
        let reading = self.reading.read_options(self.quiet).places(false).samples(true);
        let mut recordings = Vec::with_capacity(sources.len());
        for source in sources {
            let opened = Recording::open(source, &reading, part);
            progress::end();
            let (recording, notes) = opened?;
            notes.iter().for_each(|note| self.say_note(Some(&format!("{}: {note}", source.name()))));
            recordings.push(recording);
        }
        Ok(recordings)
    }

    fn say_note(&self, note: Option<&str>) {
        if let Some(note) = note.filter(|_| !self.quiet) {
            say(Self::NAME, note);
        }
    }

    fn options(&self) -> ReportOptions {
        ReportOptions {
            by: self.form.group(),
            sort: self.form.sort(),
            normalize: self.scale.normalize(),
            normalize_by: self.scale.normalize_by.clone(),
            strip: self.names.strip(),
            match_renamed: self.names.fuzzy,
            any_change: self.gate.any,
            require_power: self.gate.require_power,
            one_run: self.files.len() == 1 && self.history.history.is_none(),
            interrupts: if self.form.interrupts { Interrupts::Apart } else { Interrupts::Together },
            ..self.test.apply(ReportOptions::default())
        }
    }

    /// Complains of lines that were left out; a file with no other lines is no profile.
    fn judge_lines(&self, prepared: &Prepared<'_>) -> anyhow::Result<()> {
        for survey in [Side::Before, Side::After].into_iter().flat_map(|side| prepared.surveys(side)) {
            if survey.lines == 0 {
                survey.not_understood.refuse()?;
            }
            self.judge_not_understood(&survey.not_understood)?;
        }
        Ok(())
    }

    /// Complains of lines that were left out of a file.
    fn judge_not_understood(&self, lines: &NotUnderstood) -> anyhow::Result<()> {
        if self.strict {
            lines.refuse()?;
        }
        if !self.quiet {
            say_not_understood(Self::NAME, lines);
        }
        Ok(())
    }

    /// Says what makes the sides unlike.
    fn say_notes(&self, notes: &[Note]) {
        let is_asked = |note: &&Note| !(self.scale.absolute && note.kind == NoteKind::Duration);
        notes.iter().filter(is_asked).for_each(|note| self.say_note(Some(&note.text)));
    }

    /// Warns if the totals differ and no scale was asked for.
    fn warn_of_unlike(&self, before: Weight, after: Weight, facts: &Facts) {
        let asked = self.scale.absolute || self.scale.normalize() != Normalize::No;
        let (b, a) = (before.to_f64(), after.to_f64());
        if !asked && !self.quiet && b > 0.0 && a > 0.0 && (a / b).max(b / a) > UNLIKE {
            let amount = |weight| units::amount(weight, facts.unit.as_deref());
            let (before, after) = (amount(before), amount(after));
            say(
                Self::NAME,
                format_args!(
                    "the totals differ: {before} before, {after} after; -n compares shares, --absolute keeps weights and omits this warning"
                ),
            );
        }
    }

    fn header(&self, facts: &Facts) -> String {
        if self.no_header { String::new() } else { header::write(facts) }
    }

    /// Joins two plain files by a plan, where nothing else is asked for; returns whether it is done.
    fn write_planned(
        &self,
        before: &[Recording],
        after: &[Recording],
        options: &ReportOptions,
    ) -> anyhow::Result<bool> {
        let ([Recording::Folded(before)], [Recording::Folded(after)]) = (before, after) else {
            return Ok(false);
        };
        let is_plain =
            options.normalize == Normalize::No && options.strip.is_none() && !options.match_renamed;
        if !is_plain || !before.is_rereadable() || !after.is_rereadable() {
            return Ok(false);
        }
        let Some(plan) = Plan::make(before, after)? else { return Ok(false) };
        let facts = plan.facts();
        self.warn_of_unlike(plan.before, plan.after, &facts);
        self.say_notes(&plan.notes(options));
        let mut output = self.output.open_folded()?;
        output.write_all(self.header(&facts).as_bytes()).map_err(Error::from)?;
        plan.carry_out(before, after, &mut output)?;
        output.finish()?;
        Ok(true)
    }

    /// The output's path and format, if its ending is that of a format other than folded text. `.txt` is folded
    /// text, and so is what needs another option of fg-render's.
    fn drawing(&self) -> Option<(&Path, &'static Format)> {
        let path = self.output.output.as_deref()?;
        let format = Format::by_ending(&path.file_name()?.to_string_lossy())?;
        let is_folded = ["collapsed", "text"].contains(&format.name)
            || ["peek", "list", "binary"].iter().any(|option| format.takes(option));
        (!is_folded).then_some((path, format))
    }

    /// Writes the differential profile in a format of fg-render's.
    fn draw(&self, profile: Profile, path: &Path, format: &'static Format) -> anyhow::Result<()> {
        let is_judged = profile.facts().findings.is_some();
        let input = Opened::Profile(Box::new(profile), Box::default());
        // Stated verdicts have these limits already; those of other limits would be judged without the runs.
        let comparison = if is_judged { Comparison::default() } else { self.test.comparison() };
        let settings = Settings { comparison, ..Settings::default() };
        let written = write_files(&input, &[(Some(path), format)], &settings)?;
        written.outputs.iter().flat_map(|output| &output.notes).for_each(|note| self.say_note(Some(note)));
        if written.is_empty() {
            bail!("{}: nothing to draw, all weights after are 0", path.display());
        }
        Ok(())
    }

    fn write_joined(&self, prepared: Prepared<'_>, options: &ReportOptions) -> anyhow::Result<()> {
        let mut output = self.output.open()?.showing_controls();
        let mut text = self.header(prepared.facts()).into_bytes();
        prepared.join(options, &mut |stack, weights| {
            write_line(&mut text, stack, weights);
            if text.len() >= FULL {
                output.write_all(&text)?;
                text.clear();
            }
            Ok(())
        })?;
        output.write_all(&text).map_err(Error::from)?;
        Ok(output.finish()?)
    }

    fn write_report(
        &self,
        report: &Report,
        format: Option<ReportFormat>,
        gates: &[Gate],
    ) -> anyhow::Result<Exit> {
        let verdict = report.judge(gates)?;
        let output = self.output.open()?;
        let mut out = io::BufWriter::new(output);
        let is_terminal = self.output.output.is_none() && io::stdout().is_terminal();
        match format {
            Some(format) => {
                report.write_with(format, &self.format_options(&verdict, is_terminal), &mut out)?
            }
            // The verdict is the result when nothing else is.
            None => write_verdict(&verdict, &mut out)?,
        }
        finish(out)?;
        // Beside a report it must not spoil it; a table shows it already.
        let is_shown = format.is_none() || (is_terminal && format == Some(ReportFormat::Table));
        Ok(say_verdict(Self::NAME, &verdict, is_shown))
    }

    fn format_options(&self, verdict: &Verdict, is_terminal: bool) -> FormatOptions {
        let mut options = FormatOptions::default().wide(self.form.wide).verdict(verdict.clone());
        options.limit = self.form.limit.map(|limit| if limit == 0 { usize::MAX } else { limit });
        options.picture = self.form.picture.clone();
        if is_terminal {
            options.width = terminal::width();
            options.colour = terminal::wants_colour(true);
        }
        options
    }
}

/// Refuses files of which more than one is standard input, and prepares to read from it.
fn expect_one_stdin(sources: &[Source]) -> anyhow::Result<()> {
    if sources.iter().filter(|source| source.is_stdin()).count() > 1 {
        bail!("only one of the files can be standard input");
    }
    signals::read_from(sources);
    terminal::say_waiting(Diff::NAME, sources);
    Ok(())
}

fn time_range(text: &str) -> Result<TimeRange, String> {
    TimeRange::parse(text).map_err(|error| error.to_string())
}

/// Writes a line for each gate.
fn write_verdict(verdict: &Verdict, out: &mut dyn Write) -> anyhow::Result<()> {
    for line in verdict.to_string().lines() {
        writeln!(out, "{line}").map_err(Error::from)?;
    }
    Ok(())
}

/// The exit status of a gate that would not have seen a change of its size, where that is asked for.
const NOT_JUDGED: u8 = 3;

/// Says on standard error which gates tripped and which were not judged, unless that was shown; the exit status.
pub(in crate::cli) fn say_verdict(name: &str, verdict: &Verdict, is_shown: bool) -> Exit {
    if !is_shown {
        verdict.tripped().iter().chain(verdict.not_judged()).for_each(|line| say(name, line));
    }
    match verdict.outcome() {
        Outcome::Tripped => Exit::No,
        Outcome::NotJudged if !verdict.passed() => Exit::Status(NOT_JUDGED),
        Outcome::NotJudged | Outcome::Passed => Exit::Yes,
    }
}

fn finish(out: io::BufWriter<Output>) -> anyhow::Result<()> {
    let output = out.into_inner().map_err(|error| Error::from(error.into_error()))?;
    Ok(output.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;

    #[test]
    fn default_options_are_the_library_s() {
        let args = Diff::parse_from(["fg-diff", "a", "b"]);
        assert_eq!(args.options(), ReportOptions::default());
        assert_eq!(
            CollapseOptions::from(args.reading),
            CollapseOptions { limits: crate::Limits::NONE, ..CollapseOptions::default() }
        );
    }

    #[test]
    fn options_are_declared_well() {
        <Diff as clap::CommandFactory>::command().debug_assert();
    }

    #[test]
    fn every_format_has_its_option() {
        for format in ReportFormat::ALL {
            let args = Diff::parse_from(["fg-diff", &format!("--{}", format.name()), "a", "b"]);
            assert_eq!(args.form.format(), Some(*format));
        }
    }
}
