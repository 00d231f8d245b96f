//! `list`: the source lines of functions that match, with self and total weight, as pprof's list has it.
//!
//! ```text
//! 40 ms
//!
//! work in app/work.py: self 10 ms (25.00%), total 40 ms (100.00%)
//!  self  total  line
//!     .      .     2  def work():
//! 10 ms  40 ms     3      return sum(deep(n) for n in range(9))
//! ```
//! The lines around those with a weight are shown, where the file is found. The lines of a function add up to
//! the function: a stack counts at its line nearest to the leaf.

use std::cmp::Reverse;
use std::path::PathBuf;

use regex::bytes::Regex;

use super::amounts::Amounts;
use super::columns::{Table, share};
use super::format::takes;
use super::source::{FunctionLines, LineWeights, SourceFiles, SourceLines, excerpt};
use super::writer::{Finished, Target, Writer};
use super::{Format, Settings, about};
use crate::error::{Error, Result};
use crate::folded::{Columns, Frame, Visitor, WalkSummary, Weights};
use crate::printable::printable;
use crate::profile::Profile;
use crate::search::{Case, name_regex};
use crate::weight::Weight;

/// The format.
pub const FORMAT: Format = Format {
    name: "list",
    endings: &["list", "list.txt"],
    about: "source lines of the functions that --list names",
    takes: &[takes::HEAD, takes::LIST, takes::SOURCE, takes::UNIT],
    streams: false,
    open: |settings, target| {
        let Some(pattern) = &settings.list else {
            return Err(Error::setting("list needs a regular expression: --list parse"));
        };
        let matching =
            name_regex(pattern, Case::Smart).map_err(|e| Error::setting(format!("--list: {e}")))?;
        Ok(Box::new(List { lines: SourceLines::default(), of_profile: false, matching, settings, target }))
    },
};

struct List<'a> {
    lines: SourceLines,
    /// The lines are those of a profile: stacks of text add nothing.
    of_profile: bool,
    matching: Regex,
    settings: &'a Settings,
    target: &'a mut dyn Target,
}

impl Visitor for List<'_> {
    fn follows_stacks(&self) -> bool {
        !self.of_profile
    }

    fn stack(&mut self, stack: &[u8], weights: Weights) -> Result<()> {
        if self.of_profile {
            return Ok(());
        }
        self.lines.add_text(stack, self.settings.rewrite.reverse, weights)
    }

    fn exit(&mut self, _: Frame<'_>, _: Weights) -> Result<()> {
        Ok(())
    }

    fn restart(&mut self) -> Result<()> {
        self.lines = SourceLines::default();
        Ok(())
    }
}

impl Writer for List<'_> {
    fn take(&mut self, profile: &Profile) -> Result<bool> {
        // Names of folded text may hold lines, whoever made a profile of it.
        self.of_profile = !profile.places().is_empty();
        if self.of_profile {
            self.lines = SourceLines::of_profile(profile, &self.settings.rewrite)?;
        }
        Ok(false)
    }

    fn finish(self: Box<Self>, summary: &WalkSummary) -> Result<Finished> {
        let List { lines, matching, settings, target, .. } = *self;
        let mut found = Vec::new();
        for function in lines.functions() {
            let by_frame = || function.frames.iter().any(|frame| matching.is_match(frame));
            if matching.is_match(&function.name) || by_frame() {
                found.push((function, function.sum()?));
            }
        }
        found.retain(|(_, sum)| !sum.total.larger().is_zero());
        found.sort_by(|(a, a_sum), (b, b_sum)| {
            let key = |one: &FunctionLines| (one.name.clone(), one.file.clone());
            Reverse(a_sum.total.larger())
                .cmp(&Reverse(b_sum.total.larger()))
                .then_with(|| key(a).cmp(&key(b)))
        });
        let all = settings.shown_both(summary.total)?;
        let amounts = Amounts::new(&summary.facts);
        about::write_text(settings, summary, target)?;
        writeln!(target, "{}", amounts.total(summary.columns, all))?;
        if found.is_empty() {
            let pattern = settings.list.as_deref().unwrap_or_default();
            let what = match lines.functions().is_empty() {
                true => "the input does not say the source lines of functions".to_owned(),
                false => format!("no function whose source lines are known matches {pattern:?}"),
            };
            writeln!(target, "\n{what}")?;
        }
        // Whoever asks for a list asks for the code.
        let here = settings.source_here.then(|| PathBuf::from("."));
        let folders: Vec<PathBuf> = here.into_iter().chain(settings.source_folders.iter().cloned()).collect();
        let mut listing = Listing {
            is_looking: !folders.is_empty(),
            files: SourceFiles::below(&folders),
            not_found: Vec::new(),
            amounts: &amounts,
            all,
            settings,
            columns: summary.columns,
        };
        for (function, sum) in &found {
            writeln!(target)?;
            listing.write(function, sum, target)?;
        }
        listing.say_not_found(target)?;
        Ok(Finished { nothing_selected: found.is_empty(), ..Finished::default() })
    }
}

/// The functions of a list on their way out.
struct Listing<'l> {
    files: SourceFiles<'l>,
    /// Source files are wanted.
    is_looking: bool,
    /// Names of files, as the recording has them.
    not_found: Vec<&'l [u8]>,
    amounts: &'l Amounts,
    all: Weights,
    settings: &'l Settings,
    columns: Columns,
}

