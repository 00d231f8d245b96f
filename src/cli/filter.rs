//! `fg-filter`: its options, and the counts and tables it prints.

use std::ffi::OsString;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

use super::operations::OperationArgs;
use super::output::OutputArgs;
use super::reading::ReadingArgs;
use super::{
    Exit, GenerateArgs, InputArgs, Tool, bounded, progress, say, say_not_understood, signals, terminal,
};
use crate::collapse::Report;
use crate::error::{Error, ErrorKind, excerpt, some_of};
use crate::filter::{
    Case, Extent, Filtered, OperationGroup, Pattern, PatternOptions, Pipeline, RunOptions, StackCount,
    StepReport,
};
use crate::folded::{Columns, Weights};
use crate::input::Source;
use crate::printable::printable;
use crate::profile::Profile;
use crate::profile::units::amount;
use crate::reading::open;
use crate::reading::{ExchangeParts, Opened};
use crate::weight::Weight;

/// Choose stacks as grep chooses lines, and change them frame by frame
///
/// Reads what any profiler wrote, as fg-collapse does, and writes folded stacks. Folded stacks
/// stream: those that are only selected are copied as they stand, in their order.
///
/// PATTERN searches the stack, `root;caller;leaf`, without its weight: `^` is the root, `$` the
/// leaf, and a match may span frames. Case is ignored unless PATTERN has a capital letter.
///
/// Operations are applied in the order in which they stand on the command line, and their
/// expressions search single frames. With operations all arguments are files; a pattern that goes
/// before them is given by -e or -f. When an operation changes stacks or weights, the result is
/// added up and in frame order.
#[derive(Parser, Debug)]
#[command(
    name = "fg-filter",
    version,
    mut_arg("count_samples", |count| count.alias(None::<&str>)),
    override_usage = "fg-filter [OPTIONS] PATTERN [FILE]...\n       fg-filter [OPTIONS] -e PATTERN|-f FILE [FILE]...\n       fg-filter [OPTIONS] OPERATION... [FILE]...",
    after_long_help = r"Exit status: 0 if a stack was kept, 1 if none was, 2 on trouble.

Syntax: that of Rust's regex crate. `.` is any character; a name that is not
UTF-8 has bytes that only `(?-u:.)` matches.

Examples:
  fg-filter -v cpu_idle out.folded
  fg-filter 'system_call.*sys_(read|write)' out.folded > rw.folded
  fg-filter -x --fixed-strings 'std::map<int>' out.folded   # a frame of just this name
  fg-filter -c -e alloc -e free out.folded     # how much, not which
  fg-filter -v cpu_idle perf.data > busy.folded
  fg-filter --focus '^json' --to-unit ms cpu.pb.gz

