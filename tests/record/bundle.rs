//! `--bundle`: a recording that is read where nothing of what was recorded is.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::installed::works;
use super::{fg_record, recorded, share, share_within, stacks, text};

/// A program with a function in a library.
const USER: &str = r#"
void in_library(long n);
int main(int argc, char **argv) { in_library(300000000); return 0; }
"#;

const LIBRARY: &str = r#"
static volatile unsigned long x;
static inline void inlined(long n) { for (long i = 0; i < n; i++) x = x * 31 + i; }
__attribute__((noinline)) void in_depth(long n) { inlined(n); x++; }
void in_library(long n) { in_depth(n); x++; }
"#;

fn compile(folder: &Path, name: &str, source_text: &str, options: &[&str]) {
    let source = folder.join(format!("{name}.c"));
    fs::write(&source, source_text).expect("a source");
    let mut compiler = Command::new("cc");
    compiler.args(["-O1", "-g", "-o", name]).arg(&source).args(options).current_dir(folder);
    assert!(compiler.status().expect("cc starts").success(), "{name}");
}

/// A program and its library in a folder.
fn build(folder: &Path, build_id: &str) {
    compile(folder, "libwork.so", LIBRARY, &["-shared", "-fPIC", build_id]);
    compile(folder, "user", USER, &["-L.", "-l:libwork.so", "-Wl,-rpath,$ORIGIN", build_id]);
}

/// The stacks of an archive, read without any cache of this user's.
fn collapsed(archive: &Path, options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_fg-collapse"));
    let output = command.args(options).arg(archive).env("HOME", "/nowhere").output();
    output.expect("fg-collapse starts")
}

