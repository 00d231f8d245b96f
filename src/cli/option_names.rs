//! The names of options in all programs: their number has a limit, and a name that several programs have is
//! explained by the same words in each.

use std::collections::{BTreeMap, BTreeSet};

use clap::{Arg, Command};

/// The most options that a program shows, and the most different names in all programs with their subcommands.
/// A new option that exceeds them is a reason to look for one that can go.
const MOST: &[(&str, usize)] =
    &[("fg-collapse", 31), ("fg-filter", 62), ("fg-diff", 48), ("fg-render", 58), ("fg-record", 53)];
const MOST_NAMES: usize = 176;

/// Names that are said in other words in several programs, with the meaning that all of them share.
const SHARED: &[(&str, &str)] = &[
    ("depth", "the frames of a stack that are kept"),
    ("max-size", "the most bytes that are written"),
    ("min-percent", "the least share of the whole"),
    ("output", "the file that is written, and its format where a program writes several"),
    ("quiet", "less is said; of fg-filter the exit status says all"),
    ("scale", "weights are multiplied, of one input or of all"),
    ("strip", "parts of names that differ between builds"),
];

/// Letters of two options: habits of grep in fg-filter, of perf and of cargo in fg-record are older than ours.
const LETTERS: &[(char, &[&str])] = &[
    ('e', &["event", "regexp"]),
    ('f', &["features", "file"]),
    ('p', &["package", "pid"]),
    ('r', &["recursive", "release"]),
    ('v', &["invert-match", "verbose"]),
];

fn shown(command: &Command) -> impl Iterator<Item = &Arg> {
    let own = ["help", "version", "generate"];
    command.get_arguments().filter(move |arg| !arg.is_hide_set() && !own.contains(&arg.get_id().as_str()))
}

fn commands() -> Vec<(String, Command)> {
    super::suggest::commands()
}

/// The first sentence of an option's help, without its details.
fn meaning(arg: &Arg) -> String {
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    let end = [". ", ": ", "; ", " (", " ["].iter().filter_map(|end| help.find(end)).min();
    help[..end.unwrap_or(help.len())].to_owned()
}

#[test]
fn programs_have_few_options() {
    let mut names = BTreeSet::new();
    let mut counts = Vec::new();
    for (program, command) in commands() {
        let own: Vec<&str> = shown(&command).filter_map(Arg::get_long).collect();
        if let Some((_, most)) = MOST.iter().find(|(name, _)| *name == program) {
            assert!(own.len() <= *most, "{program} has {} options, more than {most}", own.len());
            counts.push(format!("{program} {}", own.len()));
        }
        names.extend(own.into_iter().map(str::to_owned));
    }
    println!("{}, {} names", counts.join(", "), names.len());
    assert!(names.len() <= MOST_NAMES, "{} names, more than {MOST_NAMES}", names.len());
}

#[test]
fn a_name_means_one_thing() {
    let mut meanings: BTreeMap<String, BTreeMap<String, Vec<String>>> = BTreeMap::new();
    for (program, command) in commands() {
        for arg in shown(&command) {
            if let Some(long) = arg.get_long() {
                let of_name = meanings.entry(long.to_owned()).or_default();
                of_name.entry(meaning(arg)).or_default().push(program.clone());
            }
        }
    }
    let mut wrong = Vec::new();
    for (name, meanings) in &meanings {
        let is_shared = SHARED.iter().any(|(shared, _)| shared == name);
        if (meanings.len() > 1) != is_shared {
            wrong.push(format!("--{name}: {meanings:?}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "these mean several things, or have a needless exception:\n{}",
        wrong.join("\n")
    );
    assert!(SHARED.iter().all(|(name, _)| meanings.contains_key(*name)), "an exception has no option");
}

#[test]
fn a_letter_means_one_thing() {
    let mut letters: BTreeMap<char, BTreeSet<String>> = BTreeMap::new();
    for (_, command) in commands() {
        for arg in shown(&command) {
            if let (Some(letter), Some(long)) = (arg.get_short(), arg.get_long()) {
                letters.entry(letter).or_default().insert(long.to_owned());
            }
        }
    }
    for (letter, names) in letters {
        let expected: BTreeSet<String> = match LETTERS.iter().find(|(it, _)| *it == letter) {
            Some((_, names)) => names.iter().map(|name| (*name).to_owned()).collect(),
            None => names.iter().take(1).cloned().collect(),
        };
        assert_eq!(names, expected, "-{letter}");
    }
}

/// fg-render names the options that it takes and does not show at the end of its help, but for old names.
#[test]
fn hidden_options_of_a_picture_are_named() {
    let (_, command) =
        commands().into_iter().find(|(program, _)| program == "fg-render").expect("it is there");
    let text = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let (_, list) = text.split_once("Also taken: ").expect("a list");
    let list = list.split("\n\n").next().unwrap_or_default();
    let listed: BTreeSet<&str> = list
        .split_whitespace()
        .filter_map(|word| word.strip_prefix("--"))
        .map(|it| it.trim_end_matches('.'))
        .collect();
    let hidden: BTreeSet<&str> = command
        .get_arguments()
        .filter(|arg| arg.is_hide_set())
        .filter_map(Arg::get_long)
        .filter(|long| !super::renamed::is_old_name("fg-render", &format!("--{long}")))
        .collect();
    assert_eq!(listed, hidden);
}
