//! `fg-collapse`: its options, and what it says on standard error.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Parser};

use super::output::OutputArgs;
use super::{Exit, GenerateArgs, InputArgs, Tool, progress, say, say_not_understood};
use crate::collapse::{
    self, Listener, Options, Progress, Report, Value, ValueSelection, ValueTotal, registry,
};
use crate::error::excerpt;
use crate::folded::{StackTable, Weights};
use crate::profile::{self, ReadOptions};

const EXAMPLES: &str = "\
Examples:
  perf record --call-graph dwarf ./app && fg-collapse perf.data > out.folded
  perf script | fg-collapse > out.folded
  perf script | fg-collapse --kernel --tid | fg-render --colors java > out.svg
  fg-collapse monday.perf.gz tuesday.perf.zst > both.folded
  fg-collapse --value page-faults out.perf > faults.folded
  austin -o out.austin python3 app.py && fg-collapse out.austin > out.folded

Exit status: 0 if there are samples, 2 on trouble.";

/// Collapse what a profiler wrote into folded stacks
///
/// Reads what `--list-formats` lists, and folded stacks themselves; the format is told by content.
/// Writes one line for each different stack, root first, in frame order, with
/// the sum of its weights: `main;parse;lex 42`. Stacks of formats that hold none,
/// only who called whom (`pstats`), are estimates; what each function costs itself is exact.
#[derive(Parser, Debug)]
#[command(name = "fg-collapse", version, after_help = EXAMPLES)]
pub struct Collapse {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,

    /// Read the input as NAME instead of telling the format by content
    #[arg(short, long, value_name = "NAME")]
    pub format: Option<String>,

    /// List the formats, what writes them and what they measure, and exit
    #[arg(long)]
    pub list_formats: bool,

    /// List the values the input holds, with their units and totals, and write no stacks
    #[arg(long)]
    pub list_values: bool,

    /// Leave out the header: comments such as `# unit: ns` before the stacks
    #[arg(long)]
    pub no_header: bool,

    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Fail if there is a line that is not understood, instead of leaving it out
    #[arg(long)]
    pub strict: bool,

    /// Say more: events and their totals, how many stacks
    #[arg(short, long, conflicts_with = "quiet")]
    pub verbose: bool,

    /// Say nothing but errors
    #[arg(short, long)]
    pub quiet: bool,

    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,

    /// What to keep and how to name it; last, as its heading holds for all that follows.
    #[command(flatten)]
    pub options: OptionArgs,
}

/// [`Options`] as options.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Samples and frames")]
pub struct OptionArgs {
    /// Name the thread in a root frame, and its process: `comm-PID`
    #[arg(long)]
    pub pid: bool,

    /// Name the thread in a root frame, and its numbers: `comm-PID/TID`
    #[arg(long)]
    pub tid: bool,

    /// Mark kernel frames with `_[k]`, where perf tells them
    #[arg(long)]
    pub kernel: bool,

    /// Mark frames of just-in-time compiled code with `_[j]`, where perf or V8's ticks tell them
    #[arg(long)]
    pub jit: bool,

    /// Mark inlined frames with `_[i]`, where perf, pprof or Firefox's JSON tell them
    #[arg(long)]
    pub inline: bool,

    /// All marks: --kernel --jit --inline
    #[arg(long)]
    pub all: bool,

    /// Show the address of frames without a name
    #[arg(long)]
    pub addrs: bool,

    /// Append the source line, where the recording has it: `main (orders.c:12)`
    #[arg(long)]
    pub srcline: bool,

    /// Leave out inlined functions, which debug information adds to recordings of addresses:
    /// perf.data, jemalloc, tcmalloc, gperftools
    #[arg(long)]
    pub no_inline: bool,

    /// Look for the programs and libraries of a recording of addresses below DIR, not /
    #[arg(long, value_name = "DIR")]
    pub symfs: Option<PathBuf>,

    /// Keep this value: perf's event, with or without modifiers, pprof's sample type; repeatable.
    /// Default: the producer's own default, or the one that comes first
    #[arg(long, value_name = "NAME", visible_alias = "event-filter")]
    pub value: Vec<String>,

    /// Keep all values, each under a root frame of its name
    #[arg(long, visible_alias = "all-events", conflicts_with = "value")]
    pub all_values: bool,

    /// Name the thread in a root frame, also where the format's own tools do not
    #[arg(long)]
    pub threads_as_frames: bool,

    /// Name no threads, also where the format's own tools do
    #[arg(long, conflicts_with_all = ["threads_as_frames", "pid", "tid"])]
    pub no_threads_as_frames: bool,

    /// Drop what is rootward of perf's frame NAME; repeatable. For other formats: fg-filter --root
    #[arg(long, value_name = "NAME")]
    pub skip_after: Vec<String>,

    /// Count samples instead of adding up their weights (perf's periods, austin's microseconds)
    #[arg(long)]
    pub count: bool,

    /// Threads to use; 0 is as many as there are processors
    #[arg(short = 'n', long, alias = "nthreads", value_name = "N", default_value_t = 0)]
    pub threads: usize,
}

