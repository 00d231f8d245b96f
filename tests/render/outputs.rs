//! Several outputs in one run, and which options mean something to which.

use super::{Picture, SMALL, run, run_in};

#[test]
fn the_ending_chooses_the_format() {
    let folder = tempfile::tempdir().unwrap();
    let done = run_in(folder.path(), &["-o", "a.svg", "-o", "b.SVG", "-o", "plain"], SMALL);
    assert_eq!((done.status, done.stdout.len(), done.stderr.as_str()), (0, 0, ""));
    let read = |name| std::fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(Picture::parse(&read("a.svg")).frames.len(), 5);
    assert!(read("a.svg") == read("b.SVG") && read("a.svg") == read("plain"));
    let unknown = run_in(folder.path(), &["-o", "out.nosuch"], SMALL);
    assert_eq!(unknown.status, 2);
    assert!(unknown.stderr.contains("no format has files that end in .nosuch"), "{}", unknown.stderr);
    assert_eq!(run_in(folder.path(), &["-o", "out.nosuch", "--format", "svg"], SMALL).status, 0);
}

#[test]
fn all_outputs_appear_or_none() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        (&["-o", "a.svg", "-o", "nosuch/b.svg"][..], "nosuch/b.svg: cannot open"),
        (&["-o", "a.svg", "-o", "b.svg", "--total", "3"], "the total 3 is smaller"),
        (&["-o", "a.svg", "-o", "a.svg"], "the output a.svg is named twice"),
        (&["-o", "a.svg", "-o", "./a.svg"], "the outputs a.svg and ./a.svg are the same file"),
        (&["-o", "a.svg", "-o", "b.svg", "--format", "svg"], "--format is for one output"),
    ] {
        let run = run_in(folder.path(), arguments, SMALL);
        assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "{arguments:?}");
    }
}

#[test]
fn several_outputs_of_unsorted_input_are_as_one_of_sorted() {
    let folder = tempfile::tempdir().unwrap();
    let mut lines: Vec<&str> = SMALL.lines().collect();
    lines.reverse();
    run_in(folder.path(), &["-o", "a.svg", "-o", "b.svg"], lines.join("\n"));
    for name in ["a.svg", "b.svg"] {
        assert!(std::fs::read(folder.path().join(name)).unwrap() == run(&[], SMALL).stdout);
    }
}

#[test]
fn the_unit_is_what_the_input_says_unless_told_otherwise() {
    let input = format!("# unit: ms\n{SMALL}");
    assert!(Picture::parse(run(&[], &input).text()).titles().contains(&"lex (20 ms, 20.00%)"));
    let told = run(&["--countname", "ticks"], &input);
    assert!(Picture::parse(told.text()).titles().contains(&"lex (20 ticks, 20.00%)"));
}
