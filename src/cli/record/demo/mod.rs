//! `fg-record demo`: a recording that ships with the program is looked at, and compared with that of the fixed
//! program: a first look at all of it that needs neither a program to record nor the right to do so.
//!
//! The program is that of docs/tutorial.md: it looks for each word in a list of all words. The recordings are its
//! own at 4000 samples a second, without the start of the process and without interrupts.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::Args;

use super::Record;
use crate::cli::output::Output;
use crate::cli::render::write_files;
use crate::cli::{Exit, Tool, browser, terminal};
use crate::diff::{Diff, FormatOptions, Normalize, ReportFormat, ReportOptions};
use crate::error::{Error, Position};
use crate::profile::Profile;
use crate::reading::Opened;
use crate::render::{Format, Settings};

const SLOW: &str = include_str!("slow.folded");
const FIXED: &str = include_str!("fixed.folded");

/// The rows of the table: the functions of the program itself.
const ROWS: usize = 5;

const ABOUT: &str = "\
Examples:
  fg-record demo

Exit status: 0, or 2 if a file could not be written.";

/// Show a slow program, its page, and what its fix changed
///
/// Nothing is recorded: two recordings that ship with fg-record are written into the user's folder for what may
/// be deleted, with a page of the slow program, which is opened, and one of what its fix changed.
#[derive(Args, Debug)]
#[command(after_help = ABOUT)]
pub struct Demo {}

/// A file beside the page: its profile as text, or another page.
fn beside(page: &Path, name: &str) -> PathBuf {
    page.with_file_name(name)
}

impl Demo {
    /// Writes the files, shows the page, and says what to type.
    pub(super) fn run(&self) -> anyhow::Result<Exit> {
        let page = browser::own_page(&[PathBuf::from("demo-slow")], "html")
            .map_err(|e| Error::io("make", e).or_at(|| Position::file("the folder for pages")))?;
        let [slow, fixed, change] =
            ["demo-slow.folded", "demo-fixed.folded", "demo-diff.html"].map(|name| beside(&page, name));
        write(&slow, SLOW)?;
        write(&fixed, FIXED)?;
        let (before, after) = (Profile::from_bytes(SLOW)?, Profile::from_bytes(FIXED)?);
        let diff = Diff::new(&before, &after);
        draw(diff.profile()?, &change)?;

        let mut options = ReportOptions::default();
        options.normalize = Normalize::No;
        let mut format = FormatOptions::default();
        format.limit = Some(ROWS);
        if io::stdout().is_terminal() {
            format.width = terminal::width();
            format.colour = terminal::wants_colour(true);
        }
        let mut text =
            String::from("./words counts words, and is slow: in its page one function is nearly all.\n");
        text +=
            &format!("  {}\n\nIts fix took that function away:\n  {}\n\n", page.display(), change.display());
        let mut text = text.into_bytes();
        diff.report_with(&options)?.write_with(ReportFormat::Table, &format, &mut text)?;
        draw(before, &page)?;
        let (slow, fixed) = (quoted(&slow), quoted(&fixed));
        let commands = format!(
            "\nThe same by hand, and a program of yours:\n  fg-render --open {slow}\n  fg-diff --table {slow} {fixed}\n  \
             fg-record --open ./app\n"
        );
        text.extend(commands.into_bytes());
        crate::cli::print(&text)?;
        browser::open(Record::NAME, &page);
        Ok(Exit::Yes)
    }
}

/// A path as a shell takes it.
fn quoted(path: &Path) -> String {
    let text = path.to_string_lossy();
    shlex::try_quote(&text).map(|quoted| quoted.into_owned()).unwrap_or_else(|_| text.into_owned())
}

fn write(path: &Path, text: &str) -> Result<(), Error> {
    let mut output = Output::new(Some(path))?;
    output.write_all(text.as_bytes())?;
    output.finish()
}

fn draw(profile: Profile, path: &Path) -> Result<(), Error> {
    let input = Opened::Profile(Box::new(profile), Box::default());
    write_files(&input, &[(Some(path), Format::by_name("html")?)], &Settings::default())?;
    Ok(())
}
