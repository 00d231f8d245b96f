//! `fg-filter`: choose the stacks of a profile.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

use super::operations::OperationArgs;
use super::output::OutputArgs;
use super::{Exit, GenerateArgs, InputArgs, Tool, say, say_not_understood};
use crate::filter::{
    Extent, Filtered, Group, Pattern, PatternOptions, Selected, Selection, Settings, StepReport, Tally,
    select,
};
use crate::folded::{Columns, Weights};
use crate::input::Source;

/// Choose stacks as grep chooses lines, and change them frame by frame
///
/// PATTERN searches the stack, `root;caller;leaf`, without its weight: `^` is the root, `$` the
/// leaf, and a match may span frames. Stacks with a match are copied as they stand, and so are
/// comments.
///
/// Operations are applied in the order in which they stand on the command line, and their
/// expressions search single frames. With operations all arguments are files; a pattern that goes
/// before them is given by -e or -f. Operations that select copy lines as they stand; when one
/// changes stacks or weights, the result is added up and in frame order.
#[derive(Parser, Debug)]
#[command(
    name = "fg-filter",
    version,
    override_usage = "fg-filter [OPTIONS] PATTERN [FILE]...\n       fg-filter [OPTIONS] -e PATTERN|-f FILE [FILE]...\n       fg-filter [OPTIONS] OPERATION... [FILE]...",
    after_long_help = r"Exit status: 0 if a stack was kept, 1 if none was, 2 on trouble.

Syntax: that of Rust's regex crate. `.` is any character; a name that is not
UTF-8 has bytes that only `(?-u:.)` matches.

Examples:
  fg-filter -v cpu_idle out.folded
  fg-filter 'system_call.*sys_(read|write)' out.folded > rw.folded
  fg-filter -x -F 'std::map<int>' out.folded   # a frame of just this name
  fg-filter -c -e alloc -e free out.folded     # how much, not which

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
    #[arg(short, long)]
    pub ignore_case: bool,
    /// Take PATTERN as plain text
    #[arg(short = 'F', long)]
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
    /// Print how many stacks and what weight are kept
    ///
    /// And how many are dropped: two lines, `kept stacks 3 weight 120` and `dropped stacks 1 weight 7`; for a differential
    /// profile `kept stacks 3 before 120 after 80`.
    #[arg(short, long, verbatim_doc_comment)]
    pub count: bool,
    /// Print nothing; exit with 0 at the first stack kept
    #[arg(short, long)]
    pub quiet: bool,
    /// Say what each operation was given, kept and dropped
    ///
    /// A table on standard error: stacks and weight that came to it, that it kept and that it
    /// dropped; for a differential profile weights are `before/after`.
    #[arg(long)]
    pub stats: bool,
    /// Fail on lines that are no folded stacks
    ///
    /// Without it they are left out, and one message says how many there were.
    #[arg(long)]
    pub strict: bool,
    /// What to do with stacks.
    #[command(flatten)]
    pub operations: OperationArgs,
    /// Keep what these three drop as one stack, `[other]`
    ///
    /// What --min-weight, --min-percent and --top drop; so the total stays what it was.
    #[arg(long, help_heading = Group::Weights.heading())]
    pub rest: bool,
    /// Output.
    #[command(flatten)]
    pub output: OutputArgs,
    /// Generate.
    #[command(flatten)]
    pub generate: GenerateArgs,
}

impl Tool for Filter {
    const NAME: &'static str = "fg-filter";

