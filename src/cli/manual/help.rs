//! The layout of `-h` and `--help`.
//!
//! `-h` fits a terminal of 24 rows: the most used options with a line each, some commands, and the themes of
//! all options. `--help` shows examples first, then all options in full.

use clap::{Arg, Command};

use super::{Manual, sections};

/// The width of `-h`, which is not wrapped.
pub const WIDTH: usize = 79;
/// The position of the text of an option in `-h`.
const COLUMN: usize = 27;

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
        prose.iter().map(|section| format!("{}: {}", section.heading, unwrapped(&section.text))).collect();
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
    if !manual.uses.is_empty() {
        text.push_str(if text.is_empty() { "Examples:\n" } else { "\nExamples:\n" });
    }
    for line in manual.uses {
        text.push_str(&format!("  {line}\n"));
    }
    let program = name.replacen("-", "\0", 1).replace('-', " ").replace('\0', "-");
    let themes = match &themes(command)[..] {
        [] => String::new(),
        themes => format!(", by theme: {}", themes.join(", ")),
    };
    let end = format!("{program} --help explains every option{themes}.");
    format!("{text}{}{}", if text.is_empty() { "" } else { "\n" }, wrapped(&end))
}

/// The headings of the options that are shown.
fn themes(command: &Command) -> Vec<&str> {
    let mut themes = Vec::new();
    let shown = command.get_arguments().filter(|arg| !arg.is_hide_set());
    for heading in shown.filter_map(Arg::get_help_heading) {
        if !themes.contains(&heading) {
            themes.push(heading);
        }
    }
    themes
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
    names.push(' ');
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let columns = WIDTH - COLUMN.max(names.chars().count());
    format!("{names:<COLUMN$}{}\n", fitting(beginning(&help), columns))
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

/// A text whose paragraphs are one line each, which clap wraps.
fn unwrapped(text: &str) -> String {
    let paragraphs: Vec<String> = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect();
    paragraphs.join("\n\n")
}

/// A text in lines that fit.
fn wrapped(text: &str) -> String {
    let (mut lines, mut at) = (String::new(), 0);
    for word in text.split(' ') {
        let is_full = at > 0 && at + 1 + word.len() > WIDTH;
        lines.push_str(match at {
            0 => "",
            _ if is_full => "\n",
            _ => " ",
        });
        at = if is_full || at == 0 { word.len() } else { at + 1 + word.len() };
        lines.push_str(word);
    }
    lines
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

    #[test]
    fn names_and_text_of_an_option_have_a_blank_between() {
        let arg = |name: &'static str| Arg::new(name).long(name).value_name("NAME").help("Read");
        assert_eq!(line_of(&arg("format")), "      --format <NAME>      Read\n");
        assert_eq!(line_of(&arg("input-format")), "      --input-format <NAME> Read\n");
    }

    #[test]
    fn prose_is_wrapped_once() {
        let text = "Exit status: 0 if all went well and the lines of the source were a little longer than these,\n1 if not.\n\nAgain.";
        let help = dress(Command::new("x").after_help(text)).term_width(WIDTH).render_long_help().to_string();
        assert!(help.contains("were a little\nlonger than these, 1 if not.\n\nAgain."), "{help}");
    }
}
