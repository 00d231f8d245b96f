//! The operations of `fg-filter` as options, made from their registry.
//!
//! clap's derive knows options that are fields. These are a list, and what counts is the order in
//! which they stand on the command line.

use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches};

use super::renamed;
use crate::error::Result;
use crate::filter::{Case, OPERATIONS, Op, Operation};

/// The operations that were given, in their order.
#[derive(Clone, Debug, Default)]
pub struct OperationArgs {
    given: Vec<(&'static Operation, String)>,
}

impl OperationArgs {
    /// Returns true if no operation was given.
    pub fn is_empty(&self) -> bool {
        self.given.is_empty()
    }

    /// The operations, in their order.
    ///
    /// # Errors
    /// Those of [`Op::new`].
    pub fn ops(&self, case: Case, rest: bool) -> Result<Vec<Op>> {
        let op = |(operation, value): &(&'static Operation, String)| {
            Ok(Op::new(operation, value)?.case(case).rest(rest))
        };
        self.given.iter().map(op).collect()
    }
}

fn arg(operation: &'static Operation) -> Arg {
    let arg = Arg::new(operation.name)
        .long(operation.name)
        .help(operation.about)
        .help_heading(operation.group.heading())
        .hide(renamed::is_old_name("fg-filter", &format!("--{}", operation.name)));
    let arg = match renamed::old_name_of(operation.name) {
        Some(old) => arg.alias(old),
        None => arg,
    };
    let arg = match operation.details {
        "" => arg,
        details => arg.long_help(format!("{}\n\n{details}", operation.about)),
    };
    match operation.value {
        Some(value) => arg.value_name(value).allow_negative_numbers(value == "N").action(ArgAction::Append),
        // Not SetTrue, which may stand once only.
        None => arg.num_args(0).default_missing_value("").action(ArgAction::Append),
    }
}

impl Args for OperationArgs {
    fn augment_args(command: Command) -> Command {
        OPERATIONS.iter().fold(command, |command, operation| command.arg(arg(operation)))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for OperationArgs {
    fn from_arg_matches(matches: &ArgMatches) -> std::result::Result<Self, clap::Error> {
        let mut given = Vec::new();
        for operation in OPERATIONS.iter().copied() {
            let places = matches.indices_of(operation.name).into_iter().flatten();
            let values = matches.get_many::<String>(operation.name).into_iter().flatten();
            given.extend(places.zip(values).map(|(at, value)| (at, operation, value.clone())));
        }
        given.sort_by_key(|(at, ..)| *at);
        let given = given.into_iter().map(|(_, operation, value)| (operation, value)).collect();
        Ok(OperationArgs { given })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> std::result::Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
