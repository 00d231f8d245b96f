//! A terminal is a person: no pictures and no bytes, a word about what is waited for, colours as
//! wished, tables that fit.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use super::pty::{shown, terminal, terminal_of};
use super::{COLLAPSE, DIFF, FILTER, RENDER, SMALL, feed};

/// A folder with a small profile, one with long names, and one that differs.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let long = format!("main;{} 3000\nmain;other 2000\n", "a_long_name::".repeat(20));
    let changed = format!("main;{} 6000\nmain;other 1000\n", "a_long_name::".repeat(20));
    for (name, text) in [("small", SMALL), ("long", &long), ("changed", &changed)] {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// The exit status, all that a terminal of so many columns shows, and the messages.
fn on_terminal(
    folder: &Path,
    columns: u16,
    program: &str,
    arguments: &str,
    environment: &[(&str, &str)],
) -> (Option<i32>, String, String) {
    let (first, second) = terminal_of(columns);
    let mut command = Command::new(program);
    command.args(arguments.split_whitespace()).current_dir(folder).stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM"] {
        command.env_remove(name);
    }
    command.env("TERM", "xterm").envs(environment.iter().copied()).stdout(second).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    drop(command);
    let shown = shown(first);
    let mut said = String::new();
    child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    (child.wait().unwrap().code(), shown, said)
}

/// Issue 17, line 8: the SVG was printed.
#[test]
fn a_picture_on_a_terminal_is_drawn_in_letters() {
    let folder = folder();
    let (status, shown, said) = on_terminal(folder.path(), 80, RENDER, "small", &[("NO_COLOR", "1")]);
    assert_eq!((status, said.as_str()), (Some(0), ""), "messages are for those who see them");
    assert!(shown.starts_with("▏main 100.00%") && shown.contains("▏parse 95.24%"), "{shown}");
    // Asked for by name, or for a pipe, it is a picture.
    let (status, shown, _) = on_terminal(folder.path(), 80, RENDER, "-o - small", &[]);
    assert!(status == Some(0) && shown.starts_with("<?xml"), "{shown}");
    let piped = Command::new(RENDER).arg("small").current_dir(folder.path()).output().unwrap();
    assert!(feed::text(piped.stdout).starts_with("<?xml"));
}

#[test]
fn no_format_of_bytes_goes_to_a_terminal() {
    let folder = folder();
    let mut formats = vec!["svg", "html", "pprof"];
    if cfg!(feature = "png") {
        formats.push("png");
    }
    for format in formats {
        let arguments = format!("--format {format} small");
        let (status, shown, said) = on_terminal(folder.path(), 80, RENDER, &arguments, &[]);
        assert_eq!((status, shown.as_str()), (Some(2), ""), "{format}");
        assert!(said.contains(&format!("{format} is not for a terminal: -o FILE")), "{said}");
    }
    let (status, _, said) = on_terminal(folder.path(), 80, RENDER, "--fontsize 20 small", &[]);
    assert!(status == Some(2) && said.contains("a picture by -o out.svg"), "{said}");
}

#[test]
fn programs_say_that_they_wait_for_the_keyboard() {
    let folder = folder();
    for (program, arguments, expected) in [
        (COLLAPSE, "", "main;x 3"),
        (FILTER, "main", "main;x 3"),
        (DIFF, "- small", "main;x 3 0"),
        (RENDER, "--format collapsed", "main;x 3"),
    ] {
        let (mut first, second) = terminal();
        let mut command = Command::new(program);
        command.args(arguments.split_whitespace()).current_dir(folder.path());
        command.stdin(second).stdout(Stdio::piped()).stderr(Stdio::piped());
        let child = command.spawn().unwrap();
        drop(command);
        first.write_all(b"main;x 3\n\x04").unwrap();
        let output = child.wait_with_output().unwrap();
        let (out, said) = (feed::text(output.stdout), feed::text(output.stderr));
        let name = program.rsplit('/').next().unwrap();
        assert!(
            said.contains(&format!(
                "{name}: reading a profile from the keyboard: name a FILE, or pipe one in"
            )),
            "{name}: {said}"
        );
        assert!(out.contains(expected), "{name}: {out}");
        // A pipe is no keyboard.
        let output = feed::feed(
            Command::new(program).args(arguments.split_whitespace()).current_dir(folder.path()),
            "main;x 3\n",
        );
        assert!(!feed::text(output.stderr).contains("keyboard"), "{name}");
    }
}