impl From<OptionArgs> for Options {
    fn from(args: OptionArgs) -> Options {
        let bytes = |names: Vec<String>| names.into_iter().map(String::into_bytes).collect::<Vec<_>>();
        let values = match (args.all_values, args.value.is_empty()) {
            (true, _) => ValueSelection::All,
            (false, true) => ValueSelection::Default,
            (false, false) => ValueSelection::Named(bytes(args.value)),
        };
        Options {
            pid: args.pid,
            tid: args.tid,
            kernel: args.kernel || args.all,
            jit: args.jit || args.all,
            inline: args.inline || args.all,
            addrs: args.addrs,
            srcline: args.srcline,
            no_inline: args.no_inline,
            symfs: args.symfs,
            skip_after: bytes(args.skip_after),
            values,
            threads_as_frames: match (args.threads_as_frames, args.no_threads_as_frames) {
                (true, _) => Some(true),
                (_, true) => Some(false),
                _ => None,
            },
            count: args.count,
            threads: args.threads,
            progress: None,
        }
    }
}

impl Tool for Collapse {
    const NAME: &'static str = "fg-collapse";

    fn run(self) -> anyhow::Result<Exit> {
        let mut output = self.output.open()?;
        if self.list_formats {
            let table = collapse::format_info::table(registry::FORMATS, false);
            output.write_all(table.as_bytes()).map_err(crate::Error::from)?;
            output.finish()?;
            return Ok(Exit::Yes);
        }
        let mut options = Options::from(self.options.clone());
        if !self.quiet && progress::is_wanted() {
            options.progress = Some(Listener(tell));
        }
        let mut reading = ReadOptions::default().collapse(options).places(false);
        reading.format.clone_from(&self.format);
        let read = profile::open::read(&self.input.sources(), &reading);
        progress::end();
        let (profile, report) = read?;
        if self.strict {
            report.not_understood.refuse()?;
        }
        if !self.quiet && !self.list_values {
            self.describe(&report, profile.stacks())?;
        }
        if self.list_values {
            output.write_all(list_values(&report).as_bytes()).map_err(crate::Error::from)?;
        } else if self.no_header {
            profile.stacks().write(&mut output)?;
        } else {
            profile.write_folded(&mut output)?;
        }
        output.finish()?;
        Ok(Exit::Yes)
    }
}

/// Shows how far it has come.
fn tell(progress: Progress) {
    match progress {
        Progress::Bytes(done, Some(of)) => {
            progress::show(format_args!("read {} of {} MB", done / 1_000_000, of / 1_000_000));
        }
        Progress::Bytes(done, None) => progress::show(format_args!("read {} MB", done / 1_000_000)),
        Progress::Symbols(done, of) => progress::show(format_args!("named {done} of {of} places in code")),
    }
}

impl Collapse {
    fn describe(&self, report: &Report, table: &StackTable) -> anyhow::Result<()> {
        say_not_understood(Self::NAME, &report.not_understood);
        for note in &report.notes {
            say(Self::NAME, note);
        }
        let of_kind = |kept: bool| {
            let named = report.values.iter().filter(move |(value, total)| {
                // A recording that does not name its values has one without a name.
                total.kept == kept && !value.name.is_empty() && total.samples > 0
            });
            named.map(|(value, total)| describe(value, total)).collect::<Vec<_>>().join(", ")
        };
        let (kept, left_out) = (of_kind(true), of_kind(false));
        if !left_out.is_empty() && self.options.value.is_empty() {
            say(Self::NAME, format_args!("left out {left_out}; --value NAME or --all-values keeps it"));
        }
        if self.verbose && !kept.is_empty() {
            say(Self::NAME, format_args!("kept {kept}"));
        }
        if self.verbose {
            for detail in &report.details {
                say(Self::NAME, detail);
            }
            let Weights { value, .. } = table.total()?;
            let (stacks, frames) = (table.len(), table.frame_count());
            say(Self::NAME, format_args!("{stacks} stacks of {frames} frames, total weight {value}"));
        }
        Ok(())
    }
}

/// `"page-faults" (80 samples, 389149 page-faults)`.
fn describe(value: &Value, total: &ValueTotal) -> String {
    let name = excerpt(&value.name);
    let samples = total.samples;
    match &value.unit {
        Some(unit) => format!("{name} ({samples} samples, {} {unit})", total.weight),
        None => format!("{name} ({samples} samples, weight {})", total.weight),
    }
}

/// A name without what a terminal would obey.
fn printable(name: &[u8]) -> String {
    String::from_utf8_lossy(name).chars().map(|c| if c.is_control() { '�' } else { c }).collect()
}

/// What `--list-values` prints: a table, `*` before the values that would be kept.
fn list_values(report: &Report) -> String {
    let cells = |value: &Value, total: &ValueTotal| {
        let name = match value.name.is_empty() {
            true => "-".to_owned(),
            false => printable(&value.name),
        };
        let kept = if total.kept { "*" } else { "" };
        let unit = value.unit.as_deref().unwrap_or("-").to_owned();
        [kept.to_owned(), name, total.samples.to_string(), total.weight.to_string(), unit]
    };
    let head = ["", "value", "samples", "total", "unit"].map(str::to_owned);
    let rows: Vec<[String; 5]> =
        [head].into_iter().chain(report.values.iter().map(|(v, t)| cells(v, t))).collect();
    let width = |at: usize| rows.iter().map(|row| row[at].chars().count()).max().unwrap_or(0);
    let (name, samples, total) = (width(1), width(2), width(3));
    let line = |[kept, value, count, weight, unit]: &[String; 5]| {
        format!("{kept:1} {value:name$}  {count:>samples$}  {weight:>total$}  {unit}\n")
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_options_are_the_library_s_defaults() {
        let args = Collapse::parse_from(["fg-collapse"]);
        assert_eq!(Options::from(args.options), Options::default());
    }
}
