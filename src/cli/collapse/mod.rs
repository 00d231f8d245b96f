//! `fg-collapse`: its options, and its messages on standard error.

mod describe;
mod folder;
mod lists;

use std::io::Write;

use clap::Parser;

pub use folder::FolderArgs;

use self::lists::{list_labels, list_values};
use super::labels::LabelArgs;
use super::output::OutputArgs;
use super::reading::ReadingArgs;
use super::render::write_tables_file;
use super::scale::ScaleArgs;
use super::{Exit, GenerateArgs, InputArgs, Tool, progress, say, say_not_understood, size, terminal};
use crate::collapse::{self, Report, registry};
use crate::input::Source;
use crate::profile::{Profile, header};
use crate::reading::merge::Merged;
use crate::reading::{ExchangeParts, Opened, ReadOptions, are_exchanged};
use crate::render::exchange::direct::ReadTables;
use crate::render::formats::exchanges;
use crate::render::{Format, Settings};
use crate::weight::Weight;

const EXAMPLES: &str = "\
Examples:
  perf record --call-graph dwarf ./app && fg-collapse perf.data > out.folded
  perf script | fg-collapse > out.folded
  perf script | fg-collapse --mark kernel --per-thread | fg-render > out.svg
  fg-collapse monday.perf.gz tuesday.perf.zst > both.folded
  fg-collapse --value page-faults out.perf > faults.folded
  fg-collapse --scale night=0.3,day=0.7 night.pb.gz day.pb.gz -o default.pprof
  austin -o out.austin python3 app.py && fg-collapse out.austin > out.folded
  fg-collapse -r profiles --label service,host --path-pattern '{service}/{host}/**/*' > all.folded

Exit status: 0 if there are samples, 1 if -r left out files that it could not read, 2 on errors.";

/// Convert a profiler's output to folded stacks
///
/// Reads the formats of `--list-formats`, plain or compressed, and recognises them by content.
/// Several inputs become one profile. Writes one line for each different stack, root first, sorted,
/// with the sum of its weights: `main;parse;lex 42`. In front of the stacks stands a header: a line
/// such as `# unit: ns` or `# command: ./app` for each fact that the recording states. To other
/// programs these lines are comments; `--no-header` leaves them out.
///
/// An output that ends in `.pb.gz`, `.pprof` or `.otlp` is a profile in pprof's or OpenTelemetry's format, with
/// everything that folded text has no room for: all values, labels, lines, addresses, mappings; with `-r` it holds
/// the stacks and labels of one value.
///
/// Formats that record callers instead of stacks (`pstats`, `callgrind`) give estimated stacks; the
/// cost of each function itself is exact.
#[derive(Parser, Debug)]
#[command(name = "fg-collapse", version, after_help = EXAMPLES)]
#[command(mut_arg("threads", |threads| threads.short_alias('n')))]
pub struct Collapse {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,

    /// Read the input as NAME; by default its content tells the format
    #[arg(long, alias = "format", short_alias = 'f', value_name = "NAME")]
    pub input_format: Option<String>,

    /// List the formats with their producers, values and units, and exit
    #[arg(long)]
    pub list_formats: bool,

    /// List the values in the input, with their units and totals, and write no stacks
    #[arg(long, conflicts_with = "weight_by")]
    pub list_values: bool,

    /// List the labels in the input with their numbers of values and weights, and write no
    /// stacks
    #[arg(long, conflicts_with_all = ["list_values", "label"], help_heading = "Time and labels")]
    pub list_labels: bool,

