//! The right option in place of a wrong one: another program's, or a neighbour's under our name. Those that are
//! spelled alike are clap's to find.

use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, Error, ErrorKind};
use clap::{Command, CommandFactory};

use crate::printable::printable;
use crate::render::Format;

/// Programs that neighbours' options are taken for.
const READERS: &[&str] = &["fg-collapse", "fg-filter", "fg-diff", "fg-render"];
const RECORD: &[&str] = &["fg-record"];
const RENDER: &[&str] = &["fg-render", "fg-record"];
const ALL: &[&str] = &["fg-collapse", "fg-filter", "fg-diff", "fg-render", "fg-record"];

/// An option of another maker's program, the programs of ours that people give it to, and the advice.
type Neighbour = (&'static [&'static str], &'static str, &'static str);

/// Options of neighbours that have another name or place here.
const NEIGHBOURS: &[Neighbour] = &[
    // stackcollapse-perf.pl, and collapsers of other formats.
    (READERS, "--context", "source lines are shown by '--srcline'"),
    (READERS, "--include-tname", "threads are named by '--threads-as-frames'"),
    (READERS, "--no-include-tname", "threads are left out by '--threads-as-frames=no'"),
    (READERS, "--include-tid", "threads and their numbers are named by '--per-thread'"),
    (READERS, "--shorten-pkgs", "names are shortened by fg-filter --rename 's/([a-z])[a-z]*\\./$1./'"),
    (READERS, "--includeoffset", "offsets are kept; fg-filter --strip offset removes them"),
    (READERS, "--no-modules", "modules are removed by fg-filter --rename 's/^.*`//'"),
    (READERS, "--bytes", "a value is chosen by '--value'; fg-collapse --list-values lists them"),
    (READERS, "--ticks", "a value is chosen by '--value'; fg-collapse --list-values lists them"),
    (READERS, "--sample-index", "a value is chosen by '--value'; fg-collapse --list-values lists them"),
    (&["fg-filter", "fg-diff"], "--kernel-only", "kernel frames are kept by fg-filter --kind kernel"),
    // flamegraph.pl and inferno-flamegraph.
    (RENDER, "--no-javascript", "a picture without a script is '-o out.png', or '-o out.txt' in letters"),
    (
        &["fg-collapse", "fg-filter", "fg-diff"],
        "--no-javascript",
        "fg-render draws; without a script it writes '-o out.png'",
    ),
    // pprof.
    (ALL, "--http", "a page to explore is written by fg-render -o out.html, and shown by --open"),
    (ALL, "--web", "a page to explore is written by fg-render -o out.html, and shown by --open"),
    (ALL, "--output-format", "the format is the output's ending: '-o out.svg'"),
    (RENDER, "--theme", "pages follow the system, dark or light; '--bgcolors' colours a picture"),
    (&["fg-render"], "-f", "the format is the output's ending, '-o out.svg', or '--format'"),
    (&["fg-render"], "--svg", "the format is the output's ending: '-o out.svg'"),
    (&["fg-render"], "--html", "the format is the output's ending: '-o out.html'"),
    (&["fg-render"], "--top", "a table is written by '--format top'"),
    (&["fg-render"], "--tree", "a tree is written by '--format tree'"),
    (&["fg-render"], "--text", "letters are written by '--format text', a table by '--format top'"),
    (&["fg-render"], "--focus", "stacks are chosen by fg-filter --focus, before fg-render"),
    (&["fg-render"], "--ignore", "stacks are dropped by fg-filter --ignore, before fg-render"),
    (ALL, "--diff_base", "profiles are compared by fg-diff BEFORE AFTER"),
    (ALL, "--diff-base", "profiles are compared by fg-diff BEFORE AFTER"),
    (READERS, "--granularity", "modules are shown by fg-render --by module"),
    // perf, samply, py-spy.
    (RECORD, "-g", "stacks are always recorded; '--call-graph' says how they are found"),
    (RECORD, "-t", "one thread is recorded by '--tid TID'; threads are told apart by '--per-thread'"),
    (RECORD, "-D", "the beginning is left out by '--delay SECONDS'"),
    (RECORD, "--switch-output", "a file for every part is written by '--every 60s -o %H%M%S.folded'"),
    (RECORD, "--snapshot", "the last of a recording is written by '--last 30s' and SIGUSR2"),
    (RECORD, "--no-open", "nothing is opened without '--open'"),
    (RECORD, "--save-only", "nothing is opened without '--open': '-o out.html' writes a page"),
    (RECORD, "--format", "the format is the output's ending: '-o out.speedscope.json', '-o out.svg'"),
    (RECORD, "--subprocesses", "processes that the recorded ones start are recorded too"),
    (RECORD, "--gil", "py-spy's options go behind '--with py-spy --backend-args'"),
    (RECORD, "--native", "py-spy's options go behind '--with py-spy --backend-args'"),
    (RECORD, "--nonblocking", "py-spy's options go behind '--with py-spy --backend-args'"),
    (RECORD, "--title-suffix", "fg-render --title names the picture of a recording"),
];

