//! Texts that a program prints about itself, and messages built from names of the input.

use std::fs;
use std::process::{Command, Stdio};

use super::{COLLAPSE, DIFF, FILTER, RECORD, RENDER, feed};

const PROGRAMS: [&str; 5] = [RECORD, COLLAPSE, FILTER, DIFF, RENDER];

pub fn name(program: &str) -> &str {
    program.rsplit('/').next().unwrap()
}

#[test]
fn help_into_a_full_or_closed_output_is_trouble() {
    for program in PROGRAMS {
        for arguments in
            [&["--help"][..], &["-h"], &["--version"], &["--generate", "man"], &["--generate=bash"]]
        {
            let full = fs::File::options().write(true).open("/dev/full").unwrap();
            let full = Command::new(program).args(arguments).stdout(full).output().unwrap();
            let closed = Command::new("sh")
                .args(["-c", "exec \"$0\" \"$@\" >&-", program])
                .args(arguments)
                .output()
                .unwrap();
            for (output, why) in [(full, "no space left on device"), (closed, "it is closed")] {
                let said = feed::text(output.stderr);
                let expected = format!("{}: standard output: cannot write: {why}\n", name(program));
                assert_eq!((output.status.code(), said), (Some(2), expected), "{arguments:?}");
            }
        }
    }
}

#[test]
fn help_into_a_closed_pipe_is_no_trouble() {
    for program in PROGRAMS {
        for arguments in [&["--help"][..], &["--version"], &["--generate", "man"]] {
            let (reader, writer) = std::io::pipe().unwrap();
            drop(reader);
            let output =
                Command::new(program).args(arguments).stdout(writer).stderr(Stdio::piped()).output().unwrap();
            let said = feed::text(output.stderr);
            assert_eq!((output.status.code(), said.as_str()), (Some(0), ""), "{program} {arguments:?}");
        }
    }
}

#[test]
fn results_into_a_closed_output_are_trouble_and_a_file_needs_none() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("in"), super::SMALL).unwrap();
    let run = |arguments: &str| {
        let script = format!("exec \"$0\" {arguments} in >&-");
        let output =
            Command::new("sh").args(["-c", &script, FILTER]).current_dir(folder.path()).output().unwrap();
        (output.status.code(), feed::text(output.stderr))
    };
    assert_eq!(run("main"), (Some(2), "fg-filter: standard output: cannot write: it is closed\n".into()));
    assert_eq!(run("-q main"), (Some(0), String::new()));
    assert_eq!(run("-o out main"), (Some(0), String::new()));
}

#[test]
fn hidden_options_are_shown_nowhere() {
    let shown = |arguments: &[&str]| {
        let output = Command::new(RECORD).args(arguments).output().unwrap();
        feed::text(output.stdout) + &feed::text(output.stderr)
    };
    assert!(shown(&[]).contains("--pid"));
    for arguments in [&[][..], &["-h"], &["--help"], &["--pid"], &["--serv"]] {
        assert!(!shown(arguments).contains("--serve"), "{arguments:?}: {}", shown(arguments));
    }
    for kind in ["man", "bash", "elvish", "fish", "powershell", "zsh"] {
        let text = shown(&["--generate", kind]);
        assert!(text.contains("off-cpu") || text.contains("off\\-cpu"), "{kind}");
        // The example of cargo has `--bin server`.
        assert!(!text.replace("server", "").contains("serve"), "{kind}");
    }
}

#[test]
fn names_of_the_input_make_no_second_line_and_no_long_one() {
    let folder = tempfile::tempdir().unwrap();
    let long = "x".repeat(200);
    for odd in ["a\nb\x1b[31m.folded", &long] {
        let path = folder.path().join(odd);
        fs::write(&path, format!("{}\n", "no stack".repeat(2000))).unwrap();
        for program in [COLLAPSE, FILTER, RENDER] {
            let mut command = Command::new(program);
            if program == FILTER {
                command.arg("main");
            }
            let said = feed::text(command.arg(&path).output().unwrap().stderr);
            assert!(said.lines().count() == 1 && said.chars().count() < 2100, "{said}");
            assert!(said.chars().all(|c| !c.is_control() || c == '\n'), "{said:?}");
        }
    }
}

#[test]
fn arguments_do_not_move_the_cursor() {
    for program in PROGRAMS {
        let (first, second) = super::pty::terminal();
        let mut child = Command::new(program).arg("--\x1b[31mname\x07").stderr(second).spawn().unwrap();
        let said = super::pty::shown(first);
        assert_eq!(child.wait().unwrap().code(), Some(2));
        assert!(said.contains("name") && !said.contains(['\x1b', '\x07']), "{said:?}");
    }
}

#[test]
fn seven_hundred_events_are_one_bounded_line() {
    let mut perf = String::new();
    for n in 0..700 {
        let name = format!("group:an_event_with_a_long_name_{n}");
        perf.push_str(&format!("a  1 5.{n:06}: 3 {name}: \n\t            1000 f (/a)\n\n"));
    }
    let said = |program: &str, arguments: &[&str]| {
        let output = feed::feed(Command::new(program).args(arguments), &perf);
        let said = feed::text(output.stderr);
        assert!(said.lines().count() == 1 && said.len() < 1000, "{} bytes: {said}", said.len());
        said
    };
    assert!(said(COLLAPSE, &[]).contains("and 694 more; --value NAME keeps it, --value all each"));
    assert!(said(FILTER, &["f"]).contains("and 694 more"));
    assert!(said(COLLAPSE, &["--value", "nosuch"]).contains("fg-collapse: "));
}

#[test]
fn no_tsv_cell_is_a_formula() {
    let folder = tempfile::tempdir().unwrap();
    let stacks = "=1+1;@SUM(A1);+[Foo bar];-[NSView draw] 5\nmain;operator= 2\n";
    fs::write(folder.path().join("in.folded"), stacks).unwrap();
    for (program, arguments) in
        [(RENDER, &["--format", "tsv", "in.folded"][..]), (DIFF, &["--format=tsv", "in.folded", "in.folded"])]
    {
        let output = Command::new(program).args(arguments).current_dir(folder.path()).output().unwrap();
        let table = feed::text(output.stdout);
        let mut names: Vec<&str> =
            table.lines().skip(1).map(|line| line.split('\t').next().unwrap()).collect();
        names.sort_unstable();
        assert_eq!(
            names,
            ["'+[Foo bar]", "'-[NSView draw]", "'=1+1", "'@SUM(A1)", "main", "operator="],
            "{program}"
        );
    }
}
