//! `fg-collapse`: its options, and what it says on standard error.

use std::path::PathBuf;

use clap::{Args, Parser};

use super::output::OutputArgs;
use super::{Exit, GenerateArgs, InputArgs, Tool, progress, say, say_not_understood};
use crate::collapse::{self, Events, Listener, Options, Progress, Report, registry};
use crate::folded::{StackTable, Weights};

const EXAMPLES: &str = "\
Examples:
  perf script | fg-collapse > out.folded
  perf script | fg-collapse --kernel --tid | fg-render --colors java > out.svg
  fg-collapse monday.perf.gz tuesday.perf.zst > both.folded
  fg-collapse --event-filter page-faults out.perf > faults.folded
  austin -o out.austin python3 app.py && fg-collapse out.austin > out.folded

Exit status: 0 if there are samples, 2 on trouble.";

/// Collapse what a profiler wrote into folded stacks
///
/// Reads the text of perf script, austin and py-spy, and folded stacks themselves; the format is
/// told by content. Writes one line for each different stack, root first, in frame order, with
/// the sum of its weights: `main;parse;lex 42`.
#[derive(Parser, Debug)]
#[command(name = "fg-collapse", version, after_help = EXAMPLES)]
pub struct Collapse {
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,

    /// Read the input as NAME instead of telling the format by content
    #[arg(short, long, value_name = "NAME")]
    pub format: Option<String>,

    /// List the formats and exit
    #[arg(long)]
    pub list_formats: bool,

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
    /// Append the process to the command: `comm-PID`
    #[arg(long)]
    pub pid: bool,

    /// Append process and thread to the command: `comm-PID/TID`
    #[arg(long)]
    pub tid: bool,

    /// Mark kernel frames with `_[k]`
    #[arg(long)]
    pub kernel: bool,

    /// Mark frames of just-in-time compiled code with `_[j]`
    #[arg(long)]
    pub jit: bool,

    /// Mark frames that perf shows as inlined with `_[i]`
    #[arg(long)]
    pub inline: bool,

    /// All marks: --kernel --jit --inline
    #[arg(long)]
    pub all: bool,

    /// Show the address of frames without a name
    #[arg(long)]
    pub addrs: bool,

    /// Append the source line where perf printed it: `main (orders.c:12)`
    #[arg(long)]
    pub srcline: bool,

    /// Leave inlined functions out, which debug information adds to perf.data
    #[arg(long)]
    pub no_inline: bool,

    /// Look for the recorded programs and libraries below DIR instead of /
    #[arg(long, value_name = "DIR")]
    pub symfs: Option<PathBuf>,

    /// Keep the samples of EVENT, with or without modifiers; repeatable. Default: the event that
    /// comes first
    #[arg(long, value_name = "EVENT")]
    pub event_filter: Vec<String>,

    /// Keep all events, each under a root frame of its name
    #[arg(long, conflicts_with = "event_filter")]
    pub all_events: bool,

    /// Drop what is rootward of the frame NAME; repeatable
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
        let events = match (args.all_events, args.event_filter.is_empty()) {
            (true, _) => Events::All,
            (false, true) => Events::First,
            (false, false) => Events::Named(bytes(args.event_filter)),
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
            events,
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
            let width = registry::FORMATS.iter().map(|format| format.name().len()).max().unwrap_or(0);
            for format in registry::FORMATS {
                let line = format!("{:width$}  {}\n", format.name(), format.about());
                std::io::Write::write_all(&mut output, line.as_bytes()).map_err(crate::Error::from)?;
            }
            output.finish()?;
            return Ok(Exit::Yes);
        }
        let format = self.format.as_deref().map(registry::by_name).transpose()?;
        let mut table = StackTable::default();
        let mut options = Options::from(self.options.clone());
        if !self.quiet && progress::is_wanted() {
            options.progress = Some(Listener(tell));
        }
        let report = collapse::collapse(&self.input.sources(), format, &options, &mut table);
        progress::end();
        let report = report?;
        if self.strict {
            report.not_understood.refuse()?;
        }
        if !self.quiet {
            self.describe(&report, &table)?;
        }
        table.write(&mut output)?;
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
        // A recording that does not name its events has one without a name.
        for (name, total) in report.events.iter().filter(|(name, _)| !name.is_empty()) {
            let name = String::from_utf8_lossy(name);
            let counts = format!("{} samples, weight {}", total.samples, total.weight);
            if !total.kept && self.options.event_filter.is_empty() {
                say(
                    Self::NAME,
                    format_args!(
                        "left out the event {name:?} ({counts}); --event-filter or --all-events keeps it"
                    ),
                );
            } else if self.verbose {
                let what = if total.kept { "kept" } else { "left out" };
                say(Self::NAME, format_args!("{what} the event {name:?} ({counts})"));
            }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_options_are_the_library_s_defaults() {
        let args = Collapse::parse_from(["fg-collapse"]);
        assert_eq!(Options::from(args.options), Options::default());
    }
}