/// Values of neighbours' options that have another name here.
const VALUES: &[(&str, &str, &str)] = &[
    ("--colors", "javascript", "js"),
    ("--colors", "node", "js"),
    ("--colors", "nodejs", "js"),
    ("--colors", "py", "python"),
    ("--colors", "rs", "rust"),
    ("--colors", "c++", "hot"),
    ("--format", "flamegraph", "svg"),
    ("--format", "flame", "text"),
    ("--format", "table", "top"),
    ("--format", "folded", "collapsed"),
    ("--format", "proto", "pprof"),
    ("--format", "md", "markdown"),
    ("--format", "gecko", "firefox"),
];

/// The programs, and the subcommands that have options of their own.
pub(super) fn commands() -> Vec<(String, Command)> {
    let mut all = Vec::new();
    let tools = [
        super::collapse::Collapse::command(),
        super::filter::Filter::command(),
        super::diff::Diff::command(),
        super::render::Render::command(),
    ];
    all.extend(tools.map(|command| (command.get_name().to_owned(), command)));
    #[cfg(all(feature = "record", unix))]
    {
        let record = super::record::Record::command();
        let tasks =
            record.get_subcommands().map(|task| (format!("fg-record {}", task.get_name()), task.clone()));
        let tasks: Vec<_> = tasks.collect();
        all.push(("fg-record".to_owned(), record));
        all.extend(tasks);
    }
    all
}

/// Gives an error the advice that is known for its option or value. `program` is the one that was
/// started.
pub fn improve(mut error: Error, program: &str) -> Error {
    let advice = match error.kind() {
        ErrorKind::UnknownArgument => option_advice(&error, program),
        ErrorKind::InvalidValue => value_advice(&error, program),
        _ => None,
    };
    if advice.is_none() && (error.get(ContextKind::SuggestedArg).is_some() || program != "fg-filter") {
        // Patterns may begin with a hyphen; that a file's name does is far-fetched.
        error.remove(ContextKind::Suggested);
    }
    // Arguments may be names of files that somebody else chose: a message is one line all the same.
    for kind in [ContextKind::InvalidArg, ContextKind::InvalidValue] {
        if let Some(given) = text(&error, kind)
            && let shown = printable(given.as_bytes())
            && shown != given
        {
            error.insert(kind, ContextValue::String(shown));
            error.remove(ContextKind::Suggested);
        }
    }
    if let Some(advice) = advice {
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::SuggestedValue);
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![StyledStr::from(advice)]));
    }
    error
}

/// Words of Rust's own for values that are no numbers, and ours.
const NUMBERS: &[(&str, &str)] = &[
    ("invalid digit found in string", "it is not a whole number"),
    ("cannot parse integer from empty string", "it is empty, and no number"),
    ("number too large to fit in target type", "it is too large"),
    ("number too small to fit in target type", "it is too small"),
    ("invalid float literal", "it is not a number"),
    ("cannot parse float from empty string", "it is empty, and no number"),
];

/// More values than these are not listed in a message.
const MOST_VALUES: usize = 40;

/// An error of the command line as all messages are: what is wrong, and what to do, in one line.
pub fn one_line(error: &Error) -> String {
    if lacks_target(error) {
        return "there is nothing to record: name a COMMAND, -p PID or NAME, or -a for the whole machine"
            .to_owned();
    }
    let rendered = error.render().to_string();
    let (mut what, mut tips, mut values) = (String::new(), Vec::new(), None);
    for line in rendered.strip_prefix("error: ").unwrap_or(&rendered).lines().map(str::trim) {
        if line.starts_with("Usage:") || line.starts_with("For more information") {
            break;
        }
        if let Some(tip) = line.strip_prefix("tip: ") {
            tips.push(tip);
        } else if let Some(list) = line.strip_prefix("[possible values: ") {
            values = Some(list.trim_end_matches(']'));
        } else if !line.is_empty() {
            what.push_str(match () {
                () if what.is_empty() => "",
                () if what.ends_with(':') => " ",
                () => ", ",
            });
            what.push_str(line);
        }
    }
    if let Some((start, ours)) =
        NUMBERS.iter().find_map(|(theirs, ours)| Some((what.strip_suffix(theirs)?, ours)))
    {
        what = format!("{start}{ours}");
    }
    let few = values.filter(|values| values.split(", ").count() <= MOST_VALUES);
    let hint = match (tips.is_empty(), few) {
        (false, _) => tips.join("; "),
        (true, Some(values)) => format!("it is one of {values}"),
        (true, None) => format!("see {}--help", subcommand(&rendered)),
    };
    format!("{what}; {hint}")
}

/// The program and its subcommand, by the line of its usage: `fg-record check `. Empty without a subcommand.
fn subcommand(rendered: &str) -> String {
    let usage =
        rendered.lines().find_map(|line| line.trim_start().strip_prefix("Usage: ")).unwrap_or_default();
    let is_name = |word: &&str| word.starts_with(|c: char| c.is_ascii_lowercase());
    let words: Vec<&str> = usage.split_whitespace().take_while(is_name).collect();
    if words.len() > 1 { format!("{} ", words.join(" ")) } else { String::new() }
}

