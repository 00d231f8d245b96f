//! `fg-record check`: the table for people.

use std::fmt::Write as _;

use clap::Args;

use crate::cli::Exit;
use crate::record::check::{Row, profilers};
use crate::record::sys::limits;

const ABOUT: &str = "\
Examples:
  fg-record check
  sudo fg-record check   # as root, who may record more

Exit status: 0 if the built-in sampler works here, at least for your own programs;
1 if not.";

/// Check whether recording works here, and how to fix it
///
/// Tries everything that a recording may need, and shows what works.
#[derive(Args, Debug)]
#[command(after_help = ABOUT)]
pub struct Check {}

impl Check {
    /// Tries, and writes the table.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let (mut text, works) = sampler()?;
        text.push_str("\nOther profilers, for --with:\n");
        profilers().iter().for_each(|row| write_row(row, &mut text));
        crate::cli::print(text.as_bytes())?;
        Ok(if works { Exit::Yes } else { Exit::No })
    }
}

/// The table of the built-in sampler, and whether it works.
#[cfg(target_os = "linux")]
fn sampler() -> anyhow::Result<(String, bool)> {
    use crate::error::Error;
    use crate::record::check::findings::Findings;
    use crate::record::sys::signals::Stop;

    let stop = Stop::install().map_err(|e| Error::io("watch for signals", e))?;
    let findings = Findings::new(&stop);
    let mut text = heading(findings.permissions.privileged);
    findings.rows().iter().for_each(|row| write_row(row, &mut text));
    Ok((text, findings.can_record()))
}

/// The table of the built-in sampler, which is not here.
#[cfg(not(target_os = "linux"))]
fn sampler() -> anyhow::Result<(String, bool)> {
    use crate::record::check::Ability;

    let mut text = heading(false);
    let found = "the built-in sampler needs Linux; use --with".to_owned();
    write_row(&Row { verdict: Ability::Not, what: "samples", found }, &mut text);
    Ok((text, false))
}

fn heading(privileged: bool) -> String {
    let limits::SystemName { system, release, architecture, .. } = limits::system_name().unwrap_or_default();
    let who = match limits::effective_user() {
        0 => "as root",
        _ if privileged => "with the right to monitor",
        _ => "as an ordinary user",
    };
    format!("fg-record {} on {system} {release} {architecture}, {who}\n\n", env!("CARGO_PKG_VERSION"))
}

/// The position of the last column.
const COLUMN: usize = 24;
const WIDTH: usize = 79;

fn write_row(row: &Row, text: &mut String) {
    let _ = write!(text, "{:<5} {:<17} ", row.verdict, row.what);
    let mut at = COLUMN;
    for (n, word) in words(&row.found).enumerate() {
        let length = word.chars().count();
        if n > 0 && at + 1 + length > WIDTH {
            let _ = write!(text, "\n{:COLUMN$}", "");
            at = COLUMN;
        } else if n > 0 {
            text.push(' ');
            at += 1;
        }
        text.push_str(word);
        at += length;
    }
    text.push('\n');
}

/// Words; a command in backquotes is one, to be copied in one piece.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let mut is_command = false;
    text.split(move |c| {
        is_command ^= c == '`';
        c == ' ' && !is_command
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::check::Ability;

    #[test]
    fn lines_break_between_words_but_not_in_commands() {
        let found = "kernel frames left out (kernel.perf_event_paranoid is 2); \
                     `sudo sysctl kernel.perf_event_paranoid=1` includes them";
        let mut text = String::new();
        let row = Row { verdict: Ability::Not, what: "kernel frames", found: found.to_owned() };
        write_row(&row, &mut text);
        let expected = "\
no    kernel frames     kernel frames left out (kernel.perf_event_paranoid is
                        2); `sudo sysctl kernel.perf_event_paranoid=1` includes
                        them
";
        assert_eq!(text, expected);
    }
}