Recipes:
  # only my code: time in libraries counts for the function that calls them
  fg-filter --show '^(app|main)' out.folded
  # one thread pool as one thread
  fg-filter --merge-threads --rename 's/^(worker)[-_.\d]+$/$1/' out.folded
  # no idle
  fg-filter --idle out.folded
  # a box for each library, and one for the kernel
  fg-filter --collapse '^(SSL|EVP)_' --collapse '_\[k\]$' out.folded
  # comparing two builds: names without what differs from build to build
  fg-filter --demangle --strip hash,hex,offset,line,args out.folded
  # what calls malloc
  fg-filter --focus '^malloc$' --prune-from '^malloc$' --reverse out.folded"
)]
pub struct Filter {
    /// Expression to search stacks for; with -e, -f or operations a file
    #[arg(value_name = "PATTERN")]
    pub pattern: Option<OsString>,
    /// Files.
    #[command(flatten)]
    pub input: InputArgs,
    /// Keep the stacks without a match
    #[arg(short = 'v', long)]
    pub invert_match: bool,
    /// Take upper and lower case as the same
    ///
    /// In PATTERN and in the expressions of operations. Without it they are the same unless the
    /// expression has a capital letter: `alloc` finds Alloc and alloc, `Alloc` does not find alloc.
    /// Text that --rename replaces is found by exact case.
    #[arg(short, long, overrides_with = "case_sensitive")]
    pub ignore_case: bool,
    /// Tell upper and lower case apart, also without a capital letter
    #[arg(short = 's', long, overrides_with = "ignore_case")]
    pub case_sensitive: bool,
    /// Take PATTERN as plain text
    #[arg(short_alias = 'F', long)]
    pub fixed_strings: bool,
    /// Match whole words only
    #[arg(short, long)]
    pub word_regexp: bool,
    /// Match whole frames only
    #[arg(short = 'x', long)]
    pub frame_regexp: bool,
    /// Search for PATTERN; of several one has to match
    #[arg(short = 'e', long = "regexp", value_name = "PATTERN")]
    pub regexps: Vec<String>,
    /// Search for the patterns in FILE, one a line
    #[arg(short = 'f', long = "file", value_name = "FILE")]
    pub pattern_files: Vec<PathBuf>,
    /// Print number, weight and share of the stacks kept
    ///
    /// And of those that are dropped: two lines, `kept stacks 3 weight 120000 (120 µs, 94.49%)` and
    /// `dropped stacks 1 weight 7000 (7 µs, 5.51%)`; for a differential profile `kept stacks 3 before
    /// 120 after 80 (60.00%; 50.00%)`. The fifth field is the exact weight. The share is left out where
    /// an operation changes weights.
    #[arg(short = 'c', long = "count")]
    pub print_counts: bool,
    /// Print nothing; exit with 0 at the first stack kept
    #[arg(short, long)]
    pub quiet: bool,
    /// Print what each operation kept and dropped
    ///
    /// A table for people on standard error: stacks and weight that came to it, that it kept and
    /// that it dropped; for a differential profile weights are `before/after`. Weights are scaled
    /// where the unit is known; -c prints exact ones.
    #[arg(long)]
    pub stats: bool,
    /// Fail if a line is not understood
    ///
    /// Without it they are left out, and one message says how many there were.
    #[arg(long)]
    pub strict: bool,
    /// Read the input as NAME; by default its content tells the format
    ///
    /// `fg-collapse --list-formats` lists the names; `folded` takes lines as they stand, whatever
    /// they look like.
    #[arg(long, alias = "format", value_name = "NAME")]
    pub input_format: Option<String>,
    /// Leave out the header: `# unit: ns` and other comments
    ///
    /// Without it the header is passed on; counts such as `# samples:` are left out when stacks
    /// are dropped or weights are changed.
    #[arg(long)]
    pub no_header: bool,
    /// Operations.
    #[command(flatten)]
    pub operations: OperationArgs,
    /// Keep what these three drop as one stack, `[other]`
    ///
    /// The stacks that --min-weight, --min-percent and --top drop; the total stays what it was.
    #[arg(long, help_heading = OperationGroup::Weights.heading())]
    pub rest: bool,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,
    /// Reading options; last, as their heading holds for all that follows.
    #[command(flatten)]
    pub reading: ReadingArgs,
}

impl Tool for Filter {
    const NAME: &'static str = "fg-filter";

    fn run(self) -> anyhow::Result<Exit> {
        let file = self.file_as_pattern();
        let advice =
            |file: &str| format!("{file} was the pattern, and is a file here: fg-filter PATTERN {file}");
        if let Some(file) = file.as_deref().filter(|_| std::io::stdin().is_terminal()) {
            anyhow::bail!(advice(file));
        }
        if let Some((file, pattern)) = self.swapped() {
            anyhow::bail!(
                "{pattern}: no such file, and the pattern {file} is one: the pattern comes first: fg-filter {pattern} {file}"
            );
        }
        let exit = self.filter()?;
        if let Some(file) = file.as_deref().filter(|_| exit == Exit::No && !self.quiet) {
            say(Self::NAME, advice(file));
        }
        Ok(exit)
    }
}

impl Filter {
    /// The one argument, if it is the pattern by its place and a file by its name.
    fn file_as_pattern(&self) -> Option<String> {
        self.file_before_others().filter(|_| self.input.files.is_empty())
    }

    /// The pattern by its place, if it is a file by its name.
    fn file_before_others(&self) -> Option<String> {
        let is_pattern =
            self.regexps.is_empty() && self.pattern_files.is_empty() && self.operations.is_empty();
        let name = self.pattern.as_ref().filter(|_| is_pattern)?;
        Path::new(name).is_file().then(|| printable(name.as_encoded_bytes()))
    }

