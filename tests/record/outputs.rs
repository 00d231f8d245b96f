//! The outputs of `fg-record`: their formats, files with odd names, and what is refused.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::{fg_record, reaches_main, ready, recorded, share, skip, stacks, text};

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

/// `--raw` wrote every byte as it was.
#[test]
fn a_recording_may_be_compressed() {
    let Some(program) = ready() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("a.data");
    let mut command = fg_record();
    command.args(["--raw", "--compress", "-v", "-o"]).arg(&path).arg("--").arg(program).arg("300");
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let said = text(&output.stderr);
    let samples = said.lines().find_map(|line| line.strip_prefix("fg-record: ")?.split_once(" samples of "));
    let (samples, _) = samples.unwrap_or_else(|| panic!("{said}"));
    let bytes = fs::read(&path).expect("the recording");
    let number = |at: usize| u64::from_ne_bytes(*bytes[at..].first_chunk().expect("a number"));
    // The header says where the records are; all of them are of the kind that is compressed.
    let (mut at, size) = (number(40) as usize, number(48) as usize);
    let end = at + size;
    while at < end {
        assert_eq!(number(at) as u32, 81, "the record at {at} of {end}");
        at += (number(at) >> 48) as usize;
    }
    assert_eq!(at, end);
    let mut collapse = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let folded = text(&collapse.arg("--strict").arg(&path).output().expect("fg-collapse starts").stdout);
    assert!(folded.contains(&format!("# samples: {samples} samples\n")), "{said}\n{folded}");
    assert!(share(&folded, "hot") > 0.5, "{folded}");
    reaches_main(&folded);
    let options = Command::new("perf").args(["version", "--build-options"]).output();
    let has_zstd = |line: &str| line.contains("zstd: [ on");
    if !options.is_ok_and(|it| text(&it.stdout).lines().any(has_zstd)) {
        return skip("there is no perf that reads zstd");
    }
    let perf =
        Command::new("perf").args(["script", "-F", "ip", "-i"]).arg(&path).output().expect("perf starts");
    let blank = text(&perf.stdout).split("\n\n").filter(|sample| !sample.trim().is_empty()).count();
    assert_eq!(blank.to_string(), samples, "{}", text(&perf.stderr));
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
    assert!(blocks > 1, "hot and warm take turns, {blocks} times seen");
}

#[test]
fn outputs_are_refused_before_the_command_runs() {
    let folder = tempfile::tempdir().expect("a folder");
    for (arguments, said) in [
        (&["-o", "a.nosuch"][..], "no format has files that end in .nosuch; a page is .html, a picture .svg"),
        (&["-o", "perf.data"], "no format has files that end in .data; --raw writes the recording itself"),
        (&["-o", "a.svg", "-o", "a.svg"], "the output a.svg is named twice"),
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
