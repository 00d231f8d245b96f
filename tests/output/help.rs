//! `-h` on one screen, `--help` with examples first, and the advice on wrong options.

use std::process::{Command, Stdio};

use super::messages::name;
use super::{COLLAPSE, DIFF, FILTER, RECORD, RENDER, feed};

/// The commands that have help.
const COMMANDS: [(&str, &[&str]); 8] = [
    (COLLAPSE, &[]),
    (FILTER, &[]),
    (DIFF, &[]),
    (RENDER, &[]),
    (RECORD, &[]),
    (RECORD, &["bundle"]),
    (RECORD, &["cargo"]),
    (RECORD, &["check"]),
];

fn shown(program: &str, arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(program).args(arguments).stdin(Stdio::null()).output().unwrap();
    (output.status.code(), feed::text(output.stdout), feed::text(output.stderr))
}

/// Issue 17, line 7.
#[test]
fn short_help_fits_one_screen() {
    for (program, task) in COMMANDS {
        let (status, help, _) = shown(program, &[task, &["-h"]].concat());
        assert_eq!(status, Some(0));
        let lines = help.lines().count();
        assert!(lines <= 40, "{program} {task:?}: {lines} lines\n{help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 79, "{program} {task:?}: {line}");
        }
        assert!(!help.contains("\n\n\n"), "{program} {task:?}: two blank lines\n{help}");
        assert!(help.contains("--help explains every option"), "{help}");
    }
}

#[test]
fn short_help_names_every_option() {
    for (program, task) in COMMANDS {
        let short = shown(program, &[task, &["-h"]].concat()).1;
        let long = shown(program, &[task, &["--help"]].concat()).1;
        let is_option = |line: &&str| line.starts_with("  -") || line.starts_with("      --");
        let options = long.lines().filter(is_option).filter_map(|line| {
            let line = line.trim_start();
            let line =
                line.split_once(", ").filter(|_| !line.starts_with("--")).map_or(line, |(_, long)| long);
            line.strip_prefix("--").map(|rest| rest.split(['[', ' ', '=']).next().unwrap().to_owned())
        });
        // fg-record names groups that fg-render and fg-diff have, and no option of them.
        let others = if program == RECORD {
            shown(RENDER, &["-h"]).1 + &shown(DIFF, &["-h"]).1
        } else {
            String::new()
        };
        let mut count = 0;
        for option in options {
            count += 1;
            let is_common = ["help", "version", "generate"].contains(&option.as_str());
            let option = format!("--{option}");
            let is_named = short.contains(&option) || others.contains(&option);
            assert!(is_common || is_named, "{program} {task:?}: -h lacks {option}");
        }
        assert!(
            count > 10 || task == ["check"] || task == ["bundle"],
            "{program} {task:?}: {count} options\n{long}"
        );
    }
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
    assert!(said.contains("fg-record [OPTIONS] COMMAND") && said.lines().count() <= 40, "{said}");
}

#[test]
fn a_wrong_option_names_the_right_one() {
    for (program, arguments, advice) in [
        (COLLAPSE, &["--no-javascript"][..], "fg-render draws"),
        (RENDER, &["--no-javascript"], "'-o out.png'"),
        (RENDER, &["--nojavascript"], "'-o out.png'"),
        (RENDER, &["--colors", "javascript"], "'--colors js'"),
        (RECORD, &["--colors", "JavaScript", "./app"], "'--colors js'"),
        (RENDER, &["--format", "flamegraph"], "'--format svg'"),
        (COLLAPSE, &["--context"], "'--srcline'"),
        (COLLAPSE, &["--title", "x"], "fg-render, fg-record and fg-record cargo have '--title'"),
        (FILTER, &["--tilte", "x"], "fg-render has '--title'"),
        (FILTER, &["--list-formats"], "fg-collapse has '--list-formats'"),
        (DIFF, &["--width=100", "a", "b"], "fg-render, fg-record and fg-record cargo have '--width'"),
        (RENDER, &["--gate", "slower>5%"], "fg-diff, fg-record and fg-record cargo have '--gate'"),
        (RENDER, &["--bench", "x"], "fg-record cargo has '--bench'"),
        (RENDER, &["--focus", "x"], "fg-filter --focus"),
        (RECORD, &["--format", "svg", "./app"], "-o out.svg"),
        (RECORD, &["--opn", "./app"], "a similar option exists: '--open'"),
        (RECORD, &["-g", "./app"], "'--call-graph'"),
        (DIFF, &["--diff_base", "x"], "fg-diff BEFORE AFTER"),
        (RENDER, &["-f", "svg"], "it is '--format' here"),
        (DIFF, &["-F", "99", "a", "b"], "fg-filter has '-F', which is '--fixed-strings'"),
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
            "invalid value 'xyzzy' for '--order <ORDER>'; it is one of name, time",
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