#[test]
fn colours_obey_the_environment() {
    let folder = folder();
    for (environment, coloured) in [
        (&[][..], true),
        (&[("NO_COLOR", "1")], false),
        (&[("NO_COLOR", "")], true),
        (&[("CLICOLOR", "0")], false),
        (&[("CLICOLOR", "1")], true),
        (&[("TERM", "dumb")], false),
        (&[("NO_COLOR", "1"), ("CLICOLOR_FORCE", "1")], false),
    ] {
        for (program, arguments) in [(RENDER, "small"), (DIFF, "--table long changed")] {
            let (status, shown, _) = on_terminal(folder.path(), 80, program, arguments, environment);
            assert!(status == Some(0) && !shown.is_empty(), "{arguments}");
            assert_eq!(shown.contains("\x1b["), coloured, "{arguments} {environment:?}: {shown:?}");
        }
    }
    let mut command = Command::new(RENDER);
    command.args(["--format", "text", "small"]).current_dir(folder.path()).env_remove("NO_COLOR");
    let forced = command.env("CLICOLOR_FORCE", "1").output().unwrap();
    assert!(feed::text(forced.stdout).contains("\x1b["));
}

#[test]
fn tables_fit_the_terminal() {
    let folder = folder();
    let width = |line: &str| line.trim_end_matches('\r').chars().count();
    for (program, arguments) in [
        (RENDER, "--format top long"),
        (RENDER, "--format tree long"),
        (RENDER, "--format bottomup long"),
        (RENDER, "--peek other long"),
        (RENDER, "--format text long"),
        (DIFF, "--table long changed"),
        (COLLAPSE, "--list-formats"),
        (COLLAPSE, "--list-values long"),
    ] {
        for columns in [60, 100] {
            let (status, shown, said) =
                on_terminal(folder.path(), columns, program, arguments, &[("NO_COLOR", "1")]);
            assert_eq!(status, Some(0), "{arguments}: {said}");
            assert!(shown.lines().count() > 1, "{arguments}: {shown}");
            // Sentences may go on in the next line of the terminal, rows may not.
            for line in shown.lines().filter(|line| !line.contains(" whole ")) {
                assert!(width(line) <= usize::from(columns), "{arguments}: {line}");
            }
        }
    }
    // In a file names are whole.
    let whole = Command::new(RENDER).args(["--format", "top", "long"]).current_dir(folder.path()).output();
    assert!(feed::text(whole.unwrap().stdout).contains(&"a_long_name::".repeat(20)));
}

#[test]
fn the_numbers_of_a_table_of_operations_stay_on_the_terminal() {
    let folder = folder();
    let (first, second) = terminal_of(70);
    let long = format!("^({}|b)$", "a".repeat(100));
    let mut command = Command::new(FILTER);
    command.args(["--stats", "--hide", &long, "small"]).current_dir(folder.path());
    let mut child = command.stdout(Stdio::null()).stderr(second).spawn().unwrap();
    drop(command);
    let shown = shown(first);
    assert_eq!(child.wait().unwrap().code(), Some(0));
    let row = shown.lines().find(|line| line.starts_with("--hide")).unwrap();
    assert!(
        row.trim_end().ends_with(" 0") && row.contains('…') && row.trim_end().chars().count() <= 70,
        "{shown}"
    );
}

/// A name that is an escape sequence changed the title of the window, or hid what follows it.
#[test]
fn escape_sequences_in_names_are_shown_on_a_terminal_and_kept_in_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let hostile = "main;\x1b]0;title\x07 1\nmain;\u{9b}8mhidden 2\n";
    fs::write(folder.path().join("in"), hostile).unwrap();
    for (program, arguments) in [
        (COLLAPSE, "--no-header in"),
        (FILTER, "--no-header --focus main in"),
        (DIFF, "--no-header in in"),
        (DIFF, "--no-header --strip line in in"),
        (DIFF, "--table in in"),
        (RENDER, "--format collapsed in"),
        (RENDER, "--format tree in"),
    ] {
        let (status, shown, said) = on_terminal(folder.path(), 200, program, arguments, &[("NO_COLOR", "1")]);
        assert_eq!((status, &*said), (Some(0), ""), "{program} {arguments}");
        assert!(!shown.contains(['\x1b', '\x07', '\u{9b}']), "{program} {arguments}: {shown:?}");
        assert!(shown.contains("8mhidden"), "{program} {arguments}: {shown:?}");
    }
    let (_, shown, _) = on_terminal(folder.path(), 200, COLLAPSE, "--no-header in", &[]);
    assert!(shown.contains("main;^[]0:title^G 1") || shown.contains("main;^[]0;title^G 1"), "{shown:?}");
    let piped =
        Command::new(COLLAPSE).args(["--no-header", "in"]).current_dir(folder.path()).output().unwrap();
    let mut lines: Vec<&[u8]> = piped.stdout.split_inclusive(|b| *b == b'\n').collect();
    lines.sort_unstable();
    assert_eq!(lines.concat(), hostile.as_bytes());
}