    /// A file and a pattern that stand in each other's place.
    fn swapped(&self) -> Option<(String, String)> {
        let file = self.file_before_others()?;
        let [other] = &self.input.files[..] else { return None };
        let is_none = other != Path::new("-") && !other.exists();
        is_none.then(|| (file, printable(other.as_os_str().as_encoded_bytes())))
    }

    fn filter(&self) -> anyhow::Result<Exit> {
        let (patterns, sources) = self.patterns_and_sources()?;
        signals::read_from(&sources);
        terminal::say_waiting(Self::NAME, &sources);
        let pattern = patterns.map(|patterns| self.compile(&patterns)).transpose()?;
        let mut pipeline = Pipeline::new(&self.operations.ops(self.case(), self.rest)?)?;
        let options = RunOptions {
            pattern,
            invert: self.invert_match,
            weigh: self.print_counts || self.stats,
            first_only: self.quiet && !self.stats,
            header: !self.no_header,
        };
        if let Some(format) = self.output.exchange_format().filter(|_| !self.quiet && !self.print_counts) {
            let (profile, report) = self.read_whole(&sources)?;
            let (profile, filtered) = pipeline.apply(&profile, &options)?;
            self.judge(&filtered)?;
            self.output.write_exchange(format, profile, report)?;
            return Ok(if filtered.kept.stacks == 0 { Exit::No } else { Exit::Yes });
        }
        let input = self.open(&sources, &pipeline)?;
        let exit = |filtered: &Filtered| match filtered.kept.stacks {
            0 => Exit::No,
            _ => Exit::Yes,
        };

        if self.quiet {
            let filtered = pipeline.run(&input, &options, &mut std::io::sink())?;
            if filtered.kept.stacks == 0 || self.stats {
                self.judge(&filtered)?;
            }
            return Ok(exit(&filtered));
        }
        let mut output = self.output.open_folded()?;
        let filtered = if self.print_counts {
            let filtered = pipeline.run(&input, &options, &mut std::io::sink())?;
            output.write_all(count(&filtered).as_bytes()).map_err(crate::Error::from)?;
            filtered
        } else {
            pipeline.run(&input, &options, &mut output)?
        };
        self.judge(&filtered)?;
        output.finish()?;
        Ok(exit(&filtered))
    }

    /// Opens the input: folded text to be streamed, everything else as a profile.
    fn open(&self, sources: &[Source], pipeline: &Pipeline) -> anyhow::Result<Opened> {
        let reading = self.reading.read_options(self.quiet).places(pipeline.needs_places());
        let mut reading = reading.samples(pipeline.needs_samples()).time_frames(true);
        reading.format.clone_from(&self.input_format);
        let opened = open(sources, &reading);
        progress::end();
        let opened = opened?;
        if let Opened::Profile(_, report) = &opened
            && !self.quiet
        {
            self.say_notes(report);
        }
        Ok(opened)
    }

    /// Reads the input with everything that formats of exchange hold.
    fn read_whole(&self, sources: &[Source]) -> anyhow::Result<(Profile, Report)> {
        let mut reading = self.reading.read_options(self.quiet).exchange(ExchangeParts::Shown);
        reading.format.clone_from(&self.input_format);
        let read = crate::reading::read(sources, &reading);
        progress::end();
        let (profile, report) = read?;
        report.notes.iter().for_each(|note| say(Self::NAME, note));
        Ok((profile, report))
    }

    /// Says what was noted while a recording was read.
    fn say_notes(&self, report: &Report) {
        for note in &report.notes {
            say(Self::NAME, note);
        }
        let left_out = report.values.iter().filter(|(value, total)| {
            !total.kept && !value.name.is_empty() && total.samples > 0 && self.reading.value.is_empty()
        });
        let names: Vec<String> = left_out.map(|(value, _)| excerpt(&value.name)).collect();
        if !names.is_empty() {
            let names = some_of(&names);
            say(Self::NAME, format_args!("left out {names}; --value NAME keeps it, --value all each"));
        }
    }

