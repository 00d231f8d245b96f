//! `fg-filter`: choose the stacks of a profile.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Parser;

use super::output::OutputArgs;
use super::{Exit, GenerateArgs, InputArgs, Tool, say_not_understood};
use crate::filter::{Extent, Pattern, PatternOptions, Selected, Selection, Tally, select};
use crate::folded::{Columns, Weights};
use crate::input::Source;

/// Choose stacks as grep chooses lines
///
/// The expression searches the stack, `root;caller;leaf`, without its weight: `^` is the root,
/// `$` the leaf, and a match may span frames. Stacks with a match are copied as they stand, and
/// so are comments.
#[derive(Parser, Debug)]
#[command(
    name = "fg-filter",
    version,
    override_usage = "fg-filter [OPTIONS] PATTERN [FILE]...\n       fg-filter [OPTIONS] -e PATTERN|-f FILE [FILE]...",
    after_long_help = "Exit status: 0 if a stack was kept, 1 if none was, 2 on trouble.

Syntax: that of Rust's regex crate. `.` is any character; a name that is not
UTF-8 has bytes that only `(?-u:.)` matches.

Examples:
  perf script | fg-collapse | fg-filter -v cpu_idle | fg-render > out.svg
  fg-filter 'system_call.*sys_(read|write)' out.folded > rw.folded
  fg-filter '^nginx;' out.folded             # one process: its name is the root
  fg-filter 'malloc$' out.folded             # stacks that end in malloc
  fg-filter -x -F 'std::map<int>' out.folded # a frame of exactly this name
  fg-filter -c -e alloc -e free out.folded   # how much, not which"
)]
pub struct Filter {
    /// Regular expression to search stacks for; with -e or -f a file
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
    /// Fail on lines that are no folded stacks
    ///
    /// Without it they are left out, and one message says how many there were.
    #[arg(long)]
    pub strict: bool,
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
        let extent = match (self.frame_regexp, self.word_regexp) {
            (true, _) => Extent::Frame,
            (false, true) => Extent::Word,
            (false, false) => Extent::Part,
        };
        let options = PatternOptions { fixed: self.fixed_strings, ignore_case: self.ignore_case, extent };
        let pattern = Pattern::new(&patterns, options)?;
        let selection = Selection { invert: self.invert_match, weigh: self.count, first_only: self.quiet };
        let exit = |selected: &Selected| if selected.kept.stacks > 0 { Exit::Yes } else { Exit::No };

        if self.quiet {
            let selected = select(&sources, &pattern, selection, &mut std::io::sink())?;
            if selected.kept.stacks == 0 {
                self.judge(&selected)?;
            }
            return Ok(exit(&selected));
        }
        let mut output = self.output.open()?;
        let selected = if self.count {
            let selected = select(&sources, &pattern, selection, &mut std::io::sink())?;
            output.write_all(count(&selected).as_bytes()).map_err(crate::Error::from)?;
            selected
        } else {
            select(&sources, &pattern, selection, &mut output)?
        };
        self.judge(&selected)?;
        output.finish()?;
        Ok(exit(&selected))
    }
}

impl Filter {
    /// As grep: the first argument is the pattern unless an option gave some.
    fn patterns_and_sources(&self) -> anyhow::Result<(Vec<String>, Vec<Source>)> {
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
        match &self.pattern {
            Some(file) if by_option => files.insert(0, file.into()),
            Some(text) => {
                let text = text.to_str().context(
                    "the pattern is not UTF-8; write such bytes as (?-u:\\xFF) in a regular expression",
                )?;
                patterns.extend(text.split('\n').map(str::to_owned));
            }
            None if by_option => {}
            None => {
                anyhow::bail!("nothing to search for: give a PATTERN, -e PATTERN or -f FILE (see --help)")
            }
        }
        Ok((patterns, Source::list(&files)))
    }

    /// Complains of lines that were left out.
    fn judge(&self, selected: &Selected) -> anyhow::Result<()> {
        let understood = selected.kept.stacks + selected.dropped.stacks;
        if self.strict || understood == 0 {
            selected.not_understood.refuse()?;
        }
        say_not_understood(Self::NAME, &selected.not_understood);
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
