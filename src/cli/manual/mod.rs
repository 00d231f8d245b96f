//! The texts that a program prints about itself: help, man pages, completions.
//!
//! All are made from the declared options. This module adds the parts that options do not have: an
//! order of importance, some commands, and the sections of a man page. Examples and
//! exit status are written once, in the text behind the options, under headings that
//! [`sections`] reads.

mod completions;
mod help;
mod man;
mod programs;
pub mod sections;

pub use completions::write as completions;
pub use help::{WIDTH, dress};
pub use man::write as man_page;

/// The parts of a program's manual, or of one of its subcommands, that its options do not state.
#[derive(Clone, Copy, Debug)]
pub struct Manual {
    /// The name: `fg-record`, `fg-record-cargo`.
    pub name: &'static str,
    /// The options with a line of their own in short help, by their identifiers.
    pub first: &'static [&'static str],
    /// The commands that short help shows.
    pub uses: &'static [&'static str],
    /// The environment variables that it reads, apart from those of every program.
    pub environment: &'static [(&'static str, &'static str)],
    /// The files that it reads or writes without being told their names.
    pub files: &'static [(&'static str, &'static str)],
    /// Programs to read about next, with their sections.
    pub see_also: &'static [&'static str],
}

/// The environment variables that all programs read.
const ENVIRONMENT: &[(&str, &str)] = &[
    ("NO_COLOR", "No colours, if it is set and not empty."),
    ("CLICOLOR", "No colours, if it is 0."),
    ("CLICOLOR_FORCE", "Colours in files and pipes too, if it is set and not 0."),
];

impl Manual {
    /// The manual of a program or subcommand; one without any parts for a name that is not known.
    pub fn of(name: &str) -> &'static Manual {
        const NONE: &Manual =
            &Manual { name: "", first: &[], uses: &[], environment: &[], files: &[], see_also: &[] };
        programs::ALL.iter().copied().find(|manual| manual.name == name).unwrap_or(NONE)
    }
}
