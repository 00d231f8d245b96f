//! `--bundle`: a recording that is read where nothing of what was recorded is.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::installed::works;
use super::{fg_record, recorded, share, stacks, text};

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
        assert!(share(&folded, "inlined_[i]") > 0.9, "{build_id}: {folded}");
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
    assert!(share(&text(&output.stdout), "in_depth") > 0.9, "{output:?}");
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
