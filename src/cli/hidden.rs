//! Options that a program takes and its help does not show: another program of ours is the place for them.

use std::ops::Deref;

use clap::{ArgMatches, Args, Command, FromArgMatches};

/// A group of options that are not shown.
#[derive(Clone, Debug, Default)]
pub struct Hidden<T>(pub T);

impl<T> Deref for Hidden<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Args> Args for Hidden<T> {
    fn augment_args(command: Command) -> Command {
        let others = command.get_arguments().count();
        let mut place = 0;
        T::augment_args(command).mut_args(|arg| {
            place += 1;
            if place > others { arg.hide(true) } else { arg }
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<T: FromArgMatches> FromArgMatches for Hidden<T> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches(matches).map(Hidden)
    }

    fn from_arg_matches_mut(matches: &mut ArgMatches) -> Result<Self, clap::Error> {
        T::from_arg_matches_mut(matches).map(Hidden)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0.update_from_arg_matches(matches)
    }
}