    /// Sort folded text that takes more than SIZE (`500M`, `4G`) in temporary files, in `TMPDIR`; files
    /// in frame order need no memory
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = size)]
    pub memory: usize,

    /// Leave out the header: comments such as `# unit: ns` before the stacks
    #[arg(long)]
    pub no_header: bool,

    /// The factors of inputs.
    #[command(flatten)]
    pub scale: ScaleArgs,

    /// The output.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Fail if a line is not understood; and at a file that is cut off or does not
    /// add up to the total that it states
    #[arg(long)]
    pub strict: bool,

    /// Print more: formats, values and their totals, the number of stacks
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// Print errors only
    #[arg(short, long)]
    pub quiet: bool,

    /// Man pages and completions.
    #[command(flatten)]
    pub generate: GenerateArgs,

    /// Labels as frames and as weights.
    #[command(flatten)]
    pub labels: LabelArgs,

    /// The options of folders.
    #[command(flatten)]
    pub folder: FolderArgs,

    /// CollapseOptions of reading; last, as their heading holds for everything that follows.
    #[command(flatten)]
    pub options: ReadingArgs,
}

impl Tool for Collapse {
    const NAME: &'static str = "fg-collapse";

    fn run(self) -> anyhow::Result<Exit> {
        let lists = self.list_formats || self.list_values || self.list_labels;
        if self.folder.recursive && !lists {
            return self.run_folder();
        }
        if let Some(format) = self.output.exchange_format().filter(|_| !lists) {
            return self.write_exchange(format);
        }
        let mut output = self.output.open_folded()?;
        if self.list_formats {
            let table = collapse::format_info::table(registry::FORMATS, false);
            let table = self.fitted(table);
            output.write_all(table.as_bytes()).map_err(crate::Error::from)?;
            output.finish()?;
            return Ok(Exit::Yes);
        }
        terminal::say_waiting(Self::NAME, &self.input.sources());
        let samples = self.list_labels || self.labels.are_given();
        let mut reading = self.options.read_options(self.quiet).places(false).samples(samples);
        // Labels of time that are in folded text stay there.
        reading = reading.time_frames(!samples);
        reading.format.clone_from(&self.input_format);
        if self.list_values {
            let format = self.input_format.as_deref().map(registry::by_name).transpose()?;
            let report = collapse::survey_values(&self.input.sources(), format, &reading.collapse);
            progress::end();
            let report = report?;
            if self.strict {
                report.not_understood.refuse()?;
            }
            output.write_all(self.fitted(list_values(&report)).as_bytes()).map_err(crate::Error::from)?;
            output.finish()?;
            return Ok(Exit::Yes);
        }
        let sources = self.scale.apply(self.input.sources())?;
        let opened = match crate::reading::open(&sources, &reading) {
            Ok(Opened::Folded(sources)) => self.read_folded(&sources, &reading),
            Ok(Opened::Profile(profile, report)) => Ok((Stacks::Profile(profile), *report)),
            Err(e) => Err(e),
        };
        progress::end();
        let (mut stacks, report) = opened?;
        if self.strict {
            report.not_understood.refuse()?;
        }
        if !self.quiet {
            self.describe(&report);
        }
        if let Stacks::Profile(profile) = &mut stacks {
            let (weighed, note) = self.labels.weigh(std::mem::take(&mut **profile))?;
            **profile = weighed;
            note.iter().filter(|_| !self.quiet).for_each(|note| say(Self::NAME, note));
            if self.list_labels {
                output.write_all(list_labels(profile)?.as_bytes()).map_err(crate::Error::from)?;
                output.finish()?;
                return Ok(Exit::Yes);
            }
            let labels = &self.labels.label;
            if !labels.is_empty() {
                **profile = profile.labelled(labels)?;
            } else if self.labels.weight_by.is_some() {
                **profile = std::mem::take(&mut **profile).with_time_again()?;
            }
        }
        if !self.no_header {
            let facts = match &stacks {
                Stacks::Merged(_) => &report.facts,
                Stacks::Profile(profile) => profile.facts(),
            };
            output.write_all(header::write(facts).as_bytes()).map_err(crate::Error::from)?;
        }
        let (count, frames) = match &stacks {
            Stacks::Merged(merged) => (merged.write(&mut output)?, String::new()),
            Stacks::Profile(profile) => {
                profile.stacks().write_on(reading.collapse.threads, &mut output)?;
                (profile.stack_count(), format!(" of {} frames", profile.stacks().frame_count()))
            }
        };
        output.finish()?;
        if self.verbose {
            let kept = report.values.values().filter(|total| total.kept);
            let total = match &stacks {
                Stacks::Merged(_) => {
                    kept.map(|total| total.weight).try_fold(Weight::ZERO, Weight::checked_add)?
                }
                Stacks::Profile(profile) => profile.total()?.value,
            };
            say(Self::NAME, format_args!("{count} stacks{frames}, total weight {total}"));
        }
        Ok(Exit::Yes)
    }
}