#[test]
fn a_bundle_names_what_is_gone() {
    if !works("cc") {
        return;
    }
    for (build_id, name) in [("-Wl,--build-id", "a.tar.gz"), ("-Wl,--build-id=none", "a.tar")] {
        let folder = tempfile::tempdir().expect("a folder");
        let archive = folder.path().join(name);
        let programs = folder.path().join("programs");
        fs::create_dir(&programs).expect("a folder");
        build(&programs, build_id);
        let mut command = fg_record();
        command.args(["--bundle", "-o"]).arg(&archive).arg("--").arg(programs.join("user"));
        let Some(output) = recorded(&mut command) else { return };
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        assert_eq!(output.stdout, b"", "the archive is the result");
        fs::remove_dir_all(&programs).expect("it is removed");
        let output = collapsed(&archive, &["--inline"]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let folded = text(&output.stdout);
        assert!(stacks(&folded).contains(";main;in_library;in_depth;inlined_[i]"), "{build_id}: {output:?}");
        assert!(share_within(&folded, Some("in_depth"), "inlined_[i]") > 0.9, "{build_id}: {folded}");
        assert_eq!(text(&output.stderr), "", "{build_id}");
        // The programs are in the bundle, and nowhere else.
        let elsewhere = collapsed(&archive, &["--symfs", "/nowhere"]);
        assert!(!text(&elsewhere.stdout).contains("in_depth"), "{build_id}: {elsewhere:?}");
    }
}

#[test]
fn a_bundle_is_laid_out_for_perf_and_symfs() {
    if !works("cc") || !works("tar") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("a.tgz");
    build(folder.path(), "-Wl,--build-id");
    let mut command = fg_record();
    command.args(["--bundle", "-o"]).arg(&archive).arg("--").arg(folder.path().join("user"));
    let Some(output) = recorded(&mut command) else { return };
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    ["user", "libwork.so"]
        .iter()
        .for_each(|name| fs::remove_file(folder.path().join(name)).expect("removed"));
    let unpacked = folder.path().join("unpacked");
    fs::create_dir(&unpacked).expect("a folder");
    let tar = Command::new("tar").arg("xf").arg(&archive).current_dir(&unpacked).status();
    assert!(tar.expect("tar starts").success());
    let data = unpacked.join("perf.data");
    let output = collapsed(&data, &["--symfs", &unpacked.to_string_lossy()]);
    assert!(share(&text(&output.stdout), "in_depth") > 0.5, "{output:?}");
    if !works("perf record") {
        return;
    }
    let mut perf = Command::new("perf");
    perf.arg("--buildid-dir").arg(&unpacked).args(["report", "--stdio", "--no-children", "-g", "none", "-i"]);
    let report = perf.arg(&data).output().expect("perf starts");
    assert!(text(&report.stdout).contains("in_depth"), "{report:?}");
}

#[test]
fn what_is_too_large_is_left_out_and_told() {
    if !works("cc") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let archive = folder.path().join("a.tar.gz");
    build(folder.path(), "-Wl,--build-id");
    let mut command = fg_record();
    command.args(["--bundle=1k", "-o"]).arg(&archive).arg("--").arg(folder.path().join("user"));
    let Some(output) = recorded(&mut command) else { return };
    let said = text(&output.stderr);
    assert!(said.contains("some were left out") && said.contains("libwork.so ("), "{said}");
    assert!(archive.exists());
    let refused = |options: &[&str], word: &str| {
        let output = fg_record().args(options).args(["--", "true"]).output().expect("fg-record starts");
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        assert!(said.contains(word), "{said}");
    };
    refused(&["--bundle", "-o", "a.svg"], "name it -o a.svg.tar.gz");
    refused(&["--bundle", "-o", "a.tar", "-o", "b.tar"], "--bundle writes one file");
    refused(&["--bundle", "--raw", "-o", "a.tar"], "cannot be used with");
}

/// A recording of `--raw` in a folder, with the program and its library.
fn raw(folder: &Path, build_id: &str) -> Option<std::path::PathBuf> {
    build(folder, build_id);
    let recording = folder.join("perf.data");
    let mut command = fg_record();
    command.args(["--raw", "-o"]).arg(&recording).arg("--").arg(folder.join("user"));
    let output = recorded(&mut command)?;
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    Some(recording)
}

fn bundled(recording: &Path, archive: &Path, options: &[&str]) -> Output {
    let mut command = fg_record();
    command.arg("bundle").arg(recording).arg("-o").arg(archive).args(options);
    command.output().expect("fg-record starts")
}

#[test]
fn a_recording_that_exists_is_bundled() {
    use std::os::unix::fs::PermissionsExt;
    if !works("cc") {
        return;
    }
    for (build_id, name) in [("-Wl,--build-id", "a.tgz"), ("-Wl,--build-id=none", "a.tar")] {
        let folder = tempfile::tempdir().expect("a folder");
        let (programs, archive) = (folder.path().join("programs"), folder.path().join(name));
        fs::create_dir(&programs).expect("a folder");
        let Some(recording) = raw(&programs, build_id) else { return };
        let before = collapsed(&recording, &["--inline", "--srcline"]);
        assert!(
            text(&before.stdout).contains("in_depth (libwork.so.c:4);inlined (libwork.so.c:3)_[i]"),
            "{before:?}"
        );
        let output = bundled(&recording, &archive, &[]);
        assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{output:?}");
        let mode = fs::metadata(&archive).expect("an archive").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it holds memory of the program");
        fs::remove_dir_all(&programs).expect("it is removed");
        let after = collapsed(&archive, &["--inline", "--srcline"]);
        assert_eq!(text(&after.stdout), text(&before.stdout), "{build_id}");
        assert_eq!(text(&after.stderr), text(&before.stderr), "{build_id}");
    }
}

#[test]
fn what_a_bundle_lacks_is_said_in_a_line() {
    if !works("cc") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let Some(recording) = raw(folder.path(), "-Wl,--build-id") else { return };
    let archive = folder.path().join("a.tar");
    let whole = bundled(&recording, &archive, &["--max-size", "1k"]);
    let said = text(&whole.stderr);
    assert!(said.contains("libwork.so (") && said.contains("; --max-size SIZE takes more"), "{said}");
    let said_without = |archive: &Path| {
        let output = bundled(&recording, archive, &[]);
        assert_eq!(output.status.code(), Some(0), "{output:?}");
        let said = text(&output.stderr);
        assert_eq!(said.lines().count(), 1, "{said}");
        said
    };
    fs::remove_file(folder.path().join("user")).expect("it is removed");
    let said = said_without(&archive);
    assert!(said.contains("a file is not in the bundle") && said.contains("/user was not found"), "{said}");
    // Built again, with other contents: without its tables no stack leads to the program any more.
    compile(
        folder.path(),
        "libwork.so",
        &LIBRARY.replace("31", "33"),
        &["-shared", "-fPIC", "-Wl,--build-id"],
    );
    let said = said_without(&archive);
    assert!(said.contains("libwork.so has changed since it was recorded ("), "{said}");
    assert_eq!(text(&bundled(&recording, &archive, &["-q"]).stderr), "");
    // The old archive stays when the new one cannot be made.
    let old = fs::read(&archive).expect("an archive");
    let folded = folder.path().join("x.folded");
    fs::write(&folded, "a;b 1\n").expect("a file");
    for (recording, archive, word) in [
        (&folded, &archive, "this is no perf.data"),
        (&folder.path().join("none.data"), &archive, "none.data: "),
        (&folder.path().to_owned(), &archive, "expected a file"),
        (&recording, &folder.path().join("a.zip"), "a.zip.tar.gz"),
    ] {
        let output = bundled(recording, archive, &[]);
        let said = text(&output.stderr);
        assert_eq!((output.status.code(), said.lines().count()), (Some(2), 1), "{said}");
        assert!(said.contains(word), "{said}");
    }
    assert_eq!(fs::read(&archive).expect("an archive"), old);
}

#[test]
fn a_recording_of_perf_is_bundled() {
    if !works("cc") || !works("perf record") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    build(folder.path(), "-Wl,--build-id");
    let recording = folder.path().join("perf.data");
    let mut perf = Command::new("perf");
    perf.args(["record", "-q", "-e", "cpu-clock:u", "-F", "500", "--call-graph", "dwarf", "-o"])
        .arg(&recording);
    let status = perf.arg(folder.path().join("user")).status().expect("perf starts");
    assert!(status.success());
    let before = collapsed(&recording, &[]);
    let archive = folder.path().join("a.tar.gz");
    let output = bundled(&recording, &archive, &[]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()), "{output:?}");
    for name in ["user", "libwork.so", "perf.data"] {
        fs::remove_file(folder.path().join(name)).expect("it is removed");
    }
    let after = collapsed(&archive, &[]);
    assert!(share(&text(&after.stdout), "in_depth") > 0.5, "{after:?}");
    assert_eq!(text(&after.stdout), text(&before.stdout));
}
