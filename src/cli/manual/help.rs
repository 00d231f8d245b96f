//! The layout of `-h` and `--help`.
//!
//! `-h` fits one screen: the most used options with a line each, then every group with a command that
//! uses it and the names of its options. `--help` shows examples first, then all options in full.

use clap::{Arg, Command};

use super::{Manual, sections};

/// The width of `-h`, which is not wrapped.
pub const WIDTH: usize = 79;
/// The position of the text of an option in `-h`, and of the command that uses a group.
const COLUMN: usize = 27;
pub(super) const USES: usize = 22;

/// The heading of options that have none.
pub(super) const WITHOUT: &str = "More";

const TEMPLATE: &str = "{about-with-newline}\n{usage-heading} {usage}\n\n{before-help}{all-args}{after-help}";

/// Lays out the help of a command and of its subcommands.
pub fn dress(mut command: Command) -> Command {
    command.build();
    dress_built(command, None)
}

fn dress_built(command: Command, parent: Option<&str>) -> Command {
    let name = match parent {
        Some(parent) => format!("{parent}-{}", command.get_name()),
        None => command.get_name().to_owned(),
    };
    let sections = sections::of(&command);
    let (commands, prose): (Vec<_>, Vec<_>) = sections.iter().partition(|section| section.is_commands());
    let commands: Vec<String> =
        commands.iter().map(|section| format!("{}:\n{}", section.heading, section.text)).collect();
    let prose: Vec<String> =
        prose.iter().map(|section| format!("{}: {}", section.heading, section.text)).collect();
    let short = short(&command, Manual::of(&name), &name);
    let tasks: Vec<String> = command.get_subcommands().map(|task| task.get_name().to_owned()).collect();
    let command = command
        .mut_args(|arg| arg.hide_short_help(true))
        .before_help(short)
        .before_long_help(commands.join("\n\n"))
        .after_help("")
        .after_long_help(prose.join("\n\n"))
        .help_template(TEMPLATE);
    tasks
        .iter()
        .fold(command, |command, task| command.mut_subcommand(task, |task| dress_built(task, Some(&name))))
}

/// The body of `-h`.
fn short(command: &Command, manual: &Manual, name: &str) -> String {
    let mut text = String::new();
    let by_id = |id: &&str| command.get_arguments().find(|arg| arg.get_id() == *id);
    for arg in manual.first.iter().filter_map(by_id) {
        text.push_str(&line_of(arg));
    }
    if !text.is_empty() {
        text.push('\n');
    }
    let options: Vec<&Arg> = command
        .get_arguments()
        .filter(|arg| !arg.is_positional() && !arg.is_hide_set() && !is_first(arg, manual))
        .collect();
    let mut headings: Vec<Option<&str>> = Vec::new();
    for heading in options.iter().map(|arg| arg.get_help_heading()) {
        if !headings.contains(&heading) {
            headings.push(heading);
        }
    }
    // Options without a group come last.
    headings.sort_by_key(Option::is_none);
    for heading in headings {
        let names = options.iter().filter(|arg| arg.get_help_heading() == heading).map(|arg| names_of(arg));
        let heading = heading.unwrap_or(WITHOUT);
        if let Some((others, line)) = manual.shared.iter().find(|(others, _)| others.contains(&heading)) {
            // All of them in one line, in the place of the first.
            if others[0] == heading {
                text.push_str(&format!("{}: {line}\n", others.join(", ")));
            }
            continue;
        }
        let line = manual.use_of(heading).unwrap_or_default();
        text.push_str(format!("{:<USES$}{line}", format!("{heading}:")).trim_end());
        text.push('\n');
        wrap(names, &mut text);
    }
    let program = name.replacen("-", "\0", 1).replace('-', " ").replace('\0', "-");
    if !text.is_empty() {
        text.push('\n');
    }
    text + &format!("{program} --help explains every option, with examples first.")
}

fn is_first(arg: &Arg, manual: &Manual) -> bool {
    let id = arg.get_id().as_str();
    manual.first.contains(&id) || ["help", "version", "generate"].contains(&id)
}

/// The line of an option in `-h`: its names, and the beginning of its text.
fn line_of(arg: &Arg) -> String {
    let mut names = match (arg.get_short(), arg.get_long()) {
        (Some(short), Some(long)) => format!("  -{short}, --{long}"),
        (None, Some(long)) => format!("      --{long}"),
        (Some(short), None) => format!("  -{short}"),
        (None, None) => String::from(" "),
    };
    if arg.get_action().takes_values() {
        let value = arg.get_value_names().unwrap_or_default().first().map_or("VALUE", |name| name.as_str());
        names.push_str(&format!(" <{value}>"));
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    format!("{names:<COLUMN$}{}\n", fitting(beginning(&help), WIDTH - COLUMN))
}

/// A sentence, or as many of its parts between commas as fit.
fn fitting(sentence: &str, columns: usize) -> &str {
    let mut sentence = sentence;
    while sentence.chars().count() > columns {
        let Some((shorter, _)) = sentence.rsplit_once(", ") else { break };
        sentence = shorter;
    }
    sentence
}

/// The first sentence, without details in brackets or behind a colon.
fn beginning(help: &str) -> &str {
    let ends = [". ", ": ", "; ", " [", " (default"];
    let end = ends.iter().filter_map(|end| help.find(end)).min();
    help[..end.unwrap_or(help.len())].trim_end()
}

/// `-x/--frame-regexp`.
fn names_of(arg: &Arg) -> String {
    let long = arg.get_long().map(|long| format!("--{long}"));
    let short = arg.get_short().map(|short| format!("-{short}"));
    short.into_iter().chain(long).collect::<Vec<_>>().join("/")
}

/// Adds words in indented lines.
fn wrap(words: impl Iterator<Item = String>, text: &mut String) {
    let mut at = 0;
    for word in words {
        if at == 0 || at + 1 + word.len() > WIDTH {
            text.push_str(if at == 0 { "  " } else { "\n  " });
            at = 2 + word.len();
        } else {
            text.push(' ');
            at += 1 + word.len();
        }
        text.push_str(&word);
    }
    text.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_of_a_text_is_its_first_sentence() {
        for (help, expected) in [
            (
                "Write to FILE in the format of its ending: .svg, .html",
                "Write to FILE in the format of its ending",
            ),
            ("Samples per second [default: 997]", "Samples per second"),
            ("Leaf first", "Leaf first"),
            ("The palette (default: hot)", "The palette"),
        ] {
            assert_eq!(beginning(help), expected);
        }
    }
}
