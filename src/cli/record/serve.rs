//! `--serve PID`: the other side of `--root`, which only fg-record itself starts.
//!
//! The option is declared when it is given, and not before: usage, help, suggestions, the man page and
//! completions are made from what is declared, and some of them show hidden options too.

use clap::{Arg, ArgMatches, Args, Command, FromArgMatches, value_parser};

const NAME: &str = "serve";

/// The process that reads our standard output, for which a recording is made.
#[derive(Clone, Debug, Default)]
pub struct ServeArgs {
    /// Its number.
    pub waiting: Option<u32>,
}

impl Args for ServeArgs {
    fn augment_args(command: Command) -> Command {
        if std::env::args_os().all(|argument| argument != "--serve") {
            return command;
        }
        let option = Arg::new(NAME).long(NAME).value_name("PID").value_parser(value_parser!(u32));
        command.arg(option.group("target").hide(true))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for ServeArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        // Not declared is not given.
        Ok(ServeArgs { waiting: matches.try_get_one(NAME).ok().flatten().copied() })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        Self::from_arg_matches(matches).map(|args| *self = args)
    }
}