    fn run(self) -> anyhow::Result<Exit> {
        let (patterns, sources) = self.patterns_and_sources()?;
        let pattern = patterns.map(|patterns| self.compile(&patterns)).transpose()?;
        let selection = Selection {
            invert: self.invert_match,
            weigh: self.count || self.stats,
            first_only: self.quiet && !self.stats,
        };
        let settings = Settings { ignore_case: self.ignore_case, rest: self.rest };
        let mut pipeline = self.operations.pipeline(settings)?;
        let mut filter = |out: &mut dyn Write| match &pattern {
            // Nothing but a pattern needs no frames.
            Some(pattern) if self.operations.is_empty() => {
                let selected = select(&sources, pattern, selection, out)?;
                let came = selected.kept.checked_add(selected.dropped)?;
                Ok::<_, crate::Error>(Filtered { selected, came, steps: Vec::new() })
            }
            pattern => pipeline.run(&sources, pattern.as_ref(), selection, out),
        };
        let exit = |filtered: &Filtered| match filtered.selected.kept.stacks {
            0 => Exit::No,
            _ => Exit::Yes,
        };

        if self.quiet {
            let filtered = filter(&mut std::io::sink())?;
            if filtered.selected.kept.stacks == 0 || self.stats {
                self.judge(&filtered)?;
            }
            return Ok(exit(&filtered));
        }
        let mut output = self.output.open()?;
        let filtered = if self.count {
            let filtered = filter(&mut std::io::sink())?;
            output.write_all(count(&filtered.selected).as_bytes()).map_err(crate::Error::from)?;
            filtered
        } else {
            filter(&mut output)?
        };
        self.judge(&filtered)?;
        output.finish()?;
        Ok(exit(&filtered))
    }
}

impl Filter {
    /// As grep: the first argument is the pattern unless an option says what to do.
    fn patterns_and_sources(&self) -> anyhow::Result<(Option<Vec<String>>, Vec<Source>)> {
        let mut files = self.input.files.clone();
        let mut patterns = Vec::new();
        for text in &self.regexps {
            // What a shell variable holds may be several lines, each a pattern.
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
        let options = PatternOptions { fixed: self.fixed_strings, ignore_case: self.ignore_case, extent };
        Pattern::new(patterns, options)
    }

    /// Complains of lines that were left out, says what operations did, and what they did not.
    fn judge(&self, filtered: &Filtered) -> anyhow::Result<()> {
        let Filtered { selected, steps, .. } = filtered;
        let understood = selected.kept.stacks + selected.dropped.stacks;
        if self.strict || understood == 0 {
            selected.not_understood.refuse()?;
        }
        say_not_understood(Self::NAME, &selected.not_understood);
        for step in steps {
            if let Some(remark) = &step.remark {
                say(Self::NAME, format_args!("{}: {remark}", step.label));
            }
        }
        if self.stats {
            // There is nobody left to tell when standard error is closed.
            let _ = std::io::stderr().write_all(stats(filtered).as_bytes());
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

fn count(selected: &Selected) -> String {
    let line = |word: &str, Tally { stacks, weights }: Tally| {
        let Weights { value, before } = weights;
        match selected.columns {
            Columns::One => format!("{word} stacks {stacks} weight {value}\n"),
            Columns::Two => format!("{word} stacks {stacks} before {before} after {value}\n"),
        }
    };
    line("kept", selected.kept) + &line("dropped", selected.dropped)
}

/// A table of what each operation did, and of all together.
fn stats(filtered: &Filtered) -> String {
    let Filtered { selected, came, steps } = filtered;
    let weight = |weights: Weights| match selected.columns {
        Columns::One => weights.value.to_string(),
        Columns::Two => format!("{}/{}", weights.before, weights.value),
    };
    let cells = |tally: Tally| [tally.stacks.to_string(), weight(tally.weights)];
    let mut rows = vec![
        ["operation", "stacks", "weight", "kept", "weight", "dropped", "weight"].map(str::to_owned).to_vec(),
    ];
    for StepReport { label, came, left, reweighs, .. } in steps {
        let stacks = came.stacks.saturating_sub(left.stacks);
        // A sum that was held can lack its parts only if the weights changed.
        let dropped = match came.weights.checked_sub(left.weights) {
            Ok(weights) if !reweighs => weight(weights),
            _ => "-".to_owned(),
        };
        let name: String = label.chars().map(|c| if c.is_control() { ' ' } else { c }).collect();
        rows.push(
            [vec![name], cells(*came).to_vec(), cells(*left).to_vec(), vec![stacks.to_string(), dropped]]
                .concat(),
        );
    }
    let result = [cells(*came), cells(selected.kept), cells(selected.dropped)].concat();
    rows.push([vec!["all".to_owned()], result].concat());
    let widths: Vec<usize> =
        (0..7).map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let name = format!("{:<1$}", row[0], widths[0]);
        let numbers = row[1..].iter().zip(&widths[1..]).map(|(cell, width)| format!("  {cell:>width$}"));
        text.push_str(&name);
        text.extend(numbers);
        text.push('\n');
    }
    text
}