impl<'l> Listing<'l> {
    fn write(
        &mut self,
        function: &'l FunctionLines,
        sum: &LineWeights,
        target: &mut dyn Target,
    ) -> Result<()> {
        let name = printable(&function.name);
        let file = shown_file(&function.file, self.settings);
        let LineWeights { own, total } = self.shown(sum)?;
        writeln!(target, "{name} in {file}: self {}, total {}", self.amount(own), self.amount(total))?;
        let heads: &[&str] = match self.columns {
            Columns::One => &["self", "total", "line"],
            Columns::Two => &["self before", "self after", "total before", "total after", "line"],
        };
        let mut table = Table::new(heads, "");
        let lines = self.files.lines(&function.file);
        let last = lines.as_ref().map_or(0, |lines| lines.len() as u32);
        let runs = excerpt::runs(function.lines.keys().copied(), function.start_line, last);
        if lines.is_none() && !self.not_found.contains(&&function.file[..]) {
            self.not_found.push(&function.file);
        }
        let lines = lines.unwrap_or_default();
        let gap = || vec![String::new(); heads.len()];
        let mut next = 0;
        for &(from, to) in &runs {
            if next > 0 {
                table.row(gap(), format!("⋯ {} lines", from - next));
            }
            for line in from..=to {
                let weights = function.lines.get(&line).copied().unwrap_or_default();
                table.row(self.cells(&weights, line)?, printable(lines[line as usize - 1].as_bytes()));
            }
            next = to + 1;
        }
        // Without the file, or behind its end.
        for (&line, weights) in function.lines.iter().filter(|(line, _)| **line == 0 || **line > last) {
            let note = match line {
                0 => "(at no known line)".to_owned(),
                _ if last == 0 => String::new(),
                _ => format!("(the file that was found ends at line {last})"),
            };
            table.row(self.cells(weights, line)?, note);
        }
        table.write(target)
    }

    fn shown(&self, weights: &LineWeights) -> Result<LineWeights> {
        let shown = |weights| self.settings.shown_both(weights);
        Ok(LineWeights { own: shown(weights.own)?, total: shown(weights.total)? })
    }

    /// `10 ms (25.00%)`; `5 ms (20.00%) before, 10 ms (25.00%) after`.
    fn amount(&self, weights: Weights) -> String {
        let one =
            |part: Weight, whole: Weight| format!("{} ({})", self.amounts.plain(part), share(part, whole));
        let after = one(weights.value, self.all.value);
        match self.columns {
            Columns::One => after,
            Columns::Two => format!("{} before, {after} after", one(weights.before, self.all.before)),
        }
    }

    fn cells(&self, weights: &LineWeights, line: u32) -> Result<Vec<String>> {
        let LineWeights { own, total } = self.shown(weights)?;
        let weights = match self.columns {
            Columns::One => vec![own.value, total.value],
            Columns::Two => vec![own.before, own.value, total.before, total.value],
        };
        let cell = |weight: Weight| if weight.is_zero() { ".".to_owned() } else { self.amounts.cell(weight) };
        let number = if line == 0 { "?".to_owned() } else { line.to_string() };
        Ok(weights.into_iter().map(cell).chain([number]).collect())
    }

    fn say_not_found(&self, target: &mut dyn Target) -> Result<()> {
        if self.not_found.is_empty() || !self.is_looking {
            return Ok(());
        }
        let files: Vec<String> = self.not_found.iter().map(|file| shown_file(file, self.settings)).collect();
        writeln!(target, "\nnot found: {}", files.join(", "))?;
        Ok(writeln!(target, "source files are looked for in the current folder and those of --source-path")?)
    }
}

/// The name of a source file; without its folder if that is private.
fn shown_file(file: &[u8], settings: &Settings) -> String {
    let start = if settings.private { memchr::memrchr2(b'/', b'\\', file).map_or(0, |at| at + 1) } else { 0 };
    printable(&file[start..])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::Place;
    use crate::profile::{Context, ProfileBuilder, Sink as _, Wants};

    #[test]
    fn a_comparison_lists_both_sides() {
        let mut builder = ProfileBuilder::new(Wants::ALL);
        builder.columns(Columns::Two).unwrap();
        for (line, before, after) in [(3, 10, 30), (4, 10, 0)] {
            let place = Place { file: b"a.c", line, start_line: 2, ..Place::default() };
            let stack = [builder.frame(b"main"), builder.frame_at(b"work", &place)];
            let weights = Weights { value: Weight::new(after), before: Weight::new(before) };
            builder.sample(&stack, weights, &Context::UNKNOWN).unwrap();
        }
        let mut settings = Settings::default();
        settings.list = Some("work".to_owned());
        let mut out = Vec::new();
        builder.finish().unwrap().render("list", &settings, &mut out).unwrap();
        let expected = "\
total 20 before, 30 after

work in a.c: self 20 (100.00%) before, 30 (100.00%) after, total 20 (100.00%) before, 30 (100.00%) after
self before  self after  total before  total after  line
         10          30            10           30     3
         10           .            10            .     4
";
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }
}
