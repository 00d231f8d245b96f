//! `-h` on one screen, `--help` with examples first, and the advice on wrong options.

use std::process::{Command, Stdio};

use super::messages::name;
use super::{COLLAPSE, DIFF, FILTER, RECORD, RENDER, feed};

/// The commands that have help.
const COMMANDS: [(&str, &[&str]); 9] = [
    (COLLAPSE, &[]),
    (FILTER, &[]),
    (DIFF, &[]),
    (RENDER, &[]),
    (RECORD, &[]),
    (RECORD, &["bundle"]),
    (RECORD, &["cargo"]),
    (RECORD, &["check"]),
    (RECORD, &["demo"]),
];

fn shown(program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), feed::text(output.stdout), feed::text(output.stderr))
}

/// Issue 17, line 7.
#[test]
fn short_help_fits_a_terminal() {
    for (program, task) in COMMANDS {
        let (status, help, _) = shown(program, &[task, &["-h"]].concat());
        assert_eq!(status, Some(0));
        let lines = help.lines().count();
        assert!(lines <= 24, "{program} {task:?}: {lines} lines\n{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 79, "{program} {task:?}: {line}");
        }
        assert!(!help.contains("\n\n\n"), "{program} {task:?}: two blank lines\n{help}");
        assert!(help.contains("--help explains every option"), "{help}");
    }
}

/// `-h` says what `--help` has, by its headings.
#[test]
fn short_help_names_every_theme() {
    for (program, task) in COMMANDS {
        let short = shown(program, &[task, &["-h"]].concat()).1.replace('\n', " ");
        let long = shown(program, &[task, &["--help"]].concat()).1;
        let is_theme = |line: &&str| {
            line.starts_with(|c: char| c.is_ascii_uppercase())
                && line.ends_with(':')
                && line.split(' ').count() <= 3
                && !line.contains("Usage")
        };
        let others = ["Examples:", "Recipes:", "Arguments:", "Options:", "Commands:"];
        for theme in long.lines().filter(is_theme).filter(|line| !others.contains(line)) {
            assert!(
                short.contains(theme.trim_end_matches(':')),
                "{program} {task:?}: -h lacks {theme}\n{short}"
            );
        }
    }
}

/// An old name works, and says the new one.
#[test]
fn an_old_name_is_taken_with_a_note() {
    let folded = |program: &str, words: &[&str]| {
        let output = feed::feed(Command::new(program).args(words), "main;a 1\n");
        (feed::text(output.stdout), feed::text(output.stderr))
    };
    let expected = ("main;a 1\n".to_owned(), String::new());
    assert_eq!(folded(COLLAPSE, &["--input-format", "folded"]), expected);
    let (out, said) = folded(COLLAPSE, &["-f", "folded"]);
    assert_eq!(out, expected.0);
    assert_eq!(said, "fg-collapse: -f is an old name, which is still taken: --input-format\n");
    assert_eq!(folded(COLLAPSE, &["-q", "-f", "folded"]), expected);
    let (out, said) = folded(FILTER, &["--root", "^main$"]);
    assert_eq!((out, said.contains(": --rooted-at")), (expected.0, true), "{said}");
}

#[test]
fn long_help_begins_with_examples() {
    for (program, task) in COMMANDS {
        let (status, help, _) = shown(program, &[task, &["--help"]].concat());
        assert_eq!(status, Some(0));
        let at =
            |text: &str| help.find(text).unwrap_or_else(|| panic!("{program} {task:?}: no {text:?}\n{help}"));
        assert!(at("\nUsage: ") < at("\nExamples:\n") && at("\nExamples:\n") < at("\nOptions:\n"), "{help}");
        assert!(at("\nExit status: ") > at("  -h, --help\n"), "{help}");
        // A long word is not cut.
        for line in help.lines().filter(|line| line.trim().contains(' ')) {
            assert!(line.chars().count() <= 90, "{program} {task:?}: {line}");
        }
    }
}

#[test]
fn a_recorder_without_arguments_shows_help() {
    let (status, out, said) = shown(RECORD, &[]);
    assert_eq!((status, out.as_str()), (Some(2), ""));
    assert!(said.contains("fg-record [OPTIONS] COMMAND") && said.lines().count() <= 24, "{said}");
}

