//! The common parts of the programs: option groups, messages, output files, the exit status.
//!
//! Exit status as grep and diff have it: 0 yes, 1 no, 2 trouble. A reader of our output that
//! goes away ends a program quietly with 0. Results go to standard output, all else to standard
//! error, nothing when all is well.

mod browser;
pub mod collapse;
pub mod diff;
pub mod filter;
pub mod operations;
pub mod output;
pub mod progress;
pub mod reading;
#[cfg(all(feature = "record", unix))]
pub mod record;
pub mod render;
#[cfg(target_os = "linux")]
mod shrunk;

use std::fmt::Display;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, ValueEnum};

use crate::error::Error;
use crate::folded::NotUnderstood;
use crate::input::Source;

/// The answer of a program that ran without trouble, by its exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// 0.
    Yes,
    /// 1: nothing selected, a gate tripped.
    No,
    /// The exit status of the program that was run.
    Status(u8),
}

/// One of the programs: its options, and what it does with them.
pub trait Tool: Parser {
    /// Its name, as messages begin with it.
    const NAME: &'static str;

    /// Does the work.
    ///
    /// # Errors
    /// Trouble, exit status 2, printed on one line.
    fn run(self) -> anyhow::Result<Exit>;
}

/// Help reads well in any terminal, and in a page.
const HELP_WIDTH: usize = 79;

/// The whole `main` of a program.
pub fn main<T: Tool>() -> ExitCode {
    if let Some(status) = generate::<T>() {
        return status;
    }
    let matches = T::command().term_width(HELP_WIDTH).get_matches();
    let tool = T::from_arg_matches(&matches).unwrap_or_else(|e| e.exit());
    #[cfg(target_os = "linux")]
    shrunk::explain(T::NAME);
    match tool.run() {
        Ok(Exit::Yes) => ExitCode::SUCCESS,
        Ok(Exit::No) => ExitCode::from(1),
        Ok(Exit::Status(status)) => ExitCode::from(status),
        Err(e) if e.downcast_ref::<Error>().is_some_and(Error::is_broken_pipe) => ExitCode::SUCCESS,
        #[cfg(target_os = "linux")]
        Err(e) if e.downcast_ref::<Error>().is_some_and(shrunk::is_behind) => {
            say(T::NAME, shrunk::WHAT);
            ExitCode::from(2)
        }
        Err(e) => {
            say(T::NAME, format_args!("{e:#}"));
            ExitCode::from(2)
        }
    }
}

/// One line on standard error.
pub fn say(name: &str, message: impl Display) {
    // Nothing can be reported when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{name}: {message}");
}

/// Says how many lines were not understood, where the first one stands, and if the text ends within a line.
pub fn say_not_understood(name: &str, lines: &NotUnderstood) {
    if let Some((position, first)) = &lines.first {
        let count = lines.count;
        say(
            name,
            format_args!("{position}: {count} line(s) not understood and left out, the first is {first}"),
        );
    }
    if let Some(position) = &lines.ends_within {
        say(name, format_args!("{position}: the text ends within this line; it may have been cut short"));
    }
}

/// The files to read.
#[derive(Args, Clone, Debug, Default)]
pub struct InputArgs {
    /// Files to read; none or `-` is standard input. gzip and zstd are recognised
    #[arg(value_name = "FILE")]
    pub files: Vec<PathBuf>,
}

impl InputArgs {
    /// The files as sources.
    pub fn sources(&self) -> Vec<Source> {
        Source::list(&self.files)
    }
}

/// Options that make a program write about itself.
#[derive(Args, Clone, Debug, Default)]
pub struct GenerateArgs {
    /// Print the man page or a shell's completions and exit
    #[arg(long, value_name = "KIND", exclusive = true)]
    pub generate: Option<Generate>,
}

/// The kinds of text that `--generate` prints.
#[derive(Clone, Copy, Debug, ValueEnum)]
#[allow(missing_docs)]
pub enum Generate {
    Man,
    Bash,
    Elvish,
    Fish,
    Powershell,
    Zsh,
}

/// Handles `--generate KIND`, which must stand alone.
fn generate<T: Tool>() -> Option<ExitCode> {
    use clap_complete::Shell;

    let mut arguments = std::env::args_os().skip(1);
    let kind = match (arguments.next()?.to_str()?.split_once('='), arguments.next(), arguments.next()) {
        (Some(("--generate", kind)), None, None) => kind.to_owned(),
        (None, Some(kind), None) if std::env::args_os().nth(1)? == "--generate" => kind.to_str()?.to_owned(),
        _ => return None,
    };
    let mut command = T::command();
    let mut text = Vec::new();
    let shell = match Generate::from_str(&kind, true).ok()? {
        Generate::Man => {
            clap_mangen::Man::new(command.clone()).render(&mut text).ok()?;
            // Pages of their own, one after the other.
            command.build();
            for task in command.get_subcommands() {
                clap_mangen::Man::new(task.clone()).render(&mut text).ok()?;
            }
            None
        }
        Generate::Bash => Some(Shell::Bash),
        Generate::Elvish => Some(Shell::Elvish),
        Generate::Fish => Some(Shell::Fish),
        Generate::Powershell => Some(Shell::PowerShell),
        Generate::Zsh => Some(Shell::Zsh),
    };
    if let Some(shell) = shell {
        clap_complete::generate(shell, &mut command, T::NAME, &mut text);
    }
    // A closed pipe is no error: the reader has seen enough.
    let _ = std::io::stdout().write_all(&text);
    Some(ExitCode::SUCCESS)
}
