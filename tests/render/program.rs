//! The program: its output file, its help, its formats, pipes that close.

use super::{Picture, SMALL, run, run_in};

#[test]
fn output_files_appear_complete() {
    let folder = tempfile::tempdir().unwrap();
    let run = run_in(folder.path(), &["-o", "out.svg"], SMALL);
    assert_eq!((run.status, run.stdout.len(), run.stderr.as_str()), (0, 0, ""));
    let text = std::fs::read_to_string(folder.path().join("out.svg")).unwrap();
    assert_eq!(Picture::parse(&text).frames.len(), 5);
    let missing = run_in(folder.path(), &["-o", "nosuch/out.svg"], SMALL);
    assert_eq!((missing.status, missing.stderr.lines().count()), (2, 1));
}

#[test]
fn the_one_format_can_be_named() {
    assert!(run(&["--format", "svg"], SMALL).stdout == run(&[], SMALL).stdout);
    let unknown = run(&["--format", "gif"], SMALL);
    assert!(unknown.status == 2 && unknown.stderr.contains("svg"), "{}", unknown.stderr);
}

#[test]
fn help_man_page_and_completions() {
    let help = run(&["--help"], "");
    assert_eq!(help.status, 0);
    for option in ["--colors", "--flamechart", "--generate"] {
        assert!(help.text().contains(option));
    }
    assert!(run(&["--generate", "man"], "").text().contains("fg\\-render"));
    assert!(run(&["--generate", "bash"], "").text().contains("--colors"));
    let short = run(&["-h"], "");
    let long_lines: Vec<_> = short.text().lines().filter(|line| line.chars().count() > 79).collect();
    assert!(long_lines.is_empty(), "{long_lines:?}");
}

#[test]
fn a_closed_pipe_is_no_trouble() {
    use std::process::{Command, Stdio};
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("many.folded");
    let text: String = (0..20_000).map(|n| format!("main;f{n:05} 1\n")).collect();
    std::fs::write(&file, text).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fg-render"))
        .args(["--minwidth", "0"])
        .arg(&file)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(0), 0));
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_is_said() {
    let run = run(&["-o", "/dev/full"], SMALL);
    assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{}", run.stderr);
    assert!(run.stderr.contains("cannot write: no space left on device"), "{}", run.stderr);
}

#[test]
fn the_table_in_the_documentation_is_the_registry_s() {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/outputs.md");
    let document = std::fs::read_to_string(&path).unwrap();
    let (before, rest) = document.split_once("| name |").expect("the table");
    let after = rest.split_once("\n\n").map_or("", |(_, after)| after);
    let current = format!("{before}{}\n{after}", fg_tools::render::formats::table());
    if std::env::var_os("FG_UPDATE_DOCS").is_some() {
        std::fs::write(&path, &current).unwrap();
        return;
    }
    // The documentation is that of a program with everything in it.
    let document: String = document
        .split_inclusive('\n')
        .filter(|line| cfg!(feature = "png") || !line.starts_with("| `png`"))
        .collect();
    assert!(
        document == current,
        "docs/outputs.md is out of date: FG_UPDATE_DOCS=1 cargo test --all-features --test render"
    );
}

#[test]
fn options_that_mean_nothing_are_refused() {
    for (arguments, said) in [
        (&["--format", "tsv", "--title", "x"][..], "--title means nothing to tsv; it is for svg, "),
        (&["--limit", "3"], "--limit means nothing to svg; it is for "),
        (
            &["-o", "a.tsv", "-o", "b.folded", "--inverted"],
            "--inverted means nothing to tsv and collapsed; it is for svg",
        ),
        (&["--format", "peek"], "peek needs a regular expression: --peek malloc"),
        (&["--peek", "("], "--peek: regular expression \"(\": "),
    ] {
        let run = run(arguments, SMALL);
        assert_eq!((run.status, run.stderr.lines().count()), (2, 1), "{arguments:?}: {}", run.stderr);
        assert!(run.stderr.contains(said), "{}", run.stderr);
    }
    let folder = tempfile::tempdir().unwrap();
    let both = run_in(folder.path(), &["-o", "a.tsv", "-o", "b.svg", "--limit", "2", "--title", "x"], SMALL);
    assert_eq!((both.status, both.stderr.as_str()), (0, ""));
    assert_eq!(run(&["--peek", "nosuch"], SMALL).status, 1);
}

#[test]
fn streamed_outputs_of_unsorted_input_start_over() {
    // Sorted for longer than any buffer, and then not.
    let mut text: String = (0..40_000).map(|n| format!("main;f{n:05};leaf 1\n")).collect();
    text.push_str("early 1\n");
    let mut sorted: Vec<&str> = text.lines().collect();
    sorted.sort_unstable();
    let sorted = sorted.join("\n") + "\n";
    for format in ["collapsed", "json", "speedscope", "pprof", "firefox"] {
        // Into a pipe, where nothing can be taken back, and into a file.
        let piped = run(&["--format", format], &text).stdout;
        assert!(piped == run(&["--format", format], &sorted).stdout, "{format}");
        let folder = tempfile::tempdir().unwrap();
        run_in(folder.path(), &["--format", format, "-o", "out"], &text);
        assert!(piped == std::fs::read(folder.path().join("out")).unwrap(), "{format}");
    }
    // Two columns until the last line.
    let text: String = (0..40_000).map(|n| format!("main;f {n:05} 1\n")).collect();
    let one = run(&["--format", "collapsed"], format!("{text}z 1\n"));
    assert!(one.text() == format!("{text}z 1\n"));
}