#[test]
fn a_wrong_option_names_the_right_one() {
    for (program, arguments, advice) in [
        (COLLAPSE, &["--no-javascript"][..], "fg-render draws"),
        (RENDER, &["--no-javascript"], "'-o out.png'"),
        (RENDER, &["--colors", "javascript"], "'--colors js'"),
        (RENDER, &["--format", "flamegraph"], "'--format svg'"),
        (COLLAPSE, &["--context"], "'--srcline'"),
        (COLLAPSE, &["--title", "x"], "fg-render has '--title'"),
        (FILTER, &["--list-formats"], "fg-collapse has '--list-formats'"),
        (DIFF, &["--width=100", "a", "b"], "fg-render has '--width'"),
        (RENDER, &["--gate", "slower>5%"], "fg-diff, fg-record and fg-record cargo have '--gate'"),
        (RENDER, &["--bench", "x"], "fg-record cargo has '--bench'"),
        (RENDER, &["--focus", "x"], "fg-filter --focus"),
        (RECORD, &["--format", "svg", "./app"], "-o out.svg"),
        (RECORD, &["--opn", "./app"], "a similar argument exists: '--open'"),
        (RECORD, &["-g", "./app"], "'--call-graph'"),
        (DIFF, &["--diff_base", "x"], "fg-diff BEFORE AFTER"),
        (RENDER, &["-f", "svg"], "or '--format'"),
        (DIFF, &["-F", "99", "a", "b"], "fg-record has '-F', which is '--freq'"),
        (RENDER, &["--output-format", "svg"], "'-o out.svg'"),
        (RENDER, &["--theme", "dark"], "dark or light"),
    ] {
        let (status, out, said) = shown(program, arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(said.contains(advice), "{program} {arguments:?}: {said}");
        assert!(said.starts_with(&format!("{}: ", name(program))), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

/// A mistake on the command line is one line: what is wrong, and what to do.
#[test]
fn a_mistake_is_one_line_and_a_hint() {
    for (program, arguments, expected) in [
        (
            RECORD,
            &["-o", "out.svg"][..],
            "there is nothing to record: name a COMMAND, -p PID or NAME, or -a for the whole machine",
        ),
        (
            RECORD,
            &["-F", "abc", "./app"],
            "invalid value 'abc' for '--freq <HZ>': samples per second are a whole number from 1 to 1000000; see --help",
        ),
        (
            RECORD,
            &["-p", "1", "-a"],
            "the argument '--pid <PID|NAME>' cannot be used with '--all'; see --help",
        ),
        (
            RENDER,
            &["--format", "tap"],
            "invalid value 'tap' for '--format <NAME>'; a similar value exists: 'top'",
        ),
        (
            RENDER,
            &["--order", "xyzzy"],
            "invalid value 'xyzzy' for '--order <ORDER>'; it is one of name, time, input",
        ),
        (
            RENDER,
            &["--limit", "many"],
            "invalid value 'many' for '--limit <N>': it is not a whole number; see --help",
        ),
        (RENDER, &["--xyzzy\nplugh"], "unexpected argument '--xyzzy\u{fffd}plugh' found; see --help"),
        (COLLAPSE, &["--xyzzy"], "unexpected argument '--xyzzy' found; see --help"),
        (FILTER, &["--hide"], "a value is required for '--hide <R>' but none was supplied; see --help"),
        (DIFF, &["--plugh", "a"], "unexpected argument '--plugh' found; see --help"),
    ] {
        let (status, out, said) = shown(program, arguments);
        assert_eq!((status, out.as_str()), (Some(2), ""), "{arguments:?}");
        assert_eq!(said, format!("{}: {expected}\n", name(program)), "{arguments:?}");
    }
}

/// An option that nothing resembles gets no advice of another program.
#[test]
fn an_unknown_option_gets_no_far_fetched_advice() {
    for program in [COLLAPSE, FILTER, DIFF, RENDER, RECORD] {
        let said = shown(program, &["--xyzzyplugh"]).2;
        assert!(said.contains("'--xyzzyplugh'") && !said.contains(" has '--"), "{said}");
    }
}
