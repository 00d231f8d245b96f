//! Finds the size and the colours of the terminal that text is drawn for.

use std::env;
use std::io::IsTerminal;

use super::args::{OutputArgs, TerminalArgs, When};
use crate::cli::terminal::{height, wants_colour, width};
use crate::render::settings::{Paint, Terminal};

/// The rows below a graph: a blank one, the total, title, subtitle, a message of two, and the next prompt.
const BELOW: usize = 7;
/// A graph has this many rows in the lowest terminal.
const LEAST_ROWS: usize = 8;

impl TerminalArgs {
    /// The terminal, where the output goes to one.
    pub(in crate::cli) fn find(&self, output: &OutputArgs) -> Terminal {
        let goes_there = output.output.is_empty() && std::io::stdout().is_terminal();
        let usual = Terminal::default();
        let columns = self.columns.map(usize::from).or_else(|| width().filter(|_| goes_there));
        let rows = height().filter(|_| goes_there).map(|rows| rows.saturating_sub(BELOW).max(LEAST_ROWS));
        let colour = match self.ansi {
            When::Always => true,
            When::Never => false,
            When::Auto => wants_colour(goes_there),
        };
        let has_all = env::var_os("COLORTERM").is_some_and(|value| value == "truecolor" || value == "24bit");
        let paint = match (colour, has_all) {
            (false, _) => Paint::No,
            (true, false) => Paint::Ansi256,
            (true, true) => Paint::True,
        };
        Terminal { columns: columns.unwrap_or(usual.columns), rows, paint, root_at_bottom: self.upright }
    }
}