/// The stacks that are about to be written.
enum Stacks {
    /// Those of folded text.
    Merged(Box<Merged>),
    /// Those of a recording.
    Profile(Box<Profile>),
}

impl Collapse {
    /// Reads folded text in a bounded amount of memory.
    fn read_folded(&self, sources: &[Source], reading: &ReadOptions) -> crate::Result<(Stacks, Report)> {
        let is_scaled = |source: &Source| source.factor() != Weight::ONE;
        if reading.collapse.count || reading.samples || sources.iter().any(is_scaled) {
            let (profile, report) = crate::reading::read(sources, reading)?;
            return Ok((Stacks::Profile(Box::new(profile)), report));
        }
        let mut merged = Merged::read(sources, &reading.collapse, self.memory)?;
        let report = std::mem::take(&mut merged.report);
        Ok((Stacks::Merged(Box::new(merged)), report))
    }

    /// A table as wide as the terminal that it goes to.
    fn fitted(&self, table: String) -> String {
        match terminal::width().filter(|_| self.output.output.is_none()) {
            Some(columns) => terminal::fit(&table, columns),
            None => table,
        }
    }

    /// Writes everything that is known of the inputs, not folded text.
    fn write_exchange(&self, format: &'static Format) -> anyhow::Result<Exit> {
        if self.labels.are_given() {
            anyhow::bail!(
                "--label and --weight-by are for folded text: {} keeps all labels as they are",
                format.name
            );
        }
        let mut reading = self.options.read_options(self.quiet).exchange(ExchangeParts::Whole);
        reading.format.clone_from(&self.input_format);
        let sources = self.scale.apply(self.input.sources())?;
        let (sources, are_exchanged) = are_exchanged(&sources, &reading)?;
        // What is written as it was read needs no profile in between.
        if are_exchanged && exchanges(format) {
            let settings = Settings::default();
            let read = ReadTables::read(&sources, &reading, &settings);
            progress::end();
            let (read, report) = read?;
            self.say_of_recording(&report)?;
            write_tables_file(read, (self.output.output.as_deref(), format), &settings)?;
            return Ok(Exit::Yes);
        }
        let read = crate::reading::read(&sources, &reading);
        progress::end();
        let (profile, report) = read?;
        self.say_of_recording(&report)?;
        self.output.write_exchange(format, profile, report)?;
        Ok(Exit::Yes)
    }

    /// Prints the notes on a recording that no value is left out of.
    fn say_of_recording(&self, report: &Report) -> crate::Result<()> {
        if self.strict {
            report.not_understood.refuse()?;
        }
        if !self.quiet {
            say_not_understood(Self::NAME, &report.not_understood);
            report.notes.iter().for_each(|note| say(Self::NAME, note));
        }
        if self.verbose {
            report.details.iter().for_each(|detail| say(Self::NAME, detail));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;

    #[test]
    fn default_options_are_the_library_s() {
        let args = Collapse::parse_from(["fg-collapse"]);
        assert_eq!(
            CollapseOptions::from(args.options),
            CollapseOptions { limits: crate::Limits::NONE, ..CollapseOptions::default() }
        );
    }
}
