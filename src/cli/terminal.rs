//! The terminal: its colours and its width, and what a person who waits there is told.

use std::borrow::Cow;
use std::env;
use std::io::{IsTerminal, stderr, stdin, stdout};

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

use super::say;
use crate::input::Source;

/// Returns true if text for `is_terminal` is coloured. `NO_COLOR` and `CLICOLOR=0` forbid colours,
/// `CLICOLOR_FORCE` wants them in files and pipes too.
pub fn wants_colour(is_terminal: bool) -> bool {
    colour_by(is_terminal, |name| env::var(name).ok())
}

/// The rules of no-color.org and bixense.com/clicolors.
fn colour_by(is_terminal: bool, variable: impl Fn(&str) -> Option<String>) -> bool {
    let is_set = |name| variable(name).is_some_and(|value| !value.is_empty());
    if is_set("NO_COLOR") {
        return false;
    }
    if is_set("CLICOLOR_FORCE") && variable("CLICOLOR_FORCE").is_some_and(|value| value != "0") {
        return true;
    }
    let is_off = variable("CLICOLOR").is_some_and(|value| value == "0");
    let is_dumb = variable("TERM").is_some_and(|value| value == "dumb");
    is_terminal && !is_off && !is_dumb
}

/// The columns of the terminal that standard output is.
pub fn width() -> Option<usize> {
    let size = terminal_size::terminal_size_of(stdout()).filter(|_| stdout().is_terminal());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// The rows of the terminal that standard output is.
pub fn height() -> Option<usize> {
    let size = terminal_size::terminal_size_of(stdout()).filter(|_| stdout().is_terminal());
    size.map(|(_, height)| usize::from(height.0)).filter(|height| *height > 0)
}

/// The columns of the terminal that standard error is.
pub fn width_of_messages() -> Option<usize> {
    let size = terminal_size::terminal_size_of(stderr()).filter(|_| stderr().is_terminal());
    size.map(|(width, _)| usize::from(width.0)).filter(|width| *width > 0)
}

/// A text with its lines cut to the columns of a terminal; `…` stands for what is cut.
pub fn fit(text: &str, columns: usize) -> String {
    let mut fitted = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
        fitted.push_str(&cut(line, columns));
        fitted.push_str(end);
    }
    fitted
}

/// A line without what does not fit.
fn cut(line: &str, columns: usize) -> Cow<'_, str> {
    if line.len() <= columns || line.width() <= columns {
        return Cow::Borrowed(line);
    }
    let mut at = 0;
    let fits = line.char_indices().take_while(|(_, letter)| {
        at += letter.width().unwrap_or(0);
        at < columns
    });
    let end = fits.last().map_or(0, |(start, letter)| start + letter.len_utf8());
    Cow::Owned(format!("{}…", line[..end].trim_end()))
}

/// Tells a person what a program waits for, if it reads from the keyboard.
pub fn say_waiting(name: &str, sources: &[Source]) {
    if sources.iter().any(Source::is_stdin) && stdin().is_terminal() {
        say(name, format_args!("{}", waiting(name)));
    }
}

fn waiting(name: &str) -> String {
    format!(
        "reading a profile from the keyboard: name a FILE, or pipe one in (perf script | {name}); \
         Ctrl-D ends the input, {name} -h shows help"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_cut_to_the_columns() {
        for (text, expected) in
            [("12345\n123456\n\n", "12345\n1234…\n\n"), ("日本語", "日本…"), ("ééééé", "ééééé"), ("", "")]
        {
            assert_eq!(fit(text, 5), expected);
        }
    }

    #[test]
    fn colours_obey_the_environment() {
        for (is_terminal, environment, expected) in [
            (true, "", true),
            (false, "", false),
            (true, "NO_COLOR=1", false),
            (true, "NO_COLOR=", true),
            (true, "CLICOLOR=0", false),
            (true, "CLICOLOR=1", true),
            (false, "CLICOLOR=1", false),
            (false, "CLICOLOR_FORCE=1", true),
            (false, "CLICOLOR_FORCE=0", false),
            (true, "CLICOLOR=0 CLICOLOR_FORCE=1", true),
            (true, "NO_COLOR=1 CLICOLOR_FORCE=1", false),
            (true, "TERM=dumb", false),
        ] {
            let variable = |name: &str| {
                let pairs = environment.split(' ').filter_map(|pair| pair.split_once('='));
                pairs.rev().find(|(key, _)| *key == name).map(|(_, value)| value.to_owned())
            };
            assert_eq!(colour_by(is_terminal, variable), expected, "{is_terminal} {environment}");
        }
    }
}