    /// As grep: the first argument is the pattern unless an option says what to do.
    fn patterns_and_sources(&self) -> anyhow::Result<(Option<Vec<String>>, Vec<Source>)> {
        let mut files = self.input.files.clone();
        let mut patterns = Vec::new();
        for text in &self.regexps {
            // The text, say of a shell variable, may have several lines: each is a pattern.
            patterns.extend(text.split('\n').map(str::to_owned));
        }
        for path in &self.pattern_files {
            read_patterns(path, &mut patterns)?;
        }
        let by_option = !self.regexps.is_empty() || !self.pattern_files.is_empty();
        let operates = !self.operations.is_empty();
        match &self.pattern {
            Some(file) if by_option || operates => {
                if operates && !by_option && file != "-" && !Path::new(file).exists() {
                    let file = file.to_string_lossy();
                    anyhow::bail!("{file}: there is no such file; a pattern beside operations needs -e");
                }
                files.insert(0, file.into());
            }
            Some(text) => {
                let text = text.to_str().context(
                    "the pattern is not UTF-8; write such bytes as (?-u:\\xFF) in a regular expression",
                )?;
                patterns.extend(text.split('\n').map(str::to_owned));
            }
            None if by_option || operates => {}
            None => anyhow::bail!(
                "nothing to search for: give a PATTERN, -e PATTERN, -f FILE or an operation (see --help)"
            ),
        }
        let searches = by_option || !operates;
        if !searches && (self.invert_match || self.fixed_strings || self.word_regexp || self.frame_regexp) {
            anyhow::bail!(
                "-v, -F, -w and -x say how to search for a pattern; beside operations give it by -e"
            );
        }
        Ok((searches.then_some(patterns), Source::list(&files)))
    }

    fn compile(&self, patterns: &[String]) -> crate::Result<Pattern> {
        let extent = match (self.frame_regexp, self.word_regexp) {
            (true, _) => Extent::Frame,
            (false, true) => Extent::Word,
            (false, false) => Extent::Part,
        };
        let options = PatternOptions { fixed: self.fixed_strings, case: self.case(), extent };
        Pattern::new(patterns, options).map_err(|error| match error.kind() {
            ErrorKind::Setting { what } if !self.fixed_strings => {
                Error::setting(format!("{what} (-F takes it as plain text)"))
            }
            _ => error,
        })
    }

    fn case(&self) -> Case {
        match (self.ignore_case, self.case_sensitive) {
            (true, _) => Case::Ignored,
            (false, true) => Case::Exact,
            (false, false) => Case::Smart,
        }
    }

    /// Reports lines that were left out, and what the operations did and did not do.
    fn judge(&self, filtered: &Filtered) -> anyhow::Result<()> {
        let Filtered { kept, dropped, not_understood, steps, .. } = filtered;
        if self.strict || kept.stacks + dropped.stacks == 0 {
            not_understood.refuse()?;
        }
        say_not_understood(Self::NAME, not_understood);
        for step in steps {
            if let Some(remark) = &step.remark {
                say(Self::NAME, format_args!("{}: {remark}", step.label));
            }
        }
        if self.stats {
            // Nothing can be reported when standard error is closed.
            let table = stats(filtered, terminal::width_of_messages());
            let _ = std::io::stderr().write_all(table.as_bytes());
        }
        Ok(())
    }
}

/// The lines of a file as patterns. An empty file has none, and matches nothing.
fn read_patterns(path: &Path, patterns: &mut Vec<String>) -> anyhow::Result<()> {
    let source = Source::new(path);
    let bytes = source.open()?.read_all()?;
    let text = String::from_utf8(bytes)
        .ok()
        .with_context(|| format!("{}: patterns have to be UTF-8", source.name()))?;
    patterns.extend(text.lines().map(str::to_owned));
    Ok(())
}

/// A weight, and the same side of the whole.
type Part = (Weight, fn(&Weights) -> Weight);

