//! `fg-render`: folded stacks become pictures, tables, and files for other viewers.

mod args;
mod explicit_options;
mod outputs;
mod settings;
mod terminal;
#[cfg(feature = "tui")]
mod tui;
mod values;

use std::io;
use std::path::Path;

use clap::Parser;

use super::output::Output;
use super::{Exit, GenerateArgs, InputArgs, Tool, say, say_not_understood};
use crate::error::{Error, ErrorKind, Position, Result};
use crate::folded::{Columns, Order, Rewrite, WalkSummary};
use crate::profile::open::open;
use crate::profile::{Opened, ReadOptions};
use crate::render::rewrite::StackRewrite;
use crate::render::sink::{Finished, Sink, feed};
use crate::render::{FORMATS, Format, Settings};
pub use args::{
    ChangeArgs, ColourArgs, FileArgs, OutputArgs, SizeArgs, StackArgs, TableArgs, TalkArgs, TerminalArgs,
    TextArgs,
};
pub use explicit_options::ExplicitOptions;
use outputs::Pending;

/// Where `--cp` keeps colours: in the current folder, as other tools do.
const PALETTE_MAP: &str = "palette.map";

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
  fg-render --title 'after the fix' --colors rust -o out.svg out.folded
  fg-render -o out.html out.folded   # a page with all of it, to explore
  fg-render -o out.svg -o top.md -o out.speedscope.json out.folded
  fg-render --format text out.folded
  fg-render --reverse --base malloc out.folded > who-allocates.svg

Exit status: 0, 1 when --peek matches nothing, 2 for trouble. Without stacks 2, and an
output that is as valid as any."
)]
pub struct Render {
    /// Which options were given: before all others.
    #[command(flatten)]
    pub given: ExplicitOptions,
    /// What to read.
    #[command(flatten)]
    pub input: InputArgs,
    /// Where to write.
    #[command(flatten)]
    pub output: OutputArgs,
    /// About the program itself.
    #[command(flatten)]
    pub generate: GenerateArgs,
    /// What to draw of it.
    #[command(flatten)]
    pub stacks: StackArgs,
    /// What it says.
    #[command(flatten)]
    pub text: TextArgs,
    /// How large it is.
    #[command(flatten)]
    pub size: SizeArgs,
    /// Its colours.
    #[command(flatten)]
    pub colour: ColourArgs,
    /// What changed.
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
    /// What is said on standard error.
    #[command(flatten)]
    pub talk: TalkArgs,
}

impl Tool for Render {
    const NAME: &'static str = "fg-render";

    fn run(self) -> anyhow::Result<Exit> {
        #[cfg(feature = "tui")]
        if self.terminal.tui {
            let takes = |option: &str| tui::TAKES.iter().any(|group| group.contains(&option));
            self.given.check("--tui", takes)?;
            return self.show();
        }
        let unnamed = if self.table.peek.is_some() { "peek" } else { FORMATS[0].name };
        let chosen = self.output.choose(unnamed)?;
        let formats: Vec<&Format> = chosen.iter().map(|(_, format)| *format).collect();
        let names: Vec<&str> = formats.iter().map(|format| format.name).collect();
        self.given.check(&names.join(" and "), |option| formats.iter().any(|format| format.takes(option)))?;
        let settings = self.settings()?;
        let mut outputs = Vec::new();
        for (path, format) in &chosen {
            outputs.push(Pending::open(*path, format.streams)?);
        }
        let mut sinks: Vec<Box<dyn Sink>> = Vec::new();
        for (output, format) in outputs.iter_mut().zip(&formats) {
            sinks.push((format.open)(&settings, output)?);
        }
        let summary = self.feed(|input, order, rewrite| feed(input, order, rewrite, &mut sinks))?;
        if self.stacks.strict {
            summary.not_understood.refuse()?;
        }
        self.say_left_out(&summary);
        let mut all_finished = Vec::new();
        for sink in sinks {
            all_finished.push(sink.finish(&summary)?);
        }
        outputs::finish(outputs)?;
        let nothing_drawn = |finished: &Finished| finished.drawn.is_some_and(|drawn| drawn.frames == 0);
        if summary.total.is_zero() || all_finished.iter().any(nothing_drawn) {
            return Err(self.no_stacks(&summary).into());
        }
        self.keep_colours(&settings, &summary, &all_finished)?;
        self.say_drawn(&all_finished);
        let nothing_selected = all_finished.iter().any(|finished| finished.nothing_selected);
        Ok(if nothing_selected { Exit::No } else { Exit::Yes })
    }
}

impl Render {
    /// Has the input read in the order, and with the changes to its stacks, that were asked for.
    fn feed(
        &self,
        read: impl FnOnce(&Opened, Order, Option<&Rewrite>) -> Result<WalkSummary>,
    ) -> anyhow::Result<WalkSummary> {
        let order = match &self.stacks {
            StackArgs { flamechart: true, .. } => Order::Time,
            StackArgs { no_sort: true, .. } => Order::Input,
            _ => Order::Frame,
        };
        let rewrite = StackRewrite {
            reverse: self.stacks.reverse,
            bases: self.stacks.base.iter().map(|base| base.clone().into_bytes()).collect(),
        };
        let is_needed = rewrite.is_needed();
        let apply = move |stack: &[u8], out: &mut Vec<u8>| rewrite.apply(stack, out);
        let rewrite: Option<&Rewrite> = if is_needed { Some(&apply) } else { None };
        let reading = ReadOptions::default().samples(order != Order::Frame);
        let input = open(&self.input.sources(), &reading)?;
        Ok(read(&input, order, rewrite)?)
    }

    /// With `--cp`, writes the colours that names have now, if there are new ones.
    fn keep_colours(
        &self,
        settings: &Settings,
        summary: &WalkSummary,
        all_finished: &[Finished],
    ) -> anyhow::Result<()> {
        if !settings.keep_colours {
            return Ok(());
        }
        if summary.columns == Columns::Two {
            self.say("colours show changes in a differential graph; --cp keeps none");
            return Ok(());
        }
        let before = &settings.picture.colours.kept;
        let mut kept = before.clone();
        for colours in all_finished.iter().filter_map(|finished| finished.colours.as_ref()) {
            kept.add_new(colours);
        }
        if kept == *before {
            return Ok(());
        }
        let mut file = Output::new(Some(Path::new(PALETTE_MAP)))?;
        let mut text = io::BufWriter::new(&mut file);
        kept.write(&mut text)?;
        drop(text);
        Ok(file.finish()?)
    }

    fn no_stacks(&self, summary: &WalkSummary) -> Error {
        let sources = self.input.sources();
        let what = match summary {
            s if !s.total.before.is_zero() => "no stacks are left after: all weights there are 0",
            s if s.not_understood.count > 0 => {
                "no stacks; expected lines such as main;parse 42, run a collapser first"
            }
            s if s.negative > 0 => "no stacks with a weight above 0",
            _ if !self.stacks.base.is_empty() => "no stacks with the frame that --base names",
            _ => "no stacks in the input",
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

    fn say_drawn(&self, all_finished: &[Finished]) {
        if self.talk.verbose {
            for drawn in all_finished.iter().filter_map(|finished| finished.drawn) {
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
