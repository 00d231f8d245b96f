//! The options that were given explicitly: one that means nothing to any output is refused, not
//! ignored.

use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use super::PictureArgs;
use crate::error::{Error, Result};
use crate::render::{FORMATS, Format};

/// The names of the options that were given. It has none of its own, and has to stand before the
/// groups that have: reading an option takes it away.
#[derive(Clone, Debug, Default)]
pub struct ExplicitOptions(Vec<String>);

impl Args for ExplicitOptions {
    fn augment_args(command: Command) -> Command {
        command
    }

    fn augment_args_for_update(command: Command) -> Command {
        command
    }
}

impl FromArgMatches for ExplicitOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = |id: &&clap::Id| matches.value_source(id.as_str()) == Some(ValueSource::CommandLine);
        Ok(ExplicitOptions(matches.ids().filter(given).map(|id| id.as_str().replace('_', "-")).collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = ExplicitOptions::from_arg_matches(matches)?;
        Ok(())
    }
}

impl ExplicitOptions {
    /// Refuses an option that none of the outputs takes; `outputs` is what the message calls them.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`].
    pub fn check(&self, outputs: &str, takes: impl Fn(&str) -> bool) -> Result<()> {
        self.refuse(outputs, |_| true, takes)
    }

    /// Those of some options that were given, as they are written.
    pub fn among(&self, options: &[&str]) -> Vec<String> {
        options
            .iter()
            .filter(|option| self.0.iter().any(|given| given == *option))
            .map(|o| format!("--{o}"))
            .collect()
    }

    /// Refuses an option of [`PictureArgs`] that no output takes, for tools that have other options
    /// of their own; `outputs` is what the message calls them.
    ///
    /// # Errors
    /// [`ErrorKind::Setting`].
    pub fn check_picture(&self, outputs: &[&Format]) -> Result<()> {
        let picture = PictureArgs::augment_args(Command::new("picture"));
        let is_of_picture =
            |option: &str| picture.get_arguments().any(|argument| argument.get_long() == Some(option));
        let names: Vec<&str> = outputs.iter().map(|format| format.name).collect();
        let called = if names.is_empty() { "folded text".to_owned() } else { names.join(" and ") };
        self.refuse(&called, is_of_picture, |option| outputs.iter().any(|format| format.takes(option)))
    }

    fn refuse(
        &self,
        outputs: &str,
        concerns: impl Fn(&str) -> bool,
        takes: impl Fn(&str) -> bool,
    ) -> Result<()> {
        for option in self.0.iter().filter(|option| concerns(option)) {
            let for_some: Vec<&str> =
                FORMATS.iter().filter(|format| format.takes(option)).map(|format| format.name).collect();
            if for_some.is_empty() || takes(option) {
                continue;
            }
            let what = format!("--{option} means nothing to {outputs}; it is for {}", for_some.join(", "));
            return Err(Error::setting(what));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Render;
    use super::*;
    use crate::cli::labels::LabelArgs;
    use crate::cli::reading::ReadingArgs;
    use clap::{CommandFactory, Parser};

    fn name_of(argument: &clap::Arg) -> String {
        argument.get_id().as_str().replace('_', "-")
    }

    /// The options that all formats take.
    const COMMON: &[&str] = &[
        "files",
        "output",
        "format",
        "open",
        "generate",
        "reverse",
        "base",
        "flamechart",
        "no-sort",
        "order",
        "factor",
        "strict",
        "input-format",
        "quiet",
        "verbose",
        #[cfg(feature = "tui")]
        "tui",
    ];

    #[test]
    fn every_option_is_common_or_some_formats() {
        let mut known: Vec<&str> = COMMON.to_vec();
        known.extend(FORMATS.iter().flat_map(|format| format.takes).copied().flatten());
        let reading = ReadingArgs::augment_args(Command::new("reading"));
        let reading = LabelArgs::augment_args(reading);
        let reading: Vec<String> = reading.get_arguments().map(name_of).collect();
        let command = Render::command();
        let declared: Vec<String> =
            command.get_arguments().map(name_of).filter(|name| !reading.contains(name)).collect();
        for option in &declared {
            let builtin = option == "help" || option == "version";
            assert!(builtin || known.contains(&option.as_str()), "no format takes --{option}");
        }
        for option in known {
            assert!(declared.iter().any(|declared| declared == option), "there is no --{option}");
        }
        for argument in command.get_arguments().filter(|argument| argument.get_long().is_some()) {
            assert_eq!(name_of(argument), argument.get_long().unwrap());
        }
    }

    #[test]
    fn what_was_given_is_known() {
        let arguments = ["fg-render", "--title", "x", "-i", "--self-change", "-c", "hot", "a.folded"];
        let mut given = Render::try_parse_from(arguments).unwrap().given.0;
        given.sort_unstable();
        given.retain(|name| !name.ends_with("Args"));
        assert_eq!(given, ["colors", "files", "inverted", "self-change", "title"]);
    }
}
