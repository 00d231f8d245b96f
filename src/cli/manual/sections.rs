//! The text behind a command's options, in sections: examples, exit status, and others.
//!
//! A section begins with its heading at the beginning of a line, behind an empty line or at the
//! text's beginning: `Exit status: 0 if …`, or `Examples:` and the lines below it.

use clap::Command;

/// A section of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The heading, without its colon.
    pub heading: String,
    /// The lines, without empty ones at both ends.
    pub text: String,
}

impl Section {
    /// Returns true if its lines are commands, and remarks that begin with `#`.
    pub fn is_commands(&self) -> bool {
        self.text.starts_with("  ")
    }
}

/// The sections of the text behind a command's options.
pub fn of(command: &Command) -> Vec<Section> {
    let text = command.get_after_long_help().or(command.get_after_help());
    text.map(|text| parse(&text.to_string())).unwrap_or_default()
}

/// Cuts a text at its headings.
fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut is_behind_empty = true;
    for line in text.lines() {
        match heading(line).filter(|_| is_behind_empty) {
            Some((heading, rest)) => {
                sections.push(Section { heading: heading.to_owned(), text: rest.to_owned() });
            }
            None => {
                if let Some(section) = sections.last_mut() {
                    if !section.text.is_empty() {
                        section.text.push('\n');
                    }
                    section.text.push_str(line);
                }
            }
        }
        is_behind_empty = line.trim().is_empty();
    }
    for section in &mut sections {
        section.text.truncate(section.text.trim_end().len());
    }
    sections
}

/// The heading that a line begins with, of at most three words, and the text behind it.
fn heading(line: &str) -> Option<(&str, &str)> {
    let (heading, rest) = line.split_once(':')?;
    let is_heading = heading.starts_with(|c: char| c.is_ascii_uppercase())
        && heading.split(' ').count() <= 3
        && (rest.is_empty() || rest.starts_with(' '));
    is_heading.then(|| (heading, rest.trim_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_cut_at_its_headings() {
        let text = "Examples:\n  a | b\n  # rest: c\n\n  d\n\nExit status: 0 or\n1. Note: no heading.\n";
        let sections = parse(text);
        let shown: Vec<_> = sections.iter().map(|it| (it.heading.as_str(), it.text.as_str())).collect();
        assert_eq!(
            shown,
            [("Examples", "  a | b\n  # rest: c\n\n  d"), ("Exit status", "0 or\n1. Note: no heading.")]
        );
        assert!(sections[0].is_commands() && !sections[1].is_commands());
    }
}
