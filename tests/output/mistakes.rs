//! Mistakes of newcomers, each with the one line that is printed: what is wrong, where, and what to do.
//!
//! A recorder without permission is a test of its own (`tests/record/rights.rs`), as it takes another user.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::process::{Command, Stdio};

use super::messages::name;
use super::{COLLAPSE, DIFF, FILTER, RECORD, RENDER, feed};

/// A program, its arguments, and the line that it prints.
const MISTAKES: &[(&str, &str, &str)] = &[
    // The program is called by a name that only its folder knows.
    (
        RECORD,
        "app",
        "cannot start the program: app: there is no such program in PATH; the one in this folder is ./app",
    ),
    // A recording where a program is expected.
    (
        RECORD,
        "old.data",
        "cannot start the program: old.data: it is a file, and no program; if it is a recording, fg-render old.data draws it",
    ),
    // A source file.
    (
        RECORD,
        "./app.c",
        "cannot start the program: ./app.c: it is not executable; chmod +x makes it so, and if it is a recording, fg-render draws it",
    ),
    // The habit of perf.
    (
        RECORD,
        "record ./app",
        "cannot start the program: record: there is no such program; fg-record records without that word: fg-record COMMAND",
    ),
    (
        RECORD,
        "-g ./app",
        "unexpected argument '-g' found; stacks are always recorded; '--call-graph' says how they are found",
    ),
    // The output without its option.
    (
        RECORD,
        "out.svg ./app",
        "cannot start the program: out.svg: there is no such program; -o out.svg names the file that is written",
    ),
    // Nothing to record.
    (
        RECORD,
        "-o out.svg",
        "there is nothing to record: name a COMMAND, -p PID or NAME, or -a for the whole machine",
    ),
    // A process that is not there any more.
    (RECORD, "-p 4194303", "there is no process 4194303; -p NAME finds one by its name"),
    // Formats that nobody writes.
    (
        RECORD,
        "-o out.pdf ./app",
        "no format has files that end in .pdf; a page is .html, a picture .svg or .png, a table .top, stacks .folded: fg-render --help lists all formats",
    ),
    (
        RENDER,
        "-o out.jpg a.folded",
        "no format has files that end in .jpg; a page is .html, a picture .svg or .png, a table .top, stacks .folded: fg-render --help lists all formats",
    ),
    (
        RENDER,
        "--format jpeg a.folded",
        "invalid value 'jpeg' for '--format <NAME>'; a similar value exists: 'png'",
    ),
    (
        DIFF,
        "-o out.pdf a.folded b.folded",
        "no format has files that end in .pdf, here folded text would be in it: fg-render writes pictures, as .svg or .png",
    ),
    (
        COLLAPSE,
        "-o out.svg a.folded",
        "only fg-render writes .svg files, here folded text would be in it: fg-render -o 'out.svg'",
    ),
    // A folder that is not there.
    (
        RENDER,
        "-o nowhere/x.svg a.folded",
        "nowhere/x.svg: cannot open: there is no folder nowhere; `mkdir -p nowhere` makes it",
    ),
    // A folder in place of a file.
    (RENDER, "folder", "folder: cannot read: it is a directory; fg-collapse -r reads the recordings in it"),
    // The program itself, a source file, a picture.
    (
        RENDER,
        "./app",
        "./app: not read here: an executable or a core dump, not a profile; record it while it runs: fg-record; eu-stack and gdb print the stacks of a core",
    ),
    (RENDER, "app.c", "app.c: not a format known here; fg-collapse --list-formats shows those that are"),
    (RENDER, "old.svg", "old.svg: not read here: a picture; give the profile that it was drawn from"),
    // Nothing comes through the pipe, or stands in the file.
    (
        RENDER,
        "-o x.svg",
        "standard input: no stacks in the input: nothing was recorded, or the program before this one failed",
    ),
    (
        RENDER,
        "-o x.svg empty",
        "empty: no stacks in the input: nothing was recorded, or the program before this one failed",
    ),
    (
        RENDER,
        "-o x.pb.gz empty",
        "empty: no stacks in the input: nothing was recorded, or the program before this one failed",
    ),
    // One file, three files, and the option of another program.
    (
        DIFF,
        "a.folded",
        "a.folded: nothing to compare it with: fg-diff BEFORE AFTER takes two files; fg-render draws one",
    ),
    (
        DIFF,
        "a.folded b.folded a.folded",
        "3 files: give one BEFORE and one AFTER, or the runs of each side: --before FILE... --after FILE...",
    ),
    (
        DIFF,
        "--format html a.folded b.folded",
        "invalid value 'html' for '--format <NAME>'; a page or a picture is drawn by '-o out.html'",
    ),
    (
        DIFF,
        "--gate slower a.folded b.folded",
        "invalid value 'slower' for '--gate <EXPR|@FILE>': gate \"slower\": expected > or < and a number, as in total>5%; see --help",
    ),
    // Pattern and file swapped, the pattern forgotten, a pattern of the shell.
    (
        FILTER,
        "a.folded parse",
        "parse: no such file, and the pattern a.folded is one: the pattern comes first: fg-filter parse a.folded",
    ),
    (FILTER, "a.folded", "a.folded was the pattern, and is a file here: fg-filter PATTERN a.folded"),
    (
        FILTER,
        "*parse a.folded",
        "regular expression \"*parse\": repetition operator missing expression, at character 1 (-F takes it as plain text)",
    ),
    (
        FILTER,
        "--focs parse a.folded",
        "unexpected argument '--focs' found; a similar argument exists: '--focus'",
    ),
    // A format's name that is nearly right.
    (
        COLLAPSE,
        "--input-format prf a.folded",
        "there is no format \"prf\"; is it perf-data, perf-script, perf-sched or ghc-prof?",
    ),
    // A program that is not installed.
    (
        RECORD,
        "--with perf ./app",
        "perf is not installed: `apt install linux-perf`, `apt install linux-tools-generic` on Ubuntu, `dnf install perf`; PERF may name it, and --with builtin needs no other program",
    ),
];

#[test]
fn a_newcomer_s_mistakes_are_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &[u8]| fs::write(folder.path().join(file), text).unwrap();
    write("a.folded", b"main;parse 40\nmain;write 2\n");
    write("b.folded", b"main;parse 32\nmain;write 10\n");
    write("old.data", b"PERFILE2");
    write("old.svg", b"<?xml version=\"1.0\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\"></svg>\n");
    write("app.c", b"int main(void) { return 0; }\n");
    write("empty", b"");
    fs::copy("/proc/self/exe", folder.path().join("app")).unwrap();
    fs::set_permissions(folder.path().join("app"), fs::Permissions::from_mode(0o755)).unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    let mut wrong = Vec::new();
    for (program, arguments, expected) in MISTAKES {
        let mut command = Command::new(program);
        command.args(arguments.split(' ')).current_dir(&folder).stdin(Stdio::null());
        // No program of the machine: those that are not installed here, or have the name of one that is meant.
        let output = command.env("PATH", folder.path().join("folder")).output().unwrap();
        let (said, status) = (feed::text(output.stderr), output.status.code());
        if said != format!("{}: {expected}\n", name(program)) || ![Some(1), Some(2)].contains(&status) {
            wrong.push(format!("{} {arguments}: {status:?}\n{said}", name(program)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