/// The two lines of `--count`.
fn count(filtered: &Filtered) -> String {
    let Filtered { kept, dropped, columns, facts, unit_came, steps, .. } = filtered;
    let reweighs = steps.iter().any(|step| step.reweighs);
    // Weights that were converted or scaled have no share in those that came.
    let whole = kept.weights.checked_add(dropped.weights).ok().filter(|_| !reweighs);
    let line = |word: &str, StackCount { stacks, weights }: &StackCount, unit: Option<&String>| {
        let Weights { value, before } = weights;
        let share = |part: Weight, of: fn(&Weights) -> Weight| {
            let whole = of(whole.as_ref()?).to_f64();
            (whole > 0.0 && !part.is_negative() && part.to_f64() <= whole)
                .then(|| format!("{:.2}%", 100.0 * part.to_f64() / whole))
        };
        let shown = |weight: Weight| amount(weight, unit.map(String::as_str));
        let sides: &[Part] = match columns {
            Columns::One => &[(*value, |it| it.value)],
            Columns::Two => &[(*before, |it| it.before), (*value, |it| it.value)],
        };
        let exact = match columns {
            Columns::One => format!("weight {value}"),
            Columns::Two => format!("before {before} after {value}"),
        };
        let remarks = |(weight, of): &Part| {
            let amount = unit.is_some().then(|| shown(*weight));
            [amount, share(*weight, *of)].into_iter().flatten().collect::<Vec<_>>().join(", ")
        };
        let remarks: Vec<String> = sides.iter().map(remarks).filter(|text| !text.is_empty()).collect();
        let remarks = if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join("; ")) };
        format!("{word} stacks {stacks} {exact}{remarks}\n")
    };
    // Stacks may be dropped before their weights are converted and behind that.
    let unit_dropped = unit_came.as_ref().filter(|_| !reweighs);
    line("kept", kept, facts.unit.as_ref()) + &line("dropped", dropped, unit_dropped)
}

/// The columns that an operation's name has at least.
const LEAST_NAME: usize = 12;

/// The table of `--stats`: a row for each operation, and one for all together. On a terminal of so many
/// `columns` long names of operations are cut, and numbers are not.
fn stats(filtered: &Filtered, columns_there: Option<usize>) -> String {
    let Filtered { came, kept, dropped, columns, facts, unit_came, steps, .. } = filtered;
    let weight = |weights: Weights, unit: &Option<String>| {
        let shown = |weight: Weight| match unit {
            Some(unit) => amount(weight, Some(unit)),
            None => weight.to_string(),
        };
        match columns {
            Columns::One => shown(weights.value),
            Columns::Two => format!("{}/{}", shown(weights.before), shown(weights.value)),
        }
    };
    let cells =
        |count: &StackCount, unit: &Option<String>| [count.stacks.to_string(), weight(count.weights, unit)];
    let mut rows = vec![
        ["operation", "stacks", "weight", "kept", "weight", "dropped", "weight"].map(str::to_owned).to_vec(),
    ];
    for StepReport { label, came, left, reweighs, unit_came, unit_left, .. } in steps {
        let stacks = came.stacks.saturating_sub(left.stacks);
        // A sum that was held can lack its parts only if the weights changed.
        let lost = match came.weights.checked_sub(left.weights) {
            Ok(weights) if !reweighs => weight(weights, unit_came),
            _ => "-".to_owned(),
        };
        let name = bounded(printable(label.as_bytes()));
        let cells = [cells(came, unit_came), cells(left, unit_left), [stacks.to_string(), lost]];
        rows.push([vec![name], cells.concat()].concat());
    }
    let unit_dropped = if steps.iter().any(|step| step.reweighs) { &None } else { unit_came };
    let result = [cells(came, unit_came), cells(kept, &facts.unit), cells(dropped, unit_dropped)];
    rows.push([vec!["all".to_owned()], result.concat()].concat());
    let widths: Vec<usize> =
        (0..7).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let numbers: usize = widths[1..].iter().map(|width| width + 2).sum();
    let room = columns_there.map_or(widths[0], |columns| columns.saturating_sub(numbers).max(LEAST_NAME));
    let name_width = widths[0].min(room);
    let mut text = String::new();
    for row in rows {
        let name = format!("{:<1$}", terminal::fit(&row[0], name_width), name_width);
        let numbers = row[1..].iter().zip(&widths[1..]).map(|(cell, width)| format!("  {cell:>width$}"));
        text.push_str(&name);
        text.extend(numbers);
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::collapse::CollapseOptions;

    #[test]
    fn default_options_are_the_library_s() {
        let args = Filter::parse_from(["fg-filter", "-c", "x"]);
        assert!(args.print_counts && !args.reading.count_samples);
        assert_eq!(
            CollapseOptions::from(args.reading),
            CollapseOptions { limits: crate::Limits::NONE, ..CollapseOptions::default() }
        );
        let args = Filter::parse_from(["fg-filter", "--count-samples", "x"]);
        assert!(!args.print_counts && args.reading.count_samples);
    }
}