/// Returns true if fg-record was not told what to record.
fn lacks_target(error: &Error) -> bool {
    let missing = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::Strings(missing)) if error.kind() == ErrorKind::MissingRequiredArgument => missing,
        _ => return false,
    };
    missing.iter().any(|name| name.starts_with("<COMMAND|"))
}

fn text(error: &Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind)? {
        ContextValue::String(text) => Some(text),
        _ => None,
    }
}

fn option_advice(error: &Error, program: &str) -> Option<String> {
    let wrong = text(error, ContextKind::InvalidArg)?;
    let option = wrong.split(['=', ' ']).next().unwrap_or(wrong);
    let known = NEIGHBOURS.iter().find(|(programs, name, _)| *name == option && programs.contains(&program));
    if let Some((.., advice)) = known {
        return Some((*advice).to_owned());
    }
    let commands = commands();
    let Some(long) = option.strip_prefix("--") else { return short_advice(option, program, &commands) };
    let has = |command: &Command| {
        let mut options = command.get_arguments().filter(|arg| !arg.is_hide_set());
        options.any(|arg| {
            arg.get_long() == Some(long)
                || arg.get_all_aliases().is_some_and(|aliases| aliases.contains(&long))
        })
    };
    let with: Vec<&str> =
        commands.iter().filter(|(_, command)| has(command)).map(|(name, _)| name.as_str()).collect();
    if let Some(names) = listed(&with) {
        let verb = if with.len() == 1 { "has" } else { "have" };
        return Some(format!("{names} {verb} '--{long}'"));
    }
    None
}

/// The long name of an option that has a short one in another program, `-f` for instance.
fn short_advice(option: &str, program: &str, commands: &[(String, Command)]) -> Option<String> {
    let letter = option.strip_prefix('-')?.chars().next()?;
    let of_others = commands.iter().filter(|(name, _)| name != program).flat_map(|(name, command)| {
        let visible = command.get_arguments().filter(|arg| !arg.is_hide_set());
        visible
            .filter(move |arg| arg.get_short() == Some(letter))
            .filter_map(move |arg| Some((name.as_str(), arg.get_long()?)))
    });
    let of_others: Vec<(&str, &str)> = of_others.collect();
    let (_, own) = commands.iter().find(|(name, _)| name == program)?;
    let is_own =
        |long: &str| own.get_arguments().any(|arg| !arg.is_hide_set() && arg.get_long() == Some(long));
    if let Some((_, long)) = of_others.iter().find(|(_, long)| is_own(long)) {
        return Some(format!("it is '--{long}' here"));
    }
    let (name, long) = of_others.first()?;
    Some(format!("{name} has '-{letter}', which is '--{long}'"))
}

/// `a`, `a and b`, `a, b and c`.
fn listed(names: &[&str]) -> Option<String> {
    let (last, others) = names.split_last()?;
    Some(if others.is_empty() { (*last).to_owned() } else { format!("{} and {last}", others.join(", ")) })
}

fn value_advice(error: &Error, program: &str) -> Option<String> {
    let wrong = text(error, ContextKind::InvalidValue)?.to_lowercase();
    let option = text(error, ContextKind::InvalidArg)?;
    let option = option.split(' ').next().unwrap_or(option);
    if program == "fg-diff" && option == "--format" {
        return Format::by_name(&wrong)
            .is_ok()
            .then(|| "a page or a picture is drawn by '-o out.html'".to_owned());
    }
    let known = VALUES.iter().find(|(of, name, _)| *of == option && *name == wrong);
    known.map(|(.., ours)| format!("it is '{option} {ours}' here"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A neighbour's option that we have needs no advice, and gets none.
    #[test]
    fn advice_is_for_options_that_a_program_has_not() {
        let commands = commands();
        for (programs, option, advice) in NEIGHBOURS {
            for program in *programs {
                let Some((_, command)) = commands.iter().find(|(name, _)| name == program) else { continue };
                let has = command.get_arguments().any(|arg| {
                    arg.get_long().is_some_and(|long| *option == format!("--{long}"))
                        || arg.get_short().is_some_and(|short| *option == format!("-{short}"))
                });
                assert!(!has, "{program} has {option}: {advice}");
            }
        }
    }

    /// An option that advice names exists.
    #[test]
    fn options_that_advice_names_exist() {
        let commands = commands();
        for (programs, option, advice) in NEIGHBOURS {
            let quoted = advice.split('\'').skip(1).step_by(2).filter(|part| part.starts_with("--"));
            for name in quoted.flat_map(|part| part.split([' ', '='])).filter(|word| word.starts_with("--")) {
                for program in *programs {
                    let Some((_, command)) = commands.iter().find(|(it, _)| it == program) else { continue };
                    let has = command.get_arguments().any(|arg| arg.get_long() == Some(&name[2..]));
                    assert!(has, "advice on {option}: {program} has no {name}");
                }
            }
        }
    }
}
