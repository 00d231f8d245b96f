//! Old names of options: taken, with a note that says the new one.
//!
//! A name means one thing in all programs, so those that meant several have others now. The names
//! themselves are declared where the options are, as aliases or as hidden options.

use std::ffi::OsString;

/// An option's old name, the programs that take it, and its name now.
type Renamed = (&'static [&'static str], &'static str, &'static str);

const READERS: &[&str] = &["fg-collapse", "fg-filter", "fg-diff", "fg-render"];
const COUNTERS: &[&str] = &["fg-collapse", "fg-diff", "fg-render"];
const COLLAPSE: &[&str] = &["fg-collapse"];
const FILTER: &[&str] = &["fg-filter"];
const DIFF: &[&str] = &["fg-diff"];
const RECORD: &[&str] = &["fg-record"];
const RENDER: &[&str] = &["fg-render"];

const RENAMED: &[Renamed] = &[
    (READERS, "--pid", "--per-process"),
    (READERS, "--tid", "--per-thread"),
    (READERS, "--all", "--mark all"),
    (READERS, "--no-threads-as-frames", "--threads-as-frames=no"),
    (COUNTERS, "--count", "--count-samples"),
    (&["fg-collapse", "fg-filter"], "--format", "--input-format"),
    (COLLAPSE, "-f", "--input-format"),
    (COLLAPSE, "-n", "--threads"),
    (READERS, "--all-values", "--value all"),
    (FILTER, "-F", "--fixed-strings"),
    (FILTER, "--label-re", "--with-label KEY~R"),
    (FILTER, "--leaf-depth", "--depth -N"),
    (FILTER, "--root", "--rooted-at"),
    (FILTER, "--label", "--with-label"),
    (DIFF, "-s", "--strip hex"),
    (DIFF, "--strip-hex", "--strip hex"),
    (DIFF, "--json", "--format json"),
    (DIFF, "--tsv", "--format tsv"),
    (DIFF, "--normalize-to", "--normalize=N"),
    (&["fg-diff", "fg-record"], "--gate-file", "--gate @FILE"),
    (RENDER, "--scale", "--pixel-ratio"),
    (RENDER, "--no-sort", "--order input"),
    (RENDER, "-c", "--colors"),
    (RENDER, "-i", "--inverted"),
    (RECORD, "-c", "--interval"),
    (RECORD, "--count", "--interval"),
    (RECORD, "--svg", "-o FILE.svg"),
    (RECORD, "--html", "-o FILE.html"),
    (RECORD, "--markdown", "--report FILE.md"),
    (RECORD, "--json", "--report FILE.json"),
];

/// The old name of an operation of fg-filter.
pub(super) fn old_name_of(operation: &str) -> Option<&'static str> {
    let now = |renamed: &&Renamed| renamed.0 == FILTER && renamed.2.strip_prefix("--") == Some(operation);
    RENAMED.iter().find(now)?.1.strip_prefix("--")
}

/// Returns true for the old name of an option of this program.
pub(super) fn is_old_name(program: &str, option: &str) -> bool {
    RENAMED.iter().any(|(programs, old, _)| *old == option && programs.contains(&program))
}

/// A line for each old name among the words of a command line: `words` are those of `program` itself, without the
/// command that it runs.
pub(super) fn notes(program: &str, words: &[OsString]) -> Vec<String> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    let end = words.iter().position(|word| *word == "--").unwrap_or(words.len());
    let is_quiet = |word: &&str| ["-q", "--quiet"].contains(word);
    if words[..end].iter().any(is_quiet) {
        return Vec::new();
    }
    let is_given = |old: &str| words[..end].iter().any(|word| is(word, old));
    let of_program = RENAMED.iter().filter(|(programs, ..)| programs.contains(&program));
    let given = of_program.filter(|(_, old, _)| is_given(old));
    given.map(|(_, old, new)| format!("{old} is an old name, which is still taken: {new}")).collect()
}

/// Returns true if a word is this option: `--count`, `--count=3`, `-c3`.
fn is(word: &str, option: &str) -> bool {
    match (word.strip_prefix(option), option.starts_with("--")) {
        (Some(rest), true) => rest.is_empty() || rest.starts_with('='),
        (rest, _) => rest.is_some(),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use clap::{Arg, Command};

    use super::*;

    /// Returns true if an argument has this name, shown or not.
    fn has_name(arg: &Arg, option: &str) -> bool {
        match option.strip_prefix("--") {
            Some(long) => {
                arg.get_long() == Some(long) || arg.get_all_aliases().unwrap_or_default().contains(&long)
            }
            None => {
                let letter = option.chars().nth(1);
                arg.get_short() == letter
                    || arg.get_all_short_aliases().unwrap_or_default().iter().any(|it| Some(*it) == letter)
            }
        }
    }

    fn command(program: &str) -> Option<Command> {
        crate::cli::suggest::commands().into_iter().find(|(name, _)| name == program).map(|(_, it)| it)
    }

    #[test]
    fn old_names_are_taken_and_not_shown() {
        for (programs, old, new) in RENAMED {
            for program in *programs {
                let Some(command) = command(program) else { continue };
                let taken = command.get_arguments().find(|arg| has_name(arg, old));
                let taken = taken.unwrap_or_else(|| panic!("{program} does not take {old}"));
                let shown = [
                    taken.get_long().map(|it| format!("--{it}")),
                    taken.get_short().map(|it| format!("-{it}")),
                ];
                let is_shown = !taken.is_hide_set() && shown.iter().flatten().any(|name| name == old);
                assert!(!is_shown, "{program} shows {old}");
                let now = new.split([' ', '=']).next().unwrap_or(new);
                let has = command.get_arguments().any(|arg| has_name(arg, now) && !arg.is_hide_set());
                assert!(has, "{program} has no {now}");
            }
        }
    }

    #[test]
    fn notes_are_of_the_program_s_own_options() {
        let notes = |program: &str, line: &str| {
            notes(program, &line.split(' ').map(OsString::from).collect::<Vec<_>>()).join(" ")
        };
        let expected = "--count is an old name, which is still taken: --interval";
        assert_eq!(notes("fg-record", "--count=5 -o x"), expected);
        assert_eq!(notes("fg-record", "-c5"), expected.replacen("--count", "-c", 1));
        assert_eq!(notes("fg-filter", "--count x"), "");
        assert_eq!(notes("fg-collapse", "--counts"), "");
        assert_eq!(notes("fg-collapse", "-q --pid"), "");
        assert_eq!(notes("fg-record", "-o x -- ./app -c 3"), "");
    }
}
