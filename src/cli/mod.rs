//! The common parts of the programs: option groups, messages, output files, the exit status.
//!
//! Exit status as grep and diff have it: 0 yes, 1 no, 2 trouble. A reader of our output that
//! goes away ends a program quietly with 0. Results go to standard output, all else to standard
//! error, nothing when all is well.

mod browser;
pub mod collapse;
#[cfg(feature = "perf-data")]
pub mod debuginfod;
pub mod diff;
pub mod filter;
mod hidden;
pub mod labels;
pub mod manual;
pub mod memory;
pub mod operations;
#[cfg(test)]
mod option_names;
pub mod output;
pub mod progress;
pub mod reading;
#[cfg(all(feature = "record", unix))]
pub mod record;
mod renamed;
pub mod render;
mod scale;
#[cfg(target_os = "linux")]
mod shrunk;
mod signals;
mod suggest;
pub mod terminal;

use std::ffi::OsString;
use std::fmt::Display;
use std::io::Write;
use std::mem::ManuallyDrop;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{ArgMatches, Args, Parser, ValueEnum};

use crate::error::Error;
use crate::folded::NotUnderstood;
use crate::input::Source;
use crate::printable::printable;

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
const HELP_WIDTH: usize = manual::WIDTH;

/// The whole `main` of a program.
pub fn main<T: Tool>() -> ExitCode {
    memory::install(T::NAME);
    signals::install();
    match run::<T>() {
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

fn run<T: Tool>() -> anyhow::Result<Exit> {
    if let Some(text) = generate::<T>() {
        print(&text)?;
        return Ok(Exit::Yes);
    }
    // Freeing a hundred options one by one takes a twentieth of what a small picture takes.
    let mut options = ManuallyDrop::new(T::command().term_width(HELP_WIDTH));
    let matches = options.try_get_matches_from_mut(std::env::args_os());
    let parsed = matches.and_then(|mut matches| {
        let command = command_words(&matches);
        T::from_arg_matches_mut(&mut matches).map(|tool| (tool, command))
    });
    match parsed {
        Ok((tool, command)) => {
            let words: Vec<OsString> = std::env::args_os().skip(1).collect();
            let own = words.len().saturating_sub(command);
            renamed::notes(T::NAME, &words[..own]).iter().for_each(|note| say(T::NAME, note));
            #[cfg(target_os = "linux")]
            shrunk::explain(T::NAME);
            tool.run()
        }
        // The text of --help or --version.
        Err(e) if !e.use_stderr() => {
            // Refuses a closed output.
            drop(output::Output::new(None)?);
            let e = match e.kind() {
                ErrorKind::DisplayHelp => helped::<T>(e),
                _ => e,
            };
            e.print().and_then(|()| std::io::stdout().flush()).map_err(output::standard_error)?;
            Ok(Exit::Yes)
        }
        Err(e) => {
            match e.kind() {
                ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => drop(helped::<T>(e).print()),
                _ => say(T::NAME, suggest::one_line(&suggest::improve(e, T::NAME))),
            }
            Ok(Exit::Status(2))
        }
    }
}

/// The number of words of the command that a program runs, at the end of its own.
fn command_words(matches: &ArgMatches) -> usize {
    matches.try_get_raw("command").ok().flatten().map_or(0, |words| words.len())
}

/// The help that was asked for, laid out.
fn helped<T: Tool>(plain: clap::Error) -> clap::Error {
    let columns = terminal::width().unwrap_or(HELP_WIDTH).min(HELP_WIDTH);
    let command = manual::dress(T::command().term_width(columns));
    command.try_get_matches().err().unwrap_or(plain)
}

/// Prints a text to standard output.
///
/// # Errors
/// The system's.
pub fn print(text: &[u8]) -> crate::Result<()> {
    let mut output = output::Output::new(None)?;
    output.write_all(text)?;
    output.finish()
}

/// One line on standard error. Names and paths from outside cannot make it two, move the cursor, or
/// fill the screen.
pub fn say(name: &str, message: impl Display) {
    eprint_line(&format!("{name}: {}", bounded(printable(message.to_string().as_bytes()))));
}

fn eprint_line(line: &str) {
    // Nothing can be reported when standard error is closed.
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// A text without its middle if it is longer than any message: what it is about stands at the
/// beginning, and what to do at the end.
fn bounded(text: String) -> String {
    /// In characters.
    const BEGINNING: usize = 1500;
    const END: usize = 500;
    let count = text.chars().count();
    if count <= BEGINNING + END {
        return text;
    }
    let beginning: String = text.chars().take(BEGINNING).collect();
    let end: String = text.chars().skip(count - END).collect();
    format!("{beginning}…{end}")
}

/// Says how many lines were not understood, where the first one stands, and if the text ends within a line or a stack.
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
    } else if let Some(position) = &lines.ends_within_record {
        say(name, format_args!("{position}: the text ends within a stack; it may have been cut short"));
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
        let sources = Source::list(&self.files);
        signals::read_from(&sources);
        sources
    }
}

/// Reads a number of bytes: `1000000`, `64M`, `2G`.
pub(crate) fn size(text: &str) -> Result<usize, String> {
    let bytes = crate::quantity::bytes(text).and_then(|bytes| usize::try_from(bytes).ok());
    bytes.ok_or_else(|| "a number of bytes is meant, as in 500M or 4G".to_owned())
}

/// Options that make a program write about itself.
#[derive(Args, Clone, Debug, Default)]
pub struct GenerateArgs {
    /// Print the man page or a shell's completions and exit. Behind a subcommand, `man` prints
    /// its page
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

/// The text of `--generate KIND`, which must stand alone, or behind a subcommand for its man page.
fn generate<T: Tool>() -> Option<Vec<u8>> {
    use clap_complete::Shell;

    let mut words: Vec<String> =
        std::env::args_os().skip(1).map(|word| word.into_string().ok()).collect::<Option<_>>()?;
    // Declaring all options takes a third of the time of a small run: not twice.
    if !words.iter().any(|word| word.starts_with("--generate")) {
        return None;
    }
    let mut command = T::command();
    command.build();
    let task =
        command.get_subcommands().find(|task| words.first().is_some_and(|word| word == task.get_name()));
    let task = task.cloned();
    if task.is_some() {
        words.remove(0);
    }
    let kind = match &words[..] {
        [option, kind] if option == "--generate" => kind,
        [option] => option.strip_prefix("--generate=")?,
        _ => return None,
    };
    let mut text = Vec::new();
    let shell = match (Generate::from_str(kind, true).ok()?, &task) {
        (Generate::Man, Some(task)) => {
            let name = format!("{}-{}", T::NAME, task.get_name());
            manual::man_page(task, &name, &mut text).ok()?;
            return Some(text);
        }
        (Generate::Man, None) => {
            manual::man_page(&command, T::NAME, &mut text).ok()?;
            return Some(text);
        }
        (Generate::Bash, None) => Shell::Bash,
        (Generate::Elvish, None) => Shell::Elvish,
        (Generate::Fish, None) => Shell::Fish,
        (Generate::Powershell, None) => Shell::PowerShell,
        (Generate::Zsh, None) => Shell::Zsh,
        (_, Some(_)) => return None,
    };
    manual::completions(shell, &command, T::NAME, &mut text);
    Some(text)
}
