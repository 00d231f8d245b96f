//! Finds the size and the colours of the terminal that text is drawn for.

use std::env;
use std::io::IsTerminal;

use super::args::{OutputArgs, TerminalArgs, When};
use crate::render::settings::{Paint, Terminal};

impl TerminalArgs {
    /// The terminal, where the output goes to one.
    pub(in crate::cli) fn find(&self, output: &OutputArgs) -> Terminal {
        let goes_there = output.output.is_empty() && std::io::stdout().is_terminal();
        let usual = Terminal::default();
        let columns = self.columns.map(usize::from).or_else(|| {
            let size = terminal_size::terminal_size_of(std::io::stdout()).filter(|_| goes_there);
            size.map(|(width, _)| usize::from(width.0)).filter(|&width| width > 0)
        });
        let is_set = |name| env::var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = env::var_os("TERM").is_some_and(|value| value == "dumb");
        let colour = match self.ansi {
            When::Always => true,
            When::Never => false,
            When::Auto => goes_there && !is_dumb && !is_set("NO_COLOR"),
        };
        let has_all = env::var_os("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        let paint = match (colour, has_all) {
            (false, _) => Paint::No,
            (true, false) => Paint::Ansi256,
            (true, true) => Paint::True,
        };
        Terminal { columns: columns.unwrap_or(usual.columns), paint, root_at_bottom: self.upright }
    }
}
