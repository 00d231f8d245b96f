//! The outputs of `fg-record`: their formats, files with odd names, and what is refused.

use std::fs;
use std::path::Path;

use super::{fg_record, ready, recorded, stacks, text};

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn each_ending_has_its_format() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.current_dir(folder.path());
    for name in ["a.svg", "a.html", "a.pb.gz", "a.json", "a.speedscope.json", "a.top", "a.folded", "plain"] {
        command.args(["-o", name]);
    }
    let Some(output) = recorded(command.args(["-o", "-", "--"]).arg(program).arg("100")) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let bytes = |name: &str| fs::read(folder.path().join(name)).expect(name);
    let begins = |name: &str, begin: &str| bytes(name).starts_with(begin.as_bytes());
    assert!(begins("a.svg", "<?xml") || begins("a.svg", "<svg"));
    assert!(begins("a.html", "<!doctype html>"));
    assert_eq!(bytes("a.pb.gz")[..2], [0x1f, 0x8b]);
    assert!(begins("a.json", "{") && begins("a.speedscope.json", "{"));
    assert!(text(&bytes("a.speedscope.json")).contains("speedscope.app/file-format-schema"));
    assert!(text(&bytes("a.top")).contains("hot"));
    let folded = text(&bytes("a.folded"));
    assert!(folded.contains(";main;hot"), "{folded}");
    assert_eq!(bytes("plain"), bytes("a.folded"));
    assert_eq!(text(&output.stdout), folded);
}

#[test]
fn a_name_may_begin_with_a_dash() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.current_dir(folder.path()).args(["--svg=-x.svg", "--html=-x.html", "-o=-x.folded", "-o-y.top"]);
    let Some(output) = recorded(command.arg("--").arg(program).arg("100")) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert_eq!(names(folder.path()), ["-x.folded", "-x.html", "-x.svg", "-y.top"]);
    let svg = fs::read_to_string(folder.path().join("-x.svg")).expect("a picture");
    assert!(svg.contains("<title>hot ("), "{svg}");
}

#[test]
fn the_picture_s_options_are_taken() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let mut command = fg_record();
    command.current_dir(folder.path());
    command.args([
        "-o",
        "a.svg",
        "-o",
        "a.folded",
        "--title",
        "Of mine",
        "--reverse",
        "--image-width",
        "900",
    ]);
    command.args(["--palette", "java", "--min-width", "0.2", "--notes", "kept <here>", "--deterministic"]);
    let Some(output) = recorded(command.arg("--").arg(program).arg("100")) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).expect(name);
    let svg = read("a.svg");
    assert!(svg.contains(">Of mine</") && svg.contains("kept &lt;here&gt;"), "{svg}");
    let folded = stacks(&read("a.folded"));
    assert!(folded.lines().any(|line| line.starts_with("hot;main;")), "leaf first\n{folded}");

    // Samples in the order of time.
    let mut command = fg_record();
    command.current_dir(folder.path()).args(["--flamechart", "-o", "chart.svg", "--"]);
    let Some(output) = recorded(command.arg(program).arg("200")) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let chart = read("chart.svg");
    let blocks = chart.matches("<title>hot (").count();
    assert!(blocks > 3, "hot and warm take turns, {blocks} times seen");
}

#[test]
fn outputs_are_refused_before_the_command_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, said) in [
        (&["-o", "a.nosuch"][..], "no format has files that end in .nosuch; there are svg, html"),
        (&["-o", "perf.data"], "no format has files that end in .data; --raw writes the recording itself"),
        (&["-o", "a.svg", "--svg", "a.svg"], "the output a.svg is named twice"),
        (&["-o", "a.folded", "--title", "x"], "--title means nothing to collapsed"),
        (&["--raw", "-o", "a.data", "-o", "b.data"], "--raw writes one file"),
        (&["--raw", "-o", "-"], "--raw needs a file"),
    ] {
        let mut command = fg_record();
        command.current_dir(folder.path()).args(arguments).args(["--", "touch", "it-ran"]);
        let output = command.output().expect("fg-record starts");
        let message = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{message}");
        assert!(message.starts_with(&format!("fg-record: {said}")), "{message}");
        assert_eq!(message.lines().count(), 1, "{message}");
        assert_eq!(names(folder.path()), [""; 0], "{arguments:?}");
    }
}

#[test]
fn options_of_other_recorders_name_ours() {
    let output = fg_record().args(["-c", "record -g", "--", "true"]).output().expect("fg-record starts");
    let message = text(&output.stderr);
    assert!(message.contains("--with perf --backend-args") && output.status.code() == Some(2), "{message}");
}
